//! Texts of JSON: escapes, both ways.
//!
//! Owns: where a run of plain characters ends, what an escape stands for, how a text is written.
//! May not: know what a text means.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Where the run of plain characters that begins here ends: at a quote, a backslash, a control character, or the end.
#[inline]
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let (words, tail) = rest.as_chunks::<8>();
    let mut at = from;
    for word in words {
        let marks = special(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + (marks.trailing_zeros() >> 3) as usize;
        }
        at += 8;
    }
    at + tail.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(tail.len())
}

/// The high bit of each byte that ends a run, right up to the first such byte; what stands behind it may be wrong.
#[inline]
const fn special(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash | control) & HIGHS
}

/// What is wrong with an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoEscape {
    /// There is no such escape.
    Unknown,
    /// Half of a surrogate pair without the other.
    Lone,
}

/// The character that an escape stands for, and how many bytes it takes behind the backslash.
pub(super) fn escape(rest: &[u8]) -> Result<(char, usize), NoEscape> {
    let c = match rest.first() {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(rest),
        _ => return Err(NoEscape::Unknown),
    };
    Ok((c, 1))
}

/// `uXXXX`, or two of them as a surrogate pair.
fn unicode(rest: &[u8]) -> Result<(char, usize), NoEscape> {
    let high = hex(rest.get(1..5)).ok_or(NoEscape::Unknown)?;
    if let Some(c) = char::from_u32(high) {
        return Ok((c, 5));
    }
    let low = rest.get(5..7).filter(|mark| *mark == br"\u").and_then(|_| hex(rest.get(7..11)));
    let low = low.filter(|low| (0xdc00..0xe000).contains(low) && high < 0xdc00).ok_or(NoEscape::Lone)?;
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).map(|c| (c, 11)).ok_or(NoEscape::Lone)
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |sum, digit| char::from(*digit).to_digit(16).map(|digit| sum * 16 + digit))
}

/// Writes a text between quotes, with the escapes that it must have and no others.
pub(super) fn write(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut at = 0;
    loop {
        let end = plain_end(bytes, at);
        out.extend_from_slice(bytes.get(at..end).unwrap_or_default());
        let Some(byte) = bytes.get(end) else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' + half - 10 };
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(control >> 4), digit(control & 15)]);
            }
        }
        at = end + 1;
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::{NoEscape, escape, plain_end, write};
    use proptest::prelude::*;

    #[test]
    fn escapes_stand_for_their_characters() {
        for (text, c) in [("n", ('\n', 1)), ("/", ('/', 1)), ("u00e4x", ('ä', 5)), ("ud83d\\ude00", ('😀', 11)), ("u0000", ('\0', 5))] {
            assert_eq!(escape(text.as_bytes()), Ok(c), "{text}");
        }
        for text in ["", "x", "u12", "u12g4", "u+123", "U0041"] {
            assert_eq!(escape(text.as_bytes()), Err(NoEscape::Unknown), "{text}");
        }
        for text in ["ud800", "udc00", "ud800\\n", "ud800\\u0041", "udc00\\ud800", "ud800\\ud800", "ud83d\\ude0"] {
            assert_eq!(escape(text.as_bytes()), Err(NoEscape::Lone), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_run_ends_where_the_first_special_byte_is(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'a'), Just(0x1f), Just(b'!'), Just(b'#'), Just(b'[')], 0..40), from in 0_usize..45) {
            let slow = (from..bytes.len()).find(|at| bytes[*at] < 0x20 || bytes[*at] == b'"' || bytes[*at] == b'\\');
            prop_assert_eq!(plain_end(&bytes, from), slow.unwrap_or(bytes.len().max(from)));
        }

        #[test]
        fn a_text_is_written_as_another_reader_reads_it(text in any::<String>()) {
            let mut out = Vec::new();
            write(&text, &mut out);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
