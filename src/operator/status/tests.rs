//! The table of moments: what each moment says.

use super::{Fleet, Seen, Trouble, Workers, Write, compose, moment};
use crate::api::condition::ConditionStatus::{self, False, True, Unknown};
use crate::api::condition::ConditionType;
use crate::api::pipeline::{CutoverStage, StreamPipelineSpec, StreamPipelineStatus};
use crate::api::stream_worker::Fault;
use crate::flow::RootEpoch;
use crate::operator::cutover::{Active, At, Rest, State, Tally, Target, Wish, Wrote, written};
use crate::operator::validate::{self, Verdict};
use crate::operator::workload::Worker;
use serde_json::json;
use std::time::Duration;

const GENERATION: i64 = 4;

fn verdict(root: &str) -> Verdict {
    let spec: StreamPipelineSpec = serde_json::from_value(
        json!({"source": {"kinesis": [{"streamName": "s"}]}, "root": {"inline": root}, "outputs": [{"name": "o", "stdout": {}}]}),
    )
    .unwrap();
    validate::judge(&spec, None)
}

fn pod(ready: bool, current: bool) -> Worker {
    Worker { name: "p-worker-0".into(), uid: "u".into(), current, ready, leaving: false, leads: false }
}

/// A moment, with what is usual where a test says nothing else.
struct Moment {
    verdict: Verdict,
    state: State,
    rest: Rest,
    tally: Option<Tally>,
    fleet: Fleet,
    faults: Vec<(String, Fault)>,
    acknowledged: usize,
    failure: Option<&'static str>,
    rolling: bool,
}

impl Moment {
    fn running() -> Self {
        let verdict = verdict("out a: Int = 1");
        let at = At { epoch: RootEpoch::new(1), digest: verdict.named().unwrap() };
        let active = Active { acked: true, soaked: true, ..Active::committed(Target { at, recovery: false }) };
        Self {
            state: State { epoch: at.epoch, active: Some(active), good: Some(at), ..State::default() },
            verdict,
            rest: Rest::Edit,
            tally: None,
            fleet: Fleet { wanted: 1, pods: vec![pod(true, true)], trouble: None },
            faults: Vec::new(),
            acknowledged: 1,
            failure: None,
            rolling: false,
        }
    }

    /// The spec has been edited to another program.
    fn edited() -> Self {
        Self { verdict: verdict("out a: Int = 2"), ..Self::running() }
    }

    fn named(&self) -> At {
        At { epoch: RootEpoch::new(2), digest: self.verdict.named().unwrap() }
    }

    fn status(&self) -> StreamPipelineStatus {
        self.after(&StreamPipelineStatus::default(), None)
    }

    fn after(&self, before: &StreamPipelineStatus, step: Option<Wrote>) -> StreamPipelineStatus {
        let wish = Wish {
            named: self.verdict.named(),
            valid: self.verdict.is_valid(),
            wanted: self.fleet.wanted > 0,
            retry: None,
            rolling: self.rolling,
        };
        let root = written(&self.state, &before.root.clone().unwrap_or_default(), Some(GENERATION), self.failure);
        let workers = Workers { acknowledged: self.acknowledged, version: None, image: "i".into() };
        let seen = Seen {
            name: "p",
            operator: "system/millrace",
            generation: GENERATION,
            verdict: &self.verdict,
            wish: &wish,
            state: &self.state,
            root: Some(&root),
            rest: self.rest,
            tally: self.tally.as_ref(),
            fleet: &self.fleet,
            obstacle: None,
            runs: true,
            faults: &self.faults,
            workers: &workers,
            splits: None,
        };
        let write = Write { step, plan: None, ack_timeout: Duration::from_mins(2), progress_deadline: Duration::from_mins(10) };
        compose(before, &seen, &write, moment(1_000_000_000))
    }
}

