//! Random operations by one thread, against a plain model: a map of who is alive.
//! Every answer, every state and every number must be the model's.

#[path = "support/model.rs"]
mod model;
mod support;

use std::collections::BTreeSet;

use hatchery::{
    Handle, Hold, HoldError, Limits, LookupError, Pending, Pinned, Reaped, SpawnFailure, State,
    StateSet, Store, TransitionError,
};
use model::{ACTIVATED, CANCELLED, Model, REJECTED, SPAWNED, Step};
use proptest::prelude::*;
use support::{Census, Counted, nonzero, panic_quietly, panics};

#[derive(Clone, Copy, Debug)]
enum Spawn {
    Active,
    Detached,
    Guarded,
    With,
    Panicking,
}

/// The numbers choose among what there is: handles ever issued, guards, holds.
#[derive(Clone, Debug)]
enum Op {
    Spawn(Spawn),
    SpawnBatch(usize),
    GuardActivate(usize),
    GuardCancel(usize),
    GuardDetach(usize),
    GuardDrop(usize),
    Step(usize, Step),
    Hold(usize),
    CloneHold(usize),
    DropHold(usize),
    DespawnBatch(Vec<usize>),
    Clear,
    Reclaim,
    ReclaimUpTo(usize),
    Pin,
    Repin,
    Unpin,
    ResetStats,
}

fn op() -> impl Strategy<Value = Op> {
    let pick = 0..1000usize;
    let step = prop_oneof![
        2 => Just(Step::Activate),
        1 => Just(Step::Cancel),
        4 => Just(Step::Kill),
        2 => Just(Step::KillAndHold),
        2 => Just(Step::Revive),
        4 => Just(Step::Reap),
        3 => Just(Step::Despawn),
    ];
    let spawn = prop_oneof![
        6 => Just(Spawn::Active),
        2 => Just(Spawn::Detached),
        2 => Just(Spawn::Guarded),
        1 => Just(Spawn::With),
        1 => Just(Spawn::Panicking),
    ];
    prop_oneof![
        20 => spawn.prop_map(Op::Spawn),
        2 => (0..6usize).prop_map(Op::SpawnBatch),
        2 => pick.clone().prop_map(Op::GuardActivate),
        1 => pick.clone().prop_map(Op::GuardCancel),
        1 => pick.clone().prop_map(Op::GuardDetach),
        1 => pick.clone().prop_map(Op::GuardDrop),
        30 => (pick.clone(), step).prop_map(|(at, step)| Op::Step(at, step)),
        4 => pick.clone().prop_map(Op::Hold),
        2 => pick.clone().prop_map(Op::CloneHold),
        5 => pick.clone().prop_map(Op::DropHold),
        2 => prop::collection::vec(pick, 0..5).prop_map(Op::DespawnBatch),
        1 => Just(Op::Clear),
        1 => Just(Op::Reclaim),
        1 => (0..4usize).prop_map(Op::ReclaimUpTo),
        1 => Just(Op::Pin),
        2 => Just(Op::Repin),
        2 => Just(Op::Unpin),
        1 => Just(Op::ResetStats),
    ]
}

/// A step through the store, or through a session when one is open.
fn carry_out<'s>(
    store: &'s Store<Counted>,
    session: Option<&Pinned<'s, Counted>>,
    handle: Handle,
    step: Step,
    holds: &mut Vec<Hold<Counted>>,
) -> Result<Option<Reaped>, TransitionError> {
    macro_rules! on {
        ($there:expr) => {
            match step {
                Step::Activate => $there.activate(handle).map(|()| None),
                Step::Cancel => $there.cancel(handle).map(|()| None),
                Step::Kill => $there.kill(handle).map(|()| None),
                Step::KillAndHold => $there.kill_and_hold(handle).map(|hold| {
                    holds.push(hold);
                    None
                }),
                Step::Revive => $there.revive(handle).map(|()| None),
                Step::Reap => $there.reap(handle).map(Some),
                Step::Despawn => $there.despawn(handle).map(Some),
            }
        };
    }
    match session {
        Some(session) => on!(session),
        None => on!(store),
    }
}

