//! The publication of segments, to whoever guesses a slot's number.

use loom::thread;
use std::sync::Arc;

use super::grave::{Graveyard, Tomb};
use super::model;
use crate::segment::{Index, Sides, Table};

struct Shared(Table<Tomb>);

// SAFETY: what the table's rules do not allow, loom reports.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Reads whatever a forged handle of generation 1 leads to.
fn look(table: &Table<Tomb>, index: u32) -> Option<u32> {
    let slot = table.slot(Index(index))?;
    // SAFETY: whether the accesses are ordered is the question that loom answers.
    slot.word.read().readable_as(1).then(|| unsafe { slot.payload.get() }.read())
}

/// Makes the segment, and an entity in it.
fn spawn(table: &Table<Tomb>, index: u32, graveyard: &Graveyard) {
    table.ensure(index.into(), u64::from(index) + 1).unwrap();
    let slot = table.known(Index(index));
    // SAFETY: whether the accesses are ordered is the question that loom answers.
    unsafe { slot.payload.write(graveyard.tomb(index)) };
    slot.word.publish(1);
}

/// The reader is the spawned thread: see "What loom does not see" in the README.
fn forged_against_install(name: &str, index: u32) {
    model(name, 4, move || {
        let (table, graveyard) = (
            Arc::new(Shared(Table::new(Sides { marks: false, stamps: false, links: true }))),
            Graveyard::default(),
        );
        let reader = Arc::clone(&table);
        let reader = thread::spawn(move || {
            assert!(look(&reader.0, index).is_none_or(|name| name == index));
            assert_eq!(look(&reader.0, index + 1), None, "nobody was born there");
        });
        spawn(&table.0, index, &graveyard);
        reader.join().unwrap();
    });
}

#[test]
fn forged_handle_against_a_new_small_segment_is_none_or_complete() {
    forged_against_install("forged_against_small_segment", 2);
}

#[test]
fn forged_handle_against_a_new_directory_is_none_or_complete() {
    forged_against_install("forged_against_directory", 4);
}

#[test]
fn growers_at_the_same_time_share_one_segment() {
    model("two_growers", 20, || {
        let (table, graveyard) = (
            Arc::new(Shared(Table::new(Sides { marks: false, stamps: false, links: true }))),
            Graveyard::default(),
        );
        let (other, stones) = (Arc::clone(&table), graveyard.clone());
        let there = thread::spawn(move || spawn(&other.0, 4, &stones));
        spawn(&table.0, 5, &graveyard);
        there.join().unwrap();
        assert_eq!((look(&table.0, 4), look(&table.0, 5)), (Some(4), Some(5)));
    });
}
