//! What a worker counts, as metrics.

use crate::runtime::Counts;
use crate::telemetry::{Family, Kind};

/// The numbers of a worker that holds so many splits.
pub(super) fn metrics(counts: &Counts, held: u64) -> Vec<Family> {
    let counter = |name, help, value| Family::one(Kind::Counter, name, help, value);
    let unfit = [("skipped", counts.skipped), ("undecodable", counts.undecodable), ("tick_failed", counts.failed_records)];
    let odd = [
        ("duplicate_names", counts.duplicate_names),
        ("not_finite", counts.not_finite),
        ("window_ignored", counts.window_ignored),
        ("window_evicted", counts.window_evicted),
    ];
    vec![
        Family::one(Kind::Gauge, "millrace_splits", "Splits that are held.", held),
        counter("millrace_records", "Records that were read.", counts.records),
        counter("millrace_record_bytes", "Bytes of their payloads.", counts.bytes),
        counter("millrace_rows", "Rows that were made, dead letters apart.", counts.rows),
        counter("millrace_keys", "Keys that were seen for the first time.", counts.keys),
        counter("millrace_failed_keys", "Keys that ended by a failed tick.", counts.failed_keys),
        Family::by(Kind::Counter, "millrace_unfit_records", "Records that gave no rows, by what was wrong.", "cause", &unfit),
        counter("millrace_records_ahead", "Undecodable records whose time led their arrival by too much.", counts.too_far_ahead),
        Family::by(Kind::Counter, "millrace_odd_values", "Values that were taken otherwise than they stood, by why.", "cause", &odd),
    ]
}
