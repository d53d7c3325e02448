//! Which program a worker loads, prepares, installs and answers for: the worker's steps of the cutover protocol.
//!
//! Owns: what was told, what is installed, the floor of a joining, which answer is true now.
//! May not: load or install anything; call anybody. A clock is handed in.

use crate::api::progress::RootAt;
use crate::api::stream_worker::{Answer, Fault, Instruction, Outcome, Stage};
use crate::flow::{RootEpoch, RootRef};
use crate::program::Change;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long until something that failed is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// The most splits that an answer names.
const SPLITS: usize = 2_000;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Load this program and open its outputs.
    Load(RootRef),
    /// Go over to this one, which is loaded.
    Install(RootRef),
    /// Say that claims may begin, in this term.
    Ready(u64),
    /// Let go of this one, which is loaded.
    Forget(RootRef),
}

/// How far a program has come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Loading,
    Loaded,
    /// It is tried again at this time, if it is to be.
    Failed(Fault, Duration),
}

/// What a joining has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Joining {
    term: u64,
    /// Whether the committed root was read since.
    read: bool,
    /// What was said to be ready, in this term.
    ready: Option<RootRef>,
}

/// What the worker says beside its answer's root.
#[derive(Clone, Debug, Default)]
pub(super) struct Through {
    /// Whether every split that is held carries the installed root.
    pub(super) is_through: bool,
    /// Where it took over, by split.
    pub(super) splits: BTreeMap<String, String>,
}

/// The desk.
#[derive(Debug)]
pub(super) struct Desk {
    pipeline_uid: String,
    told: Option<Instruction>,
    joining: Option<Joining>,
    /// The committed root as the joining read it, and what splits of ours are under.
    seen: Option<RootRef>,
    floor: RootEpoch,
    installed: Option<RootRef>,
    change: Change,
    switching: bool,
    programs: BTreeMap<RootRef, Standing>,
}

impl Desk {
    /// A worker that knows nothing yet.
    pub(super) fn new(pipeline_uid: &str) -> Self {
        Self {
            pipeline_uid: pipeline_uid.to_owned(),
            told: None,
            joining: None,
            seen: None,
            floor: RootEpoch::default(),
            installed: None,
            change: Change::default(),
            switching: false,
            programs: BTreeMap::new(),
        }
    }

    /// What runs.
    pub(super) const fn installed(&self) -> Option<RootRef> {
        self.installed
    }

    /// Whether this worker may claim splits: what readiness means.
    pub(super) fn is_ready(&self) -> bool {
        self.joining.is_some_and(|joining| joining.ready.is_some())
    }

    /// The operator's instruction stands so. One of another pipeline, or older than what was told, is none (a deposed
    /// operator's).
    pub(super) fn tell(&mut self, told: Instruction) {
        let older = self.told.as_ref().is_some_and(|before| {
            let committed = |told: &Instruction| told.committed.as_ref().map(|root| root.epoch);
            told.root.epoch < before.root.epoch || committed(&told) < committed(before)
        });
        if told.pipeline_uid == self.pipeline_uid && !older {
            self.told = Some(told);
        }
    }

    /// A member, for the first time or anew: the committed root is to be read.
    pub(super) fn joined(&mut self, term: u64) {
        self.joining = Some(Joining { term, read: false, ready: None });
    }

    /// What was read after joining in this term. It is the floor: nothing below it is evaluated.
    pub(super) fn read(&mut self, term: u64, root: Option<RootRef>) {
        let Some(joining) = self.joining.as_mut().filter(|joining| joining.term == term) else { return };
        joining.read = true;
        if let Some(root) = root {
            self.floor = self.floor.max(root.epoch);
            self.see(root);
        }
    }

    /// A split of ours is under this root.
    pub(super) fn see(&mut self, root: RootRef) {
        if self.seen.is_none_or(|seen| seen.epoch < root.epoch) {
            self.seen = Some(root);
        }
    }

    /// A program is loaded, or cannot be.
    pub(super) fn loaded(&mut self, root: RootRef, result: Result<(), Fault>, now: Duration) {
        if let Some(standing) = self.programs.get_mut(&root) {
            *standing = match result {
                Ok(()) => Standing::Loaded,
                Err(fault) => Standing::Failed(fault, now.saturating_add(AGAIN)),
            };
        }
    }

    /// The loop has been given this program.
    pub(super) fn installing(&mut self, root: RootRef, change: Change) {
        self.programs.remove(&root);
        (self.installed, self.change, self.switching) = (Some(root), change, true);
    }

    /// The loop has gone over.
    pub(super) const fn switched(&mut self) {
        self.switching = false;
    }

