//! The monitors of a trace, by key.

use crate::dataflow::{Monitor, Plan};
use std::collections::HashMap;

/// All keys that have come.
pub(super) struct Keys {
    of: HashMap<Box<[u8]>, Key>,
    /// How long a quiet key's state lives, in microseconds.
    ttl: Option<i64>,
}

/// A key.
pub(super) struct Key {
    pub(super) monitor: Monitor,
    /// The line at which its tick failed.
    pub(super) ended: Option<u64>,
    arrival: i64,
}

impl Keys {
    /// None yet. State lives for `ttl` microseconds after a key's last record.
    pub(super) fn new(ttl: Option<i64>) -> Self {
        Self { of: HashMap::new(), ttl }
    }

    /// The key of a record that arrives now.
    pub(super) fn at(&mut self, key: &[u8], arrival: i64, plan: &Plan) -> &mut Key {
        let ttl = self.ttl;
        let fresh = || Key { monitor: Monitor::new(plan), ended: None, arrival };
        let found = self.of.entry(key.into()).or_insert_with(fresh);
        if ttl.is_some_and(|ttl| arrival > found.arrival.saturating_add(ttl)) {
            *found = fresh();
        }
        found.arrival = arrival;
        found
    }
}
