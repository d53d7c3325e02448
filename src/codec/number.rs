//! Numbers of JSON.
//!
//! Owns: their grammar, and what each is as an integer, a float or a fixed number of decimals.
//! May not: round where an integer is wanted.

/// The largest integer below which every integer is a float: 2^53.
const EXACT: u64 = 1 << 53;

/// Powers of ten that are floats exactly.
const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

/// Digits that 64 bits hold whatever they are.
const SAFE_DIGITS: usize = 19;

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// Whether it has neither point nor exponent.
    pub(super) plain: bool,
    negative: bool,
    /// All digits before the exponent, as one number; meaningless where there are more than [`SAFE_DIGITS`].
    digits: u64,
    /// How many digits stand before the exponent.
    length: usize,
    /// The power of ten of the last digit.
    power: i64,
}

/// Why a number is no `Int`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoInt {
    /// It has a fraction.
    Fraction,
    /// It does not fit.
    Range,
}

/// The number that begins at a byte of a text, and the byte behind it. None where the grammar ends, with the byte there.
pub(super) fn scan(text: &str, start: usize) -> Result<(Number<'_>, usize), usize> {
    let bytes = text.as_bytes();
    let mut run = Run { bytes, at: start, digits: 0, length: 0 };
    let negative = run.mark(b'-');
    if run.peek() == Some(b'0') {
        run.at += 1;
        run.length = 1;
    } else {
        run.digits()?;
    }
    let mut power = 0_i64;
    let mut plain = true;
    if run.mark(b'.') {
        plain = false;
        power = -i64::try_from(run.digits()?).unwrap_or(i64::MAX);
    }
    if run.mark(b'e') || run.mark(b'E') {
        plain = false;
        let below = run.mark(b'-');
        if !below {
            run.mark(b'+');
        }
        let mut exponent = Run { bytes, at: run.at, digits: 0, length: 0 };
        exponent.digits()?;
        run.at = exponent.at;
        // Past this, 19 digits or a million times as many make no difference: the number is 0 or too large for anything.
        let size = if exponent.length > 12 { exponent.saturated() } else { i64::try_from(exponent.digits).unwrap_or(i64::MAX) };
        power = power.saturating_add(if below { -size } else { size });
    }
    let text = text.get(start..run.at).unwrap_or_default();
    Ok((Number { text, plain, negative, digits: run.digits, length: run.length, power }, run.at))
}

/// Digits being read.
struct Run<'a> {
    bytes: &'a [u8],
    at: usize,
    digits: u64,
    length: usize,
}

impl Run<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn mark(&mut self, mark: u8) -> bool {
        let is = self.peek() == Some(mark);
        self.at += usize::from(is);
        is
    }

    /// One or more digits: how many.
    #[inline]
    fn digits(&mut self) -> Result<usize, usize> {
        let start = self.at;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            self.digits = self.digits.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        let count = self.at - start;
        self.length += count;
        if count == 0 { Err(self.at) } else { Ok(count) }
    }

    /// The value of an exponent of many digits: zeros in front count for nothing.
    fn saturated(&self) -> i64 {
        let digits = self.bytes.get(self.at.saturating_sub(self.length)..self.at).unwrap_or_default();
        digits.iter().fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0'))).min(i64::MAX / 4)
    }
}

