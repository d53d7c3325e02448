//! What a view of the record, or of a page, means to a claim.

use super::{Aim, Claim, Last, PageView, Phase, Seen, Tenure};
use crate::coordination::records::{Entry, EntryKey, Progress, SplitRecord, SplitState};
use crate::coordination::store::ObjectRevision;

/// The record as a view shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordView {
    /// Its object and state.
    pub revision: ObjectRevision,
    /// What it holds.
    pub record: SplitRecord,
}

/// What a view has settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The split can be claimed: say onto which page.
    Ownerless,
    /// It is held.
    Held,
    /// The commit stands.
    Committed,
    /// The tenancy is over against our will: nothing unsent may leave.
    Fenced,
    /// The last commit stands, and the entry is sealed.
    Sealed,
    /// Our name is out of the record, or others have gone on.
    Released,
    /// The claim came to nothing.
    Off,
    /// The entry that the record named was not there: somebody has deleted it.
    Missing,
}

impl Claim {
    /// Takes a view of the record. `free`: its owner is none, oneself, or dead by a heartbeat read after the record.
    pub fn saw_record(&mut self, view: Option<&RecordView>, free: bool) -> Option<Outcome> {
        let Some(view) = view else { return self.record_missing() };
        self.record = Some(view.clone());
        let record = &view.record;
        match self.phase.clone() {
            Phase::Reading(aim) => self.read(view, aim, free),
            Phase::Gone { seen, aim } if seen.is(view) => {
                let progress = record.base.clone();
                self.ownerless(seen, progress, aim);
                Some(Outcome::Missing)
            }
            Phase::Taking { seen, tenure } => self.took(view, &seen, tenure),
            Phase::Finishing { seen, .. } if seen.is(view) => None,
            Phase::Ended { tenure, .. } if record.epoch == tenure.epoch && record.owner == Some(self.me.owner(&tenure.page)) => None,
            Phase::Ended { .. } => {
                self.forget();
                Some(Outcome::Released)
            }
            Phase::Finishing { .. } | Phase::Gone { .. } => Some(self.off()),
            Phase::Idle | Phase::Claiming { .. } | Phase::Sealed { .. } | Phase::Held { .. } | Phase::Ending { .. } => None,
        }
    }

    /// No record, no claim. Whoever holds the split learns of it by its entry, never by this.
    fn record_missing(&mut self) -> Option<Outcome> {
        match self.phase {
            Phase::Ended { .. } => {
                self.forget();
                Some(Outcome::Released)
            }
            Phase::Reading(_) | Phase::Gone { .. } | Phase::Taking { .. } | Phase::Finishing { .. } => Some(self.off()),
            _ => None,
        }
    }

    fn off(&mut self) -> Outcome {
        self.forget();
        Outcome::Off
    }

    fn read(&mut self, view: &RecordView, aim: Aim, free: bool) -> Option<Outcome> {
        let record = &view.record;
        let mine = record.owner.as_ref().is_some_and(|owner| self.me.is(owner));
        let open = matches!(record.state, SplitState::Waiting | SplitState::Open);
        if !open || (aim == Aim::Release && !mine) || record.epoch.next().is_none() {
            return Some(self.off());
        }
        let seen = Seen { uid: view.revision.uid.clone(), owner: record.owner.clone(), epoch: record.epoch };
        if record.owner.is_some() {
            self.enter(Phase::Claiming { seen, aim, free: free || mine, looked: false });
            return None;
        }
        let progress = record.base.clone();
        self.ownerless(seen, progress, aim)
    }

    /// Goes on from a progress that nobody can move any more.
    fn ownerless(&mut self, seen: Seen, progress: Progress, aim: Aim) -> Option<Outcome> {
        if let (Aim::Release, Some(owner)) = (aim, &seen.owner) {
            let (epoch, page) = (seen.epoch, owner.page.clone());
            let tenure = Tenure { epoch, page, page_uid: seen.uid, progress };
            self.enter(Phase::Ended { tenure, completed: false, charge: None });
            return None;
        }
        self.enter(Phase::Sealed { seen, progress, onto: None });
        Some(Outcome::Ownerless)
    }

