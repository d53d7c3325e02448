//! What this replica has done, counted for `/metrics`.

use super::cutover::Wrote;
use crate::error::Code;
use crate::telemetry::{Metric, Value};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What a replica has done since it began.
#[derive(Debug, Default)]
pub(super) struct Counts {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    passes: u64,
    /// Passes that have failed, by code.
    failures: BTreeMap<String, u64>,
    /// Steps of cutovers that were written, by what they came to.
    cutovers: BTreeMap<&'static str, u64>,
    pipelines: u64,
}

impl Counts {
    /// A pass is over; so many pipelines are looked after now.
    pub(super) fn pass(&self, failure: Option<Code>, pipelines: usize) {
        let mut inner = self.inner.lock();
        inner.passes = inner.passes.saturating_add(1);
        inner.pipelines = u64::try_from(pipelines).unwrap_or(u64::MAX);
        if let Some(code) = failure {
            let count = inner.failures.entry(code.to_string()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// A step of a cutover was written.
    pub(super) fn step(&self, wrote: Wrote) {
        let step = match wrote {
            Wrote::Intent => "begun",
            Wrote::Cancelled => "cancelled",
            Wrote::Committed => "committed",
            Wrote::Aborted(_) => "aborted",
            Wrote::Acknowledged => "acknowledged",
            Wrote::Failed(_) => "failed",
            Wrote::Soaked => "done",
        };
        let mut inner = self.inner.lock();
        let count = inner.cutovers.entry(step).or_default();
        *count = count.saturating_add(1);
    }

    /// All of it.
    pub(super) fn metrics(&self, leads: bool) -> Vec<Metric> {
        let inner = self.inner.lock();
        let gauge = |name, help, value| Metric::gauge(name, help).is(Value::Whole(value));
        let mut failures = Metric::counter("millrace_operator_failures", "Passes over a pipeline that have failed, by code.");
        for (code, count) in &inner.failures {
            failures = failures.with(vec![("code", code.clone())], Value::Whole(*count));
        }
        let mut cutovers = Metric::counter("millrace_operator_cutovers", "Cutovers, by the step that they have reached.");
        for (step, count) in &inner.cutovers {
            cutovers = cutovers.with(vec![("step", (*step).to_owned())], Value::Whole(*count));
        }
        vec![
            gauge("millrace_operator_leads", "Whether this replica acts: 1, or 0.", u64::from(leads)),
            gauge("millrace_operator_pipelines", "Pipelines that this replica has looked after.", inner.pipelines),
            Metric::counter("millrace_operator_passes", "Passes over a pipeline.").is(Value::Whole(inner.passes)),
            failures,
            cutovers,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Counts, Wrote};
    use crate::telemetry::{faults, text};

    #[test]
    fn what_was_done_is_counted_and_fits_the_format() {
        let counts = Counts::default();
        counts.pass(None, 1);
        counts.pass(Some(Code::CLUSTER_FAILED), 2);
        counts.step(Wrote::Intent);
        counts.step(Wrote::Committed);
        counts.step(Wrote::Committed);
        let metrics = counts.metrics(true);
        assert!(faults(&metrics).is_empty(), "{:?}", faults(&metrics));
        let text = text(&metrics);
        let failed = format!("millrace_operator_failures_total{{code=\"{}\"}} 1", Code::CLUSTER_FAILED);
        let lines = [
            "millrace_operator_leads 1",
            "millrace_operator_pipelines 2",
            "millrace_operator_passes_total 2",
            &failed,
            "millrace_operator_cutovers_total{step=\"begun\"} 1",
            "millrace_operator_cutovers_total{step=\"committed\"} 2",
        ];
        for line in lines {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
    }
}
