//! What the leader does: the plan once, the assignment again and again, and the pages that dead workers leave.
//!
//! Owns: the rounds; who counts as a member, and which split as claimable.
//! May not: touch ownership: what it writes is a wish (I6).

use super::assignment::{Claimable, Fleet, Wishes, assign};
use super::election::Lead;
use super::membership::{Observer, Reading};
use super::records::{Assignment, LedgerPage, MadeBy, PlanRecord, SplitRecord, SplitState, WorkerName, WorkerRecord};
use super::source::Planner;
use super::store::{Key, Kind, Known, ObjectRevision, Record, Store, StoreError, list_all};
use super::tidy;
use crate::env::Env;
use crate::flow::{Digest, SourceError, SplitId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A leader at work, whenever it leads.
pub(super) struct Leader {
    pub(super) env: Env,
    pub(super) store: Arc<dyn Store>,
    pub(super) lead: Arc<Lead>,
    pub(super) planner: Arc<dyn Planner>,
    pub(super) pace: Pace,
    pub(super) memory: Memory,
}

/// How often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// From one round to the next.
    pub(super) round: Duration,
    /// From one look at dead workers' pages to the next.
    pub(super) tidy: Duration,
    /// For how long a split that was moved for balance stays where it is.
    pub(super) cooldown: Duration,
}

/// What a leader remembers; none of it is needed by its successor.
#[derive(Debug, Default)]
pub(super) struct Memory {
    observer: Observer,
    moved: BTreeMap<SplitId, Duration>,
    number: u64,
    tidied: Duration,
}

/// A round's view of the store.
struct View {
    plan: PlanRecord,
    workers: BTreeMap<WorkerName, (ObjectRevision, WorkerRecord)>,
    splits: BTreeMap<SplitId, SplitRecord>,
}

/// Why a round ended early.
pub(super) enum Stop {
    Store,
    Source(SourceError),
}

impl From<StoreError> for Stop {
    /// It is tried again; the driver meets the same store, and says so.
    fn from(_: StoreError) -> Self {
        Self::Store
    }
}

impl Leader {
    /// Works while `goes_on`; `trouble` hears what the source says against planning.
    pub(super) async fn run(mut self, goes_on: impl Fn() -> bool + Send, trouble: impl Fn(SourceError) + Send) {
        while goes_on() {
            if let Some(term) = self.term() {
                match self.round(term).await {
                    Err(Stop::Source(error)) => trouble(error),
                    Err(Stop::Store) => self.memory.observer.failed(),
                    Ok(()) => {}
                }
            }
            self.env.clock().sleep(self.pace.round).await;
        }
    }

    fn term(&self) -> Option<u64> {
        self.lead.term(self.env.clock().monotonic())
    }

    async fn round(&mut self, term: u64) -> Result<(), Stop> {
        let Some(plan) = self.plan().await? else { return Ok(()) };
        let sent = self.env.clock().monotonic();
        let beats = list_all(&*self.store, Kind::Beat).await?.0;
        let reading = Reading { sent, answered: self.env.clock().monotonic() };
        self.memory.observer.saw_all(reading, beats_of(beats)?);
        let view = View { plan, workers: self.workers().await?, splits: splits(&*self.store).await? };
        let now = self.env.clock().monotonic();
        self.memory.moved.retain(|_, at| now.saturating_sub(*at) < self.pace.cooldown);
        let members = self.members(&view);
        let fleet = fleet(&view, &members, &self.memory.moved);
        let wishes = assign(&fleet);
        self.remember_moves(&fleet, &wishes, now);
        self.write(term, &view, &wishes).await?;
        if now.saturating_sub(self.memory.tidied) >= self.pace.tidy {
            self.memory.tidied = now;
            self.tidy().await?;
        }
        Ok(())
    }

    /// The plan, once it is whole. The first that is written counts; its initial splits then get their records.
    async fn plan(&self) -> Result<Option<PlanRecord>, Stop> {
        let Some(Known { revision, record }) = self.store.read(&Key::Plan).await? else {
            let plan = self.planner.plan().await.map_err(Stop::Source)?;
            let (stream, start, initial, is_final) = (plan.stream, plan.start, plan.initial, plan.is_final);
            let record = PlanRecord { stream, start, initial, has_run: false, whole: false, is_final };
            self.store.create(&Key::Plan, Record::Plan(record)).await?;
            return Ok(None);
        };
        let plan = record.plan()?;
        if plan.whole {
            return Ok(Some(plan));
        }
        for shard in &plan.initial {
            let mut record = SplitRecord::unopened(shard, MadeBy::Listing);
            // What the listing lacks has ended, and left nothing.
            record.base.inherits.retain(|parent| plan.is_initial(parent));
            self.store.create(&Key::Split(shard.split.clone()), Record::Split(Box::new(record))).await?;
        }
        self.store.swap(&Key::Plan, &revision, Record::Plan(PlanRecord { whole: true, has_run: true, ..plan })).await?;
        Ok(None)
    }

