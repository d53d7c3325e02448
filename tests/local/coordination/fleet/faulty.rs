//! A worker's way to the store, on which answers are lost, late, or never sent; every landing is checked.

use super::checks::Checks;
use millrace::coordination::store::{
    Answer, Cursor, Deletion, Hint, Key, Kind, Known, Listing, Memory, ObjectRevision, Record, Store, StoreError, Swap, Watch,
};
use millrace::env::Env;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How often something goes wrong, in percent of calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rates {
    /// A write lands, and its answer is lost.
    pub(crate) lost: u64,
    /// A write's answer is an error; it lands much later, or never.
    pub(crate) late: u64,
    /// A call is not taken.
    pub(crate) refused: u64,
}

/// What the store does wrong on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lie {
    #[default]
    None,
    /// Swaps of split records do not compare.
    BlindSplits,
    /// Swaps of pages do not compare.
    BlindPages,
    /// A seal is said to have landed, and has not.
    ForgetsSeals,
    /// A page's write that is not answered is said to have landed.
    ClaimsLanding,
    /// Reads of split records are old ones.
    StaleSplits,
    /// Epochs are not raised by a claim.
    KeepsEpochs,
    /// Now and then a read shows a page's entries sealed that are not.
    ShowsSealed,
    /// Records say completed as soon as they are released.
    CompletesReleases,
}

/// The world that all workers share.
pub(crate) struct World {
    /// Its tasks outlive any worker.
    pub(crate) env: Env,
    pub(crate) memory: Memory,
    pub(crate) checks: Arc<Checks>,
    pub(crate) lie: Lie,
    old: Mutex<BTreeMap<Key, Option<Known>>>,
}

impl World {
    pub(crate) fn new(env: Env, checks: Arc<Checks>, lie: Lie) -> Self {
        Self { env, memory: Memory::new(), checks, lie, old: Mutex::default() }
    }

    fn read(&self, key: &Key) -> Option<Known> {
        now(self.memory.read(key)).unwrap()
    }

    fn land(&self, write: &Write) -> Landed {
        let before = self.read(&write.key);
        let mut new = write.new.clone();
        self.distort(&mut new, before.as_ref());
        let mut read = write.read.clone();
        let blind = match self.lie {
            Lie::BlindSplits => write.key.kind() == Kind::Split,
            Lie::BlindPages => write.key.kind() == Kind::Page,
            _ => false,
        };
        if let (true, Some(known)) = (blind, &before) {
            read = read.map(|_| known.revision.clone());
        }
        let landed = match (read, new) {
            (None, Some(new)) => Landed::Swap(now(self.memory.create(&write.key, new)).unwrap()),
            (Some(read), Some(new)) => Landed::Swap(now(self.memory.swap(&write.key, &read, new)).unwrap()),
            (Some(read), None) => Landed::Deletion(now(self.memory.delete(&write.key, &read)).unwrap()),
            (None, None) => unreachable!("no write"),
        };
        if !matches!(landed, Landed::Swap(Swap::Lost) | Landed::Deletion(Deletion::Lost)) {
            let after = self.read(&write.key);
            self.checks.wrote(&self.memory, &write.key, before.as_ref(), after.as_ref());
            self.old.lock().insert(write.key.clone(), before);
        }
        landed
    }

    fn distort(&self, new: &mut Option<Record>, before: Option<&Known>) {
        match (self.lie, new, before.map(|known| &known.record)) {
            (Lie::ForgetsSeals, Some(Record::Page(page)), Some(Record::Page(before))) => {
                for (key, entry) in &mut page.entries {
                    entry.sealed &= before.entries.get(key).is_none_or(|before| before.sealed);
                }
            }
            (Lie::KeepsEpochs, Some(Record::Split(record)), Some(Record::Split(before))) => record.epoch = before.epoch,
            (Lie::CompletesReleases, Some(Record::Split(record)), Some(Record::Split(_))) if record.owner.is_none() => {
                record.state = millrace::coordination::records::SplitState::Completed;
            }
            _ => {}
        }
    }
}

/// Takes an answer that is there.
pub(crate) fn now<T>(mut answer: Answer<'_, T>) -> Result<T, StoreError> {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the store in memory answers at once"),
    }
}

#[derive(Clone)]
struct Write {
    key: Key,
    read: Option<ObjectRevision>,
    new: Option<Record>,
}

enum Landed {
    Swap(Swap),
    Deletion(Deletion),
}

/// One worker's way.
#[derive(Clone)]
pub(crate) struct Faulty {
    pub(crate) world: Arc<World>,
    pub(crate) state: Arc<Mutex<Way>>,
}

#[derive(Debug, Default)]
pub(crate) struct Way {
    pub(crate) rates: Rates,
    /// Nothing goes through.
    pub(crate) cut: bool,
    /// When the last heartbeat that was answered was sent.
    pub(crate) beaten: Option<Duration>,
}

impl Faulty {
    fn chance(&self, percent: u64) -> bool {
        self.world.env.random().number() % 100 < percent
    }

    async fn pass(&self, most: u64) {
        let span = self.world.env.random().number() % most;
        self.world.env.clock().sleep(Duration::from_millis(span)).await;
    }

