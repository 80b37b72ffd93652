//! Memory that is given back, and slots that come again with the generations that they had.

mod support;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};

use hatchery::{EntityId, Handle, Limits, LookupError, SceneId, State, Store, WeakStore};
use support::{Census, Counted, Dice, assert_accounts};

/// Spawns so many entities, repinning as a loop should.
fn fill(store: &Store<Counted>, census: &Census, count: u64) -> Vec<Handle> {
    let mut session = store.pin();
    let spawn = |number| {
        if number % 256 == 0 {
            session.repin();
        }
        session.spawn_active(census.payload(number)).unwrap()
    };
    (0..count).map(spawn).collect()
}

#[track_caller]
fn assert_gone(store: &Store<Counted>, handle: Handle) {
    let answer = store.state(handle).expect_err("it has ended");
    assert!(answer.is_gone(), "{answer:?}");
    assert_eq!(store.pin().get(handle).map(Counted::tag).unwrap_err(), answer);
    assert!(store.kill(handle).is_err() && store.hold(handle).is_err());
    assert!(store.despawn(handle).is_err() && store.activate(handle).is_err());
}

/// C07
#[test]
fn memory_falls_and_old_handles_stay_dead_after_a_regrow() {
    let census = Census::new();
    let store = Store::new();
    let before = store.stats().bytes;
    let old = fill(&store, &census, 5000);
    assert_eq!(store.despawn_batch(&old), 5000);
    store.reclaim();
    let top = store.stats();

    let given_back = store.shrink();
    let low = store.stats();
    assert_eq!(census.alive(), 0);
    assert_eq!((store.slots(), low.slots, low.free, low.dead), (0, 0, 0, 0));
    assert!(low.bytes <= top.bytes - given_back, "{given_back} of {top:?}: {low:?}");
    assert!(low.bytes - before < 8 << 10, "{before} before, {} after", low.bytes);
    old.iter().for_each(|&handle| assert_gone(&store, handle));

    let new = fill(&store, &census, 5000);
    assert!((5000..=top.slots).contains(&store.slots()), "no more than the first time");
    let live = HashSet::<_>::from_iter(&new);
    assert_eq!(live.len(), 5000);
    for &handle in &old {
        assert!(!live.contains(&handle));
        assert_gone(&store, handle);
    }
    for (number, &handle) in new.iter().enumerate() {
        assert_eq!(store.pin().get(handle).unwrap().tag(), number as u64);
    }
    drop(store);
}

#[test]
fn every_generation_of_a_slot_that_was_given_back_is_an_error() {
    let census = Census::new();
    let store = Store::new();
    for _ in 0..3 {
        let all = fill(&store, &census, 1000);
        store.despawn_batch(&all);
        store.reclaim();
    }
    let guesses = || {
        let generations = (1..=5).chain([u32::MAX]).map(|n| NonZeroU32::new(n).unwrap());
        let scene = store.scene();
        generations.flat_map(move |generation| {
            (0..1100).map(move |seq| Handle::new(EntityId::new(scene, seq).unwrap(), generation))
        })
    };
    store.shrink();
    guesses().for_each(|guess| assert_gone(&store, guess));
    let alive = HashSet::<_>::from_iter(fill(&store, &census, 1000));
    for guess in guesses() {
        assert_eq!(store.state(guess).is_ok(), alive.contains(&guess), "{guess}");
        if !alive.contains(&guess) {
            assert_gone(&store, guess);
        }
    }
    drop(store);
}

