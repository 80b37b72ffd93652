//! The stash of cleared payloads: each comes out once and whole, never more than may be kept, and
//! none stays in a store that is closed.

use loom::thread;
use std::sync::Arc;

use super::grave::{Graveyard, Tomb};
use super::model;
use crate::free::Circulation;
use crate::reclaim::Domain;
use crate::store::{Reuse, Stash};

/// Keeps a tomb if there is room; whether there was.
fn keep(stash: &Stash<Tomb>, tomb: Tomb) -> bool {
    let Some(cell) = stash.claim() else { return false };
    stash.put(cell, tomb);
    true
}

/// What can be taken out, by name.
fn names(stash: &Stash<Tomb>) -> Vec<u32> {
    std::iter::from_fn(|| stash.take().map(|tomb| tomb.read())).collect()
}

/// Two keep, one takes: what comes out is what went in.
#[test]
fn payloads_kept_by_two_come_out_once() {
    model("stash_two_keepers_and_a_taker", 100, || {
        let (graveyard, stash) = (Graveyard::default(), Arc::new(Stash::new(2)));
        let keepers = [1, 2].map(|name| {
            let (stash, tomb) = (Arc::clone(&stash), graveyard.tomb(name));
            thread::spawn(move || assert!(keep(&stash, tomb), "there is room for both"))
        });
        let mut all: Vec<u32> = stash.take().map(|tomb| tomb.read()).into_iter().collect();
        keepers.into_iter().for_each(|keeper| keeper.join().unwrap());
        all.extend(names(&stash));
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
        graveyard.assert_all_dropped();
    });
}

/// Each takes one out and puts it back at once, while the other is about to take it.
#[test]
fn payloads_taken_by_two_come_out_once() {
    model("stash_two_takers", 40, || {
        let (graveyard, stash) = (Graveyard::default(), Arc::new(Stash::new(2)));
        assert!(keep(&stash, graveyard.tomb(1)) && keep(&stash, graveyard.tomb(2)));
        let there = Arc::clone(&stash);
        let there = thread::spawn(move || {
            let first = there.take();
            let first = first.filter(|tomb| tomb.read() == 2);
            first.is_some_and(|tomb| keep(&there, tomb))
        });
        let here = stash.take().map(|tomb| tomb.read());
        let again = there.join().unwrap();
        let mut all = names(&stash);
        all.extend(here);
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?} came out");
        assert!(!again || all.contains(&2), "{all:?}: what was put back is there");
        graveyard.assert_all_dropped();
    });
}

/// One place, and two who want it while it is being left: never two in it.
#[test]
fn one_place_never_keeps_two() {
    model("stash_of_one", 20, || {
        let (graveyard, stash) = (Graveyard::default(), Arc::new(Stash::new(1)));
        assert!(keep(&stash, graveyard.tomb(1)));
        let other = Arc::clone(&stash);
        let tomb = graveyard.tomb(2);
        let there = thread::spawn(move || {
            let kept = keep(&other, tomb);
            assert!(other.kept() <= 1);
            kept
        });
        let taken = stash.take().expect("nobody else takes").read();
        assert!(stash.kept() <= 1);
        let here = keep(&stash, graveyard.tomb(3));
        assert!(stash.kept() <= 1);
        let there = there.join().unwrap();
        let left = names(&stash);
        // Whoever finds the place left has it; the one who comes when it is left for good does.
        assert!(taken == 1 || taken == 2);
        assert!(here || there, "the place was free at the end");
        assert!(left.len() <= 1, "{left:?} were kept in one place");
        graveyard.assert_all_dropped();
    });
}

/// A payload that is let go when its store is being closed, by a call that borrows no `Store`.
#[test]
fn payload_kept_against_the_closing_is_dropped() {
    model("stash_kept_against_closed", 10, || {
        let (graveyard, domain) = (Graveyard::default(), Domain::new());
        let circulation = Arc::new(Circulation::new(1));
        let gate = crate::sync::Arc::clone(&domain.gate);
        let reuse = Arc::new(Reuse::new(1, |_: &mut Tomb| (), gate));
        let (late, tomb) = (Arc::clone(&reuse), graveyard.tomb(1));
        let boxes = Arc::clone(&circulation);
        let there = thread::spawn(move || late.keep_if_open(&boxes, tomb));
        assert!(domain.gate.leave(), "the last reference");
        reuse.close(&circulation);
        there.join().unwrap();
        assert_eq!(reuse.stash.kept(), 0);
        graveyard.assert_all_dropped();
    });
}