    fn rates(&self) -> (Rates, bool) {
        let way = self.state.lock();
        (way.rates, way.cut)
    }

    async fn write(&self, write: Write) -> Result<Landed, StoreError> {
        self.pass(20).await;
        let (rates, cut) = self.rates();
        if cut || self.chance(rates.late) {
            if !self.chance(33) {
                let (world, env, later) = (self.world.clone(), self.world.env.clone(), write.clone());
                let span = Duration::from_millis(env.random().number() % 40_000);
                let land = async move {
                    world.env.clock().sleep(span).await;
                    drop(world.land(&later));
                };
                env.tasks().spawn("landing", Box::pin(land));
            }
            self.pass(2_000).await;
            return self.unknown(&write);
        }
        if self.chance(rates.refused) {
            return Err(StoreError::NotWritten("not taken".into()));
        }
        let landed = self.world.land(&write);
        self.pass(20).await;
        if self.chance(rates.lost) || self.rates().1 {
            self.pass(2_000).await;
            return self.unknown(&write);
        }
        Ok(landed)
    }

    fn unknown(&self, write: &Write) -> Result<Landed, StoreError> {
        if self.world.lie == Lie::ClaimsLanding
            && write.key.kind() == Kind::Page
            && let Some(read) = &write.read
        {
            let is_deletion = write.new.is_none();
            return Ok(if is_deletion { Landed::Deletion(Deletion::Done) } else { Landed::Swap(Swap::Done(read.clone())) });
        }
        Err(StoreError::Unknown("no answer".into()))
    }

    async fn reads(&self) -> Result<(), StoreError> {
        self.pass(20).await;
        let (rates, cut) = self.rates();
        if cut || self.chance(rates.refused) {
            return Err(StoreError::NotWritten("cannot be read".into()));
        }
        Ok(())
    }

    async fn swapped(&self, write: Write) -> Result<Swap, StoreError> {
        match self.write(write).await? {
            Landed::Swap(swap) => Ok(swap),
            Landed::Deletion(_) => unreachable!("a swap is no deletion"),
        }
    }
}

impl Store for Faulty {
    fn create<'a>(&'a self, key: &'a Key, new: Record) -> Answer<'a, Swap> {
        Box::pin(self.swapped(Write { key: key.clone(), read: None, new: Some(new) }))
    }

    fn swap<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision, new: Record) -> Answer<'a, Swap> {
        Box::pin(self.swapped(Write { key: key.clone(), read: Some(read.clone()), new: Some(new) }))
    }

    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Known>> {
        Box::pin(async move {
            self.reads().await?;
            let stale = self.world.lie == Lie::StaleSplits && key.kind() == Kind::Split;
            let old = self.world.old.lock().get(key).filter(|_| stale).cloned();
            let mut known = old.unwrap_or_else(|| self.world.read(key));
            if self.world.lie == Lie::ShowsSealed
                && self.chance(30)
                && let Some(Known { record: Record::Page(page), .. }) = &mut known
            {
                page.entries.values_mut().for_each(|entry| entry.sealed = true);
            }
            self.pass(20).await;
            Ok(known)
        })
    }

    fn list(&self, kind: Kind, from: Option<Arc<str>>) -> Answer<'_, Listing> {
        Box::pin(async move {
            self.reads().await?;
            let listing = now(self.world.memory.list(kind, from));
            self.pass(20).await;
            listing
        })
    }

    fn delete<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision) -> Answer<'a, Deletion> {
        Box::pin(async move {
            match self.write(Write { key: key.clone(), read: Some(read.clone()), new: None }).await? {
                Landed::Deletion(deletion) => Ok(deletion),
                Landed::Swap(_) => unreachable!("a deletion is no swap"),
            }
        })
    }

    fn watch(&self, kind: Kind, after: Cursor) -> Box<dyn Watch> {
        Box::new(Late { way: self.clone(), watch: self.world.memory.watch(kind, after) })
    }

    fn heartbeat<'a>(
        &'a self,
        worker: &'a Key,
        read: Option<&'a ObjectRevision>,
        beat: millrace::coordination::records::Beat,
    ) -> Answer<'a, Swap> {
        let sent = self.world.env.clock().monotonic();
        let write = Write { key: worker.clone(), read: read.cloned(), new: Some(Record::Beat(beat)) };
        Box::pin(async move {
            let swap = self.swapped(write).await?;
            if matches!(swap, Swap::Done(_)) {
                self.state.lock().beaten = Some(sent);
            }
            Ok(swap)
        })
    }
}

/// A watch whose news come late, out of order, now and then twice, or not at all.
struct Late {
    way: Faulty,
    watch: Box<dyn Watch>,
}

impl Watch for Late {
    fn next(&mut self) -> Answer<'_, Vec<Hint>> {
        Box::pin(async move {
            let mut hints = self.watch.next().await?;
            self.way.pass(if self.way.chance(10) { 3_000 } else { 50 }).await;
            if self.way.chance(2) || self.way.rates().1 {
                return Err(StoreError::NotWritten("the watch has broken off".into()));
            }
            if self.way.chance(20) {
                hints.reverse();
            }
            if self.way.chance(10) {
                hints.extend(hints.first().cloned());
            }
            Ok(hints)
        })
    }
}
