//! Values as a type wants them.
//!
//! Owns: the run-time check of what was `Any`, deep; Int to Float where a Float is wanted.
//! May not: convert anything else: no value changes its kind by itself.

use super::numeric::nearest;
use crate::dataflow::value::{Code, Failure, Limits, Text, Value};
use crate::lang::types::{StructType, Type};
use std::sync::Arc;

/// The value as this type: itself where it is of the type, with its Ints as nearest Floats where the type has Floats.
///
/// A struct may have fields that its type does not name only where the type is open. Of a function only that it is one is
/// checked: what it takes and gives is checked by its calls.
///
/// # Errors
/// It is of another kind, or something in it is.
#[inline]
pub fn cast(value: &Value, ty: &Type, limits: Limits) -> Result<Value, Failure> {
    match (value, ty) {
        (Value::Float(_), Type::Float) | (Value::Int(_), Type::Int) | (Value::Bool(_), Type::Bool) => Ok(value.clone()),
        (Value::Int(int), Type::Float) => Ok(Value::float(nearest(*int))),
        _ => Ok(change(value, ty, limits)?.unwrap_or_else(|| value.clone())),
    }
}

/// What it becomes; none where it stays as it is.
fn change(value: &Value, ty: &Type, limits: Limits) -> Result<Option<Value>, Failure> {
    match (value, ty) {
        (_, Type::Any | Type::Unknown)
        | (Value::Unit, Type::Unit)
        | (Value::Bool(_), Type::Bool)
        | (Value::Int(_), Type::Int)
        | (Value::Float(_), Type::Float)
        | (Value::Str(_), Type::Str)
        | (Value::Time(_), Type::Time)
        | (Value::Duration(_), Type::Duration)
        | (Value::Function(_), Type::Function(_)) => Ok(None),
        (Value::Int(int), Type::Float) => Ok(Some(Value::float(nearest(*int)))),
        (Value::List(of), Type::List(element)) if element.is_loose() || of.items().is_empty() => Ok(None),
        (Value::List(of), Type::List(element)) => {
            let pairs = of.items().iter().map(|item| (item, &**element));
            changes(&pairs, limits)?.map(|items| Value::list(items, limits)).transpose()
        }
        (Value::Tuple(of), Type::Tuple(types)) if of.items().len() == types.len() => {
            let pairs = of.items().iter().zip(types.iter());
            changes(&pairs, limits)?.map(|items| Value::tuple(items, limits)).transpose()
        }
        (Value::Map(of), Type::Map(element)) => {
            let pairs = of.entries().iter().map(|(_, item)| (item, &**element));
            let Some(items) = changes(&pairs, limits)? else { return Ok(None) };
            let keys = of.entries().iter().map(|(key, _)| Text::clone(key));
            Value::map(keys.zip(items).collect(), limits).map(Some)
        }
        (Value::Struct(of), Type::Struct(ty)) => {
            named(value, of.shape().names(), ty)?;
            let pairs = of.shape().names().iter().zip(of.fields()).map(|(name, item)| (item, ty.field(name).unwrap_or(&Type::Any)));
            let Some(items) = changes(&pairs, limits)? else { return Ok(None) };
            Value::structure(Arc::clone(of.shape()), items, limits).map(Some)
        }
        _ => Err(wanted(value, &ty.to_string())),
    }
}

/// What these become; none where all stay.
fn changes<'a>(pairs: &(impl Iterator<Item = (&'a Value, &'a Type)> + Clone), limits: Limits) -> Result<Option<Vec<Value>>, Failure> {
    let mut all = Vec::new();
    for (at, (value, ty)) in pairs.clone().enumerate() {
        let new = change(value, ty, limits)?;
        if all.is_empty()
            && let Some(new) = new
        {
            all.extend(pairs.clone().take(at).map(|(value, _)| value.clone()));
            all.push(new);
        } else if !all.is_empty() {
            all.push(new.unwrap_or_else(|| value.clone()));
        }
    }
    Ok(if all.is_empty() { None } else { Some(all) })
}

/// Whether the names of a struct are those of its type.
fn named(value: &Value, names: &[Arc<str>], ty: &StructType) -> Result<(), Failure> {
    if let Some((missing, _)) = ty.fields.iter().find(|(name, _)| names.binary_search(name).is_err()) {
        return Err(Failure::new(Code::MISSING_FIELD, format!("the struct has no field `{missing}`")).with(&[value]));
    }
    match names.iter().find(|name| !ty.open && ty.field(name).is_none()) {
        Some(surplus) => Err(wanted(value, &format!("a Struct without a field `{surplus}`"))),
        None => Ok(()),
    }
}

#[cold]
fn wanted(value: &Value, what: &str) -> Failure {
    Failure::new(Code::KIND, format!("{what} is wanted here, not {}", value.kind().name())).with(&[value])
}
