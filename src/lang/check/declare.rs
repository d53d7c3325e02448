//! Declarations: which streams there are, their equations, their written types.

use super::types::Written;
use crate::lang::MAX_STREAMS;
use crate::lang::checked::{StreamId, StreamKind};
use crate::lang::codes::Code;
use crate::lang::diagnostic::{Diagnostic, Errors};
use crate::lang::names::meant;
use crate::lang::syntax::{ExprId, ExprKind, Item, Name, Root, Span};
use crate::lang::types::Type;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A declared stream.
pub(super) struct Declared {
    pub(super) name: Name,
    pub(super) kind: StreamKind,
    /// The written type.
    pub(super) ty: Option<Type>,
    pub(super) value: Option<ExprId>,
}

/// All declared streams.
#[derive(Default)]
pub(super) struct Streams {
    pub(super) list: Vec<Declared>,
    index: HashMap<Arc<str>, StreamId>,
}

impl Streams {
    pub(super) fn find(&self, name: &str) -> Option<StreamId> {
        self.index.get(name).copied()
    }

    pub(super) fn get(&self, id: StreamId) -> Option<&Declared> {
        self.list.get(id.0 as usize)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|stream| &*stream.name.text)
    }

    fn add(&mut self, declared: Declared) -> Option<&Name> {
        let id = StreamId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        if let Some(first) = self.index.get(&declared.name.text) {
            return self.list.get(first.0 as usize).map(|stream| &stream.name);
        }
        self.index.insert(Arc::clone(&declared.name.text), id);
        self.list.push(declared);
        None
    }

    /// The scope of a text: every stream an input.
    pub(super) fn of_scope(scope: &[(Arc<str>, Type)]) -> Self {
        let mut streams = Self::default();
        for (name, ty) in scope {
            let name = Name { text: Arc::clone(name), span: Span::default() };
            let id = StreamId(u32::try_from(streams.list.len()).unwrap_or(u32::MAX));
            streams.index.entry(Arc::clone(&name.text)).or_insert(id);
            streams.list.push(Declared { name, kind: StreamKind::In, ty: Some(ty.clone()), value: None });
        }
        streams
    }
}

/// Reads the declarations and brings equations to them.
pub(super) fn declare(root: &Root, written: &mut Written<'_>, errors: &mut Errors) -> Streams {
    let mut streams = Streams::default();
    for item in &root.items {
        let Some(kind) = item.kind else { continue };
        if streams.list.len() >= MAX_STREAMS {
            errors.push(Diagnostic::new(Code::TOO_LONG, item.name.span, format!("a root has at most {MAX_STREAMS} streams")));
            break;
        }
        let ty = item.ty.map(|ty| written.resolve(ty, errors));
        if let Some(ty) = &ty {
            misplaced_function(kind, ty, item, errors);
        }
        let declared = Declared { name: item.name.clone(), kind, ty, value: None };
        if let Some(first) = streams.add(declared) {
            let message = format!("`{}` is declared twice", first.text);
            errors.push(Diagnostic::new(Code::DECLARED_TWICE, item.name.span, message).other(first.span, "first declared here"));
        }
    }
    equations(root, &mut streams, errors);
    streams
}

/// Functions do not come from records, nor go to outputs.
fn misplaced_function(kind: StreamKind, ty: &Type, item: &Item, errors: &mut Errors) {
    let word = match kind {
        StreamKind::In => "in",
        StreamKind::Out => "out",
        StreamKind::Aux => return,
    };
    if ty.is_function() {
        errors.push(function_stream(word, &item.name));
    }
}

/// The error of an input or output that is a function.
pub(super) fn function_stream(word: &str, name: &Name) -> Diagnostic {
    let message = format!("`{}` is a function, which cannot be `{word}`", name.text);
    Diagnostic::new(Code::FUNCTION_PLACE, name.span, message).hint("declare it `aux`")
}

fn equations(root: &Root, streams: &mut Streams, errors: &mut Errors) {
    let mut seen: HashSet<&str> = HashSet::new();
    for item in &root.items {
        if item.kind.is_some() && !seen.insert(&item.name.text) {
            continue; // declared twice: reported
        }
        let Some(value) = item.value else { continue };
        let Some(id) = streams.find(&item.name.text) else {
            if item.kind.is_none() {
                let hint = if errors.are_few() { meant(&item.name.text, streams.names()) } else { None };
                let hint = hint.unwrap_or_else(|| format!("declare it: `out {} = …` or `aux {0} = …`", item.name.text));
                let message = format!("`{}` has an equation, but no declaration", item.name.text);
                errors.push(Diagnostic::new(Code::NOT_DECLARED, item.name.span, message).hint(hint));
            }
            continue;
        };
        let Some(stream) = streams.list.get_mut(id.0 as usize) else { continue };
        if stream.kind == StreamKind::In {
            if item.kind.is_some() && root.expr(value).kind == ExprKind::Error {
                continue; // what could not be read was reported
            }
            let message = format!("`{}` is an input, so it has no equation", item.name.text);
            let error = Diagnostic::new(Code::INPUT_WITH_EQUATION, item.name.span, message);
            errors.push(error.other(stream.name.span, "declared here").hint("declare it `out` or `aux`, or remove the equation"));
        } else if stream.value.is_some() {
            let message = format!("`{}` has two equations", item.name.text);
            errors.push(Diagnostic::new(Code::TWO_EQUATIONS, item.name.span, message).other(stream.name.span, "declared here"));
        } else {
            stream.value = Some(value);
        }
    }
    for stream in &streams.list {
        if stream.kind != StreamKind::In && stream.value.is_none() {
            let name = &stream.name.text;
            let message = format!("`{name}` has no equation");
            let hint = format!("add `{name} = …`; a stream that comes from the record is declared `in {name}`");
            errors.push(Diagnostic::new(Code::NO_EQUATION, stream.name.span, message).hint(hint));
        }
    }
}

/// Reports names that stand twice in one list.
pub(super) fn distinct(root: &Root, errors: &mut Errors) {
    for expr in &root.exprs {
        match &expr.kind {
            ExprKind::Struct(entries) => twice("field", entries.iter().map(|(name, _)| name), errors),
            ExprKind::Map(entries) => twice("key", entries.iter().map(|(name, _)| name), errors),
            ExprKind::Lambda { params, .. } => twice("parameter", params.iter().map(|param| &param.name), errors),
            ExprKind::Text { scope: Some(names), .. } => twice("stream", names.iter(), errors),
            _ => {}
        }
    }
    for ty in &root.types {
        if let crate::lang::syntax::TypeKind::Struct { fields, .. } = &ty.kind {
            twice("field", fields.iter().map(|(name, _)| name), errors);
        }
    }
}

fn twice<'name>(what: &str, names: impl Iterator<Item = &'name Name>, errors: &mut Errors) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for name in names {
        if let Some(first) = seen.insert(&name.text, name.span) {
            let message = format!("the {what} `{}` stands twice in one list", name.text.escape_debug());
            errors.push(Diagnostic::new(Code::NAME_TWICE, name.span, message).other(first, "first here"));
        }
    }
}
