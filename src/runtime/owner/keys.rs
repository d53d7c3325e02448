//! The keys of a split, each with its monitor.

use crate::dataflow::{Monitor, Plan};
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;

/// Monitors by key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    monitors: HashMap<Box<[u8]>, Keyed>,
}

/// One key's state.
#[derive(Debug)]
struct Keyed {
    monitor: Monitor,
    /// When its last record arrived, in microseconds since 1970 UTC.
    last_arrival: i64,
}

impl Keys {
    /// A key's state at a record that arrives now, and whether the key is new. State that is older than `ttl` is not found,
    /// whether or not it is still there (I46).
    pub(super) fn find(&mut self, key: &[u8], plan: &Plan, arrival: i64, ttl: Option<i64>) -> (&mut Monitor, bool) {
        match self.monitors.entry_ref(key) {
            EntryRef::Occupied(known) => {
                let keyed = known.into_mut();
                if ttl.is_some_and(|ttl| arrival > keyed.last_arrival.saturating_add(ttl)) {
                    keyed.monitor = Monitor::new(plan);
                }
                keyed.last_arrival = arrival;
                (&mut keyed.monitor, false)
            }
            EntryRef::Vacant(place) => {
                let keyed = place.insert(Keyed { monitor: Monitor::new(plan), last_arrival: arrival });
                (&mut keyed.monitor, true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use crate::dataflow::{Limits, Plan};
    use crate::lang;

    #[test]
    fn a_key_is_found_until_its_time_to_live_has_passed() {
        let plan = Plan::new(&lang::check("out n: Int = default(n[1], 0) + 1").unwrap(), Limits::default());
        let mut keys = Keys::default();
        let front = |keys: &mut Keys, arrival: i64| {
            let (monitor, new) = keys.find(b"k", &plan, arrival, Some(10));
            monitor.front = monitor.front.max(arrival);
            (monitor.front, new)
        };
        assert_eq!(front(&mut keys, 100), (100, true));
        assert_eq!(front(&mut keys, 50), (100, false), "it is the same one");
        assert_eq!(front(&mut keys, 60), (100, false), "still in time");
        assert_eq!(front(&mut keys, 71), (71, false), "that was too late: it begins anew");
    }
}
