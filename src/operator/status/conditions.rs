//! What each condition says.

use super::Seen;
use crate::api::condition::{ConditionStatus, ConditionType};
use crate::operator::cutover::{Active, Rest, Tally};
use crate::operator::validate::Verdict;

/// What a condition is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Says {
    pub(super) status: ConditionStatus,
    pub(super) reason: String,
    pub(super) message: String,
}

fn says(status: ConditionStatus, reason: &str, message: impl Into<String>) -> Says {
    Says { status, reason: reason.to_owned(), message: message.into() }
}

fn yes(reason: &str, message: impl Into<String>) -> Says {
    says(ConditionStatus::True, reason, message)
}

fn no(reason: &str, message: impl Into<String>) -> Says {
    says(ConditionStatus::False, reason, message)
}

fn unknown(message: &str) -> Says {
    says(ConditionStatus::Unknown, "NotObserved", message)
}

/// All conditions but the summary, which follows from them; `None` leaves one as it was.
pub(super) fn all(seen: &Seen<'_>) -> Vec<(ConditionType, Option<Says>)> {
    vec![
        (ConditionType::Accepted, Some(accepted(seen))),
        (ConditionType::WorkersAvailable, Some(workers_available(seen))),
        (ConditionType::SourceReachable, Some(source_reachable(seen))),
        (ConditionType::RootAcknowledged, Some(root_acknowledged(seen))),
        (ConditionType::CutoverSucceeded, cutover_succeeded(seen)),
        (ConditionType::Available, Some(available(seen))),
    ]
}

fn accepted(seen: &Seen<'_>) -> Says {
    match seen.verdict {
        Verdict::Valid(_) => yes("Valid", "the manifest and its root are valid"),
        Verdict::Invalid(refusal) => {
            let runs = if seen.state.active.is_some() { "\nThe program that was running goes on." } else { "" };
            no(refusal.reason, format!("{}{runs}", refusal.message))
        }
    }
}

fn workers_available(seen: &Seen<'_>) -> Says {
    let fleet = seen.fleet;
    let (wanted, ready) = (fleet.wanted, fleet.ready());
    if let Some(trouble) = seen.obstacle.or(fleet.trouble.as_ref()) {
        return no(trouble.reason, trouble.message.clone());
    }
    if !seen.runs {
        return unknown("no pods are made before a program is accepted");
    }
    match (wanted, ready) {
        (0, _) => yes("ScaledToZero", "no worker is wanted"),
        _ if ready >= wanted => yes("AllReady", format!("{ready} of {wanted} workers are ready")),
        _ => no("Starting", format!("{ready} of {wanted} workers are ready")),
    }
}

/// The reasons by which a worker says that it cannot read its source.
const SOURCE: [&str; 4] = ["StreamNotFound", "AccessDenied", "Throttled", "Recreated"];

fn source_reachable(seen: &Seen<'_>) -> Says {
    if let Some((worker, fault)) = seen.faults.iter().find(|(_, fault)| SOURCE.contains(&fault.reason.as_str())) {
        return no(&fault.reason, format!("{worker}: {}: {}", fault.code, fault.message));
    }
    let reads = seen.workers.acknowledged > 0;
    if reads { yes("Reachable", "workers read it") } else { unknown("no worker reads it yet") }
}

fn root_acknowledged(seen: &Seen<'_>) -> Says {
    if !seen.verdict.is_valid() {
        return no("NotAccepted", "the program of the spec is not valid: see Accepted");
    }
    if seen.state.acknowledges(seen.wish) {
        return if seen.wish.wanted {
            yes("AllWorkers", "every worker runs the program of this generation")
        } else {
            yes("NoWorkers", "no worker is wanted; whichever starts runs the program of this generation")
        };
    }
    if let Some((reason, message)) = failed(seen) {
        return no(&reason, message);
    }
    let (reason, message) = match seen.rest {
        Rest::Rollout => ("AwaitingRollout", "a rollout of the pods goes first".to_owned()),
        Rest::Workers => ("AwaitingWorkers", "the program is committed; no worker has joined yet".to_owned()),
        Rest::Acknowledge => ("AwaitingAck", progress("acknowledged", seen.tally)),
        Rest::Records => ("AwaitingAck", "every worker has acknowledged; a split is still moving".to_owned()),
        Rest::Prepare | Rest::Soak | Rest::Edit => ("AwaitingPrepare", progress("prepared", seen.tally)),
    };
    no(reason, format!("{message}{}", faults(seen)))
}

/// Why the spec's program has failed, if it has: the reason stands before the text that status keeps.
fn failed(seen: &Seen<'_>) -> Option<(String, String)> {
    let blocked = seen.root?.blocked.as_ref().filter(|_| seen.state.target.is_none())?;
    let text = blocked.failure.as_deref().unwrap_or_default();
    let (reason, text) = text.split_once(": ").unwrap_or(("Aborted", text));
    let to_do = format!("edit the program, or set cutover.retryEpoch: {} to try it once more", blocked.epoch);
    Some((reason.to_owned(), format!("{text}\n{to_do}")))
}

