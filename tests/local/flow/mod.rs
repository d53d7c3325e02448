//! Tests of the dataflow room from outside: golden vectors, the reference interpreter, properties, scenarios.

mod bed;
mod children;
mod programs;
mod properties;
mod reference;
mod rules;
mod scenarios;
mod snapshots;
mod transfers;
mod vectors;
