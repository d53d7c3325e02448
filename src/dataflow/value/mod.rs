//! Values: what cells, rings and windows hold.
//!
//! Owns: kinds of values, how large and how deep one may be, what is the same, what is equal, how one is shown in errors;
//! failures and their codes.
//! May not: compute (that is `ops`), know JSON, streams or plans.
//!
//! A [`Value`] takes 16 bytes: a tag, and eight bytes that are the value or one thin pointer (a text of up to 14 bytes
//! stands in place). Cloning never copies deeply. Depth is bounded where a value is made ([`MAX_DEPTH`]), so that dropping,
//! comparing, showing and writing may recurse.
//!
//! A NaN has one bit pattern, [`NAN`]: make floats with [`Value::float`].

pub mod codes;
mod collection;
mod failure;
mod order;
mod show;
mod text;
mod time;

pub use crate::lang::literal::{duration_text, write_duration};
pub use codes::Code;
pub use collection::{Elements, FunctionValue, Payload, Shape, Structure, Table};
pub use failure::Failure;
pub use order::{Key, equal, float_order, holds_nan, mixed_order, order};
pub use show::{SHOWN, float_text, show, text_of, time_text, write_time};
pub use text::Text;
pub use time::{TIME_MAX, TIME_MIN, parse_time, time_in_range};

use std::fmt;
use std::sync::Arc;

/// How deeply values may nest; beyond is a failure where the value is made.
pub const MAX_DEPTH: u16 = 256;

/// The one NaN.
pub const NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0000);

/// Bounds on values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that a value may take, everything in it included ([`Value::size`]).
    pub value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { value_bytes: 16 << 20 }
    }
}

/// A value.
#[derive(Clone)]
pub enum Value {
    /// `()`.
    Unit,
    /// `true`, `false`.
    Bool(bool),
    /// 64 bits, checked.
    Int(i64),
    /// IEEE 754 double. Made with [`Value::float`], which knows one NaN only.
    Float(f64),
    /// Microseconds since 1970 UTC, always within [`TIME_MIN`] and [`TIME_MAX`].
    Time(i64),
    /// Microseconds.
    Duration(i64),
    /// Text.
    Str(Text),
    /// Values in order.
    List(Arc<Elements>),
    /// A fixed number of values, at least two.
    Tuple(Arc<Elements>),
    /// Values under texts.
    Map(Arc<Table>),
    /// Values under the names of a shape.
    Struct(Arc<Structure>),
    /// A function: code and what it captured.
    Function(Arc<FunctionValue>),
}

/// What a stream, an operand or a ring's place has in a tick.
#[derive(Clone, Default)]
pub enum Cell {
    /// Nothing was observed.
    #[default]
    NoVal,
    /// Not computable yet.
    Deferred,
    /// A value.
    Value(Value),
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is the variant of `Value` of its name")]
pub enum Kind {
    Unit,
    Bool,
    Int,
    Float,
    Time,
    Duration,
    Str,
    List,
    Tuple,
    Map,
    Struct,
    Function,
}

impl Kind {
    /// As the language names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unit => "Unit",
            Self::Bool => "Bool",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Time => "Time",
            Self::Duration => "Duration",
            Self::Str => "Str",
            Self::List => "List",
            Self::Tuple => "Tuple",
            Self::Map => "Map",
            Self::Struct => "Struct",
            Self::Function => "Function",
        }
    }
}

/// The same float, with the one NaN for any other.
#[inline]
#[must_use]
pub const fn canonical(float: f64) -> f64 {
    if float.is_nan() { NAN } else { float }
}

impl Value {
    /// A float; any NaN becomes [`NAN`].
    #[inline]
    #[must_use]
    pub const fn float(float: f64) -> Self {
        Self::Float(canonical(float))
    }

    /// A text. Its size is not bounded here: [`Value::within`].
    #[must_use]
    pub fn str(text: &str) -> Self {
        Self::Str(Text::new(text))
    }

