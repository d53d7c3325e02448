//! The revision: one program in canonical JSON, and the digest that names it.
//!
//! Owns: what belongs to a program, and the one way to write it. Digests outlive versions: what is written here may gain
//! members that are left out at their default, and nothing else may change.
//! May not: store a revision; the operator does.

use super::pipeline::{
    CreateIfMissing, DeadLetter, Failure, Format, HttpDestination, KeyBy, KeyType, KinesisStream, Limits, MAX_CONFIG_MAP, OnTickError,
    Output, PartitionKeyType, Root, StartAt, StartType, StreamPipelineSpec, default_http_timeout, default_max_lead,
};
use super::scalar::Duration;
use crate::error::{Code, Meaning};
use crate::flow::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A program: all that an edit may change in place. What equals its default is left out, so that later fields keep old
/// digests; lists that have names are in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Program {
    /// The root.
    pub root: ProgramRoot,

    /// The streams that are read, by name. Empty for sources that are no streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<ProgramStream>,

    /// What keys a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_by: Option<KeyBy>,

    /// What a record looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,

    /// Where rows go, by name.
    pub outputs: Vec<Output>,

    /// What a failing tick does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_tick_error: Option<OnTickError>,

    /// Where dead letters go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<DeadLetter>,

    /// How long a quiet key's state lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl: Option<Duration>,
}

/// The root in a program: its text, wherever it came from, and its bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramRoot {
    /// The text of the equations.
    pub text: String,

    /// What binds to each input.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,

    /// What gives a record its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,

    /// How far that may lead the arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lead: Option<Duration>,

    /// Bounds of one tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// A stream in a program: which it is and where it begins; how it is reached belongs to the pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramStream {
    /// What inputs call it.
    pub name: String,

    /// Its name in Kinesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_name: Option<String>,

    /// Its ARN.
    #[serde(default, rename = "streamARN", skip_serializing_if = "Option::is_none")]
    pub stream_arn: Option<String>,

    /// Its region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,

    /// Where its first start begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<StartAt>,

    /// Whether it is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_if_missing: Option<CreateIfMissing>,
}

/// Why there is no revision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// The root stands in a `ConfigMap`, and its text was not given.
    #[error("the root stands in ConfigMap {0}, which only a cluster has")]
    TextMissing(String),
    /// The text of the `ConfigMap` is too long.
    #[error("the root in ConfigMap {name} has {bytes} bytes; at most {MAX_CONFIG_MAP} are allowed")]
    TextTooLong {
        /// The name of the `ConfigMap`.
        name: String,
        /// How long the text is.
        bytes: usize,
    },
    /// The text of the `ConfigMap` is not the one that the manifest names.
    #[error("the root in ConfigMap {name} has the SHA-256 {found}, not the one that configMapRef names")]
    DigestMismatch {
        /// The name of the `ConfigMap`.
        name: String,
        /// What the text's digest is.
        found: Digest,
    },
    /// The program could not be written as canonical JSON.
    #[error("the program has no canonical form")]
    NotCanonical(#[source] serde_json::Error),
    /// A stored revision cannot be read.
    #[error("the stored revision is no program that this version knows")]
    Unreadable(#[source] serde_json::Error),
    /// A stored revision says more than this version understands, or is not what its name says.
    #[error("the stored revision {named} reads here as {read}: it comes from another version, or was changed")]
    NotWhole {
        /// The digest that names it.
        named: Digest,
        /// The digest of what this version made of it.
        read: Digest,
    },
}

impl Meaning for RevisionError {
    fn code(&self) -> Code {
        match self {
            Self::TextMissing(_) => Code::ROOT_ELSEWHERE,
            Self::TextTooLong { .. } => Code::ROOT_TOO_LONG,
            Self::DigestMismatch { .. } => Code::DIGEST_MISMATCH,
            Self::NotCanonical(_) => Code::INTERNAL,
            Self::Unreadable(_) | Self::NotWhole { .. } => Code::FOREIGN_REVISION,
        }
    }
}

/// A program as it is stored: canonical JSON (RFC 8785), named by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    text: String,
    digest: Digest,
}

impl Revision {
    /// The revision of a program.
    ///
    /// # Errors
    /// If it cannot be written as canonical JSON.
    pub fn of(program: &Program) -> Result<Self, RevisionError> {
        let text = serde_json_canonicalizer::to_string(program).map_err(RevisionError::NotCanonical)?;
        let digest = Digest::of(text.as_bytes());
        Ok(Self { text, digest })
    }

    /// Reads a stored revision. A member that this version does not know would silently make another program of it, so
    /// what was read is written again and held against the name.
    ///
    /// # Errors
    /// If it is no program, or not wholly understood, or not what its name says.
    pub fn read(text: &str, named: Digest) -> Result<Program, RevisionError> {
        let program: Program = serde_json::from_str(text).map_err(RevisionError::Unreadable)?;
        let again = Self::of(&program)?;
        if again.digest != named || again.text != text {
            return Err(RevisionError::NotWhole { named, read: again.digest });
        }
        Ok(program)
    }

