//! How many cores the program that is traced believes to have, and on which of them a thread is.
//!
//! The library asks the standard library, and makes as many shards; a pool takes no other number. A
//! store asks the system on which core a thread is, and has it use that core's shard. To see what
//! they do on a machine that is not there, the answers to those questions are ours.

use std::thread::available_parallelism;

/// Lets this process believe that it has so many cores.
///
/// # Errors
///
/// When it cannot be made to: on other systems, and where a quota allows for fewer.
pub fn pretend(cores: usize) -> Result<(), String> {
    #[cfg(target_os = "linux")]
    answer::set(cores);
    let believed = available_parallelism().map_or(0, usize::from);
    if believed == cores {
        Ok(())
    } else {
        Err(format!("the program believes to have {believed} cores, not {cores}"))
    }
}

/// Lets the calling thread believe that it is on this core, and stays there.
pub fn stay_on(core: usize) {
    #[cfg(target_os = "linux")]
    answer::stay_on(core);
    #[cfg(not(target_os = "linux"))]
    let _ = core;
}

#[cfg(target_os = "linux")]
mod answer {
    use std::cell::Cell;
    use std::ffi::c_int;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Cores that there are to be, if anybody wants to pretend.
    static CORES: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn set(cores: usize) {
        // Relaxed: asked for by the same thread.
        CORES.store(cores, Ordering::Relaxed);
    }

    std::thread_local! {
        /// The core that the thread is to be on; -1, which tells of a failure, if nobody has said.
        static CORE: Cell<c_int> = const { Cell::new(-1) };
    }

    pub(super) fn stay_on(core: usize) {
        CORE.set(c_int::try_from(core).unwrap_or(-1));
    }

    /// What a store asks: it is linked against this instead of libc's. Where it fails, the store
    /// tells the threads apart instead.
    // SAFETY: it has the signature of libc's function, and does what that promises.
    #[unsafe(no_mangle)]
    extern "C" fn sched_getcpu() -> c_int {
        CORE.get()
    }

    /// What `std::thread::available_parallelism` asks: it is linked against this instead of libc's.
    /// While nobody pretends it fails, and then the number of cores is asked for otherwise.
    ///
    /// # Safety
    /// * `mask` leads to `size` bytes that may be written, as libc demands too.
    // SAFETY: it has the signature of libc's function, and does what that promises.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn sched_getaffinity(_process: c_int, size: usize, mask: *mut u8) -> c_int {
        // Relaxed: as in `set`.
        let cores = CORES.load(Ordering::Relaxed);
        if cores == 0 || cores > 8 * size {
            return -1;
        }
        // SAFETY: the caller's duty; all bytes are initialised below or were by the caller.
        let mask = unsafe { std::slice::from_raw_parts_mut(mask, size) };
        for (at, byte) in mask.iter_mut().enumerate() {
            let left = cores.saturating_sub(8 * at).min(8);
            *byte = ((1_u16 << left) - 1) as u8;
        }
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_believes_what_it_is_told() {
        // Where a quota allows for one core, nobody can be told of more.
        for cores in [1, 3, 8, 64] {
            let told = pretend(cores);
            assert!(told.is_ok() || available_parallelism().map_or(0, usize::from) < cores);
        }
        answer::set(0);
        assert!(available_parallelism().is_ok());
    }

    #[test]
    fn a_store_believes_it_too() {
        // Each shard that is used keeps memory of its own.
        let bytes = |core: fn(usize) -> usize| {
            let store = hatchery::Store::<u64>::builder().shards(8).build().unwrap();
            for thread in 0..8 {
                let store = &store;
                let run = move || {
                    stay_on(core(thread));
                    store.spawn_active(0).unwrap();
                };
                std::thread::scope(|scope| drop(scope.spawn(run).join()));
            }
            store.stats().bytes
        };
        assert!(bytes(|_| 3) < bytes(|thread| thread));
    }
}
