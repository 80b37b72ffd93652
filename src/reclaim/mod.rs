//! The epochs: the only place that names `crossbeam_epoch`.
//!
//! A store has a collector of its own, so that a stalled reader of one store holds no other back.
//! A thread registers with it once ([`local`]); a [`Session`] is a pin together with the magazine
//! that the thread's sessions share. What is deferred is above all the way of batches out of limbo
//! ([`Session::hand_over`]): it moves boxes, reaches no slot and runs no user code.
//!
//! The scheme is from K. Fraser, "Practical lock-freedom" (2004), in crossbeam's implementation.

mod deferral;
mod gate;
mod local;
mod outbox;
mod registration;
mod session;

pub(crate) use gate::Gate;
pub(crate) use registration::Registration;
pub(crate) use session::{Session, claimed_here};

use crossbeam_epoch::Collector;

use crate::sync::{Arc, Number, Roll};

/// The epochs of one store.
#[derive(Debug)]
pub(crate) struct Domain {
    /// Never reused, unlike a scene id or an address.
    number: u64,
    collector: Collector,
    pub(crate) gate: Arc<Gate>,
    /// Who lends payloads out under a pin just now.
    lenders: Roll,
}

impl Domain {
    pub(crate) fn new() -> Domain {
        static NUMBERS: Number = Number::starting_at(1);
        Domain {
            number: NUMBERS.next(),
            collector: Collector::new(),
            gate: Arc::new(Gate::new()),
            lenders: Roll::new(),
        }
    }

    /// Whether a pin that lends payloads out was there a moment ago: such a one may stay for ever,
    /// while one of a single call goes by itself.
    pub(crate) fn lends(&self) -> bool {
        self.lenders.anybody()
    }
}
