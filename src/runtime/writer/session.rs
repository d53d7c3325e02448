//! The writer: numbers what it admits, hands it to the delivery owners, and knows what has arrived.
//!
//! Each queued destination has one delivery owner, a task with a bounded queue of its own: a slow sink stalls only what is
//! admitted to it, until its queue is full. Native destinations are written as part of `feed`.

use super::{Answer, CloseReport, Closed, Destination, Feed, NativeDestination, OutputWriter};
use crate::env::{Env, first_of};
use crate::error::{Code, Retry};
use crate::flow::{Admission, Deadline};
use crate::runtime::error::OutputError;
use crate::runtime::rows::{OutputBatch, Rows};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A destination, by who calls it.
pub enum Target {
    /// Its delivery owner does.
    Queued(Box<dyn Destination>),
    /// The loop does.
    Native(Box<dyn NativeDestination>),
}

/// How much one destination's queue may hold. One batch always fits into an empty one.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Rows.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { rows: 16_384, bytes: 16 << 20 }
    }
}

/// The writer of one loop, from open to close.
pub struct Session {
    shared: Arc<Shared>,
    natives: Vec<Option<Box<dyn NativeDestination>>>,
    limits: QueueLimits,
    /// The last change that `poll_change` has answered for.
    seen: u64,
}

struct Shared {
    env: Env,
    state: Mutex<State>,
}

struct State {
    admitted: Admission,
    owners: Vec<Owner>,
    first_error: Option<OutputError>,
    /// Counts what a loop may wait for.
    changes: u64,
    waiting: Vec<Waker>,
    closing: Option<Deadline>,
}

/// One destination as the writer sees it.
struct Owner {
    name: Arc<str>,
    /// What was admitted and not acknowledged, the first of it perhaps under way.
    queue: VecDeque<Queued>,
    rows: usize,
    bytes: usize,
    task: Option<Waker>,
    error: Option<OutputError>,
    /// What closing it said.
    closed: Option<Result<(), OutputError>>,
}

struct Queued {
    admission: Admission,
    rows: usize,
    bytes: usize,
    /// Gone once the delivery owner has taken it.
    content: Option<Rows>,
}

impl Session {
    /// Opens a session over destinations, each with its output's name. Queued ones get their tasks here.
    #[must_use]
    pub fn open(env: &Env, targets: Vec<(Arc<str>, Target)>, limits: QueueLimits) -> Self {
        let (mut owners, mut natives, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (name, target)) in targets.into_iter().enumerate() {
            owners.push(Owner::new(name));
            natives.push(match target {
                Target::Native(native) => Some(native),
                Target::Queued(destination) => {
                    tasks.push((at, destination));
                    None
                }
            });
        }
        let state = State { admitted: Admission::default(), owners, first_error: None, changes: 0, waiting: Vec::new(), closing: None };
        let shared = Arc::new(Shared { env: env.clone(), state: Mutex::new(state) });
        for (at, destination) in tasks {
            env.tasks().spawn("delivery owner", Box::pin(own(Arc::clone(&shared), at, destination)));
        }
        Self { shared, natives, limits, seen: 0 }
    }

    /// Whether a queue has no room for its part.
    fn full(&self, state: &State, batch: &OutputBatch) -> bool {
        state.owners.iter().zip(batch.parts()).any(|(owner, rows)| {
            let over =
                owner.rows.saturating_add(rows.len()) > self.limits.rows || owner.bytes.saturating_add(rows.bytes()) > self.limits.bytes;
            over && !rows.is_empty() && !owner.queue.is_empty()
        })
    }

