//! Which revisions may go.

use super::{At, State};
use crate::flow::{Digest, RootEpoch};
use std::collections::BTreeSet;

/// So many of the last revisions stay whatever names them.
const LAST: usize = 5;

/// A stored revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) struct Kept {
    /// Its program, and the highest epoch that was to be its.
    pub(in crate::operator) at: At,
    /// The last epoch under which it has proven good.
    pub(in crate::operator) soaked: Option<RootEpoch>,
}

/// The revisions that may go: the revisions were read first, then the state, then all that names one. `named` are the
/// programs of instructions, answers and progress; `oldest` is the lowest epoch that any split still speaks of.
///
/// A layer written before a cutover needs the program that ran then. Splits name where roots took over, not what ran
/// before the first of those; that is the last program that was committed below, and of what is below, the last that has
/// proven good was committed. So everything from that one on is kept.
pub(in crate::operator) fn may_go(state: &State, revisions: &[Kept], named: &BTreeSet<Digest>, oldest: Option<RootEpoch>) -> Vec<Digest> {
    let settled = state.target.is_none() && !state.recovering && state.active.is_some_and(|active| active.acked);
    if !settled {
        return Vec::new();
    }
    let mut epochs: Vec<_> = revisions.iter().map(|kept| kept.at.epoch).collect();
    epochs.sort_unstable();
    let last = epochs.iter().rev().nth(LAST.saturating_sub(1)).copied();
    let Some(last) = last else { return Vec::new() };
    let before = |oldest: RootEpoch| revisions.iter().filter_map(|kept| kept.soaked).filter(|epoch| *epoch < oldest).max();
    let floor = oldest.map_or(last, |oldest| before(oldest).unwrap_or_default());
    let ours = [state.active.map(|active| active.at), state.good, state.blocked];
    let in_status = |digest: Digest| ours.into_iter().flatten().any(|at| at.digest == digest);
    let goes = |kept: &&Kept| kept.at.epoch < last.min(floor) && kept.at.epoch <= state.epoch;
    let free = |kept: &&Kept| !in_status(kept.at.digest) && !named.contains(&kept.at.digest);
    revisions.iter().filter(goes).filter(free).map(|kept| kept.at.digest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Active, At, State, Target};
    use super::{Kept, may_go};
    use crate::flow::{Digest, RootEpoch};
    use std::collections::BTreeSet;

    fn at(epoch: i64) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
    }

    fn settled(epoch: i64) -> State {
        let active = Active { acked: true, soaked: true, ..Active::committed(Target { at: at(epoch), recovery: false }) };
        State { epoch: RootEpoch::new(epoch), active: Some(active), good: Some(at(epoch)), ..State::default() }
    }

    fn revisions(last: i64) -> Vec<Kept> {
        (1..=last).map(|epoch| Kept { at: at(epoch), soaked: Some(RootEpoch::new(epoch)) }).collect()
    }

    fn go(state: &State, revisions: &[Kept], named: &[i64], oldest: Option<i64>) -> Vec<Digest> {
        let named: BTreeSet<_> = named.iter().map(|epoch| at(*epoch).digest).collect();
        may_go(state, revisions, &named, oldest.map(RootEpoch::new))
    }

    fn digests(epochs: &[i64]) -> Vec<Digest> {
        epochs.iter().map(|epoch| at(*epoch).digest).collect()
    }

    #[test]
    fn all_but_the_last_five_go_once_nothing_names_them() {
        assert_eq!(go(&settled(8), &revisions(8), &[], Some(8)), digests(&[1, 2, 3]));
        assert_eq!(go(&settled(8), &revisions(8), &[2], Some(8)), digests(&[1, 3]));
        assert_eq!(go(&settled(5), &revisions(5), &[], Some(5)), digests(&[]));
        assert_eq!(go(&State { good: Some(at(1)), ..settled(8) }, &revisions(8), &[], None), digests(&[2, 3]));
    }

    #[test]
    fn what_ran_before_the_oldest_cutover_that_a_split_names_stays() {
        assert_eq!(go(&settled(9), &revisions(9), &[], Some(3)), digests(&[1]));
        let mut aborted = revisions(9);
        aborted[1].soaked = None;
        assert_eq!(go(&settled(9), &aborted, &[], Some(3)), digests(&[]));
    }

    #[test]
    fn nothing_goes_while_a_cutover_is_under_way_or_after_one_that_we_do_not_know() {
        let state = settled(8);
        let target = Some(Target { at: at(9), recovery: false });
        assert!(go(&State { target, ..state }, &revisions(8), &[], None).is_empty());
        assert!(go(&State { recovering: true, ..state }, &revisions(8), &[], None).is_empty());
        let unacked = state.active.map(|active| Active { acked: false, ..active });
        assert!(go(&State { active: unacked, ..state }, &revisions(8), &[], None).is_empty());
        let old = State { epoch: RootEpoch::new(2), ..state };
        assert_eq!(go(&old, &revisions(8), &[], None), digests(&[1, 2]));
    }
}
