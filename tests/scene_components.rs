//! Components by type: found, replaced, not found while they are called, and dropped once.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::scene::{Actor, Component, Phase, TickComponent, TickContext};
use world::*;

/// Types of all sizes and alignments, and one of no size.
#[expect(dead_code, reason = "it counts")]
struct Small(u8, Counted);
#[expect(dead_code, reason = "it counts")]
struct Large([u64; 100], Counted);
#[repr(align(128))]
#[expect(dead_code, reason = "it counts")]
struct Aligned(u8, Counted);
struct Nothing;

impl Component<Unit> for Small {}
impl Component<Unit> for Large {}
impl Component<Unit> for Aligned {}
impl Component<Unit> for Nothing {}

macro_rules! counts_ticks {
    ($($type:ty: $count:expr;)*) => {$(
        impl TickComponent<Unit> for $type {
            fn tick(&mut self, owner: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
                assert!(!owner.has_component::<$type>(), "it is out of its place");
                let count: fn(&mut $type) = $count;
                count(self);
            }
        }
    )*};
}

counts_ticks! {
    Small: |this| this.0 += 1;
    Large: |this| this.0[99] += 1;
    Aligned: |this| {
        assert_eq!(std::ptr::from_ref(this).addr() % 128, 0);
        this.0 += 1;
    };
    Nothing: |_| ();
}

#[test]
fn components_of_all_shapes_are_found_ticked_and_dropped_once() {
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let mut scene = scene().build().unwrap();
    let orc = scene
        .create_actor([0.0; 2], &Plan::new(&log, "orc"), |actor| {
            actor.add_tick_component(Small(1, Counted::new(&count)));
            actor.add_tick_component(Large([2; 100], Counted::new(&count)));
            actor.add_tick_component(Aligned(3, Counted::new(&count)));
            actor.add_tick_component(Nothing);
            assert!(actor.has_component::<Large>() && !actor.has_component::<Noting>());
        })
        .unwrap();
    scene.tick(0.1);
    scene.tick(0.1);
    let actor = scene.actor_mut(orc).unwrap();
    assert_eq!(actor.component::<Small>().map(|small| small.0), Some(3));
    assert_eq!(actor.component::<Large>().map(|large| (large.0[0], large.0[99])), Some((2, 4)));
    assert_eq!(actor.component::<Aligned>().map(|aligned| aligned.0), Some(5));
    actor.component_mut::<Small>().unwrap().0 = 100;
    assert_eq!(actor.component::<Small>().map(|small| small.0), Some(100));
    assert_eq!(count.load(Ordering::Relaxed), 3);
    scene.kill_actor(orc).unwrap();
    scene.tick(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn component_of_the_same_type_replaces_and_may_stop_ticking() {
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let mut scene = scene().build().unwrap();
    let orc = scene
        .create_actor([0.0; 2], &Plan::new(&log, "orc"), |actor| {
            actor.add_tick_component(Small(1, Counted::new(&count)));
            actor.add_component(Small(7, Counted::new(&count)));
            assert_eq!(count.load(Ordering::Relaxed), 1);
        })
        .unwrap();
    scene.tick(0.1);
    assert_eq!(scene.actor(orc).unwrap().component::<Small>().map(|small| small.0), Some(7));
    drop(scene);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

/// User code may exchange actors: components go with them, each is dropped once.
#[test]
fn exchanged_actors_keep_their_components() {
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let exchange = doing(Phase::Main, |frame, _| {
        let mut actors = frame.actors_mut();
        let (first, second) = (actors.next().unwrap(), actors.next().unwrap());
        std::mem::swap(first, second);
    });
    let mut scene = scene().tick_system(exchange).build().unwrap();
    for n in 0..2 {
        let add = |actor: &mut Actor<Unit>| {
            actor.add_tick_component(Small(10 * n, Counted::new(&count)));
        };
        scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), add).unwrap();
    }
    (0..3).for_each(|_| scene.tick(0.1));
    let counts: Vec<u8> =
        scene.alive_actors().filter_map(|a| a.component::<Small>()).map(|small| small.0).collect();
    assert_eq!(counts, [13, 3]);
    drop(scene);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

/// A component whose owner is exchanged while it is called has no place any more, and goes.
#[test]
fn component_whose_owner_is_exchanged_meanwhile_is_dropped_once() {
    struct Thief(Counted);
    impl Component<Unit> for Thief {}
    impl TickComponent<Unit> for Thief {
        fn tick(&mut self, owner: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
            let mut other = scene().build().unwrap();
            let log = Log::default();
            let swap = |fresh: &mut Actor<Unit>| std::mem::swap(fresh, owner);
            other.create_actor([9.0; 2], &Plan::new(&log, "changeling"), swap).unwrap();
            drop(other);
            self.0.0.fetch_add(0, Ordering::Relaxed);
        }
    }
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let mut scene = scene().build().unwrap();
    let orc = scene
        .create_actor([0.0; 2], &Plan::new(&log, "orc"), |actor| {
            actor.add_component(Small(1, Counted::new(&count)));
            actor.add_tick_component(Thief(Counted::new(&count)));
        })
        .unwrap();
    scene.tick(0.1);
    assert_eq!(scene.actor(orc).unwrap().core.name, "changeling");
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn component_that_panics_when_dropped_does_not_keep_the_others() {
    struct Bomb;
    impl Component<Unit> for Bomb {}
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let mut scene = scene().build().unwrap();
    let orc = scene
        .create_actor([0.0; 2], &Plan::new(&log, "orc"), |actor| {
            actor.add_component(Bomb);
            actor.add_component(Small(1, Counted::new(&count)));
        })
        .unwrap();
    scene.kill_actor(orc).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(0.1))).is_err());
    assert_eq!((count.load(Ordering::Relaxed), scene.store_stats().live), (0, 0));
    scene.tick(0.1);
}
