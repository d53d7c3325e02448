//! What the backend tells: every answer and hint is applied.

use super::ops::{self, Found, Reply, Stamped, Written};
use super::seat::{Lineage, Stage};
use super::{Completeness, Config, Driver, DriverError, Registration};
use crate::coordination::ledger::RecordView;
use crate::coordination::membership::Standing;
use crate::coordination::records::{EntryKey, LedgerPage, PageId, SplitState, WorkerStatus};
use crate::coordination::store::{Key, Known, ObjectRevision, Record, StoreError};
use crate::error::{Meaning, Retry};
use crate::flow::SplitId;
use std::time::Duration;

impl Driver {
    /// Applies all that has come since the last time.
    pub(super) fn apply_replies(&mut self, now: Duration) {
        let (replies, hints) = self.inbox.take();
        for (key, known) in hints {
            self.hinted(key, known);
        }
        for reply in replies {
            self.replied(reply, now);
        }
    }

    fn hinted(&mut self, key: Key, known: Option<Known>) {
        match (key, known.map(|known| known.record)) {
            (Key::Split(split), Some(Record::Split(record))) => drop(self.hints.splits.insert(split, *record)),
            (Key::Split(split), None) => drop(self.hints.splits.remove(&split)),
            (Key::Plan, Some(Record::Plan(plan))) => self.hints.plan = Some(plan),
            // Somebody has deleted it: without one nobody can tell us anything. It is made again, and we join anew.
            (Key::Worker(_), None) => self.standing.registered = None,
            (Key::Worker(_), Some(Record::Worker(worker))) => {
                // A deposed leader may write after its successor has.
                let number = |assignment: &crate::coordination::records::Assignment| (assignment.term, assignment.number);
                let newest = self.hints.assignment.as_ref().map(number);
                if let Some(assignment) = worker.assignment.filter(|assignment| newest.is_none_or(|newest| number(assignment) > newest)) {
                    self.hints.assignment = Some(assignment);
                }
            }
            _ => {}
        }
    }

    fn replied(&mut self, reply: Reply, now: Duration) {
        match reply {
            Reply::Proved(result) => self.proved(result, now),
            Reply::Registered(status, result) => self.registered(status, result, now),
            Reply::Beats(reading, Ok(beats)) => self.observer.saw_all(reading, beats),
            Reply::Beats(_, Err(error)) => {
                self.observer.failed();
                self.out.errors.push(error.into());
            }
            Reply::Found(stamped, found) => self.found(&stamped, *found, now),
            Reply::Record(stamped, written) => self.recorded(&stamped, written, now),
            Reply::Page(page, waiting, written) => self.paged(&page, &waiting, written, now),
            Reply::Child(parent, child, result) => self.child_made(&parent, &child, result, now),
            Reply::MayGo(page, result) => self.may_go(&page, result),
            Reply::AllComplete(result) => {
                let complete = matches!(result, Ok(true));
                self.hints.complete =
                    if complete { Completeness::Told } else { Completeness::Not(now.saturating_add(Duration::from_secs(1))) };
                self.out.complete = complete;
                self.out.errors.extend(result.err().map(DriverError::from));
            }
            Reply::Planning(error) => self.out.errors.push(error.into()),
        }
    }

    fn proved(&mut self, result: Result<(), StoreError>, now: Duration) {
        match result {
            Ok(()) => {
                self.standing.proved = true;
                self.beat();
            }
            Err(error) => {
                // A store that does not compare stays so: the error ends the worker.
                let again = if error.retry() == Retry::Backoff { now.saturating_add(Duration::from_secs(1)) } else { Duration::MAX };
                self.standing.register_at = again;
                self.out.errors.push(error.into());
            }
        }
        self.standing.registering = false;
    }

    fn registered(&mut self, said: Registration, result: Result<(), StoreError>, now: Duration) {
        self.standing.registering = false;
        match result {
            Ok(()) if self.standing.term == Some(said.term) => {
                let first = self.standing.registered.is_none_or(|registered| registered.term != said.term);
                self.standing.registered = Some(said);
                if first {
                    self.out.joined = Some(said.term);
                }
            }
            Ok(()) => {}
            Err(error) => {
                self.standing.register_at = now.saturating_add(Duration::from_millis(500));
                self.out.errors.push(error.into());
            }
        }
    }

    /// Follows the lease: stops everything when it has lapsed, and joins anew when it is back.
    pub(super) fn keep_membership(&mut self, now: Duration) {
        let running = self.lease.term(now);
        let term = running.map(|(term, _)| term);
        if self.standing.term != term {
            if self.standing.term.is_some() {
                self.lapse();
            }
            self.standing.term = term;
        }
        if let Some((_, end)) = running {
            self.at(end);
        }
        if self.lease.is_taken() {
            self.out.errors.push(DriverError::Superseded);
        }
        if self.standing.registering {
            return;
        }
        if now < self.standing.register_at {
            self.at(self.standing.register_at);
        } else if !self.standing.proved {
            self.standing.registering = true;
            self.prove(self.env.random().number());
        } else if let Some(said) = term.map(|term| self.registration(term)).filter(|said| self.standing.registered != Some(*said)) {
            self.register(said);
        }
    }

    fn registration(&self, term: u64) -> Registration {
        Registration { term, leaving: self.leaving.is_said(), idle: self.standing.idle }
    }

