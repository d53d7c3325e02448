//! Ids and counts that parts hand each other. Each is a type of its own, so that none is taken for another.

use std::fmt;
use std::sync::Arc;

/// A unit of reading with its own position: a shard, a file. Its text is unique within a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SplitId(Arc<str>);

impl SplitId {
    /// The split of this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SplitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! number {
    ($(#[doc = $doc:literal] $name:ident;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The one with this number; 0 stands for "none yet".
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The one after it. 64 bits do not run out: a billion a second last for centuries.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

number! {
    #[doc = "A tenancy's lane in its loop; never used twice in a process (I9)."]
    LaneId;
    #[doc = "The count of a lane's records since its tenancy began; the first is 1."]
    Ordinal;
    #[doc = "The number of an output batch once the writer has taken it, dense per session; the first is 1."]
    Admission;
    #[doc = "A capture of a split's changed keys."]
    CaptureId;
}

impl Ordinal {
    /// The ordinal this many records further on.
    #[must_use]
    pub const fn plus(self, records: u64) -> Self {
        Self(self.0.saturating_add(records))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ordinal, SplitId};

    #[test]
    fn counts_go_on_and_names_show_as_they_are() {
        assert_eq!(Ordinal::default().next(), Ordinal::new(1));
        assert_eq!(Ordinal::new(3).plus(4).to_string(), "7");
        assert_eq!(SplitId::new("shardId-000000000001").to_string(), "shardId-000000000001");
    }
}