    /// A point in time, where it is within [`TIME_MIN`] and [`TIME_MAX`].
    #[must_use]
    pub const fn time(micros: i64) -> Option<Self> {
        if time_in_range(micros) { Some(Self::Time(micros)) } else { None }
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Unit => Kind::Unit,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Time(_) => Kind::Time,
            Self::Duration(_) => Kind::Duration,
            Self::Str(_) => Kind::Str,
            Self::List(_) => Kind::List,
            Self::Tuple(_) => Kind::Tuple,
            Self::Map(_) => Kind::Map,
            Self::Struct(_) => Kind::Struct,
            Self::Function(_) => Kind::Function,
        }
    }

    /// The bytes it takes, all that is in it included; what stands in two places counts twice.
    #[must_use]
    pub fn size(&self) -> usize {
        let behind = match self {
            Self::Str(text) => text.heap(),
            Self::List(of) | Self::Tuple(of) => of.size,
            Self::Map(of) => of.size,
            Self::Struct(of) => of.size,
            Self::Function(of) => of.size,
            _ => 0,
        };
        behind.saturating_add(size_of::<Self>())
    }

    /// How deeply it nests: 0 of a scalar.
    #[must_use]
    pub fn depth(&self) -> u16 {
        match self {
            Self::List(of) | Self::Tuple(of) => of.depth,
            Self::Map(of) => of.depth,
            Self::Struct(of) => of.depth,
            Self::Function(of) => of.depth,
            _ => 0,
        }
    }

    /// Itself, where it is not too large.
    ///
    /// # Errors
    /// It is.
    pub fn within(self, limits: Limits) -> Result<Self, Failure> {
        if self.size() > limits.value_bytes { Err(Failure::size(limits)) } else { Ok(self) }
    }

    /// The same kind and the same bits: the only way in which values are compared that is not the language's, which is
    /// [`equal`]. Functions are the same where code and captures are.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unit, Self::Unit) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) | (Self::Time(a), Self::Time(b)) | (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => canonical(*a).to_bits() == canonical(*b).to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => Arc::ptr_eq(a, b) || a.items == b.items,
            (Self::Map(a), Self::Map(b)) => Arc::ptr_eq(a, b) || a.entries == b.entries,
            (Self::Struct(a), Self::Struct(b)) => Arc::ptr_eq(a, b) || (a.shape == b.shape && a.fields == b.fields),
            (Self::Function(a), Self::Function(b)) => {
                Arc::ptr_eq(a, b) || (a.body == b.body && a.scope == b.scope && a.captures == b.captures)
            }
            _ => false,
        }
    }

    /// The truth value it is.
    #[inline]
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self { Some(*truth) } else { None }
    }

    /// The integer it is.
    #[inline]
    #[must_use]
    pub const fn as_int(&self) -> Option<i64> {
        if let Self::Int(int) = self { Some(*int) } else { None }
    }

    /// The text it is.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text.as_str()) } else { None }
    }
}

/// [`Value::same`], for tests and for telling whether state changed. It is not the language's `==`.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind().name(), show(self))
    }
}

impl Cell {
    /// The value, where it is one.
    #[inline]
    #[must_use]
    pub const fn value(&self) -> Option<&Value> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    /// Whether nothing was observed.
    #[inline]
    #[must_use]
    pub const fn is_noval(&self) -> bool {
        matches!(self, Self::NoVal)
    }

    /// Whether it is not computable yet.
    #[inline]
    #[must_use]
    pub const fn is_deferred(&self) -> bool {
        matches!(self, Self::Deferred)
    }
}

/// By [`Value::same`].
impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::NoVal, Self::NoVal) | (Self::Deferred, Self::Deferred) => true,
            (Self::Value(a), Self::Value(b)) => a.same(b),
            _ => false,
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVal => f.write_str("NoVal"),
            Self::Deferred => f.write_str("Deferred"),
            Self::Value(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
