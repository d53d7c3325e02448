//! A scripted stream: shards of numbered records, which split, merge and close; and the source that reads it.

use super::checks::Checks;
use millrace::coordination::records::{Descriptor, Progress, Shard};
use millrace::coordination::source::{Discovered, Plan, Planned, Planner, SplitOpening, SplitProgress, SplitSource};
use millrace::env::Env;
use millrace::error::Code;
use millrace::flow::{Batch, ErrorClass, Lane, LaneItem, Ordinal, Page, Record, SourceError, SplitId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) const KEYS: u32 = 16;

/// A record: the how-manieth of the stream, and of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) key: u32,
    pub(crate) rank: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ShardData {
    pub(crate) parents: Vec<SplitId>,
    pub(crate) range: (u32, u32),
    pub(crate) records: Vec<Numbered>,
    pub(crate) children: Vec<SplitId>,
    /// It has ended without children: a file.
    pub(crate) closed: bool,
}

impl ShardData {
    pub(crate) fn has_ended(&self) -> bool {
        self.closed || !self.children.is_empty()
    }
}

/// The stream; its clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Stream(Arc<Mutex<Data>>);

#[derive(Default)]
struct Data {
    shards: BTreeMap<SplitId, ShardData>,
    ranks: BTreeMap<u32, u64>,
    numbers: u64,
    waiting: Vec<Waker>,
}

impl Data {
    fn add(&mut self, parents: Vec<SplitId>, range: (u32, u32)) -> SplitId {
        let split = SplitId::new(&format!("shard-{:03}", self.shards.len()));
        self.shards.insert(split.clone(), ShardData { parents, range, ..ShardData::default() });
        split
    }

    fn open(&self) -> Vec<SplitId> {
        self.shards.iter().filter(|(_, shard)| shard.children.is_empty()).map(|(split, _)| split.clone()).collect()
    }

    fn changed(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl Stream {
    pub(crate) fn new(shards: u32) -> Self {
        let stream = Self::default();
        for shard in 0..shards {
            stream.0.lock().add(Vec::new(), (KEYS * shard / shards, KEYS * (shard + 1) / shards));
        }
        stream
    }

    /// Appends a record of this key.
    pub(crate) fn put(&self, key: u32) {
        let mut data = self.0.lock();
        data.numbers += 1;
        let rank = *data.ranks.entry(key).and_modify(|rank| *rank += 1).or_insert(1);
        let record = Numbered { number: data.numbers, key, rank };
        let open = data.open();
        let split = open.iter().find(|split| (data.shards[*split].range.0..data.shards[*split].range.1).contains(&key)).unwrap().clone();
        data.shards.get_mut(&split).unwrap().records.push(record);
        data.changed();
    }

    /// Splits an open shard in two, if its range can be.
    pub(crate) fn split(&self, which: usize) {
        let mut data = self.0.lock();
        let open = data.open();
        let parent = open[which % open.len()].clone();
        let (from, to) = data.shards[&parent].range;
        if to - from >= 2 {
            let middle = u32::midpoint(from, to);
            let children = vec![data.add(vec![parent.clone()], (from, middle)), data.add(vec![parent.clone()], (middle, to))];
            data.shards.get_mut(&parent).unwrap().children = children;
            data.changed();
        }
    }

    /// Merges two open shards whose ranges meet, if there are such.
    pub(crate) fn merge(&self, which: usize) {
        let mut data = self.0.lock();
        let open = data.open();
        let low = open[which % open.len()].clone();
        let (from, middle) = data.shards[&low].range;
        let Some(high) = open.into_iter().find(|split| data.shards[split].range.0 == middle) else { return };
        let to = data.shards[&high].range.1;
        let child = data.add(vec![low.clone(), high.clone()], (from, to));
        for parent in [low, high] {
            data.shards.get_mut(&parent).unwrap().children = vec![child.clone()];
        }
        data.changed();
    }

    /// Ends all open shards, without children.
    pub(crate) fn finish(&self) {
        let mut data = self.0.lock();
        for split in data.open() {
            data.shards.get_mut(&split).unwrap().closed = true;
        }
        data.changed();
    }

    /// All shards, as a listing tells them.
    fn list(&self) -> Vec<Shard> {
        self.shards().iter().map(|(split, data)| shard(split, data)).collect()
    }

    pub(crate) fn shards(&self) -> BTreeMap<SplitId, ShardData> {
        self.0.lock().shards.clone()
    }

    pub(crate) fn shard(&self, split: &SplitId) -> ShardData {
        self.0.lock().shards[split].clone()
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.lock().numbers
    }
}

fn shard(split: &SplitId, data: &ShardData) -> Shard {
    let descriptor = Descriptor { stream: "stream".into(), shard: split.as_str().into(), hash_range: None };
    Shard { split: split.clone(), descriptor, parents: data.parents.clone() }
}

/// How one worker lists the stream.
pub(crate) struct Lister {
    pub(crate) stream: Stream,
    pub(crate) env: Env,
    /// It never gets further shards.
    pub(crate) is_final: bool,
    pub(crate) wrong: Wrong,
}

impl Lister {
    /// Some listings fail; the others show what was a while ago.
    async fn list(&self) -> Result<Vec<Shard>, SourceError> {
        let mut listed = self.stream.list();
        self.env.clock().sleep(Duration::from_millis(self.env.random().number() % 3_000)).await;
        if self.env.random().number().is_multiple_of(6) {
            return Err(error(ErrorClass::Retryable, "a listing that fails"));
        }
        if self.wrong == Wrong::ListsOrphans {
            for shard in &mut listed {
                shard.parents.clear();
            }
        }
        Ok(listed)
    }
}

impl Planner for Lister {
    fn plan(&self) -> Planned<'_> {
        let plan = Plan { stream: "stream".into(), start: None, initial: self.stream.list(), is_final: self.is_final };
        Box::pin(std::future::ready(Ok(plan)))
    }

    fn discover<'a>(&'a self, _: &'a Arc<str>) -> Discovered<'a> {
        Box::pin(self.list())
    }
}

fn error(class: ErrorClass, message: &str) -> SourceError {
    SourceError { class, code: Code::INTERNAL, message: message.into() }
}

/// What goes wrong with a source on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wrong {
    #[default]
    Nothing,
    /// It says that a split is read to its end before all is acknowledged.
    EndsEarly,
    /// It does not name the children.
    ForgetsChildren,
    /// It gives a position one record ahead.
    RunsAhead,
    /// Its position falls back.
    FallsBack,
    /// It says that a drained split is read to its end.
    CompletesDrain,
    /// It answers for another record than it was asked for.
    AnswersElse,
    /// Every other opening fails, and may be tried again.
    OpensHaltingly,
    /// The first shard can never be opened.
    RefusesOne,
    /// The first shard's commits cannot be encoded.
    LosesPlaces,
    /// The first shard's resume is refused.
    RefusesResume,
    /// The pipeline cannot go on.
    Fatal,
    /// Its listings name no parents.
    ListsOrphans,
}