/// The whole store against the whole model.
fn compare(store: &Store<Counted>, model: &Model) {
    let session = store.pin();
    let recent = model.issued.iter().rev().take(20).chain(model.alive.keys());
    for handle in recent.copied() {
        let expected = model.lookup(handle);
        assert_eq!(store.state(handle), expected.map(|being| being.state));
        let read = expected.and_then(|being| match being.state {
            State::Pending => Err(LookupError::Pending { handle }),
            state => Ok((being.tag, state)),
        });
        assert_eq!(session.get_with_state(handle).map(|(p, state)| (p.tag(), state)), read);
        if let Ok(being) = expected {
            assert!(being.state == State::Pending || session.holds(handle) == Ok(being.holds));
        }
    }
    let met: Vec<(Handle, State, u64)> =
        session.iter_in(StateSet::READABLE).map(|(h, state, p)| (h, state, p.tag())).collect();
    let set: BTreeSet<(Handle, State, u64)> = met.iter().copied().collect();
    assert_eq!(met.len(), set.len(), "somebody was met twice");
    let readable = model.alive.iter().filter(|(_, being)| being.state != State::Pending);
    assert_eq!(set, readable.map(|(handle, being)| (*handle, being.state, being.tag)).collect());
    drop(session);

    let stats = store.stats();
    let counts = [
        stats.spawned,
        stats.activated,
        stats.cancelled,
        stats.killed,
        stats.revived,
        stats.reaped,
        stats.rejected,
    ];
    assert_eq!(counts, model.counts);
    assert_eq!(stats.acquired, stats.spawned + stats.rejected);
    let count = |state| model.alive.values().filter(|being| being.state == state).count();
    let gauges = [stats.live, stats.pending, stats.active, stats.dying];
    let [pending, active, dying] = [State::Pending, State::Active, State::Dying].map(count);
    assert_eq!(gauges, [model.alive.len(), pending, active, dying]);
    assert_eq!((store.len(), store.is_empty()), (model.alive.len(), model.alive.is_empty()));
    let holds: u32 = model.alive.values().map(|being| being.holds).sum();
    assert_eq!((stats.holds, stats.peak_live), (holds as usize, model.peak));
    assert_eq!(store.slots(), stats.slots);
    assert!(stats.live + stats.dead + stats.free <= stats.slots, "{stats:?}");
}

