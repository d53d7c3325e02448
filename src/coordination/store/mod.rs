//! The store of coordination's records: what any of them must do, and what goes wrong with one.
//!
//! Owns: keys, object revisions, the trait, the proof of compare-and-swap at start, the limit of time around each call.
//! May not: decide anything about ownership; a lost compare-and-swap is a value here, not an error.

mod memory;
mod proof;
mod timed;

pub use memory::Memory;
pub use proof::prove;
pub(super) use timed::Timed;

use super::records::{Assignment, Beat, LeaderRecord, LedgerPage, PageId, PlanRecord, SplitRecord, WorkerName, WorkerRecord, WorkerStatus};
use crate::error::{Code, Meaning, Retry};
use crate::flow::SplitId;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Names an object of the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A split's record.
    Split(SplitId),
    /// A ledger page.
    Page(PageId),
    /// A worker's record.
    Worker(WorkerName),
    /// A worker's heartbeat.
    Beat(WorkerName),
    /// Who leads.
    Leader,
    /// The plan.
    Plan,
    /// An object by which compare-and-swap is proved; it holds a heartbeat.
    Scratch(WorkerName),
}

/// A kind of object, for lists and watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Split records.
    Split,
    /// Ledger pages.
    Page,
    /// Worker records.
    Worker,
    /// Heartbeats.
    Beat,
    /// The leader's record.
    Leader,
    /// The plan record.
    Plan,
    /// Scratch objects.
    Scratch,
}

impl Key {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Split(_) => Kind::Split,
            Self::Page(_) => Kind::Page,
            Self::Worker(_) => Kind::Worker,
            Self::Beat(_) => Kind::Beat,
            Self::Leader => Kind::Leader,
            Self::Plan => Kind::Plan,
            Self::Scratch(_) => Kind::Scratch,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split(split) => write!(f, "split {split}"),
            Self::Page(page) => write!(f, "ledger page {page}"),
            Self::Worker(worker) => write!(f, "worker {worker}"),
            Self::Beat(worker) => write!(f, "heartbeat of {worker}"),
            Self::Leader => f.write_str("leader record"),
            Self::Plan => f.write_str("plan record"),
            Self::Scratch(worker) => write!(f, "scratch record of {worker}"),
        }
    }
}

/// What an object holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Record {
    /// Of a [`Key::Split`].
    Split(Box<SplitRecord>),
    /// Of a [`Key::Page`].
    Page(LedgerPage),
    /// Of a [`Key::Worker`], as it is created and read. A swap gives one part of it: see the next two.
    Worker(WorkerRecord),
    /// The worker's part of a [`Key::Worker`]; the other stays as it is.
    Status(WorkerStatus),
    /// The leader's part of a [`Key::Worker`]; the other stays as it is.
    Assignment(Assignment),
    /// Of a [`Key::Beat`] or [`Key::Scratch`].
    Beat(Beat),
    /// Of [`Key::Leader`].
    Leader(LeaderRecord),
    /// Of [`Key::Plan`].
    Plan(PlanRecord),
}

macro_rules! part {
    ($($name:ident, $variant:ident, $type:ty, $doc:literal;)*) => {
        impl Record {
            $(
                #[doc = $doc]
                ///
                /// # Errors
                /// The object holds something else.
                pub fn $name(self) -> Result<$type, StoreError> {
                    match self {
                        Self::$variant(record) => Ok(record),
                        other => Err(StoreError::Refused(format!(concat!("not a ", stringify!($name), " record: {:?}"), other).into())),
                    }
                }
            )*
        }
    };
}

part! {
    split, Split, Box<SplitRecord>, "The split record that it is.";
    page, Page, LedgerPage, "The ledger page that it is.";
    worker, Worker, WorkerRecord, "The worker record that it is.";
    beat, Beat, Beat, "The heartbeat that it is.";
    leader, Leader, LeaderRecord, "The leader record that it is.";
    plan, Plan, PlanRecord, "The plan record that it is.";
}

/// Which object, and which state of it: what a writer has read. A key that is created again gets another uid, and none of
/// its revisions repeats an old one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRevision {
    /// The object.
    pub uid: Arc<str>,
    /// Its state; only equality means anything.
    pub revision: Arc<str>,
}

