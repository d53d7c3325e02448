//! One ledger page as we know it: who waits for it, and what the next call of it is. Claims of one round share the write.

use super::ops::{Stamped, Written};
use crate::coordination::ledger::{Claim, PageView};
use crate::coordination::records::{EntryKey, Incarnation, LedgerPage};
use crate::coordination::store::{ObjectRevision, StoreError};
use std::collections::BTreeSet;
use std::time::Duration;

/// Bounds of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// What is known of a page.
#[derive(Debug, Default)]
pub(super) enum Sight {
    /// Nothing: read it first.
    #[default]
    Unread,
    /// It is not there.
    Absent,
    /// This.
    There(ObjectRevision, LedgerPage),
}

/// A page.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// What the last view showed.
    pub(super) known: Sight,
    /// A call is in flight.
    pub(super) busy: bool,
    /// No call before this time: the last one failed.
    pub(super) not_before: Duration,
    pub(super) failures: u32,
    /// When it was last seen.
    pub(super) seen: Duration,
    /// Entries that may go.
    pub(super) going: BTreeSet<EntryKey>,
    /// Commits wait for those of other splits until then.
    pub(super) commits_at: Option<Duration>,
}

/// The next call of a page.
#[derive(Debug)]
pub(super) enum PageStep {
    Nothing,
    Read,
    Write(Option<ObjectRevision>, LedgerPage),
}

/// What a page comes to with all that is to be written into it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Who has written something, or must read.
    pub(super) urgent: bool,
    /// Whether a commit is in it.
    pub(super) commits: bool,
    /// Claims whose entries the page has no room for.
    pub(super) outgrown: Vec<Stamped>,
}

impl Desk {
    /// What to do for these claims, all of which wait for this page. Only views that were asked for after a claim began to
    /// wait count for it.
    pub(super) fn step(&self, claims: &[&Claim], life: &Incarnation, limits: Limits) -> (PageStep, Draft) {
        let mut draft = Draft { urgent: true, ..Draft::default() };
        let must_look = claims.iter().any(|claim| claim.must_look());
        let (revision, page) = match &self.known {
            Sight::Unread if claims.is_empty() && self.going.is_empty() => return (PageStep::Nothing, draft),
            Sight::Unread => return (PageStep::Read, draft),
            _ if must_look => return (PageStep::Read, draft),
            Sight::Absent if claims.iter().any(|claim| claim.makes_page()) => {
                return (PageStep::Write(None, LedgerPage::empty(life.clone())), draft);
            }
            Sight::Absent => return (PageStep::Nothing, draft),
            Sight::There(revision, page) => (revision, page),
        };
        let mut new = page.clone();
        new.entries.retain(|key, _| !self.going.contains(key));
        draft.urgent = false;
        for claim in claims {
            Self::add(claim, &mut new, limits, &mut draft);
        }
        if new == *page {
            return (PageStep::Nothing, draft);
        }
        (PageStep::Write(Some(revision.clone()), new), draft)
    }

    /// Adds one claim's part, if there is room for it.
    fn add(claim: &Claim, page: &mut LedgerPage, limits: Limits, draft: &mut Draft) {
        let before = claim.entry().and_then(|key| page.entries.get(&key).cloned().map(|entry| (key, entry)));
        let count = page.entries.len();
        if !claim.edit(page) {
            return;
        }
        // One entry by itself always fits: there is no page with more room.
        let alone = page.entries.len() == 1;
        let fits = alone || (page.bytes() <= limits.bytes && page.entries.len() <= limits.entries.max(count));
        match (fits, before, claim.entry()) {
            (true, _, _) if claim.held().is_some() => draft.commits = true,
            (true, _, _) => draft.urgent = true,
            (false, Some((key, entry)), _) => {
                // A page that is over its bound as it stands must still be sealed.
                if claim.held().is_some() {
                    page.entries.insert(key, entry);
                    draft.outgrown.push((claim.split().clone(), claim.stamp()));
                } else {
                    draft.urgent = true;
                }
            }
            (false, None, key) => {
                key.and_then(|key| page.entries.remove(&key));
                draft.outgrown.push((claim.split().clone(), claim.stamp()));
            }
        }
    }

    /// Takes a call's answer; true if it is a view.
    pub(super) fn answered(&mut self, written: Written<Option<(ObjectRevision, LedgerPage)>>, now: Duration) -> Result<bool, StoreError> {
        self.busy = false;
        match written {
            Written::Stands(known) => {
                self.known = known.map_or(Sight::Absent, |(revision, page)| Sight::There(revision, page));
                (self.seen, self.failures) = (now, 0);
                let going = std::mem::take(&mut self.going);
                let stands = |key: &EntryKey| self.view().is_some_and(|view| view.page.entries.contains_key(key));
                self.going = going.into_iter().filter(stands).collect();
                Ok(true)
            }
            Written::Lost => {
                self.known = Sight::Unread;
                Ok(false)
            }
            Written::Failed(error) => {
                self.known = Sight::Unread;
                Err(error)
            }
        }
    }

    /// What the last view showed.
    pub(super) fn view(&self) -> Option<PageView<'_>> {
        match &self.known {
            Sight::There(revision, page) => Some(PageView { revision, page }),
            Sight::Unread | Sight::Absent => None,
        }
    }
}
