//! Types of streams and expressions.
//!
//! Owns: what a type is, how it is written, how large it is. How types relate stands in `relate.rs`.
//! May not: know programs.

use std::fmt;
use std::sync::Arc;

/// The most types that one is made of.
const MAX_PARTS: usize = 4_096;
/// The deepest nesting of types in a type.
const MAX_DEPTH: usize = 128;

/// A type. Cheap to clone; equal types are equal however they were written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any kind of value: checked when it runs.
    Any,
    /// Only while checking: nothing is known yet (the element of `[]`). In checked programs it has become [`Type::Any`].
    Unknown,
    /// `()`.
    Unit,
    /// `true` and `false`.
    Bool,
    /// 64 bits, checked.
    Int,
    /// IEEE 754 double.
    Float,
    /// Text.
    Str,
    /// A point in time, UTC, microseconds.
    Time,
    /// A span of time, microseconds.
    Duration,
    /// Elements of one type.
    List(Arc<Type>),
    /// Values of one type under string keys.
    Map(Arc<Type>),
    /// A fixed number of values, at least two.
    Tuple(Arc<[Type]>),
    /// Named fields.
    Struct(Arc<StructType>),
    /// From a parameter to a result; `\a, b -> e` has `(A -> (B -> C))`.
    Function(Arc<FunctionType>),
}

/// The fields of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType {
    /// By name, rising.
    pub fields: Vec<(Arc<str>, Type)>,
    /// Whether further fields are admitted (`...`).
    pub open: bool,
}

/// A function's two ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionType {
    /// What it takes.
    pub parameter: Type,
    /// What it gives.
    pub result: Type,
}

impl StructType {
    /// The type of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Type> {
        self.fields.binary_search_by(|(field, _)| (**field).cmp(name)).ok().and_then(|at| self.fields.get(at)).map(|(_, ty)| ty)
    }
}

impl Type {
    /// A list of these.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map to these.
    #[must_use]
    pub fn map(value: Self) -> Self {
        Self::Map(Arc::new(value))
    }

    /// A function from one to the other.
    #[must_use]
    pub fn function(parameter: Self, result: Self) -> Self {
        Self::Function(Arc::new(FunctionType { parameter, result }))
    }

    /// A struct; the fields may come in any order.
    #[must_use]
    pub fn structure(mut fields: Vec<(Arc<str>, Self)>, open: bool) -> Self {
        fields.sort_by(|one, next| one.0.cmp(&next.0));
        Self::Struct(Arc::new(StructType { fields, open }))
    }

    /// `Int` or `Float`.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    /// `Any`, or not yet known.
    #[must_use]
    pub const fn is_loose(&self) -> bool {
        matches!(self, Self::Any | Self::Unknown)
    }

    /// A function.
    #[must_use]
    pub const fn is_function(&self) -> bool {
        matches!(self, Self::Function(_))
    }

    /// The types it is made of.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::List(of) | Self::Map(of) => vec![of],
            Self::Tuple(items) => items.iter().collect(),
            Self::Struct(of) => of.fields.iter().map(|(_, ty)| ty).collect(),
            Self::Function(of) => vec![&of.parameter, &of.result],
            _ => Vec::new(),
        }
    }

    /// Whether its size and depth are within the bounds.
    pub(super) fn is_bounded(&self) -> bool {
        let mut left = MAX_PARTS;
        let mut open = vec![(self, 1)];
        while let Some((ty, depth)) = open.pop() {
            if left == 0 || depth > MAX_DEPTH {
                return false;
            }
            left -= 1;
            open.extend(ty.parts().into_iter().map(|part| (part, depth + 1)));
        }
        true
    }

    /// Whether `wanted` holds of it or of a part.
    pub(super) fn has(&self, wanted: impl Fn(&Self) -> bool) -> bool {
        let mut open = vec![self];
        while let Some(ty) = open.pop() {
            if wanted(ty) {
                return true;
            }
            open.extend(ty.parts());
        }
        false
    }

    /// Whether a function stands inside a list, map, tuple or struct.
    pub(super) fn collects_functions(&self) -> bool {
        match self {
            Self::Function(of) => of.parameter.collects_functions() || of.result.collects_functions(),
            other => other.parts().into_iter().any(|part| part.has(Self::is_function)),
        }
    }

    /// The same with `Any` where nothing was known.
    pub(super) fn settled(&self) -> Self {
        if self.has(|ty| *ty == Self::Unknown) { self.replaced() } else { self.clone() }
    }

    fn replaced(&self) -> Self {
        match self {
            Self::Unknown => Self::Any,
            Self::List(of) => Self::list(of.replaced()),
            Self::Map(of) => Self::map(of.replaced()),
            Self::Tuple(items) => Self::Tuple(items.iter().map(Self::replaced).collect()),
            Self::Struct(of) => {
                let fields = of.fields.iter().map(|(name, ty)| (Arc::clone(name), ty.replaced())).collect();
                Self::Struct(Arc::new(StructType { fields, open: of.open }))
            }
            Self::Function(of) => Self::function(of.parameter.replaced(), of.result.replaced()),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::Unknown => f.write_str("_"),
            Self::Unit => f.write_str("Unit"),
            Self::Bool => f.write_str("Bool"),
            Self::Int => f.write_str("Int"),
            Self::Float => f.write_str("Float"),
            Self::Str => f.write_str("Str"),
            Self::Time => f.write_str("Time"),
            Self::Duration => f.write_str("Duration"),
            Self::List(of) => write!(f, "List<{of}>"),
            Self::Map(of) => write!(f, "Map<{of}>"),
            Self::Tuple(items) => {
                f.write_str("(")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Self::Struct(of) => {
                f.write_str("Struct<")?;
                for (at, (name, ty)) in of.fields.iter().enumerate() {
                    write!(f, "{}{name}: {ty}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(if of.open { ", ...>" } else { ">" })
            }
            Self::Function(of) => {
                write!(f, "({} -> ", of.parameter)?;
                let mut rest = &of.result;
                while let Self::Function(next) = rest {
                    write!(f, "{} -> ", next.parameter)?;
                    rest = &next.result;
                }
                write!(f, "{rest})")
            }
        }
    }
}
