//! What a computation is, whatever its number: prints of nodes, from which the stable names of state are made.
//!
//! Owns: the print of a node (its operation, the names of the streams it reads, its operands' prints) and of a body.
//! May not: depend on node numbers, on the order of declarations or on places in the text.
//!
//! A piece of state is known by what it holds, not by where it stands: `hold of x + y` in stream `z` is the same piece
//! after the root was laid out anew, its streams reordered, or another term added beside it. A snapshot written under
//! one plan is read under another by these names, so **a change of what is fed into a print here is a change of format**.

use super::build::Scope;
use crate::lang::checked::{Body, BodyId, Closure, Node, NodeId, Op, TextMode};
use crate::lang::syntax::{Literal, UnaryOp, Window};
use crate::lang::types::Type;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The print of a computation. Equal prints mean the same value in every tick from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Print(pub(crate) [u8; 16]);

/// Feeds a print: every part is delimited, so that no two feeds run together.
pub(crate) struct Printer(Sha256);

impl Printer {
    /// Starts a print of this kind.
    pub(crate) fn new(kind: &str) -> Self {
        Self(Sha256::new()).text(kind)
    }

    /// Adds a text.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
        self
    }

    /// Adds a number.
    pub(crate) fn number(mut self, number: u64) -> Self {
        self.0.update(number.to_le_bytes());
        self
    }

    /// Adds another print.
    pub(crate) fn print(mut self, print: Print) -> Self {
        self.0.update(print.0);
        self
    }

    /// Adds a type.
    pub(crate) fn ty(self, ty: &Type) -> Self {
        self.text(&ty.to_string())
    }

    /// The print.
    pub(crate) fn finish(self) -> Print {
        let mut print = [0; 16];
        for (to, from) in print.iter_mut().zip(self.0.finalize()) {
            *to = from;
        }
        Print(print)
    }
}

impl Print {
    /// Its first eight bytes: the name of a piece of state in snapshots.
    pub(crate) fn short(self) -> u64 {
        self.0.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Four other bytes: the name of a scope of functions.
    pub(crate) fn number(self) -> u32 {
        self.0.iter().skip(8).take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
    }
}

/// Prints the nodes of bodies; those of functions once each.
pub(crate) struct Printing<'a> {
    bodies: &'a [Body],
    scope: &'a Scope,
    functions: HashMap<BodyId, Print>,
}

impl<'a> Printing<'a> {
    /// Over these bodies, whose streams are these.
    pub(crate) fn new(bodies: &'a [Body], scope: &'a Scope) -> Self {
        Self { bodies, scope, functions: HashMap::new() }
    }

    /// The prints of all nodes of a body.
    pub(crate) fn body(&mut self, body: &Body) -> Vec<Print> {
        let mut prints = Vec::with_capacity(body.nodes.len());
        for node in &body.nodes {
            let print = self.node(node, &prints);
            prints.push(print);
        }
        prints
    }

    /// The print of a function. Closures nest as deep as the text does, which the parser bounds.
    fn function(&mut self, id: BodyId) -> Print {
        if let Some(print) = self.functions.get(&id) {
            return *print;
        }
        let bodies = self.bodies;
        let Some(body) = bodies.get(id.0 as usize) else { return Print::default() };
        let prints = self.body(body);
        let root = prints.get(body.root.0 as usize).copied().unwrap_or_default();
        let mut printer = Printer::new("function").print(root);
        for parameter in &body.parameters {
            printer = printer.ty(parameter);
        }
        let print = printer.finish();
        self.functions.insert(id, print);
        print
    }

    fn node(&mut self, node: &Node, before: &[Print]) -> Print {
        let printer = self.kind(node);
        let printer = match node.op.closure() {
            Some(Closure { body, .. }) => {
                let print = self.function(*body);
                printer.print(print)
            }
            None => printer,
        };
        let of = |id: &NodeId| before.get(id.0 as usize).copied().unwrap_or_default();
        node.op.operands().iter().fold(printer, |printer, operand| printer.print(of(operand))).finish()
    }

