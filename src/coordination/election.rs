//! Who leads: the same rule of counters that stand still, over one record.
//!
//! Owns: candidacy, renewal, and the term that an assignment carries.
//! May not: be needed for safety: two leaders give bad balance at most (I6).

use super::ledger::Me;
use super::membership::Lease;
use super::records::LeaderRecord;
use super::store::{Key, Known, ObjectRevision, Record, Store, StoreError, Swap};
use crate::env::Env;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

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

/// A candidate.
pub(super) struct Candidate {
    pub(super) env: Env,
    pub(super) store: Arc<dyn Store>,
    pub(super) me: Me,
    pub(super) lead: Arc<Lead>,
    pub(super) ttl: Duration,
}

/// Another's leadership: what it was last seen to say, and when the answer that first showed that came.
struct Other {
    seen: LeaderRecord,
    since: Duration,
}

impl Candidate {
    /// Stands for election, and renews, while `goes_on`.
    pub(super) async fn run(self, goes_on: impl Fn() -> bool + Send) {
        let nonce = self.env.random().number();
        let mut other = None;
        while goes_on() {
            if self.stand(nonce, &mut other).await.is_err() {
                // A failed read judges nothing.
                other = None;
            }
            let quarter = self.ttl.checked_div(4).unwrap_or_default();
            let jitter =
                quarter.checked_div(20).unwrap_or_default().saturating_mul(u32::try_from(self.env.random().number() % 5).unwrap_or(0));
            self.env.clock().sleep(quarter.saturating_sub(jitter)).await;
        }
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
        if self.me.worker == found.holder && self.me.incarnation == found.incarnation && found.nonce == nonce {
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
