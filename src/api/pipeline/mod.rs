//! `StreamPipeline`: what users write.
//!
//! Owns: every field of the manifest, with its bounds, its rules, its class and its documentation.
//! May not: act on any of them.

mod control;
mod output;
mod root;
mod source;
mod state;
mod status;
mod worker;

pub use control::{
    Approval, Cutover, CutoverMode, DesiredState, Disruption, OnDelete, OnFailure, ScaleToZero, Scaling, ScalingMode, Stragglers, Strategy,
};
pub use output::{
    DeadLetter, Failure, FileDestination, HeaderFrom, HttpDestination, HttpMethod, KinesisDestination, OnRefused, OnTickError, Output,
    PartitionKey, PartitionKeyType, SecretKey, StdoutDestination,
};
pub use root::{Limits, MAX_CONFIG_MAP, MAX_INLINE, Root, RootRef};
pub use source::{
    Compression, CreateIfMissing, FileSource, Format, FormatType, GeneratorSource, KeyBy, KeyType, KinesisStream, OnRecreate,
    OnUndecodable, Retrieval, Source, StartAt, StartType,
};
pub use state::{Coordination, Discovery, DynamoDbStore, KubernetesStore, State, StateStore, WriteBudget};
pub use status::{
    CutoverPlan, CutoverStage, CutoverStatus, Lag, RevisionStatus, RootStatus, SplitCounts, StreamPipelineStatus, Summary, WorkerInForce,
};
pub use worker::{
    CaBundle, ConfigMapKey, LogLevel, PodTemplate, Preserved, PullPolicy, Resources, Rotation, SecretName, SecretRef, ServiceAccountRef,
    Submit, Tiers, Worker,
};

pub(super) use output::default_http_timeout;
pub use source::default_max_lead;

use super::schema::{Rule, rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to read, the root to evaluate over it, and where its rows go. Only source, root and one output are required.
///
/// An edit of the program (root, keyBy, format, outputs, record policies, streams) is a cutover: running workers change
/// over in place, and the condition `RootAcknowledged` says when all have. An edit of pods is a rollout. Replicas, scaling
/// and desiredState apply at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [dead_letter_place(), same_store(), same_table(), same_state_store()]))]
pub struct StreamPipelineSpec {
    /// Where records come from.
    pub source: Source,

    /// What keys a record (default: its partition key). Another key resets all state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub key_by: Option<KeyBy>,

    /// The program of stream equations.
    #[schemars(extend("x-millrace-class" = "program"))]
    pub root: Root,

    /// Where rows go, 1 to 32 outputs.
    #[schemars(
        length(min = 1, max = 32),
        extend("x-millrace-class" = "program", "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub outputs: Vec<Output>,

    /// What becomes of records and keys that fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,

    /// The state of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,

    /// How workers share the shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordination: Option<Coordination>,

    /// The worker pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub worker: Option<Worker>,

    /// Secrets that workers use beside those that outputs name, and what a change of one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 32),
        extend("x-millrace-class" = "pods", "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub secret_refs: Option<Vec<SecretRef>>,

    /// Any new value replaces the pods one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-millrace-class" = "pods"))]
    pub restart_nonce: Option<String>,

    /// How many workers. Leave it out where an HPA decides.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10_000), extend("x-millrace-class" = "live"))]
    pub replicas: i32,

    /// How the number of workers is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "live"))]
    pub scaling: Option<Scaling>,

    /// Whether the pipeline runs.
    #[serde(default)]
    #[schemars(extend("x-millrace-class" = "live"))]
    pub desired_state: DesiredState,

    /// How an edit of the program takes effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "live"))]
    pub cutover: Option<Cutover>,

    /// How many pods may be away at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "live"))]
    pub disruption: Option<Disruption>,

    /// What becomes of positions and state when this object is deleted.
    #[serde(default)]
    #[schemars(extend("x-millrace-class" = "live"))]
    pub on_delete: OnDelete,
}

fn one() -> i32 {
    1
}

fn dead_letter_place() -> Rule {
    rule(
        "(has(self.failure) && has(self.failure.deadLetter)) || (\
         !(has(self.source.format) && has(self.source.format.onUndecodable) && self.source.format.onUndecodable == 'DeadLetter') && \
         !(has(self.failure) && has(self.failure.onTickError) && self.failure.onTickError == 'DeadLetterKey'))",
        "a DeadLetter policy needs a place for dead letters: add failure.deadLetter, for example {kinesis: {streamName: dead}}",
    )
}

fn same_store() -> Rule {
    rule(
        "(has(self.coordination) && has(self.coordination.dynamodb)) == (has(oldSelf.coordination) && has(oldSelf.coordination.dynamodb))",
        "the coordination store is fixed: positions are kept in it; create another pipeline to use another store",
    )
}

fn same_table() -> Rule {
    rule(
        "!(has(self.coordination) && has(self.coordination.dynamodb) && has(oldSelf.coordination) && has(oldSelf.coordination.dynamodb)) || \
         (self.coordination.dynamodb.table == oldSelf.coordination.dynamodb.table && \
         (has(self.coordination.dynamodb.region) ? has(oldSelf.coordination.dynamodb.region) && \
         self.coordination.dynamodb.region == oldSelf.coordination.dynamodb.region : !has(oldSelf.coordination.dynamodb.region)))",
        "coordination.dynamodb is fixed: positions are kept in that table; create another pipeline to use another",
    )
}

fn same_state_store() -> Rule {
    rule(
        "!(has(oldSelf.state) && has(oldSelf.state.store)) || \
         (has(self.state) && has(self.state.store) && self.state.store.url == oldSelf.state.store.url)",
        "state.store.url is fixed once set: state is kept there; create another pipeline to use another store",
    )
}
