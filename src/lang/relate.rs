//! How types relate: what fits where, what two become that meet, what can be equal.
//!
//! Owns: the rules of gradual typing. `Any` goes with everything and is checked when it runs; an `Int` becomes a `Float`
//! by itself, but never inside a list, map, tuple or struct that is already there.
//! May not: know expressions.

use super::types::{FunctionType, StructType, Type};
use std::sync::Arc;

/// How a value of one type fits where another is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// As it is.
    Same,
    /// Through a conversion or a check at run time.
    Cast,
    /// Never.
    Clash,
}

/// How a value of type `from` fits where `to` is wanted.
pub(super) fn fit(from: &Type, to: &Type) -> Fit {
    match (from, to) {
        (Type::Int, Type::Float) => Fit::Cast,
        _ => fit_part(from, to),
    }
}

/// The same inside a value that is already there.
fn fit_part(from: &Type, to: &Type) -> Fit {
    match (from, to) {
        (Type::Unknown, _) | (_, Type::Any | Type::Unknown) => Fit::Same,
        (Type::Any, _) => Fit::Cast,
        (Type::List(from), Type::List(to)) | (Type::Map(from), Type::Map(to)) => fit_part(from, to),
        (Type::Tuple(from), Type::Tuple(to)) if from.len() == to.len() => {
            from.iter().zip(to.iter()).map(|(from, to)| fit_part(from, to)).max().unwrap_or(Fit::Same)
        }
        (Type::Struct(from), Type::Struct(to)) => fit_struct(from, to),
        (Type::Function(from), Type::Function(to)) => fit_function(from, to),
        _ if from == to => Fit::Same,
        _ => Fit::Clash,
    }
}

fn fit_struct(from: &StructType, to: &StructType) -> Fit {
    let wanted = to.fields.iter().map(|(name, ty)| match from.field(name) {
        Some(has) => fit_part(has, ty),
        None if from.open => Fit::Cast,
        None => Fit::Clash,
    });
    let surplus = if to.open || from.fields.iter().all(|(name, _)| to.field(name).is_some()) {
        if from.open && !to.open { Fit::Cast } else { Fit::Same }
    } else {
        Fit::Clash
    };
    wanted.max().unwrap_or(Fit::Same).max(surplus)
}

/// Arguments and results of calls at run time are cast where the call stands, so a function itself needs no cast.
fn fit_function(from: &FunctionType, to: &FunctionType) -> Fit {
    let worst = fit(&to.parameter, &from.parameter).max(fit(&from.result, &to.result));
    if worst == Fit::Clash { Fit::Clash } else { Fit::Same }
}

/// What two types become where they meet: in branches, elements, a fallback. Nothing if they clash.
pub(super) fn join(one: &Type, other: &Type) -> Option<Type> {
    match (one, other) {
        (Type::Int, Type::Float) | (Type::Float, Type::Int) => Some(Type::Float),
        _ => join_part(one, other),
    }
}

fn join_part(one: &Type, other: &Type) -> Option<Type> {
    Some(match (one, other) {
        (Type::Unknown, ty) | (ty, Type::Unknown) => ty.clone(),
        (Type::Any, _) | (_, Type::Any) => Type::Any,
        (Type::List(one), Type::List(other)) => Type::list(join_part(one, other)?),
        (Type::Map(one), Type::Map(other)) => Type::map(join_part(one, other)?),
        (Type::Tuple(one), Type::Tuple(other)) if one.len() == other.len() => {
            let items: Option<Vec<_>> = one.iter().zip(other.iter()).map(|(one, other)| join_part(one, other)).collect();
            Type::Tuple(items?.into())
        }
        (Type::Struct(one), Type::Struct(other)) => join_struct(one, other)?,
        (Type::Function(one), Type::Function(other)) => {
            let parameter = match (&one.parameter, &other.parameter) {
                (loose, ty) | (ty, loose) if loose.is_loose() => ty.clone(),
                (one, other) => join_part(one, other)?,
            };
            Type::function(parameter, join_part(&one.result, &other.result)?)
        }
        _ if one == other => one.clone(),
        _ => return None,
    })
}

