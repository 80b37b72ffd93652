//! Many threads that spawn and end payloads which serve again: never more are kept than may be.

#[path = "reuse/item.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod item;
mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use hatchery::Store;
use item::{Item, recycled, retaining};
use support::{Dice, assert_accounts};

#[test]
fn threads_that_spawn_and_end_never_retain_too_many() {
    const RETAIN: usize = 8;
    let (_balance, store) = retaining::<0>(RETAIN);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|seed| {
                let store = &store;
                scope.spawn(move || work(store, seed))
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let stats = store.stats();
                assert!(stats.idle <= RETAIN, "{stats:?}");
                std::thread::yield_now();
            }
        });
        let finished: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(finished.iter().all(Result::is_ok));
    });
    store.clear();
    let stats = store.stats();
    assert_eq!((stats.live, stats.dead, stats.idle), (0, 0, RETAIN), "{stats:?}");
    assert_eq!(stats.created, stats.misses);
    assert!(stats.hits > 0);
    assert_accounts(&stats);
}

fn work(store: &Store<Item<0>>, seed: u64) {
    let mut dice = Dice::new(seed + 1);
    let mut mine = Vec::new();
    for round in 0..4000 {
        match dice.roll(8) {
            0..4 => mine.push((recycled(store, seed * 10_000 + round), seed * 10_000 + round)),
            4 => {
                store.spawn_active(Item::default()).unwrap();
            }
            5 => drop(store.spawn_recycled(|item| item.tag = 1).unwrap()),
            _ => {}
        }
        while mine.len() > dice.roll(40) as usize {
            let (handle, tag) = mine.swap_remove(dice.roll(mine.len() as u64) as usize);
            assert_eq!(store.pin().get(handle).unwrap().tag, tag);
            store.despawn(handle).unwrap();
        }
        if dice.roll(100) == 0 {
            store.reclaim_up_to(dice.roll(20) as usize);
        }
    }
}
