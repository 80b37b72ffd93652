//! Every operation in every state: what is carried out, and what exactly a
//! refusal says. And how errors read.

mod support;

use std::error::Error;

use hatchery::{
    BatchError, Handle, HoldError, Limits, LookupError, ParseHandleError, Pending, Reaped, SceneId,
    SpawnError, SpawnFailure, State, Store, TransitionError,
};
use support::{Census, Counted, nonzero};

/// Where an entity may stand when it is asked for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// Pending, and its guard is there.
    Guarded,
    /// Pending, and its guard was detached.
    Pending,
    Active,
    /// Active, with a hold.
    Held,
    Dying,
    /// Dying, with a hold.
    DyingHeld,
    /// Dying, with a hold, and the reap was asked for.
    ReapRequested,
    /// Reaped, the slot not used again.
    Gone,
    /// Reaped, the slot used by another one.
    Replaced,
}

use Stand::*;

const STANDS: [Stand; 9] =
    [Guarded, Pending, Active, Held, Dying, DyingHeld, ReapRequested, Gone, Replaced];

impl Stand {
    fn state(self) -> Option<State> {
        match self {
            Guarded | Pending => Some(State::Pending),
            Active | Held => Some(State::Active),
            Dying | DyingHeld | ReapRequested => Some(State::Dying),
            Gone | Replaced => None,
        }
    }
}

/// Brings an entity of a new store there and asks.
fn at<R>(stand: Stand, ask: impl FnOnce(&Store<Counted>, Handle) -> R) -> (Handle, R) {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(1)).build().unwrap();
    let pending: Pending<'_, Counted> = store.spawn(census.payload(3)).unwrap();
    let handle = pending.handle();
    if stand == Guarded {
        let answer = ask(&store, handle);
        drop(pending);
        return (handle, answer);
    }
    pending.detach();
    let mut hold = None;
    if stand != Pending {
        store.activate(handle).unwrap();
    }
    if matches!(stand, Held | DyingHeld | ReapRequested) {
        hold = Some(store.hold(handle).unwrap());
    }
    if matches!(stand, Dying | DyingHeld | ReapRequested) {
        store.kill(handle).unwrap();
    }
    if matches!(stand, ReapRequested) {
        store.reap(handle).unwrap();
    }
    if matches!(stand, Gone | Replaced) {
        store.despawn(handle).unwrap();
    }
    if stand == Replaced {
        let next = store.spawn_active(census.payload(4)).unwrap();
        assert_eq!(next.id(), handle.id());
    }
    let answer = ask(&store, handle);
    drop(hold);
    (handle, answer)
}

/// What a refused step answers, from the table of legal edges alone.
fn refusal(stand: Stand, handle: Handle, needed: State, to: State) -> TransitionError {
    let Some(found) = stand.state() else {
        return lookup(stand, handle).into();
    };
    if found != needed {
        return match found.advance(to) {
            Ok(_) => TransitionError::WrongState { handle, found, needed },
            Err(transition) => TransitionError::Illegal { handle, transition },
        };
    }
    match stand {
        Guarded => TransitionError::Guarded { handle },
        ReapRequested => TransitionError::ReapRequested { handle },
        _ => panic!("{stand:?} refuses nothing that starts from {needed}"),
    }
}

fn lookup(stand: Stand, handle: Handle) -> LookupError {
    match stand {
        Gone => LookupError::NotFound { handle },
        Replaced => LookupError::Stale { handle, current: nonzero(2) },
        _ => panic!("{stand:?} is alive"),
    }
}

type Step = fn(&Store<Counted>, Handle) -> Result<(), TransitionError>;

/// A step, what it is called, its edge, and the stands in which it is carried out.
const STEPS: [(&str, Step, State, State, &[Stand]); 6] = [
    ("activate", Store::activate, State::Pending, State::Active, &[Pending]),
    ("cancel", Store::cancel, State::Pending, State::Dead, &[Pending]),
    ("kill", Store::kill, State::Active, State::Dying, &[Active, Held]),
    (
        "kill_and_hold",
        |store, handle| store.kill_and_hold(handle).map(drop),
        State::Active,
        State::Dying,
        &[Active, Held],
    ),
    ("revive", Store::revive, State::Dying, State::Active, &[Dying, DyingHeld]),
    (
        "reap",
        |store, handle| store.reap(handle).map(drop),
        State::Dying,
        State::Dead,
        &[Dying, DyingHeld],
    ),
];

