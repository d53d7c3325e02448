//! From expressions to typed nodes.
//!
//! Owns: the walk over expressions, names, conversions, errors of types.
//!
//! One walk does everything: it expands known calls, works types out from below and expected ones from above, and adds nodes.
//! While types are inferred it runs without reporting, and its nodes are dropped.

use super::body::{Bodies, TooMuch, Value};
use super::declare::Streams;
use super::scope::{Arg, Binding, Env};
use super::types::Written;
use crate::lang::checked::{Op, StreamId};
use crate::lang::codes::Code;
use crate::lang::diagnostic::{Diagnostic, Errors};
use crate::lang::relate::{Fit, fit, join};
use crate::lang::syntax::{ExprId, ExprKind, Literal, Root, Span};
use crate::lang::types::Type;
use std::collections::{BTreeSet, HashMap};

/// The deepest walk; nesting in a text is bounded far below, so only expansions come here.
const MAX_DEPTH: u32 = 220;
/// The most expressions that are walked for one equation.
const MAX_WALK: u64 = 100_000;
/// The deepest nesting of expanded calls.
pub(super) const MAX_CALLS: usize = 64;

pub(super) struct Elaborator<'all> {
    pub(super) root: &'all Root,
    pub(super) streams: &'all Streams,
    pub(super) written: Written<'all>,
    /// What texts without a list may name; nothing in a text.
    pub(super) scopes: Option<&'all HashMap<ExprId, Vec<StreamId>>>,
    /// Streams on a cycle: reported.
    pub(super) broken: &'all BTreeSet<StreamId>,
    /// The types of the streams, as far as they are known.
    pub(super) types: Vec<Type>,
    /// How many arguments a stream takes that is a function known at compile time.
    pub(super) arities: Vec<usize>,
    pub(super) bodies: Bodies,
    pub(super) errors: Errors,
    pub(super) quiet: bool,
    /// Where the calls stand that are being expanded.
    pub(super) calls: Vec<Span>,
    pub(super) depth: u32,
    /// How many more expressions may be walked, and how many of them in this equation.
    pub(super) fuel: [u64; 2],
    /// A bound was passed in this equation, and reported: the rest of it says nothing more.
    pub(super) failed: bool,
}

