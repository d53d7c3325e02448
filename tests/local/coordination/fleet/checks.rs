//! The invariants, looked at after every landing in the store, every row, every lane that begins or ends.

use super::stream::{Numbered, Stream};
use millrace::coordination::ledger::progress_of;
use millrace::coordination::records::{Entry, EntryKey, LedgerPage, MadeBy, PageId, Progress, SplitRecord, SplitState};
use millrace::coordination::store::{Key, Known, Memory, Record};
use millrace::flow::{SplitEpoch, SplitId, StateHead};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// Counts by key: the state that the scripted loop keeps.
pub(crate) type Counts = BTreeMap<u32, u64>;

pub(crate) fn encode(counts: &Counts) -> StateHead {
    let pairs: Vec<String> = counts.iter().map(|(key, count)| format!("{key}={count}")).collect();
    StateHead::Inline(pairs.join(";").into_bytes().into())
}

pub(crate) fn decode(head: &StateHead) -> Counts {
    let StateHead::Inline(bytes) = head else { panic!("the scripted loop keeps its state inline") };
    let text = std::str::from_utf8(bytes).unwrap();
    let pairs = text.split(';').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(key, count)| (key.parse().unwrap(), count.parse().unwrap())).collect()
}

/// What was seen.
pub(crate) struct Checks {
    stream: Stream,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    found: Vec<String>,
    times: BTreeMap<u64, u32>,
    /// Of each key, the last rank that was delivered for the first time.
    ranks: BTreeMap<u32, u64>,
    /// Lanes that are read, by split: on which machine, and whether that runs.
    lanes: BTreeMap<SplitId, BTreeSet<String>>,
    claims: u64,
    completed: u64,
    /// Children that a listing has shown before their parents' ends were recorded.
    found_early: u64,
}

fn position(progress: &Progress) -> u64 {
    progress.position.as_ref().map_or(0, |position| position.parse().unwrap())
}

fn split_record(memory: &Memory, split: &SplitId) -> Option<SplitRecord> {
    match memory.snapshot().remove(&Key::Split(split.clone()))?.record {
        Record::Split(record) => Some(*record),
        _ => None,
    }
}

fn page_of(memory: &Memory, page: &PageId) -> Option<LedgerPage> {
    match memory.snapshot().remove(&Key::Page(page.clone()))?.record {
        Record::Page(page) => Some(page),
        _ => None,
    }
}

fn effective(record: &SplitRecord, split: &SplitId, page: Option<&LedgerPage>) -> u64 {
    position(progress_of(record, split, page))
}

