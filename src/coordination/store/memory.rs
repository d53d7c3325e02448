//! The store in memory: for `millrace run` and for tests. All workers of a process share one.

use super::{Answer, Cursor, Deletion, Hint, Key, Kind, Known, Listing, ObjectRevision, Record, Store, StoreError, Swap, Watch};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Objects of a part of a list.
const PART: usize = 256;

/// Deletions that watches can still be told of.
const GRAVES: usize = 1024;

/// The store in memory. Its clones are the same store.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Objects>>);

#[derive(Default)]
struct Objects {
    live: BTreeMap<Key, Object>,
    /// What was deleted, by the number of that change.
    graves: BTreeMap<u64, Key>,
    /// Changes up to this one are forgotten.
    forgotten: u64,
    changes: u64,
    watchers: Vec<Waker>,
}

struct Object {
    uid: u64,
    revision: u64,
    record: Record,
}

impl Object {
    fn known(&self) -> Known {
        Known { revision: self.revision(), record: self.record.clone() }
    }

    fn revision(&self) -> ObjectRevision {
        ObjectRevision { uid: self.uid.to_string().into(), revision: self.revision.to_string().into() }
    }
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All it holds, at one moment.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<Key, Known> {
        self.0.lock().live.iter().map(|(key, object)| (key.clone(), object.known())).collect()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("objects", &self.0.lock().live.len()).finish_non_exhaustive()
    }
}

impl Objects {
    fn change(&mut self) -> u64 {
        self.changes = self.changes.saturating_add(1);
        self.watchers.drain(..).for_each(Waker::wake);
        self.changes
    }

    fn create(&mut self, key: &Key, record: Record) -> Swap {
        if self.live.contains_key(key) {
            return Swap::Lost;
        }
        let change = self.change();
        let object = Object { uid: change, revision: change, record };
        let revision = object.revision();
        self.live.insert(key.clone(), object);
        Swap::Done(revision)
    }

    fn swap(&mut self, key: &Key, read: &ObjectRevision, new: Record) -> Swap {
        let Some(object) = self.live.get(key).filter(|object| object.revision() == *read) else { return Swap::Lost };
        let record = merged(&object.record, new);
        let revision = self.change();
        let Some(object) = self.live.get_mut(key) else { return Swap::Lost };
        (object.revision, object.record) = (revision, record);
        Swap::Done(object.revision())
    }

    fn delete(&mut self, key: &Key, read: &ObjectRevision) -> Deletion {
        if self.live.get(key).is_none_or(|object| object.revision() != *read) {
            return Deletion::Lost;
        }
        self.live.remove(key);
        let change = self.change();
        self.graves.insert(change, key.clone());
        while self.graves.len() > GRAVES {
            self.forgotten = self.graves.pop_first().map_or(self.forgotten, |(change, _)| change);
        }
        Deletion::Done
    }

    /// What changed after a moment; none: that is too long ago.
    fn since(&self, kind: Kind, after: u64) -> Option<Vec<Hint>> {
        let graves = self.graves.range((Bound::Excluded(after), Bound::Unbounded)).filter(|(_, key)| key.kind() == kind);
        let mut found: Vec<(u64, Hint)> = graves.map(|(change, key)| (*change, Hint { key: key.clone(), known: None })).collect();
        let live = self.live.iter().filter(|(key, object)| key.kind() == kind && object.revision > after);
        found.extend(live.map(|(key, object)| (object.revision, Hint { key: key.clone(), known: Some(object.known()) })));
        found.sort_by_key(|(change, _)| *change);
        (after >= self.forgotten).then(|| found.into_iter().map(|(_, hint)| hint).collect())
    }

    fn list(&self, kind: Kind, from: usize) -> Listing {
        let objects = self.live.iter().filter(|(key, _)| key.kind() == kind);
        let part: Vec<_> = objects.clone().skip(from).take(PART).map(|(key, object)| (key.clone(), object.known())).collect();
        let end = from.saturating_add(part.len());
        let next = (end < objects.count()).then(|| end.to_string().into());
        Listing { objects: part, next, cursor: Cursor(self.changes.to_string().into()) }
    }
}

/// A worker's record is written by parts.
fn merged(old: &Record, new: Record) -> Record {
    match (old, new) {
        (Record::Worker(worker), Record::Status(status)) => {
            let mut worker = worker.clone();
            worker.status = status;
            Record::Worker(worker)
        }
        (Record::Worker(worker), Record::Assignment(assignment)) => {
            let mut worker = worker.clone();
            worker.assignment = Some(assignment);
            Record::Worker(worker)
        }
        (_, new) => new,
    }
}

fn now<'a, T: Send + 'a>(answer: T) -> Answer<'a, T> {
    Box::pin(std::future::ready(Ok(answer)))
}

impl Store for Memory {
    fn create<'a>(&'a self, key: &'a Key, new: Record) -> Answer<'a, Swap> {
        now(self.0.lock().create(key, new))
    }

    fn swap<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision, new: Record) -> Answer<'a, Swap> {
        now(self.0.lock().swap(key, read, new))
    }

    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Known>> {
        now(self.0.lock().live.get(key).map(Object::known))
    }

    fn list(&self, kind: Kind, from: Option<Arc<str>>) -> Answer<'_, Listing> {
        let from = from.map_or(Some(0), |from| from.parse().ok());
        let refused = || StoreError::Refused("no part of a list begins there".into());
        Box::pin(std::future::ready(from.map(|from| self.0.lock().list(kind, from)).ok_or_else(refused)))
    }

    fn delete<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision) -> Answer<'a, Deletion> {
        now(self.0.lock().delete(key, read))
    }

    fn watch(&self, kind: Kind, after: Cursor) -> Box<dyn Watch> {
        Box::new(Following { store: self.clone(), kind, after: after.0.parse().ok() })
    }
}

struct Following {
    store: Memory,
    kind: Kind,
    after: Option<u64>,
}

impl Watch for Following {
    fn next(&mut self) -> Answer<'_, Vec<Hint>> {
        Box::pin(std::future::poll_fn(|context| {
            let mut objects = self.store.0.lock();
            let after = self.after.filter(|after| *after <= objects.changes);
            let Some(hints) = after.and_then(|after| objects.since(self.kind, after)) else {
                return Poll::Ready(Err(StoreError::NotWritten("a watch from a moment that is forgotten: list again".into())));
            };
            self.after = Some(objects.changes);
            if hints.is_empty() {
                objects.watchers.push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Ok(hints))
        }))
    }
}
