//! Failures: the result of a partial operation that does not hold.
//!
//! Owns: what a failure says: code, what happened, the operands, and once known its place.
//! May not: decide what becomes of it.
//!
//! Guards drop failures in the normal course (language.md, Failure), so one is cheap to make, clone and drop: it is one
//! pointer, keeps its operands as values and is put into words only when somebody reads it.

use super::show::show;
use super::{Code, Limits, MAX_DEPTH, Value};
use crate::lang::syntax::Span;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Why an operation gave no value.
#[derive(Clone)]
pub struct Failure(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    what: Cow<'static, str>,
    operands: Operands,
    place: Option<(Arc<str>, Span)>,
}

#[derive(Clone)]
enum Operands {
    Values(Box<[Value]>),
    Text(Box<str>),
}

impl Failure {
    /// A failure with what happened, in words that fit behind "the tick fails: ".
    #[must_use]
    #[cold]
    pub fn new(code: Code, what: impl Into<Cow<'static, str>>) -> Self {
        Self(Arc::new(Inner { code, what: what.into(), operands: Operands::Values(Box::default()), place: None }))
    }

    /// With the operands.
    #[must_use]
    pub fn with(self, operands: &[&Value]) -> Self {
        let values = operands.iter().map(|value| (*value).clone()).collect();
        self.changed(|inner| inner.operands = Operands::Values(values))
    }

    /// With the text of the operands, as it was read back.
    #[must_use]
    pub fn with_text(self, text: &str) -> Self {
        self.changed(|inner| inner.operands = Operands::Text(text.into()))
    }

    /// At a place, where it has none yet: the innermost operator stays.
    #[must_use]
    pub fn at(self, stream: &Arc<str>, span: Span) -> Self {
        if self.0.place.is_some() { self } else { self.changed(|inner| inner.place = Some((Arc::clone(stream), span))) }
    }

    fn changed(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What happened.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The operands as text, cut at 1 KiB; empty where there are none.
    #[must_use]
    pub fn operands(&self) -> Cow<'_, str> {
        match &self.0.operands {
            Operands::Values(values) => Cow::Owned(super::show::show_all(values)),
            Operands::Text(text) => Cow::Borrowed(text),
        }
    }

    /// The stream and the operator's place in it, where they are known.
    #[must_use]
    pub fn place(&self) -> Option<(&Arc<str>, Span)> {
        self.0.place.as_ref().map(|(stream, span)| (stream, *span))
    }

    #[cold]
    pub(crate) fn size(limits: Limits) -> Self {
        Self::new(Code::VALUE_SIZE, format!("a value would take more than {} bytes", limits.value_bytes))
    }

    #[cold]
    pub(crate) fn depth() -> Self {
        Self::new(Code::VALUE_DEPTH, format!("a value would nest more than {MAX_DEPTH} deep"))
    }

    /// A function stands where none may.
    #[cold]
    pub(crate) fn function(done: &str) -> Self {
        Self::new(Code::FUNCTION_PLACE, format!("a function cannot {done}"))
    }

    /// An operand is of a kind that the operation does not take.
    #[cold]
    pub(crate) fn kind(operation: &str, wanted: &str, got: &Value) -> Self {
        Self::new(Code::KIND, format!("`{operation}` takes {wanted}, not {}", got.kind().name())).with(&[got])
    }

    /// Two operands are of kinds that the operation does not take together.
    #[cold]
    pub(crate) fn kinds(operation: &str, a: &Value, b: &Value) -> Self {
        let (left, right) = (a.kind().name(), b.kind().name());
        Self::new(Code::KIND, format!("`{operation}` does not take {left} and {right}")).with(&[a, b])
    }

    /// A result does not fit.
    #[cold]
    pub(crate) fn overflow(operation: &str, into: &str, operands: &[&Value]) -> Self {
        Self::new(Code::OVERFLOW, format!("`{operation}` leaves the range of {into}")).with(operands)
    }

    /// A text cannot be read.
    #[cold]
    pub(crate) fn unreadable(operation: &str, what: &str, text: &Value) -> Self {
        Self::new(Code::UNREADABLE, format!("`{operation}`: the text is no {what}: {}", show(text)))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what())?;
        let operands = self.operands();
        if operands.is_empty() { Ok(()) } else { write!(f, " (operands: {operands})") }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.code())
    }
}

impl std::error::Error for Failure {}

/// Code, words, operands and place: for tests and for telling whether state changed.
impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code() && self.what() == other.what() && self.operands() == other.operands() && self.place() == other.place()
    }
}
