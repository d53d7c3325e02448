//! How splits are found that no reader has told of: the leader lists the stream, again and again.
//!
//! Owns: which shard of a listing gets a record; which parent is nowhere any more, so that a split need not wait for it.
//! May not: touch a split that was ever opened, or any record but the very one that was read before the listing (I45).

use super::election::Lead;
use super::leader::Stop;
use super::records::{MadeBy, PlanRecord, Progress, Shard, SplitRecord, SplitState};
use super::source::Planner;
use super::store::{Key, Kind, Known, ObjectRevision, Record, Store, StoreError, list_all};
use crate::env::Env;
use crate::error::Code;
use crate::flow::{ErrorClass, SourceError, SplitId, StateHead};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Lists the stream whenever we lead, on a task of its own: a listing may take long, and holds up nothing.
pub(super) struct Discovery {
    pub(super) env: Env,
    pub(super) store: Arc<dyn Store>,
    pub(super) lead: Arc<Lead>,
    pub(super) planner: Arc<dyn Planner>,
    /// From one listing to the next.
    pub(super) pause: Duration,
}

/// The split records, as a quorum read showed them before a listing began.
type Records = BTreeMap<SplitId, (ObjectRevision, SplitRecord)>;

impl Discovery {
    /// Lists while `goes_on`; `trouble` hears what the source says against it, and which records are lost.
    pub(super) async fn run(self, goes_on: impl Fn() -> bool + Send, trouble: impl Fn(SourceError) + Send) {
        while goes_on() {
            if let Some(term) = self.term() {
                match self.round(term).await {
                    Err(Stop::Source(error)) => trouble(error),
                    Ok(lost) => lost.iter().for_each(|split| trouble(record_lost(split))),
                    // It is tried again; the driver meets the same store, and says so.
                    Err(Stop::Store) => {}
                }
            }
            self.env.clock().sleep(self.pause).await;
        }
    }

    fn term(&self) -> Option<u64> {
        self.lead.term(self.env.clock().monotonic())
    }

    /// One listing and what it adds. Answers the splits whose records are lost.
    async fn round(&self, term: u64) -> Result<Vec<SplitId>, Stop> {
        let Some(Known { record, .. }) = self.store.read(&Key::Plan).await? else { return Ok(Vec::new()) };
        let plan = record.plan()?;
        if !plan.whole || plan.is_final {
            return Ok(Vec::new());
        }
        let records = records(&*self.store).await?;
        let listed = self.planner.discover(&plan.stream).await.map_err(Stop::Source)?;
        let mut listing = Listing::new(&plan, &records, listed);
        if listing.misses_any() {
            listing.entered = entered(&*self.store).await?;
        }
        // Another leads meanwhile, and has listed later than we have.
        if self.term() != Some(term) {
            return Ok(Vec::new());
        }
        for (split, record) in listing.missing() {
            // There may be one by now: a reader has come to its parents' end, and says the same (I18).
            self.store.create(&Key::Split(split), Record::Split(Box::new(record))).await?;
        }
        for (split, revision, record) in listing.freed() {
            self.store.swap(&Key::Split(split), &revision, Record::Split(Box::new(record))).await?;
        }
        Ok(listing.lost())
    }
}

fn record_lost(split: &SplitId) -> SourceError {
    let message = format!("split {split} has no record, and entries in ledger pages say that it was read: it waits for its record");
    SourceError { class: ErrorClass::Retryable, code: Code::RECORD_LOST, message: message.into() }
}

async fn records(store: &dyn Store) -> Result<Records, StoreError> {
    let mut records = Records::new();
    for (key, known) in list_all(store, Kind::Split).await?.0 {
        if let Key::Split(split) = key {
            records.insert(split, (known.revision, *known.record.split()?));
        }
    }
    Ok(records)
}

/// Splits that have an entry on any page.
async fn entered(store: &dyn Store) -> Result<BTreeSet<SplitId>, StoreError> {
    let mut entered = BTreeSet::new();
    for (_, known) in list_all(store, Kind::Page).await?.0 {
        entered.extend(known.record.page()?.entries.into_keys().map(|(split, _)| split));
    }
    Ok(entered)
}

/// A complete listing, beside the records that were read before it began.
struct Listing<'a> {
    records: &'a Records,
    listed: BTreeMap<SplitId, Shard>,
    /// What the initial shards came from. It was closed before the start, and counts as read.
    read: BTreeSet<SplitId>,
    /// Splits with an entry on a page. Without a record, theirs was lost: it is made again from those entries, with an
    /// epoch above theirs, and never from a listing (I2, I40).
    entered: BTreeSet<SplitId>,
}

