//! `StreamWorker`: what one worker is told, and what it answers.
//!
//! Owns: assignment (the leader's), instruction (the operator's), answer and report (the worker's).
//! May not: carry anything that only one message would know: each part is a state that is made again.

use super::progress::RootAt;
use super::schema::{Rule, needed_by_type, rule, texts};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a worker is told. Written by the leader of the workers and by the operator, each its own part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    rule("!has(oldSelf.root) || has(self.root)", "an instruction cannot be taken away"),
]))]
pub struct StreamWorkerSpec {
    /// Which splits to hold; absent: keep those held, claim none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,

    /// Which program to prepare or run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Instruction>,
}

/// The leader's wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The leader's term.
    #[schemars(range(min = 0))]
    pub term: i64,

    /// The number of the assignment in that term.
    #[schemars(range(min = 0))]
    pub number: i64,

    /// The splits to hold.
    #[schemars(length(max = 2000), inner(length(max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub splits: Vec<String>,
}

/// The operator's instruction. A deposed operator cannot take one back: epochs never fall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = instruction_rules()))]
pub struct Instruction {
    /// The pipeline's uid. Fixed.
    #[schemars(length(min = 1, max = 64))]
    pub pipeline_uid: String,

    /// The revision that the stage speaks of.
    pub root: RootAt,

    /// What to do with it.
    pub stage: Stage,

    /// The committed revision, which the worker follows whatever the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed: Option<RootAt>,

    /// Live settings of the pipeline that concern workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,

    /// Requests of users, answered by id in the status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub requests: Vec<Request>,
}

fn instruction_rules() -> Vec<Rule> {
    vec![
        rule("self.pipelineUid == oldSelf.pipelineUid", "a StreamWorker belongs to one pipeline: its uid is fixed"),
        rule("self.root.epoch >= oldSelf.root.epoch", "an instruction's epoch never falls: read the StreamWorker again"),
        rule(
            "self.root.epoch != oldSelf.root.epoch || self.root.digest == oldSelf.root.digest",
            "an epoch names one digest for ever: take a new epoch for another digest",
        ),
        rule(
            "self.root.epoch != oldSelf.root.epoch || oldSelf.stage != 'Commit' || self.stage == 'Commit'",
            "a Commit cannot be taken back: roll back at a new epoch",
        ),
        rule("!has(oldSelf.committed) || has(self.committed)", "what was committed cannot be taken away"),
        rule(
            "!has(oldSelf.committed) || !has(self.committed) || self.committed.epoch > oldSelf.committed.epoch || \
             (self.committed.epoch == oldSelf.committed.epoch && self.committed.digest == oldSelf.committed.digest)",
            "the committed epoch never falls and names one digest for ever: read the StreamWorker again",
        ),
        // What one member named, the other may not name otherwise later (I42).
        rule(
            "!has(self.committed) || self.committed.epoch != oldSelf.root.epoch || self.committed.digest == oldSelf.root.digest",
            "committed names another digest than root did at that epoch: an epoch names one digest for ever",
        ),
        rule(
            "!has(oldSelf.committed) || self.root.epoch != oldSelf.committed.epoch || self.root.digest == oldSelf.committed.digest",
            "root names another digest than was committed at that epoch: an epoch names one digest for ever",
        ),
        rule(
            "!has(self.committed) || self.committed.epoch != self.root.epoch || self.committed.digest == self.root.digest",
            "root and committed name two digests at one epoch: an epoch names one digest for ever",
        ),
    ]
}

/// What to do with a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Stage {
    /// Plan and compile it; the old program runs on.
    Prepare,
    /// Go over to it.
    Commit,
    /// Drop what was prepared.
    Cancel,
}

/// Live settings that concern workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    /// Whether intake is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,

    /// Whether the pipeline is being stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,

    /// Failures after which a split is quarantined.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: Option<i32>,

    /// What to do with a recreated stream, by its name in the pipeline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default, extend("maxProperties" = 8))]
    pub on_recreate: BTreeMap<String, super::pipeline::OnRecreate>,
}

/// What a user asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Its id, by which it is answered.
    #[schemars(length(min = 1, max = 64))]
    pub id: String,

    /// What to do.
    pub action: RequestAction,

    /// With which splits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 256), inner(length(max = 63)))]
    pub splits: Vec<String>,

    /// With Seek: where to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub position: Option<String>,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RequestAction {
    /// Release from quarantine.
    Retry,
    /// Go on without the state that is lost.
    AcceptLoss,
    /// Move a stopped pipeline's position.
    Seek,
}

