//! The pod of a worker.

use super::{Ground, digest, labels, note, selector};
use crate::api::children::{
    BUILT_ANNOTATION, CA_FILE, CA_VARIABLE, HAND_FOLDER, POD_NAME_VARIABLE, POD_NAMESPACE_VARIABLE, POD_UID_VARIABLE, SCRATCH_FOLDER,
    SECRETS_FOLDER, SETTINGS_VARIABLE, WORKER_CONTAINER, part,
};
use crate::api::class;
use crate::api::pipeline::{PodTemplate, Worker};
use crate::api::worker_settings::WorkerSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// On pods: the `restartNonce` that they were made under.
const RESTART_ANNOTATION: &str = "millrace.dev/restart-nonce";
/// The name of the port of health and metrics.
pub(super) const PORT: &str = "metrics";
/// What a pod has beyond the time that its worker takes to drain.
const BEYOND_DRAIN: u64 = 15;
/// How long a pod stays on a node that is lost, in seconds: its splits have moved by then.
const LOST_NODE: i64 = 30;

/// The settings of class "pods".
pub(super) fn settings(ground: Ground<'_>) -> WorkerSettings {
    WorkerSettings::of(ground.name, ground.uid, ground.spec)
}

/// The template of all pods; its annotation names the digest of the rest.
pub(super) fn template(ground: Ground<'_>) -> Value {
    let worker = ground.spec.worker.clone().unwrap_or_default();
    let own = worker.template.clone().unwrap_or_default();
    let mut annotations = json!({"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "hand,scratch"});
    merge(&mut annotations, json!(own.annotations.clone().unwrap_or_default()));
    set(&mut annotations, [(RESTART_ANNOTATION, json!(ground.spec.restart_nonce))]);
    let mut all_labels = json!(own.labels.clone().unwrap_or_default());
    merge(&mut all_labels, labels(ground.name, part::WORKER));
    let mut template = json!({"metadata": {"labels": all_labels, "annotations": annotations}, "spec": spec(ground, &worker, &own)});
    let built = digest(&template);
    note(&mut template, "/metadata/annotations", BUILT_ANNOTATION, built);
    template
}

/// The name of the account that pods run under.
pub(super) fn account(ground: Ground<'_>) -> String {
    let named = ground.spec.worker.as_ref().and_then(|worker| worker.service_account.as_ref()).and_then(|account| account.name.clone());
    named.unwrap_or_else(|| crate::api::children::workload(ground.name))
}

/// Puts the members of the second over those of the first.
fn merge(value: &mut Value, over: Value) {
    if let (Some(value), Value::Object(over)) = (value.as_object_mut(), over) {
        value.extend(over);
    }
}

fn spec(ground: Ground<'_>, worker: &Worker, own: &PodTemplate) -> Value {
    let drain = settings(ground).drain_timeout.span();
    let drain = drain.as_secs().saturating_add(u64::from(drain.subsec_nanos() > 0));
    let mut security = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    merge(&mut security, json!(own.security_context));
    let mut spec = json!({
        "serviceAccountName": account(ground),
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": drain.saturating_add(BEYOND_DRAIN),
        "securityContext": security,
        "tolerations": tolerations(own),
        "topologySpreadConstraints": spread(ground, own),
        "containers": containers(ground, worker, own),
        "volumes": volumes(ground, worker, own),
    });
    let optional = [
        ("imagePullSecrets", json!(worker.image_pull_secrets)),
        ("nodeSelector", json!(own.node_selector)),
        ("affinity", json!(own.affinity)),
        ("priorityClassName", json!(own.priority_class_name)),
        ("runtimeClassName", json!(own.runtime_class_name)),
        ("dnsConfig", json!(own.dns_config)),
        ("hostAliases", json!(own.host_aliases)),
    ];
    set(&mut spec, optional);
    spec
}

/// Sets what is there.
fn set<const N: usize>(value: &mut Value, members: [(&str, Value); N]) {
    if let Some(value) = value.as_object_mut() {
        value.extend(members.into_iter().filter(|(_, member)| !member.is_null()).map(|(name, member)| (name.to_owned(), member)));
    }
}

fn tolerations(own: &PodTemplate) -> Vec<Value> {
    let lost = |taint: &str| json!({"key": format!("node.kubernetes.io/{taint}"), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": LOST_NODE});
    let own = own.tolerations.iter().flatten().map(|toleration| json!(toleration));
    [lost("not-ready"), lost("unreachable")].into_iter().chain(own).collect()
}

fn spread(ground: Ground<'_>, own: &PodTemplate) -> Value {
    if let Some(own) = &own.topology_spread_constraints {
        return json!(own);
    }
    let over = |key: &str| {
        json!({
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector(ground.name)},
        })
    };
    json!([over("topology.kubernetes.io/zone"), over("kubernetes.io/hostname")])
}

fn containers(ground: Ground<'_>, worker: &Worker, own: &PodTemplate) -> Vec<Value> {
    let beside = own.containers.iter().flatten().map(|container| Value::Object(container.clone()));
    std::iter::once(container(ground, worker, own)).chain(beside).collect()
}

fn container(ground: Ground<'_>, worker: &Worker, own: &PodTemplate) -> Value {
    let settings = settings(ground);
    let resources = worker
        .resources
        .as_ref()
        .map_or_else(|| json!({"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}), |own| json!(own));
    let probe = |path: &str, period: u32, failures: u32| {
        json!({
            "httpGet": {"path": path, "port": PORT, "scheme": "HTTP"},
            "periodSeconds": period,
            "timeoutSeconds": 5,
            "failureThreshold": failures,
        })
    };
    let mut container = json!({
        "name": WORKER_CONTAINER,
        "image": worker.image.as_deref().unwrap_or(ground.image),
        "command": ["millrace", "worker"],
        "env": environment(&settings, worker),
        "ports": [{"name": PORT, "containerPort": settings.metrics_port, "protocol": "TCP"}],
        "resources": resources,
        "livenessProbe": probe("/livez", 10, 3),
        "readinessProbe": probe("/readyz", 5, 1),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts(ground, worker, own),
    });
    set(&mut container, [("imagePullPolicy", json!(worker.image_pull_policy))]);
    container
}

/// Ours first: where the user sets one of the same name, the API server says so.
fn environment(settings: &WorkerSettings, worker: &Worker) -> Vec<Value> {
    let from = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}});
    let settings = json!(settings).to_string();
    let ours = [
        from(POD_NAME_VARIABLE, "metadata.name"),
        from(POD_NAMESPACE_VARIABLE, "metadata.namespace"),
        from(POD_UID_VARIABLE, "metadata.uid"),
        json!({"name": SETTINGS_VARIABLE, "value": settings}),
    ];
    let trusted = worker.ca_bundle.as_ref().map(|_| json!({"name": CA_VARIABLE, "value": CA_FILE}));
    ours.into_iter().chain(trusted).chain(worker.env.iter().flatten().map(|own| json!(own))).collect()
}

/// All Secrets that the workers may need, each in a volume of its own; one that is missing holds no pod up.
fn secrets(ground: Ground<'_>) -> BTreeSet<String> {
    let mut all = class::secrets(&json!(ground.spec));
    all.extend(ground.spec.secret_refs.iter().flatten().map(|own| own.name.clone()));
    all
}

fn mounts(ground: Ground<'_>, worker: &Worker, own: &PodTemplate) -> Vec<Value> {
    let mut all = vec![json!({"name": "hand", "mountPath": HAND_FOLDER}), json!({"name": "scratch", "mountPath": SCRATCH_FOLDER})];
    if worker.ca_bundle.is_some() {
        let folder = CA_FILE.rsplit_once('/').map_or(CA_FILE, |(folder, _)| folder);
        all.push(json!({"name": "ca", "mountPath": folder, "readOnly": true}));
    }
    let secrets = secrets(ground).into_iter().enumerate();
    all.extend(secrets.map(
        |(index, name)| json!({"name": format!("secret-{index}"), "mountPath": format!("{SECRETS_FOLDER}/{name}"), "readOnly": true}),
    ));
    all.extend(own.volume_mounts.iter().flatten().map(|mount| json!(mount)));
    all
}

fn volumes(ground: Ground<'_>, worker: &Worker, own: &PodTemplate) -> Vec<Value> {
    let mut all = vec![json!({"name": "hand", "emptyDir": {"sizeLimit": "16Mi"}}), json!({"name": "scratch", "emptyDir": {}})];
    if let Some(bundle) = &worker.ca_bundle {
        let file = CA_FILE.rsplit_once('/').map_or(CA_FILE, |(_, file)| file);
        let from = &bundle.config_map_ref;
        all.push(json!({"name": "ca", "configMap": {"name": from.name, "items": [{"key": from.key, "path": file}]}}));
    }
    let secrets = secrets(ground).into_iter().enumerate();
    all.extend(secrets.map(|(index, name)| json!({"name": format!("secret-{index}"), "secret": {"secretName": name, "optional": true}})));
    let preserved = |volume: &Map<String, Value>| Value::Object(volume.clone());
    all.extend(own.volumes.iter().flatten().map(preserved));
    all
}
