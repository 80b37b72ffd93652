use hatchery::{Limits, pool::Pool};

fn main() {
    let pool = Pool::<String>::new(Limits::reject(1)).unwrap();
    let lease = pool.acquire().unwrap();
    pool.release(lease);
    pool.release(lease);
}
