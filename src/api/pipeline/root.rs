//! The root: the program of stream equations, and how its inputs are bound.
//!
//! Owns: `spec.root`.
//! May not: parse a root; `lang` does.

use super::super::forms;
use super::super::scalar::Duration;
use super::super::schema::{Rule, exactly_one, rule, texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest inline root, in bytes.
pub const MAX_INLINE: usize = 128 * 1024;
/// The longest root in a `ConfigMap`, in bytes.
pub const MAX_CONFIG_MAP: usize = 400 * 1024;

/// Above this the API server itself says "too long"; below it our rule can say what to do instead.
const MANY_CHARACTERS: usize = 1024 * 1024;

fn inline_rules() -> Vec<Rule> {
    vec![
        rule(
            // No regular expression: on a text of this length one costs more than all other rules together.
            "self.contains('=') && !self.contains('\\u0000')",
            "the root holds no equation, or a NUL: write at least one out stream, such as: out total: Int = 1",
        ),
        rule(
            format!("bytes(self).size() <= {MAX_INLINE}"),
            "the root is over 128 KiB: put it into a ConfigMap and name that in configMapRef",
        ),
    ]
}

/// The program of stream equations: exactly one of inline and configMapRef.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    exactly_one(&["inline", "configMapRef"], "give the root by exactly one of inline and configMapRef"),
]))]
pub struct Root {
    /// The text of the root, at most 128 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MANY_CHARACTERS), extend("x-kubernetes-validations" = inline_rules()))]
    pub inline: Option<String>,

    /// A `ConfigMap` that holds the text of the root, at most 400 KiB. It is read once, for this sha256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<RootRef>,

    /// What binds to each declared input: a JSON pointer (/sensor/temp), or the record's own @partitionKey,
    /// @sequenceNumber, @arrivalTime, @shard or @data. An input that is not named binds to the field of its name. With
    /// several streams: `orders:/amount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        extend("additionalProperties" = texts(512, Some(forms::binding())), "maxProperties" = 128, "x-kubernetes-validations" = [rule(
            "self.all(name, name.size() <= 128 && name.matches('^[A-Za-z_][A-Za-z0-9_]*$'))",
            "each key is the name of an input of the root: letters, digits and underscores, at most 128",
        )])
    )]
    pub inputs: Option<BTreeMap<String, String>>,

    /// What gives a record its time: a JSON pointer to an RFC 3339 text or to epoch milliseconds. Defaults to the
    /// arrival time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-validations" = [forms::binding()]))]
    pub time: Option<String>,

    /// How far a record's time may lead its arrival (default 5m); beyond, the record policy applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lead: Option<Duration>,

    /// Bounds of one tick; beyond one the tick fails with its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// A root in a `ConfigMap`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootRef {
    /// The name of the `ConfigMap`, in the pipeline's namespace.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::object_name()]))]
    pub name: String,

    /// The key in it.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = [forms::data_key()]))]
    pub key: String,

    /// The SHA-256 of the text, 64 hexadecimal digits (as sha256sum prints them): a change of the `ConfigMap` means
    /// nothing until this names it.
    #[schemars(length(min = 64, max = 71), extend("x-kubernetes-validations" = [forms::sha256()]))]
    pub sha256: String,
}

/// Bounds of one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Evaluation steps (default 1000000).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 1_000_000_000))]
    pub steps: Option<i64>,

    /// Depth of recursion (default 256).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 4_096))]
    pub depth: Option<i32>,

    /// Bytes of one value (default 1048576).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_024, max = 67_108_864))]
    pub value_bytes: Option<i64>,

    /// Values kept by one window (default 1000000); past it the oldest leave early, counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub window_values: Option<i64>,
}

impl Limits {
    /// What holds where nothing is said.
    #[must_use]
    pub const fn defaults() -> Self {
        Self { steps: Some(1_000_000), depth: Some(256), value_bytes: Some(1_048_576), window_values: Some(1_000_000) }
    }
}
