//! The calls, without their client: a simulation answers them as well.

use super::fault::Fault;
use super::sequence::Sequence;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// What a call answers, later.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// One stream of the service. Nothing here is repeated: who calls paces the calls.
pub trait Service: Send + Sync {
    /// The stream, as messages name it.
    fn stream(&self) -> &str;

    /// `DescribeStreamSummary`: which stream it is.
    fn summary(&self) -> Call<'_, StreamSummary>;

    /// `ListShards`: one page of the listing.
    fn list(&self, from: ListingStart) -> Call<'_, Listing>;

    /// `GetShardIterator`: a place to read from; it is valid for five minutes.
    fn iterator<'a>(&'a self, shard: &'a str, start: IteratorStart) -> Call<'a, Token>;

    /// `GetRecords`: the next records, up to 10,000 and 10 MiB.
    fn records<'a>(&'a self, iterator: &'a Token) -> Call<'a, RecordsPage>;

    /// `PutRecords`: up to 500 records, each answered by itself: its sequence number, or why it was not taken.
    fn put<'a>(&'a self, entries: Vec<PutEntry<'a>>) -> Call<'a, Vec<Result<Sequence, Fault>>>;
}

/// What the service hands out to be given back: an iterator, or the place where a listing goes on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(pub Arc<str>);

/// Long, and of no use to people.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Which stream it is, and what holds for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSummary {
    /// Its ARN.
    pub arn: Arc<str>,
    /// When it was created, in microseconds since 1970 UTC: with the ARN this is its identity (I21).
    pub created: i64,
    /// How long it keeps records, in microseconds.
    pub retention: i64,
    /// The largest record that it takes, in bytes, its partition key included.
    pub largest_record: usize,
    /// The service's time when it answered, in microseconds since 1970 UTC, to the second.
    pub at: Option<i64>,
}

impl StreamSummary {
    /// The stream's identity, as it is stored (I21).
    #[must_use]
    pub fn identity(&self) -> Arc<str> {
        format!("{}@{}", self.arn, self.created).into()
    }
}

/// Where a page of a listing starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListingStart {
    /// At the beginning.
    First(ShardFilter),
    /// Where the page before it ended. The token carries everything else.
    Next(Token),
}

/// Which shards a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardFilter {
    /// All that there are.
    All,
    /// Those that were open at this time, in microseconds since 1970 UTC.
    AtTimestamp(i64),
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its shards.
    pub shards: Vec<Shard>,
    /// Where it goes on, if it does.
    pub next: Option<Token>,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its id.
    pub id: Arc<str>,
    /// The shards that it came from; some of them may be gone.
    pub parents: Vec<Arc<str>>,
    /// The hash keys that it takes.
    pub range: HashRange,
    /// Whether it takes no records any more: it has an ending sequence number.
    pub closed: bool,
}

/// A range of hash keys, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashRange {
    /// The lowest.
    pub from: u128,
    /// The highest.
    pub to: u128,
}

/// A shard that came from one that was read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildShard {
    /// Its id.
    pub id: Arc<str>,
    /// The shards that it came from.
    pub parents: Vec<Arc<str>>,
    /// The hash keys that it takes.
    pub range: HashRange,
}

/// Where an iterator starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IteratorStart {
    /// At this record.
    At(Sequence),
    /// At the record after this one.
    After(Sequence),
    /// At the oldest record.
    TrimHorizon,
    /// At the first record that arrived at this time or later, in microseconds since 1970 UTC.
    Timestamp(i64),
}

/// What one call read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordsPage {
    /// The records, in order.
    pub records: Vec<ShardRecord>,
    /// Where to read on; none at the end of a closed shard.
    pub next: Option<Token>,
    /// At the end of a closed shard, the shards that came from it.
    pub children: Vec<ChildShard>,
    /// How far this is behind the shard's tip, in milliseconds.
    pub behind: Option<i64>,
    /// The service's time when it answered, in microseconds since 1970 UTC, to the second.
    pub at: Option<i64>,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRecord {
    /// Its sequence number.
    pub sequence: Sequence,
    /// When it arrived, in microseconds since 1970 UTC.
    pub arrival: i64,
    /// Its partition key, where the service gives one.
    pub key: Option<Box<str>>,
    /// What it carries.
    pub data: Vec<u8>,
}

/// A record to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutEntry<'a> {
    /// Its partition key, 1 to 256 characters.
    pub key: &'a str,
    /// What it carries.
    pub data: &'a [u8],
}
