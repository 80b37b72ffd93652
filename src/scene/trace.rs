//! What a scene tells `tracing`, behind the feature of that name. Without it the calls here are
//! empty.
//!
//! Every span and event has the target `hatchery::scene`; the module documentation of the scene
//! lists them with their levels.

use std::any::Any;

use crate::error::{SpawnFailure, TransitionError};
use crate::handle::Handle;
use crate::id::SceneId;
use crate::reason::EndReason;

/// An event of a level, with the values of some variables.
macro_rules! tell {
    ($level:ident, $message:literal, $($how:tt $field:ident),*) => {{
        #[cfg(feature = "tracing")]
        tracing::event!(
            target: "hatchery::scene",
            tracing::Level::$level,
            $($how $field,)*
            $message
        );
        #[cfg(not(feature = "tracing"))]
        {
            $(let _ = &$field;)*
        }
    }};
}

/// A span, entered until it is dropped.
pub(super) struct Span {
    #[cfg(feature = "tracing")]
    _entered: tracing::span::EnteredSpan,
}

/// Enters a span, with the values of some variables.
macro_rules! enter {
    ($name:literal $(, $how:tt $field:ident)*) => {{
        #[cfg(not(feature = "tracing"))]
        {
            $(let _ = &$field;)*
        }
        Span {
            #[cfg(feature = "tracing")]
            _entered: tracing::debug_span!(target: "hatchery::scene", $name $(, $how $field)*)
                .entered(),
        }
    }};
}

/// A whole frame, of the number that it will have.
#[inline]
pub(super) fn frame(scene: SceneId, number: u64) -> Span {
    enter!("frame", %scene, %number)
}

/// A phase, by its place in the report of a frame.
#[inline]
pub(super) fn phase(place: usize) -> Span {
    match place {
        0 => enter!("sweep"),
        1 => enter!("pre"),
        2 => enter!("actors"),
        3 => enter!("main"),
        4 => enter!("post"),
        _ => enter!("presentation"),
    }
}

/// The whole shutdown.
#[inline]
pub(super) fn shutdown(scene: SceneId) -> Span {
    enter!("shutdown", %scene)
}

/// An actor became Active.
#[inline]
pub(super) fn created(actor: Handle) {
    tell!(TRACE, "actor created", %actor);
}

/// An actor was killed: its destruction is pending.
#[inline]
pub(super) fn killed(actor: Handle) {
    tell!(TRACE, "actor killed", %actor);
}

/// The destroyed hooks of an actor are done.
#[inline]
pub(super) fn destroyed(actor: Handle, reason: EndReason) {
    tell!(TRACE, "actor destroyed", %actor, ?reason);
}

/// An actor went from Pending to Dead: a created hook has panicked, or the scene was shut down
/// before it was admitted.
#[inline]
pub(super) fn cancelled(actor: Handle, reason: EndReason) {
    tell!(WARN, "creation cancelled", %actor, ?reason);
}

/// There was no room for an actor.
#[inline]
pub(super) fn refused_creation(scene: SceneId, reason: SpawnFailure) {
    tell!(WARN, "creation refused", %scene, %reason);
}

/// An actor that was to be killed was not Active. The reason names it.
#[inline]
pub(super) fn refused_kill(reason: TransitionError) {
    let actor = reason.handle();
    tell!(DEBUG, "kill refused", %actor, %reason);
}

/// User code has panicked, and the panic waits until everything is in order.
pub(super) fn panicked(panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let panic = text.unwrap_or("no text");
    tell!(ERROR, "panic contained", %panic);
}
