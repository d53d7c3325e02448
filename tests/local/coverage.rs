//! Which fields of a schema a set of objects uses.

use serde_json::Value;
use std::collections::BTreeSet;

/// The paths of all fields that a schema has and none of these objects uses.
pub(crate) fn unused(schema: &Value, objects: &[Value]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    fields(schema, "", &mut all);
    let mut used = BTreeSet::new();
    for object in objects {
        uses(schema, Some(object), "", &mut used);
    }
    all.difference(&used).cloned().collect()
}

fn children(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, child) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        found.push((format!(".{name}"), child));
    }
    for (key, sign) in [("items", "[]"), ("additionalProperties", "{}")] {
        found.extend(schema.get(key).map(|child| (sign.to_owned(), child)));
    }
    found
}

fn fields(schema: &Value, path: &str, all: &mut BTreeSet<String>) {
    all.insert(path.to_owned());
    for (step, child) in children(schema) {
        fields(child, &format!("{path}{step}"), all);
    }
}

fn uses(schema: &Value, value: Option<&Value>, path: &str, used: &mut BTreeSet<String>) {
    let Some(value) = value else { return };
    used.insert(path.to_owned());
    for (step, child) in children(schema) {
        let below = format!("{path}{step}");
        match (step.as_str(), value) {
            ("[]", Value::Array(items)) => items.iter().for_each(|item| uses(child, Some(item), &below, used)),
            ("{}", Value::Object(entries)) => entries.values().for_each(|item| uses(child, Some(item), &below, used)),
            (name, Value::Object(entries)) => uses(child, entries.get(name.trim_start_matches('.')), &below, used),
            _ => {}
        }
    }
}
