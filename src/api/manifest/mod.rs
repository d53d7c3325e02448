//! Manifests without a cluster: `run` and `check` hold a file against the very schema that the API server has.
//!
//! Owns: reading YAML, and telling what is wrong with it: where, why, and what to write instead.
//! May not: know a rule of its own. Every rule stands in the schema, made from the types, so the two cannot differ.

mod metadata;
mod normal;
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
pub fn read(bytes: &[u8]) -> Result<StreamPipeline, ManifestError> {
    if bytes.len() > MAX_BYTES {
        return Err(ManifestError::Yaml(format!("it is longer than {MAX_BYTES} bytes, which is more than the API server takes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| ManifestError::Yaml(format!("it is no text in UTF-8 ({error})")))?;
    take(&parse(text)?)
}

/// Takes a document that is one `StreamPipeline`, if it keeps every rule.
///
/// # Errors
/// All that is wrong with it, at once.
pub fn take(value: &Value) -> Result<StreamPipeline, ManifestError> {
    let stored = as_stored(value);
    judge(&stored, None).map_err(ManifestError::Invalid)?;
    serde_json::from_value(stored)
        .map_err(|error| ManifestError::Invalid(vec![Problem { path: String::new(), message: error.to_string() }]))
}

/// A manifest as the API server would hold it: without nulls, with defaults.
fn as_stored(value: &Value) -> Value {
    let value = normal::without_nulls(&RULES.schema, normal::whole_numbers(value.clone()));
    kube_cel::apply_defaults(&RULES.schema, &value)
}

/// YAML to one document of the right kind.
///
/// # Errors
/// If it is no YAML, more than one document, or another kind.
pub fn parse(text: &str) -> Result<Value, ManifestError> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| ManifestError::Yaml(yaml_error(&error)))?;
    let documents: Vec<Value> = documents.into_iter().filter(|document| !document.is_null()).collect();
    let count = documents.len();
    let Ok([value]) = <[Value; 1]>::try_from(documents) else {
        let held = if count == 0 { "nothing".to_owned() } else { format!("{count} documents") };
        return Err(ManifestError::Kind(format!("the file holds {held}: keep exactly one StreamPipeline in it")));
    };
    let field = |name: &str| value.get(name).map_or_else(|| format!("no {name}"), |found| format!("{name}: {found}"));
    let is = |name: &str, wanted: &str| value.get(name).and_then(Value::as_str) == Some(wanted);
    if !value.is_object() || !is("apiVersion", API_VERSION) || !is("kind", StreamPipeline::KIND) {
        let found =
            if value.is_object() { format!("{} and {}", field("apiVersion"), field("kind")) } else { "no map of fields".to_owned() };
        let wanted = StreamPipeline::KIND;
        return Err(ManifestError::Kind(format!("the file holds {found}: write apiVersion: {API_VERSION} and kind: {wanted}")));
    }
    Ok(value)
}

/// What the YAML library says, in one line where it can, without names that the user has never given.
fn yaml_error(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// Holds a manifest against the schema, and against what it replaces, if anything.
///
/// # Errors
/// All that is wrong with it.
pub fn check(new: &Value, old: Option<&Value>) -> Result<(), Vec<Problem>> {
    judge(&as_stored(new), old.map(as_stored).as_ref())
}

/// Holds what would be stored against the schema.
fn judge(new: &Value, old: Option<&Value>) -> Result<(), Vec<Problem>> {
    let Rules { schema, compiled, patterns } = &*RULES;
    let mut problems = Vec::new();
    metadata::check(new, &mut problems);
    structure::check(schema, patterns, new, &mut problems);
    // As in the API server: rules are judged only on what has the right shape.
    if !problems.iter().any(structure::Found::blocks_rules) {
        let root = RootContext { api_version: API_VERSION.to_owned(), api_group: GROUP.to_owned(), kind: StreamPipeline::KIND.to_owned() };
        if let Err(errors) = Validator::new().validate_compiled_with_context(compiled, new, old, Some(&root)) {
            problems.extend(errors.into_vec().into_iter().map(|error| structure::Found::rule(error.field_path, error.message)));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.into_iter().map(structure::Found::into_problem).collect()) }
}
