//! Whether everything that began has ended: what the scene, the store and the pool say, held
//! against the books of those who were called.

use std::fmt;

use hatchery::Stats;

use crate::books::{Books, Hooks};
use crate::meters::Totals;

/// The figures of a raid that is over.
#[derive(Debug)]
pub(crate) struct Account<'a> {
    pub(crate) books: &'a Books,
    /// What the scene told, summed over its frames.
    pub(crate) told: &'a Totals,
    pub(crate) store: Stats,
    pub(crate) pool: Stats,
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
        self.told(systems)?;
        self.told(core)?;
        let admitted = core.created.get() + self.store.cancelled;
        ensure("actors made == created + cancelled", made.get(), admitted)?;
        balanced("actors made == actors dropped", made, dropped)
    }

    /// What the scene says it called is what was called.
    fn told(&self, hooks: &Hooks) -> Result<(), Imbalance> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The books of three actors, one of which was killed and one never admitted, and of two shots.
    fn check(
        change: impl FnOnce(&mut Totals, &mut Stats, &mut Stats, &Books),
    ) -> Result<(), String> {
        let books = Books::default();
        let mut told = Totals { created: 2, killed: 1, destroyed: 2, refused: 0 };
        let (mut store, mut pool) = (Stats::default(), Stats::default());
        store.cancelled = 1;
        (pool.spawned, pool.released, pool.created, pool.idle) = (2, 2, 1, 1);
        [&books.made, &books.dropped].into_iter().for_each(|count| count.add(3));
        for hooks in [&books.core, &books.components, &books.systems] {
            hooks.created.add(2);
            hooks.mourned.add(1);
            hooks.ended.add(2);
        }
        books.deeds.shots.add(2);
        change(&mut told, &mut store, &mut pool, &books);
        let account = Account { books: &books, told: &told, store, pool };
        account.check().map_err(|imbalance| imbalance.to_string())
    }

    #[test]
    fn books_that_balance_are_passed() {
        assert_eq!(check(|_, _, _, _| {}), Ok(()));
    }

    #[test]
    fn figure_that_is_wrong_is_told_with_both_sides() {
        type Change = fn(&mut Totals, &mut Stats, &mut Stats, &Books);
        let cases: [(&str, Change); 9] = [
            ("cleanups: 3 is not 2", |_, _, _, books| books.core.created.add(1)),
            ("of components", |_, _, _, books| books.components.ended.add(1)),
            ("of a system", |_, _, _, books| books.systems.ended.add(1)),
            ("created, as told", |told, _, _, _| told.created = 1),
            ("killed, as told", |told, _, _, _| told.killed = 2),
            ("actors made == created + cancelled", |_, store, _, _| store.cancelled = 0),
            ("actors dropped: 3 is not 4", |_, _, _, books| books.dropped.add(1)),
            ("actors in the store == 0: 1 is not 0", |_, store, _, _| store.live = 1),
            ("leases given == leases come home", |_, _, pool, _| pool.released = 1),
        ];
        for (claim, change) in cases {
            let told = check(change).expect_err(claim);
            assert!(told.contains(claim), "{told} is not about {claim}");
        }
    }
}
