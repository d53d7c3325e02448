//! Which streams an equation names, where, and whether behind a delay.

use super::declare::Streams;
use crate::lang::builtins;
use crate::lang::checked::StreamId;
use crate::lang::codes::Code;
use crate::lang::diagnostic::{Diagnostic, Errors};
use crate::lang::names::{meant, otherwise};
use crate::lang::syntax::{ExprId, ExprKind, Name, Root, Span};
use std::collections::{HashMap, HashSet};

/// One place where a stream is named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) to: StreamId,
    pub(super) span: Span,
    /// It stands behind a delay of one tick or more, so it orders nothing.
    pub(super) delayed: bool,
}

/// A `dynamic` or `defer` that lists no streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unlisted {
    pub(super) of: StreamId,
    pub(super) text: ExprId,
    pub(super) span: Span,
    pub(super) delayed: bool,
}

/// What the equations name.
#[derive(Default)]
pub(super) struct References {
    /// By stream.
    pub(super) of: Vec<Vec<Reference>>,
    pub(super) unlisted: Vec<Unlisted>,
}

enum Step {
    Visit(ExprId, bool),
    Unbind(ExprId),
}

struct Walk<'all> {
    root: &'all Root,
    streams: &'all Streams,
    /// Names with an equation and no declaration: reported.
    undeclared: HashSet<&'all str>,
    /// How many parameters of this name are in scope.
    bound: HashMap<&'all str, usize>,
    steps: Vec<Step>,
    errors: &'all mut Errors,
}

/// Walks all equations.
pub(super) fn references(root: &Root, streams: &Streams, errors: &mut Errors) -> References {
    let undeclared = root.items.iter().filter(|item| item.kind.is_none()).map(|item| &*item.name.text).collect();
    let mut walk = Walk { root, streams, undeclared, bound: HashMap::new(), steps: Vec::new(), errors };
    let mut out = References::default();
    for (id, stream) in (0..).map(StreamId).zip(&streams.list) {
        let mut found = Vec::new();
        if let Some(value) = stream.value {
            walk.equation(id, value, &mut found, &mut out.unlisted);
        }
        out.of.push(found);
    }
    out
}

/// Walks the expression of a text. What it reads is numbered by the scope.
pub(super) fn of_text(root: &Root, expr: ExprId, streams: &Streams, errors: &mut Errors) -> Vec<Reference> {
    let mut walk = Walk { root, streams, undeclared: HashSet::new(), bound: HashMap::new(), steps: Vec::new(), errors };
    let (mut found, mut unlisted) = (Vec::new(), Vec::new());
    walk.equation(StreamId(u32::MAX), expr, &mut found, &mut unlisted);
    found
}

impl Walk<'_> {
    fn equation(&mut self, of: StreamId, value: ExprId, found: &mut Vec<Reference>, unlisted: &mut Vec<Unlisted>) {
        self.steps.push(Step::Visit(value, false));
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Visit(id, delayed) => self.visit((of, id, delayed), found, unlisted),
                Step::Unbind(lambda) => self.bind(lambda, false),
            }
        }
    }

    fn bind(&mut self, lambda: ExprId, into: bool) {
        let ExprKind::Lambda { params, .. } = &self.root.expr(lambda).kind else { return };
        for param in params {
            let count = self.bound.entry(&param.name.text).or_default();
            *count = if into { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    fn visit(&mut self, (of, id, delayed): (StreamId, ExprId, bool), found: &mut Vec<Reference>, unlisted: &mut Vec<Unlisted>) {
        let expr = self.root.expr(id);
        match &expr.kind {
            ExprKind::Error | ExprKind::Literal(_) => {}
            ExprKind::Name(name) => {
                if self.bound.get(&**name).is_none_or(|count| *count == 0) {
                    self.stream(name, expr.span, delayed, found);
                }
            }
            ExprKind::Lambda { body, .. } => {
                self.bind(id, true);
                self.steps.push(Step::Unbind(id));
                self.steps.push(Step::Visit(*body, delayed));
            }
            ExprKind::Delay { of, ticks } => self.steps.push(Step::Visit(*of, delayed || *ticks > 0)),
            ExprKind::Text { source, scope, .. } => {
                self.steps.push(Step::Visit(*source, delayed));
                match scope {
                    Some(names) => names.iter().for_each(|name| self.listed(of, name, delayed, found)),
                    None => unlisted.push(Unlisted { of, text: id, span: expr.span, delayed }),
                }
            }
            kind => {
                let children = children(kind);
                self.steps.extend(children.into_iter().rev().map(|id| Step::Visit(id, delayed)));
            }
        }
    }

    fn listed(&mut self, of: StreamId, name: &Name, delayed: bool, found: &mut Vec<Reference>) {
        if self.streams.find(&name.text) == Some(of) {
            let message = format!("the text cannot read `{}`, which it computes", name.text);
            let hint = format!("its past is another stream: `aux past = {}[1]`", name.text);
            self.errors.push(Diagnostic::new(Code::OWN_TEXT, name.span, message).hint(hint));
        } else {
            self.stream(&name.text, name.span, delayed, found);
        }
    }

    fn stream(&mut self, name: &str, span: Span, delayed: bool, found: &mut Vec<Reference>) {
        if let Some(to) = self.streams.find(name) {
            found.push(Reference { to, span, delayed });
        } else if !self.undeclared.contains(name) {
            let hint = if !self.errors.are_few() {
                None
            } else if builtins::call_words().any(|word| word == name) {
                Some(format!("`{name}` is a built-in: write `{name}(…)`"))
            } else if let Some(hint) = otherwise(name) {
                Some(hint.to_owned())
            } else {
                let bound = self.bound.iter().filter(|(_, count)| **count > 0).map(|(name, _)| *name);
                let mut known: Vec<&str> = builtins::call_words().collect();
                known.extend(self.streams.names().chain(bound));
                known.sort_unstable();
                meant(name, known.into_iter())
            };
            self.errors.push(Diagnostic::new(Code::UNKNOWN_NAME, span, format!("there is no stream `{name}`")).maybe_hint(hint));
        }
    }
}

/// The expressions directly inside, in the order of the text.
pub(super) fn children(kind: &ExprKind) -> Vec<ExprId> {
    match kind {
        ExprKind::Error | ExprKind::Literal(_) | ExprKind::Name(_) => Vec::new(),
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) | ExprKind::Lambda { body: inner, .. } => vec![*inner],
        ExprKind::Delay { of, .. } | ExprKind::Field(of, _) | ExprKind::Item(of, ..) | ExprKind::Window { of, .. } => vec![*of],
        ExprKind::Text { source, .. } => vec![*source],
        ExprKind::Tuple { items, .. } | ExprKind::List(items) => items.clone(),
        ExprKind::Struct(entries) | ExprKind::Map(entries) => entries.iter().map(|(_, id)| *id).collect(),
        ExprKind::Binary(_, _, both) => both.to_vec(),
        ExprKind::If(all) => all.to_vec(),
        ExprKind::Call { function, arguments } => std::iter::once(function).chain(arguments).copied().collect(),
        ExprKind::Builtin { arguments, .. } => arguments.clone(),
    }
}
