//! The clock of a scene, and what it tells of its last frame.

use std::time::Duration;

use super::trace;
use crate::error::{SpawnFailure, TransitionError};
use crate::id::SceneId;

/// The clock of a scene.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// # struct Rock;
/// # impl Core for Rock {
/// #     type Definition = ();
/// #     type Position = ();
/// #     type Public = ();
/// #     fn construct(_: ()) -> Rock { Rock }
/// #     fn init(_: &mut Actor<Rock>, _: &()) {}
/// #     fn publish(_: &Actor<Rock>) {}
/// #     fn tick(_: &mut Actor<Rock>, _: &TickContext<'_, Rock>, _: f32) {}
/// # }
/// let mut scene = Scene::<Rock>::builder().build()?;
/// scene.set_time_scale(0.5); // slow motion
/// scene.tick(0.25);
/// assert_eq!((scene.time().frame, scene.time().elapsed), (1, 0.125));
/// # Ok::<(), hatchery::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SceneTime {
    /// Frames so far, paused ones included.
    pub frame: u64,
    /// Seconds of the scene's own time so far: scaled, and without paused frames.
    pub elapsed: f64,
    /// Whether the game is paused.
    pub paused: bool,
    /// The factor by which the `dt` of `tick` is multiplied.
    pub time_scale: f32,
}

impl SceneTime {
    pub(super) const fn new() -> SceneTime {
        SceneTime { frame: 0, elapsed: 0.0, paused: false, time_scale: 1.0 }
    }
}

/// What has happened since the last frame began, including calls after it.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// # struct Rock;
/// # impl Core for Rock {
/// #     type Definition = ();
/// #     type Position = ();
/// #     type Public = ();
/// #     fn construct(_: ()) -> Rock { Rock }
/// #     fn init(_: &mut Actor<Rock>, _: &()) {}
/// #     fn publish(_: &Actor<Rock>) {}
/// #     fn tick(_: &mut Actor<Rock>, _: &TickContext<'_, Rock>, _: f32) {}
/// # }
/// let mut scene = Scene::<Rock>::builder().build()?;
/// let rock = scene.create_actor((), &(), |_| ())?;
/// scene.tick(0.1);
/// scene.kill_actor(rock)?;
/// assert_eq!(scene.last_frame().killed, 1);
/// scene.tick(0.1); // sweeps
/// assert_eq!((scene.last_frame().killed, scene.last_frame().destroyed), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameReport {
    /// Actors whose created hooks have all run.
    pub created: usize,
    /// Actors that were killed.
    pub killed: usize,
    /// Actors whose destroyed hooks have all run, in a sweep or in the shutdown.
    pub destroyed: usize,
    /// Requests that were refused: creations without room, kills of actors that were not Active.
    /// Kills by a [`SceneRemote`](super::SceneRemote) that were accepted and came too late count;
    /// what a remote is refused at once does not.
    pub refused: usize,
    /// How long each part of the frame took: the sweep with the admission of what other threads
    /// asked for, Pre, the actor phase, Main, Post, Presentation. Zero for a part that did not run.
    pub phases: [Duration; 6],
}

impl FrameReport {
    /// Counts a creation that found no room.
    pub(super) fn refuse_creation(&mut self, scene: SceneId, failure: SpawnFailure) {
        self.refused += 1;
        trace::refused_creation(scene, failure);
    }

    /// Counts a kill of what was not alive.
    pub(super) fn refuse_kill(&mut self, refused: TransitionError) {
        self.refused += 1;
        trace::refused_kill(refused);
    }
}
