//! hatchery's scene beside bevy_ecs: see the library of this package.

fn main() -> std::process::ExitCode {
    hatchery_scene::main()
}
