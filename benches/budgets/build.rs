//! Notes what this is compiled with: budgets hold for one compiler and one target.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").expect("cargo sets it");
    let version = Command::new(compiler).arg("-vV").output().expect("the compiler runs").stdout;
    let version = String::from_utf8(version).expect("the compiler writes UTF-8");
    let release = version.lines().find_map(|line| line.strip_prefix("release: "));
    println!("cargo::rustc-env=BUDGETS_RUSTC={}", release.expect("the compiler tells its release"));
    println!("cargo::rustc-env=BUDGETS_TARGET={}", env::var("TARGET").expect("cargo sets it"));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    println!("cargo::rustc-env=BUDGETS_FLAGS={flags}");
}
