//! One replica's part in an election, as a state machine over what it sees of the Lease.

use k8s_openapi::api::coordination::v1::Lease;
use std::time::Duration;

/// What a candidate sees of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    holder: String,
    /// What moves with every renewal.
    counter: String,
    ttl: Duration,
}

impl Seen {
    /// What a Lease says.
    pub(super) fn of(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let renewed = spec.renew_time.map(|time| time.0.to_string()).unwrap_or_default();
        Self {
            holder: spec.holder_identity.unwrap_or_default(),
            counter: format!("{renewed} {}", spec.lease_transitions.unwrap_or_default()),
            ttl: Duration::from_secs(spec.lease_duration_seconds.and_then(|seconds| seconds.try_into().ok()).unwrap_or(0)),
        }
    }
}

/// What to do with the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Become its holder.
    Take,
    /// Stay its holder.
    Renew,
    /// Leave it.
    Wait,
}

/// A replica.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    identity: String,
    ttl: Duration,
    other: Option<(Seen, Duration)>,
    renewed: Option<Duration>,
}

impl Candidate {
    pub(super) const fn new(identity: String, ttl: Duration) -> Self {
        Self { identity, ttl, other: None, renewed: None }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// What to do, having seen this at that moment of the own clock.
    pub(super) fn act(&mut self, now: Duration, seen: Option<&Seen>) -> Act {
        let Some(seen) = seen.filter(|seen| !seen.holder.is_empty()) else { return Act::Take };
        if seen.holder == self.identity {
            return Act::Renew;
        }
        // Another holds it: what we held is over, whatever our clock says.
        self.renewed = None;
        match &self.other {
            Some((known, since)) if known == seen => {
                if now.saturating_sub(*since) > seen.ttl {
                    Act::Take
                } else {
                    Act::Wait
                }
            }
            _ => {
                self.other = Some((seen.clone(), now));
                Act::Wait
            }
        }
    }

    /// A write that was sent at this moment has made, or kept, us the holder.
    pub(super) fn held(&mut self, sent: Duration) {
        self.renewed = Some(sent);
    }

    /// Whether we lead: up to well before others may take the Lease.
    pub(super) fn leads(&self, now: Duration) -> bool {
        self.renewed.is_some_and(|sent| now.saturating_sub(sent) < self.ttl.saturating_mul(2) / 3)
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, Candidate, Seen};
    use std::time::Duration;

    const TTL: Duration = Duration::from_secs(15);

    fn seen(holder: &str, counter: &str) -> Seen {
        Seen { holder: holder.into(), counter: counter.into(), ttl: TTL }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_lease_that_is_free_or_given_up_is_taken_and_ones_own_is_renewed() {
        let mut own = Candidate::new("a".into(), TTL);
        assert_eq!(own.act(at(0), None), Act::Take);
        assert_eq!(own.act(at(0), Some(&seen("", "1"))), Act::Take);
        assert_eq!(own.act(at(0), Some(&seen("a", "1"))), Act::Renew);
    }

    #[test]
    fn i10_anothers_lease_is_taken_once_it_has_stood_still_for_its_time_on_our_clock() {
        let mut own = Candidate::new("b".into(), TTL);
        assert_eq!(own.act(at(100), Some(&seen("a", "1"))), Act::Wait);
        assert_eq!(own.act(at(115), Some(&seen("a", "1"))), Act::Wait);
        assert_eq!(own.act(at(116), Some(&seen("a", "2"))), Act::Wait);
        assert_eq!(own.act(at(131), Some(&seen("a", "2"))), Act::Wait);
        assert_eq!(own.act(at(132), Some(&seen("a", "2"))), Act::Take);
    }

    #[test]
    fn a_leader_that_cannot_renew_stops_before_others_may_begin() {
        let mut own = Candidate::new("a".into(), TTL);
        own.held(at(100));
        assert!(own.leads(at(109)) && !own.leads(at(110)));
        assert_eq!(own.act(at(101), Some(&seen("b", "9"))), Act::Wait);
        assert!(!own.leads(at(101)));
    }
}
