//! What is built, field by field.

use super::{Ground, Piece, build};
use crate::api::StreamPipeline;
use crate::api::manifest;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("golden.json");

fn pipeline(text: &str) -> StreamPipeline {
    manifest::read(text.as_bytes()).unwrap()
}

fn minimal() -> StreamPipeline {
    pipeline(include_str!("../../../tests/manifests/minimal.yaml"))
}

fn full() -> StreamPipeline {
    pipeline(include_str!("../../../tests/manifests/full/kinesis.yaml"))
}

fn built(pipeline: &StreamPipeline) -> Vec<(Piece, Option<Value>)> {
    let name = pipeline.metadata.name.as_deref().unwrap();
    let revisions = [format!("{name}-root-b"), format!("{name}-root-a")];
    let pods = [(format!("{name}-worker-0"), "pod-1".to_owned())];
    let (spec, image) = (&pipeline.spec, "registry/millrace:1");
    build(Ground { name, namespace: "plant", uid: "u-1", spec, revisions: &revisions, pods: &pods, image })
}

fn piece(pipeline: &StreamPipeline, wanted: Piece) -> Option<Value> {
    built(pipeline).into_iter().find(|(piece, _)| *piece == wanted).and_then(|(_, value)| value)
}

#[test]
fn a_minimal_pipeline_is_built_as_the_golden_file_says() {
    let all: Vec<_> = built(&minimal()).into_iter().filter_map(|(_, value)| value).collect();
    let text = format!("{}\n", serde_json::to_string_pretty(&all).unwrap());
    if std::env::var_os("MILLRACE_GENERATE").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/operator/workload/golden.json"), &text).unwrap();
    } else {
        assert!(text == GOLDEN, "golden.json is out of date; with MILLRACE_GENERATE set this test writes it:\n{text}");
    }
}

/// Reads a piece as Kubernetes would and writes it again: a field that it does not know is gone.
fn known<T: DeserializeOwned + Serialize>(value: &Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap();
    let mut again = serde_json::to_value(typed).unwrap();
    let mut value = value.clone();
    for value in [&mut again, &mut value] {
        without_empty(value);
    }
    assert_eq!(again, value);
}

fn without_empty(value: &mut Value) {
    if let Value::Object(members) = value {
        members.values_mut().for_each(without_empty);
        members.retain(|_, member| !member.is_null() && *member != json!({}));
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(without_empty);
    }
}

#[test]
fn kubernetes_knows_every_field_that_is_built() {
    let mut many = minimal();
    many.spec.replicas = 3;
    for (piece, value) in built(&many) {
        let value = value.unwrap();
        match piece {
            Piece::ServiceAccount => known::<ServiceAccount>(&value),
            Piece::Role => known::<Role>(&value),
            Piece::RoleBinding => known::<RoleBinding>(&value),
            Piece::Service => known::<Service>(&value),
            Piece::PodDisruptionBudget => known::<PodDisruptionBudget>(&value),
            Piece::StatefulSet => known::<StatefulSet>(&value),
        }
    }
}

/// The paths of everything below a value that has nothing below itself.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, member)| leaves(member, &format!("{at}/{}", name.replace('/', "~1")), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, item)| leaves(item, &format!("{at}/{index}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn scenario_65_every_curated_field_of_the_pod_reaches_it() {
    let full = full();
    let whole = built(&full);
    let spec = serde_json::to_value(&full.spec).unwrap();
    let mut paths = Vec::new();
    for part in ["/worker", "/secretRefs"] {
        leaves(&spec[part.trim_start_matches('/')], part, &mut paths);
    }
    let mut lost = Vec::new();
    for path in &paths {
        let mut changed = spec.clone();
        let (above, member) = path.rsplit_once('/').unwrap();
        match changed.pointer_mut(above).unwrap() {
            Value::Object(members) => drop(members.remove(&member.replace("~1", "/"))),
            Value::Array(items) => drop(items.remove(member.parse().unwrap())),
            other => panic!("{path}: {other}"),
        }
        // What cannot be left out alone is changed with what it stands in.
        let Ok(changed) = serde_json::from_value(changed) else { continue };
        let other = StreamPipeline { spec: changed, ..full.clone() };
        if built(&other) == whole {
            lost.push(path.clone());
        }
    }
    // How a Secret's change is taken up is decided when it changes; and the manifest says what is the default anyway.
    lost.retain(|path| !path.ends_with("/rotation") && !path.ends_with("/runAsNonRoot"));
    assert!(paths.len() > 40 && lost.is_empty(), "of {} these do not: {lost:?}", paths.len());
}

