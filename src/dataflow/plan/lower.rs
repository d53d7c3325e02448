//! What each operation of a checked body becomes, and the state that it asks for.
//!
//! Owns: operands (raw and ê), cells, flags, rings, windows and texts with their names.
//! May not: decide the order of steps (`build`).

use super::block::{At, Commit, Entry, SHORT_RING};
use super::build::{Builder, Emitting, Marks, Owner, get, index};
use super::code::{Code, Each, EachKind, Flag, MadeOf, Operand, TextSpec, TextUse, WindowUse};
use super::identity::Printer;
use super::presence::Presence;
use crate::dataflow::slot::Slot;
use crate::dataflow::value::Shape;
use crate::dataflow::window::WindowSpec;
use crate::lang::builtins::Function;
use crate::lang::checked::{BinaryOp, Body, Closure, Node, NodeId, Op};
use crate::lang::types::Type;
use std::sync::Arc;

impl Builder<'_> {
    /// Whether a node has a step; else it is another's register or a cell.
    pub(super) fn computes(&self, equation: usize, body: &Body, marks: &Marks, at: NodeId) -> bool {
        match body.node(at).map(|node| &node.op) {
            None | Some(Op::Const(_) | Op::Stream(_) | Op::Hold(_) | Op::Delay { ticks: 0, .. }) => false,
            Some(Op::Delay { of, .. }) => {
                let owner = Self::owner(equation, body, marks, *of);
                get(&marks.committed, at) == Some(true) || self.longest.get(&owner).is_some_and(|longest| *longest > SHORT_RING)
            }
            Some(_) => true,
        }
    }

    /// The rings' writes, in the order of the plan.
    pub(super) fn store(&mut self) {
        let mut stores = std::mem::take(&mut self.stores);
        stores.sort_by_key(|stored| (stored.equation, stored.span));
        for stored in stores {
            // What a stream gives has not failed; under `Any` it may be a function, which enters no delay either.
            let (of, may_fail) = match stored.owner {
                Owner::Stream(id) => {
                    let stream = self.source.scope.stream(id);
                    (stream.map(|stream| Operand::register(stream.register)), stream.is_some_and(|stream| stream.ty.is_loose()))
                }
                Owner::Equation(equation, _) => {
                    let node = self.stored.get(&stored.owner).copied();
                    (node.and_then(|node| get(&self.marks.get(equation)?.at, node)), true)
                }
            };
            if may_fail && let (Some(operand), Some(own)) = (of, self.source.equations.get(stored.equation).cloned()) {
                let place = self.place(&own.name, stored.span);
                self.entries.push(Entry { operand, place });
            }
            let of = of.unwrap_or(Operand::NOTHING);
            match stored.at {
                At::Short { cell, length } => self.commits.push(Commit::Short { cell, length, of }),
                At::Long { ring, .. } => self.commits.push(Commit::Long { ring, of }),
                _ => {}
            }
        }
    }
}

impl Emitting<'_, '_> {
    /// Where the value of a node without a step is.
    pub(super) fn alias(&mut self, node: &Node, at: NodeId) -> Operand {
        match &node.op {
            Op::Stream(id) => self.builder.source.scope.stream(*id).map_or(Operand::NOTHING, |stream| Operand::register(stream.register)),
            Op::Hold(of) | Op::Delay { of, ticks: 0 } => self.hat(*of),
            Op::Delay { of, ticks } => self.back(node, *of, *ticks).unwrap_or(Operand::NOTHING),
            _ => get(&self.marks.at, at).unwrap_or(Operand::NOTHING),
        }
    }

    fn raw(&self, id: NodeId) -> Operand {
        get(&self.marks.at, self.marks.one(id)).unwrap_or(Operand::NOTHING)
    }

