//! Why a record does not decode, and why bindings do not fit a root.
//!
//! Owns: the words of both, their codes, the labels under which they are counted.
//! May not: decide what becomes of such a record; the record policy does.

use crate::error::{Code, Meaning};
use std::borrow::Cow;
use std::fmt;

/// How much of what was found a message shows, in bytes.
const SHOWN: usize = 64;
/// How long a pointer in a message may become, in bytes.
const LONGEST_POINTER: usize = 1_024;

/// Why a record does not decode. Each says what, where (a pointer, and the byte of the unpacked payload), and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The payload is not one JSON object in UTF-8.
    #[error("{0}")]
    Syntax(Box<Fault>),
    /// The payload begins like gzip or zstd, and cannot be unpacked.
    #[error("{0}")]
    Compression(Box<Fault>),
    /// The payload, a value or the key is larger or deeper than is allowed.
    #[error("{0}")]
    Bound(Box<Fault>),
    /// A value is of another kind than is wanted.
    #[error("{0}")]
    Kind(Box<Fault>),
    /// A value is of the kind that is wanted, and does not fit into it.
    #[error("{0}")]
    Range(Box<Fault>),
    /// A field that must be there is missing, or null.
    #[error("{0}")]
    Missing(Box<Fault>),
    /// The record time leads the arrival time by more than is allowed.
    #[error("{0}")]
    Lead(Box<Fault>),
    /// The record comes from a stream that the bindings do not know.
    #[error("{0}")]
    Stream(Box<Fault>),
}

/// The words of a [`DecodeError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    subject: Option<Cow<'static, str>>,
    what: Cow<'static, str>,
    pointer: Option<String>,
    byte: Option<usize>,
    mend: &'static str,
}

#[allow(clippy::unnecessary_box_returns, reason = "an error holds its words in a box, so that results stay small")]
impl Fault {
    /// What is wrong, and how to mend it.
    #[cold]
    pub(super) fn new(what: impl Into<Cow<'static, str>>, mend: &'static str) -> Box<Self> {
        Box::new(Self { subject: None, what: what.into(), pointer: None, byte: None, mend })
    }

    /// At a byte of the unpacked payload, from 0.
    pub(super) fn at(mut self: Box<Self>, byte: usize) -> Box<Self> {
        self.byte = Some(byte);
        self
    }

    /// Where in the payload, as a JSON pointer. None where only the byte is known.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    /// The byte of the unpacked payload, from 0, where one is to blame.
    #[must_use]
    pub const fn byte(&self) -> Option<usize> {
        self.byte
    }

    /// What is wrong, without its place.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Puts a pointer before the one it has.
    fn under(&mut self, pointer: &str) {
        let own = self.pointer.take().unwrap_or_default();
        let longer = own.len().saturating_add(pointer.len()) > LONGEST_POINTER;
        self.pointer = Some(if longer { own } else { format!("{pointer}{own}") });
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subject) = &self.subject {
            write!(f, "{subject}: ")?;
        }
        f.write_str(&self.what)?;
        match (self.pointer.as_deref().filter(|pointer| !pointer.is_empty()), self.byte) {
            (Some(pointer), Some(byte)) => write!(f, " (at {pointer}, byte {byte})")?,
            (Some(pointer), None) => write!(f, " (at {pointer})")?,
            (None, Some(byte)) => write!(f, " (at byte {byte})")?,
            (None, None) => {}
        }
        write!(f, "; {}", self.mend)
    }
}

impl DecodeError {
    /// A label for metrics: one of a few words, `snake_case`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "syntax",
            Self::Compression(_) => "compression",
            Self::Bound(_) => "bound",
            Self::Kind(_) => "kind",
            Self::Range(_) => "range",
            Self::Missing(_) => "missing",
            Self::Lead(_) => "lead",
            Self::Stream(_) => "stream",
        }
    }

    /// Its words.
    #[must_use]
    pub const fn fault(&self) -> &Fault {
        match self {
            Self::Syntax(fault)
            | Self::Compression(fault)
            | Self::Bound(fault)
            | Self::Kind(fault)
            | Self::Range(fault)
            | Self::Missing(fault)
            | Self::Lead(fault)
            | Self::Stream(fault) => fault,
        }
    }

    const fn fault_mut(&mut self) -> &mut Fault {
        match self {
            Self::Syntax(fault)
            | Self::Compression(fault)
            | Self::Bound(fault)
            | Self::Kind(fault)
            | Self::Range(fault)
            | Self::Missing(fault)
            | Self::Lead(fault)
            | Self::Stream(fault) => fault,
        }
    }

    /// Of this subject (`input temp`, `the key`), where it has none yet.
    pub(super) fn of(mut self, subject: impl FnOnce() -> Cow<'static, str>) -> Self {
        self.fault_mut().subject.get_or_insert_with(subject);
        self
    }

    /// Inside the member or element of this name.
    pub(super) fn inside(mut self, token: &str) -> Self {
        let token = cut(token, SHOWN).replace('~', "~0").replace('/', "~1");
        self.fault_mut().under(&format!("/{token}"));
        self
    }

    /// Below this pointer.
    pub(super) fn below(mut self, pointer: &str) -> Self {
        self.fault_mut().under(pointer);
        self
    }
}