impl<'a> Listing<'a> {
    fn new(plan: &PlanRecord, records: &'a Records, shards: Vec<Shard>) -> Self {
        let listed: BTreeMap<SplitId, Shard> = shards.into_iter().map(|shard| (shard.split.clone(), shard)).collect();
        let mut read = BTreeSet::new();
        let mut next: Vec<&SplitId> = plan.initial.iter().flat_map(|shard| &shard.parents).collect();
        while let Some(split) = next.pop() {
            if !plan.is_initial(split) && read.insert(split.clone()) {
                next.extend(listed.get(split).iter().flat_map(|shard| &shard.parents));
            }
        }
        Self { records, listed, read, entered: BTreeSet::new() }
    }

    fn is_missing(&self, split: &SplitId) -> bool {
        !self.records.contains_key(split) && !self.read.contains(split)
    }

    fn misses_any(&self) -> bool {
        self.listed.keys().any(|split| self.is_missing(split))
    }

    fn lost(&self) -> Vec<SplitId> {
        self.listed.keys().filter(|split| self.is_missing(split) && self.entered.contains(*split)).cloned().collect()
    }

    /// The records to make, parents before children. Who comes after one that is lost waits for it.
    fn missing(&self) -> Vec<(SplitId, SplitRecord)> {
        let passed = self.passed();
        let mut left: Vec<&Shard> =
            self.listed.values().filter(|shard| self.is_missing(&shard.split) && !self.entered.contains(&shard.split)).collect();
        let mut made: Vec<(SplitId, SplitRecord)> = Vec::new();
        let mut done: BTreeSet<&SplitId> = BTreeSet::new();
        loop {
            let waits = |shard: &Shard| {
                shard.parents.iter().any(|parent| self.listed.contains_key(parent) && self.is_missing(parent) && !done.contains(parent))
            };
            let (waiting, ready): (Vec<_>, Vec<_>) = left.into_iter().partition(|shard| waits(shard));
            if ready.is_empty() {
                return made;
            }
            made.extend(ready.iter().map(|shard| (shard.split.clone(), self.first_record(shard, passed.contains(&shard.split)))));
            done.extend(ready.iter().map(|shard| &shard.split));
            left = waiting;
        }
    }

    /// Shards without a record, of which a child was opened: they were read to their end.
    fn passed(&self) -> BTreeSet<SplitId> {
        let opened = self.records.values().filter(|(_, record)| record.state != SplitState::Waiting);
        let mut next: Vec<&SplitId> = opened.flat_map(|(_, record)| &record.parents).collect();
        let mut passed = BTreeSet::new();
        while let Some(split) = next.pop() {
            if let Some(shard) = self.listed.get(split)
                && self.is_missing(split)
                && passed.insert(split.clone())
            {
                next.extend(&shard.parents);
            }
        }
        passed
    }

    /// Records of listed splits that nobody has opened, without those parents that have neither a record nor a place in
    /// the listing. A record that this listing has added is not among them: the next one tells of it.
    fn freed(&self) -> Vec<(SplitId, ObjectRevision, SplitRecord)> {
        let nowhere = |parent: &SplitId| !self.records.contains_key(parent) && !self.listed.contains_key(parent);
        let waiting = self.records.iter().filter(|(split, (_, record))| {
            record.state == SplitState::Waiting && self.listed.contains_key(*split) && record.base.inherits.iter().any(nowhere)
        });
        let freed = |(split, (revision, record)): (&SplitId, &(ObjectRevision, SplitRecord))| {
            let mut record = record.clone();
            record.base.inherits.retain(|parent| !nowhere(parent));
            (split.clone(), revision.clone(), record)
        };
        waiting.map(freed).collect()
    }

    /// The record of a shard that had none: it waits for its parents, but for those that count as read without a record, as
    /// the plan's own splits do; or, where a child of it was opened, it was read to its end, and what it left is lost.
    fn first_record(&self, shard: &Shard, passed: bool) -> SplitRecord {
        let mut first = SplitRecord::unopened(shard, MadeBy::Listing);
        if passed {
            let base = Progress { head: Some(StateHead::Lost), ..Progress::default() };
            return SplitRecord { opened: true, state: SplitState::Completed, base, ..first };
        }
        first.base.inherits.retain(|parent| self.records.contains_key(parent) || !self.read.contains(parent));
        first
    }
}

#[cfg(test)]
mod tests;
