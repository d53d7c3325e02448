//! Where records come from, what they look like, and what keys them.
//!
//! Owns: `spec.source` and `spec.keyBy`.
//! May not: read anything.

use super::super::forms;
use super::super::scalar::{Duration, Timestamp};
use super::super::schema::{Rule, exactly_one, member_of_type, region_of_arn, rule, unchanged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where records come from: exactly one of kinesis, file and generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["kinesis", "file", "generator"], "name exactly one source: kinesis, file or generator"),
    rule(
        "has(self.kinesis) == has(oldSelf.kinesis) && has(self.file) == has(oldSelf.file) && has(self.generator) == has(oldSelf.generator)",
        "the kind of source is fixed: create another pipeline for another source",
    ),
]))]
pub struct Source {
    /// The Kinesis streams to read, 1 to 8. Adding or removing one is a cutover; how one is reached may change with a
    /// rollout; which stream a name means is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 8),
        extend(
            "x-millrace-class" = "program",
            "x-millrace-list-key" = ["name", MAIN_STREAM],
            "x-kubernetes-list-type" = "atomic",
            "x-kubernetes-validations" = [names_differ(), streams_differ(), same_streams()],
        )
    )]
    pub kinesis: Option<Vec<KinesisStream>>,

    /// A file, or a folder of which each file is a split: for trials and tests, one record a line. Fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-millrace-class" = "fixed",
        "x-kubernetes-validations" = [rule(
            "self.path == oldSelf.path",
            "file.path is fixed: positions in one file mean nothing in another; create another pipeline for another file",
        )],
    ))]
    pub file: Option<FileSource>,

    /// Records made up from a seed: for trials and `helm test`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "fixed", "x-kubernetes-validations" = [same_records()]))]
    pub generator: Option<GeneratorSource>,

    /// What a record looks like, and what becomes of one that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub format: Option<Format>,
}

/// The name of a stream that has none. It is applied here and not by the schema: a default inside a list would make every
/// client-side `kubectl apply` of a manifest that leaves it out a change, and Argo CD see a difference for ever.
pub(in super::super) const MAIN_STREAM: &str = "main";

/// CEL for the name of the stream that this variable holds.
fn name_of(stream: &str) -> String {
    format!("(has({stream}.name) ? {stream}.name : '{MAIN_STREAM}')")
}

fn names_differ() -> Rule {
    rule(
        format!("self.all(s, self.exists_one(o, {} == {}))", name_of("o"), name_of("s")),
        "each stream needs a name of its own (one without a name is called main): set name",
    )
}

/// The records of a stream's shards are named after the stream: read twice, they would collide.
fn streams_differ() -> Rule {
    let same = |member: &str| format!("(has(o.{member}) && has(s.{member}) && o.{member} == s.{member})");
    let regions = "(has(o.region) ? o.region : '') == (has(s.region) ? s.region : '')";
    rule(
        format!("self.all(s, self.exists_one(o, {} || ({} && {regions})))", same("streamARN"), same("streamName")),
        "a stream stands here twice: one pipeline reads a stream once",
    )
}

/// A position in one stream means nothing in another: while a name stands, it means one stream.
fn same_streams() -> Rule {
    let same: Vec<_> = ["streamName", "streamARN", "region"].into_iter().map(|member| unchanged("s", "o", member)).collect();
    rule(
        format!("self.all(s, oldSelf.all(o, {} != {} || ({})))", name_of("o"), name_of("s"), same.join(" && ")),
        "streamName, streamARN and region are fixed: positions in one stream mean nothing in another; add a stream under another name, or create another pipeline",
    )
}

fn same_records() -> Rule {
    rule(
        format!("{} && {}", unchanged("self", "oldSelf", "seed"), unchanged("self", "oldSelf", "records")),
        "generator.seed and generator.records are fixed: positions count the records they make; create another pipeline for others",
    )
}

/// One Kinesis stream. Name it by streamName or by streamARN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["streamName", "streamARN"], "name the stream by exactly one of streamName and streamARN"),
    region_of_arn(),
    rule("!has(self.consumerName) || (has(self.retrieval) && self.retrieval != 'Polling')", "consumerName belongs to retrieval FanOut or Auto: set one of them, or leave consumerName out"),
]))]
pub struct KinesisStream {
    /// What inputs call this stream (`orders:/amount`). Defaults to main.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40), extend("x-kubernetes-validations" = [forms::label_name()], "x-millrace-class" = "program"))]
    pub name: Option<String>,

    /// The stream's name, in the pipeline's account. Fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), extend("x-kubernetes-validations" = [forms::stream_name()], "x-millrace-class" = "fixed"))]
    pub stream_name: Option<String>,

