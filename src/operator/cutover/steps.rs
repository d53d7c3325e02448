//! Which step comes next.

use super::judge::Answers;
use super::{Active, At, State, Target, Wish};
use crate::flow::Digest;

/// What was looked up after the snapshot was read, and under it alone: a write drops all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::operator) struct Lookups {
    /// The program whose revision was made or found, annotated with the epoch to come.
    pub(in crate::operator) revised: Option<Digest>,
    /// What the joined workers answer.
    pub(in crate::operator) answers: Option<Answers>,
    /// Whether every split that a joined worker owns carries the active epoch; read after the answers.
    pub(in crate::operator) carried: Option<bool>,
    /// Whether the attempt's time is over; judged after the answers were read.
    pub(in crate::operator) late: bool,
    /// Whether the active revision bears that it has proven good.
    pub(in crate::operator) marked: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Step {
    /// The status is lost, or there was none: read everything that survives, and write one.
    Recover,
    /// See that this program's revision is there, annotated with this epoch at least; a recovery's is never made anew.
    Revise(At, Source),
    /// Read what the joined workers answer.
    LookAtAnswers,
    /// Read what the splits carry.
    LookAtRecords,
    /// Note on the revision that it has proven good under this epoch.
    Mark(At),
    /// Write this into status, under the snapshot's revision.
    Write(State, Wrote),
    /// Nothing, until something changes.
    Rest(Rest),
}

/// Where a revision's content comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Source {
    /// The spec.
    Spec,
    /// What is stored.
    Stored,
}