/// A reader's place, shared by its lane and its source.
struct Place {
    start: u64,
    emitted: u64,
    stopped: bool,
    ended: bool,
    waker: Option<Waker>,
}

/// The source of one worker.
pub(crate) struct Source {
    stream: Stream,
    checks: Arc<Checks>,
    wrong: Wrong,
    /// Every so many revocations are declined; 0: none.
    declines: u64,
    revocations: u64,
    openings: u64,
    batch: usize,
    places: BTreeMap<SplitId, Arc<Mutex<Place>>>,
    finishing: Arc<Mutex<Vec<SplitId>>>,
    /// Revocations that were asked for, which excuse a lane's end.
    pub(crate) revoked: Vec<SplitId>,
}

impl Source {
    pub(crate) fn new(stream: Stream, checks: Arc<Checks>, wrong: Wrong, declines: u64) -> Self {
        let (places, finishing) = (BTreeMap::new(), Arc::default());
        Self { stream, checks, wrong, declines, revocations: 0, openings: 0, batch: 3, places, finishing, revoked: Vec::new() }
    }

    fn place(&self, split: &SplitId, watermark: Ordinal) -> SplitProgress {
        let place = self.places[split].lock();
        let data = self.stream.shard(split);
        let mut position = place.start + watermark.get();
        match self.wrong {
            Wrong::RunsAhead => position += 1,
            Wrong::FallsBack if position > 6 => position -= 6,
            _ => {}
        }
        let done = place.ended && place.emitted == watermark.get();
        let completed = done || (self.wrong == Wrong::EndsEarly && data.has_ended());
        let named = completed && self.wrong != Wrong::ForgetsChildren;
        let children = data.children.iter().filter(|_| named).map(|child| shard(child, &self.stream.shard(child))).collect();
        SplitProgress { watermark, position: Some(position.to_string().into()), tip_time: None, completed, children }
    }
}

