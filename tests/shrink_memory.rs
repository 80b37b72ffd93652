//! A spike and back: nearly all of its memory returns to the system.

mod support;

use hatchery::{Handle, Store};
use support::counting::{Counting, live_bytes, take_turn};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a server may have for a moment.
const SPIKE: u64 = if cfg!(debug_assertions) { 1 << 20 } else { 4_000_000 };

type Payload = [u64; 8];

/// Memory of the process that is resident, in bytes, where the system tells it.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? << 10)
}

fn spawn(store: &Store<Payload>, all: &mut Vec<Handle>, count: u64) {
    let mut session = store.pin();
    for number in 0..count {
        all.push(session.spawn_active([number; 8]).unwrap());
        if number % 256 == 0 {
            session.repin();
        }
    }
}

fn despawn(store: &Store<Payload>, all: &[Handle]) {
    let mut session = store.pin();
    for (number, &handle) in all.iter().enumerate() {
        session.despawn(handle).unwrap();
        if number % 256 == 0 {
            session.repin();
        }
    }
}

/// What is measured: what the store says, what the allocator was asked for, what is resident.
fn measure(store: &Store<Payload>) -> [usize; 3] {
    [store.stats().bytes, live_bytes() as usize, resident().unwrap_or(0)]
}

#[test]
fn nine_tenths_of_a_spike_return_to_the_system_each_time() {
    let _turn = take_turn();
    let survivors = SPIKE as usize / 20;
    let mut all = Vec::with_capacity(SPIKE as usize);
    let mut ended = Vec::with_capacity(SPIKE as usize / 100);
    let store = Store::<Payload>::new();
    drop(store.pin());
    let before = measure(&store);
    for round in 1..=3 {
        let more = SPIKE - all.len() as u64;
        spawn(&store, &mut all, more);
        let top = measure(&store);
        assert!(store.slots() <= SPIKE as usize * 102 / 100, "{} slots", store.slots());
        despawn(&store, &all[survivors..]);
        let given_back = store.shrink();
        let low = measure(&store);
        println!("{round}: top {top:?}, low {low:?}, given back {given_back}");
        for (at, name) in ["said", "allocated", "resident"].into_iter().enumerate() {
            // The handles become resident with the spike, and are the test's.
            let own = if at == 2 { size_of_val(&*all) } else { 0 };
            let spike = (top[at] - before[at]).saturating_sub(own);
            let left = (low[at] - before[at]).saturating_sub(own);
            let each = spike as f64 / SPIKE as f64;
            let permille = left * 1000 / spike.max(1);
            println!("  {name}: {each:.1} bytes each, {permille} permille left");
            assert!(each <= 84.0, "{each} bytes {name} for an entity of 64, round {round}");
            assert!(permille <= 100, "{name}: {left} of {spike} are left, round {round}");
        }
        assert!(store.slots() <= survivors + (1 << 16), "{} slots", store.slots());
        // Nothing old comes back to life.
        ended.extend(all.drain(survivors..).step_by(1000));
        let session = store.pin();
        assert!(all.iter().all(|&handle| session.get(handle).is_ok()));
        assert!(ended.iter().all(|&old| session.get(old).is_err_and(|error| error.is_gone())));
    }
}
