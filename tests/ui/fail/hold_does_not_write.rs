use hatchery::Store;

fn main() {
    let store = Store::new();
    let handle = store.spawn_active(1).unwrap();
    let mut hold = store.hold(handle).unwrap();
    *hold = 2;
}
