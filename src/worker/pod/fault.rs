//! What keeps this worker from its work, as its status tells it.
//!
//! Owns: the form of a fault; which of them stand, and for how long one that was only told once does.
//! May not: decide what follows from one.

use crate::api::faults;
use crate::api::stream_worker::Fault;
use crate::error::{Meaning, Retry, Whose};
use crate::flow::SourceError;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest message that a status takes, in characters.
const LONGEST: usize = 4_096;
/// How long something that is told again and again while it lasts stands after it was told last.
const STANDS: Duration = Duration::from_secs(30);
/// How long what passes by itself must have lasted before it is told: a call that fails once is no fault.
const LASTS: Duration = Duration::from_secs(8);
/// How many stand in the status.
const MOST: usize = 8;

/// An error as a status tells it.
pub(super) fn fault(error: &dyn Meaning) -> Fault {
    told(error, !matches!(error.retry(), Retry::Never | Retry::Fenced))
}

/// The same, where it is known otherwise whether it may pass.
pub(super) fn told(error: &dyn Meaning, may_pass: bool) -> Fault {
    Fault {
        code: error.code().to_string(),
        reason: error.reason().to_owned(),
        message: error.to_string().chars().take(LONGEST).collect(),
        may_pass,
    }
}

/// An error of the source as a status tells it.
pub(super) fn of_source(error: &SourceError) -> Fault {
    Fault { reason: faults::of_source(error.code).to_owned(), ..fault(error) }
}

/// What a fault is about. Of each there is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum About {
    /// The committed program, which cannot be installed.
    Program,
    /// The source as a whole.
    Source,
    /// Reading from it.
    Reading,
    /// A program that state was made under, which cannot be had.
    State,
    /// One split.
    Split(String),
    /// Coordination.
    Coordination,
}

/// A fault that stands, or may come to.
#[derive(Debug)]
struct Standing {
    fault: Fault,
    /// Since when it was seen again and again, and when last; none: until it is taken back.
    seen: Option<(Duration, Duration)>,
    /// How long it must have lasted.
    lasts: Duration,
}

/// The faults that stand.
#[derive(Debug, Default)]
pub(super) struct Faults {
    standing: BTreeMap<About, Standing>,
}

impl Faults {
    /// This stands until it is taken back.
    pub(super) fn set(&mut self, about: About, fault: Fault) {
        self.standing.insert(about, Standing { fault, seen: None, lasts: Duration::ZERO });
    }

    /// This was seen now, and is told again while it lasts. What passes by itself stands once it has lasted.
    pub(super) fn seen(&mut self, about: About, error: &dyn Meaning, fault: Fault, now: Duration) {
        let lasts = if error.whose() == Whose::User { Duration::ZERO } else { LASTS };
        let since = self.standing.get(&about).and_then(|before| before.seen).map_or(now, |(since, _)| since);
        self.standing.insert(about, Standing { fault, seen: Some((since, now)), lasts });
    }

    /// This stands no more.
    pub(super) fn clear(&mut self, about: &About) {
        self.standing.remove(about);
    }

    /// Of what is about splits, only what is about these stands.
    pub(super) fn keep_splits(&mut self, stays: impl Fn(&str) -> bool) {
        self.standing.retain(|about, _| if let About::Split(split) = about { stays(split) } else { true });
    }

    /// What stands at this time.
    pub(super) fn list(&mut self, now: Duration) -> Vec<Fault> {
        self.standing.retain(|_, standing| standing.seen.is_none_or(|(_, last)| last.saturating_add(STANDS) > now));
        let lasted = |standing: &&Standing| standing.seen.is_none_or(|(since, last)| last.saturating_sub(since) >= standing.lasts);
        self.standing.values().filter(lasted).map(|standing| standing.fault.clone()).take(MOST).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{About, Faults, fault};
    use crate::error::Code;
    use crate::flow::{ErrorClass, SourceError};
    use std::time::Duration;

    #[test]
    fn what_was_seen_stands_for_a_while_and_what_was_set_until_it_is_cleared() {
        let error = SourceError { class: ErrorClass::Retryable, code: Code::STREAM_NOT_FOUND, message: "no such stream".into() };
        let mut faults = Faults::default();
        faults.set(About::Source, fault(&error));
        faults.seen(About::Split("a".into()), &error, fault(&error), Duration::from_secs(1));
        assert_eq!(faults.list(Duration::from_secs(30)).len(), 2);
        let left = faults.list(Duration::from_secs(31));
        assert!(left.len() == 1 && left[0].reason == "StreamNotFound" && left[0].may_pass, "{left:?}");
        faults.clear(&About::Source);
        assert!(faults.list(Duration::from_secs(31)).is_empty());
    }

    #[test]
    fn what_passes_by_itself_is_told_once_it_has_lasted() {
        let error = SourceError { class: ErrorClass::Retryable, code: Code::KINESIS_UNREACHABLE, message: "no answer".into() };
        let mut faults = Faults::default();
        let mut told = |at: u64| {
            let now = Duration::from_secs(at);
            faults.seen(About::Reading, &error, fault(&error), now);
            faults.list(now).len()
        };
        assert_eq!([told(1), told(2), told(8), told(9)], [0, 0, 0, 1]);
        assert_eq!(told(60), 0, "a while later it is another one");
    }
}
