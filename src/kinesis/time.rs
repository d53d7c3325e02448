//! How long a call may take, and chance in delays.

use super::fault::{Class, Fault};
use super::service::{Call, Service};
use crate::env::{Env, first_of};
use std::time::Duration;

/// After how long a call counts as failed, whatever its client does: longer than all of the client's own timeouts.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The answer of a call, or a fault if none comes in time.
///
/// # Errors
/// The call's own, and that it took too long.
pub async fn bounded<T>(env: &Env, service: &dyn Service, name: &'static str, call: Call<'_, T>) -> Result<T, Fault> {
    let late = || Fault {
        class: Class::TimedOut,
        call: name,
        stream: service.stream().into(),
        said: format!("no answer within {} s", CALL_TIMEOUT.as_secs()).into(),
    };
    first_of(call, env.clock().sleep(CALL_TIMEOUT)).await.unwrap_or_else(|| Err(late()))
}

/// Some time between half of this one and all of it: those who were refused together do not come back together.
#[must_use]
pub fn jittered(env: &Env, most: Duration) -> Duration {
    let half = most.checked_div(2).unwrap_or_default();
    let nanos = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX);
    half.saturating_add(Duration::from_nanos(env.random().number().checked_rem(nanos.saturating_add(1)).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::jittered;
    use crate::env::Simulation;
    use std::time::Duration;

    #[test]
    fn a_delay_lies_between_half_of_it_and_all_of_it_and_varies() {
        let env = Simulation::new(1).env();
        let most = Duration::from_secs(4);
        let delays: Vec<_> = (0..100).map(|_| jittered(&env, most)).collect();
        assert!(delays.iter().all(|delay| (most / 2..=most).contains(delay)));
        assert!(delays.iter().any(|delay| *delay < most * 5 / 8) && delays.iter().any(|delay| *delay > most * 7 / 8));
        assert_eq!(jittered(&env, Duration::ZERO), Duration::ZERO);
    }
}
