//! Memory that is given back: what goes, what keeps its segment, and which slots come again.

#[path = "shrink/steps.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod steps;
mod support;

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use hatchery::{Handle, Limits, State, Store, WeakStore};
use steps::{assert_gone, fill};
use support::{Census, Counted};

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
    let stay = |handle: &Handle| handle.seq() < 4096 && handle.seq().is_multiple_of(8);
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

/// What cannot be given back is not out of reach until every pin has moved: others would make as
/// much again.
#[test]
fn free_slots_that_stay_serve_at_once_whoever_is_pinned() {
    let census = Census::new();
    let store = Store::new();
    // Alive in the first segment and in the last but one, which is long.
    let all = fill(&store, &census, 20_000);
    let (stays, goes): (Vec<_>, Vec<_>) = all.iter().partition(|h| h.seq() == 0 || h.seq() == 9000);
    assert_eq!(store.despawn_batch(&goes), goes.len());
    store.reclaim();
    let reader = store.pin();
    std::thread::scope(|scope| {
        assert!(scope.spawn(|| store.shrink()).join().unwrap() > 0);
    });
    let left = store.slots();
    assert!(stays.len() == 2 && left > 8000, "{left} slots");
    // As many as lie free, but for a batch in the magazine of each of three sessions.
    let fit = left - stays.len() - 3 * 256;
    std::thread::scope(|scope| {
        scope.spawn(|| fill(&store, &census, fit as u64));
    });
    assert_eq!(store.slots(), left);
    assert!(stays.iter().all(|&stays| reader.contains(stays)));
}

/// A server after a spike: few are alive, all over, and lives go on in the slots that they have.
/// They come down to the low slots, and the segments above can go.
#[test]
fn lives_that_go_on_after_a_spike_come_down() {
    // Whether they go on without a session, and whether the lowest segments are there.
    for (unpinned, has_low) in [(false, true), (true, true), (false, false), (true, false)] {
        let store: Store<u64> = Store::new();
        let mut all = store.spawn_batch(0..462_144).unwrap();
        if !has_low {
            let low: Vec<_> = all.drain(..262_144).collect();
            assert_eq!(store.despawn_batch(&low), low.len());
            assert!(store.shrink() > 0);
        }
        let (alive, gone): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|handle| handle.seq() % 200 == 7);
        let mut alive = VecDeque::from(alive);
        assert_eq!(store.despawn_batch(&gone), gone.len());
        store.reclaim();
        let (before, live) = (store.slots(), store.len());
        let mut live_on = |lives: u64| {
            let mut pinned = store.pin();
            for n in 0..lives {
                let (old, new) = (alive.pop_front().unwrap(), n);
                if unpinned {
                    store.despawn(old).unwrap();
                    alive.push_back(store.spawn_active(new).unwrap());
                } else {
                    pinned.despawn(old).unwrap();
                    alive.push_back(pinned.spawn_active(new).unwrap());
                }
                if n % 100 == 0 {
                    pinned.repin();
                }
            }
        };
        for _ in 0..4 {
            live_on(20_000);
            store.shrink();
        }
        assert!(store.slots() <= before / 2, "{has_low}: {} of {before} slots", store.slots());
        assert!(store.slots() <= 70_000, "{has_low}: {} slots", store.slots());
        assert_eq!(store.len(), live);
    }
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
