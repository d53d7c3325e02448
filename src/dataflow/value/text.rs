//! Texts.
//!
//! Owns: how a text is held: up to 14 bytes in place, longer ones behind one thin pointer.
//! May not: know what a text means.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The longest text that is held in place.
const SHORT: usize = 14;

/// A text, immutable and cheap to clone.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Arc<Box<str>>),
}

impl Text {
    /// The text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self::short(text).unwrap_or_else(|| Self(Repr::Long(Arc::new(text.into()))))
    }

    fn short(text: &str) -> Option<Self> {
        let mut bytes = [0; SHORT];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self(Repr::Short { length: u8::try_from(text.len()).ok()?, bytes }))
    }

    /// As a slice.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Always a text: it was copied from one, whole. The check costs less than a pointer's way into memory.
            Repr::Short { length, bytes } => {
                bytes.get(..usize::from(*length)).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
            }
            Repr::Long(text) => text,
        }
    }

    /// The bytes it takes beside its own place.
    pub(super) fn heap(&self) -> usize {
        match &self.0 {
            Repr::Short { .. } => 0,
            // Two counters, and the length beside the pointer.
            Repr::Long(text) => text.len().saturating_add(32),
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::short(&text).unwrap_or_else(|| Self(Repr::Long(Arc::new(text.into_boxed_str()))))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Short { length: a, bytes: x }, Repr::Short { length: b, bytes: y }) => a == b && x == y,
            (Repr::Long(a), Repr::Long(b)) => Arc::ptr_eq(a, b) || a == b,
            // What is short stands in place, always.
            _ => false,
        }
    }
}

impl Eq for Text {}

/// By code point, which is the order of the bytes.
impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
