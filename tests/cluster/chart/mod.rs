//! The chart: what Helm renders from it, and what the API server makes of that.
//!
//! `values/` has settings, `rendered/` what comes of them; `MILLRACE_GENERATE=1` writes that anew.

use crate::bed::{self, eventually};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/millrace");
const IMAGE: &str = "image.repository=registry.example.test/millrace";
const PIPELINE: &str = include_str!("../../../examples/turbines/kinesis.yaml");

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/chart").join(name)
}

fn helm(arguments: &[&str]) -> Output {
    Command::new(bed::helm()).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn render(arguments: &[&str]) -> String {
    text(&helm(&[&["template", "millrace", CHART, "--namespace", "streams"], arguments].concat()))
}

fn objects(rendered: &str) -> Vec<Value> {
    serde_saphyr::from_multiple::<Value>(rendered).unwrap().into_iter().filter(|object| !object.is_null()).collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

#[test]
fn helm_finds_nothing_to_say_against_the_chart() {
    for values in std::fs::read_dir(folder("values")).unwrap() {
        let values = values.unwrap().path();
        let said = helm(&["lint", "--strict", CHART, "--values", &values.to_string_lossy()]);
        assert!(said.status.success(), "{}: {}", values.display(), String::from_utf8_lossy(&said.stdout));
    }
}

#[test]
fn what_the_chart_renders_is_what_was_agreed_on() {
    for values in std::fs::read_dir(folder("values")).unwrap() {
        let values = values.unwrap().path();
        // The definitions are held elsewhere, to crds/.
        let got = render(&["--values", &values.to_string_lossy(), "--set", "crds.install=false"]);
        let file = folder("rendered").join(values.file_name().unwrap());
        if std::env::var_os("MILLRACE_GENERATE").is_some() {
            std::fs::write(&file, &got).unwrap();
        }
        let wanted = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(got == wanted, "{} is not what comes of {}:\n{got}", file.display(), values.display());
    }
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for (set, says) in [
        ("replica=3", "'replica' not allowed"),
        ("image.repo=x", "'repo' not allowed"),
        ("replicas=many", "want integer"),
        ("rbac.scope=namespace", "'Cluster', 'Namespace'"),
        ("image.digest=abc", "does not match pattern"),
        ("podLabels.app\\.kubernetes\\.io/name=x", "invalid propertyName"),
        ("image.repository=", "build the image with the Dockerfile"),
    ] {
        let output = helm(&["template", "millrace", CHART, "--set", IMAGE, "--set", set]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(says), "{set}: {said}");
    }
}

#[test]
fn the_charts_definitions_are_ours_and_stay_unless_told_otherwise() {
    for (keep, policy) in [("true", json!("keep")), ("false", Value::Null)] {
        let rendered = objects(&render(&["--set", IMAGE, "--set", &format!("crds.keep={keep}")]));
        let mut definitions: Vec<Value> = of_kind(&rendered, "CustomResourceDefinition").into_iter().cloned().collect();
        assert_eq!(definitions.len(), millrace::api::crd::all().len());
        for definition in &mut definitions {
            let metadata = definition["metadata"].as_object_mut().unwrap();
            let annotations = metadata.remove("annotations").unwrap_or_default();
            assert_eq!(annotations["helm.sh/resource-policy"], policy, "{}", metadata["name"]);
            assert_eq!(metadata.remove("labels").unwrap()["app.kubernetes.io/part-of"], "millrace");
            let ours = millrace::api::crd::all().into_iter().find(|crd| metadata["name"] == crd.manifest["metadata"]["name"]);
            assert_eq!(*definition, ours.unwrap().manifest);
        }
    }
    let without = objects(&render(&["--set", IMAGE, "--set", "crds.install=false"]));
    assert!(of_kind(&without, "CustomResourceDefinition").is_empty());
}

#[test]
fn the_operator_has_no_right_over_secrets_and_none_over_everything() {
    for scope in ["Cluster", "Namespace"] {
        let rendered = objects(&render(&["--set", IMAGE, "--set", &format!("rbac.scope={scope}")]));
        let roles = [of_kind(&rendered, "Role"), of_kind(&rendered, "ClusterRole")].concat();
        assert!(roles.len() >= 2);
        for rule in roles.iter().flat_map(|role| role["rules"].as_array().unwrap()) {
            let words: Vec<&str> = ["apiGroups", "resources", "verbs"]
                .iter()
                .flat_map(|part| rule[*part].as_array().unwrap())
                .filter_map(Value::as_str)
                .collect();
            for forbidden in ["*", "secrets", "escalate", "bind", "impersonate", "nodes", "pods/exec", "deletecollection"] {
                assert!(!words.contains(&forbidden), "{scope}: {rule}");
            }
        }
        // In its own namespace it may do more; elsewhere nothing but read the definitions.
        let everywhere: Vec<&Value> =
            of_kind(&rendered, "ClusterRole").into_iter().flat_map(|role| role["rules"].as_array().unwrap()).collect();
        if scope == "Namespace" {
            assert!(
                everywhere.iter().all(|rule| rule["resources"] == json!(["customresourcedefinitions"]) && rule["verbs"] == json!(["get"]))
            );
        }
    }
}

/// What the operator makes for a pipeline, as its own tests keep it.
const WORKLOADS: &str = include_str!("../../../src/operator/workload/golden.json");

/// With Kubernetes' own rule that nobody grants what they do not hold.
#[test]
fn the_operators_account_may_make_all_that_it_makes_and_grant_what_workers_need() {
    bed::test(async |bed| {
        bed.helm(&["install", "millrace", CHART, "--set", IMAGE, "--set", "crds.install=false,rbac.scope=Namespace,replicas=0"]);
        let account = format!("--as=system:serviceaccount:{}:millrace", bed.namespace());
        let apply = [account.as_str(), "apply", "--server-side", "-f", "-"];
        let mut pieces: Vec<Value> = serde_json::from_str(WORKLOADS).unwrap();
        let mut kinds = std::collections::BTreeSet::new();
        for piece in &mut pieces {
            let metadata = piece["metadata"].as_object_mut().unwrap();
            metadata.insert("namespace".into(), json!(bed.namespace()));
            // The pipeline is none, and its pods shall not come.
            metadata.remove("ownerReferences");
            if let Some(replicas) = piece.pointer_mut("/spec/replicas") {
                *replicas = json!(0);
            }
            bed.kubectl(&apply, &piece.to_string());
            kinds.insert(piece["kind"].as_str().unwrap().to_owned());
        }
        assert!(kinds.len() >= 5, "{kinds:?}");

        let mut role = pieces.into_iter().find(|piece| piece["kind"] == "Role").unwrap();
        role["rules"].as_array_mut().unwrap().push(json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}));
        let refused = bed.try_kubectl(&apply, &role.to_string());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("attempting to grant RBAC permissions not currently held"), "{said}");
    });
}

