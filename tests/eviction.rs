//! The policy that ends the oldest: who goes, who is passed over, when a spawn is refused all the
//! same, and what is counted.

mod support;

use hatchery::{
    ConfigError, Exhaustion, Handle, Limits, LookupError, Reaped, SpawnFailure, State, Store,
    TransitionError,
};
use support::{Census, Counted, Dice, assert_accounts, nonzero};

fn store(capacity: usize) -> Store<Counted> {
    Store::builder().limits(Limits::overwrite_oldest(capacity)).build().unwrap()
}

fn fill<const N: usize>(store: &Store<Counted>, census: &Census) -> [Handle; N] {
    std::array::from_fn(|tag| store.spawn_active(census.payload(tag as u64)).unwrap())
}

/// Who went, of those that are given, when one more is spawned: none, or several, is a failure.
#[track_caller]
fn goes(store: &Store<Counted>, census: &Census, among: &[Handle]) -> Handle {
    let alive = |handle: &&Handle| store.state(**handle).is_ok();
    let before: Vec<&Handle> = among.iter().filter(alive).collect();
    let overwritten = store.stats().overwritten;
    store.spawn_active(census.payload(999)).unwrap();
    let gone: Vec<&Handle> = before.into_iter().filter(|handle| !alive(handle)).collect();
    assert_eq!((gone.len(), store.stats().overwritten), (1, overwritten + 1), "{gone:?}");
    *gone[0]
}

/// A refusal as exhausted: the payload comes back, and nobody was ended.
#[track_caller]
fn assert_exhausted(store: &Store<Counted>, census: &Census, capacity: usize) {
    let before = store.stats();
    let (alive, made) = (census.alive(), census.made() as u64);
    let error = store.spawn_active(census.payload(made)).unwrap_err();
    assert_eq!(error.failure, SpawnFailure::Exhausted { capacity });
    assert_eq!((error.value.tag(), census.alive()), (made, alive + 1), "the payload comes back");
    let after = store.stats();
    assert_eq!(after.rejected, before.rejected + 1);
    assert_eq!((after.overwritten, after.killed), (before.overwritten, before.killed));
    assert_eq!(
        (after.live, after.pending, after.active),
        (capacity, before.pending, before.active)
    );
}

#[test]
fn spawn_into_a_full_store_ends_the_oldest() {
    let census = Census::new();
    let store = store(3);
    let mut all = fill::<3>(&store, &census).to_vec();
    for n in 3..100 {
        all.push(store.spawn_active(census.payload(n)).unwrap());
        let pinned = store.pin();
        for (at, handle) in all.iter().enumerate() {
            assert_eq!(pinned.contains(*handle), at + 3 >= all.len(), "{at} of {}", all.len());
        }
    }
    let stats = store.stats();
    assert_eq!((stats.overwritten, stats.live, stats.released), (97, 3, 0), "{stats:?}");
    assert_accounts(&stats);
}

#[test]
fn order_of_activation_and_not_of_spawn_says_who_is_the_oldest() {
    for by_handle in [false, true] {
        let census = Census::new();
        let store = store(4);
        let mut guards: Vec<_> =
            (0..4).map(|tag| Some(store.spawn(census.payload(tag)).unwrap())).collect();
        let order = [2, 0, 3, 1].map(|at: usize| {
            let guard = guards[at].take().unwrap();
            if !by_handle {
                return guard.activate();
            }
            let handle = guard.detach();
            store.activate(handle).unwrap();
            handle
        });
        for expected in order {
            assert_eq!(goes(&store, &census, &order), expected, "by handle: {by_handle}");
        }
    }
}

#[test]
fn order_of_activation_by_handle_is_not_that_of_detachment() {
    let census = Census::new();
    let store = store(3);
    let handles = [0, 1, 2].map(|tag| store.spawn(census.payload(tag)).unwrap().detach());
    let order = [handles[1], handles[2], handles[0]];
    order.iter().for_each(|handle| store.activate(*handle).unwrap());
    for expected in order {
        assert_eq!(goes(&store, &census, &order), expected);
    }
}

/// A slot that is used again is as young as its entity.
#[test]
fn entity_in_a_reused_slot_is_young() {
    let census = Census::new();
    let store = store(3);
    let [first, second, third] = fill(&store, &census);
    store.despawn(first).unwrap();
    store.reclaim();
    let mut young = store.spawn_active(census.payload(3)).unwrap();
    while young.seq() != first.seq() {
        store.despawn(young).unwrap();
        store.reclaim();
        young = store.spawn_active(census.payload(3)).unwrap();
    }
    let all = [first, second, third, young];
    assert_eq!([(); 3].map(|()| goes(&store, &census, &all)), [second, third, young]);
}

