//! Each invariant broken on purpose is found: a store, a source, a loop or a clock does one thing wrong, and the same
//! checks say which invariant no longer holds.

use super::fleet::faulty::{Lie, Rates};
use super::fleet::stream::Wrong;
use super::fleet::worker::Slip;
use super::fleet::{Options, run};
use millrace::coordination::Config;
use std::collections::BTreeSet;
use std::time::Duration;

/// Runs until one of these invariants is found broken; fails if none is, in any of the seeds.
fn finds(invariants: &[&str], options: impl Fn(u64) -> Options) {
    let mut others = BTreeSet::new();
    for seed in 0..60 {
        for found in run(options(seed)).found {
            let number = found.split(':').next().unwrap_or_default().to_owned();
            if invariants.contains(&number.as_str()) {
                return;
            }
            others.insert(number);
        }
    }
    panic!("none of {invariants:?} was found broken, but {others:?}");
}

fn quick() -> Config {
    Config { discover: Duration::from_secs(1), ..Config::default() }
}

fn rough(seed: u64) -> Options {
    Options::rough(seed)
}

#[test]
fn i01_evaluated_taken_for_durable_is_found() {
    finds(&["I1"], |seed| Options { slip: Slip::EvaluatedForDurable, ..rough(seed) });
}

#[test]
fn i01_a_position_beyond_its_records_is_found() {
    finds(&["I1"], |seed| Options { wrong: Wrong::RunsAhead, ..Options::calm(seed) });
}

#[test]
fn i02_a_position_that_falls_back_is_found() {
    finds(&["I2"], |seed| Options { wrong: Wrong::FallsBack, ..Options::calm(seed) });
}

#[test]
fn i03_state_of_another_boundary_than_its_position_is_found() {
    finds(&["I3"], |seed| Options { slip: Slip::LateState, ..Options::calm(seed) });
}

#[test]
fn i04_a_row_that_is_lost_in_silence_is_found() {
    finds(&["I1"], |seed| Options { slip: Slip::LosesRows, ..Options::calm(seed) });
}

#[test]
fn i05_rows_out_of_order_are_found() {
    finds(&["I5"], |seed| Options { slip: Slip::Reorders, ..Options::calm(seed) });
}

#[test]
fn i06_ownership_taken_without_comparing_is_found() {
    finds(&["I6", "I7"], |seed| Options { lie: Lie::BlindSplits, ..rough(seed) });
}

#[test]
fn i06_ownership_taken_without_the_seal_is_found() {
    finds(&["I6"], |seed| Options { lie: Lie::ForgetsSeals, ..rough(seed) });
}

#[test]
fn i07_an_epoch_that_is_not_raised_is_found() {
    finds(&["I7"], |seed| Options { lie: Lie::KeepsEpochs, ..Options::calm(seed) });
}

#[test]
fn i08_a_sealed_entry_that_is_written_is_found() {
    finds(&["I8", "I6"], |seed| Options { lie: Lie::BlindPages, ..rough(seed) });
}

#[test]
fn i09_a_lane_that_is_read_beside_its_successor_is_found() {
    finds(&["I9"], |seed| Options { slip: Slip::AnswersEarly, pauses: 30, ..Options::calm(seed) });
}

#[test]
fn i12_a_release_that_completes_is_found() {
    finds(&["I12"], |seed| Options { lie: Lie::CompletesReleases, leaves: 20, ..Options::calm(seed) });
}

#[test]
fn i12_i18_an_end_before_all_is_read_is_found() {
    finds(&["I12", "I1"], |seed| Options { wrong: Wrong::EndsEarly, reshards: 40, ..Options::calm(seed) });
}

#[test]
fn i14_a_clock_that_runs_at_half_speed_is_found() {
    finds(&["I14"], |seed| Options { clock: 50, cuts: 30, ..Options::calm(seed) });
}

#[test]
fn i16_a_lost_answer_taken_for_a_landing_is_found() {
    let rates = Rates { lost: 0, late: 15, refused: 0 };
    finds(&["quiescence", "I1", "I2", "I6", "I8", "I37", "I39"], |seed| Options {
        lie: Lie::ClaimsLanding,
        rates,
        leaves: 20,
        ..Options::calm(seed)
    });
}

#[test]
fn i17_i18_an_end_without_its_childrens_records_is_found() {
    finds(&["I18"], |seed| Options { wrong: Wrong::ForgetsChildren, reshards: 40, ..Options::calm(seed) });
}

#[test]
fn i17_a_listing_that_names_no_parents_is_found() {
    finds(&["I17"], |seed| Options { wrong: Wrong::ListsOrphans, config: quick(), reshards: 40, ..Options::calm(seed) });
}

#[test]
fn i41_a_tenancy_that_ends_as_fenced_and_is_not_is_found() {
    let rates = Rates { lost: 10, late: 0, refused: 0 };
    finds(&["I41"], |seed| Options { lie: Lie::ShowsSealed, rates, ..Options::calm(seed) });
}

#[test]
fn i39_state_that_does_not_follow_its_keys_is_found() {
    finds(&["I39", "I3"], |seed| Options { slip: Slip::ForgetsParents, reshards: 40, ..Options::calm(seed) });
}

/// Not broken: what a source says of a drain is stripped of its end.
#[test]
fn i12_a_source_that_completes_a_drain_is_not_believed() {
    let mut drained = 0;
    for seed in 0..5 {
        let report = run(Options { wrong: Wrong::CompletesDrain, leaves: 20, ..Options::calm(seed) });
        assert!(report.found.is_empty(), "seed {seed}: {report:#?}");
        drained += report.drained;
    }
    assert!(drained > 5, "{drained} drained");
}

/// Not broken: reads that show an older state start claims, and decide none.
#[test]
fn i06_reads_that_are_old_move_no_position_and_give_no_split_to_two() {
    for seed in 0..20 {
        let report = run(Options { lie: Lie::StaleSplits, crashes: 20, trouble: 90, ..Options::calm(seed) });
        let unsafe_things: Vec<_> = report.found.iter().filter(|found| !found.starts_with("quiescence")).collect();
        assert!(unsafe_things.is_empty(), "seed {seed}: {unsafe_things:#?}");
    }
}

/// A barrier that nobody answers keeps the split from being read by two lanes of one worker.
#[test]
fn i09_a_loop_that_never_lets_go_is_not_given_the_split_again() {
    for seed in 0..5 {
        let report = run(Options { slip: Slip::NeverLetsGo, pauses: 30, ..Options::calm(seed) });
        assert!(!report.found.iter().any(|found| found.starts_with("I9")), "seed {seed}: {:#?}", report.found);
    }
}
