//! Digests of revisions outlive versions: these may be added to, and none may ever change.

use crate::table;
use millrace::api::manifest;
use millrace::api::revision::{Program, Revision};
use serde_json::{Map, Value, json};

fn revision(value: &Value) -> Revision {
    let pipeline = manifest::take(value).unwrap();
    // Either text, whichever digest stands in the manifest.
    let named = pipeline.spec.root.config_map_ref.as_ref().map(|at| at.sha256.as_str());
    let text = named.map(|sha256| if sha256.starts_with("ba7816bf") { "abc" } else { "out y: Int = 1" });
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
            "sha256:55af29a0a44931563d1db08c4751db7e291a176378c9e0ed0ca10e438459f342",
            "sha256:68b8cb0b494cbae8c90dd24b812c4a7307e69aad9143d0f887f8558c402fa1e4",
            "sha256:aa9dd37f14be933447038dfb2bc71ac49cc61367f64252e26f08c876e54bb946",
            "sha256:b95ae7534b6a5fdf959dfcd23adfc319241235973426dff85a9dd46efe891a3a",
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
            json!({"/spec/source/kinesis/0/startAt": {"type": "Timestamp", "timestamp": "2026-01-01T01:00:00.500+01:00"}}),
            json!({"/spec/source/kinesis/0/startAt": {"type": "Timestamp", "timestamp": "2026-01-01T00:00:00.5Z"}}),
        ),
        (
            json!({"/spec/source/kinesis": [{"streamARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/a", "region": "eu-west-1"}]}),
            json!({"/spec/source/kinesis": [{"name": "main", "streamARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/a"}]}),
        ),
        (json!({"/spec/root/inputs": {"a": "main:/b", "t": "main:/t"}}), json!({"/spec/root/inputs": {"a": "/b"}})),
        (
            json!({"/spec/outputs": [{"name": "a", "http": {"url": "https://a", "headers": {"X-A": "b"}}}]}),
            json!({"/spec/outputs": [{"name": "a", "http": {"url": "https://a", "headers": {"x-a": "b"}}}]}),
        ),
        (
            json!({"/spec/outputs": [{"name": "a", "kinesis": {"streamName": "a", "aggregate": false, "partitionKey": {"type": "Record"}}}]}),
            json!({"/spec/outputs": [{"name": "a", "kinesis": {"streamName": "a"}}]}),
        ),
    ] {
        assert_eq!(digest(&one), digest(&other), "{one} and {other}");
    }
    // The text that `revision` gives.
    let inline = with(&json!({"/spec/root": {"inline": "out y: Int = 1"}}));
    let sha256 = millrace::flow::Digest::of(b"out y: Int = 1").hex();
    let elsewhere = with(&json!({"/spec/root": {"configMapRef": {"name": "r", "key": "k", "sha256": sha256}}}));
    assert_eq!(revision(&inline).digest(), revision(&elsewhere).digest());
}

#[test]
fn a_stored_revision_reads_back_as_the_program_it_was() {
    for value in table::full("StreamPipeline") {
        let revision = revision(&value);
        let program = Revision::read(revision.text(), revision.digest()).unwrap();
        assert_eq!(Revision::of(&program).unwrap(), revision);
    }
}

/// A worker that leaves out what it does not know would run another program than the digest names.
#[test]
fn a_revision_that_says_more_than_this_version_knows_is_refused() {
    let full = &table::full("StreamPipeline").into_iter().find(|value| value["metadata"]["name"] == "full-kinesis").unwrap();
    let whole: Value = serde_json::from_str(revision(full).text()).unwrap();
    let mut pointers = Vec::new();
    table::pointers_of(&whole, "", &mut pointers);
    let mut tried = 0;
    for pointer in pointers {
        let mut newer = whole.clone();
        let Some(fields) = newer.pointer_mut(&pointer).and_then(Value::as_object_mut) else { continue };
        fields.insert("zzNewer".to_owned(), json!("x"));
        // Names of inputs and headers are the user's own.
        if pointer.ends_with("/inputs") || pointer.ends_with("/headers") {
            continue;
        }
        let text = newer.to_string();
        let named = millrace::flow::Digest::of(text.as_bytes());
        assert!(Revision::read(&text, named).is_err(), "{pointer}");
        tried += 1;
    }
    assert!(tried > 15, "{tried}");
    let text = revision(full).text().to_owned();
    assert!(Revision::read(&text, millrace::flow::Digest::of(b"other")).is_err());
}

#[test]
fn the_text_of_a_config_map_is_held_against_its_digest_and_its_bound() {
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let object = with(&json!({"/spec/root": {"configMapRef": {"name": "r", "key": "k", "sha256": format!("sha256:{sha256}")}}}));
    let spec = manifest::take(&object).unwrap().spec;
    assert!(Program::of(&spec, Some("abc")).is_ok());
    assert!(Program::of(&spec, Some("abd")).unwrap_err().to_string().contains("has the SHA-256 sha256:"));
    assert!(Program::of(&spec, Some(&"x".repeat(400 * 1024 + 1))).unwrap_err().to_string().contains("at most 409600"));
    assert!(Program::of(&spec, None).unwrap_err().to_string().contains("ConfigMap r"));
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
