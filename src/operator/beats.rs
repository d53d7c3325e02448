//! Which workers are joined: whose heartbeat moves.
//!
//! Owns: judging heartbeats by this machine's own clock, from what was seen to move (I10).
//! May not: compare a time that another machine wrote with its own.

use k8s_openapi::api::coordination::v1::Lease;
use std::collections::BTreeMap;
use std::time::Duration;

/// On a heartbeat: a number that rises with every renewal, whatever becomes of its times.
const COUNTER: &str = "millrace.dev/counter";
/// Where a Lease does not say how long its holder may be silent.
const TTL: i32 = 20;

/// Heartbeats as this replica has seen them.
#[derive(Clone, Debug, Default)]
pub(super) struct Beats(BTreeMap<String, Beat>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Beat {
    holder: String,
    /// What moves with every renewal.
    counter: String,
    since: Duration,
}

impl Beats {
    /// Takes in the heartbeats of a pipeline, read at this moment of the monotonic clock: the joined workers, each with the
    /// life that its heartbeat names. One that is seen for the first time counts as alive, until its time has passed.
    pub(super) fn look(&mut self, leases: &[Lease], now: Duration) -> Vec<(String, String)> {
        let seen: BTreeMap<_, _> = leases.iter().filter_map(|lease| self.judge(lease, now)).collect();
        let joined = leases.iter().filter_map(|lease| {
            let name = lease.metadata.name.clone()?;
            let beat = seen.get(&name)?;
            (now.saturating_sub(beat.since) <= ttl(lease)).then(|| (name, beat.holder.clone()))
        });
        let joined = joined.collect();
        self.0 = seen;
        joined
    }

    fn judge(&self, lease: &Lease, now: Duration) -> Option<(String, Beat)> {
        let spec = lease.spec.as_ref()?;
        let name = lease.metadata.name.clone()?;
        // An empty holder has left.
        let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
        let renewed = spec.renew_time.as_ref().map(|time| time.0.to_string()).unwrap_or_default();
        let noted = lease.metadata.annotations.as_ref().and_then(|all| all.get(COUNTER)).map(String::as_str).unwrap_or_default();
        let counter = format!("{renewed} {noted} {}", spec.lease_transitions.unwrap_or_default());
        let known = self.0.get(&name).filter(|known| known.holder == holder && known.counter == counter);
        let since = known.map_or(now, |known| known.since);
        Some((name, Beat { holder, counter, since }))
    }
}

fn ttl(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(TTL);
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::Beats;
    use k8s_openapi::api::coordination::v1::Lease;
    use serde_json::json;
    use std::time::Duration;

    fn lease(holder: &str, renewed: &str) -> Lease {
        serde_json::from_value(json!({"metadata": {"name": "p-worker-0"}, "spec": {
            "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 10}}))
        .unwrap()
    }

    fn joined(beats: &mut Beats, lease: &Lease, at: u64) -> Vec<String> {
        beats.look(std::slice::from_ref(lease), Duration::from_secs(at)).into_iter().map(|(_, life)| life).collect()
    }

    const FIRST: &str = "2020-01-01T00:00:00.000000Z";
    const NEXT: &str = "2020-01-01T00:00:05.000000Z";

    #[test]
    fn i10_a_heartbeat_is_judged_by_whether_it_moves_and_by_no_time_in_it() {
        let mut beats = Beats::default();
        assert_eq!(joined(&mut beats, &lease("a/1", FIRST), 100), ["a/1"]);
        assert_eq!(joined(&mut beats, &lease("a/1", FIRST), 110), ["a/1"]);
        assert!(joined(&mut beats, &lease("a/1", FIRST), 111).is_empty());
        assert_eq!(joined(&mut beats, &lease("a/1", NEXT), 112), ["a/1"]);
        assert!(joined(&mut beats, &lease("a/1", NEXT), 123).is_empty());
    }

    #[test]
    fn another_life_is_joined_at_once_and_one_that_left_is_not() {
        let mut beats = Beats::default();
        joined(&mut beats, &lease("a/1", FIRST), 0);
        assert_eq!(joined(&mut beats, &lease("a/2", FIRST), 60), ["a/2"]);
        assert!(joined(&mut beats, &lease("", FIRST), 61).is_empty());
        assert!(beats.look(&[], Duration::from_secs(62)).is_empty());
    }
}
