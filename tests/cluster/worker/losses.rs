//! Workers that end, well or badly: what comes of the records and the state.

use super::fleet::{Fleet, STOPPED, all_came, root};
use crate::bed;
use crate::rows::{Cutover, Story, faults};
use nix::sys::signal::Signal;

#[test]
fn a_worker_that_is_asked_to_stop_releases_and_nothing_is_repeated() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 2, 4).await;
        // So long that nobody is taken for dead here: what is let go of is there for others at once.
        fleet.apply(&fleet.manifest(&root(1), |spec| spec["coordination"]["ttl"] = "1m".into()));
        let mut workers = vec![fleet.worker(0).await];
        let (feeder, reader) = (fleet.feeder(0), fleet.reader());
        fleet.acknowledged().await;
        fleet.shared_by(1).await;
        all_came(&reader, feeder.fed()).await;
        workers.push(fleet.worker(1).await);
        fleet.shared_by(2).await;
        all_came(&reader, feeder.fed()).await;
        let leader = fleet.leader();
        let other = 1 - leader;
        // The one that leads gives up the lead as well.
        workers[leader].stop(STOPPED).await;
        assert_eq!(fleet.owned_by(leader), Vec::<String>::new());
        fleet.shared_by(1).await;
        all_came(&reader, feeder.fed()).await;
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        let roots = vec![Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }];
        assert_eq!(faults(&Story { fed, roots, killed: None }, &reader.rows()), Vec::<String>::new());
        workers[other].stop(STOPPED).await;
        assert_eq!(fleet.owned_by(other), Vec::<String>::new());
        fleet.end().await;
    });
}

#[test]
fn a_worker_killed_is_taken_over_with_its_state() {
    bed::test(async |bed| {
        let (fleet, mut workers, (feeder, reader)) = Fleet::flowing(bed, 2).await;
        // The one that leads, so that another has to be elected first.
        let leader = fleet.leader();
        let killed = now();
        workers[leader].crash();
        fleet.shared_by(1).await;
        all_came(&reader, feeder.fed()).await;
        let good = now();
        // Its container is started again, in the same pod.
        workers[leader] = fleet.worker(leader).await;
        fleet.shared_by(2).await;
        all_came(&reader, feeder.fed()).await;
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        let roots = vec![Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }];
        let story = Story { fed, roots, killed: Some(killed..good) };
        assert_eq!(faults(&story, &reader.rows()), Vec::<String>::new());
        fleet.end().await;
    });
}

#[test]
fn a_worker_that_was_paused_past_its_time_has_lost_its_splits_and_takes_part_again() {
    bed::test(async |bed| {
        let (fleet, workers, (feeder, reader)) = Fleet::flowing(bed, 2).await;
        let other = 1 - fleet.leader();
        let paused = now();
        workers[other].signal(Signal::SIGSTOP);
        fleet.shared_by(1).await;
        all_came(&reader, feeder.fed()).await;
        workers[other].signal(Signal::SIGCONT);
        fleet.shared_by(2).await;
        all_came(&reader, feeder.fed()).await;
        let good = now();
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        let roots = vec![Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }];
        let story = Story { fed, roots, killed: Some(paused..good) };
        assert_eq!(faults(&story, &reader.rows()), Vec::<String>::new());
        fleet.end().await;
    });
}

/// The service's time, in milliseconds: it runs on this machine.
pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
