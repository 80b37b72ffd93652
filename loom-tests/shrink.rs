//! Memory that is given back, against those who look for what was there.

use std::num::NonZeroU32;
use std::sync::Arc;

use loom::thread;

use super::grave::{Graveyard, Tomb};
use super::model;
use super::store::unlimited;
use crate::segment::{Attic, Index, Segment, Sides, Table};
use crate::store::{Growth, Store};
use crate::sync::Counter;
use crate::{EntityId, Handle, LookupError, SceneId, TransitionError};

/// A store without limits whose first segment is free, and the handle of what was in its first
/// slot.
fn spent(graveyard: &Graveyard) -> (Store<Tomb>, Handle) {
    let store = unlimited();
    let old = store.spawn_active(graveyard.tomb(0)).unwrap();
    store.despawn(old).unwrap();
    // Few looks in a model: it may take another call.
    for _ in 0..4 {
        store.reclaim();
    }
    assert_eq!(store.stats().dead, 0);
    (store, old)
}

/// What an ended entity's handle may be answered: never that it is alive, and never by a slot that
/// has forgotten it.
fn assert_gone(store: &Store<Tomb>, old: Handle) {
    assert_told_gone(store.state(old).map(drop), old);
}

fn assert_told_gone(answer: Result<(), LookupError>, old: Handle) {
    match answer {
        Err(LookupError::NotFound { .. }) => {}
        Err(LookupError::Stale { current, .. }) => assert!(current > old.generation()),
        other => panic!("{old} has ended: {other:?}"),
    }
}

