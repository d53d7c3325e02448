//! What the operator says of a pipeline.
//!
//! Owns: `status`. Everything here is observed or decided, and can be made again.
//! May not: hold a position or an epoch that nothing else holds: backups restore objects without status.

use super::super::condition::Condition;
use crate::flow::RootEpoch;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator saw last, and what it makes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamPipelineStatus {
    /// The generation that the rest speaks of; -1 until somebody has looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// What holds and what does not. kubectl wait waits for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        default,
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// Worker pods there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// Worker pods that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,

    /// Worker pods of the newest template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,

    /// The label selector of the worker pods, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub selector: Option<String>,

    /// Which programs run, are on their way, were good, failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<RootStatus>,

    /// The cutover under way, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutover: Option<CutoverStatus>,

    /// The highest epoch handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<RootEpoch>,

    /// The retryEpoch that was used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_retry_epoch: Option<RootEpoch>,

    /// How many splits there are, by state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splits: Option<SplitCounts>,

    /// The workers' image and version in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerInForce>,

    /// How far behind reading is, rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,

    /// The number of workers that mode Lag aims at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_replicas: Option<i32>,

    /// The installation that looks after this pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub operator: Option<String>,

    /// Ready-made texts for the columns of kubectl get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

/// Programs by the part they play.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootStatus {
    /// The committed one: what workers run, or go over to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<RevisionStatus>,

    /// The one that a cutover before its commit aims at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<RevisionStatus>,

    /// The last that ran without a failure for the soak time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_known_good: Option<RevisionStatus>,

    /// The last attempts that failed, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 5))]
    pub failed: Vec<RevisionStatus>,

    /// The spec's program, if it has failed: it is not tried again while the spec names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<RevisionStatus>,

    /// Whether this status was lost, and no cutover has been committed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovering: Option<bool>,

    /// Whether the recovery to the program that ran before has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_failed: Option<bool>,
}

/// One program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionStatus {
    /// The digest of its revision.
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: String,

    /// The generation of the manifest that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,

    /// The attempt that made it the running one.
    pub epoch: RootEpoch,

    /// Whether a rollback made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<bool>,

    /// Whether every worker has acknowledged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<bool>,

    /// Whether it has run for the soak time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soaked: Option<bool>,

    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub failure: Option<String>,
}

/// How far a cutover is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CutoverStatus {
    /// Its epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<RootEpoch>,

    /// The step it is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<CutoverStage>,

    /// Workers that have prepared it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepared: Option<i32>,

    /// Workers that have acknowledged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<i32>,

    /// Workers that have rejected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<i32>,

    /// Workers that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i32>,

    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub started_at: Option<Time>,

    /// When it is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub deadline: Option<Time>,

    /// What it keeps of the streams' state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<CutoverPlan>,

    /// Workers that are waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 16), inner(length(max = 63)))]
    pub stragglers: Vec<String>,
}

/// The steps of a cutover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CutoverStage {
    /// Waiting for a rollout to end.
    Rollout,
    /// Workers plan and compile; the old program runs.
    Prepare,
    /// Waiting for promoteDigest.
    Approval,
    /// One worker runs it.
    Canary,
    /// Workers go over to it.
    Commit,
    /// It runs on every worker, and is watched.
    Soak,
    /// It is over.
    Done,
}

/// What a cutover does to the state of streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutoverPlan {
    /// Streams whose state stays as it is.
    pub kept: i32,

    /// Streams whose state is carried over into another shape.
    pub carried: i32,

    /// Streams that start anew (the first 16).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 16), inner(length(max = 128)))]
    pub reset: Vec<String>,
}

/// How many splits there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SplitCounts {
    /// Being read, or to be read.
    pub open: i32,

    /// Waiting for their parents.
    pub waiting: i32,

    /// Read to their end.
    pub completed: i32,

    /// Given up after too many failures.
    pub quarantined: i32,
}

/// What workers run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerInForce {
    /// The image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub image: Option<String>,

    /// The version of millrace in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub version: Option<String>,
}

/// How far behind reading is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lag {
    /// Age of the oldest unread record, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,

    /// The shard that is furthest behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub shard: Option<String>,
}

/// Texts for columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The active program's short digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub root: Option<String>,

    /// Workers that have acknowledged it, of how many, such as 2/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub acked: Option<String>,

    /// The lag, such as 3s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub lag: Option<String>,
}
