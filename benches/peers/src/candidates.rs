//! The list of candidates: each with its name and with every workload, compiled for it.

use crate::measure::Timing;
use crate::stores::*;
use crate::work::WORDS;
use crate::work::churn::{Churn, churn};
use crate::work::growth::{bytes_each, grow};
use crate::work::iterate::{Iteration, Scans, iterate};
use crate::work::latency::{Latency, latency};
use crate::work::lookup::{Lookup, prepare};
use crate::work::mix::{Mix, mix};
use crate::work::remote::remote;

pub const OURS: &str = "hatchery";
pub const FOUR: &str = "hatchery, four steps";
pub const UNPINNED: &str = "hatchery, no held pin";
pub const SLAB: &str = "sharded-slab";
pub const POOL: &str = "sharded-slab Pool";
pub const MAP: &str = "concurrent-slotmap";
pub const IDR: &str = "idr-ebr";
pub const IDR_EACH: &str = "idr-ebr, a guard each";
pub const PARKING_LOT: &str = "parking_lot RwLock<SlotMap>";
pub const STD: &str = "std RwLock<SlotMap>";
pub const DASH: &str = "dashmap";
pub const SEED: &str = "the seed's design";
pub const BARE: &str = "(bare Treiber array)";
pub const EMPTY: &str = "(empty harness)";

/// What a candidate is, which says where it takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// hatchery with a session that is held.
    Ours,
    /// The same, where other calls do the same work.
    OursAgain,
    /// hatchery or a peer with a pin or guard for each operation.
    Each,
    Peer,
    /// The harness, the floor, and the design of before: not to be chosen.
    Mark,
}

/// A prepared look-up, which may be repeated.
pub type Prepared = Box<dyn Fn(&Lookup) -> Timing>;

/// A candidate, for payloads of the usual size.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub name: &'static str,
    pub kind: Kind,
    pub churn: fn(&Churn) -> Timing,
    pub remote: fn(usize) -> Timing,
    pub lookup: fn(usize) -> Prepared,
    pub mix: fn(&Mix) -> Timing,
    pub latency: fn(&Mix) -> Latency,
    pub grow: fn(usize, usize) -> Timing,
    pub bytes: fn(usize) -> f64,
    pub iterate: Option<fn(Iteration) -> Scans>,
}

impl Candidate {
    /// Whether one could use it in place of hatchery.
    pub fn is_peer(&self) -> bool {
        self.kind == Kind::Peer
    }
}

/// Who is shown every candidate for payloads of `N` words.
pub trait Visitor<const N: usize> {
    fn visit<S: Store<N>>(&mut self, name: &'static str, kind: Kind);
}

/// Shows every candidate.
pub fn each<const N: usize>(visitor: &mut impl Visitor<N>) {
    visitor.visit::<TwoSteps<N>>(OURS, Kind::Ours);
    visitor.visit::<FourSteps<N>>(FOUR, Kind::OursAgain);
    visitor.visit::<Unpinned<N>>(UNPINNED, Kind::Each);
    visitor.visit::<Slab<N>>(SLAB, Kind::Peer);
    visitor.visit::<Pool<N>>(POOL, Kind::Peer);
    visitor.visit::<Map<N>>(MAP, Kind::Peer);
    visitor.visit::<MapEach<N>>("concurrent-slotmap, a guard each", Kind::Each);
    visitor.visit::<IdrHeld<N>>(IDR, Kind::Peer);
    visitor.visit::<IdrEach<N>>(IDR_EACH, Kind::Each);
    visitor.visit::<ParkingLot<N>>(PARKING_LOT, Kind::Peer);
    visitor.visit::<Std<N>>(STD, Kind::Peer);
    visitor.visit::<Scc<N>>("scc HashMap", Kind::Peer);
    visitor.visit::<Papaya<N>>("papaya HashMap", Kind::Peer);
    visitor.visit::<PapayaEach<N>>("papaya HashMap, a guard each", Kind::Each);
    visitor.visit::<Dash<N>>(DASH, Kind::Peer);
    visitor.visit::<Seed<N>>(SEED, Kind::Mark);
    visitor.visit::<Bare<N>>(BARE, Kind::Mark);
    visitor.visit::<Empty<N>>(EMPTY, Kind::Mark);
}

/// Makes the list.
struct List(Vec<Candidate>);

impl Visitor<WORDS> for List {
    fn visit<S: Store<WORDS>>(&mut self, name: &'static str, kind: Kind) {
        self.0.push(Candidate {
            name,
            kind,
            churn: churn::<S, WORDS>,
            remote: remote::<S, WORDS>,
            lookup: prepare::<S, WORDS>,
            mix: mix::<S, WORDS>,
            latency: latency::<S, WORDS>,
            grow: grow::<S, WORDS>,
            bytes: bytes_each::<S, WORDS>,
            iterate: S::ITERATES.then_some(iterate::<S, WORDS>),
        });
    }
}

/// Every candidate.
pub fn all() -> Vec<Candidate> {
    let mut list = List(Vec::new());
    each(&mut list);
    list.0
}

/// Those that hold a session, where they have one: one row for each store.
pub fn held() -> Vec<Candidate> {
    let held = |candidate: &Candidate| !matches!(candidate.kind, Kind::Each | Kind::OursAgain);
    all().into_iter().filter(held).collect()
}

/// Candidates that have keys of 8 bytes, with keys of 16.
pub fn wide() -> Vec<Candidate> {
    let mut list = List(Vec::new());
    list.visit::<Wide<Pool<WORDS>>>("(sharded-slab Pool, keys of 16 bytes)", Kind::Mark);
    list.visit::<Wide<Bare<WORDS>>>("(bare Treiber array, keys of 16 bytes)", Kind::Mark);
    list.0
}

/// The candidate of a name.
pub fn named(name: &str) -> Option<Candidate> {
    all().into_iter().find(|candidate| candidate.name == name)
}
