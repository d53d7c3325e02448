//! `metadata`, as far as a manifest may write it: Kubernetes' own rules, which stand in no schema of ours.
//!
//! Owns: the rules about names, labels and annotations.
//! May not: know what the object is.

use super::structure::Found;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// All fields of `ObjectMeta`.
const FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// What all annotations of an object may hold together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

static SUBDOMAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok());
static QUALIFIED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$").ok()
});
static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$").ok());

fn is(form: &LazyLock<Option<Regex>>, text: &str) -> bool {
    form.as_ref().is_some_and(|form| form.is_match(text))
}

/// Collects what is wrong with an object's metadata.
pub(super) fn check(object: &Value, found: &mut Vec<Found>) {
    let missing = || Found::required("metadata.name", "write the pipeline's name");
    let Some(metadata) = object.get("metadata") else { return found.push(missing()) };
    let Some(fields) = metadata.as_object() else {
        return found.push(Found::shape("metadata", format!("must be a map of fields, not {metadata}")));
    };
    match fields.get("name") {
        Some(Value::String(name)) if !name.is_empty() => found.extend(name_found(name)),
        Some(Value::String(_)) | None => found.push(missing()),
        Some(other) => found.push(Found::shape("metadata.name", format!("must be a text, not {other}: quote it"))),
    }
    for name in fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
        found.push(Found::rule(format!("metadata.{name}"), "is no field of an object's metadata".to_owned()));
    }
    if let Some(Value::String(namespace)) = fields.get("namespace")
        && (namespace.contains('.') || namespace.len() > 63 || !is(&SUBDOMAIN, namespace))
    {
        found
            .push(Found::rule("metadata.namespace".to_owned(), format!("is \"{namespace}\": write lower-case letters, digits and dashes")));
    }
    texts(fields, "labels", found);
    texts(fields, "annotations", found);
}

fn name_found(name: &str) -> Option<Found> {
    let fits = name.len() <= 253 && is(&SUBDOMAIN, name);
    let message = format!("is \"{name}\": write lower-case letters, digits and dashes, beginning with a letter");
    (!fits).then(|| Found::rule("metadata.name".to_owned(), message))
}

/// Labels or annotations: a map of texts under qualified names.
fn texts(metadata: &Map<String, Value>, part: &str, found: &mut Vec<Found>) {
    let path = format!("metadata.{part}");
    let entries = match metadata.get(part) {
        None | Some(Value::Null) => return,
        Some(Value::Object(entries)) => entries,
        Some(other) => return found.push(Found::shape(&path, format!("must be a map of texts, not {other}"))),
    };
    for (key, value) in entries {
        let at = format!("{path}.{key}");
        if !is(&QUALIFIED, key) || key.split_once('/').is_some_and(|(prefix, _)| prefix.len() > 253) {
            found.push(Found::rule(at.clone(), "is no name that Kubernetes takes: write one such as team or example.com/team".to_owned()));
        }
        match value {
            Value::String(text) if part == "labels" && !is(&LABEL, text) => {
                found.push(Found::rule(at, format!("is {value}: write at most 63 letters, digits, dashes, dots and underscores")));
            }
            Value::String(_) => {}
            other => found.push(Found::shape(&at, format!("must be a text, not {other}: quote it"))),
        }
    }
    let bytes: usize = entries.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if part == "annotations" && bytes > MAX_ANNOTATIONS {
        found.push(Found::rule(path, format!("hold {bytes} bytes together: at most {MAX_ANNOTATIONS} are allowed")));
    }
}
