//! What a worker's account may do in its namespace: the whole list of it.
//!
//! Names of workers, splits and ledgers are not known beforehand, so those rights are for the namespace; what can be
//! named is named.

use super::{GROUP, children};
use serde_json::{Value, json};

/// The rules of the Role of a pipeline's workers, who may read the revisions with these names.
#[must_use]
pub fn of_workers(pipeline: &str, revisions: &[String]) -> Vec<Value> {
    let whole = ["get", "list", "watch", "create", "update", "delete"];
    let mut readable = revisions.to_vec();
    readable.sort();
    readable.dedup();
    let mut rules = vec![
        named(GROUP, "streampipelines", &[pipeline.to_owned()], &["get"]),
        rule(GROUP, &["streamsplits", "streamledgers"], &whole),
        // `spec` holds the operator's part and the leader's: each patches its own.
        rule(GROUP, &["streamworkers"], &["get", "list", "watch", "create", "patch", "delete"]),
        rule(GROUP, &["streamworkers/status"], &["update"]),
        rule("coordination.k8s.io", &["leases"], &whole),
        // A right to create cannot be bound to a name.
        rule("", &["configmaps"], &["create"]),
        named("", "configmaps", &[children::plan(pipeline)], &["get", "list", "watch", "update", "delete"]),
    ];
    // Without names it would be a right to read every ConfigMap.
    if !readable.is_empty() {
        rules.push(named("", "configmaps", &readable, &["get"]));
    }
    rules
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn named(group: &str, resource: &str, names: &[String], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "resourceNames": names, "verbs": verbs})
}
