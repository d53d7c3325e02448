//! Reading and writing a Kinesis stand-in with the real client.

use crate::bed::{self, Bed, eventually, whole};
use crate::kinesis_reading::{From, Reading, resumed};
use crate::kinesis_suite::{Stage, all};
use aws_sdk_kinesis::types::StreamStatus;
use millrace::coordination::source::{Planner, SplitSource};
use millrace::env::{Env, real};
use millrace::error::{Code, Meaning, Retry};
use millrace::flow::Ordinal;
use millrace::kinesis::{Class, Client, ClientSettings, HashRange, ListingStart, Service, ShardFilter, StreamName};
use millrace::runtime::{Destination, Rows};
use millrace::sink::kinesis::KinesisDestination;
use millrace::source::kinesis::{KinesisPlanner, StartRule};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A stream of the test's own.
pub(crate) struct Stream {
    env: Env,
    pub(crate) sdk: aws_sdk_kinesis::Client,
    pub(crate) name: String,
    service: Arc<Client>,
}

impl Stream {
    async fn create(bed: &Bed, shards: i32) -> Self {
        Self::create_as(bed, "only", shards).await
    }

    /// One of several of a test.
    pub(crate) async fn create_as(bed: &Bed, which: &str, shards: i32) -> Self {
        let (sdk, name) = (bed.kinesis(), format!("{}-{which}", bed.namespace()));
        sdk.create_stream().stream_name(&name).shard_count(shards).send().await.unwrap();
        let service = Arc::new(Client::over(sdk.clone(), StreamName::Name(name.clone())));
        let stream = Self { env: real(), sdk, name, service };
        stream.active().await;
        stream
    }

    async fn active(&self) {
        eventually("an active stream", async || {
            let summary = self.sdk.describe_stream_summary().stream_name(&self.name).send().await.map_err(|error| whole(&error))?;
            let status = summary.stream_description_summary().unwrap().stream_status().clone();
            if status == StreamStatus::Active { Ok(()) } else { Err(status.to_string()) }
        })
        .await;
    }

    pub(crate) async fn delete(self) {
        self.sdk.delete_stream().stream_name(&self.name).send().await.unwrap();
    }

    pub(crate) async fn shards(&self) -> Vec<(Arc<str>, HashRange)> {
        let listing = self.service.list(ListingStart::First(ShardFilter::All)).await.unwrap();
        listing.shards.into_iter().map(|shard| (shard.id, shard.range)).collect()
    }

    /// Puts numbered rows of eight keys through the sink.
    async fn put(&self, numbers: std::ops::Range<usize>) {
        let mut rows = Rows::default();
        for number in numbers {
            rows.push(&format!("key-{}", number % 8), |bytes| bytes.extend_from_slice(format!("{number}").as_bytes()));
        }
        KinesisDestination::new(&self.env, &"rows".into(), self.service.clone()).deliver(rows).await.unwrap();
    }

    async fn open(&self, shard: &str, from: impl FnOnce(From) -> From) -> Reading {
        let summary = self.service.summary().await.unwrap();
        Reading::open(&self.env, self.service.clone(), shard, from(From::beginning(summary.identity(), summary.retention)))
    }
}

impl Stage for Stream {
    fn service(&self) -> &dyn Service {
        &*self.service
    }

    async fn split(&self, shard: &str) {
        let (_, range) = self.shards().await.into_iter().find(|(id, _)| &**id == shard).unwrap();
        let middle = range.from + (range.to - range.from) / 2 + 1;
        let split = self.sdk.split_shard().stream_name(&self.name).shard_to_split(shard).new_starting_hash_key(middle.to_string());
        split.send().await.unwrap();
        self.active().await;
    }

    async fn merge(&self, one: &str, other: &str) {
        self.sdk.merge_shards().stream_name(&self.name).shard_to_merge(one).adjacent_shard_to_merge(other).send().await.unwrap();
        self.active().await;
    }

    async fn pause(&self, span: Duration) {
        self.env.clock().sleep(span).await;
    }
}

#[test]
fn the_stand_in_does_what_the_fake_does() {
    bed::test(async |bed| {
        let stream = Stream::create(bed, 4).await;
        all(&stream).await;
        stream.delete().await;
    });
}

#[test]
fn rows_written_come_back_from_all_shards_in_order_of_their_keys() {
    bed::test(async |bed| {
        let stream = Stream::create(bed, 4).await;
        stream.put(0..80).await;
        let planner = KinesisPlanner::new(&stream.env, stream.service.clone(), StartRule::TrimHorizon);
        let plan = planner.plan().await.unwrap();
        assert_eq!(plan.initial.len(), 4);
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for shard in &plan.initial {
            let mut reading = stream.open(&shard.descriptor.shard, |from| from).await;
            for number in reading.until_quiet(Duration::from_secs(3), &stream.env).await {
                let number: usize = number.parse().unwrap();
                found.entry(number % 8).or_default().push(number);
            }
        }
        let expected = (0..8).map(|key| (key, (0..10).map(|turn| turn * 8 + key).collect())).collect();
        assert_eq!(found, expected);
        stream.delete().await;
    });
}

