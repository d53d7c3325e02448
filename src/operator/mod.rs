//! The controller: it checks pipelines, runs their pods, takes edits of the program to the workers, and says what holds.
//!
//! Owns: what the operator alone decides: workloads and rollouts, the cutover across workers, status and Events.
//! May not: move data, reach AWS, or read a Secret. Decisions are pure; only `controller` and `office` see a client.

mod cutover;
mod workload;
