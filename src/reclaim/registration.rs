//! A thread that is registered with a store, on the way to a session.

use std::rc::Rc;

use super::local::{self, Entry};
use super::{Domain, Session};

/// What a session begins with. What the thread owes is known before the session exists, so that the
/// session is written where it stays, once: one that was changed before it is moved there would be read
/// by wholes right after it was written by parts, which processors wait for.
#[derive(Debug)]
pub(crate) struct Registration(Rc<Entry>);

impl Registration {
    /// Of this thread, with a store.
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
