//! Threads that bring reinforcements, through a [`SceneRemote`], while the raid goes on.
//!
//! Free ones act when they like. Those in step act between two frames, one after the other, when
//! they are told to: then what they do comes in the same order on every run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use hatchery::Handle;
use hatchery::scene::{CreateError, SceneRemote, Settlement};

use crate::components::equip;
use crate::systems::{Census, HEALER_OF};
use crate::world::{Arena, Balance, Fighter, Place, Role};

/// How long a free one sleeps.
const FREE_PACE: Duration = Duration::from_millis(150);
/// Rounds that a ticket is kept.
const TICKET_LASTS: u64 = 2;

/// How spawners and frames follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    InStep,
    Free,
}

/// What a spawner brings.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) role: Role,
    /// How many there should be.
    pub(crate) wanted: u32,
    /// The most in one round.
    pub(crate) batch: u32,
    /// Where they come in.
    pub(crate) gates: [Place; 2],
    pub(crate) balance: Arc<Balance>,
    pub(crate) census: Arc<Census>,
}

/// What a spawner has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) created: u64,
    /// There was no room.
    pub(crate) refused: u64,
    /// The scene was shut down.
    pub(crate) turned_away: u64,
    pub(crate) dismissed: u64,
    pub(crate) tickets: u64,
}

impl Tally {
    pub(crate) fn plus(self, other: Tally) -> Tally {
        Tally {
            created: self.created + other.created,
            refused: self.refused + other.refused,
            turned_away: self.turned_away + other.turned_away,
            dismissed: self.dismissed + other.dismissed,
            tickets: self.tickets + other.tickets,
        }
    }
}

/// A thread that spawns.
#[derive(Debug)]
pub(crate) struct Spawner {
    pace: Pace,
    /// There until the end: dropping it is what ends the thread.
    go: Option<SyncSender<()>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<Tally>>,
}

impl Spawner {
    pub(crate) fn start(
        remote: SceneRemote<Fighter>,
        orders: Orders,
        pace: Pace,
    ) -> std::io::Result<Spawner> {
        let (go, told) = sync_channel::<()>(1);
        let (tell, done) = sync_channel(1);
        let name = format!("spawner of {}", orders.role.name());
        let mut bench =
            Bench { remote, orders, recruits: VecDeque::new(), tickets: VecDeque::new() };
        let work = move || {
            let mut tally = Tally::default();
            for round in 0.. {
                match pace {
                    Pace::InStep if told.recv().is_err() => break,
                    Pace::Free
                        if told.recv_timeout(FREE_PACE) != Err(RecvTimeoutError::Timeout) =>
                    {
                        break;
                    }
                    Pace::InStep | Pace::Free => {}
                }
                bench.round(round, &mut tally);
                if pace == Pace::InStep && tell.send(()).is_err() {
                    break;
                }
            }
            tally
        };
        let thread = std::thread::Builder::new().name(name).spawn(work)?;
        Ok(Spawner { pace, go: Some(go), done, thread: Some(thread) })
    }

    /// Has one in step act, and waits until it has. A free one is not told.
    pub(crate) fn act(&self) {
        if self.pace == Pace::Free {
            return;
        }
        // A thread that ended has panicked, which is found out when it is joined.
        if self.go.as_ref().is_some_and(|go| go.send(()).is_ok()) {
            let _ = self.done.recv();
        }
    }

    /// Ends it, tickets and all; `None` if it panicked, which it has said itself.
    pub(crate) fn end(mut self) -> Option<Tally> {
        drop(self.go.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        drop(self.go.take());
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed by itself.
            let _ = thread.join();
        }
    }
}

/// What a spawner works with.
struct Bench {
    remote: SceneRemote<Fighter>,
    orders: Orders,
    /// In the order of their coming.
    recruits: VecDeque<Handle>,
    /// With the round in which they were taken.
    tickets: VecDeque<(u64, Settlement)>,
}

impl Bench {
    fn round(&mut self, round: u64, tally: &mut Tally) {
        while self.tickets.front().is_some_and(|(taken, _)| taken + TICKET_LASTS <= round) {
            drop(self.tickets.pop_front());
        }
        self.dismiss(round, tally);
        self.recruit(tally);
    }

    /// The oldest recruit goes home, and its last state is kept until somebody has filed it: that
    /// is what a ticket is for.
    fn dismiss(&mut self, round: u64, tally: &mut Tally) {
        if self.recruits.len() <= 2 * self.orders.batch as usize {
            return;
        }
        let Some(oldest) = self.recruits.pop_front() else { return };
        // It may have died long ago: then its handle is refused, whoever has the slot now.
        let Ok(ticket) = self.remote.settle(oldest) else { return };
        tally.tickets += 1;
        self.tickets.push_back((round, ticket));
        tally.dismissed += u64::from(self.remote.kill_actor(oldest));
    }

    fn recruit(&mut self, tally: &mut Tally) {
        let Orders { role, wanted, batch, gates, balance, census } = &self.orders;
        let up = match role {
            Role::Raider => census.up(Role::Raider) + census.up(Role::Healer),
            role => census.up(*role),
        };
        // Who comes one by one after a defeat is beaten one by one: then they come as a whole.
        let batch = if up * 10 < *wanted { wanted } else { batch };
        for number in 0..wanted.saturating_sub(up).min(*batch) {
            let heals = *role == Role::Raider && number % HEALER_OF == HEALER_OF - 1;
            let role = if heals { Role::Healer } else { *role };
            let gate = gates[number as usize % gates.len()];
            let blueprint = Arc::clone(balance.blueprint(role));
            match self.remote.create_actor(gate, blueprint, equip) {
                Ok(handle) => {
                    tally.created += 1;
                    self.recruits.push_back(handle);
                }
                Err(CreateError::Shutdown { .. }) => tally.turned_away += 1,
                Err(_) => tally.refused += 1,
            }
        }
    }
}

/// Raiders come in at two walls, monsters at the others.
pub(crate) fn gates(role: Role, arena: &Arena) -> [Place; 2] {
    let far = arena.half * 0.95;
    if role == Role::Raider { [[-far, 0.0], [far, 0.0]] } else { [[0.0, -far], [0.0, far]] }
}
