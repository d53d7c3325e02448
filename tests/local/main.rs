//! Tests that need no services and no root: `tests/run --quick` runs them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test fails loudly; that is how it reports"
)]

mod cli;
mod coordination;
mod coverage;
mod crds;
mod digests;
mod docs;
mod examples;
#[path = "../support/fake_kinesis.rs"]
mod fake_kinesis;
mod flow;
mod fuzz;
mod house;
mod kinesis;
#[path = "../support/kinesis_reading.rs"]
mod kinesis_reading;
#[path = "../support/kinesis_suite.rs"]
mod kinesis_suite;
mod manifests;
mod packaging;
mod plan;
mod run;
mod sessions;
#[path = "../support/table.rs"]
mod table;
mod trace;