    /// The next thing to do, and when to ask again at the latest. `source` says whether there is something to read from.
    pub(super) fn next(&mut self, now: Duration, source: bool) -> Option<Act> {
        let (goal, target) = (self.goal(), self.target());
        let wanted = |root: &RootRef| Some(*root) == goal || Some(*root) == target;
        if let Some(gone) = self.programs.iter().find(|(root, standing)| **standing != Standing::Loading && !wanted(root)) {
            let gone = *gone.0;
            self.programs.remove(&gone);
            return Some(Act::Forget(gone));
        }
        for (root, installs) in [(goal, true), (target, false)] {
            let Some(root) = root else { continue };
            let due = match self.programs.get(&root) {
                None => true,
                Some(Standing::Failed(fault, at)) => (installs || fault.may_pass) && *at <= now,
                Some(_) => false,
            };
            if due {
                self.programs.insert(root, Standing::Loading);
                return Some(Act::Load(root));
            }
        }
        if let Some(goal) = goal.filter(|goal| !self.switching && self.programs.get(goal) == Some(&Standing::Loaded)) {
            return Some(Act::Install(goal));
        }
        self.claims(source)
    }

    /// Claims begin once the root was read, something not below it is installed, and there is a source.
    fn claims(&mut self, source: bool) -> Option<Act> {
        let installed = self.installed.filter(|root| source && !self.switching && root.epoch >= self.floor)?;
        let joining = self.joining.as_mut().filter(|joining| joining.read && joining.ready != Some(installed))?;
        joining.ready = Some(installed);
        Some(Act::Ready(joining.term))
    }

    /// What is committed above what is installed.
    fn goal(&self) -> Option<RootRef> {
        let told = self.told.as_ref().and_then(|told| told.committed.as_ref()).and_then(root_ref);
        let goal = [told, self.seen].into_iter().flatten().max_by_key(|root| root.epoch)?;
        (goal.epoch >= self.floor && self.is_above(goal)).then_some(goal)
    }

    /// What is to be prepared.
    fn target(&self) -> Option<RootRef> {
        let told = self.told.as_ref().filter(|told| told.stage == Stage::Prepare)?;
        root_ref(&told.root).filter(|root| self.is_above(*root))
    }

    fn is_above(&self, root: RootRef) -> bool {
        self.installed.is_none_or(|installed| root.epoch > installed.epoch)
    }

    /// Why the committed program does not run here, if it does not.
    pub(super) fn trouble(&self) -> Option<&Fault> {
        match self.goal().and_then(|goal| self.programs.get(&goal)) {
            Some(Standing::Failed(fault, _)) => Some(fault),
            _ => None,
        }
    }

    /// The answer to the instruction, as it is true now.
    pub(super) fn answer(&self, incarnation: &str, through: Through) -> Option<Answer> {
        let told = self.told.as_ref()?;
        let (root, outcome) = match self.target() {
            Some(target) => (target, self.prepared(target)),
            None => self.committed(told, through)?,
        };
        Some(Answer {
            pipeline_uid: self.pipeline_uid.clone(),
            root: root_at(root),
            incarnation: incarnation.to_owned(),
            outcome,
            installed: self.installed.map(root_at),
        })
    }

    fn prepared(&self, target: RootRef) -> Outcome {
        match self.programs.get(&target) {
            Some(Standing::Loaded) => Outcome::Prepared,
            Some(Standing::Failed(fault, _)) => Outcome::Rejected { fault: fault.clone() },
            _ => waiting("Preparing"),
        }
    }

    fn committed(&self, told: &Instruction, through: Through) -> Option<(RootRef, Outcome)> {
        let committed = root_ref(told.committed.as_ref()?)?;
        if let Some(goal) = self.goal() {
            let outcome = match self.programs.get(&goal) {
                Some(Standing::Failed(fault, _)) => Outcome::Rejected { fault: fault.clone() },
                _ => waiting("Installing"),
            };
            return Some((goal, outcome));
        }
        // Above what was told: the instruction follows.
        let installed = self.installed.filter(|installed| *installed == committed);
        let outcome = match installed {
            Some(_) if through.is_through && !self.switching => Outcome::Acknowledged {
                state_changed: self.change.state,
                interface_changed: self.change.interface,
                generation: None,
                splits: through.splits.into_iter().take(SPLITS).collect(),
            },
            Some(_) => waiting("CuttingOver"),
            None => waiting("Ahead"),
        };
        Some((committed, outcome))
    }
}

fn waiting(reason: &str) -> Outcome {
    Outcome::Waiting { reason: reason.to_owned() }
}

fn root_ref(root: &RootAt) -> Option<RootRef> {
    root.digest.parse().ok().map(|digest| RootRef { epoch: root.epoch, digest })
}

fn root_at(root: RootRef) -> RootAt {
    RootAt { epoch: root.epoch, digest: root.digest.to_string() }
}

#[cfg(test)]
mod tests;
