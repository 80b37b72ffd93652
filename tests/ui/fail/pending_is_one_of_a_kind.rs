use hatchery::Store;

fn twin<T: Clone>(original: &T) -> T {
    original.clone()
}

fn main() {
    let store = Store::new();
    let pending = store.spawn(1).unwrap();
    twin(&pending).activate();
}
