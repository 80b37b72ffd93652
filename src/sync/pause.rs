//! Points at which a test can stop a thread in the middle of a protocol. Nothing in an ordinary
//! build and in the models, which stop threads everywhere.

/// A point with a name that a test can wait for.
#[cfg(not(all(test, not(loom))))]
macro_rules! pause_point {
    ($name:literal) => {};
}

/// A point with a name that a test can wait for.
#[cfg(all(test, not(loom)))]
macro_rules! pause_point {
    ($name:literal) => {
        $crate::sync::pause::reached($name)
    };
}

#[cfg(all(test, not(loom)))]
mod stop {
    use std::cell::RefCell;

    type Action = Box<dyn FnOnce()>;

    std::thread_local! {
        static STOP: RefCell<Option<(&'static str, Action)>> = const { RefCell::new(None) };
    }

    /// Runs `action` when this thread comes to the point the next time, once.
    pub(crate) fn at(name: &'static str, action: impl FnOnce() + 'static) {
        STOP.with(|stop| *stop.borrow_mut() = Some((name, Box::new(action))));
    }

    pub(crate) fn reached(name: &'static str) {
        let due = STOP.try_with(|stop| stop.borrow_mut().take_if(|(at, _)| *at == name));
        if let Ok(Some((_, action))) = due {
            action();
        }
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) use stop::{at, reached};
