//! What a pipeline's status says, from what was seen of it.
//!
//! Owns: conditions, counts and the texts of columns.
//! May not: read or write anything, or decide a step of a cutover.

mod conditions;
mod fleet;
#[cfg(test)]
mod tests;

pub(super) use fleet::{Fleet, Trouble, trouble, worker};

use super::cutover::{Rest, State, Tally, Wish, Wrote};
use super::validate::Verdict;
use crate::api::children::{PART_LABEL, PIPELINE_LABEL, part};
use crate::api::condition::{Condition, ConditionStatus, ConditionType};
use crate::api::pipeline::{
    CutoverPlan, CutoverStage, CutoverStatus, RootStatus, SplitCounts, StreamPipelineStatus, Summary, WorkerInForce,
};
use crate::api::stream_worker::Fault;
use conditions::Says;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// The longest message of a condition, in bytes.
const LONGEST: usize = 4_096;

/// What was seen in a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// The pipeline's name.
    pub(super) name: &'a str,
    /// The installation that looks after it.
    pub(super) operator: &'a str,
    /// The generation of the manifest.
    pub(super) generation: i64,
    /// What is to be said of the spec.
    pub(super) verdict: &'a Verdict,
    /// What the spec asks for.
    pub(super) wish: &'a Wish,
    /// What is remembered of cutovers.
    pub(super) state: &'a State,
    /// The same as status shows it; none while nothing may be made of what survives.
    pub(super) root: Option<&'a RootStatus>,
    /// What the cutover waits for.
    pub(super) rest: Rest,
    /// What workers answered last, if they were asked in this pass.
    pub(super) tally: Option<&'a Tally>,
    /// The pods.
    pub(super) fleet: &'a Fleet,
    /// What keeps the operator from making them.
    pub(super) obstacle: Option<&'a Trouble>,
    /// Whether there are to be any: a program has been accepted.
    pub(super) runs: bool,
    /// What workers say that keeps them, each with the worker's name.
    pub(super) faults: &'a [(String, Fault)],
    /// What workers say of themselves.
    pub(super) workers: &'a Workers,
    /// How many splits there are; none where they were not read.
    pub(super) splits: Option<&'a SplitCounts>,
}

/// What workers say of themselves, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Workers {
    /// How many have acknowledged the active program.
    pub(super) acknowledged: usize,
    /// The lowest version among them.
    pub(super) version: Option<String>,
    /// The image in force.
    pub(super) image: String,
}

/// What a write adds to what was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Write {
    /// The step of the cutover that it is, if it is one.
    pub(super) step: Option<Wrote>,
    /// What the cutover does to the state of streams, when it begins.
    pub(super) plan: Option<CutoverPlan>,
    /// How long workers may take for one phase.
    pub(super) ack_timeout: Duration,
    /// How long the attempt may take.
    pub(super) progress_deadline: Duration,
}

/// A moment as status writes it: whole seconds.
pub(super) fn moment(wall_micros: i64) -> Timestamp {
    Timestamp::from_second(wall_micros.div_euclid(1_000_000)).unwrap_or_default()
}

/// The whole status.
pub(super) fn compose(before: &StreamPipelineStatus, seen: &Seen<'_>, write: &Write, now: Timestamp) -> StreamPipelineStatus {
    let count = |number: usize| Some(i32::try_from(number).unwrap_or(i32::MAX));
    let fleet = seen.fleet;
    StreamPipelineStatus {
        observed_generation: Some(seen.generation),
        conditions: conditions(before, seen, now),
        replicas: count(fleet.pods.len()),
        ready_replicas: count(fleet.ready()),
        updated_replicas: count(fleet.current()),
        selector: Some(selector(seen.name)),
        operator: Some(seen.operator.to_owned()),
        root: seen.root.cloned().or_else(|| before.root.clone()),
        cutover: cutover(before.cutover.as_ref(), seen, write, now),
        epoch: seen.root.map_or(before.epoch, |_| Some(seen.state.epoch)),
        used_retry_epoch: seen.state.used,
        splits: seen.splits.cloned().or_else(|| before.splits.clone()),
        worker: Some(WorkerInForce { image: Some(seen.workers.image.clone()), version: seen.workers.version.clone() }),
        summary: Some(summary(seen)),
        ..before.clone()
    }
}

/// Where the pods of a pipeline are found, for the scale subresource.
fn selector(pipeline: &str) -> String {
    format!("{PIPELINE_LABEL}={pipeline},{PART_LABEL}={}", part::WORKER)
}

fn summary(seen: &Seen<'_>) -> Summary {
    let root = seen.state.active.map(|active| active.at.digest.short());
    let total = seen.fleet.wanted.max(seen.workers.acknowledged);
    Summary { root, acked: Some(format!("{}/{total}", seen.workers.acknowledged)), lag: None }
}