fn run(capacity: Option<usize>, backlog: Option<usize>, last_generation: u32, ops: Vec<Op>) {
    let census = Census::new();
    let limits = capacity.map_or(Limits::UNBOUNDED, Limits::reject);
    let mut builder = Store::builder().limits(limits).last_generation(nonzero(last_generation));
    if let Some(backlog) = backlog {
        builder = builder.backlog(backlog);
    }
    let store = builder.build().unwrap();
    let mut model = Model { last_generation, ..Model::default() };
    let mut holds: Vec<Hold<Counted>> = Vec::new();
    let mut guards: Vec<Pending<'_, Counted>> = Vec::new();
    let mut session: Option<Pinned<'_, Counted>> = None;
    let mut next_tag = 0;

    for op in ops {
        let choose = |at: usize, from: usize| (from > 0).then(|| at % from);
        let room = limits.capacity - model.alive.len().min(limits.capacity);
        // Whether a refusal is one that the model allows, counted.
        let refuse = |model: &mut Model, failure: SpawnFailure, pinned: bool| {
            model.counts[REJECTED] += 1;
            match failure {
                SpawnFailure::Exhausted { capacity } => {
                    assert_eq!((capacity, model.alive.len()), (limits.capacity, capacity));
                }
                SpawnFailure::Reclaiming { dead } => assert!(pinned && dead > 0 && room > 0),
                other => panic!("{other}"),
            }
        };
        let pinned = session.is_some();
        match op {
            Op::Spawn(how) => {
                next_tag += 1;
                let payload = || census.payload(next_tag);
                let spawned = match (&session, how) {
                    (Some(session), Spawn::With) => session.spawn_with(|_| payload()),
                    (None, Spawn::With) => store.spawn_with(|_| payload()),
                    (_, Spawn::Panicking) => {
                        let mut told = None;
                        let panicked = panics(|| {
                            let refused = store.spawn_with(|handle| {
                                told = Some(handle);
                                panic_quietly()
                            });
                            refuse(&mut model, refused.err().unwrap(), pinned);
                        });
                        assert_eq!(panicked, told.is_some());
                        if let Some(handle) = told {
                            model.issue(handle);
                            model.peak = store.stats().peak_live;
                            model.counts[SPAWNED] = store.stats().spawned;
                            model.counts[CANCELLED] = store.stats().cancelled;
                        }
                        continue;
                    }
                    (Some(session), _) => session.spawn(payload()).map_err(|e| e.failure),
                    (None, _) => store.spawn(payload()).map_err(|e| e.failure),
                };
                match spawned {
                    Err(failure) => refuse(&mut model, failure, pinned),
                    Ok(pending) => {
                        assert!(room > 0, "more than the capacity are alive");
                        let handle = pending.handle();
                        let state = match how {
                            Spawn::Active | Spawn::With => State::Active,
                            _ => State::Pending,
                        };
                        model.be_born(handle, next_tag, state, matches!(how, Spawn::Guarded));
                        match how {
                            Spawn::Guarded => guards.push(pending),
                            Spawn::Detached => assert_eq!(pending.detach(), handle),
                            _ => assert_eq!(pending.activate(), handle),
                        }
                    }
                }
            }
            Op::SpawnBatch(size) => {
                let first = next_tag + 1;
                next_tag += size as u64;
                let values = (first..).take(size).map(|tag| census.payload(tag));
                let handles = store.spawn_batch(values).unwrap_or_else(|error| {
                    let rest: Vec<u64> = error.rest.iter().map(Counted::tag).collect();
                    let stopped = first + error.spawned.len() as u64;
                    assert_eq!(rest, (stopped..first + size as u64).collect::<Vec<_>>());
                    for (handle, tag) in error.spawned.iter().zip(first..) {
                        model.be_born(*handle, tag, State::Active, false);
                    }
                    model.counts[REJECTED] += 1;
                    assert!(pinned || model.alive.len() == limits.capacity);
                    Vec::new()
                });
                for (handle, tag) in handles.into_iter().zip(first..) {
                    model.be_born(handle, tag, State::Active, false);
                }
            }
            Op::GuardActivate(at) => {
                let Some(at) = choose(at, guards.len()) else { continue };
                let handle = guards.swap_remove(at).activate();
                let being = model.alive.get_mut(&handle).unwrap();
                (being.state, being.guarded) = (State::Active, false);
                model.counts[ACTIVATED] += 1;
            }
            Op::GuardCancel(at) => {
                let Some(at) = choose(at, guards.len()) else { continue };
                let handle = guards[at].handle();
                assert_eq!(guards.swap_remove(at).cancel().tag(), model.alive[&handle].tag);
                model.end(handle, CANCELLED);
            }
            Op::GuardDetach(at) => {
                let Some(at) = choose(at, guards.len()) else { continue };
                let handle = guards.swap_remove(at).detach();
                model.alive.get_mut(&handle).unwrap().guarded = false;
            }
            Op::GuardDrop(at) => {
                let Some(at) = choose(at, guards.len()) else { continue };
                model.end(guards.swap_remove(at).handle(), CANCELLED);
            }
            Op::Step(at, step) => {
                let Some(at) = choose(at, model.issued.len()) else { continue };
                let handle = model.issued[model.issued.len() - 1 - at % 40 % model.issued.len()];
                let answer = carry_out(&store, session.as_ref(), handle, step, &mut holds);
                assert_eq!(answer, model.step(handle, step), "{step:?} of {handle}");
            }
            Op::Hold(at) => {
                let Some(at) = choose(at, model.issued.len()) else { continue };
                let handle = model.issued[at];
                let expected = match model.lookup(handle) {
                    Err(error) => Some(HoldError::Lookup(error)),
                    Ok(being) if being.state == State::Pending => {
                        Some(LookupError::Pending { handle }.into())
                    }
                    Ok(being) => being.requested.then_some(HoldError::ReapRequested { handle }),
                };
                let answer = store.hold(handle);
                assert_eq!(answer.as_ref().err(), expected.as_ref());
                if let Ok(hold) = answer {
                    holds.push(hold);
                    model.alive.get_mut(&handle).unwrap().holds += 1;
                }
            }
            Op::CloneHold(at) => {
                let Some(at) = choose(at, holds.len()) else { continue };
                holds.push(holds[at].clone());
                model.alive.get_mut(&holds[at].handle()).unwrap().holds += 1;
            }
            Op::DropHold(at) => {
                let Some(at) = choose(at, holds.len()) else { continue };
                let hold = holds.swap_remove(at);
                let being = &model.alive[&hold.handle()];
                assert_eq!((hold.tag(), hold.state()), (being.tag, being.state));
                assert_eq!(hold.is_reap_requested(), being.requested);
                model.drop_hold(hold.handle());
            }
            Op::DespawnBatch(chosen) => {
                let batch: Vec<Handle> = chosen
                    .into_iter()
                    .filter_map(|at| choose(at, model.issued.len()).map(|at| model.issued[at]))
                    .collect();
                let removed = store.despawn_batch(&batch);
                let answers: Vec<_> = batch.iter().map(|h| model.despawn(*h)).collect();
                let done = answers.iter().filter(|answer| **answer == Ok(Reaped::Done)).count();
                let asked = answers.iter().filter(|answer| answer.is_ok()).count();
                assert!((done..=asked).contains(&removed), "{removed} of {answers:?}");
            }
            Op::Clear => {
                let cleared = store.clear();
                let all: Vec<Handle> = model.alive.keys().copied().collect();
                let ended = all.into_iter().filter(|h| model.despawn(*h).is_ok()).count();
                let waiting = model.alive.values().filter(|being| being.requested).count();
                assert!((ended..=ended + waiting).contains(&cleared), "{cleared}, not {ended}");
            }
            Op::Reclaim => {
                store.reclaim();
                assert!(pinned || store.stats().dead == 0);
                assert!(pinned || census.alive() == model.alive.len(), "payloads that stayed");
            }
            Op::ReclaimUpTo(budget) => {
                let before = census.dropped();
                store.reclaim_up_to(budget);
                assert!(census.dropped() - before <= budget);
            }
            Op::Pin => session = session.or_else(|| Some(store.pin())),
            Op::Repin => session.iter_mut().for_each(Pinned::repin),
            Op::Unpin => session = None,
            Op::ResetStats => {
                store.reset_stats();
                model.counts = [0; 7];
                model.peak = model.alive.len();
            }
        }
        compare(&store, &model);
    }

    drop((guards, session));
    drop(store);
    let held: BTreeSet<Handle> = holds.iter().map(Hold::handle).collect();
    assert_eq!(census.alive(), held.len(), "only what is held outlives the store");
    for hold in &holds {
        assert_eq!((hold.tag(), hold.state()), (model.alive[&hold.handle()].tag, State::Dying));
    }
    drop(holds);
    census.assert_balanced();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_small_store_with_few_generations_behaves_like_the_model(
        capacity in 1..=6usize,
        backlog in prop::option::of(0..4usize),
        last_generation in 1..=7u32,
        ops in prop::collection::vec(op(), 1..160),
    ) {
        run(Some(capacity), backlog, last_generation, ops);
    }

    #[test]
    fn an_unbounded_store_behaves_like_the_model(
        last_generation in prop_oneof![Just(u32::MAX), 1..=3u32],
        ops in prop::collection::vec(op(), 1..200),
    ) {
        run(None, None, last_generation, ops);
    }
}
