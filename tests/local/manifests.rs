//! Our own check of manifests, held to the table that the API server is held to as well (`tests/cluster/rules.rs`).

use crate::{coverage, table};
use millrace::api::manifest;
use millrace::api::{StreamLedger, StreamPipeline, StreamSplit, StreamWorker, class, crd};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_case_of_the_table_has_the_verdict_that_it_states() {
    let mut wrong = Vec::new();
    for case in table::cases() {
        let old = case.old();
        for refused in case.refused() {
            match manifest::check(&refused, old.as_ref()) {
                Ok(()) => wrong.push(format!("{}: not refused: {}", case.name, short(&refused))),
                Err(problems) => {
                    let hit = |problem: &manifest::Problem| problem.path.starts_with(&case.at) && problem.message.contains(&case.says);
                    if !problems.iter().any(hit) {
                        wrong.push(format!("{}: refused otherwise: {problems:?}", case.name));
                    }
                }
            }
        }
        for accepted in case.accepted() {
            if let Err(problems) = manifest::check(&accepted, old.as_ref()) {
                wrong.push(format!("{}: refused: {problems:?}: {}", case.name, short(&accepted)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(400).collect()
}

/// A case that any refusal would satisfy shows nothing.
#[test]
fn every_case_names_what_it_is_refused_for() {
    let vague: Vec<_> = table::cases()
        .into_iter()
        .filter(|case| !case.refused().is_empty() && case.says.is_empty() && case.at.matches('.').count() < 1)
        .map(|case| case.name)
        .collect();
    assert!(vague.is_empty(), "{vague:?}");
}

#[test]
fn every_rule_of_the_schema_stands_in_the_table() {
    let cases = table::cases();
    let mut messages = Vec::new();
    collect_messages(&crd::pipeline_schema(), &mut messages);
    assert!(messages.len() > 30, "{}", messages.len());
    let missing: Vec<_> = messages
        .into_iter()
        .filter(|message| !cases.iter().any(|case| !case.says.is_empty() && message.contains(&case.says) && !case.refused().is_empty()))
        .collect();
    assert!(missing.is_empty(), "add a case to tests/manifests/rules.yaml for each of: {missing:#?}");
}

fn collect_messages(schema: &Value, messages: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for rule in fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
                messages.push(rule["message"].as_str().unwrap().to_owned());
            }
            fields.values().for_each(|child| collect_messages(child, messages));
        }
        Value::Array(items) => items.iter().for_each(|child| collect_messages(child, messages)),
        _ => {}
    }
}

#[test]
fn a_pipeline_that_says_only_source_root_and_one_output_is_valid() {
    let pipeline = manifest::read(table::minimal().to_string().as_bytes()).unwrap();
    assert_eq!(pipeline.spec.replicas, 1);
    assert_eq!(pipeline.spec.source.kinesis.unwrap()[0].name(), "main");
}

#[test]
fn the_fullest_manifests_are_valid_and_hold_every_field() {
    let full = table::full("StreamPipeline");
    for manifest in &full {
        manifest::check(manifest, None).unwrap();
    }
    for crd in crd::all() {
        let schema = crd.manifest.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        let kind = crd.manifest.pointer("/spec/names/kind").and_then(Value::as_str).unwrap();
        let unused = coverage::unused(schema, &table::full(kind));
        assert!(unused.is_empty(), "add to tests/manifests/full/, for {kind}: {unused:#?}");
    }
}

#[test]
fn the_types_read_and_write_the_fullest_manifests_without_loss() {
    for value in table::full("StreamPipeline") {
        let mut value = kube_cel::apply_defaults(&crd::pipeline_schema(), &value);
        if value.pointer("/status/conditions").is_none() {
            value.as_object_mut().unwrap().remove("status");
        }
        same::<StreamPipeline>(&value);
    }
    table::full("StreamWorker").iter().for_each(same::<StreamWorker>);
    table::full("StreamSplit").iter().for_each(same::<StreamSplit>);
    table::full("StreamLedger").iter().for_each(same::<StreamLedger>);
}

fn same<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(&serde_json::to_value(typed).unwrap(), value);
}

#[test]
fn all_that_is_wrong_is_said_at_once_and_where() {
    let text = "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {name: p}\n\
                spec: {source: {file: {path: ''}}, root: {inlin: x}, outputs: [{name: A, stdout: {}}], scaling: {min: 3, max: 1}, wroker: {}}";
    let error = manifest::read(text.as_bytes()).unwrap_err().to_string();
    for part in [
        "spec.source.file.path: has 0 characters: at least 1 are needed",
        "spec.root.inlin: is no field of the schema; did you mean inline?",
        "spec.root: give the root by exactly one of inline and configMapRef",
        "spec.outputs[0].name: write a name of lower-case letters, digits and dashes",
        "spec.scaling: min is above max",
        "spec.wroker: is no field of the schema; did you mean worker?",
    ] {
        assert!(error.contains(part), "{part}\n---\n{error}");
    }
}

#[test]
fn what_is_no_single_pipeline_is_refused_with_what_to_write() {
    for (text, says) in [
        ("", "holds nothing"),
        ("a: b\n---\nc: d", "holds 2 documents"),
        ("apiVersion: v1\nkind: Pod", "write apiVersion: millrace.dev/v1alpha1 and kind: StreamPipeline"),
        ("{", "no well-formed YAML"),
        ("a: &a [*a]", "no well-formed YAML"),
        ("kind: StreamPipeline", "holds no apiVersion and kind: \"StreamPipeline\""),
        ("[]", "holds no map of fields: write apiVersion"),
    ] {
        let error = manifest::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let huge = "x".repeat(manifest::MAX_BYTES + 1);
    assert!(manifest::read(huge.as_bytes()).unwrap_err().to_string().contains("more than the API server takes"));
}

#[test]
fn classes_are_those_of_the_design() {
    use class::Class::{Fixed, Live, Pods, Program};
    let classes = class::leaves();
    for (path, wanted) in [
        ("spec.root.inline", Program),
        ("spec.root.limits.steps", Program),
        ("spec.keyBy.field", Program),
        ("spec.source.format.onUndecodable", Program),
        ("spec.outputs[].http.timeout", Program),
        ("spec.failure.onTickError", Program),
        ("spec.failure.deadLetter.kinesis.streamName", Program),
        ("spec.state.ttl", Program),
        ("spec.worker.threads", Pods),
        ("spec.worker.template.affinity", Pods),
        ("spec.secretRefs[].rotation", Pods),
        ("spec.source.kinesis[].endpoint", Pods),
        ("spec.source.kinesis[].retrieval", Pods),
        ("spec.source.kinesis[].roleArn", Pods),
        ("spec.state.store.region", Pods),
        ("spec.state.memory", Pods),
        ("spec.coordination.commitInterval", Pods),
        ("spec.coordination.budget.bytesPerSecond", Pods),
        ("spec.restartNonce", Pods),
        ("spec.replicas", Live),
        ("spec.scaling.mode", Live),
        ("spec.desiredState", Live),
        ("spec.cutover.soak", Live),
        ("spec.disruption.maxUnavailable", Live),
        ("spec.failure.maxAttempts", Live),
        ("spec.source.kinesis[].onRecreate", Live),
        ("spec.onDelete", Live),
        ("spec.source.kinesis[].streamName", Fixed),
        ("spec.source.kinesis[].streamARN", Fixed),
        ("spec.source.kinesis[].region", Fixed),
        ("spec.source.file.path", Fixed),
        ("spec.coordination.dynamodb.table", Fixed),
        ("spec.coordination.kubernetes", Fixed),
        ("spec.state.store.url", Fixed),
    ] {
        assert_eq!(classes.get(path), Some(&Some(wanted)), "{path}");
    }
}

#[test]
fn every_fixed_field_is_refused_when_it_changes() {
    let manifests = table::full("StreamPipeline");
    let fixed = class::leaves().into_iter().filter(|(_, class)| *class == Some(class::Class::Fixed)).map(|(path, _)| path);
    for path in fixed {
        let tried = manifests.iter().filter(|old| try_change(old, &path)).count();
        // These have nothing in them to change; taking them away or adding them is in the table.
        assert!(tried > 0 || path == "spec.coordination.kubernetes", "{path} is in no full manifest");
    }
}

/// Changes the field in a manifest that has it; it must be refused. False where the manifest lacks it.
fn try_change(old: &Value, path: &str) -> bool {
    let mut new = old.clone();
    let at = |index: &str| format!("/{}", path.replace("[]", &format!(".{index}")).replace('.', "/"));
    let pointer = ["0", "1"].map(at).into_iter().find(|pointer| old.pointer(pointer).is_some()).unwrap_or_default();
    let Some(slot) = new.pointer_mut(&pointer) else { return false };
    *slot = match slot {
        Value::String(text) => json!(format!("{text}x")),
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        _ => return false,
    };
    let problems = manifest::check(&new, Some(old)).unwrap_err();
    assert!(problems.iter().any(|problem| problem.message.contains("fixed")), "{path}: {problems:?}");
    true
}

/// All but two durations must be above zero, and none may be negative.
#[test]
fn every_duration_is_bounded_below() {
    let (mut tried, mut zero) = (0, Vec::new());
    for full in table::full("StreamPipeline") {
        let mut pointers = Vec::new();
        table::pointers_of(&full["spec"], "/spec", &mut pointers);
        for pointer in pointers {
            let is_duration = |text: &str| text.ends_with(['s', 'm', 'h']) && text.parse::<millrace::api::scalar::DurationOrZero>().is_ok();
            if !full.pointer(&pointer).and_then(Value::as_str).is_some_and(is_duration) {
                continue;
            }
            let with = |text: &str| {
                let mut changed = full.clone();
                *changed.pointer_mut(&pointer).unwrap() = json!(text);
                manifest::check(&changed, None)
            };
            let refused = |result: Result<(), Vec<manifest::Problem>>| {
                result.is_err_and(|problems| problems.iter().any(|problem| problem.message.starts_with("write a duration")))
            };
            assert!(refused(with("-5s")) && refused(with("soon")), "{pointer}");
            if !refused(with("0s")) {
                zero.push(pointer);
            }
            tried += 1;
        }
    }
    zero.sort();
    assert_eq!(zero, ["/spec/coordination/rebalanceDelay", "/spec/cutover/soak"]);
    assert!(tried >= 17, "{tried}");
}

/// Classes agree with the rules: what a rule of transitions refuses is fixed, and what it lets pass is not.
#[test]
fn classes_agree_with_the_rules_of_transitions() {
    for case in table::cases() {
        let Some(old) = case.old() else { continue };
        let fixed = |new: &Value| class::changes(&old["spec"], &new["spec"]).iter().any(|(_, class)| *class == class::Class::Fixed);
        for refused in case.refused() {
            assert!(fixed(&refused), "{}: {refused}", case.name);
        }
        for accepted in case.accepted() {
            assert!(!fixed(&accepted), "{}: {:?}", case.name, class::changes(&old["spec"], &accepted["spec"]));
        }
    }
}

#[test]
fn a_value_of_the_wrong_type_says_how_to_write_it() {
    let with = |changes: Value| {
        let problems = manifest::check(&table::changed(&table::minimal(), changes.as_object().unwrap()), None).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let number = with(json!({"/spec/cutover": {"ackTimeout": 30}}));
    assert!(number.contains("must be a text, not 30: write a duration above zero, such as 90s"), "{number}");
    let bare = with(json!({"/spec/outputs/0/emitWhen": true}));
    assert!(bare.contains("must be a text, not true: YAML reads a bare y, n"), "{bare}");
    let name = with(json!({"/metadata/name": 12, "/metadata/labels": {"a": 1}}));
    assert!(
        name.contains("metadata.name: must be a text, not 12: quote it") && name.contains("metadata.labels.a: must be a text"),
        "{name}"
    );
}

#[test]
fn what_yaml_and_templates_write_in_other_ways_is_taken_as_kubectl_takes_it() {
    let text = "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {name: p, labels: null}\nstatus: null\n\
                spec: {source: {file: {path: a}, kinesis: null}, root: {inline: x=1, inputs: ~}, outputs: [{name: a, stdout: {}, file: null}], \
                replicas: 2.0, desiredState: , keyBy: null, disruption: {maxUnavailable: 1.0}, worker: {threads: 010}}";
    let pipeline = manifest::read(text.as_bytes()).unwrap();
    assert_eq!((pipeline.spec.replicas, pipeline.spec.key_by), (2, None));
    assert_eq!(pipeline.spec.worker.unwrap().threads, Some(8));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_the_reader(text in ".{0,200}") {
        let _read = manifest::read(text.as_bytes());
    }

    #[test]
    fn no_change_of_a_value_panics_the_check(index in 0..200_usize, value in any_json()) {
        let mut object = table::full("StreamPipeline").swap_remove(2);
        let mut pointers = Vec::new();
        table::pointers_of(&object["spec"], "/spec", &mut pointers);
        let pointer = &pointers[index % pointers.len()];
        *object.pointer_mut(pointer).unwrap() = value;
        let _transition = manifest::check(&object, Some(&table::minimal()));
        if manifest::check(&object, None).is_ok() {
            manifest::take(&object).expect("what the check takes, the types read");
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{}, 1])),
    ]
}