/// A stale handle is looked up while its segment goes: the slot is there or it is not, and what is
/// looked at is not freed.
#[test]
fn stale_handle_against_shrink_finds_its_end_or_nothing() {
    model("stale_against_shrink", 1000, || {
        let graveyard = Graveyard::default();
        let (store, old) = spent(&graveyard);
        let other = store.clone();
        let late = thread::spawn(move || {
            assert_gone(&other, old);
            let _ = other.kill(old);
        });
        store.shrink();
        late.join().unwrap();
        assert_eq!(store.slots(), 0);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// The same by a call that has no pin: its claim keeps the segment, or it finds that somebody
/// shrinks.
#[test]
fn stale_handle_without_a_pin_against_shrink_finds_its_end_or_nothing() {
    model("unpinned_against_shrink", 1000, || {
        let graveyard = Graveyard::default();
        // This thread has had a magazine, so it claims that one to look.
        let (store, old) = spent(&graveyard);
        let other = store.clone();
        let shrinker = thread::spawn(move || other.shrink());
        match store.kill(old) {
            Err(TransitionError::Lookup(answer)) => assert_told_gone(Err(answer), old),
            other => panic!("{old} has ended: {other:?}"),
        }
        shrinker.join().unwrap();
        store.shrink();
        assert_eq!(store.slots(), 0, "nobody is in the way any more");
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// Guessed handles of every generation while the segment is made again: the first words that
/// anybody sees have the old generations.
#[test]
fn stale_handle_against_a_regrow_never_sees_a_forgetful_slot() {
    model("stale_against_regrow", 100, || {
        let graveyard = Graveyard::default();
        let (store, old) = spent(&graveyard);
        store.shrink();
        assert_eq!(store.slots(), 0);
        let next = Handle::new(
            EntityId::new(SceneId(1), old.seq()).unwrap(),
            NonZeroU32::new(old.generation().get() + 1).unwrap(),
        );
        let other = store.clone();
        let guesser = thread::spawn(move || {
            assert_gone(&other, old);
            if let Ok(tomb) = other.pin().get(next) {
                assert_eq!(tomb.read(), 7);
            }
        });
        let new = store.spawn_active(graveyard.tomb(7)).unwrap();
        assert_eq!(new, next, "the lowest slot, one generation on");
        guesser.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// An index is never given twice, and none is lost.
#[test]
fn spawn_against_shrink_gives_each_slot_once() {
    model("spawn_against_shrink", 1000, || {
        let graveyard = Graveyard::default();
        let (store, old) = spent(&graveyard);
        let (other, stones) = (store.clone(), graveyard.clone());
        let spawner = thread::spawn(move || {
            let one = other.spawn_active(stones.tomb(7)).unwrap();
            (one, other.pin().get(one).unwrap().read())
        });
        store.shrink();
        let (one, name) = spawner.join().unwrap();
        assert_eq!((name, store.pin().get(one).unwrap().read()), (7, 7));
        assert_ne!(one, old);
        let more = [8, 9].map(|name| store.spawn_active(graveyard.tomb(name)).unwrap());
        for (at, handle) in more.into_iter().enumerate() {
            assert_ne!(handle.seq(), one.seq());
            assert_eq!(store.pin().get(handle).unwrap().read(), 8 + at as u32);
        }
        assert_ne!(more[0].seq(), more[1].seq());
        assert_gone(&store, old);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// Two grow at once where memory was given back: each slot of the segment that is made again goes
/// to one of them.
#[test]
fn two_spawners_after_a_shrink_get_two_slots() {
    model("two_spawners_after_shrink", 100, || {
        let graveyard = Graveyard::default();
        let (store, old) = spent(&graveyard);
        store.shrink();
        assert_eq!(store.slots(), 0);
        let (other, stones) = (store.clone(), graveyard.clone());
        let there = thread::spawn(move || other.spawn_active(stones.tomb(7)).unwrap());
        let here = store.spawn_active(graveyard.tomb(8)).unwrap();
        let there = there.join().unwrap();
        assert_ne!(here.seq(), there.seq());
        let pinned = store.pin();
        assert_eq!([here, there].map(|handle| pinned.get(handle).unwrap().read()), [8, 7]);
        drop(pinned);
        assert_gone(&store, old);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

#[test]
fn two_shrinks_give_each_segment_back_once() {
    model("two_shrinks", 100, || {
        let graveyard = Graveyard::default();
        let (store, old) = spent(&graveyard);
        let other = store.clone();
        let there = thread::spawn(move || other.shrink());
        store.shrink();
        there.join().unwrap();
        assert_gone(&store, old);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

struct Shared(Table<Tomb>, Attic);

// SAFETY: what the rules of the table and the attic do not allow, loom reports.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// A table whose second segment was used and has left it.
    fn vacated() -> Arc<Shared> {
        let shared =
            Shared(Table::new(Sides { marks: false, stamps: false, links: true }), Attic::new());
        shared.0.ensure(2, 4).unwrap();
        shared.0.known(Index(2)).word.publish(5);
        shared.vacate();
        Arc::new(shared)
    }

    /// Nobody has seen the segment, so it is freed at once.
    fn vacate(&self) -> bool {
        let Some(mut attic) = self.1.enter() else { return false };
        let segment = Segment::of(Index(2));
        let Ok(Some(kept)) = self.0.keep(segment, &mut attic) else { return false };
        let waiting = std::sync::Arc::new(Counter::new(0));
        // SAFETY: the models' threads use no slot of it but by look-ups that they have ended.
        let unlinked = unsafe { self.0.vacate(kept, &mut attic, &waiting) };
        // SAFETY: as above.
        unsafe { unlinked.free(&waiting) };
        true
    }

    /// The generation that a look-up finds in the slot at 2.
    fn look(&self) -> Option<u32> {
        self.0.slot(Index(2)).map(|slot| slot.word.peek().generation())
    }
}

/// Without pins: the words of a segment that is made again.
#[test]
fn forged_handle_against_a_segment_made_again_sees_the_old_generation() {
    model("forged_against_restore", 4, || {
        let shared = Shared::vacated();
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            assert!(other.look().is_none_or(|generation| generation == 5));
        });
        shared.0.restore(&mut shared.1.enter().unwrap()).unwrap().unwrap();
        reader.join().unwrap();
        assert_eq!(shared.look(), Some(5));
    });
}

/// Who comes late with a fresh index makes no segment where one was given back.
#[test]
fn late_grower_makes_no_segment_where_one_was_given_back() {
    model("late_grower", 6, || {
        let shared = Arc::new(Shared(
            Table::new(Sides { marks: false, stamps: false, links: true }),
            Attic::new(),
        ));
        shared.0.ensure(2, 4).unwrap();
        shared.0.known(Index(2)).word.publish(5);
        let other = Arc::clone(&shared);
        let grower = thread::spawn(move || other.0.ensure(2, 3).unwrap());
        assert!(shared.vacate());
        grower.join().unwrap();
        assert_eq!(shared.look(), None, "or it would have begun anew");
    });
}

/// Without pins: what one has put into the attic, another takes out, whole.
#[test]
fn segment_given_back_by_one_and_made_again_by_another_is_the_same() {
    model("attic_handed_on", 4, || {
        let shared = Shared::vacated();
        let other = Arc::clone(&shared);
        let there = thread::spawn(move || {
            let restored = other.1.enter().map(|mut attic| other.0.restore(&mut attic).unwrap());
            restored.flatten().is_some()
        });
        let here = shared.1.enter().map(|mut attic| shared.0.restore(&mut attic).unwrap());
        let here = here.flatten().is_some();
        let there = there.join().unwrap();
        assert!(here ^ there, "once: {here} and {there}");
        assert_eq!(shared.look(), Some(5));
    });
}

/// Without pins: who takes a slot of a segment that was made again finds it.
#[test]
fn slot_of_a_segment_made_again_is_there_for_its_taker() {
    model("taker_of_a_restored_segment", 4, || {
        let shared = Shared::vacated();
        let growth = Arc::new(Growth::new());
        growth.count_back(&(2..4), 0, 0);
        let (other, grown) = (Arc::clone(&shared), Arc::clone(&growth));
        let taker = thread::spawn(move || {
            let taken = grown.take_again(1)?;
            assert_eq!(other.look(), Some(5), "{taken:?}");
            Some(taken.start)
        });
        let segment = shared.0.restore(&mut shared.1.enter().unwrap()).unwrap().unwrap();
        growth.open(&segment);
        let here = growth.take_again(1).unwrap().start;
        assert_ne!(Some(here), taker.join().unwrap());
    });
}
