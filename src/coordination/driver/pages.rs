//! What is called next: for each split its record, for each page its read or write; never two at once of one object.

use super::desk::{Desk, Draft, PageStep, Sight};
use super::ops;
use super::seat::Stage;
use super::{Config, Driver};
use crate::coordination::ledger::{Claim, Phase, RecordStep};
use crate::coordination::records::{EntryKey, PageId, Progress};
use crate::flow::SplitId;
use std::time::Duration;

/// From one look at what may go from our pages to the next.
const TIDY: Duration = Duration::from_secs(30);

impl Driver {
    /// Makes every call that can be made now.
    pub(super) fn issue(&mut self, now: Duration) {
        for split in self.seats.keys().cloned().collect::<Vec<_>>() {
            self.issue_record(&split, now);
        }
        let (losses, wanted) = (&self.out.losses, self.hints.assignment.as_ref());
        self.seats.retain(|split, seat| {
            let lost = losses.iter().any(|loss| loss.split == *split);
            // What is to come back to us, onto a page with more room.
            let returns = seat.need > 0 && wanted.is_some_and(|wanted| wanted.splits.contains(split));
            let leaves = lost || seat.leaving.as_ref().is_some_and(|leaving| !leaving.is_over());
            !seat.claim.is_idle() || seat.tenancy.is_some() || seat.busy || leaves || returns || now < seat.not_before
        });
        for page in self.waited_for() {
            self.desks.entry(page.clone()).or_default();
            self.issue_page(&page, now);
        }
        self.look_at_own_pages(now);
    }

    fn issue_record(&mut self, split: &SplitId, now: Duration) {
        let Some(seat) = self.seats.get_mut(split) else { return };
        let step = seat.claim.record_step();
        if seat.busy || step == RecordStep::Nothing {
            return;
        }
        let not_before = seat.not_before;
        if now < not_before {
            self.at(not_before);
            return;
        }
        seat.busy = true;
        let (stamped, store) = ((split.clone(), seat.claim.stamp()), self.store.clone());
        let reads_anew = matches!(seat.claim.phase(), Phase::Reading(_));
        match step {
            RecordStep::Nothing => {}
            RecordStep::Read if reads_anew => self.call(ops::find(self.env.clone(), store, stamped)),
            RecordStep::Read => self.call(ops::read_record(store, stamped)),
            RecordStep::Write(read, mut record) => {
                record.write_id = Some(format!("{}-{:016x}", self.me.worker, self.env.random().number()).into());
                self.call(ops::write_record(store, stamped, read, record));
            }
        }
    }

    /// Pages that a claim waits for, and those with something to be dropped.
    fn waited_for(&self) -> Vec<PageId> {
        let mut pages: Vec<PageId> = self.seats.values().filter_map(|seat| seat.claim.page().cloned()).collect();
        pages.extend(self.desks.iter().filter(|(_, desk)| !desk.going.is_empty()).map(|(page, _)| page.clone()));
        pages.sort();
        pages.dedup();
        pages
    }

    fn issue_page(&mut self, page: &PageId, now: Duration) {
        let Some(desk) = self.desks.get(page).filter(|desk| !desk.busy) else { return };
        if now < desk.not_before {
            self.at(desk.not_before);
            return;
        }
        let claims: Vec<&Claim> = self.seats.values().map(|seat| &seat.claim).filter(|claim| claim.page() == Some(page)).collect();
        let (step, draft) = desk.step(&claims, &self.me.incarnation, self.config.limits());
        let waiting: Vec<ops::Stamped> = claims.iter().map(|claim| (claim.split().clone(), claim.stamp())).collect();
        let complete = self.is_round_complete(page);
        self.outgrown(&draft);
        let store = self.store.clone();
        match step {
            PageStep::Nothing => self.show(page, &waiting, now),
            PageStep::Read => self.call_page(page, ops::read_page(store, page.clone(), waiting)),
            PageStep::Write(read, new) => {
                if !draft.urgent && draft.commits && !complete && !self.has_lingered(page, now) {
                    return;
                }
                self.call_page(page, ops::write_page(store, page.clone(), waiting, (read, new)));
            }
        }
    }

    fn call_page(&mut self, page: &PageId, call: impl Future<Output = ops::Reply> + Send + 'static) {
        if let Some(desk) = self.desks.get_mut(page) {
            (desk.busy, desk.commits_at) = (true, None);
        }
        self.call(call);
    }

    /// A claim may begin to wait for a page of ours that needs no call: it stands as it is known.
    fn show(&mut self, page: &PageId, waiting: &[ops::Stamped], now: Duration) {
        for (split, stamp) in waiting {
            let Some(desk) = self.desks.get(page).filter(|desk| !matches!(desk.known, Sight::Unread)) else { return };
            let Some(seat) = self.seats.get_mut(split).filter(|seat| seat.claim.stamp() == *stamp) else { continue };
            if !seat.claim.must_look() {
                let outcome = seat.claim.saw_page(desk.view());
                self.outcome(split, outcome, now);
            }
        }
    }

    /// Commits of one page are written together: they wait until all that were asked for are there, or a little while.
    fn has_lingered(&mut self, page: &PageId, now: Duration) -> bool {
        let linger = self.config.commit.checked_div(5).unwrap_or_default();
        let Some(desk) = self.desks.get_mut(page) else { return true };
        let until = *desk.commits_at.get_or_insert(now.saturating_add(linger));
        self.at(until);
        now >= until
    }

