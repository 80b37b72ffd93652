//! Over how many shards a store or a pool spreads its traffic by default.

/// More would not be reached by the cores of today's machines.
const MOST: usize = 64;

/// The number of cores, rounded up to a power of two; two in a model, which is small and shows both
/// a thread's own shard and another one.
pub(crate) fn default_count() -> usize {
    if cfg!(all(loom, test)) {
        return 2;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.next_power_of_two().min(MOST)
}
