//! The five states of the second seed: the table of legal edges, the way
//! through it, and that an outdated handle never moves a new entity.

mod support;

use std::collections::BTreeSet;

use hatchery::{Handle, Limits, LookupError, Reaped, State, StateSet, Store, TransitionError};
use support::{Census, Entity, Kind, assert_accounts, nonzero};

const LEGAL: [(State, State); 7] = [
    (State::None, State::Pending),
    (State::Pending, State::Active),
    (State::Pending, State::Dead),
    (State::Active, State::Dying),
    (State::Dying, State::Dead),
    (State::Dying, State::Active),
    (State::Dead, State::None),
];

#[test]
fn the_seven_legal_edges_are_allowed() {
    for (from, to) in LEGAL {
        assert!(from.can_become(to), "{from} -> {to}");
        assert_eq!(from.advance(to), Ok(to));
        assert!(from.successors().contains(to));
    }
}

#[test]
fn the_other_eighteen_are_refused_and_named() {
    let mut refused = 0;
    for from in State::ALL {
        for to in State::ALL {
            if LEGAL.contains(&(from, to)) {
                continue;
            }
            refused += 1;
            assert!(!from.can_become(to), "{from} -> {to}");
            assert!(!from.successors().contains(to));
            let error = from.advance(to).unwrap_err();
            assert_eq!((error.from, error.to), (from, to));
            assert_eq!(error.to_string(), format!("illegal transition {from} -> {to}"));
        }
    }
    assert_eq!(refused, 18);
    assert_eq!(
        State::Active.advance(State::Dead).unwrap_err().to_string(),
        "illegal transition active -> dead"
    );
}

#[test]
fn states_have_the_seed_s_names_and_numbers() {
    let names = ["none", "pending", "active", "dying", "dead"];
    for (number, (state, name)) in State::ALL.into_iter().zip(names).enumerate() {
        assert_eq!(state as usize, number);
        assert_eq!(state.to_string(), name);
        assert_eq!(State::try_from(number as u8).unwrap(), state);
    }
    assert!((5..=u8::MAX).all(|number| State::try_from(number).is_err()));
}

#[test]
fn a_state_set_holds_what_was_put_in() {
    let all: BTreeSet<State> = State::ALL.into();
    for bits in 0..32u8 {
        let members: Vec<State> =
            State::ALL.into_iter().filter(|state| bits >> *state as u8 & 1 == 1).collect();
        let set = StateSet::of(&members);
        assert_eq!(set.iter().collect::<Vec<_>>(), members);
        for state in &all {
            assert_eq!(set.contains(*state), members.contains(state));
            let more = set.insert(*state);
            assert!(more.contains(*state));
            assert_eq!(more.iter().count(), members.len() + usize::from(!set.contains(*state)));
        }
    }
    let alive = [State::Pending, State::Active, State::Dying];
    assert_eq!(StateSet::ALIVE.iter().collect::<Vec<_>>(), alive);
    assert_eq!(StateSet::READABLE.iter().collect::<Vec<_>>(), [State::Active, State::Dying]);
}

fn one_slot() -> Store<Entity> {
    Store::builder().limits(Limits::reject(1)).build().unwrap()
}

fn reserve(store: &Store<Entity>, census: &Census) -> Handle {
    let maker = census.maker();
    store.spawn_with(|handle| Entity::new(&maker, handle, Kind::Monster, None)).unwrap().detach()
}

#[test]
fn a_whole_life_goes_pending_active_dying_gone() {
    let census = Census::new();
    let store = one_slot();
    let handle = reserve(&store, &census);
    assert_eq!(store.state(handle), Ok(State::Pending));
    assert_eq!(store.pin().get(handle).unwrap_err(), LookupError::Pending { handle });
    store.activate(handle).unwrap();
    assert_eq!(store.state(handle), Ok(State::Active));
    assert_eq!(store.pin().get_active(handle).unwrap().handle, handle);
    store.kill(handle).unwrap();
    assert_eq!(store.state(handle), Ok(State::Dying));
    assert_eq!(store.pin().get(handle).unwrap().handle, handle, "settlement still reads it");
    assert_eq!(store.pin().get_active(handle).unwrap_err(), LookupError::Dying { handle });
    assert_eq!(store.reap(handle), Ok(Reaped::Done));
    assert_eq!(store.state(handle), Err(LookupError::NotFound { handle }));
    assert_accounts(&store.stats());
}

