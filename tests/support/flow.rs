//! Records in and rows out, each on a thread of its own, so that they flow on while a test waits for kubectl.
//!
//! A thread that a test starts is in the bed's network, as the test is.

use crate::rows::{Cutover, Row, Story, count_of, faults, key_of};
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, ShardIteratorType};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Records are put so many at a time, five times a second.
const AT_ONCE: u64 = 20;
const EVERY: Duration = Duration::from_millis(200);

/// The stand-in takes about a hundred calls a second, and one test with records that flow makes half of them.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other test has records flow. Hold it until nothing reads any more.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock()
}

/// What runs until it is dropped.
struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    fn start(work: impl AsyncFnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work(&asked));
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends it, and fails if it has failed.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

/// Feeds numbered records, a hundred a second.
pub(crate) struct Feeder {
    fed: Arc<AtomicU64>,
    background: Background,
}

impl Feeder {
    /// Begins with the number behind the last one fed.
    pub(crate) fn start(client: Client, stream: &str, last: u64) -> Self {
        let (stream, fed) = (stream.to_owned(), Arc::new(AtomicU64::new(last)));
        let counted = Arc::clone(&fed);
        let background = Background::start(async move |stop| {
            let mut ticks = tokio::time::interval(EVERY);
            while !stop.load(Ordering::Relaxed) {
                ticks.tick().await;
                let first = counted.load(Ordering::Relaxed) + 1;
                put(&client, &stream, first..first + AT_ONCE).await;
                counted.store(first + AT_ONCE - 1, Ordering::Relaxed);
            }
        });
        Self { fed, background }
    }

    /// The last number that is surely in the stream.
    pub(crate) fn fed(&self) -> u64 {
        self.fed.load(Ordering::Relaxed)
    }

    /// Stops, and answers the last number.
    pub(crate) fn stop(mut self) -> u64 {
        self.background.end();
        self.fed()
    }
}

/// Puts records; one key's stay in order, since a call that fails in part goes again from its first failure on, alone.
async fn put(client: &Client, stream: &str, numbers: std::ops::Range<u64>) {
    let entry = |number: u64| {
        let record = json!({"n": number, "key": key_of(number), "nth": count_of(number)});
        let data = Blob::new(record.to_string().into_bytes());
        PutRecordsRequestEntry::builder().partition_key(key_of(number)).data(data).build().unwrap()
    };
    // Each key comes once in these, so the order among them is free.
    let mut left: Vec<u64> = numbers.collect();
    while !left.is_empty() {
        let request = client.put_records().stream_name(stream).set_records(Some(left.iter().map(|number| entry(*number)).collect()));
        let answer = request.send().await.unwrap_or_else(|error| panic!("records cannot be put: {}", crate::bed::whole(&error)));
        let failed = answer.records().iter().zip(&left).filter(|(record, _)| record.error_code().is_some());
        left = failed.map(|(_, number)| *number).collect();
    }
}

/// Reads all that comes out of a stream, from its beginning on.
pub(crate) struct Reader {
    rows: Arc<Mutex<Vec<Row>>>,
    _background: Background,
}

impl Reader {
    pub(crate) fn start(client: Client, stream: &str) -> Self {
        let (stream, rows) = (stream.to_owned(), Arc::new(Mutex::new(Vec::new())));
        let found = Arc::clone(&rows);
        let background = Background::start(async move |stop| read(&client, &stream, stop, &found).await);
        Self { rows, _background: background }
    }

    /// The rows so far; those of one key in the order in which they came.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows.lock().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.lock().len()
    }
}