#[test]
fn a_shard_that_is_split_ends_with_its_children_and_is_read_on_from_a_position() {
    bed::test(async |bed| {
        let stream = Stream::create(bed, 1).await;
        stream.put(0..24).await;
        let (parent, _) = stream.shards().await[0].clone();
        let mut reading = stream.open(&parent, |from| from).await;
        let read = reading.records(24).await;
        let place = reading.commit(10);
        reading.source.close_split(&reading.split);
        Stage::split(&stream, &parent).await;
        stream.put(24..48).await;
        let mut again = stream.open(&parent, |from| From { resume: resumed(&place), ..from }).await;
        assert_eq!(again.until_its_end().await, read[10..]);
        let end = again.commit(14);
        assert!(end.completed && again.source.reports().take_notices().is_empty());
        assert_eq!(end.children.len(), 2);
        let mut numbers: Vec<usize> = Vec::new();
        for child in &end.children {
            let mut child = stream.open(&child.descriptor.shard, |from| from).await;
            numbers
                .extend(child.until_quiet(Duration::from_secs(3), &stream.env).await.iter().map(|number| number.parse::<usize>().unwrap()));
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (24..48).collect::<Vec<_>>());
        // The children merge again, and both name the one that they became.
        Stage::merge(&stream, &end.children[0].descriptor.shard, &end.children[1].descriptor.shard).await;
        for child in &end.children {
            let mut reading = stream.open(&child.descriptor.shard, |from| from).await;
            let count = reading.until_its_end().await.len();
            let end = reading.source.sweep(&reading.split, Ordinal::new(count as u64)).unwrap().unwrap();
            assert_eq!((end.children.len(), end.children[0].parents.len()), (1, 2));
        }
        stream.delete().await;
    });
}

#[test]
fn a_start_at_latest_takes_what_comes_after_it() {
    bed::test(async |bed| {
        let stream = Stream::create(bed, 2).await;
        stream.put(0..16).await;
        stream.pause(Duration::from_millis(2_100)).await;
        let planner = KinesisPlanner::new(&stream.env, stream.service.clone(), StartRule::Latest);
        let plan = planner.plan().await.unwrap();
        assert_eq!((plan.initial.len(), plan.start.is_some()), (2, true));
        stream.put(16..32).await;
        let mut numbers: Vec<usize> = Vec::new();
        for shard in &plan.initial {
            let mut reading = stream.open(&shard.descriptor.shard, |from| From { start: plan.start.clone(), ..from }).await;
            numbers.extend(
                reading.until_quiet(Duration::from_secs(3), &stream.env).await.iter().map(|number| number.parse::<usize>().unwrap()),
            );
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (16..32).collect::<Vec<_>>());
        stream.delete().await;
    });
}

#[test]
fn a_stream_that_does_not_exist_is_named_by_source_and_sink() {
    bed::test(async |bed| {
        let (env, service) = (real(), Arc::new(Client::over(bed.kinesis(), StreamName::Name("nowhere".to_owned()))));
        let planned = KinesisPlanner::new(&env, service.clone(), StartRule::Latest).plan().await.unwrap_err();
        let mut rows = Rows::default();
        rows.push("a", |bytes| bytes.push(b'1'));
        let delivered = KinesisDestination::new(&env, &"rows".into(), service).deliver(rows).await.unwrap_err();
        assert_eq!((planned.code(), delivered.code(), delivered.retry()), (Code::STREAM_NOT_FOUND, Code::STREAM_NOT_FOUND, Retry::Never));
        for text in [planned.to_string(), delivered.to_string()] {
            assert!(text.contains("nowhere") && text.contains("create the stream"), "{text}");
        }
    });
}

#[test]
fn an_endpoint_that_is_not_there_is_told_from_missing_credentials() {
    bed::test(async |_bed| {
        let nowhere = aws_sdk_kinesis::Config::builder()
            .behavior_version(aws_sdk_kinesis::config::BehaviorVersion::latest())
            .region(aws_sdk_kinesis::config::Region::new("eu-west-1"))
            .endpoint_url("http://127.0.0.1:1")
            .retry_config(aws_sdk_kinesis::config::retry::RetryConfig::disabled())
            .credentials_provider(aws_sdk_kinesis::config::Credentials::new("test", "test", None, None, "test"))
            .build();
        let client = Client::over(aws_sdk_kinesis::Client::from_conf(nowhere), StreamName::Name("orders".to_owned()));
        let fault = client.summary().await.unwrap_err();
        assert_eq!(fault.class, Class::Unreachable, "{fault}");
        // The bed's network has no instance to ask for credentials, and no test sets any.
        let settings = ClientSettings {
            stream: StreamName::Arn("arn:aws:kinesis:eu-west-1:123456789012:stream/orders".to_owned()),
            region: None,
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            role: None,
        };
        let fault = Client::new(&settings).await.summary().await.unwrap_err();
        assert_eq!(fault.class, Class::Credentials, "{fault}");
    });
}
