//! Kinesis shards as splits: where they start, how they are read, where they end, what they become.
//!
//! Owns: positions, the listing and its completeness, the resolved start, each tenancy's fetcher and its pace, the end of a
//! shard, what is reported of gaps and trouble.
//! May not: decide who reads a shard or when it may open (`coordination`); evaluate; take a failing service for an end.

mod fetch;
mod lineage;
mod listing;
mod marks;
mod notice;
mod pace;
mod planner;
mod position;
mod reader;
mod source;
mod tenancy;

pub use notice::{Notice, Trouble};
pub use planner::{KinesisPlanner, StartRule};
pub use position::{Position, PositionError, Start};
pub use source::{KinesisSource, Reports, Setup};
