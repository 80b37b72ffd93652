//! The word's edges: exactly one caller wins each.

use loom::thread;

use super::model;
use crate::store::Store;

#[test]
fn kill_against_kill_has_one_winner() {
    model("kill_against_kill", 10, || {
        let store = Store::new();
        let h = store.spawn_active(7u32).unwrap();
        let other = store.clone();
        let there = thread::spawn(move || other.kill(h).is_ok());
        let here = store.kill(h).is_ok();
        assert!(here ^ there.join().unwrap());
    });
}
