//! The four resources as a real API server takes them. `tests/run --all` repeats these on the oldest one supported.

mod columns;
mod cost;
mod objects;
mod rules;
mod transitions;
