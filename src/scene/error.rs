//! Why no actor was created.

use std::error::Error;
use std::fmt;

use crate::error::SpawnFailure;
use crate::id::SceneId;

/// Says why no actor was created; nothing is left behind.
///
/// # Examples
///
/// ```
/// use hatchery::{SceneId, scene::CreateError};
///
/// let error = CreateError::Shutdown { scene: SceneId(7) };
/// assert_eq!(error.to_string(), "scene 7 is shut down: create actors before that");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CreateError {
    /// There is no room.
    Spawn(SpawnFailure),
    /// The scene is shut down or dropped.
    Shutdown {
        /// The id of the scene.
        scene: SceneId,
    },
}

impl From<SpawnFailure> for CreateError {
    fn from(failure: SpawnFailure) -> CreateError {
        CreateError::Spawn(failure)
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreateError::Spawn(failure) => failure.fmt(f),
            CreateError::Shutdown { scene } => {
                write!(f, "scene {scene} is shut down: create actors before that")
            }
        }
    }
}

/// The failure is the whole message, and is therefore not reported as a source as well.
impl Error for CreateError {}
