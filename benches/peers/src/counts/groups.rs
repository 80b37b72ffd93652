//! What is counted: the workloads that targets are about, with few operations, and for each of them
//! who is to be compared.

use crate::candidates::{
    BARE, EMPTY, FOUR, IDR, IDR_EACH, MAP, OURS, PARKING_LOT, POOL, SEED, SLAB, STD, UNPINNED,
    named,
};
use crate::work::batches::WAYS;
use crate::work::churn::Churn;
use crate::work::iterate::Iteration;
use crate::work::lookup::Lookup;
use crate::work::mix::Mix;
use crate::work::pools;

/// Rows that are compared with each other.
pub struct Group {
    pub name: &'static str,
    /// hatchery first.
    pub candidates: &'static [&'static str],
    /// Does the work of a candidate, a short one if so, and tells how many operations that were.
    pub run: fn(&str, bool) -> Option<usize>,
}

pub const GROUPS: [Group; 9] = [
    Group {
        name: "insert and remove, window 1024",
        candidates: &[OURS, FOUR, UNPINNED, SLAB, MAP, PARKING_LOT, SEED, BARE, EMPTY],
        run: churn,
    },
    Group {
        name: "look-up, 1k live",
        candidates: &[OURS, UNPINNED, SLAB, MAP, IDR, BARE, EMPTY],
        run: |name, quick| look_up(name, quick, 8 * 1024, 1024),
    },
    Group {
        name: "look-up, 1M live, at random",
        candidates: &[OURS, SLAB, MAP, BARE, EMPTY],
        run: |name, quick| {
            let live = if quick { 1 << 13 } else { 1 << 20 };
            look_up(name, quick, live, live)
        },
    },
    Group {
        name: "look-up, one hot key",
        candidates: &[OURS, SLAB, IDR, IDR_EACH, BARE, EMPTY],
        run: |name, quick| look_up(name, quick, 1024, 1),
    },
    Group {
        name: "batches, a life of a thousand",
        candidates: &[WAYS[0].0, WAYS[1].0, WAYS[2].0, WAYS[3].0, WAYS[4].0, WAYS[5].0],
        run: batches,
    },
    Group {
        name: "iteration, 100 % live, for each that is alive",
        candidates: &[OURS, MAP, STD, BARE],
        run: |name, quick| iterate(name, quick, 100),
    },
    Group {
        name: "iteration, 10 % live, for each that is alive",
        candidates: &[OURS, MAP, STD, BARE],
        run: |name, quick| iterate(name, quick, 10),
    },
    Group {
        name: "90/5/5",
        candidates: &[OURS, SLAB, POOL, MAP, PARKING_LOT, STD, BARE, EMPTY],
        run: mix,
    },
    Group {
        name: "acquire, touch and release, 64 held",
        candidates: &[pools::OURS, pools::QUEUE, pools::MALLOC],
        run: lease,
    },
];

fn churn(name: &str, quick: bool) -> Option<usize> {
    let operations = if quick { 4_000 } else { 100_000 };
    (named(name)?.churn)(&Churn { window: 1024, threads: 1, operations });
    Some(operations)
}

fn look_up(name: &str, quick: bool, live: usize, keys: usize) -> Option<usize> {
    let operations = if quick { 8_000 } else { keys.max(200_000) };
    (named(name)?.lookup)(live)(&Lookup { keys, shared: keys == 1, threads: 1, operations });
    Some(operations)
}

fn batches(name: &str, quick: bool) -> Option<usize> {
    let operations = if quick { 4_000 } else { 100_000 };
    let (_, way) = WAYS.iter().find(|(known, _)| *known == name)?;
    way(1, operations);
    Some(operations)
}

fn iterate(name: &str, quick: bool, percent: usize) -> Option<usize> {
    let slots = if quick { 10_000 } else { 1_000_000 };
    let iteration = Iteration { slots, percent };
    (named(name)?.iterate?)(iteration)();
    Some(iteration.operations())
}

fn mix(name: &str, quick: bool) -> Option<usize> {
    let (live, operations) = if quick { (4_000, 8_000) } else { (100_000, 200_000) };
    (named(name)?.mix)(&Mix { live, threads: 1, operations });
    Some(operations)
}

fn lease(name: &str, quick: bool) -> Option<usize> {
    let operations = if quick { 4_000 } else { 100_000 };
    let pool = pools::candidates().into_iter().find(|pool| pool.name == name)?;
    (pool.ring)(1, operations);
    Some(operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_counted() {
        for Group { name, candidates, run } in GROUPS {
            for candidate in candidates {
                assert!(run(candidate, true) > Some(0), "{name}, {candidate}");
            }
            assert_eq!(run("nobody", true), None);
        }
    }
}
