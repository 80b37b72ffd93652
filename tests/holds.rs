//! Holds as settlement tickets: while one exists the reap is put off, and the
//! last to go carries it out, on whatever thread.

mod support;

use std::sync::mpsc;

use hatchery::{
    Handle, Hold, HoldError, Limits, LookupError, Reaped, State, Store, TransitionError,
};
use support::{Census, Counted, assert_accounts};

#[test]
fn the_last_of_four_settlement_steps_carries_the_reap_out() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(1000)).unwrap();
    let ticket = store.kill_and_hold(handle).unwrap();
    let steps: Vec<Hold<Counted>> =
        (0..3).map(|_| ticket.clone()).chain([ticket.clone()]).collect();
    drop(ticket);
    assert_eq!(store.pin().holds(handle), Ok(4));
    assert_eq!(store.reap(handle), Ok(Reaped::Deferred { holds: 4 }));
    let (done, all_done) = mpsc::channel();
    std::thread::scope(|scope| {
        for step in steps {
            let done = done.clone();
            scope.spawn(move || {
                assert_eq!((step.state(), step.is_reap_requested()), (State::Dying, true));
                done.send(step.tag()).unwrap();
            });
        }
    });
    drop(done);
    assert_eq!(all_done.iter().sum::<u64>(), 4000);
    assert_eq!(store.state(handle), Err(LookupError::NotFound { handle }));
    store.reclaim();
    assert_eq!((census.alive(), store.stats().reaped), (0, 1));
}

#[test]
fn a_reap_answers_how_many_hold() {
    let census = Census::new();
    let store = Store::new();
    for count in 1..=10 {
        let handle = store.spawn_active(census.payload(0)).unwrap();
        let holds: Vec<_> = (0..count).map(|_| store.hold(handle).unwrap()).collect();
        store.kill(handle).unwrap();
        assert_eq!(store.reap(handle), Ok(Reaped::Deferred { holds: count }));
        assert_eq!(store.stats().holds, count as usize);
        drop(holds);
        assert_eq!(store.stats().holds, 0);
    }
    assert!(store.is_empty());
}

#[test]
fn a_hold_by_itself_changes_nothing() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(5)).unwrap();
    let hold = store.hold(handle).unwrap();
    assert_eq!((hold.handle(), hold.tag()), (handle, 5));
    assert_eq!((hold.state(), hold.is_reap_requested()), (State::Active, false));
    store.kill(handle).unwrap();
    assert_eq!((hold.state(), hold.is_reap_requested()), (State::Dying, false));
    store.revive(handle).unwrap();
    assert_eq!(hold.state(), State::Active);
    drop(hold);
    assert_eq!(store.state(handle), Ok(State::Active), "no reap was asked for");
    store.kill(handle).unwrap();
    drop(store.hold(handle).unwrap());
    assert_eq!(store.state(handle), Ok(State::Dying));
    assert_eq!(store.reap(handle), Ok(Reaped::Done));
}

#[test]
fn after_the_reap_was_asked_for_only_clones_are_granted() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(5)).unwrap();
    let hold = store.kill_and_hold(handle).unwrap();
    assert_eq!(store.reap(handle), Ok(Reaped::Deferred { holds: 1 }));
    let requested = TransitionError::ReapRequested { handle };
    assert_eq!(store.reap(handle), Err(requested));
    assert_eq!(store.revive(handle), Err(requested));
    assert_eq!(store.despawn(handle), Err(requested));
    assert_eq!(store.hold(handle).err(), Some(HoldError::ReapRequested { handle }));
    assert_eq!(requested.found(), Some(State::Dying));
    let copy = hold.clone();
    assert_eq!(store.pin().holds(handle), Ok(2));
    assert_eq!(store.pin().get_with_state(handle).unwrap().1, State::Dying);
    drop(hold);
    assert_eq!(store.state(handle), Ok(State::Dying));
    drop(copy);
    assert!(store.state(handle).unwrap_err().is_gone());
}

#[test]
fn despawn_asks_for_the_reap_in_its_first_step() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(5)).unwrap();
    let hold = store.hold(handle).unwrap();
    assert_eq!(store.despawn(handle), Ok(Reaped::Deferred { holds: 1 }));
    assert_eq!((hold.state(), hold.is_reap_requested()), (State::Dying, true));
    assert_eq!(store.revive(handle), Err(TransitionError::ReapRequested { handle }));
}

