//! The bounded queue between a fetcher and its lane.
//!
//! Owns: bounds in bytes and records, the lane's ordinals.
//! May not: fetch.

use crate::flow::{Batch, Lane, LaneItem, Ordinal, Page, SourceError};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How much a queue may hold. One page always fits into an empty one.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Records.
    pub records: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { records: 32_768, bytes: 16 << 20 }
    }
}

/// A queue: the fetcher's end and the loop's.
#[must_use]
pub fn queue(limits: QueueLimits) -> (Feeder, QueueLane) {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let feeder = Feeder { shared: Arc::clone(&shared), limits };
    (feeder, QueueLane { shared, next: Ordinal::default().next() })
}

/// The lane has been dropped: nobody reads any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

#[derive(Default)]
struct Shared {
    pages: VecDeque<Arc<Page>>,
    records: usize,
    bytes: usize,
    end: Option<End>,
    lane_gone: bool,
    feeder: Option<Waker>,
    lane: Option<Waker>,
}

enum End {
    Complete,
    Failed(SourceError),
    Told,
}

/// The fetcher's end. Dropped without a word, it ends the lane.
pub struct Feeder {
    shared: Arc<Mutex<Shared>>,
    limits: QueueLimits,
}

impl Feeder {
    /// Hands a page over, once there is room for it; an empty one goes nowhere. `accepted` runs before the lane can see
    /// the page, and does not if the call is given up while it waits: so what it notes is what was sent.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub async fn send(&self, page: Page, accepted: impl FnOnce()) -> Result<(), Closed> {
        let mut offer = Some((page, accepted));
        poll_fn(|cx| self.poll_send(&mut offer, cx)).await
    }

    fn poll_send<F: FnOnce()>(&self, offer: &mut Option<(Page, F)>, cx: &Context<'_>) -> Poll<Result<(), Closed>> {
        let mut shared = self.shared.lock();
        if shared.lane_gone {
            return Poll::Ready(Err(Closed));
        }
        let page = offer.as_ref().map(|(page, _)| page);
        let (records, bytes) = page.map_or((0, 0), |page| (page.len(), page.bytes()));
        let (records, bytes) = (shared.records.saturating_add(records), shared.bytes.saturating_add(bytes));
        if (records > self.limits.records || bytes > self.limits.bytes) && !shared.pages.is_empty() {
            shared.feeder = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if let Some((page, accepted)) = offer.take() {
            accepted();
            if !page.is_empty() {
                (shared.records, shared.bytes) = (records, bytes);
                shared.pages.push_back(Arc::new(page));
                wake(&mut shared.lane);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The split has failed.
    pub fn fail(self, error: SourceError) {
        self.close(End::Failed(error));
    }

    fn close(&self, end: End) {
        let mut shared = self.shared.lock();
        shared.end.get_or_insert(end);
        wake(&mut shared.lane);
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.close(End::Complete);
    }
}

impl fmt::Debug for Feeder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feeder").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// The loop's end.
pub struct QueueLane {
    shared: Arc<Mutex<Shared>>,
    next: Ordinal,
}

impl Lane for QueueLane {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<LaneItem> {
        let mut shared = self.shared.lock();
        if let Some(page) = shared.pages.pop_front() {
            shared.records = shared.records.saturating_sub(page.len());
            shared.bytes = shared.bytes.saturating_sub(page.bytes());
            wake(&mut shared.feeder);
            let batch = Batch { records: 0..page.len(), page, first: self.next };
            self.next = self.next.plus(batch.len() as u64);
            return Poll::Ready(LaneItem::Batch(batch));
        }
        match shared.end.replace(End::Told) {
            Some(End::Complete) => Poll::Ready(LaneItem::End),
            Some(End::Failed(error)) => Poll::Ready(LaneItem::Failed(error)),
            // A lane that has ended has nothing more to say.
            Some(End::Told) => Poll::Pending,
            None => {
                shared.end = None;
                shared.lane = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for QueueLane {
    fn drop(&mut self) {
        let mut shared = self.shared.lock();
        shared.lane_gone = true;
        shared.pages.clear();
        wake(&mut shared.feeder);
    }
}

impl fmt::Debug for QueueLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueLane").field("next", &self.next).finish_non_exhaustive()
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::{Closed, QueueLimits, queue};
    use crate::error::Code;
    use crate::flow::{ErrorClass, Lane, LaneItem, Page, Record, SourceError};
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn page(records: usize) -> Page {
        let mut page = Page::new("main".into(), "s".into());
        for _ in 0..records {
            let (stream, shard) = ("", "");
            page.push(&Record {
                stream,
                shard,
                partition_key: None,
                sequence_number: "1",
                sub_sequence: None,
                arrival: 0,
                payload: b"12345",
            });
        }
        page
    }

    async fn ordinals(lane: &mut impl Lane) -> Result<Vec<u64>, Option<SourceError>> {
        match poll_fn(|cx| lane.poll_next(cx)).await {
            LaneItem::Batch(batch) => Ok(batch.iter().map(|(ordinal, _)| ordinal.get()).collect()),
            LaneItem::End => Err(None),
            LaneItem::Failed(error) => Err(Some(error)),
        }
    }

    #[tokio::test]
    async fn ordinals_are_dense_and_the_end_comes_after_the_last_page() {
        let (feeder, mut lane) = queue(QueueLimits::default());
        feeder.send(page(2), || ()).await.unwrap();
        feeder.send(page(0), || ()).await.unwrap();
        feeder.send(page(1), || ()).await.unwrap();
        drop(feeder);
        assert_eq!(ordinals(&mut lane).await.unwrap(), [1, 2]);
        assert_eq!(ordinals(&mut lane).await.unwrap(), [3]);
        assert!(ordinals(&mut lane).await.unwrap_err().is_none());
    }

    #[tokio::test]
    async fn a_failure_comes_after_what_was_read_before_it() {
        let (feeder, mut lane) = queue(QueueLimits::default());
        feeder.send(page(1), || ()).await.unwrap();
        feeder.fail(SourceError { class: ErrorClass::Fatal, code: Code::INTERNAL, message: "gone".into() });
        assert_eq!(ordinals(&mut lane).await.unwrap(), [1]);
        assert_eq!(ordinals(&mut lane).await.unwrap_err().unwrap().to_string(), "gone");
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_fetcher_wait() {
        for limits in [QueueLimits { records: 3, bytes: 1000 }, QueueLimits { records: 1000, bytes: 18 }] {
            let (feeder, mut lane) = queue(limits);
            feeder.send(page(2), || ()).await.unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            {
                let mut second = pin!(feeder.send(page(2), || ()));
                assert!(second.as_mut().poll(&mut cx).is_pending());
                assert_eq!(ordinals(&mut lane).await.unwrap(), [1, 2]);
                assert_eq!(second.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
            }
            drop(lane);
            assert_eq!(feeder.send(page(1), || ()).await, Err(Closed));
        }
    }
}
