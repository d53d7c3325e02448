//! Which pod a rollout replaces next.

use crate::api::scalar::CountOrPercent;

/// A worker's pod.
#[expect(clippy::struct_excessive_bools, reason = "each is seen by itself")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct Worker {
    /// Its name.
    pub(in crate::operator) name: String,
    /// Its uid.
    pub(in crate::operator) uid: String,
    /// Whether it was made from the template in force.
    pub(in crate::operator) current: bool,
    /// Whether it is ready.
    pub(in crate::operator) ready: bool,
    /// Whether it is on its way out.
    pub(in crate::operator) leaving: bool,
    /// Whether it leads the assignment of splits.
    pub(in crate::operator) leads: bool,
}

/// The pods of a pipeline, and what bounds a rollout of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::operator) struct Pods<'a> {
    /// Those that there are.
    pub(in crate::operator) there: &'a [Worker],
    /// How many there are to be.
    pub(in crate::operator) wanted: usize,
    /// How many may be away at once.
    pub(in crate::operator) limit: usize,
    /// Whether a committed cutover waits for acknowledgements: it ends first.
    pub(in crate::operator) switching: bool,
}

/// How many pods may be away at once, of so many: one at least.
pub(in crate::operator) fn limit(set: Option<&CountOrPercent>, wanted: usize) -> usize {
    let number = match set {
        None => 1,
        Some(CountOrPercent::Count(count)) => usize::try_from(*count).unwrap_or(1),
        Some(CountOrPercent::Percent(text)) => {
            let share: usize = text.trim_end_matches('%').parse().unwrap_or(0);
            wanted.saturating_mul(share).div_ceil(100)
        }
    };
    number.max(1)
}

/// The pod that may be replaced now. A broken one goes first and at once, for it serves nobody; where new pods do not come
/// up, no good one follows them.
pub(in crate::operator) fn next<'a>(pods: &Pods<'a>) -> Option<&'a Worker> {
    let old = || pods.there.iter().filter(|pod| !pod.current && !pod.leaving);
    let new_broken = pods.there.iter().filter(|pod| pod.current && !pod.ready).count();
    if new_broken >= pods.limit {
        return None;
    }
    if let Some(broken) = old().find(|pod| !pod.ready) {
        return Some(broken);
    }
    let serving = pods.there.iter().filter(|pod| pod.ready && !pod.leaving).count();
    let away = pods.wanted.saturating_sub(serving);
    if pods.switching || away >= pods.limit {
        return None;
    }
    old().find(|pod| !pod.leads).or_else(|| old().next())
}

#[cfg(test)]
mod tests {
    use super::{Pods, Worker, limit, next};
    use crate::api::scalar::CountOrPercent;

    /// `o` old and ready, `x` old and broken, `n` new and ready, `b` new and broken, `l` old and leaving, `L` old leader.
    fn pods(text: &str) -> Vec<Worker> {
        let pod = |(index, kind): (usize, char)| Worker {
            name: index.to_string(),
            uid: index.to_string(),
            current: "nb".contains(kind),
            ready: "onL".contains(kind),
            leaving: kind == 'l',
            leads: kind == 'L',
        };
        text.chars().enumerate().map(pod).collect()
    }

    fn replaced(text: &str, limit: usize) -> Option<String> {
        let there = pods(text);
        next(&Pods { there: &there, wanted: 3, limit, switching: false }).map(|pod| pod.name.clone())
    }

    #[test]
    fn pods_go_one_by_one_and_the_leader_last() {
        assert_eq!(replaced("Loo", 1).as_deref(), Some("1"));
        assert_eq!(replaced("Llo", 1), None);
        assert_eq!(replaced("Lo", 1), None);
        assert_eq!(replaced("Lbo", 1), None);
        assert_eq!(replaced("Lno", 1).as_deref(), Some("2"));
        assert_eq!(replaced("Lnn", 1).as_deref(), Some("0"));
        assert_eq!(replaced("nnn", 1), None);
        assert_eq!(replaced("Lbo", 2).as_deref(), Some("2"));
    }

    #[test]
    fn scenario_61_a_broken_pod_goes_first_and_a_broken_template_takes_no_good_one() {
        assert_eq!(replaced("oxo", 1).as_deref(), Some("1"));
        assert_eq!(replaced("xxx", 1).as_deref(), Some("0"));
        assert_eq!(replaced("obo", 1), None);
        assert_eq!(replaced("oxb", 1), None);
    }

    #[test]
    fn a_committed_cutover_ends_before_a_good_pod_goes() {
        let there = pods("oox");
        let switching = |there: &[Worker]| next(&Pods { there, wanted: 3, limit: 1, switching: true }).map(|pod| pod.name.clone());
        assert_eq!(switching(&there).as_deref(), Some("2"));
        assert_eq!(switching(&pods("ooo")), None);
    }

    #[test]
    fn a_share_is_rounded_up_and_never_none() {
        let percent = |text: &str, wanted| limit(Some(&CountOrPercent::Percent(text.into())), wanted);
        assert_eq!((percent("25%", 10), percent("1%", 10), percent("100%", 0)), (3, 1, 1));
        assert_eq!((limit(None, 5), limit(Some(&CountOrPercent::Count(4)), 5)), (1, 4));
    }
}
