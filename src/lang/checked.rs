//! A checked program: what the next room builds its plan from.
//!
//! Owns: streams with their types and order, and every equation as straight-line code over typed nodes.
//! May not: evaluate. Nothing here depends on a record, a clock or a thread; all of it is `Send + Sync`.
//!
//! # How to read it
//!
//! An equation is a [`Body`]: nodes in an order in which operands stand before their users. It is a graph, not a tree:
//! the argument of an expanded call is one node with many users, so each node is evaluated once a tick and has one state.
//!
//! - Names are resolved: [`Op::Stream`], or in function bodies [`Op::Parameter`] and [`Op::Capture`].
//! - Conversions are nodes: [`Op::Cast`] turns an `Int` into a `Float`, and checks what was `Any`.
//! - Calls of functions that are known at compile time are gone: they stand expanded, each with nodes (so state) of its
//!   own, the arguments and captured streams behind [`Op::Hold`]. What is left as [`Op::Call`] is decided when it runs.
//! - Bodies of run-time functions ([`Closure`]) hold no state and read no streams but through captures; they are
//!   evaluated from their root on demand, so that only the chosen branch of an `if` runs.

use super::builtins::{Aggregate, Function};
use super::diagnostic::Diagnostic;
pub use super::syntax::{BinaryOp, StreamKind, UnaryOp};
use super::syntax::{Literal, Span, Window};
use super::types::Type;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A stream's number: its place among the declarations. In a [`CheckedExpr`], its place in the scope that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// A node's number within its [`Body`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A body's number within its program or expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub u32);

/// A program without errors.
#[derive(Clone, Debug)]
pub struct Checked {
    /// All streams in the order of their declarations; [`StreamId`] counts them.
    pub streams: Vec<Stream>,
    /// All bodies; [`BodyId`] counts them.
    pub bodies: Vec<Body>,
    /// The streams that have a [`Equation::Body`], each after all that it reads undelayed. Ties keep the declared order.
    pub order: Vec<StreamId>,
    /// What is allowed but likely unmeant, by place.
    pub warnings: Vec<Diagnostic>,
}

/// A stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its name.
    pub name: Arc<str>,
    /// `in`, `out` or `aux`.
    pub kind: StreamKind,
    /// Declared or inferred. The value of its body has this type: casts are in the body.
    pub ty: Type,
    /// Whether the type was written.
    pub declared: bool,
    /// Where its name is declared.
    pub span: Span,
    /// What computes it.
    pub equation: Equation,
    /// The streams that its equation reads undelayed (`x[0]` included), directly, rising. The streams a `dynamic` may
    /// read are among them, and the functions that it calls.
    pub reads: Vec<StreamId>,
}

/// What computes a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equation {
    /// Nothing: it is an input.
    Input,
    /// This body, every tick.
    Body(BodyId),
    /// Nothing at run time: it is a function known at compile time (`aux f = \v -> …`, another name or a partial
    /// application of one). Whoever uses it has it expanded, so no [`Op::Stream`] names it. Its type is a function's.
    Template,
}

/// One expression of a `dynamic` or `defer`, checked against a scope. It has no delays on other streams' state: all of
/// its state is in its own nodes.
#[derive(Clone, Debug)]
pub struct CheckedExpr {
    /// All bodies.
    pub bodies: Vec<Body>,
    /// The body of the expression.
    pub root: BodyId,
    /// Its type: the expected one where one was expected.
    pub ty: Type,
    /// The streams that it reads anywhere, delayed or not, rising: places in the scope.
    pub reads: Vec<StreamId>,
}

/// Straight-line code: operands before their users.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The nodes; [`NodeId`] counts them. All of them belong to the result, or to state that advances with it.
    pub nodes: Vec<Node>,
    /// The node whose value is the result.
    pub root: NodeId,
    /// The types of the parameters; empty in equations.
    pub parameters: Vec<Type>,
    /// The types of the captures; empty in equations.
    pub captures: Vec<Type>,
}

/// An operation with its type and place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// The type of its value, where it has one. Never [`Type::Unknown`].
    pub ty: Type,
    /// Where it stands, for the errors of a tick. In an expanded call it is the place in the function's own text.
    pub span: Span,
}

/// A regular expression, compiled.
#[derive(Clone, Debug)]
pub struct Pattern(pub regex::Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// A function made at run time: code, and the values that it takes along from where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    /// Its code, without state.
    pub body: BodyId,
    /// Nodes of the enclosing body, operand places (ê) of the node that holds this closure: the i-th is what
    /// [`Op::Capture`]`(i)` means inside.
    pub captures: Vec<NodeId>,
}

