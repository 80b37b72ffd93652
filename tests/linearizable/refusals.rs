//! The checker can fail: histories that must be refused, and at which call, beside their nearest
//! relatives, which must pass.

use hatchery::{HoldError, LookupError, SpawnFailure, State, TransitionError};

use crate::draft::{
    Draft, a, a2, b, batch, deferred, despawned, did, exhausted, failed, got, guard, h, held,
    illegal, is, length, missed, not_found, not_held, pinned, reclaiming, reserved, spawned, stale,
    store, unheld, unpinned, wrote,
};
use crate::history::{GuardEnd, Step};

/// A store with the Active entity A, of tag 1.
fn with_a() -> Draft {
    store(None).then(spawned(1, a()))
}

/// A store from which A is gone.
fn without_a() -> Draft {
    with_a().then(did(Step::Despawn, a()))
}

#[test]
fn two_kills_that_both_win_are_refused() {
    let (kill, second) = (did(Step::Kill, a()), illegal(a(), State::Dying, State::Dying));
    with_a().at_once([kill.clone(), failed(Step::Kill, a(), second)]).passes();
    with_a().at_once([kill.clone(), kill.clone(), did(Step::Revive, a())]).passes();
    with_a().at_once([kill.clone(), kill.clone()]).refused_at(kill);
}

#[test]
fn activation_and_cancellation_that_both_win_are_refused() {
    let detached = || store(None).then(reserved(1, a())).then(guard(a(), GuardEnd::Detach));
    let too_late = failed(Step::Cancel, a(), illegal(a(), State::Active, State::Dead));
    detached().at_once([did(Step::Activate, a()), too_late]).passes();
    let cancelled = did(Step::Cancel, a());
    detached().at_once([did(Step::Activate, a()), cancelled.clone()]).refused_at(cancelled);
}

#[test]
fn read_after_a_reap_has_returned_is_refused() {
    let dying = || with_a().then(did(Step::Kill, a()));
    dying().at_once([did(Step::Reap, a()), got(a(), 1)]).passes();
    dying().then(did(Step::Reap, a())).refuses(got(a(), 1));
}

#[test]
fn spawn_of_a_handle_that_is_alive_is_refused() {
    with_a().then(spawned(2, b())).passes();
    with_a().refuses(spawned(2, a()));
    with_a().refuses(spawned(2, a2()));
    with_a().then(did(Step::Kill, a())).refuses(spawned(2, a2()));
}

#[test]
fn spawn_of_a_generation_that_is_not_the_next_is_refused() {
    without_a().then(spawned(2, a2())).passes();
    without_a().refuses(spawned(2, a()));
    without_a().refuses(spawned(2, h(0, 3)));
    with_a().refuses(spawned(2, h(1, 2)));
    let spent = without_a().then(spawned(2, a2())).then(did(Step::Despawn, a2()));
    let spent = spent.then(spawned(3, h(0, 3))).then(did(Step::Despawn, h(0, 3)));
    spent.refuses(spawned(4, h(0, 4)));
}

#[test]
fn stale_handle_that_meets_the_newcomer_is_refused() {
    let reused = || without_a().then(spawned(2, a2()));
    reused().then(got(a2(), 2)).then(missed(stale(a(), 2))).passes();
    reused().refuses(got(a(), 2));
    reused().refuses(got(a(), 1));
    reused().refuses(did(Step::Kill, a()));
    reused().refuses(held(a(), 2));
}

#[test]
fn wrong_variant_of_gone_is_refused() {
    let (ended, reused) = (missed(not_found(a())), missed(stale(a(), 2)));
    without_a().then(ended.clone()).then(spawned(2, a2())).then(reused.clone()).passes();
    without_a().at_once([spawned(2, a2()), ended.clone(), reused.clone()]).passes();
    without_a().refuses(reused.clone());
    without_a().then(spawned(2, a2())).refuses(ended.clone());
    without_a().at_once([spawned(2, a2()), reused]).refuses(ended.clone());
    with_a().then(missed(not_found(a2()))).refuses(ended);
}

