//! Literals: Durations and texts.
//!
//! Owns: how they are written and read.
//! May not: know tokens.

use std::fmt;

/// Units, falling, with their microseconds.
const UNITS: [(&str, u64); 6] =
    [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

/// Why a word is no Duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoDuration {
    /// It is not written like one.
    Form,
    /// Its units do not fall, or one stands twice.
    Order,
    /// It does not fit into 64 bits of microseconds.
    Range,
}

/// Reads `1h30m`: parts with units that fall, each once.
pub(super) fn duration(word: &str) -> Result<i64, NoDuration> {
    i64::try_from(magnitude(word)?).map_err(|_| NoDuration::Range)
}

/// Reads what [`duration_text`] writes, a sign included, as microseconds. None of what is no Duration, or does not fit.
#[must_use]
pub fn duration_of(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(word) => 0_i64.checked_sub_unsigned(magnitude(word).ok()?),
        None => duration(text).ok(),
    }
}

fn magnitude(word: &str) -> Result<u64, NoDuration> {
    let mut rest = word;
    let mut sum: u64 = 0;
    let mut below = usize::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0).ok_or(NoDuration::Form)?;
        let (number, tail) = rest.split_at_checked(digits).ok_or(NoDuration::Form)?;
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at_checked(end).ok_or(NoDuration::Form)?;
        let (at, (_, size)) = UNITS.iter().enumerate().find(|(_, (word, _))| *word == unit).ok_or(NoDuration::Form)?;
        if below != usize::MAX && at <= below {
            return Err(NoDuration::Order);
        }
        below = at;
        let number = number.parse::<u64>().map_err(|_| NoDuration::Range)?;
        sum = number.checked_mul(*size).and_then(|part| sum.checked_add(part)).ok_or(NoDuration::Range)?;
        rest = next;
    }
    if word.is_empty() { Err(NoDuration::Form) } else { Ok(sum) }
}

/// Writes microseconds as a Duration literal: `1h30m`, `0s`, `-5ms`.
#[must_use]
pub fn duration_text(micros: i64) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _written = write_duration(&mut text, micros);
    text
}

/// The same, into something else.
///
/// # Errors
/// That of the writer.
pub fn write_duration(out: &mut impl fmt::Write, micros: i64) -> fmt::Result {
    if micros == 0 {
        return out.write_str("0s");
    }
    if micros < 0 {
        out.write_char('-')?;
    }
    let mut rest = micros.unsigned_abs();
    for (unit, size) in UNITS {
        if rest >= size {
            write!(out, "{}{unit}", rest / size)?;
            rest %= size;
        }
    }
    Ok(())
}

/// Reads what stands between the quotes of a text. Of what cannot be read, the byte ranges come second.
pub(super) fn text(raw: &str) -> (String, Vec<(usize, usize)>) {
    let mut out = String::with_capacity(raw.len());
    let mut bad = Vec::new();
    let mut at = 0;
    while let Some(c) = raw.get(at..).and_then(|rest| rest.chars().next()) {
        let start = at;
        at += c.len_utf8();
        if c == '\\' {
            let rest = raw.get(at..).unwrap_or_default();
            if let Some((c, used)) = escape(rest) {
                out.push(c);
                at += used;
            } else {
                at += rest.chars().next().map_or(0, char::len_utf8);
                bad.push((start, at));
            }
        } else if u32::from(c) < 0x20 {
            bad.push((start, at));
        } else {
            out.push(c);
        }
    }
    (out, bad)
}

/// The character that an escape stands for, and how many bytes it takes after the backslash.
fn escape(rest: &str) -> Option<(char, usize)> {
    let c = match rest.chars().next()? {
        '"' => '"',
        '\\' => '\\',
        '/' => '/',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(rest),
        _ => return None,
    };
    Some((c, 1))
}

/// `uXXXX`, or two of them as a pair of surrogates.
fn unicode(rest: &str) -> Option<(char, usize)> {
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok()).flatten();
    let high = hex(rest.get(1..5)?)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 5));
    }
    let low = rest.get(5..11)?.strip_prefix("\\u").and_then(hex)?;
    if !(0xd800..0xdc00).contains(&high) || !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).map(|c| (c, 11))
}

#[cfg(test)]
mod tests {
    use super::{NoDuration, duration, duration_of, duration_text, text};

    #[test]
    fn durations_fall_and_fit() {
        assert_eq!(duration("1h30m"), Ok(5_400_000_000));
        assert_eq!(duration("1d2h3m4s5ms6us"), Ok(93_784_005_006));
        assert_eq!(duration("5"), Err(NoDuration::Form));
        assert_eq!(duration("5x"), Err(NoDuration::Form));
        assert_eq!(duration("30m1h"), Err(NoDuration::Order));
        assert_eq!(duration("1m1m"), Err(NoDuration::Order));
        assert_eq!(duration("999999999999d"), Err(NoDuration::Range));
        for micros in [0, 1, -1, 5_400_000_000, 93_784_005_006, i64::MIN, i64::MAX] {
            let word = duration_text(micros);
            assert_eq!(duration_of(&word), Some(micros), "{word}");
        }
        for word in ["", "-", "--5s", "-5", "- 5s", "9223372036854775808us"] {
            assert_eq!(duration_of(word), None, "{word}");
        }
    }

    #[test]
    fn texts_take_the_escapes_of_json() {
        assert_eq!(text(r#"a\n\"\u00e4\ud83d\ude00/\/"#), ("a\n\"ä😀//".to_owned(), Vec::new()));
        assert_eq!(text(r"a\qb").1, [(1, 3)]);
        assert_eq!(text(r"\ud800x").1, [(0, 2)]);
        assert_eq!(text(r"\u12").1, [(0, 2)]);
        assert_eq!(text("a\tb").1, [(1, 2)]);
        assert_eq!(text("\\").1, [(0, 1)]);
    }
}