    fn write_natives(&mut self, batch: &OutputBatch) -> Result<(), OutputError> {
        for (native, rows) in self.natives.iter_mut().zip(batch.parts()) {
            if let (Some(native), false) = (native, rows.is_empty()) {
                native.write(rows)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("durable", &self.durable()).finish_non_exhaustive()
    }
}

impl OutputWriter for Session {
    fn feed(&mut self, batch: OutputBatch) -> Result<Feed, OutputError> {
        let admission = {
            let state = self.shared.state.lock();
            if let Some(error) = &state.first_error {
                return Err(error.clone());
            }
            if self.full(&state, &batch) {
                return Ok(Feed::Full(batch));
            }
            state.admitted.next()
        };
        if let Err(error) = self.write_natives(&batch) {
            self.shared.fail(&error);
            return Err(error);
        }
        self.shared.admit(admission, batch, &self.natives);
        Ok(Feed::Admitted(admission))
    }

    fn durable(&self) -> Admission {
        self.shared.state.lock().durable()
    }

    fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), OutputError>> {
        let mut state = self.shared.state.lock();
        if state.changes == self.seen {
            state.wait(cx);
            return Poll::Pending;
        }
        self.seen = state.changes;
        Poll::Ready(state.first_error.clone().map_or(Ok(()), Err))
    }

    fn send(&mut self, batch: OutputBatch) -> Answer<'_, Result<Admission, OutputError>> {
        Box::pin(async move {
            let mut batch = batch;
            let admission = loop {
                match self.feed(batch)? {
                    Feed::Admitted(admission) => break admission,
                    Feed::Full(back) => {
                        batch = back;
                        poll_fn(|cx| self.poll_change(cx)).await?;
                    }
                }
            };
            self.flush().await?;
            Ok(admission)
        })
    }

    fn flush(&mut self) -> Answer<'_, Result<(), OutputError>> {
        Box::pin(poll_fn(|cx| {
            let mut state = self.shared.state.lock();
            if let Some(error) = &state.first_error {
                return Poll::Ready(Err(error.clone()));
            }
            if state.durable() == state.admitted {
                return Poll::Ready(Ok(()));
            }
            state.wait(cx);
            Poll::Pending
        }))
    }

    fn close(mut self: Box<Self>, by: Deadline) -> Answer<'static, CloseReport> {
        Box::pin(async move {
            self.shared.begin_close(by);
            for (at, native) in self.natives.iter_mut().enumerate() {
                if let Some(native) = native {
                    self.shared.closed(at, native.close());
                }
            }
            poll_fn(|cx| self.shared.state.lock().poll_closed(cx)).await
        })
    }
}

impl Drop for Session {
    /// A session that is dropped unclosed, as in a lapse, sends nothing more.
    fn drop(&mut self) {
        let now = self.shared.env.clock().monotonic();
        self.shared.begin_close(Deadline::after(now, std::time::Duration::ZERO));
    }
}

impl Owner {
    const fn new(name: Arc<str>) -> Self {
        Self { name, queue: VecDeque::new(), rows: 0, bytes: 0, task: None, error: None, closed: None }
    }

    fn put(&mut self, admission: Admission, content: Rows) {
        let (rows, bytes) = (content.len(), content.bytes());
        self.rows = self.rows.saturating_add(rows);
        self.bytes = self.bytes.saturating_add(bytes);
        self.queue.push_back(Queued { admission, rows, bytes, content: Some(content) });
        if let Some(task) = self.task.take() {
            task.wake();
        }
    }

    fn acknowledge(&mut self) {
        if let Some(done) = self.queue.pop_front() {
            self.rows = self.rows.saturating_sub(done.rows);
            self.bytes = self.bytes.saturating_sub(done.bytes);
        }
    }
}

impl State {
    /// All that was admitted, up to the first that some destination has not acknowledged.
    fn durable(&self) -> Admission {
        let waiting = self.owners.iter().filter_map(|owner| owner.queue.front());
        let first = waiting.map(|queued| queued.admission).min();
        first.map_or(self.admitted, |first| Admission::new(first.get().saturating_sub(1)))
    }

    fn wait(&mut self, cx: &Context<'_>) {
        if !self.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.waiting.push(cx.waker().clone());
        }
    }

    fn changed(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        for waker in self.waiting.drain(..) {
            waker.wake();
        }
    }

    fn poll_closed(&mut self, cx: &Context<'_>) -> Poll<CloseReport> {
        if self.owners.iter().any(|owner| owner.closed.is_none()) {
            self.wait(cx);
            return Poll::Pending;
        }
        let destinations = self.owners.iter().map(|owner| Closed {
            output: Arc::clone(&owner.name),
            undelivered: owner.rows,
            result: owner.error.clone().map_or_else(|| owner.closed.clone().unwrap_or(Ok(())), Err),
        });
        let destinations = destinations.collect();
        Poll::Ready(CloseReport { destinations, durable: self.durable(), first_error: self.first_error.clone() })
    }
}

