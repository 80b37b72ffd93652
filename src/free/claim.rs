//! Who has a magazine, in one byte; and the claim that stands in for a pin.
//!
//! A call that changes one entity, and reads no payload, needs a pin for one thing alone: that the segment
//! in which it looks the entity up does not go meanwhile. It claims its thread's magazine anyway. So it
//! says in the claim that it *looks*, and a `shrink` takes no segment out of the table before it has seen
//! each magazine without such a claim, once.
//!
//! | the call | `shrink` |
//! | --- | --- |
//! | claims, looking | enters the attic |
//! | finds nobody in the attic, or else pins as well | finds no claim that looks, or else takes nothing out |
//! | looks up | takes segments out, and leaves the attic |
//!
//! Each writes before it reads what the other writes, so one of the two sees the other (Dekker). On the
//! side of `shrink` a fence keeps the order; on that of the call, which is short, both are SeqCst, and a
//! look at the attic costs no more than any load. Who looks after `shrink` has left sees what it took out;
//! who has looked before it saw the claim has done with what he found.

use crate::sync::{AtomicU8, Ordering, planted};

/// Nobody has it.
const FREE: u8 = 0;
/// Somebody has it who owns the slots that he touches, or has a pin.
const CLAIMED: u8 = 1;
/// A call has it that looks an entity up without a pin.
const LOOKING: u8 = 2;

/// The claim on a magazine.
#[derive(Debug)]
pub(super) struct Claim(AtomicU8);

impl Claim {
    /// Of a magazine that its maker has claimed.
    pub(super) fn claimed() -> Claim {
        Claim(AtomicU8::new(CLAIMED))
    }

    /// Claims it, if nobody has it.
    #[inline]
    pub(super) fn claim(&self) -> bool {
        // Acquire M1: receives the pockets of the owner before; pairs with the Release M1 in
        // `release`. Relaxed on failure: it has an owner.
        self.looks_free()
            && (self
                .0
                .compare_exchange(FREE, CLAIMED, ord!(Acquire: M1), Ordering::Relaxed)
                .is_ok()
                || planted("claim whoever has it"))
    }

    /// Claims it for a call that looks an entity up without a pin, if nobody has it. The caller has yet to
    /// see that nobody is in the attic.
    #[inline]
    pub(super) fn claim_to_look(&self) -> bool {
        // Acquire M1: as in `claim`. SeqCst: ahead of the look at the attic, which is SeqCst too; pairs with
        // the fence in `see_nobody_looking`.
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

    /// The owner has looked, or has a pin: the claim keeps no segment any more.
    pub(super) fn stop_looking(&self) {
        // Release M1: what it has looked at is behind it; pairs with the Acquire M1 in `looks`.
        self.0.store(CLAIMED, ord!(Release: M1));
    }

    /// Gives it up.
    #[inline]
    pub(super) fn release(&self) {
        // Release M1: publishes the pockets to the next `claim`, and that what was looked at is behind the
        // owner to `looks`.
        self.0.store(FREE, ord!(Release: M1));
    }

    /// Whether its owner may be looking an entity up without a pin.
    pub(super) fn looks(&self) -> bool {
        // Acquire M1: who has looked has done with what he found.
        self.0.load(ord!(Acquire: M1)) == LOOKING
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Circulation, Claimed};

    const MAGAZINES: usize = 8;

    /// Every other one looks at each turn: all are seen without in two, however many they are.
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
