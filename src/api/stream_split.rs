//! `StreamSplit`: one shard, who owns it, and where it stood when ownership last changed.
//!
//! Owns: the split record of the Kubernetes store.
//! May not: be written by users; its `record` is changed by compare-and-swap alone (I6).

use super::progress::{CutoverAt, LastError, Owner, Progress};
use crate::flow::SplitEpoch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One split of a pipeline's source. Written by workers; kubectl get streamsplits shows every shard, its parents, its
/// owner and what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamSplitSpec {
    /// The pipeline's uid.
    #[schemars(length(min = 1, max = 64))]
    pub pipeline_uid: String,

    /// The stream's identity: its ARN and creation time.
    #[schemars(length(max = 2112))]
    pub stream: String,

    /// The shard's id.
    #[schemars(length(min = 1, max = 128))]
    pub shard: String,

    /// The range of hash keys that the shard takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_range: Option<HashRange>,

    /// The shards that it came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 2), inner(length(max = 128)))]
    pub parents: Vec<String>,

    /// Who made this record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<MadeBy>,

    /// Whether it was ever opened: a record that is lost is no first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<bool>,
}

/// Who made a split's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MadeBy {
    /// A leader, from a listing of the stream.
    Listing,
    /// The driver that read its parent to the end.
    Driver,
}

/// A range of hash keys, both ends included, in decimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HashRange {
    /// The first.
    #[schemars(length(min = 1, max = 39), regex(pattern = r"^[0-9]+$"))]
    pub from: String,

    /// The last.
    #[schemars(length(min = 1, max = 39), regex(pattern = r"^[0-9]+$"))]
    pub to: String,
}

/// What ownership and failure have made of the split. It stands in no status, so that backups bring it back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SplitRecord {
    /// The version of this record's form.
    #[schemars(range(min = 1))]
    pub schema: i32,

    /// What it waits for, or that it is done.
    pub state: SplitState,

    /// Who owns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,

    /// The number of its tenancy; it never falls.
    #[schemars(range(min = 0), extend("x-kubernetes-validations" = [
        super::schema::rule("self >= oldSelf", "a split's epoch never falls"),
    ]))]
    pub epoch: SplitEpoch,

    /// Its measured rate, in bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub weight: Option<i64>,

    /// Failures in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub attempts: Option<i32>,

    /// The last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,

    /// Its progress when ownership last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Progress>,

    /// Where roots took over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(default, length(max = 16))]
    pub cutovers: Vec<CutoverAt>,

    /// Names the last write, by which a lost reply is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub write_id: Option<String>,
}

/// What a split waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SplitState {
    /// For its parents to be read to their end.
    #[default]
    Waiting,
    /// For records; or, without an owner, for one.
    Open,
    /// For nothing: it was read to its end.
    Completed,
    /// For somebody to mend what made it fail.
    Quarantined,
}
