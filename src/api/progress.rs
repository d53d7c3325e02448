//! What one commit writes for a split.
//!
//! Owns: the shape of progress, in split records and in ledger entries.
//! May not: read or decide anything; `coordination` does.

use crate::flow::RootEpoch;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A revision and the attempt that made it the running one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootAt {
    /// The attempt's epoch; it names one digest for ever.
    #[schemars(range(min = 1))]
    pub epoch: RootEpoch,

    /// The revision's digest.
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
}

/// A split's position, state and root at one row boundary, committed in one write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Where to read on, in the source's own notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub position: Option<String>,

    /// The service's time when the split was last known to be read up to its newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub tip_time: Option<MicroTime>,

    /// The newest layer of the split's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,

    /// Parents in whose layers keys are still sought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 2), inner(length(max = 63)))]
    pub inherits: Vec<String>,

    /// The root that this progress was made under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<RootAt>,

    /// The last cutovers, each with the last position under the root before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 4))]
    pub cutovers: Vec<CutoverAt>,
}

/// Where the newest layer of a split's state is: in an object, here, or lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    /// The name of the object that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub object: Option<String>,

    /// The layer itself, base64, where it is small.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 87_384))]
    pub inline: Option<String>,

    /// Whether it is known to be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<bool>,

    /// Its length in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub length: Option<i64>,

    /// Its SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub sha256: Option<String>,
}

/// Where a root took over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutoverAt {
    /// The epoch that took over.
    pub epoch: RootEpoch,

    /// The last position under the root before it; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub after: Option<String>,
}

/// Who owns a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// The worker's name, which is its pod's.
    #[schemars(length(min = 1, max = 63))]
    pub worker: String,

    /// Which life of that worker: the pod's uid and a start nonce.
    #[schemars(length(min = 1, max = 128))]
    pub incarnation: String,

    /// The ledger page that holds the split's entry: the name of its `StreamLedger`, or what that is a hash of.
    #[schemars(length(min = 1, max = 128))]
    pub page: String,
}

/// The last failure of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastError {
    /// Its code (see `docs/errors.md`).
    #[schemars(length(max = 16))]
    pub code: String,

    /// What happened, with its place.
    #[schemars(length(max = 1024))]
    pub message: String,

    /// When.
    #[schemars(length(max = 64))]
    pub at: MicroTime,
}
