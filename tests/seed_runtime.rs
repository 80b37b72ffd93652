//! The entity table of the first seed, in the terms of this crate: spawn, look
//! up, despawn, and what an outdated handle is told.

mod support;

use hatchery::{EntityId, Handle, LookupError, Pinned, SceneId, Store, TransitionError};
use support::{Census, Entity, Kind, Maker, PlayerId, nonzero};

fn born(store: &Store<Entity>, maker: &Maker, kind: Kind, player: Option<PlayerId>) -> Handle {
    store.spawn_with(|handle| Entity::new(maker, handle, kind, player)).unwrap().activate()
}

#[test]
fn spawn_then_look_up_answers_that_entity() {
    let census = Census::new();
    let store = Store::builder().scene(SceneId(701)).build().unwrap();
    let hero = born(&store, &census.maker(), Kind::Player, Some(PlayerId(1001)));
    assert_eq!(hero.scene(), SceneId(701));
    assert_eq!(hero.generation(), nonzero(1));
    let session = store.pin();
    let entity = session.get(hero).unwrap();
    assert_eq!(entity.handle, hero);
    assert_eq!(entity.kind, Kind::Player);
    assert_eq!(entity.player, Some(PlayerId(1001)));
    assert_eq!(entity.hp, 100);
    assert_eq!(store.len(), 1);
}

#[test]
fn all_five_kinds_live_side_by_side() {
    let census = Census::new();
    let store = Store::new();
    let handles = Kind::ALL.map(|kind| {
        let player = (kind == Kind::Player).then_some(PlayerId(7));
        born(&store, &census.maker(), kind, player)
    });
    let session = store.pin();
    for (handle, kind) in handles.into_iter().zip(Kind::ALL) {
        let entity = session.get(handle).unwrap();
        assert_eq!((entity.handle, entity.kind), (handle, kind));
        assert_eq!(entity.player.is_some(), kind == Kind::Player);
    }
    assert_eq!(store.len(), 5);
    assert!(store.slots() >= 5);
}

#[test]
fn a_handle_is_stale_once_its_slot_serves_another() {
    let census = Census::new();
    let store = Store::builder().limits(hatchery::Limits::reject(1)).build().unwrap();
    let first = born(&store, &census.maker(), Kind::Player, Some(PlayerId(1)));
    store.despawn(first).unwrap();
    let second = born(&store, &census.maker(), Kind::Monster, None);
    assert_eq!(second.id(), first.id(), "the slot is used again");
    assert_eq!(second.generation(), nonzero(2));
    let current = second.generation();
    let stale = LookupError::Stale { handle: first, current };
    assert_eq!(store.pin().get(first).unwrap_err(), stale);
    assert_eq!(store.state(first), Err(stale));
    assert_eq!(store.despawn(first), Err(TransitionError::Lookup(stale)));
    assert_eq!(store.pin().get(second).unwrap().kind, Kind::Monster);
    assert_eq!(store.len(), 1);
}

#[test]
fn a_handle_is_not_found_between_despawn_and_reuse() {
    let census = Census::new();
    let store = Store::new();
    let gone = born(&store, &census.maker(), Kind::Npc, None);
    store.despawn(gone).unwrap();
    let not_found = LookupError::NotFound { handle: gone };
    assert_eq!(store.pin().get(gone).unwrap_err(), not_found);
    assert_eq!(store.despawn(gone), Err(TransitionError::Lookup(not_found)));
    store.reclaim();
    assert_eq!(store.pin().get(gone).unwrap_err(), not_found);
    assert!(store.is_empty());
}

#[test]
fn a_free_slot_is_used_again_before_a_new_one_is_made() {
    let census = Census::new();
    let maker = census.maker();
    let store = Store::builder().limits(hatchery::Limits::reject(3)).build().unwrap();
    let [_a, b, _c] = [(); 3].map(|()| born(&store, &maker, Kind::Drop, None));
    let slots = store.slots();
    store.despawn(b).unwrap();
    let d = born(&store, &maker, Kind::Projectile, None);
    assert_eq!(d.id(), b.id());
    assert_eq!(d.generation(), nonzero(2));
    assert_eq!(store.slots(), slots);
    assert_eq!(store.len(), 3);
}

