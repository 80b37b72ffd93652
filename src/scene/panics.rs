//! User code that panics: the first panic is kept until the scene is consistent again.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::actor::{Actor, Core};
use super::trace;
use crate::slot::forget_panic;

/// The first panic of a hook or a tick, which propagates to the caller when the scene is consistent
/// again.
#[derive(Default)]
pub(super) struct Panics(Option<Box<dyn Any + Send>>);

impl Panics {
    /// Runs user code; returns whether it did not panic. The code borrows nothing of the scene that
    /// could be left half changed, except an actor, for whose state the user is responsible.
    #[inline]
    pub(super) fn contain(&mut self, code: impl FnOnce()) -> bool {
        match catch_unwind(AssertUnwindSafe(code)) {
            Ok(()) => true,
            Err(panic) => {
                self.take_note(panic);
                false
            }
        }
    }

    #[cold]
    fn take_note(&mut self, panic: Box<dyn Any + Send>) {
        trace::panicked(&*panic);
        self.keep(panic);
    }

    /// Runs user code in pieces, and continues after a piece that panics: `code` records each piece
    /// before it begins it, and is called again until it returns.
    #[inline]
    #[expect(clippy::redundant_closure, reason = "`&mut code` is called out of line")]
    pub(super) fn contain_each(&mut self, mut code: impl FnMut()) {
        while !self.contain(|| code()) {}
    }

    /// Drops an actor: first its core, then its components, each with its own containment of
    /// panics.
    pub(super) fn contain_drop<C: Core>(&mut self, actor: Option<Actor<C>>) {
        let Some(mut actor) = actor else { return };
        let left = std::mem::take(&mut actor.components);
        self.contain(|| drop(actor));
        self.contain(|| drop(left));
    }

    /// Keeps a panic, unless there is an earlier one.
    fn keep(&mut self, panic: Box<dyn Any + Send>) {
        if self.0.is_none() {
            self.0 = Some(panic);
        } else {
            // The payload of a panic is the user's, and may panic when it is dropped.
            forget_panic(panic);
        }
    }

    /// Whether there was one.
    pub(super) fn any(&self) -> bool {
        self.0.is_some()
    }

    /// Takes over the panic of a part of the work.
    pub(super) fn take_over(&mut self, part: &mut Panics) {
        if let Some(panic) = part.0.take() {
            self.keep(panic);
        }
    }

    /// Forgets the panic, because another one is on its way.
    pub(super) fn forget(&mut self) {
        if let Some(panic) = self.0.take() {
            forget_panic(panic);
        }
    }

    /// Lets the panic go on to the caller, if there was one.
    #[inline]
    pub(super) fn go_on(&mut self) {
        if let Some(panic) = self.0.take() {
            resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panics").field(&self.0.is_some()).finish()
    }
}
