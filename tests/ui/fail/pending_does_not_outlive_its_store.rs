use hatchery::Store;

fn main() {
    let store = Store::new();
    let pending = store.spawn(1).unwrap();
    drop(store);
    pending.activate();
}
