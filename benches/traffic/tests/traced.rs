//! The whole way: threads under valgrind, their trace through the simulation. Content where there
//! is no valgrind.

use hatchery_traffic::drive::{Drive, Work};
use hatchery_traffic::run::traced;
use hatchery_traffic::simulation::{Count, Outcome};
use hatchery_valgrind::possible;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hatchery-traffic");

/// What two threads do to each other, if that can be traced.
fn outcome(work: Work, warm: usize, measured: usize) -> Option<(Drive, Outcome)> {
    let drive = Drive { work, threads: 2, shards: 2, warm, measured };
    possible().then(|| (drive, traced(PROGRAM, drive).expect("the driver does its work")))
}

#[test]
fn look_ups_of_one_entity_move_no_line() {
    let Some((_, outcome)) = outcome(Work::GetHot, 2, 4) else { return };
    assert!(outcome.instructions > 0);
    assert_eq!(outcome.total, Count::default());
}

#[test]
fn one_stack_for_all_moves_its_head_twice_a_life() {
    let Some((drive, outcome)) = outcome(Work::Bare, 16, 32) else { return };
    // The head comes to be read by whoever has its turn, is taken from the other, and stays until
    // the turn is over: a life is two changes of it.
    let each = drive.operations() as u64;
    assert_eq!((outcome.busiest.fetched, outcome.busiest.upgraded), (each, each));
}

#[test]
fn what_is_wrong_with_the_driver_is_told() {
    if possible() {
        let drive = Drive { work: Work::Bare, threads: 0, shards: 2, warm: 0, measured: 0 };
        let refused = traced(PROGRAM, drive).expect_err("there is nobody to trace");
        assert!(refused.starts_with("bare, 0 threads, 2 shards: "), "{refused}");
    }
}