fn conditions(before: &StreamPipelineStatus, seen: &Seen<'_>, now: Timestamp) -> Vec<Condition> {
    let known = |kind: ConditionType| before.conditions.iter().find(|condition| condition.r#type == kind.name());
    let said = conditions::all(seen);
    let as_before = |kind: ConditionType| {
        known(kind).map_or_else(
            || Says { status: ConditionStatus::Unknown, reason: "NotObserved".into(), message: "there has been no cutover yet".into() },
            |condition| Says { status: condition.status, reason: condition.reason.clone(), message: condition.message.clone() },
        )
    };
    let full: Vec<_> = said.iter().map(|(kind, says)| (*kind, says.clone().unwrap_or_else(|| as_before(*kind)))).collect();
    let ready = conditions::ready(seen, &full);
    let passing = conditions::passing(seen, &ready);
    let stamp = |kind: ConditionType, says: &Says| stamp(known(kind), kind, says, (seen.generation, now));
    let mut all: Vec<_> = said
        .iter()
        .zip(&full)
        .map(|((kind, said), (_, says))| match (said, known(*kind)) {
            // Decided for an earlier generation, and said of that.
            (None, Some(condition)) => condition.clone(),
            _ => stamp(*kind, says),
        })
        .collect();
    all.push(stamp(ConditionType::Ready, &ready));
    all.extend(passing.iter().map(|(kind, says)| stamp(*kind, says)));
    all
}

/// The time of the last transition moves only with the status.
fn stamp(known: Option<&Condition>, kind: ConditionType, says: &Says, (generation, now): (i64, Timestamp)) -> Condition {
    let since =
        known.filter(|condition| condition.status == says.status).map_or(Time(now), |condition| condition.last_transition_time.clone());
    Condition {
        r#type: kind.name().to_owned(),
        status: says.status,
        observed_generation: Some(generation),
        last_transition_time: since,
        reason: says.reason.clone(),
        message: cut(&says.message),
    }
}

fn cut(text: &str) -> String {
    const REST: &str = " …";
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST.saturating_sub(REST.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    format!("{}{REST}", text.get(..end).unwrap_or_default())
}

/// The cutover under way, or the last one.
fn cutover(before: Option<&CutoverStatus>, seen: &Seen<'_>, write: &Write, now: Timestamp) -> Option<CutoverStatus> {
    let now_is = seen.state;
    let (epoch, stage) = match (now_is.target, now_is.active) {
        (Some(target), _) => (target.at.epoch, CutoverStage::Prepare),
        (None, Some(active)) if !active.acked && !active.failed => (active.at.epoch, CutoverStage::Commit),
        (None, Some(active)) if active.acked && !active.soaked && seen.wish.wanted => (active.at.epoch, CutoverStage::Soak),
        _ => {
            return before.map(|before| CutoverStatus {
                stage: Some(CutoverStage::Done),
                deadline: None,
                stragglers: Vec::new(),
                ..before.clone()
            });
        }
    };
    let mut cutover = before.filter(|before| before.epoch == Some(epoch)).cloned().unwrap_or_default();
    let after = |span: Duration| now.checked_add(SignedDuration::try_from(span).unwrap_or_default()).unwrap_or(now);
    match write.step {
        Some(Wrote::Intent) => {
            cutover = CutoverStatus { plan: write.plan.clone(), started_at: Some(Time(now)), ..CutoverStatus::default() };
            cutover.deadline = Some(Time(after(write.ack_timeout.min(write.progress_deadline))));
        }
        Some(Wrote::Committed) => {
            let begun = cutover.started_at.as_ref().map_or(now, |begun| begun.0);
            let whole = begun.checked_add(SignedDuration::try_from(write.progress_deadline).unwrap_or_default()).unwrap_or(now);
            cutover.deadline = Some(Time(whole.max(after(write.ack_timeout))));
        }
        _ => {}
    }
    count(&mut cutover, seen, stage);
    if write.step == Some(Wrote::Acknowledged) {
        // The last count may be an older look's.
        cutover.acknowledged = cutover.total;
        cutover.stragglers.clear();
    }
    Some(CutoverStatus { epoch: Some(epoch), stage: Some(stage), ..cutover })
}

fn count(cutover: &mut CutoverStatus, seen: &Seen<'_>, stage: CutoverStage) {
    let Some(tally) = seen.tally else { return };
    let number = |number: usize| Some(i32::try_from(number).unwrap_or(i32::MAX));
    cutover.total = number(tally.total);
    cutover.rejected = number(tally.rejected.len());
    if stage == CutoverStage::Prepare {
        cutover.prepared = number(tally.done);
    } else {
        cutover.acknowledged = number(tally.done);
    }
    cutover.stragglers = tally.waiting.iter().take(16).map(|(name, _)| name.clone()).collect();
}
