//! What a panic carries is the user's, and may panic itself when it is dropped: that ends neither
//! the event nor the process.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::scene::{Actor, Commands, Core, Scene, Teardown, TickContext};

/// Panics when it is dropped, with another one of its kind as often as it says.
struct Cascade(u32);

impl Drop for Cascade {
    fn drop(&mut self) {
        match self.0 {
            0 => panic!("the last one"),
            left => panic_any(Cascade(left - 1)),
        }
    }
}

/// Where an actor panics with such a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Tick,
    PendingDestroy,
    Cleanup,
}

#[derive(Default)]
struct Volatile {
    place: Option<Place>,
    calls: Arc<AtomicUsize>,
}

impl Volatile {
    fn at(&self, place: Place) {
        if self.place == Some(place) {
            self.calls.fetch_add(1, Ordering::Relaxed);
            resume_unwind(Box::new(Cascade(3)));
        }
    }
}

impl Core for Volatile {
    type Definition = (Place, Arc<AtomicUsize>);
    type Position = ();
    type Public = ();

    fn construct((): ()) -> Volatile {
        Volatile::default()
    }

    fn init(actor: &mut Actor<Volatile>, (place, calls): &Self::Definition) {
        actor.core = Volatile { place: Some(*place), calls: Arc::clone(calls) };
    }

    fn publish(_: &Actor<Volatile>) {}

    fn tick(actor: &mut Actor<Volatile>, _: &TickContext<'_, Volatile>, _: f32) {
        actor.core.at(Place::Tick);
    }

    fn on_pending_destroy(actor: &Actor<Volatile>, _: &mut Commands<'_, Volatile>) {
        actor.core.at(Place::PendingDestroy);
    }

    fn cleanup(actor: &mut Actor<Volatile>, _: &Teardown<'_>) {
        actor.core.at(Place::Cleanup);
    }
}

/// A scene of actors that panic at a place, and how often they have.
fn scene_of(actors: usize, place: Place) -> (Scene<Volatile>, Arc<AtomicUsize>) {
    let calls = Arc::default();
    let mut scene = Scene::builder().threads(1).build().unwrap();
    for _ in 0..actors {
        scene.create_actor((), &(place, Arc::clone(&calls)), |_| ()).unwrap();
    }
    (scene, calls)
}

/// The first of the panics comes out of `event`.
#[track_caller]
fn assert_first_comes_out(event: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(event)).expect_err("an actor has panicked");
    match panic.downcast::<Cascade>() {
        Ok(first) => std::mem::forget(first),
        Err(other) => resume_unwind(other),
    }
}

#[test]
fn the_other_actors_of_the_phase_are_called() {
    let (mut scene, calls) = scene_of(3, Place::Tick);
    assert_first_comes_out(|| scene.tick(0.1));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    scene.shutdown();
}

#[test]
fn every_actor_ends_in_the_sweep() {
    let (mut scene, calls) = scene_of(3, Place::Cleanup);
    let handles: Vec<_> = scene.alive_actors().map(|actor| actor.handle()).collect();
    handles.iter().for_each(|&handle| scene.kill_actor(handle).unwrap());
    assert_first_comes_out(|| scene.tick(0.1));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert!(handles.iter().all(|&handle| scene.actor(handle).is_err()));
}

#[test]
fn a_shutdown_tells_every_actor() {
    let (mut scene, calls) = scene_of(3, Place::Cleanup);
    assert_first_comes_out(|| scene.shutdown());
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[test]
fn a_kill_is_a_kill() {
    let (mut scene, _) = scene_of(1, Place::PendingDestroy);
    let handle = scene.alive_actors().next().unwrap().handle();
    assert_first_comes_out(|| scene.kill_actor(handle).unwrap());
    scene.tick(0.1);
    assert!(scene.actor(handle).is_err());
}

#[test]
fn a_scene_that_ends_while_its_thread_panics_lets_that_panic_go_on() {
    for actors in [1, 3] {
        let panic = catch_unwind(|| {
            let (scene, _) = scene_of(actors, Place::Cleanup);
            let _ends_first = scene;
            resume_unwind(Box::new("the outer one"));
        });
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"the outer one"));
    }
}
