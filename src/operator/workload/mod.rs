//! What runs a pipeline's workers: the objects that are built for it, how they are told from what is there, which pod a
//! rollout replaces next.
//!
//! Owns: every field that the operator sets in a workload.
//! May not: fail, or see a client: what reaches it is valid, and what Kubernetes thinks of fields that only it checks is
//! learned when they are applied.

mod drift;
mod pod;
mod rights;
mod rollout;
#[cfg(test)]
mod tests;

pub(super) use drift::{Holder, covers, holder};
pub(super) use rollout::{Pods, Worker, limit, next};

use crate::api::children::{self, BUILT_ANNOTATION, PART_LABEL, PIPELINE_LABEL, part};
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::{API_VERSION, Kind, StreamPipeline};
use crate::flow::Digest;
use serde_json::{Value, json};

/// The field manager under which everything is applied.
pub(super) const MANAGER: &str = "millrace-operator";

/// What a workload is built from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    /// The pipeline's name.
    pub(super) name: &'a str,
    /// Its namespace.
    pub(super) namespace: &'a str,
    /// Its uid.
    pub(super) uid: &'a str,
    /// Its spec.
    pub(super) spec: &'a StreamPipelineSpec,
    /// The names of its revisions, which workers may read.
    pub(super) revisions: &'a [String],
    /// The pods that there are, by name and uid.
    pub(super) pods: &'a [(String, String)],
    /// The image of workers where the spec names none.
    pub(super) image: &'a str,
}

/// The kinds of what is built, in the order in which it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// The account of the pods.
    ServiceAccount,
    /// What they may do.
    Role,
    /// That they may.
    RoleBinding,
    /// Names for the pods.
    Service,
    /// How many may be away.
    PodDisruptionBudget,
    /// The pods.
    StatefulSet,
}

impl Piece {
    /// All of them, in order.
    pub(super) const ALL: [Self; 6] =
        [Self::ServiceAccount, Self::Role, Self::RoleBinding, Self::Service, Self::PodDisruptionBudget, Self::StatefulSet];

    /// Group, version, kind and plural.
    pub(super) const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::ServiceAccount => ("", "v1", "ServiceAccount", "serviceaccounts"),
            Self::Role => ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
            Self::RoleBinding => ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::PodDisruptionBudget => ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
            Self::StatefulSet => ("apps", "v1", "StatefulSet", "statefulsets"),
        }
    }

    /// The name of a pipeline's one.
    pub(super) fn name(self, pipeline: &str) -> String {
        if self == Self::Service { children::service(pipeline) } else { children::workload(pipeline) }
    }
}

/// Every piece, with what it is to be; `None` where the pipeline has none.
pub(super) fn build(ground: Ground<'_>) -> Vec<(Piece, Option<Value>)> {
    Piece::ALL.into_iter().map(|piece| (piece, body(piece, ground).map(|body| whole(piece, ground, body)))).collect()
}

/// What sets a piece apart.
fn body(piece: Piece, ground: Ground<'_>) -> Option<Value> {
    match piece {
        Piece::ServiceAccount => rights::account(ground),
        Piece::Role => Some(rights::role(ground)),
        Piece::RoleBinding => Some(rights::binding(ground)),
        Piece::Service => Some(service(ground)),
        Piece::PodDisruptionBudget => budget(ground),
        Piece::StatefulSet => Some(stateful_set(ground)),
    }
}

/// What every piece has, around what sets it apart; its annotation names the digest of all of it.
fn whole(piece: Piece, ground: Ground<'_>, mut body: Value) -> Value {
    let (group, version, kind, _) = piece.names();
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let own = body.get_mut("annotations").map(Value::take).unwrap_or_default();
    let mut whole = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": piece.name(ground.name),
            "namespace": ground.namespace,
            "labels": labels(ground.name, part::WORKLOAD),
            "annotations": if own.is_object() { own } else { json!({}) },
            "ownerReferences": owners(piece, ground),
        },
    });
    if let (Some(whole), Value::Object(body)) = (whole.as_object_mut(), body) {
        whole.extend(body.into_iter().filter(|(name, _)| name != "annotations"));
    }
    let digest = digest(&whole);
    note(&mut whole, "/metadata/annotations", BUILT_ANNOTATION, digest);
    whole
}

/// Whom a piece goes with. What pods cannot do without goes with the last of them: a worker commits once more when its
/// pipeline is deleted.
fn owners(piece: Piece, ground: Ground<'_>) -> Vec<Value> {
    let mut all = vec![json!({
        "apiVersion": API_VERSION,
        "kind": StreamPipeline::KIND,
        "name": ground.name,
        "uid": ground.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })];
    if matches!(piece, Piece::ServiceAccount | Piece::Role | Piece::RoleBinding) {
        all.extend(ground.pods.iter().map(|(name, uid)| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid})));
    }
    all
}

/// The labels of a part of a pipeline.
pub(super) fn labels(pipeline: &str, part: &str) -> Value {
    json!({
        PIPELINE_LABEL: pipeline,
        PART_LABEL: part,
        "app.kubernetes.io/name": "millrace",
        "app.kubernetes.io/instance": pipeline,
        "app.kubernetes.io/component": part,
        "app.kubernetes.io/managed-by": MANAGER,
    })
}

/// By which a pipeline's pods are found.
fn selector(pipeline: &str) -> Value {
    json!({PIPELINE_LABEL: pipeline, PART_LABEL: part::WORKER})
}

/// Enough of a digest to see that something else was built.
fn digest(value: &Value) -> String {
    Digest::of(value.to_string().as_bytes()).hex().chars().take(16).collect()
}

fn note(value: &mut Value, at: &str, name: &str, text: String) {
    if let Some(map) = value.pointer_mut(at).and_then(Value::as_object_mut) {
        map.insert(name.to_owned(), Value::String(text));
    }
}

fn service(ground: Ground<'_>) -> Value {
    json!({"spec": {
        "clusterIP": "None",
        "publishNotReadyAddresses": true,
        "selector": selector(ground.name),
        "ports": [{"name": pod::PORT, "port": pod::settings(ground).metrics_port, "targetPort": pod::PORT, "protocol": "TCP"}],
    }})
}

/// A single worker's eviction is never held up: it moves, and its splits with it.
fn budget(ground: Ground<'_>) -> Option<Value> {
    let most = ground.spec.disruption.as_ref().and_then(|disruption| disruption.max_unavailable.as_ref());
    let most = most.map_or(json!(1), |most| json!(most));
    (ground.spec.replicas > 1).then(|| {
        json!({"spec": {
            "maxUnavailable": most,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector(ground.name)},
        }})
    })
}

/// `OnDelete`: the operator replaces pods itself. Nothing in here may change that Kubernetes holds immutable.
fn stateful_set(ground: Ground<'_>) -> Value {
    json!({"spec": {
        "replicas": ground.spec.replicas,
        "serviceName": children::service(ground.name),
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "revisionHistoryLimit": 2,
        "selector": {"matchLabels": selector(ground.name)},
        "template": pod::template(ground),
    }})
}

/// What names the template in force, on it and on the pods made from it.
pub(super) fn template_digest(stateful_set: &Value) -> Option<&str> {
    stateful_set.pointer("/spec/template/metadata/annotations")?.get(BUILT_ANNOTATION)?.as_str()
}