impl Meaning for DecodeError {
    fn code(&self) -> Code {
        match self {
            Self::Syntax(_) => Code::PAYLOAD_NOT_JSON,
            Self::Compression(_) => Code::PAYLOAD_NOT_UNPACKED,
            Self::Bound(_) => Code::PAYLOAD_TOO_LARGE,
            Self::Kind(_) | Self::Range(_) => Code::VALUE_UNFIT,
            Self::Missing(_) => Code::VALUE_MISSING,
            Self::Lead(_) => Code::TIME_LEADS,
            Self::Stream(_) => Code::INTERNAL,
        }
    }
}

/// What was found, in a message: its beginning where it is long.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default()))
}

/// What was found, in back quotes.
pub(super) fn found(text: &str) -> String {
    format!("`{}`", cut(text, SHOWN))
}

/// Why bindings do not fit a root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindingError {
    /// A name that the root does not declare as an input.
    #[error("input {input}: the root declares no such input; {}", known(.inputs))]
    Input {
        /// The name.
        input: String,
        /// Those that it declares.
        inputs: Vec<String>,
    },
    /// No binding at all.
    #[error("{place}: `{binding}` is no binding: {why}")]
    Form {
        /// Which input, or `root.time`, or `keyBy.field`.
        place: String,
        /// What is written there.
        binding: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A stream that the pipeline does not read.
    #[error("{place}: the pipeline reads no stream `{stream}`; {}", known(.streams))]
    Stream {
        /// Which input, or `root.time`.
        place: String,
        /// The stream's name.
        stream: String,
        /// Those that it reads.
        streams: Vec<String>,
    },
    /// Record data that is never of the declared type.
    #[error("{place}: {binding} is {is}, and {ty} is wanted; declare it so, or bind a field")]
    Clash {
        /// Which input, or `root.time`.
        place: String,
        /// The binding.
        binding: String,
        /// What that data is.
        is: &'static str,
        /// What is declared.
        ty: String,
    },
    /// A type of which no record holds a value.
    #[error("input {input}: it is declared {ty}, and a record holds no functions; declare another type")]
    Function {
        /// The input.
        input: String,
        /// Its type.
        ty: String,
    },
}

fn known(names: &[String]) -> String {
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
}

impl Meaning for BindingError {
    fn code(&self) -> Code {
        Code::BINDING_UNFIT
    }
}

#[cfg(test)]
mod tests {
    use super::{DecodeError, Fault, cut};
    use crate::error::{Code, Meaning};

    #[test]
    fn an_error_says_of_what_where_and_how_to_mend_it() {
        let error = DecodeError::Kind(Fault::new("an Int is wanted, not `true`", "send an integer").at(17));
        let error = error.inside("a/b").below("/sensor").of(|| "input temp".into()).of(|| "another".into());
        assert_eq!(error.to_string(), "input temp: an Int is wanted, not `true` (at /sensor/a~1b, byte 17); send an integer");
        assert_eq!((error.fault().pointer(), error.fault().byte()), (Some("/sensor/a~1b"), Some(17)));
        assert_eq!((error.kind(), error.code()), ("kind", Code::VALUE_UNFIT));
    }

    #[test]
    fn long_names_and_long_finds_are_cut_between_characters() {
        assert_eq!(cut("aäb", 2), "a…");
        let mut error = DecodeError::Missing(Fault::new("x", "y"));
        for _ in 0..1_000 {
            error = error.inside(&"ä".repeat(10_000));
        }
        assert!(error.fault().pointer().is_some_and(|pointer| (500..=1_024).contains(&pointer.len())));
    }

    #[test]
    fn an_error_is_no_larger_than_a_value() {
        assert!(size_of::<DecodeError>() <= 16);
    }
}
