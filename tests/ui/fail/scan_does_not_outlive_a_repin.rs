use hatchery::Store;

fn main() {
    let store = Store::<String>::new();
    let mut session = store.pin();
    for _ in session.iter() {
        session.repin();
    }
}
