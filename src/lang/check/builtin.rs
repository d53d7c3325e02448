//! Built-in functions.

use super::body::Value;
use super::elaborate::Elaborator;
use super::operators::arithmetic;
use super::scope::Env;
use crate::lang::builtins::{Builtin, Function};
use crate::lang::checked::{Op, Pattern};
use crate::lang::codes::Code;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::relate::{Fit, fit, join};
use crate::lang::syntax::{BinaryOp, ExprId, ExprKind, Literal, Span};
use crate::lang::types::Type;

/// The largest compiled regular expression, in bytes.
const MAX_PATTERN: usize = 1 << 20;

impl Elaborator<'_> {
    pub(super) fn builtin(&mut self, builtin: Builtin, (arguments, span): (&[ExprId], Span), env: &Env, expected: &Type) -> Value {
        match (builtin, arguments) {
            (Builtin::Function(function), _) => self.function_of_values(function, (arguments, span), env, expected),
            (Builtin::Fix, [f]) => self.fix(*f, env, expected, span),
            (Builtin::Matches, [text, pattern]) => self.matches(*text, *pattern, env, span),
            (Builtin::ListMap, [f, l]) => {
                let (list, element) = self.list_operand(*l, env, &Type::Unknown);
                let wish = if let Type::List(of) = expected { of } else { &Type::Unknown };
                let (closure, ty) = self.callback(*f, env, &[element], wish);
                let ty = if ty.is_function() { self.collected(*f) } else { ty };
                self.add(Op::ListMap(closure, list.node), Type::list(ty), span)
            }
            (Builtin::ListFilter, [f, l]) => {
                let (list, element) = self.list_operand(*l, env, expected);
                let (closure, _) = self.callback(*f, env, std::slice::from_ref(&element), &Type::Bool);
                self.add(Op::ListFilter(closure, list.node), Type::list(element), span)
            }
            (Builtin::ListFold, [f, a, l]) => self.fold([*f, *a, *l], env, expected, span),
            (Builtin::Default | Builtin::Init | Builtin::Update, [a, b]) => self.either(builtin, ([*a, *b], span), env, expected),
            (Builtin::Latch, [v, t]) => {
                let value = self.expr(*v, env, expected);
                let trigger = self.expr(*t, env, &Type::Unknown);
                self.add(Op::Latch(value.node, trigger.node), value.ty, span)
            }
            (_, [e]) => {
                let value = self.expr(*e, env, &Type::Unknown);
                let node = value.node;
                let op = match builtin {
                    Builtin::IsDefined => Op::IsDefined(node),
                    Builtin::IsPresent => Op::IsPresent(node),
                    Builtin::When => Op::When(node),
                    _ => {
                        self.no_function(&value, "compared");
                        Op::Changed(node)
                    }
                };
                self.add(op, Type::Bool, span)
            }
            _ => self.bad(span),
        }
    }

    fn collected(&mut self, f: ExprId) -> Type {
        let span = self.root.expr(f).span;
        self.error(Diagnostic::new(Code::FUNCTION_PLACE, span, "functions are not collected").hint("let it give what is computed"));
        Type::Any
    }

    /// `default`, `init`, `update`: one of two values.
    fn either(&mut self, builtin: Builtin, ([a, b], span): ([ExprId; 2], Span), env: &Env, expected: &Type) -> Value {
        let first = self.expr(a, env, expected);
        let wish = if expected.is_loose() { first.ty.clone() } else { expected.clone() };
        let second = self.expr(b, env, &wish);
        let what = format!("both arguments of `{}`", builtin.name());
        let (values, ty) = self.meet(vec![first, second], expected, &what);
        let [first, second] = values.as_slice() else { return self.bad(span) };
        let op = match builtin {
            Builtin::Default => Op::Default(first.node, second.node),
            Builtin::Init => Op::Init(first.node, second.node),
            _ => Op::Update(first.node, second.node),
        };
        self.add(op, ty, span)
    }

    /// An operand that is a list; second: its element.
    fn list_operand(&mut self, id: ExprId, env: &Env, expected: &Type) -> (Value, Type) {
        let value = self.expr(id, env, expected);
        let element = match &value.ty {
            Type::List(of) => (**of).clone(),
            ty if ty.is_loose() => ty.clone(),
            ty => {
                self.error(kind_clash("a List", ty, value.span));
                return (Value { ty: Type::Any, ..value }, Type::Any);
            }
        };
        (value, element)
    }

    /// An operand that is a map; second: its values' type.
    fn map_operand(&mut self, id: ExprId, env: &Env, expected: &Type) -> (Value, Type) {
        let value = self.expr(id, env, expected);
        let element = match &value.ty {
            Type::Map(of) => (**of).clone(),
            ty if ty.is_loose() => ty.clone(),
            ty => {
                let error = kind_clash("a Map", ty, value.span);
                self.error(if matches!(ty, Type::Struct(_)) {
                    error.hint("a field of a struct is read with a point: `s.f`")
                } else {
                    error
                });
                return (Value { ty: Type::Any, ..value }, Type::Any);
            }
        };
        (value, element)
    }

    /// `List.fold(f, a, l)`: so far and element go in, so far comes out.
    fn fold(&mut self, [f, a, l]: [ExprId; 3], env: &Env, expected: &Type, span: Span) -> Value {
        let initial = self.expr(a, env, expected);
        let (list, element) = self.list_operand(l, env, &Type::Unknown);
        let mut so_far =
            if !expected.is_loose() && fit(&initial.ty, expected) != Fit::Clash { expected.clone() } else { initial.ty.clone() };
        let quiet = std::mem::replace(&mut self.quiet, true);
        for _ in 0..4 {
            let (level, finished) = (self.bodies.level(), self.bodies.finished.len());
            let (_, given) = self.callback(f, env, &[so_far.clone(), element.clone()], &Type::Unknown);
            self.bodies.rewind(level, finished);
            let next = join(&so_far, &given).unwrap_or_else(|| so_far.clone());
            if next == so_far {
                break;
            }
            so_far = next;
        }
        self.quiet = quiet;
        if quiet {
            // The type is known, and nodes are dropped: walking the function once more would double the work of each level.
            return self.add(Op::Const(Literal::Unit), so_far, span);
        }
        let initial = self.want(initial, &so_far, "the start of `List.fold`");
        let (closure, given) = self.callback(f, env, &[so_far.clone(), element], &so_far);
        let ty = if so_far == Type::Unknown { given } else { so_far };
        let ty = if ty.is_function() { self.collected(f) } else { ty };
        self.add(Op::ListFold(closure, initial.node, list.node), ty, span)
    }

    fn matches(&mut self, text: ExprId, pattern: ExprId, env: &Env, span: Span) -> Value {
        let text = self.expr(text, env, &Type::Str);
        let text = self.want(text, &Type::Str, "the text of `Str.matches`");
        let mut at = pattern;
        while let ExprKind::Paren(inner) = self.root.expr(at).kind {
            at = inner;
        }
        let place = self.root.expr(pattern).span;
        let root = self.root;
        let ExprKind::Literal(Literal::Str(written)) = &root.expr(at).kind else {
            let error = Diagnostic::new(Code::PATTERN, place, "the regular expression of `Str.matches` is a constant text");
            self.error(error.hint("it is compiled once; to look for a text that varies use `Str.contains`"));
            return self.add(Op::Const(Literal::Bool(false)), Type::Bool, span);
        };
        if self.quiet {
            return self.add(Op::Const(Literal::Bool(false)), Type::Bool, span);
        }
        match regex::RegexBuilder::new(written).size_limit(MAX_PATTERN).build() {
            Ok(regex) => self.add(Op::Matches(text.node, Pattern(regex)), Type::Bool, span),
            Err(error) => {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                let error = Diagnostic::new(Code::PATTERN, place, format!("this is no regular expression: {why}"));
                self.error(error.hint("look-around and references to groups are not there; a backslash is written `\\\\`"));
                self.bad(span)
            }
        }
    }

    fn function_of_values(&mut self, function: Function, (arguments, span): (&[ExprId], Span), env: &Env, expected: &Type) -> Value {
        if let Some((types, result)) = function.signature() {
            let what = format!("an argument of `{}`", function.name());
            let mut nodes = Vec::new();
            for (id, ty) in arguments.iter().zip(types) {
                let value = self.expr(*id, env, ty);
                nodes.push(self.want(value, ty, &what).node);
            }
            return self.add(Op::Function(function, nodes), result, span);
        }
        let (values, ty) = match arguments {
            [a] => self.of_one(function, *a, env, expected),
            [a, b] => self.of_two(function, [*a, *b], env, expected),
            [a, b, c] if function == Function::MapInsert => self.insert([*a, *b, *c], env, expected),
            [a, b, c] => return self.get_or(function, [*a, *b, *c], env, (expected, span)),
            _ => (Vec::new(), Type::Any),
        };
        self.add(Op::Function(function, values.iter().map(|value| value.node).collect()), ty, span)
    }

    fn of_one(&mut self, function: Function, a: ExprId, env: &Env, expected: &Type) -> (Vec<Value>, Type) {
        match function {
            Function::ListHead | Function::ListLen => {
                let (list, element) = self.list_operand(a, env, &Type::Unknown);
                (vec![list], if function == Function::ListLen { Type::Int } else { element })
            }
            Function::ListTail => {
                let (list, element) = self.list_operand(a, env, expected);
                (vec![list], Type::list(element))
            }
            Function::MapKeys => (vec![self.map_operand(a, env, &Type::Unknown).0], Type::list(Type::Str)),
            Function::StrOf => {
                let value = self.expr(a, env, &Type::Unknown);
                self.no_function(&value, "made into texts");
                (vec![value], Type::Str)
            }
            _ => {
                let value = self.expr(a, env, &Type::Unknown);
                if !value.ty.is_number() && !value.ty.is_loose() {
                    self.error(kind_clash("a number", &value.ty, value.span));
                }
                let ty = if function == Function::Abs { value.ty.clone() } else { Type::Int };
                (vec![value], ty)
            }
        }
    }

    fn of_two(&mut self, function: Function, [a, b]: [ExprId; 2], env: &Env, expected: &Type) -> (Vec<Value>, Type) {
        match function {
            Function::Min | Function::Max => {
                let (a, b) = (self.expr(a, env, &Type::Unknown), self.expr(b, env, &Type::Unknown));
                let ty = arithmetic(BinaryOp::Multiply, &a.ty, &b.ty);
                if ty.is_none() {
                    let wrong = if a.ty.is_number() || a.ty.is_loose() { &b } else { &a };
                    self.error(kind_clash("a number", &wrong.ty, wrong.span));
                }
                (vec![a, b], ty.unwrap_or(Type::Any))
            }
            Function::ListGet => {
                let (list, element) = self.list_operand(a, env, &Type::Unknown);
                (vec![list, self.index(b, env)], element)
            }
            Function::ListConcat => {
                let (first, _) = self.list_operand(a, env, expected);
                let wish = if expected.is_loose() { first.ty.clone() } else { expected.clone() };
                let (second, _) = self.list_operand(b, env, &wish);
                let (values, ty) = self.meet(vec![first, second], expected, "both lists");
                (values, ty)
            }
            Function::ListAppend => {
                let (list, element) = self.list_operand(a, env, expected);
                let wish = if let Type::List(of) = expected { of } else { &Type::Unknown };
                let (value, ty) = self.element(b, env, &element, wish);
                (vec![list, value], Type::list(ty))
            }
            _ => {
                let (map, element) = self.map_operand(a, env, if function == Function::MapRemove { expected } else { &Type::Unknown });
                let ty = match function {
                    Function::MapHasKey => Type::Bool,
                    Function::MapRemove => Type::map(element),
                    _ => element,
                };
                (vec![map, self.key(b, env)], ty)
            }
        }
    }

    fn insert(&mut self, [a, b, c]: [ExprId; 3], env: &Env, expected: &Type) -> (Vec<Value>, Type) {
        let (map, element) = self.map_operand(a, env, expected);
        let key = self.key(b, env);
        let wish = if let Type::Map(of) = expected { of } else { &Type::Unknown };
        let (value, ty) = self.element(c, env, &element, wish);
        (vec![map, key, value], Type::map(ty))
    }

    /// `List.get` and `Map.get` with a fallback. Where only the fallback is a Float, what is found is cast after.
    fn get_or(&mut self, function: Function, [a, b, c]: [ExprId; 3], env: &Env, (expected, span): (&Type, Span)) -> Value {
        let list = function == Function::ListGet;
        let (whole, element) = if list { self.list_operand(a, env, &Type::Unknown) } else { self.map_operand(a, env, &Type::Unknown) };
        let key = if list { self.index(b, env) } else { self.key(b, env) };
        let wish = if expected.is_loose() { element.clone() } else { expected.clone() };
        let fallback = self.expr(c, env, &wish);
        if self.no_function(&fallback, "collected") {
            return self.bad(span);
        }
        let ty = join(&element, &fallback.ty).unwrap_or_else(|| {
            let message = format!("the fallback must be {element}, but this is {}", fallback.ty);
            self.error(Diagnostic::new(Code::CLASH, fallback.span, message).label(format!("this is {}", fallback.ty)));
            element.clone()
        });
        let fallback = if fit(&fallback.ty, &ty) == Fit::Clash { fallback } else { self.cast(fallback, &ty) };
        let found = if fit(&element, &ty) == Fit::Cast { Type::Any } else { ty.clone() };
        let found = self.add(Op::Function(function, vec![whole.node, key.node, fallback.node]), found, span);
        self.cast(found, &ty)
    }

    /// A value that goes into a collection of `element`.
    fn element(&mut self, id: ExprId, env: &Env, element: &Type, wish: &Type) -> (Value, Type) {
        let known = if *element == Type::Unknown { wish } else { element };
        let value = self.expr(id, env, known);
        if self.no_function(&value, "collected") {
            return (self.bad(value.span), element.clone());
        }
        if *element == Type::Unknown && fit(&value.ty, wish) == Fit::Clash {
            let ty = value.ty.clone();
            return (value, ty);
        }
        let value = self.want(value, known, "what goes in");
        let ty = if *known == Type::Unknown { value.ty.clone() } else { known.clone() };
        (value, ty)
    }

    fn index(&mut self, id: ExprId, env: &Env) -> Value {
        let value = self.expr(id, env, &Type::Int);
        self.want(value, &Type::Int, "the index of a list")
    }

    fn key(&mut self, id: ExprId, env: &Env) -> Value {
        let value = self.expr(id, env, &Type::Str);
        self.want(value, &Type::Str, "the key of a map")
    }
}

/// The error of an operand of the wrong kind.
pub(super) fn kind_clash(wanted: &str, ty: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(Code::CLASH, span, format!("this must be {wanted}, but is {ty}")).label(format!("this is {ty}"))
}
