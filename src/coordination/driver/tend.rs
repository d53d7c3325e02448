//! Tending tenancies: commits, drains, completion.

use super::ops;
use super::seat::{Stage, Tenancy};
use super::{Driver, DriverError};
use crate::coordination::ledger::{Last, Phase};
use crate::coordination::records::Progress;
use crate::coordination::source::{SplitProgress, SplitSource};
use crate::flow::{ErrorClass, Ordinal, SourceError, SplitId};
use std::time::Duration;

/// What a look at a tenancy comes to.
enum Turn {
    /// Nothing more now.
    Rest,
    /// Ask its loop for a capture, now.
    Ask,
    /// This is to be committed.
    Commit(Progress, Ordinal),
    /// This is its end.
    End(Last, Option<Ordinal>),
    /// It was read to its end.
    Complete(SplitProgress, Progress),
    /// All that was taken in is acknowledged.
    Drained,
    /// It goes without a drain.
    Force,
}

impl Driver {
    /// Looks at every claim and tenancy once.
    pub(super) fn tend_all(&mut self, source: &mut dyn SplitSource, now: Duration) -> Result<(), DriverError> {
        for split in source.take_finishing() {
            if let Some(tenancy) = self.seats.get_mut(&split).and_then(|seat| seat.tenancy.as_mut()) {
                tenancy.finishing = true;
                self.out.ready.push(split);
            }
        }
        for split in self.seats.keys().cloned().collect::<Vec<_>>() {
            self.clear_sealed(source, &split, now)?;
            self.tend(source, &split, now)?;
        }
        self.tick(now);
        Ok(())
    }

    /// Decides whether a sealed split is taken, and onto which page its entry goes.
    fn clear_sealed(&mut self, source: &mut dyn SplitSource, split: &SplitId, now: Duration) -> Result<(), DriverError> {
        let Some(seat) = self.seats.get_mut(split) else { return Ok(()) };
        let Phase::Sealed { progress, onto: None, .. } = seat.claim.phase() else { return Ok(()) };
        let (root, valid) = (progress.root.map(|root| root.epoch), source.validate_resume(split, progress));
        match valid {
            Err(error) if error.class == ErrorClass::Fatal => return Err(error.into()),
            Ok(()) if self.may_go_on_from(root) => {
                if let Some(page) = self.page_for(split) {
                    self.clear(split, page);
                }
            }
            // Its entry stays sealed: anyone goes on from it.
            refused => {
                if let Some(seat) = self.seats.get_mut(split) {
                    seat.claim.forget();
                    seat.fail(now);
                }
                self.out.errors.extend(refused.err().map(DriverError::from));
            }
        }
        Ok(())
    }

    fn tend(&mut self, source: &mut dyn SplitSource, split: &SplitId, now: Duration) -> Result<(), DriverError> {
        // A look may make another one useful; it never takes more than a few.
        for _ in 0..4 {
            let Some(tenancy) = self.seats.get_mut(split).and_then(|seat| seat.tenancy.as_mut()) else { return Ok(()) };
            let turn = match &tenancy.stage {
                Stage::Flowing => tenancy.flow(source, split),
                Stage::Draining { .. } => tenancy.drain(source, split, (now, self.config.drain)),
                Stage::Completing { .. } => Ok(tenancy.complete()),
                Stage::LettingGo { .. } => Ok(tenancy.let_go()),
                Stage::Last { .. } => Ok(Turn::Rest),
            };
            match turn {
                Ok(Turn::Rest) => break,
                Ok(turn) => self.turned(split, turn),
                Err(error) => return self.failed(split, error, now),
            }
        }
        self.make_children(split, now);
        if let Some(Stage::Draining { since, .. }) =
            self.seats.get(split).and_then(|seat| seat.tenancy.as_ref()).map(|tenancy| &tenancy.stage)
        {
            let deadline = since.saturating_add(self.config.drain);
            self.at(deadline);
        }
        Ok(())
    }

    fn turned(&mut self, split: &SplitId, turn: Turn) {
        let Some(seat) = self.seats.get_mut(split) else { return };
        let Some(tenancy) = &mut seat.tenancy else { return };
        match turn {
            Turn::Rest => {}
            Turn::Ask => {
                tenancy.asked = true;
                self.out.due.push(tenancy.lane);
            }
            Turn::Commit(progress, at) => {
                tenancy.pending = Some(at);
                seat.claim.commit(progress);
            }
            Turn::End(last, at) => {
                let forced = matches!(tenancy.stage, Stage::LettingGo { .. });
                tenancy.stage = Stage::Last { at, forced };
                seat.claim.end(last);
            }
            Turn::Complete(place, progress) => {
                let children = place.children.into();
                tenancy.stage = Stage::Completing { progress, at: place.watermark, children, calling: false };
            }
            Turn::Drained => self.out.drained.push_back(tenancy.lane),
            Turn::Force => self.force(split, None),
        }
    }

