//! The threads of the actor phase.

use std::fmt;

use crate::error::ConfigError;

/// The most threads that a scene may have.
const MAX_THREADS: usize = 1024;

/// The threads that tick the actors.
pub(super) enum Workers {
    /// The thread that has the scene.
    Here,
    /// Rayon's global pool.
    #[cfg(all(feature = "rayon", not(all(loom, test))))]
    Shared,
    /// Threads of the scene's own.
    #[cfg(all(feature = "rayon", not(all(loom, test))))]
    Own(rayon::ThreadPool),
}

impl Workers {
    #[cfg(all(feature = "rayon", not(all(loom, test))))]
    pub(super) fn new(threads: Option<usize>) -> Result<Workers, ConfigError> {
        match checked(threads)? {
            None => Ok(Workers::Shared),
            Some(1) => Ok(Workers::Here),
            Some(value) => rayon::ThreadPoolBuilder::new()
                .num_threads(value)
                .thread_name(|number| format!("hatchery-scene-{number}"))
                .build()
                .map(Workers::Own)
                .map_err(|_| ConfigError::NoThreads { value }),
        }
    }

    /// Without rayon the thread that has the scene does all of it; the result is the same.
    #[cfg(not(all(feature = "rayon", not(all(loom, test)))))]
    pub(super) fn new(threads: Option<usize>) -> Result<Workers, ConfigError> {
        checked(threads).map(|_| Workers::Here)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        match self {
            Workers::Here => 1,
            #[cfg(all(feature = "rayon", not(all(loom, test))))]
            Workers::Shared => rayon::current_num_threads(),
            #[cfg(all(feature = "rayon", not(all(loom, test))))]
            Workers::Own(pool) => pool.current_num_threads(),
        }
    }

    /// Calls `work` for `items`, `size` at a time, each time with another one of `parts`, of which
    /// there are enough.
    pub(super) fn deal<T: Sync, P: Send>(
        &self,
        items: &[T],
        size: usize,
        parts: &mut [P],
        work: impl Fn(&[T], &mut P) + Sync,
    ) {
        if items.len() <= size {
            return here(items, size, parts, work);
        }
        match self {
            Workers::Here => here(items, size, parts, work),
            #[cfg(all(feature = "rayon", not(all(loom, test))))]
            Workers::Shared => shared(items, size, parts, &work),
            #[cfg(all(feature = "rayon", not(all(loom, test))))]
            Workers::Own(pool) => pool.install(|| shared(items, size, parts, &work)),
        }
    }
}

fn checked(threads: Option<usize>) -> Result<Option<usize>, ConfigError> {
    match threads {
        Some(value) if value == 0 || value > MAX_THREADS => {
            Err(ConfigError::Threads { value, max: MAX_THREADS })
        }
        allowed => Ok(allowed),
    }
}

fn here<T, P>(items: &[T], size: usize, parts: &mut [P], work: impl Fn(&[T], &mut P)) {
    for (items, part) in items.chunks(size).zip(parts) {
        work(items, part);
    }
}

#[cfg(all(feature = "rayon", not(all(loom, test))))]
fn shared<T: Sync, P: Send>(
    items: &[T],
    size: usize,
    parts: &mut [P],
    work: &(impl Fn(&[T], &mut P) + Sync),
) {
    use rayon::iter::{IndexedParallelIterator as _, ParallelIterator as _};
    use rayon::slice::{ParallelSlice as _, ParallelSliceMut as _};

    let parts = parts.par_chunks_exact_mut(1);
    items.par_chunks(size).zip(parts).for_each(|(items, part)| work(items, &mut part[0]));
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("count", &self.count()).finish()
    }
}
