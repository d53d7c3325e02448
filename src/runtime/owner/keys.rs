//! The keys of a split, each with its monitor.
//!
//! Owns: finding a key's state by the time of the record that asks, noting what changed since the last capture.

use crate::dataflow::{Monitor, Plan, Transfer};
use crate::state::{Frozen, FrozenKey, RestoredKey};
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;

/// How long past its time to live a key is kept at least, in microseconds: arrival times may fall by less (I46).
const GRACE: i64 = 300_000_000;

/// Monitors by key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    monitors: HashMap<Box<[u8]>, Keyed>,
    /// Keys that changed since the last capture, and those dropped.
    changed: Vec<Box<[u8]>>,
    /// The latest arrival time of the lane's records.
    arrival: Option<i64>,
}

/// One key's state.
#[derive(Debug)]
struct Keyed {
    monitor: Monitor,
    /// When its last record arrived, in microseconds since 1970 UTC.
    last_arrival: i64,
    changed: bool,
}

impl Keys {
    /// The keys that a tenancy begins with. Fresh ones stand in no layer of its own yet: they count as changed.
    pub(super) fn restored(keys: Vec<RestoredKey>, fresh: bool) -> Self {
        let changed = if fresh { keys.iter().map(|key| key.key.clone()).collect() } else { Vec::new() };
        let keyed = |key: RestoredKey| (key.key, Keyed { monitor: key.monitor, last_arrival: key.last_arrival, changed: fresh });
        Self { monitors: keys.into_iter().map(keyed).collect(), changed, arrival: None }
    }

    /// A key's state at a record that arrives now, and whether the key is new. State that is older than `ttl` is not found,
    /// whether or not it is still there (I46).
    #[inline]
    pub(super) fn find(&mut self, key: &[u8], plan: &Plan, arrival: i64, ttl: Option<i64>) -> (&mut Monitor, bool) {
        self.arrival = self.arrival.max(Some(arrival));
        match self.monitors.entry_ref(key) {
            EntryRef::Occupied(known) => {
                let keyed = known.into_mut();
                if ttl.is_some_and(|ttl| arrival > keyed.last_arrival.saturating_add(ttl)) {
                    keyed.monitor = Monitor::new(plan);
                }
                keyed.last_arrival = arrival;
                if !keyed.changed {
                    keyed.changed = true;
                    self.changed.push(key.into());
                }
                (&mut keyed.monitor, false)
            }
            EntryRef::Vacant(place) => {
                self.changed.push(key.into());
                let fresh = Keyed { monitor: Monitor::new(plan), last_arrival: arrival, changed: true };
                (&mut place.insert_with_key(key.into(), fresh).monitor, true)
            }
        }
    }

    /// What changed since this was last called. Keys whose time has passed long ago are dropped first.
    pub(super) fn freeze(&mut self, ttl: Option<i64>) -> Vec<FrozenKey> {
        self.drop_old(ttl);
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        let frozen = changed.into_iter().map(|key| {
            let state = self.monitors.get_mut(&key).map(|keyed| {
                keyed.changed = false;
                Frozen { monitor: keyed.monitor.clone(), last_arrival: keyed.last_arrival }
            });
            FrozenKey { key, state }
        });
        frozen.collect()
    }

    fn drop_old(&mut self, ttl: Option<i64>) {
        let (Some(ttl), Some(arrival)) = (ttl, self.arrival) else { return };
        let over = |keyed: &Keyed| arrival > keyed.last_arrival.saturating_add(ttl).saturating_add(GRACE);
        let changed = &mut self.changed;
        self.monitors.retain(|key, keyed| {
            let over = over(keyed);
            if over && !keyed.changed {
                changed.push(key.clone());
            }
            !over
        });
    }

    /// Brings every key over to another plan, and counts all as changed: what was stored stands under the old one. With
    /// `reset` nothing is brought over: under another key, state has no owner.
    pub(super) fn transfer(&mut self, old: &Plan, new: &Plan, reset: bool) {
        self.changed = self.monitors.keys().cloned().collect();
        if reset {
            self.monitors.clear();
        }
        for keyed in self.monitors.values_mut() {
            keyed.monitor = Transfer::apply(old, new, &keyed.monitor);
            keyed.changed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GRACE, Keys};
    use crate::dataflow::Plan;
    use crate::dataflow::testing;

    fn plan() -> Plan {
        testing::plan("out n: Int = default(n[1], 0) + 1")
    }

    #[test]
    fn a_key_is_found_until_its_time_to_live_has_passed() {
        let (plan, mut keys) = (plan(), Keys::default());
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

    #[test]
    fn a_capture_has_what_changed_once_and_dropped_keys_as_gone() {
        let (plan, mut keys) = (plan(), Keys::default());
        for (key, at) in [(b"a", 0), (b"b", 1), (b"a", 2)] {
            keys.find(key, &plan, at, Some(10));
        }
        let seen = |keys: &mut Keys| {
            let frozen = keys.freeze(Some(10));
            frozen.iter().map(|key| (key.key[0], key.state.as_ref().map(|state| state.last_arrival))).collect::<Vec<_>>()
        };
        assert_eq!(seen(&mut keys), [(b'a', Some(2)), (b'b', Some(1))]);
        assert_eq!(seen(&mut keys), []);
        keys.find(b"b", &plan, 1, Some(10));
        keys.find(b"c", &plan, 2 + 10 + GRACE, Some(10));
        assert_eq!(seen(&mut keys), [(b'b', None), (b'c', Some(2 + 10 + GRACE))], "a may still be found by a late record");
        keys.find(b"c", &plan, 3 + 10 + GRACE, Some(10));
        assert_eq!(seen(&mut keys), [(b'a', None), (b'c', Some(3 + 10 + GRACE))]);
    }

    #[test]
    fn after_a_transfer_every_key_is_captured_and_after_a_reset_all_are_gone() {
        let plan = plan();
        for reset in [false, true] {
            let mut keys = Keys::default();
            keys.find(b"a", &plan, 0, None);
            keys.freeze(None);
            keys.transfer(&plan, &plan, reset);
            let frozen = keys.freeze(None);
            assert_eq!((frozen.len(), frozen[0].state.is_none()), (1, reset));
        }
    }
}
