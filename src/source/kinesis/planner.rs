//! How a stream's splits are found: the plan of a first start, and the listings after it.

use super::lineage;
use super::listing::list;
use super::position::Start;
use crate::coordination::records;
use crate::coordination::source::{Discovered, Plan, Planned, Planner};
use crate::env::Env;
use crate::error::{Code, Meaning};
use crate::flow::{ErrorClass, SourceError};
use crate::kinesis::{Class, Fault, Service, Shard, ShardFilter, StreamSummary, bounded};
use std::fmt;
use std::sync::Arc;

/// Where a first start begins, as the user says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRule {
    /// At the oldest records.
    TrimHorizon,
    /// At a time, in microseconds since 1970 UTC.
    Timestamp(i64),
    /// At the moment of the first start, by the service's clock.
    Latest,
}

/// Finds the splits of one stream.
pub struct KinesisPlanner {
    env: Env,
    service: Arc<dyn Service>,
    start: StartRule,
}

impl KinesisPlanner {
    /// The planner of a stream whose first start is by this rule.
    #[must_use]
    pub fn new(env: &Env, service: Arc<dyn Service>, start: StartRule) -> Self {
        Self { env: env.clone(), service, start }
    }

    /// All shards there are, by a listing that is the whole stream at one moment.
    async fn all(&self, identity: &Arc<str>) -> Result<Vec<records::Shard>, SourceError> {
        let summary = self.summary().await?;
        same_stream(&summary, identity)?;
        let shards = self.listing(ShardFilter::All).await?;
        lineage::complete(&shards).map_err(|torn| self.torn(&torn))?;
        Ok(shards.iter().map(|shard| lineage::listed(identity, shard)).collect())
    }

    async fn first(&self) -> Result<Plan, SourceError> {
        let summary = self.summary().await?;
        let start = resolved(self.start, &summary).ok_or_else(|| self.timeless())?;
        let shards = match start {
            Start::TrimHorizon => {
                let shards = self.listing(ShardFilter::All).await?;
                lineage::complete(&shards).map(|()| shards)
            }
            // Those that were closed before that moment count as read; all others come from these (I19).
            Start::Timestamp(at) => {
                let shards = self.listing(ShardFilter::AtTimestamp(at)).await?;
                lineage::covers(shards.iter().map(|shard| shard.range)).map(|()| shards)
            }
        };
        let shards = shards.map_err(|torn| self.torn(&torn))?;
        let stream = summary.identity();
        let initial = shards.iter().map(|shard| lineage::listed(&stream, shard)).collect();
        Ok(Plan { stream, start: start.text().map(Arc::from), initial, is_final: false })
    }

    async fn summary(&self) -> Result<StreamSummary, SourceError> {
        bounded(&self.env, &*self.service, "DescribeStreamSummary", self.service.summary()).await.map_err(|fault| source_error(&fault))
    }

    async fn listing(&self, filter: ShardFilter) -> Result<Vec<Shard>, SourceError> {
        list(&self.env, &*self.service, filter).await.map_err(|fault| source_error(&fault))
    }

    fn torn(&self, torn: &lineage::Torn) -> SourceError {
        let message = format!(
            "the listing of stream {} is not whole ({torn}), as while it is resharded; it is asked for again",
            self.service.stream()
        );
        SourceError { class: ErrorClass::Retryable, code: Code::KINESIS_FAILED, message: message.into() }
    }

    fn timeless(&self) -> SourceError {
        let message = format!(
            "the service of stream {} does not tell its time, by which a start is resolved; check the endpoint",
            self.service.stream()
        );
        SourceError { class: ErrorClass::Retryable, code: Code::KINESIS_FAILED, message: message.into() }
    }
}

impl Planner for KinesisPlanner {
    fn plan(&self) -> Planned<'_> {
        Box::pin(self.first())
    }

    fn discover<'a>(&'a self, stream: &'a Arc<str>) -> Discovered<'a> {
        Box::pin(self.all(stream))
    }
}

