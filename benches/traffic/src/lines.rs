//! The places of one run that had most traffic: to find out what a figure consists of.

use std::cmp::Reverse;
use std::fmt::Write;

use crate::drive::Drive;
use crate::names::Owner;
use crate::places::Place;
use crate::simulation::{Count, Outcome};

/// So many places are shown.
const SHOWN: usize = 40;

/// What a thousand operations do, at every place, those with most first.
pub fn busiest(drive: Drive, outcome: &Outcome) -> String {
    let each = |count: u64| 1000.0 * count as f64 / drive.operations() as f64;
    let mut text = format!("{drive}: lines moved in 1000 operations\n\n");
    let mut line = |count: Count, what: &str| {
        let [fetched, owned, upgraded] = [count.fetched, count.owned, count.upgraded]
            .map(|count| format!("{:9.2}", each(count)));
        // Writing to a string does not fail.
        let _ = writeln!(text, "{fetched} | {owned} | {upgraded} | {what}");
    };
    line(outcome.total, "all: came to be read | came to be written | taken from others");
    line(outcome.busiest, "the busiest line");
    let mut places: Vec<(&Place, &Count)> = outcome.places.iter().collect();
    places.sort_by_key(|(_, count)| Reverse(count.all()));
    for (place, count) in places.into_iter().take(SHOWN) {
        let owner = Owner::of(*place).name();
        match place {
            Place::Allocated(shape, at) => {
                line(*count, &format!("{owner}: {at} of {} bytes", shape.size));
            }
            Place::Elsewhere => line(*count, owner),
        }
    }
    let instructions = outcome.instructions as f64 / drive.operations() as f64;
    text + &format!("\n{instructions:.1} instructions an operation\n")
}