impl Elaborator<'_> {
    /// Reports an error, once types are known.
    pub(super) fn error(&mut self, error: Diagnostic) {
        if self.quiet || self.failed {
            return;
        }
        let outside = |call: &&Span| call.start > error.span.start || call.end < error.span.end;
        let call = self.calls.iter().rev().find(outside).copied();
        self.errors.push(match call {
            Some(call) if error.others.len() < 4 => error.other(call, "in this call"),
            _ => error,
        });
    }

    /// A value in the place of one that was reported: it goes with everything.
    pub(super) fn bad(&mut self, span: Span) -> Value {
        self.add(Op::Const(Literal::Unit), Type::Any, span)
    }

    pub(super) fn add(&mut self, op: Op, ty: Type, span: Span) -> Value {
        let ty = if ty.is_bounded() {
            ty
        } else {
            self.error(Diagnostic::new(Code::TYPE_SIZE, span, "the type of this is too large").hint("use `Any` for a part of it"));
            Type::Any
        };
        match self.bodies.add(op, &ty, span) {
            Ok(node) => Value { node, ty, span },
            Err(TooMuch) => self.too_much(span),
        }
    }

    /// Starts on an equation.
    pub(super) fn start(&mut self) {
        let [all, each] = &mut self.fuel;
        *each = MAX_WALK.min(*all);
        self.failed = *each == 0 && self.failed;
    }

    /// Takes a step; false where none is left.
    pub(super) fn burn(&mut self, steps: u64) -> bool {
        self.fuel = self.fuel.map(|left| left.saturating_sub(steps));
        self.fuel.into_iter().all(|left| left > 0)
    }

    /// Reports that a bound is passed.
    pub(super) fn too_much(&mut self, span: Span) -> Value {
        let [_, each] = &mut self.fuel;
        *each = 0;
        let place = self.calls.first().copied().unwrap_or(span);
        let error = Diagnostic::new(Code::EXPANSION, place, "this expands to too much, or without end");
        self.error(error.hint("recursion is written with `fix`; what is needed often is an `aux` stream"));
        self.failed = true;
        Value { node: crate::lang::checked::NodeId(0), ty: Type::Any, span }
    }

    /// An expression in the innermost body. `expected` is a wish: the caller still has to [`Self::want`] it.
    pub(super) fn expr(&mut self, id: ExprId, env: &Env, expected: &Type) -> Value {
        let span = self.root.expr(id).span;
        if self.depth >= MAX_DEPTH || !self.burn(1) {
            return self.too_much(span);
        }
        self.depth += 1;
        let value = self.chain(id, env, expected);
        self.depth -= 1;
        value
    }

    /// Walks down the first operands in a loop, then up again.
    fn chain(&mut self, id: ExprId, env: &Env, expected: &Type) -> Value {
        let mut frames = Vec::new();
        let mut base = id;
        loop {
            base = match &self.root.expr(base).kind {
                ExprKind::Unary(_, of)
                | ExprKind::Binary(_, _, [of, _])
                | ExprKind::Delay { of, .. }
                | ExprKind::Field(of, _)
                | ExprKind::Item(of, ..)
                | ExprKind::Call { function: of, .. } => {
                    frames.push(base);
                    *of
                }
                _ => break,
            };
        }
        self.burn(frames.len() as u64);
        let mut value = if let Some((known, mut steps)) = self.known(base, env) {
            let mut span = self.root.expr(base).span;
            while let Some(frame) = frames.pop_if(|frame| matches!(self.root.expr(*frame).kind, ExprKind::Call { .. })) {
                let call = self.root.expr(frame);
                span = call.span;
                if let ExprKind::Call { arguments, .. } = &call.kind {
                    steps.extend(arguments.iter().map(|arg| super::scope::Step::Arg(Arg::Expr(*arg, env.clone()))));
                }
            }
            let wish = if frames.is_empty() { expected } else { &Type::Unknown };
            self.applied(known, steps, wish, span)
        } else {
            let delays = frames.iter().all(|frame| matches!(self.root.expr(*frame).kind, ExprKind::Delay { .. }));
            self.base(base, env, if delays { expected } else { &Type::Unknown })
        };
        while let Some(frame) = frames.pop() {
            value = self.frame(frame, value, env);
        }
        value
    }

    /// One step up a chain.
    fn frame(&mut self, id: ExprId, value: Value, env: &Env) -> Value {
        let root = self.root;
        let expr = root.expr(id);
        match &expr.kind {
            ExprKind::Unary(op, _) => self.unary(*op, value, expr.span),
            ExprKind::Binary(op, place, [_, right]) => self.binary((*op, *place), value, *right, env),
            ExprKind::Delay { ticks, .. } => self.delay(value, *ticks, expr.span),
            ExprKind::Field(_, name) => self.field(&value, name, expr.span),
            ExprKind::Item(_, index, place) => self.item(&value, (*index, *place), expr.span),
            ExprKind::Call { arguments, .. } => {
                let args = arguments.iter().map(|arg| Arg::Expr(*arg, env.clone()));
                args.fold(value, |value, arg| self.call_value(&value, arg, expr.span))
            }
            _ => value,
        }
    }

    fn base(&mut self, id: ExprId, env: &Env, expected: &Type) -> Value {
        let root = self.root;
        let expr = root.expr(id);
        let span = expr.span;
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal, span),
            ExprKind::Name(name) => self.name(name, span, env),
            ExprKind::Paren(inner) => self.expr(*inner, env, expected),
            ExprKind::Tuple { items, .. } => self.tuple(items, env, expected, span),
            ExprKind::List(items) => self.list(items, env, expected, span),
            ExprKind::Struct(entries) => self.structure(entries, env, expected, span),
            ExprKind::Map(entries) => self.map(entries, env, expected, span),
            ExprKind::If(_) => self.branches(id, env, expected),
            ExprKind::Builtin { builtin, arguments, .. } => self.builtin(*builtin, (arguments, span), env, expected),
            ExprKind::Text { .. } => self.text(id, env),
            ExprKind::Window { aggregate, of, window } => self.window((*aggregate, *window), *of, env, span),
            _ => self.bad(span),
        }
    }

    fn literal(&mut self, literal: &Literal, span: Span) -> Value {
        let ty = match literal {
            Literal::Unit => Type::Unit,
            Literal::Bool(_) => Type::Bool,
            Literal::Int(_) => Type::Int,
            Literal::Float(_) => Type::Float,
            Literal::Str(_) => Type::Str,
            Literal::Duration(_) => Type::Duration,
        };
        self.add(Op::Const(literal.clone()), ty, span)
    }

    /// A name that is no function known at compile time.
    fn name(&mut self, name: &str, span: Span, env: &Env) -> Value {
        if let Some(Binding::Value(level, value)) = env.find(name) {
            let (level, value) = (*level, value.clone());
            return match self.bodies.reach(level, &value) {
                Ok(value) => Value { span, ..value },
                Err(TooMuch) => self.too_much(span),
            };
        }
        let Some(id) = self.streams.find(name).filter(|id| !self.broken.contains(id)) else { return self.bad(span) };
        let ty = self.types.get(id.0 as usize).cloned().unwrap_or(Type::Any);
        let hold = env.inside && !self.bodies.in_function();
        match self.bodies.stream(id, hold, (&ty, span)) {
            Ok(value) => Value { span, ..value },
            Err(TooMuch) => self.too_much(span),
        }
    }

    /// The value as this type, or an error: `what` says of what it is, as in "the condition of `if`".
    pub(super) fn want(&mut self, value: Value, to: &Type, what: &str) -> Value {
        if fit(&value.ty, to) == Fit::Clash {
            let error = Diagnostic::new(Code::CLASH, value.span, format!("{what} must be {to}, but this is {}", value.ty));
            let error = error.label(format!("this is {}", value.ty)).maybe_hint(conversion(&value.ty, to));
            self.error(error);
            return Value { ty: to.clone(), ..value };
        }
        self.cast(value, to)
    }

    /// The value as this type, which it fits.
    pub(super) fn cast(&mut self, value: Value, to: &Type) -> Value {
        if fit(&value.ty, to) != Fit::Cast {
            return value;
        }
        if let (Type::Float, Some(Op::Const(Literal::Int(int)))) = (to, self.bodies.op(value.node)) {
            #[allow(clippy::cast_precision_loss, reason = "the language says: the nearest Float")]
            let float = *int as f64;
            return self.add(Op::Const(Literal::Float(float)), Type::Float, value.span);
        }
        self.add(Op::Cast(value.node), to.clone(), value.span)
    }

    /// The one type of values that meet. `what` says where, as in "the branches of `if`".
    pub(super) fn meet(&mut self, values: Vec<Value>, expected: &Type, what: &str) -> (Vec<Value>, Type) {
        let fits = |ty: &Type| values.iter().all(|value| fit(&value.ty, ty) != Fit::Clash);
        let ty = if !expected.is_loose() && fits(expected) { expected.clone() } else { self.joined(&values, expected, what) };
        let values = values.into_iter().map(|value| if fit(&value.ty, &ty) == Fit::Clash { value } else { self.cast(value, &ty) });
        (values.collect(), ty)
    }

    fn joined(&mut self, values: &[Value], expected: &Type, what: &str) -> Type {
        let mut ty = Type::Unknown;
        for (at, value) in values.iter().enumerate() {
            match join(&ty, &value.ty) {
                Some(both) => ty = both,
                None if *expected == Type::Any => return Type::Any,
                None => {
                    let message = format!("{what} have one type, but these are {ty} and {}", value.ty);
                    let error = Diagnostic::new(Code::CLASH, value.span, message).label(format!("this is {}", value.ty));
                    let first = values.get(at.saturating_sub(1)).map_or(value.span, |value| value.span);
                    self.error(error.other(first, format!("this is {ty}")).maybe_hint(conversion(&value.ty, &ty)));
                    return if expected.is_loose() { Type::Any } else { expected.clone() };
                }
            }
        }
        ty
    }

    /// Reports a function where none can be; answers whether.
    pub(super) fn no_function(&mut self, value: &Value, verb: &str) -> bool {
        if value.ty.is_function() {
            let error = Diagnostic::new(Code::FUNCTION_PLACE, value.span, format!("functions are not {verb}"));
            self.error(error.label(format!("this is {}", value.ty)).hint("call it, and use its result"));
        }
        value.ty.is_function()
    }
}

/// How to get from one type to the other, where there is a way.
fn conversion(from: &Type, to: &Type) -> Option<String> {
    Some(match (from, to) {
        (Type::Float, Type::Int) => "`round(…)` or `trunc(…)` gives an Int".to_owned(),
        (Type::Str, Type::Int) => "`Int.parse(…)` reads a text".to_owned(),
        (Type::Str, Type::Float) => "`Float.parse(…)` reads a text".to_owned(),
        (Type::Str, Type::Time) => "`Time.parse(…)` reads a text".to_owned(),
        (Type::Int, Type::Time) => "`Time.of_millis(…)` makes one".to_owned(),
        (Type::Duration, Type::Float | Type::Int) => "`Duration.seconds(…)` gives a number".to_owned(),
        (Type::Function(_), to) if !to.is_function() => "a function is called with its arguments: `f(x)`".to_owned(),
        (from, Type::Str) if !from.is_function() => "`Str.of(…)` makes a text".to_owned(),
        (from, Type::Bool) if from.is_number() => "compare it, as in `x != 0`".to_owned(),
        _ => return None,
    })
}
