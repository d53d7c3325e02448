//! Where rows go, and what becomes of records and keys that fail.
//!
//! Owns: `spec.outputs` and `spec.failure`.
//! May not: open anything.

use super::super::forms;
use super::super::scalar::Duration;
use super::super::schema::{Rule, exactly_one, member_of_type, region_of_arn, rule, texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One output. It has exactly one destination: kinesis, http, file or stdout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["kinesis", "http", "file", "stdout"], "give the output exactly one destination: kinesis, http, file or stdout (write stdout: {})"),
]))]
pub struct Output {
    /// The output's name, unique in the pipeline.
    #[schemars(length(min = 1, max = 40), extend("x-kubernetes-validations" = [forms::label_name()]))]
    pub name: String,

    /// The out streams of the root that its rows carry. Defaults to all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 64),
        extend("items" = texts(128, Some(forms::identifier())), "x-kubernetes-list-type" = "set")
    )]
    pub streams: Option<Vec<String>>,

    /// A Bool stream: a tick makes a row where it is true. Without it, where one of the streams has a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), extend("x-kubernetes-validations" = [forms::identifier()]))]
    pub emit_when: Option<String>,

    /// Whether each row carries _millrace, with its id, split epoch and root epoch, by which a consumer drops repeats
    /// (default false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<bool>,

    /// To a Kinesis stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinesis: Option<KinesisDestination>,

    /// To an HTTP endpoint, in batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpDestination>,

    /// To a file, a line a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileDestination>,

    /// To the standard output, a line a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<StdoutDestination>,
}

/// A Kinesis stream to write to. Name it by streamName or by streamARN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["streamName", "streamARN"], "name the stream by exactly one of streamName and streamARN"),
    region_of_arn(),
]))]
pub struct KinesisDestination {
    /// The stream's name, in the pipeline's account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), extend("x-kubernetes-validations" = [forms::stream_name()]))]
    pub stream_name: Option<String>,

    /// The stream's ARN.
    #[serde(rename = "streamARN", skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 2048),
        extend("x-kubernetes-validations" = [forms::stream_arn()])
    )]
    pub stream_arn: Option<String>,

    /// The AWS region. Defaults to the ARN's, else to that of the pod's environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-validations" = [forms::region()]))]
    pub region: Option<String>,

    /// Another endpoint than the region's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-validations" = [forms::endpoint()]))]
    pub endpoint: Option<String>,

    /// A role to assume for writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [forms::role_arn()]))]
    pub role_arn: Option<String>,

    /// What a row's partition key is (default: its record's own).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<PartitionKey>,

    /// Whether rows are packed into aggregated (KPL) records (default false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<bool>,
}

/// What a row's partition key is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [member_of_type("Stream", "stream"), member_of_type("Constant", "value")]))]
pub struct PartitionKey {
    /// The rule.
    pub r#type: PartitionKeyType,

    /// With Stream: the stream whose value it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), extend("x-kubernetes-validations" = [forms::identifier()]))]
    pub stream: Option<String>,

    /// With Constant: the key of every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub value: Option<String>,
}

/// What a row's partition key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PartitionKeyType {
    /// The record's own.
    Record,
    /// A stream's value, as text.
    Stream,
    /// Always the same.
    Constant,
}

/// What a request's headers may be called: each once, and none of those that frame the request.
fn header_rules() -> Vec<Rule> {
    vec![
        rule(
            "self.all(name, name.size() <= 128 && name.matches('^[-!#$%&+.^_|~0-9A-Za-z]+$'))",
            "each key is the name of a header, such as X-Source",
        ),
        rule(
            "self.all(a, self.exists_one(b, a.lowerAscii() == b.lowerAscii()))",
            "a header stands here twice, in capitals and without: keep one",
        ),
        rule(
            "!self.exists(name, name.lowerAscii() in ['connection', 'content-length', 'host', 'transfer-encoding'])",
            "Connection, Content-Length, Host and Transfer-Encoding are set by the request itself: leave them out",
        ),
    ]
}

/// An HTTP endpoint that takes batches of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "!has(self.headers) || !has(self.headersFrom) || self.headersFrom.all(h, !self.headers.exists(name, name.lowerAscii() == h.name.lowerAscii()))",
    "a header stands both in headers and in headersFrom: keep one",
)]))]
pub struct HttpDestination {
    /// The URL.
    #[schemars(length(min = 1, max = 2048), extend("x-kubernetes-validations" = [forms::endpoint()]))]
    pub url: String,

    /// The method (default POST).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<HttpMethod>,

    /// Headers of each request. What is secret belongs into headersFrom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        extend("additionalProperties" = texts(1024, Some(forms::header_value())), "maxProperties" = 16, "x-kubernetes-validations" = header_rules())
    )]
    pub headers: Option<BTreeMap<String, String>>,

    /// Headers whose values stand in Secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub headers_from: Option<Vec<HeaderFrom>>,

    /// How long one request may take (default 10s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// How requests are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// POST.
    #[default]
    Post,
    /// PUT.
    Put,
}

/// A header whose value stands in a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeaderFrom {
    /// The header's name.
    #[schemars(length(min = 1, max = 128), extend("x-kubernetes-validations" = [forms::header_name()]))]
    pub name: String,

    /// Where its value stands. The Secret is mounted into the workers.
    pub secret_ref: SecretKey,
}

/// One key of a Secret in the pipeline's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKey {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub name: String,

    /// The key in it.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::data_key()]))]
    pub key: String,
}

/// A file to write to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDestination {
    /// The path: in the pod, on a volume of the worker's template; with millrace run, relative to the pipeline file.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
}

/// The standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StdoutDestination {}

/// What becomes of records and keys that fail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What a failing tick does (default Stop).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub on_tick_error: Option<OnTickError>,

    /// How often a split may fail before it is quarantined (default 4).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100), extend("x-millrace-class" = "live"))]
    pub max_attempts: Option<i32>,

    /// Where dead letters go. Needed by every `DeadLetter` policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-millrace-class" = "program"))]
    pub dead_letter: Option<DeadLetter>,
}

/// What a failing tick does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnTickError {
    /// The worker stops there and the split is charged an attempt.
    #[default]
    Stop,
    /// This and later records of the key go to the dead letters; other keys go on.
    DeadLetterKey,
}

/// Where dead letters go: exactly one of kinesis, http, file and stdout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["kinesis", "http", "file", "stdout"], "give the dead letters exactly one destination: kinesis, http, file or stdout"),
]))]
pub struct DeadLetter {
    /// To a Kinesis stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinesis: Option<KinesisDestination>,

    /// To an HTTP endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpDestination>,

    /// To a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileDestination>,

    /// To the standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<StdoutDestination>,

    /// What to do when this destination refuses a dead letter for good (default Hold).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_refused: Option<OnRefused>,
}

/// What to do with a dead letter that its destination refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnRefused {
    /// The split waits, with a condition.
    #[default]
    Hold,
    /// It is counted, and the split goes on.
    Count,
}

/// The timeout of an HTTP request, where nothing is said.
pub(in super::super) fn default_http_timeout() -> Option<Duration> {
    "10s".parse().ok()
}
