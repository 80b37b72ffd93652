//! hatchery beside its peers: see the library of this package.

#[global_allocator]
static ALLOCATOR: hatchery_peers::Counting = hatchery_peers::Counting;

fn main() -> std::process::ExitCode {
    hatchery_peers::main(env!("CARGO_TARGET_TMPDIR").as_ref())
}
