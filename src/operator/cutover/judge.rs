//! What the joined workers answer, and what their splits carry.

use super::At;
use crate::api::progress::RootAt;
use crate::api::stream_worker::{Answer, Fault, Outcome};
use crate::flow::RootEpoch;

/// A joined worker with what stands in its status.
#[derive(Clone, Debug)]
pub(in crate::operator) struct Member {
    /// Its name.
    pub(in crate::operator) name: String,
    /// The life that its heartbeat names.
    pub(in crate::operator) incarnation: String,
    /// The answer, whichever life gave it.
    pub(in crate::operator) answer: Option<Answer>,
}

/// What the workers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Question {
    /// Whether they have prepared this target.
    Prepared(At),
    /// Whether they run this program or a later one.
    Acknowledged(At),
}

/// The answer of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::operator) enum Answers {
    /// One rejects it for good.
    Rejected,
    /// None is joined.
    Nobody,
    /// All have done it.
    All,
    /// One cannot do it now, for something that may pass.
    Held,
    /// One has not answered yet.
    Waiting,
}

/// The answers, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::operator) struct Tally {
    /// How many workers are joined.
    pub(in crate::operator) total: usize,
    /// How many have done what was asked.
    pub(in crate::operator) done: usize,
    /// Who rejects it for good, and why.
    pub(in crate::operator) rejected: Vec<(String, Fault)>,
    /// Who has not answered yet, and what the worker says of it.
    pub(in crate::operator) waiting: Vec<(String, String)>,
    /// What keeps some of those, though it may pass.
    pub(in crate::operator) held: Vec<(String, Fault)>,
}

impl Tally {
    /// What they answer together.
    pub(in crate::operator) fn answers(&self) -> Answers {
        match self {
            Self { rejected, .. } if !rejected.is_empty() => Answers::Rejected,
            Self { total: 0, .. } => Answers::Nobody,
            Self { waiting, .. } if waiting.is_empty() => Answers::All,
            Self { held, .. } if !held.is_empty() => Answers::Held,
            _ => Answers::Waiting,
        }
    }
}

enum Verdict {
    Done,
    Rejected(Fault),
    Held(Fault),
    Waiting(String),
}

/// Counts what these workers of the pipeline with this uid answer.
pub(in crate::operator) fn tally(uid: &str, members: &[Member], question: Question) -> Tally {
    let mut tally = Tally { total: members.len(), ..Tally::default() };
    for member in members {
        // An answer of an earlier life, or to another pipeline of that name, is none.
        let answer = member.answer.as_ref().filter(|answer| answer.incarnation == member.incarnation && answer.pipeline_uid == uid);
        match answer.map_or_else(|| Verdict::Waiting(String::new()), |answer| verdict(answer, question)) {
            Verdict::Done => tally.done = tally.done.saturating_add(1),
            Verdict::Rejected(fault) => tally.rejected.push((member.name.clone(), fault)),
            Verdict::Held(fault) => {
                tally.waiting.push((member.name.clone(), fault.reason.clone()));
                tally.held.push((member.name.clone(), fault));
            }
            Verdict::Waiting(why) => tally.waiting.push((member.name.clone(), why)),
        }
    }
    tally
}

fn verdict(answer: &Answer, question: Question) -> Verdict {
    let about = |at: At| is_at(&answer.root, at);
    match (&answer.outcome, question) {
        (Outcome::Prepared, Question::Prepared(target)) if about(target) => Verdict::Done,
        (Outcome::Acknowledged { .. }, Question::Acknowledged(active)) if answer.root.epoch >= active.epoch => Verdict::Done,
        (Outcome::Rejected { fault }, Question::Prepared(at) | Question::Acknowledged(at)) if about(at) => {
            if fault.may_pass {
                Verdict::Held(fault.clone())
            } else {
                Verdict::Rejected(fault.clone())
            }
        }
        (Outcome::Waiting { reason }, Question::Prepared(at) | Question::Acknowledged(at)) if about(at) => Verdict::Waiting(reason.clone()),
        _ => Verdict::Waiting(String::new()),
    }
}

fn is_at(root: &RootAt, at: At) -> bool {
    root.epoch == at.epoch && root.digest == at.digest.to_string()
}