    fn register(&mut self, said: Registration) {
        self.standing.registering = true;
        let (store, worker) = (self.store.clone(), self.me.worker.clone());
        let budget = if said.leaving || said.idle { 0 } else { self.config.budget };
        let status = WorkerStatus { incarnation: self.me.incarnation.clone(), budget, leaving: said.leaving };
        self.call(async move { Reply::Registered(said, ops::register(store, worker, status).await) });
    }

    /// We could not renew in time: all that we hold is over before others may take it (I14).
    fn lapse(&mut self) {
        self.standing.registered = None;
        self.standing.root = None;
        self.out.joined = None;
        for split in self.seats.keys().cloned().collect::<Vec<_>>() {
            self.lose(&split);
            if let Some(seat) = self.seats.get_mut(&split) {
                seat.claim.forget();
            }
        }
    }

    fn found(&mut self, stamped: &Stamped, found: Result<Found, StoreError>, now: Duration) {
        let Some(seat) = self.seats.get_mut(&stamped.0) else { return };
        seat.busy = false;
        match found {
            Ok(_) if seat.claim.stamp() != stamped.1 => {}
            Ok(mut found) => {
                if let Some(view) = &found.record {
                    self.hints.splits.insert(stamped.0.clone(), view.record.clone());
                }
                if let Some((reading, worker, beat)) = found.beat.take() {
                    self.observer.saw_one(reading, worker, beat);
                }
                self.decide_claim(&stamped.0, &found, now);
            }
            Err(error) => {
                seat.fail(now);
                self.out.errors.push(error.into());
            }
        }
    }

    /// Whether a claim may go on from what it has found (I17, I38).
    fn decide_claim(&mut self, split: &SplitId, found: &Found, now: Duration) {
        let lineage = Lineage::of(split, found);
        let owner = found.record.as_ref().and_then(|view| view.record.owner.as_ref());
        let free = owner.is_none_or(|owner| self.me.is(owner) || self.observer.standing(owner, self.config.ttl) != Standing::Alive);
        let opens = found.record.as_ref().is_none_or(|view| {
            let follows = |parent| view.record.may_follow(parent, found.ancestors.get(parent).and_then(Option::as_ref));
            view.record.state != SplitState::Waiting || view.record.parents.iter().all(follows)
        });
        let rooted = self.may_go_on_from(lineage.floor.map(|root| root.epoch));
        let Some(seat) = self.seats.get_mut(split) else { return };
        if !opens || !rooted {
            seat.claim.forget();
            seat.fail(now);
            return;
        }
        seat.lineage = lineage;
        let outcome = seat.claim.saw_record(found.record.as_ref(), free);
        self.outcome(split, outcome, now);
    }

    fn recorded(&mut self, stamped: &Stamped, written: Written<Option<Box<RecordView>>>, now: Duration) {
        let Some(seat) = self.seats.get_mut(&stamped.0) else { return };
        seat.busy = false;
        match written {
            Written::Stands(view) => {
                if let Some(view) = &view {
                    self.hints.splits.insert(stamped.0.clone(), view.record.clone());
                }
                if seat.claim.stamp() == stamped.1 {
                    seat.failures = 0;
                    // Only a claim that reads anew asks who owns the split; it does so by `found`.
                    let outcome = seat.claim.saw_record(view.as_deref(), false);
                    self.outcome(&stamped.0, outcome, now);
                }
            }
            Written::Lost => seat.claim.unsure(),
            Written::Failed(error) => {
                seat.claim.unsure();
                seat.fail(now);
                self.out.errors.push(error.into());
            }
        }
    }

    fn paged(&mut self, page: &PageId, waiting: &[Stamped], written: Written<Option<(ObjectRevision, LedgerPage)>>, now: Duration) {
        let Some(desk) = self.desks.get_mut(page) else { return };
        match desk.answered(written, now) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                desk.not_before = now.saturating_add(Config::backoff(desk.failures));
                desk.failures = desk.failures.saturating_add(1);
                self.out.errors.push(error.into());
                return;
            }
        }
        for (split, stamp) in waiting {
            let Some(seat) = self.seats.get_mut(split).filter(|seat| seat.claim.stamp() == *stamp) else { continue };
            let view = self.desks.get(page).and_then(super::desk::Desk::view);
            let outcome = seat.claim.saw_page(view);
            self.outcome(split, outcome, now);
        }
    }

    fn child_made(&mut self, parent: &Stamped, child: &SplitId, result: Result<(), StoreError>, now: Duration) {
        let seat = self.seats.get_mut(&parent.0).filter(|seat| seat.claim.stamp() == parent.1);
        if let Some(seat) = seat
            && let Some(tenancy) = &mut seat.tenancy
            && let Stage::Completing { children, calling, .. } = &mut tenancy.stage
        {
            *calling = false;
            if result.is_ok() {
                children.retain(|shard| shard.split != *child);
            } else {
                seat.fail(now);
            }
        }
        self.out.errors.extend(result.err().map(DriverError::from));
    }

    fn may_go(&mut self, page: &PageId, result: Result<Vec<EntryKey>, StoreError>) {
        match result {
            Ok(going) => {
                // Its record says so for ever; and yet what a claim is about to use stays.
                let used: Vec<EntryKey> = self.seats.values().filter_map(|seat| seat.claim.entry()).collect();
                if let Some(desk) = self.desks.get_mut(page) {
                    desk.going.extend(going.into_iter().filter(|key| !used.contains(key)));
                }
            }
            Err(error) => self.out.errors.push(error.into()),
        }
    }
}
