//! `StreamLedger`: one page of a worker's commits.
//!
//! Owns: the ledger page of the Kubernetes store.
//! May not: be written by users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commits of up to 256 splits of one worker incarnation, written in one compare-and-swap. They stand in no status,
/// so that backups bring them back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerRecord {
    /// The version of this record's form.
    #[schemars(range(min = 1))]
    pub schema: i32,

    /// The pipeline's uid.
    #[schemars(length(min = 1, max = 64))]
    pub pipeline_uid: String,

    /// Which life of which worker: the pod's uid and a start nonce.
    #[schemars(length(min = 1, max = 128))]
    pub incarnation: String,

    /// The splits that have an entry here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 256), inner(length(max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub splits: Vec<String>,

    /// The entries, by split and epoch: compact JSON, deflated, in base64. One string, since the API server tracks each
    /// field of a structure.
    #[schemars(length(max = 262_144))]
    pub page: String,
}