#[test]
fn every_step_in_every_state_is_carried_out_or_refused_by_the_table() {
    for (name, step, needed, to, allowed) in STEPS {
        for stand in STANDS {
            let (handle, (answer, before, after)) = at(stand, |store, handle| {
                let before = store.state(handle);
                (step(store, handle), before, store.state(handle))
            });
            if allowed.contains(&stand) {
                assert_eq!(answer, Ok(()), "{name} in {stand:?}");
                let expected = match (stand, to) {
                    (DyingHeld, State::Dead) => Some(State::Dying), // deferred
                    (_, State::Dead) => None,
                    (_, to) => Some(to),
                };
                assert_eq!(after.ok(), expected, "{name} in {stand:?}");
            } else {
                let expected = refusal(stand, handle, needed, to);
                assert_eq!(answer, Err(expected), "{name} in {stand:?}");
                assert_eq!(after, before, "{name} in {stand:?} changed something");
                let found =
                    if let TransitionError::Lookup(_) = expected { None } else { stand.state() };
                assert_eq!(expected.found(), found, "{name} in {stand:?}");
            }
        }
    }
}

#[test]
fn the_same_through_a_session() {
    type Ask = fn(&hatchery::Pinned<'_, Counted>, Handle) -> Result<(), TransitionError>;
    let asks: [Ask; 6] = [
        |session, handle| session.activate(handle),
        |session, handle| session.cancel(handle),
        |session, handle| session.kill(handle),
        |session, handle| session.kill_and_hold(handle).map(drop),
        |session, handle| session.revive(handle),
        |session, handle| session.reap(handle).map(drop),
    ];
    for ((name, step, ..), ask) in STEPS.into_iter().zip(asks) {
        for stand in STANDS {
            let by_store = at(stand, step).1.map_err(|error| error.to_string());
            let (_, by_session) = at(stand, |store, handle| ask(&store.pin(), handle));
            let by_session = by_session.map_err(|error| error.to_string());
            // The stores have scene ids of their own; what is said about the entity is the same.
            let plain = |answer: &Result<(), String>| {
                answer.clone().map_err(|text| {
                    text.split_once(':').map_or(String::new(), |(_, rest)| rest.to_owned())
                })
            };
            assert_eq!(plain(&by_store), plain(&by_session), "{name} in {stand:?}");
        }
    }
}

#[test]
fn despawn_ends_whatever_is_alive_and_not_guarded() {
    for stand in STANDS {
        let (handle, (answer, after)) =
            at(stand, |store, handle| (store.despawn(handle), store.state(handle)));
        let expected = match stand {
            Pending | Active | Dying => Ok(Reaped::Done),
            Held | DyingHeld => Ok(Reaped::Deferred { holds: 1 }),
            Guarded => Err(TransitionError::Guarded { handle }),
            ReapRequested => Err(TransitionError::ReapRequested { handle }),
            Gone | Replaced => Err(lookup(stand, handle).into()),
        };
        assert_eq!(answer, expected, "{stand:?}");
        let state = match stand {
            Guarded => Some(State::Pending),
            Held | DyingHeld | ReapRequested => Some(State::Dying),
            _ => None,
        };
        assert_eq!(after.ok(), state, "{stand:?}");
    }
}

#[test]
fn reaping_a_held_one_is_deferred_and_a_free_one_done() {
    let reap = |stand| at(stand, |store, handle| store.reap(handle)).1;
    assert_eq!(reap(Dying), Ok(Reaped::Done));
    assert_eq!(reap(DyingHeld), Ok(Reaped::Deferred { holds: 1 }));
}

#[test]
fn every_read_in_every_state_answers_the_payload_or_says_why_not() {
    for stand in STANDS {
        let (handle, answers) = at(stand, |store, handle| {
            let session = store.pin();
            let get = session.get(handle).map(Counted::tag);
            let active = session.get_active(handle).map(Counted::tag);
            let both =
                session.get_with_state(handle).map(|(payload, state)| (payload.tag(), state));
            let hold = store.hold(handle).map(|hold| hold.tag());
            assert_eq!(session.contains(handle), get.is_ok());
            assert_eq!(session.state(handle), store.state(handle));
            assert_eq!(store.state(handle).ok(), stand.state());
            (get, active, both, hold)
        });
        let why = match stand.state() {
            Some(State::Pending) => Some(LookupError::Pending { handle }),
            Some(_) => None,
            None => Some(lookup(stand, handle)),
        };
        let (get, active, both, hold) = answers;
        if let Some(why) = why {
            assert_eq!((get, active, both), (Err(why), Err(why), Err(why)), "{stand:?}");
            assert_eq!(hold, Err(HoldError::Lookup(why)), "{stand:?}");
            assert_eq!(why.is_gone(), stand.state().is_none());
            continue;
        }
        let state = stand.state().unwrap();
        assert_eq!((get, both), (Ok(3), Ok((3, state))), "{stand:?}");
        let dying = LookupError::Dying { handle };
        assert_eq!(active, if state == State::Active { Ok(3) } else { Err(dying) }, "{stand:?}");
        let requested = HoldError::ReapRequested { handle };
        assert_eq!(hold, if stand == ReapRequested { Err(requested) } else { Ok(3) }, "{stand:?}");
    }
}

#[track_caller]
fn assert_reads_well(error: &dyn Error, parts: &[&str]) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "one plain line: {text:?}");
    assert!(!text.ends_with('.'), "no full stop: {text}");
    for part in parts {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn errors_are_one_plain_line_that_names_the_handle_and_the_states() {
    let handle = support::handle(SceneId(1), 42, 3);
    let name = "1:42/gen3";
    for error in [
        LookupError::NotFound { handle },
        LookupError::Pending { handle },
        LookupError::Dying { handle },
    ] {
        assert_reads_well(&error, &[name]);
        assert_eq!(error.handle(), handle);
        assert_reads_well(&TransitionError::from(error), &[name]);
        assert_reads_well(&HoldError::from(error), &[name]);
    }
    assert_reads_well(&LookupError::SceneMismatch { handle, scene: SceneId(7) }, &[name, "7"]);
    assert_reads_well(&LookupError::Stale { handle, current: nonzero(9) }, &[name, "9"]);
    assert_reads_well(&LookupError::Pending { handle }, &["pending"]);
    assert_reads_well(&LookupError::Dying { handle }, &["dying"]);
    let transition = State::Active.advance(State::Dead).unwrap_err();
    assert_reads_well(&transition, &["illegal transition active -> dead"]);
    let illegal = TransitionError::Illegal { handle, transition };
    assert_reads_well(&illegal, &[name, "active", "dead"]);
    let wrong = TransitionError::WrongState { handle, found: State::Dying, needed: State::Pending };
    assert_reads_well(&wrong, &[name, "dying", "pending"]);
    assert_reads_well(&TransitionError::Guarded { handle }, &[name]);
    assert_reads_well(&TransitionError::ReapRequested { handle }, &[name]);
    assert_reads_well(&TransitionError::TooManyHolds { handle, limit: 77 }, &[name, "77"]);
    assert_reads_well(&HoldError::ReapRequested { handle }, &[name]);
    assert_reads_well(&HoldError::TooManyHolds { handle, limit: 77 }, &[name, "77"]);
    assert_reads_well(&SpawnFailure::Exhausted { capacity: 64 }, &["64"]);
    assert_reads_well(&SpawnFailure::Reclaiming { dead: 65 }, &["65"]);
    assert_reads_well(&SpawnFailure::OutOfMemory { bytes: 4096 }, &["4096"]);
    for error in [illegal, wrong, LookupError::NotFound { handle }.into()] {
        assert_eq!(error.handle(), handle);
    }
    assert_eq!(HoldError::from(LookupError::NotFound { handle }).handle(), handle);
}

#[test]
fn errors_with_payloads_are_errors_for_every_payload() {
    /// Neither Debug nor Clone nor Display.
    struct Opaque;
    let store = Store::builder().limits(Limits::reject(5)).build().unwrap();
    let batch: BatchError<Opaque> = store.spawn_batch((0..7).map(|_| Opaque)).unwrap_err();
    assert_eq!((batch.spawned.len(), batch.rest.len()), (5, 2));
    assert_reads_well(&batch, &["5"]);
    let refused: SpawnError<Opaque> = store.spawn(Opaque).err().unwrap();
    assert_reads_well(&refused, &["5"]);
    assert!(!format!("{batch:?} {refused:?}").is_empty());
    let boxed: Box<dyn Error + Send + Sync> = Box::new(refused);
    let refused = boxed.downcast::<SpawnError<Opaque>>().unwrap();
    assert_eq!(refused.failure, SpawnFailure::Exhausted { capacity: 5 });
}

#[test]
fn an_error_finds_its_source() {
    let handle = support::handle(SceneId(1), 42, 3);
    fn pass<E: Error + Copy + Send + Sync + 'static>(error: E) -> String {
        error.to_string()
    }
    pass(LookupError::NotFound { handle });
    pass(TransitionError::Guarded { handle });
    pass(HoldError::ReapRequested { handle });
    pass(SpawnFailure::Reclaiming { dead: 1 });
    fn question_mark(store: &Store<u8>, handle: Handle) -> Result<(), Box<dyn Error>> {
        store.activate(handle)?;
        store.hold(handle)?;
        store.pin().get(handle)?;
        "1:42/gen3".parse::<Handle>().map_err(|error: ParseHandleError| error)?;
        Ok(())
    }
    let store = Store::new();
    let asked = store.spawn(1).unwrap().detach();
    question_mark(&store, asked).unwrap();
    assert!(question_mark(&store, asked).is_err());
}

