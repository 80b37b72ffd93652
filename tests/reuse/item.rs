//! A payload that is counted by its test's number, for the tests of payloads that serve again.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::{Handle, Recycle, Store};

use crate::support::{assert_accounts, panic_quietly};

const TESTS: usize = 32;

/// What became of the payloads of a test, by its number.
static MADE: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];
static DROPPED: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];
static CLEARED: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];

thread_local! {
    pub static DEFAULT_PANICS: Cell<bool> = const { Cell::new(false) };
}

/// A tag with which a payload cannot be cleared.
pub const BOMB: u64 = u64::MAX;

/// A payload of test `N`, which counts what becomes of it.
#[derive(Debug)]
pub struct Item<const N: usize> {
    pub tag: u64,
    pub bytes: Vec<u8>,
    pub names: HashMap<u64, String>,
}

impl<const N: usize> Default for Item<N> {
    fn default() -> Item<N> {
        if DEFAULT_PANICS.get() {
            panic_quietly();
        }
        MADE[N].fetch_add(1, Ordering::SeqCst);
        Item { tag: 0, bytes: Vec::new(), names: HashMap::new() }
    }
}

impl<const N: usize> Recycle for Item<N> {
    fn recycle(&mut self) {
        CLEARED[N].fetch_add(1, Ordering::SeqCst);
        if self.tag == BOMB {
            panic_quietly();
        }
        self.tag = 0;
        self.bytes.clear();
        self.names.clear();
    }
}

impl<const N: usize> Drop for Item<N> {
    fn drop(&mut self) {
        DROPPED[N].fetch_add(1, Ordering::SeqCst);
    }
}

pub fn made<const N: usize>() -> usize {
    MADE[N].load(Ordering::SeqCst)
}

pub fn dropped<const N: usize>() -> usize {
    DROPPED[N].load(Ordering::SeqCst)
}

pub fn cleared<const N: usize>() -> usize {
    CLEARED[N].load(Ordering::SeqCst)
}

/// Goes last, and checks that every payload made was dropped.
pub struct Balance<const N: usize>;

impl<const N: usize> Drop for Balance<N> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(made::<N>(), dropped::<N>(), "made (left) is not dropped (right)");
        }
    }
}

pub fn retaining<const N: usize>(payloads: usize) -> (Balance<N>, Store<Item<N>>) {
    (Balance, Store::builder().retain(payloads).build().unwrap())
}

/// Spawns, active, with a payload that says so.
pub fn recycled<const N: usize>(store: &Store<Item<N>>, tag: u64) -> Handle {
    let spawned = store.spawn_recycled(|item| {
        assert_eq!((item.tag, item.bytes.len(), item.names.len()), (0, 0, 0), "a ghost's data");
        item.tag = tag;
        item.bytes.extend([1, 2, 3]);
        item.names.insert(tag, tag.to_string());
    });
    spawned.unwrap().activate()
}

#[track_caller]
pub fn assert_reuse<const N: usize>(store: &Store<Item<N>>, created: u64, hits: u64, idle: usize) {
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.idle), (created, hits, idle), "{stats:?}");
    assert_accounts(&stats);
}
