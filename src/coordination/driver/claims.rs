//! What is wanted, and what claims come to.

use super::ops;
use super::seat::{Loss, Seat, Stage};
use super::{Completeness, Config, Driver};
use crate::coordination::ledger::{Aim, Outcome};
use crate::coordination::membership::Standing;
use crate::coordination::records::{SplitRecord, SplitState};
use crate::flow::{RootEpoch, SplitId};
use std::collections::BTreeSet;
use std::time::Duration;

impl Driver {
    /// Compares what is held with what is wanted, and starts what is missing. No assignment at all is no instruction: what
    /// is held is kept, and nothing is claimed (I13).
    pub(super) fn take_wishes(&mut self, now: Duration) {
        if self.standing.root.is_none() || !self.hints.plan.as_ref().is_some_and(|plan| plan.whole) {
            return;
        }
        // Who leaves lets go of all by itself: there may be no leader to ask it to.
        let assigned = self.hints.assignment.as_ref().map(|assignment| assignment.splits.clone());
        let wanted = if self.leaving.is_said() { Some(BTreeSet::new()) } else { assigned };
        if let Some(wanted) = wanted {
            self.revoke_others(&wanted, now);
            let claimed: Vec<SplitId> = wanted.iter().filter(|split| self.should_claim(split)).cloned().collect();
            let left: Vec<SplitId> = self.named(&wanted).collect();
            let aims = claimed.into_iter().map(|split| (split, Aim::Hold)).chain(left.into_iter().map(|split| (split, Aim::Release)));
            for (split, aim) in aims.collect::<Vec<_>>() {
                self.begin(split, aim, now);
            }
        }
        self.ask_whether_all_is_complete(now);
    }

    fn should_claim(&self, split: &SplitId) -> bool {
        let Some(record) = self.hints.splits.get(split) else { return false };
        let owner = record.owner.as_ref();
        let free = owner.is_none_or(|owner| self.me.is(owner) || self.observer.standing(owner, self.config.ttl) != Standing::Alive);
        free && self.may_be_open(record)
    }

    fn may_be_open(&self, record: &SplitRecord) -> bool {
        match record.state {
            SplitState::Open => true,
            SplitState::Waiting => record.parents.iter().all(|parent| record.may_follow(parent, self.hints.splits.get(parent))),
            SplitState::Completed | SplitState::Quarantined => false,
        }
    }

    /// Splits whose records name this life without a wish for them, and without a tenancy (I11).
    fn named(&self, wanted: &BTreeSet<SplitId>) -> impl Iterator<Item = SplitId> {
        let mine = |record: &SplitRecord| record.owner.as_ref().is_some_and(|owner| self.me.is(owner));
        let named = self.hints.splits.iter().filter(move |(split, record)| mine(record) && !wanted.contains(*split));
        named.map(|(split, _)| split.clone()).collect::<Vec<_>>().into_iter()
    }

    fn begin(&mut self, split: SplitId, aim: Aim, now: Duration) {
        if self.is_being_lost(&split) {
            return;
        }
        let seat = self.seats.entry(split.clone()).or_insert_with(|| Seat::new(split, self.me.clone()));
        if !seat.claim.is_idle() || seat.tenancy.is_some() || seat.busy {
            return;
        }
        if seat.leaving.as_ref().is_some_and(|leaving| !leaving.is_over()) {
            return;
        }
        let not_before = seat.not_before;
        if now >= not_before {
            (seat.leaving, seat.refused) = (None, 0);
            seat.claim.begin(aim);
        } else {
            self.at(not_before);
        }
    }

    /// What is held or being claimed and not wanted: claims are given up, tenancies are taken away.
    fn revoke_others(&mut self, wanted: &BTreeSet<SplitId>, now: Duration) {
        for (_, seat) in self.seats.iter_mut().filter(|(split, _)| !wanted.contains(*split)) {
            if seat.is_early() && seat.claim.aim() == Aim::Hold {
                seat.claim.forget();
            }
            if let Some(tenancy) = &mut seat.tenancy
                && matches!(tenancy.stage, Stage::Flowing)
            {
                tenancy.stage = Stage::Draining { since: now, accepted: false, told: false };
            }
        }
    }

