//! The whole way, from a driver under valgrind to the figures, where there is a valgrind.

use hatchery_traffic::drive::{Drive, Work};
use hatchery_traffic::run::{possible, traced};

const DRIVER: &str = env!("CARGO_BIN_EXE_hatchery-traffic");

#[test]
fn two_threads_move_the_lines_that_they_share_and_no_others() {
    if !possible() {
        return eprintln!("valgrind is not installed: nothing was traced");
    }
    let each = |work| {
        let drive = Drive::new(work, 2, 2);
        let outcome = traced(DRIVER, drive).expect("a driver that can be traced");
        assert!(outcome.instructions > 0, "{drive}");
        outcome.total.all() as f64 / drive.operations() as f64
    };
    // Nobody writes what look-ups read.
    assert_eq!(each(Work::GetHot), 0.0);
    // The top of the one stack, and the place on it that the other has left, at the least.
    assert!(each(Work::Bare) >= 2.0);
}
