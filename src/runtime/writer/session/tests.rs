//! The writer over destinations that are slow, fail or hang, in a simulated world.

use super::{QueueLimits, Session, Target};
use crate::env::{Env, Simulation};
use crate::error::{Code, Retry};
use crate::flow::{Admission, Deadline};
use crate::runtime::{Answer, CloseReport, Destination, Feed, NativeDestination, OutputBatch, OutputError, OutputWriter, Rows};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// What a scripted destination has seen, and what it does.
#[derive(Clone)]
struct Script {
    env: Env,
    name: &'static str,
    /// How long a delivery takes; none: for ever.
    takes: Option<Duration>,
    /// The delivery, from 1, that fails.
    fails_at: Option<usize>,
    fails_to_close: bool,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    deliveries: usize,
    rows: Vec<String>,
    closed: usize,
}

fn failure(name: &str, message: &str) -> OutputError {
    OutputError { output: name.into(), code: Code::OUTPUT_FAILED, retry: Retry::Never, message: message.into() }
}

impl Script {
    fn new(world: &Simulation, name: &'static str, takes: Option<u64>) -> Self {
        let takes = takes.map(Duration::from_millis);
        Self { env: world.env(), name, takes, fails_at: None, fails_to_close: false, seen: Arc::default() }
    }

    fn target(&self) -> (Arc<str>, Target) {
        (self.name.into(), Target::Queued(Box::new(self.clone())))
    }

    fn native(&self) -> (Arc<str>, Target) {
        (self.name.into(), Target::Native(Box::new(self.clone())))
    }

    fn rows(&self) -> Vec<String> {
        self.seen.lock().rows.clone()
    }

    fn take(&self, rows: &Rows) -> Result<(), OutputError> {
        let mut seen = self.seen.lock();
        seen.deliveries += 1;
        if Some(seen.deliveries) == self.fails_at {
            return Err(failure(self.name, "refused"));
        }
        seen.rows.extend(rows.iter().map(|row| String::from_utf8(row.json.to_vec()).unwrap()));
        Ok(())
    }
}

impl Destination for Script {
    fn deliver(&mut self, rows: Rows) -> Answer<'_, Result<(), OutputError>> {
        Box::pin(async move {
            match self.takes {
                Some(takes) => self.env.clock().sleep(takes).await,
                None => std::future::pending().await,
            }
            self.take(&rows)
        })
    }

    fn close(&mut self, _by: Deadline) -> Answer<'_, Result<(), OutputError>> {
        self.seen.lock().closed += 1;
        let result = if self.fails_to_close { Err(failure(self.name, "not closed")) } else { Ok(()) };
        Box::pin(async move { result })
    }
}

impl NativeDestination for Script {
    fn write(&mut self, rows: &Rows) -> Result<(), OutputError> {
        self.take(rows)
    }

    fn close(&mut self) -> Result<(), OutputError> {
        self.seen.lock().closed += 1;
        if self.fails_to_close { Err(failure(self.name, "not closed")) } else { Ok(()) }
    }
}

/// A batch with one row for each of these destinations.
fn batch(rows: &[(usize, &str)]) -> OutputBatch {
    let mut batch = OutputBatch::new(3);
    for (destination, row) in rows {
        batch.push(*destination, "", |bytes| bytes.extend_from_slice(row.as_bytes()));
    }
    batch
}

/// Runs the work in the world to its end, and answers what it says and when.
fn run<T: Send + 'static>(world: &Simulation, work: impl Future<Output = T> + Send + 'static) -> (T, Duration) {
    let (answer, env) = (Arc::new(Mutex::new(None)), world.env());
    let told = Arc::clone(&answer);
    let task = async move {
        let said = work.await;
        *told.lock() = Some((said, env.clock().monotonic()));
    };
    world.env().tasks().spawn("test", Box::pin(task));
    world.run(Duration::from_hours(1));
    answer.lock().take().expect("the work has ended")
}

fn open(world: &Simulation, targets: Vec<(Arc<str>, Target)>) -> Session {
    Session::open(&world.env(), targets, QueueLimits { rows: 2, bytes: 1 << 20 })
}

async fn close(env: Env, session: Session, span: u64) -> CloseReport {
    let by = Deadline::after(env.clock().monotonic(), Duration::from_millis(span));
    Box::new(session).close(by).await
}