impl SplitSource for Source {
    fn open_split(&mut self, opening: SplitOpening) -> Result<Box<dyn Lane>, SourceError> {
        let split = opening.shard.split;
        self.openings += 1;
        match self.wrong {
            Wrong::OpensHaltingly if self.openings.is_multiple_of(2) => return Err(error(ErrorClass::Retryable, "not now")),
            Wrong::RefusesOne if is_first(&split) => return Err(error(ErrorClass::Record, "cannot be opened")),
            Wrong::Fatal => return Err(error(ErrorClass::Fatal, "no such stream")),
            _ => {}
        }
        let start = opening.resume.position.map_or(0, |position| position.parse().unwrap());
        let place = Place { start, emitted: 0, stopped: false, ended: false, waker: None };
        let place = Arc::new(Mutex::new(place));
        let before = self.places.insert(split.clone(), place.clone());
        assert!(before.is_none(), "{split} was opened twice");
        let (stream, finishing) = (self.stream.clone(), self.finishing.clone());
        Ok(Box::new(Reader { split, stream, place, finishing, batch: self.batch, driver: opening.waker }))
    }

    fn validate_resume(&mut self, split: &SplitId, progress: &Progress) -> Result<(), SourceError> {
        self.checks.resumes(split, progress);
        if self.wrong == Wrong::RefusesResume && is_first(split) {
            return Err(error(ErrorClass::Record, "no such position"));
        }
        Ok(())
    }

    fn encode_commit(&mut self, split: &SplitId, watermark: Ordinal) -> Result<SplitProgress, SourceError> {
        match self.wrong {
            Wrong::AnswersElse => Ok(self.place(split, watermark.next())),
            Wrong::LosesPlaces if is_first(split) => Err(error(ErrorClass::Record, "no place is known")),
            _ => Ok(self.place(split, watermark)),
        }
    }

    fn sweep(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        Ok(Some(self.place(split, watermark)).filter(|place| place.completed))
    }

    fn close_split(&mut self, split: &SplitId) {
        self.places.remove(split).expect("closed once").lock().stopped = true;
    }

    fn take_finishing(&mut self) -> Vec<SplitId> {
        let mut finishing = std::mem::take(&mut *self.finishing.lock());
        finishing.retain(|split| self.places.contains_key(split));
        finishing
    }

    fn begin_revoke(&mut self, split: &SplitId) -> bool {
        self.revoked.push(split.clone());
        self.revocations += 1;
        if self.declines > 0 && self.revocations.is_multiple_of(self.declines) {
            return false;
        }
        self.places[split].lock().stopped = true;
        true
    }

    fn drain_ready(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        if self.places[split].lock().emitted != watermark.get() {
            return Ok(None);
        }
        let place = self.place(split, watermark);
        let completed = place.completed || self.wrong == Wrong::CompletesDrain;
        Ok(Some(SplitProgress { completed, ..place }))
    }
}

fn is_first(split: &SplitId) -> bool {
    split.as_str() == "shard-000"
}

struct Reader {
    split: SplitId,
    stream: Stream,
    place: Arc<Mutex<Place>>,
    finishing: Arc<Mutex<Vec<SplitId>>>,
    batch: usize,
    driver: Waker,
}

impl Lane for Reader {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<LaneItem> {
        let mut data = self.stream.0.lock();
        let mut place = self.place.lock();
        place.waker = Some(context.waker().clone());
        if place.stopped {
            return Poll::Pending;
        }
        let shard = &data.shards[&self.split];
        let from = usize::try_from(place.start + place.emitted).unwrap();
        let to = shard.records.len().min(from + self.batch);
        if from < to {
            let mut page = Page::new("stream".into(), self.split.as_str().into());
            for record in &shard.records[from..to] {
                let (sequence, key, rank) = (record.number.to_string(), record.key.to_string(), record.rank.to_string());
                let (partition_key, payload) = (Some(key.as_str()), rank.as_bytes());
                page.push(&Record {
                    stream: "",
                    shard: "",
                    partition_key,
                    sequence_number: &sequence,
                    sub_sequence: None,
                    arrival: 0,
                    payload,
                });
            }
            let first = Ordinal::new(place.emitted + 1);
            place.emitted += u64::try_from(to - from).unwrap();
            return Poll::Ready(LaneItem::Batch(Batch { page: Arc::new(page), records: 0..to - from, first }));
        }
        if !shard.has_ended() {
            data.waiting.push(context.waker().clone());
            return Poll::Pending;
        }
        place.ended = true;
        self.finishing.lock().push(self.split.clone());
        self.driver.wake_by_ref();
        Poll::Ready(LaneItem::End)
    }
}
