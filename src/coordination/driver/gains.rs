//! Where tenancies begin and end for loops and for the source.

use super::seat::{Stage, Tenancy};
use super::{Driver, DriverError, Event};
use crate::coordination::ledger::Last;
use crate::coordination::records::LastError;
use crate::coordination::source::{SplitOpening, SplitSource};
use crate::flow::{Barrier, ErrorClass, Gain, LaneId, Ordinal, SourceError, SplitId};
use std::sync::Arc;

impl Driver {
    /// Opens what is held and not open yet: all of it, or nothing. What fails twice leaves the batch.
    pub(super) fn open_staged(&mut self, source: &mut dyn SplitSource) -> Result<Vec<Gain>, DriverError> {
        loop {
            let staged: Vec<SplitId> = self.seats.iter().filter(|(_, seat)| seat.wants_opening()).map(|(split, _)| split.clone()).collect();
            let mut gains = Vec::new();
            let mut failed = None;
            for split in staged {
                match self.open(source, &split) {
                    Ok(gain) => gains.extend(gain),
                    Err(error) => {
                        failed = Some((split, error));
                        break;
                    }
                }
            }
            let Some((split, error)) = failed else {
                for gain in &gains {
                    self.begin_tenancy(gain);
                }
                return Ok(gains);
            };
            // Their lanes are dropped; their ids are never used again.
            for gain in &gains {
                source.close_split(&gain.split);
            }
            self.refused(&split, error)?;
        }
    }

    fn open(&mut self, source: &mut dyn SplitSource, split: &SplitId) -> Result<Option<Gain>, SourceError> {
        self.next_lane = self.next_lane.next();
        let (id, waker) = (self.next_lane, self.waker());
        let Some(seat) = self.seats.get(split) else { return Ok(None) };
        let (Some(tenure), Some(shard), Some(own)) = (seat.claim.held(), &seat.lineage.shard, self.standing.root) else { return Ok(None) };
        let resume = seat.lineage.resume(&tenure.progress);
        let state = seat.lineage.states(split, &resume);
        let root = resume.root.or(seat.lineage.floor).unwrap_or(own);
        let plan = self.hints.plan.as_ref().filter(|plan| plan.is_initial(split));
        let start: Option<Arc<str>> = plan.and_then(|plan| plan.start.clone());
        let epoch = tenure.epoch;
        let opening = SplitOpening { shard: shard.clone(), resume, start, lane: id, epoch, waker };
        let lane = source.open_split(opening)?;
        Ok(Some(Gain { lane, id, split: split.clone(), epoch, state, root }))
    }

    fn begin_tenancy(&mut self, gain: &Gain) {
        let Some(seat) = self.seats.get_mut(&gain.split) else { return };
        let Some(tenure) = seat.claim.held() else { return };
        let mut base = seat.lineage.resume(&tenure.progress);
        base.root = Some(gain.root);
        seat.failures = 0;
        seat.tenancy = Some(Tenancy {
            lane: gain.id,
            epoch: gain.epoch,
            base,
            committed: Ordinal::default(),
            watermark: Ordinal::default(),
            pending: None,
            asked: false,
            capture: None,
            finishing: false,
            ends: false,
            stage: Stage::Flowing,
        });
        self.lanes.insert(gain.id, gain.split.clone());
    }

    fn refused(&mut self, split: &SplitId, error: SourceError) -> Result<(), DriverError> {
        if error.class == ErrorClass::Fatal {
            return Err(error.into());
        }
        let charge = (error.class == ErrorClass::Record).then(|| self.charge(&error));
        let now = self.env.clock().monotonic();
        if let Some(seat) = self.seats.get_mut(split) {
            seat.refused = seat.refused.saturating_add(1);
            if seat.refused >= 2 {
                seat.claim.end(Last { progress: None, completed: false, charge });
                seat.fail(now);
            }
        }
        Ok(())
    }

    /// An attempt, as it is charged to a split.
    pub(super) fn charge(&self, error: &SourceError) -> LastError {
        LastError {
            code: error.code,
            message: error.message.chars().take(1024).collect::<String>().into(),
            at: self.env.clock().wall_micros(),
        }
    }

    /// Tells of all lanes that are lost, under one barrier.
    pub(super) fn tell_losses(&mut self) -> Event {
        let (barrier, awaited) = Barrier::new(self.waker());
        let losses = std::mem::take(&mut self.out.losses);
        for loss in &losses {
            let Some(seat) = self.seats.get_mut(&loss.split) else { continue };
            match &mut seat.tenancy {
                Some(Tenancy { lane, stage: Stage::LettingGo { awaited: waits, .. }, .. }) if *lane == loss.lane => {
                    *waits = Some(awaited.clone());
                }
                _ => seat.leaving = Some(awaited.clone()),
            }
        }
        let lanes: Vec<LaneId> = losses.into_iter().map(|loss| loss.lane).collect();
        Event::LanesRevoked(lanes, barrier)
    }

    /// Tells the source which tenancies are over.
    pub(super) fn close_ended(&mut self, source: &mut dyn SplitSource) {
        for split in std::mem::take(&mut self.out.closing) {
            source.close_split(&split);
        }
    }
}
