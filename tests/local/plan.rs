//! `millrace plan`: what it says of two programs.

use crate::cli::{file, millrace, text};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const OLD: &str = "in temp: Float\nin rpm: Int\nout heat = mean(temp over 5m)\nout alarm = heat > 80.0\nout lag = rpm[2]\n";
const NEW: &str = "in temp: Float\nin site: Str\nout heat = mean(temp over 10m)\nout alarm = heat > 80.0\nout peak = max(temp over 1h)\n";

/// The report on two files.
fn report(old: &str, new: &str) -> (Value, Option<i32>) {
    let output = millrace(&["plan", "--output", "json", old, new]);
    let said = text(&output.stdout);
    assert_eq!(said.lines().count(), 1, "{said}{}", text(&output.stderr));
    (serde_json::from_str(&said).unwrap(), output.status.code())
}

/// The example with some of its lines changed.
fn edited(folder: &TempDir, name: &str, changes: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests/example.yaml");
    let mut manifest = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(manifest.contains(from), "{from}");
        manifest = manifest.replace(from, to);
    }
    file(folder, name, &manifest)
}

fn decisions(report: &Value) -> Vec<(&str, &str)> {
    let streams = report["streams"].as_array().unwrap().iter();
    streams.map(|one| (one["stream"].as_str().unwrap(), one["decision"].as_str().unwrap())).collect()
}

#[test]
fn each_stream_is_kept_carried_or_reset_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (file(&folder, "old.dsrv", OLD), file(&folder, "new.dsrv", NEW));
    let (report, code) = report(&old, &new);
    assert_eq!(code, Some(0));
    assert_eq!(decisions(&report), [("heat", "carry"), ("alarm", "keep"), ("peak", "reset")]);
    assert!(report["streams"][0]["reason"].as_str().unwrap().contains("another length"), "{report}");
    assert_eq!(report["streams"][1]["exact"], false, "it reads what is computed in another way");
    assert_eq!(report["gone"], json!(["lag"]));
    assert_eq!(report["interface"], json!(["in rpm", "in site", "out lag", "out peak"]));
    assert_eq!((&report["changed"], &report["keyChanged"]), (&json!(true), &json!(false)));
    assert_eq!(report["old"], json!({"file": old, "kind": "root"}));
    assert!(report.get("mode").is_none(), "a root by itself has none");
    let said = text(&millrace(&["plan", &old, &new]).stdout);
    assert!(said.contains("peak   reset  a new stream\nlag    gone\n"), "{said}");
    assert!(said.contains("a cutover: 1 kept, 1 carried, 1 reset, 1 gone\n"), "{said}");
}

#[test]
fn a_program_in_its_own_place_changes_nothing() {
    let file = "tests/manifests/example.yaml";
    let (report, code) = report(file, file);
    assert_eq!((code, &report["changed"], &report["changes"]), (Some(0), &json!(false), &json!([])));
    assert!(report["streams"].as_array().unwrap().iter().all(|one| one["decision"] == "keep" && one["exact"] == true), "{report}");
    assert_eq!(text(&millrace(&["plan", file, file]).stdout), "nothing changes\n");
}

#[test]
fn another_key_by_resets_every_stream() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (edited(&folder, "old.yaml", &[]), edited(&folder, "new.yaml", &[("field: /turbine", "field: /site")]));
    let (report, _) = report(&old, &new);
    assert_eq!(report["keyChanged"], true);
    assert_eq!(decisions(&report), [("heat", "reset"), ("alarm", "reset")]);
    assert!(report["streams"].as_array().unwrap().iter().all(|one| one["exact"] == false), "{report}");
    assert_eq!(report["interface"], json!([]));
    let said = text(&millrace(&["plan", &old, &new]).stdout);
    assert!(said.contains("keyBy is another (field /turbine before, field /site now): all state starts afresh\n"), "{said}");
}