#[test]
fn the_payload_is_set_up_before_anybody_sees_it() {
    let census = Census::new();
    let store = one_slot();
    let maker = census.maker();
    let mut pending =
        store.spawn_with(|handle| Entity::new(&maker, handle, Kind::Player, None)).unwrap();
    pending.hp = 7;
    pending.player = Some(support::PlayerId(3));
    assert_eq!(pending.hp, 7);
    assert!(!store.pin().contains(pending.handle()));
    let handle = pending.activate();
    let session = store.pin();
    assert_eq!(session.get(handle).unwrap().hp, 7);
    assert_eq!(session.get(handle).unwrap().player, Some(support::PlayerId(3)));
}

#[test]
fn a_reaped_slot_is_used_again_with_the_next_generation() {
    let census = Census::new();
    let store = one_slot();
    let mut first = None;
    for generation in 1..=50 {
        let handle = reserve(&store, &census);
        assert_eq!(handle.seq(), *first.get_or_insert(handle.seq()));
        assert_eq!(handle.generation(), nonzero(generation));
        store.activate(handle).unwrap();
        store.kill(handle).unwrap();
        assert_eq!(store.reap(handle), Ok(Reaped::Done));
    }
    assert!(store.slots() <= 2, "capacity and backlog are one each");
}

#[test]
fn a_cancelled_creation_frees_its_slot_and_was_never_seen() {
    let census = Census::new();
    let store = one_slot();
    let handle = reserve(&store, &census);
    store.cancel(handle).unwrap();
    assert_eq!(store.state(handle), Err(LookupError::NotFound { handle }));
    let next = reserve(&store, &census);
    assert_eq!((next.seq(), next.generation()), (handle.seq(), nonzero(2)));
    let stats = store.stats();
    assert_eq!((stats.cancelled, stats.activated, stats.killed, stats.reaped), (1, 0, 0, 0));
}

#[test]
fn a_settlement_that_is_rolled_back_revives_the_entity() {
    let census = Census::new();
    let store = one_slot();
    let handle = reserve(&store, &census);
    store.activate(handle).unwrap();
    for _ in 0..3 {
        store.kill(handle).unwrap();
        assert!(store.pin().get_active(handle).is_err());
        store.revive(handle).unwrap();
        assert_eq!(store.pin().get_active(handle).unwrap().handle, handle);
    }
    assert_eq!(store.state(handle), Ok(State::Active));
    assert_eq!(store.stats().revived, 3);
}

#[test]
fn nothing_leads_from_active_to_dead_past_the_settlement() {
    let census = Census::new();
    let store = one_slot();
    let handle = reserve(&store, &census);
    store.activate(handle).unwrap();
    let transition = State::Active.advance(State::Dead).unwrap_err();
    assert_eq!(store.reap(handle), Err(TransitionError::Illegal { handle, transition }));
    assert_eq!(store.cancel(handle), Err(TransitionError::Illegal { handle, transition }));
    assert_eq!(store.state(handle), Ok(State::Active));
}

#[test]
fn an_outdated_handle_never_moves_the_new_entity() {
    let census = Census::new();
    let store = one_slot();
    let old = reserve(&store, &census);
    store.cancel(old).unwrap();
    let new = reserve(&store, &census);
    let stale = TransitionError::Lookup(LookupError::Stale { handle: old, current: nonzero(2) });
    let states = [State::Pending, State::Active, State::Dying];
    for state in states {
        match state {
            State::Active => store.activate(new).unwrap(),
            State::Dying => store.kill(new).unwrap(),
            _ => {}
        }
        assert_eq!(store.activate(old), Err(stale));
        assert_eq!(store.cancel(old), Err(stale));
        assert_eq!(store.kill(old), Err(stale));
        assert_eq!(store.revive(old), Err(stale));
        assert_eq!(store.reap(old), Err(stale));
        assert_eq!(store.despawn(old), Err(stale));
        assert_eq!(store.kill_and_hold(old).err(), Some(stale));
        assert_eq!(store.state(new), Ok(state), "untouched");
    }
}

/// The seed frees the index before it resets the state, so that a spawn in
/// between is refused. Here whole lives on eight threads never are.
#[test]
fn a_spawn_beside_a_reap_is_never_refused() {
    let census = Census::new();
    let limits = Limits::reject(8);
    let store = Store::builder().limits(limits).backlog(4096).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (store, maker) = (&store, census.maker());
            scope.spawn(move || {
                for _ in 0..300 {
                    let make = |handle| Entity::new(&maker, handle, Kind::Projectile, None);
                    let handle = store.spawn_with(make).unwrap().detach();
                    store.activate(handle).unwrap();
                    store.kill(handle).unwrap();
                    assert_eq!(store.reap(handle), Ok(Reaped::Done));
                }
            });
        }
    });
    let stats = store.stats();
    assert_eq!((stats.spawned, stats.reaped, stats.rejected), (2400, 2400, 0));
    assert_accounts(&stats);
}
