//! The records of coordination as plain values, and how a split's progress is read from them.
//!
//! Owns: split, ledger, worker, heartbeat, leader and plan records; the rule by which an entry may go.
//! May not: know how a store writes them; uid and revision stand beside a record, never in it.

use crate::error::Code;
use crate::flow::{RootEpoch, RootRef, SplitEpoch, SplitId, StateHead};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

macro_rules! name {
    ($(#[doc = $doc:literal] $name:ident;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The one of this text.
            #[must_use]
            pub fn new(text: &str) -> Self {
                Self(text.into())
            }

            /// The text, as stored and shown.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

name! {
    #[doc = "A worker's name, which is its pod's."]
    WorkerName;
    #[doc = "One life of a worker: its pod's uid and a start nonce. Two lives never share one."]
    Incarnation;
    #[doc = "A ledger page: worker, start nonce, number."]
    PageId;
}

/// Where a root took over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CutoverAt {
    /// The epoch that took over.
    pub epoch: RootEpoch,
    /// The last position under the root before it; none if there was none.
    pub after: Option<Arc<str>>,
}

/// What one commit writes for a split: all of it describes the same row boundary (I3).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Progress {
    /// Where to read on, in the source's own notation (up to 512 bytes); none: at the split's start.
    pub position: Option<Arc<str>>,
    /// The service's time, in microseconds since 1970 UTC, when the split was last known to be read to its tip.
    pub tip_time: Option<i64>,
    /// The newest layer of its state.
    pub head: Option<StateHead>,
    /// Parents in whose layers keys are still sought (I39).
    pub inherits: Vec<SplitId>,
    /// The root that it was made under; none before the first commit.
    pub root: Option<RootRef>,
    /// The last four cutovers.
    pub cutovers: Vec<CutoverAt>,
}

/// What a split waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SplitState {
    /// For its parents to be read to their end.
    #[default]
    Waiting,
    /// For records; or, without an owner, for one.
    Open,
    /// For nothing: it was read to its end.
    Completed,
    /// For somebody to mend what made it fail.
    Quarantined,
}

/// Who made a split's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MadeBy {
    /// A leader, from a listing of the stream.
    Listing,
    /// The driver that read its parent to the end.
    Driver,
}

/// Who owns a split, and where its entry stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The worker.
    pub worker: WorkerName,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// The page that holds the split's entry.
    pub page: PageId,
}

/// The last failure of a split.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LastError {
    /// Its code.
    pub code: Code,
    /// What happened, with its place (up to 1 KiB).
    pub message: Arc<str>,
    /// When, in microseconds since 1970 UTC; for people to read.
    pub at: i64,
}

/// What a split is, which never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Descriptor {
    /// The stream's identity: its ARN and creation time (I21).
    pub stream: Arc<str>,
    /// The shard's id, or the file's path.
    pub shard: Arc<str>,
    /// The range of hash keys that the shard takes, both ends included, in decimal.
    pub hash_range: Option<(Arc<str>, Arc<str>)>,
}

/// A shard as a source describes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    /// Its split.
    pub split: SplitId,
    /// What it is.
    pub descriptor: Descriptor,
    /// The splits that it came from: none, one, or two after a merge.
    pub parents: Vec<SplitId>,
}

/// A split's record. Who owns it changes by compare-and-swap of this record alone (I6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SplitRecord {
    /// What it is.
    pub descriptor: Descriptor,
    /// The splits that it came from.
    pub parents: Vec<SplitId>,
    /// Who made the record.
    pub by: MadeBy,
    /// Whether it was ever opened: a record that is lost is no first start.
    pub opened: bool,
    /// What it waits for.
    pub state: SplitState,
    /// Who owns it.
    pub owner: Option<Owner>,
    /// The number of its tenancy; it never falls (I7, I40).
    pub epoch: SplitEpoch,
    /// Its measured rate in bytes a second; none until measured.
    pub weight: Option<u64>,
    /// Failures in a row.
    pub attempts: u32,
    /// The last failure.
    pub last_error: Option<LastError>,
    /// Its progress when ownership last changed.
    pub base: Progress,
    /// Where roots took over, the last 16.
    pub cutovers: Vec<CutoverAt>,
    /// Names the last write, for whoever reads the record after a lost reply.
    pub write_id: Option<Arc<str>>,
}