/// What keeps the text of a `dynamic` or `defer` in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMode {
    /// A new text replaces the old one (`dynamic`, `eval`).
    Dynamic,
    /// The first text that compiles stays (`defer`).
    Defer,
}

/// An operation. Operand places are ê (language.md, Lifting) unless it says *raw* here.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A constant.
    Const(Literal),
    /// The stream's value in this tick: `NoVal` where it has none. Not in function bodies.
    Stream(StreamId),
    /// The i-th argument of the function body it stands in.
    Parameter(u32),
    /// The i-th captured value of the function body it stands in.
    Capture(u32),
    /// ê alone: the last value (or Deferred) of the operand that was not `NoVal`. Stands before arguments and captured
    /// streams of expanded calls.
    Hold(NodeId),
    /// The operand *raw*, as the node's type: `Int` to `Float` (nearest); `Any` (also inside) is checked when it runs, an
    /// `Int` being taken for a `Float`; a value of another kind is a failure. `NoVal` and Deferred pass.
    Cast(NodeId),
    /// `-` and `!`.
    Unary(UnaryOp, NodeId),
    /// Between two operands, which may be `Int` and `Float` (mixed arithmetic is the operator's, not a cast).
    Binary(BinaryOp, NodeId, NodeId),
    /// `if`: condition, then, else. In equations all operands are evaluated every tick.
    If(NodeId, NodeId, NodeId),
    /// `of[ticks]`. With `ticks` ≥ 1 the operand is what is *stored after the tick*: it may read streams that come later
    /// in [`Checked::order`], its own included, so evaluate operands that stand only under delays in a second stage.
    Delay {
        /// What is stored, raw.
        of: NodeId,
        /// How many ticks ago.
        ticks: u32,
    },
    /// `default(e, d)`.
    Default(NodeId, NodeId),
    /// `init(e, i)`, both raw.
    Init(NodeId, NodeId),
    /// `is_defined(e)`.
    IsDefined(NodeId),
    /// `is_present(e)`, raw.
    IsPresent(NodeId),
    /// `when(e)`, raw.
    When(NodeId),
    /// `update(a, b)`.
    Update(NodeId, NodeId),
    /// `latch(v, t)`: v is ê, t raw and of any type.
    Latch(NodeId, NodeId),
    /// `changed(e)`, raw.
    Changed(NodeId),
    /// A strict function of values, built in.
    Function(Function, Vec<NodeId>),
    /// `Str.matches(s, pattern)`.
    Matches(NodeId, Pattern),
    /// `[a, b]`.
    List(Vec<NodeId>),
    /// `(a, b)`.
    Tuple(Vec<NodeId>),
    /// `{f: v}`, in the order of the text.
    Struct(Vec<(Arc<str>, NodeId)>),
    /// `Map("k": v)`, in the order of the text.
    Map(Vec<(Arc<str>, NodeId)>),
    /// `e.f` of a struct (or of `Any`).
    Field(NodeId, Arc<str>),
    /// `e.0` of a tuple (or of `Any`).
    Item(NodeId, u32),
    /// `List.map(f, l)`; the function has one parameter.
    ListMap(Closure, NodeId),
    /// `List.filter(f, l)`; the function has one parameter and gives a `Bool`.
    ListFilter(Closure, NodeId),
    /// `List.fold(f, a, l)`; the function has two parameters, so far and element.
    ListFold(Closure, NodeId, NodeId),
    /// A function value; the body has one parameter. Values of this kind are only called, chosen by `if` and passed on.
    Closure(Closure),
    /// `fix(f)`: the body has one parameter, the function that this node gives, and its result is that function.
    /// Calling it evaluates the body and calls the result.
    Fix(Closure),
    /// A call decided at run time: function, argument. The argument is cast to the type of the called body's parameter.
    /// A [`Op::Cast`] follows where the result must be checked.
    Call(NodeId, NodeId),
    /// `dynamic` or `defer`; the node's type is that after the colon.
    Text {
        /// What keeps a text in force.
        mode: TextMode,
        /// The text.
        source: NodeId,
        /// The streams that a text may name, rising. It reads them raw.
        scope: Vec<StreamId>,
    },
    /// An aggregate over a window.
    Window {
        /// Which.
        aggregate: Aggregate,
        /// What it takes in, raw.
        of: NodeId,
        /// Over which window.
        window: Window,
        /// The streams that `of` reads undelayed, directly, rising; see [`Checked::inputs_behind`].
        reads: Vec<StreamId>,
    },
}

