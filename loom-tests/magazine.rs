//! Magazines: one claim at a time, and what the owner before left in them.

use loom::thread;
use std::sync::Arc;

use super::model;
use crate::free::{Chain, Circulation, Claimed, Magazine, Put};
use crate::segment::Index;

/// A circulation with one shard and one magazine, unclaimed, that has two slots to take.
fn stocked() -> Arc<Circulation> {
    let circulation = Arc::new(Circulation::new(1));
    let magazine = circulation.claim_magazine(0).unwrap();
    let mut batch = circulation.empty_box().unwrap();
    batch.push(Index(1));
    batch.push(Index(2));
    assert!(magazine.load(batch).is_none());
    magazine.release();
    circulation
}

/// Two take a slot, each by a claim of this kind.
fn two_take(claims: [fn(&Magazine) -> Option<Claimed<'_>>; 2]) {
    let circulation = stocked();
    let take = |circulation: &Circulation, claim: fn(&Magazine) -> Option<Claimed<'_>>| {
        let magazine = claim(circulation.magazines_from(0).next()?)?;
        let taken = magazine.take();
        magazine.release();
        taken
    };
    let other = Arc::clone(&circulation);
    let there = thread::spawn(move || take(&other, claims[0]));
    let here = take(&circulation, claims[1]);
    let there = there.join().unwrap();
    assert!(here.is_some() || there.is_some(), "somebody has the claim");
    assert!(here != there, "one slot, two owners: {here:?}");
}

#[test]
fn claim_against_claim_gives_each_slot_once() {
    model("magazine_claim", 4, || two_take([Magazine::claim, Magazine::claim]));
}

#[test]
fn claim_to_look_against_claim_gives_each_slot_once() {
    model("magazine_claim_to_look", 4, || two_take([Magazine::claim_to_look, Magazine::claim]));
}

/// What one session gave back and left, another hands over; what it did not take, another takes.
#[test]
fn unclaimed_magazine_is_emptied_once() {
    model("magazine_steal", 4, || {
        let circulation = stocked();
        let other = Arc::clone(&circulation);
        let there = thread::spawn(move || {
            let magazine = other.claim_magazine(0).unwrap();
            let taken = magazine.take();
            magazine.supply(other.empty_box().unwrap());
            let put = taken.map(|index| matches!(magazine.put(index, || 2), Put::Kept));
            magazine.release();
            put
        });
        let mut stolen = Vec::new();
        let mut steal = || {
            for magazine in circulation.magazines_from(0).filter_map(|magazine| magazine.claim()) {
                let batches = [magazine.unload(), magazine.collect()];
                magazine.release();
                for mut batch in batches.into_iter().flatten() {
                    stolen.extend(std::iter::from_fn(|| batch.pop()).map(|index| index.0));
                }
            }
        };
        steal();
        there.join().unwrap();
        steal();
        stolen.sort_unstable();
        assert_eq!(stolen, [1, 2]);
    });
}

/// Both find no magazine, and make their own; a third looks for one meanwhile.
#[test]
fn magazines_made_at_the_same_time_are_different() {
    model("magazines_made", 20, || {
        let circulation = Arc::new(Circulation::new(1));
        let fill = |circulation: &Circulation, index| {
            let magazine = circulation.claim_magazine(0).unwrap();
            let mut batch = circulation.empty_box().unwrap();
            batch.push(Index(index));
            magazine.load(batch);
            assert_eq!(magazine.peek(), Some(Index(index)), "nobody else uses it");
        };
        let other = Arc::clone(&circulation);
        let there = thread::spawn(move || fill(&other, 1));
        fill(&circulation, 2);
        there.join().unwrap();
        assert_eq!(circulation.magazines_from(0).count(), 2);
    });
}

/// A spawner's way to a slot, and a reaper's way back, without the epochs between: each slot has
/// one owner at any time.
#[test]
fn two_spawners_and_a_reaper_share_the_slots() {
    model("two_spawners_and_a_reaper", 100, || {
        let circulation = Arc::new(Circulation::new(1));
        circulation.ensure_shard(0).unwrap();
        for index in [1, 2] {
            let mut batch = circulation.empty_box().unwrap();
            batch.push(Index(index));
            circulation.ripen(Chain::of(batch), 0);
        }
        let spawn = |circulation: &Circulation| {
            let mut batch = circulation.take_ripe(0)?;
            let index = batch.pop();
            circulation.put_empty(batch);
            index.map(|index| index.0)
        };
        let first = Arc::clone(&circulation);
        let first = thread::spawn(move || spawn(&first));
        let second = Arc::clone(&circulation);
        let second = thread::spawn(move || spawn(&second));
        let mut batch = circulation.empty_box().unwrap();
        batch.push(Index(3));
        circulation.ripen(Chain::of(batch), 0);
        let mut all = vec![first.join().unwrap(), second.join().unwrap()];
        all.extend([(); 2].map(|()| spawn(&circulation)));
        let mut all = Vec::from_iter(all.into_iter().flatten());
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}
