//! C44: payloads of no size, of a large size and of a large alignment.

mod support;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::{Handle, State, Store};

#[test]
fn a_hundred_entities_of_no_size_are_a_hundred() {
    let store = Store::<()>::new();
    let handles = store.spawn_batch([(); 100]).unwrap();
    assert_eq!(handles.iter().collect::<HashSet<_>>().len(), 100);
    assert_eq!(store.despawn_batch(&handles[..50]), 50);
    let seen: HashSet<Handle> = store.pin().iter().map(|(handle, ())| handle).collect();
    assert_eq!(seen, handles[50..].iter().copied().collect());
    assert!(handles[..50].iter().all(|handle| store.pin().get(*handle).is_err()));
}

#[test]
fn destructors_of_payloads_of_no_size_are_counted_right() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    let store = Store::new();
    let handles = store.spawn_batch((0..100).map(|_| Nothing)).unwrap();
    let hold = store.hold(handles[0]).unwrap();
    assert_eq!(store.despawn_batch(&handles[1..51]), 50);
    store.reclaim();
    assert_eq!(DROPPED.load(Ordering::SeqCst), 50);
    drop(store.spawn(Nothing).unwrap());
    std::mem::forget(store.spawn(Nothing).unwrap().cancel());
    store.reclaim();
    assert_eq!(DROPPED.load(Ordering::SeqCst), 51);
    drop(store);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 100);
    drop(hold);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 101);
}

#[test]
fn a_payload_is_aligned_as_its_type_asks() {
    #[repr(align(256))]
    struct Wide(u64);
    let store = Store::new();
    let handles = store.spawn_batch((0..200).map(Wide)).unwrap();
    let session = store.pin();
    for (number, handle) in handles.iter().enumerate() {
        let payload = session.get(*handle).unwrap();
        assert_eq!(std::ptr::from_ref(payload).addr() % 256, 0);
        assert_eq!(payload.0, number as u64);
    }
    let pending = store.spawn(Wide(7)).unwrap();
    assert_eq!(std::ptr::from_ref(&*pending).addr() % 256, 0);
}

#[test]
fn a_large_payload_keeps_every_byte() {
    let store = Store::new();
    let handles =
        store.spawn_batch((0..100u64).map(|n| [n.wrapping_mul(0x0101_0101); 1024])).unwrap();
    for (number, handle) in handles.iter().enumerate() {
        let word = (number as u64).wrapping_mul(0x0101_0101);
        assert!(store.pin().get(*handle).unwrap().iter().all(|found| *found == word));
    }
    assert_eq!(store.despawn_batch(&handles), 100);
    assert_eq!(store.spawn([3; 1024]).unwrap().cancel(), [3; 1024]);
}

#[test]
fn the_first_and_the_second_of_no_size_end_apart() {
    let store = Store::new();
    let (first, second) = (store.spawn_active(()).unwrap(), store.spawn_active(()).unwrap());
    store.kill(first).unwrap();
    assert_eq!(store.state(first), Ok(State::Dying));
    assert_eq!(store.state(second), Ok(State::Active));
    store.reap(first).unwrap();
    assert!(store.pin().get(first).is_err());
    assert!(store.pin().get(second).is_ok());
}
