//! The protocol explored to its end: all that two workers, one split and a store that loses answers can do.
//!
//! The steps are those of [`super::Claim`]; this is the world around them. A read and the compare-and-swap of the same
//! object are one step. A write without an answer has landed, or may land at any later time until its object is written.
//! Any worker may judge any owner dead at any time; one that takes no more steps has crashed.
//!
//! `MODEL=3,1,1,0` goes as far as those [`Bounds`]: slow, and far larger.

mod steps;

use super::{Aim, Claim, Me, Outcome, Phase, RecordView, progress_of};
use crate::coordination::records::{
    Descriptor, Entry, Incarnation, LedgerPage, MadeBy, PageId, Progress, Shard, SplitRecord, SplitState, WorkerName,
};
use crate::coordination::store::ObjectRevision;
use crate::flow::SplitId;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::LazyLock;
use steps::Steps;

/// How far a run goes.
#[derive(Clone, Copy)]
struct Bounds {
    /// The greatest epoch.
    claims: i64,
    /// The last position; a split is read to its end there.
    end: u64,
    /// Writes without an answer that have not landed.
    open: usize,
    /// Acts that nobody needs: giving up, a label edit, a page that goes.
    acts: u32,
}

/// What is done wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    None,
    /// The old owner's entry is not sealed, and taken for sealed.
    NoSeal,
    /// The progress is that of a page read before the seal.
    EarlyProgress,
    /// The record is written whatever its revision.
    BlindTake,
    /// A page is written whatever its revision.
    BlindPage,
    /// A claim does not raise the epoch.
    KeptEpoch,
    /// The last commit does not seal.
    LastUnsealed,
    /// A write without an answer is taken for landed.
    LostIsLanded,
    /// An entry goes because no record names it.
    DropUnnamed,
    /// A page goes because its worker is thought dead.
    DeleteOfTheDead,
    /// What is evaluated is committed before it is durable.
    EvaluatedForDurable,
    /// The completion of a sealed entry is not looked at.
    CompletedIgnored,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    record: RecordView,
    pages: BTreeMap<PageId, (u32, LedgerPage)>,
    made: u32,
    workers: Vec<Worker>,
    /// Writes that may still land. Each was made at what stands now: one made earlier can never land, but for a create.
    open: Vec<Open>,
    acts: u32,
    /// The furthest that any tenancy has made durable.
    durable: u64,
    /// The page before its last write, for what reads too early.
    before: Option<LedgerPage>,
    /// Pages are written without a comparison.
    blind: bool,
    /// Claims read too early.
    early: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Worker {
    claim: Claim,
    /// What the tenancy has made durable.
    at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Open {
    Record(Box<SplitRecord>),
    Page(PageId, Option<u32>, LedgerPage),
}

/// How a write fares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Unanswered,
    Open,
}

const FATES: [Fate; 3] = [Fate::Answered, Fate::Unanswered, Fate::Open];

static SPLIT: LazyLock<SplitId> = LazyLock::new(|| SplitId::new("s"));
static PAGES: LazyLock<[PageId; 2]> = LazyLock::new(|| [PageId::new("p0"), PageId::new("p1")]);

fn split() -> SplitId {
    SPLIT.clone()
}

fn page_of(worker: usize) -> PageId {
    PAGES[worker].clone()
}

fn progress(position: u64) -> Progress {
    Progress { position: Some(position.to_string().into()), ..Progress::default() }
}

fn position(progress: &Progress) -> u64 {
    progress.position.as_ref().map_or(0, |position| position.parse().unwrap())
}

fn revision(uid: u32) -> ObjectRevision {
    ObjectRevision { uid: uid.to_string().into(), revision: "now".into() }
}

impl World {
    fn new() -> Self {
        let shard = Shard { split: split(), descriptor: Descriptor::default(), parents: Vec::new() };
        let record = SplitRecord { base: progress(0), ..SplitRecord::unopened(&shard, MadeBy::Listing) };
        let worker = |number: usize| {
            let me = Me { worker: WorkerName::new(&format!("w{number}")), incarnation: Incarnation::new(&number.to_string()) };
            Worker { claim: Claim::idle(split(), me), at: 0 }
        };
        let record = RecordView { revision: revision(0), record };
        let workers = vec![worker(0), worker(1)];
        Self {
            record,
            pages: BTreeMap::new(),
            made: 0,
            workers,
            open: Vec::new(),
            acts: 0,
            durable: 0,
            before: None,
            blind: false,
            early: false,
        }
    }

    fn effective(&self) -> u64 {
        let page = self.record.record.owner.as_ref().and_then(|owner| self.pages.get(&owner.page));
        position(progress_of(&self.record.record, &split(), page.map(|(_, page)| page)))
    }