impl Op {
    /// The nodes of the same body that it takes as operands, in order; those that its closure captures last.
    #[must_use]
    pub fn operands(&self) -> Vec<NodeId> {
        let with = |first: &[NodeId], closure: &Closure| first.iter().chain(&closure.captures).copied().collect();
        match self {
            Self::Const(_) | Self::Stream(_) | Self::Parameter(_) | Self::Capture(_) => Vec::new(),
            Self::Hold(a)
            | Self::Cast(a)
            | Self::Unary(_, a)
            | Self::IsDefined(a)
            | Self::IsPresent(a)
            | Self::When(a)
            | Self::Changed(a)
            | Self::Matches(a, _)
            | Self::Field(a, _)
            | Self::Item(a, _)
            | Self::Delay { of: a, .. }
            | Self::Text { source: a, .. }
            | Self::Window { of: a, .. } => vec![*a],
            Self::Binary(_, a, b) | Self::Default(a, b) | Self::Init(a, b) | Self::Update(a, b) | Self::Latch(a, b) | Self::Call(a, b) => {
                vec![*a, *b]
            }
            Self::If(a, b, c) => vec![*a, *b, *c],
            Self::Function(_, all) | Self::List(all) | Self::Tuple(all) => all.clone(),
            Self::Struct(all) | Self::Map(all) => all.iter().map(|(_, node)| *node).collect(),
            Self::ListMap(f, l) | Self::ListFilter(f, l) => with(&[*l], f),
            Self::ListFold(f, a, l) => with(&[*a, *l], f),
            Self::Closure(f) | Self::Fix(f) => with(&[], f),
        }
    }

    /// The same, to be changed.
    pub(super) fn operands_mut(&mut self) -> Vec<&mut NodeId> {
        match self {
            Self::Const(_) | Self::Stream(_) | Self::Parameter(_) | Self::Capture(_) => Vec::new(),
            Self::Hold(a)
            | Self::Cast(a)
            | Self::Unary(_, a)
            | Self::IsDefined(a)
            | Self::IsPresent(a)
            | Self::When(a)
            | Self::Changed(a)
            | Self::Matches(a, _)
            | Self::Field(a, _)
            | Self::Item(a, _)
            | Self::Delay { of: a, .. }
            | Self::Text { source: a, .. }
            | Self::Window { of: a, .. } => vec![a],
            Self::Binary(_, a, b) | Self::Default(a, b) | Self::Init(a, b) | Self::Update(a, b) | Self::Latch(a, b) | Self::Call(a, b) => {
                vec![a, b]
            }
            Self::If(a, b, c) => vec![a, b, c],
            Self::Function(_, all) | Self::List(all) | Self::Tuple(all) => all.iter_mut().collect(),
            Self::Struct(all) | Self::Map(all) => all.iter_mut().map(|(_, node)| node).collect(),
            Self::ListMap(f, l) | Self::ListFilter(f, l) => std::iter::once(l).chain(&mut f.captures).collect(),
            Self::ListFold(f, a, l) => [a, l].into_iter().chain(&mut f.captures).collect(),
            Self::Closure(f) | Self::Fix(f) => f.captures.iter_mut().collect(),
        }
    }

    /// The closure it holds.
    #[must_use]
    pub const fn closure(&self) -> Option<&Closure> {
        match self {
            Self::ListMap(f, _) | Self::ListFilter(f, _) | Self::ListFold(f, ..) | Self::Closure(f) | Self::Fix(f) => Some(f),
            _ => None,
        }
    }
}

impl Body {
    /// The node with this number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }
}

impl Checked {
    /// The stream with this number.
    #[must_use]
    pub fn stream(&self, id: StreamId) -> Option<&Stream> {
        self.streams.get(id.0 as usize)
    }

    /// The stream with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(StreamId, &Stream)> {
        (0..).map(StreamId).zip(&self.streams).find(|(_, stream)| *stream.name == *name)
    }

    /// The body with this number.
    #[must_use]
    pub fn body(&self, id: BodyId) -> Option<&Body> {
        self.bodies.get(id.0 as usize)
    }

    /// The inputs that these streams read undelayed, through other streams too, rising: where an aggregate's operand
    /// reads any, a tick adds its value only if one of them came.
    #[must_use]
    pub fn inputs_behind(&self, streams: &[StreamId]) -> Vec<StreamId> {
        let mut seen = BTreeSet::new();
        let mut open = streams.to_vec();
        while let Some(id) = open.pop() {
            if seen.insert(id)
                && let Some(stream) = self.stream(id)
            {
                open.extend(&stream.reads);
            }
        }
        seen.into_iter().filter(|id| self.stream(*id).is_some_and(|stream| stream.kind == StreamKind::In)).collect()
    }
}
