//! Types of streams that are not written, and the last walk, which reports.
//!
//! A stream without a written type starts as unknown; its equation is walked with what is known, again whenever a stream
//! changes that it names (delayed or not), until nothing changes. What keeps changing, and what stays unknown, is `Any`.

use super::body::Value;
use super::declare::function_stream;
use super::elaborate::Elaborator;
use super::graph::Graph;
use super::references::References;
use super::scope::Env;
use crate::lang::checked::{BodyId, Equation, StreamId, StreamKind};
use crate::lang::codes::Code;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::syntax::{ExprId, Span};
use crate::lang::types::Type;
use std::collections::{BTreeSet, HashSet, VecDeque};

/// A type that changes more often is `Any`.
const MAX_CHANGES: u8 = 12;

impl Elaborator<'_> {
    fn ids(&self) -> impl Iterator<Item = StreamId> + use<> {
        (0..u32::try_from(self.streams.list.len()).unwrap_or(u32::MAX)).map(StreamId)
    }

    fn is_template(&self, id: StreamId) -> bool {
        self.arities.get(id.0 as usize).is_some_and(|arity| *arity > 0)
    }

    fn set(&mut self, id: StreamId, ty: Type) {
        if let Some(known) = self.types.get_mut(id.0 as usize) {
            *known = ty;
        }
    }

    /// The equation of a computed stream that can be walked.
    fn equation(&self, id: StreamId) -> Option<ExprId> {
        let stream = self.streams.get(id).filter(|stream| stream.kind != StreamKind::In)?;
        stream.value.filter(|_| !self.broken.contains(&id))
    }

    /// Works out which streams are functions known at compile time, and the types of the others.
    pub(super) fn infer(&mut self, graph: &Graph, references: &References) {
        let sorted: HashSet<StreamId> = graph.order.iter().copied().collect();
        let order: Vec<StreamId> = graph.order.iter().copied().chain(self.ids().filter(|id| !sorted.contains(id))).collect();
        for id in &order {
            let arity = self.equation(*id).map_or(0, |value| self.arity(value, &Env::default().entered()));
            if let Some(known) = self.arities.get_mut(id.0 as usize) {
                *known = arity;
            }
        }
        let written = |id: StreamId| self.streams.get(id).and_then(|stream| stream.ty.clone());
        let open: BTreeSet<StreamId> = order.iter().copied().filter(|id| written(*id).is_none() && self.equation(*id).is_some()).collect();
        let open: BTreeSet<StreamId> = open.into_iter().filter(|id| !self.is_template(*id)).collect();
        for id in self.ids() {
            let start = if open.contains(&id) {
                Type::Unknown
            } else {
                self.streams.get(id).and_then(|stream| stream.ty.clone()).unwrap_or(Type::Any)
            };
            self.set(id, start);
        }
        let dependents = self.dependents(&open, references);
        self.iterate(&order, &open, &dependents, false);
        self.iterate(&order, &open, &dependents, true);
    }

    /// By stream: the open streams whose types depend on its type, through functions too.
    fn dependents(&self, open: &BTreeSet<StreamId>, references: &References) -> Vec<Vec<StreamId>> {
        let mut dependents = vec![Vec::new(); self.streams.list.len()];
        for id in open {
            let (mut seen, mut next) = (HashSet::new(), vec![*id]);
            while let Some(at) = next.pop() {
                for reference in references.of.get(at.0 as usize).into_iter().flatten() {
                    if !seen.insert(reference.to) {
                        continue;
                    }
                    if self.is_template(reference.to) {
                        next.push(reference.to);
                    } else if let Some(list) = dependents.get_mut(reference.to.0 as usize) {
                        list.push(*id);
                    }
                }
            }
        }
        dependents
    }

    /// Walks open streams until nothing changes. When `settling`, what is unknown becomes `Any` first.
    fn iterate(&mut self, order: &[StreamId], open: &BTreeSet<StreamId>, dependents: &[Vec<StreamId>], settling: bool) {
        let mut queue: VecDeque<StreamId> = order.iter().copied().filter(|id| open.contains(id)).collect();
        if settling {
            let unknown = |id: &StreamId| self.types.get(id.0 as usize).is_some_and(|ty| ty.has(|ty| *ty == Type::Unknown));
            let changed: Vec<StreamId> = queue.iter().copied().filter(unknown).collect();
            for id in &changed {
                let ty = self.types.get(id.0 as usize).map_or(Type::Any, Type::settled);
                self.set(*id, ty);
            }
            let again: BTreeSet<StreamId> =
                changed.iter().flat_map(|id| dependents.get(id.0 as usize).into_iter().flatten().copied()).collect();
            queue.retain(|id| again.contains(id));
        }
        let mut waiting: HashSet<StreamId> = queue.iter().copied().collect();
        let mut spent: HashSet<StreamId> = HashSet::new();
        let mut changes = vec![0_u8; self.types.len()];
        while let Some(id) = queue.pop_front() {
            waiting.remove(&id);
            let Some(value) = self.equation(id) else { continue };
            let mut ty = if spent.contains(&id) { Type::Any } else { self.walked(value) };
            if self.failed {
                spent.insert(id);
            }
            if settling {
                ty = ty.settled();
            }
            let Some(known) = self.types.get(id.0 as usize).filter(|known| **known != ty) else { continue };
            let Some(count) = changes.get_mut(id.0 as usize) else { continue };
            *count = count.saturating_add(1);
            if *count > MAX_CHANGES {
                if *known == Type::Any {
                    continue;
                }
                ty = Type::Any;
            }
            self.set(id, ty);
            for dependent in dependents.get(id.0 as usize).into_iter().flatten() {
                if waiting.insert(*dependent) {
                    queue.push_back(*dependent);
                }
            }
        }
    }

    /// The type of an equation, as far as it is known.
    fn walked(&mut self, value: ExprId) -> Type {
        self.start();
        self.bodies.enter(&[], Span::default());
        self.bodies.recount();
        let value = self.expr(value, &Env::default(), &Type::Unknown);
        self.bodies.rewind(0, 0);
        if self.failed { Type::Any } else { value.ty }
    }

    /// The last walk: every equation becomes a body, and all errors are reported.
    pub(super) fn equations(&mut self) -> Vec<Equation> {
        self.quiet = false;
        self.failed = false;
        self.bodies.recount();
        let mut equations = Vec::new();
        for id in self.ids() {
            self.start();
            let Some(value) = self.equation(id) else {
                equations.push(Equation::Input);
                continue;
            };
            let written = self.streams.get(id).and_then(|stream| stream.ty.clone());
            equations.push(if self.is_template(id) {
                self.template(id, value, written.as_ref());
                Equation::Template
            } else {
                // Only a written type is expected: what is inferred must not hide the clash that made it `Any`.
                let expected = written.clone().unwrap_or(Type::Unknown);
                let ty = written.unwrap_or_else(|| self.types.get(id.0 as usize).cloned().unwrap_or(Type::Any));
                Equation::Body(self.body(id, value, (&expected, &ty)))
            });
            self.function_place(id);
        }
        equations
    }

    fn quoted(&self, id: StreamId) -> String {
        self.streams.get(id).map_or_else(String::new, |stream| format!("`{}`", stream.name.text))
    }

    fn body(&mut self, id: StreamId, value: ExprId, (expected, ty): (&Type, &Type)) -> BodyId {
        self.bodies.enter(&[], Span::default());
        let value = self.expr(value, &Env::default(), expected);
        let name = self.quoted(id);
        let value = self.want(value, ty, &name);
        self.bodies.leave(value.node).0.body
    }

    /// A function known at compile time is checked on its own, then dropped: it is expanded where it is used.
    fn template(&mut self, id: StreamId, value: ExprId, written: Option<&Type>) {
        self.bodies.enter(&[], Span::default());
        let finished = self.bodies.finished.len();
        let span = self.root.expr(value).span;
        let expected = written.cloned().unwrap_or(Type::Unknown);
        let value = match self.known(value, &Env::default().entered()) {
            Some((known, steps)) => match self.apply(known, steps, &expected, span) {
                super::scope::Applied::Known(known) => self.closure(known, &expected, false, span),
                super::scope::Applied::Value(value) => value,
            },
            None => Value { node: crate::lang::checked::NodeId(0), ty: Type::Any, span },
        };
        let name = self.quoted(id);
        let value = self.want(value, &expected, &name);
        self.set(id, written.cloned().unwrap_or(value.ty));
        self.bodies.rewind(0, finished);
    }

    /// Functions are not put out.
    fn function_place(&mut self, id: StreamId) {
        let streams = self.streams;
        let Some(stream) = streams.get(id) else { return };
        let function = self.types.get(id.0 as usize).is_some_and(Type::is_function);
        if stream.kind == StreamKind::Out && function && stream.ty.is_none() {
            self.error(function_stream("out", &stream.name));
        }
    }

    /// The body of a text.
    pub(super) fn text_body(&mut self, expr: ExprId, expected: Option<&Type>) -> (BodyId, Type) {
        self.start();
        self.bodies.enter(&[], Span::default());
        let value = self.expr(expr, &Env::default(), expected.unwrap_or(&Type::Unknown));
        if value.ty.is_function() {
            let error = Diagnostic::new(Code::FUNCTION_PLACE, value.span, "a text does not give a function");
            self.error(error.hint("call it, with its arguments"));
        }
        let value = match expected {
            Some(ty) => self.want(value, ty, "the result of the text"),
            None => value,
        };
        let ty = expected.cloned().unwrap_or(value.ty).settled();
        (self.bodies.leave(value.node).0.body, ty)
    }
}
