//! What the driver tells the control task, and in which order.

use super::Driver;
use crate::coordination::source::SplitSource;
use crate::coordination::store::StoreError;
use crate::error::{Code, Meaning, Retry};
use crate::flow::{Barrier, ErrorClass, Gain, LaneId, Ordinal, SourceError, SplitId};

/// What the driver tells.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// We are a member, for the first time or after a lapse: read the committed root by quorum, then say
    /// [`Driver::ready`] with this term. Nothing is claimed before.
    Joined(u64),
    /// Splits were opened: hand their lanes to loops. Lanes that flow are untouched.
    LanesAdded(Vec<Gain>),
    /// Lanes are over: drop them, and of their rows all that were not sent; then let the barrier go.
    LanesRevoked(Vec<LaneId>, Barrier),
    /// Lanes have ended, or were released, with their last commit: drop them.
    LanesRetired(Vec<LaneId>),
    /// Capture these lanes at their next batch boundary.
    CaptureDue(Vec<LaneId>),
    /// The lanes of these splits have reached their end: their last captures are asked for.
    CommitReady(Vec<SplitId>),
    /// A commit stands: all up to this record of the split's lane.
    Committed(SplitId, Ordinal),
    /// A lane has shown neither a page nor a tip for too long.
    Stalled(LaneId),
    /// A lane that is being taken away has given out all that it took in, and all of it is acknowledged.
    Drained(LaneId),
    /// The plan is final, and every split was read to its end.
    AllComplete,
}

/// What goes wrong.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// A call of the store has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The source says so.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Another life of this worker has taken its name.
    #[error("another process runs under this worker's name")]
    Superseded,
    /// A source answered with the place of another record than the one it was asked for (I2, I3).
    #[error("split {split}: asked for the place of record {asked}, the source gave that of record {answered}")]
    WentBack {
        /// The split.
        split: SplitId,
        /// The record.
        asked: Ordinal,
        /// The record that was answered.
        answered: Ordinal,
    },
}

impl Meaning for DriverError {
    fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Source(error) => error.code(),
            Self::Superseded => Code::SUPERSEDED,
            Self::WentBack { .. } => Code::POSITION_WENT_BACK,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Store(error) => error.retry(),
            // One split's fault: it is charged and tried again, and the others are read meanwhile (I15).
            Self::Source(error) if error.class == ErrorClass::Record => Retry::Backoff,
            Self::Source(error) => error.retry(),
            Self::Superseded => Retry::Fenced,
            Self::WentBack { .. } => Retry::Never,
        }
    }
}

impl Driver {
    /// Whether one of the events that come first is due.
    pub(super) fn has_first_events(&self) -> bool {
        let out = &self.out;
        let told = !out.losses.is_empty() || out.joined.is_some() || !out.retired.is_empty() || !out.drained.is_empty();
        told || !out.closing.is_empty() || self.seats.values().any(super::seat::Seat::wants_opening)
    }

    /// Losses, then retired lanes, then gains, then drained lanes.
    pub(super) fn first_events(&mut self, source: &mut dyn SplitSource) -> Option<Result<Event, DriverError>> {
        if !self.out.losses.is_empty() {
            return Some(Ok(self.tell_losses()));
        }
        if let Some(term) = self.out.joined.take() {
            return Some(Ok(Event::Joined(term)));
        }
        if !self.out.retired.is_empty() {
            return Some(Ok(Event::LanesRetired(std::mem::take(&mut self.out.retired))));
        }
        match self.open_staged(source) {
            Ok(gains) if gains.is_empty() => {}
            Ok(gains) => return Some(Ok(Event::LanesAdded(gains))),
            Err(error) => return Some(Err(error)),
        }
        self.out.drained.pop_front().map(|lane| Ok(Event::Drained(lane)))
    }

    /// One error of those that came together: one that ends the worker before one that may pass.
    pub(super) fn worst_error(&mut self) -> Option<DriverError> {
        let errors = std::mem::take(&mut self.out.errors);
        let ends = |error: &DriverError| matches!(error.retry(), Retry::Never | Retry::Fenced);
        errors.iter().find(|error| ends(error)).or(errors.first()).cloned()
    }

    /// Captures, then commits, then lanes that have finished.
    pub(super) fn last_events(&mut self) -> Option<Event> {
        if !self.out.due.is_empty() {
            return Some(Event::CaptureDue(std::mem::take(&mut self.out.due)));
        }
        if let Some((split, at)) = self.out.committed.pop_front() {
            return Some(Event::Committed(split, at));
        }
        if !self.out.ready.is_empty() {
            return Some(Event::CommitReady(std::mem::take(&mut self.out.ready)));
        }
        std::mem::take(&mut self.out.complete).then_some(Event::AllComplete)
    }
}
