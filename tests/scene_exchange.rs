//! Actors that user code exchanges while a component of theirs is called: the component stays where
//! it is until its call is over, and everything is dropped once.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use hatchery::Handle;
use hatchery::scene::{Actor, Component, Scene, TickComponent, TickContext};
use world::*;

/// A sibling, which counts its ticks.
struct Sibling(u32, #[expect(dead_code, reason = "it counts")] Counted);

impl Component<Unit> for Sibling {}
impl TickComponent<Unit> for Sibling {
    fn tick(&mut self, _: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
        self.0 += 1;
    }
}

/// Exchanges its owner, and looks at itself afterwards.
struct Thief<F, const N: usize> {
    deed: F,
    values: [usize; N],
    _counted: Counted,
}

impl<F: Fn(&mut Actor<Unit>) + Send + 'static, const N: usize> Component<Unit> for Thief<F, N> {}
impl<F: Fn(&mut Actor<Unit>) + Send + 'static, const N: usize> TickComponent<Unit> for Thief<F, N> {
    fn tick(&mut self, owner: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
        (self.deed)(owner);
        // Whoever has its memory, if that was freed, writes something else there.
        for size in 1..100 {
            black_box(vec![usize::MAX; size]);
        }
        assert_eq!(self.values, std::array::from_fn(|at| at));
        self.values[N - 1] = 0;
        self.values[N - 1] = N - 1;
    }
}

/// Another scene, with an actor that has become this one.
fn stolen_into(owner: &mut Actor<Unit>) -> (Scene<Unit>, Handle) {
    let mut other = scene().build().unwrap();
    let swap = |fresh: &mut Actor<Unit>| std::mem::swap(fresh, owner);
    let changeling = Plan::new(&Log::default(), "changeling");
    let handle = other.create_actor([9.0; 2], &changeling, swap).unwrap();
    (other, handle)
}

