use std::sync::Arc;

use hatchery::{Handle, Hold, Pending, State, Store, WeakStore};

fn send_sync<T: Send + Sync>() {}
fn forever<T: 'static>() {}

struct Payload(Arc<str>);

/// `State` may be matched without a wild card.
fn all_states(state: State) -> u8 {
    match state {
        State::None => 0,
        State::Pending => 1,
        State::Active => 2,
        State::Dying => 3,
        State::Dead => 4,
    }
}

async fn settle(hold: Hold<Payload>, store: Store<Payload>) -> usize {
    let pending = store.spawn(Payload("loot".into())).unwrap();
    std::future::ready(()).await;
    pending.activate();
    hold.0.len()
}

fn spawned<F: Future + Send>(_task: F) {}

fn main() {
    send_sync::<Store<Payload>>();
    send_sync::<WeakStore<Payload>>();
    send_sync::<Hold<Payload>>();
    send_sync::<Pending<'static, Payload>>();
    send_sync::<Handle>();
    forever::<Hold<Payload>>();
    assert_eq!(all_states(State::Dead), 4);

    let store = Store::new();
    let handle = store.spawn_active(Payload("orc".into())).unwrap();
    spawned(settle(store.hold(handle).unwrap(), store.clone()));

    // A guard outlives the session that made it, a hold outlives the store.
    let pending = {
        let session = store.pin();
        session.spawn(Payload("elf".into())).unwrap()
    };
    drop(pending);
    let hold = store.hold(handle).unwrap();
    drop(store);
    assert_eq!(&*hold.0, "orc");
}
