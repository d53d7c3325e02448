//! Calls of the store, each on a task of its own; and what they answer.

use super::{Driver, Registration};
use crate::coordination::leader::{beats_of, splits};
use crate::coordination::ledger::RecordView;
use crate::coordination::membership::Reading;
use crate::coordination::records::{
    Beat, EntryKey, LedgerPage, MadeBy, PageId, Shard, SplitRecord, SplitState, WorkerName, WorkerRecord, WorkerStatus,
};
use crate::coordination::store::{Key, Kind, ObjectRevision, Record, Store, StoreError, Swap, list_all};
use crate::coordination::tidy;
use crate::env::Env;
use crate::flow::{SourceError, SplitId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many ancestors a claim looks through. A chain of inheritance ends with the state's time to live, or a copy.
const ANCESTORS: usize = 256;

/// Which claim a call was made for, and in which of its phases.
pub(super) type Stamped = (SplitId, u64);

/// What a write of one object has become.
pub(super) enum Written<T> {
    /// This stands now, by the write's own answer or by a read.
    Stands(T),
    /// Nothing was written: read.
    Lost,
    /// There was no answer.
    Failed(StoreError),
}

/// What a claim begins with, read in this order.
pub(super) struct Found {
    /// The record.
    pub(super) record: Option<RecordView>,
    /// The records of its parents, where they decide whether it may open, and of all that it inherits from.
    pub(super) ancestors: BTreeMap<SplitId, Option<SplitRecord>>,
    /// Its owner's heartbeat.
    pub(super) beat: Option<(Reading, WorkerName, Option<Beat>)>,
}

/// What the backend has to tell.
pub(super) enum Reply {
    Proved(Result<(), StoreError>),
    Registered(Registration, Result<(), StoreError>),
    Beats(Reading, Result<Vec<(WorkerName, Beat)>, StoreError>),
    Found(Stamped, Box<Result<Found, StoreError>>),
    Record(Stamped, Written<Option<Box<RecordView>>>),
    Page(PageId, Vec<Stamped>, Written<Option<(ObjectRevision, LedgerPage)>>),
    Child(Stamped, SplitId, Result<(), StoreError>),
    MayGo(PageId, Result<Vec<EntryKey>, StoreError>),
    AllComplete(Result<bool, StoreError>),
    Planning(SourceError),
}

impl Driver {
    /// Runs a call on a task; its reply comes back through the inbox.
    pub(super) fn call(&self, work: impl Future<Output = Reply> + Send + 'static) {
        let inbox = self.inbox.clone();
        self.env.tasks().spawn("store", Box::pin(async move { inbox.push(work.await) }));
    }
}

/// Says who we are, and whether we are leaving. Tried until it stands, or a call fails.
pub(super) async fn register(store: Arc<dyn Store>, worker: WorkerName, status: WorkerStatus) -> Result<(), StoreError> {
    let key = Key::Worker(worker);
    loop {
        let written = match store.read(&key).await? {
            None => store.create(&key, Record::Worker(WorkerRecord { status: status.clone(), assignment: None })).await?,
            Some(known) if known.record.clone().worker()?.status == status => return Ok(()),
            Some(known) => store.swap(&key, &known.revision, Record::Status(status.clone())).await?,
        };
        if matches!(written, Swap::Done(_)) {
            return Ok(());
        }
    }
}

/// Reads all heartbeats.
pub(super) async fn beats(env: Env, store: Arc<dyn Store>) -> Reply {
    let sent = env.clock().monotonic();
    let listed = list_all(&*store, Kind::Beat).await;
    let reading = Reading { sent, answered: env.clock().monotonic() };
    Reply::Beats(reading, listed.and_then(|(beats, _)| beats_of(beats)))
}

pub(super) async fn find(env: Env, store: Arc<dyn Store>, stamped: Stamped) -> Reply {
    let found = find_in(&env, &*store, &stamped.0).await;
    Reply::Found(stamped, Box::new(found))
}

async fn find_in(env: &Env, store: &dyn Store, split: &SplitId) -> Result<Found, StoreError> {
    let record = view(store, split).await?;
    let mut found = Found { record, ancestors: BTreeMap::new(), beat: None };
    let Some(view) = &found.record else { return Ok(found) };
    let mut wanted = view.record.base.inherits.clone();
    if view.record.state == SplitState::Waiting {
        wanted.extend(view.record.parents.iter().cloned());
    }
    while let Some(ancestor) = wanted.pop() {
        if found.ancestors.contains_key(&ancestor) || found.ancestors.len() >= ANCESTORS {
            continue;
        }
        let record = self::view(store, &ancestor).await?.map(|view| view.record);
        wanted.extend(record.iter().flat_map(|record| record.base.inherits.iter().cloned()));
        found.ancestors.insert(ancestor, record);
    }
    if let Some(owner) = &view.record.owner {
        let sent = env.clock().monotonic();
        let known = store.read(&Key::Beat(owner.worker.clone())).await?;
        let beat = known.map(|known| known.record.beat()).transpose()?;
        found.beat = Some((Reading { sent, answered: env.clock().monotonic() }, owner.worker.clone(), beat));
    }
    Ok(found)
}

async fn view(store: &dyn Store, split: &SplitId) -> Result<Option<RecordView>, StoreError> {
    let known = store.read(&Key::Split(split.clone())).await?;
    known.map(|known| Ok(RecordView { revision: known.revision, record: *known.record.split()? })).transpose()
}

pub(super) async fn read_record(store: Arc<dyn Store>, stamped: Stamped) -> Reply {
    let written = match view(&*store, &stamped.0).await {
        Ok(view) => Written::Stands(view.map(Box::new)),
        Err(error) => Written::Failed(error),
    };
    Reply::Record(stamped, written)
}

pub(super) async fn write_record(store: Arc<dyn Store>, stamped: Stamped, read: ObjectRevision, record: Box<SplitRecord>) -> Reply {
    let swap = store.swap(&Key::Split(stamped.0.clone()), &read, Record::Split(record.clone())).await;
    let written = match swap {
        Ok(Swap::Done(revision)) => Written::Stands(Some(Box::new(RecordView { revision, record: *record }))),
        Ok(Swap::Lost) => Written::Lost,
        Err(error) => Written::Failed(error),
    };
    Reply::Record(stamped, written)
}

pub(super) async fn read_page(store: Arc<dyn Store>, page: PageId, waiting: Vec<Stamped>) -> Reply {
    let read = async {
        let known = store.read(&Key::Page(page.clone())).await?;
        known.map(|known| Ok((known.revision, known.record.page()?))).transpose()
    };
    let written = match read.await {
        Ok(known) => Written::Stands(known),
        Err(error) => Written::Failed(error),
    };
    Reply::Page(page, waiting, written)
}

/// Writes a page, or creates it where nothing was read.
pub(super) async fn write_page(
    store: Arc<dyn Store>,
    id: PageId,
    waiting: Vec<Stamped>,
    write: (Option<ObjectRevision>, LedgerPage),
) -> Reply {
    let (read, page) = write;
    let (key, record) = (Key::Page(id.clone()), Record::Page(page.clone()));
    let swap = match &read {
        Some(read) => store.swap(&key, read, record).await,
        None => store.create(&key, record).await,
    };
    let written = match swap {
        Ok(Swap::Done(revision)) => Written::Stands(Some((revision, page))),
        Ok(Swap::Lost) => Written::Lost,
        Err(error) => Written::Failed(error),
    };
    Reply::Page(id, waiting, written)
}

/// Makes a child's record, or sees that there is one. A create without an answer is settled by the next try.
pub(super) async fn make_child(store: Arc<dyn Store>, parent: Stamped, shard: Shard) -> Reply {
    let record = SplitRecord::unopened(&shard, MadeBy::Driver);
    let made = store.create(&Key::Split(shard.split.clone()), Record::Split(Box::new(record))).await;
    Reply::Child(parent, shard.split, made.map(|_| ()))
}

pub(super) async fn look_what_may_go(store: Arc<dyn Store>, page: PageId, entries: Vec<EntryKey>) -> Reply {
    let going = tidy::may_go(&*store, &page, entries).await;
    Reply::MayGo(page, going)
}

/// Whether every split is read to its end.
pub(super) async fn look_whether_all_is_complete(store: Arc<dyn Store>) -> Reply {
    let all = splits(&*store).await;
    Reply::AllComplete(all.map(|splits| splits.values().all(|record| record.state == SplitState::Completed)))
}
