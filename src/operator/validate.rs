//! Whether a pipeline can run: what this version does not do yet, the root, the names in it.
//!
//! Owns: the verdict on a spec, in the words of the condition `Accepted`.
//! May not: know a rule of its own but what is not supported yet; `api`, `program` and `lang` have the rest.

use crate::api::pipeline::{
    Approval, Cutover, CutoverMode, DesiredState, KinesisStream, OnDelete, OnRecreate, Output, Retrieval, ScalingMode, StartType,
    Stragglers, Strategy, StreamPipelineSpec, Tiers,
};
use crate::api::revision::{Program, Revision, RevisionError};
use crate::flow::Digest;
use crate::lang::diagnostic::Diagnostics;
use crate::program::{self, ProgramError};
use std::time::Duration;

/// The default of `cutover.maxDeadLetterRatio`.
const DEAD_LETTER_RATIO: f64 = 0.5;

/// The defaults of `failure.maxAttempts`, `coordination.budget` and `cutover.soak`.
const MAX_ATTEMPTS: i32 = 4;
const WRITES: i32 = 20;
const BYTES: i64 = 1_048_576;
const SOAK: Duration = Duration::from_secs(30);

/// What the operator makes of a spec.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// It can run.
    Valid(Revision),
    /// It cannot.
    Invalid(Refusal),
}

/// Why a spec cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The reason of the condition.
    pub(super) reason: &'static str,
    /// What is wrong and what to do.
    pub(super) message: String,
    /// The digest of its program, where it has one.
    pub(super) named: Option<Digest>,
}

impl Verdict {
    /// The digest of the program that the spec names.
    pub(super) fn named(&self) -> Option<Digest> {
        match self {
            Self::Valid(revision) => Some(revision.digest()),
            Self::Invalid(refusal) => refusal.named,
        }
    }

    /// Whether it can run.
    pub(super) const fn is_valid(&self) -> bool {
        matches!(self, Self::Valid(_))
    }
}

/// Judges a spec. `text` is what the `ConfigMap` holds that its root stands in, if it does and it was found.
pub(super) fn judge(spec: &StreamPipelineSpec, text: Option<&str>) -> Verdict {
    let revision = Program::of(spec, text).and_then(|program| Ok((Revision::of(&program)?, program.root.text)));
    let named = revision.as_ref().ok().map(|(revision, _)| revision.digest());
    let invalid = |reason, message| Verdict::Invalid(Refusal { reason, message, named });
    let unsupported = unsupported(spec);
    if !unsupported.is_empty() {
        return invalid("InvalidSpec", unsupported.join("\n"));
    }
    let (revision, text) = match revision {
        Ok(both) => both,
        Err(error) => return invalid(reason_of(&error), advice(spec, &error)),
    };
    match program::load(spec, &text) {
        Ok(_) => Verdict::Valid(revision),
        Err(ProgramError::Root(errors)) => invalid("RootInvalid", told(&errors)),
        Err(ProgramError::Names { problems, .. }) => {
            invalid("InvalidSpec", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
        Err(ProgramError::Binding { error, .. }) => invalid("InvalidSpec", format!("spec.root: {error}")),
    }
}

fn reason_of(error: &RevisionError) -> &'static str {
    match error {
        RevisionError::TextMissing(_) => "ConfigMapMissing",
        RevisionError::DigestMismatch { .. } => "DigestMismatch",
        _ => "InvalidSpec",
    }
}

fn advice(spec: &StreamPipelineSpec, error: &RevisionError) -> String {
    let key = spec.root.config_map_ref.as_ref().map(|at| at.key.as_str()).unwrap_or_default();
    match error {
        RevisionError::TextMissing(name) => {
            format!("spec.root.configMapRef: there is no ConfigMap {name} with a key {key} in this namespace: create it, or name another")
        }
        RevisionError::DigestMismatch { .. } => {
            format!("spec.root.configMapRef.sha256: {error}: write that digest there if this text is meant, or restore the text")
        }
        other => format!("spec.root: {other}"),
    }
}

/// Every error with its place, as `LINE:COLUMN: CODE: what is wrong (what to do)`.
fn told(errors: &Diagnostics) -> String {
    let reports = errors.reports().into_iter().map(|report| {
        let hint = report.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}:{}: {}: {}{hint}", report.line, report.column, report.code, report.message)
    });
    let more = (errors.more() > 0).then(|| format!("and {} more", errors.more()));
    reports.chain(more).collect::<Vec<_>>().join("\n")
}

