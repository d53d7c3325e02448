//! The scalars of the manifests: durations, quantities.
//!
//! Owns: how each is written, read, bounded and compared.
//! May not: know where it is used.

use super::schema::{RULES, rule};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::str::FromStr;

/// Go's units, bounded so that no sum of them passes what a duration can hold.
const DURATION: &str = r"^([0-9]{1,6}(\.[0-9]{1,3})?(h|m|s|ms))+$";
const MICROS: [(&str, i64); 4] = [("ms", 1_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000)];

/// A span of time above zero, written in Go's units, such as `90s`, `2m` or `1h30m`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(Span);

/// A [`Duration`] that may be zero, where zero means "none".
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationOrZero(Span);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Span {
    text: String,
    micros: i64,
}

/// A text that is no duration.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no duration: write one such as 90s, 2m or 24h")]
pub struct DurationError(String);

impl Span {
    /// The one way to write this span: falling units, each once.
    fn canonical(&self) -> String {
        let mut rest = self.micros;
        let mut text = String::new();
        for (unit, size) in [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000)] {
            if rest / size > 0 {
                text.push_str(&format!("{}{unit}", rest / size));
                rest %= size;
            }
        }
        if rest > 0 {
            let (whole, part) = (rest / 1_000, rest % 1_000);
            let part = if part == 0 { String::new() } else { format!(".{part:03}").trim_end_matches('0').to_owned() };
            text.push_str(&format!("{whole}{part}ms"));
        }
        if text.is_empty() { "0s".to_owned() } else { text }
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.text
    }
}

impl TryFrom<String> for Span {
    type Error = DurationError;

    fn try_from(text: String) -> Result<Self, DurationError> {
        micros(&text).map(|micros| Self { micros, text: text.clone() }).ok_or(DurationError(text))
    }
}

/// The sum of the parts; parts below a microsecond are cut off, as nothing here waits for less.
fn micros(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum: i64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(end)?;
        let (unit, size) = MICROS.iter().find(|(unit, _)| tail.starts_with(unit))?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let part_size = size.checked_div(10_i64.checked_pow(u32::try_from(part.len()).ok()?)?)?;
        let whole = whole.parse::<i64>().ok()?.checked_mul(*size)?;
        sum = sum.checked_add(whole)?.checked_add(part.parse::<i64>().ok()?.checked_mul(part_size)?)?;
        rest = tail.strip_prefix(unit)?;
    }
    (!text.is_empty() && text.len() <= 16).then_some(sum)
}

impl Span {
    fn of_millis(millis: u32) -> Self {
        let mut span = Self { text: String::new(), micros: i64::from(millis).saturating_mul(1_000) };
        span.text = span.canonical();
        span
    }
}

impl Duration {
    /// So many seconds.
    #[must_use]
    pub fn seconds(seconds: u32) -> Self {
        Self(Span::of_millis(seconds.saturating_mul(1_000)))
    }

    /// So many thousandths of a second.
    #[must_use]
    pub fn millis(millis: u32) -> Self {
        Self(Span::of_millis(millis))
    }
}

impl DurationOrZero {
    /// None.
    #[must_use]
    pub fn zero() -> Self {
        Self(Span::of_millis(0))
    }
}

macro_rules! duration {
    ($name:ident, $above:literal, $message:literal) => {
        impl $name {
            /// Microseconds.
            #[must_use]
            pub const fn micros(&self) -> i64 {
                self.0.micros
            }

            /// The same span, as code measures it.
            #[must_use]
            pub fn span(&self) -> std::time::Duration {
                // The schema lets no negative one through.
                std::time::Duration::from_micros(u64::try_from(self.0.micros).unwrap_or(0))
            }

            /// The same span, written in the one canonical way, for digests.
            #[must_use]
            pub fn canonical(&self) -> Self {
                Self(Span { text: self.0.canonical(), micros: self.0.micros })
            }
        }

        /// Equal spans are equal, however they are written.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.micros == other.0.micros
            }
        }

        impl Eq for $name {}

        impl FromStr for $name {
            type Err = DurationError;

            fn from_str(text: &str) -> Result<Self, DurationError> {
                Span::try_from(text.to_owned()).map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0.text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 16,
                    RULES: [rule(format!("self.matches('{}') && duration(self) {} duration('0s')", cel(DURATION), $above), $message)],
                })
            }
        }
    };
}

