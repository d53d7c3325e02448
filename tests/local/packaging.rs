//! What a release is made of: the chart, the Dockerfile and the example in a cluster say what the code says.

use millrace::api::manifest;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn yaml(file: &str) -> Value {
    serde_saphyr::from_str(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_charts_definitions_are_those_of_crds() {
    assert_eq!(names("charts/millrace/files/crds"), names("crds"));
    for name in names("crds") {
        let (ours, charts) = (read(&format!("crds/{name}")), read(&format!("charts/millrace/files/crds/{name}")));
        assert!(ours == charts, "charts/millrace/files/crds/{name} is out of date: run `tests/generate`");
        // The template puts labels and annotations behind this line, and takes the mark of a document away.
        assert_eq!((ours.matches("\nmetadata:\n").count(), ours.matches("\n---\n").count()), (1, 1), "{name}");
    }
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = yaml("charts/millrace/Chart.yaml");
    assert_eq!([&chart["version"], &chart["appVersion"]], [env!("CARGO_PKG_VERSION"); 2]);
}

/// The paths of a chart's values that are no objects with members of their own.
fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    match value.as_object() {
        Some(members) if !members.is_empty() => {
            for (name, member) in members {
                leaves(member, &format!("{path}.{name}"), found);
            }
        }
        _ => drop(found.insert(path.to_owned(), value.clone())),
    }
}

/// The same paths, from the schema; what it leaves open has no members there.
fn schema_leaves(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    match schema.get("properties").and_then(Value::as_object) {
        Some(members) => {
            assert_eq!(schema["additionalProperties"], false, "{path} takes values that mean nothing");
            for (name, member) in members {
                schema_leaves(member, &format!("{path}.{name}"), found);
            }
        }
        None => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn every_value_of_the_chart_stands_in_its_schema_and_the_reverse() {
    let (mut values, mut schema) = (BTreeMap::new(), BTreeSet::new());
    leaves(&yaml("charts/millrace/values.yaml"), "", &mut values);
    let text = read("charts/millrace/values.schema.json");
    schema_leaves(&serde_json::from_str(&text).unwrap(), "", &mut schema);
    // Helm puts `global` there by itself; `claims` has no default.
    schema.retain(|path| ![".global", ".resources.claims"].contains(&path.as_str()));
    let values: BTreeSet<String> = values.into_keys().map(|path| shortened(&path)).collect();
    assert_eq!(values, schema);
}

/// Requests and limits are open.
fn shortened(path: &str) -> String {
    if path.starts_with(".resources.") { path.splitn(4, '.').take(3).collect::<Vec<_>>().join(".") } else { path.to_owned() }
}

#[test]
fn every_value_of_the_chart_says_what_it_is_for() {
    let silent = undocumented(&read("charts/millrace/values.yaml"));
    assert!(silent.is_empty(), "{silent:?}");
    let text = "# One.\na: 1\nb: 2\n\nc: 3\n\nd:\n  # Four.\n  e: 4\n\n  f: 5\nresources:\n  g: 6\n";
    assert_eq!(undocumented(text), ["c", "f"]);
}

/// Values without a comment: neither above them nor above the values right before them.
fn undocumented(text: &str) -> Vec<String> {
    let mut silent = Vec::new();
    let mut documented = false;
    let mut in_resources = false;
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let inner = line.trim_start();
        if inner.is_empty() || inner.starts_with('#') {
            documented = inner.starts_with('#');
            continue;
        }
        let (name, value) = inner.split_once(':').unwrap_or_else(|| panic!("no value: {line}"));
        if !line.starts_with(' ') {
            in_resources = name == "resources";
        }
        let is_parent = value.trim().is_empty() && lines.get(at + 1).is_some_and(|next| next.starts_with(' '));
        if !documented && !is_parent && !in_resources {
            silent.push(name.to_owned());
        }
        documented &= !is_parent;
    }
    silent
}

/// The last stage of the Dockerfile, an instruction a line.
fn last_stage() -> Vec<String> {
    let text = read("Dockerfile");
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let from = lines.iter().rposition(|line| line.starts_with("FROM ")).unwrap();
    lines[from..].iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn the_image_runs_the_program_as_a_numbered_user_who_is_not_root() {
    let stage = last_stage();
    let one = |word: &str| {
        let found: Vec<&str> = stage.iter().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect();
        assert_eq!(found.len(), 1, "{word} in {stage:?}");
        found[0].to_owned()
    };
    let (user, place) = (one("USER"), one("COPY").rsplit_once(' ').unwrap().1.to_owned());
    let ids: Vec<u32> = user.split(':').map(|id| id.parse().unwrap_or_else(|_| panic!("USER {user} is no number"))).collect();
    assert!(ids.iter().all(|id| *id >= 10_000), "{ids:?}");
    assert_eq!(one("ENTRYPOINT"), format!("[\"{place}\"]"));
    assert!(["gcr.io/distroless/cc-debian12", "scratch"].contains(&one("FROM").as_str()), "a base with a shell");
}

#[test]
fn the_image_is_built_from_the_lock_file_on_any_architecture() {
    let text = read("Dockerfile");
    assert!(text.contains("cargo build --locked --release"));
    for word in ["amd64", "x86", "arm64", "aarch64", "--platform", "--target"] {
        let found = text.lines().find(|line| line.contains(word));
        assert_eq!(found, None, "ties the image to an architecture");
    }
    // The rest of the repository stays out of the build, so that an edit of a page builds nothing anew.
    let kept: Vec<String> = read(".dockerignore").lines().filter_map(|line| line.strip_prefix('!')).map(str::to_owned).collect();
    assert_eq!(kept, ["Cargo.toml", "Cargo.lock", "src"]);
}

#[test]
fn the_example_in_a_cluster_has_the_root_of_the_one_on_this_machine() {
    let [here, cluster] = ["pipeline", "kinesis"].map(|name| {
        let text = read(&format!("examples/turbines/{name}.yaml"));
        manifest::read(text.as_bytes()).unwrap_or_else(|error| panic!("{name}.yaml: {error}")).spec
    });
    assert_eq!(here.root, cluster.root);
    assert_eq!(here.key_by, cluster.key_by);
    let rows = |spec: &millrace::api::pipeline::StreamPipelineSpec| -> Vec<_> {
        spec.outputs.iter().map(|output| (output.name.clone(), output.streams.clone(), output.emit_when.clone())).collect()
    };
    assert_eq!(rows(&here), rows(&cluster));
    assert!(cluster.outputs.iter().all(|output| output.kinesis.is_some() && output.metadata == Some(true)));
    // Endpoints and accounts are of a place.
    let text = read("examples/turbines/kinesis.yaml");
    assert!(!["endpoint", "Arn", "ARN", "AWS_"].iter().any(|word| text.contains(word)));
}
