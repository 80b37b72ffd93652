//! The only code that touches a payload, and the only place where user destructors run.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sync::UnsafeCell;

/// Where a payload lives: uninitialised in a slot that is None.
#[repr(transparent)]
pub(crate) struct PayloadCell<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> PayloadCell<T> {
    #[cfg(all(loom, test))]
    pub(crate) fn new() -> PayloadCell<T> {
        PayloadCell(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Says that the memory of the cell goes: a model reports whoever still uses it.
    #[cfg(all(loom, test))]
    pub(crate) fn goes(&self) {
        self.0.with_mut(|_| ());
    }

    /// Writes a payload into an empty cell.
    ///
    /// # Safety
    /// * The caller owns the slot.
    /// * The cell is empty: what it holds is not dropped.
    #[inline]
    pub(crate) unsafe fn write(&self, value: T) {
        // SAFETY: the caller owns the slot, so nobody else reads or writes the cell (invariant 5).
        self.0.with_mut(|cell| unsafe { (*cell).write(value) });
    }

    /// Borrows the payload.
    ///
    /// # Safety
    /// * The payload is initialised, and its write happened before this call.
    /// * It is neither dropped nor written for as long as `'a` lasts.
    #[inline]
    pub(crate) unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY: the caller vouches for the initialised payload (invariant 2) and for its
        // lifetime (invariant 4). The pointer outlives the closure: the models watch the moment
        // of the borrow, and payloads of their own watch the reads behind it.
        self.0.with(|cell| unsafe { &*cell.cast::<T>() })
    }

    /// Borrows the payload for writing.
    ///
    /// # Safety
    /// * The payload is initialised, and its write happened before this call.
    /// * The caller has the entity to itself for as long as `'a` lasts.
    #[inline]
    pub(crate) unsafe fn get_mut<'a>(&self) -> &'a mut T {
        // SAFETY: the caller has the entity to itself: nobody sees Pending (invariant 2).
        self.0.with_mut(|cell| unsafe { &mut *cell.cast::<T>() })
    }

    /// Moves the payload out; the cell is empty afterwards.
    ///
    /// # Safety
    /// * The payload is initialised, and its write happened before this call.
    /// * No other thread reads it any more, and the caller alone may end it.
    #[inline]
    pub(crate) unsafe fn take(&self) -> T {
        // SAFETY: the caller alone may end this payload, once (invariant 4).
        self.0.with_mut(|cell| unsafe { cell.cast::<T>().read() })
    }

    /// Runs the payload's destructor in place; whether it panicked. The cell is empty afterwards.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    pub(crate) unsafe fn drop_in_place(&self) -> bool {
        if !std::mem::needs_drop::<T>() {
            return false;
        }
        let payload = self.0.with_mut(|cell| cell.cast::<T>());
        // SAFETY: the caller alone may end this payload, once (invariant 4).
        in_destructor::run(|| unsafe { payload.drop_in_place() })
    }
}

impl<T> std::fmt::Debug for PayloadCell<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PayloadCell")
    }
}

/// Runs user code; `None` if it panicked. A panic's own payload that panics on drop is leaked.
#[inline]
pub(crate) fn contained<R>(user: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(user)) {
        Ok(value) => Some(value),
        Err(panic) => {
            forget_panic(panic);
            None
        }
    }
}

/// Drops what a panic carried, which is the user's and may panic itself: then that is leaked.
#[cold]
pub(crate) fn forget_panic(panic: Box<dyn std::any::Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(second);
    }
}

/// Whether this thread is inside a payload's destructor: destructors do not nest, so that a chain
/// of deaths of any length needs no stack.
pub(crate) mod in_destructor {
    use std::cell::{Cell, RefCell};
    use std::mem::{ManuallyDrop, take};

    type Task = Box<dyn FnOnce()>;

    std::thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
        /// Destructors that came up inside a destructor: the outermost one runs them at its end,
        /// and leaves nothing. So there is nothing to drop, and the list is there in the thread's
        /// last moments too.
        static LATER: RefCell<ManuallyDrop<Vec<Task>>> =
            const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    }

    #[inline]
    pub(crate) fn now() -> bool {
        DEPTH.with(|depth| depth.get() > 0)
    }

    /// Whether the destructor that runs had to wait for another one, or is run by one that closes.
    pub(crate) fn has_waited() -> bool {
        DEPTH.with(|depth| depth.get() > 1)
    }

    /// Runs `destructor` with the mark set; whether it panicked. What drops the panic's own payload
    /// runs under the mark too.
    #[inline]
    pub(crate) fn run(destructor: impl FnOnce()) -> bool {
        let outer = DEPTH.with(|depth| depth.replace(depth.get() + 1));
        let panicked = super::contained(destructor).is_none();
        if outer == 0 && LATER.with_borrow(|later| !later.is_empty()) {
            run_waiting();
        }
        DEPTH.with(|depth| depth.set(outer));
        panicked
    }

    /// Runs what waits for the outermost destructor of this thread: at its end, and before the drop
    /// of a last `Store` inside it returns, which promises that its payloads are gone.
    #[cold]
    pub(crate) fn run_waiting() {
        // The borrow ends before a task runs: it may add others.
        let next = || LATER.with_borrow_mut(|later| later.pop());
        std::iter::from_fn(next).for_each(|task| task());
        drop(LATER.with_borrow_mut(|later| take(&mut **later)));
    }

    /// Runs `task`, which contains its panics, when the outermost destructor of this thread has
    /// returned.
    ///
    /// # Safety
    /// * A destructor runs on this thread now.
    /// * The task stays good to run until it has returned.
    pub(crate) unsafe fn run_outermost<'t>(task: impl FnOnce() + 't) {
        debug_assert!(now());
        let task: Box<dyn FnOnce() + 't> = Box::new(task);
        // SAFETY: the caller's duty; the task runs within that time (invariant 8).
        let task = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 't>, Task>(task) };
        LATER.with_borrow_mut(|later| later.push(task));
    }
}
