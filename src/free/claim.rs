//! The claim on a magazine, in one byte; and how it stands in for a pin.
//!
//! A call that changes one entity and reads no payload needs a pin for one thing only: the segment
//! in which it looks the entity up must not be freed meanwhile. It claims its thread's magazine
//! anyway. So the claim says that the call is *looking*, and `shrink` takes no segment out of the
//! table before it has seen each magazine once without such a claim.
//!
//! | the call | `shrink` |
//! | --- | --- |
//! | claims, looking | enters the attic |
//! | finds nobody in the attic, or pins | finds no claim that looks, or takes nothing out |
//! | looks up | takes segments out, and leaves the attic |
//!
//! Each writes before it reads what the other writes, so at least one of the two sees the other
//! (Dekker). `shrink` orders this by a fence. The call is short: there both operations are SeqCst,
//! and the load of the attic costs no more than any other. A call that looks after `shrink` has
//! left sees what was taken out; a call that had stopped looking when `shrink` looked at its claim
//! has finished with what it found.

use crate::sync::{AtomicU8, Ordering, planted};

/// Nobody has claimed it.
const FREE: u8 = 0;
/// Its owner touches only slots that it owns, or has a pin.
const CLAIMED: u8 = 1;
/// Its owner is a call that looks an entity up without a pin.
const LOOKING: u8 = 2;

/// The claim on a magazine.
#[derive(Debug)]
pub(super) struct Claim(AtomicU8);

impl Claim {
    /// The claim on a new magazine, made by the call that has it.
    pub(super) fn claimed() -> Claim {
        Claim(AtomicU8::new(CLAIMED))
    }

    /// Claims it, if nobody has it.
    #[inline]
    pub(super) fn claim(&self) -> bool {
        // Acquire M1: receives the pockets from the previous owner; pairs with the Release M1 in
        // `release`. Relaxed on failure: nothing is read.
        self.looks_free()
            && (self
                .0
                .compare_exchange(FREE, CLAIMED, ord!(Acquire: M1), Ordering::Relaxed)
                .is_ok()
                || planted("claim whoever has it"))
    }

    /// Claims it for a call that looks an entity up without a pin, if nobody has it. The caller
    /// must still see that nobody is in the attic.
    #[inline]
    pub(super) fn claim_to_look(&self) -> bool {
        // Acquire M1: as in `claim`. SeqCst: before the load of the attic, which is SeqCst too;
        // pairs with the fence in `see_nobody_looking`.
        self.looks_free()
            && self
                .0
                .compare_exchange(FREE, LOOKING, ord!(Acquire + SeqCst: M1), Ordering::Relaxed)
                .is_ok()
    }

    /// A hint that saves the read-modify-write.
    #[inline]
    fn looks_free(&self) -> bool {
        // Relaxed: the compare-and-swap decides.
        self.0.load(Ordering::Relaxed) == FREE
    }

    /// Stops looking: the owner has finished, or has a pin. The claim keeps no segments any more.
    pub(super) fn stop_looking(&self) {
        // Release M1: the owner has finished with what it found; pairs with the Acquire M1 in
        // `looks`.
        self.0.store(CLAIMED, ord!(Release: M1));
    }

    /// Releases the magazine.
    #[inline]
    pub(super) fn release(&self) {
        // Release M1: publishes the pockets to the next `claim`, and to `looks` that the owner has
        // finished with what it found.
        self.0.store(FREE, ord!(Release: M1));
    }

    /// Whether its owner may be looking an entity up without a pin.
    pub(super) fn looks(&self) -> bool {
        // Acquire M1: an owner that is not looking any more has finished with what it found.
        self.0.load(ord!(Acquire: M1)) == LOOKING
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Circulation, Claimed};

    const MAGAZINES: usize = 8;

    /// Every other magazine is looking at each turn: in two turns each is seen not looking, however
    /// many there are.
    #[test]
    fn each_is_seen_once_although_some_look_at_every_moment() {
        let circulation = Circulation::new(1);
        for claimed in [(); MAGAZINES].map(|()| circulation.claim_magazine(0).unwrap()) {
            claimed.release();
        }
        let magazines = Vec::from_iter(circulation.magazines_from(0));
        let mut claims = [None; MAGAZINES];
        let mut turn = 0;
        let mut change = || {
            for (at, claim) in claims.iter_mut().enumerate() {
                if let Some(claimed) = claim.take() {
                    Claimed::release(claimed);
                }
                if (at + turn) % 2 == 0 {
                    *claim = magazines[at].claim_to_look();
                }
            }
            turn += 1;
        };
        change();
        assert!(!circulation.see_nobody_looking(|| None));
        let mut turns = 0..2;
        assert!(circulation.see_nobody_looking(|| turns.next().map(|_| change())));
    }
}