impl SplitRecord {
    /// The record of a shard that nobody has opened: it waits, and inherits from all of its parents.
    #[must_use]
    pub fn unopened(shard: &Shard, by: MadeBy) -> Self {
        Self {
            descriptor: shard.descriptor.clone(),
            parents: shard.parents.clone(),
            by,
            opened: false,
            state: SplitState::Waiting,
            owner: None,
            epoch: SplitEpoch::default(),
            weight: None,
            attempts: 0,
            last_error: None,
            base: Progress { inherits: shard.parents.clone(), ..Progress::default() },
            cutovers: Vec::new(),
            write_id: None,
        }
    }

    /// Whether a split that waits may open as far as this parent goes (I17): the parent is recorded as read to its end; or
    /// it has no record, and a complete listing has shown the split without it. Whoever made that listing has taken it out
    /// of what the split inherits.
    #[must_use]
    pub fn may_follow(&self, parent: &SplitId, record: Option<&Self>) -> bool {
        match record {
            Some(record) => record.state == SplitState::Completed,
            None => !self.base.inherits.contains(parent),
        }
    }

    /// Whether it names this entry as the one of its tenancy.
    #[must_use]
    pub fn names(&self, page: &PageId, epoch: SplitEpoch) -> bool {
        self.epoch == epoch && self.owner.as_ref().is_some_and(|owner| owner.page == *page)
    }

    /// Whether an entry of this split may go: the record stands at its epoch or above and does not name it. That stays
    /// true. One above the record's epoch can still be taken by a write in flight.
    #[must_use]
    pub fn lets_go_of(&self, page: &PageId, epoch: SplitEpoch) -> bool {
        self.epoch >= epoch && !self.names(page, epoch)
    }
}

/// A tenancy's commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The last one.
    pub progress: Progress,
    /// Whether it is closed for ever (I8).
    pub sealed: bool,
    /// Whether the split was read to its end.
    pub completed: bool,
}

/// Names an entry: a split's tenancy.
pub type EntryKey = (SplitId, SplitEpoch);

/// A page of a worker's ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerPage {
    /// The life of the worker that writes it. Others only seal its entries.
    pub incarnation: Incarnation,
    /// The entries.
    pub entries: BTreeMap<EntryKey, Entry>,
}

impl LedgerPage {
    /// A page as it is created: empty, so that a late create brings no entry back.
    #[must_use]
    pub const fn empty(incarnation: Incarnation) -> Self {
        Self { incarnation, entries: BTreeMap::new() }
    }

    /// About how many bytes it takes before it is packed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(|((split, _), entry)| split.as_str().len().saturating_add(entry.progress.bytes())).sum()
    }
}

impl Progress {
    /// About how many bytes it takes in a page.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// Names, digests and marks around the parts whose length varies.
        const FIXED: usize = 256;
        let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let head = match &self.head {
            // In base64.
            Some(StateHead::Inline(bytes)) => bytes.len().div_ceil(3).saturating_mul(4),
            Some(StateHead::Object { name, .. }) => name.len(),
            Some(StateHead::Lost) | None => 0,
        };
        let inherits: usize = self.inherits.iter().map(|split| split.as_str().len()).sum();
        let cutovers: usize = self.cutovers.iter().map(|cutover| text(&cutover.after)).sum();
        [text(&self.position), head, inherits, cutovers].iter().fold(FIXED, |sum, part| sum.saturating_add(*part))
    }
}

/// The leader's wish for one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assignment {
    /// The leader's term.
    pub term: u64,
    /// The number of the assignment in that term.
    pub number: u64,
    /// The splits to hold.
    pub splits: BTreeSet<SplitId>,
}

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerStatus {
    /// Which life of it speaks.
    pub incarnation: Incarnation,
    /// The load that it takes, in the unit of weights.
    pub budget: u64,
    /// Whether it is on its way out.
    pub leaving: bool,
}

