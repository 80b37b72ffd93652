use hatchery::{Handle, Reaped, Store, TransitionError};

fn told(store: &Store<u8>, handle: Handle) -> &'static str {
    match store.reap(handle) {
        Ok(Reaped::Done) => "done",
        Ok(Reaped::Deferred { .. }) => "deferred",
        Err(TransitionError::Lookup(_)) => "nobody",
        Err(TransitionError::Illegal { .. } | TransitionError::WrongState { .. }) => "not now",
        Err(TransitionError::Guarded { .. } | TransitionError::ReapRequested { .. }) => "taken",
        Err(TransitionError::TooManyHolds { .. }) => "held",
    }
}

fn main() {
    told(&Store::new(), "1:1/gen1".parse().unwrap());
}