#[test]
fn labels_probes_and_command_are_ours_whatever_the_template_says() {
    let mut own = minimal();
    own.spec.worker = serde_json::from_value(json!({"template": {"labels": {"millrace.dev/part": "x", "team": "a"}}})).unwrap();
    let set = piece(&own, Piece::StatefulSet).unwrap();
    assert_eq!(set["spec"]["template"]["metadata"]["labels"]["millrace.dev/part"], "worker");
    assert_eq!(set["spec"]["template"]["metadata"]["labels"]["team"], "a");
    assert_eq!(set["spec"]["template"]["spec"]["containers"][0]["command"], json!(["millrace", "worker"]));
}

#[test]
fn an_edit_of_the_program_or_of_what_is_live_builds_the_same_pods() {
    let before = piece(&minimal(), Piece::StatefulSet).unwrap();
    let mut edited = minimal();
    edited.spec.root.inline = Some("in temp: Float\nout alarm: Bool = temp > 1.0".into());
    edited.spec.cutover = serde_json::from_value(json!({"ackTimeout": "7s"})).unwrap();
    edited.spec.replicas = 5;
    let after = piece(&edited, Piece::StatefulSet).unwrap();
    assert_eq!(before["spec"]["template"], after["spec"]["template"]);
    assert_eq!(after["spec"]["replicas"], 5);
    let mut pods = minimal();
    pods.spec.restart_nonce = Some("again".into());
    assert_ne!(piece(&pods, Piece::StatefulSet).unwrap()["spec"]["template"], before["spec"]["template"]);
}

#[test]
fn a_budget_is_for_more_than_one_worker_and_an_account_for_those_who_bring_none() {
    assert!(piece(&minimal(), Piece::PodDisruptionBudget).is_none() && piece(&minimal(), Piece::ServiceAccount).is_some());
    let mut own = minimal();
    own.spec.replicas = 2;
    own.spec.worker = serde_json::from_value(json!({"serviceAccount": {"name": "reader"}})).unwrap();
    let budget = piece(&own, Piece::PodDisruptionBudget).unwrap();
    assert_eq!((&budget["spec"]["maxUnavailable"], &budget["spec"]["unhealthyPodEvictionPolicy"]), (&json!(1), &json!("AlwaysAllow")));
    assert!(piece(&own, Piece::ServiceAccount).is_none());
    assert_eq!(piece(&own, Piece::RoleBinding).unwrap()["subjects"][0]["name"], "reader");
    assert_eq!(piece(&own, Piece::StatefulSet).unwrap()["spec"]["template"]["spec"]["serviceAccountName"], "reader");
}

#[test]
fn a_role_reads_no_config_map_but_the_named_ones() {
    let role = piece(&minimal(), Piece::Role).unwrap();
    for rule in role["rules"].as_array().unwrap().iter().filter(|rule| rule["resources"] == json!(["configmaps"])) {
        assert!(rule["verbs"] == json!(["create"]) || !rule["resourceNames"].as_array().unwrap().is_empty(), "{rule}");
    }
    assert!(!role.to_string().contains("secrets"), "neither operator nor worker reads Secrets through the API");
}

#[test]
fn certificates_to_trust_are_mounted_where_the_environment_says() {
    let container =
        |pipeline: &StreamPipeline| piece(pipeline, Piece::StatefulSet).unwrap()["spec"]["template"]["spec"]["containers"][0].clone();
    let trusted = |container: &Value| {
        let own = container["env"].as_array().unwrap().iter().find(|own| own["name"] == "SSL_CERT_FILE").cloned();
        own.map(|own| own["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(trusted(&container(&minimal())), None);
    let mut own = minimal();
    own.spec.worker = serde_json::from_value(json!({"caBundle": {"configMapRef": {"name": "trust", "key": "ca.crt"}}})).unwrap();
    let container = container(&own);
    let file = trusted(&container).unwrap();
    let folder = file.rsplit_once('/').unwrap().0;
    assert!(container["volumeMounts"].as_array().unwrap().iter().any(|mount| mount["mountPath"] == folder), "{file}");
}