/// Whether every split that a joined incarnation owns carries this epoch or a later one. A split is given by its owner's
/// incarnation, if it has one, and the epoch of its progress, if it has any.
pub(in crate::operator) fn carried<'a>(
    splits: impl IntoIterator<Item = (Option<&'a str>, Option<RootEpoch>)>,
    members: &[Member],
    epoch: RootEpoch,
) -> bool {
    let joined = |incarnation: &str| members.iter().any(|member| member.incarnation == incarnation);
    let mut held = splits.into_iter().filter(|(owner, _)| owner.is_some_and(joined));
    held.all(|(_, progress)| progress.is_some_and(|progress| progress >= epoch))
}

#[cfg(test)]
mod tests {
    use super::{Answers, At, Member, Question, carried, tally};
    use crate::api::progress::RootAt;
    use crate::api::stream_worker::{Answer, Fault, Outcome};
    use crate::flow::{Digest, RootEpoch};

    fn at(epoch: i64) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
    }

    fn member(incarnation: &str, epoch: i64, outcome: Outcome) -> Member {
        let root = RootAt { epoch: RootEpoch::new(epoch), digest: at(epoch).digest.to_string() };
        let answer = Answer { pipeline_uid: "u".into(), root, incarnation: "life-1".into(), outcome, installed: None };
        Member { name: "w".into(), incarnation: incarnation.into(), answer: Some(answer) }
    }

    fn acknowledged() -> Outcome {
        Outcome::Acknowledged {
            state_changed: false,
            interface_changed: false,
            generation: None,
            splits: std::collections::BTreeMap::new(),
        }
    }

    fn rejected(may_pass: bool) -> Outcome {
        Outcome::Rejected { fault: Fault { code: "MR0001".into(), reason: "R".into(), message: "why".into(), may_pass } }
    }

    fn answers(members: &[Member], question: Question) -> Answers {
        tally("u", members, question).answers()
    }

    #[test]
    fn i33_answers_of_another_life_another_epoch_or_another_pipeline_are_none() {
        let prepared = |incarnation, epoch| [member(incarnation, epoch, Outcome::Prepared)];
        assert_eq!(answers(&prepared("life-1", 5), Question::Prepared(at(5))), Answers::All);
        assert_eq!(answers(&prepared("life-2", 5), Question::Prepared(at(5))), Answers::Waiting);
        assert_eq!(answers(&prepared("life-1", 4), Question::Prepared(at(5))), Answers::Waiting);
        assert_eq!(tally("other", &prepared("life-1", 5), Question::Prepared(at(5))).answers(), Answers::Waiting);
        assert_eq!(answers(&[member("life-1", 4, acknowledged())], Question::Acknowledged(at(5))), Answers::Waiting);
        assert_eq!(answers(&[member("life-1", 6, acknowledged())], Question::Acknowledged(at(5))), Answers::All);
    }

    #[test]
    fn one_rejection_for_good_outweighs_all_and_one_that_may_pass_is_waited_for() {
        let question = Question::Prepared(at(5));
        let good = member("life-1", 5, Outcome::Prepared);
        assert_eq!(answers(&[good.clone(), member("life-1", 5, rejected(false))], question), Answers::Rejected);
        assert_eq!(answers(&[good.clone(), member("life-1", 5, rejected(true))], question), Answers::Held);
        assert_eq!(answers(&[good, member("life-2", 5, rejected(false))], question), Answers::Waiting);
        assert_eq!(answers(&[], question), Answers::Nobody);
    }

    #[test]
    fn i43_a_split_of_a_joined_worker_that_lacks_the_epoch_holds_the_acknowledgement_back() {
        let members = [member("life-1", 5, acknowledged())];
        let five = RootEpoch::new(5);
        let held = |epoch: Option<i64>| [(Some("life-1"), epoch.map(RootEpoch::new))];
        assert!(carried(held(Some(5)), &members, five) && carried(held(Some(6)), &members, five));
        assert!(!carried(held(Some(4)), &members, five) && !carried(held(None), &members, five));
        assert!(carried([(None, None), (Some("gone"), None)], &members, five));
    }
}
