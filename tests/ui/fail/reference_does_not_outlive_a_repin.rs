use hatchery::Store;

fn main() {
    let store = Store::new();
    let handle = store.spawn_active(String::from("orc")).unwrap();
    let mut session = store.pin();
    let payload: &String = session.get(handle).unwrap();
    session.repin();
    println!("{payload}");
}
