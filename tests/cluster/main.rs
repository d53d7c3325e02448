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
#[path = "../support/conformance.rs"]
mod conformance;
#[path = "../support/flow.rs"]
mod flow;
#[allow(dead_code, reason = "the tests on the fake need more of it")]
#[path = "../support/kinesis_reading.rs"]
mod kinesis_reading;
#[path = "../support/kinesis_suite.rs"]
mod kinesis_suite;
#[path = "../support/rows.rs"]
mod rows;
#[path = "../support/table.rs"]
mod table;

mod api;
mod chart;
mod coordination;
mod image;
mod kinesis;
mod operator;
mod pods;
mod run;
mod services;
mod worker;
