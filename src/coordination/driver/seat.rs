//! What the driver keeps for one split: the claim, and the tenancy while there is one.

use super::ops::Found;
use crate::coordination::ledger::{Claim, Me, Phase};
use crate::coordination::records::{CutoverAt, LastError, Progress, Shard, SplitRecord};
use crate::coordination::source::SplitProgress;
use crate::flow::{Awaited, LaneId, Ordinal, RootRef, SplitEpoch, SplitId, SplitState, StoredCapture};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Cutovers that travel in a progress.
const CUTOVERS: usize = 4;

/// One split in this worker.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) claim: Claim,
    /// A call for its record is in flight.
    pub(super) busy: bool,
    /// Nothing of it before this time.
    pub(super) not_before: Duration,
    pub(super) failures: u32,
    /// What the claim has found out about the split.
    pub(super) lineage: Lineage,
    pub(super) tenancy: Option<Tenancy>,
    /// The lane of the tenancy before may still be read: nothing is claimed until it is not.
    pub(super) leaving: Option<Awaited>,
    /// How often opening has failed in this tenancy.
    pub(super) refused: u32,
    /// A page must have room for this many bytes of it.
    pub(super) need: usize,
}

/// What a split is and comes from.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    pub(super) shard: Option<Shard>,
    /// All that it inherits from.
    pub(super) ancestors: BTreeMap<SplitId, SplitRecord>,
    /// The newest root that it or they were committed under.
    pub(super) floor: Option<RootRef>,
}

/// A tenancy whose lane is open.
#[derive(Debug)]
pub(super) struct Tenancy {
    pub(super) lane: LaneId,
    pub(super) epoch: SplitEpoch,
    /// The last commit that stands, and the record that it is at.
    pub(super) base: Progress,
    pub(super) committed: Ordinal,
    /// All up to it is durable.
    pub(super) watermark: Ordinal,
    /// The commit that is being written.
    pub(super) pending: Option<Ordinal>,
    /// A capture is asked for, and not stored yet.
    pub(super) asked: bool,
    /// It is stored, and waits for the watermark.
    pub(super) capture: Option<StoredCapture>,
    /// Its lane has just reached its end.
    pub(super) finishing: bool,
    /// It has, some time ago.
    pub(super) ends: bool,
    pub(super) stage: Stage,
}

/// What a tenancy is about.
#[derive(Debug)]
pub(super) enum Stage {
    /// It is read.
    Flowing,
    /// It is to go elsewhere: what was taken in is finished first.
    Draining {
        since: Duration,
        /// The source has stopped intake.
        accepted: bool,
        told: bool,
    },
    /// It was read to its end: its children's records come first.
    Completing { progress: Progress, at: Ordinal, children: VecDeque<Shard>, calling: bool },
    /// It goes without a drain: the lane must be stopped first; none: that is not said yet.
    LettingGo { awaited: Option<Awaited>, charge: Option<LastError> },
    /// The last commit is being written; at this record if there is a new one. By force: the lane is gone already.
    Last { at: Option<Ordinal>, forced: bool },
}

/// A lane that is lost.
#[derive(Debug)]
pub(super) struct Loss {
    pub(super) split: SplitId,
    pub(super) lane: LaneId,
}

impl Seat {
    pub(super) fn new(split: SplitId, me: Me) -> Self {
        Self {
            claim: Claim::idle(split, me),
            busy: false,
            not_before: Duration::ZERO,
            failures: 0,
            lineage: Lineage::default(),
            tenancy: None,
            leaving: None,
            refused: 0,
            need: 0,
        }
    }

    /// Whether it is held and waits to be opened.
    pub(super) fn wants_opening(&self) -> bool {
        self.tenancy.is_none() && self.claim.held().is_some()
    }

    /// How many bytes of a page its entry wants.
    pub(super) fn wants(&self) -> usize {
        match self.claim.phase() {
            Phase::Sealed { progress, .. } => self.need.max(progress.bytes()),
            _ => self.need,
        }
    }

    /// Whether a claim is under way that has not taken the record yet: it may be given up.
    pub(super) const fn is_early(&self) -> bool {
        matches!(
            self.claim.phase(),
            Phase::Reading(_) | Phase::Claiming { .. } | Phase::Gone { .. } | Phase::Sealed { .. } | Phase::Taking { .. }
        )
    }
}

impl Lineage {
    pub(super) fn of(split: &SplitId, found: &Found) -> Self {
        let Some(view) = &found.record else { return Self::default() };
        let record = &view.record;
        let shard = Shard { split: split.clone(), descriptor: record.descriptor.clone(), parents: record.parents.clone() };
        let ancestors: BTreeMap<_, _> =
            found.ancestors.iter().filter_map(|(split, record)| Some((split.clone(), record.clone()?))).collect();
        let roots = ancestors.values().chain([record]).filter_map(|record| record.base.root);
        let floor = roots.max_by_key(|root| root.epoch);
        Self { shard: Some(shard), ancestors, floor }
    }

    /// What a tenancy starts from: `inherits` without what has no record any more.
    pub(super) fn resume(&self, progress: &Progress) -> Progress {
        let mut progress = progress.clone();
        progress.inherits.retain(|parent| self.ancestors.contains_key(parent));
        progress
    }

    /// The split's own state, then that of all that it inherits from, nearest first.
    pub(super) fn states(&self, split: &SplitId, progress: &Progress) -> Vec<SplitState> {
        let state = |split: &SplitId, progress: &Progress| progress.head.clone().map(|head| SplitState { split: split.clone(), head });
        let mut states: Vec<SplitState> = state(split, progress).into_iter().collect();
        let mut next: VecDeque<&SplitId> = progress.inherits.iter().collect();
        let mut seen = Vec::new();
        while let Some(ancestor) = next.pop_front() {
            let Some(record) = self.ancestors.get(ancestor).filter(|_| !seen.contains(&ancestor)) else { continue };
            seen.push(ancestor);
            states.extend(state(ancestor, &record.base));
            next.extend(&record.base.inherits);
        }
        states
    }
}

impl Tenancy {
    /// The progress at a place of the source's, with a capture's state or that of the last commit.
    pub(super) fn progress(&self, place: &SplitProgress, capture: Option<&StoredCapture>) -> Progress {
        let base = &self.base;
        let root = capture.map(|capture| capture.root).or(base.root);
        let mut cutovers = base.cutovers.clone();
        if let (Some(new), Some(old)) = (root, base.root)
            && new.epoch > old.epoch
        {
            cutovers.push(CutoverAt { epoch: new.epoch, after: place.position.clone() });
            let excess = cutovers.len().saturating_sub(CUTOVERS);
            cutovers.drain(..excess);
        }
        let over = capture.is_some_and(|capture| capture.inheritance_over);
        Progress {
            position: place.position.clone(),
            tip_time: place.tip_time.or(base.tip_time),
            head: capture.map(|capture| capture.head.clone()).or_else(|| base.head.clone()),
            inherits: if over { Vec::new() } else { base.inherits.clone() },
            root,
            cutovers,
        }
    }

    /// Whether nothing is on its way to be committed.
    pub(super) const fn is_settled(&self) -> bool {
        self.pending.is_none() && self.capture.is_none() && !self.asked
    }
}