#[test]
fn revived_entity_keeps_its_age() {
    let census = Census::new();
    let store = store(3);
    let all = fill::<3>(&store, &census);
    store.kill(all[0]).unwrap();
    store.revive(all[0]).unwrap();
    store.kill(all[1]).unwrap();
    store.revive(all[1]).unwrap();
    assert_eq!([(); 3].map(|()| goes(&store, &census, &all)), all);
}

#[test]
fn pending_entity_is_never_evicted() {
    let census = Census::new();
    let store = store(4);
    let guard = store.spawn(census.payload(0)).unwrap();
    let detached = store.spawn(census.payload(1)).unwrap().detach();
    for tag in 0..50 {
        store.spawn_active(census.payload(tag)).unwrap();
    }
    assert_eq!((guard.tag(), store.state(detached)), (0, Ok(State::Pending)));
    assert_eq!((store.len(), store.stats().pending), (4, 2));
    // From here on they are the youngest, however long ago they were spawned.
    let third = store.pin().iter().map(|(handle, _)| handle).collect::<Vec<_>>();
    let shown = [guard.activate(), detached];
    store.activate(detached).unwrap();
    let all = [third, shown.to_vec()].concat();
    let order = [(); 4].map(|()| goes(&store, &census, &all));
    assert_eq!(order[2..], shown);
}

/// C19
#[test]
fn held_oldest_is_passed_over_and_comes_back_when_it_is_let_go() {
    let census = Census::new();
    let store = store(2);
    let [first, second] = fill(&store, &census);
    let held = store.hold(first).unwrap();
    assert_eq!(goes(&store, &census, &[first, second]), second);
    for _ in 0..20 {
        store.spawn_active(census.payload(5)).unwrap();
        assert_eq!((held.tag(), held.state()), (0, State::Active), "a held payload stays intact");
        assert!(!held.is_reap_requested());
    }
    drop(held);
    assert_eq!(goes(&store, &census, &[first]), first);
}

/// More than a list of the oldest has: every one of them is looked at again.
#[test]
fn many_held_are_passed_over_and_go_in_order_once_they_are_let_go() {
    let census = Census::new();
    let store = store(500);
    let all = fill::<500>(&store, &census);
    let mut holds: Vec<_> = all[..450].iter().map(|handle| store.hold(*handle).unwrap()).collect();
    for at in 450..500 {
        assert_eq!(goes(&store, &census, &all[at..]), all[at]);
    }
    // In no order; those in between stay held.
    for at in [300, 7, 449, 120] {
        drop(holds.swap_remove(holds.iter().position(|h| h.handle() == all[at]).unwrap()));
    }
    for at in [7, 120, 300, 449] {
        assert_eq!(goes(&store, &census, &all[..450]), all[at]);
    }
    assert!(holds.iter().all(|hold| hold.state() == State::Active));
}

#[test]
fn spawn_where_everything_is_held_or_pending_is_exhausted_and_ends_nobody() {
    for capacity in [1, 2, 5, 200] {
        let census = Census::new();
        let store = store(capacity);
        let mut holds = Vec::new();
        let mut guards = Vec::new();
        for tag in 0..capacity as u64 {
            if tag % 2 == 0 {
                let handle = store.spawn_active(census.payload(tag)).unwrap();
                holds.push(store.hold(handle).unwrap());
            } else {
                guards.push(store.spawn(census.payload(tag)).unwrap());
            }
        }
        for _ in 0..3 {
            assert_exhausted(&store, &census, capacity);
        }
        let oldest = holds.remove(0).handle();
        assert_eq!(goes(&store, &census, &[oldest]), oldest, "there is one to end again");
        assert!(store.slots() <= 2 * capacity, "{}", store.slots());
        drop((holds, guards));
        assert_accounts(&store.stats());
    }
}

#[test]
fn held_entity_that_is_asked_to_end_is_passed_over() {
    let census = Census::new();
    let store = store(2);
    let [first, second] = fill(&store, &census);
    let hold = store.hold(first).unwrap();
    assert_eq!(store.despawn(first), Ok(Reaped::Deferred { holds: 1 }));
    let killed = store.kill_and_hold(second).unwrap();
    assert_exhausted(&store, &census, 2);
    drop(hold);
    let room = store.spawn_active(census.payload(5)).unwrap();
    assert_eq!(store.stats().overwritten, 0, "a unit came back, so nobody had to be ended");
    drop(killed);
    assert_eq!(goes(&store, &census, &[room, second]), second, "Dying, and older");
}

