//! The API server, held to the table that our own check is held to as well (`tests/local/manifests.rs`).

use crate::bed::{self, Bed};
use crate::table;
use millrace::api::manifest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CREATE: &str = "streampipelines?dryRun=All&fieldValidation=Strict";

/// What the API server says to a manifest: nothing, or why not.
async fn verdict(bed: &Bed, new: &Value, old: Option<&Value>) -> Result<(), String> {
    let Some(old) = old else { return bed.send("POST", CREATE, new).await.map(drop) };
    let name = old["metadata"]["name"].as_str().unwrap();
    let mut body = new.clone();
    body["metadata"]["name"] = json!(name);
    body["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
    bed.send("PUT", &format!("streampipelines/{name}?dryRun=All&fieldValidation=Strict"), &body).await.map(drop)
}

#[test]
fn every_case_of_the_table_has_the_verdict_that_it_states() {
    bed::test(async |bed| {
        let mut wrong = Vec::new();
        for (number, case) in table::cases().into_iter().enumerate() {
            let old = match case.old() {
                Some(mut old) => {
                    old["metadata"]["name"] = json!(format!("old-{number}"));
                    Some(bed.send("POST", "streampipelines", &old).await.unwrap())
                }
                None => None,
            };
            for refused in case.refused() {
                match verdict(bed, &refused, old.as_ref()).await {
                    Ok(()) => wrong.push(format!("{}: not refused", case.name)),
                    Err(why) if why.contains(&case.at) && why.contains(&case.says) => {}
                    Err(why) => wrong.push(format!("{}: refused otherwise: {why}", case.name)),
                }
            }
            for accepted in case.accepted() {
                if let Err(why) = verdict(bed, &accepted, old.as_ref()).await {
                    wrong.push(format!("{}: refused: {why}", case.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// Every field of the fullest manifests, taken away, or replaced by values of all kinds: the API server and our own
/// check must agree on each. A field that stands in several of them is tried once.
#[test]
fn our_own_check_agrees_with_the_api_server_on_every_field() {
    bed::test(async |bed| {
        let (mut wrong, mut tried) = (Vec::new(), BTreeSet::new());
        for mut full in table::full("StreamPipeline") {
            full.as_object_mut().unwrap().remove("status");
            let mut pointers = Vec::new();
            table::pointers_of(&full["spec"], "/spec", &mut pointers);
            for pointer in pointers {
                let field: String = pointer.chars().filter(|c| !c.is_ascii_digit()).collect();
                if !tried.insert(field) {
                    continue;
                }
                for mutant in mutants(&full, &pointer) {
                    wrong.extend(disagreement(bed, &mutant, &pointer).await);
                }
            }
        }
        assert!(tried.len() > 200, "{}", tried.len());
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    });
}

async fn disagreement(bed: &Bed, mutant: &Value, pointer: &str) -> Option<String> {
    let (theirs, ours) = (verdict(bed, mutant, None).await, manifest::check(mutant, None));
    let value = mutant.pointer(pointer).map_or_else(|| "taken away".to_owned(), ToString::to_string);
    if theirs.is_ok() != ours.is_ok() {
        return Some(format!("{pointer} {value:.60}: theirs {theirs:?}, ours {ours:?}"));
    }
    // What the API server has taken, the operator must be able to read.
    let unread = ours.is_ok() && manifest::take(mutant).is_err();
    unread.then(|| format!("{pointer} {value:.60}: our types do not read it"))
}

fn mutants(full: &Value, pointer: &str) -> Vec<Value> {
    let (above, name) = pointer.rsplit_once('/').unwrap();
    let mut all = Vec::new();
    let mut without = full.clone();
    if let Some(fields) = without.pointer_mut(above).and_then(Value::as_object_mut)
        && fields.remove(&name.replace("~1", "/")).is_some()
    {
        all.push(without);
    }
    let values = [
        Value::Null,
        json!(""),
        json!("A b/ü"),
        json!("0s"),
        json!(-1),
        json!(1.5),
        json!(3_000_000_000_i64),
        json!(true),
        json!([]),
        json!({}),
        json!({"unknown": 1}),
    ];
    for value in values {
        let mut mutant = full.clone();
        *mutant.pointer_mut(pointer).unwrap() = value;
        all.push(mutant);
    }
    all
}

#[test]
fn unknown_fields_are_refused_under_strict_validation_with_their_path() {
    bed::test(async |bed| {
        let mut object = table::minimal();
        object["spec"]["outputs"][0]["emitwhen"] = json!("y");
        let refused = bed.send("POST", CREATE, &object).await.unwrap_err();
        assert!(refused.contains("unknown field \"spec.outputs[0].emitwhen\""), "{refused}");
        let stderr = bed.try_kubectl(&["create", "-f", "-"], &object.to_string()).stderr;
        assert!(String::from_utf8_lossy(&stderr).contains("unknown field"), "{}", String::from_utf8_lossy(&stderr));
    });
}
