//! From Rust types to the structural schemas that Kubernetes takes.
//!
//! Owns: the rewriting of what `schemars` makes, the classes recorded beside fields, CEL rules, schemas of pod fields.
//! May not: know any one resource.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Where a field's class stands in the schema, before [`published`] takes it out.
pub const CLASS: &str = "x-millrace-class";
/// Where it stands by which member the items of a list are told apart, and what that is where it is absent.
pub(super) const LIST_KEY: &str = "x-millrace-list-key";
/// Where it stands that a fixed field may still be set where it was not.
pub(super) const ONCE: &str = "x-millrace-once";
/// Where it stands what an absent field is the same as.
pub(super) const ABSENT: &str = "x-millrace-absent";
/// Where CEL rules stand.
pub const RULES: &str = "x-kubernetes-validations";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Bounds of what stands in pod fields whose own types have none: far above any real pod, far below etcd's limit.
const POD_STRING: u64 = 8192;
const POD_ITEMS: u64 = 64;
const QUANTITY: u64 = 32;

/// How a change of a field takes effect (see `docs/fields.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Part of the program: a change is a cutover.
    Program,
    /// Part of the pods: a change is a rollout.
    Pods,
    /// Applies at once, also while the program is invalid.
    Live,
    /// A change is refused by the schema.
    Fixed,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Program, Self::Pods, Self::Live, Self::Fixed];

    /// The word that stands beside the field.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Pods => "pods",
            Self::Live => "live",
            Self::Fixed => "fixed",
        }
    }

    /// The class with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }
}

/// One CEL rule, with what to tell whoever breaks it.
#[derive(Serialize)]
pub(super) struct Rule {
    rule: String,
    message: String,
}

/// A rule and its message; the message says what to write instead.
pub(super) fn rule(rule: impl Into<String>, message: impl Into<String>) -> Rule {
    Rule { rule: rule.into(), message: message.into() }
}

/// A member that must be there if `kind` has this value.
pub(super) fn needed_by_type(kind: &str, member: &str) -> Rule {
    rule(format!("self.type != '{kind}' || has(self.{member})"), format!("type {kind} needs {member}"))
}

/// A union: exactly one of these members is there.
pub(super) fn exactly_one(members: &[&str], message: &str) -> Rule {
    let has: Vec<_> = members.iter().map(|member| format!("has(self.{member})")).collect();
    rule(format!("[{}].filter(x, x).size() == 1", has.join(", ")), message)
}

/// A member that must be there if `kind` has this value, and only then.
pub(super) fn member_of_type(kind: &str, member: &str) -> Rule {
    rule(format!("(self.type == '{kind}') == has(self.{member})"), format!("{member} belongs to type {kind}: name both, or neither"))
}

/// An ARN names its region: another beside it would be a mistake.
pub(super) fn region_of_arn() -> Rule {
    rule(
        "!has(self.streamARN) || !has(self.region) || self.streamARN.contains(':kinesis:' + self.region + ':')",
        "streamARN names another region: leave region out, or write the ARN's",
    )
}

/// Rules about an object as a whole: its name must leave room for the names of its children, which become Services.
pub(super) fn object_rules(longest_name: usize) -> Vec<Rule> {
    vec![
        rule(
            format!("self.metadata.name.size() <= {longest_name}"),
            format!("the name is over {longest_name} characters, which leaves no room for the names of its pods: choose a shorter one"),
        ),
        rule(
            // What remains of a DNS label once Kubernetes has seen to a DNS subdomain. No regular expression: on a name,
            // whose length the estimator does not know, one would cost more than all other rules together.
            "self.metadata.name >= 'a' && !self.metadata.name.contains('.')",
            "the name must be a DNS label, since a Service takes it: lower-case letters, digits and dashes, beginning with a letter",
        ),
    ]
}

/// In a transition: an optional member is as it was, absent or present.
pub(super) fn unchanged(new: &str, old: &str, member: &str) -> String {
    format!("(has({new}.{member}) ? has({old}.{member}) && {new}.{member} == {old}.{member} : !has({old}.{member}))")
}

/// The structural schema of `T`, with the classes still in it.
#[must_use]
pub fn structural<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    rewrite(&mut value);
    value
}

/// The schema as it is published: without what is ours alone, which Kubernetes does not know.
#[must_use]
pub fn published(mut schema: Value) -> Value {
    each_node(&mut schema, &mut |node| {
        for ours in [CLASS, LIST_KEY, ONCE, ABSENT] {
            node.remove(ours);
        }
    });
    schema
}

/// A schema of a Kubernetes type for use inside a pod template: no descriptions (its documentation is Kubernetes'
/// own, and each CRD has a size limit), and a bound on every string, list and map.
pub(super) fn pod_field<T: JsonSchema>(_: &mut SchemaGenerator) -> Schema {
    let mut value = structural::<T>();
    each_node(&mut value, &mut bound_pod_node);
    Schema::try_from(value).unwrap_or_else(|_| json_schema!({"type": "object"}))
}

/// A [`pod_field`] that is a list of objects, told apart by this field, so that two writers do not overwrite each other.
fn pod_list<T: JsonSchema>(generator: &mut SchemaGenerator, key: &str) -> Schema {
    let mut schema = pod_field::<T>(generator);
    schema.insert("x-kubernetes-list-type".to_owned(), json!("map"));
    schema.insert("x-kubernetes-list-map-keys".to_owned(), json!([key]));
    schema
}

