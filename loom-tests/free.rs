//! The stacks that batches and Dead slots travel on, without epochs around them.

use loom::thread;
use std::sync::Arc;

use super::model;
use crate::free::{Chain, Circulation, Owned};
use crate::segment::{Index, Sides, Table};

/// A batch that holds one index.
fn batch(circulation: &Circulation, index: u32) -> Owned {
    let mut batch = circulation.empty_box().unwrap();
    batch.push(Index(index));
    batch
}

/// The indices of a batch.
fn indices(mut batch: Owned) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop()).map(|index| index.0).collect()
}

/// One thread pops two batches and gives the first one back while another is about to pop it: the
/// case that a stack without tags gets wrong.
#[test]
fn box_given_back_at_once_has_one_owner() {
    model("boxes_reused_at_once", 10, || {
        let circulation = Arc::new(Circulation::new(1));
        let boxes = [(); 3].map(|()| circulation.empty_box().unwrap());
        boxes.into_iter().for_each(|empty| circulation.put_empty(empty));
        let other = Arc::clone(&circulation);
        let there = thread::spawn(move || {
            let mut mine = other.empty_box().unwrap();
            mine.push(Index(1));
            mine
        });
        let again = circulation.empty_box().unwrap();
        let mut kept = circulation.empty_box().unwrap();
        circulation.put_empty(again);
        kept.push(Index(2));
        let mut last = circulation.empty_box().unwrap();
        last.push(Index(3));
        let there = there.join().unwrap();
        assert_eq!([there, kept, last].map(indices), [vec![1], vec![2], vec![3]]);
    });
}

/// Two take, one gives: each batch comes out once, with what was put into it.
#[test]
fn batches_pushed_and_popped_come_out_once() {
    model("two_poppers_and_a_pusher", 50, || {
        let circulation = Arc::new(Circulation::new(1));
        circulation.put_drained(batch(&circulation, 1));
        let (pusher, popper) = (Arc::clone(&circulation), Arc::clone(&circulation));
        let pusher = thread::spawn(move || pusher.put_drained(batch(&pusher, 2)));
        let there = thread::spawn(move || popper.take_drained().map_or(Vec::new(), indices));
        let mut all = circulation.take_drained().map_or(Vec::new(), indices);
        pusher.join().unwrap();
        all.extend(there.join().unwrap());
        while let Some(left) = circulation.take_drained() {
            all.extend(indices(left));
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

/// Two take while a chain is pushed on what lies there: each of its batches comes out once, with
/// what was put into it, those below the top as well.
#[test]
fn chain_pushed_against_two_pops_comes_out_once() {
    model("chain_pushed", 50, || {
        let circulation = Arc::new(Circulation::new(1));
        circulation.ensure_shard(0).unwrap();
        circulation.ripen(Chain::of(batch(&circulation, 1)), 0);
        let take = |circulation: &Circulation| circulation.take_ripe_of(0).map_or(vec![], indices);
        let (first, second) = (Arc::clone(&circulation), Arc::clone(&circulation));
        let first = thread::spawn(move || take(&first));
        let second = thread::spawn(move || take(&second));
        let mut chain = Chain::of(batch(&circulation, 2));
        chain.add(batch(&circulation, 3));
        circulation.ripen(chain, 0);
        let mut all = [first.join().unwrap(), second.join().unwrap()].concat();
        while let Some(left) = circulation.take_ripe_of(0) {
            all.extend(indices(left));
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}

/// The chunk of boxes that one thread makes serves another.
#[test]
fn boxes_made_at_the_same_time_are_different() {
    model("boxes_made", 10, || {
        let circulation = Arc::new(Circulation::new(1));
        let other = Arc::clone(&circulation);
        let there = thread::spawn(move || batch(&other, 1));
        let here = batch(&circulation, 2);
        assert_eq!([there.join().unwrap(), here].map(indices), [vec![1], vec![2]]);
    });
}

/// Slots and the stack that they are pushed on when no magazine is at hand.
struct Foreign {
    circulation: Circulation,
    table: Table<()>,
}

// SAFETY: what the stack's rules do not allow, loom reports.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Foreign {
    fn new() -> Foreign {
        let (circulation, table) =
            (Circulation::new(1), Table::new(Sides { marks: false, stamps: false, links: true }));
        circulation.ensure_shard(0).unwrap();
        table.ensure(0, 4).unwrap();
        Foreign { circulation, table }
    }

    /// Ends the life in a slot and pushes it.
    fn push(&self, index: u32) {
        self.table.known(Index(index)).word.set(crate::word::SlotWord::reserved(1).buried_empty());
        let shard = self.circulation.shard(0).unwrap();
        shard.push_dead(Index(index), self.table.link(Index(index)));
    }

    /// Takes what lies there; every slot that comes out is seen Dead.
    fn take(&self) -> Vec<u32> {
        let mut link = self.circulation.shard(0).unwrap().take_dead();
        let mut all = Vec::new();
        while let Some(index) = link.checked_sub(1).map(Index) {
            assert!(self.table.known(index).word.peek().emptied(), "{index:?} before its end");
            link = self.table.link(index).load(crate::sync::Ordering::Relaxed);
            all.push(index.0);
        }
        all
    }
}

#[test]
fn dead_slots_pushed_by_two_come_out_once() {
    model("dead_stack_two_pushers", 20, || {
        let foreign = Arc::new(Foreign::new());
        let (first, second) = (Arc::clone(&foreign), Arc::clone(&foreign));
        let first = thread::spawn(move || first.push(1));
        let second = thread::spawn(move || second.push(2));
        let mut all = foreign.take();
        first.join().unwrap();
        second.join().unwrap();
        all.extend(foreign.take());
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn dead_slots_taken_by_two_come_out_once() {
    model("dead_stack_two_takers", 20, || {
        let foreign = Arc::new(Foreign::new());
        foreign.push(1);
        let (taker, pusher) = (Arc::clone(&foreign), Arc::clone(&foreign));
        let taken = thread::spawn(move || taker.take());
        let pushed = thread::spawn(move || pusher.push(2));
        let mut all = foreign.take();
        pushed.join().unwrap();
        all.extend(taken.join().unwrap());
        all.extend(foreign.take());
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}
