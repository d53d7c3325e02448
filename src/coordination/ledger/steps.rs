//! What a claim writes next: to the record, and to the page that it waits for.

use super::{Aim, Claim, Phase, RecordView};
use crate::coordination::records::{Entry, LastError, LedgerPage, PageId, Progress, SplitRecord, SplitState};
use crate::coordination::store::ObjectRevision;

/// What to do with the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordStep {
    /// Nothing.
    Nothing,
    /// Read it by quorum.
    Read,
    /// Write it, if it is still what was read.
    Write(ObjectRevision, Box<SplitRecord>),
}

impl Claim {
    /// What to do with the record next.
    #[must_use]
    pub fn record_step(&self) -> RecordStep {
        match (&self.phase, &self.record) {
            (Phase::Reading(_) | Phase::Gone { .. }, _) | (Phase::Taking { .. } | Phase::Ended { .. } | Phase::Finishing { .. }, None) => {
                RecordStep::Read
            }
            (Phase::Taking { .. } | Phase::Ended { .. } | Phase::Finishing { .. }, Some(view)) => {
                self.rewritten(view).map_or(RecordStep::Nothing, |record| RecordStep::Write(view.revision.clone(), Box::new(record)))
            }
            _ => RecordStep::Nothing,
        }
    }

    /// The record as this phase makes it. Whether the phase may is decided when a view is seen.
    fn rewritten(&self, view: &RecordView) -> Option<SplitRecord> {
        let mut record = view.record.clone();
        match &self.phase {
            Phase::Taking { tenure, .. } => {
                record.owner = Some(self.me.owner(&tenure.page));
                record.epoch = tenure.epoch;
                record.base = tenure.progress.clone();
                record.state = SplitState::Open;
                record.opened = true;
            }
            Phase::Ended { tenure, completed, charge } => {
                record.attempts = attempts(&record, &tenure.progress, charge.as_ref());
                record.last_error = charge.clone().or(record.last_error);
                free(&mut record, &tenure.progress, *completed);
            }
            Phase::Finishing { progress, .. } => free(&mut record, progress, true),
            _ => return None,
        }
        Some(record)
    }

    /// The page that it waits for.
    #[must_use]
    pub const fn page(&self) -> Option<&PageId> {
        match &self.phase {
            Phase::Claiming { seen, .. } => match &seen.owner {
                Some(owner) => Some(&owner.page),
                None => None,
            },
            Phase::Sealed { onto, .. } => onto.as_ref(),
            Phase::Held { tenure, .. } | Phase::Ending { tenure, .. } => Some(&tenure.page),
            _ => None,
        }
    }

    /// Whether that page must be read now, whatever is known of it: the old owner may have written since.
    #[must_use]
    pub const fn must_look(&self) -> bool {
        matches!(self.phase, Phase::Claiming { looked: false, .. })
    }

    /// Whether that page is to be created where there is none.
    #[must_use]
    pub const fn makes_page(&self) -> bool {
        matches!(self.phase, Phase::Sealed { onto: Some(_), .. })
    }

    /// Whether it has something to write into its page, as that stands. Only a page just seen may be changed.
    pub fn edit(&self, page: &mut LedgerPage) -> bool {
        let Some(key) = self.entry() else { return false };
        match (&self.phase, page.entries.get_mut(&key)) {
            (Phase::Claiming { free: true, looked: true, .. }, Some(entry)) if !entry.sealed => entry.sealed = true,
            (Phase::Sealed { progress, onto: Some(_), .. }, None) => {
                page.entries.insert(key, Entry { progress: progress.clone(), ..Entry::default() });
            }
            (Phase::Held { commit: Some(commit), .. }, Some(entry)) if !entry.sealed => entry.progress = commit.clone(),
            (Phase::Ending { last, .. }, Some(entry)) if !entry.sealed => {
                if let Some(progress) = &last.progress {
                    entry.progress = progress.clone();
                }
                (entry.sealed, entry.completed) = (true, last.completed);
            }
            _ => return false,
        }
        true
    }

    /// What the claim is for.
    #[must_use]
    pub const fn aim(&self) -> Aim {
        match &self.phase {
            Phase::Reading(aim) | Phase::Claiming { aim, .. } | Phase::Gone { aim, .. } => *aim,
            _ => Aim::Hold,
        }
    }
}

/// Failures in a row: progress since ownership last changed counts them from nothing again.
fn attempts(record: &SplitRecord, now: &Progress, charge: Option<&LastError>) -> u32 {
    let before = if *now == record.base { record.attempts } else { 0 };
    before.saturating_add(u32::from(charge.is_some()))
}

fn free(record: &mut SplitRecord, progress: &Progress, completed: bool) {
    record.owner = None;
    record.base = progress.clone();
    if completed {
        record.state = SplitState::Completed;
    }
}