    async fn workers(&self) -> Result<BTreeMap<WorkerName, (ObjectRevision, WorkerRecord)>, StoreError> {
        let mut workers = BTreeMap::new();
        for (key, known) in list_all(&*self.store, Kind::Worker).await?.0 {
            if let Key::Worker(name) = key {
                workers.insert(name, (known.revision, known.record.worker()?));
            }
        }
        Ok(workers)
    }

    /// Workers whose present life beats, each with its budget; a leaving one takes nothing.
    fn members(&self, view: &View) -> BTreeMap<WorkerName, u64> {
        let alive: BTreeSet<_> = self.memory.observer.alive().collect();
        let members = view.workers.iter().filter(|(name, (_, worker))| alive.contains(&(*name, &worker.status.incarnation)));
        members.map(|(name, (_, worker))| (name.clone(), if worker.status.leaving { 0 } else { worker.status.budget })).collect()
    }

    fn remember_moves(&mut self, fleet: &Fleet, wishes: &Wishes, now: Duration) {
        for (split, claimable) in &fleet.splits {
            let Some(at) = claimable.at.as_ref().filter(|at| fleet.members.contains_key(*at)) else { continue };
            if !wishes.get(at).is_some_and(|splits| splits.contains(split)) {
                self.memory.moved.insert(split.clone(), now);
            }
        }
    }

    /// Writes the wishes that differ from what stands.
    async fn write(&mut self, term: u64, view: &View, wishes: &Wishes) -> Result<(), StoreError> {
        for (worker, splits) in wishes {
            let Some((revision, record)) = view.workers.get(worker) else { continue };
            if record.assignment.as_ref().is_some_and(|standing| standing.splits == *splits) || self.term() != Some(term) {
                continue;
            }
            self.memory.number = self.memory.number.saturating_add(1);
            let assignment = Assignment { term, number: self.memory.number, splits: splits.clone() };
            // One that is lost or not answered is seen in the next round.
            self.store.swap(&Key::Worker(worker.clone()), revision, Record::Assignment(assignment)).await?;
        }
        Ok(())
    }

    async fn tidy(&self) -> Result<(), StoreError> {
        let alive: BTreeSet<_> = self.memory.observer.alive().map(|(_, life)| life.clone()).collect();
        for (key, known) in list_all(&*self.store, Kind::Page).await?.0 {
            let page: LedgerPage = known.record.page()?;
            if let Key::Page(id) = &key
                && !alive.contains(&page.incarnation)
                && tidy::may_go(&*self.store, id, page.entries.keys().cloned().collect()).await?.len() == page.entries.len()
            {
                self.store.delete(&key, &known.revision).await?;
            }
        }
        Ok(())
    }
}

/// The heartbeats of a list.
pub(super) fn beats_of(list: Vec<(Key, Known)>) -> Result<Vec<(WorkerName, super::records::Beat)>, StoreError> {
    let mut beats = Vec::new();
    for (key, known) in list {
        if let Key::Beat(worker) = key {
            beats.push((worker, known.record.beat()?));
        }
    }
    Ok(beats)
}

/// All split records.
pub(super) async fn splits(store: &dyn Store) -> Result<BTreeMap<SplitId, SplitRecord>, StoreError> {
    let mut splits = BTreeMap::new();
    for (key, known) in list_all(store, Kind::Split).await?.0 {
        if let Key::Split(split) = key {
            splits.insert(split, *known.record.split()?);
        }
    }
    Ok(splits)
}

fn fleet(view: &View, members: &BTreeMap<WorkerName, u64>, moved: &BTreeMap<SplitId, Duration>) -> Fleet {
    let promised = promises(view, members);
    let claimable = |split: &SplitId, record: &SplitRecord| {
        // A promise that is being kept is no unowned split: it would be promised again.
        let owner = record.owner.as_ref().map(|owner| &owner.worker).filter(|worker| members.contains_key(*worker));
        let at = promised.get(split).copied().or(owner).cloned();
        Claimable { weight: record.weight.unwrap_or(1), at, pinned: moved.contains_key(split) }
    };
    let splits = view.splits.iter().filter(|(_, record)| is_claimable(view, record));
    Fleet {
        members: members.clone(),
        splits: splits.map(|(split, record)| (split.clone(), claimable(split, record))).collect(),
        withheld: BTreeSet::new(),
        seed: seed(&view.plan),
    }
}

/// Which member each split is promised to.
fn promises<'v>(view: &'v View, members: &BTreeMap<WorkerName, u64>) -> BTreeMap<&'v SplitId, &'v WorkerName> {
    let mut promised = BTreeMap::new();
    for (worker, (_, record)) in view.workers.iter().filter(|(worker, _)| members.contains_key(*worker)) {
        for split in record.assignment.iter().flat_map(|assignment| &assignment.splits) {
            promised.entry(split).or_insert(worker);
        }
    }
    promised
}

fn is_claimable(view: &View, record: &SplitRecord) -> bool {
    match record.state {
        SplitState::Open => true,
        SplitState::Waiting => record.parents.iter().all(|parent| record.may_follow(parent, view.splits.get(parent))),
        SplitState::Completed | SplitState::Quarantined => false,
    }
}

fn seed(plan: &PlanRecord) -> u64 {
    Digest::of(plan.stream.as_bytes()).hex().get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}