#[test]
fn kill_and_hold_starts_from_active_alone() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn(census.payload(1)).unwrap().detach();
    let illegal = |from: State| {
        let transition = from.advance(State::Dying).unwrap_err();
        Some(TransitionError::Illegal { handle, transition })
    };
    assert_eq!(store.kill_and_hold(handle).err(), illegal(State::Pending));
    store.activate(handle).unwrap();
    let hold = store.kill_and_hold(handle).unwrap();
    assert_eq!(store.kill_and_hold(handle).err(), illegal(State::Dying));
    assert_eq!(store.pin().holds(handle), Ok(1), "the refused one left none behind");
    drop(hold);
    assert_eq!(store.reap(handle), Ok(Reaped::Done));
    let not_found = LookupError::NotFound { handle };
    assert_eq!(store.kill_and_hold(handle).err(), Some(not_found.into()));
}

#[test]
fn a_hold_keeps_its_place_and_its_slot_until_it_ends() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(2)).build().unwrap();
    let held = store.spawn_active(census.payload(1)).unwrap();
    let hold = store.hold(held).unwrap();
    store.despawn(held).unwrap();
    for tag in 0..500 {
        let other = store.spawn_active(census.payload(tag)).unwrap();
        assert_ne!(other.id(), held.id());
        assert!(store.spawn_active(census.payload(tag)).is_err());
        store.despawn(other).unwrap();
    }
    assert_eq!(hold.tag(), 1);
    drop(hold);
    let both = [(); 2].map(|()| store.spawn_active(census.payload(0)).unwrap());
    assert_ne!(both[0], both[1]);
    assert_accounts(&store.stats());
}

#[test]
fn a_payload_read_through_a_hold_needs_no_pin() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(3)).unwrap();
    let hold = store.hold(handle).unwrap();
    store.despawn(handle).unwrap();
    let churn: Vec<Handle> =
        (0..300).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    store.despawn_batch(&churn);
    store.reclaim();
    assert_eq!(census.alive(), 1);
    assert_eq!(hold.tag(), 3);
}

#[test]
fn clones_and_drops_on_many_threads_count_right() {
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(3)).unwrap();
    let hold = store.hold(handle).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let hold = hold.clone();
            scope.spawn(move || {
                let mut own = Vec::new();
                for step in 0..3000 {
                    own.push(hold.clone());
                    if step % 7 != 0 {
                        own.pop();
                    }
                    if step % 50 == 0 {
                        own.clear();
                    }
                }
                assert!(own.iter().all(|hold| hold.tag() == 3));
            });
        }
    });
    assert_eq!((store.pin().holds(handle), store.stats().holds), (Ok(1), 1));
    assert_eq!(store.despawn(handle), Ok(Reaped::Deferred { holds: 1 }));
    drop(hold);
    assert!(store.is_empty());
}

/// 2^24 - 1 holds of one entity: too slow for a debug build.
#[cfg(not(debug_assertions))]
#[test]
fn at_the_limit_of_holds_hold_is_refused_and_clone_panics() {
    const LIMIT: u32 = (1 << 24) - 1;
    let store = Store::new();
    let handle = store.spawn_active(7u64).unwrap();
    let other = store.spawn_active(8u64).unwrap();
    let hold = store.hold(handle).unwrap();
    let mut holds: Vec<Hold<u64>> = (1..LIMIT).map(|_| hold.clone()).collect();
    assert_eq!(store.pin().holds(handle), Ok(LIMIT));
    let refused = HoldError::TooManyHolds { handle, limit: LIMIT };
    assert_eq!(store.hold(handle).err(), Some(refused));
    assert!(support::panics(|| drop(hold.clone())));
    let too_many = TransitionError::TooManyHolds { handle, limit: LIMIT };
    assert_eq!(store.kill_and_hold(handle).err(), Some(too_many));
    assert_eq!(store.state(handle), Ok(State::Active), "nothing was changed");
    assert_eq!((store.pin().holds(handle), store.pin().holds(other)), (Ok(LIMIT), Ok(0)));
    holds.pop();
    let last = store.kill_and_hold(handle).unwrap();
    assert_eq!(store.reap(handle), Ok(Reaped::Deferred { holds: LIMIT }));
    assert!(support::panics(|| drop(hold.clone())));
    drop((holds, last));
    assert_eq!(*hold, 7);
    drop(hold);
    assert!(store.state(handle).is_err());
}
