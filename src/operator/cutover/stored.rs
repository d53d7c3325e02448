//! What is remembered, as it stands in status.

use super::{Active, At, State, Target, recover};
use crate::api::pipeline::{RevisionStatus, RootStatus, StreamPipelineStatus};

/// So many failed attempts are shown.
const FAILED: usize = 5;

/// What a status says; `None` where it says nothing, or nothing that can be read: then it is lost.
pub(in crate::operator) fn remembered(status: Option<&StreamPipelineStatus>) -> Option<State> {
    let status = status?;
    let root = status.root.clone().unwrap_or_default();
    let active = read(root.active.as_ref(), |at, shown| Active {
        at,
        acked: shown.acknowledged == Some(true),
        soaked: shown.soaked == Some(true),
        failed: shown.failure.is_some(),
        recovery: shown.rollback == Some(true),
    })?;
    Some(State {
        epoch: status.epoch?,
        active,
        target: read(root.target.as_ref(), |at, shown| Target { at, recovery: shown.rollback == Some(true) })?,
        good: read(root.last_known_good.as_ref(), |at, _| at)?,
        blocked: read(root.blocked.as_ref(), |at, _| at)?,
        used: status.used_retry_epoch,
        recovering: root.recovering == Some(true),
        recovery_failed: root.recovery_failed == Some(true),
    })
}

/// The outer `None`: there is one, and it cannot be read.
#[expect(clippy::option_option, reason = "an absent program and one that cannot be read are two things, and this is the only place")]
fn read<T>(shown: Option<&RevisionStatus>, make: impl Fn(At, &RevisionStatus) -> T) -> Option<Option<T>> {
    let Some(shown) = shown else { return Some(None) };
    recover::named(shown.epoch, &shown.digest).map(|at| Some(make(at, shown)))
}

/// What status is to say of the programs. `before` is what it says now; the generation is that of the manifest from which
/// what is new in it comes; `failure` is why what failed now has failed.
pub(in crate::operator) fn written(state: &State, before: &RootStatus, generation: Option<i64>, failure: Option<&str>) -> RootStatus {
    let known = [&before.active, &before.target, &before.blocked, &before.last_known_good];
    let known = |at: At| known.into_iter().flatten().find(|shown| shown.epoch == at.epoch);
    let show = |at: At| RevisionStatus {
        digest: at.digest.to_string(),
        generation: known(at).map_or(generation, |shown| shown.generation),
        epoch: at.epoch,
        rollback: None,
        acknowledged: None,
        soaked: None,
        failure: None,
    };
    let why = |at: At| known(at).and_then(|shown| shown.failure.clone()).or_else(|| failure.map(str::to_owned));
    let unknown = || "it failed; the operator that saw it has not said why".to_owned();
    let flag = |value: bool| value.then_some(true);
    let active = state.active.map(|active| RevisionStatus {
        rollback: flag(active.recovery),
        acknowledged: Some(active.acked),
        soaked: Some(active.soaked),
        failure: active.failed.then(|| why(active.at).unwrap_or_else(unknown)),
        ..show(active.at)
    });
    let blocked = state.blocked.map(|at| RevisionStatus { failure: Some(why(at).unwrap_or_else(unknown)), ..show(at) });
    RootStatus {
        failed: failures(&before.failed, [&active, &blocked]),
        active,
        target: state.target.map(|target| RevisionStatus { rollback: flag(target.recovery), ..show(target.at) }),
        last_known_good: state.good.map(show),
        blocked,
        recovering: flag(state.recovering),
        recovery_failed: flag(state.recovery_failed),
    }
}

/// The failed attempts, the last first.
fn failures(before: &[RevisionStatus], now: [&Option<RevisionStatus>; 2]) -> Vec<RevisionStatus> {
    let mut all = before.to_vec();
    let failed = now.into_iter().flatten().filter(|shown| shown.failure.is_some());
    for shown in failed.filter(|shown| !before.iter().any(|known| known.epoch == shown.epoch)) {
        if !all.iter().any(|known| known.epoch == shown.epoch) {
            all.insert(0, RevisionStatus { acknowledged: None, soaked: None, ..shown.clone() });
        }
    }
    all.truncate(FAILED);
    all
}

#[cfg(test)]
mod tests {
    use super::super::{Active, At, State, Target};
    use super::{remembered, written};
    use crate::api::pipeline::{RootStatus, StreamPipelineStatus};
    use crate::flow::{Digest, RootEpoch};
    use proptest::prelude::*;

    fn at(epoch: i64) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
    }

    fn status(state: &State, root: RootStatus) -> StreamPipelineStatus {
        StreamPipelineStatus { epoch: Some(state.epoch), used_retry_epoch: state.used, root: Some(root), ..StreamPipelineStatus::default() }
    }

    fn maybe() -> impl Strategy<Value = Option<At>> {
        proptest::option::of((1_i64..9).prop_map(at))
    }

    prop_compose! {
        fn states()(
            epoch in 0_i64..9, active in maybe(), target in maybe(), good in maybe(), blocked in maybe(), used in proptest::option::of(1_i64..9),
            flags in proptest::array::uniform7(any::<bool>()),
        ) -> State {
            let [acked, soaked, failed, recovery, aims, recovering, recovery_failed] = flags;
            State {
                epoch: RootEpoch::new(epoch),
                active: active.map(|at| Active { at, acked, soaked, failed, recovery }),
                target: target.map(|at| Target { at, recovery: aims }),
                good,
                blocked,
                used: used.map(RootEpoch::new),
                recovering,
                recovery_failed,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_remembered(state in states(), earlier in states()) {
            let before = written(&earlier, &RootStatus::default(), Some(1), Some("why"));
            let shown = written(&state, &before, Some(2), None);
            prop_assert!(shown.failed.len() <= 5);
            prop_assert_eq!(remembered(Some(&status(&state, shown))), Some(state));
        }
    }

    #[test]
    fn a_status_without_an_epoch_or_with_a_digest_that_is_none_is_lost() {
        assert_eq!(remembered(None), None);
        assert_eq!(remembered(Some(&StreamPipelineStatus { observed_generation: Some(-1), ..StreamPipelineStatus::default() })), None);
        let state = State { epoch: RootEpoch::new(1), good: Some(at(1)), ..State::default() };
        let mut root = written(&state, &RootStatus::default(), None, None);
        root.last_known_good.as_mut().unwrap().digest = "sha256:?".into();
        assert_eq!(remembered(Some(&status(&state, root))), None);
    }

    #[test]
    fn a_revision_keeps_the_generation_it_came_from_and_why_it_failed() {
        let target = State { epoch: RootEpoch::new(1), target: Some(Target { at: at(1), recovery: false }), ..State::default() };
        let first = written(&target, &RootStatus::default(), Some(3), None);
        let aborted = State { target: None, blocked: Some(at(1)), ..target };
        let second = written(&aborted, &first, Some(4), Some("no such function"));
        let blocked = second.blocked.clone().unwrap();
        assert_eq!((blocked.generation, blocked.failure.as_deref()), (Some(3), Some("no such function")));
        assert_eq!(written(&aborted, &second, Some(5), None).failed, second.failed);
        assert_eq!(second.failed.len(), 1);
    }
}
