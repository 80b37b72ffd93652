//! Whole stores: few operations each, because every one of them pins the real epochs.

use loom::thread;

use super::grave::{Graveyard, Tomb};
use super::model;
use crate::store::Store;
use crate::{Handle, Limits, SceneId, SpawnFailure};

/// A store with one shard, where every Dead slot is handed over at once. Always the same scene:
/// one that the execution before did not close would be refused.
pub(super) fn tiny(capacity: usize, backlog: usize) -> Store<Tomb> {
    let limits = Limits::reject(capacity);
    let builder = Store::builder().scene(SceneId(1)).shards(1).limits(limits);
    builder.backlog(backlog).build().expect("the store of the execution before is closed")
}

/// As [`tiny`], but a spawn into the full store ends the oldest.
pub(super) fn overwriting(capacity: usize, backlog: usize) -> Store<Tomb> {
    let limits = Limits::overwrite_oldest(capacity);
    let builder = Store::builder().scene(SceneId(1)).shards(1).limits(limits);
    builder.backlog(backlog).build().expect("the store of the execution before is closed")
}

/// A store without limits and with one shard: its first batch has two slots.
pub(super) fn unlimited() -> Store<Tomb> {
    let builder = Store::builder().scene(SceneId(1)).shards(1);
    builder.build().expect("the store of the execution before is closed")
}

/// Spawns, unless readers keep the slot that would serve.
pub(super) fn try_spawn(store: &Store<Tomb>, graveyard: &Graveyard, name: u32) -> Option<Handle> {
    match store.spawn_active(graveyard.tomb(name)) {
        Ok(handle) => {
            assert_eq!(store.pin().get(handle).unwrap().read(), name, "its own payload");
            Some(handle)
        }
        Err(refused) => {
            let kept = matches!(refused.failure, SpawnFailure::Reclaiming { .. });
            assert!(kept, "{:?}", refused.failure);
            None
        }
    }
}

#[test]
fn kill_against_kill_in_a_store_has_one_winner() {
    model("store_kill_against_kill", 100, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let there = thread::spawn(move || other.kill(h).is_ok());
        let here = store.kill(h).is_ok();
        assert!(here ^ there.join().unwrap());
    });
}

/// Each thread puts its Dead slot into a magazine of its own; the one that reclaims finds both.
#[test]
fn two_reapers_free_two_slots_once() {
    model("store_two_reapers", 100, || {
        let (graveyard, store) = (Graveyard::default(), unlimited());
        let first = store.spawn_active(graveyard.tomb(1)).unwrap();
        let second = store.spawn_active(graveyard.tomb(2)).unwrap();
        let other = store.clone();
        let there = thread::spawn(move || other.despawn(first).is_ok());
        assert!(store.despawn(second).is_ok());
        assert!(there.join().unwrap());
        assert_eq!(store.len(), 0);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// Two batches of the same entities: each is ended by one of them, and all Dead slots are found.
#[test]
fn two_batches_end_each_entity_once() {
    model("store_two_batches", 100, || {
        let (graveyard, store) = (Graveyard::default(), unlimited());
        let handles = store.spawn_batch([graveyard.tomb(1), graveyard.tomb(2)]).unwrap();
        let (other, same) = (store.clone(), handles.clone());
        let there = thread::spawn(move || other.despawn_batch(&same));
        let here = store.despawn_batch(&handles);
        assert_eq!(here + there.join().unwrap(), 2);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// One magazine with one slot left lies unclaimed: one spawner gets it, the other grows or steals.
#[test]
fn two_spawners_get_two_slots() {
    model("store_two_spawners", 100, || {
        let (graveyard, store) = (Graveyard::default(), unlimited());
        let first = store.spawn_active(graveyard.tomb(1)).unwrap();
        let (other, stones) = (store.clone(), graveyard.clone());
        let there = thread::spawn(move || other.spawn_active(stones.tomb(2)).unwrap());
        let here = store.spawn_active(graveyard.tomb(3)).unwrap();
        let there = there.join().unwrap();
        let pinned = store.pin();
        let names = [first, there, here].map(|h| pinned.get(h).unwrap().read());
        assert_eq!(names, [1, 2, 3]);
    });
}

/// What one thread has freed, the other brings back while the first spawns.
#[test]
fn reclaim_against_spawn_gives_each_slot_once() {
    model("store_reclaim_against_spawn", 100, || {
        let (graveyard, store) = (Graveyard::default(), unlimited());
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        store.despawn(old).unwrap();
        let other = store.clone();
        let there = thread::spawn(move || other.reclaim());
        store.spawn_active(graveyard.tomb(2)).unwrap();
        assert!(there.join().unwrap() <= 1);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// With one unit of capacity, one freed and two who want it: one gets it, and no two are alive.
#[test]
fn two_spawners_of_one_unit_are_never_both_alive() {
    model("store_one_unit", 100, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 2));
        let (other, stones) = (store.clone(), graveyard.clone());
        let there = thread::spawn(move || other.spawn_active(stones.tomb(1)).is_ok());
        let here = store.spawn_active(graveyard.tomb(2)).is_ok();
        let there = there.join().unwrap();
        assert!(here ^ there, "one unit: {here} and {there}");
        assert_eq!(store.len(), 1);
    });
}
