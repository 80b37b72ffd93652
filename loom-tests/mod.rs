//! The interleaving models: loom on the library's own code, with the real epoch collector.
//!
//! `loom-tests/README.md` says how to run one and how to read what it reports.

mod closing;
mod eviction;
mod free;
mod grave;
mod handles;
mod looking;
mod magazine;
mod must_fail;
mod permits;
mod pool;
mod pool_overwriting;
mod reclaim;
mod reuse;
mod scan;
mod scene;
mod segment;
mod shrink;
mod slot;
mod store;
mod word;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Preemptions that are explored unless `MODEL_PREEMPTIONS` says otherwise.
const PREEMPTIONS: usize = 2;

/// Explores `body` and prints how many interleavings there were; fails with fewer than `least`,
/// because a model that explores nothing passes always.
///
/// `MODEL_PREEMPTIONS` sets the bound on preemptions, where `least` is not asked for: it counts
/// what the usual bound explores.
fn model(name: &str, least: usize, body: impl Fn() + Sync + Send + 'static) {
    let asked = std::env::var("MODEL_PREEMPTIONS").ok().and_then(|bound| bound.parse().ok());
    let bound = asked.unwrap_or(PREEMPTIONS);
    explore(name, bound, if bound < PREEMPTIONS { 0 } else { least }, body);
}

/// As [`model`], for a body whose fault needs `bound` preemptions at least.
fn model_bounded(name: &str, bound: usize, least: usize, body: impl Fn() + Sync + Send + 'static) {
    let asked = std::env::var("MODEL_PREEMPTIONS").ok().and_then(|bound| bound.parse().ok());
    explore(name, asked.unwrap_or(bound).max(bound), least, body);
}

/// As [`model`], at `bound` preemptions whatever is asked for.
fn explore(name: &str, bound: usize, least: usize, body: impl Fn() + Sync + Send + 'static) {
    let explored = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.max_branches = 100_000;
    let counter = Arc::clone(&explored);
    let begun = Instant::now();
    let body = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        crate::sync::reset_ordinals();
        crate::store::forget_scenes();
        grave::forget_violations();
        body();
        grave::assert_no_violations();
    };
    if std::env::var_os("LOOM_LOG").is_some() {
        // Only this way of loom's prints its trace; it takes its bounds from the environment.
        loom::model(body);
    } else {
        builder.check(body);
    }
    let explored = explored.load(Ordering::Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    println!("model {name}: {explored} interleavings, {bound} preemptions, {seconds:.2} s");
    assert!(explored >= least, "{name} explored {explored} interleavings, expected {least}");
}
