//! The peak: the most entities alive at once, as far as the owner of one magazine knows.

use crate::sync::Counter;

/// At most so many batches go by without a look at the other tallies. A look reads a line or two of
/// every other thread, which that thread must fetch back: at each batch, that was more traffic than
/// all else that threads share.
const RESTS: u64 = 16;

/// How many more entities per tally may be known to be alive before the next look comes early. The
/// cost of a look grows with the number of tallies, so a thread that fills a store reads one tally
/// per so many entities, however many tallies there are.
const RISE: u64 = 32;

/// The most entities alive at once, as far as this magazine's owner knows.
///
/// What is kept up to date is the *headroom*: how many more may begin here before there are more
/// than ever. It falls by one at a beginning and rises by one at an end, so the peak is exact for a
/// thread that works alone. What others begin and end, the owner learns by a look at all tallies,
/// which may [be due](Peak::is_due) at a new batch.
///
/// Between two looks, the number that a thread knows of rises by at most [`RISE`] per tally and a
/// batch. So where threads grow together, the peak misses at most so many entities of each; and
/// where others have ended entities, a thread takes at most so many of those to be alive. After a
/// fall the number may rise as far again without a look: then the thread learns after [`RESTS`]
/// batches what others have begun meanwhile.
#[derive(Debug)]
pub(crate) struct Peak {
    highest: Counter,
    headroom: Counter,
    /// For how many more batches no look is due, while fewer than `due_at` are known to be alive.
    rests: Counter,
    due_at: Counter,
}

impl Peak {
    /// The peak of a new magazine: a look is due.
    pub(super) fn new() -> Peak {
        Peak {
            highest: Counter::new(0),
            headroom: Counter::new(0),
            rests: Counter::new(0),
            due_at: Counter::new(0),
        }
    }

    /// The most that was alive at once since the window of statistics began.
    pub(crate) fn highest(&self) -> u64 {
        self.highest.get()
    }

    /// How many are alive, as far as this magazine's owner knows; 0 if it has ended more entities
    /// of others than it has seen.
    pub(crate) fn known(&self) -> u64 {
        self.highest().saturating_sub(self.headroom.get())
    }

    /// Begins a window with so many alive. An owner that counts at the same moment may undo it in
    /// part: the peak is exact for a thread that works alone.
    pub(crate) fn restart(&self, live: u64) {
        self.highest.set(live);
        self.headroom.set(0);
        // What was seen before the window says nothing about it.
        self.due_at.set(0);
    }

    /// Whether a look at the other tallies is due; asked once per batch.
    pub(crate) fn is_due(&self) -> bool {
        let rests = self.rests.get();
        self.rests.set(rests.saturating_sub(1));
        rests == 0 || self.known() >= self.due_at.get()
    }

    /// Records how many are alive in all, as summed up from so many tallies.
    pub(crate) fn look_up(&self, live: u64, tallies: usize) {
        self.rests.set(RESTS);
        self.due_at.set(live + RISE * tallies as u64);
        let before = self.highest();
        self.highest.set(before.max(live));
        self.headroom.set(before.saturating_sub(live));
    }

    /// One more is alive.
    #[inline]
    pub(crate) fn rise(&self) {
        let left = self.headroom.get().wrapping_sub(1);
        self.headroom.set(left);
        if (left as i64) < 0 {
            self.rise_above();
        }
    }

    /// More are alive than ever.
    #[cold]
    fn rise_above(&self) {
        self.headroom.set(0);
        self.highest.add_owned(1);
    }

    /// So many more are alive.
    pub(crate) fn rise_by(&self, n: u64) {
        let headroom = self.headroom.get();
        self.headroom.set(headroom.saturating_sub(n));
        self.highest.add_owned(n.saturating_sub(headroom));
    }

    /// One fewer is alive.
    #[inline]
    pub(crate) fn fall(&self) {
        self.fall_by(1);
    }

    /// So many fewer are alive.
    #[inline]
    pub(crate) fn fall_by(&self, n: u64) {
        self.headroom.add_owned(n);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// How many refills come before the next look, if nothing happens meanwhile.
    fn rests_left(peak: &Peak) -> u64 {
        std::iter::repeat_with(|| peak.is_due()).take_while(|due| !due).count() as u64
    }

    #[test]
    fn look_is_due_in_a_new_magazine_and_after_so_many_refills() {
        let peak = Peak::new();
        assert!(peak.is_due());
        for _ in 0..3 {
            peak.look_up(100, 4);
            assert_eq!(rests_left(&peak), RESTS);
            assert!(peak.is_due(), "until somebody looks");
        }
    }

    #[test]
    fn look_is_due_when_so_many_more_are_known_to_be_alive() {
        let peak = Peak::new();
        peak.look_up(100, 3);
        peak.rise_by(3 * RISE - 1);
        assert!(!peak.is_due());
        peak.rise();
        assert!(peak.is_due() && peak.is_due());
        peak.fall();
        assert!(!peak.is_due());
        peak.rise();
        peak.look_up(10_000, 3);
        assert!(!peak.is_due(), "it knew of few");
        // Ends of what others began come to less than nothing.
        peak.fall_by(20_000);
        assert!(!peak.is_due());
        assert_eq!((peak.known(), peak.highest()), (0, 10_000));
    }

    #[test]
    fn look_is_due_in_a_new_window() {
        let peak = Peak::new();
        peak.look_up(10_000, 2);
        assert!(!peak.is_due());
        peak.restart(50);
        assert!(peak.is_due(), "the others may be many more by now");
        peak.look_up(70, 2);
        assert_eq!((peak.highest(), rests_left(&peak)), (70, RESTS));
    }

    #[test]
    fn peak_of_one_that_works_alone_is_exact_whenever_it_looks() {
        let (peak, mut live, mut most) = (Peak::new(), 0_u64, 0);
        let mut dice = 1_u64;
        for _ in 0..10_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let n = (dice >> 33) % 40;
            match (dice >> 60) % 8 {
                0 => {
                    peak.rise_by(n);
                    live += n;
                }
                1 => {
                    let n = n.min(live);
                    peak.fall_by(n);
                    live -= n;
                }
                2 if live > 0 => {
                    peak.fall();
                    live -= 1;
                }
                3 if peak.is_due() => peak.look_up(live, 2),
                _ => {
                    peak.rise();
                    live += 1;
                }
            }
            most = live.max(most);
            assert_eq!((peak.highest(), peak.known()), (most, live));
        }
    }
}
