//! Delays, windows, and texts that arrive at run time.

use super::body::Value;
use super::builtin::kind_clash;
use super::elaborate::Elaborator;
use super::scope::Env;
use crate::lang::builtins::Aggregate;
use crate::lang::checked::{Op, StreamId, TextMode};
use crate::lang::codes::Code;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::syntax::{ExprId, ExprKind, Name, Span, TextWord, Window};
use crate::lang::types::Type;

impl Elaborator<'_> {
    pub(super) fn delay(&mut self, value: Value, ticks: u32, span: Span) -> Value {
        if self.no_function(&value, "delayed") {
            return self.bad(span);
        }
        self.add(Op::Delay { of: value.node, ticks }, value.ty, span)
    }

    pub(super) fn window(&mut self, (aggregate, window): (Aggregate, Window), of: ExprId, env: &Env, span: Span) -> Value {
        let value = self.expr(of, env, &Type::Unknown);
        if self.no_function(&value, "collected") {
            return self.bad(span);
        }
        let numbers = matches!(aggregate, Aggregate::Sum | Aggregate::Mean | Aggregate::Min | Aggregate::Max | Aggregate::Stddev);
        if numbers && !value.ty.is_number() && !value.ty.is_loose() {
            let error = kind_clash("a number", &value.ty, value.span);
            self.error(error.hint(format!("`{}` takes numbers; `count first last distinct` take any values", aggregate.name())));
        }
        let ty = match aggregate {
            Aggregate::Count | Aggregate::Distinct => Type::Int,
            Aggregate::Mean | Aggregate::Stddev => Type::Float,
            _ => value.ty.clone(),
        };
        let reads = if self.bodies.in_function() { Vec::new() } else { self.bodies.undelayed(value.node) };
        self.add(Op::Window { aggregate, of: value.node, window, reads }, ty, span)
    }

    pub(super) fn text(&mut self, id: ExprId, env: &Env) -> Value {
        let root = self.root;
        let expr = root.expr(id);
        let span = expr.span;
        let ExprKind::Text { word, source, ty, scope } = &expr.kind else { return self.bad(span) };
        let Some(scopes) = self.scopes else {
            let error = Diagnostic::new(Code::TEXT_IN_TEXT, span, "a text holds no `dynamic` or `defer`");
            self.error(error.hint("put it into the root, as a stream, and list that"));
            return self.bad(span);
        };
        let source = self.expr(*source, env, &Type::Str);
        let source = self.want(source, &Type::Str, "the text");
        let mut result = ty.map_or(Type::Any, |ty| self.written.resolve(ty, &mut self.errors));
        if result.is_function() {
            let error = Diagnostic::new(Code::FUNCTION_PLACE, span, "a text does not give a function");
            self.error(error.hint("call the function in the text"));
            result = Type::Any;
        }
        let scope = if let Some(names) = scope {
            self.listed(names)
        } else {
            let implied = scopes.get(&id).cloned().unwrap_or_default();
            implied.into_iter().filter(|id| !self.is_function(*id)).collect()
        };
        let mode = if *word == TextWord::Defer { TextMode::Defer } else { TextMode::Dynamic };
        self.add(Op::Text { mode, source: source.node, scope }, result, span)
    }

    fn is_function(&self, id: StreamId) -> bool {
        let template = self.arities.get(id.0 as usize).is_some_and(|arity| *arity > 0);
        template || self.types.get(id.0 as usize).is_some_and(Type::is_function)
    }

    fn listed(&mut self, names: &[Name]) -> Vec<StreamId> {
        let mut scope = Vec::new();
        for name in names {
            let Some(id) = self.streams.find(&name.text) else { continue };
            if self.is_function(id) {
                let message = format!("`{}` is a function, which no text can read", name.text);
                self.error(Diagnostic::new(Code::OWN_TEXT, name.span, message).hint("list what it gives, as an `aux` stream"));
            } else {
                scope.push(id);
            }
        }
        scope.sort_unstable();
        scope.dedup();
        scope
    }
}