pub(super) fn pod_list_by_name<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    pod_list::<T>(generator, "name")
}

pub(super) fn pod_list_by_mount_path<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    pod_list::<T>(generator, "mountPath")
}

pub(super) fn pod_list_by_ip<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    pod_list::<T>(generator, "ip")
}

/// Values of a map of texts: at most this many characters, of this form.
pub(super) fn texts(most: u64, form: Option<Rule>) -> Value {
    let mut schema = json!({"type": "string", "maxLength": most});
    if let (Some(schema), Some(form)) = (schema.as_object_mut(), form) {
        schema.insert(RULES.to_owned(), json!([form]));
    }
    schema
}

/// The keys of labels are Kubernetes' own kind of name, with a prefix or without.
pub(super) fn label_keys() -> Rule {
    rule(
        "self.all(key, key.size() <= 317 && key.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$'))",
        "each key is the name of a label, such as team or example.com/team",
    )
}

/// A map whose fields Kubernetes checks, not we: kept as written, errors come from a dry run of the workload.
pub(super) fn preserved(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", PRESERVE: true})
}

/// A list of [`preserved`] maps, told apart by `name`.
pub(super) fn preserved_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            PRESERVE: true,
            "required": ["name"],
            "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 63, RULES: [super::forms::label_name()]}},
        },
    })
}

fn bound_pod_node(node: &mut Map<String, Value>) {
    node.remove("description");
    node.remove("default");
    let is_quantity = node.contains_key("x-kubernetes-int-or-string");
    let bound = match node.get("type").and_then(Value::as_str) {
        _ if is_quantity => ("maxLength", QUANTITY),
        Some("string") if !node.contains_key("enum") => ("maxLength", POD_STRING),
        Some("array") => ("maxItems", POD_ITEMS),
        Some("object") if node.contains_key("additionalProperties") => ("maxProperties", POD_ITEMS),
        _ => return,
    };
    node.entry(bound.0).or_insert_with(|| json!(bound.1));
}

/// Calls `visit` for every schema in this one, children first.
pub(super) fn each_node(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(node) = schema else { return };
    if let Some(Value::Object(properties)) = node.get_mut("properties") {
        for child in properties.values_mut() {
            each_node(child, visit);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = node.get_mut(key) {
            each_node(child, visit);
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(children)) = node.get_mut(key) {
            for child in children {
                each_node(child, visit);
            }
        }
    }
    visit(node);
}

/// Kubernetes wants structural schemas: no `title`, one `type`, no unions of constants, no null.
fn rewrite(schema: &mut Value) {
    each_node(schema, &mut |node| {
        node.remove("title");
        node.remove("$schema");
        drop_null(node);
        merge_variants(node);
        tidy(node);
    });
}

/// `Option<T>` is an absent field here, never `null`.
fn drop_null(node: &mut Map<String, Value>) {
    node.remove("nullable");
    if let Some(Value::Array(types)) = node.get("type")
        && let [only] = types.iter().filter(|name| *name != "null").collect::<Vec<_>>().as_slice()
    {
        let only = (*only).clone();
        node.insert("type".to_owned(), only);
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(variants)) = node.get_mut("anyOf") {
        variants.retain(|variant| variant.get("enum") != Some(&json!([null])) && variant.get("enum") != Some(&json!([])));
        if let [only] = variants.as_mut_slice() {
            let only = only.take();
            node.remove("anyOf");
            inherit(node, only);
        }
    }
}

/// What the only variant says, where the field itself does not say otherwise.
fn inherit(node: &mut Map<String, Value>, variant: Value) {
    if let Value::Object(fields) = variant {
        for (key, value) in fields {
            node.entry(key).or_insert(value);
        }
    }
}

/// A Rust enum of units becomes one `enum`, its variants' docs a list in the description.
fn merge_variants(node: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = node.get("oneOf") else { return };
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for variant in variants {
        let found = match (variant.get("const"), variant.get("enum").and_then(Value::as_array)) {
            (Some(name), _) => vec![name.clone()],
            (_, Some(all)) => all.clone(),
            _ => return,
        };
        if let (Some(text), [Value::String(name)]) = (variant.get("description").and_then(Value::as_str), found.as_slice()) {
            lines.push(format!("{name}: {text}"));
        }
        names.extend(found);
    }
    node.remove("oneOf");
    node.insert("type".to_owned(), json!("string"));
    node.insert("enum".to_owned(), Value::Array(names));
    if !lines.is_empty() {
        let head = node.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = [head, &lines.join("\n")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        node.insert("description".to_owned(), json!(text));
    }
}

fn tidy(node: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = node.get_mut("description") {
        *text = text.replace('`', "");
    }
    if node.get("additionalProperties") == Some(&json!(false)) {
        node.remove("additionalProperties");
    }
    if node.get("properties") == Some(&json!({})) {
        node.remove("properties");
    }
    if node.get("default") == Some(&Value::Null) {
        node.remove("default");
    }
    // Kubernetes 1.33 takes larger numbers all the same, and our types could not read what it then holds.
    if node.get("format").and_then(Value::as_str) == Some("int32") {
        node.entry("minimum").or_insert_with(|| json!(i32::MIN));
        node.entry("maximum").or_insert_with(|| json!(i32::MAX));
    }
    if node.contains_key(PRESERVE) && node.get("x-kubernetes-int-or-string").is_some() {
        node.remove("type");
    }
}
