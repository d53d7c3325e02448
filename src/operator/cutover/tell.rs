//! What a worker is told.

use super::{At, State};
use crate::api::progress::RootAt;
use crate::api::stream_worker::{Instruction, Stage};
use crate::flow::RootEpoch;

/// The part of an instruction that the cutover decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::operator) struct Telling {
    /// What the stage speaks of.
    pub(in crate::operator) root: At,
    /// What to do with it.
    pub(in crate::operator) stage: Stage,
    /// What the worker follows whatever the stage.
    pub(in crate::operator) committed: Option<At>,
}

impl Telling {
    /// What stands in an instruction; none where a digest is none.
    pub(in crate::operator) fn of(instruction: &Instruction) -> Option<Self> {
        let at = |root: &RootAt| super::recover::named(root.epoch, &root.digest);
        let committed = instruction.committed.as_ref();
        let read = committed.and_then(at);
        (read.is_some() == committed.is_some()).then(|| at(&instruction.root)).flatten().map(|root| Self {
            root,
            stage: instruction.stage,
            committed: read,
        })
    }
}

/// What a worker that was told this is to be told now; `None` leaves it as it is. What stands above our own state was
/// told by somebody who knows more: it is left, and the state read again.
pub(in crate::operator) fn telling(state: &State, told: Option<Telling>) -> Option<Telling> {
    let committed = state.active.map(|active| active.at);
    let above = |at: Option<At>, limit: Option<RootEpoch>| at.is_some_and(|at| limit.is_none_or(|limit| at.epoch > limit));
    let told_root = told.map(|told| told.root);
    if above(told_root, Some(state.epoch)) || above(told.and_then(|told| told.committed), committed.map(|at| at.epoch)) {
        return None;
    }
    if let Some(target) = state.target {
        return Some(Telling { root: target.at, stage: Stage::Prepare, committed });
    }
    match (told, committed) {
        (Some(told), _) if above(told_root, committed.map(|at| at.epoch)) => {
            // A Commit above what is committed is nobody's of ours; it cannot be taken back either.
            (told.stage != Stage::Commit).then_some(Telling { root: told.root, stage: Stage::Cancel, committed })
        }
        (_, Some(active)) => Some(Telling { root: active, stage: Stage::Commit, committed }),
        (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Active, At, State, Target};
    use super::{Stage, Telling, telling};
    use crate::flow::{Digest, RootEpoch};

    fn at(epoch: i64) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
    }

    fn state(epoch: i64, active: Option<i64>, target: Option<i64>) -> State {
        let active = active.map(|epoch| Active::committed(Target { at: at(epoch), recovery: false }));
        State {
            epoch: RootEpoch::new(epoch),
            active,
            target: target.map(|epoch| Target { at: at(epoch), recovery: false }),
            ..State::default()
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "so it stands where a worker may have been told nothing")]
    fn told(root: i64, stage: Stage, committed: Option<i64>) -> Option<Telling> {
        Some(Telling { root: at(root), stage, committed: committed.map(at) })
    }

    #[test]
    fn a_worker_is_told_to_prepare_then_to_run_and_to_drop_what_was_cancelled() {
        assert_eq!(telling(&state(1, None, Some(1)), None), told(1, Stage::Prepare, None));
        assert_eq!(telling(&state(1, Some(1), None), told(1, Stage::Prepare, None)), told(1, Stage::Commit, Some(1)));
        assert_eq!(telling(&state(2, Some(1), None), told(2, Stage::Prepare, Some(1))), told(2, Stage::Cancel, Some(1)));
        assert_eq!(telling(&state(3, Some(1), Some(3)), told(2, Stage::Cancel, Some(1))), told(3, Stage::Prepare, Some(1)));
        assert_eq!(telling(&state(1, Some(1), None), None), told(1, Stage::Commit, Some(1)));
        assert_eq!(telling(&State::default(), None), None);
    }

    #[test]
    fn a_worker_that_missed_a_commit_learns_it_beside_a_later_cancel() {
        assert_eq!(telling(&state(3, Some(2), None), told(3, Stage::Prepare, Some(1))), told(3, Stage::Cancel, Some(2)));
    }

    #[test]
    fn i33_what_a_later_operator_has_told_is_left() {
        for above in [told(4, Stage::Prepare, Some(1)), told(3, Stage::Commit, Some(3)), told(3, Stage::Commit, None)] {
            assert_eq!(telling(&state(3, Some(1), None), above), None, "{above:?}");
        }
    }
}
