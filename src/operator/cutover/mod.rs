//! The cutover of a program across workers, as guarded steps over what was read.
//!
//! Owns: what the operator remembers of cutovers, which step comes next, what workers are told, how answers are judged,
//! what is made of a pipeline whose status is lost, which revisions may go. All of it is pure; a test explores it.
//! May not: read or write anything; the controller carries the steps out, one object at a time.
//!
//! This version knows no rollback, no approval and no soak time: a program that fails stays, blocked, until an edit mends
//! it or its late acknowledgement does.

mod collect;
#[cfg(test)]
mod explore;
mod judge;
mod patience;
mod recover;
mod steps;
mod stored;
mod tell;

pub(super) use collect::{Kept, may_go};
pub(super) use judge::{Answers, Member, Question, Tally, carried, tally};
pub(super) use patience::{Patience, Phase};
pub(super) use recover::{Facts, recovered};
pub(super) use steps::{Lookups, Rest, Source, Step, Why, Wrote, decide};
pub(super) use stored::{remembered, written};
pub(super) use tell::{Telling, telling};

use crate::flow::{Digest, RootEpoch};

/// A program at the attempt that was, or is to be, its.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct At {
    /// The attempt.
    pub(super) epoch: RootEpoch,
    /// The program.
    pub(super) digest: Digest,
}

/// The committed program.
#[expect(clippy::struct_excessive_bools, reason = "they are the bits of the design's model, each set by itself")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Active {
    /// Which, and under which attempt.
    pub(super) at: At,
    /// Whether every worker has acknowledged it.
    pub(super) acked: bool,
    /// Whether it has proven good.
    pub(super) soaked: bool,
    /// Whether it has failed, and nothing has mended that.
    pub(super) failed: bool,
    /// Whether a recovery made it, and no edit.
    pub(super) recovery: bool,
}

impl Active {
    /// Committed just now.
    pub(super) const fn committed(target: Target) -> Self {
        Self { at: target.at, acked: false, soaked: false, failed: false, recovery: target.recovery }
    }
}

/// The program that an attempt before its commit aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    /// Which, and under which attempt.
    pub(super) at: At,
    /// Whether a recovery aims at it, and no edit.
    pub(super) recovery: bool,
}

/// What the operator remembers of a pipeline's cutovers: the part of its status that decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// The highest epoch handed out.
    pub(super) epoch: RootEpoch,
    /// The committed program.
    pub(super) active: Option<Active>,
    /// The program of the attempt under way.
    pub(super) target: Option<Target>,
    /// The last that has proven good.
    pub(super) good: Option<At>,
    /// The spec's program that failed, and under which epoch: it is not tried again while the spec names it.
    pub(super) blocked: Option<At>,
    /// The `retryEpoch` that was used last.
    pub(super) used: Option<RootEpoch>,
    /// Whether the status was lost and no cutover has been committed since.
    pub(super) recovering: bool,
    /// Whether the recovery to the recovered program has failed.
    pub(super) recovery_failed: bool,
}

/// What the spec asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Wish {
    /// The digest of its program; none where it has none, as its `ConfigMap` is missing.
    pub(super) named: Option<Digest>,
    /// Whether that program can run.
    pub(super) valid: bool,
    /// Whether any worker is wanted.
    pub(super) wanted: bool,
    /// The failed attempt that is to be tried once more.
    pub(super) retry: Option<RootEpoch>,
    /// Whether a rollout is under way that goes first.
    pub(super) rolling: bool,
}

impl Wish {
    /// The spec's program, if it can run.
    const fn program(&self) -> Option<Digest> {
        if self.valid { self.named } else { None }
    }

    /// Whether the spec names this program.
    fn names(&self, digest: Digest) -> bool {
        self.named == Some(digest)
    }
}

impl State {
    /// Under a spec that names another program, what failed is failed no more.
    #[must_use]
    pub(super) fn under(mut self, wish: &Wish) -> Self {
        if let (Some(blocked), Some(named)) = (self.blocked, wish.named)
            && blocked.digest != named
        {
            self.blocked = None;
        }
        self
    }

    /// Whether the retry that is asked for is that of what is blocked, and has not been used.
    fn may_retry(&self, wish: &Wish) -> bool {
        wish.retry.is_some() && wish.retry == self.blocked.map(|blocked| blocked.epoch) && wish.retry != self.used
    }

    /// Whether every worker runs the spec's program: what `RootAcknowledged` says.
    pub(super) fn acknowledges(&self, wish: &Wish) -> bool {
        let active = self.active.filter(|active| active.acked && !active.failed);
        !self.recovering && active.is_some_and(|active| wish.valid && wish.names(active.at.digest))
    }

    /// Whether an attempt is under way: before its commit, or before its acknowledgements.
    pub(super) fn is_under_way(&self) -> bool {
        self.target.is_some() || self.active.is_some_and(|active| !active.acked && !active.failed)
    }
}
