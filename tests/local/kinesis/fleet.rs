//! Workers over the driver and the memory store, reading a stream that is resharded under them.

use super::{HOUR, MINUTE, SECOND, simulate};
use crate::fake_kinesis::Fake;
use millrace::coordination::records::WorkerName;
use millrace::coordination::store::{Memory, Store};
use millrace::coordination::{Config, Driver, Event};
use millrace::env::Env;
use millrace::flow::{CaptureId, Digest, Gain, LaneId, LaneItem, Ordinal, RootEpoch, RootRef, StateHead, StoredCapture};
use millrace::kinesis::Service;
use millrace::source::QueueLimits;
use millrace::source::kinesis::{KinesisPlanner, KinesisSource, StartRule};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Keys and numbers, in the order in which workers delivered them.
type Delivered = Arc<Mutex<Vec<(String, usize)>>>;

/// A worker whose evaluation keeps nothing and delivers at once.
struct Worker {
    driver: Driver,
    source: KinesisSource,
    lanes: BTreeMap<LaneId, (Gain, Ordinal)>,
    delivered: Delivered,
    root: RootRef,
}

impl Worker {
    async fn start(env: &Env, store: &Arc<dyn Store>, fake: &Arc<Fake>, name: &str, delivered: &Delivered) -> Self {
        let service: Arc<dyn Service> = fake.clone();
        let planner = Arc::new(KinesisPlanner::new(env, service.clone(), StartRule::TrimHorizon));
        let source = KinesisSource::connect(env, service, "main", QueueLimits::default()).await.unwrap();
        let driver = Driver::start(env.clone(), store.clone(), planner, (WorkerName::new(name), "uid"), Config::default());
        let root = RootRef { epoch: RootEpoch::new(1), digest: Digest::of(b"root") };
        Self { driver, source, lanes: BTreeMap::new(), delivered: delivered.clone(), root }
    }

    /// Runs until it is killed, without a word to anybody.
    async fn run(mut self, env: Env, killed: Arc<AtomicBool>) {
        while !killed.load(Ordering::SeqCst) {
            let tick = env.clock().sleep(SECOND / 10);
            millrace::env::first_of(poll_fn(|cx| self.poll(cx)), tick).await;
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(event) = self.driver.poll_events(&mut self.source, cx) {
            self.act(event.unwrap());
        }
        let mut read = false;
        for (id, (gain, last)) in &mut self.lanes {
            while let Poll::Ready(item) = gain.lane.poll_next(cx) {
                let LaneItem::Batch(batch) = item else { break };
                for (ordinal, record) in batch.iter() {
                    let number = std::str::from_utf8(record.payload).unwrap().parse().unwrap();
                    self.delivered.lock().push((record.partition_key.unwrap().to_owned(), number));
                    *last = ordinal;
                }
                self.driver.watermark(*id, *last);
                read = true;
            }
        }
        if read {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Joined(term) => self.driver.ready(term, self.root),
            Event::LanesAdded(gains) => self.lanes.extend(gains.into_iter().map(|gain| (gain.id, (gain, Ordinal::default())))),
            Event::LanesRevoked(lanes, _) | Event::LanesRetired(lanes) => self.lanes.retain(|id, _| !lanes.contains(id)),
            Event::CaptureDue(lanes) => {
                for (gain, last) in lanes.iter().filter_map(|lane| self.lanes.get(lane)) {
                    let head = StateHead::Inline(Arc::new([]));
                    let (id, split, epoch) = (CaptureId::default(), gain.split.clone(), gain.epoch);
                    self.driver.stored(StoredCapture { id, split, epoch, at: *last, root: self.root, head, inheritance_over: true });
                }
            }
            _ => {}
        }
    }
}

/// Starts a worker; the switch kills it.
async fn begin(env: &Env, store: &Arc<dyn Store>, fake: &Arc<Fake>, name: &str, delivered: &Delivered) -> Arc<AtomicBool> {
    let (worker, killed) = (Worker::start(env, store, fake, name, delivered).await, Arc::new(AtomicBool::new(false)));
    env.tasks().spawn("worker", Box::pin(worker.run(env.clone(), killed.clone())));
    killed
}

/// Splits or merges, in turns.
fn reshard(fake: &Fake, turn: usize) {
    let open = fake.open_shards();
    if turn.is_multiple_of(3) {
        fake.merge(&open[turn % (open.len() - 1)], &open[turn % (open.len() - 1) + 1]);
    } else {
        fake.split(&open[turn % open.len()]);
    }
}

#[test]
fn scenario_20_a_stream_resharded_over_and_over_with_workers_killed_loses_nothing_and_keeps_its_keys_order() {
    simulate(2 * HOUR, |env| async move {
        let fake = Fake::new(&env, 2);
        fake.set_latency(SECOND / 20);
        let (store, delivered): (Arc<dyn Store>, Delivered) = (Arc::new(Memory::new()), Delivered::default());
        let mut killers = Vec::new();
        for name in ["w-0", "w-1"] {
            killers.push(begin(&env, &store, &fake, name, &delivered).await);
        }
        let mut written = 0;
        for turn in 1..=12 {
            for _ in 0..60 {
                fake.put(&format!("k{}", written % 20), &written.to_string());
                written += 1;
                env.clock().sleep(SECOND / 2).await;
            }
            reshard(&fake, turn);
            if turn.is_multiple_of(4) {
                killers.remove(0).store(true, Ordering::SeqCst);
                killers.push(begin(&env, &store, &fake, &format!("w-{turn}"), &delivered).await);
            }
        }
        env.clock().sleep(5 * MINUTE).await;
        let delivered = delivered.lock().clone();
        let numbers: BTreeSet<usize> = delivered.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, (0..written).collect(), "each at least once");
        let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (key, number) in &delivered {
            if seen.insert(*number) {
                let before = newest.insert(key, *number);
                assert!(before.is_none_or(|before| before < *number), "{key}: {number} came after {before:?}");
            }
        }
        let repeated = delivered.len() - numbers.len();
        assert!(repeated < 200, "only what dead workers had not committed: {repeated}");
        for killer in killers {
            killer.store(true, Ordering::SeqCst);
        }
    });
}
