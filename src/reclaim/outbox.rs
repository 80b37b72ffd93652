//! The outbox of a thread: batches that it has handed over, and not yet handed on to the collector.

use std::cell::{Cell, RefCell};

use crate::free::{Chain, Circulation, Owned};
use crate::sync::Arc;

/// The batches that a thread's sessions have handed over since one of them was last about to move
/// or end its pin: one chain, which becomes one deferred call.
///
/// Only sessions put batches in, and the thread's last [`Session`](super::Session) takes out what
/// is left when it ends, also by a panic or late in the thread's exit. So an outbox is empty when
/// it is dropped; otherwise its batches would be lost, and so would their slots.
#[derive(Debug)]
pub(super) struct Outbox {
    chain: RefCell<Option<(Arc<Circulation>, Chain)>>,
    /// How many batches the chain has: every session asks at its end, without a borrow.
    batches: Cell<u64>,
}

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox { chain: RefCell::new(None), batches: Cell::new(0) }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.batches.get() == 0
    }

    /// How many batches wait here.
    #[inline]
    pub(super) fn batches(&self) -> u64 {
        self.batches.get()
    }

    /// Adds a batch, of the same circulation as the others.
    pub(super) fn put(&self, circulation: &Arc<Circulation>, batch: Owned) {
        let mut chain = self.chain.borrow_mut();
        match &mut *chain {
            Some((_, chain)) => chain.add(batch),
            None => *chain = Some((Arc::clone(circulation), Chain::of(batch))),
        }
        self.batches.set(self.batches.get() + 1);
    }

    /// Takes all of them out.
    pub(super) fn take(&self) -> Option<(Arc<Circulation>, Chain)> {
        self.batches.set(0);
        self.chain.take()
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        debug_assert!(self.is_empty() || std::thread::panicking(), "the last session hands it on");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::{Domain, Session};
    use super::*;
    use crate::segment::Index;

    /// What sessions hand over, without a store around it.
    struct Traffic {
        domain: Domain,
        circulation: Arc<Circulation>,
    }

    impl Traffic {
        fn new() -> Arc<Traffic> {
            let circulation = Arc::new(Circulation::new(1));
            circulation.ensure_shard(0).unwrap();
            Arc::new(Traffic { domain: Domain::new(), circulation })
        }

        fn hand_over(&self, session: &Session, indices: &[u32]) {
            for &index in indices {
                let mut batch = self.circulation.empty_box().unwrap();
                batch.push(Index(index));
                session.hand_over(&self.circulation, batch);
            }
        }

        /// Asserts what has ripened once no pin is in the way, in the order in which it is popped.
        #[track_caller]
        fn assert_ripe(&self, indices: &[u32]) {
            assert_eq!(self.circulation.handed_over(), indices.len() as u64);
            let session = Session::own(&self.domain);
            for _ in 0..8 {
                session.advance();
            }
            let ripe = std::iter::from_fn(|| self.circulation.take_ripe(0));
            let found = Vec::from_iter(ripe.map(|mut batch| batch.pop().unwrap().0));
            assert_eq!(found, indices);
            assert_eq!(session.in_limbo(&self.circulation), 0);
        }
    }

    #[test]
    fn batches_of_one_session_ripen_together_and_the_last_is_taken_first() {
        let traffic = Traffic::new();
        let session = Session::lending(&traffic.domain);
        traffic.hand_over(&session, &[1, 2, 3]);
        assert_eq!(session.in_limbo(&traffic.circulation), 3);
        assert_eq!(session.handed_over(&traffic.circulation), 3);
        assert_eq!(traffic.circulation.handed_over(), 0, "nobody was told of them");
        session.hurry();
        assert_eq!(traffic.circulation.in_limbo(), 3);
        assert_eq!(session.in_limbo(&traffic.circulation), 3, "counted once");
        drop(session);
        traffic.assert_ripe(&[3, 2, 1]);
    }

    #[test]
    fn every_way_to_move_or_end_a_pin_hands_on() {
        type Way = fn(Session);
        let ways: [(&str, Way); 7] = [
            ("end", drop),
            ("repin", |mut session| session.repin()),
            ("refresh", |session| session.refresh()),
            ("courtesy", |session| session.courtesy(0)),
            ("advance", |session| session.advance()),
            ("free", |session| {
                // SAFETY: nothing is freed (invariant 11).
                unsafe { session.defer_free(|| ()) };
            }),
            ("drop", |session| session.defer_drop(Box::new(()), 0, Default::default())),
        ];
        for (way, move_pin) in ways {
            let traffic = Traffic::new();
            let session = Session::own(&traffic.domain);
            traffic.hand_over(&session, &[1]);
            move_pin(session);
            assert_eq!(traffic.circulation.handed_over(), 1, "{way}");
            traffic.assert_ripe(&[1]);
        }
        let traffic = Traffic::new();
        let mut session = Session::own(&traffic.domain);
        traffic.hand_over(&session, &[1]);
        let circulation = &traffic.circulation;
        session.step_aside(circulation, |_home| {
            assert_eq!(circulation.in_limbo(), 1, "a thread counts its own garbage");
            false
        });
    }

    #[test]
    fn inner_session_leaves_it_to_the_last_one_of_its_thread() {
        for outer in [Session::lending, Session::own, Session::unpinned] {
            let traffic = Traffic::new();
            let outer = outer(&traffic.domain);
            let inner = Session::own(&traffic.domain);
            traffic.hand_over(&inner, &[1, 2]);
            drop(inner);
            assert_eq!(outer.in_limbo(&traffic.circulation), 2);
            assert_eq!(traffic.circulation.handed_over(), 0);
            drop(outer);
            traffic.assert_ripe(&[2, 1]);
        }
    }

    #[test]
    fn session_that_ends_by_a_panic_hands_on() {
        let traffic = Traffic::new();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let outer = Session::lending(&traffic.domain);
            traffic.hand_over(&outer, &[1]);
            let inner = Session::own(&traffic.domain);
            traffic.hand_over(&inner, &[2]);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(ended.is_err());
        traffic.assert_ripe(&[2, 1]);
    }

    /// Hands over when it is dropped, by an entry of its own: the thread's list is destroyed by
    /// then. A session of the thread's entry, if it keeps one, ends after that.
    struct Parting(Arc<Traffic>, Option<Session>);

    impl Drop for Parting {
        fn drop(&mut self) {
            let Parting(traffic, kept) = self;
            let session = Session::own(&traffic.domain);
            traffic.hand_over(&session, &[2]);
            drop(session);
            let told = if kept.is_some() { 1 } else { 2 };
            assert_eq!(traffic.circulation.handed_over(), told);
        }
    }

    std::thread_local! {
        static PARTING: RefCell<Option<Parting>> = const { RefCell::new(None) };
    }

    #[test]
    fn what_a_thread_hands_over_in_its_last_moments_is_handed_on() {
        for keeps_its_session in [false, true] {
            let traffic = Traffic::new();
            let leaving = Arc::clone(&traffic);
            let thread = std::thread::spawn(move || {
                // Initialised before the list of the thread's entries, so it is destroyed after
                // that.
                PARTING.with(|parting| assert!(parting.borrow().is_none()));
                let session = Session::lending(&leaving.domain);
                leaving.hand_over(&session, &[1]);
                let kept = keeps_its_session.then_some(session);
                PARTING.with(|parting| *parting.borrow_mut() = Some(Parting(leaving, kept)));
            });
            thread.join().unwrap();
            traffic.assert_ripe(if keeps_its_session { &[1, 2] } else { &[2, 1] });
        }
    }
}
