//! Who should read what: a pure function of members, splits, and where each split is now.
//!
//! Owns: sticky, fill, improve, in this order.
//! May not: know records, clocks or chance; who calls it decides which splits can be claimed and which may move.

use super::records::WorkerName;
use crate::flow::SplitId;
use std::collections::{BTreeMap, BTreeSet};

/// A split that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimable {
    /// Its measured rate; 1 until measured.
    pub weight: u64,
    /// Who has it: its live owner, or the member that it was promised to.
    pub at: Option<WorkerName>,
    /// Whether it must not be moved for balance now: it has just moved.
    pub pinned: bool,
}

/// What an assignment is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// The members, each with the load that it takes.
    pub members: BTreeMap<WorkerName, u64>,
    /// The splits that can be claimed.
    pub splits: BTreeMap<SplitId, Claimable>,
    /// Splits that are kept for a worker that vanished: nobody gets them now.
    pub withheld: BTreeSet<SplitId>,
    /// Made from the pipeline, never from the leader: it breaks ties, and two leaders break them alike.
    pub seed: u64,
}

/// Who should read what.
pub type Wishes = BTreeMap<WorkerName, BTreeSet<SplitId>>;

struct Bench<'a> {
    fleet: &'a Fleet,
    /// Exact: what is saturated cannot be taken back.
    loads: BTreeMap<&'a WorkerName, u128>,
    wishes: BTreeMap<&'a WorkerName, BTreeSet<&'a SplitId>>,
}

/// Assigns splits to members: each to one at most; what no budget has room for, to none.
#[must_use]
pub fn assign(fleet: &Fleet) -> Wishes {
    let loads = fleet.members.keys().map(|member| (member, 0)).collect();
    let wishes = fleet.members.keys().map(|member| (member, BTreeSet::new())).collect();
    let mut bench = Bench { fleet, loads, wishes };
    let mut rest = bench.stick();
    // A move may make room for what had none.
    loop {
        rest = bench.fill(rest);
        if !bench.improve() || rest.is_empty() {
            break;
        }
    }
    bench.wishes.into_iter().map(|(member, splits)| (member.clone(), splits.into_iter().cloned().collect())).collect()
}

impl<'a> Bench<'a> {
    fn weight(&self, split: &SplitId) -> u64 {
        self.fleet.splits.get(split).map_or(1, |one| one.weight.max(1))
    }

    fn load(&self, member: &WorkerName) -> u128 {
        self.loads.get(member).copied().unwrap_or_default()
    }

    /// Sums saturate: the greatest budget has room for everything.
    fn has_room(&self, member: &WorkerName, weight: u64) -> bool {
        let after = self.load(member).saturating_add(weight.into()).min(u64::MAX.into());
        self.fleet.members.get(member).is_some_and(|budget| after <= u128::from(*budget))
    }

    fn give(&mut self, member: &'a WorkerName, split: &'a SplitId) {
        let weight = self.weight(split);
        self.loads.entry(member).and_modify(|load| *load = load.saturating_add(weight.into()));
        self.wishes.entry(member).or_default().insert(split);
    }

    fn take(&mut self, member: &'a WorkerName, split: &'a SplitId) {
        let weight = self.weight(split);
        self.loads.entry(member).and_modify(|load| *load = load.saturating_sub(weight.into()));
        self.wishes.entry(member).or_default().remove(split);
    }

