//! Digests of revisions and of stored objects.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write as _};
use std::str::FromStr;

const PREFIX: &str = "sha256:";

/// A SHA-256, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no digest: write sha256: and 64 lower-case hexadecimal digits")]
pub struct DigestError(String);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first eight digits, enough to tell revisions of one pipeline apart in a column.
    #[must_use]
    pub fn short(&self) -> String {
        self.hex().chars().take(8).collect()
    }

    /// The 64 digits without their prefix, for object names and labels, which may not hold a colon.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing into a String cannot fail.
            let _infallible = write!(text, "{byte:02x}");
            text
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let wrong = || DigestError(text.to_owned());
        let digits = text.strip_prefix(PREFIX).ok_or_else(wrong)?.as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        let mut bytes = [0_u8; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(wrong());
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = nibble(*high).ok_or_else(wrong)? << 4 | nibble(*low).ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    /// FIPS 180-2, appendix B.1.
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_digest_reads_what_it_writes() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), ABC);
        assert_eq!(ABC.parse::<Digest>().ok(), Some(digest));
        assert_eq!(digest.short(), "ba7816bf");
    }

    #[test]
    fn other_texts_are_refused() {
        let upper = ABC.to_uppercase();
        for text in ["", "sha256:", "sha256:00", &upper, ABC.trim_start_matches("sha256:"), &format!("{ABC}0")] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
