//! A thread that is registered with a store, on the way to a session.

use std::rc::Rc;

use super::local::{self, Entry};
use super::{Domain, Session};

/// What a session begins with. What the thread owes is asked before the session exists, so that the
/// session is constructed where it stays: to move it there would be to load in wide pieces what was
/// just stored in narrow ones, which processors wait for.
#[derive(Debug)]
pub(crate) struct Registration(Rc<Entry>);

impl Registration {
    /// This thread's registration with a store.
    #[inline]
    pub(crate) fn of(domain: &Domain) -> Registration {
        Registration(local::entry(domain))
    }

    /// Whether the thread has handed garbage over since it was last asked: it owes the others a
    /// look at how much there is. Readers owe nothing.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.0.owes.get()
    }

    /// A session that lends payloads out: it repins only when its owner says so.
    #[inline]
    pub(crate) fn lending(self) -> Session {
        Session::open(self.0, false)
    }

    /// The session of one call.
    #[inline]
    pub(crate) fn own(self) -> Session {
        Session::open(self.0, true)
    }
}
