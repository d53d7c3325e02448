//! Positions and starts, and their text: what is stored of them.

use crate::kinesis::{NotASequence, Sequence};
use std::fmt;
use std::str::FromStr;

/// A place in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// At this record: it is read next.
    At(Sequence),
    /// Behind this record, or behind the member of it with this number, from 0.
    After(Sequence, Option<u64>),
}

/// Where a shard without a position is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Its oldest record.
    TrimHorizon,
    /// The first record that arrived at this time or later, in microseconds since 1970 UTC.
    Timestamp(i64),
}

/// A text that is none.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is no position in a Kinesis shard")]
pub struct PositionError(Box<str>);

impl PositionError {
    fn new(text: &str) -> Self {
        Self(text.chars().take(64).collect())
    }
}

const AT: &str = "at";
const AFTER: &str = "after";
const TIMESTAMP: &str = "timestamp";

/// `at/NUMBER`, `after/NUMBER` or `after/NUMBER/MEMBER`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(sequence) => write!(f, "{AT}/{sequence}"),
            Self::After(sequence, None) => write!(f, "{AFTER}/{sequence}"),
            Self::After(sequence, Some(member)) => write!(f, "{AFTER}/{sequence}/{member}"),
        }
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let wrong = || PositionError::new(text);
        let number = |text: &str| text.parse().map_err(|_: NotASequence| wrong());
        match *text.split('/').collect::<Vec<_>>() {
            [AT, sequence] => Ok(Self::At(number(sequence)?)),
            [AFTER, sequence] => Ok(Self::After(number(sequence)?, None)),
            [AFTER, sequence, member] => Ok(Self::After(number(sequence)?, Some(member.parse().map_err(|_| wrong())?))),
            _ => Err(wrong()),
        }
    }
}

/// `timestamp/MICROSECONDS`; that of the oldest record is never written: it is what no start means.
impl Start {
    /// The text; none for the oldest record.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            Self::TrimHorizon => None,
            Self::Timestamp(at) => Some(format!("{TIMESTAMP}/{at}")),
        }
    }

    /// The start with this text.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: Option<&str>) -> Result<Self, PositionError> {
        let Some(text) = text else { return Ok(Self::TrimHorizon) };
        let at = text.split_once('/').filter(|(rule, _)| *rule == TIMESTAMP).and_then(|(_, at)| at.parse().ok());
        at.map(Self::Timestamp).ok_or_else(|| PositionError::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Position, Start};
    use crate::kinesis::LONGEST;

    #[test]
    fn a_position_reads_what_it_writes_and_keeps_within_what_a_record_may_hold() {
        let longest = "9".repeat(LONGEST);
        for text in ["at/7", "after/7", &format!("after/{longest}/{}", u64::MAX)] {
            let position: Position = text.parse().unwrap();
            assert_eq!(position.to_string(), *text);
            assert!(text.len() <= 512);
        }
        assert_eq!("after/007".parse::<Position>().unwrap().to_string(), "after/7");
    }

    #[test]
    fn other_texts_are_no_positions() {
        for text in ["", "7", "at/", "at/7/1", "after/7/", "after/7/-1", "after/x", "LATEST", "after/7/1/2"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_start_reads_what_it_writes() {
        for start in [Start::TrimHorizon, Start::Timestamp(1_767_225_600_000_000), Start::Timestamp(-1)] {
            assert_eq!(Start::read(start.text().as_deref()).unwrap(), start);
        }
        for text in ["", "timestamp", "timestamp/", "timestamp/1.5", "latest/1"] {
            assert!(Start::read(Some(text)).is_err(), "{text}");
        }
    }
}
