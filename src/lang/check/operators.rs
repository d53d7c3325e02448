//! Operators, `if`, and what stands in brackets.

use super::body::Value;
use super::elaborate::Elaborator;
use super::scope::Env;
use crate::lang::checked::Op;
use crate::lang::codes::Code;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::names::meant;
use crate::lang::relate::{Fit, can_be_equal, can_be_ordered, fit};
use crate::lang::syntax::{BinaryOp, ExprId, ExprKind, Name, Span, UnaryOp};
use crate::lang::types::Type;
use std::sync::Arc;

/// The type of an arithmetic operation; nothing where it can never succeed.
pub(super) fn arithmetic(op: BinaryOp, left: &Type, right: &Type) -> Option<Type> {
    use BinaryOp::{Add, Subtract};
    Some(match (left, right) {
        (Type::Int, Type::Int) => Type::Int,
        (Type::Int | Type::Float, Type::Int | Type::Float) => Type::Float,
        (Type::Time, Type::Duration) if matches!(op, Add | Subtract) => Type::Time,
        (Type::Time, Type::Time) if op == Subtract => Type::Duration,
        (Type::Unknown, Type::Unknown) => Type::Unknown,
        (left, right) if left.is_loose() && right.is_loose() => Type::Any,
        (loose, Type::Float) | (Type::Float, loose) if loose.is_loose() => Type::Float,
        (Type::Any, Type::Int) | (Type::Int, Type::Any) => Type::Any,
        (Type::Unknown, Type::Int) | (Type::Int, Type::Unknown) => Type::Int,
        (loose, Type::Duration) if loose.is_loose() && matches!(op, Add | Subtract) => Type::Time,
        (loose, Type::Time) if loose.is_loose() && op == Subtract => Type::Duration,
        (Type::Time, loose) if loose.is_loose() && op == Add => Type::Time,
        (Type::Time, loose) if loose.is_loose() && op == Subtract => loose.clone(),
        _ => return None,
    })
}

