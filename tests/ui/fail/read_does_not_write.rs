use hatchery::Store;

fn main() {
    let store = Store::new();
    let handle = store.spawn_active(1).unwrap();
    let session = store.pin();
    *session.get(handle).unwrap() = 2;
}
