//! Kinesis streams: a record a row, by `PutRecords`.
//!
//! Owns: which rows go into a call, which rows wait for which, repeating what was not taken, how long trouble is borne.
//! May not: let a row overtake one of its partition key; drop a row.
//!
//! The service answers for each record of a call by itself, and may take one and refuse the one before it. So a call
//! carries at most one row of each partition key, and a key's next row waits until this one is acknowledged. Rows without
//! a partition key have no order: each gets a key of its own, made from its content, which spreads them over the shards.

use crate::env::{Env, first_of};
use crate::error::{Code, Meaning, Retry};
use crate::flow::{Deadline, Digest};
use crate::kinesis::{Call, Class, Fault, PutEntry, Sequence, Service, bounded, jittered};
use crate::runtime::{Answer, Destination, OutputError, OutputRow, Rows};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// What one call takes.
const CALL_RECORDS: usize = 500;
/// A larger row goes alone.
const CALL_BYTES: usize = 5 << 20;
/// How many calls are under way at once.
const CALLS: usize = 2;
/// The longest partition key, in characters.
const LONGEST_KEY: usize = 256;
/// The largest record of every stream; some take larger ones.
const LARGEST_RECORD: usize = 1 << 20;
/// After how long a row that was not taken is sent again; doubled each time.
const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// How long the same row may fail for another reason than the stream's pace.
const PATIENCE: Duration = Duration::from_mins(1);

/// A Kinesis stream that rows go to.
pub struct KinesisDestination {
    env: Env,
    output: Arc<str>,
    service: Arc<dyn Service>,
    /// What the stream has said that it takes; asked once a row is larger than every stream takes.
    largest: Option<usize>,
}

impl KinesisDestination {
    /// A destination for an output of this name.
    #[must_use]
    pub fn new(env: &Env, output: &Arc<str>, service: Arc<dyn Service>) -> Self {
        Self { env: env.clone(), output: Arc::clone(output), service, largest: None }
    }

    fn failed(&self, fault: &Fault) -> OutputError {
        OutputError { output: Arc::clone(&self.output), code: fault.code(), retry: fault.retry(), message: fault.to_string().into() }
    }

    fn unfit(&self, what: &str) -> OutputError {
        let message = format!("stream {} can never take a row: {what}; let the output carry less", self.service.stream());
        OutputError { output: Arc::clone(&self.output), code: Code::ROW_UNFIT, retry: Retry::Never, message: message.into() }
    }

    /// Finds a row that the stream can never take, before any is sent.
    async fn fit(&mut self, rows: &Rows) -> Result<(), OutputError> {
        if let Some(row) = rows.iter().find(|row| row.partition_key.chars().nth(LONGEST_KEY).is_some()) {
            let characters = row.partition_key.chars().count();
            return Err(self.unfit(&format!("its partition key has {characters} characters, and {LONGEST_KEY} are the most")));
        }
        let largest = rows.iter().map(|row| size(&row)).max().unwrap_or(0);
        if largest <= self.largest.unwrap_or(LARGEST_RECORD) {
            return Ok(());
        }
        if self.largest.is_none() {
            match bounded(&self.env, &*self.service, "DescribeStreamSummary", self.service.summary()).await {
                Ok(summary) => self.largest = Some(summary.largest_record),
                // Then the service says itself what it does not take.
                Err(_) => return Ok(()),
            }
        }
        let takes = self.largest.unwrap_or(LARGEST_RECORD);
        if largest <= takes { Ok(()) } else { Err(self.unfit(&format!("it has {largest} bytes with its key, and {takes} are the most"))) }
    }
}

const fn size(row: &OutputRow<'_>) -> usize {
    row.json.len().saturating_add(row.partition_key.len())
}

impl Destination for KinesisDestination {
    fn deliver(&mut self, rows: Rows) -> Answer<'_, Result<(), OutputError>> {
        Box::pin(async move {
            self.fit(&rows).await?;
            let delivered = Delivery::new(&self.env, &*self.service, &rows).run().await;
            delivered.map_err(|fault| self.failed(&fault))
        })
    }

    /// What was answered is acknowledged: there is nothing left to do.
    fn close(&mut self, _by: Deadline) -> Answer<'_, Result<(), OutputError>> {
        Box::pin(async { Ok(()) })
    }
}

impl fmt::Debug for KinesisDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KinesisDestination").field("output", &self.output).finish_non_exhaustive()
    }
}

/// The rows of one key that have not arrived, in order. Only the first of them is ever sent.
struct Waiting<'a> {
    key: Cow<'a, str>,
    rows: VecDeque<&'a [u8]>,
    tries: u32,
    /// Since when it has been failing for another reason than the stream's pace.
    trouble: Option<Duration>,
}

/// One call under way, with the keys whose first rows it carries.
struct UnderWay<'a> {
    keys: Vec<usize>,
    call: Call<'a, Vec<Result<Sequence, Fault>>>,
}

/// Rows on their way, until all have arrived.
struct Delivery<'a> {
    env: &'a Env,
    service: &'a dyn Service,
    queues: Vec<Waiting<'a>>,
    /// Keys whose first row may be sent.
    ready: VecDeque<usize>,
    /// Keys whose first row is sent again, and when.
    later: Vec<(Duration, usize)>,
    calls: Vec<UnderWay<'a>>,
}

