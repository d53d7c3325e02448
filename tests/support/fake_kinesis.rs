//! A Kinesis stream in this process, under a simulation's clock.
//!
//! Owns: what the service does that no stand-in does on demand: read limits, retention, tokens that expire, empty pages,
//! answers that are late or never come. Partition keys go to shards by a hash that is not the service's.
//! May not: repeat or pace anything; that is what is tested.

use millrace::env::Env;
use millrace::flow::Digest;
use millrace::kinesis::{
    Call, ChildShard, Class, Fault, HashRange, IteratorStart, Listing, ListingStart, PutEntry, RecordsPage, Sequence, Service, Shard,
    ShardFilter, ShardRecord, StreamSummary, Token,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

const SECOND: i64 = 1_000_000;
/// How long an iterator and a listing's token are valid.
const TOKEN_TTL: i64 = 300 * SECOND;
/// What a shard gives in a second.
const CALLS_A_SECOND: usize = 5;
const BYTES_A_SECOND: i64 = 2 << 20;
/// What one call gives.
const PAGE_BYTES: usize = 10 << 20;
/// Sequence numbers are longer than 64 bits, and rise over all shards.
const FIRST_SEQUENCE: u128 = 49_590_338_271_490_256_608_559_692_538_361_571_095;

/// What goes wrong with one call.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It is refused.
    Fault(Class),
    /// It takes effect, or not, and is never answered.
    Hang,
    /// `PutRecords` does not take these of its records.
    Entries(Vec<usize>, Class),
    /// `GetRecords` answers without a next iterator and without children.
    NoIterator,
}

/// One call, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) call: &'static str,
    pub(crate) at: Duration,
    /// The start of an iterator, or that of a listing.
    pub(crate) from: String,
}

type Hook = Box<dyn FnMut(&Asked) -> Option<Trouble> + Send>;

/// A stream.
pub(crate) struct Fake {
    env: Env,
    state: Mutex<State>,
}

struct State {
    shards: Vec<FakeShard>,
    created: i64,
    gone: bool,
    retention: i64,
    sequence: u128,
    shards_a_page: usize,
    records_a_page: usize,
    /// Calls take up to this long.
    latency: Duration,
    /// How far the service's clock is ahead of ours, in microseconds; negative: behind.
    lead: i64,
    /// An iterator for a record that is gone gives empty pages for ever.
    sticky: bool,
    hook: Option<Hook>,
    asked: Vec<Asked>,
    over_limit: usize,
}

struct FakeShard {
    id: Arc<str>,
    parents: Vec<Arc<str>>,
    range: HashRange,
    opened: i64,
    closed: Option<i64>,
    records: Vec<(u128, ShardRecord)>,
    /// Empty pages behind the last record of a closed shard.
    empty_pages: u32,
    hidden: bool,
    recent: VecDeque<i64>,
    spent_until: i64,
}

impl Fake {
    pub(crate) fn new(env: &Env, shards: u32) -> Arc<Self> {
        let now = env.clock().wall_micros();
        let mut state = State {
            shards: Vec::new(),
            created: now,
            gone: false,
            retention: 24 * 3_600 * SECOND,
            sequence: FIRST_SEQUENCE,
            shards_a_page: 1_000,
            records_a_page: 10_000,
            latency: Duration::ZERO,
            lead: 0,
            sticky: false,
            hook: None,
            asked: Vec::new(),
            over_limit: 0,
        };
        let width = u128::MAX / u128::from(shards);
        for at in 0..u128::from(shards) {
            let to = if at + 1 == u128::from(shards) { u128::MAX } else { width * (at + 1) - 1 };
            state.open(Vec::new(), HashRange { from: width * at, to }, now);
        }
        Arc::new(Self { env: env.clone(), state: Mutex::new(state) })
    }

    /// Decides what goes wrong with each call.
    pub(crate) fn breaks(&self, hook: impl FnMut(&Asked) -> Option<Trouble> + Send + 'static) {
        self.state.lock().hook = Some(Box::new(hook));
    }

    pub(crate) fn works(&self) {
        self.state.lock().hook = None;
    }

    /// Sets the service's clock behind ours.
    pub(crate) fn set_behind(&self, behind: Duration) {
        self.state.lock().lead = -i64::try_from(behind.as_micros()).unwrap();
    }

