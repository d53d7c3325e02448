//! How far stopping has come.

use crate::env::Env;
use crate::flow::Deadline;
use std::time::Duration;

/// How long a loop may take to say that it has ended, past its deadline.
const GRACE: Duration = Duration::from_secs(1);

/// Stopping: splits drain until the one deadline (I26), then the loop ends.
#[derive(Debug, Default)]
pub(super) struct Ending {
    by: Option<Deadline>,
    finishing: bool,
}

impl Ending {
    /// It begins now, and may take this long.
    pub(super) fn begin(&mut self, now: Duration, drain: Duration) {
        self.by.get_or_insert(Deadline::after(now, drain));
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.by.is_some()
    }

    pub(super) const fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// The loop is to end by this; none: it was told already, or nothing ends.
    pub(super) fn finish(&mut self) -> Option<Deadline> {
        self.by.filter(|_| !std::mem::replace(&mut self.finishing, true))
    }

    /// Completes when splits have had their time to drain; of a loop that was told to end, when it does not come back.
    pub(super) async fn overdue(&self, env: &Env) {
        match self.by {
            Some(by) => {
                let more = if self.finishing { GRACE } else { Duration::ZERO };
                env.clock().sleep(by.left(env.clock().monotonic()).saturating_add(more)).await;
            }
            None => std::future::pending().await,
        }
    }

    /// Whether splits have had their time to drain.
    #[cfg(feature = "worker")]
    pub(super) fn is_late(&self, now: Duration) -> bool {
        self.by.is_some_and(|by| by.left(now).is_zero())
    }

    /// Whether the loop does not come back.
    #[cfg(feature = "worker")]
    pub(super) fn is_hung(&self, now: Duration) -> bool {
        self.finishing && self.by.is_some_and(|by| by.left(now.saturating_sub(GRACE)).is_zero() && now > GRACE)
    }
}

#[cfg(all(test, feature = "worker"))]
mod tests {
    use super::Ending;
    use std::time::Duration;

    #[test]
    fn the_loop_is_told_once_and_hangs_only_past_the_deadline_and_a_grace() {
        let (start, drain) = (Duration::from_secs(100), Duration::from_secs(30));
        let mut ending = Ending::default();
        assert!(ending.finish().is_none() && !ending.is_late(start));
        ending.begin(start, drain);
        ending.begin(start + Duration::from_secs(10), drain);
        assert!(ending.is_late(start + drain) && !ending.is_hung(start + drain));
        assert!(ending.finish().is_some() && ending.finish().is_none());
        assert!(!ending.is_hung(start + drain) && ending.is_hung(start + drain + Duration::from_secs(1)));
    }
}
