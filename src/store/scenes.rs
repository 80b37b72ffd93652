//! Which scene ids are in use in this process, and how far their generations have come.
//!
//! A handle is not reused for the life of the process: a store under the id of a dropped one starts
//! above the highest generation that was issued under it. The records are behind a lock, which is
//! taken only when a store is created or closed, and never held across user code.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::ConfigError;
use crate::id::SceneId;

/// What is known of an id that was used.
#[derive(Clone, Copy, Debug)]
struct Record {
    live: bool,
    /// The highest generation issued under it.
    highest: u32,
    /// The reading of the clock when it was given back, to find the one that is unused for longest.
    freed: u64,
}

#[derive(Debug)]
struct Scenes {
    used: BTreeMap<u16, Record>,
    /// Ids at and above this one were all used, or asked for by name.
    unused_below: u32,
    /// How many ids were given back so far.
    clock: u64,
}

static SCENES: Mutex<Scenes> = Mutex::new(Scenes::new());

/// An id and the generation that its store starts above.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) scene: SceneId,
    pub(super) floor: u32,
}

fn scenes() -> MutexGuard<'static, Scenes> {
    // A panic while the lock is held cannot leave the records half changed.
    SCENES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the id that was asked for, or the longest-unused one.
pub(super) fn take(asked: Option<SceneId>, last: NonZeroU32) -> Result<Lease, ConfigError> {
    let mut scenes = scenes();
    match asked {
        Some(scene) => scenes.take_named(scene, last),
        None => scenes.take_any(last),
    }
}

/// Gives an id back, with the highest generation that its store has issued.
pub(super) fn give_back(scene: SceneId, highest: u32) {
    scenes().free(scene, highest);
}

/// Begins an execution of a model: each must find the same world.
#[cfg(all(loom, test))]
pub(crate) fn forget_all() {
    *scenes() = Scenes::new();
}

impl Scenes {
    const fn new() -> Scenes {
        Scenes { used: BTreeMap::new(), unused_below: 1 << 16, clock: 0 }
    }

    fn take_named(&mut self, scene: SceneId, last: NonZeroU32) -> Result<Lease, ConfigError> {
        let floor = match self.used.get(&scene.0) {
            Some(record) if record.live => return Err(ConfigError::SceneInUse { scene }),
            Some(record) if record.highest >= last.get() => {
                let highest = record.highest;
                return Err(ConfigError::GenerationsSpent { scene, highest, last });
            }
            Some(record) => record.highest,
            None => 0,
        };
        Ok(self.begin(scene, floor))
    }

    /// Ids that were never used come first, from the top down: users choose small ones.
    fn take_any(&mut self, last: NonZeroU32) -> Result<Lease, ConfigError> {
        while self.unused_below > 0 {
            self.unused_below -= 1;
            let scene = SceneId(self.unused_below as u16);
            if !self.used.contains_key(&scene.0) {
                return Ok(self.begin(scene, 0));
            }
        }
        let longest_unused = self
            .used
            .iter()
            .filter(|(_, record)| !record.live && record.highest < last.get())
            .min_by_key(|(_, record)| record.freed)
            .map(|(&scene, record)| (SceneId(scene), record.highest));
        match longest_unused {
            Some((scene, floor)) => Ok(self.begin(scene, floor)),
            None => Err(ConfigError::NoScene),
        }
    }

    fn begin(&mut self, scene: SceneId, floor: u32) -> Lease {
        self.used.insert(scene.0, Record { live: true, highest: floor, freed: 0 });
        Lease { scene, floor }
    }

    fn free(&mut self, scene: SceneId, highest: u32) {
        self.clock += 1;
        self.used.insert(scene.0, Record { live: false, highest, freed: self.clock });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn take_any_prefers_never_used_then_longest_unused_and_passes_over_spent_ids() {
        let last = NonZeroU32::new(9).unwrap();
        let mut scenes = Scenes::new();
        scenes.take_named(SceneId(65_535), last).unwrap();
        for expected in (0..65_535).rev() {
            assert_eq!(scenes.take_any(last).unwrap().scene, SceneId(expected));
        }
        assert_eq!(scenes.take_any(last).unwrap_err(), ConfigError::NoScene);
        scenes.free(SceneId(3), 9);
        scenes.free(SceneId(2), 4);
        scenes.free(SceneId(1), 4);
        let lease = scenes.take_any(last).unwrap();
        assert_eq!((lease.scene, lease.floor), (SceneId(2), 4));
        assert_eq!(scenes.take_any(last).unwrap().scene, SceneId(1));
        assert_eq!(scenes.take_any(last).unwrap_err(), ConfigError::NoScene);
    }

    #[test]
    fn take_named_refuses_a_live_and_a_spent_id() {
        let last = NonZeroU32::new(2).unwrap();
        let mut scenes = Scenes::new();
        scenes.take_named(SceneId(5), last).unwrap();
        let in_use = scenes.take_named(SceneId(5), last).unwrap_err();
        assert_eq!(in_use, ConfigError::SceneInUse { scene: SceneId(5) });
        scenes.free(SceneId(5), 2);
        let spent = scenes.take_named(SceneId(5), last).unwrap_err();
        assert_eq!(spent, ConfigError::GenerationsSpent { scene: SceneId(5), highest: 2, last });
    }
}
