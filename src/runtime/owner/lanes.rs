//! The lanes of a loop: whose turn it is, what of a batch is left, and up to where each is durable.

use super::Gain;
use super::evaluate::Tenancy;
use super::keys::Keys;
use crate::flow::{Admission, Batch, Lane, LaneId, LaneItem, Ordinal, Record};
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// All lanes of a loop, and the batch at hand.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Held>,
    /// Where the next round begins.
    turn: usize,
    current: Option<Current>,
    /// Ended lanes whose last records are not durable yet.
    ended: Vec<Marks>,
}

struct Held {
    lane: Box<dyn Lane>,
    tenancy: Tenancy,
    keys: Keys,
    marks: Marks,
}

/// Up to where a lane is evaluated, and which admission its records wait for.
struct Marks {
    id: LaneId,
    evaluated: Ordinal,
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
    fn tag(&mut self, admission: Admission) {
        if self.tags.back().is_some_and(|(_, ordinal)| *ordinal == self.evaluated) || self.evaluated == self.durable {
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
    pub(super) fn add(&mut self, gain: Gain) {
        let start = Ordinal::default();
        let marks = Marks { id: gain.id, evaluated: start, tags: VecDeque::new(), durable: start, told: start };
        let tenancy = Tenancy { epoch: gain.epoch };
        self.lanes.push(Held { lane: gain.lane, tenancy, keys: Keys::default(), marks });
    }

    /// Whether there is none that could give records.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.current.is_none()
    }

    /// The next item of any lane, each in its turn.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(usize, LaneItem)> {
        for step in 0..self.lanes.len() {
            let at = self.turn.wrapping_add(step).checked_rem(self.lanes.len()).unwrap_or(0);
            let Some(held) = self.lanes.get_mut(at) else { continue };
            if let Poll::Ready(item) = held.lane.poll_next(cx) {
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
    pub(super) fn record(&mut self) -> Option<(&Tenancy, &mut Keys, Record<'_>)> {
        let current = self.current.as_ref()?;
        if current.at >= current.batch.records.end {
            return None;
        }
        let held = self.lanes.get_mut(current.lane)?;
        let record = current.batch.page.record(current.at)?;
        Some((&held.tenancy, &mut held.keys, record))
    }

    /// That record is evaluated.
    pub(super) fn evaluated(&mut self) {
        let Some(current) = &mut self.current else { return };
        let done = current.at.saturating_sub(current.batch.records.start);
        current.at = current.at.saturating_add(1);
        if let Some(held) = self.lanes.get_mut(current.lane) {
            held.marks.evaluated = current.batch.first.plus(done as u64);
        }
    }

    /// What the lane at hand has evaluated waits for this admission.
    pub(super) fn tag(&mut self, admission: Admission) {
        let lane = self.current.as_ref().map(|current| current.lane);
        if let Some(held) = lane.and_then(|lane| self.lanes.get_mut(lane)) {
            held.marks.tag(admission);
        }
    }

    /// The batch at hand is through.
    pub(super) fn through(&mut self, admission: Admission) {
        self.tag(admission);
        self.current = None;
    }

    /// A lane has ended.
    pub(super) fn end(&mut self, lane: usize) -> Option<LaneId> {
        if lane >= self.lanes.len() {
            return None;
        }
        let held = self.lanes.remove(lane);
        let id = held.marks.id;
        self.ended.push(held.marks);
        Some(id)
    }

    /// Everything up to this admission is durable.
    pub(super) fn durable(&mut self, prefix: Admission) {
        for marks in self.marks() {
            marks.durable(prefix);
        }
    }

    /// A lane whose watermark has risen since it was last told.
    pub(super) fn next_watermark(&mut self) -> Option<(LaneId, Ordinal)> {
        self.ended.retain(|marks| marks.told < marks.evaluated);
        let risen = self.marks().find(|marks| marks.told < marks.durable)?;
        risen.told = risen.durable;
        Some((risen.id, risen.told))
    }

    /// The last watermarks of all lanes, once all that was evaluated is durable.
    pub(super) fn all_evaluated(&mut self) -> Vec<(LaneId, Ordinal)> {
        self.marks().filter(|marks| marks.told < marks.evaluated).map(|marks| (marks.id, marks.evaluated)).collect()
    }

    fn marks(&mut self) -> impl Iterator<Item = &mut Marks> {
        self.lanes.iter_mut().map(|held| &mut held.marks).chain(&mut self.ended)
    }
}