impl fmt::Debug for KinesisPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KinesisPlanner").field("start", &self.start).finish_non_exhaustive()
    }
}

/// The start by a rule, by the service's clock and nobody else's: one ahead of it is now, one before what the stream
/// still has is its oldest record. None where the service does not tell its time and the rule needs it.
fn resolved(rule: StartRule, summary: &StreamSummary) -> Option<Start> {
    let at = match rule {
        StartRule::TrimHorizon => return Some(Start::TrimHorizon),
        StartRule::Timestamp(at) => at.min(summary.at?),
        StartRule::Latest => summary.at?,
    };
    // Nothing in the stream is older than either.
    let oldest = summary.at?.saturating_sub(summary.retention).max(summary.created);
    Some(if at <= oldest { Start::TrimHorizon } else { Start::Timestamp(at) })
}

/// A fault as the error of a source: what may pass, or what somebody can mend while the pipeline waits, is retryable.
pub(super) fn source_error(fault: &Fault) -> SourceError {
    let class = if fault.class == Class::Invalid { ErrorClass::Fatal } else { ErrorClass::Retryable };
    SourceError { class, code: fault.code(), message: fault.to_string().into() }
}

/// Whether a stream is the one that positions were stored for (I21).
pub(super) fn same_stream(summary: &StreamSummary, identity: &str) -> Result<(), SourceError> {
    if *summary.identity() == *identity {
        return Ok(());
    }
    let message = format!(
        "stream {} was deleted and created again: positions in the old one mean nothing in it; read the new one in a pipeline of another name",
        summary.arn
    );
    Err(SourceError { class: ErrorClass::Fatal, code: Code::STREAM_RECREATED, message: message.into() })
}

#[cfg(test)]
mod tests {
    use super::{Start, StartRule, resolved, same_stream};
    use crate::error::Code;
    use crate::kinesis::StreamSummary;

    const NOW: i64 = 1_767_225_600_000_000;
    const DAY: i64 = 86_400_000_000;

    fn summary() -> StreamSummary {
        StreamSummary { arn: "arn:s".into(), created: 7, retention: DAY, largest_record: 1, at: Some(NOW) }
    }

    #[test]
    fn a_start_is_resolved_by_the_services_clock() {
        for (rule, start) in [
            (StartRule::TrimHorizon, Start::TrimHorizon),
            (StartRule::Latest, Start::Timestamp(NOW)),
            (StartRule::Timestamp(NOW - 1), Start::Timestamp(NOW - 1)),
            (StartRule::Timestamp(NOW + 300_000), Start::Timestamp(NOW)),
            (StartRule::Timestamp(NOW - DAY), Start::TrimHorizon),
            (StartRule::Timestamp(NOW - 1_000_000), Start::Timestamp(NOW - 1_000_000)),
            (StartRule::Timestamp(0), Start::TrimHorizon),
        ] {
            assert_eq!(resolved(rule, &summary()), Some(start), "{rule:?}");
        }
        let young = StreamSummary { created: NOW - 10, ..summary() };
        assert_eq!(resolved(StartRule::Timestamp(NOW - 11), &young), Some(Start::TrimHorizon));
        let silent = StreamSummary { at: None, ..summary() };
        assert_eq!(resolved(StartRule::Latest, &silent), None, "our own clock never stands in");
        assert_eq!(resolved(StartRule::TrimHorizon, &silent), Some(Start::TrimHorizon));
    }

    #[test]
    fn i21_a_stream_of_another_creation_time_is_another_stream() {
        let identity = summary().identity();
        assert!(same_stream(&summary(), &identity).is_ok());
        let error = same_stream(&StreamSummary { created: 8, ..summary() }, &identity).unwrap_err();
        assert_eq!(error.code, Code::STREAM_RECREATED);
        assert!(error.message.contains("another name"), "{error}");
    }
}
