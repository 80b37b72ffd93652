//! Orderings by tag.
//!
//! Every atomic operation stronger than Relaxed names its pair: `ord!(Release: P1)` is the side
//! that publishes, `ord!(Acquire: P1)` the side that receives (for two tags at once where it must),
//! and an AcqRel operation names the tag it writes for and the tag it reads for. `Acquire + SeqCst`
//! is SeqCst for a reason that its comment tells, and Acquire for the tag: all that a model knows
//! of it without a fence. In an ordinary build the macro is the plain constant. In a model build
//! one *side* of a tag can be set to Relaxed (`MODEL_WEAKEN=P1.w` or `P1.r`), and some model must
//! then fail; `docs/ordering.md` is the ledger. The same goes for faults planted in the algorithm
//! (`MODEL_FAULT=name`).

pub(crate) use std::sync::atomic::Ordering;

#[cfg(not(all(loom, test)))]
macro_rules! ord {
    (Release: $w:ident) => {
        $crate::sync::Ordering::Release
    };
    (Acquire: $r:ident $(, $also:ident)?) => {
        $crate::sync::Ordering::Acquire
    };
    (AcqRel: $tag:ident) => {
        $crate::sync::Ordering::AcqRel
    };
    (AcqRel: $w:ident, $r:ident) => {
        $crate::sync::Ordering::AcqRel
    };
    ($kind:ident + SeqCst: $tag:ident) => {
        $crate::sync::Ordering::SeqCst
    };
}

#[cfg(all(loom, test))]
macro_rules! ord {
    (Release: $w:ident) => {
        $crate::sync::released(Some(stringify!($w)), None)
    };
    (Acquire: $r:ident) => {
        $crate::sync::released(None, Some(stringify!($r)))
    };
    (Acquire: $r:ident, $also:ident) => {
        match ord!(Acquire: $r) {
            $crate::sync::Ordering::Relaxed => $crate::sync::Ordering::Relaxed,
            _ => ord!(Acquire: $also),
        }
    };
    (AcqRel: $tag:ident) => {
        $crate::sync::released(Some(stringify!($tag)), Some(stringify!($tag)))
    };
    (AcqRel: $w:ident, $r:ident) => {
        $crate::sync::released(Some(stringify!($w)), Some(stringify!($r)))
    };
    ($kind:ident + SeqCst: $tag:ident) => {
        ord!($kind: $tag)
    };
}

/// The ordering that is left when the sides named by `MODEL_WEAKEN` are taken away: `P1.w` is a
/// side of a tag, wherever it occurs, and `src/word/mod.rs:61.w` that of the one operation there.
#[cfg(all(loom, test))]
#[track_caller]
pub(crate) fn released(writes: Option<&str>, reads: Option<&str>) -> Ordering {
    static WEAKEN: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("MODEL_WEAKEN").ok());
    let here = std::panic::Location::caller();
    let kept = |tag: Option<&str>, side: &str| match (tag, WEAKEN.as_deref()) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(tag), Some(weak)) => {
            let (file, line) = (here.file(), here.line());
            weak != format!("{tag}.{side}") && weak != format!("{file}:{line}.{side}")
        }
    };
    match (kept(writes, "w"), kept(reads, "r")) {
        (true, true) => Ordering::AcqRel,
        (true, false) => Ordering::Release,
        (false, true) => Ordering::Acquire,
        (false, false) => Ordering::Relaxed,
    }
}

/// Whether the fault `name` is planted in this run: always false outside the models.
#[cfg(not(all(loom, test)))]
#[inline(always)]
pub(crate) const fn planted(_name: &str) -> bool {
    false
}

/// Whether the fault `name` is planted in this run (`MODEL_FAULT=name`).
#[cfg(all(loom, test))]
pub(crate) fn planted(name: &str) -> bool {
    static FAULT: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("MODEL_FAULT").ok());
    FAULT.as_deref() == Some(name)
}
