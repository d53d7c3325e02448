//! Sequence numbers: integers of up to 129 digits, compared as such.

use super::fault::NotASequence;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The most digits that a sequence number has.
pub const LONGEST: usize = 129;

/// Where a record stands in its shard. Numbers rise along a shard, and a child's are above its parents'; they are not
/// consecutive.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sequence(Arc<str>);

impl Sequence {
    /// The number in decimal, without leading zeros.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Sequence {
    type Err = NotASequence;

    fn from_str(text: &str) -> Result<Self, NotASequence> {
        let digits = !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits {
            return Err(NotASequence(text.chars().take(LONGEST).collect()));
        }
        let significant = text.trim_start_matches('0');
        Ok(Self(if significant.is_empty() { "0" } else { significant }.into()))
    }
}

/// Without leading zeros the longer number is the greater one.
impl Ord for Sequence {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Sequence {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Sequence};

    fn sequence(text: &str) -> Sequence {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_compared_as_integers_and_not_as_texts() {
        let (short, long) = ("9".repeat(56), format!("1{}", "0".repeat(128)));
        assert!(sequence(&short) < sequence(&long));
        assert!(sequence("9") < sequence("10") && sequence("10") < sequence("11"));
        assert_eq!(sequence("0007"), sequence("7"));
        assert_eq!(sequence("000").as_str(), "0");
    }

    #[test]
    fn what_is_no_number_of_at_most_129_digits_is_refused() {
        for text in ["", "-1", "1 ", "LATEST", "１", &"1".repeat(LONGEST + 1)] {
            assert!(text.parse::<Sequence>().is_err(), "{text}");
        }
        assert_eq!(sequence(&"1".repeat(LONGEST)).as_str().len(), LONGEST);
    }
}
