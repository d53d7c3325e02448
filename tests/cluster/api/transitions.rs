//! What the API server refuses a deposed operator, leader or owner.

use crate::bed::{self, Bed};
use crate::table;
use serde_json::{Value, json};

fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn at(epoch: i64, digit: char) -> Value {
    json!({"epoch": epoch, "digest": digest(digit)})
}

fn instruction((epoch, digit): (i64, char), stage: &str, committed: Option<(i64, char)>) -> Value {
    let mut instruction = json!({"pipelineUid": "p", "root": at(epoch, digit), "stage": stage});
    if let Some((epoch, digit)) = committed {
        instruction["committed"] = at(epoch, digit);
    }
    json!({"root": instruction})
}

/// What the API server says to one spec of a `StreamWorker` after another.
async fn step(bed: &Bed, from: &Value, to: &Value) -> Result<Value, String> {
    let name = format!("w-{:08x}", fastrand::u32(..));
    let worker = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamWorker", "metadata": {"name": name}, "spec": from});
    let mut made = bed.send("POST", "streamworkers", &worker).await.unwrap();
    made["spec"] = to.clone();
    bed.send("PUT", &format!("streamworkers/{name}"), &made).await
}

#[test]
fn scenario_63_a_deposed_operator_cannot_take_an_instruction_back() {
    bed::test(async |bed| {
        let prepare = instruction((5, 'a'), "Prepare", Some((4, 'b')));
        let commit = instruction((5, 'a'), "Commit", Some((5, 'a')));
        for (from, to, says) in [
            (&commit, instruction((4, 'b'), "Commit", Some((5, 'a'))), "an instruction's epoch never falls"),
            (&prepare, instruction((5, 'c'), "Prepare", Some((4, 'b'))), "an epoch names one digest for ever"),
            (&commit, instruction((5, 'a'), "Prepare", Some((5, 'a'))), "a Commit cannot be taken back"),
            (&commit, instruction((5, 'a'), "Cancel", Some((5, 'a'))), "a Commit cannot be taken back"),
            (&commit, instruction((6, 'c'), "Prepare", Some((4, 'b'))), "the committed epoch never falls"),
            (&commit, instruction((6, 'c'), "Prepare", Some((5, 'b'))), "the committed epoch never falls and names one digest for ever"),
            (&commit, instruction((6, 'c'), "Prepare", None), "what was committed cannot be taken away"),
            (&commit, json!({}), "an instruction cannot be taken away"),
            (&prepare, instruction((6, 'c'), "Commit", Some((6, 'd'))), "root and committed name two digests at one epoch"),
            (&prepare, instruction((6, 'c'), "Prepare", Some((5, 'd'))), "committed names another digest than root did at that epoch"),
            (
                &instruction((3, 'a'), "Prepare", Some((4, 'b'))),
                instruction((4, 'c'), "Prepare", Some((4, 'b'))),
                "root names another digest than was committed at that epoch",
            ),
        ] {
            let refused = step(bed, from, &to).await.expect_err(says);
            assert!(refused.contains(says), "{says}: {refused}");
        }
        let mut other = prepare.clone();
        other["root"]["pipelineUid"] = json!("q");
        assert!(step(bed, &prepare, &other).await.unwrap_err().contains("a StreamWorker belongs to one pipeline"));
    });
}

#[test]
fn an_operator_in_office_goes_forward() {
    bed::test(async |bed| {
        let prepare = instruction((5, 'a'), "Prepare", Some((4, 'b')));
        let commit = instruction((5, 'a'), "Commit", Some((5, 'a')));
        for (from, to) in [
            (&json!({}), prepare.clone()),
            (&prepare, commit.clone()),
            (&prepare, instruction((5, 'a'), "Cancel", Some((4, 'b')))),
            (&prepare, instruction((6, 'c'), "Prepare", Some((4, 'b')))),
            (&commit, commit.clone()),
            (&commit, instruction((6, 'b'), "Prepare", Some((5, 'a')))),
            (&instruction((1, 'a'), "Prepare", None), instruction((1, 'a'), "Commit", Some((1, 'a')))),
        ] {
            step(bed, from, &to).await.unwrap();
        }
    });
}

#[test]
fn i40_a_splits_epoch_never_falls() {
    bed::test(async |bed| {
        let split = table::full("StreamSplit").remove(0);
        let name = split["metadata"]["name"].as_str().unwrap();
        let mut made = bed.send("POST", "streamsplits", &split).await.unwrap();
        made["record"]["epoch"] = json!(2);
        let refused = bed.send("PUT", &format!("streamsplits/{name}"), &made).await.unwrap_err();
        assert!(refused.contains("a split's epoch never falls"), "{refused}");
        let mut bare = made.clone();
        bare.as_object_mut().unwrap().remove("record");
        let refused = bed.send("PUT", &format!("streamsplits/{name}"), &bare).await.unwrap_err();
        assert!(refused.contains("a split's record cannot be taken away"), "{refused}");
        made["record"]["epoch"] = json!(4);
        bed.send("PUT", &format!("streamsplits/{name}"), &made).await.unwrap();
    });
}

#[test]
fn an_answer_says_what_its_type_needs() {
    bed::test(async |bed| {
        let worker = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamWorker", "metadata": {"name": "answers"}, "spec": {}});
        let made = bed.send("POST", "streamworkers", &worker).await.unwrap();
        for (outcome, says) in [
            (json!({"type": "Waiting"}), "type Waiting needs reason"),
            (json!({"type": "Rejected"}), "type Rejected needs fault"),
            (json!({"type": "Acknowledged", "interfaceChanged": true}), "type Acknowledged needs stateChanged"),
            (json!({"type": "Acknowledged", "stateChanged": true}), "type Acknowledged needs interfaceChanged"),
        ] {
            let mut answered = made.clone();
            answered["status"] = json!({"answer": {"pipelineUid": "p", "root": at(1, 'a'), "incarnation": "i", "outcome": outcome}});
            let refused = bed.send("PUT", "streamworkers/answers/status", &answered).await.unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
    });
}

/// A rule that nobody tries might as well not be there.
#[test]
fn every_rule_of_these_kinds_is_tried_here() {
    let mut messages = Vec::new();
    for crd in millrace::api::crd::all().iter().filter(|crd| crd.plural != "streampipelines") {
        collect(&crd.manifest, &mut messages);
    }
    assert!(messages.len() > 12, "{messages:?}");
    let here = include_str!("transitions.rs");
    messages.retain(|message| !here.contains(message.split([':', ';']).next().unwrap_or(message)));
    assert!(messages.is_empty(), "{messages:#?}");
}

fn collect(schema: &Value, messages: &mut Vec<String>) {
    for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        messages.push(rule["message"].as_str().unwrap().to_owned());
    }
    for child in schema.as_object().into_iter().flat_map(|fields| fields.values()).chain(schema.as_array().into_iter().flatten()) {
        collect(child, messages);
    }
}
