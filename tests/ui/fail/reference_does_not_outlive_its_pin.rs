use hatchery::Store;

fn main() {
    let store = Store::new();
    let handle = store.spawn_active(String::from("orc")).unwrap();
    let session = store.pin();
    let payload: &String = session.get(handle).unwrap();
    drop(session);
    println!("{payload}");
}
