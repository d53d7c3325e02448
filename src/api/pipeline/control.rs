//! What takes effect at once: how many workers, whether they run, how cutovers go.
//!
//! Owns: `spec.scaling`, `spec.desiredState`, `spec.cutover`, `spec.disruption`, `spec.onDelete`.
//! May not: act on them.

use super::super::forms;
use super::super::scalar::{CountOrPercent, Duration, DurationOrZero, duration_at};
use super::super::schema::{Rule, rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the pipeline runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DesiredState {
    /// Records flow.
    #[default]
    Running,
    /// Intake stops; shards and state stay held; cutovers go through.
    Paused,
    /// No pods; positions and state are kept.
    Stopped,
}

/// What becomes of positions and state when the pipeline is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnDelete {
    /// They are kept, and a pipeline of the same name goes on from them.
    #[default]
    Retain,
    /// They go with it.
    Delete,
}

/// How the number of workers is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule("!has(self.min) || !has(self.max) || self.min <= self.max", "min is above max: lower min or raise max"),
    rule("!has(self.mode) || self.mode != 'Lag' || has(self.max)", "mode Lag needs max: the most workers you want to pay for"),
    rule("!has(self.scaleToZero) || (has(self.min) && self.min == 0)", "scaleToZero needs min: 0"),
    rule("!has(self.scaleToZero) || (has(self.mode) && self.mode == 'Lag')", "scaleToZero needs mode: Lag"),
]))]
pub struct Scaling {
    /// The rule (default Fixed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ScalingMode>,

    /// With Lag: the fewest workers (default 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_000))]
    pub min: Option<i32>,

    /// With Lag: the most workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max: Option<i32>,

    /// With Lag: the age of the oldest unread record to aim at (default 30s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_iterator_age: Option<Duration>,

    /// With Lag: whether a quiet pipeline runs no worker at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_to_zero: Option<ScaleToZero>,
}

/// Who chooses the number of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ScalingMode {
    /// spec.replicas, kubectl scale or an HPA.
    #[default]
    Fixed,
    /// The operator, by the lag.
    Lag,
}

/// When a quiet pipeline stops its last worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScaleToZero {
    /// After this long without a record (default 15m).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,

    /// How often one worker is started to look for records (default 5m).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_every: Option<Duration>,
}

/// How an edit of the program takes effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [ack_within_progress()]))]
pub struct Cutover {
    /// What is kept of a stream's state (default `InPlace`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<CutoverMode>,

    /// Whether an edit goes through by itself (default Automatic).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,

    /// Which workers change over when (default Barrier).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,

    /// How long workers may take to prepare, and to acknowledge (default 2m). At most progressDeadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<Duration>,

    /// How long the whole cutover may take (default 10m).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_deadline: Option<Duration>,

    /// How long the new program must run without a failure to count as good (default 30s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soak: Option<DurationOrZero>,

    /// What to do with a worker that does not acknowledge in time (default `RestartPod`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<Stragglers>,

    /// What to do when the new program fails after the commit (default Rollback).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,

    /// With approval Manual: the digest that may go through (millrace prints it).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), extend("x-kubernetes-validations" = [forms::digest()]))]
    pub promote_digest: Option<String>,

    /// The digest whose cutover is to be given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), extend("x-kubernetes-validations" = [forms::digest()]))]
    pub abort_digest: Option<String>,

    /// The epoch of a failed cutover that is to be tried once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub retry_epoch: Option<i64>,

    /// The share of records that may become dead letters during the soak, 0 to 1 (default 0.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_dead_letter_ratio: Option<f64>,
}

fn ack_within_progress() -> Rule {
    rule(
        format!("{} <= {}", duration_at("self.ackTimeout", "2m"), duration_at("self.progressDeadline", "10m")),
        "ackTimeout (default 2m) is above progressDeadline (default 10m): lower the one or raise the other",
    )
}

/// What a cutover keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CutoverMode {
    /// Every stream's state whose shape allows it.
    #[default]
    InPlace,
    /// Histories of streams of the same name and type only; operators start anew.
    Generation,
}

/// Whether an edit goes through by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// It does.
    #[default]
    Automatic,
    /// It waits until promoteDigest names it.
    Manual,
}

/// Which workers change over when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// All, once all are prepared.
    #[default]
    Barrier,
    /// One first, soaked, then the rest.
    Canary,
    /// By replacing pods.
    Restart,
}

/// What to do with a worker that does not acknowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Stragglers {
    /// Its pod is replaced.
    #[default]
    RestartPod,
    /// The cutover is rolled back.
    Abort,
}

/// What to do when a program fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnFailure {
    /// Go back to the last known good program, as a cutover of its own.
    #[default]
    Rollback,
    /// Stay, Stalled, until somebody edits.
    Hold,
}

/// How many pods a rollout may take away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disruption {
    /// At once, as a number or a share (default 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<CountOrPercent>,
}