#[test]
fn clone_of_a_hold_keeps_its_entity_from_being_evicted() {
    let census = Census::new();
    let store = store(1);
    let [only] = fill(&store, &census);
    let hold = store.hold(only).unwrap();
    let clone = hold.clone();
    drop(hold);
    assert_exhausted(&store, &census, 1);
    drop(clone);
    assert_eq!(goes(&store, &census, &[only]), only);
}

#[test]
fn evicted_handle_is_not_found_and_then_stale() {
    let census = Census::new();
    let store = store(1);
    let [old] = fill(&store, &census);
    let mut young = store.spawn_active(census.payload(1)).unwrap();
    assert_eq!(store.state(old), Err(LookupError::NotFound { handle: old }));
    assert_eq!(
        store.kill(old),
        Err(TransitionError::Lookup(LookupError::NotFound { handle: old }))
    );
    while young.seq() != old.seq() {
        young = store.spawn_active(census.payload(1)).unwrap();
    }
    let current = young.generation();
    assert_eq!(store.state(old), Err(LookupError::Stale { handle: old, current }));
    assert!(store.hold(old).is_err() && store.despawn(old).is_err());
    assert_eq!(store.despawn_batch(&[old, young, old]), 1);
}

/// What a pinned reader has borrowed stays readable after its entity was ended for another.
#[test]
fn borrowed_payload_outlasts_its_eviction() {
    let census = Census::new();
    let store = store(2);
    let [first, _] = fill(&store, &census);
    let reader = store.pin();
    let payload = reader.get(first).unwrap();
    assert_eq!(goes(&store, &census, &[first]), first);
    assert_eq!((payload.tag(), census.dropped()), (0, 0));
    assert!(!reader.contains(first));
}

/// A spawn looks for its slot before it ends anybody.
#[test]
fn spawn_that_readers_refuse_ends_nobody() {
    for (capacity, backlog) in [(1, 1), (3, 1), (3, 2), (100, 7)] {
        let census = Census::new();
        let limits = Limits::overwrite_oldest(capacity);
        let store = Store::builder().limits(limits).backlog(backlog).build().unwrap();
        let reader = store.pin();
        let mut alive = Vec::new();
        for tag in 0..(capacity + backlog) as u64 {
            alive.push(store.spawn_active(census.payload(tag)).unwrap());
        }
        alive.drain(..backlog);
        for _ in 0..3 {
            let error = store.spawn_active(census.payload(9)).unwrap_err();
            let right = matches!(error.failure, SpawnFailure::Reclaiming { dead } if dead > 0);
            assert!(right, "{}", error.failure);
            assert_eq!(error.value.tag(), 9);
            let stats = store.stats();
            assert_eq!((stats.overwritten, stats.live), (backlog as u64, capacity));
            assert!(alive.iter().all(|handle| reader.contains(*handle)), "the oldest is alive");
        }
        assert!(store.slots() <= capacity + backlog);
        drop(reader);
        assert_eq!(goes(&store, &census, &alive), alive[0], "no reader is left");
    }
}

#[test]
fn backlog_of_zero_is_refused_under_this_policy_alone() {
    let build = |limits| Store::<u64>::builder().limits(limits).backlog(0).build();
    let refused = build(Limits::overwrite_oldest(8)).unwrap_err();
    let expected = ConfigError::Backlog { value: 0, min: 1, policy: Exhaustion::OverwriteOldest };
    assert_eq!(refused, expected);
    assert!(build(Limits::reject(8)).is_ok() && build(Limits::grow_to_cap(8, 9)).is_ok());
}

#[test]
fn store_of_one_serves_for_ever() {
    let census = Census::new();
    let store = store(1);
    let mut last: Option<Handle> = None;
    for tag in 0..2000 {
        let handle = store.spawn_active(census.payload(tag)).expect("no pin is out");
        assert_eq!(store.len(), 1);
        assert!(last.is_none_or(|last| store.state(last).is_err()));
        last = Some(handle);
    }
    assert!(store.slots() <= 2, "{}", store.slots());
    assert_eq!((store.stats().overwritten, store.clear()), (1999, 1));
    assert_eq!(census.alive(), 0);
}

