//! Restoring a split's keys: its own, and those that its parents ended with.

use super::StateError;
use super::layer::{KeyState, Layer};
use crate::dataflow::{Monitor, Plan, Transfer};
use crate::flow::{Digest, SplitId, SplitState, StateHead};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// A key's state, ready to go on.
#[derive(Clone, Debug)]
pub struct RestoredKey {
    /// The key.
    pub key: Box<[u8]>,
    /// Its monitor, over the plan that was asked for.
    pub monitor: Monitor,
    /// When its last record arrived, in microseconds since 1970 UTC.
    pub last_arrival: i64,
}

/// What state of another root was made under.
#[derive(Clone, Debug)]
pub enum Made {
    /// This plan: its state is brought over.
    Under(Arc<Plan>),
    /// Another rule for keys: its state has no owner now.
    ForOtherKeys,
}

/// The keys that a split goes on from: its own; of each that it lacks, what its ancestors ended with, whatever its hash
/// (I39). Of two ancestors' copies the later last record wins, and of two at one time the one that stands first.
///
/// # Errors
/// A piece of state is missing, lost, damaged, or of a root whose plan `plans` does not have: the split stops by name.
pub fn restore(
    split: &SplitId,
    states: &[SplitState],
    target: (Digest, &Plan),
    plans: impl Fn(&Digest) -> Option<Made>,
) -> Result<Vec<RestoredKey>, StateError> {
    let mut found: BTreeMap<Box<[u8]>, (bool, RestoredKey)> = BTreeMap::new();
    for state in states {
        let layer = decode(state)?;
        let source = match made(&layer, &state.split, target.0, &plans)? {
            Some(Made::ForOtherKeys) => continue,
            Some(Made::Under(plan)) => Some(plan),
            None => None,
        };
        let own = state.split == *split;
        for key in layer.keys {
            if found.get(&key.key).is_some_and(|(is_own, held)| *is_own || held.last_arrival >= key.last_arrival) {
                continue;
            }
            let restored = restored(&state.split, &key, source.as_deref(), target.1)?;
            match found.entry(key.key) {
                Entry::Vacant(place) => drop(place.insert((own, restored))),
                Entry::Occupied(mut place) => drop(place.insert((own, restored))),
            }
        }
    }
    Ok(found.into_values().map(|(_, key)| key).collect())
}

fn decode(state: &SplitState) -> Result<Layer, StateError> {
    let unreadable = |what: &str| StateError::Unreadable { split: state.split.clone(), what: what.to_owned() };
    match &state.head {
        StateHead::Inline(bytes) => Layer::decode(&state.split, bytes),
        StateHead::Object { name, .. } => Err(unreadable(&format!("it is object {name}, and this version has no state store"))),
        StateHead::Lost => Err(unreadable("it is lost")),
    }
}

/// What a layer was made under, unless it is the one asked for.
fn made(layer: &Layer, split: &SplitId, target: Digest, plans: impl Fn(&Digest) -> Option<Made>) -> Result<Option<Made>, StateError> {
    if layer.root == target {
        return Ok(None);
    }
    plans(&layer.root).map(Some).ok_or_else(|| StateError::RootMissing { split: split.clone(), digest: layer.root })
}

fn restored(split: &SplitId, key: &KeyState, source: Option<&Plan>, target: &Plan) -> Result<RestoredKey, StateError> {
    let monitor = Monitor::restore(source.unwrap_or(target), &key.snapshot);
    let monitor = monitor.map_err(|error| StateError::Unreadable { split: split.clone(), what: error.to_string() })?;
    let monitor = match source {
        Some(source) => Transfer::apply(source, target, &monitor),
        None => monitor,
    };
    Ok(RestoredKey { key: key.key.clone(), monitor, last_arrival: key.last_arrival })
}

#[cfg(test)]
mod tests {
    use super::super::capture::{Capture, Frozen, FrozenKey};
    use super::super::{SplitKeys, StateError};
    use super::{Made, restore};
    use crate::dataflow::value::{Cell, Value};
    use crate::dataflow::{Monitor, Plan, RecordTime, Scratch, testing};
    use crate::flow::{Admission, CaptureId, Digest, Ordinal, RootEpoch, RootRef, SplitEpoch, SplitId, SplitState, StateHead};
    use std::sync::Arc;

    fn plan(root: &str) -> Arc<Plan> {
        Arc::new(testing::plan(root))
    }

    const COUNTER: &str = "out n: Int = default(n[1], 0) + 1";

    /// A counter that has counted so far.
    fn counted(plan: &Plan, ticks: i64) -> Monitor {
        let mut monitor = Monitor::new(plan);
        for at in 0..ticks {
            monitor.tick(plan, &[], RecordTime { record: at, arrival: at }, &mut Scratch::default()).unwrap();
        }
        monitor
    }

    fn next(plan: &Plan, monitor: &mut Monitor) -> Cell {
        monitor.tick(plan, &[], RecordTime { record: 0, arrival: 0 }, &mut Scratch::default()).unwrap().cell(0)
    }