fn admitted(fed: Result<Feed, OutputError>) -> Admission {
    match fed {
        Ok(Feed::Admitted(admission)) => admission,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_durable_prefix_is_what_every_destination_has() {
    let world = Simulation::new(1);
    let (quick, slow) = (Script::new(&world, "quick", Some(1)), Script::new(&world, "slow", Some(100)));
    let mut session = open(&world, vec![quick.target(), slow.target()]);
    let env = world.env();
    let ((), _) = run(&world, async move {
        assert_eq!(admitted(session.feed(batch(&[(0, "a"), (1, "b")]))), Admission::new(1));
        assert_eq!(admitted(session.feed(batch(&[(0, "c")]))), Admission::new(2));
        env.clock().sleep(Duration::from_millis(50)).await;
        assert_eq!(session.durable(), Admission::new(0), "the slow one has not acknowledged the first");
        env.clock().sleep(Duration::from_millis(60)).await;
        assert_eq!(session.durable(), Admission::new(2));
        assert_eq!(session.send(batch(&[(1, "d")])).await, Ok(Admission::new(3)));
        assert_eq!(env.clock().monotonic(), Duration::from_millis(210), "sending waits until it is durable");
    });
    assert_eq!((quick.rows(), slow.rows()), (vec!["a".into(), "c".into()], vec!["b".into(), "d".into()]));
}

impl PartialEq for OutputError {
    fn eq(&self, other: &Self) -> bool {
        (&self.output, &self.message) == (&other.output, &other.message)
    }
}

#[test]
fn a_full_queue_gives_the_batch_back_and_says_when_there_is_room() {
    let world = Simulation::new(2);
    let slow = Script::new(&world, "slow", Some(100));
    let mut session = open(&world, vec![slow.target()]);
    let ((), at) = run(&world, async move {
        admitted(session.feed(batch(&[(0, "a"), (0, "b"), (0, "c")])));
        let Ok(Feed::Full(back)) = session.feed(batch(&[(0, "d")])) else { panic!("there was room") };
        assert_eq!(back.parts()[0].lines(), b"d\n");
        assert!(session.poll_change(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending());
        std::future::poll_fn(|cx| session.poll_change(cx)).await.unwrap();
        admitted(session.feed(back));
        session.flush().await.unwrap();
    });
    assert_eq!((slow.rows().concat(), at), ("abcd".to_owned(), Duration::from_millis(200)));
}

#[test]
fn the_first_error_stays_the_answer_while_every_destination_is_closed_and_the_healthy_get_their_rows() {
    let world = Simulation::new(3);
    let mut bad = Script::new(&world, "bad", Some(5));
    (bad.fails_at, bad.fails_to_close) = (Some(2), true);
    let (good, native) = (Script::new(&world, "good", Some(50)), Script::new(&world, "native", None));
    let mut session = open(&world, vec![bad.target(), good.target(), native.native()]);
    let env = world.env();
    let (report, _) = run(&world, async move {
        for row in ["a", "b"] {
            admitted(session.feed(batch(&[(0, row), (1, row), (2, row)])));
        }
        assert_eq!(session.flush().await, Err(failure("bad", "refused")));
        assert_eq!(session.feed(batch(&[(1, "c")])).unwrap_err(), failure("bad", "refused"));
        close(env, session, 1_000).await
    });
    assert_eq!(report.first_error, Some(failure("bad", "refused")));
    let ended: Vec<_> = report.destinations.iter().map(|one| (&*one.output, one.undelivered, one.result.is_ok())).collect();
    assert_eq!(ended, [("bad", 1, false), ("good", 0, true), ("native", 0, true)]);
    assert_eq!((good.rows().concat(), native.rows().concat()), ("ab".to_owned(), "ab".to_owned()));
    assert_eq!([&bad, &good, &native].map(|one| one.seen.lock().closed), [1, 1, 1]);
}

#[test]
fn a_failing_close_alone_is_the_first_error() {
    let world = Simulation::new(4);
    let mut bad = Script::new(&world, "bad", Some(1));
    bad.fails_to_close = true;
    let mut native = Script::new(&world, "native", None);
    native.fails_to_close = true;
    for target in [bad.target(), native.native()] {
        let mut session = open(&world, vec![target]);
        let env = world.env();
        let (report, _) = run(&world, async move {
            admitted(session.feed(batch(&[(0, "a")])));
            close(env, session, 1_000).await
        });
        assert_eq!(report.undelivered(), 0);
        assert_eq!(report.first_error.unwrap().message.as_ref(), "not closed");
    }
}

#[test]
fn a_destination_that_hangs_is_left_at_the_deadline() {
    let world = Simulation::new(5);
    let (hangs, good) = (Script::new(&world, "hangs", None), Script::new(&world, "good", Some(10)));
    let mut session = open(&world, vec![hangs.target(), good.target()]);
    let env = world.env();
    let (report, at) = run(&world, async move {
        admitted(session.feed(batch(&[(0, "a"), (1, "a"), (0, "b")])));
        close(env, session, 300).await
    });
    assert_eq!((report.undelivered(), at), (2, Duration::from_millis(300)));
    assert_eq!(report.first_error.unwrap().code, Code::DRAIN_INCOMPLETE);
    assert_eq!(good.rows(), ["a"]);
}

#[test]
fn a_native_destination_that_fails_admits_nothing() {
    let world = Simulation::new(6);
    let mut native = Script::new(&world, "native", None);
    native.fails_at = Some(2);
    let mut session = open(&world, vec![native.native()]);
    admitted(session.feed(batch(&[(0, "a")])));
    assert_eq!(session.durable(), Admission::new(1), "what was written is durable");
    assert_eq!(session.feed(batch(&[(0, "b")])).unwrap_err(), failure("native", "refused"));
    assert_eq!(session.durable(), Admission::new(1));
}

#[test]
fn a_session_that_is_dropped_sends_nothing_more() {
    let world = Simulation::new(7);
    let slow = Script::new(&world, "slow", Some(100));
    let mut session = open(&world, vec![slow.target()]);
    let env = world.env();
    run(&world, async move {
        admitted(session.feed(batch(&[(0, "a")])));
        admitted(session.feed(batch(&[(0, "b")])));
        env.clock().sleep(Duration::from_millis(150)).await;
        drop(session);
        env.clock().sleep(Duration::from_secs(1)).await;
    });
    assert_eq!(slow.rows(), ["a"]);
}
