//! Scenario 34 of the acceptance page, its second half: keys that are dealt over other splits go on as if never stopped.

use super::programs::{row, streams, tape};
use super::properties::{config, program, tick};
use millrace::dataflow::value::Cell;
use millrace::dataflow::{Limits, Monitor, Plan, Scratch, TickError};
use millrace::lang;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A record: its key, the seconds since the one before, the cells of its inputs.
type Record = (u8, i64, Vec<Cell>);
/// What is stored of a split: a key's bytes.
type Stored = BTreeMap<u8, Vec<u8>>;

/// The keys that a worker holds of one split, under a plan that it has compiled for itself.
struct Split<'a> {
    plan: &'a Plan,
    scratch: Scratch,
    keys: BTreeMap<u8, Monitor>,
}

impl<'a> Split<'a> {
    fn restored(plan: &'a Plan, stored: Stored) -> Self {
        let keys = stored.into_iter().map(|(key, bytes)| (key, Monitor::restore(plan, &bytes).unwrap())).collect();
        Self { plan, scratch: Scratch::default(), keys }
    }

    fn tick(&mut self, key: u8, timed: (i64, &[Cell])) -> Result<Vec<Cell>, TickError> {
        let monitor = self.keys.entry(key).or_insert_with(|| Monitor::new(self.plan));
        tick(self.plan, monitor, &mut self.scratch, timed)
    }

    fn stored(&self) -> Stored {
        self.keys.iter().map(|(key, monitor)| (*key, monitor.snapshot(self.plan))).collect()
    }
}

const KEYS: u8 = 5;

/// Deals stored keys over as many splits as there are, each key to one.
fn dealt<'a>(plan: &'a Plan, stored: &Stored, home: &[usize], count: usize) -> Vec<Split<'a>> {
    let own = |nth: usize| stored.iter().filter(move |(key, _)| home[usize::from(**key)] == nth);
    (0..count).map(|nth| Split::restored(plan, own(nth).map(|(key, bytes)| (*key, bytes.clone())).collect())).collect()
}

fn together(splits: &[Split<'_>]) -> Stored {
    let all: Vec<(u8, Vec<u8>)> = splits.iter().flat_map(Split::stored).collect();
    let stored: Stored = all.iter().cloned().collect();
    assert_eq!(stored.len(), all.len(), "a key stands in two splits");
    stored
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let seconds = prop_oneof![6 => 0_i64..3, 1 => -4_i64..0, 1 => 5_i64..15];
    prop::collection::vec((0..KEYS, seconds, row()), 1..24)
}

/// For each key, which of two children it is of.
fn homes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..2, usize::from(KEYS))
}

proptest! {
    #![proptest_config(config())]

    /// At every cut: the keys of a split go over to two children, of which one is split once more or both are merged later,
    /// and every key's rows, failures and bytes are those of a split that never stopped.
    #[test]
    fn scenario_34_keys_dealt_over_children_go_on_as_if_never_stopped(
        tape in tape(), records in records(), homes in (homes(), homes()), merge in any::<bool>(),
    ) {
        let root = program(&streams(&tape));
        let checked = lang::check(&root);
        prop_assume!(checked.is_ok());
        let checked = checked.unwrap();
        // Of the worker that never stops, and of two others.
        let [plan, one, next] = [0; 3].map(|_| Plan::new(&checked, Limits::default()));
        for cut in 0..=records.len() {
            let again = cut + (records.len() - cut) / 2;
            let mut never_stopped = Split::restored(&plan, Stored::new());
            let mut splits = vec![Split::restored(&plan, Stored::new())];
            let mut home = vec![0; usize::from(KEYS)];
            let mut now = 1_000_000_000;
            for (nth, (key, seconds, row)) in records.iter().enumerate() {
                if nth == cut {
                    home.clone_from(&homes.0);
                    splits = dealt(&one, &together(&splits), &home, 2);
                }
                if nth == again {
                    // One split again, or a child of each child.
                    home = homes.0.iter().zip(&homes.1).map(|(one, next)| if merge { 0 } else { one * 2 + next }).collect();
                    splits = dealt(&next, &together(&splits), &home, if merge { 1 } else { 4 });
                }
                now += seconds * 1_000_000;
                let got = splits[home[usize::from(*key)]].tick(*key, (now, row));
                prop_assert_eq!(got, never_stopped.tick(*key, (now, row)), "cut {}, record {} of key {}\n{}", cut, nth, key, root);
            }
            prop_assert_eq!(together(&splits), never_stopped.stored(), "cut {}\n{}", cut, root);
        }
    }
}