    /// ê of a node: with a cell where it needs one.
    fn hat(&mut self, id: NodeId) -> Operand {
        let id = self.marks.one(id);
        let operand = self.raw(id);
        if get(&self.marks.presence, id) != Some(Presence::Sparse) {
            return operand;
        }
        let owner = Builder::owner(self.equation, self.body, self.marks, id);
        let known = self.builder.hold_at.get(&owner).copied();
        let (piece, cell) = known.unwrap_or_else(|| {
            let cell = self.builder.cell(Slot::NoVal);
            let print = self.print("hold", "last", owner);
            let label = format!("the last value {}", self.label(id));
            let piece = self.builder.piece(print, At::Cell(cell), label);
            if let Some(piece) = self.builder.pieces.last_mut() {
                piece.held = true;
            }
            self.builder.commits.push(Commit::Hold { cell, register: operand.register });
            self.builder.hold_at.insert(owner, (piece, cell));
            (piece, cell)
        });
        self.builder.used(piece, 0);
        Operand { cell, ..operand }
    }

    fn hats(&mut self, ids: &[NodeId]) -> Box<[Operand]> {
        ids.iter().map(|id| self.hat(*id)).collect()
    }

    /// The name of a piece: of its stream where it belongs to one, else of the equation's own.
    fn print(&self, own: &str, streams: &str, owner: Owner) -> super::identity::Print {
        match owner {
            Owner::Stream(id) => {
                let print = self.builder.source.scope.stream(id).map(|stream| stream.print).unwrap_or_default();
                Printer::new(streams).print(print).finish()
            }
            Owner::Equation(_, print) => self.own(own).print(print).finish(),
        }
    }

    fn own(&self, kind: &str) -> Printer {
        match self.builder.source.equations.get(self.equation) {
            Some(own) if own.stream.is_some() => Printer::new(kind).text(&own.name).ty(&own.ty),
            Some(own) => Printer::new(kind).text("").ty(&own.ty),
            None => Printer::new(kind),
        }
    }

    fn label(&self, id: NodeId) -> String {
        let stream = match self.body.node(id).map(|node| &node.op) {
            Some(Op::Stream(id)) => self.builder.source.scope.stream(*id),
            _ => None,
        };
        stream.map_or_else(|| "of an expression".to_owned(), |stream| format!("of `{}`", stream.name))
    }

    /// A delay: where it stands, if that is a cell.
    fn back(&mut self, node: &Node, of: NodeId, ticks: u32) -> Option<Operand> {
        match self.ring(node, of, ticks) {
            At::Short { cell, .. } => Some(Operand::cell(cell + ticks - 1)),
            _ => None,
        }
    }

    fn ring(&mut self, node: &Node, of: NodeId, ticks: u32) -> At {
        let owner = Builder::owner(self.equation, self.body, self.marks, of);
        let known = self.builder.ring_at.get(&owner).copied();
        let (piece, at) = known.unwrap_or_else(|| {
            let length = self.builder.longest.get(&owner).copied().unwrap_or(ticks);
            let at = if length > SHORT_RING {
                self.builder.rings.push(length);
                At::Long { ring: index(self.builder.rings.len() - 1), length }
            } else {
                let cell = self.builder.cell(Slot::Deferred);
                for _ in 1..length {
                    self.builder.cell(Slot::Deferred);
                }
                At::Short { cell, length }
            };
            let print = self.print("delay", "history", owner);
            let label = format!("the delay {}", self.label(of));
            let piece = self.builder.piece(print, at, label);
            self.builder.stores.push(super::build::Stored { owner, at, equation: self.equation, span: node.span });
            self.builder.ring_at.insert(owner, (piece, at));
            (piece, at)
        });
        self.builder.used(piece, ticks);
        at
    }

    fn flag(&mut self, node: NodeId) -> Flag {
        let flag = self.builder.flag_bit();
        let print = self.own("flag").print(get(&self.marks.prints, node).unwrap_or_default()).finish();
        let piece = self.builder.piece(print, At::Flag(flag), "whether a value has come".to_owned());
        self.builder.used(piece, 0);
        flag
    }