/// An object as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Which state of it.
    pub revision: ObjectRevision,
    /// What it held.
    pub record: Record,
}

/// What became of a write that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// It landed; the object is at this revision now.
    Done(ObjectRevision),
    /// Nothing was written: the object is another, at another revision, or (of a create) there.
    Lost,
}

/// What became of a deletion that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The object is gone.
    Done,
    /// Nothing was deleted: the object is another, or at another revision.
    Lost,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The objects, in no particular order.
    pub objects: Vec<(Key, Known)>,
    /// Where the next part begins; none: this was the last.
    pub next: Option<Arc<str>>,
    /// From where a watch goes on after this list.
    pub cursor: Cursor,
}

/// A moment in a store's history, from which a watch can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub Arc<str>);

/// A change that a watch has seen. It may be late, repeated or out of order: it is a reason to read, and decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// What changed.
    pub key: Key,
    /// What it held then; none: it was gone.
    pub known: Option<Known>,
}

/// Why a store did not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing was written, surely, or nothing could be read; it may pass.
    #[error("the store did not take the call: {0}")]
    NotWritten(Box<str>),
    /// The write may have landed, or may still land until its object is written again.
    #[error("the store's answer is missing: {0}")]
    Unknown(Box<str>),
    /// Nothing was written, and repeating it will not help.
    #[error("the store refuses: {0}")]
    Refused(Box<str>),
}

impl Meaning for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::NotWritten(_) | Self::Unknown(_) => Code::STORE_UNREACHABLE,
            Self::Refused(_) => Code::STORE_REFUSED,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NotWritten(_) | Self::Unknown(_) => Retry::Backoff,
            Self::Refused(_) => Retry::Never,
        }
    }
}

/// A store's answer, some time later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where the records are. Calls run on tasks of their own; what they answer reaches the driver as its backend's events.
///
/// No call is repeated inside: a repeated write may be refused because the first one landed.
pub trait Store: Send + Sync {
    /// Creates an object where there is none under its key; [`Swap::Lost`] where there is one.
    fn create<'a>(&'a self, key: &'a Key, new: Record) -> Answer<'a, Swap>;

    /// Writes an object if it is still the one, at the revision, that was read. Of a [`Key::Worker`] it writes one part.
    fn swap<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision, new: Record) -> Answer<'a, Swap>;

    /// Reads an object by quorum: no write that was answered before is missed.
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Known>>;

    /// Lists a kind by quorum, by parts: first from the beginning, then from each part's `next`.
    fn list(&self, kind: Kind, from: Option<Arc<str>>) -> Answer<'_, Listing>;

    /// Deletes an object if it is still the one, at the revision, that was read.
    fn delete<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision) -> Answer<'a, Deletion>;

    /// Follows a kind from a list on.
    fn watch(&self, kind: Kind, after: Cursor) -> Box<dyn Watch>;

    /// Renews a heartbeat, or makes it. A store whose heartbeats are objects of another make does it its own way.
    fn heartbeat<'a>(&'a self, worker: &'a Key, read: Option<&'a ObjectRevision>, beat: Beat) -> Answer<'a, Swap> {
        match read {
            Some(read) => self.swap(worker, read, Record::Beat(beat)),
            None => self.create(worker, Record::Beat(beat)),
        }
    }
}

/// A watch that runs.
pub trait Watch: Send {
    /// The next changes, at least one. After an error the watch is over: list, and watch from there.
    fn next(&mut self) -> Answer<'_, Vec<Hint>>;
}

/// A whole list, part after part, and where a watch goes on after it.
///
/// # Errors
/// One of the parts was not answered.
pub async fn list_all(store: &dyn Store, kind: Kind) -> Result<(Vec<(Key, Known)>, Cursor), StoreError> {
    let mut part = store.list(kind, None).await?;
    let (mut objects, cursor) = (part.objects, part.cursor);
    while let Some(next) = part.next.take() {
        part = store.list(kind, Some(next)).await?;
        objects.append(&mut part.objects);
    }
    Ok((objects, cursor))
}
