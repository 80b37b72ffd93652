//! A thread's registrations: one for each store that it uses, in a list behind a one-entry cache.
//!
//! An entry keeps the collector and the thread's participant in it, never the slots. Entries of
//! closed stores are dropped at the next registration. Late in a thread's exit, when the list is
//! destroyed already, each operation registers for itself.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::rc::Rc;

use crossbeam_epoch::LocalHandle;

use super::outbox::Outbox;
use super::{Domain, Gate};
use crate::free::{Circulation, Magazine};
use crate::sync::{Arc, Seat, core_ordinal, local};

/// A thread's registration with one store. On cache lines of its own: the thread writes it at every
/// call.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Entry {
    store: u64,
    gate: Arc<Gate>,
    pub(super) participant: LocalHandle,
    /// The shard that the thread prefers: that of the core on which it was seen last.
    pub(super) home: Cell<usize>,
    /// Sessions of this thread that are open now; they share the magazine.
    pub(super) sessions: Cell<u32>,
    /// The magazine that they have claimed.
    pub(super) magazine: Cell<Option<NonNull<Magazine>>>,
    /// The one that they claimed last, whoever has it now: the next session tries it first.
    pub(super) last_magazine: Cell<Option<NonNull<Magazine>>>,
    /// Where the thread's sessions that lend payloads out are counted.
    pub(super) lending: Seat,
    /// Whether this thread has handed garbage over and has not looked since how much there is.
    pub(super) owes: Cell<bool>,
    /// What it has handed over and not handed on.
    pub(super) outbox: Outbox,
    /// How often in a row this thread has stepped aside in vain, and how many batches had ripened
    /// then.
    pub(super) in_vain: Cell<(u32, u64)>,
}

/// The list; it clears the cache before its entries are dropped.
struct List(RefCell<Vec<Rc<Entry>>>);

local! {
    /// The entry of the store that this thread used last.
    static CACHE: Cell<*const Entry> = Cell::new(ptr::null());
}

local! {
    /// Every entry of this thread.
    static LIST: List = List(RefCell::new(Vec::new()));
}

impl Drop for List {
    fn drop(&mut self) {
        set_cache(ptr::null());
    }
}

fn set_cache(entry: *const Entry) {
    // Ignored if the cache is destroyed: then it is not read any more either.
    let _ = CACHE.try_with(|cache| cache.set(entry));
}

/// This thread's entry for a store, made if it has none.
#[inline]
pub(super) fn entry(domain: &Domain) -> Rc<Entry> {
    match cached(domain) {
        Some(entry) => entry,
        None => entry_slow(domain),
    }
}

/// This thread's entry for a store, if it has one.
pub(super) fn known_entry(domain: &Domain) -> Option<Rc<Entry>> {
    cached(domain).or_else(|| LIST.try_with(|list| list.find(domain)).ok().flatten())
}

/// The magazine that the thread's sessions on this store have claimed, if its entry is in the
/// cache.
#[inline]
pub(super) fn cached_magazine(domain: &Domain) -> Option<NonNull<Magazine>> {
    let cached = CACHE.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: as in `cached` (invariant 10).
    let entry = unsafe { cached.as_ref() }?;
    if entry.store == domain.number { entry.magazine.get() } else { None }
}

#[inline]
fn cached(domain: &Domain) -> Option<Rc<Entry>> {
    let cached = CACHE.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: the cache points into an `Rc` of this thread's list, which clears the cache before
    // that is dropped (invariant 10).
    let entry = unsafe { cached.as_ref() }?;
    if entry.store != domain.number {
        return None;
    }
    // SAFETY: as above: the pointer is `Rc::as_ptr` of a live `Rc` of this thread (invariant 10).
    unsafe { Rc::increment_strong_count(cached) };
    // SAFETY: as above, and the count was raised for this one (invariant 10).
    Some(unsafe { Rc::from_raw(cached) })
}

#[cold]
fn entry_slow(domain: &Domain) -> Rc<Entry> {
    LIST.try_with(|list| list.find(domain).unwrap_or_else(|| list.register(domain)))
        .unwrap_or_else(|_| Rc::new(Entry::new(domain)))
}

impl List {
    fn find(&self, domain: &Domain) -> Option<Rc<Entry>> {
        let entries = self.0.borrow();
        let entry = entries.iter().find(|entry| entry.store == domain.number)?;
        set_cache(Rc::as_ptr(entry));
        Some(Rc::clone(entry))
    }

    fn register(&self, domain: &Domain) -> Rc<Entry> {
        set_cache(ptr::null());
        let mut gone = Vec::new();
        self.0.borrow_mut().retain(|entry| {
            let stays = !entry.gate.closed();
            if !stays {
                gone.push(Rc::clone(entry));
            }
            stays
        });
        // Outside the borrow: dropping a participant may run deferred calls.
        drop(gone);
        let entry = Rc::new(Entry::new(domain));
        self.0.borrow_mut().push(Rc::clone(&entry));
        set_cache(Rc::as_ptr(&entry));
        entry
    }
}

impl Entry {
    /// Finds out on which core the thread is, and has it prefer that core's shard and, from its next
    /// claim on, one of the magazines there: what lies in them was used on this core last, by
    /// whichever thread. Not while no other thread uses the store: then all that is warm is where
    /// this one left it.
    pub(super) fn follow_core(&self, circulation: &Circulation) {
        if self.lending.is_alone() {
            return;
        }
        let core = core_ordinal();
        if core != self.home.get() && circulation.ensure_shard(core).is_ok() {
            self.home.set(core);
            self.last_magazine.set(None);
        }
    }

    fn new(domain: &Domain) -> Entry {
        Entry {
            store: domain.number,
            gate: Arc::clone(&domain.gate),
            participant: domain.collector.register(),
            home: Cell::new(core_ordinal()),
            sessions: Cell::new(0),
            magazine: Cell::new(None),
            last_magazine: Cell::new(None),
            lending: domain.lenders.take_seat(),
            owes: Cell::new(false),
            outbox: Outbox::new(),
            in_vain: Cell::new((0, u64::MAX)),
        }
    }
}
