//! Permits: never more than the capacity, and no refusal while one was free all along.

use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

use super::{model, model_bounded};
use crate::store::{Ceiling, Permits};

/// The permits, and a cell that only who has the one permit may write.
struct One {
    permits: Permits,
    alive: UnsafeCell<()>,
}

// SAFETY: loom watches the cell.
unsafe impl Send for One {}
// SAFETY: as above.
unsafe impl Sync for One {}

#[test]
fn two_takers_and_a_giver_never_have_two_alive() {
    model("permits_two_takers_and_a_giver", 50, || {
        let one = Arc::new(One {
            permits: Permits::new(Ceiling { capacity: 1, growth: 0 }, 2),
            alive: UnsafeCell::new(()),
        });
        assert!(one.permits.take(0));
        let spawners = [0, 1].map(|home| {
            let one = Arc::clone(&one);
            thread::spawn(move || {
                let taken = one.permits.take(home);
                if taken {
                    one.alive.with_mut(|_| ());
                }
                taken
            })
        });
        one.alive.with_mut(|_| ());
        one.permits.give(1);
        let taken = spawners.map(|spawner| spawner.join().unwrap());
        assert!(!(taken[0] && taken[1]), "one permit, two takers");
        assert_eq!(one.permits.take(0), taken == [false, false], "no permit is lost");
    });
}

/// One permit is free at every instant, but never stays on one word: a taker gets one.
#[test]
fn taker_gets_the_permit_that_moves() {
    model("permits_moving", 10, || {
        let permits = Arc::new(Permits::new(Ceiling { capacity: 2, growth: 0 }, 2));
        assert!(permits.take(0));
        let other = Arc::clone(&permits);
        let mover = thread::spawn(move || {
            other.give(0);
            assert!(other.take(1));
        });
        assert!(permits.take(0), "a permit was free all along");
        mover.join().unwrap();
    });
}

/// The same, with a permit that moves on while the taker looks again.
#[test]
fn taker_gets_the_permit_that_moves_back_and_forth() {
    model_bounded("permits_moving_back_and_forth", 4, 10, || {
        let permits = Arc::new(Permits::new(Ceiling { capacity: 2, growth: 0 }, 2));
        assert!(permits.take(0));
        let other = Arc::clone(&permits);
        let mover = thread::spawn(move || {
            for _ in 0..3 {
                other.give(0);
                assert!(other.take(1));
                other.give(1);
                assert!(other.take(0));
            }
        });
        assert!(permits.take(0), "a permit was free all along");
        mover.join().unwrap();
    });
}

/// Two units to add, three takers: each unit is added once, and the third is refused.
#[test]
fn units_added_by_two_are_never_more_than_the_growth() {
    model("permits_growth", 100, || {
        let permits = Arc::new(Permits::new(Ceiling { capacity: 1, growth: 2 }, 2));
        assert!(permits.take(0));
        let takers = [0, 1].map(|home| {
            let permits = Arc::clone(&permits);
            thread::spawn(move || permits.take(home))
        });
        let mine = permits.take(1);
        let taken = takers.map(|taker| taker.join().unwrap());
        let took = usize::from(mine) + taken.into_iter().filter(|&took| took).count();
        assert_eq!((took, permits.out(), permits.in_force()), (2, 3, 3));
    });
}

/// A unit comes back while another is added: there is one at every instant, so a taker gets one.
#[test]
fn taker_gets_the_unit_that_comes_back_or_the_one_to_add() {
    model("permits_growth_or_return", 20, || {
        let permits = Arc::new(Permits::new(Ceiling { capacity: 1, growth: 1 }, 2));
        assert!(permits.take(0));
        let other = Arc::clone(&permits);
        let mover = thread::spawn(move || {
            other.give(0);
            assert!(other.take(1), "its own, or the one to add");
        });
        assert!(permits.take(0), "a unit was there all along");
        mover.join().unwrap();
        assert_eq!((permits.out(), permits.in_force()), (2, 2));
    });
}

/// Who gives a unit back and then adds the last one leaves one behind: a taker that finds growth
/// spent finds the unit.
#[test]
fn taker_gets_the_unit_given_back_before_the_last_was_added() {
    model("permits_return_then_growth", 10, || {
        let permits = Arc::new(Permits::new(Ceiling { capacity: 1, growth: 1 }, 2));
        assert!(permits.take(0));
        let other = Arc::clone(&permits);
        let taker = thread::spawn(move || other.take(0));
        permits.give(1);
        let added = permits.grow();
        assert!(taker.join().unwrap(), "a unit was there all along, or one to add");
        assert_eq!((permits.out(), permits.in_force()), (1 + usize::from(added), 2));
    });
}
