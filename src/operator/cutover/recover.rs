//! What is made of a pipeline without a status: one that nobody has seen, one that was restored, one of a retained name.

use super::{Active, At, State};
use crate::flow::{Digest, RootEpoch};

/// Everything that survives a lost status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::operator) struct Facts {
    /// What workers are told to prepare, run or drop.
    pub(in crate::operator) told: Vec<At>,
    /// What workers are told is committed, what they run, and what splits' progress names: only what was committed.
    pub(in crate::operator) committed: Vec<At>,
    /// Revisions with the highest epoch that was to be theirs.
    pub(in crate::operator) revisions: Vec<At>,
    /// Revisions with the last epoch under which they have proven good.
    pub(in crate::operator) soaked: Vec<At>,
    /// Epochs of which the program is not known: where roots took over.
    pub(in crate::operator) epochs: Vec<RootEpoch>,
}

/// The state that follows from what survives. Its epoch is above all that was ever used, less one (I40, I42).
pub(in crate::operator) fn recovered(facts: &Facts) -> State {
    let named = [&facts.told, &facts.committed, &facts.revisions, &facts.soaked].into_iter().flatten().map(|at| at.epoch);
    let epoch = named.chain(facts.epochs.iter().copied()).max().unwrap_or_default();
    let highest = |list: &[At]| list.iter().copied().max_by_key(|at: &At| (at.epoch, at.digest));
    let active = highest(&facts.committed);
    State {
        epoch,
        active: active.map(|at| Active { at, acked: false, soaked: false, failed: false, recovery: false }),
        good: highest(&facts.soaked),
        recovering: epoch > RootEpoch::default(),
        ..State::default()
    }
}

/// A program as objects of the cluster name it, if its digest is one.
pub(in crate::operator) fn named(epoch: RootEpoch, digest: &str) -> Option<At> {
    digest.parse::<Digest>().ok().map(|digest| At { epoch, digest })
}

#[cfg(test)]
mod tests {
    use super::{At, Facts, State, recovered};
    use crate::flow::{Digest, RootEpoch};

    fn at(epoch: i64, text: &str) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(text.as_bytes()) }
    }

    #[test]
    fn a_pipeline_that_nobody_has_seen_begins_at_nothing() {
        assert_eq!(recovered(&Facts::default()), State::default());
    }

    #[test]
    fn i40_every_surviving_place_counts_for_the_epoch_and_only_commits_for_the_active_one() {
        let facts = Facts {
            told: vec![at(6, "b")],
            committed: vec![at(4, "a"), at(3, "z")],
            revisions: vec![at(7, "c"), at(6, "b"), at(4, "a")],
            soaked: vec![at(2, "y"), at(3, "z")],
            epochs: vec![RootEpoch::new(5)],
        };
        let state = recovered(&facts);
        assert_eq!(state.epoch, RootEpoch::new(7));
        assert_eq!(state.active.map(|active| (active.at, active.acked)), Some((at(4, "a"), false)));
        assert_eq!(state.good, Some(at(3, "z")));
        assert!(state.recovering && state.target.is_none());
        let alone = Facts { epochs: vec![RootEpoch::new(9)], ..Facts::default() };
        assert_eq!((recovered(&alone).epoch, recovered(&alone).active), (RootEpoch::new(9), None));
    }
}
