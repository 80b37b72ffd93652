use hatchery::Store;

fn main() {
    let store = Store::new();
    let mut pending = store.spawn(1).unwrap();
    pending.activate();
    *pending = 2;
}
