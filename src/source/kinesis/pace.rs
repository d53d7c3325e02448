//! How fast one shard is asked.

use crate::env::Env;
use crate::kinesis::{Class, jittered};
use std::time::Duration;

/// Between an answer and the next call: five calls a second are all that a shard gives. Counted from the answer, so that
/// however long calls are on their way, they arrive no closer than this.
const BETWEEN: Duration = Duration::from_millis(200);
/// How often a shard is asked that has nothing.
const IDLE: Duration = Duration::from_secs(1);
/// The bytes that a shard gives in a second.
const BYTES_A_SECOND: u64 = 2 << 20;

/// How long to leave the shard alone after an answer of this many bytes; `idle`: it had nothing, and there is nothing more.
pub(super) fn rest(bytes: usize, idle: bool) -> Duration {
    let micros = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1_000_000).div_ceil(BYTES_A_SECOND);
    Duration::from_micros(micros).max(if idle { IDLE } else { BETWEEN })
}

/// Growing delays between calls that fail, until one succeeds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// How long to wait after one more failure of this class.
    pub(super) fn next(&mut self, env: &Env, class: Class) -> Duration {
        let (first, longest) = match class {
            // What somebody must mend is tried slowly.
            Class::Denied | Class::Credentials | Class::EncryptionKey | Class::NotFound => {
                (Duration::from_secs(4), Duration::from_secs(30))
            }
            _ => (BETWEEN.saturating_mul(2), Duration::from_secs(5)),
        };
        let most = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        jittered(env, most)
    }

    /// A call has succeeded.
    pub(super) const fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, rest};
    use crate::env::Simulation;
    use crate::kinesis::Class;
    use std::time::Duration;

    #[test]
    fn a_shard_is_asked_within_its_limits_of_calls_and_of_bytes() {
        assert_eq!(rest(0, true), Duration::from_secs(1));
        assert_eq!(rest(1_000, false), Duration::from_millis(200));
        assert_eq!(rest(10 << 20, false), Duration::from_secs(5));
        assert_eq!(rest(3 << 20, true), Duration::from_millis(1_500));
    }

    #[test]
    fn delays_grow_to_a_bound_never_fall_below_the_pace_and_begin_anew() {
        let env = Simulation::new(3).env();
        let mut backoff = Backoff::default();
        let delays: Vec<_> = (0..20).map(|_| backoff.next(&env, Class::Throttled)).collect();
        assert!(delays.iter().all(|delay| (Duration::from_millis(200)..=Duration::from_secs(5)).contains(delay)), "{delays:?}");
        assert!(delays[10..].iter().all(|delay| *delay >= Duration::from_millis(2_500)), "{delays:?}");
        backoff.reset();
        assert!(backoff.next(&env, Class::Failed) <= Duration::from_millis(400));
        let slow: Vec<_> = (0..20).map(|_| backoff.next(&env, Class::Denied)).collect();
        assert!(slow.iter().all(|delay| (Duration::from_secs(2)..=Duration::from_secs(30)).contains(delay)), "{slow:?}");
    }
}
