//! The account of the pods, and what it may do.

use super::{Ground, pod};
use crate::api::{children, rights};
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
    json!({"rules": rights::of_workers(ground.name, ground.revisions)})
}

pub(super) fn binding(ground: Ground<'_>) -> Value {
    json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": children::workload(ground.name)},
        "subjects": [{"kind": "ServiceAccount", "name": pod::account(ground), "namespace": ground.namespace}],
    })
}
