//! The marks of a window as a mask: a bit for each.

use super::marks::WINDOW;
use crate::sync::{AtomicU8, Ordering};

/// Which slots of at most one window are marked.
#[inline(never)]
pub(super) fn marked(marks: &[AtomicU8]) -> u64 {
    debug_assert!(marks.len() <= WINDOW);
    match <&[AtomicU8; WINDOW]>::try_from(marks) {
        Ok(all) => whole(all),
        Err(_) => one_by_one(marks),
    }
}

#[inline(always)]
fn one_by_one(marks: &[AtomicU8]) -> u64 {
    // Relaxed: the mark of an entity that was shown before the scan began has come with it, by
    // whatever told the caller; those that come and go meanwhile may be left out.
    let bit = |(at, mark): (usize, &AtomicU8)| u64::from(mark.load(Ordering::Relaxed)) << at;
    marks.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit)
}

/// The marks of a whole window, in twelve instructions where byte after byte takes two hundred.
///
/// In assembly, because there is no other way to say it: several atomics cannot be loaded at once,
/// and what is loaded otherwise must not be written meanwhile. The processor loads at least each
/// byte as a whole, which is what [`one_by_one`] asks for, in no order.
#[cfg(all(
    target_arch = "x86_64",
    target_pointer_width = "64",
    target_feature = "sse2",
    not(miri),
    not(all(loom, test))
))]
#[inline(always)]
fn whole(marks: &[AtomicU8; WINDOW]) -> u64 {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: it reads the marks, which stay while they are borrowed, as relaxed loads of each
    // would (invariant 12, 19), and writes registers alone. A mark is 0 or 1: that bit becomes the
    // highest of its byte, and those are gathered.
    unsafe {
        std::arch::asm!(
            "movdqu {x}, [{marks}]",
            "psllw {x}, 7",
            "pmovmskb {a:e}, {x}",
            "movdqu {x}, [{marks} + 16]",
            "psllw {x}, 7",
            "pmovmskb {b:e}, {x}",
            "movdqu {x}, [{marks} + 32]",
            "psllw {x}, 7",
            "pmovmskb {c:e}, {x}",
            "movdqu {x}, [{marks} + 48]",
            "psllw {x}, 7",
            "pmovmskb {d:e}, {x}",
            marks = in(reg) marks.as_ptr(),
            x = out(xmm_reg) _,
            a = out(reg) a,
            b = out(reg) b,
            c = out(reg) c,
            d = out(reg) d,
            options(nostack, readonly, preserves_flags),
        );
    }
    u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
}

#[cfg(not(all(
    target_arch = "x86_64",
    target_pointer_width = "64",
    target_feature = "sse2",
    not(miri),
    not(all(loom, test))
)))]
#[inline(always)]
fn whole(marks: &[AtomicU8; WINDOW]) -> u64 {
    one_by_one(marks)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marks(mask: u64) -> Vec<AtomicU8> {
        (0..WINDOW).map(|at| AtomicU8::new((mask >> at & 1) as u8)).collect()
    }

    #[test]
    fn each_mark_has_its_bit() {
        for at in 0..WINDOW {
            assert_eq!(marked(&marks(1 << at)), 1 << at);
        }
    }

    proptest! {
        #[test]
        fn mask_is_what_is_marked(mask: u64, from in 0..WINDOW, odd in 0..16_usize) {
            prop_assert_eq!(marked(&marks(mask)), mask);
            prop_assert_eq!(marked(&marks(mask)[from..]), mask >> from);
            // Wherever the window begins.
            let more = Vec::from_iter([marks(mask), marks(0)].into_iter().flatten());
            let mask_there = marked(&more[odd..odd + WINDOW]);
            prop_assert_eq!(mask_there, mask >> odd);
        }
    }
}
