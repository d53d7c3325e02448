//! Bodies while they are built.
//!
//! Owns: nodes of nested bodies, captures from one into the next, the removal of what no result needs.

use crate::lang::checked::{Body, BodyId, Closure, Node, NodeId, Op, StreamId};
use crate::lang::syntax::Span;
use crate::lang::types::Type;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The highest graph of nodes.
const MAX_HEIGHT: u32 = 4_096;
/// The most nodes of a program.
const MAX_NODES: usize = 1 << 18;

/// A node of the innermost body, and its type, which may still hold [`Type::Unknown`].
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) node: NodeId,
    pub(super) ty: Type,
    pub(super) span: Span,
}

#[derive(Default)]
struct Open {
    body: Body,
    heights: Vec<u32>,
    /// Captured nodes of the enclosing body, by the number of their capture.
    captured: Vec<NodeId>,
    /// The capture's own node, by the captured node.
    captures: HashMap<NodeId, NodeId>,
    /// Reads of streams, by stream and whether they hold.
    reads: HashMap<(StreamId, bool), NodeId>,
    /// The first operator with state, in the body of a function.
    state: Option<Span>,
}

/// All bodies of a program, finished and open.
#[derive(Default)]
pub(super) struct Bodies {
    pub(super) finished: Vec<Body>,
    open: Vec<Open>,
    nodes: usize,
}

/// Why a node cannot be added.
pub(super) struct TooMuch;

impl Bodies {
    /// How many bodies are open; the innermost has this level.
    pub(super) fn level(&self) -> usize {
        self.open.len()
    }

    /// Whether nodes are added to the body of a function that is called when it runs.
    pub(super) fn in_function(&self) -> bool {
        self.open.len() > 1
    }

    /// Opens a body inside the innermost one; answers its parameters.
    pub(super) fn enter(&mut self, parameters: &[Type], span: Span) -> Vec<Value> {
        self.open.push(Open::default());
        let add = |(at, ty): (u32, &Type)| {
            let node = self.add(Op::Parameter(at), ty, span).unwrap_or_default();
            if let Some(open) = self.open.last_mut() {
                open.body.parameters.push(ty.settled());
            }
            Value { node, ty: ty.clone(), span }
        };
        (0..).zip(parameters).map(add).collect()
    }

    /// Closes the innermost body: it becomes a closure of the enclosing one. Second: the first state in it.
    pub(super) fn leave(&mut self, root: NodeId) -> (Closure, Option<Span>) {
        let Some(mut open) = self.open.pop() else { return (Closure { body: BodyId(0), captures: Vec::new() }, None) };
        open.body.root = root;
        let body = compact(open.body);
        // What was removed may have been the only user of a capture: the numbers stay, the values are cheap.
        let id = BodyId(u32::try_from(self.finished.len()).unwrap_or(u32::MAX));
        self.finished.push(body);
        (Closure { body: id, captures: open.captured }, open.state)
    }

    /// Drops open bodies and everything finished since.
    pub(super) fn rewind(&mut self, level: usize, finished: usize) {
        self.open.truncate(level);
        self.finished.truncate(finished);
    }

    /// Starts to count nodes anew.
    pub(super) fn recount(&mut self) {
        self.nodes = 0;
    }

    /// Adds a node to the innermost body.
    pub(super) fn add(&mut self, op: Op, ty: &Type, span: Span) -> Result<NodeId, TooMuch> {
        let function = self.in_function();
        let Some(open) = self.open.last_mut() else { return Err(TooMuch) };
        let height = op.operands().iter().filter_map(|id| open.heights.get(id.0 as usize)).max().copied().unwrap_or_default() + 1;
        self.nodes += 1;
        if height > MAX_HEIGHT || self.nodes > MAX_NODES {
            return Err(TooMuch);
        }
        if function && has_state(&op) && open.state.is_none() {
            open.state = Some(span);
        }
        let id = NodeId(u32::try_from(open.body.nodes.len()).unwrap_or(u32::MAX));
        open.body.nodes.push(Node { op, ty: ty.settled(), span });
        open.heights.push(height);
        Ok(id)
    }

    /// The innermost body holds state of a function inside it.
    pub(super) fn has_state(&mut self, state: Option<Span>) {
        if self.in_function()
            && let Some(open) = self.open.last_mut()
        {
            open.state = open.state.or(state);
        }
    }

