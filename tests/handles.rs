//! Any bit pattern is a safe handle to ask about: the answer is an error, never
//! a panic and never somebody else's entity. And how handles travel: text, bytes.

mod support;

use std::num::NonZeroU32;

use hatchery::{
    EntityId, Handle, HoldError, Limits, LookupError, SceneId, State, StateSet, Store,
    TransitionError,
};
use proptest::prelude::*;
use support::{Census, Counted, handle, nonzero};

/// Asks every entry point that takes a handle. All refuse with the same lookup error, which is
/// the answer.
#[track_caller]
fn refused_everywhere<T: Send + Sync + 'static>(store: &Store<T>, asked: Handle) -> LookupError {
    let session = store.pin();
    let error = store.state(asked).expect_err("no entity has this handle");
    assert_eq!(error.handle(), asked);
    for answer in [
        session.state(asked).err(),
        session.get(asked).err(),
        session.get_active(asked).err(),
        session.get_with_state(asked).err(),
        session.holds(asked).err(),
    ] {
        assert_eq!(answer, Some(error));
    }
    assert!(!session.contains(asked));
    for answer in [store.hold(asked).err(), session.hold(asked).err()] {
        assert_eq!(answer, Some(HoldError::Lookup(error)));
    }
    for answer in [
        store.activate(asked).err(),
        session.activate(asked).err(),
        store.cancel(asked).err(),
        session.cancel(asked).err(),
        store.kill(asked).err(),
        session.kill(asked).err(),
        store.kill_and_hold(asked).err(),
        session.kill_and_hold(asked).err(),
        store.revive(asked).err(),
        session.revive(asked).err(),
        store.reap(asked).err(),
        session.reap(asked).err(),
        store.despawn(asked).err(),
        session.despawn(asked).err(),
    ] {
        assert_eq!(answer, Some(TransitionError::Lookup(error)));
    }
    assert_eq!(store.despawn_batch(&[asked, asked]), 0);
    assert_eq!(session.despawn_batch(&[asked]), 0);
    error
}

/// C04
#[test]
fn a_handle_of_another_store_is_refused_and_touches_nothing() {
    let census = Census::new();
    let (a, b) = (Store::new(), Store::new());
    let in_a = a.spawn_active(census.payload(1)).unwrap();
    let in_b = b.spawn_active(census.payload(2)).unwrap();
    assert_eq!((in_a.seq(), in_a.generation()), (in_b.seq(), in_b.generation()));
    assert_ne!(in_a, in_b);
    let error = refused_everywhere(&b, in_a);
    assert_eq!(error, LookupError::SceneMismatch { handle: in_a, scene: b.scene() });
    assert!(!error.is_gone(), "it is not an outdated handle: it is somebody else's");
    assert_eq!(b.pin().get(in_b).unwrap().tag(), 2);
    assert_eq!(b.state(in_b), Ok(State::Active));
    assert_eq!(a.pin().get(in_a).unwrap().tag(), 1);
    assert_eq!((a.len(), b.len()), (1, 1));
}

/// C04
#[test]
fn stores_of_two_payload_types_do_not_answer_for_each_other() {
    let (words, numbers) = (Store::<String>::new(), Store::<u64>::new());
    let word = words.spawn_active("sword".into()).unwrap();
    let number = numbers.spawn_active(7).unwrap();
    let scene = words.scene();
    assert_eq!(
        refused_everywhere(&words, number),
        LookupError::SceneMismatch { handle: number, scene }
    );
    let scene = numbers.scene();
    assert_eq!(
        refused_everywhere(&numbers, word),
        LookupError::SceneMismatch { handle: word, scene }
    );
    assert_eq!(words.pin().get(word).unwrap(), "sword");
}

/// C04
#[test]
fn a_handle_of_a_dropped_store_is_refused_by_the_next_one_of_its_scene() {
    let census = Census::new();
    let scene = SceneId(704);
    let dropped = {
        let store = Store::builder().scene(scene).build().unwrap();
        let handles: Vec<_> =
            (0..100).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
        handles
    };
    let store = Store::builder().scene(scene).build().unwrap();
    for old in &dropped {
        assert!(refused_everywhere(&store, *old).is_gone());
    }
    let alive: Vec<_> =
        (0..100).map(|tag| store.spawn_active(census.payload(1000 + tag)).unwrap()).collect();
    for old in &dropped {
        assert!(refused_everywhere(&store, *old).is_gone());
        assert!(!alive.contains(old));
    }
    assert_eq!(store.len(), 100);
}

