//! The lanes of a loop: whose turn it is, what of a batch is left, and up to where each is durable.

use super::Added;
use super::evaluate::Tenancy;
use super::keys::Keys;
use crate::flow::{Admission, Batch, Lane, LaneId, LaneItem, Ordinal, Record};
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// All lanes of a loop, and the batch at hand.
#[derive(Default)]
pub(super) struct Lanes {
    held: Vec<Held>,
    /// Where the next round begins.
    turn: usize,
    current: Option<Current>,
}

/// A lane with its keys, until it is dropped.
pub(super) struct Held {
    /// Gone once it has ended.
    lane: Option<Box<dyn Lane>>,
    /// Whether it is read.
    pub(super) flows: bool,
    pub(super) tenancy: Tenancy,
    pub(super) keys: Keys,
    pub(super) marks: Marks,
}

/// Up to where a lane is evaluated, and which admission its records wait for.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) evaluated: Ordinal,
    /// Ordinals, each with the admission that makes it durable; both rise.
    tags: VecDeque<(Admission, Ordinal)>,
    durable: Ordinal,
    told: Ordinal,
}

struct Current {
    lane: usize,
    batch: Batch,
    /// The place of the next record in the page.
    at: usize,
}

impl Marks {
    /// What is evaluated and not tagged yet waits for this admission.
    fn tag(&mut self, admission: Admission) {
        let tagged = self.tags.back().map_or(self.durable, |(_, ordinal)| *ordinal);
        if tagged == self.evaluated {
            return;
        }
        match self.tags.back_mut() {
            Some((same, ordinal)) if *same == admission => *ordinal = self.evaluated,
            _ => self.tags.push_back((admission, self.evaluated)),
        }
    }

    fn durable(&mut self, prefix: Admission) {
        while let Some((admission, ordinal)) = self.tags.front()
            && *admission <= prefix
        {
            self.durable = *ordinal;
            self.tags.pop_front();
        }
    }
}

impl Lanes {
    pub(super) fn add(&mut self, added: Added) {
        let Added { gain, keys, fresh, flows } = added;
        let tenancy = Tenancy { lane: gain.id, split: gain.split, epoch: gain.epoch };
        self.held.push(Held { lane: Some(gain.lane), flows, tenancy, keys: Keys::restored(keys, fresh), marks: Marks::default() });
    }

    /// Lets go of lanes, and of what is left of their batch.
    pub(super) fn drop(&mut self, lanes: &[LaneId]) {
        for lane in lanes {
            let Some(at) = self.held.iter().position(|held| held.tenancy.lane == *lane) else { continue };
            self.held.remove(at);
            self.current = self.current.take().filter(|current| current.lane != at).map(|current| {
                let lane = if current.lane > at { current.lane.saturating_sub(1) } else { current.lane };
                Current { lane, ..current }
            });
        }
    }

    /// Reads these lanes, or does not.
    pub(super) fn flow(&mut self, lanes: &[LaneId], flows: bool) {
        for held in self.held.iter_mut().filter(|held| lanes.contains(&held.tenancy.lane)) {
            held.flows = flows;
        }
    }

    /// Whether no lane can give a record any more.
    pub(super) fn are_over(&self) -> bool {
        self.current.is_none() && self.held.iter().all(|held| held.lane.is_none())
    }

    /// Whether every lane stands between two batches.
    pub(super) const fn at_boundary(&self) -> bool {
        self.current.is_none()
    }

    /// The lane, where it stands between two batches.
    pub(super) fn between_batches(&mut self, lane: LaneId) -> Option<&mut Held> {
        let current = self.current.as_ref().map(|current| current.lane);
        let found = self.held.iter_mut().enumerate().find(|(_, held)| held.tenancy.lane == lane);
        found.filter(|(at, _)| Some(*at) != current).map(|(_, held)| held)
    }

    /// Whether it is one of them.
    pub(super) fn has(&self, lane: LaneId) -> bool {
        self.held.iter().any(|held| held.tenancy.lane == lane)
    }

    /// All of them.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Held> {
        self.held.iter_mut()
    }

    /// The next item of any lane, each in its turn.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(usize, LaneItem)> {
        for step in 0..self.held.len() {
            let at = self.turn.wrapping_add(step).checked_rem(self.held.len()).unwrap_or(0);
            let held = self.held.get_mut(at).filter(|held| held.flows);
            let Some(lane) = held.and_then(|held| held.lane.as_mut()) else { continue };
            if let Poll::Ready(item) = lane.poll_next(cx) {
                self.turn = at.wrapping_add(1);
                return Poll::Ready((at, item));
            }
        }
        Poll::Pending
    }

    /// Takes a batch of a lane at hand.
    pub(super) fn begin(&mut self, lane: usize, batch: Batch) {
        let at = batch.records.start;
        self.current = Some(Current { lane, batch, at });
    }

    /// The next record of the batch at hand.
    #[inline]
    pub(super) fn record(&mut self) -> Option<(&Tenancy, &mut Keys, Record<'_>)> {
        let current = self.current.as_ref()?;
        if current.at >= current.batch.records.end {
            return None;
        }
        let held = self.held.get_mut(current.lane)?;
        let record = current.batch.page.record(current.at)?;
        Some((&held.tenancy, &mut held.keys, record))
    }

    /// That record is evaluated.
    #[inline]
    pub(super) fn evaluated(&mut self) {
        let Some(current) = &mut self.current else { return };
        let done = current.at.saturating_sub(current.batch.records.start);
        current.at = current.at.saturating_add(1);
        if let Some(held) = self.held.get_mut(current.lane) {
            held.marks.evaluated = current.batch.first.plus(done as u64);
        }
    }

    /// What the lane at hand has evaluated waits for this admission.
    pub(super) fn tag(&mut self, admission: Admission) {
        let lane = self.current.as_ref().map(|current| current.lane);
        if let Some(held) = lane.and_then(|lane| self.held.get_mut(lane)) {
            held.marks.tag(admission);
        }
    }

    /// The batch at hand is through.
    pub(super) fn through(&mut self, admission: Admission) {
        self.tag(admission);
        self.current = None;
    }

    /// A lane has ended: it gives no more records, and stays until it is dropped.
    pub(super) fn end(&mut self, lane: usize) -> Option<LaneId> {
        let held = self.held.get_mut(lane)?;
        held.lane = None;
        Some(held.tenancy.lane)
    }

    /// Everything up to this admission is durable.
    pub(super) fn durable(&mut self, prefix: Admission) {
        for held in &mut self.held {
            held.marks.durable(prefix);
        }
    }

    /// A lane whose watermark has risen since it was last told.
    pub(super) fn next_watermark(&mut self) -> Option<(LaneId, Ordinal)> {
        let risen = self.held.iter_mut().find(|held| held.marks.told < held.marks.durable)?;
        risen.marks.told = risen.marks.durable;
        Some((risen.tenancy.lane, risen.marks.told))
    }
}