impl Elaborator<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, value: Value, span: Span) -> Value {
        let value = match op {
            UnaryOp::Not => self.want(value, &Type::Bool, "the operand of `!`"),
            UnaryOp::Negate if value.ty.is_number() || value.ty.is_loose() => value,
            UnaryOp::Negate => {
                let error = Diagnostic::new(Code::CLASH, value.span, format!("`-` goes with numbers, but this is {}", value.ty));
                self.error(error.label(format!("this is {}", value.ty)));
                return self.bad(span);
            }
        };
        let ty = if op == UnaryOp::Not { Type::Bool } else { value.ty };
        self.add(Op::Unary(op, value.node), ty, span)
    }

    pub(super) fn binary(&mut self, (op, place): (BinaryOp, Span), left: Value, right: ExprId, env: &Env) -> Value {
        let what = format!("an operand of `{}`", op.symbol());
        let (left, right, ty) = match op {
            BinaryOp::Concat | BinaryOp::And | BinaryOp::Or | BinaryOp::Implies => {
                let ty = if op == BinaryOp::Concat { Type::Str } else { Type::Bool };
                let left = self.want(left, &ty, &what);
                let right = self.expr(right, env, &ty);
                let right = self.want(right, &ty, &what);
                (left, right, ty)
            }
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let right = self.expr(right, env, &left.ty);
                let function = self.no_function(&left, "compared") || self.no_function(&right, "compared");
                if !function && !can_be_equal(&left.ty, &right.ty) {
                    self.clash(op, place, &left, &right);
                }
                (left, right, Type::Bool)
            }
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                let right = self.expr(right, env, &Type::Unknown);
                if !can_be_ordered(&left.ty, &right.ty) {
                    self.clash(op, place, &left, &right);
                }
                (left, right, Type::Bool)
            }
            _ => {
                let right = self.expr(right, env, &Type::Unknown);
                let ty = arithmetic(op, &left.ty, &right.ty);
                if ty.is_none() {
                    self.clash(op, place, &left, &right);
                }
                (left, right, ty.unwrap_or(Type::Any))
            }
        };
        let span = left.span.to(right.span);
        self.add(Op::Binary(op, left.node, right.node), ty, span)
    }

    fn clash(&mut self, op: BinaryOp, place: Span, left: &Value, right: &Value) {
        let symbol = op.symbol();
        let hint = match op {
            BinaryOp::Add if left.ty == Type::Str || right.ty == Type::Str => {
                Some("texts are joined with `++`, other values after `Str.of(…)`")
            }
            BinaryOp::Add | BinaryOp::Subtract if right.ty == Type::Time => Some("the Time comes first: `t + 5m`"),
            _ if left.ty == Type::Duration || right.ty == Type::Duration => Some("`Duration.seconds(…)` gives a number to compute with"),
            BinaryOp::Equal | BinaryOp::NotEqual => Some("values of these types are never equal"),
            _ if left.ty == Type::Str || right.ty == Type::Str => Some("`Int.parse(…)` or `Float.parse(…)` reads a number from a text"),
            _ => None,
        };
        let error = Diagnostic::new(Code::CLASH, place, format!("`{symbol}` does not go with {} and {}", left.ty, right.ty));
        let error = error.other(left.span, format!("this is {}", left.ty)).other(right.span, format!("this is {}", right.ty));
        self.error(error.maybe_hint(hint.map(str::to_owned)));
    }

    /// `if`, with all `else if` that follow.
    pub(super) fn branches(&mut self, id: ExprId, env: &Env, expected: &Type) -> Value {
        let (mut at, mut chain, mut values) = (id, Vec::new(), Vec::new());
        while let ExprKind::If([condition, then, other]) = self.root.expr(at).kind {
            let condition = self.expr(condition, env, &Type::Bool);
            let condition = self.want(condition, &Type::Bool, "the condition of `if`");
            values.push(self.expr(then, env, expected));
            chain.push((condition, self.root.expr(at).span));
            at = other;
        }
        values.push(self.expr(at, env, expected));
        let (mut values, ty) = self.meet(values, expected, "the branches of `if`");
        let Some(mut value) = values.pop() else { return self.bad(self.root.expr(id).span) };
        while let (Some((condition, span)), Some(then)) = (chain.pop(), values.pop()) {
            value = self.add(Op::If(condition.node, then.node, value.node), ty.clone(), span);
        }
        value
    }

    /// What stands in a collection: no functions.
    fn part(&mut self, id: ExprId, env: &Env, expected: &Type) -> Value {
        let value = self.expr(id, env, expected);
        if self.no_function(&value, "collected") { self.bad(value.span) } else { value }
    }

    /// The same, of the expected type where it fits.
    fn fitting_part(&mut self, id: ExprId, env: &Env, expected: &Type) -> Value {
        let value = self.part(id, env, expected);
        if fit(&value.ty, expected) == Fit::Cast { self.cast(value, expected) } else { value }
    }

    pub(super) fn tuple(&mut self, items: &[ExprId], env: &Env, expected: &Type, span: Span) -> Value {
        let parts = if let Type::Tuple(parts) = expected { Some(parts) } else { None };
        let part = |at: usize| parts.and_then(|parts| parts.get(at)).unwrap_or(&Type::Unknown);
        let values: Vec<Value> = items.iter().enumerate().map(|(at, id)| self.fitting_part(*id, env, part(at))).collect();
        let ty = Type::Tuple(values.iter().map(|value| value.ty.clone()).collect());
        self.add(Op::Tuple(values.iter().map(|value| value.node).collect()), ty, span)
    }

    pub(super) fn list(&mut self, items: &[ExprId], env: &Env, expected: &Type, span: Span) -> Value {
        let element = if let Type::List(of) = expected { of } else { &Type::Unknown };
        let values = items.iter().map(|id| self.part(*id, env, element)).collect();
        let (values, ty) = self.meet(values, element, "the elements of a list");
        self.add(Op::List(values.iter().map(|value| value.node).collect()), Type::list(ty), span)
    }

    pub(super) fn map(&mut self, entries: &[(Name, ExprId)], env: &Env, expected: &Type, span: Span) -> Value {
        let element = if let Type::Map(of) = expected { of } else { &Type::Unknown };
        let values = entries.iter().map(|(_, id)| self.part(*id, env, element)).collect();
        let (values, ty) = self.meet(values, element, "the values of a map");
        let entries = entries.iter().zip(&values).map(|((name, _), value)| (Arc::clone(&name.text), value.node));
        self.add(Op::Map(entries.collect()), Type::map(ty), span)
    }

    pub(super) fn structure(&mut self, entries: &[(Name, ExprId)], env: &Env, expected: &Type, span: Span) -> Value {
        let wish = |name: &str| if let Type::Struct(of) = expected { of.field(name) } else { None };
        let (mut nodes, mut types) = (Vec::new(), Vec::new());
        for (name, id) in entries {
            let value = self.fitting_part(*id, env, wish(&name.text).unwrap_or(&Type::Unknown));
            nodes.push((Arc::clone(&name.text), value.node));
            types.push((Arc::clone(&name.text), value.ty));
        }
        self.add(Op::Struct(nodes), Type::structure(types, false), span)
    }

    pub(super) fn field(&mut self, value: &Value, name: &Name, span: Span) -> Value {
        let ty = match &value.ty {
            ty if ty.is_loose() => ty.clone(),
            Type::Struct(of) => match of.field(&name.text) {
                Some(ty) => ty.clone(),
                None if of.open => Type::Any,
                None => {
                    let known: Vec<&str> = of.fields.iter().map(|(name, _)| &**name).collect();
                    let hint = meant(&name.text, known.iter().copied()).filter(|_| self.errors.are_few());
                    let few: Vec<String> = known.iter().take(8).map(|name| format!("`{name}`")).collect();
                    let hint = hint.unwrap_or_else(|| format!("its fields are {}", few.join(", ")));
                    let error = Diagnostic::new(Code::NO_FIELD, name.span, format!("there is no field `{}` in {}", name.text, value.ty));
                    self.error(error.other(value.span, "of this").hint(hint));
                    return self.bad(span);
                }
            },
            ty => {
                let hint = if let Type::Map(_) = ty { format!("write `Map.get(m, \"{}\")`", name.text) } else { String::new() };
                let error = Diagnostic::new(Code::CLASH, value.span, format!("only a Struct has fields, but this is {ty}"));
                let error = error.label(format!("this is {ty}")).other(name.span, "the field");
                self.error(error.maybe_hint(Some(hint).filter(|hint| !hint.is_empty())));
                return self.bad(span);
            }
        };
        self.add(Op::Field(value.node, Arc::clone(&name.text)), ty, span)
    }

    pub(super) fn item(&mut self, value: &Value, (index, place): (u32, Span), span: Span) -> Value {
        let ty = match &value.ty {
            ty if ty.is_loose() => ty.clone(),
            Type::Tuple(items) => {
                let Some(ty) = items.get(index as usize) else {
                    let error = Diagnostic::new(Code::NO_FIELD, place, format!("a tuple of {} has no place {index}", items.len()));
                    self.error(error.other(value.span, format!("this is {}", value.ty)).hint("places are counted from 0"));
                    return self.bad(span);
                };
                ty.clone()
            }
            ty => {
                let hint = if let Type::List(_) = ty { "write `List.get(l, 0)`" } else { "" };
                let error = Diagnostic::new(Code::CLASH, value.span, format!("only a tuple has numbered places, but this is {ty}"));
                let error = error.label(format!("this is {ty}")).maybe_hint(Some(hint.to_owned()).filter(|hint| !hint.is_empty()));
                self.error(error);
                return self.bad(span);
            }
        };
        self.add(Op::Item(value.node, index), ty, span)
    }
}