/// The chart needs the definitions of the bed no other way than any cluster does.
#[test]
fn the_api_server_takes_all_that_the_chart_renders() {
    bed::test(async |bed| {
        bed.kubectl(&["label", "namespace", bed.namespace(), "pod-security.kubernetes.io/enforce=restricted"], "");
        for values in std::fs::read_dir(folder("values")).unwrap() {
            let values = values.unwrap().path();
            let values = values.to_string_lossy();
            let rendered = bed.helm(&[
                "template",
                "millrace",
                CHART,
                "--values",
                &values,
                "--set",
                &format!("watch.namespaces={{{}}}", bed.namespace()),
            ]);
            let checked = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"];
            bed.kubectl(&checked, &rendered);
            // A Deployment's pods are judged only when they come.
            for deployment in of_kind(&objects(&rendered), "Deployment") {
                let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "operator"}, "spec": deployment["spec"]["template"]["spec"]});
                // Neither comes with the chart.
                let mut pod = pod;
                let spec = pod["spec"].as_object_mut().unwrap();
                spec.remove("priorityClassName");
                spec.insert("serviceAccountName".into(), json!("default"));
                bed.kubectl(&["create", "--dry-run=server", "--validate=strict", "-f", "-"], &pod.to_string());
            }
        }
    });
}

fn condition(object: &Value, kind: &str) -> Option<Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
        .map(|condition| condition["status"].clone())
}

#[test]
fn scenario_52_uninstalling_leaves_definitions_and_pipelines_in_place() {
    bed::own("chart", async |bed| {
        let get = |arguments: &[&str]| -> Value {
            serde_json::from_str(&bed.kubectl(&[&["get", "--output=json"], arguments].concat(), "")).unwrap()
        };
        let definition = || get(&["customresourcedefinition", "streampipelines.millrace.dev"]);
        let established = async || {
            eventually("the definitions", async || {
                (condition(&definition(), "Established") == Some(json!("True"))).then_some(()).ok_or_else(|| "not established".to_owned())
            })
            .await;
        };

        let notes = bed.helm(&["install", "first", CHART, "--set", IMAGE]);
        assert!(notes.contains("every namespace") && notes.contains("kubectl wait --for=condition=RootAcknowledged"), "{notes}");
        established().await;
        bed.kubectl(&["apply", "-f", "-"], PIPELINE);
        bed.helm(&["upgrade", "first", CHART, "--set", IMAGE, "--set", "replicas=3"]);
        assert_eq!(get(&["deployment", "first-millrace"])["spec"]["replicas"], 3);

        bed.helm(&["uninstall", "first"]);
        assert_eq!(get(&["streampipeline", "turbines"])["spec"]["replicas"], 2);
        assert_eq!(get(&["deployments"])["items"], json!([]));

        // Another release finds definitions that are another's.
        let refused = bed.try_helm(&["install", "second", CHART, "--set", IMAGE]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("invalid ownership metadata"), "{said}");
        bed.try_helm(&["uninstall", "second"]);
        bed.helm(&["install", "third", CHART, "--set", IMAGE, "--set", "crds.install=false"]);
        bed.helm(&["uninstall", "third"]);
        bed.helm(&["install", "fourth", CHART, "--set", IMAGE, "--set", "crds.keep=false", "--take-ownership"]);
        assert_eq!(definition()["metadata"]["annotations"]["meta.helm.sh/release-name"], "fourth");
        assert_eq!(get(&["streampipeline", "turbines"])["spec"]["replicas"], 2);

        // Only whoever asks for it loses them.
        bed.helm(&["uninstall", "fourth"]);
        eventually("the end of the definitions", async || {
            let left = get(&["customresourcedefinitions"]);
            if left["items"] == json!([]) { Ok(()) } else { Err(left.to_string().chars().take(200).collect()) }
        })
        .await;
    });
}
