//! How one shard is read: iterators, pages, gaps, trouble, the end.

use super::lineage;
use super::listing::list;
use super::notice::{Notice, Trouble};
use super::pace::{Backoff, rest};
use super::planner::{same_stream, source_error};
use super::position::{Position, Start};
use super::tenancy::Tenancy;
use crate::env::Env;
use crate::error::{Code, Meaning};
use crate::flow::{ErrorClass, Page, Record, SourceError};
use crate::kinesis::{ChildShard, Class, Fault, IteratorStart, RecordsPage, Sequence, Service, ShardFilter, Token, bounded};
use crate::source::queue::Feeder;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// How often an end that no child shards confirm is asked for again before a listing decides.
const DOUBTS: u32 = 5;
/// How often the service may take an iterator of its own for wrong.
const REFUSALS: u32 = 5;
/// How long calls may fail for a reason that passes by itself before it is shown.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the fetchers of a source have in common.
pub(super) struct Common {
    pub(super) env: Env,
    pub(super) service: Arc<dyn Service>,
    /// What the program calls the stream.
    pub(super) stream: Arc<str>,
    /// Which stream positions belong to (I21).
    pub(super) identity: Arc<str>,
    /// How long the stream keeps records, in microseconds.
    pub(super) retention: AtomicI64,
}

/// How reading ended.
pub(super) enum Outcome {
    /// Everything is read, and the shard became these.
    End(Vec<ChildShard>),
    /// It cannot be read on.
    Failed(SourceError),
    /// Nobody takes the records.
    LaneGone,
    /// Intake has just been stopped; what was read is not given.
    Stopped,
}

/// The record that an iterator was made for.
struct Expected {
    sequence: Sequence,
    /// It was read before.
    known: bool,
    /// When the shard was last known to be read to its tip, before this iterator was made.
    since: Option<i64>,
    /// That it is gone was found, and judged.
    missed: bool,
}

impl Expected {
    fn at(position: &Position, since: Option<i64>) -> Self {
        let (Position::At(sequence) | Position::After(sequence, _)) = position;
        Self { sequence: sequence.clone(), known: matches!(position, Position::After(_, None)), since, missed: false }
    }
}

/// Reads one shard. Everything it waits for may be given up at any time, followed by `interrupted`.
pub(super) struct Reader {
    common: Arc<Common>,
    tenancy: Arc<Tenancy>,
    shard: Arc<str>,
    start: Start,
    iterator: Option<Token>,
    expected: Option<Expected>,
    /// The record to read on from is gone: the oldest one is next.
    from_horizon: bool,
    backoff: Backoff,
    failing_since: Option<Duration>,
    doubts: u32,
    refusals: u32,
    at_risk: bool,
}

impl Reader {
    pub(super) fn new(common: Arc<Common>, tenancy: Arc<Tenancy>, shard: Arc<str>, start: Start) -> Self {
        Self {
            common,
            tenancy,
            shard,
            start,
            iterator: None,
            expected: None,
            from_horizon: false,
            backoff: Backoff::default(),
            failing_since: None,
            doubts: 0,
            refusals: 0,
            at_risk: false,
        }
    }

    /// What it waited for was given up: what the lane has not taken is read again.
    pub(super) fn interrupted(&mut self) {
        self.iterator = None;
    }

    /// Reads on until there is an outcome.
    pub(super) async fn read_on(&mut self, feeder: &Feeder) -> Outcome {
        loop {
            if !self.tenancy.is_open() {
                return Outcome::Stopped;
            }
            let step = match self.iterator.take() {
                None => self.renew().await,
                Some(token) => self.read(token, feeder).await,
            };
            if let Some(outcome) = step {
                return outcome;
            }
        }
    }

    /// An iterator for the record after the last one that the lane took. It is made for that last record itself, which
    /// must then come first: an iterator for what is gone reads on elsewhere without a word.
    async fn renew(&mut self) -> Option<Outcome> {
        let position = self.tenancy.position();
        let start = match &position {
            _ if self.from_horizon => IteratorStart::TrimHorizon,
            Some(position) => {
                let expected = Expected::at(position, self.tenancy.tip());
                IteratorStart::At(self.expected.insert(expected).sequence.clone())
            }
            None => match self.start {
                Start::TrimHorizon => IteratorStart::TrimHorizon,
                Start::Timestamp(at) => IteratorStart::Timestamp(at),
            },
        };
        let stored = matches!(start, IteratorStart::At(_));
        let Common { env, service, .. } = &*self.common;
        match bounded(env, &**service, "GetShardIterator", service.iterator(&self.shard, start)).await {
            Ok(token) => {
                self.iterator = Some(token);
                None
            }
            Err(fault) if fault.class == Class::NotFound => self.gone(&fault).await,
            Err(fault) if fault.class == Class::Invalid && stored => self.position_refused(&fault).await,
            Err(fault) => self.wait(&fault).await,
        }
    }