    fn capture(split: &str, root: &str, plan: &Arc<Plan>, keys: Vec<(&str, Option<(i64, i64)>)>) -> Capture {
        let keys = keys.into_iter().map(|(key, state)| FrozenKey {
            key: key.as_bytes().into(),
            state: state.map(|(ticks, last_arrival)| Frozen { monitor: counted(plan, ticks), last_arrival }),
        });
        Capture {
            id: CaptureId::new(1),
            split: SplitId::new(split),
            epoch: SplitEpoch::new(1),
            at: Ordinal::new(1),
            admission: Admission::new(1),
            root: RootRef { epoch: RootEpoch::new(1), digest: Digest::of(root.as_bytes()) },
            plan: Arc::clone(plan),
            keys: keys.collect(),
        }
    }

    fn head(split: &str, root: &str, plan: &Arc<Plan>, keys: Vec<(&str, Option<(i64, i64)>)>) -> SplitState {
        let mut state = SplitKeys::new(SplitId::new(split), Digest::of(root.as_bytes()), plan, &[]);
        SplitState { split: SplitId::new(split), head: state.store(capture(split, root, plan, keys)).unwrap() }
    }

    #[test]
    fn a_split_goes_on_from_its_captures() {
        let plan = plan(COUNTER);
        let mut state = SplitKeys::new(SplitId::new("s"), Digest::of(b"r"), &plan, &[]);
        state.store(capture("s", "r", &plan, vec![("a", Some((3, 30))), ("b", Some((1, 10))), ("c", Some((5, 1)))])).unwrap();
        let head = state.store(capture("s", "r", &plan, vec![("a", Some((4, 40))), ("c", None)])).unwrap();
        let states = [SplitState { split: SplitId::new("s"), head }];
        let mut keys = restore(&SplitId::new("s"), &states, (Digest::of(b"r"), &plan), |_| None).unwrap();
        let seen: Vec<_> = keys.iter().map(|key| (key.key.as_ref(), key.last_arrival)).collect();
        assert_eq!(seen, [(&b"a"[..], 40), (&b"b"[..], 10)]);
        assert_eq!(next(&plan, &mut keys[0].monitor).value().and_then(Value::as_int), Some(5));
    }

    #[test]
    fn of_two_parents_the_later_record_wins_and_own_state_over_both() {
        let plan = plan(COUNTER);
        let own = head("m", "r", &plan, vec![("own", Some((1, 1)))]);
        let one = head("p", "r", &plan, vec![("both", Some((2, 20))), ("own", Some((9, 90)))]);
        let other = head("q", "r", &plan, vec![("both", Some((3, 30))), ("left", Some((4, 4)))]);
        for states in [[own.clone(), one.clone(), other.clone()], [own, other, one]] {
            let keys = restore(&SplitId::new("m"), &states, (Digest::of(b"r"), &plan), |_| None).unwrap();
            let seen: Vec<_> = keys.iter().map(|key| (std::str::from_utf8(&key.key).unwrap(), key.last_arrival)).collect();
            assert_eq!(seen, [("both", 30), ("left", 4), ("own", 1)]);
        }
    }

    #[test]
    fn state_of_another_root_is_transferred_and_never_guessed() {
        let (old, new) = (plan(COUNTER), plan("aux n: Int = default(n[1], 0) + 1 out m: Int = n * 10"));
        let states = [head("s", "old", &old, vec![("a", Some((3, 30)))])];
        let split = SplitId::new("s");
        let target = (Digest::of(b"new"), &*new);
        let mut keys = restore(&split, &states, target, |_| Some(Made::Under(Arc::clone(&old)))).unwrap();
        let row = keys[0].monitor.tick(&new, &[], RecordTime { record: 0, arrival: 0 }, &mut Scratch::default()).map(|row| row.cell(1));
        assert_eq!(row.unwrap().value().and_then(Value::as_int), Some(40));
        assert!(matches!(restore(&split, &states, target, |_| None), Err(StateError::RootMissing { .. })));
        assert!(restore(&split, &states, target, |_| Some(Made::ForOtherKeys)).unwrap().is_empty(), "under another rule it has no owner");
        for lost in [StateHead::Lost, StateHead::Inline(Arc::from(&b"x"[..]))] {
            let states = [SplitState { split: split.clone(), head: lost }];
            assert!(matches!(restore(&split, &states, target, |_| None), Err(StateError::Unreadable { .. })));
        }
    }

    #[test]
    fn state_that_does_not_fit_is_refused_by_name() {
        let plan = plan(COUNTER);
        let names: Vec<_> = (0..4_000).map(|at| format!("key-{at:05}")).collect();
        let keys = names.iter().map(|name| (name.as_str(), Some((1, 1)))).collect();
        let mut state = SplitKeys::new(SplitId::new("big"), Digest::of(b"r"), &plan, &[]);
        let error = state.store(capture("big", "r", &plan, keys)).unwrap_err();
        assert!(error.to_string().starts_with("the state of split big has "), "{error}");
    }
}