    fn write_record(&mut self, record: SplitRecord) -> Result<(), String> {
        let old = &self.record.record;
        let raised = record.epoch > old.epoch || (record.epoch == old.epoch && (record.owner.is_none() || record.owner == old.owner));
        if !raised {
            return Err(format!("another owner without another epoch: {:?} at {:?}", record.owner, record.epoch));
        }
        if old.state == SplitState::Completed && record.state != SplitState::Completed {
            return Err("a completion is undone".into());
        }
        self.record.record = record;
        // Views and writes of what stood before are void.
        self.open.retain(|open| !matches!(open, Open::Record(_)));
        self.workers.iter_mut().for_each(|worker| worker.claim.record = None);
        Ok(())
    }

    /// Writes of a page that stood before can never land any more. A late create can, once there is no page.
    fn void(&mut self, id: &PageId) {
        self.open.retain(|open| !matches!(open, Open::Page(other, Some(_), _) if other == id));
    }

    fn write_page(&mut self, id: &PageId, page: LedgerPage) -> Result<u32, String> {
        if !self.blind {
            self.void(id);
        }
        if let Some((uid, old)) = self.pages.get_mut(id) {
            let changed = |key, entry: &Entry| page.entries.get(key).is_some_and(|new| new != entry);
            if old.entries.iter().any(|(key, entry)| entry.sealed && changed(key, entry)) {
                return Err("a sealed entry changes".into());
            }
            self.before = Some(std::mem::replace(old, page));
            return Ok(*uid);
        }
        self.made += 1;
        self.pages.insert(id.clone(), (self.made, page));
        Ok(self.made)
    }

    /// What must hold in every state.
    fn check(&self) -> Result<(), String> {
        let record = &self.record.record;
        if self.effective() > self.durable {
            return Err(format!("committed to {}, durable to {}", self.effective(), self.durable));
        }
        if let Some(owner) = &record.owner
            && !self.pages.get(&owner.page).is_some_and(|(_, page)| page.entries.contains_key(&(split(), record.epoch)))
        {
            return Err("the record names an entry that is not there".into());
        }
        for ((_, epoch), entry) in self.pages.values().flat_map(|(_, page)| &page.entries) {
            if entry.completed && record.epoch > *epoch {
                return Err(format!("read to its end at {epoch:?}, and taken again at {:?}", record.epoch));
            }
        }
        for worker in &self.workers {
            let Some(tenure) = worker.claim.held() else { continue };
            let entry = self.pages.get(&tenure.page).filter(|(uid, _)| *tenure.page_uid == *uid.to_string());
            let entry = entry.and_then(|(_, page)| page.entries.get(&(split(), tenure.epoch)));
            if entry.is_some_and(|entry| !entry.sealed) && !record.names(&tenure.page, tenure.epoch) {
                return Err(format!("two can commit: {:?} beside {:?}", tenure.epoch, record.epoch));
            }
        }
        Ok(())
    }

    /// A worker that has ended as fenced has lost its entry.
    fn check_fence(&self, outcome: Option<&Outcome>, before: &Phase) -> Result<(), String> {
        let (Some(Outcome::Fenced), Phase::Held { tenure, .. } | Phase::Ending { tenure, .. }) = (outcome, before) else { return Ok(()) };
        let entry = self.pages.get(&tenure.page).filter(|(uid, _)| *tenure.page_uid == *uid.to_string());
        let stands = entry.and_then(|(_, page)| page.entries.get(&(split(), tenure.epoch))).is_some_and(|entry| !entry.sealed);
        if stands { Err("a tenancy ends as fenced, and is not".into()) } else { Ok(()) }
    }

    /// The same state without what makes no difference: each call looks before it writes, none is in flight between steps,
    /// and a commit that was not seen to stand is made again.
    fn normal(mut self) -> Self {
        for (number, worker) in self.workers.iter_mut().enumerate() {
            (worker.claim.stamp, worker.claim.record) = (0, None);
            match &mut worker.claim.phase {
                Phase::Claiming { looked, .. } => *looked = false,
                Phase::Sealed { onto, .. } => *onto = Some(page_of(number)),
                Phase::Held { commit, .. } => *commit = None,
                _ => {}
            }
            if worker.claim.held().is_none() {
                worker.at = 0;
            }
        }
        self.before = self.before.filter(|_| self.early);
        self
    }
}

/// What a run has seen.
#[derive(Debug, Default)]
struct Seen {
    states: usize,
    held: usize,
    completed: usize,
    /// States from which no worker comes to hold the split, nor is it completed.
    stuck: usize,
    /// The most that waited to be explored at once.
    waiting: usize,
}

