//! Sources whose splits are known from the start and neither split nor merge: files, the generator.
//!
//! Owns: their tenancies: lanes, places, ends and drains.
//! May not: read a split; each kind has its fetcher.

use super::fetching::Fetching;
use super::places::{Ended, Places};
use super::queue::{QueueLane, QueueLimits};
use crate::coordination::records::{Descriptor, Shard};
use crate::coordination::source::{Plan, Planned, Planner, SplitOpening, SplitProgress, SplitSource};
use crate::error::Code;
use crate::flow::{ErrorClass, Lane, Ordinal, SourceError, SplitId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// What tells the kinds apart.
pub trait Reader: Send {
    /// Starts a split's fetcher, behind a place that it gave before; none: at the split's start.
    ///
    /// # Errors
    /// There is no such split, or the place is none of it.
    fn open(&self, split: &SplitId, behind: Option<&str>, fetching: Fetching) -> Result<QueueLane, SourceError>;

    /// The place before a split's first record.
    fn start(&self) -> Arc<str>;
}

/// A source of such splits.
pub struct Simple<R> {
    reader: R,
    limits: QueueLimits,
    open: BTreeMap<SplitId, Open>,
}

struct Open {
    places: Places,
    stop: watch::Sender<bool>,
    /// Whether its end has been told.
    told: bool,
}

impl<R: Reader> Simple<R> {
    /// A source of which nothing is open.
    pub const fn new(reader: R, limits: QueueLimits) -> Self {
        Self { reader, limits, open: BTreeMap::new() }
    }

    fn tenancy(&self, split: &SplitId) -> Result<&Open, SourceError> {
        self.open.get(split).ok_or_else(|| inside(format!("split {split} is not open")))
    }
}

/// Something that cannot happen did.
fn inside(message: String) -> SourceError {
    SourceError { class: ErrorClass::Fatal, code: Code::INTERNAL, message: message.into() }
}

impl Open {
    fn progress(&self, watermark: Ordinal) -> Option<SplitProgress> {
        let position = self.places.behind(watermark)?;
        let completed = self.places.ended_at(watermark) == Some(Ended::Complete);
        Some(SplitProgress { watermark, position: Some(position), tip_time: None, completed, children: Vec::new() })
    }
}

impl<R: Reader> SplitSource for Simple<R> {
    fn open_split(&mut self, opening: SplitOpening) -> Result<Box<dyn Lane>, SourceError> {
        let SplitOpening { shard, resume, waker, .. } = opening;
        let behind = resume.position.as_deref();
        let places = Places::new(behind.map_or_else(|| self.reader.start(), Arc::from), waker);
        let (stop, stopped) = watch::channel(false);
        let fetching = Fetching { limits: self.limits, stop: stopped, places: places.clone() };
        let lane = self.reader.open(&shard.split, behind, fetching)?;
        self.open.insert(shard.split, Open { places, stop, told: false });
        Ok(Box::new(lane))
    }

    fn encode_commit(&mut self, split: &SplitId, watermark: Ordinal) -> Result<SplitProgress, SourceError> {
        let place = self.tenancy(split)?.progress(watermark);
        place.ok_or_else(|| inside(format!("record {watermark} of split {split} ends no page")))
    }

    fn sweep(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        Ok(self.tenancy(split)?.progress(watermark).filter(|place| place.completed))
    }

    fn close_split(&mut self, split: &SplitId) {
        self.open.remove(split);
    }

    fn take_finishing(&mut self) -> Vec<SplitId> {
        let ended = |open: &Open| !open.told && open.places.ended() == Some(Ended::Complete);
        let finishing = self.open.iter_mut().filter(|(_, open)| ended(open));
        finishing
            .map(|(split, open)| {
                open.told = true;
                split.clone()
            })
            .collect()
    }

    fn begin_revoke(&mut self, split: &SplitId) -> bool {
        self.open.get(split).is_some_and(|open| {
            open.stop.send_replace(true);
            true
        })
    }

    fn drain_ready(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        let open = self.tenancy(split)?;
        let drained = open.places.ended_at(watermark).and_then(|_| open.progress(watermark));
        Ok(drained.map(|place| SplitProgress { completed: false, ..place }))
    }
}

impl<R> fmt::Debug for Simple<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simple").field("open", &self.open.keys()).finish_non_exhaustive()
    }
}

/// The plan of splits that are all known.
#[derive(Clone, Debug)]
pub struct Known {
    /// What they are part of.
    pub stream: Arc<str>,
    /// Their names.
    pub splits: Vec<SplitId>,
}

impl Planner for Known {
    fn plan(&self) -> Planned<'_> {
        let shard = |split: &SplitId| Shard {
            split: split.clone(),
            descriptor: Descriptor { stream: Arc::clone(&self.stream), shard: split.as_str().into(), hash_range: None },
            parents: Vec::new(),
        };
        let plan = Plan { stream: Arc::clone(&self.stream), start: None, initial: self.splits.iter().map(shard).collect(), is_final: true };
        Box::pin(async move { Ok(plan) })
    }
}