    async fn read(&mut self, token: Token, feeder: &Feeder) -> Option<Outcome> {
        let Common { env, service, .. } = &*self.common;
        let fault = match bounded(env, &**service, "GetRecords", service.records(&token)).await {
            Ok(page) => {
                self.backoff.reset();
                (self.failing_since, self.refusals) = (None, 0);
                return self.accept(page, feeder).await;
            }
            Err(fault) => fault,
        };
        match fault.class {
            Class::ExpiredIterator => self.pause(rest(0, false)).await,
            Class::NotFound => self.gone(&fault).await,
            Class::Invalid => {
                self.refusals = self.refusals.saturating_add(1);
                if self.refusals >= REFUSALS {
                    return Some(failed(ErrorClass::Record, &fault));
                }
                self.wait(&fault).await
            }
            _ => {
                self.iterator = Some(token);
                self.wait(&fault).await
            }
        }
    }

    async fn accept(&mut self, page: RecordsPage, feeder: &Feeder) -> Option<Outcome> {
        let Some(skipped) = self.meet(&page) else { return self.pause(rest(0, false)).await };
        let bytes = page.records.iter().map(|record| record.data.len()).sum();
        let idle = page.records.is_empty() && page.behind.unwrap_or(0) == 0;
        if let Some(outcome) = self.hand_over(&page, skipped, feeder).await {
            return Some(outcome);
        }
        self.tenancy.reads(page.behind, page.at.filter(|_| page.behind == Some(0)));
        self.judge_lag(page.behind.unwrap_or(0));
        match page.next {
            Some(token) => {
                self.doubts = 0;
                self.iterator = Some(token);
            }
            None if page.children.is_empty() => {
                self.doubts = self.doubts.saturating_add(1);
                if self.doubts >= DOUBTS {
                    return self.end_by_listing().await;
                }
            }
            None => return Some(Outcome::End(page.children)),
        }
        self.pause(rest(bytes, idle)).await
    }

    /// Gives a page to the lane, once it has room.
    async fn hand_over(&mut self, page: &RecordsPage, skipped: usize, feeder: &Feeder) -> Option<Outcome> {
        let records = page.records.get(skipped..).unwrap_or_default();
        let mut handed = Page::new(Arc::clone(&self.common.stream), Arc::clone(&self.shard));
        for record in records {
            handed.push(&Record {
                stream: &self.common.stream,
                shard: &self.shard,
                partition_key: record.key.as_deref(),
                sequence_number: record.sequence.as_str(),
                sub_sequence: None,
                arrival: record.arrival,
                payload: &record.data,
            });
        }
        let sequences: Vec<_> = records.iter().map(|record| record.sequence.clone()).collect();
        let read = !records.is_empty();
        let tenancy = &self.tenancy;
        let sent = feeder.send(handed, move || tenancy.give(sequences)).await;
        if read {
            self.from_horizon = false;
        }
        sent.err().map(|_closed| Outcome::LaneGone)
    }

    /// Holds a page against the record that its iterator was made for. Answers how many records at its beginning were read
    /// before; none: the service has nothing more to give from there, and the oldest record is next.
    fn meet(&mut self, page: &RecordsPage) -> Option<usize> {
        let Some(mut expected) = self.expected.take() else { return Some(0) };
        let first = page.records.first().map(|record| &record.sequence);
        if first == Some(&expected.sequence) {
            return Some(usize::from(expected.known));
        }
        let behind = page.behind.unwrap_or(0);
        // Readers were seen to get empty pages for ever behind a record that is gone, with a lag of all that is kept.
        let stuck = first.is_none() && page.next.is_some() && behind.saturating_mul(1_000) >= self.retention();
        let at_tip = first.is_none() && behind == 0;
        if (first.is_some() || page.next.is_none() || stuck || at_tip) && !expected.missed {
            expected.missed = true;
            self.miss(&expected, first.cloned(), page.at);
        }
        if stuck {
            self.from_horizon = true;
            return None;
        }
        if first.is_none() {
            // Should it come after all, it is still known.
            self.expected = Some(expected);
        }
        Some(0)
    }

