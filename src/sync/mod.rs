//! The facade over atomics, cells, thread-locals and shared ownership: the only place that names
//! `std::sync::atomic` or loom.
//!
//! In an ordinary build every name here is the standard library's. In a model build
//! (`--cfg loom --cfg crossbeam_loom`, unit tests only) it is loom's, so that the models in
//! `loom-tests/` explore the library's own code. Statistics ([`Counter`]) and hints ([`Roll`]) stay
//! on the standard atomics in both: they order nothing, and modelling them would only multiply
//! interleavings.

#[macro_use]
mod order;
#[macro_use]
pub(crate) mod pause;
#[cfg(not(all(loom, test)))]
pub(crate) mod cores;
mod counter;
#[cfg(all(loom, test))]
mod model;
#[cfg(not(all(loom, test)))]
mod real;
mod roll;
mod typed;

#[cfg(not(all(loom, test)))]
pub(crate) use cores::core_ordinal;
pub(crate) use counter::{Counter, Number};
#[cfg(all(loom, test))]
pub(crate) use model::*;
#[cfg(all(loom, test))]
pub(crate) use order::released;
pub(crate) use order::{Ordering, planted};
#[cfg(not(all(loom, test)))]
pub(crate) use real::*;
pub(crate) use roll::{Roll, Seat};
pub(crate) use typed::Atomic;

#[cfg(all(loom, not(crossbeam_loom)))]
compile_error!(
    "`--cfg loom` needs `--cfg crossbeam_loom` beside it: without it the epoch collector runs on \
     unmodelled atomics and every model would pass without exploring anything"
);
