//! Fields that this version does not know stay as they are when it writes what it knows.

use serde_json::{Map, Value};

/// What stands (`raw`, of which we know `known`), with `new` in place of what is known. Structures are merged down to
/// `depth`; below that a value that has changed is written anew as a whole: what was said of the old one in words that we
/// do not know need not be true of the new one.
pub(super) fn keep(raw: &Value, known: &Value, new: &Value, depth: u32) -> Value {
    if known == new {
        return raw.clone();
    }
    let (Value::Object(raw), Value::Object(known), Value::Object(new), 1..) = (raw, known, new, depth) else {
        return new.clone();
    };
    let unknown = raw.iter().filter(|(key, _)| !known.contains_key(*key) && !new.contains_key(*key));
    let mut kept: Map<String, Value> = unknown.map(|(key, value)| (key.clone(), value.clone())).collect();
    for (key, value) in new {
        let value = match (raw.get(key), known.get(key)) {
            (Some(raw), Some(known)) => keep(raw, known, value, depth.saturating_sub(1)),
            _ => value.clone(),
        };
        kept.insert(key.clone(), value);
    }
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use super::keep;
    use serde_json::json;

    #[test]
    fn what_is_not_known_stays_where_its_surroundings_do() {
        let raw =
            json!({"x": 1, "record": {"y": 2, "epoch": 3, "owner": {"worker": "a", "z": 4}, "base": {"position": "p", "w": 5}, "gone": 6}});
        let known = json!({"record": {"epoch": 3, "owner": {"worker": "a"}, "base": {"position": "p"}, "gone": 6}});
        let new = json!({"record": {"epoch": 4, "owner": {"worker": "a"}, "base": {"position": "q"}, "state": "Open"}});
        let kept =
            json!({"x": 1, "record": {"y": 2, "epoch": 4, "owner": {"worker": "a", "z": 4}, "base": {"position": "q"}, "state": "Open"}});
        assert_eq!(keep(&raw, &known, &new, 2), kept);
        assert_eq!(keep(&raw, &known, &known, 0), raw);
    }

    #[test]
    fn what_was_not_known_and_is_now_written_is_written() {
        assert_eq!(
            keep(&json!({"a": {"sealed": false}}), &json!({"a": {}}), &json!({"a": {"sealed": true}}), 2),
            json!({"a": {"sealed": true}})
        );
    }
}
