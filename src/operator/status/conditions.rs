//! What each condition says.

use super::Seen;
use crate::api::condition::{ConditionStatus, ConditionType};
use crate::api::faults::{About, about};
use crate::api::stream_worker::Fault;
use crate::error::Code;
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
        _ => no(STARTING, format!("{ready} of {wanted} workers are ready{}", faults(seen))),
    }
}

/// The reason of workers that are not ready yet, where their pods do not say why.
const STARTING: &str = "Starting";

/// What a worker says, and what to do about it. A fault of Kinesis says that itself.
fn told((worker, fault): &(String, Fault)) -> String {
    let (code, message) = (&fault.code, &fault.message);
    let number = code.strip_prefix("MR").and_then(|number| number.parse().ok());
    let entry = number.and_then(Code::of).and_then(Code::entry).filter(|_| about(&fault.reason) == About::Other);
    entry.map_or_else(|| format!("{worker}: {code}: {message}"), |entry| format!("{worker}: {code}: {message}. {}", entry.mend))
}

fn source_reachable(seen: &Seen<'_>) -> Says {
    let fault = seen.faults.iter().find_map(|own| match about(&own.1.reason) {
        About::Source(reason) => Some(no(reason, told(own))),
        _ => None,
    });
    if let Some(fault) = fault {
        return fault;
    }
    // A worker is ready only once it has installed a program and reached its source; what it answers may be about the next.
    let reads = seen.state.active.is_some() && seen.fleet.ready() > 0;
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
    let lines = seen.faults.iter().take(4).map(|fault| format!("\n{}", told(fault)));
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
        ready => yes("Flowing", format!("{ready} {} on {}", if ready == 1 { "worker reads," } else { "workers read," }, running(seen))),
    }
}

fn running(seen: &Seen<'_>) -> String {
    seen.state.active.map_or_else(|| "no program".to_owned(), |active| format!("program {}", active.at.digest.short()))
}

/// What keeps workers from their work, the worst first: the source, then an output, then the rest.
fn blamed(seen: &Seen<'_>) -> Option<Says> {
    let rank = |reason: &str| match about(reason) {
        About::Source(_) => 0,
        About::Output => 1,
        About::Other => 2,
    };
    let worst = seen.faults.iter().min_by_key(|(_, fault)| rank(&fault.reason))?;
    Some(match about(&worst.1.reason) {
        About::Source(reason) => no(reason, told(worst)),
        _ => no(&worst.1.reason, told(worst)),
    })
}

/// What keeps workers from some of their work while they do the rest.
fn degraded(seen: &Seen<'_>) -> Option<Says> {
    let beside = |(_, fault): &&(String, Fault)| !matches!(about(&fault.reason), About::Source(_));
    let mut faults: Vec<_> = seen.faults.iter().filter(beside).collect();
    faults.sort_by_key(|(_, fault)| about(&fault.reason) != About::Output);
    let worst = faults.first().filter(|_| seen.fleet.ready() > 0)?;
    Some(yes(&worst.1.reason, faults.iter().take(4).map(|fault| told(fault)).collect::<Vec<_>>().join("\n")))
}

/// Whether a condition only says that something is waited for.
fn waits(kind: ConditionType, says: &Says) -> bool {
    match kind {
        ConditionType::WorkersAvailable => says.reason == STARTING,
        ConditionType::RootAcknowledged => matches!(says.reason.as_str(), "AwaitingWorkers" | "AwaitingPrepare" | "AwaitingAck"),
        _ => false,
    }
}

/// The summary: the first of the others that fails, or what workers say where that one only waits; never while old pods
/// serve.
pub(super) fn ready(seen: &Seen<'_>, others: &[(ConditionType, Says)]) -> Says {
    let counts = |kind: &ConditionType| seen.fleet.wanted > 0 || *kind != ConditionType::Available;
    let fails = |says: &Says| says.status == ConditionStatus::False;
    if let Some((kind, first)) = others.iter().find(|(kind, says)| counts(kind) && fails(says)) {
        return blamed(seen).filter(|_| waits(*kind, first)).unwrap_or_else(|| first.clone());
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
    if let Some(degraded) = degraded(seen) {
        return degraded;
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
    found.extend(degraded(seen).map(|degraded| (ConditionType::Degraded, degraded)));
    found
}
