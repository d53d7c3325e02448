//! From what a user writes to a program that can run: the root checked, the manifest's names and bindings held against it,
//! the plan, the decoder.
//!
//! Owns: the one way there, for the command line, the operator and workers, so that all refuse the same programs.
//! May not: know a rule of manifests (`api`) or of the language (`lang`); evaluate.

mod bindings;
mod change;
mod names;

pub use bindings::{bindings, root_bindings};
pub use change::{Change, ports};

use crate::api::manifest::Problem;
use crate::api::pipeline::{self, StreamPipelineSpec};
use crate::api::revision::Program;
use crate::codec::{BindingError, Bindings, Decoder};
use crate::dataflow::{Limits, Plan};
use crate::error::{Code, Meaning};
use crate::lang;
use crate::lang::checked::Checked;
use crate::lang::diagnostic::{Diagnostic, Diagnostics};
use names::Named;

/// A program that can run.
#[derive(Debug)]
pub struct Loaded {
    /// The checked root, with its warnings.
    pub root: Checked,
    /// What evaluates it.
    pub plan: Plan,
    /// What makes rows of records.
    pub decoder: Decoder,
}

/// Why a program cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The root does not parse or check.
    #[error("the root is not valid: {0}")]
    Root(Box<Diagnostics>),
    /// Names in the manifest mean nothing in the root.
    #[error("{}", listed(.problems))]
    Names {
        /// Each with the path of its field.
        problems: Vec<Problem>,
        /// What is likely unmeant in the root, which is valid by itself.
        warnings: Vec<Diagnostic>,
    },
    /// A binding does not fit the root.
    #[error("{error}")]
    Binding {
        /// The first that does not.
        error: BindingError,
        /// As above.
        warnings: Vec<Diagnostic>,
    },
}

