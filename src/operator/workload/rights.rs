//! The account of the pods, and what it may do: the objects of the coordination store, its own pipeline, its revisions.
//!
//! Names of workers, splits and ledgers are not known beforehand, so those rights are for the namespace; what can be
//! named is named.

use super::{Ground, pod};
use crate::api::{GROUP, children};
use serde_json::{Value, json};

/// The account, unless the pods run under an existing one.
pub(super) fn account(ground: Ground<'_>) -> Option<Value> {
    let own = ground.spec.worker.as_ref().and_then(|worker| worker.service_account.as_ref());
    if own.is_some_and(|own| own.name.is_some()) {
        return None;
    }
    Some(json!({"annotations": own.and_then(|own| own.annotations.clone()).unwrap_or_default()}))
}

pub(super) fn role(ground: Ground<'_>) -> Value {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let named = |group: &str, resources: &[&str], names: &[String], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "resourceNames": names, "verbs": verbs});
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let mut readable = ground.revisions.to_vec();
    readable.sort();
    readable.dedup();
    let mut rules = vec![
        named(GROUP, &["streampipelines"], &[ground.name.to_owned()], &["get"]),
        rule(GROUP, &["streamworkers", "streamsplits", "streamledgers"], &all),
        rule(GROUP, &["streamworkers/status"], &["get", "update", "patch"]),
        rule("coordination.k8s.io", &["leases"], &all),
        named("", &["configmaps"], &[children::plan(ground.name)], &["get", "list", "watch", "update", "patch"]),
        // A right to create cannot be bound to a name.
        rule("", &["configmaps"], &["create"]),
        rule("", &["pods"], &["get"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ];
    // Without names it would be a right to read every ConfigMap.
    if !readable.is_empty() {
        rules.push(named("", &["configmaps"], &readable, &["get"]));
    }
    json!({"rules": rules})
}

pub(super) fn binding(ground: Ground<'_>) -> Value {
    json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": children::workload(ground.name)},
        "subjects": [{"kind": "ServiceAccount", "name": pod::account(ground), "namespace": ground.namespace}],
    })
}