fn join_struct(one: &StructType, other: &StructType) -> Option<Type> {
    let mut fields = Vec::new();
    for (name, ty) in &one.fields {
        match other.field(name) {
            Some(has) => fields.push((Arc::clone(name), join_part(ty, has)?)),
            None if one.open || other.open => {}
            None => return None,
        }
    }
    let open = one.open || other.open;
    let surplus = other.fields.iter().any(|(name, _)| one.field(name).is_none());
    if surplus && !open { None } else { Some(Type::Struct(Arc::new(StructType { fields, open }))) }
}

/// Whether values of these types can ever be equal. Numbers compare across `Int` and `Float`, inside collections too.
pub(super) fn can_be_equal(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (one, other) if one.is_loose() || other.is_loose() => true,
        (one, other) if one.is_number() && other.is_number() => true,
        (Type::List(one), Type::List(other)) | (Type::Map(one), Type::Map(other)) => can_be_equal(one, other),
        (Type::Tuple(one), Type::Tuple(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(one, other)| can_be_equal(one, other))
        }
        (Type::Struct(one), Type::Struct(other)) => {
            let lacks = |from: &StructType, to: &StructType| !to.open && from.fields.iter().any(|(name, _)| to.field(name).is_none());
            let equal = |(name, ty): &(Arc<str>, Type)| other.field(name).is_none_or(|has| can_be_equal(ty, has));
            !lacks(one, other) && !lacks(other, one) && one.fields.iter().all(equal)
        }
        _ => one == other,
    }
}

/// Whether values of these types have an order between them.
pub(super) fn can_be_ordered(one: &Type, other: &Type) -> bool {
    let ordered = |ty: &Type| ty.is_loose() || matches!(ty, Type::Int | Type::Float | Type::Bool | Type::Str | Type::Time | Type::Duration);
    ordered(one) && ordered(other) && can_be_equal(one, other)
}

#[cfg(test)]
mod tests {
    use super::{Fit, can_be_equal, can_be_ordered, fit, join};
    use crate::lang::types::Type;

    fn point(open: bool) -> Type {
        Type::structure(vec![("x".into(), Type::Int)], open)
    }

    #[test]
    fn an_int_fits_a_float_but_not_inside_a_list() {
        assert_eq!(fit(&Type::Int, &Type::Float), Fit::Cast);
        assert_eq!(fit(&Type::Float, &Type::Int), Fit::Clash);
        assert_eq!(fit(&Type::list(Type::Int), &Type::list(Type::Float)), Fit::Clash);
        assert_eq!(fit(&Type::list(Type::Any), &Type::list(Type::Float)), Fit::Cast);
        assert_eq!(fit(&Type::list(Type::Unknown), &Type::list(Type::Float)), Fit::Same);
    }

    #[test]
    fn structs_fit_by_their_fields() {
        let wide = Type::structure(vec![("y".into(), Type::Str), ("x".into(), Type::Int)], false);
        assert_eq!(fit(&wide, &point(true)), Fit::Same);
        assert_eq!(fit(&wide, &point(false)), Fit::Clash);
        assert_eq!(fit(&point(true), &point(false)), Fit::Cast);
        assert_eq!(fit(&point(true), &wide), Fit::Cast);
        assert_eq!(join(&wide, &point(true)), Some(point(true)));
        assert_eq!(join(&wide, &point(false)), None);
        assert!(can_be_equal(&wide, &point(true)) && !can_be_equal(&wide, &point(false)));
    }

    #[test]
    fn types_that_meet_become_one() {
        assert_eq!(join(&Type::Int, &Type::Float), Some(Type::Float));
        assert_eq!(join(&Type::Unknown, &Type::Int), Some(Type::Int));
        assert_eq!(join(&Type::Any, &Type::Int), Some(Type::Any));
        assert_eq!(join(&Type::list(Type::Unknown), &Type::list(Type::Int)), Some(Type::list(Type::Int)));
        assert_eq!(join(&Type::list(Type::Int), &Type::list(Type::Float)), None);
        assert!(can_be_equal(&Type::list(Type::Int), &Type::list(Type::Float)));
        assert!(!can_be_equal(&Type::Int, &Type::Str) && !can_be_ordered(&Type::Unit, &Type::Unit));
        assert!(can_be_ordered(&Type::Int, &Type::Any) && !can_be_ordered(&Type::Bool, &Type::Int));
    }
}