impl Shared {
    fn admit(&self, admission: Admission, batch: OutputBatch, natives: &[Option<Box<dyn NativeDestination>>]) {
        let mut state = self.state.lock();
        state.admitted = admission;
        for ((owner, rows), native) in state.owners.iter_mut().zip(batch.into_parts()).zip(natives) {
            if native.is_none() && !rows.is_empty() {
                owner.put(admission, rows);
            }
        }
        if state.durable() == admission {
            state.changed();
        }
    }

    fn fail(&self, error: &OutputError) {
        let mut state = self.state.lock();
        state.first_error.get_or_insert_with(|| error.clone());
        state.changed();
    }

    fn begin_close(&self, by: Deadline) {
        let mut state = self.state.lock();
        state.closing.get_or_insert(by);
        for owner in &mut state.owners {
            if let Some(task) = owner.task.take() {
                task.wake();
            }
        }
    }

    /// What an owner has to deliver next; `None` once the session closes and there is no more.
    async fn next(&self, at: usize) -> Option<Rows> {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            let closing = state.closing.is_some();
            let Some(owner) = state.owners.get_mut(at) else { return Poll::Ready(None) };
            if owner.error.is_none()
                && let Some(rows) = owner.queue.front_mut().and_then(|queued| queued.content.take())
            {
                return Poll::Ready(Some(rows));
            }
            if closing {
                return Poll::Ready(None);
            }
            owner.task = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn delivered(&self, at: usize, result: Result<(), OutputError>) {
        let mut state = self.state.lock();
        let Some(owner) = state.owners.get_mut(at) else { return };
        match result {
            Ok(()) => owner.acknowledge(),
            Err(error) => {
                owner.error.get_or_insert_with(|| error.clone());
                state.first_error.get_or_insert(error);
            }
        }
        state.changed();
    }

    fn closed(&self, at: usize, result: Result<(), OutputError>) {
        let mut state = self.state.lock();
        let Some(owner) = state.owners.get_mut(at) else { return };
        owner.closed = Some(result.clone());
        if let Err(error) = result {
            state.first_error.get_or_insert(error);
        }
        state.changed();
    }

    /// Completes at the deadline, once there is one.
    async fn overdue(&self, at: usize) {
        let by = poll_fn(|cx| {
            let mut state = self.state.lock();
            if let Some(by) = state.closing {
                return Poll::Ready(by);
            }
            if let Some(owner) = state.owners.get_mut(at) {
                owner.task = Some(cx.waker().clone());
            }
            Poll::Pending
        });
        let left = by.await.left(self.env.clock().monotonic());
        self.env.clock().sleep(left).await;
    }

    fn deadline_error(&self, at: usize) -> OutputError {
        let state = self.state.lock();
        let owner = state.owners.get(at);
        let (output, rows) = owner.map_or(("".into(), 0), |owner| (Arc::clone(&owner.name), owner.rows));
        let message = format!("{rows} rows were not acknowledged by the deadline");
        OutputError { output, code: Code::DRAIN_INCOMPLETE, retry: Retry::Backoff, message: message.into() }
    }
}

/// A delivery owner: delivers until the session closes, then closes the destination; all by the deadline.
async fn own(shared: Arc<Shared>, at: usize, mut destination: Box<dyn Destination>) {
    let work = async {
        while let Some(rows) = shared.next(at).await {
            let result = destination.deliver(rows).await;
            shared.delivered(at, result);
        }
        let by = shared.state.lock().closing;
        match by {
            Some(by) => destination.close(by).await,
            None => Ok(()),
        }
    };
    let result = first_of(work, shared.overdue(at)).await.unwrap_or_else(|| Err(shared.deadline_error(at)));
    shared.closed(at, result);
}

#[cfg(test)]
mod tests;