    /// The op of a node of the innermost body.
    pub(super) fn op(&self, id: NodeId) -> Option<&Op> {
        self.open.last().and_then(|open| open.body.node(id)).map(|node| &node.op)
    }

    /// A value of the body at `level`, in the innermost one: through captures where that is another.
    pub(super) fn reach(&mut self, level: usize, value: &Value) -> Result<Value, TooMuch> {
        let mut node = value.node;
        for open in self.open.iter_mut().skip(level) {
            let known = open.captures.get(&node).copied();
            node = if let Some(known) = known {
                known
            } else {
                let at = u32::try_from(open.captured.len()).unwrap_or(u32::MAX);
                let id = NodeId(u32::try_from(open.body.nodes.len()).unwrap_or(u32::MAX));
                let ty = value.ty.settled();
                open.body.captures.push(ty.clone());
                open.body.nodes.push(Node { op: Op::Capture(at), ty, span: value.span });
                open.heights.push(1);
                open.captured.push(node);
                open.captures.insert(node, id);
                self.nodes += 1;
                id
            };
        }
        if self.nodes > MAX_NODES { Err(TooMuch) } else { Ok(Value { node, ty: value.ty.clone(), span: value.span }) }
    }

    /// A stream's value in the innermost body; with `hold`, behind [`Op::Hold`].
    pub(super) fn stream(&mut self, id: StreamId, hold: bool, (ty, span): (&Type, Span)) -> Result<Value, TooMuch> {
        let Some(first) = self.open.first() else { return Err(TooMuch) };
        let raw = first.reads.get(&(id, false)).copied();
        let holding = first.reads.get(&(id, true)).copied();
        let raw = match raw {
            Some(node) => node,
            None => self.add_first(Op::Stream(id), (ty, span), (id, false))?,
        };
        let node = match holding {
            _ if !hold => raw,
            Some(node) => node,
            None => self.add_first(Op::Hold(raw), (ty, span), (id, true))?,
        };
        self.reach(1, &Value { node, ty: ty.clone(), span })
    }

    /// Adds a read of a stream to the outermost body.
    fn add_first(&mut self, op: Op, (ty, span): (&Type, Span), read: (StreamId, bool)) -> Result<NodeId, TooMuch> {
        let inner = self.open.split_off(1);
        let node = self.add(op, ty, span);
        if let (Some(first), Ok(node)) = (self.open.first_mut(), &node) {
            first.reads.insert(read, *node);
        }
        self.open.extend(inner);
        node
    }

    /// The streams that a node of the outermost body reads undelayed.
    pub(super) fn undelayed(&self, of: NodeId) -> Vec<StreamId> {
        let Some(open) = self.open.last() else { return Vec::new() };
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut next = vec![of];
        while let Some(id) = next.pop() {
            let Some(node) = open.body.node(id).filter(|_| seen.insert(id)) else { continue };
            match &node.op {
                Op::Stream(stream) => {
                    found.insert(*stream);
                }
                Op::Delay { ticks, .. } if *ticks > 0 => continue,
                Op::Text { scope, .. } => found.extend(scope),
                _ => {}
            }
            next.extend(node.op.operands());
        }
        found.into_iter().collect()
    }
}

/// Whether an operator keeps more than its operands.
const fn has_state(op: &Op) -> bool {
    let over_ticks = matches!(op, Op::Delay { .. } | Op::Window { .. } | Op::Text { .. } | Op::Init(..));
    over_ticks || matches!(op, Op::When(_) | Op::Update(..) | Op::Latch(..) | Op::Changed(_))
}

/// Removes nodes that the root does not need.
fn compact(body: Body) -> Body {
    let mut needed = BTreeSet::from([body.root]);
    for (id, node) in (0..).map(NodeId).zip(&body.nodes).collect::<Vec<_>>().into_iter().rev() {
        if needed.contains(&id) {
            needed.extend(node.op.operands());
        }
    }
    let numbers: BTreeMap<NodeId, NodeId> = needed.into_iter().zip((0..).map(NodeId)).collect();
    let Body { nodes, root, parameters, captures } = body;
    let number = |id: NodeId| numbers.get(&id).copied().unwrap_or_default();
    let kept = (0..).map(NodeId).zip(nodes).filter(|(id, _)| numbers.contains_key(id));
    let renumbered = kept.map(|(_, mut node)| {
        for id in node.op.operands_mut() {
            *id = number(*id);
        }
        node
    });
    Body { nodes: renumbered.collect(), root: number(root), parameters, captures }
}