fn said(status: &StreamPipelineStatus, kind: &str) -> Option<(ConditionStatus, String)> {
    status.conditions.iter().find(|condition| condition.r#type == kind).map(|condition| (condition.status, condition.reason.clone()))
}

/// Holds a status against a row: `RootAcknowledged`, `CutoverSucceeded`, Ready, and which of the passing ones are there.
fn row(status: &StreamPipelineStatus, row: [(ConditionStatus, &str); 3], passing: &[&str]) {
    for (kind, (wanted, reason)) in ["RootAcknowledged", "CutoverSucceeded", "Ready"].into_iter().zip(row) {
        assert_eq!(said(status, kind), Some((wanted, reason.to_owned())), "{kind}");
    }
    for kind in ["Reconciling", "Stalled", "Paused", "Degraded", "DataLoss"] {
        assert_eq!(said(status, kind).is_some(), passing.contains(&kind), "{kind}");
    }
    for kind in ["Accepted", "WorkersAvailable", "SourceReachable", "RootAcknowledged", "CutoverSucceeded", "Available", "Ready"] {
        assert!(said(status, kind).is_some(), "{kind}");
    }
}

fn tally(total: usize, done: usize) -> Tally {
    let waiting = (done..total).map(|index| (format!("p-worker-{index}"), String::new())).collect();
    Tally { total, done, waiting, ..Tally::default() }
}

#[test]
fn scenario_53_done_is_true_all_over() {
    row(&Moment::running().status(), [(True, "AllWorkers"), (True, "Done"), (True, "AsSpecified")], &[]);
}

#[test]
fn scenario_53_a_root_that_does_not_check_leaves_the_last_cutover_as_it_was() {
    let before = Moment::running().status();
    let bad = Moment { verdict: verdict("out a: Int = b"), ..Moment::running() };
    let status = bad.after(&StreamPipelineStatus { observed_generation: Some(3), ..before.clone() }, None);
    row(&status, [(False, "NotAccepted"), (True, "Done"), (False, "RootInvalid")], &["Stalled"]);
    let accepted = status.conditions.iter().find(|condition| condition.r#type == "Accepted").unwrap();
    assert!(accepted.message.starts_with("1:14: MR1") && accepted.message.contains("goes on"), "{}", accepted.message);
    assert_eq!(said(&status, "Available").unwrap().0, True);
}

#[test]
fn scenario_53_a_cutover_under_way_is_reconciling() {
    let edited = Moment::edited();
    let target = Target { at: edited.named(), recovery: false };
    let preparing = Moment {
        state: State { epoch: RootEpoch::new(2), target: Some(target), ..edited.state },
        rest: Rest::Prepare,
        tally: Some(tally(3, 2)),
        ..edited
    };
    let status = preparing.after(&StreamPipelineStatus::default(), Some(Wrote::Intent));
    row(&status, [(False, "AwaitingPrepare"), (False, "InProgress"), (False, "AwaitingPrepare")], &["Reconciling"]);
    let cutover = status.cutover.unwrap();
    assert_eq!((cutover.stage, cutover.prepared, cutover.total), (Some(CutoverStage::Prepare), Some(2), Some(3)));
    assert_eq!(cutover.stragglers, ["p-worker-2"]);
    assert!(cutover.deadline.unwrap().0 == moment(1_120_000_000) && cutover.started_at.is_some());
    let active = Some(Active::committed(target));
    let switching = Moment { state: State { active, target: None, ..preparing.state }, rest: Rest::Acknowledge, ..preparing };
    row(&switching.status(), [(False, "AwaitingAck"), (False, "InProgress"), (False, "AwaitingAck")], &["Reconciling"]);
    let rolling = Moment { rest: Rest::Rollout, rolling: true, ..Moment::edited() };
    row(&rolling.status(), [(False, "AwaitingRollout"), (False, "InProgress"), (False, "AwaitingRollout")], &["Reconciling"]);
}

#[test]
fn scenario_53_what_failed_is_stalled_and_says_how_to_go_on() {
    let edited = Moment::edited();
    let blocked = Some(edited.named());
    let aborted = Moment {
        state: State { epoch: RootEpoch::new(2), blocked, ..edited.state },
        failure: Some("WorkerRejected: p-worker-0: no"),
        ..edited
    };
    let status = aborted.status();
    row(&status, [(False, "WorkerRejected"), (False, "Aborted"), (False, "WorkerRejected")], &["Stalled"]);
    let message = &status.conditions.iter().find(|condition| condition.r#type == "RootAcknowledged").unwrap().message;
    assert!(message.contains("p-worker-0: no") && message.contains("retryEpoch: 2"), "{message}");
    assert_eq!(said(&status, "Available").unwrap().0, True);
    assert_eq!(status.root.unwrap().failed.len(), 1);
}

#[test]
fn scenario_53_at_zero_as_asked_is_ready() {
    let zero = Moment { fleet: Fleet { wanted: 0, ..Fleet::default() }, acknowledged: 0, ..Moment::running() };
    row(&zero.status(), [(True, "NoWorkers"), (True, "Done"), (True, "ScaledToZero")], &[]);
    assert_eq!(said(&zero.status(), "WorkersAvailable").unwrap(), (True, "ScaledToZero".to_owned()));
}

#[test]
fn scenario_54_pods_that_do_not_run_are_never_acknowledged_and_say_why() {
    let edited = Moment::edited();
    let active = Some(Active::committed(Target { at: edited.named(), recovery: false }));
    let trouble = Some(Trouble { reason: "CrashLoop", message: "pod p-worker-0 keeps ending".into() });
    let down = Moment {
        state: State { epoch: RootEpoch::new(2), active, ..edited.state },
        rest: Rest::Workers,
        fleet: Fleet { wanted: 1, pods: vec![pod(false, true)], trouble },
        acknowledged: 0,
        ..edited
    };
    row(&down.status(), [(False, "AwaitingWorkers"), (False, "InProgress"), (False, "CrashLoop")], &[]);
    assert_eq!(said(&down.status(), "SourceReachable").unwrap().0, Unknown);
}

#[test]
fn scenario_43_an_old_replica_that_serves_is_not_ready() {
    let fleet = Fleet { wanted: 1, pods: vec![pod(true, false)], trouble: None };
    let rolling = Moment { fleet, ..Moment::running() };
    assert_eq!(said(&rolling.status(), "Ready").unwrap(), (False, "RollingOut".to_owned()));
}

#[test]
fn a_source_that_a_worker_cannot_read_is_said_with_its_words() {
    let fault =
        Fault { code: "MR0410".into(), reason: "StreamNotFound".into(), message: "there is no stream s; create it".into(), may_pass: true };
    let lost = Moment { faults: vec![("p-worker-0".into(), fault)], ..Moment::running() };
    let status = lost.status();
    assert_eq!(said(&status, "SourceReachable").unwrap(), (False, "StreamNotFound".to_owned()));
    assert_eq!(said(&status, "Available").unwrap().1, "SourceLost");
    assert_eq!(said(&status, "RootAcknowledged").unwrap().0, True);
}

fn fault(reason: &str) -> (String, Fault) {
    ("p-worker-0".into(), Fault { code: "MR0401".into(), reason: reason.into(), message: "why; do this".into(), may_pass: true })
}

fn text(status: &StreamPipelineStatus, kind: &str) -> String {
    status.conditions.iter().find(|condition| condition.r#type == kind).map(|condition| condition.message.clone()).unwrap_or_default()
}

#[test]
fn every_reason_of_a_source_is_one_of_the_conditions_own() {
    for (sent, shown) in [
        ("StreamNotFound", "StreamNotFound"),
        ("AccessDenied", "AccessDenied"),
        ("CredentialsMissing", "AccessDenied"),
        ("EndpointUnreachable", "EndpointUnreachable"),
        ("KinesisUnreachable", "EndpointUnreachable"),
        ("Throttled", "Throttled"),
        ("StreamRecreated", "Recreated"),
    ] {
        let status = Moment { faults: vec![fault(sent)], ..Moment::running() }.status();
        assert_eq!(said(&status, "SourceReachable"), Some((False, shown.to_owned())));
        assert_eq!(said(&status, "Ready"), Some((False, shown.to_owned())));
        assert!(text(&status, "SourceReachable") == "p-worker-0: MR0401: why; do this" && said(&status, "Degraded").is_none());
        assert!(ConditionType::SourceReachable.reasons().contains(&shown));
    }
}

#[test]
fn workers_that_cannot_reach_their_source_are_not_merely_starting() {
    let fleet = Fleet { wanted: 1, pods: vec![pod(false, true)], trouble: None };
    let starting = Moment { fleet, ..Moment::running() };
    assert_eq!(said(&starting.status(), "Ready"), Some((False, "Starting".to_owned())));
    assert_eq!(said(&starting.status(), "SourceReachable").unwrap().0, Unknown);
    let lost = Moment { faults: vec![fault("StateStoreRequired"), fault("AccessDenied")], ..starting };
    let status = lost.status();
    assert_eq!(said(&status, "Ready"), Some((False, "AccessDenied".to_owned())));
    assert_eq!(said(&status, "WorkersAvailable"), Some((False, "Starting".to_owned())));
    assert!(text(&status, "WorkersAvailable").contains("do this") && text(&status, "Ready").contains("do this"));
    let mended = Moment { faults: Vec::new(), ..Moment::running() }.after(&status, None);
    assert_eq!((said(&mended, "Ready").unwrap().0, said(&mended, "SourceReachable").unwrap().0), (True, True));
}

#[test]
fn an_output_that_holds_a_cutover_back_is_said_by_the_summary_and_goes_with_its_fault() {
    let edited = Moment::edited();
    let target = Some(Target { at: edited.named(), recovery: false });
    let preparing = |faults| Moment {
        state: State { epoch: RootEpoch::new(2), target, ..Moment::edited().state },
        rest: Rest::Prepare,
        tally: Some(tally(1, 0)),
        faults,
        ..Moment::edited()
    };
    let status = preparing(vec![fault("OutputNotFound")]).status();
    row(&status, [(False, "AwaitingPrepare"), (False, "InProgress"), (False, "OutputNotFound")], &["Reconciling", "Degraded"]);
    assert!(text(&status, "RootAcknowledged").contains("p-worker-0: MR0401: why; do this"));
    assert_eq!((said(&status, "SourceReachable").unwrap().0, said(&status, "Available").unwrap().0), (True, True));
    let mended = preparing(Vec::new()).after(&status, None);
    row(&mended, [(False, "AwaitingPrepare"), (False, "InProgress"), (False, "AwaitingPrepare")], &["Reconciling"]);
}

#[test]
fn a_split_whose_state_is_too_large_degrades_what_goes_on_and_says_what_to_do() {
    let mut large = fault("StateStoreRequired");
    large.1.code = "MR0304".into();
    let held = Moment { faults: vec![large, fault("OutputUnreachable")], ..Moment::running() };
    let status = held.status();
    row(&status, [(True, "AllWorkers"), (True, "Done"), (True, "OutputUnreachable")], &["Degraded"]);
    let lines = text(&status, "Degraded");
    assert!(lines.contains("Keep less state") && lines.lines().count() == 2, "{lines}");
    row(&Moment::running().after(&status, None), [(True, "AllWorkers"), (True, "Done"), (True, "AsSpecified")], &[]);
}

#[test]
fn i35_a_pass_that_sees_the_same_writes_the_same_and_times_move_with_the_status_alone() {
    let moment = Moment::running();
    let first = moment.status();
    assert_eq!(moment.after(&first, None), first);
    let mut older = first.clone();
    for condition in &mut older.conditions {
        condition.last_transition_time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(super::moment(5_000_000));
    }
    assert_eq!(moment.after(&older, None), older);
    let bad = Moment { verdict: verdict("out a: Int = b"), ..Moment::running() }.after(&older, None);
    let moved = |kind: &str| bad.conditions.iter().find(|condition| condition.r#type == kind).unwrap().last_transition_time.0;
    assert!(moved("Accepted") == super::moment(1_000_000_000) && moved("WorkersAvailable") == super::moment(5_000_000));
}

#[test]
fn a_long_message_is_cut_where_a_character_ends() {
    let text = "ü".repeat(4_000);
    let cut = super::cut(&text);
    assert!(cut.len() <= 4_096 && cut.ends_with(" …") && cut.starts_with("üü"));
    assert_eq!(super::cut("short"), "short");
}
