//! What was counted, by those who were called: to be held against what the scene and the pool say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that any thread may add to.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, many: u64) {
        // Relaxed: a sum; it is read when those who add are done.
        self.0.fetch_add(many, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}

/// How often the hooks of the three events were called.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) created: Count,
    pub(crate) mourned: Count,
    pub(crate) ended: Count,
}

/// The books of a raid, a service.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Cores initialised and dropped, those that were never admitted included.
    pub(crate) made: Count,
    pub(crate) dropped: Count,
    /// Hooks of the core.
    pub(crate) core: Hooks,
    /// Hooks of all components.
    pub(crate) components: Hooks,
    /// Hooks of one system.
    pub(crate) systems: Hooks,
    pub(crate) deeds: Deeds,
}

/// What was done in the fight.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) shots: Count,
    /// Shots for which the pool had no missile.
    pub(crate) held_fire: Count,
    pub(crate) fallen: Count,
    pub(crate) revived: Count,
    pub(crate) loot: Count,
    pub(crate) collected: Count,
    pub(crate) experience: Count,
    /// Bosses that were felled, and calls for help by bosses.
    pub(crate) bosses: Count,
    pub(crate) calls: Count,
}

/// An actor's entry in the books: whoever drops the actor, wherever, ends it.
#[derive(Debug)]
pub(crate) struct Entry(Arc<Books>);

impl Entry {
    pub(crate) fn new(books: &Arc<Books>) -> Entry {
        books.made.add(1);
        Entry(Arc::clone(books))
    }

    pub(crate) fn books(&self) -> &Books {
        &self.0
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.dropped.add(1);
    }
}
