//! Services, which every hook and tick may read: one value per type, fixed when the scene is built.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;

/// The services of a scene, by type.
#[derive(Default)]
pub(super) struct Services(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Services {
    /// Adds a service; whether there was none of its type.
    pub(super) fn add<S: Any + Send + Sync>(&mut self, service: S) -> bool {
        self.0.insert(TypeId::of::<S>(), Box::new(service)).is_none()
    }

    pub(super) fn get<S: Any + Send + Sync>(&self) -> Option<&S> {
        self.0.get(&TypeId::of::<S>())?.downcast_ref()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").field("count", &self.0.len()).finish()
    }
}
