//! A typed atomic word: the `atomic` crate's in an ordinary build, the same surface over loom's
//! `AtomicU64` in a model build.

#[cfg(not(all(loom, test)))]
pub(crate) use atomic::Atomic;

#[cfg(all(loom, test))]
pub(crate) use modelled::Atomic;

#[cfg(all(loom, test))]
mod modelled {
    use crate::sync::{AtomicU64, Ordering};

    /// What `atomic::Atomic` offers, for types that are one `u64`.
    #[derive(Debug)]
    pub(crate) struct Atomic<W> {
        bits: AtomicU64,
        _word: std::marker::PhantomData<W>,
    }

    impl<W: Copy + From<u64> + Into<u64>> Atomic<W> {
        pub(crate) fn new(word: W) -> Atomic<W> {
            Atomic { bits: AtomicU64::new(word.into()), _word: std::marker::PhantomData }
        }

        pub(crate) fn load(&self, order: Ordering) -> W {
            self.bits.load(order).into()
        }

        pub(crate) fn store(&self, word: W, order: Ordering) {
            self.bits.store(word.into(), order);
        }

        pub(crate) fn compare_exchange_weak(
            &self,
            current: W,
            new: W,
            success: Ordering,
            failure: Ordering,
        ) -> Result<W, W> {
            // loom has no spurious failures: the strong form is the same there.
            self.bits
                .compare_exchange(current.into(), new.into(), success, failure)
                .map(W::from)
                .map_err(W::from)
        }
    }
}
