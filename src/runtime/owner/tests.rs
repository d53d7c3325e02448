//! The loop in a simulated world, between a lane that the test fills and destinations that take their time.

use super::{Added, Ending, FromLoop, Loop, Prepared, Settings, ToLoop, Wires};
use crate::codec::{Bindings, Compression, Decoder, Encoder, KeyRule};
use crate::dataflow::testing;
use crate::env::Simulation;
use crate::error::{Code, Retry};
use crate::flow::{
    Barrier, Batch, CaptureId, Deadline, Digest, ErrorClass, Gain, Lane, LaneId, LaneItem, Ordinal, Page, Record, RootEpoch, RootRef,
    SourceError, SplitEpoch, SplitId,
};
use crate::runtime::{
    Answer, Destination, Output, OutputError, PartitionKey, Policies, Program, QueueLimits, Rows, RuntimeError, Session, Target,
    TickPolicy, Totals, UndecodablePolicy,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::mpsc;

/// A lane whose items are put in by the test.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<(VecDeque<LaneItem>, Option<Waker>)>>);

impl Script {
    fn put(&self, item: LaneItem) {
        let mut state = self.0.lock();
        state.0.push_back(item);
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }

    /// Records of a key each, `key:payload`, from this ordinal on.
    fn records(&self, first: u64, records: &[(&str, &str)]) {
        let mut page = Page::new("main".into(), "s".into());
        for (at, (key, payload)) in records.iter().enumerate() {
            let sequence_number = (first + at as u64).to_string();
            let (stream, shard, sub_sequence) = ("", "", None);
            let (arrival, payload) = (1_000_000 + i64::try_from(first).unwrap(), payload.as_bytes());
            page.push(&Record {
                stream,
                shard,
                partition_key: Some(key),
                sequence_number: &sequence_number,
                sub_sequence,
                arrival,
                payload,
            });
        }
        self.put(LaneItem::Batch(Batch { records: 0..page.len(), page: Arc::new(page), first: Ordinal::new(first) }));
    }
}

impl Lane for Script {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<LaneItem> {
        let mut state = self.0.lock();
        state.1 = Some(cx.waker().clone());
        state.0.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A destination that takes its time, and keeps what it got.
#[derive(Clone)]
struct Slow {
    world: Simulation,
    takes: Option<Duration>,
    rows: Arc<Mutex<Vec<String>>>,
}

impl Destination for Slow {
    fn deliver(&mut self, rows: Rows) -> Answer<'_, Result<(), OutputError>> {
        Box::pin(async move {
            match self.takes {
                Some(takes) => self.world.env().clock().sleep(takes).await,
                None => std::future::pending().await,
            }
            self.rows.lock().extend(rows.iter().map(|row| String::from_utf8(row.json.to_vec()).unwrap()));
            Ok(())
        })
    }

    fn close(&mut self, _by: Deadline) -> Answer<'_, Result<(), OutputError>> {
        Box::pin(async { Ok(()) })
    }
}

const COUNTER: &str = "in x: Int\nout n: Int = default(n[1], 0) + 1\nout half: Int = 12 / x";

fn root(epoch: i64) -> RootRef {
    RootRef { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
}

/// A program with one output of all out streams, and dead letters beside it.
fn program(text: &str, epoch: i64, undecodable: UndecodablePolicy, tick: TickPolicy) -> Arc<Program> {
    let (checked, plan) = (testing::checked(text), testing::plan(text));
    let inputs = BTreeMap::new();
    let bindings = Bindings {
        inputs: &inputs,
        key: KeyRule::PartitionKey,
        time: None,
        max_lead: 0,
        compression: Compression::Auto,
        streams: Vec::new(),
        limits: crate::codec::Limits::default(),
    };
    let streams: Vec<_> =
        plan.streams().iter().enumerate().skip(plan.inputs()).map(|(at, stream)| (Arc::clone(&stream.name), at)).collect();
    let output = Output {
        name: "rows".into(),
        encoder: Encoder::new(&streams),
        streams: streams.iter().map(|(_, at)| *at).collect(),
        emit_when: None,
        metadata: false,
        partition_key: PartitionKey::Record,
    };
    Arc::new(Program {
        root: root(epoch),
        text: text.into(),
        decoder: Decoder::new(&checked, &bindings).unwrap(),
        key: KeyRule::PartitionKey,
        plan: Arc::new(plan),
        outputs: vec![output],
        policies: Policies { undecodable, tick, dead_letters: Some(1), ttl: None },
    })
}

/// A loop in a world, and what it has told.
struct Bench {
    world: Simulation,
    lane: Script,
    sink: Slow,
    letters: Slow,
    to_loop: mpsc::Sender<ToLoop>,
    told: mpsc::Receiver<FromLoop>,
    totals: Arc<Totals>,
}

const LANE: LaneId = LaneId::new(1);

impl Bench {
    fn start(program: Arc<Program>, takes: Option<u64>) -> Self {
        let world = Simulation::new(1);
        let slow = |takes| Slow { world: world.clone(), takes, rows: Arc::default() };
        let (sink, letters) = (slow(takes.map(Duration::from_millis)), slow(Some(Duration::from_millis(1))));
        let (to_loop, mailbox) = mpsc::channel(16);
        let (answers, told) = mpsc::channel(1_024);
        let totals = Arc::<Totals>::default();
        let writer = Self::session(&world, &sink, &letters);
        let settings = Settings { rows: 2, bytes: 1 << 20, ..Settings::default() };
        let wires = Wires { mailbox, answers, totals: Arc::clone(&totals) };
        let owner = Loop::new(&world.env(), program, Box::new(writer), settings, wires);
        world.env().tasks().thread("loop", Box::pin(owner.run()));
        let mut bench = Self { world, lane: Script::default(), sink, letters, to_loop, told, totals };
        bench.add();
        bench
    }

    fn session(world: &Simulation, sink: &Slow, letters: &Slow) -> Session {
        let targets =
            vec![("rows".into(), Target::Queued(Box::new(sink.clone()))), ("dead".into(), Target::Queued(Box::new(letters.clone())))];
        Session::open(&world.env(), targets, QueueLimits { rows: 2, bytes: 1 << 20 })
    }

    fn add(&mut self) {
        let (split, epoch) = (SplitId::new("s"), SplitEpoch::new(1));
        let gain = Gain { lane: Box::new(self.lane.clone()), id: LANE, split, epoch, state: Vec::new(), root: root(1) };
        self.tell(ToLoop::Add(Box::new(Added { gain, keys: Vec::new(), fresh: false, flows: true })));
    }

    fn tell(&self, what: ToLoop) {
        self.to_loop.try_send(what).unwrap();
    }

    /// Lets so many milliseconds pass, from the world's beginning, and answers what the loop told meanwhile.
    fn until(&mut self, millis: u64) -> Vec<String> {
        self.world.run(Duration::from_millis(millis));
        let mut told = Vec::new();
        while let Ok(one) = self.told.try_recv() {
            told.push(match one {
                FromLoop::Captured(capture) => format!(
                    "captured {} of epoch {} with {} keys",
                    capture.at,
                    capture.root.epoch,
                    capture.keys.iter().map(|key| String::from_utf8_lossy(&key.key).into_owned()).collect::<Vec<_>>().join(" ")
                ),
                FromLoop::Watermark(_, ordinal) => format!("watermark {ordinal}"),
                FromLoop::End(_) => "end".to_owned(),
                FromLoop::Applied(root) => format!("applied {}", root.epoch),
                FromLoop::Ended(ending) => ended(&ending),
            });
        }
        told
    }

    fn finish(&self, millis: u64) {
        let now = self.world.env().clock().monotonic();
        self.tell(ToLoop::Finish(Deadline::after(now, Duration::from_millis(millis))));
    }

    fn rows(&self) -> String {
        self.sink.rows.lock().join(" ")
    }
}

fn ended(ending: &Ending) -> String {
    match &ending.result {
        Ok(()) => "ended".to_owned(),
        Err(error) => format!("ended: {error}"),
    }
}

fn strict() -> Arc<Program> {
    program(COUNTER, 1, UndecodablePolicy::Fail, TickPolicy::Stop)
}

#[test]
fn a_watermark_waits_for_its_rows_to_be_durable() {
    let mut bench = Bench::start(strict(), Some(100));
    bench.lane.records(1, &[("a", "{\"x\":1}"), ("a", "{\"x\":2}"), ("b", "{\"x\":3}")]);
    assert_eq!(bench.until(90), [] as [&str; 0]);
    assert_eq!(bench.until(150), ["watermark 2"]);
    assert_eq!(bench.until(250), ["watermark 3"], "the row that was left was submitted after its linger");
    assert_eq!(bench.rows(), r#"{"n":1,"half":12} {"n":2,"half":6} {"n":1,"half":4}"#);
    bench.lane.put(LaneItem::End);
    assert_eq!(bench.until(260), ["end"]);
    bench.finish(1_000);
    assert_eq!(bench.until(300), ["ended"]);
}

#[test]
fn records_without_rows_move_the_watermark_on() {
    let quiet = program("in x: Int\nin y: Int\nout z: Int = y", 1, UndecodablePolicy::Skip, TickPolicy::Stop);
    let mut bench = Bench::start(quiet, Some(100));
    bench.lane.records(1, &[("a", "{\"x\":1}"), ("a", "no JSON")]);
    assert_eq!(bench.until(1), ["watermark 2"]);
    bench.lane.records(3, &[("a", "{\"y\":1}"), ("a", "{\"x\":2}")]);
    assert_eq!(bench.until(50), [] as [&str; 0], "the last has a row before it, since y is held");
    assert_eq!(bench.until(200), ["watermark 4"]);
    assert_eq!(bench.totals.read().skipped, 1);
}

#[test]
fn a_full_queue_stops_intake_and_loses_nothing() {
    let mut bench = Bench::start(strict(), Some(100));
    let records: Vec<_> = (0..20).map(|_| ("a", "{\"x\":4}")).collect();
    bench.lane.records(1, &records);
    bench.until(350);
    assert!(bench.totals.read().records == 0, "the batch is not through");
    bench.until(5_000);
    let expected: Vec<_> = (1..=20).map(|n| format!("{{\"n\":{n},\"half\":3}}")).collect();
    assert_eq!(bench.rows(), expected.join(" "));
}

#[test]
fn a_capture_holds_what_changed_up_to_a_boundary() {
    let mut bench = Bench::start(strict(), Some(10));
    bench.lane.records(1, &[("b", "{\"x\":1}"), ("a", "{\"x\":1}")]);
    bench.until(1);
    bench.tell(ToLoop::Capture(vec![(LANE, CaptureId::new(7))]));
    assert_eq!(bench.until(2), ["captured 2 of epoch 1 with a b keys"]);
    bench.lane.records(3, &[("a", "{\"x\":1}")]);
    bench.until(30);
    bench.tell(ToLoop::Capture(vec![(LANE, CaptureId::new(8))]));
    assert_eq!(bench.until(60), ["captured 3 of epoch 1 with a keys"]);
    bench.tell(ToLoop::Capture(vec![(LaneId::new(9), CaptureId::new(9))]));
    assert_eq!(bench.until(70), [] as [&str; 0], "a lane that is gone is none to capture");
}

#[test]
fn a_capture_waits_for_the_boundary_while_the_writer_is_full() {
    let mut bench = Bench::start(strict(), Some(100));
    bench.lane.records(1, &[("a", "{\"x\":1}"); 8]);
    bench.until(1);
    bench.tell(ToLoop::Capture(vec![(LANE, CaptureId::new(7))]));
    assert_eq!(bench.until(50), [] as [&str; 0]);
    assert!(bench.until(1_000).contains(&"captured 8 of epoch 1 with a keys".to_owned()));
}

#[test]
fn a_failing_tick_ends_the_runtime_after_the_rows_before_it() {
    let mut bench = Bench::start(strict(), Some(10));
    bench.lane.records(1, &[("a", "{\"x\":1}"), ("a", "{\"x\":2}"), ("a", "{\"x\":3}"), ("a", "{\"x\":0}"), ("a", "{\"x\":5}")]);
    let told = bench.until(1_000);
    assert_eq!(told[0], "watermark 3");
    assert!(told[1].starts_with("ended: record 4 of s, key a: `half`: "), "{told:?}");
    assert_eq!(bench.rows(), r#"{"n":1,"half":12} {"n":2,"half":6} {"n":3,"half":4}"#);
}

#[test]
fn under_dead_letter_key_other_keys_go_on() {
    let lenient = program(COUNTER, 1, UndecodablePolicy::DeadLetter, TickPolicy::DeadLetterKey);
    let mut bench = Bench::start(lenient, Some(1));
    bench.lane.records(1, &[("a", "{\"x\":0}"), ("b", "{\"x\":1}"), ("a", "{\"x\":1}"), ("b", "{"), ("b", "{\"x\":2}")]);
    assert!(bench.until(100).contains(&"watermark 5".to_owned()));
    assert_eq!(bench.rows(), r#"{"n":1,"half":12} {"n":2,"half":6}"#);
    let letters: Vec<serde_json::Value> = bench.letters.rows.lock().iter().map(|row| serde_json::from_str(row).unwrap()).collect();
    let seen: Vec<_> = letters.iter().map(|one| (one["cause"].as_str().unwrap(), one["sequenceNumber"].as_str().unwrap())).collect();
    assert_eq!(seen, [("TickFailed", "1"), ("KeyFailed", "3"), ("Undecodable", "4")]);
    assert!(letters[0]["message"].as_str().unwrap().starts_with("3:17: `half`: "), "{}", letters[0]);
    let counts = bench.totals.read();
    assert_eq!((counts.failed_keys, counts.failed_records, counts.undecodable, counts.rows), (1, 2, 1, 2));
}

#[test]
fn a_record_that_does_not_decode_ends_the_runtime_under_fail() {
    let mut bench = Bench::start(strict(), Some(1));
    bench.lane.records(1, &[("a", "{\"x\":1}"), ("a", "[]")]);
    let told = bench.until(100);
    assert_eq!(told[0], "watermark 1");
    assert!(told[1].starts_with("ended: record 2 of s does not decode: "), "{told:?}");
}

#[test]
fn what_was_read_before_an_input_error_is_delivered() {
    let mut bench = Bench::start(strict(), Some(50));
    bench.lane.records(1, &[("a", "{\"x\":1}")]);
    bench.lane.put(LaneItem::Failed(SourceError { class: ErrorClass::Fatal, code: Code::INTERNAL, message: "gone".into() }));
    assert_eq!(bench.until(1_000), ["watermark 1", "ended: gone"]);
    assert_eq!(bench.rows(), r#"{"n":1,"half":12}"#);
}

#[test]
fn a_change_over_flushes_carries_state_and_waits_to_be_told() {
    let mut bench = Bench::start(strict(), Some(100));
    bench.lane.records(1, &[("a", "{\"x\":1}"), ("a", "{\"x\":1}"), ("b", "{\"x\":1}")]);
    let next = program("in x: Int\nout n: Int = default(n[1], 0) + 1\nout ten: Int = n * 10", 2, UndecodablePolicy::Fail, TickPolicy::Stop);
    let writer = Box::new(Bench::session(&bench.world, &bench.sink, &bench.letters));
    bench.until(1);
    bench.tell(ToLoop::Apply(Box::new(Prepared { program: next, writer, against: root(1) })));
    bench.lane.records(4, &[("a", "{\"x\":1}")]);
    assert_eq!(bench.until(150), ["watermark 2"], "the old rows are not durable yet");
    assert_eq!(bench.until(250), ["watermark 3", "captured 3 of epoch 2 with a b keys", "applied 2"]);
    assert_eq!(bench.until(1_000), [] as [&str; 0]);
    assert_eq!(bench.rows().matches("ten").count(), 0);
    bench.tell(ToLoop::Flow(vec![LANE]));
    assert_eq!(bench.until(1_200), ["watermark 4"]);
    assert!(bench.rows().ends_with(r#"{"n":3,"ten":30}"#), "{}", bench.rows());
}

#[test]
fn a_program_prepared_against_another_root_ends_the_loop() {
    let mut bench = Bench::start(strict(), Some(1));
    let next = program(COUNTER, 3, UndecodablePolicy::Fail, TickPolicy::Stop);
    let writer = Box::new(Bench::session(&bench.world, &bench.sink, &bench.letters));
    bench.tell(ToLoop::Apply(Box::new(Prepared { program: next, writer, against: root(2) })));
    let told = bench.until(1_000);
    assert_eq!(told, ["ended: the program was prepared against the root of epoch 2, which does not run"]);
}

#[test]
fn a_dropped_lane_says_nothing_more_and_answers_its_barrier() {
    let mut bench = Bench::start(strict(), Some(100));
    bench.lane.records(1, &[("a", "{\"x\":1}"); 8]);
    bench.until(1);
    let (barrier, awaited) = Barrier::new(Waker::noop().clone());
    bench.tell(ToLoop::Drop(vec![LANE], barrier));
    bench.until(2);
    assert!(awaited.is_over(), "also while the writer has no room");
    bench.finish(5_000);
    assert_eq!(bench.until(5_000), ["ended"]);
    assert!(bench.sink.rows.lock().len() < 8);
}

#[test]
fn an_ending_that_cannot_flush_keeps_its_deadline_and_fails() {
    let mut bench = Bench::start(strict(), None);
    bench.lane.records(1, &[("a", "{\"x\":1}")]);
    bench.lane.put(LaneItem::End);
    bench.until(50);
    let begun = bench.world.env().clock().monotonic();
    bench.finish(300);
    let told = bench.until(10_000);
    assert_eq!(told.last().map(String::as_str), Some("ended: output rows: 1 rows were not acknowledged by the deadline"));
    assert_eq!(bench.world.env().clock().monotonic(), begun + Duration::from_millis(300));
}

#[test]
fn an_ending_with_input_left_fails() {
    let mut bench = Bench::start(strict(), Some(1));
    bench.lane.records(1, &[("a", "{\"x\":1}")]);
    bench.until(50);
    bench.finish(300);
    assert_eq!(bench.until(10_000), ["ended: not all that was read could be evaluated by the deadline"]);
}

/// A busy loop never waits: it has to look at its deadline by itself.
#[test]
fn an_ending_keeps_its_deadline_while_records_are_queued() {
    let mut bench = Bench::start(strict(), Some(1));
    bench.until(1);
    for turn in 0..200 {
        bench.lane.records(turn * 100 + 1, &[("a", "{\"x\":1}"); 100]);
    }
    bench.finish(0);
    assert_eq!(bench.until(10_000).last().map(String::as_str), Some("ended: not all that was read could be evaluated by the deadline"));
    assert!(bench.totals.read().records < 20_000);
}

#[test]
fn few_large_rows_are_submitted_as_soon_as_many_small_ones() {
    let wide = program("in x: Str\nout y: Str = x", 1, UndecodablePolicy::Fail, TickPolicy::Stop);
    let mut bench = Bench::start(wide, Some(1));
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(600 << 10));
    bench.lane.records(1, &[("a", large.as_str())]);
    bench.until(1);
    assert_eq!(bench.sink.rows.lock().len(), 0, "one of them still waits for others");
    bench.lane.records(2, &[("a", large.as_str())]);
    bench.until(3);
    assert_eq!(bench.sink.rows.lock().len(), 2);
}

#[test]
fn a_failing_output_ends_the_runtime_with_its_first_error() {
    struct Bad;
    impl Destination for Bad {
        fn deliver(&mut self, _rows: Rows) -> Answer<'_, Result<(), OutputError>> {
            Box::pin(async {
                Err(OutputError { output: "rows".into(), code: Code::OUTPUT_FAILED, retry: Retry::Never, message: "refused".into() })
            })
        }

        fn close(&mut self, _by: Deadline) -> Answer<'_, Result<(), OutputError>> {
            Box::pin(async { Ok(()) })
        }
    }
    let world = Simulation::new(2);
    let (to_loop, mailbox) = mpsc::channel(4);
    let (answers, mut told) = mpsc::channel(64);
    let session = Session::open(&world.env(), vec![("rows".into(), Target::Queued(Box::new(Bad)))], QueueLimits::default());
    let wires = Wires { mailbox, answers, totals: Arc::default() };
    let owner = Loop::new(&world.env(), strict(), Box::new(session), Settings::default(), wires);
    world.env().tasks().thread("loop", Box::pin(owner.run()));
    let lane = Script::default();
    lane.records(1, &[("a", "{\"x\":1}")]);
    let gain =
        Gain { lane: Box::new(lane), id: LANE, split: SplitId::new("s"), epoch: SplitEpoch::new(1), state: Vec::new(), root: root(1) };
    to_loop.try_send(ToLoop::Add(Box::new(Added { gain, keys: Vec::new(), fresh: false, flows: true }))).unwrap();
    world.run(Duration::from_mins(1));
    let Ok(FromLoop::Ended(ending)) = told.try_recv() else { panic!("no watermark may rise") };
    assert!(matches!(ending.result, Err(RuntimeError::Output(_))), "{ending:?}");
}
