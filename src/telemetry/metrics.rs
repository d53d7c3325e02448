//! Metrics as text: `OpenMetrics` 1.0 (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).

use std::fmt::Write;

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows while the process lives.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Numbers of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name without a suffix: letters, digits and `_`, the unit last.
    pub name: &'static str,
    /// What it counts, in one sentence.
    pub help: &'static str,
    /// What it is.
    pub kind: Kind,
    /// One number for each set of labels.
    pub samples: Vec<Sample>,
}

/// One number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What it is about.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: u64,
}

impl Family {
    /// A single number, without labels.
    #[must_use]
    pub fn one(kind: Kind, name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind, samples: vec![Sample { labels: Vec::new(), value }] }
    }

    /// A number for each value of one label.
    #[must_use]
    pub fn by(kind: Kind, name: &'static str, help: &'static str, label: &'static str, values: &[(&str, u64)]) -> Self {
        let sample = |(of, value): &(&str, u64)| Sample { labels: vec![(label, (*of).to_owned())], value: *value };
        Self { name, help, kind, samples: values.iter().map(sample).collect() }
    }
}

/// The families as text.
#[must_use]
pub fn render(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        let (kind, suffix) = match family.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        let Family { name, help, samples, .. } = family;
        // Writing into a String cannot fail.
        let _infallible = writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {}", escaped(help));
        for Sample { labels, value } in samples {
            let labels: Vec<_> = labels.iter().map(|(label, of)| format!("{label}=\"{}\"", escaped(of))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _infallible = writeln!(text, "{name}{suffix}{labels} {value}");
        }
    }
    text + "# EOF\n"
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{Family, Kind, render};

    #[test]
    fn counters_end_in_total_and_labels_are_escaped() {
        let families = [
            Family::one(Kind::Gauge, "millrace_splits", "Splits that are held.", 3),
            Family::by(Kind::Counter, "millrace_errors", "By \"cause\".", "cause", &[("a\"b\\c\nd", 1), ("e", 2)]),
        ];
        let expected = "# TYPE millrace_splits gauge\n# HELP millrace_splits Splits that are held.\nmillrace_splits 3\n\
            # TYPE millrace_errors counter\n# HELP millrace_errors By \\\"cause\\\".\n\
            millrace_errors_total{cause=\"a\\\"b\\\\c\\nd\"} 1\nmillrace_errors_total{cause=\"e\"} 2\n# EOF\n";
        assert_eq!(render(&families), expected);
    }
}
