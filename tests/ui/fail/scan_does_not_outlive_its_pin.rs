use hatchery::Store;

fn main() {
    let store = Store::<String>::new();
    let found: Vec<(hatchery::Handle, &String)> = {
        let session = store.pin();
        session.iter().collect()
    };
    println!("{}", found.len());
}