duration!(Duration, ">", "write a duration above zero, such as 90s, 2m or 24h");
duration!(DurationOrZero, ">=", "write a duration such as 90s, 2m or 24h, or 0s for none; it cannot be negative");

/// A regular expression inside a CEL string.
fn cel(pattern: &str) -> String {
    pattern.replace('\\', r"\\")
}

/// CEL for the duration at `path`, or `default` where it is absent or malformed (its own rule reports that).
pub(super) fn duration_at(path: &str, default: &str) -> String {
    format!("(has({path}) && {path}.matches('{}') ? duration({path}) : duration('{default}'))", cel(DURATION))
}

/// A moment, RFC 3339. Kept as it was written, with its fractions of a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// The same moment in UTC, with no more digits than it needs, for digests.
    #[must_use]
    pub fn canonical(&self) -> Self {
        self.0.parse::<k8s_openapi::jiff::Timestamp>().map_or_else(|_| self.clone(), |moment| Self(moment.to_string()))
    }

    /// Microseconds since 1970-01-01T00:00:00Z; `None` if the text is no RFC 3339.
    #[must_use]
    pub fn micros(&self) -> Option<i64> {
        self.0.parse::<k8s_openapi::jiff::Timestamp>().ok().map(k8s_openapi::jiff::Timestamp::as_microsecond)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "date-time",
            "maxLength": 64,
            "pattern": concat!(
                "^(19|2[0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]",
                r"(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
            ),
        })
    }
}

/// An amount in Kubernetes' notation, such as `500m`, `2` or `512Mi`. Kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A whole number.
    Number(i64),
    /// Any other notation.
    Text(String),
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": 32,
            "minimum": 0,
            "pattern": r"^[0-9]+(\.[0-9]+)?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e[0-9]{1,2})?$",
        })
    }
}

/// A number of pods or a share of them, such as `1` or `25%`. Kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CountOrPercent {
    /// A number.
    Count(i32),
    /// A percentage.
    Percent(String),
}

impl JsonSchema for CountOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "CountOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": 4,
            "minimum": 1,
            "maximum": 10_000,
            "pattern": "^([1-9][0-9]?|100)%$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, DurationOrZero};
    use proptest::prelude::*;

    fn read(text: &str) -> Option<i64> {
        text.parse::<DurationOrZero>().ok().map(|span| span.micros())
    }

    #[test]
    fn durations_are_read_in_gos_units() {
        assert_eq!(read("90s"), Some(90_000_000));
        assert_eq!(read("1h30m"), Some(5_400_000_000));
        assert_eq!(read("1.5s"), Some(1_500_000));
        assert_eq!(read("250ms"), Some(250_000));
        assert_eq!(read("0s"), Some(0));
        for wrong in ["", "5", "s", "-5s", "5 s", "1d", "1h-5m", "1.2.3s", "5m5", "٣s", "99999999999999999h"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn equal_spans_have_one_canonical_form_and_keep_their_own_text() {
        let (one, other): (Duration, Duration) = ("90m".parse().unwrap(), "1h30m".parse().unwrap());
        assert_eq!(one, other);
        assert_eq!(serde_json::to_string(&one).unwrap(), "\"90m\"");
        assert_eq!(serde_json::to_string(&one.canonical()).unwrap(), "\"1h30m\"");
        assert_eq!("1.5ms".parse::<Duration>().unwrap().canonical().to_string(), "1.5ms");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_canonical_form_is_the_same_span(hours in 0..1000_i64, millis in 0..3_600_000_i64) {
            let span: DurationOrZero = format!("{hours}h{}ms", millis % 1_000_000).parse().unwrap();
            let again: DurationOrZero = span.canonical().to_string().parse().unwrap();
            prop_assert_eq!(span, again);
        }

        #[test]
        fn no_text_panics(text in "[0-9hms.\\-]{0,20}") {
            let _read = read(&text);
        }
    }
}
