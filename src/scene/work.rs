//! The queue of requests from hooks and ticks. They are carried out afterwards, in order, and never
//! inside the code that asked for them, so nothing recurses.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::actor::{Actor, Core};
use super::cell::{CellRef, Newborn};
use crate::handle::Handle;

/// How an actor that is asked for is configured, later.
pub(super) type Configure<C> = Box<dyn FnOnce(&mut Actor<C>) + Send>;

/// What is still to be done.
pub(super) enum Work<C: Core> {
    /// Make an actor, and introduce it.
    Create { position: C::Position, definition: Arc<C::Definition>, configure: Configure<C> },
    /// Introduce an actor that is made: its created hooks, and then Active.
    Introduce(Newborn<C>),
    /// Kill an actor, and tell its pending-destroy hooks.
    Kill(Handle),
    /// The same for another thread, which may have been ahead of the actor's admission.
    RemoteKill(Handle),
    /// Tell the pending-destroy hooks of an actor that is Dying already.
    Mourn(CellRef<C>),
    /// Shut the scene down at the end of the frame or, outside a frame, of the outer call.
    Shutdown,
}

impl<C: Core> Work<C> {
    pub(super) fn create(
        position: C::Position,
        definition: Arc<C::Definition>,
        configure: impl FnOnce(&mut Actor<C>) + Send + 'static,
    ) -> Work<C> {
        Work::Create { position, definition, configure: Box::new(configure) }
    }
}

impl<C: Core> fmt::Debug for Work<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Create { .. } => f.write_str("Create"),
            Work::Introduce(newborn) => write!(f, "Introduce({})", newborn.handle),
            Work::Kill(handle) => write!(f, "Kill({handle})"),
            Work::RemoteKill(handle) => write!(f, "RemoteKill({handle})"),
            Work::Mourn(cell) => write!(f, "Mourn({cell:?})"),
            Work::Shutdown => f.write_str("Shutdown"),
        }
    }
}

/// Work in the order in which it was asked for.
pub(super) type Queue<C> = VecDeque<Work<C>>;
