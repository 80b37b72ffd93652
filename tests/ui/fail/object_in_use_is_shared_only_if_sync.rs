use std::cell::Cell;

use hatchery::{Limits, Recycle, pool::Pool};

#[derive(Default)]
struct Count(Cell<u64>);

impl Recycle for Count {}

fn main() {
    let pool = Pool::<Count>::new(Limits::reject(1)).unwrap();
    let mut lease = pool.acquire().unwrap();
    let count = lease.get_mut().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| count.0.set(1));
    });
}
