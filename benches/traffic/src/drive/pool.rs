//! Leases of a pool.

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, SpawnFailure};

use super::{Drive, made};
use crate::cores::pretend;
use crate::marks::operation;

/// Leases that each thread holds. With none held, the threads, whose operations never overlap here,
/// would need one object among them.
const HELD: usize = 8;

type Object = Vec<u64>;

fn acquire(pool: &Pool<Object>) -> Result<Lease<Object>, SpawnFailure> {
    let mut lease = pool.acquire()?;
    lease.with(|object| object.push(1));
    Ok(lease)
}

/// Releases the oldest lease, acquires another, and uses its object.
pub fn run(drive: Drive) -> Result<(), String> {
    pretend(drive.shards)?;
    let pool = made(|| Pool::new(Limits::reject(2 * HELD * drive.threads)))?;
    drive.take_turns(
        |_| (0..HELD).flat_map(|_| operation(|| acquire(&pool))).collect::<Vec<_>>(),
        |held| {
            let next = operation(|| {
                pool.release(held.remove(0));
                acquire(&pool)
            });
            held.push(next.expect("objects are more than leases"));
        },
    );
    Ok(())
}
