//! Tests against a real API server, a real node and a Kinesis stand-in. `tests/bed/README.md` says how they get them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test fails loudly; that is how it reports"
)]
#![expect(clippy::disallowed_methods, reason = "tests run on real threads and in real time")]

#[path = "../support/bed.rs"]
mod bed;
#[path = "../support/table.rs"]
mod table;

mod api;
mod chart;
mod pods;
mod services;