#[test]
fn generations_go_on_exactly_where_they_were() {
    let census = Census::new();
    // How unlike the generations of one segment are: equal, within a byte, beyond.
    for lives in [0, 100, 3000] {
        let store = Store::builder().shards(1).build().unwrap();
        let mut at: HashMap<u64, u32> = HashMap::new();
        let note = |at: &mut HashMap<u64, u32>, handle: Handle| {
            let last = at.insert(handle.seq(), handle.generation().get());
            assert_eq!(handle.generation().get(), last.unwrap_or(0) + 1, "{handle}");
        };
        let mut all = fill(&store, &census, 600);
        all.iter().for_each(|&handle| note(&mut at, handle));
        // A few slots live much oftener than the others.
        for _ in 0..lives {
            store.despawn(all.pop().unwrap()).unwrap();
            let next = store.spawn_active(census.payload(0)).unwrap();
            note(&mut at, next);
            all.push(next);
        }
        for round in 0..3 {
            assert_eq!(store.despawn_batch(&all), 600);
            assert!(store.shrink() > 600 * 32, "round {round}");
            assert_eq!(store.slots(), 0);
            all = fill(&store, &census, 600);
            all.iter().for_each(|&handle| note(&mut at, handle));
        }
        drop(store);
    }
}

/// Nothing where they are equal, a byte a slot where they are near, four otherwise.
#[test]
fn generations_are_kept_in_little_memory() {
    const SLOTS: usize = 1 << 14;
    for (lives, most) in [(0, 0), (200, 1), (3000, 4)] {
        let store = Store::builder().shards(1).build().unwrap();
        let mut all = store.spawn_batch((0..SLOTS).map(|_| [0u64; 8])).unwrap();
        let empty = Store::<[u64; 8]>::new().stats().bytes;
        for _ in 0..lives {
            store.despawn(all.pop().unwrap()).unwrap();
            all.push(store.spawn_active([1; 8]).unwrap());
        }
        store.despawn_batch(&all);
        store.shrink();
        let kept = store.stats().bytes - empty;
        assert_eq!(store.slots(), 0);
        assert!(kept <= SLOTS * most + (16 << 10), "{kept} bytes for {lives} lives");
    }
}

#[test]
fn worn_slots_keep_their_segments_and_nothing_is_issued_twice() {
    let census = Census::new();
    let last = NonZeroU32::new(3).unwrap();
    let store = Store::builder().last_generation(last).build().unwrap();
    let mut issued = HashSet::new();
    for _ in 0..12 {
        let all = fill(&store, &census, 300);
        for &handle in &all {
            assert!(handle.generation() <= last);
            assert!(issued.insert(handle), "{handle} was issued before");
        }
        store.despawn_batch(&all);
        store.shrink();
        let stats = store.stats();
        assert_eq!(stats.slots, stats.free + stats.retired_slots as usize, "{stats:?}");
    }
    assert!(store.stats().retired_slots >= 900, "{:?}", store.stats());
    issued.iter().for_each(|&handle| assert_gone(&store, handle));
    drop(store);
}

#[test]
fn capacity_and_backlog_bound_the_slots_through_every_shrink() {
    let census = Census::new();
    for (capacity, backlog) in [(1, 1), (100, 0), (1000, 0), (1000, 700)] {
        let limits = Limits::reject(capacity);
        let store = Store::builder().limits(limits).backlog(backlog).build().unwrap();
        for round in 0..6 {
            let all = fill(&store, &census, capacity as u64);
            assert!(store.spawn_active(census.payload(0)).is_err(), "{capacity} are alive");
            assert!(store.slots() <= capacity + backlog, "{} slots, {limits:?}", store.slots());
            let survivors = [0, capacity / 20][round % 2];
            store.despawn_batch(&all[survivors..]);
            store.shrink();
            let stats = store.stats();
            assert_eq!(stats.slots, stats.live + stats.free, "{stats:?}");
            if survivors == 0 {
                assert_eq!(stats.slots, 0, "{stats:?}");
            }
            store.despawn_batch(&all);
            store.reclaim(); // the session that fills it lets nothing ripen
        }
        drop(store);
    }
}