#[test]
fn slots_stay_at_the_highest_number_ever_alive_at_once() {
    let census = Census::new();
    let store = Store::builder().limits(hatchery::Limits::reject(40)).build().unwrap();
    let maker = census.maker();
    let mut most = 0;
    for alive in [10, 40, 1, 25] {
        let handles: Vec<_> =
            (0..alive).map(|_| born(&store, &maker, Kind::Monster, None)).collect();
        assert_eq!(store.len(), alive);
        assert_eq!(store.despawn_batch(&handles), alive);
        most = most.max(alive);
    }
    assert!(store.is_empty());
    assert!((most..=80).contains(&store.slots()), "{} slots", store.slots());
}

#[test]
fn an_entity_id_carries_its_scene_in_the_high_sixteen_bits() {
    let id = EntityId::new(SceneId(0xabcd), 42).unwrap();
    assert_eq!(id.to_bits(), 0xabcd_0000_0000_002a);
    assert_eq!((id.scene(), id.seq()), (SceneId(0xabcd), 42));
    let last = (1 << EntityId::SEQ_BITS) - 1;
    assert_eq!(EntityId::new(SceneId(1), last).unwrap().seq(), last);
    assert_eq!(EntityId::new(SceneId(1), last + 1), None, "it is not cut off");
}

#[test]
fn a_handle_prints_as_scene_seq_and_generation() {
    assert_eq!(support::handle(SceneId(1), 42, 3).to_string(), "1:42/gen3");
}

#[test]
fn a_delayed_skill_never_hits_who_took_over_the_slot() {
    let census = Census::new();
    let maker = census.maker();
    let store = Store::builder().limits(hatchery::Limits::reject(1)).build().unwrap();
    // A skill is cast at a player, who dies; a monster is born in the slot; the skill lands.
    let target = born(&store, &maker, Kind::Player, Some(PlayerId(5)));
    store.despawn(target).unwrap();
    let monster = born(&store, &maker, Kind::Monster, None);
    assert_eq!(monster.seq(), target.seq(), "an index alone would hit the monster");
    assert!(store.pin().get(target).unwrap_err().is_gone());
    assert!(store.kill(target).is_err());
    assert_eq!(store.pin().get_active(monster).unwrap().hp, 100);
}

#[test]
fn a_handle_of_another_scene_is_told_so() {
    let census = Census::new();
    let one = Store::builder().scene(SceneId(711)).build().unwrap();
    let two = Store::<Entity>::builder().scene(SceneId(712)).build().unwrap();
    let handle = born(&one, &census.maker(), Kind::Player, Some(PlayerId(9)));
    let mismatch = LookupError::SceneMismatch { handle, scene: SceneId(712) };
    assert_eq!(two.pin().get(handle).unwrap_err(), mismatch);
    assert_eq!(two.despawn(handle), Err(mismatch.into()));
    assert!(!mismatch.is_gone());
    assert_eq!(one.len(), 1);
}

#[test]
fn four_threads_may_use_every_method_at_once() {
    let census = Census::new();
    let store = Store::new();
    let seen = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (store, maker) = (&store, census.maker());
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for round in 0..500 {
                        let kind = Kind::ALL[(worker + round) % 5];
                        let handle = born(store, &maker, kind, None);
                        let read = |session: &Pinned<'_, Entity>| {
                            let entity = session.get(handle).unwrap();
                            assert_eq!((entity.handle, entity.kind), (handle, kind));
                        };
                        read(&store.pin());
                        mine.push(handle);
                        if round % 3 != 0 {
                            store.despawn(handle).unwrap();
                            assert!(store.pin().get(handle).unwrap_err().is_gone());
                        }
                    }
                    mine
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let distinct: std::collections::HashSet<_> = seen.iter().copied().collect();
    assert_eq!(distinct.len(), 2000, "no handle was issued twice");
    assert_eq!(store.len(), 4 * 167);
    let session = store.pin();
    assert_eq!(seen.iter().filter(|handle| session.contains(**handle)).count(), 4 * 167);
}