impl<'a> Delivery<'a> {
    fn new(env: &'a Env, service: &'a dyn Service, rows: &'a Rows) -> Self {
        let mut places = HashMap::new();
        let mut queues: Vec<Waiting<'a>> = Vec::new();
        for row in rows.iter() {
            let key = match row.partition_key {
                "" => Cow::Owned(Digest::of(row.json).hex()),
                key => Cow::Borrowed(key),
            };
            let place = *places.entry(key.clone()).or_insert(queues.len());
            match queues.get_mut(place) {
                Some(queue) => queue.rows.push_back(row.json),
                None => queues.push(Waiting { key, rows: VecDeque::from([row.json]), tries: 0, trouble: None }),
            }
        }
        Self { env, service, ready: (0..queues.len()).collect(), queues, later: Vec::new(), calls: Vec::new() }
    }

    async fn run(mut self) -> Result<(), Fault> {
        loop {
            self.take_up();
            while self.calls.len() < CALLS && !self.ready.is_empty() {
                self.send();
            }
            let next = self.later.iter().map(|(at, _)| *at).min();
            if self.calls.is_empty() && next.is_none() {
                return Ok(());
            }
            let (env, calls) = (self.env, &mut self.calls);
            let answered = async { if calls.is_empty() { pending().await } else { answer(calls).await } };
            let due = async {
                match next {
                    Some(at) => env.clock().sleep(at.saturating_sub(env.clock().monotonic())).await,
                    None => pending().await,
                }
            };
            if let Some((keys, answer)) = first_of(answered, due).await {
                self.settle(keys, answer)?;
            }
        }
    }

    /// Rows whose time has come may be sent again.
    fn take_up(&mut self) {
        let now = self.env.clock().monotonic();
        let ready = &mut self.ready;
        self.later.retain(|(at, key)| {
            let wait = *at > now;
            if !wait {
                ready.push_back(*key);
            }
            wait
        });
    }

    /// One call, of the first rows of as many keys as fit.
    fn send(&mut self) {
        let (mut keys, mut entries, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
        while let Some(place) = self.ready.front().copied()
            && keys.len() < CALL_RECORDS
        {
            let first = self.queues.get(place).and_then(|queue| Some((queue, queue.rows.front().copied()?)));
            let Some((queue, data)) = first else {
                self.ready.pop_front();
                continue;
            };
            bytes = bytes.saturating_add(data.len()).saturating_add(queue.key.len());
            if bytes > CALL_BYTES && !keys.is_empty() {
                break;
            }
            entries.push((queue.key.clone(), data));
            keys.push(place);
            self.ready.pop_front();
        }
        let (env, service) = (self.env, self.service);
        let call = Box::pin(async move {
            let entries = entries.iter().map(|(key, data)| PutEntry { key, data }).collect();
            bounded(env, service, "PutRecords", service.put(entries)).await
        });
        self.calls.push(UnderWay { keys, call });
    }

    fn settle(&mut self, keys: Vec<usize>, answer: Result<Vec<Result<Sequence, Fault>>, Fault>) -> Result<(), Fault> {
        match answer {
            Ok(answers) => keys.into_iter().zip(answers).try_for_each(|(key, answer)| match answer {
                Ok(_) => {
                    self.arrived(key);
                    Ok(())
                }
                Err(fault) => self.again(key, fault),
            }),
            Err(fault) => keys.into_iter().try_for_each(|key| self.again(key, fault.clone())),
        }
    }

    fn arrived(&mut self, key: usize) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.rows.pop_front();
        (queue.tries, queue.trouble) = (0, None);
        if !queue.rows.is_empty() {
            self.ready.push_back(key);
        }
    }

    /// Sends a key's first row again after a while, unless that is of no use.
    fn again(&mut self, key: usize, fault: Fault) -> Result<(), Fault> {
        let Some(queue) = self.queues.get_mut(key) else { return Ok(()) };
        let now = self.env.clock().monotonic();
        if fault.class != Class::Throttled {
            let since = *queue.trouble.get_or_insert(now);
            if !fault.class.may_pass() || now.saturating_sub(since) >= PATIENCE {
                return Err(fault);
            }
        }
        let most = FIRST_DELAY.saturating_mul(1 << queue.tries.min(16)).min(LONGEST_DELAY);
        queue.tries = queue.tries.saturating_add(1);
        self.later.push((now.saturating_add(jittered(self.env, most)), key));
        Ok(())
    }
}

/// The next call that is answered, taken out.
async fn answer(calls: &mut Vec<UnderWay<'_>>) -> (Vec<usize>, Result<Vec<Result<Sequence, Fault>>, Fault>) {
    poll_fn(|cx| {
        for at in 0..calls.len() {
            if let Some(one) = calls.get_mut(at)
                && let Poll::Ready(answer) = one.call.as_mut().poll(cx)
            {
                return Poll::Ready((calls.swap_remove(at).keys, answer));
            }
        }
        Poll::Pending
    })
    .await
}
