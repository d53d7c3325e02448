//! What one program changes when it takes another's place, in two words: those of an acknowledgement.

use crate::api::revision::Program;
use crate::dataflow::plan::PlanStream;
use crate::dataflow::{Decision, Plan, Transfer};
use crate::lang::checked::StreamKind;
use std::collections::BTreeMap;

/// What changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// State is carried, reset or gone: not all streams go on as they were.
    pub state: bool,
    /// Something else comes in or goes out, or elsewhere.
    pub interface: bool,
}

impl Change {
    /// From one program to another.
    #[must_use]
    pub fn between(old: (&Program, &Plan), new: (&Program, &Plan)) -> Self {
        Self { state: state(old, new), interface: inside(old.0) != inside(new.0) || ports(old.1) != ports(new.1) }
    }
}

fn state(old: (&Program, &Plan), new: (&Program, &Plan)) -> bool {
    let transfer = Transfer::new(old.1, new.1);
    // A stream that is new has left nothing.
    let was_there = |name: &str| old.1.streams().iter().any(|stream| &*stream.name == name);
    let moves = transfer.streams.iter().any(|stream| stream.decision != Decision::Keep && was_there(&stream.stream));
    moves || !transfer.gone.is_empty() || old.0.key_by != new.0.key_by
}

/// The program without what is only computed inside.
fn inside(program: &Program) -> Program {
    let mut program = Program { key_by: None, state_ttl: None, ..program.clone() };
    program.root.text.clear();
    program.root.limits = None;
    program
}

/// The inputs and `out` streams of a root, each with its type.
#[must_use]
pub fn ports(plan: &Plan) -> BTreeMap<String, String> {
    let of = |stream: &PlanStream| match stream.kind {
        StreamKind::In => Some((format!("in {}", stream.name), stream.ty.to_string())),
        StreamKind::Out => Some((format!("out {}", stream.name), stream.ty.to_string())),
        StreamKind::Aux => None,
    };
    plan.streams().iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::Change;
    use crate::api::pipeline::StreamPipelineSpec;
    use crate::api::revision::Program;
    use crate::program::of_revision;
    use serde_json::{Value, json};

    fn program(root: &str, more: &Value) -> Program {
        let mut spec = json!({"source": {"kinesis": [{"streamName": "s"}]}, "root": {"inline": root},
            "outputs": [{"name": "o", "stdout": {}}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Program::of(&serde_json::from_value::<StreamPipelineSpec>(spec).unwrap(), None).unwrap()
    }

    fn change(old: &Program, new: &Program) -> (bool, bool) {
        let (before, after) = (of_revision(old).unwrap(), of_revision(new).unwrap());
        let Change { state, interface } = Change::between((old, &before.plan), (new, &after.plan));
        (state, interface)
    }

    #[test]
    fn state_and_interface_change_apart_from_each_other() {
        let old = program("in x: Int\nout n = n[1](0) + x", &json!({}));
        for (root, more, changes) in [
            ("in x: Int\nout n = n[1](0) + x", json!({}), (false, false)),
            ("in x: Int\n// a comment\nout n = n[1](0) + x", json!({}), (false, false)),
            ("in x: Int\nout n = n[1](0) + x", json!({"keyBy": {"type": "Field", "field": "/k"}}), (true, false)),
            ("in x: Int\nout n = n[1](0) + x\nout y = x", json!({}), (false, true)),
            ("in x: Int\nout n = n[1](0) + x", json!({"outputs": [{"name": "p", "stdout": {}}]}), (false, true)),
        ] {
            assert_eq!(change(&old, &program(root, &more)), changes, "{root} {more}");
        }
        let inside = program("in x: Int\naux n = n[1](0) + x\nout y = x", &json!({}));
        assert_eq!(change(&inside, &program("in x: Int\nout y = x", &json!({}))), (true, false));
    }
}