    /// Whether no tenancy on the page is still on its way to a commit of this round.
    fn is_round_complete(&self, page: &PageId) -> bool {
        let on_page = self.seats.values().filter(|seat| seat.claim.page() == Some(page));
        on_page.filter_map(|seat| seat.tenancy.as_ref()).all(|tenancy| !tenancy.asked && tenancy.capture.is_none())
    }

    /// Entries that a page has no room for move to another: those held by release and claim.
    fn outgrown(&mut self, draft: &Draft) {
        for (split, stamp) in &draft.outgrown {
            let Some(seat) = self.seats.get_mut(split).filter(|seat| seat.claim.stamp() == *stamp) else { continue };
            match seat.claim.phase() {
                Phase::Held { commit: Some(commit), .. } => seat.need = commit.bytes(),
                Phase::Sealed { progress, .. } => seat.need = progress.bytes(),
                _ => continue,
            }
            if seat.claim.held().is_some() {
                self.force(split, None);
            } else if let Some(page) = self.page_for(split) {
                self.clear(split, page);
            }
        }
    }

    pub(super) fn clear(&mut self, split: &SplitId, page: PageId) {
        if let Some(seat) = self.seats.get_mut(split) {
            seat.claim.clear(page);
        }
    }

    /// A page of ours with room for a split's entry: the first one, or a new one.
    pub(super) fn page_for(&self, split: &SplitId) -> Option<PageId> {
        let seat = self.seats.get(split)?;
        let Phase::Sealed { progress, .. } = seat.claim.phase() else { return None };
        let (key, need) = (seat.claim.entry()?, seat.wants());
        let stem = self.me.incarnation.as_str().rsplit('/').next().unwrap_or_default();
        let pages = (0_u32..).map(|number| PageId::new(&format!("{}-{stem}-{number}", self.me.worker)));
        pages.take(4096).find(|page| self.has_room(page, &key, progress, need))
    }

    fn has_room(&self, page: &PageId, key: &EntryKey, progress: &Progress, need: usize) -> bool {
        let limits = self.config.limits();
        let promised =
            self.seats.values().filter(|seat| seat.claim.page() == Some(page) && seat.claim.makes_page() && seat.claim.split() != &key.0);
        let (mut count, mut bytes) = promised.fold((1, need), |(count, bytes): (usize, usize), seat| {
            (count.saturating_add(1), bytes.saturating_add(seat.wants()).saturating_add(seat.claim.split().as_str().len()))
        });
        if let Some(view) = self.desks.get(page).and_then(Desk::view) {
            // What stands there already is taken up again, or in the way.
            if let Some(entry) = view.page.entries.get(key) {
                return !entry.sealed && entry.progress == *progress;
            }
            count = count.saturating_add(view.page.entries.len());
            bytes = bytes.saturating_add(view.page.bytes());
        }
        count == 1 || (count <= limits.entries && bytes <= limits.bytes)
    }

    /// Reads a page of ours anew once it was not seen for a while: an idle owner writes nothing, and would not notice that
    /// it is fenced. Looks for entries that may go.
    fn look_at_own_pages(&mut self, now: Duration) {
        let used: Vec<PageId> = self.seats.values().filter_map(|seat| seat.claim.held().map(|tenure| tenure.page.clone())).collect();
        for page in used {
            let Some(desk) = self.desks.get_mut(&page) else { continue };
            let due = desk.seen.saturating_add(self.config.ttl);
            if now >= due && !desk.busy && !matches!(desk.known, Sight::Unread) {
                desk.known = Sight::Unread;
                self.inbox.nudge();
            } else if now < due {
                self.at(due);
            }
        }
        self.desks.retain(|page, desk| desk.busy || !desk.going.is_empty() || desk.is_kept(page, &self.me, &self.seats));
        if now < self.next_tidy {
            self.at(self.next_tidy);
            return;
        }
        self.next_tidy = now.saturating_add(TIDY);
        let used: Vec<EntryKey> = self.seats.values().filter_map(|seat| seat.claim.entry()).collect();
        for (page, desk) in &self.desks {
            let Some(view) = desk.view().filter(|view| view.page.incarnation == self.me.incarnation) else { continue };
            let left: Vec<EntryKey> = view.page.entries.keys().filter(|key| !used.contains(key)).cloned().collect();
            if !left.is_empty() {
                self.call(ops::look_what_may_go(self.store.clone(), page.clone(), left));
            }
        }
    }

    /// Takes a split away without a drain: its lane is stopped first, then its entry is sealed as it stands.
    pub(super) fn force(&mut self, split: &SplitId, charge: Option<crate::coordination::records::LastError>) {
        let Some(tenancy) = self.seats.get_mut(split).and_then(|seat| seat.tenancy.as_mut()) else { return };
        if !matches!(tenancy.stage, Stage::LettingGo { .. } | Stage::Last { .. }) {
            tenancy.stage = Stage::LettingGo { awaited: None, charge };
            let lane = tenancy.lane;
            self.out.due.retain(|due| *due != lane);
            self.out.losses.push(super::seat::Loss { split: split.clone(), lane });
        }
    }
}

impl Desk {
    /// Whether the page is ours, or a claim waits for it: what others' pages said is not kept.
    fn is_kept(&self, page: &PageId, me: &super::Me, seats: &std::collections::BTreeMap<SplitId, super::seat::Seat>) -> bool {
        let own = self.view().is_some_and(|view| view.page.incarnation == me.incarnation);
        own || seats.values().any(|seat| seat.claim.page() == Some(page))
    }
}

impl Driver {
    /// When nothing else is due: the settings say how long a call that failed waits.
    pub(super) fn again_later(&mut self, now: Duration) {
        self.at(now.saturating_add(Config::backoff(0)));
    }
}
