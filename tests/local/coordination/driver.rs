//! What the driver makes of a source that fails, of a plan that ends, of a name that is taken.

use super::fleet::stream::Wrong;
use super::fleet::{Options, Script, run};
use millrace::coordination::Config;
use millrace::coordination::records::{SplitRecord, SplitState};
use millrace::coordination::store::{Key, Record};
use millrace::flow::SplitId;
use std::time::Duration;

fn one_worker(wrong: Wrong) -> Options {
    Options { workers: 1, shards: 2, wrong, ..Options::calm(3) }
}

fn after(seconds: u64, options: Options) -> Script {
    let mut script = Script::new(options);
    for _ in 0..seconds {
        script.second();
        script.happen();
    }
    script
}

fn record(script: &Script, split: &str) -> SplitRecord {
    match script.fleet.world.memory.snapshot().remove(&Key::Split(SplitId::new(split))).unwrap().record {
        Record::Split(record) => *record,
        other => panic!("{other:?}"),
    }
}

fn errors(script: &Script) -> Vec<String> {
    script.fleet.members.lock().workers.values().flat_map(|worker| worker.said.lock().errors.clone()).collect()
}

#[test]
fn an_opening_that_fails_once_is_tried_again_with_its_batch_and_charges_nothing() {
    let script = after(60, one_worker(Wrong::OpensHaltingly));
    assert_eq!((record(&script, "shard-000").attempts, record(&script, "shard-001").attempts), (0, 0));
    let report = script.settle();
    assert!(report.found.is_empty() && report.duplicates == 0, "{report:#?}");
}

#[test]
fn i15_a_split_that_cannot_be_opened_is_charged_and_holds_up_no_other() {
    let script = after(60, one_worker(Wrong::RefusesOne));
    let (bad, good) = (record(&script, "shard-000"), record(&script, "shard-001"));
    assert!(bad.attempts >= 2 && bad.last_error.is_some_and(|error| &*error.message == "cannot be opened"), "{}", bad.attempts);
    assert_eq!((good.attempts, good.state), (0, SplitState::Open));
    assert_eq!(script.fleet.world.checks.readers(&SplitId::new("shard-001")), 1);
    assert_eq!(script.fleet.world.checks.found(), Vec::<String>::new());
}

#[test]
fn i15_a_split_whose_place_cannot_be_told_is_taken_away_and_charged() {
    let script = after(60, one_worker(Wrong::LosesPlaces));
    let (bad, good) = (record(&script, "shard-000"), record(&script, "shard-001"));
    assert!(bad.attempts >= 2 && good.attempts == 0, "{} and {}", bad.attempts, good.attempts);
    assert!(errors(&script).contains(&"no place is known".to_owned()));
    assert_eq!(script.fleet.world.checks.readers(&SplitId::new("shard-001")), 1);
}

#[test]
fn a_split_whose_resume_is_refused_is_left_and_never_taken() {
    let script = after(60, one_worker(Wrong::RefusesResume));
    let (bad, good) = (record(&script, "shard-000"), record(&script, "shard-001"));
    assert!(bad.owner.is_none() && !bad.opened && good.owner.is_some());
    assert!(errors(&script).contains(&"no such position".to_owned()));
}

#[test]
fn a_listing_that_fails_is_told_of_and_holds_up_nothing() {
    let config = Config { discover: Duration::from_secs(1), ..Config::default() };
    let script = after(60, Options { config, reshards: 30, ..one_worker(Wrong::Nothing) });
    assert!(errors(&script).contains(&"a listing that fails".to_owned()));
    let report = script.settle();
    assert!(report.found.is_empty() && report.completed > 0 && report.errors.is_empty(), "{report:#?}");
}

#[test]
fn i02_a_place_of_another_record_than_asked_for_ends_the_worker() {
    let report = after(60, one_worker(Wrong::AnswersElse)).report();
    assert!(report.errors.iter().any(|error| error.contains("asked for the place of record")), "{report:#?}");
}

#[test]
fn an_error_that_the_pipeline_cannot_survive_ends_the_worker() {
    let report = after(30, one_worker(Wrong::Fatal)).report();
    assert!(report.errors.iter().any(|error| error == "no such stream"), "{report:#?}");
}

#[test]
fn all_is_complete_once_a_final_plan_is_read_to_its_end() {
    let mut script = after(40, Options { is_final: true, reshards: 30, ..Options::calm(4) });
    let told =
        |script: &Script| script.fleet.members.lock().workers.values().map(|worker| worker.said.lock().all_complete).collect::<Vec<_>>();
    assert!(told(&script).iter().all(|times| *times == 0));
    script.fleet.stream.finish();
    for _ in 0..60 {
        script.second();
    }
    assert!(told(&script).iter().all(|times| *times == 1), "{:?}", told(&script));
    assert_eq!(script.fleet.world.checks.unsettled(&script.fleet.world.memory), None);
}

#[test]
fn a_process_whose_name_is_taken_ends_and_its_successor_goes_on() {
    let mut script = after(30, one_worker(Wrong::Nothing));
    let first = script.fleet.members.lock().workers["w-0"].clone();
    script.join("w-0");
    for _ in 0..60 {
        script.second();
    }
    let ended = first.said.lock().ended.clone();
    assert_eq!(ended.as_deref(), Some("another process runs under this worker's name"));
    let report = script.settle();
    assert!(report.found.is_empty(), "{report:#?}");
}

#[test]
fn scenario_24_another_leads_when_the_leader_is_gone() {
    let mut script = after(30, Options { workers: 2, reshards: 40, ..Options::calm(9) });
    let leader = match script.fleet.world.memory.snapshot().remove(&Key::Leader).unwrap().record {
        Record::Leader(leader) => leader,
        other => panic!("{other:?}"),
    };
    script.strike(leader.holder.as_str(), super::fleet::Ailment::Crashed, 300);
    for _ in 0..90 {
        script.second();
        script.happen();
    }
    let second = match script.fleet.world.memory.snapshot().remove(&Key::Leader).unwrap().record {
        Record::Leader(leader) => leader,
        other => panic!("{other:?}"),
    };
    assert!(second.holder != leader.holder && second.term == leader.term + 1, "{second:?}");
    assert!(script.settle().found.is_empty());
}

#[test]
fn what_dead_workers_leave_behind_is_cleared_away() {
    let report = run(Options { crashes: 40, pauses: 0, trouble: 300, ..Options::calm(2) });
    assert!(report.found.is_empty(), "{report:#?}");
    assert!(report.claims > 12 && report.pages <= 6, "{report:?}");
}