    /// Its canonical JSON.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its digest.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

impl Program {
    /// The program of a spec. `config_map` is the text that `root.configMapRef` names; it is held against its digest.
    ///
    /// # Errors
    /// If the root stands in a `ConfigMap` whose text is not given, too long, or another.
    pub fn of(spec: &StreamPipelineSpec, config_map: Option<&str>) -> Result<Self, RevisionError> {
        let root = &spec.root;
        let streams = streams(spec.source.kinesis.as_deref().unwrap_or_default());
        let text = root_text(root, config_map)?;
        let failure = spec.failure.clone().unwrap_or_default();
        Ok(Self {
            root: ProgramRoot {
                text,
                inputs: bindings(root.inputs.as_ref(), &streams),
                time: root.time.as_ref().map(|time| binding(time, &streams)).filter(|time| time != "@arrivalTime"),
                max_lead: root.max_lead.as_ref().map(Duration::canonical).filter(|lead| Some(lead) != default_max_lead().as_ref()),
                limits: root.limits.as_ref().and_then(limits),
            },
            streams,
            key_by: spec.key_by.clone().filter(|key| key.r#type != KeyType::PartitionKey),
            format: spec.source.format.as_ref().and_then(format),
            outputs: outputs(&spec.outputs),
            on_tick_error: unless_default(failure.on_tick_error),
            dead_letter: dead_letter(&failure),
            state_ttl: spec.state.as_ref().and_then(|state| state.ttl.as_ref()).map(Duration::canonical),
        })
    }
}

/// `None` where the value is the default.
fn unless_default<T: Default + PartialEq>(value: Option<T>) -> Option<T> {
    value.filter(|value| *value != T::default())
}

fn root_text(root: &Root, config_map: Option<&str>) -> Result<String, RevisionError> {
    if let Some(text) = &root.inline {
        return Ok(text.clone());
    }
    let name = || root.config_map_ref.as_ref().map(|at| at.name.clone()).unwrap_or_default();
    let (Some(at), Some(text)) = (&root.config_map_ref, config_map) else { return Err(RevisionError::TextMissing(name())) };
    if text.len() > MAX_CONFIG_MAP {
        return Err(RevisionError::TextTooLong { name: name(), bytes: text.len() });
    }
    let found = Digest::of(text.as_bytes());
    if found.hex() != at.sha256.trim_start_matches("sha256:") {
        return Err(RevisionError::DigestMismatch { name: name(), found });
    }
    Ok(text.to_owned())
}

/// An input that binds to the field of its own name says nothing.
fn bindings(inputs: Option<&BTreeMap<String, String>>, streams: &[ProgramStream]) -> BTreeMap<String, String> {
    let all = inputs.into_iter().flatten().map(|(name, at)| (name.clone(), binding(at, streams)));
    all.filter(|(name, at)| at.strip_prefix('/') != Some(name.as_str())).collect()
}

/// Where there is one stream, naming it says nothing.
fn binding(at: &str, streams: &[ProgramStream]) -> String {
    let own = |stream: &ProgramStream| at.strip_prefix(stream.name.as_str()).and_then(|rest| rest.strip_prefix(':'));
    if let [only] = streams { own(only).unwrap_or(at).to_owned() } else { at.to_owned() }
}

fn limits(limits: &Limits) -> Option<Limits> {
    let defaults = Limits::defaults();
    let set = Limits {
        steps: limits.steps.filter(|value| Some(*value) != defaults.steps),
        depth: limits.depth.filter(|value| Some(*value) != defaults.depth),
        value_bytes: limits.value_bytes.filter(|value| Some(*value) != defaults.value_bytes),
        window_values: limits.window_values.filter(|value| Some(*value) != defaults.window_values),
    };
    unless_default(Some(set))
}

fn format(format: &Format) -> Option<Format> {
    unless_default(Some(Format {
        r#type: unless_default(format.r#type),
        compression: unless_default(format.compression),
        on_undecodable: unless_default(format.on_undecodable),
    }))
}

fn streams(streams: &[KinesisStream]) -> Vec<ProgramStream> {
    let latest = StartAt { r#type: StartType::Latest, timestamp: None, kcl_table: None };
    let mut all: Vec<_> = streams
        .iter()
        .map(|stream| ProgramStream {
            name: stream.name().to_owned(),
            stream_name: stream.stream_name.clone(),
            stream_arn: stream.stream_arn.clone(),
            // An ARN names its region.
            region: stream.region.clone().filter(|_| stream.stream_arn.is_none()),
            start_at: stream.start_at.as_ref().map(StartAt::canonical).filter(|start| *start != latest),
            create_if_missing: stream.create_if_missing.clone(),
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn outputs(outputs: &[Output]) -> Vec<Output> {
    let mut all: Vec<_> = outputs
        .iter()
        .map(|output| {
            let mut output = output.clone();
            if let Some(streams) = &mut output.streams {
                streams.sort();
            }
            output.metadata = unless_default(output.metadata);
            normalise((&mut output.kinesis, &mut output.http));
            output
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn dead_letter(failure: &Failure) -> Option<DeadLetter> {
    failure.dead_letter.clone().map(|mut place| {
        place.on_refused = unless_default(place.on_refused);
        normalise((&mut place.kinesis, &mut place.http));
        place
    })
}

fn normalise((kinesis, http): (&mut Option<super::pipeline::KinesisDestination>, &mut Option<HttpDestination>)) {
    if let Some(kinesis) = kinesis {
        kinesis.region = kinesis.region.take().filter(|_| kinesis.stream_arn.is_none());
        kinesis.aggregate = unless_default(kinesis.aggregate);
        kinesis.partition_key = kinesis.partition_key.take().filter(|key| key.r#type != PartitionKeyType::Record);
    }
    if let Some(http) = http {
        http.method = unless_default(http.method);
        // Names of headers mean the same in capitals.
        let headers = http.headers.take().map(|all| all.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect());
        http.headers = unless_default(headers);
        http.timeout = http.timeout.as_ref().map(Duration::canonical).filter(|timeout| Some(timeout) != default_http_timeout().as_ref());
        if let Some(headers) = &mut http.headers_from {
            for header in headers.iter_mut() {
                header.name = header.name.to_lowercase();
            }
            headers.sort_by(|one, other| one.name.cmp(&other.name));
        }
        http.headers_from = unless_default(http.headers_from.take());
    }
}
