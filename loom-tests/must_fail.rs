//! Models that must fail: with a fault planted in the algorithm, or with one side of an ordering
//! tag taken away. A model that passes all the same proves nothing.
//!
//! Each run is a process of its own, of this very test binary (`.ci/models faults`, `.ci/models
//! weaken`). The tables are checked against the code by `tests/ordering.rs`.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Each fault that `planted` knows, and the model that catches it.
const FAULTS: [(&str, &str); 46] = [
    ("alone beside a remote", "scene::ticket_against_a_sweep_keeps_the_actor_or_is_refused"),
    (
        "slot taken back under its generation",
        "scene::ticket_of_a_slot_that_serves_the_next_actor_is_refused",
    ),
    ("existence looked at twice", "scene::actor_that_is_gone_for_a_remote_does_not_come_back"),
    ("sweep ignores tickets", "scene::ticket_against_a_sweep_keeps_the_actor_or_is_refused"),
    ("request tried once", "scene::requests_of_two_come_out_once_each"),
    (
        "inbox closed after it was emptied",
        "scene::remote_creation_against_shutdown_leaves_nothing_pending",
    ),
    (
        "hold of what is pending",
        "scene::remote_creation_against_a_frame_is_admitted_in_it_or_the_next",
    ),
    (
        "kill ahead of its actor dropped",
        "scene::remote_kill_ahead_of_its_actor_is_carried_out_after_the_admission",
    ),
    ("kill carried out in a shutdown", "scene::remote_kill_against_shutdown_ends_the_actor_once"),
    ("untagged head", "free::box_given_back_at_once_has_one_owner"),
    ("push without a grace period", "reclaim::reader_against_kill_reap_and_respawn_reads_its_own"),
    (
        "destructor before the grace period",
        "reclaim::deferred_call_after_the_store_is_gone_reaches_nothing",
    ),
    ("reap ignores holds", "word::hold_against_reap_keeps_the_entity_or_is_refused"),
    ("hold after a reap request", "word::hold_against_despawn_keeps_the_entity_or_is_refused"),
    ("guard ignored", "word::cancel_against_activate_of_a_detached_entity_has_one_winner"),
    ("upgrade of a closed store", "closing::gate_is_closed_once_after_everybody_has_left"),
    ("generation not advanced", "handles::stale_handle_against_respawn_touches_no_stranger"),
    (
        "publication before the payload",
        "handles::forged_handle_against_the_first_spawn_is_none_or_complete",
    ),
    ("permit whoever took it", "permits::two_takers_and_a_giver_never_have_two_alive"),
    ("one pass before a refusal", "permits::taker_gets_the_permit_that_moves"),
    ("growth by a plain store", "permits::units_added_by_two_are_never_more_than_the_growth"),
    ("no horizon", "eviction::list_made_during_activations_serves_later_calls_in_order"),
    ("list in the order of the slots", "eviction::elder_before_the_scan_is_ended_first"),
    ("eviction ignores holds", "eviction::eviction_against_hold_passes_over_or_refuses"),
    ("evicted unit given back as well", "eviction::spawn_into_a_full_store_against_kill_and_reap"),
    ("list dropped under its readers", "eviction::list_is_not_dropped_under_its_readers"),
    ("claim whoever has it", "magazine::claim_against_claim_gives_each_slot_once"),
    ("edge by a plain store", "word::kill_against_kill_has_one_winner"),
    ("hold by fetch-add", "word::hold_against_reap_keeps_the_entity_or_is_refused"),
    ("dead slot by a plain store", "free::dead_slots_pushed_by_two_come_out_once"),
    (
        "close ignores holds",
        "closing::last_store_dropped_against_the_last_hold_drops_the_payload_once",
    ),
    ("stash closed without a fence", "reuse::payload_kept_against_the_closing_is_dropped"),
    ("unit whoever took it", "pool::two_acquisitions_get_two_objects"),
    ("one pass before a pool refuses", "pool::taker_gets_the_object_that_moves"),
    ("revoke of a lease in use", "pool::use_against_reset_is_seen_or_passed_over"),
    (
        "push on a closed stack",
        "pool::last_pool_dropped_against_the_last_lease_drops_the_object_once",
    ),
    (
        "lease shown before its number",
        "pool_overwriting::lease_given_out_during_a_search_is_younger_than_the_others",
    ),
    (
        "revoked lease keeps its reference",
        "pool_overwriting::overwritten_lease_dropped_against_the_last_pool_frees_once",
    ),
    ("marked after it is shown", "scan::entity_that_somebody_has_seen_is_in_a_scan"),
    ("batch said to be marked", "scan::entity_in_a_slot_that_was_used_before_is_in_a_scan"),
    ("claim does not look at the attic", "looking::segment_stays_while_somebody_looks"),
    ("claim after the look at the attic", "looking::segment_stays_while_somebody_looks"),
    (
        "shrink under who looks",
        "shrink::stale_handle_without_a_pin_against_shrink_finds_its_end_or_nothing",
    ),
    ("segment freed at once", "shrink::stale_handle_against_shrink_finds_its_end_or_nothing"),
    ("generations not kept", "shrink::stale_handle_against_a_regrow_never_sees_a_forgetful_slot"),
    (
        "no mark where a segment was",
        "shrink::late_grower_makes_no_segment_where_one_was_given_back",
    ),
];

