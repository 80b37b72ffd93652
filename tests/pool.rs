//! The pool, as the seed document asserts it: what is constructed when, and what happens when the
//! capacity is used up.

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, Recycle, SpawnFailure, Stats};

/// The settings of the seed.
const CONFIG: &str = r#"{
    "version": 1,
    "game": "merge-island",
    "seed": 20261012,
    "note": "定容对象池参数。容量与突发量全为整数；policy 取值 reject / overwriteOldest / growToCap。禁浮点。",
    "capacity": 64,
    "maxCapacity": 96,
    "policy": "growToCap",
    "burstPerFrame": 20,
    "activeFrames": 30,
    "warmupAcquires": 64
}"#;
const BURST_PER_FRAME: usize = 20;
const ACTIVE_FRAMES: usize = 30;

/// An effect, a floating text or a falling block, for a moment.
#[derive(Debug, Default, PartialEq)]
struct Effect {
    kind: i64,
    x: i64,
    y: i64,
    vx: i64,
    vy: i64,
    life: i64,
}

impl Recycle for Effect {}

#[cfg(feature = "serde")]
fn seed_limits() -> Limits {
    serde_json::from_str(CONFIG).expect("the seed's settings")
}

#[cfg(not(feature = "serde"))]
fn seed_limits() -> Limits {
    assert!(CONFIG.contains(r#""capacity": 64"#) && CONFIG.contains(r#""maxCapacity": 96"#));
    Limits::grow_to_cap(64, 96)
}

fn seed_pool() -> Pool<Effect> {
    Pool::new(seed_limits()).expect("the seed's settings")
}

fn acquire(pool: &Pool<Effect>, count: usize) -> Vec<Lease<Effect>> {
    (0..count).map(|_| pool.acquire().expect("room")).collect()
}

fn release(pool: &Pool<Effect>, leases: Vec<Lease<Effect>>) {
    leases.into_iter().for_each(|lease| assert!(pool.release(lease)));
}

#[test]
fn warm_pool_constructs_no_more_than_its_capacity_and_then_only_hits() {
    let pool = seed_pool();
    let capacity = seed_limits().capacity;
    let warm = acquire(&pool, capacity);
    let stats = pool.stats();
    assert_eq!((stats.created, stats.misses, stats.hits), (64, 64, 0));
    release(&pool, warm);
    for _ in 0..10 {
        let batch = acquire(&pool, capacity);
        release(&pool, batch);
    }
    let stats = pool.stats();
    assert_eq!((stats.created, stats.hits, stats.misses), (64, 640, 64));
    assert_eq!((stats.rejected, stats.free, stats.idle, stats.live), (0, 64, 64, 0));
    assert_eq!((stats.acquired, stats.spawned, stats.released), (704, 704, 704));
    assert_eq!((stats.peak_live, stats.grown, stats.capacity, stats.slots), (64, 0, 64, 64));
}

#[test]
fn burst_a_frame_constructs_in_the_first_frame_only() {
    let pool = seed_pool();
    for _ in 0..ACTIVE_FRAMES {
        let batch = acquire(&pool, BURST_PER_FRAME);
        release(&pool, batch);
    }
    let stats = pool.stats();
    assert_eq!((stats.created, stats.hits, stats.peak_live), (20, 580, 20));
    assert_eq!(stats.hit_rate_permille(), 966);
}

#[test]
fn reject_refuses_what_is_beyond_the_capacity_and_counts_it() {
    let pool = Pool::new(Limits::reject(4)).expect("legal");
    let _leases = acquire(&pool, 4);
    assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 4 });
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.acquired, stats.spawned, stats.live), (1, 5, 4, 4));
}

#[test]
fn grow_to_cap_grows_to_the_cap_and_then_refuses() {
    let pool = Pool::new(Limits::grow_to_cap(4, 6)).expect("legal");
    let leases = acquire(&pool, 6);
    assert_eq!(pool.capacity(), 6);
    assert_eq!(pool.stats().grown, 2);
    assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 6 });
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.capacity, stats.misses, stats.created), (1, 6, 6, 6));
    release(&pool, leases);
    pool.reset();
    let stats = pool.stats();
    assert_eq!((stats.grown, stats.capacity), (0, 6), "grown units stay");
}

#[test]
fn reset_takes_all_back_and_zeroes_the_window_but_not_the_totals() {
    let pool = seed_pool();
    let leases = acquire(&pool, 30);
    let before = pool.stats();
    assert_eq!(pool.reset(), 30);
    let stats = pool.stats();
    assert_eq!((stats.live, stats.acquired, stats.created), (0, 0, before.created));
    let zero = (stats.released, stats.hits, stats.misses, stats.rejected, stats.overwritten);
    assert_eq!(zero, (0, 0, 0, 0, 0));
    assert_eq!((stats.grown, stats.peak_live, stats.free, stats.idle), (0, 0, 30, 30));
    leases.into_iter().for_each(|lease| assert!(!pool.release(lease), "revoked"));
    assert_eq!(pool.stats().released, 0);
    let last = pool.acquire().expect("room").seq();
    assert!(last > 30, "numbers go on after a reset");
}

/// A second release does not compile: `tests/ui/lease_is_used_up_by_release.rs`.
#[test]
fn release_of_a_foreign_lease_is_false_and_the_hit_rate_is_rounded_down() {
    let (pool, other) = (seed_pool(), seed_pool());
    assert!(pool.release(pool.acquire().expect("room")));
    assert!(!pool.release(other.acquire().expect("room")));
    assert_eq!((pool.idle(), other.idle()), (1, 1), "it went home");
    let mut stats = pool.stats();
    (stats.acquired, stats.hits) = (3, 2);
    assert_eq!(stats.hit_rate_permille(), 666);
    assert_eq!(Stats::default().hit_rate_permille(), 0);
    assert_eq!(seed_pool().stats().hit_rate_permille(), 0);
}

#[test]
fn used_object_cannot_be_told_from_a_new_one() {
    let pool = seed_pool();
    let mut lease = pool.acquire().expect("room");
    let dirty = Effect { kind: 1, x: 2, y: 3, vx: 4, vy: 5, life: 6 };
    assert_eq!(lease.with(|effect| std::mem::replace(effect, dirty)), Some(Effect::default()));
    drop(lease);
    let mut again = pool.acquire().expect("room");
    assert_eq!(pool.stats().hits, 1);
    assert_eq!(*again.get_mut().expect("not revoked"), Effect::default());
}
