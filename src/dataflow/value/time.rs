//! Points in time.
//!
//! Owns: the range of Time (the years that RFC 3339 can write), reading RFC 3339, days and clocks.
//! May not: ask a clock, know zones other than an offset in a text.

/// 0000-01-01T00:00:00Z.
pub const TIME_MIN: i64 = -62_167_219_200_000_000;
/// 9999-12-31T23:59:59.999999Z.
pub const TIME_MAX: i64 = 253_402_300_799_999_999;

const DAY: i64 = 86_400_000_000;

/// Whether a Time may have this value.
#[inline]
#[must_use]
pub const fn time_in_range(micros: i64) -> bool {
    TIME_MIN <= micros && micros <= TIME_MAX
}

/// Days since 1970-01-01 of a date of the Gregorian calendar, all times.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last; 400 of them have 146,097 days.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A date and a clock.
pub(super) struct Civil {
    /// Year, month, day.
    pub(super) date: [i64; 3],
    /// Hour, minute, second, microsecond.
    pub(super) clock: [i64; 4],
}

/// The date and the clock of a time.
pub(super) fn civil(micros: i64) -> Civil {
    let shifted = micros.div_euclid(DAY) + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let clock = micros.rem_euclid(DAY);
    let clock = [clock / 3_600_000_000, clock / 60_000_000 % 60, clock / 1_000_000 % 60, clock % 1_000_000];
    Civil { date: [year, month, day], clock }
}

/// Reads RFC 3339: `2026-11-30T12:00:00.5+01:00`; `t`, `z` and a blank are taken for `T`, `Z` and `T`. Digits below a
/// microsecond are cut off; a leap second `:60` is the second before it.
#[must_use]
pub fn parse_time(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = number(&mut rest, 4)?;
    let month = after(&mut rest, b"-", 1..=12)?;
    let day = after(&mut rest, b"-", 1..=length(year, month))?;
    let hour = after(&mut rest, b"Tt ", 0..=23)?;
    let minute = after(&mut rest, b":", 0..=59)?;
    let second = after(&mut rest, b":", 0..=60)?.min(59);
    let part = fraction(&mut rest)?;
    let offset = offset(rest)?;
    let clock = (hour * 60 + minute - offset) * 60 + second;
    let micros = days(year, month, day) * DAY + clock * 1_000_000 + part;
    time_in_range(micros).then_some(micros)
}

/// Days of a month.
fn length(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// So many digits.
fn number(rest: &mut &[u8], digits: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(digits)?;
    *rest = tail;
    head.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

/// One of these marks, then two digits within a range.
fn after(rest: &mut &[u8], marks: &[u8], range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    if marks.contains(first) { number(rest, 2).filter(|number| range.contains(number)) } else { None }
}

/// Microseconds behind the point, where there is one.
fn fraction(rest: &mut &[u8]) -> Option<i64> {
    let Some(tail) = rest.strip_prefix(b".") else { return Some(0) };
    let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, tail) = tail.split_at_checked(digits)?;
    *rest = tail;
    let micros = digits.iter().chain(std::iter::repeat(&b'0')).take(6).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (!digits.is_empty()).then_some(micros)
}

/// Minutes that the offset at the end is east of UTC.
fn offset(rest: &[u8]) -> Option<i64> {
    let (mark, mut rest) = rest.split_first()?;
    let minutes = match mark {
        b'Z' | b'z' => 0,
        b'+' | b'-' => {
            let hours = number(&mut rest, 2).filter(|hours| *hours <= 23)?;
            let minutes = hours * 60 + after(&mut rest, b":", 0..=59)?;
            if *mark == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    rest.is_empty().then_some(minutes)
}
