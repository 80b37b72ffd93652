//! The component of both sides: the same type, with the same work.

use bevy_ecs::component::Component as Peer;
use hatchery::scene::{Actor, Component, Core, TickComponent, TickContext};

/// 32 bytes.
pub type Values = [f32; 8];

/// One of eight distinct types.
#[derive(Debug, Peer)]
pub struct Part<const N: usize>(pub Values);

impl<const N: usize> Part<N> {
    /// What the part of a number begins with, for the entity of a number.
    pub fn of(entity: usize) -> Part<N> {
        Part(std::array::from_fn(|at| ((entity + N + at) % 97) as f32))
    }

    /// A number of the values that does not depend on an order when it is added up.
    pub fn sum(&self) -> u64 {
        self.0.iter().zip(1..).fold(0, |sum, (value, place)| {
            sum + u64::from(value.to_bits()) * (place + 8 * N as u64)
        })
    }
}

/// What a component does in a frame: 16 multiply-adds, two on each value.
#[inline]
pub fn work(values: &mut Values) {
    for value in values {
        *value = *value * 0.75 + 0.5;
        *value = *value * 0.875 + 0.25;
    }
}

/// An actor that is nothing but its components.
#[derive(Debug)]
pub struct Bare;

impl Core for Bare {
    type Definition = ();
    type Position = ();
    type Public = ();

    fn construct((): ()) -> Bare {
        Bare
    }
    fn init(_: &mut Actor<Bare>, (): &()) {}
    fn publish(_: &Actor<Bare>) {}
    fn tick(_: &mut Actor<Bare>, _: &TickContext<'_, Bare>, _: f32) {}
}

impl<const N: usize> Component<Bare> for Part<N> {}

impl<const N: usize> TickComponent<Bare> for Part<N> {
    fn tick(&mut self, _: &mut Actor<Bare>, _: &TickContext<'_, Bare>, _: f32) {
        work(&mut self.0);
    }
}