    fn took(&mut self, view: &RecordView, seen: &Seen, tenure: Tenure) -> Option<Outcome> {
        let record = &view.record;
        if record.epoch == tenure.epoch && record.owner == Some(self.me.owner(&tenure.page)) {
            self.enter(Phase::Held { tenure, commit: None });
            return Some(Outcome::Held);
        }
        let open = matches!(record.state, SplitState::Waiting | SplitState::Open);
        if seen.is(view) && open { None } else { Some(self.off()) }
    }

    /// Takes a view of the page that the claim waits for; none: it is not there.
    pub fn saw_page(&mut self, view: Option<PageView<'_>>) -> Option<Outcome> {
        match self.phase.clone() {
            Phase::Claiming { seen, aim, free, .. } => self.saw_old_page(view, seen, aim, free),
            Phase::Sealed { seen, progress, onto: Some(page) } => {
                let (view, key) = (view?, self.entry()?);
                let entry = view.page.entries.get(&key)?;
                if entry.sealed || entry.progress != progress {
                    return Some(self.off());
                }
                let tenure = Tenure { epoch: key.1, page, page_uid: view.revision.uid.clone(), progress };
                self.enter(Phase::Taking { seen, tenure });
                None
            }
            Phase::Held { tenure, commit } => self.saw_own(view, tenure, commit),
            Phase::Ending { tenure, last } => self.saw_last(view, tenure, last),
            _ => None,
        }
    }

    fn saw_old_page(&mut self, view: Option<PageView<'_>>, seen: Seen, aim: Aim, free: bool) -> Option<Outcome> {
        let key = self.entry()?;
        match view.and_then(|view| view.page.entries.get(&key)) {
            None => self.enter_unread(Phase::Gone { seen, aim }),
            Some(Entry { sealed: true, completed: true, progress }) => self.enter(Phase::Finishing { seen, progress: progress.clone() }),
            Some(Entry { sealed: true, progress, .. }) => return self.ownerless(seen, progress.clone(), aim),
            // An owner that lives, and writes: not ours to take.
            Some(_) if !free => return Some(self.off()),
            Some(_) => {
                if let Phase::Claiming { looked, .. } = &mut self.phase {
                    *looked = true;
                }
            }
        }
        None
    }

    fn saw_own(&mut self, view: Option<PageView<'_>>, mut tenure: Tenure, commit: Option<Progress>) -> Option<Outcome> {
        let Some(entry) = own_entry(view, &self.entry()?, &tenure).filter(|entry| !entry.sealed) else {
            self.forget();
            return Some(Outcome::Fenced);
        };
        tenure.progress = entry.progress.clone();
        let committed = commit.as_ref() == Some(&entry.progress);
        let commit = commit.filter(|_| !committed);
        self.phase = Phase::Held { tenure, commit };
        committed.then_some(Outcome::Committed)
    }

    fn saw_last(&mut self, view: Option<PageView<'_>>, mut tenure: Tenure, last: Last) -> Option<Outcome> {
        let Some(entry) = own_entry(view, &self.entry()?, &tenure) else {
            self.forget();
            return Some(Outcome::Fenced);
        };
        if !entry.sealed {
            return None;
        }
        let ours = last.progress.as_ref().is_none_or(|progress| *progress == entry.progress) && last.completed == entry.completed;
        tenure.progress = entry.progress.clone();
        let (completed, charge) = (entry.completed, last.charge);
        // What was written into the record when it was taken may have moved since: a write at that revision tells.
        self.enter(Phase::Ended { tenure, completed, charge });
        Some(if ours { Outcome::Sealed } else { Outcome::Fenced })
    }
}

impl Seen {
    /// Whether the record is still the one that was read, with the same owner and epoch.
    fn is(&self, view: &RecordView) -> bool {
        self.uid == view.revision.uid && self.owner == view.record.owner && self.epoch == view.record.epoch
    }
}

fn own_entry<'a>(view: Option<PageView<'a>>, key: &EntryKey, tenure: &Tenure) -> Option<&'a Entry> {
    let PageView { revision, page } = view?;
    page.entries.get(key).filter(|_| revision.uid == tenure.page_uid)
}