    /// All of a node but its operands.
    fn kind(&self, node: &Node) -> Printer {
        match &node.op {
            Op::Const(literal) => constant(literal),
            Op::Stream(id) => Printer::new("read").print(self.scope.stream(*id).map(|stream| stream.print).unwrap_or_default()),
            Op::Parameter(at) => Printer::new("parameter").number(u64::from(*at)),
            Op::Capture(at) => Printer::new("capture").number(u64::from(*at)),
            Op::Hold(_) => Printer::new("hold"),
            Op::Cast(_) => Printer::new("cast").ty(&node.ty),
            Op::Unary(op, _) => Printer::new("unary").text(match op {
                UnaryOp::Negate => "-",
                UnaryOp::Not => "!",
            }),
            Op::Binary(op, ..) => Printer::new("binary").text(op.symbol()),
            Op::If(..) => Printer::new("if"),
            Op::Delay { ticks, .. } => Printer::new("delay").number(u64::from(*ticks)),
            Op::Default(..) => Printer::new("default"),
            Op::Init(..) => Printer::new("init"),
            Op::IsDefined(_) => Printer::new("is_defined"),
            Op::IsPresent(_) => Printer::new("is_present"),
            Op::When(_) => Printer::new("when"),
            Op::Update(..) => Printer::new("update"),
            Op::Latch(..) => Printer::new("latch"),
            Op::Changed(_) => Printer::new("changed"),
            Op::Function(function, operands) => Printer::new("built-in").text(function.name()).number(operands.len() as u64),
            Op::Matches(_, pattern) => Printer::new("matches").text(pattern.0.as_str()),
            Op::List(items) => Printer::new("list").number(items.len() as u64),
            Op::Tuple(items) => Printer::new("tuple").number(items.len() as u64),
            Op::Struct(fields) => fields.iter().fold(Printer::new("struct"), |printer, (name, _)| printer.text(name)),
            Op::Map(entries) => entries.iter().fold(Printer::new("map"), |printer, (name, _)| printer.text(name)),
            Op::Field(_, name) => Printer::new("field").text(name),
            Op::Item(_, at) => Printer::new("item").number(u64::from(*at)),
            Op::ListMap(..) => Printer::new("List.map"),
            Op::ListFilter(..) => Printer::new("List.filter"),
            Op::ListFold(..) => Printer::new("List.fold"),
            Op::Closure(_) => Printer::new("closure"),
            Op::Fix(_) => Printer::new("fix"),
            Op::Call(..) => Printer::new("call"),
            Op::Text { mode, .. } => Printer::new(match mode {
                TextMode::Dynamic => "dynamic",
                TextMode::Defer => "defer",
            })
            .ty(&node.ty),
            Op::Window { aggregate, window, .. } => span(Printer::new("window").text(aggregate.name()), *window),
        }
    }
}

fn span(printer: Printer, window: Window) -> Printer {
    match window {
        Window::Time { micros } => printer.text("time").number(micros.unsigned_abs()),
        Window::Last { count } => printer.text("last").number(count),
        Window::Panes { pane_micros, panes } => printer.text("panes").number(pane_micros.unsigned_abs()).number(panes),
    }
}

fn constant(literal: &Literal) -> Printer {
    let printer = Printer::new("constant");
    match literal {
        Literal::Unit => printer.text("()"),
        Literal::Bool(value) => printer.text("Bool").number(u64::from(*value)),
        Literal::Int(value) => printer.text("Int").number(value.cast_unsigned()),
        Literal::Float(value) => printer.text("Float").number(value.to_bits()),
        Literal::Str(value) => printer.text("Str").text(value),
        Literal::Duration(value) => printer.text("Duration").number(value.cast_unsigned()),
    }
}
