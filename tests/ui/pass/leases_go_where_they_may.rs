//! A lease and a pool of something that is Send and not Sync.

use std::cell::Cell;

use hatchery::pool::{Lease, LeaseMut, Pool};
use hatchery::{Limits, Recycle};

#[derive(Default)]
struct Count(Cell<u64>);

impl Recycle for Count {}

fn send<T: Send>(_: &T) {}
fn sync<T: Sync>(_: &T) {}
fn keep<T: 'static>(_: &T) {}

async fn across_an_await(mut lease: Lease<Count>) -> Option<u64> {
    std::future::ready(()).await;
    lease.with(|count| count.0.get())
}

fn main() {
    let pool = Pool::<Count>::new(Limits::reject(2)).unwrap();
    let mut lease = pool.acquire().unwrap();
    send(&pool);
    sync(&pool);
    send(&lease);
    sync(&lease);
    keep(&lease);
    let used: LeaseMut<'_, Count> = lease.get_mut().unwrap();
    send(&used);
    drop(used);
    send(&across_an_await(lease));
}
