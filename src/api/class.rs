//! How a change of a field takes effect.
//!
//! Owns: reading the classes that stand beside the fields, and comparing two specs by them.
//! May not: carry a class out.

pub use super::schema::Class;

use super::crd::pipeline_structure;
use super::schema::{ABSENT, CLASS, LIST_KEY, ONCE};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A field's path in the manifest, such as `spec.source.kinesis[].region`.
pub type Path = String;

/// The schema with the classes in it, made once a process.
static STRUCTURE: LazyLock<Value> = LazyLock::new(pipeline_structure);

/// The class of every field of a `StreamPipeline`'s spec that has no fields of its own.
#[must_use]
pub fn leaves() -> BTreeMap<Path, Option<Class>> {
    let mut found = BTreeMap::new();
    if let Some(spec) = STRUCTURE.pointer("/properties/spec") {
        walk(spec, "spec", None, &mut found);
    }
    found
}

fn walk(schema: &Value, path: &str, above: Option<Class>, found: &mut BTreeMap<Path, Option<Class>>) {
    let class = class_of(schema).or(above);
    if let Some(properties) = schema.get("properties").and_then(Value::as_object)
        && !properties.is_empty()
    {
        for (name, child) in properties {
            walk(child, &format!("{path}.{name}"), class, found);
        }
    } else if let Some(items) = schema.get("items") {
        walk(items, &format!("{path}[]"), class, found);
    } else {
        found.insert(path.to_owned(), class);
    }
}

fn class_of(schema: &Value) -> Option<Class> {
    schema.get(CLASS).and_then(Value::as_str).and_then(Class::of)
}

/// The fields in which two specs differ, each with its class. Lists whose items have a key are compared by it, so that an
/// order alone is no change. A Secret that an output newly names is a change of the pods beside one of the program, since
/// it must be mounted.
#[must_use]
pub fn changes(old: &Value, new: &Value) -> BTreeSet<(Path, Class)> {
    let mut found = BTreeSet::new();
    if let Some(spec) = STRUCTURE.pointer("/properties/spec") {
        Comparison { found: &mut found }.compare(spec, ("spec", None), (Some(old), Some(new)));
    }
    let before = secrets(old);
    found.extend(secrets(new).difference(&before).map(|name| (format!("Secret {name}"), Class::Pods)));
    found
}

struct Comparison<'a> {
    found: &'a mut BTreeSet<(Path, Class)>,
}

impl Comparison<'_> {
    fn compare(&mut self, schema: &Value, (path, above): (&str, Option<Class>), (old, new): (Option<&Value>, Option<&Value>)) {
        let class = class_of(schema).or(above);
        let absent = schema.get(ABSENT);
        if old.or(absent) == new.or(absent) {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
        if let Some(properties) = properties {
            // Which member of a union is there may be fixed, whatever is in it.
            if class == Some(Class::Fixed) && old.is_some() != new.is_some() {
                self.note(path.to_owned(), class);
            }
            for (name, child) in properties {
                let sides = (old.and_then(|side| side.get(name)), new.and_then(|side| side.get(name)));
                self.compare(child, (&format!("{path}.{name}"), class), sides);
            }
        } else if let Some(key) = list_key(schema) {
            let (old, new) = (by_key(old, key), by_key(new, key));
            let items = schema.get("items").unwrap_or(&Value::Null);
            for name in old.keys().chain(new.keys()) {
                match (old.get(name), new.get(name)) {
                    (Some(one), Some(other)) => self.compare(items, (&format!("{path}[{name}]"), class), (Some(one), Some(other))),
                    _ => self.note(format!("{path}[{name}]"), class),
                }
            }
        } else {
            let first = old.is_none() && schema.get(ONCE).is_some();
            self.note(path.to_owned(), if first { above } else { class });
        }
    }

    fn note(&mut self, path: Path, class: Option<Class>) {
        self.found.extend(class.map(|class| (path, class)));
    }
}

