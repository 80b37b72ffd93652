//! Epoch-based reclamation: the only place that names `crossbeam_epoch`.
//!
//! A store has a collector of its own, so that a stalled reader of one store holds no other back. A
//! thread registers with it once ([`local`]); a [`Session`] is a pin together with the magazine
//! that the thread's sessions share. Most deferred calls take batches out of limbo
//! ([`Session::hand_over`]): they move boxes, touch no slots and run no user code.
//!
//! The scheme is from K. Fraser, "Practical lock-freedom" (2004), in crossbeam's implementation.

mod aside;
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
    /// Which threads lend payloads out under a pin now.
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

    /// Threads that are registered.
    pub(crate) fn threads(&self) -> u64 {
        self.lenders.seated()
    }

    /// Whether some thread lent payloads out under a pin a moment ago: such a pin may stay for
    /// ever, while that of a single call ends by itself.
    pub(crate) fn lends(&self) -> bool {
        self.lenders.anybody()
    }
}