#[test]
fn exhausted_while_a_unit_was_free_throughout_is_refused() {
    let one_of_two = || store(2).then(spawned(1, a()));
    one_of_two().at_once([spawned(2, b()), exhausted(2)]).passes();
    one_of_two().refuses(exhausted(2));
    one_of_two().at_once([did(Step::Despawn, a()), exhausted(2)]).refused_at(exhausted(2));
    one_of_two().then(spawned(2, b())).refuses(exhausted(1));
    with_a().refuses(exhausted(usize::MAX));
}

#[test]
fn two_refused_spawns_do_not_excuse_each_other() {
    let calls = [exhausted(1), exhausted(1)];
    store(1).at_once(calls.clone()).refused_at(exhausted(1));
    let [one, other] = calls;
    store(1).at_once([one, other, spawned(1, a())]).passes();
}

/// The entity is gone already; its unit is in the hands of the call that ended it, until that
/// returns.
#[test]
fn exhausted_after_the_end_of_an_entity_is_refused_once_its_call_has_returned() {
    let full = || store(1).then(spawned(1, a()));
    let (end, gone) = (did(Step::Despawn, a()), missed(not_found(a())));
    full().during(end.clone(), |calls| calls.then(gone.clone()).then(exhausted(1))).passes();
    full().then(end.clone()).refuses(exhausted(1));
    // The unit has gone to somebody else: it cannot be in the hands of the first as well.
    let given = full().during(end, |calls| {
        calls.then(gone).then(spawned(2, a2())).then(did(Step::Despawn, a2()))
    });
    given.refuses(exhausted(1));
}

#[test]
fn more_alive_than_the_capacity_is_refused() {
    store(1).then(spawned(1, a())).refuses(spawned(2, b()));
    let reaping = did(Step::Despawn, a());
    store(1).then(spawned(1, a())).at_once([reaping.clone(), spawned(2, b())]).passes();
    let alive = is(a(), State::Active);
    let both = store(1)
        .then(spawned(1, a()))
        .during(reaping, |calls| calls.then(spawned(2, b())).then(alive.clone()));
    both.refused_at(alive);
}

#[test]
fn reclaiming_without_a_pin_is_refused() {
    without_a().then(pinned()).then(reclaiming()).then(unpinned()).passes();
    without_a().during(reclaiming(), |calls| calls.then(pinned()).then(unpinned())).passes();
    without_a().at_once([pinned(), reclaiming()]).passes();
    without_a().refuses(reclaiming());
    without_a().then(pinned()).then(unpinned()).refuses(reclaiming());
    let full = store(1).then(spawned(1, a())).then(pinned());
    full.refuses(reclaiming());
}

#[test]
fn revival_after_a_reap_was_asked_for_is_refused() {
    let requested = || {
        let dying = with_a().then(held(a(), 1)).then(did(Step::Kill, a()));
        dying.then(deferred(Step::Reap, a(), 1))
    };
    let refusal = TransitionError::ReapRequested { handle: a() };
    requested().then(failed(Step::Revive, a(), refusal)).passes();
    requested().refuses(did(Step::Revive, a()));
    requested().refuses(deferred(Step::Reap, a(), 1));
    let race = with_a().then(held(a(), 1)).then(did(Step::Kill, a()));
    let (revived, reaped) = (did(Step::Revive, a()), deferred(Step::Reap, a(), 1));
    race.at_once([revived, reaped.clone()]).refused_at(reaped);
}

#[test]
fn hold_after_a_reap_was_asked_for_is_refused() {
    let requested = || with_a().then(held(a(), 1)).then(deferred(Step::Despawn, a(), 1));
    let refusal = HoldError::ReapRequested { handle: a() };
    requested().then(not_held(refusal)).then(got(a(), 1)).passes();
    requested().refuses(held(a(), 1));
}

#[test]
fn end_while_somebody_holds_is_refused() {
    let kept = || with_a().then(held(a(), 1)).then(deferred(Step::Despawn, a(), 1));
    kept().then(got(a(), 1)).then(unheld(a(), 1)).then(missed(not_found(a()))).passes();
    kept().refuses(missed(not_found(a())));
    kept().then(unheld(a(), 1)).refuses(got(a(), 1));
    with_a().then(held(a(), 1)).refuses(did(Step::Despawn, a()));
    with_a().then(did(Step::KillAndHold, a())).refuses(did(Step::Reap, a()));
    with_a().then(held(a(), 1)).refuses(deferred(Step::Despawn, a(), 2));
    with_a().refuses(deferred(Step::Despawn, a(), 1));
}