/// Which step a write of status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Wrote {
    /// An attempt begins.
    Intent,
    /// An attempt is given up because the spec names its program no more.
    Cancelled,
    /// The point of no return.
    Committed,
    /// An attempt has failed before its commit: a worker rejects it, or time is over.
    Aborted(Why),
    /// Every worker has acknowledged.
    Acknowledged,
    /// A committed program has failed.
    Failed(Why),
    /// It has proven good.
    Soaked,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Why {
    /// A worker rejects it for good.
    Rejected,
    /// Time is over.
    Late,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Rest {
    /// For an edit: nothing is left to be done, or nothing can be.
    Edit,
    /// For a rollout to end.
    Rollout,
    /// For workers to prepare.
    Prepare,
    /// For workers to join.
    Workers,
    /// For workers to acknowledge.
    Acknowledge,
    /// For splits to carry the epoch.
    Records,
    /// For a worker that runs it to say so.
    Soak,
}

/// The next step of a pipeline, by what was read of it and looked up since.
pub(in crate::operator) fn decide(wish: &Wish, state: Option<&State>, seen: &Lookups) -> Step {
    let Some(state) = state else { return Step::Recover };
    let state = state.under(wish);
    match (state.target, state.active) {
        (Some(target), _) => prepared(wish, state, target, seen),
        (None, active) => {
            if let Some(target) = next(wish, &state, seen) {
                return begin(wish, state, target, seen);
            }
            active.map_or(Step::Rest(Rest::Edit), |active| committed(wish, state, active, seen))
        }
    }
}

/// The attempt that is to begin: a committed one ends first, unless no worker is there to end it. So a fix reaches a
/// pipeline that is down.
fn next(wish: &Wish, state: &State, seen: &Lookups) -> Option<Target> {
    let down = seen.answers == Some(Answers::Nobody);
    let free = state.recovering || down || state.active.is_none_or(|active| active.acked || active.failed);
    if !free {
        return None;
    }
    let at = |digest| state.epoch.next().map(|epoch| At { epoch, digest });
    let wanted = wish.program().filter(|digest| may_begin(wish, state, *digest)).and_then(at);
    if let Some(at) = wanted {
        return Some(Target { at, recovery: false });
    }
    let recovered = state.active.filter(|_| state.recovering && !state.recovery_failed)?;
    at(recovered.at.digest).map(|at| Target { at, recovery: true })
}

fn may_begin(wish: &Wish, state: &State, digest: Digest) -> bool {
    let blocked = state.blocked.is_some_and(|blocked| blocked.digest == digest);
    let runs = state.active.is_some_and(|active| active.at.digest == digest && !active.failed && !state.recovering);
    !runs && (!blocked || state.may_retry(wish))
}

/// Whether the spec names another program, which may begin as soon as the committed one has ended.
fn is_superseded(wish: &Wish, state: &State) -> bool {
    wish.program().is_some_and(|digest| may_begin(wish, state, digest))
}

/// The revision first, then the intent (I42, I30).
fn begin(wish: &Wish, state: State, target: Target, seen: &Lookups) -> Step {
    if wish.rolling {
        return Step::Rest(Rest::Rollout);
    }
    if seen.revised != Some(target.at.digest) {
        let source = if target.recovery { Source::Stored } else { Source::Spec };
        return Step::Revise(target.at, source);
    }
    let retried = state.blocked.is_some_and(|blocked| blocked.digest == target.at.digest) && state.may_retry(wish);
    let used = if retried { wish.retry } else { state.used };
    Step::Write(State { epoch: target.at.epoch, target: Some(target), recovery_failed: false, used, ..state }, Wrote::Intent)
}

/// An attempt before its commit.
fn prepared(wish: &Wish, state: State, target: Target, seen: &Lookups) -> Step {
    if !target.recovery && wish.program() != Some(target.at.digest) {
        return Step::Write(State { target: None, ..state }, Wrote::Cancelled);
    }
    match seen.answers {
        None => Step::LookAtAnswers,
        Some(Answers::Rejected) => abort(state, target, Why::Rejected),
        Some(Answers::All | Answers::Nobody) => commit(state, target),
        Some(Answers::Waiting | Answers::Held) if !wish.wanted => commit(state, target),
        Some(Answers::Waiting | Answers::Held) if seen.late => abort(state, target, Why::Late),
        Some(Answers::Waiting | Answers::Held) => Step::Rest(Rest::Prepare),
    }
}

fn commit(state: State, target: Target) -> Step {
    Step::Write(State { active: Some(Active::committed(target)), target: None, recovering: false, ..state }, Wrote::Committed)
}

fn abort(state: State, target: Target, why: Why) -> Step {
    let state = State { target: None, ..state };
    let state = if target.recovery { State { recovery_failed: true, ..state } } else { State { blocked: Some(target.at), ..state } };
    Step::Write(state, Wrote::Aborted(why))
}

/// A committed program, while nothing else is to be begun.
fn committed(wish: &Wish, state: State, active: Active, seen: &Lookups) -> Step {
    if state.recovering {
        return Step::Rest(Rest::Edit);
    }
    match (active.acked, seen.answers) {
        (true, _) if active.soaked || active.failed => Step::Rest(Rest::Edit),
        (_, None) => Step::LookAtAnswers,
        (true, Some(Answers::All)) if seen.marked => soaked(state, active),
        (true, Some(Answers::All)) => Step::Mark(active.at),
        (true, Some(Answers::Rejected)) => failed(wish, state, active, Why::Rejected),
        (true, Some(_)) => Step::Rest(Rest::Soak),
        (false, Some(Answers::All)) => match seen.carried {
            None => Step::LookAtRecords,
            Some(true) => acknowledged(wish, state, active),
            Some(false) if seen.late && !active.failed => failed(wish, state, active, Why::Late),
            Some(false) => Step::Rest(Rest::Records),
        },
        (false, Some(Answers::Nobody)) if !wish.wanted => acknowledged(wish, state, active),
        (false, Some(Answers::Nobody)) => Step::Rest(Rest::Workers),
        (false, Some(_)) if active.failed => Step::Rest(Rest::Acknowledge),
        (false, Some(Answers::Rejected)) => failed(wish, state, active, Why::Rejected),
        // Its time is over at once where an edit waits to mend it.
        (false, Some(Answers::Held)) if is_superseded(wish, &state) => failed(wish, state, active, Why::Rejected),
        (false, Some(Answers::Waiting | Answers::Held)) if seen.late => failed(wish, state, active, Why::Late),
        (false, Some(Answers::Waiting | Answers::Held)) => Step::Rest(Rest::Acknowledge),
    }
}

/// There is nothing to go back to in this version, so a late acknowledgement mends a failure.
fn acknowledged(wish: &Wish, state: State, active: Active) -> Step {
    let own = state.blocked.filter(|blocked| blocked.digest == active.at.digest);
    let used = if own.is_some() && state.may_retry(wish) { wish.retry } else { state.used };
    let blocked = if own.is_some() { None } else { state.blocked };
    let active = Some(Active { acked: true, failed: false, ..active });
    Step::Write(State { active, blocked, used, recovery_failed: false, ..state }, Wrote::Acknowledged)
}

/// An acknowledgement does not outlive a failure.
fn failed(wish: &Wish, state: State, active: Active, why: Why) -> Step {
    let blocked = if wish.names(active.at.digest) { Some(active.at) } else { state.blocked };
    let recovery_failed = state.recovery_failed || active.recovery;
    let active = Some(Active { failed: true, acked: false, ..active });
    Step::Write(State { active, blocked, recovery_failed, ..state }, Wrote::Failed(why))
}

fn soaked(state: State, active: Active) -> Step {
    Step::Write(State { active: Some(Active { soaked: true, ..active }), good: Some(active.at), ..state }, Wrote::Soaked)
}

#[cfg(test)]
mod tests {
    use super::super::{Active, At, State, Target, Wish};
    use super::{Answers, Lookups, Rest, Step, Why, Wrote, decide};
    use crate::flow::{Digest, RootEpoch};

    fn at(epoch: i64) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
    }

    fn wish(named: i64) -> Wish {
        Wish { named: Some(at(named).digest), valid: true, wanted: true, retry: None, rolling: false }
    }

    #[test]
    fn a_committed_program_that_a_worker_cannot_run_yet_gives_way_to_an_edit_at_once_and_to_nothing_else() {
        let active = Some(Active::committed(Target { at: at(1), recovery: false }));
        let state = State { epoch: RootEpoch::new(1), active, ..State::default() };
        let held = Lookups { answers: Some(Answers::Held), ..Lookups::default() };
        let next = |wish: Wish, seen: Lookups| decide(&wish, Some(&state), &seen);
        assert_eq!(next(wish(1), held), Step::Rest(Rest::Acknowledge));
        let waiting = Lookups { answers: Some(Answers::Waiting), ..Lookups::default() };
        assert_eq!(next(wish(2), waiting), Step::Rest(Rest::Acknowledge), "it may be acknowledged any moment");
        assert_eq!(next(Wish { valid: false, ..wish(2) }, held), Step::Rest(Rest::Acknowledge));
        let Step::Write(failed, Wrote::Failed(Why::Rejected)) = next(wish(2), held) else { panic!("it does not give way") };
        assert!(failed.blocked.is_none() && failed.active.is_some_and(|active| active.failed && !active.acked));
        let begun = decide(&wish(2), Some(&failed), &Lookups::default());
        assert!(matches!(begun, Step::Revise(target, _) if target == At { digest: at(2).digest, ..at(2) }), "{begun:?}");
    }
}
