//! Digests of revisions outlive versions: these may be added to, and none may ever change.

use crate::table;
use millrace::api::manifest;
use millrace::api::revision::{Program, Revision};
use serde_json::{Map, Value, json};

fn revision(value: &Value) -> Revision {
    let pipeline = manifest::read(&value.to_string()).unwrap();
    let text = pipeline.spec.root.config_map_ref.is_some().then_some("out y: Int = 1");
    Revision::of(&Program::of(&pipeline.spec, text).unwrap()).unwrap()
}

fn with(changes: &Value) -> Value {
    table::changed(&table::minimal(), &changes.as_object().cloned().unwrap_or_else(Map::new))
}

fn digest(changes: &Value) -> String {
    revision(&with(changes)).digest().to_string()
}

#[test]
fn golden_digests_stay() {
    assert_eq!(
        revision(&table::minimal()).text(),
        r#"{"outputs":[{"name":"all","stdout":{}}],"root":{"text":"out y: Int = 1"},"streams":[{"name":"main","streamName":"telemetry"}]}"#
    );
    assert_eq!(revision(&table::minimal()).digest().to_string(), "sha256:53c199ef9e47437875f92d017bb8e6ae47b8cc94fbbf89b114b4291f13624170");
    let full: Vec<_> = table::full("StreamPipeline").iter().map(|value| revision(value).digest().to_string()).collect();
    assert_eq!(
        full,
        [
            "sha256:00c75cc15a73e93d87785f7d434159fbb4b89c5344b1a70e41fb8b314ed6df32",
            "sha256:e80391664439d0228e97229a5e5417e0d9b8485368a23b20097161518aad4b21",
            "sha256:68b8cb0b494cbae8c90dd24b812c4a7307e69aad9143d0f887f8558c402fa1e4",
            "sha256:aa9dd37f14be933447038dfb2bc71ac49cc61367f64252e26f08c876e54bb946",
            "sha256:237b159df925e50c8790cbf42dc6b236ae3cd0bc51358c7742444813a9826d3c",
        ]
    );
}

#[test]
fn what_equals_its_default_is_left_out() {
    let plain = digest(&json!({}));
    for same in [
        json!({"/spec/keyBy": {"type": "PartitionKey"}}),
        json!({"/spec/source/format": {}}),
        json!({"/spec/source/format": {"type": "Json", "compression": "Auto", "onUndecodable": "Fail"}}),
        json!({"/spec/failure": {"onTickError": "Stop"}}),
        json!({"/spec/root/inputs": {}}),
        json!({"/spec/root/inputs": {"x": "/x"}}),
        json!({"/spec/root/time": "@arrivalTime"}),
        json!({"/spec/root/maxLead": "300s"}),
        json!({"/spec/root/limits": {"steps": 1_000_000, "depth": 256}}),
        json!({"/spec/outputs/0/metadata": false}),
        json!({"/spec/source/kinesis/0/startAt": {"type": "Latest"}}),
    ] {
        assert_eq!(digest(&same), plain, "{same}");
    }
}

#[test]
fn only_the_program_counts() {
    let plain = digest(&json!({}));
    for same in [
        json!({"/metadata/name": "other", "/metadata/labels": {"a": "b"}}),
        json!({"/spec/replicas": 5, "/spec/desiredState": "Paused", "/spec/onDelete": "Delete"}),
        json!({"/spec/worker": {"threads": 2}, "/spec/restartNonce": "x"}),
        json!({"/spec/coordination": {"ttl": "30s"}, "/spec/state": {"memory": "1Gi"}}),
        json!({"/spec/cutover": {"soak": "0s"}, "/spec/failure": {"maxAttempts": 9}}),
        json!({"/spec/source/kinesis/0/endpoint": "http://e", "/spec/source/kinesis/0/retrieval": "FanOut"}),
    ] {
        assert_eq!(digest(&same), plain, "{same}");
    }
}