/// What is set to something that this version does not do, each by its path. Nothing is ignored in silence.
fn unsupported(spec: &StreamPipelineSpec) -> Vec<String> {
    let mut found = Found::default();
    let streams = spec.source.kinesis.as_deref().unwrap_or_default();
    found.note(streams.len() > 1, "spec.source.kinesis", "more than one stream");
    for (index, stream) in streams.iter().enumerate() {
        found.stream(&format!("spec.source.kinesis[{index}]"), stream);
    }
    for (index, output) in spec.outputs.iter().enumerate() {
        found.output(&format!("spec.outputs[{index}]"), output);
    }
    let dead_letter = spec.failure.as_ref().and_then(|failure| failure.dead_letter.as_ref());
    found.note(dead_letter.is_some_and(|place| place.http.is_some()), "spec.failure.deadLetter.http", "an HTTP destination");
    found.note(spec.state.as_ref().is_some_and(|state| state.store.is_some()), "spec.state.store", "a store for state");
    let coordination = spec.coordination.as_ref();
    found.note(coordination.is_some_and(|set| set.dynamodb.is_some()), "spec.coordination.dynamodb", "coordination in DynamoDB");
    let scaled = spec.scaling.as_ref().is_some_and(|scaling| scaling.mode.unwrap_or_default() != ScalingMode::Fixed);
    found.note(scaled, "spec.scaling.mode", "a number of workers that the operator chooses");
    found.note(spec.desired_state != DesiredState::Running, "spec.desiredState", "a pipeline that is paused or stopped");
    found.note(spec.on_delete != OnDelete::Retain, "spec.onDelete", "deleting positions with the pipeline");
    found.workers(spec);
    found.cutover(spec.cutover.as_ref().unwrap_or(&Cutover::default()));
    found.list
}

#[derive(Default)]
struct Found {
    list: Vec<String>,
}

impl Found {
    fn note(&mut self, is_set: bool, path: &str, what: &str) {
        if is_set {
            self.list.push(format!("{path}: {what} is not supported by this version: leave it out, or at its default"));
        }
    }

