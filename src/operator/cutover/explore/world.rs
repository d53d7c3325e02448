//! A small fleet: one pipeline, its revisions, two workers, two splits, an operator that may be deposed.

use super::super::{Active, At, Lookups, State, Target, Telling, Wish};
use crate::api::stream_worker::Stage;
use crate::flow::{Digest, RootEpoch};
use std::sync::LazyLock;

pub(super) const WORKERS: usize = 2;

static DIGESTS: LazyLock<[Digest; 3]> = LazyLock::new(|| [Digest::of(b"A"), Digest::of(b"B"), Digest::of(b"C")]);

static TEXTS: LazyLock<[String; 3]> = LazyLock::new(|| DIGESTS.map(|digest| digest.to_string()));

/// A digest as it is written; made once, since worlds are many.
pub(super) fn text(digest: Digest) -> String {
    TEXTS[program(digest)].clone()
}

/// The digest of a program.
pub(super) fn digest(program: usize) -> Digest {
    DIGESTS[program]
}

/// The program of a digest.
pub(super) fn program(digest: Digest) -> usize {
    DIGESTS.iter().position(|own| *own == digest).unwrap()
}

/// What is to be said of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Good,
    /// The operator finds it invalid.
    Invalid,
    /// Workers reject it.
    Rejected,
}

/// How often what need not happen may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    pub(super) edits: u8,
    /// Times that a deadline passes.
    pub(super) late: u8,
    /// Crashes of workers and of the operator.
    pub(super) crashes: u8,
    pub(super) drains: u8,
    pub(super) retries: u8,
    /// Times that the status is lost.
    pub(super) losses: u8,
    /// Operators that go on from an old snapshot beside their successor.
    pub(super) deposed: u8,
}

impl Limits {
    pub(super) const NONE: Self = Self { edits: 0, late: 0, crashes: 0, drains: 0, retries: 0, losses: 0, deposed: 0 };
}

/// What is built wrong, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    None,
    ToldBeforeIntent,
    WithoutRevision,
    EarlierLife,
    NoRecordCheck,
    RootNotReadAtJoin,
    RejectionIgnored,
    NotBlocked,
    EpochNotInRevision,
    NoCancel,
    /// Without looking at what a worker was told, nor the API server's rules.
    ToldBlind,
}

/// An operator: a snapshot of the pipeline, and what it has looked up since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operator {
    pub(super) wish: Wish,
    pub(super) state: Option<State>,
    pub(super) seen: Lookups,
    /// Whether the pipeline is as it was read.
    pub(super) fresh: bool,
    /// What was made of a lost status.
    pub(super) recovered: Option<State>,
    /// Whether every worker that was joined when answers were read had installed the active program in that life.
    pub(super) honest: bool,
}

/// A stored revision: the highest epoch that was to be its, the last under which it has proven good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stored {
    pub(super) epoch: RootEpoch,
    pub(super) soaked: Option<RootEpoch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Said {
    Prepared,
    Rejected,
    Acknowledged,
}

/// An answer as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Answered {
    pub(super) life: u8,
    pub(super) about: At,
    pub(super) said: Said,
}

/// A worker's life, and what stands in its object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Worker {
    pub(super) life: u8,
    pub(super) joined: bool,
    pub(super) read: bool,
    pub(super) installed: Option<At>,
    pub(super) floor: Option<RootEpoch>,
    pub(super) told: Option<Telling>,
    pub(super) answer: Option<Answered>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tenancy {
    Opening,
    Flowing(At),
    Draining(At),
}