#[test]
fn bindings_outputs_pods_and_live_fields_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let changes = [
        ("rpm: /sensor/rpm", "rpm: /sensor/speed"),
        ("streams: [heat, alarm]", "streams: [alarm]"),
        ("  root:\n", "  replicas: 3\n  restartNonce: again\n  root:\n    limits: {steps: 5000}\n"),
    ];
    let (old, new) = (edited(&folder, "old.yaml", &[]), edited(&folder, "new.yaml", &changes));
    let (report, code) = report(&old, &new);
    assert_eq!((code, &report["changed"]), (Some(0), &json!(true)));
    assert_eq!(report["interface"], json!(["spec.outputs[alarms].streams", "spec.root.inputs.rpm"]));
    let change = |path: &str, class: &str| report["changes"].as_array().unwrap().contains(&json!({"path": path, "class": class}));
    assert!(change("spec.replicas", "live") && change("spec.restartNonce", "pods") && change("spec.root.limits.steps", "program"));
    assert_ne!(report["old"]["digest"], report["new"]["digest"]);
    let said = text(&millrace(&["plan", &old, &new]).stdout);
    for part in [
        "interface changed: spec.outputs[alarms].streams, spec.root.inputs.rpm\n",
        "changed in the program as well: spec.root.limits.steps\n",
        "a rollout of the pods: spec.restartNonce\n",
        "at once: spec.replicas\n",
    ] {
        assert!(said.contains(part), "{part}---\n{said}");
    }
}

#[test]
fn what_only_looks_different_is_no_change_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, lead: &str| edited(&folder, name, &[("    time: /at\n", &format!("    time: /at\n    maxLead: {lead}\n"))]);
    let (old, new) = (with("old.yaml", "90s"), with("new.yaml", "1m30s"));
    let (report, _) = report(&old, &new);
    assert_eq!((&report["changed"], &report["interface"], &report["changes"]), (&json!(false), &json!([]), &json!([])));
    let new = edited(&folder, "live.yaml", &[("  root:\n", "  replicas: 3\n  root:\n")]);
    let said = text(&millrace(&["plan", &edited(&folder, "o.yaml", &[]), &new]).stdout);
    assert_eq!(said, "the program is the same: no cutover\nat once: spec.replicas\n");
}

#[test]
fn an_edit_that_the_api_server_refuses_is_refused_here() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (edited(&folder, "old.yaml", &[]), edited(&folder, "new.yaml", &[("path: telemetry", "path: other")]));
    let (report, code) = report(&old, &new);
    assert_eq!(code, Some(3));
    assert_eq!(report["refused"][0]["path"], "spec.source.file");
    let error = text(&millrace(&["plan", &old, &new]).stderr);
    assert!(error.contains("new.yaml: spec.source.file: file.path is fixed"), "{error}");
}

#[test]
fn a_generation_cutover_is_said_to_keep_delays_only() {
    let folder = tempfile::tempdir().unwrap();
    let edits = [("> 80.0", "> 85.0"), ("  root:\n", "  cutover: {mode: Generation}\n  root:\n")];
    let (old, new) = (edited(&folder, "old.yaml", &[]), edited(&folder, "new.yaml", &edits));
    let (report, _) = report(&old, &new);
    assert_eq!((&report["mode"], &report["streams"][0]["exact"]), (&json!("Generation"), &json!(false)));
    let said = text(&millrace(&["plan", &old, &new]).stdout);
    assert!(said.contains("cutover.mode is Generation: of what is kept or carried only delays move"), "{said}");
}

#[test]
fn a_root_can_be_held_against_a_pipeline() {
    let folder = tempfile::tempdir().unwrap();
    let (report, code) = report(&file(&folder, "old.dsrv", OLD), "tests/manifests/example.yaml");
    assert_eq!((code, &report["changed"], &report["changes"]), (Some(0), &json!(true), &json!([])));
    assert_eq!(report["gone"], json!(["lag"]));
}

#[test]
fn errors_of_both_files_are_said_together() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (file(&folder, "old.dsrv", "out a = b"), edited(&folder, "new.yaml", &[("emitWhen: alarm", "emitWhen: alarms")]));
    let output = millrace(&["plan", &old, &new]);
    assert_eq!(output.status.code(), Some(3));
    let error = text(&output.stderr);
    assert!(error.contains("old.dsrv:1:9") && error.contains("spec.outputs[0].emitWhen: alarms is no stream of the root"), "{error}");
    let broken = edited(&folder, "broken.yaml", &[("heat > 80.0", "heta > 80.0")]);
    let error = text(&millrace(&["plan", &broken, "tests/manifests/example.yaml"]).stderr);
    assert!(error.contains("broken.yaml spec.root.inline:5:") && error.contains("did you mean `heat`"), "{error}");
    assert_eq!(millrace(&["plan", &old, "no-such-file.yaml"]).status.code(), Some(2));
}