    pub(crate) fn set_latency(&self, latency: Duration) {
        self.state.lock().latency = latency;
    }

    pub(crate) fn set_pages(&self, shards: usize, records: usize) {
        let mut state = self.state.lock();
        (state.shards_a_page, state.records_a_page) = (shards, records);
    }

    pub(crate) fn set_retention(&self, retention: Duration) {
        self.state.lock().retention = retention.as_micros().try_into().unwrap();
    }

    /// In microseconds.
    pub(crate) fn retention(&self) -> i64 {
        self.state.lock().retention
    }

    /// Which stream it is.
    pub(crate) fn identity(&self) -> Arc<str> {
        self.state.lock().summary(0).identity()
    }

    pub(crate) fn set_empty_pages(&self, shard: &str, pages: u32) {
        self.state.lock().shard(shard).unwrap().empty_pages = pages;
    }

    /// Whether an iterator for a record that is gone gives empty pages for ever, as some were seen to do.
    pub(crate) fn set_sticky(&self, sticky: bool) {
        self.state.lock().sticky = sticky;
    }

    /// Listings lack this shard.
    pub(crate) fn hide(&self, shard: &str) {
        self.state.lock().shard(shard).unwrap().hidden = true;
    }

    pub(crate) fn shards(&self) -> Vec<Arc<str>> {
        self.state.lock().shards.iter().map(|shard| Arc::clone(&shard.id)).collect()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().asked.clone()
    }

    /// How many calls came faster than the shard allows.
    pub(crate) fn over_limit(&self) -> usize {
        self.state.lock().over_limit
    }

    /// Writes a record into a shard; answers its sequence number.
    pub(crate) fn write(&self, shard: &str, data: &str) -> Sequence {
        let now = self.now();
        let mut state = self.state.lock();
        state.write(shard, "k", data.as_bytes(), now)
    }

    /// Writes a record of a partition key; answers its shard.
    pub(crate) fn put(&self, key: &str, data: &str) -> Arc<str> {
        let now = self.now();
        self.state.lock().put(&PutEntry { key, data: data.as_bytes() }, now).0
    }

    /// The open shards, by their hash keys.
    pub(crate) fn open_shards(&self) -> Vec<Arc<str>> {
        let state = self.state.lock();
        let mut open: Vec<_> = state.shards.iter().filter(|shard| shard.closed.is_none()).collect();
        open.sort_by_key(|shard| shard.range);
        open.into_iter().map(|shard| shard.id.clone()).collect()
    }

    /// What a shard holds, as texts.
    pub(crate) fn held(&self, shard: &str) -> Vec<String> {
        let mut state = self.state.lock();
        let records = &state.shard(shard).unwrap().records;
        records.iter().map(|(_, record)| String::from_utf8(record.data.clone()).unwrap()).collect()
    }

