//! What other threads ask of a scene: a list that anybody pushes on, and that the scene takes as a
//! whole.
//!
//! A push is one compare-and-swap; nobody pops a single node, so there is no ABA, and nothing is
//! read behind a node that somebody else may free. Closing is the same exchange as taking, with a
//! mark that refuses every later push.

use std::marker::PhantomData;
use std::ptr;

use crate::sync::{AtomicPtr, Ordering, planted};

struct Node<T> {
    value: T,
    /// The one pushed before.
    below: *mut Node<T>,
}

/// Requests, in the order of their arrival.
pub(crate) struct Inbox<T> {
    /// The newest node; null when empty, [`closed`] for ever after the end.
    newest: AtomicPtr<Node<T>>,
    _owns: PhantomData<T>,
}

// SAFETY: a value goes from the thread that pushes it to the one that takes it, and is shared with
// nobody (invariant 18).
unsafe impl<T: Send> Send for Inbox<T> {}
// SAFETY: as above (invariant 18).
unsafe impl<T: Send> Sync for Inbox<T> {}

/// The mark of a closed inbox: no address of a node.
fn closed<T>() -> *mut Node<T> {
    ptr::without_provenance_mut(usize::MAX)
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        Inbox { newest: AtomicPtr::new(ptr::null_mut()), _owns: PhantomData }
    }

    /// Whether it is closed: a hint that is never taken back.
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: whoever goes on is refused by `push`, and nothing is read behind it.
        self.newest.load(Ordering::Relaxed) == closed()
    }

    /// Adds a value; gives it back when the inbox is closed.
    pub(crate) fn push(&self, value: T) -> Result<(), T> {
        let node = Box::into_raw(Box::new(Node { value, below: ptr::null_mut() }));
        // Relaxed: the compare-and-swap looks again, and nothing is read behind the node.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            if newest == closed() {
                // SAFETY: nobody else has seen the node (invariant 18).
                return Err(unsafe { Box::from_raw(node) }.value);
            }
            // SAFETY: as above (invariant 18).
            unsafe { (*node).below = newest };
            // Release N1: publishes the request, and what its sender did before, to `take`. Relaxed
            // when it fails: nothing is read behind what was found.
            let swap = self.newest.compare_exchange_weak(
                newest,
                node,
                ord!(Release: N1),
                Ordering::Relaxed,
            );
            match swap {
                Ok(_) => return Ok(()),
                Err(actual) if actual != closed() && planted("request tried once") => return Ok(()),
                Err(actual) => newest = actual,
            }
        }
    }

    /// Takes everything, the oldest first.
    pub(crate) fn take(&self) -> Taken<T> {
        // Relaxed: only this thread takes, and an empty inbox is looked at again in the next frame.
        let newest = self.newest.load(Ordering::Relaxed);
        if newest.is_null() || newest == closed() {
            return Taken { oldest: ptr::null_mut() };
        }
        // Acquire N1: receives the requests of `push`; later pushes are read-modify-writes on top
        // of earlier ones, so their release sequences reach this exchange.
        Taken::reversed(self.newest.swap(ptr::null_mut(), ord!(Acquire: N1)))
    }

    /// Refuses every later push; what was pushed before, the oldest first.
    pub(crate) fn close(&self) -> Taken<T> {
        if planted("inbox closed after it was emptied") {
            let taken = self.take();
            self.newest.store(closed(), Ordering::Relaxed);
            return taken;
        }
        // Acquire N1: as in `take`. A push comes before this exchange, and is taken, or after it,
        // and is refused.
        let newest = self.newest.swap(closed(), ord!(Acquire: N1));
        if newest == closed() { Taken { oldest: ptr::null_mut() } } else { Taken::reversed(newest) }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// What was taken out of an inbox.
pub(crate) struct Taken<T> {
    oldest: *mut Node<T>,
}

impl<T> Taken<T> {
    /// From the newest node of a list that nobody else has.
    fn reversed(mut newest: *mut Node<T>) -> Taken<T> {
        let mut oldest = ptr::null_mut();
        while !newest.is_null() {
            // SAFETY: the list was taken as a whole, so its nodes are this call's (invariant 18).
            let below = unsafe { (*newest).below };
            // SAFETY: as above (invariant 18).
            unsafe { (*newest).below = oldest };
            (oldest, newest) = (newest, below);
        }
        Taken { oldest }
    }
}

impl<T> Iterator for Taken<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.oldest.is_null() {
            return None;
        }
        // SAFETY: the nodes are this value's own, and each is turned back into its box once
        // (invariant 18).
        let node = unsafe { Box::from_raw(self.oldest) };
        self.oldest = node.below;
        Some(node.value)
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn requests_come_out_in_order_of_arrival_and_once() {
        let inbox = Inbox::new();
        assert_eq!(inbox.take().next(), None);
        (0..5).for_each(|n| inbox.push(n).unwrap());
        assert_eq!(inbox.take().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(inbox.take().next(), None);
        inbox.push(5).unwrap();
        assert_eq!(inbox.take().collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn closing_takes_what_is_there_and_refuses_the_rest_for_ever() {
        let inbox = Inbox::new();
        inbox.push("before").unwrap();
        assert!(!inbox.is_closed());
        assert_eq!(inbox.close().collect::<Vec<_>>(), ["before"]);
        assert!(inbox.is_closed());
        assert_eq!(inbox.push("after"), Err("after"), "given back");
        assert_eq!((inbox.take().next(), inbox.close().next()), (None, None));
        assert!(inbox.is_closed(), "taking does not open it");
    }

    #[test]
    fn what_nobody_takes_is_dropped_once() {
        let counted = Arc::new(());
        let inbox = Inbox::new();
        (0..4).for_each(|_| inbox.push(Arc::clone(&counted)).unwrap());
        let mut taken = inbox.take();
        drop(taken.next());
        assert_eq!(Arc::strong_count(&counted), 4);
        drop(taken);
        assert_eq!(Arc::strong_count(&counted), 1, "the rest of what was taken");
        inbox.push(Arc::clone(&counted)).unwrap();
        drop(inbox);
        assert_eq!(Arc::strong_count(&counted), 1, "the rest of the inbox");
    }

    #[test]
    fn requests_of_many_threads_keep_each_senders_order() {
        const EACH: usize = if cfg!(miri) { 50 } else { 5000 };
        let inbox = Inbox::new();
        let mut seen = [0; 4];
        let mut count = |(sender, number): (usize, usize)| {
            assert_eq!(seen[sender], number, "of sender {sender}");
            seen[sender] += 1;
        };
        thread::scope(|scope| {
            let senders: Vec<_> = (0..4)
                .map(|sender| {
                    let inbox = &inbox;
                    scope.spawn(move || (0..EACH).for_each(|n| inbox.push((sender, n)).unwrap()))
                })
                .collect();
            while !senders.iter().all(|sender| sender.is_finished()) {
                inbox.take().for_each(&mut count);
            }
        });
        inbox.close().for_each(&mut count);
        assert_eq!(seen, [EACH; 4]);
    }
}
