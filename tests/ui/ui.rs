//! What the types rule out: each file of `fail/` must not compile, for the reason that its
//! `.stderr` gives; those of `pass/` must. When the words change and the reason does not,
//! `TRYBUILD=overwrite cargo test --test ui` writes them anew.

use std::path::{Path, PathBuf};
use std::process::Command;

use hatchery::Pinned;
use hatchery::scene::{Actor, Core, Scene, SceneRemote, Settlement, TickContext};

/// The compiler whose words the `.stderr` files have.
const WRITTEN_WITH: &str = "rustc 1.95.";

#[test]
fn misuse_does_not_compile_and_rightful_use_does() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    let same_words = version.starts_with(WRITTEN_WITH.as_bytes());
    if !same_words {
        // Other compilers word it differently. There, that it does not compile has to do.
        // SAFETY: no other thread of this process reads or writes the environment.
        unsafe { std::env::set_var("TRYBUILD", "overwrite") };
    }
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail(if same_words { "fail/*.rs".into() } else { copies().join("*.rs") });
}

/// The cases without the words they are held against.
fn copies() -> PathBuf {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir("fail").unwrap() {
        let from = entry.unwrap().path();
        if from.extension().is_some_and(|extension| extension == "rs") {
            std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
        }
    }
    to
}

trait NotSend<Marker> {
    fn holds() {}
}
impl<T: ?Sized> NotSend<()> for T {}
impl<T: ?Sized + Send> NotSend<u8> for T {}

trait NotSync<Marker> {
    fn holds() {}
}
impl<T: ?Sized> NotSync<()> for T {}
impl<T: ?Sized + Sync> NotSync<u8> for T {}

/// A type that is Send (or Sync) has two of the impls above, and then this does not compile.
#[test]
fn a_session_is_neither_send_nor_sync_whatever_the_payload() {
    <Pinned<'static, u64> as NotSend<_>>::holds();
    <Pinned<'static, u64> as NotSync<_>>::holds();
    <Pinned<'static, String> as NotSend<_>>::holds();
    <Pinned<'static, ()> as NotSync<_>>::holds();
}

struct Unit;

impl Core for Unit {
    type Definition = ();
    type Position = ();
    type Public = ();

    fn construct(_: ()) -> Unit {
        Unit
    }
    fn init(_: &mut Actor<Unit>, _: &()) {}
    fn publish(_: &Actor<Unit>) {}
    fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
}

/// One thread drives a scene, since actors are not Sync; everybody else has a remote.
#[test]
fn a_scene_may_be_sent_and_is_not_shared_and_its_remote_is_both() {
    fn send<T: Send>() {}
    fn shared<T: Send + Sync + Clone>() {}
    send::<Scene<Unit>>();
    <Scene<Unit> as NotSync<_>>::holds();
    <Actor<Unit> as NotSync<_>>::holds();
    shared::<SceneRemote<Unit>>();
    send::<Settlement>();
}