#[test]
fn segment_that_is_not_used_up_goes_too_and_the_rest_of_it_comes_again() {
    let census = Census::new();
    for count in [1, 63, 64, 65, 128, 129, 300] {
        let store = Store::new();
        for round in 1..=3 {
            let all = fill(&store, &census, count);
            assert!(all.iter().all(|handle| handle.generation().get() <= round));
            assert!(all.iter().all(|handle| handle.seq() < 512), "low slots come again first");
            store.despawn_batch(&all);
            assert!(store.shrink() > 0);
            assert_eq!((store.slots(), store.shrink()), (0, 0));
        }
        // Now all slots of the segments, those that were never given out among them.
        let seqs = HashSet::<_>::from_iter(fill(&store, &census, 512).iter().map(|h| h.seq()));
        assert_eq!(seqs, HashSet::from_iter(0..512));
        drop(store);
    }
}

#[test]
fn survivors_keep_their_slots_and_low_slots_are_used_first() {
    let census = Census::new();
    let store = Store::builder().shards(1).build().unwrap();
    let all = fill(&store, &census, 8192);
    // Alive are one in eight of the lower half, and none of the upper.
    let stay = |handle: &Handle| handle.seq() < 4096 && handle.seq() % 8 == 0;
    let (live, dead): (Vec<_>, Vec<_>) = all.into_iter().partition(stay);
    store.despawn_batch(&dead);
    store.shrink();
    assert_eq!(store.slots(), 4096);
    for &handle in &live {
        assert_eq!(store.pin().get(handle).unwrap().tag(), handle.seq());
    }
    assert_eq!(store.pin().iter().count(), live.len());
    let next = fill(&store, &census, 4096 - 512);
    let seqs: Vec<u64> = next.iter().map(|handle| handle.seq()).collect();
    assert!(seqs.is_sorted(), "from the bottom up: {:?}", &seqs[..300]);
    assert_eq!(seqs.last(), Some(&4095), "and none was lost");
    // From here what was given back comes again, from the bottom up as well.
    let again: Vec<u64> = fill(&store, &census, 4096).iter().map(|handle| handle.seq()).collect();
    assert_eq!(again, Vec::from_iter(4096..8192));
    drop(store);
}

#[test]
fn whatever_is_in_use_keeps_its_segment() {
    let census = Census::new();
    let store = Store::new();
    let all = fill(&store, &census, 2048);
    let held = store.kill_and_hold(all[70]).unwrap();
    store.reap(all[70]).unwrap();
    store.despawn_batch(&all);
    let pending = store.spawn(census.payload(7)).unwrap();
    let detached = store.spawn(census.payload(8)).unwrap().detach();
    store.shrink();
    let stats = store.stats();
    assert!(stats.slots >= 64 + 2 && stats.slots < 2048, "{stats:?}");
    assert_eq!((held.tag(), pending.tag()), (70, 7));
    assert_eq!(held.state(), State::Dying);
    assert_eq!(store.state(detached), Ok(State::Pending));
    let pending = pending.activate();
    store.activate(detached).unwrap();
    assert_eq!(store.pin().get(detached).unwrap().tag(), 8);
    drop(held);
    assert_gone(&store, all[70]);
    store.despawn_batch(&[pending, detached]);
    store.shrink();
    assert_eq!(store.slots(), 0);
    drop(store);
}

#[test]
fn hold_outlives_a_store_that_has_shrunk() {
    let census = Census::new();
    let store = Store::new();
    let all = fill(&store, &census, 3000);
    let hold = store.hold(all[2999]).unwrap();
    store.despawn_batch(&all);
    assert!(store.shrink() > 0);
    drop(store);
    assert_eq!((hold.tag(), census.alive()), (2999, 1));
}

