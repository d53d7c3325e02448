//! The four CustomResourceDefinitions, made from the types.
//!
//! Owns: names, columns, subresources, and the rules about an object as a whole.
//! May not: install them.

use super::pipeline::{StreamPipelineSpec, StreamPipelineStatus};
use super::schema::{RULES, object_rules, published, rule, structural};
use super::stream_ledger::LedgerRecord;
use super::stream_split::{SplitRecord, StreamSplitSpec};
use super::stream_worker::{StreamWorkerSpec, StreamWorkerStatus};
use super::{GROUP, Kind, StreamLedger, StreamPipeline, StreamSplit, StreamWorker, VERSION};
use serde_json::{Map, Value, json};

/// The longest name of a pipeline: names of its children must fit, too.
pub const MAX_NAME: usize = 40;

/// One CustomResourceDefinition.
#[derive(Clone, Debug)]
pub struct Crd {
    /// The kind's plural, which names its file in `crds/`.
    pub plural: &'static str,
    /// The definition as a manifest.
    pub manifest: Value,
}

struct Names {
    short: &'static [&'static str],
    columns: Vec<Value>,
    subresources: Option<Value>,
}

/// All four, in a stable order.
#[must_use]
pub fn all() -> Vec<Crd> {
    vec![pipeline(), worker(), split(), ledger()]
}

/// The schema of a `StreamPipeline` as the API server checks it.
#[must_use]
pub fn pipeline_schema() -> Value {
    published(pipeline_structure())
}

/// The same with the classes of its fields still in it.
pub(super) fn pipeline_structure() -> Value {
    let mut status = structural::<StreamPipelineStatus>();
    if let Some(status) = status.as_object_mut() {
        // kstatus must never call a pipeline Current that nobody has looked at.
        status.insert("default".to_owned(), json!({"observedGeneration": -1}));
    }
    let mut schema = object(
        "What to read, the root to evaluate over it, and where its rows go.",
        &[("spec", structural::<StreamPipelineSpec>()), ("status", status)],
        &["spec"],
    );
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(RULES.to_owned(), json!(object_rules(MAX_NAME)));
    }
    schema
}

fn pipeline() -> Crd {
    definition::<StreamPipeline>(
        pipeline_schema(),
        Names {
            short: &["spl"],
            columns: vec![
                column("Ready", ".status.conditions[?(@.type==\"Ready\")].status", "Whether all is as the spec asks."),
                column("State", ".status.conditions[?(@.type==\"Ready\")].reason", "Why it is not, or why it is at rest."),
                column("Root", ".status.summary.root", "The program in force."),
                column("Acked", ".status.summary.acked", "Workers that have acknowledged it, of how many."),
                number("Workers", ".status.readyReplicas", "Workers that are ready."),
                column("Lag", ".status.summary.lag", "Age of the oldest unread record."),
                age(),
                wide(number("Epoch", ".status.root.active.epoch", "The attempt that made the program the running one.")),
                wide(column("Stream", ".spec.source.kinesis[*]['streamName','streamARN']", "The first stream that is read.")),
                wide(column("Version", ".status.worker.version", "The workers' version.")),
            ],
            subresources: Some(json!({
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            })),
        },
    )
}

fn worker() -> Crd {
    let schema = object(
        "What one worker is told, and what it answers. Written by the system.",
        &[("spec", structural::<StreamWorkerSpec>()), ("status", structural::<StreamWorkerStatus>())],
        &["spec"],
    );
    definition::<StreamWorker>(
        schema,
        Names {
            short: &["slw"],
            columns: vec![
                column("Stage", ".spec.root.stage", "What it is told to do."),
                number("Epoch", ".spec.root.root.epoch", "With which attempt."),
                column("Answer", ".status.answer.outcome.type", "What it answers."),
                number("Installed", ".status.answer.installed.epoch", "The attempt whose program it runs."),
                boolean("Leaving", ".status.leaving", "Whether it is on its way out."),
                age(),
                wide(column("Version", ".status.versions.binary", "Its version.")),
            ],
            subresources: Some(json!({"status": {}})),
        },
    )
}