/// A split: who owns it in which life, what its progress names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Split {
    pub(super) owner: Option<(usize, u8)>,
    pub(super) progress: Option<At>,
    pub(super) tenancy: Tenancy,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) kinds: [Kind; 3],
    pub(super) left: Limits,
    /// How many workers there are, each with a split.
    pub(super) fleet: usize,
    /// The highest epoch that so many people can bring about.
    pub(super) most: i64,
    pub(super) fault: Fault,
    pub(super) spec: usize,
    pub(super) retry: Option<RootEpoch>,
    pub(super) status: Option<State>,
    pub(super) revisions: [Option<Stored>; 3],
    pub(super) operator: Option<Operator>,
    pub(super) deposed: Option<Operator>,
    pub(super) workers: [Worker; WORKERS],
    pub(super) splits: [Split; WORKERS],
    /// All that was ever committed, and which program each epoch has named: for the properties alone.
    pub(super) committed: Vec<At>,
    pub(super) named: Vec<At>,
}

impl World {
    fn empty(kinds: [Kind; 3], left: Limits) -> Self {
        let worker = Worker { life: 1, joined: false, read: false, installed: None, floor: None, told: None, answer: None };
        let split = Split { owner: None, progress: None, tenancy: Tenancy::Opening };
        Self {
            kinds,
            left,
            fleet: WORKERS,
            most: 1 + i64::from(left.edits) + i64::from(left.retries) + 2 * i64::from(left.losses),
            fault: Fault::None,
            spec: 0,
            retry: None,
            status: None,
            revisions: [None; 3],
            operator: None,
            deposed: None,
            workers: [worker.clone(), worker],
            splits: [split.clone(), split],
            committed: Vec::new(),
            named: Vec::new(),
        }
    }

    /// A pipeline that nobody has seen; it has one worker, which may join at any time.
    pub(super) fn unseen(kinds: [Kind; 3], left: Limits) -> Self {
        Self { fleet: 1, ..Self::empty(kinds, left) }
    }

    /// As [`World::running`], with one worker.
    pub(super) fn alone(kinds: [Kind; 3], left: Limits) -> Self {
        let mut world = Self::running(kinds, left);
        world.fleet = 1;
        let none = Self::empty(kinds, left);
        (world.workers[1], world.splits[1]) = (none.workers[1].clone(), none.splits[1].clone());
        world
    }

    /// Program A runs on both workers, each with a split, and has proven good.
    pub(super) fn running(kinds: [Kind; 3], left: Limits) -> Self {
        let at = At { epoch: RootEpoch::new(1), digest: digest(0) };
        let mut world = Self::empty(kinds, left);
        let active = Active { acked: true, soaked: true, ..Active::committed(Target { at, recovery: false }) };
        world.status = Some(State { epoch: at.epoch, active: Some(active), good: Some(at), ..State::default() });
        world.revisions[0] = Some(Stored { epoch: at.epoch, soaked: Some(at.epoch) });
        world.committed.push(at);
        world.named.push(at);
        for (index, worker) in world.workers.iter_mut().enumerate() {
            *worker = Worker {
                life: 1,
                joined: true,
                read: true,
                installed: Some(at),
                floor: None,
                told: Some(Telling { root: at, stage: Stage::Commit, committed: Some(at) }),
                answer: Some(Answered { life: 1, about: at, said: Said::Acknowledged }),
            };
            world.splits[index] = Split { owner: Some((index, 1)), progress: Some(at), tenancy: Tenancy::Flowing(at) };
        }
        world
    }

    /// What the spec asks for.
    pub(super) fn wish(&self) -> Wish {
        let valid = self.kinds[self.spec] != Kind::Invalid;
        Wish { named: Some(digest(self.spec)), valid, wanted: true, retry: self.retry, rolling: false }
    }

    /// Whether a split's owner is the life that its worker lives.
    pub(super) fn lives(&self, owner: Option<(usize, u8)>) -> bool {
        owner.is_some_and(|(worker, life)| self.workers[worker].joined && self.workers[worker].life == life)
    }

    /// The pipeline changes: what was read of it is old.
    pub(super) fn touched(&mut self) {
        for operator in [&mut self.operator, &mut self.deposed].into_iter().flatten() {
            operator.fresh = false;
        }
    }
}
