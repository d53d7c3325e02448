//! Metrics as plain data, and their `OpenMetrics` text.

use std::collections::BTreeSet;
use std::fmt::Write;

/// How a number behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It rises, from 0 at the process's start.
    Counter,
    /// It rises and falls.
    Gauge,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Whole(u64),
    /// A measure.
    Real(f64),
}

/// One number of a metric, told from its others by its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values; any value will do.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: Value,
}

/// A family of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name, without the unit and without `_total`: the text has both.
    pub name: &'static str,
    /// What it counts or measures, in a sentence.
    pub help: &'static str,
    /// How its numbers behave.
    pub kind: Kind,
    /// The unit of its numbers, such as `seconds` or `bytes`.
    pub unit: Option<&'static str>,
    /// Its numbers, no two of the same labels.
    pub samples: Vec<Sample>,
}

impl Metric {
    /// A number that only rises; none so far.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Counter, unit: None, samples: Vec::new() }
    }

    /// A number that rises and falls; none so far.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { kind: Kind::Gauge, ..Self::counter(name, help) }
    }

    /// The same in this unit.
    #[must_use]
    pub fn of(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// The same with its one number.
    #[must_use]
    pub fn is(self, value: Value) -> Self {
        self.with(Vec::new(), value)
    }

    /// The same with one number more.
    #[must_use]
    pub fn with(mut self, labels: Vec<(&'static str, String)>, value: Value) -> Self {
        self.samples.push(Sample { labels, value });
        self
    }

    fn family(&self) -> String {
        self.unit.map_or_else(|| self.name.to_owned(), |unit| format!("{}_{unit}", self.name))
    }
}

/// The text of these metrics, in `OpenMetrics` 1.0.
#[must_use]
pub fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for metric in metrics {
        let family = metric.family();
        let (kind, suffix) = match metric.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        line(&mut text, format_args!("# TYPE {family} {kind}"));
        if let Some(unit) = metric.unit {
            line(&mut text, format_args!("# UNIT {family} {unit}"));
        }
        line(&mut text, format_args!("# HELP {family} {}", escaped(metric.help)));
        for sample in &metric.samples {
            let labels: Vec<_> = sample.labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            line(&mut text, format_args!("{family}{suffix}{labels} {}", number(sample.value)));
        }
    }
    text.push_str("# EOF\n");
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Nothing that is written into a string fails.
    let _written = writeln!(text, "{line}");
}

fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
    text
}

fn number(value: Value) -> String {
    match value {
        Value::Whole(whole) => whole.to_string(),
        Value::Real(real) if real.is_nan() => "NaN".to_owned(),
        Value::Real(real) if real.is_infinite() => if real > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Value::Real(real) => format!("{real:?}"),
    }
}

/// What breaks the rules of the format: for the tests of whoever makes metrics.
#[must_use]
pub fn faults(metrics: &[Metric]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut families = BTreeSet::new();
    for metric in metrics {
        let name = metric.name;
        let words = std::iter::once(name).chain(metric.unit);
        let spelled = words.clone().all(is_name) && !name.contains(':');
        let ends = ["_total", "_created", "_info", "_count", "_sum", "_bucket"].iter().any(|end| metric.family().ends_with(end));
        let new = families.insert(metric.family());
        let mut seen = BTreeSet::new();
        for sample in &metric.samples {
            let mut labels = sample.labels.clone();
            labels.sort();
            let names: BTreeSet<_> = labels.iter().map(|(name, _)| *name).collect();
            if names.len() < labels.len() || !names.iter().all(|name| is_name(name) && !name.starts_with("__")) {
                faults.push(format!("{name}: labels {labels:?}"));
            }
            if metric.kind == Kind::Counter && matches!(sample.value, Value::Real(real) if real.is_nan() || real < 0.0) {
                faults.push(format!("{name}: no count {:?}", sample.value));
            }
            if !seen.insert(labels.clone()) {
                faults.push(format!("{name}: twice {labels:?}"));
            }
        }
        for (holds, what) in [(spelled, "no name"), (!ends, "an ending that is the format's own"), (new, "twice")] {
            if !holds {
                faults.push(format!("{name}: {what}"));
            }
        }
    }
    faults
}

