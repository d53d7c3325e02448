//! One shard, opened and read in a simulation.

use crate::fake_kinesis::Fake;
use millrace::coordination::records::{Descriptor, Progress, Shard};
use millrace::coordination::source::{SplitOpening, SplitProgress, SplitSource};
use millrace::env::Env;
use millrace::flow::{Lane, LaneId, LaneItem, Ordinal, SourceError, SplitEpoch, SplitId};
use millrace::source::QueueLimits;
use millrace::source::kinesis::{KinesisSource, Setup};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Waker;

/// A source with one open split, and its lane.
pub(super) struct Reading {
    pub(super) source: KinesisSource,
    pub(super) split: SplitId,
    pub(super) identity: Arc<str>,
    lane: Box<dyn Lane>,
    next: Ordinal,
    /// Records of a batch that were not asked for yet.
    rest: VecDeque<String>,
}

/// An opening of the split `s` that reads on from a position.
pub(super) fn opened(position: &str) -> SplitOpening {
    SplitOpening {
        shard: Shard { split: SplitId::new("s"), descriptor: Descriptor::default(), parents: Vec::new() },
        resume: Progress { position: Some(position.into()), ..Progress::default() },
        start: None,
        lane: LaneId::new(1),
        epoch: SplitEpoch::new(1),
        waker: Waker::noop().clone(),
    }
}

/// The hash keys of the second of two halves.
pub(super) fn second_half() -> (Arc<str>, Arc<str>) {
    ((1_u128 << 127).to_string().into(), u128::MAX.to_string().into())
}

impl Reading {
    /// From this start: a plan's text, or none for the oldest record.
    pub(super) fn open(env: &Env, fake: &Arc<Fake>, shard: &str, start: Option<&str>) -> Self {
        Self::begin(env, fake, shard, (Progress::default(), start), (QueueLimits::default(), None))
    }

    /// From the oldest record, into a queue of this size.
    pub(super) fn with(env: &Env, fake: &Arc<Fake>, shard: &str, limits: QueueLimits) -> Self {
        Self::begin(env, fake, shard, (Progress::default(), None), (limits, None))
    }

    /// From a position, in the stream of this identity or else the one that the fake is.
    pub(super) fn resume(env: &Env, fake: &Arc<Fake>, shard: &str, position: &str, identity: Option<&Arc<str>>) -> Self {
        let resume = Progress { position: Some(position.into()), ..Progress::default() };
        Self::begin(env, fake, shard, (resume, None), (QueueLimits::default(), identity))
    }

    /// From a committed place.
    pub(super) fn resume_at(env: &Env, fake: &Arc<Fake>, shard: &str, place: &SplitProgress) -> Self {
        let resume = Progress { position: place.position.clone(), tip_time: place.tip_time, ..Progress::default() };
        Self::begin(env, fake, shard, (resume, None), (QueueLimits::default(), None))
    }

    fn begin(
        env: &Env,
        fake: &Arc<Fake>,
        shard: &str,
        (resume, start): (Progress, Option<&str>),
        (limits, identity): (QueueLimits, Option<&Arc<str>>),
    ) -> Self {
        let identity = identity.cloned().unwrap_or_else(|| fake.identity());
        let setup = Setup { stream: "main".into(), identity: identity.clone(), retention: fake.retention(), limits };
        let mut source = KinesisSource::new(env, fake.clone(), setup);
        let split = SplitId::new(shard);
        let descriptor = Descriptor { stream: identity.clone(), shard: shard.into(), hash_range: None };
        let opening = SplitOpening {
            shard: Shard { split: split.clone(), descriptor, parents: Vec::new() },
            resume,
            start: start.map(Arc::from),
            ..opened("")
        };
        let lane = source.open_split(opening).unwrap();
        Self { source, split, identity, lane, next: Ordinal::new(1), rest: VecDeque::new() }
    }

    async fn item(&mut self) -> LaneItem {
        poll_fn(|cx| self.lane.poll_next(cx)).await
    }

    /// The next records, as texts; what they come with is held against the shard's order.
    pub(super) async fn records(&mut self, count: usize) -> Vec<String> {
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
    pub(super) async fn to_the_end(&mut self) -> Vec<String> {
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

    /// Why it cannot be read on.
    pub(super) async fn failure(&mut self) -> SourceError {
        loop {
            match self.item().await {
                LaneItem::Batch(_) => {}
                LaneItem::End => panic!("the lane ended"),
                LaneItem::Failed(error) => return error,
            }
        }
    }

    pub(super) fn commit(&mut self, at: u64) -> SplitProgress {
        let place = self.source.encode_commit(&self.split, Ordinal::new(at)).unwrap();
        assert_eq!(place.watermark, Ordinal::new(at));
        place
    }
}