    /// What may pass is tried again; what is the split's own fault is charged to it; the rest ends the worker.
    fn failed(&mut self, split: &SplitId, error: DriverError, now: Duration) -> Result<(), DriverError> {
        match error {
            DriverError::Source(SourceError { class: ErrorClass::Retryable, .. }) => {
                self.again_later(now);
                Ok(())
            }
            DriverError::Source(error) if error.class == ErrorClass::Record => {
                let charge = self.charge(&error);
                self.force(split, Some(charge));
                self.out.errors.push(error.into());
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Children's records come before their parent's end (I18).
    fn make_children(&mut self, split: &SplitId, now: Duration) {
        let Some(seat) = self.seats.get_mut(split) else { return };
        let (stamp, not_before) = (seat.claim.stamp(), seat.not_before);
        let Some(Stage::Completing { children, calling: calling @ false, .. }) = seat.tenancy.as_mut().map(|tenancy| &mut tenancy.stage)
        else {
            return;
        };
        let Some(child) = children.front().cloned() else { return };
        if now < not_before {
            self.at(not_before);
            return;
        }
        *calling = true;
        self.call(ops::make_child(self.store.clone(), (split.clone(), stamp), child));
    }

    /// The commit clock: asks for captures of what has moved since the last ones.
    fn tick(&mut self, now: Duration) {
        if now >= self.next_commit {
            self.next_commit = now.saturating_add(self.config.commit);
            for tenancy in self.seats.values_mut().filter_map(|seat| seat.tenancy.as_mut()) {
                let reads = matches!(tenancy.stage, Stage::Flowing | Stage::Draining { .. });
                if reads && tenancy.is_settled() && tenancy.watermark > tenancy.committed {
                    tenancy.asked = true;
                    self.out.due.push(tenancy.lane);
                }
            }
        }
        if !self.lanes.is_empty() {
            self.at(self.next_commit);
        }
    }
}

impl Tenancy {
    fn flow(&mut self, source: &mut dyn SplitSource, split: &SplitId) -> Result<Turn, DriverError> {
        if let Some((place, progress)) = self.captured(source, split)? {
            let at = place.watermark;
            return Ok(if place.completed { Turn::Complete(place, progress) } else { Turn::Commit(progress, at) });
        }
        if !self.is_settled() {
            return Ok(Turn::Rest);
        }
        if self.watermark == self.committed
            && let Some(place) = source.sweep(split, self.committed)?.filter(|place| place.completed)
        {
            check(split, self.committed, place.watermark)?;
            let progress = self.progress(&place, None);
            return Ok(Turn::Complete(place, progress));
        }
        // The end asks at once, and again until its capture is the last record's.
        let asks = std::mem::take(&mut self.finishing) || (self.ends && self.watermark > self.committed);
        self.ends |= asks;
        Ok(if asks { Turn::Ask } else { Turn::Rest })
    }

    /// A stored capture that all is durable up to, and its place.
    fn captured(&mut self, source: &mut dyn SplitSource, split: &SplitId) -> Result<Option<(SplitProgress, Progress)>, DriverError> {
        let Some(capture) = self.capture.as_ref().filter(|capture| capture.at <= self.watermark && self.pending.is_none()) else {
            return Ok(None);
        };
        let place = source.encode_commit(split, capture.at)?;
        check(split, capture.at, place.watermark)?;
        let progress = self.progress(&place, Some(capture));
        self.capture = None;
        Ok(Some((place, progress)))
    }

    fn drain(&mut self, source: &mut dyn SplitSource, split: &SplitId, time: (Duration, Duration)) -> Result<Turn, DriverError> {
        let Stage::Draining { since, accepted, .. } = &mut self.stage else { return Ok(Turn::Rest) };
        let late = time.0 >= since.saturating_add(time.1);
        if late || (!*accepted && !source.begin_revoke(split)) {
            return Ok(Turn::Force);
        }
        *accepted = true;
        let Some(mut place) = source.drain_ready(split, self.watermark)? else {
            let captured = self.captured(source, split)?;
            return Ok(captured.map_or(Turn::Rest, |(place, progress)| Turn::Commit(progress, place.watermark)));
        };
        if let Stage::Draining { told: told @ false, .. } = &mut self.stage {
            *told = true;
            return Ok(Turn::Drained);
        }
        // A drain never completes a split (I12).
        place.completed = false;
        self.last(source, split, &place)
    }

    /// The last commit of a drained lane: with the capture at its last record, or with the state of the last commit where
    /// that is at its last record.
    fn last(&mut self, source: &mut dyn SplitSource, split: &SplitId, place: &SplitProgress) -> Result<Turn, DriverError> {
        let end = |progress, at| Turn::End(Last { progress: Some(progress), completed: false, charge: None }, at);
        if self.pending.is_some() {
            return Ok(Turn::Rest);
        }
        match &self.capture {
            Some(capture) if capture.at == place.watermark => Ok(end(self.progress(place, Some(capture)), Some(place.watermark))),
            Some(_) => {
                let captured = self.captured(source, split)?;
                Ok(captured.map_or(Turn::Rest, |(place, progress)| Turn::Commit(progress, place.watermark)))
            }
            None if self.committed == place.watermark => Ok(end(self.progress(place, None), None)),
            None if self.asked => Ok(Turn::Rest),
            None => Ok(Turn::Ask),
        }
    }

    fn complete(&self) -> Turn {
        match &self.stage {
            Stage::Completing { progress, at, children, .. } if children.is_empty() => {
                let last = Last { progress: Some(progress.clone()), completed: true, charge: None };
                Turn::End(last, Some(*at).filter(|at| *at > self.committed))
            }
            _ => Turn::Rest,
        }
    }

    fn let_go(&self) -> Turn {
        match &self.stage {
            Stage::LettingGo { awaited: Some(awaited), charge } if awaited.is_over() => {
                Turn::End(Last { progress: None, completed: false, charge: charge.clone() }, None)
            }
            _ => Turn::Rest,
        }
    }
}

/// A source answers for the very record that it was asked for; anything else would move a position (I2, I3).
fn check(split: &SplitId, asked: Ordinal, answered: Ordinal) -> Result<(), DriverError> {
    if asked == answered { Ok(()) } else { Err(DriverError::WentBack { split: split.clone(), asked, answered }) }
}