/// What a worker says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamWorkerStatus {
    /// Which life of the worker speaks: the pod's uid and a start nonce.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub incarnation: Option<String>,

    /// The load that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub budget: Option<i64>,

    /// Whether it is on its way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<bool>,

    /// What it can read and run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,

    /// What keeps it from its work at present: a source or a destination that it cannot reach, each with what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 8))]
    pub faults: Vec<Fault>,

    /// Its answer to the instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,

    /// Its answers to requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub requests: Vec<RequestAnswer>,

    /// With a store outside Kubernetes, from the leader: totals for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// What a worker can read and run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// The version of its binary.
    #[schemars(length(max = 64))]
    pub binary: String,

    /// The language editions it knows.
    #[schemars(length(max = 16))]
    pub editions: Vec<i32>,

    /// The snapshot formats it reads.
    #[schemars(length(max = 16))]
    pub formats: Vec<i32>,
}

/// An answer: a state, not a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The pipeline's uid.
    #[schemars(length(min = 1, max = 64))]
    pub pipeline_uid: String,

    /// The revision that it is about.
    pub root: RootAt,

    /// Which life of the worker answers: an earlier one's answer is none.
    #[schemars(length(min = 1, max = 128))]
    pub incarnation: String,

    /// How it went.
    #[schemars(schema_with = "outcome")]
    pub outcome: Outcome,

    /// The revision that the worker runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<RootAt>,
}

/// How an instruction went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// It has not gone yet.
    Waiting {
        /// Why.
        reason: String,
    },
    /// It is planned and compiled.
    Prepared,
    /// It cannot be run here.
    Rejected {
        /// Why.
        fault: Fault,
    },
    /// Every split held runs it.
    Acknowledged {
        /// Whether any state was carried or reset.
        state_changed: bool,
        /// Whether inputs or outputs changed.
        interface_changed: bool,
        /// With mode Generation: the number of the new generation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// The last sequence under the old root, by split.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        splits: BTreeMap<String, String>,
    },
}

/// [`Outcome`] as Kubernetes must see it: one structure.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    needed_by_type("Waiting", "reason"),
    needed_by_type("Rejected", "fault"),
    needed_by_type("Acknowledged", "stateChanged"),
    needed_by_type("Acknowledged", "interfaceChanged"),
]))]
#[expect(dead_code, reason = "only its schema is used: a structural schema has no tagged unions")]
#[serde(rename_all = "camelCase")]
struct OutcomeShape {
    /// Which.
    r#type: OutcomeType,
    /// With Waiting: why.
    #[schemars(length(max = 64))]
    reason: Option<String>,
    /// With Rejected: why.
    fault: Option<Fault>,
    /// With Acknowledged: whether any state was carried or reset.
    state_changed: Option<bool>,
    /// With Acknowledged: whether inputs or outputs changed.
    interface_changed: Option<bool>,
    /// With Acknowledged in mode Generation: the number of the new generation.
    generation: Option<i64>,
    /// With Acknowledged: the last sequence under the old root, by split.
    #[schemars(extend("additionalProperties" = texts(160, None), "maxProperties" = 2000))]
    splits: Option<BTreeMap<String, String>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: a structural schema has no tagged unions")]
enum OutcomeType {
    /// It has not gone yet.
    Waiting,
    /// It is planned and compiled.
    Prepared,
    /// It cannot be run here.
    Rejected,
    /// Every split held runs it.
    Acknowledged,
}

fn outcome(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<OutcomeShape>()
}

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// The code (see `docs/errors.md`).
    #[schemars(length(max = 16))]
    pub code: String,

    /// The reason for conditions.
    #[schemars(length(max = 64))]
    pub reason: String,

    /// What happened, with its place.
    #[schemars(length(max = 4096))]
    pub message: String,

    /// Whether it may pass by itself.
    pub may_pass: bool,
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestAnswer {
    /// The request's id.
    #[schemars(length(min = 1, max = 64))]
    pub id: String,

    /// What came of it.
    #[schemars(length(max = 1024))]
    pub outcome: String,
}

/// Totals of the splits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Splits by state.
    pub splits: super::pipeline::SplitCounts,

    /// Age of the oldest unread record, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_seconds: Option<i64>,

    /// The oldest time at which a split was known to be at its tip.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub tip_time: Option<Time>,

    /// The lowest epoch that a held split carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_epoch: Option<crate::flow::RootEpoch>,

    /// The revisions that progress or state still names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 64), inner(length(max = 71)))]
    pub revisions: Vec<String>,
}
