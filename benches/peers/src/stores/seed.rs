//! The design that hatchery began from, in Rust: a runtime with generations behind a lock for
//! readers and writers, the states of the lives behind a mutex, and a pool of boxes behind another.
//!
//! Its reap gave the index free before it reset the state, so that under threads a respawn in
//! between was refused. Here the state is reset first.

use std::sync::{Mutex, RwLock};

use super::{Payload, Store, payload};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    None,
    Pending,
    Active,
    Dying,
    Dead,
}

#[derive(Debug, Default)]
struct Slot<const N: usize> {
    generation: u32,
    entity: Option<Box<Payload<N>>>,
}

#[derive(Debug)]
struct Runtime<const N: usize> {
    slots: Vec<Slot<N>>,
    free: Vec<usize>,
}

/// Index and generation.
#[derive(Clone, Copy, Debug)]
pub struct Key(usize, u32);

/// The whole of it.
#[derive(Debug)]
pub struct Seed<const N: usize> {
    runtime: RwLock<Runtime<N>>,
    states: Mutex<Vec<State>>,
    pool: Mutex<Vec<Box<Payload<N>>>>,
}

impl<const N: usize> Seed<N> {
    fn lookup(&self, Key(index, generation): Key) -> Option<u64> {
        let runtime = self.runtime.read().unwrap();
        let slot = runtime.slots.get(index).filter(|slot| slot.generation == generation)?;
        slot.entity.as_ref().map(|entity| entity[0])
    }

    fn moves(&self, index: usize, to: State) -> bool {
        let mut states = self.states.lock().unwrap();
        if states.len() <= index {
            states.resize(index + 1, State::None);
        }
        let legal = matches!(
            (states[index], to),
            (State::None, State::Pending)
                | (State::Pending, State::Active)
                | (State::Active, State::Dying)
                | (State::Dying, State::Dead)
                | (State::Dead, State::None)
        );
        if legal {
            states[index] = to;
        }
        legal
    }

    fn spawn(&self, value: Payload<N>) -> Key {
        let mut runtime = self.runtime.write().unwrap();
        let index = runtime.free.pop().unwrap_or_else(|| {
            runtime.slots.push(Slot { generation: 0, entity: None });
            runtime.slots.len() - 1
        });
        let pooled = self.pool.lock().unwrap().pop();
        let mut entity = pooled.unwrap_or_else(|| Box::new(payload(0)));
        *entity = value;
        let slot = &mut runtime.slots[index];
        slot.generation += 1;
        slot.entity = Some(entity);
        let generation = slot.generation;
        drop(runtime);
        assert!(self.moves(index, State::Pending));
        Key(index, generation)
    }

    fn step(&self, key: Key, to: State) -> bool {
        self.lookup(key).is_some() && self.moves(key.0, to)
    }

    fn despawn(&self, Key(index, _): Key) -> bool {
        let mut runtime = self.runtime.write().unwrap();
        let Some(mut entity) = runtime.slots[index].entity.take() else { return false };
        *entity = payload(0);
        self.pool.lock().unwrap().push(entity);
        runtime.free.push(index);
        true
    }
}

impl<const N: usize> Store<N> for Seed<N> {
    type Key = Key;
    type Session<'s> = ();

    fn with_room(_room: usize) -> Self {
        Seed {
            runtime: RwLock::new(Runtime { slots: Vec::new(), free: Vec::new() }),
            states: Mutex::default(),
            pool: Mutex::default(),
        }
    }

    fn session(&self) {}

    /// Spawn and activate.
    fn insert(&self, _session: &mut (), value: Payload<N>) -> Key {
        let key = self.spawn(value);
        assert!(self.step(key, State::Active));
        key
    }

    /// Kill and reap.
    fn remove(&self, _session: &mut (), key: Key) -> bool {
        self.step(key, State::Dying)
            && self.step(key, State::Dead)
            && self.moves(key.0, State::None)
            && self.despawn(key)
    }

    fn get(&self, _session: &(), key: Key) -> Option<u64> {
        self.lookup(key)
    }

    fn sum(&mut self) -> u64 {
        let runtime = self.runtime.get_mut().unwrap();
        runtime.slots.iter().filter_map(|slot| slot.entity.as_ref()).map(|entity| entity[0]).sum()
    }
}