/// Explores all there is, deepest first, so that little waits; answers what was seen, or the first thing that is wrong. Of
/// a state that was seen only its hash is kept: two of a million that share one are less likely than a broken machine.
fn explore(bounds: Bounds, mutation: Mutation, visit: impl Fn(&World, &mut Seen)) -> Result<Seen, String> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let (blind, early) = (mutation == Mutation::BlindPage, mutation == Mutation::EarlyProgress);
    let first = World { blind, early, ..World::new() };
    let mut known = HashSet::from([hasher.hash_one(&first)]);
    let (mut next, mut seen) = (vec![first], Seen::default());
    while let Some(world) = next.pop() {
        seen.states += 1;
        visit(&world, &mut seen);
        for step in Steps::of(&world, bounds, mutation) {
            let mut new = step?;
            if mutation == Mutation::CompletedIgnored {
                ignore_completion(&mut new);
            }
            if known.insert(hasher.hash_one(&new)) {
                next.push(new);
            }
        }
        seen.waiting = seen.waiting.max(next.len());
    }
    Ok(seen)
}

fn ignore_completion(world: &mut World) {
    for worker in &mut world.workers {
        if let Phase::Finishing { seen, progress } = worker.claim.phase().clone() {
            worker.claim.phase = Phase::Sealed { seen, progress, onto: None };
        }
        if let Phase::Ended { completed, .. } = &mut worker.claim.phase {
            *completed = false;
        }
    }
}

/// From this state, with nothing going wrong any more, one worker comes to hold the split, or it is completed.
fn recovers(world: &World, number: usize) -> bool {
    let mut world = world.clone();
    world.open.clear();
    let bounds = Bounds { claims: i64::MAX, end: 0, open: 0, acts: 0 };
    for _ in 0..40 {
        let claim = &world.workers[number].claim;
        if claim.held().is_some() && world.record.record.names(&page_of(number), world.record.record.epoch) && stands(&world, number) {
            return true;
        }
        if world.record.record.state == SplitState::Completed {
            return true;
        }
        let mut steps = Steps { world: &world, bounds, mutation: Mutation::None, next: Vec::new() };
        if claim.is_idle() {
            steps.begin(number, Aim::Hold);
        } else {
            steps.record(number);
            steps.page(number);
        }
        // The last step of each kind with an answer is the one that goes furthest.
        let answered = steps.next.into_iter().filter_map(Result::ok).find(|next| *next != world);
        let Some(next) = answered else { return false };
        world = next;
    }
    false
}

fn stands(world: &World, number: usize) -> bool {
    let key = (split(), world.record.record.epoch);
    world.pages.get(&page_of(number)).and_then(|(_, page)| page.entries.get(&key)).is_some_and(|entry| !entry.sealed)
}

/// These bounds, or those that `MODEL` names.
fn asked(claims: i64, end: u64, open: usize, acts: u32) -> Bounds {
    let Ok(text) = std::env::var("MODEL") else { return Bounds { claims, end, open, acts } };
    let numbers: Vec<u32> = text.split(',').map(|number| number.parse().unwrap()).collect();
    let [claims, end, open, acts] = numbers[..] else { panic!("MODEL=claims,end,open,acts") };
    Bounds { claims: claims.into(), end: end.into(), open: open.try_into().unwrap(), acts }
}

#[test]
fn all_that_two_workers_can_do_keeps_the_properties_of_the_ledger() {
    let seen = explore(asked(2, 1, 1, 0), Mutation::None, |world, seen| {
        seen.held += usize::from(world.workers.iter().any(|worker| worker.claim.held().is_some()));
        seen.completed += usize::from(world.record.record.state == SplitState::Completed);
    });
    let seen = seen.unwrap();
    assert!(seen.states > 10_000 && seen.held > 1_000 && seen.completed > 100, "something is out of reach: {seen:?}");
}

#[test]
fn from_every_state_either_worker_comes_to_hold_the_split_or_it_is_completed() {
    let mut states = 0;
    for bounds in [asked(1, 1, 1, 0), asked(1, 1, 0, 1)] {
        let seen = explore(bounds, Mutation::None, |world, seen| {
            seen.stuck += usize::from(!recovers(world, 0) || !recovers(world, 1));
        });
        let seen = seen.unwrap();
        assert_eq!(seen.stuck, 0, "{seen:?}");
        states += seen.states;
    }
    assert!(states > 3_000, "{states} states");
}

#[test]
fn each_step_done_wrongly_is_found() {
    let two = Bounds { claims: 2, end: 1, open: 0, acts: 0 };
    let (open, act) = (Bounds { open: 1, ..two }, Bounds { claims: 1, acts: 1, ..two });
    for (mutation, bounds) in [
        (Mutation::NoSeal, two),
        (Mutation::EarlyProgress, two),
        (Mutation::BlindTake, two),
        (Mutation::BlindPage, open),
        (Mutation::KeptEpoch, two),
        (Mutation::LastUnsealed, open),
        (Mutation::LostIsLanded, open),
        (Mutation::DropUnnamed, two),
        (Mutation::DeleteOfTheDead, act),
        (Mutation::EvaluatedForDurable, two),
        (Mutation::CompletedIgnored, two),
    ] {
        let found = explore(bounds, mutation, |_, _| {});
        assert!(found.is_err(), "{mutation:?} was not found: {found:?}");
    }
}