    /// The stream's ARN, for a stream of any account. Fixed.
    #[serde(rename = "streamARN", skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 2048),
        extend("x-kubernetes-validations" = [forms::stream_arn()], "x-millrace-class" = "fixed")
    )]
    pub stream_arn: Option<String>,

    /// The AWS region. Defaults to the ARN's, else to that of the pod's environment. Fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-validations" = [forms::region()], "x-millrace-class" = "fixed"))]
    pub region: Option<String>,

    /// Another endpoint than the region's own, such as an emulator's or a private one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-validations" = [forms::endpoint()], "x-millrace-class" = "pods"))]
    pub endpoint: Option<String>,

    /// A role to assume for reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [forms::role_arn()], "x-millrace-class" = "pods"))]
    pub role_arn: Option<String>,

    /// Where to begin at this stream's first start (default Latest). A stream that has started goes on from its
    /// committed positions: a later edit of this moves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub start_at: Option<StartAt>,

    /// How records are fetched (default Polling).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "pods"))]
    pub retrieval: Option<Retrieval>,

    /// The name under which the fan-out consumer is registered. Defaults to one made of namespace and pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), extend("x-kubernetes-validations" = [forms::consumer_name()], "x-millrace-class" = "pods"))]
    pub consumer_name: Option<String>,

    /// Create the stream, in provisioned mode, if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub create_if_missing: Option<CreateIfMissing>,

    /// What to do when the stream was deleted and created again under its name (default Stop).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "live"))]
    pub on_recreate: Option<OnRecreate>,
}

impl KinesisStream {
    /// What inputs call this stream.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(MAIN_STREAM)
    }
}

/// Where to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [member_of_type("Timestamp", "timestamp"), member_of_type("KclTable", "kclTable")]))]
pub struct StartAt {
    /// The rule.
    pub r#type: StartType,

    /// With Timestamp: records that arrived at this time or later, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,

    /// With `KclTable`: the DynamoDB lease table of a KCL application (2.x or 3.x) to take the checkpoints from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 255), extend("x-kubernetes-validations" = [forms::table_name()]))]
    pub kcl_table: Option<String>,
}

impl StartAt {
    /// The same start, in the one way to write it.
    #[must_use]
    pub fn canonical(&self) -> Self {
        Self { timestamp: self.timestamp.as_ref().map(Timestamp::canonical), ..self.clone() }
    }
}

/// Where a first start begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StartType {
    /// At the moment of the first start.
    Latest,
    /// At the oldest record there is.
    TrimHorizon,
    /// At a time.
    Timestamp,
    /// Where a KCL application stopped.
    KclTable,
}

/// How records are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Retrieval {
    /// `GetRecords`, sharing the shard's read limits with other consumers.
    #[default]
    Polling,
    /// Enhanced fan-out: limits of its own, paid for by the shard and hour.
    FanOut,
    /// Polling, and fan-out while the lag is large.
    Auto,
}

/// Create a missing stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateIfMissing {
    /// With this many shards.
    #[schemars(range(min = 1, max = 10_000))]
    pub shards: i32,
}

/// What to do with a stream that was made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnRecreate {
    /// Stop, and say so.
    #[default]
    Stop,
    /// Read the new stream from its oldest record.
    StartOver,
}

/// A file, or a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSource {
    /// The path; with millrace run, relative to the pipeline file. Fixed.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
}

/// Made-up records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorSource {
    /// Equal seeds make equal records (default 0). Fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,

    /// Records a second (default 10).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000), extend("x-millrace-class" = "pods"))]
    pub rate_per_second: Option<i32>,

    /// How many records to make; absent: no end. Fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub records: Option<i64>,
}

/// What a record looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Format {
    /// The encoding (default Json).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<FormatType>,

    /// Whether compressed payloads are unpacked (default Auto).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,

    /// What becomes of a record that does not decode (default Fail).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_undecodable: Option<OnUndecodable>,
}

/// How payloads are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FormatType {
    /// One JSON object, in UTF-8.
    #[default]
    Json,
}

/// Whether payloads are unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Compression {
    /// gzip and zstd are told by their first bytes.
    #[default]
    Auto,
    /// Payloads are taken as they are.
    None,
}

/// What becomes of a record that does not decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnUndecodable {
    /// The split stops there until somebody mends it.
    #[default]
    Fail,
    /// It goes to the dead letters, counted.
    DeadLetter,
    /// It is passed over, counted.
    Skip,
}

/// What keys a record: records of one key share a monitor, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [member_of_type("Field", "field")]))]
pub struct KeyBy {
    /// The rule.
    pub r#type: KeyType,

    /// With Field: a JSON pointer into the record, such as /device/id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-validations" = [forms::pointer()]))]
    pub field: Option<String>,
}

/// What keys a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KeyType {
    /// Its Kinesis partition key.
    PartitionKey,
    /// A field of its payload.
    Field,
}

impl Default for KeyBy {
    fn default() -> Self {
        Self { r#type: KeyType::PartitionKey, field: None }
    }
}

/// How far a record's own time may lead its arrival, where nothing is said.
#[must_use]
pub fn default_max_lead() -> Option<Duration> {
    "5m".parse().ok()
}
