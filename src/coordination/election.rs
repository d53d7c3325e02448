//! Who leads: the same rule of counters that stand still, over one record.
//!
//! Owns: candidacy, renewal, and the term that an assignment carries.
//! May not: be needed for safety: two leaders give bad balance at most (I6).

use super::ledger::Me;
use super::membership::Lease;
use super::records::LeaderRecord;
use super::store::{Key, Known, ObjectRevision, Record, Store, StoreError, Swap};
use crate::env::{Env, first_of};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Whether we lead, and in which term.
#[derive(Debug)]
pub(super) struct Lead {
    lease: Lease,
    term: Mutex<u64>,
}

impl Lead {
    pub(super) fn new(ttl: Duration) -> Self {
        Self { lease: Lease::new(ttl), term: Mutex::new(0) }
    }

    /// Leads in this term from now on.
    #[cfg(test)]
    pub(super) fn take_for_test(&self, now: Duration, term: u64) {
        *self.term.lock() = term;
        self.lease.renewed(now);
    }

    /// The leader's term, while it is ours.
    pub(super) fn term(&self, now: Duration) -> Option<u64> {
        self.lease.term(now).map(|_| *self.term.lock())
    }
}

/// Whether this worker leaves, or cannot read for now: who does neither stands for election.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    said: AtomicBool,
    back: AtomicBool,
    told: Notify,
}

impl Leaving {
    /// It leaves from now on. Answers whether that is new.
    pub(super) fn say(&self) -> bool {
        let new = !self.said.swap(true, Ordering::Relaxed);
        self.told.notify_one();
        new
    }

    pub(super) fn is_said(&self) -> bool {
        self.said.load(Ordering::Relaxed)
    }

    /// It cannot read for now, or can again: what it cannot reach it cannot plan either.
    pub(super) fn stand_back(&self, back: bool) {
        self.back.store(back, Ordering::Relaxed);
        self.told.notify_one();
    }

    fn is_back(&self) -> bool {
        self.back.load(Ordering::Relaxed)
    }
}

/// A candidate.
pub(super) struct Candidate {
    pub(super) env: Env,
    pub(super) store: Arc<dyn Store>,
    pub(super) me: Me,
    pub(super) lead: Arc<Lead>,
    pub(super) leaving: Arc<Leaving>,
    pub(super) ttl: Duration,
}

/// Another's leadership: what it was last seen to say, and when the answer that first showed that came.
struct Other {
    seen: LeaderRecord,
    since: Duration,
}

impl Candidate {
    /// Stands for election, and renews, while `goes_on`. Whoever leaves gives up the lead at once: others assign what it lets
    /// go of.
    pub(super) async fn run(self, goes_on: impl Fn() -> bool + Send) {
        let nonce = self.env.random().number();
        let mut other = None;
        // Said once: whoever follows waits until the record stands still.
        let mut given_up = false;
        while goes_on() {
            if self.leaving.is_said() {
                if self.resign(nonce).await.is_ok() {
                    return;
                }
                self.env.clock().sleep(self.ttl.checked_div(16).unwrap_or_default()).await;
                continue;
            }
            if self.leaving.is_back() {
                given_up = given_up || self.resign(nonce).await.is_ok();
                other = None;
            } else {
                given_up = false;
                if self.stand(nonce, &mut other).await.is_err() {
                    // A failed read judges nothing.
                    other = None;
                }
            }
            let quarter = self.ttl.checked_div(4).unwrap_or_default();
            let jitter =
                quarter.checked_div(20).unwrap_or_default().saturating_mul(u32::try_from(self.env.random().number() % 5).unwrap_or(0));
            first_of(self.env.clock().sleep(quarter.saturating_sub(jitter)), self.leaving.told.notified()).await;
        }
    }

    /// Says of a lead that is ours that it may stand still for no time at all. Nobody else's is touched.
    async fn resign(&self, nonce: u64) -> Result<(), StoreError> {
        self.lead.lease.lost();
        let Some(Known { revision, record }) = self.store.read(&Key::Leader).await? else { return Ok(()) };
        let found = record.leader()?;
        if self.is_ours(&found, nonce) {
            let over = LeaderRecord { counter: found.counter.wrapping_add(1), ttl: Duration::ZERO, ..found };
            self.store.swap(&Key::Leader, &revision, Record::Leader(over)).await?;
        }
        Ok(())
    }

    fn is_ours(&self, found: &LeaderRecord, nonce: u64) -> bool {
        self.me.worker == found.holder && self.me.incarnation == found.incarnation && found.nonce == nonce
    }