#[test]
fn reader_keeps_what_it_may_be_looking_at_until_it_goes() {
    let census = Census::new();
    let store = Store::new();
    let all = fill(&store, &census, 5000);
    store.despawn_batch(&all);
    store.reclaim();
    let (top, slots) = (store.stats().bytes, store.slots());
    let shrunk = Barrier::new(2);
    std::thread::scope(|scope| {
        let reader = store.pin();
        let mut walk = reader.iter_in(hatchery::StateSet::READABLE);
        assert!(walk.next().is_none());
        scope.spawn(|| {
            assert!(store.shrink() > 0);
            shrunk.wait();
        });
        shrunk.wait();
        assert_eq!(store.slots(), 0);
        assert!(store.stats().bytes > top / 2, "still there: {:?}", store.stats());
        all.iter().for_each(|&handle| assert!(reader.get(handle).is_err()));
        // It serves anew all the same, elsewhere.
        let new = reader.spawn_active(census.payload(1)).unwrap();
        assert_eq!(reader.get(new).unwrap().tag(), 1);
        reader.despawn(new).unwrap();
    });
    store.shrink();
    assert!(store.stats().bytes < top / 10, "{top}, {:?}", store.stats());
    assert!(slots > 0 && store.slots() == 0);
    drop(store);
}

#[test]
fn there_is_nothing_to_give_back_where_everything_is_in_use() {
    let census = Census::new();
    let store: Store<Counted> = Store::new();
    assert_eq!((store.shrink(), store.slots()), (0, 0));
    let all = fill(&store, &census, 1000);
    store.shrink();
    assert_eq!(store.shrink(), 0);
    let stats = store.stats();
    assert_eq!((stats.live, stats.slots), (1000, stats.slots));
    all.iter().for_each(|&handle| assert_eq!(store.state(handle), Ok(State::Active)));
    drop(store);
}

#[test]
fn next_store_of_the_scene_starts_above_what_was_given_back() {
    let census = Census::new();
    let scene = SceneId(4711);
    let make = || Store::builder().scene(scene).build().unwrap();
    let store = make();
    for _ in 0..5 {
        let all = fill(&store, &census, 700);
        store.despawn_batch(&all);
        store.shrink();
    }
    assert_eq!(store.slots(), 0);
    drop(store);
    let next = make();
    let handle = next.spawn_active(census.payload(0)).unwrap();
    assert!(handle.generation().get() > 5, "{handle}");
    drop(next);
}

#[test]
fn oldest_is_found_although_those_before_it_were_given_back() {
    let census = Census::new();
    let limits = Limits::overwrite_oldest(500);
    let store = Store::builder().limits(limits).build().unwrap();
    let all = fill(&store, &census, 500);
    store.spawn_active(census.payload(0)).unwrap(); // a list of the oldest is made
    store.despawn_batch(&all);
    store.shrink();
    let mut last = fill(&store, &census, 499);
    for number in 0..2000 {
        let next = store.spawn_active(census.payload(number)).unwrap();
        assert_eq!(store.pin().get(next).unwrap().tag(), number);
        last.push(next);
    }
    let live = last.iter().filter(|&&handle| store.state(handle).is_ok()).count();
    assert_eq!((store.len(), live), (500, 500));
    drop(store);
}

struct Shrinker(WeakStore<Shrinker>, #[expect(dead_code, reason = "counted")] Counted);

impl Drop for Shrinker {
    fn drop(&mut self) {
        if let Some(store) = self.0.upgrade() {
            assert_eq!(store.shrink(), 0, "destructors do not nest");
        }
    }
}

#[test]
fn shrink_in_a_destructor_does_nothing() {
    let census = Census::new();
    let store = Store::new();
    let spawn =
        |_| store.spawn_active(Shrinker(store.downgrade(), census.payload(0))).ok().unwrap();
    let all: Vec<_> = (0..1000).map(spawn).collect();
    store.despawn_batch(&all);
    assert!(store.shrink() > 0);
    assert_eq!((store.slots(), census.alive(), store.stats().drop_panics), (0, 0, 0));
    drop(store);
}

#[test]
fn shrink_in_a_callback_keeps_what_the_callback_is_told_of() {
    static STORE: OnceLock<WeakStore<Counted>> = OnceLock::new();
    let census = Census::new();
    let told = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&told);
    let store = Store::builder()
        .on_dying(move |handle, payload: &Counted, _| {
            let store = STORE.get().and_then(WeakStore::upgrade).unwrap();
            store.shrink();
            assert_eq!((store.state(handle), payload.tag()), (Ok(State::Dying), handle.seq()));
            counter.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    STORE.set(store.downgrade()).ok().unwrap();
    let all = fill(&store, &census, 300);
    for &handle in &all[150..] {
        store.kill(handle).unwrap();
        store.reap(handle).unwrap();
    }
    store.despawn_batch(&all);
    store.shrink();
    assert_eq!((store.slots(), told.load(Ordering::SeqCst)), (0, 300));
    assert_eq!(store.stats().drop_panics, 0);
    drop(store);
}

#[test]
fn shrinks_at_the_same_time_give_each_segment_back_once() {
    let census = Census::new();
    let store = Store::new();
    for _ in 0..20 {
        let all = fill(&store, &census, 3000);
        store.despawn_batch(&all);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| store.shrink());
            }
        });
        store.shrink();
        assert_eq!(store.slots(), 0);
        assert_accounts(&store.stats());
    }
    drop(store);
}