/// A worker's record. It is written by parts: the status by the worker, the assignment by the leader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerRecord {
    /// What the worker says.
    pub status: WorkerStatus,
    /// What the leader wants; absent, it is no instruction to hold nothing (I13).
    pub assignment: Option<Assignment>,
}

/// A worker's heartbeat. It is judged by a counter that stops moving, never by a clock of the worker's (I10).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Beat {
    /// The life that beats.
    pub incarnation: Incarnation,
    /// Rises with each beat.
    pub counter: u64,
    /// For how long it may stand still.
    pub ttl: Duration,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaderRecord {
    /// The worker.
    pub holder: WorkerName,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Names this candidacy, so that a lost reply can be told.
    pub nonce: u64,
    /// Rises with each change of leader.
    pub term: u64,
    /// Rises with each renewal.
    pub counter: u64,
    /// For how long it may stand still.
    pub ttl: Duration,
}

/// What was resolved once, before anything was read (I20).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanRecord {
    /// The stream's identity.
    pub stream: Arc<str>,
    /// The resolved start of the initial shards, in the source's own notation; none: each one's oldest record.
    pub start: Option<Arc<str>>,
    /// The initial shards, from a complete listing.
    pub initial: Vec<Shard>,
    /// Whether the pipeline has ever run: positions that are missing then are lost, and no first start.
    pub has_run: bool,
    /// Whether every initial shard has its record. Nothing is claimed before.
    pub whole: bool,
    /// Whether no further splits will ever come: never so for a live stream.
    pub is_final: bool,
}

impl PlanRecord {
    /// Whether this split is an initial one.
    #[must_use]
    pub fn is_initial(&self, split: &SplitId) -> bool {
        self.initial.iter().any(|shard| shard.split == *split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(name: &str, parents: &[&str]) -> Shard {
        let parents = parents.iter().map(|name| SplitId::new(name)).collect();
        Shard { split: SplitId::new(name), descriptor: Descriptor::default(), parents }
    }

    fn owned(epoch: i64, page: Option<&str>) -> SplitRecord {
        let owner =
            page.map(|page| Owner { worker: WorkerName::new("w-0"), incarnation: Incarnation::new("w-0/1"), page: PageId::new(page) });
        SplitRecord { owner, epoch: SplitEpoch::new(epoch), ..SplitRecord::unopened(&shard("s", &[]), MadeBy::Listing) }
    }

    #[test]
    fn an_entry_may_go_only_at_or_below_the_epoch_of_a_record_that_does_not_name_it() {
        let (page, three) = (PageId::new("p"), SplitEpoch::new(3));
        for (record, goes) in [
            (owned(3, Some("p")), false),
            (owned(2, None), false),
            (owned(2, Some("p")), false),
            (owned(3, None), true),
            (owned(4, Some("p")), true),
            (owned(3, Some("q")), true),
        ] {
            assert_eq!(record.lets_go_of(&page, three), goes, "{record:?}");
        }
    }

    #[test]
    fn i17_a_parent_without_a_record_lets_open_only_what_a_complete_listing_had_without_it() {
        let mut child = SplitRecord::unopened(&shard("child", &["trimmed", "open"]), MadeBy::Listing);
        let (trimmed, open) = (SplitId::new("trimmed"), SplitId::new("open"));
        assert!(!child.may_follow(&trimmed, None), "no listing has shown it without");
        child.base.inherits.retain(|parent| *parent == open);
        assert!(child.may_follow(&trimmed, None));
        assert!(!child.may_follow(&open, None), "its record must come first");
        let unfinished = owned(1, Some("p"));
        assert!(!child.may_follow(&trimmed, Some(&unfinished)), "there it is, after all");
        let completed = SplitRecord { state: SplitState::Completed, ..owned(1, None) };
        assert!(child.may_follow(&open, Some(&completed)));
    }
}