    /// What the whole stream holds: keys and data, in the order of arrival.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let state = self.state.lock();
        let mut records: Vec<_> = state.shards.iter().flat_map(|shard| &shard.records).collect();
        records.sort_by_key(|(sequence, _)| *sequence);
        let text =
            |record: &ShardRecord| (record.key.as_deref().unwrap_or_default().to_owned(), String::from_utf8(record.data.clone()).unwrap());
        records.into_iter().map(|(_, record)| text(record)).collect()
    }

    /// Splits a shard in the middle; answers the children.
    pub(crate) fn split(&self, shard: &str) -> [Arc<str>; 2] {
        let now = self.now();
        let mut state = self.state.lock();
        let parent = state.close(shard, now);
        let middle = parent.from + (parent.to - parent.from) / 2;
        let mut child = |from, to| state.open(vec![shard.into()], HashRange { from, to }, now);
        [child(parent.from, middle), child(middle + 1, parent.to)]
    }

    /// Merges two neighbours; answers the child.
    pub(crate) fn merge(&self, one: &str, other: &str) -> Arc<str> {
        let now = self.now();
        let mut state = self.state.lock();
        let (low, high) = (state.close(one, now), state.close(other, now));
        let range = HashRange { from: low.from.min(high.from), to: low.to.max(high.to) };
        state.open(vec![one.into(), other.into()], range, now)
    }

    /// Deletes the stream and creates it again, with shards of the same names.
    pub(crate) fn recreate(&self) {
        let now = self.now();
        let mut state = self.state.lock();
        let count = state.shards.iter().filter(|shard| shard.parents.is_empty()).count();
        let ranges: Vec<_> = state.shards.iter().take(count).map(|shard| shard.range).collect();
        state.shards.clear();
        state.created = now;
        for range in ranges {
            state.open(Vec::new(), range, now);
        }
    }

    /// Whether calls find no such stream.
    pub(crate) fn set_gone(&self, gone: bool) {
        self.state.lock().gone = gone;
    }

    /// The service's time.
    pub(crate) fn now(&self) -> i64 {
        self.env.clock().wall_micros() + self.state.lock().lead
    }

    fn refused(&self, class: Class, call: &'static str) -> Fault {
        Fault { class, call, stream: self.stream().into(), said: format!("{class:?}").into() }
    }

    /// What happens to every call before it is looked at.
    async fn arrive(&self, call: &'static str, from: String) -> Result<Option<Trouble>, Fault> {
        let latency = self.state.lock().latency;
        if !latency.is_zero() {
            let most = u64::try_from(latency.as_micros()).unwrap();
            self.env.clock().sleep(Duration::from_micros(self.env.random().number() % most)).await;
        }
        let asked = Asked { call, at: self.env.clock().monotonic(), from };
        let trouble = {
            let mut state = self.state.lock();
            let trouble = state.hook.as_mut().and_then(|hook| hook(&asked));
            state.asked.push(asked);
            trouble
        };
        match trouble {
            Some(Trouble::Fault(class)) => Err(self.refused(class, call)),
            Some(Trouble::Hang) => std::future::pending().await,
            _ if self.state.lock().gone => Err(self.refused(Class::NotFound, call)),
            other => Ok(other),
        }
    }
}

impl State {
    fn open(&mut self, parents: Vec<Arc<str>>, range: HashRange, now: i64) -> Arc<str> {
        let id: Arc<str> = format!("shardId-{:012}", self.shards.len()).into();
        self.shards.push(FakeShard {
            id: Arc::clone(&id),
            parents,
            range,
            opened: now,
            closed: None,
            records: Vec::new(),
            empty_pages: 0,
            hidden: false,
            recent: VecDeque::new(),
            spent_until: 0,
        });
        id
    }

    fn close(&mut self, shard: &str, now: i64) -> HashRange {
        let shard = self.shard(shard).unwrap();
        assert!(shard.closed.is_none(), "{} is closed already", shard.id);
        shard.closed = Some(now);
        shard.range
    }

    fn shard(&mut self, id: &str) -> Option<&mut FakeShard> {
        self.shards.iter_mut().find(|shard| &*shard.id == id)
    }

    fn write(&mut self, shard: &str, key: &str, data: &[u8], now: i64) -> Sequence {
        self.sequence += 1_000_003;
        let number = self.sequence;
        let sequence: Sequence = number.to_string().parse().unwrap();
        let shard = self.shard(shard).unwrap();
        assert!(shard.closed.is_none(), "{} is closed", shard.id);
        let record = ShardRecord { sequence: sequence.clone(), arrival: now, key: Some(key.into()), data: data.to_vec() };
        shard.records.push((number, record));
        sequence
    }

    /// Whether the service still knows the shard.
    fn knows(&self, shard: &FakeShard, now: i64) -> bool {
        shard.closed.is_none_or(|closed| closed > now - self.retention)
    }

    fn summary(&self, now: i64) -> StreamSummary {
        StreamSummary {
            arn: "arn:aws:kinesis:eu-west-1:123456789012:stream/orders".into(),
            created: self.created,
            retention: self.retention,
            largest_record: 1 << 20,
            at: Some(second(now)),
        }
    }

    fn children(&self, of: &str) -> Vec<ChildShard> {
        let children = self.shards.iter().filter(|shard| shard.parents.iter().any(|parent| &**parent == of));
        children.map(|shard| ChildShard { id: shard.id.clone(), parents: shard.parents.clone(), range: shard.range }).collect()
    }

