//! The floor: a bare array of a fixed size and one Treiber stack of free places. Not a peer: it
//! copies a word out instead of lending `&T`, drops nothing, and trusts its keys.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use super::{Payload, Store};

/// One place: its generation, odd while it is taken, and the words.
#[derive(Debug)]
struct Place<const N: usize> {
    generation: AtomicU32,
    below: AtomicU32,
    words: [AtomicU64; N],
}

/// The array.
#[derive(Debug)]
pub struct Bare<const N: usize> {
    places: Box<[Place<N>]>,
    /// A tag in the high half against ABA, and the top place plus one in the low half.
    head: CachePadded<AtomicU64>,
    /// Places that were ever taken; the others are not on the stack.
    fresh: CachePadded<AtomicU32>,
}

/// Place and generation.
#[derive(Clone, Copy, Debug)]
pub struct Key(u32, u32);

impl<const N: usize> Bare<N> {
    #[inline]
    fn place(&self, number: u32) -> &Place<N> {
        debug_assert!((number as usize) < self.places.len());
        // SAFETY: numbers come from `take` of the same array, which checks them once.
        unsafe { self.places.get_unchecked(number as usize) }
    }

    #[inline]
    fn take(&self) -> u32 {
        // Acquire: the link below the top, pairs with the Release of `remove`.
        let mut head = self.head.load(Ordering::Acquire);
        while let Some(number) = (head as u32).checked_sub(1) {
            let below = self.place(number).below.load(Ordering::Relaxed);
            let next = next_tag(head) | u64::from(below);
            match self.head.compare_exchange_weak(head, next, Ordering::Acquire, Ordering::Acquire)
            {
                Ok(_) => return number,
                Err(actual) => head = actual,
            }
        }
        let fresh = self.fresh.fetch_add(1, Ordering::Relaxed);
        assert!((fresh as usize) < self.places.len(), "the array is full");
        fresh
    }
}

#[inline]
fn next_tag(head: u64) -> u64 {
    ((head >> 32) + 1) << 32
}

impl<const N: usize> Store<N> for Bare<N> {
    type Key = Key;
    type Session<'s> = ();

    fn with_room(room: usize) -> Self {
        let place = |_| Place {
            generation: AtomicU32::new(0),
            below: AtomicU32::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        Bare {
            places: (0..room + 1024).map(place).collect(),
            head: CachePadded::default(),
            fresh: CachePadded::default(),
        }
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> Key {
        let number = self.take();
        let place = self.place(number);
        for (word, value) in place.words.iter().zip(value) {
            word.store(value, Ordering::Relaxed);
        }
        let generation = place.generation.load(Ordering::Relaxed) + 1;
        place.generation.store(generation, Ordering::Release);
        Key(number, generation)
    }

    #[inline]
    fn remove(&self, _session: &mut (), Key(number, generation): Key) -> bool {
        let place = self.place(number);
        let gone = generation + 1;
        let ended = place.generation.compare_exchange(
            generation,
            gone,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if ended.is_err() {
            return false;
        }
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            place.below.store(head as u32, Ordering::Relaxed);
            let next = next_tag(head) | u64::from(number + 1);
            match self.head.compare_exchange_weak(head, next, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(actual) => head = actual,
            }
        }
    }

    #[inline]
    fn get(&self, _session: &(), Key(number, generation): Key) -> Option<u64> {
        let place = self.place(number);
        let there = place.generation.load(Ordering::Acquire) == generation;
        there.then(|| place.words[0].load(Ordering::Relaxed))
    }

    fn sum(&mut self) -> u64 {
        let used = (*self.fresh.get_mut() as usize).min(self.places.len());
        let taken = |place: &&Place<N>| place.generation.load(Ordering::Acquire) % 2 == 1;
        let first = |place: &Place<N>| place.words[0].load(Ordering::Relaxed);
        self.places[..used].iter().filter(taken).map(first).sum()
    }
}
