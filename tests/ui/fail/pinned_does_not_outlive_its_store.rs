use hatchery::Store;

fn main() {
    let store = Store::<u64>::new();
    let session = store.pin();
    drop(store);
    drop(session);
}