    fn listing(&self, from: usize, filter: ShardFilter, now: i64) -> Listing {
        let shown: Vec<&FakeShard> = self
            .shards
            .iter()
            .filter(|shard| self.knows(shard, now) && !shard.hidden)
            .filter(|shard| match filter {
                ShardFilter::All => true,
                ShardFilter::AtTimestamp(at) => shard.opened <= at && shard.closed.is_none_or(|closed| closed > at),
            })
            .collect();
        let page = shown.iter().skip(from).take(self.shards_a_page);
        let shard = |shard: &&FakeShard| Shard {
            id: shard.id.clone(),
            parents: shard.parents.clone(),
            range: shard.range,
            closed: shard.closed.is_some(),
        };
        let end = from + self.shards_a_page;
        let next = (end < shown.len()).then(|| {
            let filter = match filter {
                ShardFilter::All => "all".to_owned(),
                ShardFilter::AtTimestamp(at) => at.to_string(),
            };
            Token(format!("{now}|{end}|{filter}").into())
        });
        Listing { shards: page.map(shard).collect(), next }
    }

    /// The first number that an iterator reads.
    fn place(&mut self, shard: &str, start: &IteratorStart, now: i64) -> Option<u128> {
        let next = self.sequence + 1;
        let shard = self.shard(shard)?;
        match start {
            IteratorStart::TrimHorizon => Some(0),
            IteratorStart::Timestamp(at) if *at > now => None,
            IteratorStart::Timestamp(at) => {
                Some(shard.records.iter().find(|(_, record)| record.arrival >= *at).map_or(next, |(number, _)| *number))
            }
            IteratorStart::At(sequence) | IteratorStart::After(sequence) => {
                let number: u128 = sequence.as_str().parse().ok()?;
                let known = (FIRST_SEQUENCE..next).contains(&number);
                known.then(|| if matches!(start, IteratorStart::After(_)) { number + 1 } else { number })
            }
        }
    }

    /// Whether a call keeps to the shard's limits; a call that does not costs nothing.
    fn within_limits(&mut self, shard: &str, now: i64) -> bool {
        let shard = self.shard(shard).unwrap();
        while shard.recent.front().is_some_and(|at| now - at >= SECOND) {
            shard.recent.pop_front();
        }
        let within = shard.recent.len() < CALLS_A_SECOND && now >= shard.spent_until;
        if within {
            shard.recent.push_back(now);
        } else {
            self.over_limit += 1;
        }
        within
    }

    fn page(&mut self, shard_id: &str, from: u128, skipped: u32, now: i64) -> RecordsPage {
        let (most, horizon) = (self.records_a_page, now - self.retention);
        let children = self.children(shard_id);
        let next_number = self.sequence + 1;
        let (sticky, retention) = (self.sticky, self.retention);
        let shard = self.shard(shard_id).unwrap();
        if sticky && shard.records.iter().any(|(number, record)| *number == from && record.arrival < horizon) {
            let next = Some(iterator(shard_id, from, skipped, now));
            return RecordsPage { records: Vec::new(), next, children: Vec::new(), behind: Some(retention / 1_000), at: Some(second(now)) };
        }
        let mut rest = shard.records.iter().filter(|(number, record)| *number >= from && record.arrival >= horizon).peekable();
        let (mut records, mut bytes) = (Vec::new(), 0);
        while let Some((_, record)) = rest.peek()
            && records.len() < most
            && (bytes + record.data.len() <= PAGE_BYTES || records.is_empty())
        {
            bytes += record.data.len();
            records.push(record.clone());
            rest.next();
        }
        let behind = rest.peek().map(|(_, record)| ((now - record.arrival) / 1_000).max(1));
        let on = rest.peek().map_or(next_number, |(number, _)| *number);
        shard.spent_until = now + i64::try_from(bytes).unwrap() * SECOND / BYTES_A_SECOND;
        let through = behind.is_none() && shard.closed.is_some();
        let pages_left = through && skipped < shard.empty_pages;
        let ended = through && !pages_left;
        let skipped = if pages_left && records.is_empty() { skipped + 1 } else { skipped };
        let next = (!ended).then(|| iterator(shard_id, on, skipped, now));
        let behind = behind.or(pages_left.then_some(1)).unwrap_or(0);
        RecordsPage { records, next, children: if ended { children } else { Vec::new() }, behind: Some(behind), at: Some(second(now)) }
    }
}

fn iterator(shard: &str, number: u128, skipped: u32, now: i64) -> Token {
    Token(format!("{now}|{shard}|{number}|{skipped}").into())
}

/// The service tells its time to the second.
const fn second(now: i64) -> i64 {
    now - now % SECOND
}