    /// The operation, and the commits it needs.
    pub(super) fn code(&mut self, node: &Node, at: NodeId) -> Code {
        match &node.op {
            Op::Delay { of, ticks } => match self.ring(node, *of, *ticks) {
                At::Long { ring, .. } => Code::Back { ring, ticks: *ticks },
                At::Short { cell, .. } => Code::Copy(Operand::cell(cell + ticks - 1)),
                _ => Code::Copy(Operand::NOTHING),
            },
            Op::Init(of, initial) => {
                let flag = self.flag(at);
                let of = self.raw(*of);
                self.builder.commits.push(Commit::OnAny { flag, of });
                Code::Init { of, initial: self.raw(*initial), flag }
            }
            Op::When(of) => {
                let flag = self.flag(at);
                let of = self.raw(*of);
                self.builder.commits.push(Commit::OnValue { flag, of });
                Code::When(of, flag)
            }
            Op::Update(before, after) => {
                let flag = self.flag(at);
                let (before, after) = (self.hat(*before), self.hat(*after));
                self.builder.commits.push(Commit::OnValue { flag, of: after });
                Code::Update { before, after, flag }
            }
            Op::Latch(value, trigger) => Code::Latch(self.hat(*value), self.raw(*trigger)),
            Op::Changed(of) => {
                let cell = self.builder.cell(Slot::NoVal);
                let print = self.own("changed").print(get(&self.marks.prints, at).unwrap_or_default()).finish();
                let label = format!("the last value {}", self.label(*of));
                let piece = self.builder.piece(print, At::Cell(cell), label);
                self.builder.used(piece, 0);
                let of = self.raw(*of);
                self.builder.commits.push(Commit::Latest { cell, of });
                Code::Changed(of, Operand::cell(cell))
            }
            Op::Window { .. } => self.window(node),
            Op::Text { .. } => self.text(node, at),
            Op::ListMap(..) | Op::ListFilter(..) | Op::ListFold(..) | Op::Closure(_) | Op::Fix(_) => self.callback(node),
            _ => plain(node, &mut |id, raw| if raw { self.raw(id) } else { self.hat(id) }),
        }
    }

    fn window(&mut self, node: &Node) -> Code {
        let Op::Window { aggregate, of, window, reads } = &node.op else { return Code::Copy(Operand::NOTHING) };
        let float = node.ty == Type::Float;
        let cap = self.builder.source.window_values;
        self.builder.windows.push(WindowSpec { aggregate: *aggregate, window: *window, float, cap });
        let number = index(self.builder.windows.len() - 1);
        let operand = get(&self.marks.prints, *of).unwrap_or_default();
        let print = self.own("window").text(aggregate.name()).print(operand).finish();
        let label = format!("the window `{}` {}", aggregate.name(), self.label(*of));
        let piece = self.builder.piece(print, At::Window(number), label);
        self.builder.used(piece, 0);
        let gate = (self.builder.source.gate)(reads);
        Code::Window(Box::new(WindowUse { window: number, of: self.raw(*of), gate }))
    }

    fn text(&mut self, node: &Node, at: NodeId) -> Code {
        let Op::Text { mode, source, scope } = &node.op else { return Code::Copy(Operand::NOTHING) };
        let streams: Vec<_> = scope.iter().filter_map(|id| Some((*id, self.builder.source.scope.stream(*id)?.clone()))).collect();
        let gate = self.builder.source.gate;
        let spec = TextSpec {
            mode: *mode,
            ty: node.ty.clone(),
            stream: self.builder.source.equations.get(self.equation).map(|own| Arc::clone(&own.name)).unwrap_or_default(),
            scope: streams.iter().map(|(_, stream)| (Arc::clone(&stream.name), stream.ty.clone())).collect(),
            reads: streams.iter().map(|(id, stream)| (stream.register, gate(&[*id]))).collect(),
        };
        self.builder.texts.push(spec);
        let number = index(self.builder.texts.len() - 1);
        let print = self.own("text").print(get(&self.marks.prints, at).unwrap_or_default()).finish();
        let piece = self.builder.piece(print, At::Text(number), "the text in force".to_owned());
        self.builder.used(piece, 0);
        Code::Text(Box::new(TextUse { text: number, source: self.hat(*source) }))
    }

