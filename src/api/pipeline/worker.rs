//! The worker pods.
//!
//! Owns: `spec.worker` and `spec.secretRefs`.
//! May not: build a workload; the operator does.

use super::super::forms;
use super::super::scalar::{Duration, Quantity};
use super::super::schema::{
    exactly_one, label_keys, pod_field, pod_list_by_ip, pod_list_by_mount_path, pod_list_by_name, preserved, preserved_list, rule, texts,
};
use k8s_openapi::api::core::v1::{EnvVar, HostAlias, PodDNSConfig, PodSecurityContext, Toleration, TopologySpreadConstraint, VolumeMount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Fields that Kubernetes checks, kept as they were written.
pub type Preserved = Map<String, Value>;

/// The worker pods. What is left out has a default that the status shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// The image. Defaults to the one the operator was installed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-validations" = [forms::image()]))]
    pub image: Option<String>,

    /// When the image is pulled. Defaults as in pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<PullPolicy>,

    /// Secrets for pulling the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub image_pull_secrets: Option<Vec<SecretName>>,

    /// The account under which pods reach AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccountRef>,

    /// What a pod asks for and may take (default: requests of 250m CPU and 512Mi, a memory limit of 1Gi, no CPU limit).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// How much workers log (default Info).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,

    /// Environment variables, proxies among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_list_by_name::<Vec<EnvVar>>")]
    pub env: Option<Vec<EnvVar>>,

    /// Certificates that every client of a worker trusts, in place of those in its image: name them all, the public ones
    /// too where AWS is reached without a proxy. The API server is trusted by its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<CaBundle>,

    /// How long a worker may take to finish when it is stopped (default 30s). The pod's grace period is 15 s longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<Duration>,

    /// The port of health and metrics (default 9090).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1024, max = 65535))]
    pub metrics_port: Option<i32>,

    /// Evaluation threads (default: the CPU limit).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub threads: Option<i32>,

    /// How roots are evaluated (default Auto). Results are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Tiers>,

    /// When rows are submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submit: Option<Submit>,

    /// Fields of the pod that are yours. Labels, probes and the command that the operator sets cannot be overridden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<PodTemplate>,
}

/// When an image is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    /// At every start.
    Always,
    /// Where the node lacks it.
    IfNotPresent,
    /// Never.
    Never,
}

/// A Secret of the pipeline's namespace, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretName {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub name: String,
}

/// The pods' `ServiceAccount`: an existing one, or annotations of the one that is created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["name", "annotations"], "give exactly one of name (an existing ServiceAccount) and annotations (of the one that is created)"),
]))]
pub struct ServiceAccountRef {
    /// An existing `ServiceAccount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub name: Option<String>,

    /// Annotations of the created one, such as eks.amazonaws.com/role-arn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = texts(2048, None), "maxProperties" = 32))]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// What a pod asks for and may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// What the scheduler sets aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 16))]
    pub requests: Option<BTreeMap<String, Quantity>>,

    /// What the pod may not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 16))]
    pub limits: Option<BTreeMap<String, Quantity>>,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LogLevel {
    /// Errors only.
    Error,
    /// And what may need a look.
    Warn,
    /// And what changes.
    #[default]
    Info,
    /// And what is decided.
    Debug,
    /// And every step.
    Trace,
}

/// Certificates to trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaBundle {
    /// Where they stand, in PEM.
    pub config_map_ref: ConfigMapKey,
}

/// One key of a `ConfigMap` in the pipeline's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMapKey {
    /// The name of the `ConfigMap`.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub name: String,

    /// The key in it.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::data_key()]))]
    pub key: String,
}

/// How roots are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Tiers {
    /// Faster tiers once they pay.
    #[default]
    Auto,
    /// The canonical tier alone.
    Canonical,
    /// Faster tiers from the start.
    Eager,
}

/// When rows are submitted to their destinations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submit {
    /// At this many rows (default 256); 1 submits each.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub rows: Option<i32>,

    /// Or after this long (default 5ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// Fields of the pod. Errors in them are reported as the API server words them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    /// Further labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = texts(63, Some(forms::label_value())), "maxProperties" = 64, "x-kubernetes-validations" = [label_keys(), rule(
        "!self.exists(name, name.startsWith('millrace.dev/') || name.startsWith('app.kubernetes.io/'))",
        "labels under millrace.dev/ and app.kubernetes.io/ are the operator's: use a prefix of your own",
    )]))]
    pub labels: Option<BTreeMap<String, String>>,

    /// Further annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = texts(4096, None), "maxProperties" = 32, "x-kubernetes-validations" = [label_keys()]))]
    pub annotations: Option<BTreeMap<String, String>>,

    /// Labels that a node must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = texts(63, Some(forms::label_value())), "maxProperties" = 64, "x-kubernetes-validations" = [label_keys()]))]
    pub node_selector: Option<BTreeMap<String, String>>,

    /// Taints that are tolerated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_field::<Vec<Toleration>>")]
    pub tolerations: Option<Vec<Toleration>>,

    /// Affinities, as in pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "preserved")]
    pub affinity: Option<Preserved>,

    /// How pods spread (default: over zones and nodes where they can).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_field::<Vec<TopologySpreadConstraint>>")]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,

    /// The pods' priority class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub priority_class_name: Option<String>,

    /// The pods' runtime class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub runtime_class_name: Option<String>,

    /// The pods' security context (default: what Pod Security restricted asks for).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_field::<PodSecurityContext>")]
    pub security_context: Option<PodSecurityContext>,

    /// The pods' DNS settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_field::<PodDNSConfig>")]
    pub dns_config: Option<PodDNSConfig>,

    /// Further lines of the pods' hosts file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_list_by_ip::<Vec<HostAlias>>")]
    pub host_aliases: Option<Vec<HostAlias>>,

    /// Further volumes, as in pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "preserved_list")]
    pub volumes: Option<Vec<Preserved>>,

    /// Where the worker's container mounts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_list_by_mount_path::<Vec<VolumeMount>>")]
    pub volume_mounts: Option<Vec<VolumeMount>>,

    /// Further containers, as in pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "preserved_list")]
    pub containers: Option<Vec<Preserved>>,
}

/// A Secret that workers use, and what a change of it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretRef {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub name: String,

    /// What a change of it does (default Restart).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,
}

/// What a changed Secret does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rotation {
    /// The pods are replaced one by one.
    #[default]
    Restart,
    /// The workers read it again.
    HotReload,
}
