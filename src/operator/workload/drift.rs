//! Whether what is there is what was built, and whose it is.

use crate::api::children::{BUILT_ANNOTATION, PIPELINE_LABEL};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Holder {
    /// This pipeline's.
    Ours,
    /// Nobody's, but it bears our labels: it was restored, or its owner forgotten.
    Lost,
    /// Another pipeline's of this name, which is gone or going.
    Predecessor,
    /// Somebody else's: it is left alone (I36).
    Foreign,
}

/// Whose an object with a name of ours is.
pub(in crate::operator) fn holder(meta: &ObjectMeta, pipeline: &str, uid: &str) -> Holder {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let labelled = meta.labels.as_ref().and_then(|labels| labels.get(PIPELINE_LABEL)).is_some_and(|name| name == pipeline);
    match owner {
        Some(owner) if owner.uid == uid => Holder::Ours,
        Some(owner) if owner.kind == "StreamPipeline" && owner.name == pipeline => Holder::Predecessor,
        None if labelled => Holder::Lost,
        _ => Holder::Foreign,
    }
}

/// Whether what is there says all that was built. Defaults and whatever others have added do not count: only a field of
/// ours that is gone or says otherwise is drift.
pub(in crate::operator) fn covers(live: &Value, built: &Value) -> bool {
    let digest = |value: &Value| value.pointer("/metadata/annotations").and_then(|all| all.get(BUILT_ANNOTATION)).cloned();
    digest(live) == digest(built) && holds(live, built)
}

fn holds(live: &Value, built: &Value) -> bool {
    match (live, built) {
        (Value::Object(live), Value::Object(built)) => built.iter().all(|(name, built)| match live.get(name) {
            Some(live) => holds(live, built),
            // The API server leaves out what is empty.
            None => is_empty(built),
        }),
        (Value::Array(live), Value::Array(built)) => list_holds(live, built),
        (live, built) => live == built || same_number(live, built),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Items with a name are found by it, wherever an admission controller has put its own.
fn list_holds(live: &[Value], built: &[Value]) -> bool {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    if built.iter().all(|item| name(item).is_some()) {
        return built.iter().all(|item| live.iter().any(|live| name(live) == name(item) && holds(live, item)));
    }
    live.len() == built.len() && live.iter().zip(built).all(|(live, built)| holds(live, built))
}

/// Quantities come back in their canonical form, which need not be ours: such a difference is none that an apply could
/// mend.
fn same_number(live: &Value, built: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let (Some(live), Some(built)) = (text(live), text(built)) else { return false };
    matches!((quantity(&live), quantity(&built)), (Some(live), Some(built)) if live == built)
}

/// A quantity in thousandths.
fn quantity(text: &str) -> Option<i128> {
    const UNITS: [(&str, i128); 13] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
        ("", 1),
    ];
    if let Some(number) = text.strip_suffix('m') {
        return number.parse().ok();
    }
    let (unit, size) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let (whole, part) = text.strip_suffix(unit)?.split_once('.').unwrap_or((text.strip_suffix(unit)?, ""));
    let part: String = format!("{part}000").chars().take(3).collect();
    let thousandths = whole.parse::<i128>().ok()?.checked_mul(1_000)?.checked_add(part.parse().ok()?)?;
    thousandths.checked_mul(*size)
}

#[cfg(test)]
mod tests {
    use super::{Holder, covers, holder, quantity};
    use crate::api::children::{BUILT_ANNOTATION, PIPELINE_LABEL};
    use serde_json::{Value, json};

    fn built() -> Value {
        json!({"metadata": {"annotations": {BUILT_ANNOTATION: "d"}}, "spec": {
            "replicas": 2,
            "empty": {},
            "template": {"containers": [{"name": "worker", "image": "i", "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}}}]},
            "command": ["a", "b"],
        }})
    }

    fn live(change: impl FnOnce(&mut Value)) -> Value {
        let mut live = built();
        live["spec"].as_object_mut().unwrap().remove("empty");
        change(&mut live);
        live
    }

    #[test]
    fn scenario_65_defaults_a_sidecar_and_canonical_quantities_are_no_drift() {
        assert!(covers(&live(|_| ()), &built()));
        assert!(covers(&live(|live| live["spec"]["dnsPolicy"] = json!("ClusterFirst")), &built()));
        assert!(covers(
            &live(|live| live["spec"]["template"]["containers"].as_array_mut().unwrap().insert(0, json!({"name": "mesh"}))),
            &built()
        ));
        let limits =
            |live: &mut Value| live["spec"]["template"]["containers"][0]["resources"]["limits"] = json!({"cpu": "500m", "memory": "1Gi"});
        assert!(covers(&live(limits), &built()));
    }

    #[test]
    fn a_field_of_ours_that_is_gone_or_says_otherwise_is_drift() {
        for at in ["/spec/replicas", "/spec/template/containers/0/image", "/metadata/annotations", "/spec/command/1"] {
            assert!(!covers(&live(|live| *live.pointer_mut(at).unwrap() = json!("other")), &built()), "{at}");
        }
        assert!(!covers(&live(|live| live["spec"]["command"].as_array_mut().unwrap().push(json!("c"))), &built()));
        assert!(!covers(&live(|live| live["spec"]["template"]["containers"][0]["name"] = json!("x")), &built()));
    }

    #[test]
    fn quantities_are_read_in_thousandths() {
        let read = ["1", "500m", "0.5", "1.25", "1Ki", "1k", "1.5Gi"].map(quantity);
        assert_eq!(read, [1_000, 500, 500, 1_250, 1_024_000, 1_000_000, 1_610_612_736_000].map(Some));
        assert_eq!(["", "x", "1x", "-"].map(quantity), [None; 4]);
    }

    #[test]
    fn i36_whose_an_object_is_follows_from_the_uid_of_its_controller() {
        let meta = |value: Value| serde_json::from_value(value).unwrap();
        let owned = |kind: &str, uid: &str| {
            json!({"labels": {PIPELINE_LABEL: "p"}, "ownerReferences": [
            {"apiVersion": "v", "kind": kind, "name": "p", "uid": uid, "controller": true}]})
        };
        assert_eq!(holder(&meta(owned("StreamPipeline", "u")), "p", "u"), Holder::Ours);
        assert_eq!(holder(&meta(owned("StreamPipeline", "old")), "p", "u"), Holder::Predecessor);
        assert_eq!(holder(&meta(owned("Deployment", "x")), "p", "u"), Holder::Foreign);
        assert_eq!(holder(&meta(json!({"labels": {PIPELINE_LABEL: "p"}})), "p", "u"), Holder::Lost);
        assert_eq!(holder(&meta(json!({})), "p", "u"), Holder::Foreign);
    }
}