impl Number<'_> {
    /// As an `Int`: an integer of 64 bits, or one written with point or exponent below 2^53.
    #[inline]
    pub(super) fn int(&self) -> Result<i64, NoInt> {
        if self.plain {
            return if self.length > SAFE_DIGITS { Err(NoInt::Range) } else { self.signed(self.digits).ok_or(NoInt::Range) };
        }
        let (digits, power) = self.shortest().ok_or(NoInt::Range)?;
        if power < 0 {
            return Err(NoInt::Fraction);
        }
        let size = scaled(digits, power).filter(|size| *size < EXACT).ok_or(NoInt::Range)?;
        self.signed(size).ok_or(NoInt::Range)
    }

    /// As the nearest float. None where that is infinite.
    #[inline]
    pub(super) fn float(&self) -> Option<f64> {
        if self.length <= SAFE_DIGITS
            && self.digits <= EXACT
            && let Some(power) = usize::try_from(self.power.unsigned_abs()).ok().and_then(|power| POWERS.get(power))
        {
            // Both are floats exactly, so that this one operation rounds correctly.
            #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
            let digits = self.digits as f64;
            let size = if self.power < 0 { digits / power } else { digits * power };
            return Some(if self.negative { -size } else { size });
        }
        self.text.parse::<f64>().ok().filter(|float| float.is_finite())
    }

    /// As a number of units of which 10^`decimals` make one; smaller parts are cut off. None where it does not fit.
    pub(super) fn units(&self, decimals: u32) -> Option<i64> {
        let power = self.power.saturating_add(i64::from(decimals));
        let cut = usize::try_from(-power.min(0)).unwrap_or(usize::MAX);
        let kept = self.length.saturating_sub(cut);
        let coefficient = self.text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit);
        let mut size = 0_u64;
        for digit in coefficient.take(kept) {
            size = size.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        }
        self.signed(scaled(size, power.max(0))?)
    }

    /// Whether it is zero, of either sign.
    fn is_zero(&self) -> bool {
        self.text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).all(|byte| !matches!(byte, b'1'..=b'9'))
    }

    /// Its digits without zeros at their end, and the power of ten of the last. None where they are more than 64 bits
    /// hold: then it is a fraction or beyond 2^53, of which the power tells.
    fn shortest(&self) -> Option<(u64, i64)> {
        if self.is_zero() {
            return Some((0, 0));
        }
        let coefficient = self.text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit);
        let (mut digits, mut open, mut last) = (Some(0_u64), 0_u32, 0_i64);
        for (at, digit) in (0_i64..).zip(coefficient) {
            open = open.saturating_add(1);
            if digit != b'0' {
                let shifted = digits.and_then(|digits| if digits == 0 { Some(0) } else { digits.checked_mul(10_u64.checked_pow(open)?) });
                digits = shifted.and_then(|shifted| shifted.checked_add(u64::from(digit - b'0')));
                (open, last) = (0, at);
            }
        }
        let length = i64::try_from(self.length).unwrap_or(i64::MAX);
        let power = self.power.saturating_add(length.saturating_sub(last).saturating_sub(1));
        match digits {
            Some(digits) => Some((digits, power)),
            // Too many digits, the last of them behind the point: a fraction, whatever they are.
            None if power < 0 => Some((1, power)),
            None => None,
        }
    }

    fn signed(&self, size: u64) -> Option<i64> {
        if self.negative { 0_i64.checked_sub_unsigned(size) } else { i64::try_from(size).ok() }
    }
}

