//! Keyed state, and the coordination of workers.
//!
//! Owns: `spec.state` and `spec.coordination`.
//! May not: open a store.

use super::super::forms;
use super::super::scalar::{Duration, DurationOrZero, Quantity, duration_at};
use super::super::schema::{Rule, rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// A key whose next record arrives later than this after its last one starts anew. Without it keys live for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub ttl: Option<Duration>,

    /// Where state that does not fit into the ledgers is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub store: Option<StateStore>,

    /// How much state a worker holds in memory, such as 512Mi; past it the least recently used keys move to the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-millrace-class" = "pods",
        "minimum" = 1,
        "pattern" = r"^0*[1-9][0-9]*(\.[0-9]+)?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e[0-9]{1,2})?$",
    ))]
    pub memory: Option<Quantity>,
}

/// Where state is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateStore {
    /// A bucket and prefix (`s3://bucket/prefix`), or a folder on a volume of the worker's template (`file:///path`). Fixed
    /// once set.
    #[schemars(length(min = 1, max = 1024), extend("x-kubernetes-validations" = [forms::store_url()], "x-millrace-class" = "fixed", "x-millrace-once" = true))]
    pub url: String,

    /// The bucket's region. Defaults to that of the pod's environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-validations" = [forms::region()]))]
    pub region: Option<String>,

    /// Another endpoint than the region's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-validations" = [forms::endpoint()]))]
    pub endpoint: Option<String>,

    /// A role to assume.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [forms::role_arn()]))]
    pub role_arn: Option<String>,
}

/// How workers share the shards. The store is kubernetes (default) or dynamodb; which one is fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule("!has(self.kubernetes) || !has(self.dynamodb)", "name at most one store: kubernetes (the default) or dynamodb"),
    within("ttl", "20s", ("2s", "10m")),
    within("commitInterval", "5s", ("100ms", "10m")),
    within("drainDeadline", "10s", ("100ms", "10m")),
    within("resync", "10m", ("10s", "24h")),
]))]
pub struct Coordination {
    /// Records in `StreamSplit` and `StreamLedger` objects: needs nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "fixed", "x-millrace-absent" = {}))]
    pub kubernetes: Option<KubernetesStore>,

    /// Records in a DynamoDB table: for streams of thousands of shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "fixed"))]
    pub dynamodb: Option<DynamoDbStore>,

    /// How long a worker may be silent before others take its shards over (default 20s).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub ttl: Option<Duration>,

    /// How often progress is committed (default 5s).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub commit_interval: Option<Duration>,

    /// How long the shards of a vanished worker wait for it before they move (default 0s: at once).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub rebalance_delay: Option<DurationOrZero>,

    /// How long a shard that moves may finish what it has taken in (default 10s).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub drain_deadline: Option<Duration>,

    /// How new shards are found (default Auto).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub discovery: Option<Discovery>,

    /// How often the stream's shards are listed whole (default 10m).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub resync: Option<Duration>,

    /// What the pipeline may write to the store; commit intervals stretch before it is exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub budget: Option<WriteBudget>,
}

/// A duration that only makes sense between these two.
fn within(member: &str, default: &str, (least, most): (&str, &str)) -> Rule {
    let at = duration_at(&format!("self.{member}"), default);
    rule(
        format!("{at} >= duration('{least}') && {at} <= duration('{most}')"),
        format!("{member} is outside what can work: write a duration from {least} to {most}"),
    )
}

/// Records in Kubernetes objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KubernetesStore {}

/// Records in a DynamoDB table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DynamoDbStore {
    /// The table; it is created if it does not exist. Fixed.
    #[schemars(length(min = 3, max = 255), extend("x-kubernetes-validations" = [forms::table_name()]))]
    pub table: String,

    /// Its region. Defaults to that of the pod's environment. Fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-validations" = [forms::region()]))]
    pub region: Option<String>,
}

/// How new shards are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Discovery {
    /// From the ends of their parents, audited.
    #[default]
    Auto,
    /// By listing every 10 seconds.
    Poll,
}

/// What a pipeline may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteBudget {
    /// Writes a second (default 20).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub writes_per_second: Option<i32>,

    /// Bytes a second (default 1048576).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_024, max = 1_073_741_824))]
    pub bytes_per_second: Option<i64>,
}
