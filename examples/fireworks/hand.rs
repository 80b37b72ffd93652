//! The leases that one thread works with: it ages their objects, gives the spent ones back, and
//! takes new ones.

use hatchery::pool::{Lease, Pool};

use crate::particle::Particle;
use crate::program::Bill;

/// What a hand is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    Step,
    /// The wishes `first`, `first + stride` and so on.
    Light {
        bill: Bill,
        first: u32,
        stride: u32,
    },
    LetGo,
}

/// What a hand has seen of the pool, to be held against what the pool says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) granted: u64,
    pub(crate) refused: u64,
    pub(crate) released: u64,
    /// Leases that were found revoked: overwritten, or taken back by a reset.
    pub(crate) lost: u64,
}

impl Tally {
    pub(crate) fn plus(self, other: Tally) -> Tally {
        Tally {
            granted: self.granted + other.granted,
            refused: self.refused + other.refused,
            released: self.released + other.released,
            lost: self.lost + other.lost,
        }
    }

    /// What came to it since it stood at `then`.
    pub(crate) fn since(self, then: Tally) -> Tally {
        Tally {
            granted: self.granted - then.granted,
            refused: self.refused - then.refused,
            released: self.released - then.released,
            lost: self.lost - then.lost,
        }
    }
}

/// Some leases of one pool.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    leases: Vec<Lease<Particle>>,
    tally: Tally,
}

impl Hand {
    /// With room for so many leases, so that a warm frame allocates nothing.
    pub(crate) fn with_room(leases: usize) -> Hand {
        Hand { leases: Vec::with_capacity(leases), tally: Tally::default() }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    pub(crate) fn perform(&mut self, pool: &Pool<Particle>, task: &Task) {
        match *task {
            Task::Step => self.step(pool),
            Task::Light { bill, first, stride } => {
                let wishes = (first..bill.wishes).step_by(stride as usize);
                wishes.for_each(|wish| self.light(pool, &bill, wish));
            }
            Task::LetGo => (0..self.leases.len()).rev().for_each(|at| self.give_back(pool, at)),
        }
    }

    /// From the end, so that what takes a removed one's place has had its turn.
    fn step(&mut self, pool: &Pool<Particle>) {
        for at in (0..self.leases.len()).rev() {
            if self.leases[at].with(Particle::step) != Some(true) {
                self.give_back(pool, at);
            }
        }
    }

    /// Gives back what may have been revoked: then the pool has it already, and says so.
    fn give_back(&mut self, pool: &Pool<Particle>, at: usize) {
        if pool.release(self.leases.swap_remove(at)) {
            self.tally.released += 1;
        } else {
            self.tally.lost += 1;
        }
    }

    fn light(&mut self, pool: &Pool<Particle>, bill: &Bill, wish: u32) {
        let Ok(mut lease) = pool.acquire() else {
            self.tally.refused += 1;
            return;
        };
        self.tally.granted += 1;
        // A lease may be overwritten before its first use, by a burst that is larger than the
        // pool: nobody will see that spark, and the next step finds out.
        let _lit = lease.with(|particle| bill.light(wish, particle));
        self.leases.push(lease);
    }

    /// Shows what is alive.
    pub(crate) fn look(&mut self, mut see: impl FnMut(&Particle)) {
        for lease in &mut self.leases {
            let _seen = lease.with(|particle| see(particle));
        }
    }
}
