//! Functions: expansion of those that are known at compile time, closures of the others, `fix`, calls at run time.

use super::body::{TooMuch, Value};
use super::elaborate::{Elaborator, MAX_CALLS};
use super::scope::{Applied, Arg, Binding, Env, Known, Step};
use crate::lang::checked::{Closure, Op};
use crate::lang::codes::Code;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::syntax::{ExprId, ExprKind, Param, Span};
use crate::lang::types::Type;

impl Elaborator<'_> {
    /// How many arguments an expression takes whose function is known at compile time.
    pub(super) fn arity(&self, id: ExprId, env: &Env) -> usize {
        let (mut at, mut given) = (id, 0);
        loop {
            match &self.root.expr(at).kind {
                ExprKind::Paren(inner) => at = *inner,
                ExprKind::Call { function, arguments } => (at, given) = (*function, given + arguments.len()),
                ExprKind::Lambda { .. } => return self.parameters(at).saturating_sub(given),
                ExprKind::Name(name) => {
                    let takes = match env.find(name) {
                        Some(Binding::Known(known)) => self.parameters(known.lambda).saturating_sub(known.first),
                        Some(Binding::Value(..)) => 0,
                        None => self.streams.find(name).and_then(|id| self.arities.get(id.0 as usize)).copied().unwrap_or(0),
                    };
                    return takes.saturating_sub(given);
                }
                _ => return 0,
            }
        }
    }

    /// How many parameters a lambda has, with those of the lambda that is its body.
    fn parameters(&self, lambda: ExprId) -> usize {
        let (mut at, mut count) = (lambda, 0);
        loop {
            match &self.root.expr(at).kind {
                ExprKind::Paren(inner) => at = *inner,
                ExprKind::Lambda { params, body } => (at, count) = (*body, count + params.len()),
                _ => return count,
            }
        }
    }

    /// The function, where it is known at compile time, and what happens to it.
    pub(super) fn known(&mut self, id: ExprId, env: &Env) -> Option<(Known, Vec<Step>)> {
        if self.arity(id, env) == 0 {
            return None;
        }
        let (mut at, mut env, mut steps) = (id, env.clone(), Vec::new());
        loop {
            let root = self.root;
            match &root.expr(at).kind {
                ExprKind::Paren(inner) => at = *inner,
                ExprKind::Call { function, arguments } => {
                    steps.extend(arguments.iter().rev().map(|arg| Step::Arg(Arg::Expr(*arg, env.clone()))));
                    at = *function;
                }
                ExprKind::Lambda { .. } => {
                    steps.reverse();
                    return Some((Known { lambda: at, first: 0, env, declared: Vec::new() }, steps));
                }
                ExprKind::Name(name) => {
                    if let Some(Binding::Known(known)) = env.find(name) {
                        steps.reverse();
                        return Some((known.clone(), steps));
                    }
                    let stream = self.streams.find(name).and_then(|id| self.streams.get(id))?;
                    steps.extend(stream.ty.iter().filter(|ty| ty.is_function()).cloned().map(Step::Declared));
                    (at, env) = (stream.value?, Env::default().entered());
                }
                _ => return None,
            }
            self.burn(1);
        }
    }

    fn param(&self, known: &Known) -> Option<&Param> {
        match &self.root.expr(known.lambda).kind {
            ExprKind::Lambda { params, .. } => params.get(known.first),
            _ => None,
        }
    }

    /// The written type of the next parameter.
    fn written(&mut self, known: &Known) -> Option<Type> {
        let ty = self.param(known)?.ty?;
        Some(self.written.resolve(ty, &mut self.errors))
    }

    /// What a known function gives, as a value: a function where arguments are missing.
    pub(super) fn applied(&mut self, known: Known, steps: Vec<Step>, expected: &Type, span: Span) -> Value {
        match self.apply(known, steps, expected, span) {
            Applied::Value(value) => Value { span, ..value },
            Applied::Known(known) => self.closure(known, expected, true, span),
        }
    }

    /// Calls a known function.
    pub(super) fn apply(&mut self, mut known: Known, steps: Vec<Step>, expected: &Type, span: Span) -> Applied {
        let mut steps = std::collections::VecDeque::from(steps);
        while let Some(step) = steps.pop_front() {
            let arg = match step {
                Step::Declared(ty) => {
                    known.declared.push(ty);
                    continue;
                }
                Step::Arg(arg) => arg,
            };
            known = self.bind(known, arg);
            if self.param(&known).is_some() {
                continue;
            }
            let ExprKind::Lambda { body, .. } = self.root.expr(known.lambda).kind else { break };
            let env = known.env.entered();
            let Some((next, inner)) = self.known(body, &env) else {
                return Applied::Value(self.result((body, env, known.declared), steps.into(), expected, span));
            };
            let declared = known.declared.into_iter().map(Step::Declared);
            for step in inner.into_iter().chain(declared).rev() {
                steps.push_front(step);
            }
            known = next;
            if !self.burn(1) {
                return Applied::Value(self.too_much(span));
            }
        }
        Applied::Known(known)
    }

    /// The body of a function that has all its arguments, and calls of what it gives.
    fn result(&mut self, (body, env, declared): (ExprId, Env, Vec<Type>), rest: Vec<Step>, expected: &Type, span: Span) -> Value {
        if self.calls.len() >= MAX_CALLS {
            return self.too_much(span);
        }
        self.calls.push(span);
        let wish = declared.first().unwrap_or(if rest.is_empty() { expected } else { &Type::Unknown }).clone();
        let mut value = self.expr(body, &env, &wish);
        for ty in &declared {
            value = self.want(value, ty, "the result of the function");
            value.ty.clone_from(ty);
        }
        self.calls.pop();
        for step in rest {
            value = match step {
                Step::Arg(arg) => self.call_value(&value, arg, span),
                Step::Declared(ty) => self.want(value, &ty, "the function"),
            };
        }
        value
    }

    /// Gives the next parameter its argument.
    fn bind(&mut self, mut known: Known, arg: Arg) -> Known {
        let written = self.written(&known);
        let Some(param) = self.param(&known).cloned() else { return known };
        let mut wanted: Vec<Type> = Vec::new();
        for ty in known.declared.iter().rev() {
            wanted.extend(if let Type::Function(of) = ty { Some(of.parameter.clone()) } else { None });
        }
        wanted.extend(written);
        let results = known.declared.iter().filter_map(|ty| if let Type::Function(of) = ty { Some(of.result.clone()) } else { None });
        known.declared = results.collect();
        let binding = self.argument(arg, &wanted, &param);
        known.env = known.env.with(&param.name.text, binding);
        known.first += 1;
        known
    }

    fn argument(&mut self, arg: Arg, wanted: &[Type], param: &Param) -> Binding {
        let what = format!("the parameter `{}`", param.name.text);
        let expected = wanted.first().unwrap_or(&Type::Unknown);
        let takes_function = wanted.iter().all(|ty| ty.is_loose() || ty.is_function());
        let mut value = match arg {
            Arg::Expr(id, env) => {
                if let Some((known, steps)) = self.known(id, &env).filter(|_| takes_function) {
                    let span = self.root.expr(id).span;
                    match self.apply(known, steps, expected, span) {
                        Applied::Known(mut known) => {
                            known.declared.extend(wanted.iter().filter(|ty| ty.is_function()).cloned());
                            return Binding::Known(known);
                        }
                        Applied::Value(value) => value,
                    }
                } else {
                    let value = self.expr(id, &env, expected);
                    self.hold(value)
                }
            }
            Arg::Value(value) => Value { span: param.name.span, ..value },
        };
        for ty in wanted {
            value = self.want(value, ty, &what);
            value.ty.clone_from(ty);
        }
        Binding::Value(self.bodies.level(), value)
    }

    /// The operand place of an argument of an expanded call.
    fn hold(&mut self, value: Value) -> Value {
        let plain = matches!(self.bodies.op(value.node), Some(Op::Const(_) | Op::Hold(_) | Op::Closure(_) | Op::Fix(_)));
        if plain || self.bodies.in_function() {
            return value;
        }
        let Value { node, ty, span } = value;
        self.add(Op::Hold(node), ty, span)
    }

    /// A known function as a value. Where it is `opaque`, nobody can expand it any more, so it holds no state.
    pub(super) fn closure(&mut self, known: Known, expected: &Type, opaque: bool, span: Span) -> Value {
        let expected = if let Type::Function(of) = expected { Some(of) } else { None };
        let declared = known.declared.last().and_then(|ty| if let Type::Function(of) = ty { Some(of.parameter.clone()) } else { None });
        let written = self.written(&known);
        let parameter = declared.or(written).or(expected.map(|of| of.parameter.clone())).unwrap_or(Type::Any).settled();
        let wish = expected.map_or(Type::Unknown, |of| of.result.clone());
        if self.bodies.level() > MAX_CALLS {
            return self.too_much(span);
        }
        let place = self.param(&known).map_or(span, |param| param.name.span);
        let steps = self.bodies.enter(std::slice::from_ref(&parameter), place).into_iter().map(|value| Step::Arg(Arg::Value(value)));
        let result = match self.apply(known, steps.collect(), &wish, span) {
            Applied::Value(value) => value,
            Applied::Known(known) => self.closure(known, &wish, opaque, span),
        };
        let closure = self.leave(&result, opaque, span);
        self.add(Op::Closure(closure), Type::function(parameter, result.ty), span)
    }

    /// Closes the body of a function.
    fn leave(&mut self, result: &Value, opaque: bool, span: Span) -> Closure {
        let (closure, state) = self.bodies.leave(result.node);
        if let (true, Some(state)) = (opaque, state) {
            let error = Diagnostic::new(Code::STATE_IN_FUNCTION, state, "a function that is called when it runs holds no state");
            let error = error.label("this remembers earlier ticks").other(span, "this function is called when it runs");
            self.error(error.hint("compute this in an `aux` stream, and use that in the function"));
        } else {
            self.bodies.has_state(state);
        }
        closure
    }

    /// The function of a list built-in, over these parameters; second: what it gives.
    pub(super) fn callback(&mut self, id: ExprId, env: &Env, parameters: &[Type], expected: &Type) -> (Closure, Type) {
        let span = self.root.expr(id).span;
        let parameters: Vec<Type> = parameters.iter().map(Type::settled).collect();
        let function = self.function(id, env);
        let level = self.bodies.level();
        let values = self.bodies.enter(&parameters, span);
        let mut result = match function {
            Applied::Known(known) => {
                let steps = values.into_iter().map(|value| Step::Arg(Arg::Value(value)));
                self.applied(known, steps.collect(), expected, span)
            }
            Applied::Value(function) => {
                let function = match self.bodies.reach(level, &function) {
                    Ok(function) => function,
                    Err(TooMuch) => self.too_much(span),
                };
                values.into_iter().fold(function, |function, value| self.call_value(&function, Arg::Value(value), span))
            }
        };
        if !expected.is_loose() {
            result = self.want(result, expected, "the result of the function");
        }
        let closure = self.leave(&result, true, span);
        (closure, result.ty)
    }

    /// A function, known or not.
    fn function(&mut self, id: ExprId, env: &Env) -> Applied {
        let span = self.root.expr(id).span;
        match self.known(id, env) {
            Some((known, steps)) => self.apply(known, steps, &Type::Unknown, span),
            None => Applied::Value(self.expr(id, env, &Type::Unknown)),
        }
    }

    /// `fix(f)`.
    pub(super) fn fix(&mut self, id: ExprId, env: &Env, expected: &Type, span: Span) -> Value {
        let function = self.function(id, env);
        let own = match &function {
            Applied::Known(known) => {
                let known = known.clone();
                self.written(&known)
            }
            Applied::Value(value) => {
                if let Type::Function(of) = &value.ty {
                    Some(of.parameter.clone())
                } else {
                    None
                }
            }
        };
        let own = own.or(expected.is_function().then(|| expected.clone())).unwrap_or(Type::Any);
        if !own.is_loose() && !own.is_function() {
            let error = Diagnostic::new(Code::CLASH, span, format!("`fix` gives a function, but its parameter is {own}"));
            self.error(error.hint("the parameter is the function itself: `fix(\\self: (Int -> Int), n -> …)`"));
            return self.bad(span);
        }
        let level = self.bodies.level();
        let place = self.root.expr(id).span;
        let steps = self.bodies.enter(std::slice::from_ref(&own), place);
        let result = match function {
            Applied::Known(known) => {
                self.applied(known, steps.into_iter().map(|value| Step::Arg(Arg::Value(value))).collect(), &own, place)
            }
            Applied::Value(function) => {
                let function = self.bodies.reach(level, &function).unwrap_or(function);
                steps.into_iter().fold(function, |function, value| self.call_value(&function, Arg::Value(value), span))
            }
        };
        let result = if result.ty.is_loose() || result.ty.is_function() {
            self.want(result, &own, "the result of the function")
        } else {
            let error = Diagnostic::new(Code::CLASH, result.span, format!("`fix` gives a function, but this is {}", result.ty));
            self.error(error.hint("write `fix(\\self, n -> …)`, and call it: `fix(…)(x)`"));
            Value { ty: Type::Any, ..result }
        };
        let closure = self.leave(&result, true, place);
        let ty = if own.is_function() { own } else { result.ty };
        self.add(Op::Fix(closure), ty, span)
    }

    /// A call at run time.
    pub(super) fn call_value(&mut self, function: &Value, arg: Arg, span: Span) -> Value {
        let (parameter, result) = match &function.ty {
            Type::Function(of) => (of.parameter.clone(), of.result.clone()),
            ty if ty.is_loose() => (Type::Any, ty.clone()),
            ty => {
                let error = Diagnostic::new(Code::NOT_A_FUNCTION, function.span, format!("{ty} is no function, so it cannot be called"));
                self.error(
                    error.label(format!("this is {ty}")).hint("an operator may be missing before the bracket, or an argument is too much"),
                );
                if let Arg::Expr(id, env) = arg {
                    self.expr(id, &env, &Type::Unknown);
                }
                return self.bad(span);
            }
        };
        let value = match arg {
            Arg::Expr(id, env) => self.expr(id, &env, &parameter),
            Arg::Value(value) => value,
        };
        let value = self.want(value, &parameter, "the argument");
        let called = self.add(Op::Call(function.node, value.node), Type::Any, span);
        if result == Type::Unknown { Value { ty: result, ..called } } else { self.want(called, &result.settled(), "the result") }
    }
}