/// How far it is, and who is waited for.
fn progress(done: &str, tally: Option<&Tally>) -> String {
    let Some(tally) = tally else { return "the cutover is about to begin".to_owned() };
    let waiting = tally.waiting.iter().map(|(name, why)| if why.is_empty() { name.clone() } else { format!("{name} ({why})") });
    let waiting: Vec<_> = waiting.take(8).collect();
    let rest = if waiting.is_empty() { String::new() } else { format!("; waiting for {}", waiting.join(", ")) };
    format!("{} of {} workers have {done}{rest}", tally.done, tally.total)
}

/// What workers say that keeps them, beside their answers.
fn faults(seen: &Seen<'_>) -> String {
    let lines = seen.faults.iter().take(4).map(|(worker, fault)| format!("\n{worker}: {}: {}", fault.code, fault.message));
    lines.collect::<Vec<_>>().concat()
}

fn cutover_succeeded(seen: &Seen<'_>) -> Option<Says> {
    let state = seen.state;
    let under_way = state.is_under_way();
    if !under_way && !seen.verdict.is_valid() {
        return None;
    }
    if let Some((reason, message)) = failed(seen).filter(|_| !under_way) {
        let late = reason == "AckTimeout";
        return Some(no(if late { "DeadlineExceeded" } else { "Aborted" }, message));
    }
    let spec = |active: &Active| seen.wish.named == Some(active.at.digest);
    Some(match state.active.filter(spec).filter(|_| !under_way) {
        Some(active) if active.acked && (active.soaked || !seen.wish.wanted) => yes("Done", "the program runs, and has proven good"),
        Some(active) if active.acked => no("Soaking", "the program runs on every worker"),
        _ if state.target.is_some() => no("InProgress", progress("prepared", seen.tally)),
        _ => no("InProgress", progress("acknowledged", seen.tally.filter(|_| under_way))),
    })
}

fn available(seen: &Seen<'_>) -> Says {
    let source = source_reachable(seen);
    match seen.fleet.ready() {
        _ if seen.fleet.wanted == 0 => no("Stopped", "no worker is wanted"),
        0 => no("NoReadyWorkers", "no worker is ready"),
        _ if source.status == ConditionStatus::False => no("SourceLost", source.message),
        _ if seen.state.active.is_none() => no("NoReadyWorkers", "no program is committed yet"),
        ready => yes("Flowing", format!("{ready} workers read, on {}", running(seen))),
    }
}

fn running(seen: &Seen<'_>) -> String {
    seen.state.active.map_or_else(|| "no program".to_owned(), |active| format!("program {}", active.at.digest.short()))
}

/// The summary: the first of the others that fails; never while old pods serve.
pub(super) fn ready(seen: &Seen<'_>, others: &[(ConditionType, Says)]) -> Says {
    let counts = |kind: &ConditionType| seen.fleet.wanted > 0 || *kind != ConditionType::Available;
    let fails = |says: &Says| says.status == ConditionStatus::False;
    if let Some((_, first)) = others.iter().find(|(kind, says)| counts(kind) && fails(says)) {
        return first.clone();
    }
    if let Some((_, first)) =
        others.iter().find(|(kind, says)| *kind == ConditionType::RootAcknowledged && says.status != ConditionStatus::True)
    {
        return no(&first.reason, first.message.clone());
    }
    if seen.fleet.is_rolling() {
        let (current, wanted) = (seen.fleet.current(), seen.fleet.wanted);
        return no("RollingOut", format!("{current} of {wanted} pods are of the template in force"));
    }
    if seen.fleet.wanted == 0 {
        yes("ScaledToZero", "as asked: no worker is wanted")
    } else {
        yes("AsSpecified", format!("every worker runs {}", running(seen)))
    }
}

/// Those that are present only while they are true.
pub(super) fn passing(seen: &Seen<'_>, ready: &Says) -> Vec<(ConditionType, Says)> {
    let state = seen.state;
    let held = state.recovering && state.target.is_none() && seen.rest == Rest::Edit;
    let mut found = Vec::new();
    if !seen.verdict.is_valid() || failed(seen).is_some() || held {
        found.push((ConditionType::Stalled, yes(&ready.reason, "nothing will change until the spec is edited: see Ready")));
    } else if ready.status == ConditionStatus::False && seen.fleet.trouble.is_none() {
        found.push((ConditionType::Reconciling, yes(&ready.reason, ready.message.clone())));
    }
    let other = seen.faults.iter().find(|(_, fault)| !SOURCE.contains(&fault.reason.as_str()));
    if let Some((worker, fault)) = other.filter(|_| seen.fleet.ready() > 0) {
        found.push((ConditionType::Degraded, yes(&fault.reason, format!("{worker}: {}: {}", fault.code, fault.message))));
    }
    found
}
