use std::sync::{Mutex, MutexGuard};

use hatchery::Store;

static LOCK: Mutex<u8> = Mutex::new(0);

fn main() {
    let store = Store::<MutexGuard<'static, u8>>::new();
    let _ = store.spawn_active(LOCK.lock().unwrap());
}