/// C05
#[test]
fn a_seq_that_would_alias_when_cut_to_fewer_bits_is_not_found() {
    let census = Census::new();
    let store = Store::new();
    let real = store.spawn_active(census.payload(5)).unwrap();
    for bit in 0..48 {
        let forged = handle(store.scene(), real.seq() ^ 1 << bit, real.generation().get());
        assert_eq!(
            refused_everywhere(&store, forged),
            LookupError::NotFound { handle: forged },
            "bit {bit}"
        );
    }
    assert_eq!(store.pin().get(real).unwrap().tag(), 5);
}

/// C05
#[test]
fn a_generation_off_by_any_bit_is_gone() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(1)).build().unwrap();
    let mut real = store.spawn_active(census.payload(0)).unwrap();
    for tag in 1..6 {
        store.despawn(real).unwrap();
        real = store.spawn_active(census.payload(tag)).unwrap();
    }
    assert_eq!(real.generation(), nonzero(6));
    for bit in 0..32 {
        let Some(generation) = NonZeroU32::new(6 ^ 1 << bit) else { continue };
        let forged = Handle::new(real.id(), generation);
        let error = refused_everywhere(&store, forged);
        assert!(error.is_gone(), "{error}");
        if generation.get() < 6 {
            let current = nonzero(6);
            assert_eq!(error, LookupError::Stale { handle: forged, current });
        }
    }
    assert_eq!(store.pin().get(real).unwrap().tag(), 5);
}

/// C05
#[test]
fn a_scene_off_by_any_bit_is_a_mismatch() {
    let census = Census::new();
    let store = Store::new();
    let real = store.spawn_active(census.payload(5)).unwrap();
    for bit in 0..16 {
        let scene = SceneId(store.scene().0 ^ 1 << bit);
        let forged = handle(scene, real.seq(), real.generation().get());
        let scene = store.scene();
        assert_eq!(
            refused_everywhere(&store, forged),
            LookupError::SceneMismatch { handle: forged, scene }
        );
    }
}

#[test]
fn a_handle_whose_entity_is_pending_is_refused_by_reads_and_holds_alone() {
    let census = Census::new();
    let store = Store::new();
    let asked = store.spawn(census.payload(1)).unwrap().detach();
    let pending = LookupError::Pending { handle: asked };
    let session = store.pin();
    assert_eq!(session.get(asked).unwrap_err(), pending);
    assert_eq!(session.get_active(asked).unwrap_err(), pending);
    assert_eq!(session.get_with_state(asked).unwrap_err(), pending);
    assert_eq!(store.hold(asked).unwrap_err(), HoldError::Lookup(pending));
    assert_eq!(session.state(asked), Ok(State::Pending));
    assert!(!pending.is_gone(), "it is yet to come");
    assert_eq!(session.iter_in(StateSet::ALIVE).count(), 0);
}

