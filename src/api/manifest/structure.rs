//! Structural validation: types, bounds, enums, unknown fields, keys of lists.
//!
//! Owns: the part of a schema that is not CEL, as the API server judges it under strict field validation.
//! May not: know any one field.

use super::Problem;
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The patterns of a schema, each read once. One that cannot be read matches nothing; a test holds that there is none.
pub(super) struct Patterns(BTreeMap<String, Option<Regex>>);

impl Patterns {
    pub(super) fn of(schema: &Value) -> Self {
        let mut found = BTreeMap::new();
        Self::collect(schema, &mut found);
        Self(found)
    }

    fn collect(schema: &Value, found: &mut BTreeMap<String, Option<Regex>>) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::String(pattern)) = fields.get("pattern") {
                    found.entry(pattern.clone()).or_insert_with(|| Regex::new(pattern).ok());
                }
                for child in fields.values() {
                    Self::collect(child, found);
                }
            }
            Value::Array(items) => {
                for child in items {
                    Self::collect(child, found);
                }
            }
            _ => {}
        }
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.0.get(pattern).and_then(Option::as_ref).is_some_and(|regex| regex.is_match(text))
    }
}

/// Something found, and whether rules can still be judged beside it.
#[derive(Debug)]
pub(super) struct Found {
    path: String,
    message: String,
    blocks: bool,
}

impl Found {
    pub(super) fn required(path: &str, message: &str) -> Self {
        Self { path: path.to_owned(), message: format!("is required: {message}"), blocks: true }
    }

    pub(super) fn shape(path: &str, message: String) -> Self {
        Self { path: path.to_owned(), message, blocks: true }
    }

    pub(super) const fn rule(path: String, message: String) -> Self {
        Self { path, message, blocks: false }
    }

    /// The API server judges no CEL rule beside a wrong type, a missing field or a passed bound.
    pub(super) const fn blocks_rules(&self) -> bool {
        self.blocks
    }

    pub(super) fn into_problem(self) -> Problem {
        Problem { path: self.path, message: self.message }
    }
}

/// Collects what is wrong with the shape of an object.
pub(super) fn check(schema: &Value, patterns: &Patterns, object: &Value, found: &mut Vec<Found>) {
    Check { patterns, found }.node(schema, object, "");
}

struct Check<'a> {
    patterns: &'a Patterns,
    found: &'a mut Vec<Found>,
}

