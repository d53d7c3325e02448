//! What parameters stand for, and functions that are known at compile time.

use super::body::Value;
use crate::lang::syntax::ExprId;
use crate::lang::types::Type;
use std::rc::Rc;
use std::sync::Arc;

/// The parameters in scope.
#[derive(Clone, Default)]
pub(super) struct Env {
    scope: Option<Rc<Scope>>,
    /// Whether it is the scope of a function that is being expanded: streams are held there.
    pub(super) inside: bool,
}

struct Scope {
    name: Arc<str>,
    binding: Binding,
    parent: Option<Rc<Scope>>,
}

/// What a parameter stands for.
#[derive(Clone)]
pub(super) enum Binding {
    /// A node of the body at this level.
    Value(usize, Value),
    /// A function that is known at compile time.
    Known(Known),
}

/// A lambda, with what its free parameters stand for.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) lambda: ExprId,
    /// The first parameter that has no argument yet.
    pub(super) first: usize,
    pub(super) env: Env,
    /// Types that were declared for what is left of it.
    pub(super) declared: Vec<Type>,
}

/// An argument.
#[derive(Clone)]
pub(super) enum Arg {
    /// To be worked out in its own scope.
    Expr(ExprId, Env),
    /// A value of the innermost body.
    Value(Value),
}

/// What happens to a known function.
pub(super) enum Step {
    /// It is called.
    Arg(Arg),
    /// It is declared to have this type.
    Declared(Type),
}

/// What is left of a call.
pub(super) enum Applied {
    /// Its result.
    Value(Value),
    /// Further arguments are missing.
    Known(Known),
}

impl Env {
    /// What a name stands for, if it is a parameter's.
    pub(super) fn find(&self, name: &str) -> Option<&Binding> {
        let mut at = self.scope.as_ref();
        while let Some(scope) = at {
            if *scope.name == *name {
                return Some(&scope.binding);
            }
            at = scope.parent.as_ref();
        }
        None
    }

    /// With one more parameter.
    pub(super) fn with(&self, name: &Arc<str>, binding: Binding) -> Self {
        let scope = Scope { name: Arc::clone(name), binding, parent: self.scope.clone() };
        Self { scope: Some(Rc::new(scope)), inside: self.inside }
    }

    /// The same inside an expanded function.
    pub(super) fn entered(&self) -> Self {
        Self { scope: self.scope.clone(), inside: true }
    }
}

/// Long scopes are dropped in a loop.
impl Drop for Scope {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut scope) = next.and_then(Rc::into_inner) {
            next = scope.parent.take();
        }
    }
}
