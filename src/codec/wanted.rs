//! Types as the reader wants them: made once, followed for each value.
//!
//! Owns: which types a record can hold a value of, and how messages name them.
//! May not: read.

use crate::dataflow::value::Shape;
use crate::lang::types::{StructType, Type};
use std::sync::Arc;

/// What a value must be.
#[derive(Debug)]
pub(super) enum Wanted {
    Any,
    Unit,
    Bool,
    Int,
    Float,
    Str,
    Time,
    Duration,
    List(Box<Self>),
    Map(Box<Self>),
    Tuple(Box<[Self]>),
    Struct(Box<Fields>),
}

/// What a struct must have.
#[derive(Debug)]
pub(super) struct Fields {
    /// The declared names.
    pub(super) shape: Arc<Shape>,
    /// What each of them must be, in their order.
    pub(super) wanted: Box<[Wanted]>,
    /// Whether others are kept.
    pub(super) open: bool,
}

impl Wanted {
    /// What a type wants. None of a type with a function in it.
    pub(super) fn of(ty: &Type) -> Option<Self> {
        Some(match ty {
            Type::Any | Type::Unknown => Self::Any,
            Type::Unit => Self::Unit,
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Float => Self::Float,
            Type::Str => Self::Str,
            Type::Time => Self::Time,
            Type::Duration => Self::Duration,
            Type::List(of) => Self::List(Box::new(Self::of(of)?)),
            Type::Map(of) => Self::Map(Box::new(Self::of(of)?)),
            Type::Tuple(items) => Self::Tuple(items.iter().map(Self::of).collect::<Option<_>>()?),
            Type::Struct(of) => Self::Struct(Box::new(Fields::of(of)?)),
            Type::Function(_) => return None,
        })
    }

    /// As a message names it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Any => "a value".to_owned(),
            Self::Unit => "Unit (`[]`)".to_owned(),
            Self::Bool => "Bool".to_owned(),
            Self::Int => "Int".to_owned(),
            Self::Float => "Float".to_owned(),
            Self::Str => "Str".to_owned(),
            Self::Time => "Time (an RFC 3339 text or epoch milliseconds)".to_owned(),
            Self::Duration => "Duration (a text such as `1h30m`, or seconds)".to_owned(),
            Self::List(_) => "List (an array)".to_owned(),
            Self::Map(_) => "Map (an object)".to_owned(),
            Self::Tuple(items) => format!("a tuple (an array of {})", items.len()),
            Self::Struct(_) => "Struct (an object)".to_owned(),
        }
    }
}

impl Fields {
    fn of(ty: &StructType) -> Option<Self> {
        let wanted = ty.fields.iter().map(|(_, ty)| Wanted::of(ty)).collect::<Option<_>>()?;
        Some(Self { shape: Shape::new(ty.fields.iter().map(|(name, _)| Arc::clone(name))), wanted, open: ty.open })
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;
    use crate::lang::types::Type;

    #[test]
    fn no_record_holds_a_function_however_deep_its_type_hides() {
        let function = Type::function(Type::Int, Type::Int);
        for ty in [function.clone(), Type::list(function.clone()), Type::structure(vec![("f".into(), Type::map(function))], true)] {
            assert!(Wanted::of(&ty).is_none(), "{ty}");
        }
        assert!(Wanted::of(&Type::list(Type::Any)).is_some());
    }
}