/// The names of all Secrets that a spec's outputs and dead letters use, which the pods mount.
#[must_use]
pub fn secrets(spec: &Value) -> BTreeSet<String> {
    let outputs = spec.get("outputs").and_then(Value::as_array).into_iter().flatten();
    let places = outputs.chain(spec.pointer("/failure/deadLetter"));
    let headers = places.filter_map(|place| place.pointer("/http/headersFrom").and_then(Value::as_array)).flatten();
    headers.filter_map(|header| header.pointer("/secretRef/name").and_then(Value::as_str)).map(str::to_owned).collect()
}

/// By which member the items of a list are told apart, and what that is where it is absent.
fn list_key(schema: &Value) -> Option<(&str, &str)> {
    let text = |list: &'static str, index: usize| schema.get(list).and_then(|keys| keys.get(index)).and_then(Value::as_str);
    let ours = text(LIST_KEY, 0).map(|key| (key, text(LIST_KEY, 1).unwrap_or_default()));
    ours.or_else(|| text("x-kubernetes-list-map-keys", 0).map(|key| (key, "")))
}

fn by_key<'a>(list: Option<&'a Value>, (key, default): (&str, &'a str)) -> BTreeMap<&'a str, Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| (item.get(key).and_then(Value::as_str).unwrap_or(default), without(item, key))).collect()
}

fn without(item: &Value, key: &str) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove(key);
    }
    item
}

#[cfg(test)]
mod tests {
    use super::{Class, changes, leaves};
    use serde_json::json;

    #[test]
    fn every_field_has_a_class() {
        let without: Vec<_> = leaves().into_iter().filter(|(_, class)| class.is_none()).map(|(path, _)| path).collect();
        assert!(without.is_empty(), "write extend(\"x-millrace-class\" = …) beside: {without:#?}");
    }

    #[test]
    fn a_change_is_found_with_its_class() {
        let old = json!({"replicas": 1, "outputs": [{"name": "a", "stdout": {}}, {"name": "b", "stdout": {}}],
            "source": {"kinesis": [{"name": "main", "streamName": "s"}]}});
        let new = json!({"replicas": 2, "outputs": [{"name": "b", "stdout": {}}, {"name": "a", "file": {"path": "f"}}],
            "source": {"kinesis": [{"name": "main", "streamName": "t", "endpoint": "http://e"}]}});
        let found: Vec<_> = changes(&old, &new).into_iter().collect();
        let class = |wanted: &str| found.iter().find(|(path, _)| path == wanted).map(|(_, class)| *class);
        assert_eq!(class("spec.replicas"), Some(Class::Live));
        assert_eq!(class("spec.outputs[a].file.path"), Some(Class::Program));
        assert_eq!(class("spec.source.kinesis[main].streamName"), Some(Class::Fixed));
        assert_eq!(class("spec.source.kinesis[main].endpoint"), Some(Class::Pods));
        assert!(!found.iter().any(|(path, _)| path.starts_with("spec.outputs[b]")), "{found:?}");
    }

    #[test]
    fn a_secret_that_is_newly_named_is_a_change_of_the_pods_too() {
        let with = |secret: &str| {
            let from = json!([{"name": "Authorization", "secretRef": {"name": secret, "key": "token"}}]);
            json!({"outputs": [{"name": "hook", "http": {"url": "https://a", "headersFrom": from}}]})
        };
        let found = changes(&with("old"), &with("new"));
        assert!(found.contains(&("Secret new".to_owned(), Class::Pods)), "{found:?}");
        assert!(found.iter().any(|(path, class)| path.starts_with("spec.outputs[hook]") && *class == Class::Program), "{found:?}");
        assert!(changes(&with("old"), &json!({"outputs": []})).iter().all(|(_, class)| *class == Class::Program));
    }

    #[test]
    fn a_stream_that_comes_or_goes_is_a_change_of_the_program() {
        let old = json!({"source": {"kinesis": [{"streamName": "s"}]}});
        let new = json!({"source": {"kinesis": [{"name": "more", "streamName": "t"}, {"name": "main", "streamName": "s"}]}});
        assert_eq!(changes(&old, &new).into_iter().collect::<Vec<_>>(), [("spec.source.kinesis[more]".to_owned(), Class::Program)]);
    }
}
