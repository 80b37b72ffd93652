//! The simulation: what the trace and its marks say, carried out on the caches, and counted.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use crate::marks::Mark;
use crate::mesi::{Access, Caches, Core, Line, Traffic};
use crate::places::{Place, Places, Shape};
use crate::trace::{Event, Next};

/// The core of whoever makes what threads share, before the first of them has its turn.
const MAKER: usize = crate::mesi::CORES - 1;

/// How much traffic there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Lines that came to be read.
    pub fetched: u64,
    /// Lines that came to be written.
    pub owned: u64,
    /// Lines that others had to lose before they were written.
    pub upgraded: u64,
}

impl Count {
    fn add(&mut self, traffic: Traffic) {
        match traffic {
            Traffic::None => {}
            Traffic::Fetch => self.fetched += 1,
            Traffic::Own => self.owned += 1,
            Traffic::Upgrade => self.upgraded += 1,
        }
    }

    /// Lines that came from elsewhere.
    pub fn transfers(self) -> u64 {
        self.fetched + self.owned
    }

    /// Everything that a core waits for.
    pub fn all(self) -> u64 {
        self.transfers() + self.upgraded
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.fetched += other.fetched;
        self.owned += other.owned;
        self.upgraded += other.upgraded;
    }
}

/// What came of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Instructions within the operations that are measured.
    pub instructions: u64,
    /// Their traffic.
    pub total: Count,
    /// The traffic of what was allocated together, by what part of it was accessed: the bytes from
    /// its beginning.
    pub places: BTreeMap<Place, Count>,
    /// The traffic of the line that had most.
    pub busiest: Count,
    /// Whether the trace had its end.
    pub done: bool,
}

/// What goes on while a trace is read.
#[derive(Debug)]
pub struct Simulation {
    page: u64,
    caches: Caches,
    places: Places,
    core: Option<Core>,
    /// Bytes of what the next sign is about.
    bytes: Vec<u8>,
    inside: bool,
    measures: bool,
    lines: HashMap<Line, Count>,
    outcome: Outcome,
}

impl Simulation {
    /// Of a program whose page of marks is at `page`.
    pub fn new(page: u64) -> Simulation {
        Simulation {
            page,
            caches: Caches::default(),
            places: Places::default(),
            core: Core::new(MAKER),
            bytes: Vec::new(),
            inside: false,
            measures: false,
            lines: HashMap::new(),
            outcome: Outcome::default(),
        }
    }

    /// What came of it.
    pub fn outcome(self) -> Outcome {
        let busiest = self.lines.values().max_by_key(|count| count.all());
        Outcome { busiest: busiest.copied().unwrap_or_default(), ..self.outcome }
    }

    /// Carries out one event.
    pub fn take(&mut self, event: Event) -> Next {
        match event {
            Event::Instruction => {
                self.outcome.instructions += u64::from(self.inside && self.measures);
            }
            Event::Memory(access, address, size) => {
                if let Some(mark) = Mark::read(self.page, address) {
                    if access == Access::Write {
                        self.note(mark);
                    }
                } else if self.inside {
                    self.access(access, address, size);
                }
            }
        }
        if self.outcome.done { Next::Stop } else { Next::Go }
    }

    fn note(&mut self, mark: Mark) {
        match mark {
            Mark::Byte(byte) => self.bytes.push(byte),
            Mark::Thread(number) => self.core = Core::new(number),
            Mark::Begin => self.inside = true,
            Mark::End => self.inside = false,
            Mark::Measure => self.measures = true,
            Mark::Done => self.outcome.done = true,
            Mark::Allocated => {
                let (at, size) = (self.number(0..8), self.number(8..16));
                let align = 1_u64.checked_shl(self.number(16..17) as u32).unwrap_or(0);
                self.places.allocated(at, Shape { size, align });
                self.bytes.clear();
            }
            Mark::Freed => {
                let at = self.number(0..8);
                self.places.freed(at);
                self.bytes.clear();
            }
        }
    }

