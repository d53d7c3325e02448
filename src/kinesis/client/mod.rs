//! The AWS client of one stream.
//!
//! Owns: region, endpoint, role and timeouts; from the SDK's types to ours and back.
//! May not: repeat a call: who calls knows the pace. Log or keep what is secret.

mod class;
mod convert;

use super::fault::Fault;
use super::sequence::Sequence;
use super::service::{Call, IteratorStart, Listing, ListingStart, PutEntry, RecordsPage, Service, ShardFilter, StreamSummary, Token};
use aws_sdk_kinesis::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_kinesis::config::retry::RetryConfig;
use aws_sdk_kinesis::config::timeout::TimeoutConfig;
use aws_sdk_kinesis::config::{BehaviorVersion, ConfigBag, Intercept, Region, RuntimeComponents, SharedCredentialsProvider};
use aws_sdk_kinesis::error::BoxError;
use aws_sdk_kinesis::primitives::{Blob, DateTime, DateTimeFormat};
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, ShardFilterType, ShardIteratorType};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The SDK's own default has a timeout for connecting only.
const CONNECT: Duration = Duration::from_secs(3);
/// Until the first byte of an answer.
const READ: Duration = Duration::from_secs(10);
/// A call with all of its answer, which may be 10 MiB.
const ATTEMPT: Duration = Duration::from_secs(20);
/// A call with what comes before it, such as fetching credentials.
const OPERATION: Duration = Duration::from_secs(25);
/// How many shards a page of a listing has at most.
const LISTED: i32 = 1_000;
/// How many records a call reads at most.
const READ_AT_ONCE: i32 = 10_000;

/// How a stream is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamName {
    /// By its name, in the caller's account.
    Name(String),
    /// By its ARN.
    Arn(String),
}

impl StreamName {
    fn as_str(&self) -> &str {
        let (Self::Name(name) | Self::Arn(name)) = self;
        name
    }

    fn name(&self) -> Option<String> {
        if let Self::Name(name) = self { Some(name.clone()) } else { None }
    }

    fn arn(&self) -> Option<String> {
        if let Self::Arn(arn) = self { Some(arn.clone()) } else { None }
    }

    /// `arn:aws:kinesis:REGION:…`
    fn region(&self) -> Option<String> {
        self.arn()?.split(':').nth(3).filter(|region| !region.is_empty()).map(str::to_owned)
    }
}

/// How a stream is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The stream.
    pub stream: StreamName,
    /// The region. Defaults to the ARN's, else to that of the environment.
    pub region: Option<String>,
    /// Another endpoint than the region's own.
    pub endpoint: Option<String>,
    /// A role to assume.
    pub role: Option<String>,
}

/// One stream, over the AWS SDK.
pub struct Client {
    stream: StreamName,
    sdk: aws_sdk_kinesis::Client,
}

