//! Kinesis as the rest sees it: the calls that are made of one stream, what they answer, what a failure of one means.
//!
//! Owns: the trait behind which the AWS client stands, sequence numbers, faults and their classes, the client's settings.
//! May not: decide what to read or write next, when to repeat a call or how often (`source::kinesis`, `sink::kinesis`).

#[cfg(feature = "worker")]
mod client;
mod fault;
mod sequence;
mod service;
mod time;

#[cfg(feature = "worker")]
pub use client::{Client, ClientSettings, StreamName};
pub use fault::{Class, Fault, NotASequence};
pub use sequence::{LONGEST, Sequence};
pub use service::{
    Call, ChildShard, HashRange, IteratorStart, Listing, ListingStart, PutEntry, RecordsPage, Service, Shard, ShardFilter, ShardRecord,
    StreamSummary, Token,
};
pub use time::{CALL_TIMEOUT, bounded, jittered};
