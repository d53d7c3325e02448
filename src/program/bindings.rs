//! What a program says of its records, as the decoder takes it.
//!
//! Owns: the defaults where nothing is said.
//! May not: judge a binding; `codec` does.

use crate::api::pipeline::{self, KeyBy, KeyType, KinesisStream, StreamPipelineSpec, default_max_lead};
use crate::api::revision::Program;
use crate::codec::{Bindings, Compression, KeyRule, Limits};
use std::collections::BTreeMap;

static NOTHING_BOUND: BTreeMap<String, String> = BTreeMap::new();

/// The bindings of a root by itself: each input is the field of its name, and all records have one key.
#[must_use]
pub fn root_bindings() -> Bindings<'static> {
    Bindings {
        inputs: &NOTHING_BOUND,
        key: KeyRule::PartitionKey,
        time: None,
        max_lead: max_lead(None),
        compression: Compression::None,
        streams: Vec::new(),
        limits: Limits::default(),
    }
}

/// The bindings of a spec.
pub(super) fn of_spec(spec: &StreamPipelineSpec) -> Bindings<'_> {
    let root = &spec.root;
    Bindings {
        inputs: root.inputs.as_ref().unwrap_or(&NOTHING_BOUND),
        key: key(spec.key_by.as_ref()),
        time: root.time.as_deref(),
        max_lead: max_lead(root.max_lead.as_ref()),
        compression: compression(spec.source.format.as_ref()),
        streams: spec.source.kinesis.iter().flatten().map(|stream| KinesisStream::name(stream).to_owned()).collect(),
        limits: limits(root.limits.as_ref()),
    }
}

/// The bindings of a program.
#[must_use]
pub fn bindings(program: &Program) -> Bindings<'_> {
    let root = &program.root;
    Bindings {
        inputs: &root.inputs,
        key: key(program.key_by.as_ref()),
        time: root.time.as_deref(),
        max_lead: max_lead(root.max_lead.as_ref()),
        compression: compression(program.format.as_ref()),
        streams: program.streams.iter().map(|stream| stream.name.clone()).collect(),
        limits: limits(root.limits.as_ref()),
    }
}

fn key(key: Option<&KeyBy>) -> KeyRule {
    match key {
        Some(KeyBy { r#type: KeyType::Field, field }) => KeyRule::Field(field.clone().unwrap_or_default()),
        _ => KeyRule::PartitionKey,
    }
}

fn max_lead(lead: Option<&crate::api::scalar::Duration>) -> i64 {
    lead.cloned().or_else(default_max_lead).map_or(i64::MAX, |lead| lead.micros())
}

fn compression(format: Option<&pipeline::Format>) -> Compression {
    match format.and_then(|format| format.compression).unwrap_or_default() {
        pipeline::Compression::Auto => Compression::Auto,
        pipeline::Compression::None => Compression::None,
    }
}

/// A value that an input takes is bounded as those that the root makes.
fn limits(set: Option<&pipeline::Limits>) -> Limits {
    let value_bytes = super::limits(set).value_bytes;
    Limits { value_bytes, ..Limits::default() }
}
