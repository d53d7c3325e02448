//! The worker's steps, one by one.

use super::{Act, Desk, Through};
use crate::api::progress::RootAt;
use crate::api::stream_worker::{Fault, Instruction, Outcome, Stage};
use crate::flow::{Digest, RootEpoch, RootRef};
use crate::program::Change;
use std::time::Duration;

const NOW: Duration = Duration::from_secs(10);

fn root(epoch: i64) -> RootRef {
    RootRef { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
}

fn at(epoch: i64) -> RootAt {
    RootAt { epoch: RootEpoch::new(epoch), digest: root(epoch).digest.to_string() }
}

fn told(stage: Stage, epoch: i64, committed: Option<i64>) -> Instruction {
    Instruction { pipeline_uid: "u".into(), root: at(epoch), stage, committed: committed.map(at), live: None, requests: Vec::new() }
}

fn fault(may_pass: bool) -> Fault {
    Fault { code: "MR0000".into(), reason: "Why".into(), message: "why".into(), may_pass }
}

fn outcome(desk: &Desk) -> (i64, Outcome) {
    let through = Through { is_through: true, ..Through::default() };
    let answer = desk.answer("i", through).unwrap();
    (answer.root.epoch.get(), answer.outcome)
}

fn acknowledges(desk: &Desk, epoch: i64) -> bool {
    matches!(outcome(desk), (at, Outcome::Acknowledged { .. }) if at == epoch)
}

/// A worker that runs the root of this epoch, which the operator has committed.
fn running(epoch: i64) -> Desk {
    let mut desk = Desk::new("u");
    desk.tell(told(Stage::Commit, epoch, Some(epoch)));
    desk.joined(1);
    desk.read(1, Some(root(epoch)));
    install(&mut desk, epoch);
    assert_eq!(desk.next(NOW, true), Some(Act::Ready(1)));
    assert_eq!(desk.next(NOW, true), None);
    desk
}

fn load(desk: &mut Desk, epoch: i64) {
    assert_eq!(desk.next(NOW, true), Some(Act::Load(root(epoch))));
    desk.loaded(root(epoch), Ok(()), NOW);
}

fn install(desk: &mut Desk, epoch: i64) {
    load(desk, epoch);
    take(desk, epoch);
}

fn take(desk: &mut Desk, epoch: i64) {
    assert_eq!(desk.next(NOW, true), Some(Act::Install(root(epoch))));
    desk.installing(root(epoch), Change::default());
    assert_eq!(desk.next(NOW, true), None, "while it changes over");
    desk.switched();
}

#[test]
fn a_first_start_prepares_then_installs_then_acknowledges_and_claims_after_reading_the_root() {
    let mut desk = Desk::new("u");
    desk.tell(told(Stage::Prepare, 1, None));
    assert_eq!(outcome(&desk), (1, Outcome::Waiting { reason: "Preparing".into() }));
    load(&mut desk, 1);
    assert_eq!(outcome(&desk), (1, Outcome::Prepared));
    desk.joined(7);
    desk.read(7, None);
    assert_eq!(desk.next(NOW, true), None, "nothing is committed, so nothing is installed");
    desk.tell(told(Stage::Commit, 1, Some(1)));
    take(&mut desk, 1);
    assert!(acknowledges(&desk, 1));
    assert_eq!(desk.next(NOW, false), None, "no source yet");
    assert_eq!(desk.next(NOW, true), Some(Act::Ready(7)));
    assert!(desk.is_ready());
}

#[test]
fn i38_claims_wait_for_the_root_that_was_read_after_joining() {
    let mut desk = running(3);
    desk.joined(2);
    assert!(!desk.is_ready());
    assert_eq!(desk.next(NOW, true), None, "not read since the lapse");
    desk.read(1, Some(root(3)));
    assert_eq!(desk.next(NOW, true), None, "an answer of an earlier term says nothing");
    desk.read(2, Some(root(4)));
    load(&mut desk, 4);
    take(&mut desk, 4);
    assert_eq!(desk.next(NOW, true), Some(Act::Ready(2)));
    let mut floored = running(3);
    floored.joined(2);
    floored.read(2, Some(root(5)));
    assert_eq!(floored.next(NOW, true), Some(Act::Load(root(5))));
    floored.loaded(root(5), Err(fault(false)), NOW);
    assert_eq!(floored.next(NOW, true), None, "below its floor it claims nothing");
    assert_eq!(floored.trouble(), Some(&fault(false)));
    assert_eq!(outcome(&floored), (5, Outcome::Rejected { fault: fault(false) }));
    assert_eq!(floored.next(NOW + Duration::from_secs(3), true), Some(Act::Load(root(5))), "what is committed is tried again");
}

#[test]
fn a_prepared_program_is_installed_by_its_commit_and_forgotten_by_its_cancel() {
    let mut desk = running(1);
    desk.tell(told(Stage::Prepare, 2, Some(1)));
    load(&mut desk, 2);
    assert_eq!((desk.next(NOW, true), outcome(&desk)), (None, (2, Outcome::Prepared)));
    desk.tell(told(Stage::Cancel, 2, Some(1)));
    assert_eq!(desk.next(NOW, true), Some(Act::Forget(root(2))));
    assert!(acknowledges(&desk, 1), "a cancelled one leaves the answer to the committed one");
    desk.tell(told(Stage::Prepare, 3, Some(1)));
    load(&mut desk, 3);
    desk.tell(told(Stage::Commit, 3, Some(3)));
    assert_eq!(outcome(&desk), (3, Outcome::Waiting { reason: "Installing".into() }));
    take(&mut desk, 3);
    assert!(acknowledges(&desk, 3));
}

#[test]
fn a_rejection_for_good_is_not_tried_again_and_one_that_may_pass_is() {
    let mut desk = running(1);
    desk.tell(told(Stage::Prepare, 2, Some(1)));
    assert_eq!(desk.next(NOW, true), Some(Act::Load(root(2))));
    desk.loaded(root(2), Err(fault(false)), NOW);
    assert_eq!(outcome(&desk), (2, Outcome::Rejected { fault: fault(false) }));
    assert_eq!(desk.next(NOW + Duration::from_mins(1), true), None);
    let mut desk = running(1);
    desk.tell(told(Stage::Prepare, 2, Some(1)));
    assert_eq!(desk.next(NOW, true), Some(Act::Load(root(2))));
    desk.loaded(root(2), Err(fault(true)), NOW);
    assert_eq!(desk.next(NOW, true), None);
    assert_eq!(desk.next(NOW + Duration::from_secs(2), true), Some(Act::Load(root(2))));
}

#[test]
fn older_instructions_and_other_pipelines_are_refused() {
    let mut desk = running(4);
    desk.tell(told(Stage::Prepare, 3, Some(3)));
    desk.tell(Instruction { pipeline_uid: "another".into(), ..told(Stage::Commit, 9, Some(9)) });
    assert_eq!(desk.next(NOW, true), None);
    assert!(acknowledges(&desk, 4));
    desk.tell(told(Stage::Prepare, 5, Some(3)));
    assert_eq!(desk.next(NOW, true), None, "what was committed is never taken back");
}

#[test]
fn an_answer_waits_until_every_split_is_through() {
    let desk = running(2);
    let answer = desk.answer("i", Through::default()).unwrap();
    assert_eq!(answer.outcome, Outcome::Waiting { reason: "CuttingOver".into() });
    assert_eq!((answer.installed, answer.incarnation), (Some(at(2)), "i".to_owned()));
    let splits = [("s-1".to_owned(), "49".to_owned())].into();
    let through = Through { is_through: true, splits };
    let Some(Outcome::Acknowledged { splits, .. }) = desk.answer("i", through).map(|answer| answer.outcome) else {
        panic!("it does not acknowledge");
    };
    assert_eq!(splits["s-1"], "49");
}

#[test]
fn a_split_under_a_higher_root_has_that_installed_first() {
    let mut desk = running(2);
    desk.see(root(3));
    load(&mut desk, 3);
    take(&mut desk, 3);
    assert_eq!(desk.installed(), Some(root(3)));
    assert_eq!(outcome(&desk), (2, Outcome::Waiting { reason: "Ahead".into() }));
}
