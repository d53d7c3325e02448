//! A manifest as the API server sees it: what YAML and JSON write in several ways is made one.
//!
//! Owns: whole numbers, and the fields that are `null`.
//! May not: judge.

use serde_json::{Map, Number, Value};

/// Beyond this a double no longer tells neighbouring whole numbers apart (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// `2.0` and `1e1` are whole numbers to kubectl, which writes JSON.
pub(super) fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(whole(&number).unwrap_or(number)),
        Value::Array(items) => Value::Array(items.into_iter().map(whole_numbers).collect()),
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(key, value)| (key, whole_numbers(value))).collect()),
        other => other,
    }
}

fn whole(number: &Number) -> Option<Number> {
    let value = number.as_f64().filter(|value| !number.is_i64() && value.fract() == 0.0 && value.abs() < EXACT)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within what both hold")]
    let value = value as i64;
    Some(value.into())
}

/// The API server takes `null` for "not there" in every field that its schema knows, and fills in the default if there is
/// one. In lists, and where the schema does not look, it stays.
pub(super) fn without_nulls(schema: &Value, value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, value) in fields {
                match child(schema, &name) {
                    Some(_) if value.is_null() => {}
                    known => {
                        kept.insert(name, without_nulls(known.unwrap_or(&Value::Null), value));
                    }
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let each = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(items.into_iter().map(|item| without_nulls(each, item)).collect())
        }
        other => other,
    }
}

fn child<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let named = schema.get("properties").and_then(|properties| properties.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|child| child.is_object()))
}

#[cfg(test)]
mod tests {
    use super::{whole_numbers, without_nulls};
    use serde_json::json;

    #[test]
    fn whole_numbers_are_whole_however_they_are_written() {
        assert_eq!(whole_numbers(json!({"a": [2.0, 1e1, -3.0, 1.5, 1e300]})), json!({"a": [2, 10, -3, 1.5, 1e300]}));
    }

    #[test]
    fn a_field_that_is_null_is_not_there_but_an_item_is() {
        let schema = json!({"properties": {"a": {}, "m": {"additionalProperties": {}}, "l": {"items": {"properties": {"b": {}}}}}});
        let value = json!({"a": null, "m": {"x": null}, "l": [null, {"b": null, "c": null}], "z": null});
        assert_eq!(without_nulls(&schema, value), json!({"m": {}, "l": [null, {"c": null}], "z": null}));
    }
}
