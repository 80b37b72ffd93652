//! The floor that all threads fight over: an array, and one stack of its free places.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Drive;
use crate::marks::operation;

/// Places that each thread has taken.
const WINDOW: usize = 64;

/// A place: the generation, odd while it is taken, the free place below, the payload.
#[repr(C)]
struct Place {
    generation: AtomicU32,
    below: AtomicU32,
    words: [AtomicU64; 8],
}

/// On lines of its own.
#[repr(align(128))]
struct Head(AtomicU64);

/// A tag in the high half of the head against ABA, and the top place plus one in the low half. As
/// in `hatchery-peers`, whose array also grows.
struct Bare {
    places: Vec<Place>,
    head: Head,
}

impl Bare {
    fn new(places: usize) -> Bare {
        let place = |below| Place {
            generation: AtomicU32::new(0),
            below: AtomicU32::new(below as u32),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        let places: Vec<Place> = (0..places).map(place).collect();
        let head = Head(AtomicU64::new(places.len() as u64));
        Bare { places, head }
    }

    fn take(&self) -> Option<u32> {
        // Acquire: the link below the top; pairs with the Release of `give`.
        let mut head = self.head.0.load(Ordering::Acquire);
        loop {
            let number = (head as u32).checked_sub(1)?;
            let place = &self.places[number as usize];
            // Relaxed: the tag shows whether it was the link of this top.
            let next = next_tag(head) | u64::from(place.below.load(Ordering::Relaxed));
            match self.head.0.compare_exchange_weak(
                head,
                next,
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    // Relaxed: the place is this thread's; the generation publishes it.
                    place.words.iter().for_each(|word| word.store(1, Ordering::Relaxed));
                    let taken = place.generation.load(Ordering::Relaxed) + 1;
                    place.generation.store(taken, Ordering::Release);
                    return Some(number);
                }
                Err(actual) => head = actual,
            }
        }
    }

    fn give(&self, number: u32) {
        let place = &self.places[number as usize];
        // Relaxed: the place is this thread's.
        place.generation.fetch_add(1, Ordering::Relaxed);
        let mut head = self.head.0.load(Ordering::Relaxed);
        loop {
            place.below.store(head as u32, Ordering::Relaxed);
            let next = next_tag(head) | u64::from(number + 1);
            // Release: publishes the link; pairs with the Acquire of `take`.
            match self.head.0.compare_exchange_weak(
                head,
                next,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => head = actual,
            }
        }
    }
}

fn next_tag(head: u64) -> u64 {
    ((head >> 32) + 1) << 32
}

/// Gives the oldest place back and takes another.
pub fn run(drive: Drive) -> Result<(), String> {
    let bare = operation(|| Bare::new(drive.threads * 2 * WINDOW));
    let take = || operation(|| bare.take()).expect("there are more places than are taken");
    drive.take_turns(
        |_| ((0..WINDOW).map(|_| take()).collect::<Vec<_>>(), 0),
        |(taken, lives)| {
            let at = *lives % WINDOW;
            *lives += 1;
            operation(|| bare.give(taken[at]));
            taken[at] = take();
        },
    );
    Ok(())
}
