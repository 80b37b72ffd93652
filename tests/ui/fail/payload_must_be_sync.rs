use std::cell::Cell;

use hatchery::Store;

fn main() {
    let store = Store::<Cell<u8>>::new();
    println!("{}", store.len());
}
