use hatchery::Store;

fn main() {
    let store = Store::new();
    let name = String::from("orc");
    store.spawn_active(name.as_str()).unwrap();
    println!("{}", store.len());
}
