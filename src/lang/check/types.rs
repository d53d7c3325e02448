//! Written types become types.

use crate::lang::builtins;
use crate::lang::codes::Code;
use crate::lang::diagnostic::{Diagnostic, Errors};
use crate::lang::names::meant;
use crate::lang::syntax::{Name, Root, Span, TypeId, TypeKind};
use crate::lang::types::Type;
use std::collections::HashMap;

/// The most parts of a function type that is written in one pair of brackets.
const MAX_ARROWS: usize = 64;

/// The types that a root writes, each worked out once.
pub(super) struct Written<'root> {
    root: &'root Root,
    known: HashMap<TypeId, Type>,
}

impl<'root> Written<'root> {
    pub(super) fn new(root: &'root Root) -> Self {
        Self { root, known: HashMap::new() }
    }

    /// The type; `Any` for what is no type, which is reported once.
    pub(super) fn resolve(&mut self, id: TypeId, errors: &mut Errors) -> Type {
        if let Some(ty) = self.known.get(&id) {
            return ty.clone();
        }
        let written = self.root.ty(id);
        let (span, kind) = (written.span, &written.kind);
        let mut ty = match kind {
            TypeKind::Error => Type::Any,
            TypeKind::Name(name) => builtins::simple_type(name).unwrap_or_else(|| unknown(name, span, errors)),
            TypeKind::Of(name, of) => self.container(name, *of, errors),
            TypeKind::Struct { fields, open } => {
                let fields = fields.iter().map(|(name, ty)| (std::sync::Arc::clone(&name.text), self.resolve(*ty, errors)));
                Type::structure(fields.collect(), *open)
            }
            TypeKind::Tuple(items) => Type::Tuple(items.iter().map(|item| self.resolve(*item, errors)).collect()),
            TypeKind::Arrow(types) if types.len() > MAX_ARROWS => {
                errors.push(Diagnostic::new(Code::TYPE_SIZE, span, format!("a function has at most {MAX_ARROWS} parameters")));
                Type::Any
            }
            TypeKind::Arrow(types) => {
                let types: Vec<Type> = types.iter().map(|ty| self.resolve(*ty, errors)).collect();
                types.into_iter().rev().reduce(|result, parameter| Type::function(parameter, result)).unwrap_or(Type::Any)
            }
        };
        if !ty.is_bounded() {
            errors.push(Diagnostic::new(Code::TYPE_SIZE, span, "this type is too large").hint("use `Any` for a part of it"));
            ty = Type::Any;
        } else if !ty.is_function() && ty.collects_functions() {
            errors.push(Diagnostic::new(Code::FUNCTION_PLACE, span, "functions are not collected").hint("collect what they give"));
            ty = Type::Any;
        }
        self.known.insert(id, ty.clone());
        ty
    }

    fn container(&mut self, name: &Name, of: TypeId, errors: &mut Errors) -> Type {
        let of = self.resolve(of, errors);
        match &*name.text {
            "List" => Type::list(of),
            "Map" => Type::map(of),
            "Tuple" => {
                let error = Diagnostic::new(Code::UNKNOWN_TYPE, name.span, "there is no type `Tuple<…>`");
                errors.push(error.hint("the type of a tuple is written `(Int, Str)`"));
                Type::Any
            }
            plain if builtins::simple_type(plain).is_some() => {
                let message = format!("`{plain}` has no parts");
                errors.push(Diagnostic::new(Code::UNKNOWN_TYPE, name.span, message).hint(format!("write `{plain}` alone")));
                Type::Any
            }
            other => unknown(other, name.span, errors),
        }
    }
}

fn unknown(name: &str, span: Span, errors: &mut Errors) -> Type {
    let hint = match name {
        "List" | "Map" => Some(format!("write what it holds: `{name}<Int>`")),
        "Struct" => Some("write its fields: `Struct<id: Str, amount: Float>`".to_owned()),
        _ if errors.are_few() => meant(name, builtins::type_names()),
        _ => None,
    };
    let message =
        if matches!(name, "List" | "Map" | "Struct") { format!("`{name}` alone is no type") } else { format!("there is no type `{name}`") };
    errors.push(Diagnostic::new(Code::UNKNOWN_TYPE, span, message).maybe_hint(hint));
    Type::Any
}