/// Everything at once: what is alive reads as itself, whatever is given back meanwhile.
#[test]
fn shrink_beside_spawns_kills_reads_and_scans_loses_and_doubles_nothing() {
    let census = Census::new();
    let rounds = if cfg!(miri) { 2 } else { 60 };
    for limits in [Limits::UNBOUNDED, Limits::reject(6000)] {
        let store = Store::builder().limits(limits).shards(2).build().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (store, census, done) = (&store, &census, &done);
            let workers: Vec<_> = (0..2)
                .map(|worker| {
                    scope.spawn(move || {
                        let mut dice = Dice::new(worker);
                        let (mut mine, mut dead) = (Vec::new(), Vec::new());
                        for round in 0..rounds {
                            let most = dice.roll(3000);
                            for _ in 0..most {
                                let tag = dice.roll(u64::MAX);
                                if let Ok(handle) = store.spawn_active(census.payload(tag)) {
                                    mine.push((handle, tag));
                                }
                            }
                            for &(handle, tag) in &mine {
                                assert_eq!(store.pin().get(handle).unwrap().tag(), tag);
                            }
                            let least = dice.roll(50) as usize;
                            while mine.len() > least {
                                let at = dice.roll(mine.len() as u64) as usize;
                                let (handle, _) = mine.swap_remove(at);
                                store.despawn(handle).unwrap();
                                dead.push(handle);
                            }
                            if round % 8 == worker {
                                store.shrink();
                            }
                        }
                        (mine, dead)
                    })
                })
                .collect();
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    store.shrink();
                    std::thread::yield_now();
                }
            });
            scope.spawn(move || {
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let pinned = store.pin();
                    let handles =
                        HashSet::<_>::from_iter(pinned.iter().map(|(handle, payload)| {
                            seen += u64::from(payload.tag() > 0);
                            handle
                        }));
                    for handle in handles {
                        if let Ok(payload) = pinned.get(handle) {
                            payload.tag();
                        }
                    }
                }
                seen
            });
            let mut ever = HashSet::new();
            let mut live = 0;
            for worker in workers {
                let (mine, dead) = worker.join().unwrap();
                live += mine.len();
                for &(handle, tag) in &mine {
                    assert!(ever.insert(handle), "{handle} was issued twice");
                    assert_eq!(store.pin().get(handle).unwrap().tag(), tag);
                }
                for handle in dead {
                    assert!(ever.insert(handle), "{handle} was issued twice");
                    let answer = store.state(handle).unwrap_err();
                    assert!(matches!(
                        answer,
                        LookupError::NotFound { .. } | LookupError::Stale { .. }
                    ));
                }
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(store.len(), live);
        });
        store.shrink();
        let stats = store.stats();
        assert_accounts(&stats);
        assert_eq!(stats.slots, stats.live + stats.free, "{stats:?}");
        assert_eq!(census.alive(), stats.live);
        store.clear();
        store.shrink();
        assert_eq!(store.slots(), 0, "{:?}", store.stats());
        drop(store);
    }
}