/// Each side of each tag, and a model that fails without it.
const SIDES: [(&str, &str); 50] = [
    ("P1.w", "word::publication_carries_the_payload"),
    ("P1.r", "word::publication_carries_the_payload"),
    ("P2.w", "word::entity_activated_by_another_thread_is_complete_for_a_third"),
    ("P2.r", "word::cancel_against_activate_of_a_detached_entity_has_one_winner"),
    ("L1.w", "word::two_holds_dropped_after_a_reap_request_bury_once"),
    ("L1.r", "word::two_holds_dropped_after_a_reap_request_bury_once"),
    ("G1.w", "segment::forged_handle_against_a_new_small_segment_is_none_or_complete"),
    ("G1.r", "segment::forged_handle_against_a_new_small_segment_is_none_or_complete"),
    ("G2.w", "segment::forged_handle_against_a_new_directory_is_none_or_complete"),
    ("G2.r", "segment::forged_handle_against_a_new_directory_is_none_or_complete"),
    ("A1.w", "shrink::segment_given_back_by_one_and_made_again_by_another_is_the_same"),
    ("A1.r", "shrink::segment_given_back_by_one_and_made_again_by_another_is_the_same"),
    ("A2.w", "shrink::slot_of_a_segment_made_again_is_there_for_its_taker"),
    ("A2.r", "shrink::slot_of_a_segment_made_again_is_there_for_its_taker"),
    ("B1.w", "free::batches_pushed_and_popped_come_out_once"),
    ("B1.r", "free::batches_pushed_and_popped_come_out_once"),
    ("B2.w", "free::boxes_made_at_the_same_time_are_different"),
    ("B2.r", "free::boxes_made_at_the_same_time_are_different"),
    ("H1.w", "magazine::magazines_made_at_the_same_time_are_different"),
    ("H1.r", "magazine::magazines_made_at_the_same_time_are_different"),
    ("M1.w", "magazine::claim_against_claim_gives_each_slot_once"),
    ("M1.r", "magazine::claim_against_claim_gives_each_slot_once"),
    ("M2.w", "magazine::magazines_made_at_the_same_time_are_different"),
    ("M2.r", "magazine::magazines_made_at_the_same_time_are_different"),
    ("D1.w", "free::dead_slots_taken_by_two_come_out_once"),
    ("D1.r", "free::dead_slots_taken_by_two_come_out_once"),
    ("C1.w", "permits::two_takers_and_a_giver_never_have_two_alive"),
    ("C1.r", "permits::two_takers_and_a_giver_never_have_two_alive"),
    ("C2.w", "permits::taker_gets_the_permit_that_moves"),
    ("C2.r", "permits::taker_gets_the_permit_that_moves"),
    ("C3.w", "permits::taker_gets_the_unit_given_back_before_the_last_was_added"),
    ("C3.r", "permits::taker_gets_the_unit_given_back_before_the_last_was_added"),
    ("S1.w", "eviction::elder_behind_the_scan_is_ended_first"),
    ("S1.r", "eviction::elder_behind_the_scan_is_ended_first"),
    ("E1.w", "eviction::two_evictions_end_two"),
    ("E1.r", "eviction::two_evictions_end_two"),
    ("K1.w", "closing::gate_is_closed_once_after_everybody_has_left"),
    ("K1.r", "closing::gate_is_closed_once_after_everybody_has_left"),
    ("B3.w", "pool::taker_gets_the_object_that_moves"),
    ("B3.r", "pool::taker_gets_the_object_that_moves"),
    ("U1.w", "pool::use_against_reset_is_seen_or_passed_over"),
    ("U1.r", "pool::use_against_reset_is_seen_or_passed_over"),
    ("K2.w", "pool::last_pool_dropped_against_two_leases_drops_each_object_once"),
    ("K2.r", "pool::last_pool_dropped_against_two_leases_drops_each_object_once"),
    ("N1.w", "scene::request_pushed_against_take_and_close_comes_out_once"),
    ("N1.r", "scene::request_pushed_against_take_and_close_comes_out_once"),
    ("N2.w", "scene::shutdown_asked_for_by_another_thread_shows_what_it_did"),
    ("N2.r", "scene::shutdown_asked_for_by_another_thread_shows_what_it_did"),
    ("N3.w", "scene::remote_that_is_gone_shows_what_was_done_through_it"),
    ("N3.r", "scene::remote_that_is_gone_shows_what_was_done_through_it"),
];

