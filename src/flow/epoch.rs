//! The two epochs. The pages call both "epoch" where only one is near; here they are two types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of a tenancy of one split (I7): it rises with every change of ownership and never falls (I40).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SplitEpoch(i64);

/// Number of an attempt to make a revision the running one. It rises per pipeline and names one digest for ever (I42).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RootEpoch(i64);

macro_rules! epoch {
    ($name:ident) => {
        impl $name {
            /// The epoch with this number; the first one in use is 1, and 0 stands for "none yet".
            #[must_use]
            pub const fn new(number: i64) -> Self {
                Self(number)
            }

            /// The number, as stored and shown.
            #[must_use]
            pub const fn get(self) -> i64 {
                self.0
            }

            /// The epoch after this one; `None` when the numbers are used up.
            #[must_use]
            pub const fn next(self) -> Option<Self> {
                match self.0.checked_add(1) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

epoch!(SplitEpoch);
epoch!(RootEpoch);

#[cfg(test)]
mod tests {
    use super::{RootEpoch, SplitEpoch};

    #[test]
    fn an_epoch_rises_by_one_and_stops_at_its_end() {
        assert_eq!(SplitEpoch::default().next(), Some(SplitEpoch::new(1)));
        assert_eq!(RootEpoch::new(i64::MAX).next(), None);
        assert!(RootEpoch::new(2) > RootEpoch::new(1));
        assert_eq!(RootEpoch::new(7).to_string(), "7");
    }
}
