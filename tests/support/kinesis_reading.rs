//! One shard, opened and read: on the fake or on a stand-in.

use millrace::coordination::records::{Descriptor, Progress, Shard};
use millrace::coordination::source::{SplitOpening, SplitProgress, SplitSource};
use millrace::env::{Env, first_of};
use millrace::flow::{Lane, LaneId, LaneItem, Ordinal, SourceError, SplitEpoch, SplitId};
use millrace::kinesis::Service;
use millrace::source::QueueLimits;
use millrace::source::kinesis::{KinesisSource, Setup};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A source with one open split, and its lane.
pub(crate) struct Reading {
    pub(crate) source: KinesisSource,
    pub(crate) split: SplitId,
    pub(crate) identity: Arc<str>,
    lane: Box<dyn Lane>,
    next: Ordinal,
    /// Records of a batch that were not asked for yet.
    rest: VecDeque<String>,
}

/// Which stream, and where to begin in a shard of it.
pub(crate) struct From {
    pub(crate) identity: Arc<str>,
    pub(crate) retention: i64,
    pub(crate) resume: Progress,
    /// A plan's text, or none for the oldest record.
    pub(crate) start: Option<Arc<str>>,
    pub(crate) limits: QueueLimits,
}

impl From {
    /// From the oldest record.
    pub(crate) fn beginning(identity: Arc<str>, retention: i64) -> Self {
        Self { identity, retention, resume: Progress::default(), start: None, limits: QueueLimits::default() }
    }
}

/// What a committed place is resumed with.
pub(crate) fn resumed(place: &SplitProgress) -> Progress {
    Progress { position: place.position.clone(), tip_time: place.tip_time, ..Progress::default() }
}

/// An opening of the split `s` that reads on from a position.
pub(crate) fn opened(position: &str) -> SplitOpening {
    SplitOpening {
        shard: Shard { split: SplitId::new("s"), descriptor: Descriptor::default(), parents: Vec::new() },
        resume: Progress { position: Some(position.into()), ..Progress::default() },
        start: None,
        lane: LaneId::new(1),
        epoch: SplitEpoch::new(1),
        waker: Waker::noop().clone(),
    }
}

impl Reading {
    /// Opens a shard of the stream behind a service.
    pub(crate) fn open(env: &Env, service: Arc<dyn Service>, shard: &str, from: From) -> Self {
        let From { identity, retention, resume, start, limits } = from;
        let setup = Setup { stream: "main".into(), identity: identity.clone(), retention, limits };
        let mut source = KinesisSource::new(env, service, setup);
        let split = SplitId::new(shard);
        let descriptor = Descriptor { stream: identity.clone(), shard: shard.into(), hash_range: None };
        let opening = SplitOpening { shard: Shard { split: split.clone(), descriptor, parents: Vec::new() }, resume, start, ..opened("") };
        let lane = source.open_split(opening).unwrap();
        Self { source, split, identity, lane, next: Ordinal::new(1), rest: VecDeque::new() }
    }

    async fn item(&mut self) -> LaneItem {
        poll_fn(|cx| self.lane.poll_next(cx)).await
    }

    /// The next records, as texts; what they come with is held against the shard's order.
    pub(crate) async fn records(&mut self, count: usize) -> Vec<String> {
        while self.rest.len() < count {
            match self.item().await {
                LaneItem::Batch(batch) => {
                    assert_eq!(batch.first, self.next, "ordinals are dense");
                    self.next = self.next.plus(batch.len() as u64);
                    self.rest.extend(batch.iter().map(|(_, record)| String::from_utf8(record.payload.to_vec()).unwrap()));
                }
                other => panic!("{other:?} after {} of {count} records", self.rest.len()),
            }
        }
        self.rest.drain(..count).collect()
    }

    /// All records until the shard's end.
    pub(crate) async fn until_its_end(&mut self) -> Vec<String> {
        loop {
            match self.item().await {
                LaneItem::Batch(batch) => {
                    self.rest.extend(batch.iter().map(|(_, record)| String::from_utf8(record.payload.to_vec()).unwrap()));
                }
                LaneItem::End => return self.rest.drain(..).collect(),
                LaneItem::Failed(error) => panic!("{error}"),
            }
        }
    }

    /// All records until none has come for this long.
    pub(crate) async fn until_quiet(&mut self, quiet: Duration, env: &Env) -> Vec<String> {
        loop {
            match first_of(self.item(), env.clock().sleep(quiet)).await {
                Some(LaneItem::Batch(batch)) => {
                    self.rest.extend(batch.iter().map(|(_, record)| String::from_utf8(record.payload.to_vec()).unwrap()));
                }
                Some(LaneItem::End) | None => return self.rest.drain(..).collect(),
                Some(LaneItem::Failed(error)) => panic!("{error}"),
            }
        }
    }

    /// Why it cannot be read on.
    pub(crate) async fn failure(&mut self) -> SourceError {
        loop {
            match self.item().await {
                LaneItem::Batch(_) => {}
                LaneItem::End => panic!("the lane ended"),
                LaneItem::Failed(error) => return error,
            }
        }
    }

    pub(crate) fn commit(&mut self, at: u64) -> SplitProgress {
        let place = self.source.encode_commit(&self.split, Ordinal::new(at)).unwrap();
        assert_eq!(place.watermark, Ordinal::new(at));
        place
    }
}
