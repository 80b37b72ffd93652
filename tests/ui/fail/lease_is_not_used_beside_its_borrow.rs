use hatchery::{Limits, pool::Pool};

fn main() {
    let pool = Pool::<String>::new(Limits::reject(1)).unwrap();
    let mut lease = pool.acquire().unwrap();
    let text = lease.get_mut().unwrap();
    pool.release(lease);
    drop(text);
}
