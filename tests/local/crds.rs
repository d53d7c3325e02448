//! The CustomResourceDefinitions as text: `crds/` is what the types say, small, bounded and documented.

use millrace::api::crd;
use serde_json::Value;
use std::path::Path;

#[test]
fn the_files_in_crds_are_what_the_types_say() {
    for crd in crd::all() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("crds/{}.yaml", crd.plural));
        let (text, wanted) = (std::fs::read_to_string(&file).unwrap_or_default(), printed(crd.plural));
        assert!(text == wanted, "{} is out of date: run `tests/generate`", file.display());
        let parsed: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        assert_eq!(parsed, [crd.manifest], "what is printed reads back as what was meant");
    }
    assert_eq!(std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crds")).unwrap().count(), crd::all().len());
}

fn printed(plural: &str) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_millrace")).args(["crd", plural]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Client-side `kubectl apply` keeps the whole object in an annotation, and annotations end at 256 KiB.
#[test]
fn scenario_47_each_definition_fits_into_an_annotation() {
    for crd in crd::all() {
        let bytes = crd.manifest.to_string().len();
        assert!(bytes < 256 * 1024, "{}: {bytes} bytes", crd.plural);
    }
}

#[test]
fn every_string_list_and_map_has_a_bound() {
    let mut unbounded = Vec::new();
    each_schema(&mut |path, node| {
        let kind = node.get("type").and_then(Value::as_str).unwrap_or_default();
        let bounded = match kind {
            "string" => node.get("maxLength").or(node.get("enum")).is_some(),
            "array" => node.get("maxItems").is_some(),
            "object" if node.get("additionalProperties").is_some() => node.get("maxProperties").is_some(),
            _ => node.get("x-kubernetes-int-or-string").is_none() || node.get("maxLength").is_some(),
        };
        if !bounded {
            unbounded.push(path.to_owned());
        }
    });
    let is_standard = |path: &str| matches!(path.split_once('.'), Some((_, "apiVersion" | "kind")));
    unbounded.retain(|path| !is_standard(path));
    assert!(unbounded.is_empty(), "{unbounded:#?}");
}

#[test]
fn every_field_of_ours_is_documented() {
    let mut silent = Vec::new();
    each_schema(&mut |path, node| {
        let is_field = !path.ends_with("[]") && !path.ends_with("{}") && !path.ends_with("metadata") && path.contains('.');
        let is_pod_field = [".env", ".template."].iter().any(|part| path.contains(&format!(".worker{part}")));
        if is_field && !is_pod_field && node.get("description").and_then(Value::as_str).is_none_or(|text| text.len() < 4) {
            silent.push(path.to_owned());
        }
    });
    let is_part = |path: &str| matches!(path.split_once('.'), Some((_, "spec" | "status" | "record")));
    silent.retain(|path| !is_part(path));
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn lists_of_objects_are_maps_by_name_and_integers_are_signed() {
    let mut wrong = Vec::new();
    each_schema(&mut |path, node| {
        // Streams may lack their name; the rest is Kubernetes' own.
        let exempt = [".source.kinesis", ".dnsConfig.", ".sysctls"].iter().any(|part| path.contains(part));
        let named = node.pointer("/items/properties/name").is_some() && !exempt;
        if named && node.get("x-kubernetes-list-type").and_then(Value::as_str) != Some("map") {
            wrong.push(format!("{path} is no list by name"));
        }
        let format = node.get("format").and_then(Value::as_str).unwrap_or_default();
        if format.starts_with("uint") {
            wrong.push(format!("{path} is unsigned"));
        }
        // Kubernetes 1.33 does not hold numbers to their format.
        if format == "int32" && (node.get("minimum").is_none() || node.get("maximum").is_none()) {
            wrong.push(format!("{path} has no bounds"));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn each_schema(visit: &mut impl FnMut(&str, &Value)) {
    for crd in crd::all() {
        let schema = crd.manifest.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        walk(schema, crd.plural.trim_start_matches("stream"), visit);
    }
}

fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, child) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        walk(child, &format!("{path}.{name}"), visit);
    }
    for (key, sign) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(child) = schema.get(key) {
            walk(child, &format!("{path}{sign}"), visit);
        }
    }
}