    fn callback(&mut self, node: &Node) -> Code {
        let function = |this: &mut Self, of: &Closure| {
            let name = this.builder.source.equations.get(this.equation).map(|own| Arc::clone(&own.name)).unwrap_or_default();
            (this.builder.function(of.body, &name), this.hats(&of.captures))
        };
        let (kind, closure, from, list) = match &node.op {
            Op::ListMap(f, l) => (EachKind::Map, f, None, l),
            Op::ListFilter(f, l) => (EachKind::Filter, f, None, l),
            Op::ListFold(f, a, l) => (EachKind::Fold, f, Some(a), l),
            Op::Closure(of) | Op::Fix(of) => {
                let (function, captures) = function(self, of);
                return Code::Closure(Box::new(MadeOf { function, captures, fix: matches!(node.op, Op::Fix(_)) }));
            }
            _ => return Code::Copy(Operand::NOTHING),
        };
        let (function, captures) = function(self, closure);
        let from = from.map_or(Operand::NOTHING, |from| self.hat(*from));
        Code::Each(Box::new(Each { kind, function, captures, from, list: self.hat(*list) }))
    }
}

/// The operations without state, in equations and functions alike. The operands are asked for by node and whether raw.
pub(super) fn plain(node: &Node, of: &mut dyn FnMut(NodeId, bool) -> Operand) -> Code {
    let mut hat = |id: &NodeId| of(*id, false);
    match &node.op {
        Op::Unary(op, a) => Code::Unary(*op, hat(a)),
        Op::Binary(BinaryOp::And, a, b) => Code::And(hat(a), hat(b)),
        Op::Binary(BinaryOp::Or, a, b) => Code::Or(hat(a), hat(b)),
        Op::Binary(BinaryOp::Implies, a, b) => Code::Implies(hat(a), hat(b)),
        Op::Binary(op, a, b) => Code::Binary(*op, hat(a), hat(b)),
        Op::If(c, a, b) => Code::If(hat(c), hat(a), hat(b)),
        Op::Default(e, d) => Code::Default(hat(e), hat(d)),
        Op::IsDefined(e) => Code::IsDefined(hat(e)),
        Op::Function(function @ (Function::ListGet | Function::MapGet), all) => match all.as_slice() {
            [a, b, d] => Code::Fallback(*function, Box::new([hat(a), hat(b), hat(d)])),
            _ => Code::Function(*function, all.iter().map(hat).collect()),
        },
        Op::Function(function, all) => Code::Function(*function, all.iter().map(hat).collect()),
        Op::Matches(a, pattern) => Code::Matches(hat(a), Box::new(pattern.clone())),
        Op::List(all) => Code::List(all.iter().map(hat).collect()),
        Op::Tuple(all) => Code::Tuple(all.iter().map(hat).collect()),
        Op::Struct(fields) => {
            let shape = Shape::new(fields.iter().map(|(name, _)| Arc::clone(name)));
            let mut places = vec![Operand::NOTHING; fields.len()];
            for (name, id) in fields {
                let operand = hat(id);
                if let Some(place) = shape.index(name).and_then(|at| places.get_mut(at)) {
                    *place = operand;
                }
            }
            Code::Struct(shape, places.into())
        }
        Op::Map(entries) => Code::Map(entries.iter().map(|(name, id)| (Arc::clone(name), hat(id))).collect()),
        Op::Field(a, name) => Code::Field(hat(a), Arc::clone(name)),
        Op::Item(a, at) => Code::Item(hat(a), *at),
        Op::Call(f, x) => Code::Call(hat(f), hat(x)),
        Op::Cast(a) => Code::Cast(of(*a, true), Arc::new(node.ty.clone())),
        Op::IsPresent(a) => Code::IsPresent(of(*a, true)),
        Op::Hold(a) => Code::Copy(hat(a)),
        // A function's parameter or capture is there from the start; state stands in equations only.
        _ => Code::Copy(Operand::NOTHING),
    }
}