impl Meaning for ProgramError {
    fn code(&self) -> Code {
        match self {
            Self::Root(_) => Code::ROOT_INVALID,
            Self::Names { .. } => Code::NAMES_DIFFER,
            Self::Binding { error, .. } => error.code(),
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The program of a spec. `text` is that of its root, wherever it stands.
///
/// # Errors
/// All errors of the root; of a valid one, all names that mean nothing in it, else the first binding that does not fit.
pub fn load(spec: &StreamPipelineSpec, text: &str) -> Result<Loaded, ProgramError> {
    loaded(text, limits(spec.root.limits.as_ref()), Some(&Named::from(spec)), &bindings::of_spec(spec))
}

/// The program of a revision, which may come from another version.
///
/// # Errors
/// As [`load`]. Paths are those of the revision, where outputs go by their names.
pub fn of_revision(program: &Program) -> Result<Loaded, ProgramError> {
    loaded(&program.root.text, limits(program.root.limits.as_ref()), Some(&Named::from(program)), &bindings(program))
}

/// A root by itself, with the default bounds.
///
/// # Errors
/// All errors of the root.
pub fn of_root(text: &str) -> Result<Loaded, ProgramError> {
    loaded(text, limits(None), None, &root_bindings())
}

fn loaded(text: &str, limits: Limits, named: Option<&Named<'_>>, bindings: &Bindings<'_>) -> Result<Loaded, ProgramError> {
    let mut root = lang::check(text).map_err(|errors| ProgramError::Root(Box::new(errors)))?;
    if let Some(named) = named {
        spare(&mut root, &names::read(named));
    }
    let problems = named.map(|named| names::problems(named, &root)).unwrap_or_default();
    if !problems.is_empty() {
        return Err(ProgramError::Names { problems, warnings: root.warnings });
    }
    let plan = Plan::new(&root, limits);
    match Decoder::new(&root, bindings) {
        Ok(decoder) => Ok(Loaded { root, plan, decoder }),
        Err(error) => Err(ProgramError::Binding { error, warnings: root.warnings }),
    }
}

/// Takes back warnings that a stream is read by nothing, where the manifest reads it.
fn spare(root: &mut Checked, read: &[&str]) {
    let spans: Vec<_> = read.iter().filter_map(|name| root.find(name)).map(|(_, stream)| stream.span).collect();
    root.warnings.retain(|warning| warning.code != lang::codes::Code::UNUSED || !spans.contains(&warning.span));
}

/// The bounds of one tick; where a manifest says nothing, the defaults of the evaluator, which are those of the manifest.
fn limits(set: Option<&pipeline::Limits>) -> Limits {
    let default = Limits::default();
    let Some(set) = set else { return default };
    // The schema lets none through that does not fit.
    Limits {
        steps: set.steps.and_then(|steps| steps.try_into().ok()).unwrap_or(default.steps),
        depth: set.depth.and_then(|depth| depth.try_into().ok()).unwrap_or(default.depth),
        value_bytes: set.value_bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or(default.value_bytes),
        window_values: set.window_values.and_then(|values| values.try_into().ok()).unwrap_or(default.window_values),
        texts: default.texts,
    }
}

#[cfg(test)]
mod tests {
    use super::{ProgramError, limits, load, of_revision, of_root};
    use crate::api::pipeline::{self, StreamPipelineSpec};
    use crate::api::revision::Program;
    use crate::dataflow::Limits;
    use crate::error::{Code, Meaning};

    fn spec(root: &serde_json::Value, outputs: &serde_json::Value) -> StreamPipelineSpec {
        let whole = serde_json::json!({"source": {"kinesis": [{"streamName": "s"}]}, "root": root, "outputs": outputs});
        serde_json::from_value(whole).expect("a spec")
    }

    fn paths(error: ProgramError) -> Vec<String> {
        match error {
            ProgramError::Names { problems, .. } => problems.into_iter().map(|problem| problem.path).collect(),
            other => panic!("{other}"),
        }
    }

    const TEXT: &str = "in a: Int out b = a + 1";

    #[test]
    fn a_spec_becomes_a_checked_root_and_its_plan_under_its_limits() {
        let root = serde_json::json!({"inline": TEXT, "limits": {"steps": 5_000, "valueBytes": 2_048}});
        let loaded = load(&spec(&root, &serde_json::json!([{"name": "o", "streams": ["b"], "stdout": {}}])), TEXT).expect("valid");
        assert_eq!((loaded.root.streams.len(), loaded.plan.inputs()), (2, 1));
        assert_eq!(loaded.plan.limits(), Limits { steps: 5_000, value_bytes: 2_048, ..Limits::default() });
    }

    #[test]
    fn the_defaults_of_the_manifest_are_those_of_the_evaluator() {
        assert_eq!(limits(Some(&pipeline::Limits::defaults())), Limits::default());
    }

    #[test]
    fn a_revision_names_outputs_by_name_and_a_spec_by_place() {
        let outputs = serde_json::json!([{"name": "z", "streams": ["b"], "stdout": {}}, {"name": "m", "emitWhen": "no", "stdout": {}}]);
        let spec = spec(&serde_json::json!({"inline": TEXT, "inputs": {"q": "/w"}}), &outputs);
        let error = load(&spec, TEXT).expect_err("a name that is not there");
        assert_eq!(error.code(), Code::NAMES_DIFFER);
        assert_eq!(paths(error), ["spec.outputs[1].emitWhen", "spec.root.inputs.q"]);
        let program = Program::of(&spec, None).expect("a program");
        assert_eq!(paths(of_revision(&program).expect_err("the same")), ["outputs[m].emitWhen", "root.inputs.q"]);
    }

    #[test]
    fn a_stream_that_only_an_output_names_is_no_unused_one() {
        let text = "in a: Int aux hot = a > 1 aux shard = Str.of(a) aux dead = Str.of(a) aux none = a out b = a";
        let key = |stream: &str| serde_json::json!({"streamName": "s", "partitionKey": {"type": "Stream", "stream": stream}});
        let outputs = serde_json::json!([{"name": "o", "emitWhen": "hot", "kinesis": key("shard")}]);
        let mut spec = spec(&serde_json::json!({"inline": text}), &outputs);
        spec.failure = serde_json::from_value(serde_json::json!({"deadLetter": {"kinesis": key("dead")}})).expect("a place");
        let warned = |loaded: super::Loaded| loaded.root.warnings.iter().map(|one| one.span.of(text).to_owned()).collect::<Vec<_>>();
        assert_eq!(warned(load(&spec, text).expect("valid")), ["none"]);
        assert_eq!(warned(of_revision(&Program::of(&spec, None).expect("a program")).expect("valid")), ["none"]);
        assert_eq!(warned(of_root(text).expect("valid")), ["hot", "shard", "dead", "none"]);
    }

    #[test]
    fn a_binding_that_is_never_of_its_inputs_type_is_refused() {
        let outputs = serde_json::json!([{"name": "o", "stdout": {}}]);
        let with = |text: &str, at: &str| {
            let spec = spec(&serde_json::json!({"inline": text, "inputs": {"a": at}}), &outputs);
            (load(&spec, text).map(drop), of_revision(&Program::of(&spec, None).expect("a program")).map(drop))
        };
        let (first, second) = with("in a: Bool out b = a", "@arrivalTime");
        assert_eq!(first.expect_err("a Time is no Bool").code(), Code::BINDING_UNFIT);
        assert_eq!(second.expect_err("a Time is no Bool").code(), Code::BINDING_UNFIT);
        let (first, second) = with("in a: Time out b = a", "@arrivalTime");
        assert!(first.is_ok() && second.is_ok());
    }

    #[test]
    fn a_root_by_itself_says_what_is_wrong_with_it() {
        assert!(of_root(TEXT).is_ok());
        assert_eq!(of_root("out b = a").expect_err("no such stream").code(), Code::ROOT_INVALID);
    }
}
