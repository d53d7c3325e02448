//! When an attempt's time is over.
//!
//! Its deadline stands in status, by a clock that may be another machine's. So it is judged only by a replica that has
//! itself looked on for long enough: one that has just come to office gives a phase 30 seconds, and while no worker is
//! joined no time passes at all.

use crate::flow::RootEpoch;
use std::time::Duration;

/// What a replica that has come to office gives a phase that it has not begun itself.
const GIVEN: Duration = Duration::from_secs(30);

/// A part of an attempt with its own deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) struct Phase {
    /// The attempt.
    pub(in crate::operator) epoch: RootEpoch,
    /// Whether it is past its commit.
    pub(in crate::operator) committed: bool,
}

/// How long this replica has looked on at a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operator) struct Patience {
    phase: Phase,
    /// From when on time may run out, on this machine's clock.
    from: Duration,
    /// Whether nobody was joined when it was last looked at.
    alone: bool,
}

impl Patience {
    /// A phase that this replica has begun just now.
    pub(in crate::operator) const fn begun(phase: Phase, now: Duration) -> Self {
        Self { phase, from: now, alone: false }
    }

    /// What is known of a phase that is looked at now; `joined` says whether a worker is, `timeout` is what workers have
    /// from the moment on at which the first joins.
    pub(in crate::operator) fn looked(known: Option<Self>, phase: Phase, (now, joined): (Duration, bool), timeout: Duration) -> Self {
        let known = known.filter(|known| known.phase == phase);
        let mut patience = known.unwrap_or(Self { phase, from: now.saturating_add(GIVEN), alone: false });
        if joined && patience.alone {
            patience.from = patience.from.max(now.saturating_add(timeout));
        }
        patience.alone = !joined;
        patience
    }

    /// Whether time is over, `overdue` being what the deadline in status says.
    pub(in crate::operator) fn is_over(&self, now: Duration, overdue: bool) -> bool {
        overdue && !self.alone && now >= self.from
    }
}

#[cfg(test)]
mod tests {
    use super::{Patience, Phase};
    use crate::flow::RootEpoch;
    use std::time::Duration;

    const TIMEOUT: Duration = Duration::from_mins(2);

    fn phase(epoch: i64) -> Phase {
        Phase { epoch: RootEpoch::new(epoch), committed: true }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_phase_of_ones_own_ends_with_its_deadline() {
        let patience = Patience::looked(Some(Patience::begun(phase(1), at(10))), phase(1), (at(11), true), TIMEOUT);
        assert!(patience.is_over(at(11), true) && !patience.is_over(at(11), false));
    }

    #[test]
    fn a_new_leader_gives_a_phase_half_a_minute() {
        for known in [None, Some(Patience::begun(phase(1), at(0)))] {
            let patience = Patience::looked(known, phase(2), (at(10), true), TIMEOUT);
            assert!(!patience.is_over(at(39), true) && patience.is_over(at(40), true));
        }
    }

    #[test]
    fn no_time_passes_while_nobody_is_joined() {
        let alone = Patience::looked(Some(Patience::begun(phase(1), at(0))), phase(1), (at(900), false), TIMEOUT);
        assert!(!alone.is_over(at(900), true));
        let joined = Patience::looked(Some(alone), phase(1), (at(1_000), true), TIMEOUT);
        assert!(!joined.is_over(at(1_119), true) && joined.is_over(at(1_120), true));
        assert_eq!(Patience::looked(Some(joined), phase(1), (at(1_050), true), TIMEOUT), joined);
    }
}
