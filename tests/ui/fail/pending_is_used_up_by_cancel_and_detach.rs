use hatchery::Store;

fn main() {
    let store = Store::new();
    let cancelled = store.spawn(1).unwrap();
    cancelled.cancel();
    cancelled.activate();
    let detached = store.spawn(2).unwrap();
    detached.detach();
    detached.activate();
}