impl Service for Fake {
    fn stream(&self) -> &'static str {
        "orders"
    }

    fn summary(&self) -> Call<'_, StreamSummary> {
        Box::pin(async move {
            self.arrive("DescribeStreamSummary", String::new()).await?;
            let now = self.now();
            Ok(self.state.lock().summary(now))
        })
    }

    fn list(&self, from: ListingStart) -> Call<'_, Listing> {
        Box::pin(async move {
            self.arrive("ListShards", format!("{from:?}")).await?;
            let now = self.now();
            let (at, filter) = match from {
                ListingStart::First(filter) => (0, filter),
                ListingStart::Next(token) => {
                    let parts: Vec<&str> = token.0.split('|').collect();
                    if now - parts[0].parse::<i64>().unwrap() > TOKEN_TTL {
                        return Err(self.refused(Class::ExpiredToken, "ListShards"));
                    }
                    let filter = parts[2].parse().map_or(ShardFilter::All, ShardFilter::AtTimestamp);
                    (parts[1].parse().unwrap(), filter)
                }
            };
            Ok(self.state.lock().listing(at, filter, now))
        })
    }

    fn iterator<'a>(&'a self, shard: &'a str, start: IteratorStart) -> Call<'a, Token> {
        const CALL: &str = "GetShardIterator";
        Box::pin(async move {
            self.arrive(CALL, format!("{start:?}")).await?;
            let now = self.now();
            let mut state = self.state.lock();
            let known = state.shards.iter().any(|one| &*one.id == shard && state.knows(one, now));
            if !known {
                return Err(self.refused(Class::NotFound, CALL));
            }
            let place = state.place(shard, &start, now);
            place.map(|number| iterator(shard, number, 0, now)).ok_or_else(|| self.refused(Class::Invalid, CALL))
        })
    }

    fn records<'a>(&'a self, token: &'a Token) -> Call<'a, RecordsPage> {
        const CALL: &str = "GetRecords";
        Box::pin(async move {
            let parts: Vec<&str> = token.0.split('|').collect();
            let trouble = self.arrive(CALL, String::new()).await?;
            let now = self.now();
            if now - parts[0].parse::<i64>().unwrap() > TOKEN_TTL {
                return Err(self.refused(Class::ExpiredIterator, CALL));
            }
            let mut state = self.state.lock();
            if !state.within_limits(parts[1], now) {
                return Err(self.refused(Class::Throttled, CALL));
            }
            let mut page = state.page(parts[1], parts[2].parse().unwrap(), parts[3].parse().unwrap(), now);
            if matches!(trouble, Some(Trouble::NoIterator)) {
                (page.next, page.children, page.records) = (None, Vec::new(), Vec::new());
            }
            Ok(page)
        })
    }

    fn put<'a>(&'a self, entries: Vec<PutEntry<'a>>) -> Call<'a, Vec<Result<Sequence, Fault>>> {
        const CALL: &str = "PutRecords";
        Box::pin(async move {
            let keys: Vec<&str> = entries.iter().map(|entry| entry.key).collect();
            let trouble = self.arrive(CALL, keys.join(" ")).await?;
            let bytes: usize = entries.iter().map(|entry| entry.key.len() + entry.data.len()).sum();
            let wrong = |entry: &PutEntry<'_>| entry.key.is_empty() || entry.key.chars().count() > 256 || entry.data.len() > 1 << 20;
            if entries.is_empty() || entries.len() > 500 || bytes > 5 << 20 || entries.iter().any(wrong) {
                return Err(self.refused(Class::Invalid, CALL));
            }
            let now = self.now();
            let answers = entries.iter().enumerate().map(|(at, entry)| match &trouble {
                Some(Trouble::Entries(refused, class)) if refused.contains(&at) => Err(self.refused(*class, CALL)),
                _ => Ok(self.state.lock().put(entry, now).1),
            });
            Ok(answers.collect())
        })
    }
}

impl State {
    fn put(&mut self, entry: &PutEntry<'_>, now: i64) -> (Arc<str>, Sequence) {
        let hash = u128::from_str_radix(&Digest::of(entry.key.as_bytes()).hex()[..32], 16).unwrap();
        let takes = |shard: &&FakeShard| shard.closed.is_none() && (shard.range.from..=shard.range.to).contains(&hash);
        let id = self.shards.iter().find(takes).unwrap().id.clone();
        let sequence = self.write(&id, entry.key, entry.data, now);
        (id, sequence)
    }
}
