//! A store whose calls all end: one that is not answered in time is an error. A watch may wait as long as it likes.

use super::super::records::Beat;
use super::{Answer, Cursor, Deletion, Key, Kind, Known, Listing, ObjectRevision, Record, Store, StoreError, Swap, Watch};
use crate::env::Env;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Bounds every call of a store.
pub(in crate::coordination) struct Timed {
    store: Arc<dyn Store>,
    env: Env,
    limit: Duration,
}

impl Timed {
    /// This store, each call of which takes at most so long.
    pub(in crate::coordination) fn new(store: Arc<dyn Store>, env: Env, limit: Duration) -> Self {
        Self { store, env, limit }
    }

    /// A write that is given up may still land.
    fn write<'a, T: Send + 'a>(&'a self, call: Answer<'a, T>) -> Answer<'a, T> {
        self.within(call, || StoreError::Unknown("no answer in time".into()))
    }

    fn reading<'a, T: Send + 'a>(&'a self, call: Answer<'a, T>) -> Answer<'a, T> {
        self.within(call, || StoreError::NotWritten("no answer in time".into()))
    }

    fn within<'a, T: Send + 'a>(&'a self, mut call: Answer<'a, T>, late: fn() -> StoreError) -> Answer<'a, T> {
        let mut timer = self.env.clock().sleep(self.limit);
        Box::pin(std::future::poll_fn(move |context| match call.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => timer.as_mut().poll(context).map(|()| Err(late())),
        }))
    }
}

impl Store for Timed {
    fn create<'a>(&'a self, key: &'a Key, new: Record) -> Answer<'a, Swap> {
        self.write(self.store.create(key, new))
    }

    fn swap<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision, new: Record) -> Answer<'a, Swap> {
        self.write(self.store.swap(key, read, new))
    }

    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Known>> {
        self.reading(self.store.read(key))
    }

    fn list(&self, kind: Kind, from: Option<Arc<str>>) -> Answer<'_, Listing> {
        self.reading(self.store.list(kind, from))
    }

    fn delete<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision) -> Answer<'a, Deletion> {
        self.write(self.store.delete(key, read))
    }

    fn watch(&self, kind: Kind, after: Cursor) -> Box<dyn Watch> {
        self.store.watch(kind, after)
    }

    fn heartbeat<'a>(&'a self, worker: &'a Key, read: Option<&'a ObjectRevision>, beat: Beat) -> Answer<'a, Swap> {
        self.write(self.store.heartbeat(worker, read, beat))
    }
}