    /// Leaves each split where it is, as far as the budget there goes; heaviest first. Answers those left over.
    fn stick(&mut self) -> Vec<&'a SplitId> {
        let mut rest = Vec::new();
        for split in self.heaviest_first(self.fleet.splits.keys().collect()) {
            let at = self.fleet.splits.get(split).and_then(|one| one.at.as_ref());
            match at.filter(|member| self.has_room(member, self.weight(split))) {
                Some(member) => self.give(member, split),
                None => rest.push(split),
            }
        }
        rest
    }

    /// Gives each split to the least loaded member with room for it. Answers those that nobody has room for.
    fn fill(&mut self, mut rest: Vec<&'a SplitId>) -> Vec<&'a SplitId> {
        rest.retain(|split| !self.fleet.withheld.contains(*split));
        let mut left = Vec::new();
        for split in self.heaviest_first(rest) {
            let weight = self.weight(split);
            let members = self.fleet.members.keys().filter(|member| self.has_room(member, weight));
            match members.min_by_key(|member| (self.load(member), self.tie(member, split), *member)) {
                Some(member) => self.give(member, split),
                None => left.push(split),
            }
        }
        left
    }

    /// Moves splits while a move evens loads out by more than noise; whether any moved. Each move lowers the sum of the
    /// squares of the loads, so it ends.
    fn improve(&mut self) -> bool {
        let mut moved = false;
        while let Some((from, to, split)) = self.best_move() {
            self.take(from, split);
            self.give(to, split);
            moved = true;
        }
        moved
    }

    /// The heaviest split that evens out, from the most loaded member to the least loaded one for which there is one.
    fn best_move(&self) -> Option<(&'a WorkerName, &'a WorkerName, &'a SplitId)> {
        let mut members: Vec<&'a WorkerName> = self.fleet.members.keys().collect();
        members.sort_by_key(|member| (self.load(member), *member));
        let pairs = members.iter().rev().flat_map(|from| members.iter().map(move |to| (*from, *to)));
        pairs.filter(|(from, to)| from != to).find_map(|(from, to)| {
            let splits = self.wishes.get(from)?.iter().copied().filter(|split| self.evens_out(from, to, split));
            splits.max_by_key(|split| (self.weight(split), self.tie(to, split), *split)).map(|split| (from, to, split))
        })
    }

    fn evens_out(&self, from: &WorkerName, to: &WorkerName, split: &SplitId) -> bool {
        let weight = self.weight(split);
        let pinned = self.fleet.splits.get(split).is_none_or(|one| one.pinned);
        let floor = self.load(to).saturating_add(weight.into()).saturating_add(self.band());
        !pinned && self.has_room(to, weight) && self.load(from) > floor
    }

    /// A tenth of the mean load: differences below it are noise.
    fn band(&self) -> u128 {
        let tenths = u128::try_from(self.loads.len()).unwrap_or(u128::MAX).saturating_mul(10);
        self.loads.values().fold(0_u128, |sum, load| sum.saturating_add(*load)).checked_div(tenths).unwrap_or(0)
    }

    fn heaviest_first(&self, mut splits: Vec<&'a SplitId>) -> Vec<&'a SplitId> {
        splits.sort_by_key(|split| (std::cmp::Reverse(self.weight(split)), *split));
        splits
    }

    /// A number that is the same for every leader of this pipeline.
    fn tie(&self, member: &WorkerName, split: &SplitId) -> u64 {
        let bytes = member.as_str().bytes().chain([0]).chain(split.as_str().bytes());
        // FNV-1a: it need only spread.
        bytes.fold(self.fleet.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn worker(number: usize) -> WorkerName {
        WorkerName::new(&format!("w-{number}"))
    }

    fn split(number: usize) -> SplitId {
        SplitId::new(&format!("s-{number}"))
    }

    fn fleets() -> impl Strategy<Value = Fleet> {
        let budget = prop_oneof![Just(u64::MAX), 0..40_u64];
        let weight = prop_oneof![Just(1), 0..12_u64, Just(u64::MAX)];
        let one = (weight, prop::option::of(0..6_usize), prop::bool::weighted(0.2), prop::bool::weighted(0.1));
        (prop::collection::vec(budget, 0..5), prop::collection::vec(one, 0..24), any::<u64>()).prop_map(|(budgets, ones, seed)| {
            let members = budgets.into_iter().enumerate().map(|(number, budget)| (worker(number), budget)).collect();
            let withheld = ones.iter().enumerate().filter(|(_, one)| one.3).map(|(number, _)| split(number)).collect();
            let claimable = |(weight, at, pinned, _): (u64, Option<usize>, bool, bool)| Claimable { weight, at: at.map(worker), pinned };
            let splits = ones.into_iter().enumerate().map(|(number, one)| (split(number), claimable(one))).collect();
            Fleet { members, splits, withheld, seed }
        })
    }

    fn weight(fleet: &Fleet, split: &SplitId) -> u64 {
        fleet.splits[split].weight.max(1)
    }

    fn load(fleet: &Fleet, splits: &BTreeSet<SplitId>) -> u128 {
        splits.iter().map(|split| u128::from(weight(fleet, split))).sum()
    }

    fn has_room(fleet: &Fleet, member: &WorkerName, load: u128) -> bool {
        load.min(u64::MAX.into()) <= fleet.members[member].into()
    }

    /// The fleet as it will be once everybody has what they should.
    fn settled(fleet: &Fleet, wishes: &Wishes) -> Fleet {
        let mut next = fleet.clone();
        for (name, one) in &mut next.splits {
            one.at = wishes.iter().find(|(_, splits)| splits.contains(name)).map(|(member, _)| member.clone());
        }
        next
    }

    proptest! {
        #[test]
        fn no_split_is_given_twice_and_no_budget_is_passed(fleet in fleets()) {
            let wishes = assign(&fleet);
            prop_assert!(wishes.keys().eq(fleet.members.keys()));
            let mut given = BTreeSet::new();
            for (member, splits) in &wishes {
                prop_assert!(has_room(&fleet, member, load(&fleet, splits)));
                for split in splits {
                    prop_assert!(fleet.splits.contains_key(split));
                    prop_assert!(given.insert(split.clone()), "{split} twice");
                }
            }
        }

        #[test]
        fn it_is_a_fixpoint_of_its_own_output_and_leaves_no_improving_move(fleet in fleets()) {
            let wishes = assign(&fleet);
            let next = settled(&fleet, &wishes);
            prop_assert_eq!(&assign(&next), &wishes);
            let band = wishes.values().map(|splits| load(&fleet, splits)).sum::<u128>().checked_div(10 * wishes.len() as u128).unwrap_or(0);
            for (from, splits) in &wishes {
                for split in splits.iter().filter(|split| !fleet.splits[*split].pinned) {
                    for (to, theirs) in wishes.iter().filter(|(to, _)| *to != from) {
                        let after = load(&fleet, theirs) + u128::from(weight(&fleet, split));
                        let moves = has_room(&fleet, to, after) && load(&fleet, splits) > after + band;
                        prop_assert!(!moves, "{split} should go from {from} to {to}");
                    }
                }
            }
        }

        #[test]
        fn whatever_a_budget_has_room_for_is_given(fleet in fleets()) {
            let wishes = assign(&fleet);
            for split in fleet.splits.keys().filter(|split| !fleet.withheld.contains(*split)) {
                if !wishes.values().any(|splits| splits.contains(split)) {
                    for (member, splits) in &wishes {
                        let after = load(&fleet, splits) + u128::from(weight(&fleet, split));
                        prop_assert!(!has_room(&fleet, member, after), "{member} has room for {split}");
                    }
                }
            }
        }

        #[test]
        fn a_pinned_split_stays_with_a_member_that_has_room_for_all(fleet in fleets()) {
            let wishes = assign(&fleet);
            let stays = |at: &WorkerName| fleet.members.get(at) == Some(&u64::MAX);
            for (split, one) in fleet.splits.iter().filter(|(_, one)| one.pinned) {
                if let Some(at) = one.at.as_ref().filter(|at| stays(at)) {
                    prop_assert!(wishes[at].contains(split), "{split} left {at}");
                }
            }
        }

        #[test]
        fn a_withheld_split_goes_to_nobody_new(fleet in fleets()) {
            let wishes = assign(&fleet);
            for split in &fleet.withheld {
                let at = fleet.splits[split].at.as_ref();
                let first: Vec<_> = wishes.iter().filter(|(_, splits)| splits.contains(split)).map(|(member, _)| member).collect();
                prop_assert!(first.is_empty() || at.is_some_and(|at| fleet.members.contains_key(at)));
            }
        }
    }

    fn equal(members: usize, at: impl Fn(usize) -> Option<usize>, splits: usize) -> Fleet {
        let one = |number| Claimable { weight: 1, at: at(number).map(worker), pinned: false };
        Fleet {
            members: (0..members).map(|number| (worker(number), u64::MAX)).collect(),
            splits: (0..splits).map(|number| (split(number), one(number))).collect(),
            ..Fleet::default()
        }
    }

    #[test]
    fn a_third_worker_gets_its_share_and_nothing_else_moves() {
        let fleet = equal(3, |number| Some(number % 2), 9);
        let wishes = assign(&fleet);
        assert_eq!(wishes.values().map(BTreeSet::len).collect::<Vec<_>>(), [3, 3, 3]);
        let moved = fleet.splits.iter().filter(|(split, one)| !wishes[one.at.as_ref().unwrap()].contains(*split)).count();
        assert_eq!(moved, 3);
    }

    #[test]
    fn noise_below_the_band_moves_nothing() {
        let mut fleet = equal(2, |number| Some(number % 2), 8);
        for (number, one) in fleet.splits.values_mut().enumerate() {
            one.weight = 100 + (number as u64 * 7) % 10;
        }
        let wishes = assign(&fleet);
        assert!(fleet.splits.iter().all(|(split, one)| wishes[one.at.as_ref().unwrap()].contains(split)));
    }

    #[test]
    fn weights_that_would_overflow_saturate() {
        let mut fleet = equal(2, |_| None, 3);
        fleet.splits.values_mut().for_each(|one| one.weight = u64::MAX);
        assert_eq!(assign(&fleet).values().map(BTreeSet::len).sum::<usize>(), 3);
    }
}