#[test]
#[ignore = "runs the other models, by `.ci/models faults`"]
fn planted_faults_are_caught() {
    require_failures("MODEL_FAULT", &FAULTS);
}

/// The models that cost next to nothing: each may be the one that misses an operation's ordering.
const QUICK: [&str; 11] = [
    "closing",
    "free",
    "looking",
    "magazine",
    "permits",
    "pool",
    "reuse",
    "scene::request",
    "segment",
    "shrink::forged_handle",
    "word",
];

#[test]
#[ignore = "runs the other models, by `.ci/models weaken`"]
fn weakened_sides_are_caught() {
    require_failures("MODEL_WEAKEN", &SIDES);
}

/// The same for each operation alone: a tag may be needed in one place and idle in another.
#[test]
#[ignore = "runs the other models, by `.ci/models weaken`"]
fn weakened_operations_are_caught() {
    let operations = operations();
    let missed = operations.iter().filter(|(operation, side)| {
        let weakened = Some(("MODEL_WEAKEN", operation.as_str()));
        let model = SIDES.iter().find(|(name, _)| name == side).map(|(_, model)| model);
        let caught = model.is_some_and(|model| run(&[model], weakened).is_err())
            || run(&QUICK, weakened).is_err();
        println!("{}: {operation}, {side}", if caught { "caught" } else { "MISSED" });
        !caught
    });
    let missed = Vec::from_iter(missed);
    println!("{} of {} operations caught", operations.len() - missed.len(), operations.len());
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Each side of each tagged operation in the code: as `MODEL_WEAKEN` names it, and as the ledger
/// does.
fn operations() -> Vec<(String, String)> {
    let mut operations = Vec::new();
    let mut folders = vec![std::path::PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("sync/order.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for (number, line) in text.lines().enumerate() {
                    let at = format!("{}:{}", path.display(), number + 1);
                    let sides = line.split("ord!(").skip(1).flat_map(sides_of);
                    operations.extend(
                        sides.map(|(tag, side)| (format!("{at}.{side}"), format!("{tag}.{side}"))),
                    );
                }
            }
        }
    }
    operations.sort();
    operations.dedup();
    operations
}

/// The sides of what stands in an `ord!(..)`: `AcqRel: L1, P2` is L1's writer and P2's reader.
fn sides_of(ord: &str) -> Vec<(&str, char)> {
    let inner = ord.split(')').next().unwrap();
    let (kind, tags) = inner.split_once(':').unwrap();
    let tags = Vec::from_iter(tags.split(',').map(str::trim));
    match kind.trim_end_matches(" + SeqCst") {
        "Release" => vec![(tags[0], 'w')],
        "Acquire" => tags.into_iter().map(|tag| (tag, 'r')).collect(),
        _ => vec![(tags[0], 'w'), (tags[tags.len() - 1], 'r')],
    }
}

/// Runs each model with what stands beside it, and once without.
fn require_failures(variable: &str, table: &[(&str, &str)]) {
    let mut missed = Vec::new();
    let mut sound = BTreeMap::new();
    for &(name, model) in table {
        let passes = *sound.entry(model).or_insert_with(|| run(&[model], None).is_ok());
        if !passes {
            missed.push(format!("{model} fails with nothing planted"));
        }
        let begun = Instant::now();
        match run(&[model], Some((variable, name))) {
            Err(report) => {
                let seconds = begun.elapsed().as_secs_f64();
                println!("caught: {name} by {model} in {seconds:.2} s: {report}");
            }
            Ok(()) => {
                println!("MISSED: {name} by {model}");
                missed.push(format!("{model} passes with {variable}={name}"));
            }
        }
    }
    println!("{} of {} caught", table.len() - missed.len(), table.len());
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Runs models, or modules of them, in a process of its own; what it complained of, if it failed.
fn run(models: &[&str], planted: Option<(&str, &str)>) -> Result<(), String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--nocapture", "--test-threads=1"]);
    child.args(models.iter().map(|model| format!("models::{model}")));
    child.env_remove("MODEL_FAULT").env_remove("MODEL_WEAKEN").envs(planted);
    child.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    let output = child.output().unwrap();
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!out.contains("running 0 tests"), "there is no model {models:?}");
    if output.status.success() {
        return Ok(());
    }
    // The line after the first "panicked at" says what was found.
    let mut lines = errors.lines().skip_while(|line| !line.contains("panicked at"));
    let report = lines.nth(1).unwrap_or("no message");
    Err(report.trim().to_owned())
}