    fn stream(&mut self, at: &str, stream: &KinesisStream) {
        let plain = stream.retrieval.unwrap_or_default() == Retrieval::Polling;
        self.note(!plain, &format!("{at}.retrieval"), "any retrieval but Polling");
        let table = stream.start_at.as_ref().is_some_and(|start| start.r#type == StartType::KclTable);
        self.note(table, &format!("{at}.startAt.type"), "a start from a KCL table");
        self.note(stream.create_if_missing.is_some(), &format!("{at}.createIfMissing"), "creating a stream");
        let over = stream.on_recreate.unwrap_or_default() != OnRecreate::Stop;
        self.note(over, &format!("{at}.onRecreate"), "starting over in a stream that was made anew");
    }

    fn output(&mut self, at: &str, output: &Output) {
        self.note(output.http.is_some(), &format!("{at}.http"), "an HTTP destination");
        let packed = output.kinesis.as_ref().is_some_and(|kinesis| kinesis.aggregate.unwrap_or_default());
        self.note(packed, &format!("{at}.kinesis.aggregate"), "packing rows together");
    }

    /// What workers do not do yet.
    fn workers(&mut self, spec: &StreamPipelineSpec) {
        let worker = spec.worker.clone().unwrap_or_default();
        self.note(worker.threads.is_some_and(|threads| threads != 1), "spec.worker.threads", "more than one evaluation thread");
        self.note(worker.tiers == Some(Tiers::Eager), "spec.worker.tiers", "a faster tier");
        let memory = spec.state.as_ref().is_some_and(|state| state.memory.is_some());
        self.note(memory, "spec.state.memory", "a bound of the state in memory");
        let attempts = spec.failure.as_ref().and_then(|failure| failure.max_attempts);
        self.note(attempts.is_some_and(|attempts| attempts != MAX_ATTEMPTS), "spec.failure.maxAttempts", "quarantine");
        let Some(set) = &spec.coordination else { return };
        let delay = set.rebalance_delay.as_ref().is_some_and(|delay| !delay.span().is_zero());
        self.note(delay, "spec.coordination.rebalanceDelay", "waiting for a worker that has vanished");
        let budget = set.budget.as_ref().is_some_and(|budget| {
            let (writes, bytes) = (budget.writes_per_second, budget.bytes_per_second);
            writes.is_some_and(|writes| writes != WRITES) || bytes.is_some_and(|bytes| bytes != BYTES)
        });
        self.note(budget, "spec.coordination.budget", "a budget of writes");
    }

    fn cutover(&mut self, set: &Cutover) {
        let rules = [
            (set.mode.unwrap_or_default() != CutoverMode::InPlace, "mode", "any mode but InPlace"),
            (set.approval.unwrap_or_default() != Approval::Automatic, "approval", "an approval by hand"),
            (set.strategy.unwrap_or_default() != Strategy::Barrier, "strategy", "any strategy but Barrier"),
            (set.stragglers.unwrap_or_default() != Stragglers::RestartPod, "stragglers", "giving up for a straggler"),
            (set.soak.as_ref().is_some_and(|soak| !soak.span().is_zero() && soak.span() != SOAK), "soak", "any soak (it counts as 0s)"),
            (set.promote_digest.is_some(), "promoteDigest", "an approval by hand"),
            (set.abort_digest.is_some(), "abortDigest", "giving a cutover up by hand"),
            (
                set.max_dead_letter_ratio.is_some_and(|ratio| (ratio - DEAD_LETTER_RATIO).abs() > f64::EPSILON),
                "maxDeadLetterRatio",
                "judging a program by its dead letters",
            ),
        ];
        for (is_set, name, what) in rules {
            self.note(is_set, &format!("spec.cutover.{name}"), what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Verdict, judge};
    use crate::api::pipeline::StreamPipelineSpec;
    use crate::flow::Digest;
    use serde_json::{Value, json};

    const ROOT: &str = "in temp: Float\nout alarm: Bool = temp > 80.0";

    fn spec(change: &Value) -> StreamPipelineSpec {
        let mut spec =
            json!({"source": {"kinesis": [{"streamName": "s"}]}, "root": {"inline": ROOT}, "outputs": [{"name": "o", "stdout": {}}]});
        spec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(spec).unwrap()
    }

    fn refused(spec: &StreamPipelineSpec, text: Option<&str>) -> Refusal {
        match judge(spec, text) {
            Verdict::Invalid(refusal) => refusal,
            Verdict::Valid(_) => panic!("it was taken"),
        }
    }

    #[test]
    fn a_good_pipeline_is_taken_with_every_default_spelled_out() {
        let defaults = json!({
            "source": {"kinesis": [{"streamName": "s", "retrieval": "Polling", "startAt": {"type": "Latest"}}]},
            "cutover": {"mode": "InPlace", "approval": "Automatic", "strategy": "Barrier", "ackTimeout": "2m", "progressDeadline": "10m",
                "soak": "30s", "stragglers": "RestartPod", "onFailure": "Rollback", "maxDeadLetterRatio": 0.5},
            "scaling": {"mode": "Fixed"}, "worker": {"threads": 1, "tiers": "Canonical"}, "failure": {"maxAttempts": 4},
            "desiredState": "Running", "onDelete": "Retain", "coordination": {"kubernetes": {}, "discovery": "Poll", "rebalanceDelay": "0s", "budget": {"bytesPerSecond": 1_048_576}},
        });
        let verdict = judge(&spec(&defaults), None);
        assert!(verdict.is_valid(), "{verdict:?}");
        assert_eq!(verdict.named(), judge(&spec(&json!({})), None).named());
    }

    #[test]
    fn what_is_not_supported_is_refused_by_its_path() {
        let http = json!([{"name": "o", "http": {"url": "https://a"}}]);
        let kinesis = |more: Value| {
            let mut stream = json!({"streamName": "s"});
            stream.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"source": {"kinesis": [stream]}})
        };
        for (change, path) in [
            (json!({"outputs": http}), "spec.outputs[0].http"),
            (json!({"failure": {"deadLetter": {"http": {"url": "https://a"}}}}), "spec.failure.deadLetter.http"),
            (json!({"source": {"kinesis": [{"streamName": "s"}, {"name": "t", "streamName": "t"}]}}), "spec.source.kinesis"),
            (kinesis(json!({"retrieval": "FanOut"})), "spec.source.kinesis[0].retrieval"),
            (kinesis(json!({"retrieval": "Auto"})), "spec.source.kinesis[0].retrieval"),
            (kinesis(json!({"startAt": {"type": "KclTable", "kclTable": "leases"}})), "spec.source.kinesis[0].startAt.type"),
            (kinesis(json!({"createIfMissing": {"shards": 1}})), "spec.source.kinesis[0].createIfMissing"),
            (json!({"state": {"store": {"url": "s3://bucket"}}}), "spec.state.store"),
            (json!({"coordination": {"dynamodb": {"table": "t"}}}), "spec.coordination.dynamodb"),
            (json!({"scaling": {"mode": "Lag", "max": 3}}), "spec.scaling.mode"),
            (json!({"desiredState": "Paused"}), "spec.desiredState"),
            (json!({"desiredState": "Stopped"}), "spec.desiredState"),
            (json!({"onDelete": "Delete"}), "spec.onDelete"),
            (kinesis(json!({"onRecreate": "StartOver"})), "spec.source.kinesis[0].onRecreate"),
            (json!({"outputs": [{"name": "o", "kinesis": {"streamName": "a", "aggregate": true}}]}), "spec.outputs[0].kinesis.aggregate"),
            (json!({"worker": {"threads": 2}}), "spec.worker.threads"),
            (json!({"worker": {"tiers": "Eager"}}), "spec.worker.tiers"),
            (json!({"state": {"memory": "64Mi"}}), "spec.state.memory"),
            (json!({"failure": {"maxAttempts": 9}}), "spec.failure.maxAttempts"),
            (json!({"coordination": {"rebalanceDelay": "5m"}}), "spec.coordination.rebalanceDelay"),
            (json!({"coordination": {"budget": {"writesPerSecond": 3}}}), "spec.coordination.budget"),
            (json!({"cutover": {"soak": "5m"}}), "spec.cutover.soak"),
            (json!({"cutover": {"mode": "Generation"}}), "spec.cutover.mode"),
            (json!({"cutover": {"approval": "Manual"}}), "spec.cutover.approval"),
            (json!({"cutover": {"strategy": "Canary"}}), "spec.cutover.strategy"),
            (json!({"cutover": {"strategy": "Restart"}}), "spec.cutover.strategy"),
            (json!({"cutover": {"stragglers": "Abort"}}), "spec.cutover.stragglers"),
            (json!({"cutover": {"promoteDigest": Digest::of(b"").to_string()}}), "spec.cutover.promoteDigest"),
            (json!({"cutover": {"abortDigest": Digest::of(b"").to_string()}}), "spec.cutover.abortDigest"),
            (json!({"cutover": {"maxDeadLetterRatio": 0.1}}), "spec.cutover.maxDeadLetterRatio"),
        ] {
            let refusal = refused(&spec(&change), None);
            assert_eq!(refusal.reason, "InvalidSpec");
            let path = format!("{path}: ");
            assert!(refusal.message.lines().all(|line| line.starts_with(&path)), "{path}: {}", refusal.message);
        }
    }

    #[test]
    fn a_root_that_does_not_check_is_refused_with_line_column_and_code() {
        let refusal = refused(&spec(&json!({"root": {"inline": "in temp: Float\nout alarm: Bool = tempp > 80.0"}})), None);
        assert_eq!(refusal.reason, "RootInvalid");
        assert!(refusal.message.starts_with("2:19: MR1"), "{}", refusal.message);
        assert!(refusal.named.is_some());
    }

    #[test]
    fn a_name_that_the_root_does_not_have_is_refused_by_its_path() {
        let refusal = refused(&spec(&json!({"outputs": [{"name": "o", "streams": ["nothing"], "stdout": {}}]})), None);
        assert!(refusal.reason == "InvalidSpec" && refusal.message.starts_with("spec.outputs[0].streams[0]: "), "{refusal:?}");
    }

    #[test]
    fn a_root_in_a_config_map_is_held_against_its_digest() {
        let sha256 = Digest::of(ROOT.as_bytes()).to_string();
        let at = spec(&json!({"root": {"configMapRef": {"name": "roots", "key": "a", "sha256": sha256}}}));
        assert_eq!(judge(&at, Some(ROOT)).named(), judge(&spec(&json!({})), None).named());
        let (missing, other) = (refused(&at, None), refused(&at, Some("out b = 1")));
        assert!(missing.reason == "ConfigMapMissing" && missing.message.contains("roots"), "{missing:?}");
        assert!(other.reason == "DigestMismatch" && other.message.contains("sha256"), "{other:?}");
        assert_eq!((missing.named, other.named), (None, None));
    }
}