impl Check<'_> {
    fn note(&mut self, path: &str, message: String, blocks: bool) {
        self.found.push(Found { path: path.to_owned(), message, blocks });
    }

    fn node(&mut self, schema: &Value, value: &Value, path: &str) {
        if !of_type(schema, value) {
            return self.note(path, wrong_type(schema, value), true);
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.contains(value)
        {
            let names: Vec<_> = allowed.iter().map(shown).collect();
            self.note(path, format!("is {}: write one of {}", shown(value), names.join(", ")), true);
        }
        match value {
            Value::String(text) => self.string(schema, text, path),
            Value::Number(number) => self.bounds(schema, number.as_f64(), path),
            Value::Array(items) => self.array(schema, items, path),
            Value::Object(fields) => self.object(schema, fields, path),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn string(&mut self, schema: &Value, text: &str, path: &str) {
        self.found.extend(length(schema, ("minLength", "maxLength"), (text.chars().count(), "characters"), path));
        let quoted = || shown(&Value::from(text));
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && !self.patterns.matches(pattern, text)
        {
            self.note(path, format!("is {}: it must match {pattern}", quoted()), false);
        }
        if schema.get("format").and_then(Value::as_str) == Some("date-time") && text.parse::<k8s_openapi::jiff::Timestamp>().is_err() {
            self.note(path, format!("is {}: write a time as in 2026-11-30T12:00:00Z", quoted()), false);
        }
    }

    fn bounds(&mut self, schema: &Value, value: Option<f64>, path: &str) {
        let Some(value) = value else { return };
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| value < *least) {
            self.note(path, format!("is {value}: at least {least} is needed"), false);
        }
        if let Some(most) = bound("maximum").filter(|most| value > *most) {
            self.note(path, format!("is {value}: at most {most} is allowed"), false);
        }
    }

    fn array(&mut self, schema: &Value, items: &[Value], path: &str) {
        self.found.extend(length(schema, ("minItems", "maxItems"), (items.len(), "items"), path));
        self.duplicates(schema, items, path);
        if let Some(each) = schema.get("items") {
            for (index, item) in items.iter().enumerate() {
                self.node(each, item, &format!("{path}[{index}]"));
            }
        }
    }

    fn duplicates(&mut self, schema: &Value, items: &[Value], path: &str) {
        let keys: Vec<&str> = schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .map(|keys| keys.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let is_set = schema.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("set");
        if keys.is_empty() && !is_set {
            return;
        }
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let key = if is_set { item.to_string() } else { keys.iter().map(|key| shown(item.get(key).unwrap_or(&Value::Null))).collect() };
            if !seen.insert(key.clone()) {
                self.note(&format!("{path}[{index}]"), format!("stands twice ({key}): each must differ from the others"), false);
            }
        }
    }

    fn object(&mut self, schema: &Value, fields: &Map<String, Value>, path: &str) {
        self.found.extend(length(schema, ("minProperties", "maxProperties"), (fields.len(), "entries"), path));
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.found.push(Found::required(&below(name), "it is missing"));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (name, value) in fields {
            let known = properties.and_then(|properties| properties.get(name)).or(others);
            match known {
                // Kubernetes' own, which it judges itself.
                Some(_) if path.is_empty() && name == "metadata" => {}
                Some(child) => self.node(child, value, &below(name)),
                None if is_true(schema, "x-kubernetes-preserve-unknown-fields") => {}
                None => self.found.push(unknown(properties, &below(name), name)),
            }
        }
    }
}

/// What a value of the wrong type should have been, and how it came to be what it is.
fn wrong_type(schema: &Value, value: &Value) -> String {
    let text_wanted = schema.get("type").and_then(Value::as_str) == Some("string");
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    let advice = match value {
        Value::Bool(_) if text_wanted => Some("YAML reads a bare y, n, yes, no, on or off so: quote it".to_owned()),
        _ if text_wanted => {
            rules.filter_map(|rule| rule.get("message")?.as_str()).find(|text| text.starts_with("write")).map(str::to_owned)
        }
        _ => None,
    };
    let found = format!("must be {}, not {}", wanted(schema), shown(value));
    advice.map_or(found.clone(), |advice| format!("{found}: {advice}"))
}

fn wanted(schema: &Value) -> String {
    if is_true(schema, "x-kubernetes-int-or-string") {
        return "a whole number or a text".to_owned();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => "a map of fields",
        Some("array") => "a list",
        Some("string") => "a text",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        other => other.unwrap_or("a value"),
    }
    .to_owned()
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 80 { text.chars().take(77).chain("...".chars()).collect() } else { text }
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

fn of_type(schema: &Value, value: &Value) -> bool {
    if is_true(schema, "x-kubernetes-int-or-string") {
        return value.is_i64() || value.is_string();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => integer(schema, value),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    }
}

fn integer(schema: &Value, value: &Value) -> bool {
    let Some(number) = value.as_i64() else { return false };
    schema.get("format").and_then(Value::as_str) != Some("int32") || i32::try_from(number).is_ok()
}

fn limit(schema: &Value, key: &str) -> Option<u64> {
    schema.get(key).and_then(Value::as_u64)
}

/// Notes a length outside `min` and `max`; Kubernetes blocks rules on what is too long, not on what is too short.
fn length(schema: &Value, (least, most): (&str, &str), (count, unit): (usize, &str), path: &str) -> Option<Found> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    if let Some(least) = limit(schema, least)
        && count < least
    {
        return Some(Found { path: path.to_owned(), message: format!("has {count} {unit}: at least {least} are needed"), blocks: false });
    }
    let most = limit(schema, most).filter(|most| count > *most)?;
    Some(Found { path: path.to_owned(), message: format!("has {count} {unit}: at most {most} are allowed"), blocks: true })
}

fn unknown(properties: Option<&Map<String, Value>>, path: &str, name: &str) -> Found {
    let distance = |known: &&String| strsim::osa_distance(&known.to_lowercase(), &name.to_lowercase());
    let near = properties.into_iter().flat_map(Map::keys).min_by_key(distance);
    // A third of the letters may be wrong; or the one is the beginning of the other.
    let is_near = |known: &&String| distance(known) * 3 <= name.len().max(3) || known.starts_with(name) || name.starts_with(known.as_str());
    let hint = near.filter(is_near).map(|near| format!("; did you mean {near}?"));
    let message = format!("is no field of the schema{}", hint.unwrap_or_default());
    Found { path: path.to_owned(), message, blocks: false }
}
