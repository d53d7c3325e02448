//! The ledger protocol for one split: guarded steps over a record and two pages.
//!
//! Owns: the phases of a claim, a tenancy and its end; what to write next; what a view of the record or of a page means.
//! May not: do I/O, wait, or know other splits. A *view* is what a quorum read shows, or what a write of ours that was
//! answered has made: the two count alike, and nothing else counts. An answer that is missing is no view (I16, I41).

#[cfg(test)]
mod model;
mod steps;
mod views;

use super::records::{EntryKey, Incarnation, LastError, LedgerPage, Owner, PageId, Progress, SplitRecord, WorkerName};
use super::store::ObjectRevision;
use crate::flow::{SplitEpoch, SplitId};
use std::sync::Arc;

pub use steps::RecordStep;
pub use views::{Outcome, RecordView};

/// What a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aim {
    /// To hold the split.
    Hold,
    /// To let go of it: our name stands in its record, and we neither hold it nor shall (I11).
    Release,
}

/// What a claim has read, and decides by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seen {
    /// The record's object.
    pub uid: Arc<str>,
    /// Its owner.
    pub owner: Option<Owner>,
    /// Its epoch.
    pub epoch: SplitEpoch,
}

/// A tenancy: who, where, which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenure {
    /// Its epoch.
    pub epoch: SplitEpoch,
    /// The page with its entry.
    pub page: PageId,
    /// That page's object; under another uid it is not the same page.
    pub page_uid: Arc<str>,
    /// What its entry was last seen to say.
    pub progress: Progress,
}

/// How a tenancy ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Last {
    /// The last commit; none: what the entry says already.
    pub progress: Option<Progress>,
    /// Whether the split was read to its end.
    pub completed: bool,
    /// An attempt to charge to the split.
    pub charge: Option<LastError>,
}

/// Where a split stands with us.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Nothing is wanted.
    #[default]
    Idle,
    /// The record is to be read.
    Reading(Aim),
    /// The old owner's page is to be read, and its entry sealed.
    Claiming {
        /// What the record said.
        seen: Seen,
        /// What for.
        aim: Aim,
        /// Whether an entry that is not sealed may be: its owner is dead, or oneself.
        free: bool,
        /// Whether the page was read since the record was.
        looked: bool,
    },
    /// The entry, or its page, was not there: the record is to be read again.
    Gone {
        /// What the record said.
        seen: Seen,
        /// What for.
        aim: Aim,
    },
    /// The sealed entry says that the split was read to its end: its record is to say so too.
    Finishing {
        /// What the record said.
        seen: Seen,
        /// What the sealed entry says.
        progress: Progress,
    },
    /// No owner can write any more: an entry of ours comes next, once it is cleared.
    Sealed {
        /// What the record said.
        seen: Seen,
        /// Where the split stands.
        progress: Progress,
        /// The page of ours that the entry goes to, once whoever decides that has.
        onto: Option<PageId>,
    },
    /// Our entry stands: the record is to be taken.
    Taking {
        /// What the record said.
        seen: Seen,
        /// What it will be held from.
        tenure: Tenure,
    },
    /// The split is ours as long as our entry is there unsealed.
    Held {
        /// The tenancy.
        tenure: Tenure,
        /// A commit that no view has shown yet.
        commit: Option<Progress>,
    },
    /// The last commit is to seal our entry.
    Ending {
        /// The tenancy.
        tenure: Tenure,
        /// The last commit.
        last: Last,
    },
    /// Our entry is sealed: the record is to name nobody.
    Ended {
        /// The tenancy, with what its sealed entry says.
        tenure: Tenure,
        /// Whether that entry says that the split was read to its end.
        completed: bool,
        /// An attempt to charge.
        charge: Option<LastError>,
    },
}

/// The protocol for one split in one worker's life.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    split: SplitId,
    me: Me,
    phase: Phase,
    /// The record as the current phase may write it: none where it must be read first.
    record: Option<RecordView>,
    /// Rises with each change of phase, so that an answer to an earlier phase is not taken for one to this.
    stamp: u64,
}

/// A worker's life, as records name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Me {
    /// The worker.
    pub worker: WorkerName,
    /// This life of it.
    pub incarnation: Incarnation,
}

