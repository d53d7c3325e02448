//! Events: what has just happened to a pipeline, for people.

use crate::api::StreamPipeline;
use crate::api::condition::{Condition, ConditionStatus};
use crate::api::faults::{About, about};
use crate::api::pipeline::StreamPipelineStatus;
use crate::operator::cutover::Wrote;
use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder};

/// The longest note, in bytes.
const LONGEST: usize = 1_000;

/// Says what a write of status has changed. Best effort: an Event that cannot be written is logged.
pub(super) async fn publish(
    recorder: &Recorder,
    pipeline: &StreamPipeline,
    (before, after): (&StreamPipelineStatus, &StreamPipelineStatus),
    step: Option<Wrote>,
) {
    let mut events: Vec<_> = step.map(|step| of_step(step, before, after)).into_iter().collect();
    events.extend(turned(before, after, "Accepted", "Validate"));
    events.extend(turned(before, after, "SourceReachable", "Read"));
    events.extend(complained(before, after));
    for event in events {
        if let Err(error) = recorder.publish(&event, &pipeline.object_ref(&())).await {
            tracing::warn!(%error, reason = event.reason, "an Event cannot be written");
        }
    }
}

fn condition<'a>(status: &'a StreamPipelineStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.r#type == kind)
}

/// A condition that has become false, for another reason than before.
fn turned(before: &StreamPipelineStatus, after: &StreamPipelineStatus, kind: &str, action: &str) -> Option<Event> {
    let now = condition(after, kind).filter(|condition| condition.status == ConditionStatus::False)?;
    let same = condition(before, kind).is_some_and(|before| before.status == now.status && before.message == now.message);
    // Events of one action are told as one, with the first one's text: each edit's are an action of their own.
    let action = after.observed_generation.map_or_else(|| action.to_owned(), |generation| format!("{action}{generation}"));
    (!same).then(|| event(EventType::Warning, &now.reason, &now.message, &action))
}

/// What workers have begun to say that keeps them: by its reason, for its text may go on changing.
fn complained(before: &StreamPipelineStatus, after: &StreamPipelineStatus) -> Option<Event> {
    let of_output = |status: &Condition| matches!(about(&status.reason), About::Output);
    let complaint = |status| condition(status, "Degraded").or_else(|| condition(status, "Ready").filter(|ready| of_output(ready)));
    let now: &Condition = complaint(after)?;
    let same = complaint(before).is_some_and(|before| before.reason == now.reason);
    (!same).then(|| event(EventType::Warning, &now.reason, &now.message, "Work"))
}

fn of_step(step: Wrote, before: &StreamPipelineStatus, after: &StreamPipelineStatus) -> Event {
    let (kind, reason, text) = match step {
        Wrote::Intent => (EventType::Normal, "CutoverBegun", "workers prepare the program"),
        Wrote::Cancelled => (EventType::Normal, "CutoverCancelled", "the spec names the program no more"),
        Wrote::Committed => (EventType::Normal, "CutoverCommitted", "workers go over to the program"),
        Wrote::Aborted(_) => (EventType::Warning, "CutoverAborted", "the program that ran goes on"),
        Wrote::Acknowledged => (EventType::Normal, "RootAcknowledged", "every worker runs the program"),
        Wrote::Failed(_) => (EventType::Warning, "CutoverFailed", "the committed program does not run on every worker"),
        Wrote::Soaked => (EventType::Normal, "CutoverDone", "the program has proven good"),
    };
    // What was given up stands in the status no more.
    let given_up = matches!(step, Wrote::Cancelled | Wrote::Aborted(_));
    let root = if given_up { before.root.as_ref() } else { after.root.as_ref() };
    let at = root.and_then(|root| root.target.as_ref().or(root.active.as_ref()));
    let named = at.map(|at| format!(" ({}, epoch {})", at.digest.get(..15).unwrap_or_default(), at.epoch)).unwrap_or_default();
    // Events of one action are told as one, with the first one's text: each attempt is an action of its own.
    let action = at.map_or_else(|| "CutOver".to_owned(), |at| format!("CutOver{}", at.epoch));
    event(kind, reason, &format!("{text}{named}"), &action)
}