    /// Whether its loop has yet to be told that the last tenancy is over.
    pub(super) fn is_being_lost(&self, split: &SplitId) -> bool {
        self.out.losses.iter().any(|loss| loss.split == *split)
    }

    fn ask_whether_all_is_complete(&mut self, now: Duration) {
        let is_final = self.hints.plan.as_ref().is_some_and(|plan| plan.is_final);
        if !is_final || !self.hints.splits.values().all(|record| record.state == SplitState::Completed) {
            return;
        }
        match self.hints.complete {
            Completeness::Not(until) if now < until => self.at(until),
            Completeness::Open | Completeness::Not(_) => {
                self.hints.complete = Completeness::Asked;
                let store = self.store.clone();
                self.call(ops::look_whether_all_is_complete(store));
            }
            Completeness::Asked | Completeness::Told => {}
        }
    }

    /// Whether we may evaluate from a progress made under this root (I38).
    pub(super) fn may_go_on_from(&self, root: Option<RootEpoch>) -> bool {
        self.standing.root.is_some_and(|own| root.is_none_or(|root| root <= own.epoch))
    }

    /// Applies what a claim has come to.
    pub(super) fn outcome(&mut self, split: &SplitId, outcome: Option<Outcome>, now: Duration) {
        let Some(outcome) = outcome else { return };
        match outcome {
            Outcome::Ownerless | Outcome::Held | Outcome::Missing => {}
            Outcome::Committed => self.committed(split),
            Outcome::Fenced => self.lose(split),
            Outcome::Sealed => self.sealed(split),
            Outcome::Released => self.next_tidy = self.next_tidy.min(now.saturating_add(Duration::from_secs(1))),
            Outcome::Off => {
                if let Some(seat) = self.seats.get_mut(split) {
                    seat.fail(now);
                }
            }
        }
    }

    fn committed(&mut self, split: &SplitId) {
        let Some(seat) = self.seats.get_mut(split) else { return };
        let progress = seat.claim.held().map(|tenure| tenure.progress.clone());
        if let (Some(tenancy), Some(progress)) = (&mut seat.tenancy, progress)
            && let Some(at) = tenancy.pending.take()
        {
            (tenancy.base, tenancy.committed) = (progress, at);
            self.out.committed.push_back((split.clone(), at));
        }
    }

    /// The tenancy is over against our will: its lane is stopped, and what was not sent is dropped.
    pub(super) fn lose(&mut self, split: &SplitId) {
        if let Some(tenancy) = self.seats.get_mut(split).and_then(|seat| seat.tenancy.take()) {
            self.lanes.remove(&tenancy.lane);
            self.out.due.retain(|lane| *lane != tenancy.lane);
            self.out.closing.push(split.clone());
            match tenancy.stage {
                // It has let go, or is being told to, already.
                Stage::LettingGo { awaited: Some(awaited), .. } => {
                    if let Some(seat) = self.seats.get_mut(split) {
                        seat.leaving = Some(awaited);
                    }
                }
                Stage::LettingGo { awaited: None, .. } | Stage::Last { forced: true, .. } => {}
                _ => self.out.losses.push(Loss { split: split.clone(), lane: tenancy.lane }),
            }
        }
    }

    /// The last commit stands: the lane is done.
    fn sealed(&mut self, split: &SplitId) {
        if let Some(tenancy) = self.seats.get_mut(split).and_then(|seat| seat.tenancy.take()) {
            self.lanes.remove(&tenancy.lane);
            self.out.due.retain(|lane| *lane != tenancy.lane);
            self.out.closing.push(split.clone());
            match tenancy.stage {
                // The lane was dropped before, and what is committed is what was.
                Stage::Last { forced: true, .. } => {}
                Stage::Last { at, .. } => {
                    self.out.committed.extend(at.map(|at| (split.clone(), at)));
                    self.out.retired.push(tenancy.lane);
                }
                _ => self.out.retired.push(tenancy.lane),
            }
        }
    }
}

impl Seat {
    /// Waits before the next try, longer with each in a row.
    pub(super) fn fail(&mut self, now: Duration) {
        self.not_before = now.saturating_add(Config::backoff(self.failures));
        self.failures = self.failures.saturating_add(1);
    }
}