fn split() -> Crd {
    let mut schema = object(
        "One shard: its parents, its owner and what it waits for. Written by the system.",
        &[("spec", structural::<StreamSplitSpec>()), ("record", structural::<SplitRecord>())],
        &["spec"],
    );
    if let Some(schema) = schema.as_object_mut() {
        let kept = rule("!has(oldSelf.record) || has(self.record)", "a split's record cannot be taken away: its epoch would begin again");
        schema.insert(RULES.to_owned(), json!([kept]));
    }
    definition::<StreamSplit>(
        schema,
        Names {
            short: &["sls"],
            columns: vec![
                column("Shard", ".spec.shard", "The shard."),
                column("State", ".record.state", "Waiting for its parents, open, completed or quarantined."),
                column("Owner", ".record.owner.worker", "The worker that reads it."),
                column("Parents", ".spec.parents", "The shards that it came from, and waits for."),
                number("Epoch", ".record.epoch", "The number of its tenancy."),
                number("Attempts", ".record.attempts", "Failures in a row."),
                age(),
                wide(column("Error", ".record.lastError.message", "The last failure.")),
                wide(column("Stream", ".spec.stream", "The stream.")),
            ],
            subresources: None,
        },
    )
}

fn ledger() -> Crd {
    let schema = object("One page of a worker's commits. Written by the system.", &[("record", structural::<LedgerRecord>())], &[]);
    definition::<StreamLedger>(
        schema,
        Names {
            short: &["sll"],
            columns: vec![
                column("Incarnation", ".record.incarnation", "The life of the worker that writes it."),
                column("Splits", ".record.splits", "The splits that have an entry."),
                age(),
            ],
            subresources: None,
        },
    )
}

fn object(description: &str, parts: &[(&str, Value)], required: &[&str]) -> Value {
    let standard = [("apiVersion", "The version of the schema, millrace.dev/v1alpha1."), ("kind", "The kind.")];
    let mut properties: Map<String, Value> =
        standard.iter().map(|(name, text)| ((*name).to_owned(), json!({"type": "string", "description": text}))).collect();
    properties.insert("metadata".to_owned(), json!({"type": "object"}));
    properties.extend(parts.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
    let mut schema = json!({"type": "object", "description": description, "properties": properties});
    if let (Some(schema), false) = (schema.as_object_mut(), required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn definition<K: Kind>(schema: Value, names: Names) -> Crd {
    let mut version = json!({
        "name": VERSION,
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": published(schema)},
        "additionalPrinterColumns": names.columns,
    });
    if let (Some(version), Some(subresources)) = (version.as_object_mut(), names.subresources) {
        version.insert("subresources".to_owned(), subresources);
    }
    let manifest = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{GROUP}", K::PLURAL)},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": K::KIND,
                "plural": K::PLURAL,
                "singular": K::KIND.to_lowercase(),
                "shortNames": names.short,
                "categories": ["streams"],
            },
            "versions": [version],
        },
    });
    Crd { plural: K::PLURAL, manifest }
}

fn column(name: &str, path: &str, description: &str) -> Value {
    json!({"name": name, "type": "string", "jsonPath": path, "description": description})
}

fn number(name: &str, path: &str, description: &str) -> Value {
    json!({"name": name, "type": "integer", "jsonPath": path, "description": description})
}

fn boolean(name: &str, path: &str, description: &str) -> Value {
    json!({"name": name, "type": "boolean", "jsonPath": path, "description": description})
}

fn age() -> Value {
    json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "When it was created."})
}

/// Shown by `kubectl get -o wide` only.
fn wide(mut column: Value) -> Value {
    if let Some(column) = column.as_object_mut() {
        column.insert("priority".to_owned(), json!(1));
    }
    column
}

impl Crd {
    /// The definition as a YAML document.
    ///
    /// # Errors
    /// If the YAML library cannot write it.
    pub fn yaml(&self) -> Result<String, serde_saphyr::ser::Error> {
        serde_saphyr::to_string(&self.manifest)
    }
}
