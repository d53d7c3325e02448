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
            (&commit, instruction((6, 'c'), "Prepare", Some((5, 'b'))), "the committed epoch never falls and names one digest"),
            (&commit, instruction((6, 'c'), "Prepare", None), "what was committed cannot be taken away"),
            (&commit, json!({}), "an instruction cannot be taken away"),
            (&prepare, instruction((6, 'c'), "Commit", Some((6, 'd'))), "two digests at one epoch"),
        ] {
            let refused = step(bed, from, &to).await.expect_err(says);
            assert!(refused.contains(says), "{says}: {refused}");
        }
        let mut other = prepare.clone();
        other["root"]["pipelineUid"] = json!("q");
        assert!(step(bed, &prepare, &other).await.unwrap_err().contains("belongs to one pipeline"));
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
        made["record"]["epoch"] = json!(4);
        bed.send("PUT", &format!("streamsplits/{name}"), &made).await.unwrap();
    });
}
