//! A session: a pin of one thread on one store, and the thread's claim on a magazine.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;

use crossbeam_epoch::Guard;

use super::deferral::{defer_in_place, flush, hand_on};
use super::local::{self, Entry};
use super::{Domain, Registration};
use crate::free::{Circulation, Claimed, Magazine, Owned};
use crate::memory::OutOfMemory;
use crate::segment::Attic;
use crate::sync::{Arc, Counter, courtesy, planted};

/// A pin, or none: an [unpinned](Session::unpinned) session reads no payload. While the pin lasts,
/// no payload that the thread could see is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    /// `None` while the session steps aside, and until an [unpinned](Session::unpinned) one needs a
    /// pin. Declared before `entry`, so that the pin ends before its participant.
    pub(super) guard: RefCell<Option<Guard>>,
    pub(super) entry: Rc<Entry>,
    /// The magazine that the thread's sessions have claimed, once this one has asked for it: it
    /// stays theirs until the last of them ends. Here as well as in `entry`, for one pointer less
    /// to follow.
    magazine: Cell<Option<NonNull<Magazine>>>,
    /// The session of one call, which hands out no borrow: it may repin on its own.
    own: bool,
    /// Whether the claim on the magazine keeps the segments, in place of a pin (`free::claim`).
    looking: bool,
}

