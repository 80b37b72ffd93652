//! Chains: batches that go through limbo together, linked to one another.

use super::batch::Owned;
use super::treiber::link_to;

/// Batches of one owner, each linked to the one that was added before it: a piece of a stack that
/// nobody else can see yet.
///
/// It owns its batches as [`Owned`] owns one (invariant 5): it is not Clone, and pushing it on a
/// stack uses it up; dropped otherwise, they are lost. It knows them by number, because a deferred
/// call has room for three words, and must not outlive the circulation that they belong to.
#[derive(Debug)]
#[must_use]
pub(crate) struct Chain {
    /// What was added last, and will lie on top.
    top: u32,
    /// What was added first. Its link is not set: what it will lie on is for the push to say.
    bottom: u32,
    batches: u32,
}

impl Chain {
    /// Of one batch.
    pub(crate) fn of(batch: Owned) -> Chain {
        let number = batch.number();
        Chain { top: number, bottom: number, batches: 1 }
    }

    /// Adds a batch, on top. Of the same circulation.
    pub(crate) fn add(&mut self, batch: Owned) {
        batch.batch().set_next(link_to(self.top));
        self.top = batch.number();
        self.batches += 1;
    }

    /// How many batches it has.
    pub(crate) fn batches(&self) -> u64 {
        self.batches.into()
    }

    /// The numbers of the first batch and of the last.
    pub(super) fn ends(&self) -> (u32, u32) {
        (self.top, self.bottom)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::free::Circulation;
    use crate::segment::Index;

    fn batch(circulation: &Circulation, index: u32) -> Owned {
        let mut batch = circulation.empty_box().unwrap();
        batch.push(Index(index));
        batch
    }

    #[test]
    fn chain_lies_on_the_stack_as_its_batches_would_one_by_one() {
        let circulation = Circulation::new(1);
        circulation.ensure_shard(0).unwrap();
        let chain_of = |indices: &[u32]| {
            let mut chain = Chain::of(batch(&circulation, indices[0]));
            indices[1..].iter().for_each(|index| chain.add(batch(&circulation, *index)));
            assert_eq!(chain.batches(), indices.len() as u64);
            chain
        };
        for chain in [&[1][..], &[2, 3, 4], &[5, 6]] {
            circulation.ripen(chain_of(chain), 0);
        }
        assert_eq!(circulation.ripened(), 6);
        let ripe = std::iter::from_fn(|| circulation.take_ripe_of(0));
        let indices = Vec::from_iter(ripe.map(|mut batch| {
            assert_eq!(batch.len(), 1);
            batch.pop().unwrap().0
        }));
        assert_eq!(indices, [6, 5, 4, 3, 2, 1]);
    }
}