    /// The record to read on from is gone. Something unread went with it only if the shard was last read to its tip before
    /// what the stream still holds.
    fn miss(&self, expected: &Expected, next: Option<Sequence>, at: Option<i64>) {
        let (since, until) = (expected.since, at.map(|at| at.saturating_sub(self.retention())));
        let harmless = expected.known && since.zip(until).is_some_and(|(since, until)| since >= until);
        if !harmless {
            let after = expected.known.then(|| expected.sequence.clone());
            self.tenancy.notice(Notice::Gap { split: self.tenancy.split().clone(), after, next, since, until });
        }
    }

    /// Says once when what is unread will soon be gone.
    fn judge_lag(&mut self, behind: i64) {
        let risky = behind > self.retention().saturating_div(1_000).saturating_div(5).saturating_mul(4);
        if risky && !self.at_risk {
            self.tenancy.notice(Notice::RetentionAtRisk { split: self.tenancy.split().clone(), behind });
        }
        self.at_risk = risky;
    }

    /// The service does not know the shard: the stream is gone, it is another one, or the shard is older than what it keeps.
    async fn gone(&mut self, fault: &Fault) -> Option<Outcome> {
        let Common { env, service, identity, .. } = &*self.common;
        let summary = match bounded(env, &**service, "DescribeStreamSummary", service.summary()).await {
            Ok(summary) => summary,
            // Gone for now or for good: positions are kept, and it is tried again.
            Err(fault) => return self.wait(&fault).await,
        };
        if let Err(error) = same_stream(&summary, identity) {
            return Some(Outcome::Failed(error));
        }
        let shards = match list(env, &**service, ShardFilter::All).await {
            Ok(shards) => shards,
            Err(fault) => return self.wait(&fault).await,
        };
        if shards.iter().any(|shard| shard.id == self.shard) {
            return self.wait(fault).await;
        }
        self.expected = None;
        if let Some(position) = self.tenancy.position() {
            self.miss(&Expected::at(&position, self.tenancy.tip()), None, summary.at);
        } else {
            let (split, until) = (self.tenancy.split().clone(), summary.at.map(|at| at.saturating_sub(self.retention())));
            self.tenancy.notice(Notice::Gap { split, after: None, next: None, since: self.tenancy.tip(), until });
        }
        Some(Outcome::End(lineage::children(&shards, &self.shard)))
    }

    /// The service takes a stored position for wrong. It is never replaced by another place to begin at.
    async fn position_refused(&mut self, fault: &Fault) -> Option<Outcome> {
        let Common { env, service, identity, .. } = &*self.common;
        let summary = match bounded(env, &**service, "DescribeStreamSummary", service.summary()).await {
            Ok(summary) => summary,
            Err(fault) => return self.wait(&fault).await,
        };
        let invalid = || {
            let place = self.tenancy.position().map(|position| position.to_string()).unwrap_or_default();
            let message = format!(
                "shard {} cannot be read on from {place}: {}; read the stream on in a pipeline of another name, from a Timestamp",
                self.shard, fault.said
            );
            SourceError { class: ErrorClass::Record, code: Code::POSITION_INVALID, message: message.into() }
        };
        Some(Outcome::Failed(same_stream(&summary, identity).map_or_else(|error| error, |()| invalid())))
    }

    /// The shard has no next iterator, and answers name no children: a listing decides.
    async fn end_by_listing(&mut self) -> Option<Outcome> {
        let shards = match list(&self.common.env, &*self.common.service, ShardFilter::All).await {
            Ok(shards) => shards,
            Err(fault) => return self.wait(&fault).await,
        };
        if shards.iter().any(|shard| shard.id == self.shard && !shard.closed) {
            self.doubts = 0;
            return self.pause(rest(0, true)).await;
        }
        Some(Outcome::End(lineage::children(&shards, &self.shard)))
    }

    /// Waits before a call that failed is made again, and says so where it lasts or somebody must mend it.
    async fn wait(&mut self, fault: &Fault) -> Option<Outcome> {
        if fault.class != Class::Throttled {
            let now = self.common.env.clock().monotonic();
            let since = *self.failing_since.get_or_insert(now);
            let mendable = !fault.class.may_pass() || fault.class == Class::EncryptionKey;
            if mendable || now.saturating_sub(since) >= PATIENCE {
                self.tenancy.troubled(Trouble { code: fault.code(), message: fault.to_string().into() });
            }
        }
        let delay = self.backoff.next(&self.common.env, fault.class);
        self.pause(delay).await
    }

    async fn pause(&self, span: Duration) -> Option<Outcome> {
        self.common.env.clock().sleep(span).await;
        None
    }

    fn retention(&self) -> i64 {
        self.common.retention.load(Ordering::Relaxed)
    }
}

fn failed(class: ErrorClass, fault: &Fault) -> Outcome {
    Outcome::Failed(SourceError { class, ..source_error(fault) })
}