impl Session {
    /// A session that lends payloads out.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn lending(domain: &Domain) -> Session {
        Registration::of(domain).lending()
    }

    /// The session of one call.
    #[inline]
    pub(crate) fn own(domain: &Domain) -> Session {
        Registration::of(domain).own()
    }

    /// The session of one call that may need no pin: a call that owns a slot, or takes one out of
    /// its magazine, may touch it. To do more it [pins](Session::ensure_pinned) first.
    #[inline]
    pub(crate) fn unpinned(domain: &Domain) -> Session {
        Session::open_unpinned(local::entry(domain), false)
    }

    /// The same on a thread that has used the store before.
    pub(crate) fn unpinned_if_known(domain: &Domain) -> Option<Session> {
        local::known_entry(domain).map(|entry| Session::open_unpinned(entry, false))
    }

    /// The session of one call that looks an entity up, and reads no payload, under the claim on
    /// its magazine in place of a pin (`free::claim`). `None` if a pin is needed: inside another
    /// session, whose claim is not for looking and may last long; if another thread has the
    /// magazine now; while somebody is in the attic; and if the thread owes the others a look
    /// around.
    #[inline]
    pub(crate) fn looking(domain: &Domain, attic: &Attic) -> Option<Session> {
        let entry = local::entry(domain);
        if entry.sessions.get() > 0 || entry.owes.get() {
            return None;
        }
        let last = entry.last_magazine.get()?;
        // SAFETY: it belongs to the circulation of the store that the caller borrows (invariant
        // 11).
        let claimed = unsafe { last.as_ref() }.claim_to_look()?;
        pause_point!("claimed to look, attic not seen");
        if attic.is_entered() {
            claimed.release();
            return None;
        }
        pause_point!("looks without a pin");
        entry.magazine.set(Some(last));
        Some(Session::open_unpinned(entry, true))
    }

    #[inline]
    fn open_unpinned(entry: Rc<Entry>, looking: bool) -> Session {
        entry.sessions.set(entry.sessions.get() + 1);
        let magazine = Cell::new(entry.magazine.get());
        Session { guard: RefCell::new(None), entry, magazine, own: true, looking }
    }

    #[inline]
    pub(super) fn open(entry: Rc<Entry>, own: bool) -> Session {
        entry.sessions.set(entry.sessions.get() + 1);
        if !own {
            entry.lending.enter();
        }
        let guard = entry.participant.pin();
        let magazine = Cell::new(None);
        Session { guard: RefCell::new(Some(guard)), entry, magazine, own, looking: false }
    }

    /// Runs user code inside the call that the session belongs to. It may block for as long as it
    /// likes, so meanwhile the thread counts as one that lends payloads out: nobody waits long for
    /// such a one.
    #[inline]
    pub(crate) fn meanwhile<R>(&self, user: impl FnOnce() -> R) -> R {
        let _lending = self.lend();
        user()
    }

    /// Has the thread count as one that lends payloads out, if it does not do so already.
    #[inline]
    pub(crate) fn lend(&self) -> Lending<'_> {
        if self.own {
            self.entry.lending.enter();
        }
        Lending(self)
    }

    /// Pins, if the session has no pin yet.
    #[cold]
    pub(crate) fn ensure_pinned(&self) {
        self.guard.borrow_mut().get_or_insert_with(|| self.entry.participant.pin());
    }

    /// The shard that the thread prefers.
    #[inline]
    pub(crate) fn home(&self) -> usize {
        self.entry.home.get()
    }

    /// Has the thread prefer the shard of the core on which it is now.
    pub(crate) fn follow_core(&self, circulation: &Circulation) {
        self.entry.follow_core(circulation);
    }

    /// Whether nothing on this thread is lent out under the pin, so that a call may move it.
    #[inline]
    pub(crate) fn may_repin(&self) -> bool {
        self.own && self.entry.sessions.get() == 1
    }

    /// The magazine that this thread's sessions share, claimed at its first use.
    #[inline]
    pub(crate) fn magazine<'c>(
        &self,
        circulation: &'c Circulation,
    ) -> Result<Claimed<'c>, OutOfMemory> {
        match self.at_hand(circulation) {
            Some(claimed) => Ok(claimed),
            None => self.claim(circulation),
        }
    }

    /// The magazine that this thread's sessions share, or the one that they had before, if nobody
    /// else has it now.
    #[inline]
    pub(crate) fn at_hand<'c>(&self, owner: &'c Circulation) -> Option<Claimed<'c>> {
        match self.magazine.get() {
            // SAFETY: it belongs to this store's circulation, and this thread's sessions have
            // claimed it (invariant 5, 11).
            Some(magazine) => Some(unsafe { claimed_by_us(owner, magazine) }),
            None => self.claim_again(owner),
        }
    }

    /// Not inlined, so that the fast path of a session that has its magazine stays short.
    #[inline(never)]
    fn claim_again<'c>(&self, owner: &'c Circulation) -> Option<Claimed<'c>> {
        if let Some(magazine) = self.entry.magazine.get() {
            self.magazine.set(Some(magazine));
            // SAFETY: as in `at_hand` (invariant 5, 11).
            return Some(unsafe { claimed_by_us(owner, magazine) });
        }
        let last = self.entry.last_magazine.get()?;
        // SAFETY: it belongs to this store's circulation, which the caller borrows (invariant 11).
        let claimed = unsafe { last.as_ref() }.claim()?;
        self.share(last);
        Some(claimed)
    }

    /// Shares what this session has claimed with the others of its thread.
    fn share(&self, magazine: NonNull<Magazine>) {
        self.magazine.set(Some(magazine));
        self.entry.magazine.set(Some(magazine));
        pause_point!("magazine claimed");
    }

    #[cold]
    fn claim<'c>(&self, circulation: &'c Circulation) -> Result<Claimed<'c>, OutOfMemory> {
        let claimed = circulation.claim_magazine(self.home())?;
        let magazine = NonNull::from(&*claimed);
        self.entry.last_magazine.set(Some(magazine));
        self.share(magazine);
        Ok(claimed)
    }

    /// Sends a batch of Dead slots through limbo: after the grace period it is ripe.
    ///
    /// It stays in the thread's outbox until a pin moves or ends, or somebody asks the collector to
    /// advance: before that its grace period cannot be over, whoever has it, and all batches of a
    /// session are one deferred call, counted once.
    pub(crate) fn hand_over(&self, circulation: &Arc<Circulation>, batch: Owned) {
        self.entry.owes.set(true);
        self.entry.outbox.put(circulation, batch);
    }

    /// Batches that wait for their grace period, including those in this thread's outbox. Those in
    /// the outboxes of other threads wait for the sessions that are open there, and are not
    /// counted.
    pub(crate) fn in_limbo(&self, circulation: &Circulation) -> u64 {
        circulation.in_limbo() + self.entry.outbox.batches()
    }

    /// Batches that were ever sent into limbo, including those in this thread's outbox.
    pub(crate) fn handed_over(&self, circulation: &Circulation) -> u64 {
        circulation.handed_over() + self.entry.outbox.batches()
    }

    /// The claim stays with sessions that have begun inside this one: those have pins, or look
    /// nothing up.
    #[cold]
    fn leave_to_others(&self) {
        if let Some(magazine) = self.entry.magazine.get() {
            // SAFETY: it belongs to this store's circulation, which outlives the session (invariant
            // 11).
            let magazine = unsafe { magazine.as_ref() };
            // SAFETY: this thread's sessions have claimed it (invariant 5).
            unsafe { Claimed::new(magazine) }.stop_looking();
        }
    }

    /// [`hand_on`], by the last session of the thread: the one that handed over may have ended, and
    /// may have had the only pin.
    #[cold]
    fn hand_on_last(&self) {
        self.ensure_pinned();
        let guard = self.guard.borrow();
        let Some(guard) = guard.as_ref() else { unreachable!("pinned just now") };
        hand_on(&self.entry, guard);
    }

    /// Frees what was unlinked after every session that could have seen it.
    ///
    /// # Safety
    /// * As for [`defer_in_place`].
    pub(crate) unsafe fn defer_free(&self, free: impl FnOnce()) {
        if planted("segment freed at once") {
            return free();
        }
        let guard = self.guard.borrow();
        let Some(guard) = guard.as_ref() else { unreachable!("nothing is deferred unpinned") };
        // SAFETY: the caller's duty (invariant 11).
        unsafe { defer_in_place(guard, free) };
        flush(&self.entry, guard);
    }

    /// Drops what was unlinked, which runs no user code, after every session that could have seen
    /// it; and then subtracts `counted` from `out`.
    pub(crate) fn defer_drop<V: Send + 'static>(
        &self,
        unlinked: Box<V>,
        counted: u64,
        out: std::sync::Arc<Counter>,
    ) {
        let guard = self.guard.borrow();
        let Some(guard) = guard.as_ref() else { unreachable!("nothing is deferred unpinned") };
        guard.defer(move || {
            drop(unlinked);
            out.sub_shared(counted);
        });
        flush(&self.entry, guard);
    }

    /// Asks the collector to advance; the pin stays where it is.
    pub(crate) fn hurry(&self) {
        let guard = self.guard.borrow();
        let Some(guard) = guard.as_ref() else { unreachable!("nothing advances unpinned") };
        flush(&self.entry, guard);
    }

    /// Asks the collector to advance, and moves the pin along where that is allowed.
    pub(crate) fn advance(&self) {
        let mut guard = self.guard.borrow_mut();
        let Some(guard) = guard.as_mut() else { unreachable!("nothing advances unpinned") };
        flush(&self.entry, guard);
        if self.may_repin() {
            guard.repin();
        }
    }

    /// Leaves the processor to threads that hold the epoch, unpinned where that is allowed.
    pub(crate) fn courtesy(&self, round: u32) {
        if !self.may_repin() {
            return courtesy(round);
        }
        if let Some(guard) = self.guard.borrow_mut().take() {
            hand_on(&self.entry, &guard);
        }
        courtesy(round);
        *self.guard.borrow_mut() = Some(self.entry.participant.pin());
    }

    /// Moves the pin of a long call along, where that is allowed.
    pub(crate) fn refresh(&self) {
        if self.may_repin()
            && let Some(guard) = self.guard.borrow_mut().as_mut()
        {
            hand_on(&self.entry, guard);
            guard.repin();
        }
    }

    /// Moves the pin to the current epoch: the owner has given back what it borrowed.
    pub(crate) fn repin(&mut self) {
        if let Some(guard) = self.guard.get_mut() {
            hand_on(&self.entry, guard);
            guard.repin();
        }
    }
}

