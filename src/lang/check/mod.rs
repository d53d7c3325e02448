//! From the syntax tree to a checked program.
//!
//! Owns: declarations, names, order and cycles, inference, elaboration into typed nodes.
//! May not: know the text, nor evaluate.

mod body;
mod builtin;
mod declare;
mod elaborate;
mod functions;
mod graph;
mod infer;
mod operators;
mod references;
mod scope;
mod temporal;
mod types;

use super::builtins::Function;
use super::checked::{BinaryOp, Body, Checked, CheckedExpr, Equation, Op, Stream, StreamId, StreamKind};
use super::codes::Code;
use super::diagnostic::{Diagnostic, Errors};
use super::syntax::{Root, Span};
use super::types::Type;
use body::Bodies;
use declare::{Streams, declare, distinct};
use elaborate::Elaborator;
use graph::{Graph, graph};
use references::{References, of_text, references};
use std::collections::BTreeSet;
use std::sync::Arc;
use types::Written;

/// So many expressions may be walked, and so many more for each one that is written.
const FUEL: u64 = 400_000;
const FUEL_EACH: u64 = 24;

/// Checks a root; nothing where it has errors.
pub(super) fn program(root: &Root, errors: &mut Errors) -> Option<Checked> {
    distinct(root, errors);
    let mut written = Written::new(root);
    let streams = declare(root, &mut written, errors);
    let references = references(root, &streams, errors);
    let graph = graph(root, &streams, &references, errors);
    let mut warnings = Errors::default();
    unused(&streams, &references, &mut warnings);
    let types = vec![Type::Any; streams.list.len()];
    let mut elaborator = Elaborator {
        root,
        streams: &streams,
        written,
        scopes: Some(&graph.scopes),
        broken: &graph.broken,
        types,
        arities: vec![0; streams.list.len()],
        bodies: Bodies::default(),
        errors: std::mem::take(errors),
        quiet: true,
        calls: Vec::new(),
        depth: 0,
        fuel: [FUEL + FUEL_EACH * root.exprs.len() as u64, 0],
        failed: false,
    };
    elaborator.infer(&graph, &references);
    let equations = elaborator.equations();
    *errors = std::mem::take(&mut elaborator.errors);
    let Elaborator { types, bodies, .. } = elaborator;
    errors.is_empty().then(|| assembled(&streams, &graph, (equations, types), (bodies, warnings)))
}

fn assembled(
    streams: &Streams,
    graph: &Graph,
    (equations, types): (Vec<Equation>, Vec<Type>),
    (bodies, warnings): (Bodies, Errors),
) -> Checked {
    let all = streams.list.iter().zip(equations.iter().zip(types)).zip(&graph.reads);
    let list: Vec<Stream> = all
        .map(|((declared, (equation, ty)), reads)| Stream {
            name: Arc::clone(&declared.name.text),
            kind: declared.kind,
            ty: ty.settled(),
            declared: declared.ty.is_some(),
            span: declared.name.span,
            equation: *equation,
            reads: reads.keys().copied().collect(),
        })
        .collect();
    let has_body = |id: &StreamId| list.get(id.0 as usize).is_some_and(|stream| matches!(stream.equation, Equation::Body(_)));
    let mut warnings = warnings;
    for (id, stream) in (0..).map(StreamId).zip(&list) {
        if let Equation::Body(body) = stream.equation
            && let Some(place) = bodies.finished.get(body.0 as usize).and_then(|body| stuck(id, body))
        {
            let message = format!("`{}` never has a value: it needs its own past, which begins without one", stream.name);
            let hint = format!("give it a first value: `default({}[1], …)`", stream.name);
            warnings.push(Diagnostic::new(Code::STUCK, place, message).hint(hint));
        }
    }
    let order = graph.order.iter().copied().filter(has_body).collect();
    let mut warnings = warnings.into_list();
    warnings.sort_by_key(|warning| warning.span);
    Checked { streams: list, bodies: bodies.finished, order, warnings }
}

/// Where a body needs the past of its own stream whatever happens: Deferred at first, it is so for ever.
fn stuck(own: StreamId, body: &Body) -> Option<Span> {
    let mut seen = BTreeSet::new();
    let mut open = vec![body.root];
    while let Some(id) = open.pop() {
        let Some(node) = body.node(id).filter(|_| seen.insert(id)) else { continue };
        match &node.op {
            Op::Delay { of, ticks } if *ticks > 0 => {
                let past = body.node(*of).is_some_and(|node| node.op == Op::Stream(own));
                if past {
                    return Some(node.span);
                }
            }
            Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Implies, ..) => {}
            Op::If(condition, ..) => open.push(*condition),
            Op::Unary(..) | Op::Binary(..) | Op::Cast(_) | Op::Hold(_) | Op::Matches(..) | Op::Field(..) | Op::Item(..) => {
                open.extend(node.op.operands());
            }
            Op::Function(function, operands) if operands.len() < 3 || *function == Function::StrSlice => open.extend(operands),
            _ => {}
        }
    }
    None
}

/// Warns of `aux` streams that nothing reads.
fn unused(streams: &Streams, references: &References, warnings: &mut Errors) {
    if !references.unlisted.is_empty() {
        return;
    }
    let all = (0..).map(StreamId).zip(&references.of);
    let read: BTreeSet<StreamId> = all.flat_map(|(id, found)| found.iter().map(|one| one.to).filter(move |to| *to != id)).collect();
    for (id, stream) in (0..).map(StreamId).zip(&streams.list) {
        if stream.kind == StreamKind::Aux && !read.contains(&id) {
            let message = format!("`{}` is read by nothing", stream.name.text);
            warnings.push(Diagnostic::new(Code::UNUSED, stream.name.span, message).hint("remove it, or declare it `out`"));
        }
    }
}

/// Checks the text of a `dynamic` or `defer`; nothing where it has errors.
pub(super) fn expression(root: &Root, scope: &[(Arc<str>, Type)], expected: Option<&Type>, errors: &mut Errors) -> Option<CheckedExpr> {
    let expr = root.text?;
    distinct(root, errors);
    let streams = Streams::of_scope(scope);
    let reads = of_text(root, expr, &streams, errors);
    let broken = BTreeSet::new();
    let mut elaborator = Elaborator {
        root,
        streams: &streams,
        written: Written::new(root),
        scopes: None,
        broken: &broken,
        types: scope.iter().map(|(_, ty)| ty.clone()).collect(),
        arities: Vec::new(),
        bodies: Bodies::default(),
        errors: std::mem::take(errors),
        quiet: false,
        calls: Vec::new(),
        depth: 0,
        fuel: [FUEL, 0],
        failed: false,
    };
    let (body, ty) = elaborator.text_body(expr, expected);
    *errors = std::mem::take(&mut elaborator.errors);
    let reads: BTreeSet<StreamId> = reads.into_iter().map(|reference| reference.to).collect();
    let bodies = elaborator.bodies.finished;
    errors.is_empty().then(|| CheckedExpr { bodies, root: body, ty, reads: reads.into_iter().collect() })
}