/// A despawn seals what it ends: others find it Dying for a moment, and can do nothing to it.
#[test]
fn despawn_that_lets_another_in_between_is_refused() {
    let (end, dying) = (did(Step::Despawn, a()), is(a(), State::Dying));
    with_a().during(end.clone(), |calls| calls.then(dying.clone())).passes();
    let refusal = failed(Step::Reap, a(), TransitionError::ReapRequested { handle: a() });
    with_a().during(end.clone(), |calls| calls.then(dying).then(refusal)).passes();
    let revived = did(Step::Revive, a());
    with_a().at_once([end.clone(), revived.clone()]).refused_at(revived);
    let reaped = did(Step::Reap, a());
    with_a().at_once([end, reaped.clone()]).refused_at(reaped);
}

#[test]
fn wrong_payload_is_refused() {
    with_a().then(spawned(2, b())).then(got(a(), 1)).then(got(b(), 2)).passes();
    with_a().then(spawned(2, b())).refuses(got(a(), 2));
    with_a().refuses(held(a(), 2));
    with_a().then(held(a(), 1)).refuses(unheld(a(), 2));
}

#[test]
fn read_of_what_is_not_complete_is_refused() {
    let written = || store(None).then(reserved(1, a())).then(wrote(a(), 2));
    let shown = guard(a(), GuardEnd::Activate);
    let unseen = missed(LookupError::NotFound { handle: b() });
    written().then(is(a(), State::Pending)).then(unseen).then(shown.clone()).passes();
    written().refuses(got(a(), 2));
    written().then(shown.clone()).refuses(got(a(), 1));
    written().at_once([shown, got(a(), 1)]).refused_at(got(a(), 1));
}

#[test]
fn operation_on_what_a_guard_has_to_itself_is_refused() {
    let guarded = || store(None).then(reserved(1, a()));
    for step in [Step::Activate, Step::Cancel, Step::Despawn] {
        guarded().then(failed(step, a(), TransitionError::Guarded { handle: a() })).passes();
        guarded().refuses(did(step, a()));
    }
}

#[test]
fn state_that_goes_back_by_itself_is_refused() {
    let kill = did(Step::Kill, a());
    let (active, dying) = (is(a(), State::Active), is(a(), State::Dying));
    with_a().during(kill.clone(), |calls| calls.then(active.clone()).then(dying.clone())).passes();
    with_a().during(kill, |calls| calls.then(dying).then(active.clone())).refused_at(active);
}

#[test]
fn error_that_names_another_state_is_refused() {
    let wrong = |found, needed| TransitionError::WrongState { handle: a(), found, needed };
    let dying = || with_a().then(did(Step::Kill, a()));
    dying().then(failed(Step::Activate, a(), wrong(State::Dying, State::Pending))).passes();
    dying().refuses(failed(Step::Activate, a(), wrong(State::Pending, State::Dying)));
    dying().refuses(failed(Step::Activate, a(), illegal(a(), State::Active, State::Active)));
    dying().refuses(failed(Step::Kill, a(), illegal(a(), State::Pending, State::Dying)));
}

#[test]
fn length_of_a_quiet_store_that_is_not_exact_is_refused() {
    with_a().then(length(1)).passes();
    with_a().refuses(length(0));
    with_a().refuses(length(2));
    without_a().refuses(length(1));
    with_a().at_once([spawned(2, b()), length(3)]).passes();
    with_a().at_once([spawned(2, b()), length(4)]).refused_at(length(4));
}

#[test]
fn batch_that_is_not_its_singles_is_refused() {
    let full = Some((1, SpawnFailure::Exhausted { capacity: 2 }));
    let both = batch(1, &[a(), b()], None);
    let alive = despawned(&[a(), b(), a()], 2);
    store(None).then(both.clone()).then(got(b(), 2)).then(alive).passes();
    store(2).then(batch(1, &[a(), b()], full)).passes();
    store(2).refuses(batch(1, &[a()], full));
    store(1).refuses(both.clone());
    store(None).then(both.clone()).refuses(got(b(), 1));
    store(None).then(both.clone()).refuses(despawned(&[a(), b(), a()], 3));
    store(None).then(both).then(did(Step::Despawn, a())).refuses(despawned(&[a()], 1));
}