/// A scene with an actor that has a sibling on each side of a thief of `N` words.
fn with_thief<const N: usize>(
    count: &Arc<AtomicUsize>,
    deed: impl Fn(&mut Actor<Unit>) + Send + 'static,
) -> (Scene<Unit>, Handle) {
    struct Behind(#[expect(dead_code, reason = "it counts")] Sibling);
    impl Component<Unit> for Behind {}
    let mut scene = scene().build().unwrap();
    let plan = Plan::new(&Log::default(), "orc");
    let add = |actor: &mut Actor<Unit>| {
        actor.add_tick_component(Sibling(0, Counted::new(count)));
        let values = std::array::from_fn(|at| at);
        actor.add_tick_component(Thief::<_, N> { deed, values, _counted: Counted::new(count) });
        actor.add_component(Behind(Sibling(0, Counted::new(count))));
    };
    let orc = scene.create_actor([0.0; 2], &plan, add).unwrap();
    (scene, orc)
}

#[test]
fn component_outlives_the_scene_that_its_owner_went_to() {
    fn check<const N: usize>() {
        let count = Arc::new(AtomicUsize::new(0));
        let (mut scene, orc) = with_thief::<N>(&count, |owner| {
            let (mut other, _) = stolen_into(owner);
            other.tick(0.1);
            other.shutdown();
            drop(other);
        });
        assert_eq!(count.load(Ordering::Relaxed), 3);
        scene.tick(0.1);
        assert_eq!(count.load(Ordering::Relaxed), 0);
        assert_eq!(scene.actor(orc).unwrap().core.name, "changeling");
        scene.tick(0.1);
    }
    check::<1>();
    check::<4>();
    check::<100>();
}

#[test]
fn component_goes_before_the_actor_that_it_was_taken_from() {
    let count = Arc::new(AtomicUsize::new(0));
    let (send, receive) = channel();
    let (mut scene, _) = with_thief::<4>(&count, move |owner| {
        let (mut other, orc) = stolen_into(owner);
        // One at a time is called.
        other.tick(0.1);
        assert_eq!(other.actor(orc).unwrap().component::<Sibling>().unwrap().0, 1);
        send.send((other, orc)).unwrap();
    });
    scene.tick(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let (mut other, orc) = receive.recv().unwrap();
    other.tick(0.1);
    let text = format!("{:?}", other.actor(orc).unwrap());
    assert!(text.contains("Sibling") && !text.contains("Thief"), "{text}");
    drop(other);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

/// The thief by its type.
type Named = Thief<fn(&mut Actor<Unit>), 4>;

#[test]
fn component_is_not_found_where_its_owner_ticks_again() {
    fn deed(owner: &mut Actor<Unit>) {
        let (mut other, orc) = stolen_into(owner);
        for _ in 0..3 {
            other.tick(0.1);
            let orc = other.actor(orc).unwrap();
            assert!(orc.component::<Named>().is_none(), "it is being called");
            assert!(orc.component::<Sibling>().is_some());
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let (mut scene, _) = with_thief::<4>(&count, deed as fn(&mut Actor<Unit>));
    scene.tick(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn components_that_were_called_are_found_from_outside() {
    let count = Arc::new(AtomicUsize::new(0));
    let (mut scene, orc) = with_thief::<4>(&count, (|_| ()) as fn(&mut Actor<Unit>));
    for _ in 0..3 {
        scene.tick(0.1);
        let orc = scene.actor(orc).unwrap();
        assert!(orc.component::<Named>().is_some());
        assert!(orc.component::<Sibling>().is_some());
    }
}

#[test]
fn owner_that_comes_back_finds_its_component() {
    let count = Arc::new(AtomicUsize::new(0));
    let (mut scene, orc) = with_thief::<4>(&count, |owner| {
        let (mut other, stolen) = stolen_into(owner);
        std::mem::swap(other.actor_mut(stolen).unwrap(), owner);
    });
    for tick in 1..4 {
        scene.tick(0.1);
        let actor = scene.actor(orc).unwrap();
        assert_eq!(actor.component::<Sibling>().unwrap().0, tick);
        assert!(format!("{actor:?}").contains("Thief"));
    }
    scene.kill_actor(orc).unwrap();
    scene.tick(0.1);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn component_that_panics_without_its_owner_is_dropped_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let (mut scene, _) = with_thief::<4>(&count, |owner| {
        drop(stolen_into(owner));
        panic!("boom");
    });
    assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(0.1))).is_err());
    assert_eq!(count.load(Ordering::Relaxed), 0);
    scene.tick(0.1);
}

#[test]
fn component_that_panics_as_it_goes_leaves_no_memory() {
    struct Bomb(#[expect(dead_code, reason = "it counts")] Counted);
    impl Component<Unit> for Bomb {}
    impl TickComponent<Unit> for Bomb {
        fn tick(&mut self, owner: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
            drop(stolen_into(owner));
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let mut scene = scene().build().unwrap();
    let add = |actor: &mut Actor<Unit>| actor.add_tick_component(Bomb(Counted::new(&count)));
    scene.create_actor([0.0; 2], &Plan::new(&Log::default(), "orc"), add).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(0.1))).is_err());
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn another_thread_ends_the_owner_while_its_component_is_called() {
    for round in 0..200 {
        let count = Arc::new(AtomicUsize::new(0));
        let (send, receive) = channel();
        let (mut scene, _) = with_thief::<40>(&count, move |owner| {
            let (mut other, _) = stolen_into(owner);
            let thread = thread::spawn(move || {
                other.tick(0.1);
                drop(other);
            });
            if round % 4 == 0 {
                thread.join().unwrap();
            } else {
                send.send(thread).unwrap();
            }
        });
        scene.tick(0.1);
        receive.try_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn actors_that_are_exchanged_while_one_is_configured_take_no_components_any_more() {
    fn is_refused(actor: &mut Actor<Unit>) -> bool {
        let add = || actor.add_component(Noting("more"));
        catch_unwind(AssertUnwindSafe(add)).is_err() && !actor.has_component::<Noting>()
    }
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let (mut ours, mut other) = (scene().build().unwrap(), scene().build().unwrap());
    let orc = ours.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    let exchange = |fresh: &mut Actor<Unit>| {
        fresh.add_tick_component(Sibling(0, Counted::new(&count)));
        std::mem::swap(fresh, ours.actor_mut(orc).unwrap());
        assert!(is_refused(fresh), "made long ago");
        assert!(is_refused(ours.actor_mut(orc).unwrap()), "not where it was configured");
    };
    let plan = Plan::new(&log, "changeling");
    let changeling = other.create_actor([0.0; 2], &plan, exchange).unwrap();
    assert!(is_refused(ours.actor_mut(orc).unwrap()));
    assert!(is_refused(other.actor_mut(changeling).unwrap()));
    ours.tick(0.1);
    assert_eq!(ours.actor(orc).unwrap().component::<Sibling>().unwrap().0, 1);
    drop((ours, other));
    assert_eq!(count.load(Ordering::Relaxed), 0);
}
