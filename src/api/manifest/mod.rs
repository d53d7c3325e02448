//! Manifests without a cluster: `run` and `check` hold a file against the very schema that the API server has.
//!
//! Owns: reading YAML, and telling what is wrong with it: where, why, and what to write instead.
//! May not: know a rule of its own. Every rule stands in the schema, made from the types, so the two cannot differ.

mod structure;

use super::crd::pipeline_schema;
use super::{API_VERSION, GROUP, Kind, StreamPipeline};
use crate::error::{Code, Meaning};
use kube_cel::{CompiledSchema, RootContext, Validator};
use serde_json::Value;
use std::fmt;
use std::sync::LazyLock;

/// The longest manifest that is read, in bytes: what the API server takes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The schema, and its rules and patterns made ready to be judged: once a process.
struct Rules {
    schema: Value,
    compiled: CompiledSchema,
    patterns: structure::Patterns,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let schema = pipeline_schema();
    Rules { compiled: kube_cel::compile_schema(&schema), patterns: structure::Patterns::of(&schema), schema }
});

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `spec.outputs[0]`.
    pub path: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

/// Why a manifest is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is no YAML.
    #[error("no well-formed YAML: {0}")]
    Yaml(String),
    /// It is something else than one `StreamPipeline`.
    #[error("{0}")]
    Kind(String),
    /// It breaks rules of the schema.
    #[error("{}", list(.0))]
    Invalid(Vec<Problem>),
}

impl Meaning for ManifestError {
    fn code(&self) -> Code {
        match self {
            Self::Yaml(_) => Code::INVALID_YAML,
            Self::Kind(_) => Code::WRONG_KIND,
            Self::Invalid(_) => Code::INVALID_SPEC,
        }
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads one `StreamPipeline` from YAML and holds it against every rule.
///
/// # Errors
/// All that is wrong with it, at once.
pub fn read(text: &str) -> Result<StreamPipeline, ManifestError> {
    let value = parse(text)?;
    check(&value, None).map_err(ManifestError::Invalid)?;
    let value = kube_cel::apply_defaults(&RULES.schema, &value);
    serde_json::from_value(value).map_err(|error| ManifestError::Invalid(vec![Problem { path: String::new(), message: error.to_string() }]))
}

/// YAML to one document of the right kind.
///
/// # Errors
/// If it is no YAML, more than one document, or another kind.
pub fn parse(text: &str) -> Result<Value, ManifestError> {
    if text.len() > MAX_BYTES {
        return Err(ManifestError::Yaml(format!("{} bytes are more than the API server takes ({MAX_BYTES})", text.len())));
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| ManifestError::Yaml(error.to_string()))?;
    let documents: Vec<Value> = documents.into_iter().filter(|document| !document.is_null()).collect();
    let count = documents.len();
    let Ok([value]) = <[Value; 1]>::try_from(documents) else {
        return Err(ManifestError::Kind(format!("the file holds {count} documents: keep exactly one StreamPipeline in it")));
    };
    let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (field("apiVersion"), field("kind"));
    if (version.as_str(), kind.as_str()) != (API_VERSION, StreamPipeline::KIND) {
        return Err(ManifestError::Kind(format!(
            "apiVersion `{version}`, kind `{kind}`: write apiVersion: {API_VERSION} and kind: {}",
            StreamPipeline::KIND
        )));
    }
    Ok(value)
}

/// Holds a manifest against the schema, and against what it replaces, if anything.
///
/// # Errors
/// All that is wrong with it.
pub fn check(new: &Value, old: Option<&Value>) -> Result<(), Vec<Problem>> {
    let Rules { schema, compiled, patterns } = &*RULES;
    let new = kube_cel::apply_defaults(schema, new);
    let mut problems = metadata(&new);
    structure::check(schema, patterns, &new, &mut problems);
    // As in the API server: rules are judged only on what has the right shape.
    if !problems.iter().any(structure::Found::blocks_rules) {
        let root = RootContext { api_version: API_VERSION.to_owned(), api_group: GROUP.to_owned(), kind: StreamPipeline::KIND.to_owned() };
        if let Err(errors) = Validator::new().validate_compiled_with_context(compiled, &new, old, Some(&root)) {
            problems.extend(errors.into_vec().into_iter().map(|error| structure::Found::rule(error.field_path, error.message)));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.into_iter().map(structure::Found::into_problem).collect()) }
}

/// Kubernetes' own rule for the names of custom resources: a DNS subdomain.
static SUBDOMAIN: LazyLock<Option<regex::Regex>> =
    LazyLock::new(|| regex::Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok());

fn metadata(value: &Value) -> Vec<structure::Found> {
    match value.pointer("/metadata/name").and_then(Value::as_str) {
        Some(name) if name.len() <= 253 && SUBDOMAIN.as_ref().is_some_and(|form| form.is_match(name)) => Vec::new(),
        Some(name) if !name.is_empty() => {
            let message = format!("is \"{name}\": write lower-case letters, digits and dashes, beginning with a letter");
            vec![structure::Found::rule("metadata.name".to_owned(), message)]
        }
        _ => vec![structure::Found::required("metadata.name", "write the pipeline's name")],
    }
}