fn is_name(name: &str) -> bool {
    let good = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(good) && name.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Metric, Value, faults, text};

    #[test]
    fn metrics_are_written_family_by_family_and_the_text_has_an_end() {
        let metrics = [
            Metric::counter("records", "Records read.")
                .with(vec![("split", "shard-1".into()), ("stream", "main".into())], Value::Whole(u64::MAX))
                .with(vec![("split", "shard-2".into()), ("stream", "main".into())], Value::Whole(0)),
            Metric::counter("busy", "Time at work.").of("seconds").is(Value::Real(1.5)),
            Metric::gauge("lag", "How far behind.").of("seconds").is(Value::Real(2.0)),
            Metric::gauge("empty", "Nothing yet."),
        ];
        let wanted = "# TYPE records counter\n# HELP records Records read.\n\
            records_total{split=\"shard-1\",stream=\"main\"} 18446744073709551615\n\
            records_total{split=\"shard-2\",stream=\"main\"} 0\n\
            # TYPE busy_seconds counter\n# UNIT busy_seconds seconds\n# HELP busy_seconds Time at work.\nbusy_seconds_total 1.5\n\
            # TYPE lag_seconds gauge\n# UNIT lag_seconds seconds\n# HELP lag_seconds How far behind.\nlag_seconds 2.0\n\
            # TYPE empty gauge\n# HELP empty Nothing yet.\n# EOF\n";
        assert_eq!(text(&metrics), wanted);
        assert!(faults(&metrics).is_empty(), "{:?}", faults(&metrics));
        assert_eq!(text(&[]), "# EOF\n");
    }

    #[test]
    fn no_label_and_no_help_breaks_out_of_its_place() {
        let hostile = "a\"} 1\n# EOF\\\r\u{0}ü\u{2028}";
        let metric = Metric::gauge("open", "Say \"what\\how\"\nnow").with(vec![("stream", hostile.into())], Value::Whole(1));
        let written = text(&[metric]);
        let sample = "open{stream=\"a\\\"} 1\\n# EOF\\\\\r\u{0}ü\u{2028}\"} 1";
        let lines: Vec<_> = written.split('\n').collect();
        assert_eq!(lines, ["# TYPE open gauge", "# HELP open Say \\\"what\\\\how\\\"\\nnow", sample, "# EOF", ""]);
        assert_eq!(unescaped(sample.strip_prefix("open{stream=\"").unwrap()), hostile);
    }

    /// Reads a label's value as a scraper does: up to the first quote that no backslash stands before.
    fn unescaped(text: &str) -> String {
        let mut value = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => return value,
                '\\' => value.push(letters.next().map(|next| if next == 'n' { '\n' } else { next }).unwrap()),
                other => value.push(other),
            }
        }
        panic!("no end: {text}");
    }

    #[test]
    fn numbers_that_are_none_have_the_formats_own_names() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.5, 1e300, f64::MIN_POSITIVE];
        let written = values.map(|value| super::number(Value::Real(value)));
        assert_eq!(written, ["NaN", "+Inf", "-Inf", "-0.5", "1e300", "2.2250738585072014e-308"]);
    }

    #[test]
    fn what_a_scraper_would_refuse_is_found() {
        let one = |metric: Metric| faults(&[metric]).join("; ");
        let label = |name: &'static str| Metric::gauge("a", "").with(vec![(name, "x".into())], Value::Whole(1));
        assert_eq!(one(Metric::counter("a_total", "")), "a_total: an ending that is the format's own");
        assert!(["", "1a", "a b", "a-b", "ä"].iter().all(|name| one(Metric::gauge(name, "")).contains("no name")));
        assert!(["", "__a", "a.b", "1"].iter().all(|name| one(label(name)).contains("labels")));
        assert_eq!(one(Metric::counter("a", "").is(Value::Real(-1.0))), "a: no count Real(-1.0)");
        assert_eq!(faults(&[Metric::gauge("a", ""), Metric::counter("a", "")]), ["a: twice"]);
        let labels = |first: &'static str, next: &'static str| vec![(first, "x".to_owned()), (next, "x".to_owned())];
        let same = Metric::gauge("a", "").with(labels("b", "c"), Value::Whole(1)).with(labels("c", "b"), Value::Whole(2));
        assert!(one(same).contains("a: twice [") && one(Metric::gauge("a", "").with(labels("b", "b"), Value::Whole(1))).contains("labels"));
    }
}