fn event(type_: EventType, reason: &str, note: &str, action: &str) -> Event {
    let note: String = note.char_indices().take_while(|(at, _)| *at < LONGEST).map(|(_, c)| c).collect();
    Event { type_, reason: reason.to_owned(), note: Some(note), action: action.to_owned(), secondary: None }
}

#[cfg(test)]
mod tests {
    use super::{complained, of_step, turned};
    use crate::api::pipeline::StreamPipelineStatus;
    use crate::operator::cutover::Wrote;
    use serde_json::json;

    #[test]
    fn each_attempts_events_are_told_apart() {
        let event = |epoch: i64| {
            let active = json!({"digest": format!("sha256:{epoch:064}"), "epoch": epoch});
            let status: StreamPipelineStatus = serde_json::from_value(json!({"root": {"active": active}})).unwrap();
            of_step(Wrote::Acknowledged, &StreamPipelineStatus::default(), &status)
        };
        assert_eq!((event(2).action.as_str(), event(3).action.as_str()), ("CutOver2", "CutOver3"));
        assert!(event(3).note.unwrap().ends_with("epoch 3)"));
        let root = |epoch: i64| json!({"digest": format!("sha256:{epoch:064}"), "epoch": epoch});
        let before = serde_json::from_value(json!({"root": {"active": root(3), "target": root(4)}})).unwrap();
        let after = serde_json::from_value(json!({"root": {"active": root(3)}})).unwrap();
        let cancelled = of_step(Wrote::Cancelled, &before, &after);
        assert!(cancelled.note.unwrap().ends_with("epoch 4)"), "it names what was given up");
    }

    fn status(status: &str, message: &str) -> StreamPipelineStatus {
        let condition = json!({"type": "Accepted", "status": status, "reason": "RootInvalid", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        serde_json::from_value(json!({"conditions": [condition]})).unwrap()
    }

    #[test]
    fn scenario_41_a_condition_that_stays_false_makes_no_second_event() {
        let event = |before: &StreamPipelineStatus, after: &StreamPipelineStatus| {
            turned(before, after, "Accepted", "Validate").map(|event| event.reason)
        };
        let (good, bad, worse) = (status("True", "valid"), status("False", "1:1"), status("False", "2:2"));
        assert_eq!(event(&good, &bad).as_deref(), Some("RootInvalid"));
        assert_eq!(event(&StreamPipelineStatus::default(), &bad).as_deref(), Some("RootInvalid"));
        assert_eq!(event(&bad, &bad), None);
        assert!(event(&bad, &worse).is_some() && event(&bad, &good).is_none());
    }

    #[test]
    fn what_a_worker_begins_to_complain_of_makes_one_event() {
        let status = |kind: &str, reason: &str, message: &str| -> StreamPipelineStatus {
            let condition =
                json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"});
            serde_json::from_value(json!({"conditions": [condition]})).unwrap()
        };
        let event = |before: &StreamPipelineStatus, after: &StreamPipelineStatus| complained(before, after).map(|event| event.reason);
        let (good, held) = (status("Ready", "AsSpecified", ""), status("Degraded", "StateStoreRequired", "split a"));
        assert_eq!(event(&good, &held).as_deref(), Some("StateStoreRequired"));
        assert_eq!(event(&held, &status("Degraded", "StateStoreRequired", "split b")), None);
        assert_eq!(event(&held, &good), None);
        // Before a pod is ready, only the summary says it; then both do.
        let first = status("Ready", "OutputNotFound", "");
        assert_eq!(event(&good, &first).as_deref(), Some("OutputNotFound"));
        assert_eq!(event(&first, &status("Degraded", "OutputNotFound", "")), None);
    }
}
