//! What a worker counts, as metrics.

use crate::runtime::Counts;
use crate::telemetry::{Metric, Value};

/// The numbers of a worker that holds so many splits.
pub(super) fn metrics(counts: &Counts, held: u64) -> Vec<Metric> {
    let counter = |name, help, value| Metric::counter(name, help).is(Value::Whole(value));
    let unfit = [("skipped", counts.skipped), ("undecodable", counts.undecodable), ("tick_failed", counts.failed_records)];
    let odd = [
        ("duplicate_names", counts.duplicate_names),
        ("not_finite", counts.not_finite),
        ("window_ignored", counts.window_ignored),
        ("window_evicted", counts.window_evicted),
    ];
    vec![
        Metric::gauge("millrace_splits", "Splits that are held.").is(Value::Whole(held)),
        counter("millrace_records", "Records that were read.", counts.records),
        counter("millrace_record", "Bytes of their payloads.", counts.bytes).of("bytes"),
        counter("millrace_rows", "Rows that were made, dead letters apart.", counts.rows),
        counter("millrace_keys", "Keys that were seen for the first time.", counts.keys),
        counter("millrace_failed_keys", "Keys that ended by a failed tick.", counts.failed_keys),
        by("millrace_unfit_records", "Records that gave no rows, by what was wrong.", &unfit),
        counter("millrace_records_ahead", "Undecodable records whose time led their arrival by too much.", counts.too_far_ahead),
        by("millrace_odd_values", "Values that were taken otherwise than they stood, by why.", &odd),
    ]
}

/// A counter for each cause.
fn by(name: &'static str, help: &'static str, causes: &[(&str, u64)]) -> Metric {
    let each = |metric: Metric, (cause, count): &(&str, u64)| metric.with(vec![("cause", (*cause).to_owned())], Value::Whole(*count));
    causes.iter().fold(Metric::counter(name, help), each)
}

#[cfg(test)]
mod tests {
    use super::metrics;
    use crate::runtime::Counts;
    use crate::telemetry::{faults, text};

    #[test]
    fn the_metrics_keep_the_rules_of_their_format() {
        let counts = Counts { records: 3, skipped: 1, ..Counts::default() };
        let all = metrics(&counts, 2);
        assert_eq!(faults(&all), Vec::<String>::new());
        let text = text(&all);
        for line in ["millrace_splits 2", "millrace_records_total 3", "millrace_unfit_records_total{cause=\"skipped\"} 1"] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }
}