fn bits() -> impl Strategy<Value = u64> {
    let edges = [0, 1, 63, 64, 65, (1 << 16) - 1, 1 << 16, (1 << 32) - 1, 1 << 32, (1 << 48) - 1];
    let near = (0..edges.len(), any::<u16>())
        .prop_map(move |(edge, scene)| edges[edge] | u64::from(scene) << 48);
    prop_oneof![any::<u64>(), near, (0..70u64), Just(u64::MAX), Just(1 << 63)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// C05
    #[test]
    fn random_bits_name_a_living_entity_or_none(
        bits in bits(),
        generation in prop_oneof![Just(1), Just(2), Just(u32::MAX), 1..=u32::MAX],
        aim_at_this_store in any::<bool>(),
    ) {
        let census = Census::new();
        let store = Store::<Counted>::new();
        let mut alive: Vec<Handle> =
            (0..66).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
        store.despawn(alive.remove(40)).unwrap();
        let mut id = EntityId::from_bits(bits);
        if aim_at_this_store {
            id = EntityId::new(store.scene(), id.seq()).unwrap();
        }
        let asked = Handle::new(id, nonzero(generation));
        if alive.contains(&asked) {
            prop_assert_eq!(store.pin().get(asked).unwrap().tag(), alive
                .iter().position(|h| *h == asked).map(|at| (at + usize::from(at >= 40)) as u64)
                .unwrap());
        } else {
            refused_everywhere(&store, asked);
        }
        prop_assert_eq!(store.len(), 65);
        prop_assert!(alive.iter().all(|h| store.state(*h) == Ok(State::Active)));
    }

    #[test]
    fn a_handle_survives_bytes_and_text(bits in any::<u64>(), generation in 1..=u32::MAX) {
        let asked = Handle::new(EntityId::from_bits(bits), nonzero(generation));
        let bytes = asked.to_bytes();
        prop_assert_eq!(&bytes[..8], &bits.to_be_bytes()[..]);
        prop_assert_eq!(&bytes[8..], &generation.to_be_bytes()[..]);
        prop_assert_eq!(Handle::from_bytes(bytes), Some(asked));
        prop_assert_eq!(asked.to_string().parse::<Handle>(), Ok(asked));
        prop_assert_eq!(asked.id().to_string().parse::<EntityId>().ok(), Some(asked.id()));
        prop_assert_eq!(asked.id().to_bits(), bits);
        prop_assert_eq!(EntityId::new(asked.scene(), asked.seq()), Some(asked.id()));
        prop_assert_eq!(asked.scene().0, (bits >> 48) as u16);
    }

    #[test]
    fn any_twelve_bytes_are_read_without_a_panic(bytes in any::<[u8; 12]>()) {
        let zero = bytes[8..] == [0; 4];
        prop_assert_eq!(Handle::from_bytes(bytes).is_none(), zero);
        if let Some(read) = Handle::from_bytes(bytes) {
            prop_assert_eq!(read.to_bytes(), bytes);
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "[0-9:/gen+ -]{0,24}|\\PC{0,16}") {
        if let Ok(read) = text.parse::<Handle>() {
            prop_assert_eq!(read.to_string().parse::<Handle>(), Ok(read));
        }
    }
}

#[test]
fn text_that_is_no_handle_is_refused() {
    assert_eq!("1:42/gen3".parse(), Ok(handle(SceneId(1), 42, 3)));
    assert_eq!(
        "65535:281474976710655/gen4294967295".parse(),
        Ok(handle(SceneId(u16::MAX), (1 << 48) - 1, u32::MAX))
    );
    for text in [
        "",
        "1",
        "1:42",
        "1:42/",
        "1:42/gen",
        "1:42/3",
        "1:42/gen0",
        "1:42/gen-1",
        "1:42/gen4294967296",
        "1:281474976710656/gen1",
        "65536:1/gen1",
        "-1:1/gen1",
        ":1/gen1",
        "1:/gen1",
        " 1:42/gen3",
        "1:42/gen3 ",
        "1:42/gen3\n",
        "1:42/GEN3",
        "1:42/gen3/gen3",
        "0x1:42/gen3",
        "1:42:7/gen3",
        "１:42/gen3",
    ] {
        let error = text.parse::<Handle>().expect_err(text);
        assert!(!error.to_string().is_empty() && !error.to_string().contains('\n'), "{text}");
    }
    for text in ["", "1", ":", "1:", ":1", "65536:1", "1:281474976710656", "1:2:3", "1:2/gen3"] {
        assert!(text.parse::<EntityId>().is_err(), "{text}");
    }
}

#[test]
fn handles_are_ordered_and_hashed_by_what_they_are() {
    let parts = [(1, 2, 3), (1, 2, 4), (1, 3, 1), (2, 0, 1)];
    let handles = parts.map(|(scene, seq, generation)| handle(SceneId(scene), seq, generation));
    assert!(handles.is_sorted());
    let set: std::collections::HashSet<_> = handles.iter().chain(&handles).collect();
    assert_eq!(set.len(), 4);
    assert_eq!(SceneId::from(7).to_string(), "7");
}