impl Client {
    /// Makes a client, with the SDK's default chain of credentials. No call is made of the stream yet.
    pub async fn new(settings: &ClientSettings) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .read_timeout(READ)
            .operation_attempt_timeout(ATTEMPT)
            .operation_timeout(OPERATION)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).timeout_config(timeouts);
        if let Some(region) = settings.region.clone().or_else(|| settings.stream.region()) {
            loader = loader.region(Region::new(region));
        }
        let shared = Box::pin(loader.load()).await;
        let mut config = aws_sdk_kinesis::config::Builder::from(&shared).retry_config(RetryConfig::disabled());
        if let Some(role) = &settings.role {
            let provider = aws_config::sts::AssumeRoleProvider::builder(role.as_str()).session_name("millrace").configure(&shared);
            config = config.credentials_provider(SharedCredentialsProvider::new(Box::pin(provider.build()).await));
        }
        if let Some(endpoint) = &settings.endpoint {
            config = config.endpoint_url(endpoint);
        }
        Self { stream: settings.stream.clone(), sdk: aws_sdk_kinesis::Client::from_conf(config.build()) }
    }

    /// A client over one of the SDK's that is made elsewhere; that one must not repeat calls.
    #[must_use]
    pub const fn over(sdk: aws_sdk_kinesis::Client, stream: StreamName) -> Self {
        Self { stream, sdk }
    }

    fn odd(&self, call: &'static str, said: &str) -> Fault {
        convert::odd(call, self.stream.as_str(), said)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Service for Client {
    fn stream(&self) -> &str {
        self.stream.as_str()
    }

    fn summary(&self) -> Call<'_, StreamSummary> {
        const CALL: &str = "DescribeStreamSummary";
        Box::pin(async move {
            let stamp = Stamp::default();
            let request = self.sdk.describe_stream_summary().set_stream_name(self.stream.name()).set_stream_arn(self.stream.arn());
            let answer = Box::pin(request.customize().interceptor(stamp.clone()).send()).await;
            let answer = answer.map_err(|error| class::fault(CALL, self.stream.as_str(), &error))?;
            let summary = answer.stream_description_summary.ok_or_else(|| self.odd(CALL, "the answer is empty"))?;
            convert::summary(&summary, stamp.time()).ok_or_else(|| self.odd(CALL, "the answer's times make no sense"))
        })
    }

    fn list(&self, from: ListingStart) -> Call<'_, Listing> {
        const CALL: &str = "ListShards";
        Box::pin(async move {
            let request = self.sdk.list_shards();
            let request = match from {
                // With the token nothing else may be given.
                ListingStart::Next(token) => request.next_token(&*token.0),
                ListingStart::First(filter) => {
                    let request = request.set_stream_name(self.stream.name()).set_stream_arn(self.stream.arn()).max_results(LISTED);
                    match filter {
                        ShardFilter::All => request,
                        ShardFilter::AtTimestamp(at) => {
                            let filter = aws_sdk_kinesis::types::ShardFilter::builder()
                                .r#type(ShardFilterType::AtTimestamp)
                                .timestamp(convert::date(at))
                                .build();
                            request.shard_filter(filter.map_err(|error| self.odd(CALL, &error.to_string()))?)
                        }
                    }
                }
            };
            let answer = Box::pin(request.send()).await.map_err(|error| class::fault(CALL, self.stream.as_str(), &error))?;
            let next = answer.next_token.map(|token| Token(token.into()));
            let shards = answer.shards.unwrap_or_default().iter().map(convert::shard).collect::<Result<_, _>>();
            Ok(Listing { shards: shards.map_err(|said| self.odd(CALL, &said))?, next })
        })
    }

    fn iterator<'a>(&'a self, shard: &'a str, start: IteratorStart) -> Call<'a, Token> {
        const CALL: &str = "GetShardIterator";
        Box::pin(async move {
            let request = self.sdk.get_shard_iterator().shard_id(shard);
            let request = request.set_stream_name(self.stream.name()).set_stream_arn(self.stream.arn());
            let request = match &start {
                IteratorStart::At(sequence) => {
                    request.shard_iterator_type(ShardIteratorType::AtSequenceNumber).starting_sequence_number(sequence.as_str())
                }
                IteratorStart::After(sequence) => {
                    request.shard_iterator_type(ShardIteratorType::AfterSequenceNumber).starting_sequence_number(sequence.as_str())
                }
                IteratorStart::TrimHorizon => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
                IteratorStart::Timestamp(at) => request.shard_iterator_type(ShardIteratorType::AtTimestamp).timestamp(convert::date(*at)),
            };
            let answer = Box::pin(request.send()).await.map_err(|error| class::fault(CALL, self.stream.as_str(), &error))?;
            answer.shard_iterator.map(|token| Token(token.into())).ok_or_else(|| self.odd(CALL, "the answer has no iterator"))
        })
    }

    fn records<'a>(&'a self, iterator: &'a Token) -> Call<'a, RecordsPage> {
        const CALL: &str = "GetRecords";
        Box::pin(async move {
            let stamp = Stamp::default();
            let request = self.sdk.get_records().shard_iterator(&*iterator.0).limit(READ_AT_ONCE).set_stream_arn(self.stream.arn());
            let answer = Box::pin(request.customize().interceptor(stamp.clone()).send()).await;
            let answer = answer.map_err(|error| class::fault(CALL, self.stream.as_str(), &error))?;
            convert::page(answer, stamp.time()).map_err(|said| self.odd(CALL, &said))
        })
    }

    fn put<'a>(&'a self, entries: Vec<PutEntry<'a>>) -> Call<'a, Vec<Result<Sequence, Fault>>> {
        const CALL: &str = "PutRecords";
        Box::pin(async move {
            let count = entries.len();
            let records = entries
                .into_iter()
                .map(|entry| PutRecordsRequestEntry::builder().partition_key(entry.key).data(Blob::new(entry.data)).build());
            let records = records.collect::<Result<Vec<_>, _>>().map_err(|error| self.odd(CALL, &error.to_string()))?;
            let request = self.sdk.put_records().set_stream_name(self.stream.name()).set_stream_arn(self.stream.arn());
            let answer = Box::pin(request.set_records(Some(records)).send()).await;
            let answer = answer.map_err(|error| class::fault(CALL, self.stream.as_str(), &error))?;
            if answer.records.len() != count {
                return Err(self.odd(CALL, &format!("{count} records were sent and {} answered", answer.records.len())));
            }
            Ok(answer.records.iter().map(|entry| class::entry(self.stream.as_str(), entry)).collect())
        })
    }
}

/// The service's time, as the answer's `Date` says it: the only clock that positions in time may come from (I10).
#[derive(Clone, Debug, Default)]
struct Stamp(Arc<Mutex<Option<i64>>>);

impl Stamp {
    fn time(&self) -> Option<i64> {
        *self.0.lock()
    }
}

impl Intercept for Stamp {
    fn name(&self) -> &'static str {
        "ServiceTime"
    }

    fn read_after_transmit(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let time = date.and_then(|date| DateTime::from_str(date, DateTimeFormat::HttpDate).ok());
        *self.0.lock() = time.and_then(|time| convert::micros(&time));
        Ok(())
    }
}