/// Times a power of ten.
fn scaled(digits: u64, power: i64) -> Option<u64> {
    if digits == 0 {
        return Some(0);
    }
    digits.checked_mul(10_u64.checked_pow(u32::try_from(power).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::{NoInt, Number, scan};
    use proptest::prelude::*;

    fn number(text: &str) -> Number<'_> {
        let (number, end) = scan(text, 0).unwrap();
        assert_eq!(end, text.len(), "{text}");
        number
    }

    #[test]
    fn the_grammar_is_that_of_json() {
        for (text, stop) in [("", 0), ("-", 1), ("+1", 0), (".5", 0), ("1.", 2), ("1.e3", 2), ("1e", 2), ("1e+", 3), ("-x", 1), ("Inf", 0)]
        {
            assert_eq!(scan(text, 0), Err(stop), "{text}");
        }
        for (text, end) in [("01", 1), ("-0.5x", 4), ("1e5e", 3), ("0x10", 1), ("12,", 2)] {
            assert_eq!(scan(text, 0).unwrap().1, end, "{text}");
        }
    }

    #[test]
    fn integers_are_exact_or_refused() {
        for (text, int) in [
            ("0", Ok(0)),
            ("-0", Ok(0)),
            ("9223372036854775807", Ok(i64::MAX)),
            ("-9223372036854775808", Ok(i64::MIN)),
            ("9223372036854775808", Err(NoInt::Range)),
            ("-9223372036854775809", Err(NoInt::Range)),
            ("99999999999999999999999", Err(NoInt::Range)),
            ("1.0", Ok(1)),
            ("-2.50e1", Ok(-25)),
            ("1e3", Ok(1_000)),
            ("1000e-3", Ok(1)),
            ("100.00e-2", Ok(1)),
            ("0.0", Ok(0)),
            ("-0e99999999999999999999", Ok(0)),
            ("1e-0000000000000000000000", Ok(1)),
            ("1.5", Err(NoInt::Fraction)),
            ("1e-1", Err(NoInt::Fraction)),
            ("1e-99999999999999999999", Err(NoInt::Fraction)),
            ("1e99999999999999999999", Err(NoInt::Range)),
            ("9007199254740991.0", Ok(9_007_199_254_740_991)),
            ("9007199254740992.0", Err(NoInt::Range)),
            ("-9007199254740991e0", Ok(-9_007_199_254_740_991)),
            // Its nearest float is an integer; it is not.
            ("9007199254740990.9999999999999", Err(NoInt::Fraction)),
            ("1.00000000000000000000000000000001", Err(NoInt::Fraction)),
            ("1.00000000000000000000000000000000", Ok(1)),
            ("0.000000000000000000000000000001e30", Ok(1)),
            ("123456789012345678901234567890e-15", Err(NoInt::Fraction)),
            ("123456789012345678901234567890.0", Err(NoInt::Range)),
        ] {
            assert_eq!(number(text).int(), int, "{text}");
        }
    }

    #[test]
    fn floats_are_the_nearest_or_refused_where_that_is_infinite() {
        for text in ["0", "-0", "1", "0.1", "-1.5e3", "1e22", "1e23", "9007199254740993", "4.9e-324", "1e-400", "1.7976931348623157e308"] {
            let float = number(text).float().unwrap();
            assert_eq!(float.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        for text in ["1e309", "-1e309", "1.8e308", "1e99999999999999999999"] {
            assert_eq!(number(text).float(), None, "{text}");
        }
    }

    #[test]
    fn units_are_cut_and_bounded() {
        for (text, decimals, units) in [
            ("1700000000123", 3, Some(1_700_000_000_123_000)),
            ("1700000000123.4567891", 3, Some(1_700_000_000_123_456)),
            ("-1.5", 6, Some(-1_500_000)),
            ("0.0000009", 6, Some(0)),
            ("1e-7", 6, Some(0)),
            ("2.5e2", 6, Some(250_000_000)),
            ("1e99999999999999999999", 6, None),
            ("0e99999999999999999999", 6, Some(0)),
            ("1e-99999999999999999999", 6, Some(0)),
            ("9223372036854.775807", 6, Some(i64::MAX)),
            ("9223372036854.775808", 6, None),
            ("-9223372036854.775808", 6, Some(i64::MIN)),
            ("0.000000000000000000000000000000000000001e39", 6, Some(1_000_000)),
        ] {
            assert_eq!(number(text).units(decimals), units, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_float_and_every_decimal_reads_as_the_standard_library_reads_it(
            text in prop_oneof![
                any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(|float| format!("{float:?}")),
                any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(|float| format!("{float:e}")),
                "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
            ],
        ) {
            let float = text.parse::<f64>().unwrap();
            prop_assert_eq!(number(&text).float().map(f64::to_bits), Some(float).filter(|float| float.is_finite()).map(f64::to_bits));
        }

        #[test]
        fn every_integer_reads_as_itself_however_it_is_shifted(int in any::<i64>(), zeros in 0_usize..30) {
            prop_assert_eq!(number(&int.to_string()).int(), Ok(int));
            let small = int >> 11;
            let shifted = format!("{small}{}e-{zeros}", "0".repeat(zeros));
            let expected = if small.unsigned_abs() < 1 << 53 { Ok(small) } else { Err(NoInt::Range) };
            prop_assert_eq!(number(&shifted).int(), expected);
        }
    }
}