#[test]
fn every_change_of_the_program_counts() {
    let mut seen = std::collections::BTreeMap::from([(digest(&json!({})), json!({}))]);
    for change in [
        json!({"/spec/root/inline": "out y: Int = 2"}),
        json!({"/spec/root/inline": "out y: Int = 1 "}),
        json!({"/spec/root/inputs": {"x": "/y"}}),
        json!({"/spec/root/time": "/at"}),
        json!({"/spec/root/maxLead": "1m"}),
        json!({"/spec/root/limits": {"steps": 5000}}),
        json!({"/spec/keyBy": {"type": "Field", "field": "/a"}}),
        json!({"/spec/source/format": {"onUndecodable": "Skip"}}),
        json!({"/spec/source/format": {"compression": "None"}}),
        json!({"/spec/source/kinesis": [{"streamName": "telemetry"}, {"name": "more", "streamName": "more"}]}),
        json!({"/spec/outputs/0/name": "other"}),
        json!({"/spec/outputs/0/metadata": true}),
        json!({"/spec/outputs/0/streams": ["y"]}),
        json!({"/spec/outputs/0/emitWhen": "y"}),
        json!({"/spec/outputs": [{"name": "all", "http": {"url": "https://a"}}]}),
        json!({"/spec/outputs": [{"name": "all", "http": {"url": "https://a", "timeout": "1s"}}]}),
        json!({"/spec/failure": {"deadLetter": {"stdout": {}}}}),
        json!({"/spec/failure": {"deadLetter": {"stdout": {}}, "onTickError": "DeadLetterKey"}}),
        json!({"/spec/failure": {"deadLetter": {"stdout": {}, "onRefused": "Count"}}}),
        json!({"/spec/state": {"ttl": "1h"}}),
    ] {
        if let Some(other) = seen.insert(digest(&change), change.clone()) {
            panic!("{change} has the digest of {other}");
        }
    }
}

#[test]
fn one_program_has_one_digest_however_it_is_written() {
    for (one, other) in [
        (json!({"/spec/state": {"ttl": "90m"}}), json!({"/spec/state": {"ttl": "1h30m"}})),
        (
            json!({"/spec/outputs": [{"name": "a", "stdout": {}}, {"name": "b", "stdout": {}}]}),
            json!({"/spec/outputs": [{"name": "b", "stdout": {}}, {"name": "a", "stdout": {}}]}),
        ),
        (json!({"/spec/outputs/0/streams": ["x", "y"]}), json!({"/spec/outputs/0/streams": ["y", "x"]})),
        (
            json!({"/spec/outputs": [{"name": "a", "http": {"url": "https://a", "method": "POST", "timeout": "10s", "headers": {}}}]}),
            json!({"/spec/outputs": [{"name": "a", "http": {"url": "https://a"}}]}),
        ),
        (
            json!({"/spec/outputs": [{"name": "a", "kinesis": {"streamName": "a", "aggregate": false, "partitionKey": {"type": "Record"}}}]}),
            json!({"/spec/outputs": [{"name": "a", "kinesis": {"streamName": "a"}}]}),
        ),
    ] {
        assert_eq!(digest(&one), digest(&other), "{one} and {other}");
    }
    let inline = with(&json!({"/spec/root": {"inline": "out y: Int = 1"}}));
    let elsewhere = with(&json!({"/spec/root": {"configMapRef": {"name": "r", "key": "k", "sha256": "0".repeat(64)}}}));
    assert_eq!(revision(&inline).digest(), revision(&elsewhere).digest());
}

#[test]
fn a_stored_revision_reads_back_as_the_program_it_was() {
    for value in table::full("StreamPipeline") {
        let revision = revision(&value);
        let program: Program = serde_json::from_str(revision.text()).unwrap();
        assert_eq!(Revision::of(&program).unwrap(), revision);
    }
}

/// A leaf of class program that the program did not hold would change without a cutover.
#[test]
fn the_program_holds_every_field_of_its_class() {
    let full = &table::full("StreamPipeline").into_iter().find(|value| value["metadata"]["name"] == "full-kinesis").unwrap();
    let before = revision(full).digest();
    let leaves = millrace::api::class::leaves();
    let program = leaves.iter().filter(|(_, class)| **class == Some(millrace::api::class::Class::Program));
    let mut tried = 0;
    for (path, _) in program {
        for pointer in ["0", "1", "2", "3"].map(|index| format!("/{}", path.replace("[]", &format!(".{index}")).replace('.', "/"))) {
            let mut changed = full.clone();
            if !changed.pointer_mut(&pointer).is_some_and(edit) {
                continue;
            }
            let Ok(pipeline) = serde_json::from_value::<millrace::api::StreamPipeline>(changed) else { continue };
            let program = Program::of(&pipeline.spec, None).unwrap();
            assert_ne!(Revision::of(&program).unwrap().digest(), before, "{pointer}");
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}

fn edit(slot: &mut Value) -> bool {
    *slot = match slot {
        Value::String(text) if text.parse::<millrace::api::scalar::Duration>().is_ok() => json!("77s"),
        Value::String(text) => json!(format!("{text}x")),
        Value::Number(number) => json!(number.as_i64().unwrap_or(0) + 1),
        Value::Bool(value) => json!(!*value),
        _ => return false,
    };
    true
}