impl Checks {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, log: Mutex::default() }
    }

    pub(crate) fn say(&self, invariant: &str, what: &str) {
        self.log.lock().found.push(format!("{invariant}: {what}"));
    }

    fn hold(&self, holds: bool, invariant: &str, what: impl FnOnce() -> String) {
        if !holds {
            self.say(invariant, &what());
        }
    }

    pub(crate) fn found(&self) -> Vec<String> {
        self.log.lock().found.clone()
    }

    pub(crate) fn duplicates(&self) -> u64 {
        self.log.lock().times.values().map(|times| u64::from(*times - 1)).sum()
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.log.lock().times.len() as u64
    }

    /// Claims and completions, to see that a run did something.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let log = self.log.lock();
        (log.claims, log.completed)
    }

    /// A row has left for good: the record, and the count of its key with it.
    pub(crate) fn row(&self, split: &SplitId, record: Numbered, count: u64) {
        let mut log = self.log.lock();
        *log.times.entry(record.number).or_default() += 1;
        let last = log.ranks.get(&record.key).copied().unwrap_or(0);
        if record.rank > last {
            log.ranks.insert(record.key, record.rank);
        }
        drop(log);
        self.hold(record.rank <= last + 1, "I5", || format!("{split}: record {} of key {} came after {last}", record.rank, record.key));
        self.hold(count == record.rank, "I39", || format!("{split}: record {} of key {} counted as {count}", record.rank, record.key));
    }

    /// A worker is about to go on from there.
    pub(crate) fn resumes(&self, split: &SplitId, progress: &Progress) {
        let data = self.stream.shard(split);
        self.hold(position(progress) <= data.records.len() as u64, "I2", || format!("{split} resumes beyond its end"));
    }

    /// A lane begins. `others` says of each other worker whether it runs, and ought to have stopped.
    pub(crate) fn gained(&self, memory: &Memory, split: &SplitId, worker: &str, others: impl Fn(&str) -> bool) {
        let mut log = self.log.lock();
        log.claims += 1;
        let lanes = log.lanes.entry(split.clone()).or_default();
        let twice: Vec<String> = lanes.iter().filter(|other| *other != worker && others(other)).cloned().collect();
        let own = !lanes.insert(worker.to_owned());
        drop(log);
        self.hold(twice.is_empty(), "I14", || format!("{split} is opened by {worker} while {twice:?} still read it"));
        self.hold(!own, "I9", || format!("{split} is opened by {worker} while its own last lane is read"));
        for parent in self.stream.shard(split).parents {
            let state = split_record(memory, &parent).map(|record| record.state);
            self.hold(state == Some(SplitState::Completed), "I17", || format!("{split} opens while {parent} is {state:?}"));
        }
        let state = split_record(memory, split).map(|record| record.state);
        self.hold(state != Some(SplitState::Completed), "I12", || format!("{split} opens again"));
    }

    pub(crate) fn dropped(&self, split: &SplitId, worker: &str) {
        if let Some(lanes) = self.log.lock().lanes.get_mut(split) {
            lanes.remove(worker);
        }
    }

    pub(crate) fn crashed(&self, worker: &str) {
        for lanes in self.log.lock().lanes.values_mut() {
            lanes.remove(worker);
        }
    }

    pub(crate) fn readers(&self, split: &SplitId) -> usize {
        self.log.lock().lanes.get(split).map_or(0, BTreeSet::len)
    }

    /// A lane was taken away, and nothing but a fence can have been the reason (I41).
    pub(crate) fn fenced(&self, memory: &Memory, split: &SplitId, epoch: SplitEpoch, worker: &str) {
        let Some(record) = split_record(memory, split) else { return };
        let Some(owner) = record.owner.as_ref().filter(|owner| owner.worker.as_str() == worker && record.epoch == epoch) else { return };
        let entry = page_of(memory, &owner.page).and_then(|page| page.entries.get(&(split.clone(), epoch)).cloned());
        self.hold(entry.is_none_or(|entry| entry.sealed), "I41", || format!("{worker} ends {split} at {epoch}, which is its own"));
    }

    /// Something has landed.
    pub(crate) fn wrote(&self, memory: &Memory, key: &Key, before: Option<&Known>, after: Option<&Known>) {
        let (before, after) = (before.map(|known| &known.record), after.map(|known| &known.record));
        match (key, before, after) {
            (Key::Split(split), Some(Record::Split(before)), Some(Record::Split(after))) => self.record(memory, split, before, after),
            (Key::Split(split), None, Some(Record::Split(made))) => self.made(memory, split, made),
            (Key::Split(split), Some(_), None) => self.say("I39", &format!("the record of {split} is deleted")),
            (Key::Page(page), Some(Record::Page(before)), after) => {
                let empty = LedgerPage::empty(before.incarnation.clone());
                let after = after.map_or(&empty, |after| if let Record::Page(page) = after { page } else { &empty });
                self.page(memory, page, before, after);
            }
            _ => {}
        }
    }

    /// A record is made: of a split that nobody has read, which waits for all that it comes from (I17, I45).
    fn made(&self, memory: &Memory, split: &SplitId, made: &SplitRecord) {
        let parents = self.stream.shard(split).parents;
        let ended = |parent: &SplitId| split_record(memory, parent).is_some_and(|record| record.state == SplitState::Completed);
        let fresh = made.state == SplitState::Waiting && made.epoch == SplitEpoch::default() && made.owner.is_none();
        self.hold(fresh && made.base.inherits == parents, "I17", || format!("{split} begins as {made:?}"));
        let early = made.by == MadeBy::Listing && !parents.is_empty() && !parents.iter().all(ended);
        self.log.lock().found_early += u64::from(early);
    }

    pub(crate) fn found_early(&self) -> u64 {
        self.log.lock().found_early
    }

    fn record(&self, memory: &Memory, split: &SplitId, before: &SplitRecord, after: &SplitRecord) {
        let say = |what: &str| format!("{split}: {what}: {before:?} to {after:?}");
        self.hold(after.epoch >= before.epoch, "I7", || say("the epoch falls"));
        let old_page = before.owner.as_ref().and_then(|owner| page_of(memory, &owner.page));
        if after.owner != before.owner {
            self.hold(after.owner.is_none() || after.epoch > before.epoch, "I7", || say("another owner without another epoch"));
            let entry = old_page.as_ref().and_then(|page| page.entries.get(&(split.clone(), before.epoch)));
            self.hold(entry.is_none_or(|entry| entry.sealed), "I6", || say("another owner, and the old one's entry is not sealed"));
        }
        self.hold(before.state != SplitState::Completed || after.state == SplitState::Completed, "I12", || say("a completion is undone"));
        let new_page = after.owner.as_ref().and_then(|owner| page_of(memory, &owner.page));
        if let Some(owner) = &after.owner {
            let entry = new_page.as_ref().and_then(|page| page.entries.get(&(split.clone(), after.epoch)));
            self.hold(entry.is_some(), "I37", || say(&format!("no entry on {}", owner.page)));
        }
        let (was, is) = (effective(before, split, old_page.as_ref()), effective(after, split, new_page.as_ref()));
        self.hold(is >= was, "I2", || say(&format!("falls from {was} to {is}")));
        if after.state == SplitState::Completed && before.state != SplitState::Completed {
            self.log.lock().completed += 1;
            let data = self.stream.shard(split);
            self.hold(is == data.records.len() as u64 && data.has_ended(), "I12", || say("completed before its end"));
            for child in &data.children {
                self.hold(split_record(memory, child).is_some(), "I18", || say(&format!("no record of its child {child}")));
            }
            self.progress(split, progress_of(after, split, None));
        }
    }

    fn page(&self, memory: &Memory, id: &PageId, before: &LedgerPage, after: &LedgerPage) {
        let keys: BTreeSet<&EntryKey> = before.entries.keys().chain(after.entries.keys()).collect();
        for key in keys {
            let (old, new) = (before.entries.get(key), after.entries.get(key));
            if old == new {
                continue;
            }
            let record = split_record(memory, &key.0);
            match (old, new) {
                (Some(old), Some(new)) => self.entry((id, key), record.as_ref(), old, new),
                (Some(_), None) => {
                    let goes = record.is_some_and(|record| record.lets_go_of(id, key.1));
                    self.hold(goes, "I37", || format!("the entry {key:?} goes, and may be named"));
                }
                (None, Some(new)) => self.hold(!new.sealed, "I8", || format!("{key:?} is made sealed")),
                (None, None) => {}
            }
        }
    }

    fn entry(&self, place: (&PageId, &EntryKey), record: Option<&SplitRecord>, old: &Entry, new: &Entry) {
        let (page, key) = place;
        let say = |what: &str| format!("{key:?}: {what}: {old:?} to {new:?}");
        self.hold(!old.sealed, "I8", || say("a sealed entry changes"));
        if new.progress != old.progress {
            let names = record.is_some_and(|record| record.names(page, key.1));
            self.hold(names, "I6", || say("a commit by whom the record does not name"));
            self.hold(position(&new.progress) >= position(&old.progress), "I2", || say("falls back"));
            self.progress(&key.0, &new.progress);
        }
        if new.completed {
            let data = self.stream.shard(&key.0);
            let ended = data.has_ended() && position(&new.progress) == data.records.len() as u64;
            self.hold(ended, "I12", || say("completed before its end"));
        }
    }

    /// A committed progress: all up to it is delivered (I1), and its state is that of its position (I3).
    fn progress(&self, split: &SplitId, progress: &Progress) {
        let data = self.stream.shard(split);
        let read = usize::try_from(position(progress)).unwrap();
        let log = self.log.lock();
        let missing = data.records.iter().take(read).find(|record| !log.times.contains_key(&record.number)).copied();
        drop(log);
        self.hold(missing.is_none() && read <= data.records.len(), "I1", || format!("{split} is committed to {read}, without {missing:?}"));
        let counts = progress.head.as_ref().map(decode).unwrap_or_default();
        let keys: BTreeSet<u32> = counts.keys().copied().chain(data.records.iter().take(read).map(|record| record.key)).collect();
        for key in keys {
            let (is, ought) = (counts.get(&key).copied(), self.count_at(split, read, key));
            self.hold(is == Some(ought), "I3", || format!("{split} at {read}: key {key} stands at {is:?}, and has {ought}"));
        }
    }

    fn count_at(&self, split: &SplitId, read: usize, key: u32) -> u64 {
        let data = self.stream.shard(split);
        let last = data.records.iter().take(read).rev().find(|record| record.key == key);
        let inherited = || data.parents.iter().map(|parent| self.count_at(parent, usize::MAX, key)).max();
        last.map(|record| record.rank).or_else(inherited).unwrap_or(0)
    }

    /// What must be so once nothing goes wrong any more: all is delivered and committed, each shard is completed or held.
    pub(crate) fn unsettled(&self, memory: &Memory) -> Option<String> {
        let total = self.stream.total();
        if self.delivered() != total {
            return Some(format!("{} of {total} records are delivered", self.delivered()));
        }
        for (split, data) in self.stream.shards() {
            let Some(record) = split_record(memory, &split) else { return Some(format!("{split} has no record")) };
            let page = record.owner.as_ref().and_then(|owner| page_of(memory, &owner.page));
            let at = effective(&record, &split, page.as_ref());
            if at != data.records.len() as u64 {
                return Some(format!("{split} is committed to {at} of {}: {record:?}", data.records.len()));
            }
            if data.has_ended() && record.state != SplitState::Completed {
                return Some(format!("{split} has ended, and is not completed: {record:?}"));
            }
            if !data.has_ended() && (record.owner.is_none() || self.readers(&split) != 1) {
                return Some(format!("{split} is read by {}: {record:?}", self.readers(&split)));
            }
        }
        None
    }
}