#[test]
fn a_refused_configuration_names_its_field_and_value() {
    let build = |limits| Store::<u8>::builder().limits(limits).build();
    let refuse = |limits| build(limits).expect_err("limits that contradict themselves");
    assert_reads_well(&refuse(Limits::reject(0)), &["capacity", "0"]);
    assert_reads_well(&refuse(Limits::overwrite_oldest(0)), &["capacity", "0"]);
    assert_reads_well(&refuse(Limits::grow_to_cap(8, 4)), &["maxCapacity", "4", "8"]);
    let no_room = Store::<u8>::builder().limits(Limits::overwrite_oldest(4)).backlog(0).build();
    assert_reads_well(&no_room.unwrap_err(), &["backlog", "0", "1", "overwriteOldest"]);
    for policy in [Limits::reject(4), Limits::overwrite_oldest(4), Limits::grow_to_cap(4, 8)] {
        assert_eq!(build(policy).unwrap().limits(), policy);
    }
    let taken = build(Limits::reject(4)).unwrap();
    let error = Store::<u8>::builder().scene(taken.scene()).build().err().unwrap();
    assert_reads_well(&error, &["scene", &taken.scene().to_string()]);
}

#[test]
fn a_refused_configuration_keeps_no_scene_id() {
    let scene = SceneId(705);
    let refused = Store::<u8>::builder().scene(scene).limits(Limits::grow_to_cap(2, 1)).build();
    assert!(refused.is_err());
    assert_eq!(Store::<u8>::builder().scene(scene).build().unwrap().scene(), scene);
}

#[test]
fn public_types_are_debug() {
    let store = Store::new();
    let pending = store.spawn(41).unwrap();
    let session = store.pin();
    let text = format!("{store:?} {:?} {pending:?} {session:?}", store.downgrade());
    assert!(text.contains("41"), "a guard shows its payload: {text}");
    let handle = pending.activate();
    assert!(format!("{:?}", store.hold(handle).unwrap()).contains("41"));
    assert!(format!("{handle:?}{:?}{:?}", store.limits(), store.stats()).contains("spawned"));
}
