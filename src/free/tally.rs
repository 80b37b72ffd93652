//! Tallies: a counter for each kind of event. Every magazine has a tally, which its owner writes
//! without a read-modify-write; every shard has one for threads without a magazine. Sums are
//! computed by the call that asks for them.

use crate::sync::Counter;

/// What is counted, one counter each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An entity became Pending.
    Spawned,
    /// An entity was spawned and activated in one step.
    Shown,
    Activated,
    Cancelled,
    Killed,
    Revived,
    Reaped,
    /// An entity was killed and reaped in one call.
    Despawned,
    Rejected,
    /// An entity was ended to make room for another.
    Overwritten,
    /// A Dead slot came back: its payload is gone.
    Renewed,
    /// A Dead slot is taken out of use: its generations are spent.
    Retired,
    DropPanicked,
    HoldTaken,
    HoldGiven,
    /// A `spawn_recycled` constructed a payload.
    Created,
    /// A retained payload served a `spawn_recycled`.
    Hit,
    /// There was none to serve it.
    Missed,
}

/// How many events there are.
const EVENTS: usize = Event::Missed as usize + 1;

/// Counts of events, of one magazine or of one shard's foreign threads.
#[derive(Debug)]
pub(crate) struct Tally([Counter; EVENTS]);

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally(std::array::from_fn(|_| Counter::new(0)))
    }

    #[inline]
    pub(crate) fn of(&self, event: Event) -> &Counter {
        &self.0[event as usize]
    }

    /// Entities that began here.
    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.of(Event::Spawned).get() + self.of(Event::Shown).get()
    }

    /// Entities that were ended here, wherever they began.
    #[inline]
    pub(crate) fn ended(&self) -> u64 {
        let events = [Event::Cancelled, Event::Reaped, Event::Despawned];
        events.into_iter().map(|event| self.of(event).get()).sum()
    }
}
