//! The table of manifests and their verdicts, and the fullest manifests: one set for the API server and for our own check.
//!
//! Owns: reading `tests/manifests/`.
//! May not: judge; each binary does, in its own way.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// One line of `rules.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// A sentence that says the rule.
    pub(crate) name: String,
    /// The field that is named when it is broken.
    pub(crate) at: String,
    /// Part of what is said then.
    #[serde(default)]
    pub(crate) says: String,
    /// The changes that make what stands before, where the rule is about a transition.
    from: Option<Changes>,
    #[serde(default)]
    refused: Vec<Changes>,
    #[serde(default)]
    accepted: Vec<Changes>,
}

type Changes = Map<String, Value>;

impl Case {
    /// What stands before.
    pub(crate) fn old(&self) -> Option<Value> {
        self.from.as_ref().map(|changes| changed(&minimal(), changes))
    }

    /// Manifests that break the rule.
    pub(crate) fn refused(&self) -> Vec<Value> {
        all(&self.refused)
    }

    /// Their neighbours, which do not.
    pub(crate) fn accepted(&self) -> Vec<Value> {
        all(&self.accepted)
    }
}

fn all(sets: &[Changes]) -> Vec<Value> {
    sets.iter().map(|changes| changed(&minimal(), changes)).collect()
}

/// The whole table.
pub(crate) fn cases() -> Vec<Case> {
    serde_saphyr::from_str(&read(&folder().join("rules.yaml"))).unwrap_or_else(|error| fail(&format!("rules.yaml: {error}")))
}

/// The least manifest.
pub(crate) fn minimal() -> Value {
    manifest(&folder().join("minimal.yaml"))
}

/// The fullest manifests of a kind, which together hold every field.
pub(crate) fn full(kind: &str) -> Vec<Value> {
    let entries = std::fs::read_dir(folder().join("full")).unwrap_or_else(|error| fail(&error.to_string()));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.iter().map(|file| manifest(file)).filter(|value| value.get("kind").and_then(Value::as_str) == Some(kind)).collect()
}

/// The object with these changes, by JSON pointer; `null` takes a field away.
pub(crate) fn changed(object: &Value, changes: &Changes) -> Value {
    let mut object = object.clone();
    for (pointer, value) in changes {
        set(&mut object, pointer.trim_start_matches('/'), expanded(value.clone()));
    }
    object
}

fn set(object: &mut Value, path: &str, value: Value) {
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let slot = match object {
        Value::Array(items) => match first.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
            Some(item) => item,
            None => fail(&format!("no item {first} in a list of a change")),
        },
        other => {
            if !other.is_object() {
                *other = Value::Object(Map::new());
            }
            let Value::Object(fields) = other else { return };
            if rest.is_none() && value.is_null() {
                fields.remove(first);
                return;
            }
            fields.entry(first).or_insert(Value::Null)
        }
    };
    match rest {
        Some(rest) => set(slot, rest, value),
        None => *slot = value,
    }
}

/// `{repeat: TEXT, times: N}` stands for a long text.
fn expanded(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(text)), Some(times)) = (fields.get("repeat"), fields.get("times").and_then(Value::as_u64)) {
                return Value::String(text.repeat(usize::try_from(times).unwrap_or(0)));
            }
            Value::Object(fields.into_iter().map(|(key, value)| (key, expanded(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(expanded).collect()),
        other => other,
    }
}

/// JSON pointers of a value and of all values in it.
pub(crate) fn pointers_of(value: &Value, at: &str, found: &mut Vec<String>) {
    for (key, child) in value.as_object().into_iter().flatten() {
        pointers_of(child, &format!("{at}/{}", key.replace('/', "~1")), found);
    }
    for (index, child) in value.as_array().into_iter().flatten().enumerate() {
        pointers_of(child, &format!("{at}/{index}"), found);
    }
    found.push(at.to_owned());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests")
}

fn manifest(file: &Path) -> Value {
    serde_saphyr::from_str(&read(file)).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())))
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())))
}

fn fail(why: &str) -> ! {
    panic!("{why}")
}