    /// What some of the bytes say together.
    fn number(&self, bytes: std::ops::Range<usize>) -> u64 {
        let bytes = self.bytes.get(bytes).unwrap_or_default();
        bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }

    fn access(&mut self, access: Access, address: u64, size: u64) {
        let Some(core) = self.core else { return };
        for line in Line::touched(address, size) {
            let traffic = self.caches.access(core, line, access);
            if traffic == Traffic::None || !self.measures {
                continue;
            }
            self.outcome.total.add(traffic);
            self.lines.entry(line).or_default().add(traffic);
            let place = self.places.of(address.max(line.address()));
            self.outcome.places.entry(place).or_default().add(traffic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 1 << 20;

    /// Says marks as the program does: every byte of the page is tried for the mark.
    fn say(simulation: &mut Simulation, mark: Mark) -> Next {
        let at = (PAGE..PAGE + 1024).find(|at| Mark::read(PAGE, *at) == Some(mark)).unwrap();
        simulation.take(Event::Memory(Access::Write, at, 1))
    }

    fn told(events: &[(usize, Access, u64)], measured: bool) -> Outcome {
        let mut simulation = Simulation::new(PAGE);
        if measured {
            say(&mut simulation, Mark::Measure);
        }
        for &(thread, access, address) in events {
            say(&mut simulation, Mark::Thread(thread));
            say(&mut simulation, Mark::Begin);
            simulation.take(Event::Instruction);
            simulation.take(Event::Memory(access, address, 8));
            say(&mut simulation, Mark::End);
            // Outside of operations nothing is looked at.
            simulation.take(Event::Instruction);
            simulation.take(Event::Memory(Access::Write, address, 8));
        }
        assert_eq!(say(&mut simulation, Mark::Done), Next::Stop);
        simulation.outcome()
    }

    #[test]
    fn what_operations_do_to_each_other_is_counted() {
        let events = [(0, Access::Write, 0), (1, Access::Read, 8), (1, Access::Write, 16)];
        let outcome = told(&events, true);
        assert_eq!(outcome.instructions, 3);
        assert_eq!(outcome.total, Count { fetched: 1, owned: 0, upgraded: 1 });
        assert_eq!(outcome.busiest, outcome.total);
        assert!(outcome.done);
    }

    #[test]
    fn what_comes_before_the_measurement_is_not() {
        let outcome = told(&[(0, Access::Write, 0), (1, Access::Write, 0)], false);
        assert_eq!(outcome, Outcome { done: true, ..Outcome::default() });
    }

    #[test]
    fn traffic_has_a_place() {
        let mut simulation = Simulation::new(PAGE);
        let say_number = |simulation: &mut Simulation, number: u64, bytes: usize| {
            for byte in &number.to_le_bytes()[..bytes] {
                say(simulation, Mark::Byte(*byte));
            }
        };
        say_number(&mut simulation, 4096, 8);
        say_number(&mut simulation, 200, 8);
        say_number(&mut simulation, 7, 1);
        say(&mut simulation, Mark::Allocated);
        say(&mut simulation, Mark::Measure);
        say(&mut simulation, Mark::Begin);
        for thread in [0, 1] {
            say(&mut simulation, Mark::Thread(thread));
            simulation.take(Event::Memory(Access::Write, 4096 + 136, 8));
        }
        say_number(&mut simulation, 4096, 8);
        say(&mut simulation, Mark::Freed);
        say(&mut simulation, Mark::Thread(0));
        simulation.take(Event::Memory(Access::Write, 4096 + 136, 8));
        let places = simulation.outcome().places;
        let one = Count { owned: 1, ..Count::default() };
        let inside = Place::Allocated(Shape { size: 200, align: 128 }, 136);
        assert_eq!(places, BTreeMap::from([(inside, one), (Place::Elsewhere, one)]));
    }
}
