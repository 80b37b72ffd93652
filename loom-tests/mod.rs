//! The interleaving models: loom on the library's own code, with the real epoch collector.
//!
//! `loom-tests/README.md` says how to run one and how to read what it reports.

mod word;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Explores `body` and prints how many interleavings there were; fails with fewer than `least`,
/// because a model that explores nothing passes always.
///
/// `MODEL_PREEMPTIONS` sets the bound on preemptions (2).
fn model(name: &str, least: usize, body: impl Fn() + Sync + Send + 'static) {
    let explored = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    let bound = std::env::var("MODEL_PREEMPTIONS").ok().and_then(|bound| bound.parse().ok());
    builder.preemption_bound = Some(bound.unwrap_or(2));
    builder.max_branches = 100_000;
    let counter = Arc::clone(&explored);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        crate::sync::reset_ordinals();
        body();
    });
    let explored = explored.load(Ordering::Relaxed);
    println!("model {name}: {explored} interleavings");
    assert!(explored >= least, "{name} explored {explored} interleavings, expected {least}");
}
