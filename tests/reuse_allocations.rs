//! A steady load of recycled payloads allocates nothing but the collector's own nodes.

mod support;

use hatchery::{Handle, Limits, Recycle, Store};
use support::counting::{Counting, take_local_blocks, take_turn};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A payload that would allocate twice if it were made anew.
#[derive(Default)]
struct Wave {
    targets: Vec<u8>,
    name: String,
}

impl Recycle for Wave {
    fn recycle(&mut self) {
        self.targets.clear();
        self.name.clear();
    }
}

fn fill(wave: &mut Wave) {
    wave.targets.resize(1000, 7);
    wave.name.push_str("the name of a skill that is long enough for the heap");
}

/// The collector's node for a batch that is handed over, as crossbeam-epoch makes it.
const NODE: usize = 2304;

/// Runs `frame` until it is steady, and then counts: how many blocks, and the largest.
fn steady(store: &Store<Wave>, frames: usize, frame: impl Fn(&Store<Wave>)) -> (usize, usize) {
    (0..50).for_each(|_| frame(store));
    let created = store.stats().created;
    take_local_blocks();
    (0..frames).for_each(|_| frame(store));
    let (blocks, largest) = take_local_blocks();
    assert_eq!(store.stats().created, created, "nothing is constructed");
    assert!(largest <= NODE, "{largest} bytes in one block");
    (blocks, largest)
}

fn spawn(store: &Store<Wave>) -> Handle {
    store.spawn_recycled(fill).unwrap().activate()
}

#[test]
fn frames_of_recycled_payloads_allocate_a_node_for_each_batch() {
    let _turn = take_turn();
    for limits in [Limits::UNBOUNDED, Limits::reject(1000)] {
        let store = Store::builder().retain(1000).limits(limits).shards(1).build().unwrap();
        let mut handles = Vec::with_capacity(500);
        let frame = std::cell::RefCell::new(&mut handles);
        let (blocks, _) = steady(&store, 100, |store| {
            let mut handles = frame.borrow_mut();
            (0..500).for_each(|_| handles.push(spawn(store)));
            for handle in handles.drain(..) {
                store.kill(handle).unwrap();
                store.reap(handle).unwrap();
            }
        });
        // 500 deaths a frame, in batches of 32 at least, and one displaced or half full.
        assert!(blocks <= 100 * (500 / 32 + 2) + 16, "{blocks} blocks, {limits:?}");
    }
}

#[test]
fn single_lives_of_recycled_payloads_allocate_a_node_each_at_most() {
    let _turn = take_turn();
    let store = Store::builder().retain(10).build().unwrap();
    let (blocks, _) = steady(&store, 1000, |store| {
        let handle = spawn(store);
        store.despawn(handle).unwrap();
    });
    assert!(blocks <= 1000 + 16, "{blocks} blocks");
}

#[test]
fn payloads_by_way_of_the_stash_keep_their_memory() {
    let _turn = take_turn();
    let store = Store::builder().retain(100).build().unwrap();
    let (blocks, _) = steady(&store, 100, |store| {
        (0..100).for_each(|_| {
            spawn(store);
        });
        store.clear();
        assert_eq!(store.stats().idle, 100);
    });
    assert!(blocks <= 100 * (100 / 32 + 3) + 16, "{blocks} blocks");
}