    /// One look at the record, and what follows from it. A write without an answer is settled by the next look: the record
    /// then says our nonce, or not.
    async fn stand(&self, nonce: u64, other: &mut Option<Other>) -> Result<(), StoreError> {
        let sent = self.env.clock().monotonic();
        let Some(Known { revision, record }) = self.store.read(&Key::Leader).await? else {
            let first = self.record(nonce, 1, 0);
            let made = self.store.create(&Key::Leader, Record::Leader(first.clone())).await?;
            self.won(sent, first.term, &made);
            return Ok(());
        };
        let found = record.leader()?;
        if self.is_ours(&found, nonce) {
            let renewed = LeaderRecord { counter: found.counter.wrapping_add(1), ..found };
            return self.write(sent, &revision, renewed).await;
        }
        self.lead.lease.lost();
        let answered = self.env.clock().monotonic();
        let known = other.take().filter(|other| other.seen == found);
        let since = known.map_or(answered, |other| other.since);
        if sent.saturating_sub(since) < found.ttl {
            *other = Some(Other { seen: found, since });
            return Ok(());
        }
        let taken = self.record(nonce, found.term.saturating_add(1), found.counter.wrapping_add(1));
        self.write(sent, &revision, taken).await
    }

    async fn write(&self, sent: Duration, read: &ObjectRevision, new: LeaderRecord) -> Result<(), StoreError> {
        let term = new.term;
        let answer = self.store.swap(&Key::Leader, read, Record::Leader(new)).await?;
        self.won(sent, term, &answer);
        Ok(())
    }

    fn won(&self, sent: Duration, term: u64, answer: &Swap) {
        if matches!(answer, Swap::Done(_)) {
            *self.lead.term.lock() = term;
            self.lead.lease.renewed(sent);
        }
    }

    fn record(&self, nonce: u64, term: u64, counter: u64) -> LeaderRecord {
        let Me { worker, incarnation } = self.me.clone();
        LeaderRecord { holder: worker, incarnation, nonce, term, counter, ttl: self.ttl }
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Lead, Leaving};
    use crate::coordination::ledger::Me;
    use crate::coordination::records::{Incarnation, WorkerName};
    use crate::coordination::store::Memory;
    use crate::env::Simulation;
    use std::sync::Arc;
    use std::time::Duration;

    const TTL: Duration = Duration::from_mins(1);

    /// Starts a candidate of this name.
    fn stands(world: &Simulation, store: &Memory, name: &str) -> (Arc<Lead>, Arc<Leaving>) {
        let me = Me { worker: WorkerName::new(name), incarnation: Incarnation::new(name) };
        let (lead, leaving) = (Arc::new(Lead::new(TTL)), Arc::<Leaving>::default());
        let (store, env) = (Arc::new(store.clone()), world.env());
        let candidate = Candidate { env, store, me, lead: lead.clone(), leaving: leaving.clone(), ttl: TTL };
        world.env().tasks().spawn("candidate", Box::pin(candidate.run(|| true)));
        (lead, leaving)
    }

    #[test]
    fn a_leader_that_leaves_is_followed_before_its_time_is_over() {
        let (world, store) = (Simulation::new(5), Memory::new());
        let term = |lead: &Lead| lead.term(world.env().clock().monotonic());
        let (first, leaving) = stands(&world, &store, "a");
        world.run(Duration::from_secs(1));
        let (second, _) = stands(&world, &store, "b");
        world.run(Duration::from_secs(200));
        assert_eq!((term(&first), term(&second)), (Some(1), None));
        leaving.say();
        world.run(Duration::from_secs(201));
        assert_eq!(term(&first), None, "it gives up at once");
        world.run(Duration::from_secs(217));
        assert_eq!(term(&second), Some(2), "the other sees it with its next look, a quarter of the time later at most");
        world.run(Duration::from_secs(400));
        assert_eq!((term(&first), term(&second)), (None, Some(2)), "who leaves stands no more");
    }

    #[test]
    fn a_leader_that_cannot_read_is_followed_and_stands_again_once_it_can() {
        let (world, store) = (Simulation::new(6), Memory::new());
        let term = |lead: &Lead| lead.term(world.env().clock().monotonic());
        let (first, back) = stands(&world, &store, "a");
        world.run(Duration::from_secs(1));
        let (second, leaving) = stands(&world, &store, "b");
        world.run(Duration::from_secs(200));
        back.stand_back(true);
        world.run(Duration::from_secs(217));
        assert_eq!((term(&first), term(&second)), (None, Some(2)));
        back.stand_back(false);
        leaving.say();
        world.run(Duration::from_mins(5));
        assert_eq!((term(&first), term(&second)), (Some(3), None));
    }
}
