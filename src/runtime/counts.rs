//! What a loop has done, counted.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($(#[doc = $doc:literal] $name:ident,)*) => {
        /// Counts since a loop began, or since they were last taken.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $(#[doc = $doc] pub $name: u64,)*
        }

        /// The same, for other threads to read while the loop runs.
        #[derive(Debug, Default)]
        pub struct Totals {
            $($name: AtomicU64,)*
        }

        impl Totals {
            /// Adds what a loop has counted; its counts begin at nothing again.
            pub fn take(&self, counts: &mut Counts) {
                $(if counts.$name != 0 {
                    self.$name.fetch_add(counts.$name, Ordering::Relaxed);
                })*
                *counts = Counts::default();
            }

            /// The counts at this moment.
            #[must_use]
            pub fn read(&self) -> Counts {
                Counts { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counts! {
    #[doc = "Records that came, whatever became of them."]
    records,
    #[doc = "Bytes of their payloads."]
    bytes,
    #[doc = "Keys that were seen for the first time by this loop."]
    keys,
    #[doc = "Rows that were made, dead letters apart."]
    rows,
    #[doc = "Records that did not decode and were passed over."]
    skipped,
    #[doc = "Records that went to the dead letters because they did not decode."]
    undecodable,
    #[doc = "Records, of those that did not decode, whose time led their arrival by too much."]
    too_far_ahead,
    #[doc = "Keys that ended by a failed tick."]
    failed_keys,
    #[doc = "Records that went to the dead letters because their tick, or an earlier one of their key, failed."]
    failed_records,
    #[doc = "Names that stood twice in an object."]
    duplicate_names,
    #[doc = "Floats that are no numbers of JSON and left as null."]
    not_finite,
    #[doc = "Values older than their window."]
    window_ignored,
    #[doc = "Values that left a window early, because it was full."]
    window_evicted,
}

impl Counts {
    /// Dead letters.
    #[must_use]
    pub const fn dead_letters(&self) -> u64 {
        self.undecodable.saturating_add(self.failed_records)
    }

    /// Records that gave no rows because something was wrong with them or their key.
    #[must_use]
    pub const fn errors(&self) -> u64 {
        self.dead_letters().saturating_add(self.skipped)
    }
}