/// The output stream keeps its shards, so each key stays in one of them.
async fn read(client: &Client, stream: &str, stop: &AtomicBool, found: &Mutex<Vec<Row>>) {
    let shards = client.list_shards().stream_name(stream).send().await.unwrap();
    let mut iterators = Vec::new();
    for shard in shards.shards() {
        let asked = client.get_shard_iterator().stream_name(stream).shard_id(shard.shard_id());
        let iterator = asked.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await.unwrap();
        iterators.push(iterator.shard_iterator().unwrap().to_owned());
    }
    while !stop.load(Ordering::Relaxed) {
        for iterator in &mut iterators {
            let page = client.get_records().shard_iterator(&*iterator).send().await.unwrap();
            let rows = page.records().iter().map(|record| {
                let arrived = record.approximate_arrival_timestamp().unwrap().to_millis().unwrap();
                row(record.data().as_ref(), arrived)
            });
            let rows: Vec<Row> = rows.collect();
            found.lock().extend(rows);
            page.next_shard_iterator().unwrap().clone_into(iterator);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn row(data: &[u8], arrived: i64) -> Row {
    let said = || String::from_utf8_lossy(data).into_owned();
    let value: Value = serde_json::from_slice(data).unwrap_or_else(|error| panic!("{error}: {}", said()));
    let number = |path: &str| value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in {}", said()));
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("no {path} in {}", said())).to_owned();
    Row {
        number: number("/number"),
        key: text("/name"),
        count: number("/count"),
        version: number("/version"),
        id: text("/_millrace/id"),
        split_epoch: number("/_millrace/splitEpoch"),
        root_epoch: number("/_millrace/rootEpoch"),
        arrived,
    }
}

/// Feeder, reader and checks, against a pipeline made by hand: what is found wrong later is the pipeline's.
#[test]
fn rows_made_by_hand_from_what_is_fed_have_no_fault() {
    crate::bed::test(async |bed| {
        let (input, output) = (format!("{}-in", bed.namespace()), format!("{}-out", bed.namespace()));
        let kinesis = bed.kinesis();
        for (stream, shards) in [(&input, 2), (&output, 1)] {
            kinesis.create_stream().stream_name(stream).shard_count(shards).send().await.unwrap();
        }
        crate::bed::eventually("two active streams", async || {
            for stream in [&input, &output] {
                kinesis.list_shards().stream_name(stream).send().await.map_err(|error| crate::bed::whole(&error))?;
            }
            Ok(())
        })
        .await;
        let (feeder, reader) = (Feeder::start(bed.kinesis(), &input, 0), Reader::start(bed.kinesis(), &output));
        tokio::time::sleep(Duration::from_secs(2)).await;
        let fed = feeder.stop();
        assert!(fed >= 2 * AT_ONCE && fed.is_multiple_of(AT_ONCE), "{fed}");
        by_hand(&kinesis, &input, &output, fed).await;
        crate::bed::eventually("the rows", async || {
            let came = reader.len();
            if u64::try_from(came).unwrap() >= fed { Ok(()) } else { Err(format!("{came} of {fed}")) }
        })
        .await;
        let mut story = Story { fed, roots: vec![Cutover { epoch: 4, version: 1, ..Cutover::default() }], killed: None };
        assert_eq!(faults(&story, &reader.rows()), Vec::<String>::new());
        story.fed += 1;
        assert_eq!(faults(&story, &reader.rows()).len(), 1);
    });
}

/// What the root of the thin line says, shard by shard.
async fn by_hand(client: &Client, input: &str, output: &str, fed: u64) {
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    let mut read = 0;
    for shard in client.list_shards().stream_name(input).send().await.unwrap().shards() {
        let asked = client.get_shard_iterator().stream_name(input).shard_id(shard.shard_id());
        let iterator = asked.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await.unwrap();
        let page = client.get_records().shard_iterator(iterator.shard_iterator().unwrap()).send().await.unwrap();
        for record in page.records() {
            let value: Value = serde_json::from_slice(record.data().as_ref()).unwrap();
            let key = record.partition_key().unwrap();
            let count = counts.entry(key.to_owned()).or_default();
            *count += 1;
            assert_eq!(value["nth"], *count);
            let id = format!("{input}/{}/{}/rows", shard.shard_id(), record.sequence_number());
            let metadata = json!({"id": id, "splitEpoch": 1, "rootEpoch": 4});
            let row = json!({"number": value["n"], "name": value["key"], "count": *count, "version": 1, "_millrace": metadata});
            let put = client.put_record().stream_name(output).partition_key(key);
            put.data(Blob::new(row.to_string().into_bytes())).send().await.unwrap();
            read += 1;
        }
    }
    assert_eq!(read, fed);
}
