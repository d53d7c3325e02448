//! Fleets by seed: what must hold whatever happens, and what must not happen where nothing goes wrong.

use super::fleet::faulty::Rates;
use super::fleet::{Ailment, Options, Report, Script, run};
use millrace::coordination::Config;
use std::time::Duration;

/// Each of these seeds, or the one that `SEED` names; `SEEDS` is how many.
fn seeds(usual: u64) -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    number("SEED").map_or_else(|| (0..number("SEEDS").unwrap_or(usual)).collect(), |seed: u64| vec![seed])
}

fn hold(options: Options) -> Report {
    let seed = options.seed;
    let report = run(options);
    assert!(report.found.is_empty(), "seed {seed}, at {:?}: {:#?}\n{:?}", report.lasted, report.found, report.errors);
    report
}

#[test]
fn a_fleet_where_nothing_goes_wrong_delivers_each_record_once() {
    for seed in seeds(6) {
        let report = hold(Options::calm(seed));
        assert_eq!((report.duplicates, report.claims, report.errors.len()), (0, 4, 0), "seed {seed}: {report:?}");
        assert!(report.delivered > 200, "{report:?}");
    }
}

/// Workers come and go as planned, shards split and merge, and nothing fails.
fn planned(seed: u64) -> Options {
    Options { leaves: 15, reshards: 25, trouble: 240, ..Options::calm(seed) }
}

#[test]
fn planned_moves_splits_and_merges_repeat_nothing() {
    let (mut drained, mut completed) = (0, 0);
    for seed in seeds(40) {
        let report = hold(planned(seed));
        assert_eq!((report.duplicates, report.errors.len()), (0, 0), "seed {seed}: {report:?}");
        drained += report.drained;
        completed += report.completed;
    }
    assert!(drained > 100 && completed > 100, "{drained} drained, {completed} completed");
}

#[test]
fn i01_to_i18_hold_whatever_goes_wrong() {
    let (mut duplicates, mut completed) = (0, 0);
    for seed in seeds(150) {
        let report = hold(Options::rough(seed));
        duplicates += report.duplicates;
        completed += report.completed;
    }
    assert!(duplicates > 0 && completed > 100, "{duplicates} repeated, {completed} completed");
}

/// Children are found by listing while their parents are still read, by one leader and the next, and are told of again by
/// whoever comes to their parents' ends.
#[test]
fn i17_i18_children_that_a_listing_shows_first_wait_for_their_parents() {
    let config = Config { discover: Duration::from_secs(1), ..Config::default() };
    let (mut early, mut completed) = (0, 0);
    for seed in seeds(8) {
        let report = hold(Options { config, delivery: 6_000, reshards: 40, leaves: 10, ..Options::calm(seed) });
        assert_eq!(report.duplicates, 0, "seed {seed}: {report:?}");
        early += report.found_early;
        completed += report.completed;
    }
    for seed in seeds(8) {
        early += hold(Options { config, delivery: 3_000, reshards: 40, ..Options::rough(seed) }).found_early;
    }
    assert!(early > 50 && completed > 50, "{early} found early, {completed} completed");
}

#[test]
fn i16_lost_and_late_answers_alone_lose_nothing_and_move_nothing() {
    for seed in seeds(4) {
        let rates = Rates { lost: 12, late: 8, refused: 8 };
        hold(Options { rates, reshards: 25, leaves: 8, ..Options::calm(seed) });
    }
}

#[test]
fn drains_that_are_declined_or_come_too_late_are_forced() {
    for seed in seeds(8) {
        hold(Options { declines: 2, delivery: 15_000, leaves: 20, reshards: 10, ..Options::calm(seed) });
    }
}

#[test]
fn entries_that_outgrow_their_page_move_to_another() {
    let mut pages = 0;
    for seed in seeds(20) {
        let config = Config { page_entries: 2, page_bytes: 700, ..Config::default() };
        let report = hold(Options { config, reshards: 20, leaves: 5, shards: 6, ..Options::calm(seed) });
        pages += report.pages;
    }
    assert!(pages > 40, "{pages} pages");
}

/// The control task stands still for longer than a heartbeat may: renewal goes on without it.
#[test]
fn i14_a_worker_whose_control_task_is_held_up_keeps_its_splits() {
    for seed in seeds(4) {
        let mut script = Script::new(Options::calm(seed));
        for second in 0..150 {
            if second == 60 {
                script.strike("w-0", Ailment::Stalled, 50);
            }
            script.second();
            script.happen();
        }
        let report = script.settle();
        assert!(report.found.is_empty(), "seed {seed}: {:#?}", report.found);
        assert_eq!((report.claims, report.duplicates), (4, 0), "seed {seed}: {report:?}");
    }
}

/// A worker that is paused past its time wakes: it has lost its splits, stops them, and commits nothing.
#[test]
fn scenario_26_a_worker_that_wakes_after_its_time_is_fenced() {
    for seed in seeds(6) {
        let mut script = Script::new(Options::calm(seed));
        for second in 0..180 {
            if second == 40 {
                script.strike("w-0", Ailment::Paused, 60);
            }
            script.second();
            script.happen();
        }
        let report = script.settle();
        assert!(report.found.is_empty(), "seed {seed}: {:#?}", report.found);
        assert!(report.claims > 4, "seed {seed}: nobody took over: {report:?}");
    }
}

/// A third worker joins: each split moves at most once, without a repetition.
#[test]
fn scenario_27_a_worker_that_joins_gets_its_share_by_drains() {
    for seed in seeds(4) {
        let mut script = Script::new(Options { workers: 2, shards: 6, ..Options::calm(seed) });
        for second in 0..180 {
            if second == 40 {
                script.join("w-2");
            }
            script.second();
            script.happen();
        }
        let report = script.settle();
        assert!(report.found.is_empty(), "seed {seed}: {:#?}", report.found);
        assert_eq!((report.claims, report.drained, report.duplicates), (8, 2, 0), "seed {seed}: {report:?}");
    }
}

/// The store is out of reach of everybody for two minutes.
#[test]
fn scenario_29_a_store_that_is_away_for_two_minutes_stops_work_and_not_for_good() {
    for seed in seeds(6) {
        let mut script = Script::new(Options::calm(seed));
        for second in 0..200 {
            for worker in 0..script.fleet.options.workers {
                if second == 40 {
                    script.strike(&format!("w-{worker}"), Ailment::Cut, 120);
                }
            }
            script.second();
            script.happen();
        }
        let report = script.settle();
        assert!(report.found.is_empty(), "seed {seed}: {:#?}", report.found);
    }
}

#[test]
fn one_seed_gives_one_run() {
    let run = || format!("{:?}", run(Options::rough(5)));
    assert_eq!(run(), run());
}
