//! Whether everything that began has ended: what the scene, the store and the pool say, held against
//! the books of those who were called.

use std::fmt;

use hatchery::Stats;

use crate::books::{Books, Hooks};
use crate::meters::Totals;
use crate::spawner::Tally;

/// The figures of a raid that is over.
#[derive(Debug)]
pub(crate) struct Account<'a> {
    pub(crate) books: &'a Books,
    /// What the scene told, summed over its frames.
    pub(crate) told: &'a Totals,
    pub(crate) store: Stats,
    pub(crate) pool: Stats,
    pub(crate) spawners: Tally,
}

/// Two figures that should be one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Imbalance {
    claim: &'static str,
    found: u64,
    needed: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Imbalance { claim, found, needed } = self;
        write!(f, "the books do not balance: {claim}: {found} is not {needed}")
    }
}

impl std::error::Error for Imbalance {}

impl Account<'_> {
    /// Says the first claim that does not hold.
    pub(crate) fn check(&self) -> Result<(), Imbalance> {
        self.hooks()?;
        self.store()?;
        self.pool()
    }

    fn hooks(&self) -> Result<(), Imbalance> {
        let Books { made, dropped, core, components, systems, .. } = self.books;
        balanced("created hooks of the core == cleanups", &core.created, &core.ended)?;
        let ended = &components.ended;
        balanced("created hooks of components == destroyed hooks", &components.created, ended)?;
        balanced("created hooks of a system == destroyed hooks", &systems.created, &systems.ended)?;
        self.told("system", systems)?;
        self.told("core", core)?;
        let admitted = core.created.get() + self.store.cancelled;
        ensure("actors made == created + cancelled", made.get(), admitted)?;
        balanced("actors made == actors dropped", made, dropped)
    }

    /// What the scene says it called is what was called.
    fn told(&self, _of: &str, hooks: &Hooks) -> Result<(), Imbalance> {
        let told = self.told;
        ensure("created, as told == created hooks", told.created, hooks.created.get())?;
        ensure("killed, as told == pending-destroy hooks", told.killed, hooks.mourned.get())?;
        ensure("destroyed, as told == destroyed hooks", told.destroyed, hooks.ended.get())
    }

    fn store(&self) -> Result<(), Imbalance> {
        let Stats { live, pending, dying, holds, .. } = self.store;
        ensure("actors in the store == 0", live as u64, 0)?;
        ensure("pending in the store == 0", pending as u64, 0)?;
        ensure("dying in the store == 0", dying as u64, 0)?;
        ensure("tickets out == 0", holds as u64, 0)
    }

    fn pool(&self) -> Result<(), Imbalance> {
        let Stats { live, spawned, released, created, idle, rejected, .. } = self.pool;
        let deeds = &self.books.deeds;
        ensure("missiles on lease == 0", live as u64, 0)?;
        ensure("leases given == leases come home", spawned, released)?;
        ensure("missiles made == missiles at rest", created, idle as u64)?;
        ensure("leases given == shots", spawned, deeds.shots.get())?;
        ensure("leases refused == shots held", rejected, deeds.held_fire.get())
    }
}

fn balanced(
    claim: &'static str,
    found: &crate::books::Count,
    needed: &crate::books::Count,
) -> Result<(), Imbalance> {
    ensure(claim, found.get(), needed.get())
}

pub(crate) fn ensure(claim: &'static str, found: u64, needed: u64) -> Result<(), Imbalance> {
    if found == needed { Ok(()) } else { Err(Imbalance { claim, found, needed }) }
}
