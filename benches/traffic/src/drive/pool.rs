//! Leases of a pool.

use hatchery::Limits;
use hatchery::pool::Pool;

use super::{Drive, made};
use crate::cores::pretend;
use crate::marks::operation;

/// Acquires, uses and releases an object; one is held at a time.
pub fn run(drive: Drive) -> Result<(), String> {
    pretend(drive.shards)?;
    let pool = made(|| Pool::<Vec<u64>>::new(Limits::reject(16 * drive.threads)))?;
    let lease = || {
        let used = operation(|| {
            let mut lease = pool.acquire().ok()?;
            let used = lease.with(|object| object.push(1));
            pool.release(lease);
            used
        });
        assert!(used.is_some(), "objects are enough, and none is revoked");
    };
    drive.turns().take(|_| lease(), |()| lease());
    Ok(())
}
