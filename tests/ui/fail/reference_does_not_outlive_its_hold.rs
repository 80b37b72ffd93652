use hatchery::Store;

fn main() {
    let store = Store::new();
    let handle = store.spawn_active(String::from("orc")).unwrap();
    let hold = store.hold(handle).unwrap();
    let payload: &String = &hold;
    drop(hold);
    println!("{payload}");
}