#[test]
fn eviction_goes_on_where_generations_are_few() {
    let census = Census::new();
    let limits = Limits::overwrite_oldest(3);
    let store = Store::builder().limits(limits).last_generation(nonzero(7)).build().unwrap();
    let mut recent = Vec::new();
    for tag in 0..1000 {
        recent.push(store.spawn_active(census.payload(tag)).unwrap());
        assert!(recent.iter().rev().take(3).all(|handle| store.state(*handle).is_ok()));
    }
    let stats = store.stats();
    assert_eq!((stats.overwritten, stats.live), (997, 3));
    assert!(stats.retired_slots >= 100, "{stats:?}");
}

#[test]
fn batch_into_a_full_store_ends_the_oldest_its_own_first_included() {
    let census = Census::new();
    let store = store(100);
    let old = store.spawn_batch((0..100).map(|tag| census.payload(tag))).unwrap();
    let new = store.spawn_batch((0..250).map(|tag| census.payload(tag))).unwrap();
    let alive = |handles: &[Handle]| handles.iter().map(|h| store.state(*h).is_ok()).collect();
    let (old, new): (Vec<bool>, Vec<bool>) = (alive(&old), alive(&new));
    assert_eq!(old, [false; 100]);
    assert_eq!(new, (0..250).map(|at| at >= 150).collect::<Vec<_>>());
    assert_eq!((store.stats().overwritten, store.len()), (250, 100));
    assert_accounts(&store.stats());
}

#[test]
fn batch_that_is_refused_gives_the_rest_back_in_order() {
    let census = Census::new();
    let store = store(4);
    let holds = fill::<3>(&store, &census).map(|handle| store.hold(handle).unwrap());
    let guard = store.spawn(census.payload(3)).unwrap();
    let error = store.spawn_batch((10..15).map(|tag| census.payload(tag))).unwrap_err();
    assert_eq!(error.failure, SpawnFailure::Exhausted { capacity: 4 });
    assert_eq!(error.spawned, []);
    let rest: Vec<u64> = error.rest.iter().map(Counted::tag).collect();
    assert_eq!(rest, [10, 11, 12, 13, 14]);
    drop((holds, guard));
    assert_eq!(store.spawn_batch(error.rest).unwrap().len(), 5);
}

#[test]
fn constructor_that_panics_after_an_eviction_leaves_its_unit_free() {
    let census = Census::new();
    let store = store(2);
    let all = fill::<2>(&store, &census);
    assert!(support::panics(|| drop(store.spawn_with(|_| support::panic_quietly()))));
    assert_eq!((store.len(), store.stats().overwritten), (1, 1));
    store.spawn_active(census.payload(2)).unwrap();
    assert_eq!(store.state(all[1]), Ok(State::Active), "there was room");
}

/// Random lives on one thread, beside a plain list of who is alive in order of age.
#[test]
fn random_lives_end_in_the_order_that_a_list_says() {
    for seed in 1..30 {
        let census = Census::new();
        let mut dice = Dice::new(seed);
        let capacity = 1 + dice.roll(90) as usize;
        let store = store(capacity);
        let mut ages: Vec<Handle> = Vec::new();
        let mut holds: Vec<hatchery::Hold<Counted>> = Vec::new();
        for tag in 0..1500 {
            match dice.roll(8) {
                0 if !ages.is_empty() => {
                    let handle = ages[dice.roll(ages.len() as u64) as usize];
                    holds.push(store.hold(handle).unwrap());
                }
                1 | 2 if !holds.is_empty() => {
                    drop(holds.swap_remove(dice.roll(holds.len() as u64) as usize));
                }
                3 if !ages.is_empty() => {
                    let at = dice.roll(ages.len() as u64) as usize;
                    if !holds.iter().any(|hold| hold.handle() == ages[at]) {
                        store.despawn(ages.remove(at)).unwrap();
                    }
                }
                _ => {
                    let held = |handle: &Handle| holds.iter().any(|h| h.handle() == *handle);
                    let full = ages.len() == capacity;
                    let victim = ages.iter().position(|handle| !held(handle));
                    let outcome = store.spawn_active(census.payload(tag));
                    match (full, victim) {
                        (true, None) => {
                            let failure = outcome.unwrap_err().failure;
                            assert_eq!(failure, SpawnFailure::Exhausted { capacity });
                            continue;
                        }
                        (true, Some(at)) => _ = ages.remove(at),
                        (false, _) => {}
                    }
                    ages.push(outcome.expect("there is one to end"));
                }
            }
            let alive = ages.iter().filter(|handle| store.state(**handle).is_ok()).count();
            assert_eq!((alive, store.len()), (ages.len(), ages.len()), "seed {seed}");
        }
    }
}
