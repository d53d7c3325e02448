//! Which values can go missing again.
//!
//! Owns: for every node, whether it may be `NoVal` after it once was not. Where it may not, ê is the operand itself, and
//! no cell is kept.
//! May not: know cells or registers.
//!
//! Failures make the difference between the two middle kinds. No ê keeps one, so a cast that failed and whose operand then
//! does not come is `NoVal`; an `if` that dropped the failure, and had a value, is `NoVal` with it.

use crate::lang::builtins::Function;
use crate::lang::checked::{BinaryOp, Body, Node, NodeId, Op, StreamId};

/// When a node is `NoVal`. A later kind is a stronger promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Presence {
    /// In any tick.
    Sparse,
    /// Not after it was a value or Deferred: its ê is itself.
    Stays,
    /// Not after it was anything else, a failure included.
    Solid,
    /// In no tick.
    Always,
}

/// The presence of a node, from that of its operands and of the streams.
pub(crate) fn presence(body: &Body, node: &Node, of: impl Fn(NodeId) -> Presence, stream: impl Fn(StreamId) -> Presence) -> Presence {
    let held = |id: &NodeId| match of(*id) {
        Presence::Sparse if sound(body, *id) => Presence::Solid,
        Presence::Sparse => Presence::Stays,
        other => other,
    };
    let strict = |operands: &[NodeId]| {
        let least = operands.iter().map(held).min().unwrap_or(Presence::Always);
        match least {
            // A failure of one operand may have hidden that another was not there.
            Presence::Solid => {
                let mut open = operands.iter().filter(|id| held(id) != Presence::Always);
                if open.clone().count() > 1 && !open.all(|id| sound(body, *id)) { Presence::Stays } else { Presence::Solid }
            }
            other => other,
        }
    };
    let always = |all: bool| if all { Presence::Always } else { Presence::Sparse };
    match &node.op {
        // No failure becomes a stream's value.
        Op::Stream(id) => match stream(*id) {
            Presence::Stays => Presence::Solid,
            other => other,
        },
        Op::Cast(a) => of(*a),
        Op::Hold(a) | Op::Delay { of: a, ticks: 0 } => held(a),
        // The second side takes over when it has a value, and keeps it.
        Op::Update(a, _) => match held(a) {
            Presence::Solid => Presence::Stays,
            other => other,
        },
        Op::If(c, a, b) => match (held(c), held(a).min(held(b))) {
            (Presence::Always, Presence::Always) => Presence::Always,
            (_, Presence::Solid | Presence::Always) => Presence::Stays,
            _ => Presence::Sparse,
        },
        op if is_always(op) => Presence::Always,
        // One side may decide in one tick, and the other be asked for in the next.
        Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Implies, a, b) => always(held(a).min(held(b)) == Presence::Always),
        Op::Default(_, d) => always(of(*d) == Presence::Always),
        Op::Function(Function::ListGet | Function::MapGet, all) if all.len() == 3 => match all.as_slice() {
            [a, b, d] if of(*d) == Presence::Always => strict(&[*a, *b]),
            _ => Presence::Sparse,
        },
        Op::Init(..) | Op::Latch(..) | Op::Text { .. } => Presence::Sparse,
        op => strict(&op.operands()),
    }
}

/// Whether it never fails.
fn sound(body: &Body, id: NodeId) -> bool {
    matches!(body.node(id).map(|node| &node.op), Some(Op::Stream(_) | Op::Const(_) | Op::Delay { ticks: 1.., .. }))
}

const fn is_always(op: &Op) -> bool {
    use Op::{Capture, Changed, Const, Delay, IsDefined, IsPresent, Parameter, When, Window};
    matches!(op, Const(_) | Parameter(_) | Capture(_) | Delay { .. } | Window { .. })
        || matches!(op, IsDefined(_) | IsPresent(_) | When(_) | Changed(_))
}