impl Me {
    /// Whether an owner is this life.
    #[must_use]
    pub fn is(&self, owner: &Owner) -> bool {
        owner.worker == self.worker && owner.incarnation == self.incarnation
    }

    fn owner(&self, page: &PageId) -> Owner {
        Owner { worker: self.worker.clone(), incarnation: self.incarnation.clone(), page: page.clone() }
    }
}

impl Claim {
    /// A split that nothing is wanted of.
    #[must_use]
    pub const fn idle(split: SplitId, me: Me) -> Self {
        Self { split, me, phase: Phase::Idle, record: None, stamp: 0 }
    }

    /// The split.
    #[must_use]
    pub const fn split(&self) -> &SplitId {
        &self.split
    }

    /// Where it stands.
    #[must_use]
    pub const fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Which phase this is, of all it has been in.
    #[must_use]
    pub const fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Whether nothing is going on.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    /// The tenancy, while it is held.
    #[must_use]
    pub const fn held(&self) -> Option<&Tenure> {
        match &self.phase {
            Phase::Held { tenure, .. } => Some(tenure),
            _ => None,
        }
    }

    /// Whether it is being let go of: its record does not say so yet.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending { .. } | Phase::Ended { .. })
    }

    /// The entry of ours that must stay whatever the record says: a claim is using it.
    #[must_use]
    pub fn entry(&self) -> Option<EntryKey> {
        let epoch = match &self.phase {
            Phase::Taking { tenure, .. } | Phase::Held { tenure, .. } | Phase::Ending { tenure, .. } | Phase::Ended { tenure, .. } => {
                tenure.epoch
            }
            Phase::Claiming { seen, .. } | Phase::Gone { seen, .. } | Phase::Finishing { seen, .. } => seen.epoch,
            Phase::Sealed { seen, .. } => seen.epoch.next()?,
            Phase::Idle | Phase::Reading(_) => return None,
        };
        Some((self.split.clone(), epoch))
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.stamp = self.stamp.wrapping_add(1);
    }

    /// Enters a phase whose first write needs a fresh view of the record.
    fn enter_unread(&mut self, phase: Phase) {
        self.record = None;
        self.enter(phase);
    }

    /// Starts a claim.
    pub fn begin(&mut self, aim: Aim) {
        if self.is_idle() {
            self.enter_unread(Phase::Reading(aim));
        }
    }

    /// Gives everything up: a lapse, or the assignment is gone before the split was held. Nothing is undone.
    pub fn forget(&mut self) {
        self.enter_unread(Phase::Idle);
    }

    /// Puts the entry of a sealed split onto this page of ours.
    pub fn clear(&mut self, page: PageId) {
        if let Phase::Sealed { onto, .. } = &mut self.phase {
            *onto = Some(page);
            self.stamp = self.stamp.wrapping_add(1);
        }
    }

    /// Wants this committed: it must be durable, and captured at one boundary.
    pub fn commit(&mut self, progress: Progress) {
        if let Phase::Held { commit, .. } = &mut self.phase {
            *commit = Some(progress);
        }
    }

    /// Ends the tenancy. Intake has stopped.
    pub fn end(&mut self, last: Last) {
        if let Phase::Held { tenure, .. } = &self.phase {
            self.phase = Phase::Ending { tenure: tenure.clone(), last };
            self.stamp = self.stamp.wrapping_add(1);
        }
    }

    /// A write of the record was refused or not answered: only a read tells what it holds now.
    pub fn unsure(&mut self) {
        self.record = None;
    }
}

/// How a split's progress is read: its entry, where the page that the record names has one of the record's epoch, else the
/// record's base. Read the record first, then the page.
#[must_use]
pub fn progress_of<'a>(record: &'a SplitRecord, split: &SplitId, page: Option<&'a LedgerPage>) -> &'a Progress {
    let entry = page.and_then(|page| page.entries.get(&(split.clone(), record.epoch)));
    entry.filter(|_| record.owner.is_some()).map_or(&record.base, |entry| &entry.progress)
}

/// A page as a view shows it.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    /// Its object and state.
    pub revision: &'a ObjectRevision,
    /// What it holds.
    pub page: &'a LedgerPage,
}