/// # Safety
/// * The magazine belongs to the circulation, and this thread's sessions have claimed it.
#[inline]
unsafe fn claimed_by_us(_owner: &Circulation, magazine: NonNull<Magazine>) -> Claimed<'_> {
    // SAFETY: magazines stay as long as their circulation (invariant 11).
    let magazine = unsafe { magazine.as_ref() };
    // SAFETY: the caller's duty (invariant 5).
    unsafe { Claimed::new(magazine) }
}

/// The magazine that this thread has claimed now, if any: to count without a session.
#[inline]
pub(crate) fn claimed_here<'c>(domain: &Domain, owner: &'c Circulation) -> Option<Claimed<'c>> {
    let magazine = local::cached_magazine(domain)?;
    // SAFETY: an open session of this thread has claimed it: the last one that is closed takes it
    // out of the entry (invariant 5, 11).
    Some(unsafe { claimed_by_us(owner, magazine) })
}

/// While it lives, the thread of its session counts as one that lends payloads out.
#[derive(Debug)]
pub(crate) struct Lending<'s>(&'s Session);

impl Drop for Lending<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.own {
            self.0.entry.lending.leave();
        }
    }
}

impl Drop for Session {
    #[inline]
    fn drop(&mut self) {
        if !self.own {
            self.entry.lending.leave();
        }
        let others = self.entry.sessions.get() - 1;
        self.entry.sessions.set(others);
        if others > 0 {
            if self.looking {
                self.leave_to_others();
            }
            return;
        }
        if !self.entry.outbox.is_empty() {
            self.hand_on_last();
        }
        if let Some(magazine) = self.entry.magazine.take() {
            // SAFETY: it belongs to this store's circulation, which outlives the session (invariant
            // 11).
            let magazine = unsafe { magazine.as_ref() };
            // SAFETY: this thread's sessions claimed it, and this was the last of them (invariant
            // 5).
            unsafe { Claimed::new(magazine) }.release();
        }
    }
}
