//! What workers say that keeps them: seen by `kubectl get` and `describe`, gone when it is mended.

use super::play::{Office, Player, active, apply, condition, manifest, message, pipeline, says, wait};
use crate::bed::{self, Bed};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use millrace::api::StreamWorker;
use serde_json::{Value, json};
use std::time::Duration;

const ROOT: &str = "out total: Int = 1";
const NEXT: &str = "out total: Int = 2";

fn fault(code: &str, reason: &str, message: &str) -> Value {
    json!({"code": code, "reason": reason, "message": message, "mayPass": true})
}

/// Says as a worker does what keeps it now, and nothing else.
async fn complains(bed: &Bed, name: &str, faults: &[Value]) {
    let status = Patch::Merge(json!({"status": {"faults": faults}}));
    bed.api::<StreamWorker>().patch_status(name, &PatchParams::default(), &status).await.unwrap();
}

/// Plays the kubelet of a pod that no node takes.
async fn ready(bed: &Bed, name: &str) {
    wait("the pod", async || bed.api::<Pod>().get(name).await.map(|_| ()).map_err(|error| error.to_string())).await;
    let status = json!({"status": {"conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]}});
    bed.api::<Pod>().patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap();
}

fn unscheduled() -> Value {
    json!({"worker": {"template": {"nodeSelector": {"kept": "free"}}}})
}

/// A pipeline whose one worker is ready and runs its program.
async fn running<'a>(bed: &'a Bed, root: &str) -> Player<'a> {
    apply(bed, &manifest("p", root, &unscheduled()));
    says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await;
    let worker = Player::join(bed, "p", 0, "a").await;
    worker.acknowledged(&worker.told("Commit", 0).await).await;
    ready(bed, "p-worker-0").await;
    says(bed, "p", "Ready", "True/AsSpecified").await;
    worker
}

/// What the user sees: a reason in the list, the text and an Event in the description.
async fn seen(bed: &Bed, reason: &str, text: &str) {
    let shown = bed.kubectl(&["get", "spl", "p"], "");
    assert!(shown.contains(reason), "{shown}");
    wait(&format!("an Event {reason}"), async || {
        let described = bed.kubectl(&["describe", "spl", "p"], "");
        let found = described.contains(text) && described.contains(&format!("Warning  {reason}"));
        if found { Ok(()) } else { Err(described) }
    })
    .await;
}

#[test]
fn a_source_that_workers_cannot_read_is_seen_with_what_to_do_and_goes_when_it_is_mended() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, ROOT).await;
        for (code, sent, reason, text) in [
            ("MR0401", "StreamNotFound", "StreamNotFound", "no stream telemetry; create it"),
            ("MR0402", "AccessDenied", "AccessDenied", "grant kinesis:GetRecords"),
            ("MR0405", "EndpointUnreachable", "EndpointUnreachable", "check the endpoint"),
            ("MR0409", "StreamRecreated", "Recreated", "set onRecreate"),
        ] {
            complains(bed, &worker.name, &[fault(code, sent, text)]).await;
            let lost = says(bed, "p", "SourceReachable", &format!("False/{reason}")).await;
            assert_eq!(message(&lost, "SourceReachable"), format!("p-worker-0: {code}: {text}"));
            assert_eq!(condition(&lost, "Ready"), format!("False/{reason}"));
            assert_eq!(condition(&lost, "Available"), "False/SourceLost");
            assert_eq!(condition(&lost, "RootAcknowledged"), "True/AllWorkers", "it is latched");
            seen(bed, reason, text).await;
        }
        complains(bed, &worker.name, &[]).await;
        let mended = says(bed, "p", "Ready", "True/AsSpecified").await;
        assert_eq!(
            (condition(&mended, "SourceReachable"), condition(&mended, "Available")),
            ("True/Reachable".into(), "True/Flowing".into())
        );
        office.close().await;
    });
}

#[test]
fn a_split_whose_state_is_too_large_is_seen_and_the_pipeline_stays_ready() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, ROOT).await;
        complains(bed, &worker.name, &[fault("MR0304", "StateStoreRequired", "split s-1 has 70000 bytes of state")]).await;
        let held = says(bed, "p", "Degraded", "True/StateStoreRequired").await;
        assert!(message(&held, "Degraded").contains("split s-1") && message(&held, "Degraded").contains("Keep less state"));
        assert_eq!(condition(&held, "Ready"), "True/StateStoreRequired");
        seen(bed, "StateStoreRequired", "Keep less state").await;
        complains(bed, &worker.name, &[]).await;
        says(bed, "p", "Ready", "True/AsSpecified").await;
        wait("no Degraded", async || match condition(&pipeline(bed, "p").await, "Degraded").as_str() {
            "none" => Ok(()),
            other => Err(other.to_owned()),
        })
        .await;
        office.close().await;
    });
}

#[test]
fn an_output_that_is_not_there_is_seen_while_an_edit_waits_for_it_and_going_back_mends_it() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, ROOT).await;
        let before = active(&pipeline(bed, "p").await);
        apply(bed, &manifest("p", NEXT, &unscheduled()));
        let missing = fault("MR0401", "OutputNotFound", "no stream alarms; create it");
        worker.answer(&worker.told("Prepare", before.0).await, &json!({"type": "Rejected", "fault": missing})).await;
        let waits = says(bed, "p", "Ready", "False/OutputNotFound").await;
        assert_eq!(condition(&waits, "RootAcknowledged"), "False/AwaitingPrepare");
        assert!(message(&waits, "RootAcknowledged").contains("no stream alarms; create it"));
        assert_eq!((condition(&waits, "SourceReachable"), active(&waits)), ("True/Reachable".to_owned(), before.clone()));
        seen(bed, "OutputNotFound", "no stream alarms; create it").await;
        apply(bed, &manifest("p", ROOT, &unscheduled()));
        let back = says(bed, "p", "Ready", "True/AsSpecified").await;
        assert_eq!(active(&back), before);
        office.close().await;
    });
}

#[test]
fn a_first_program_whose_output_is_not_there_is_mended_by_an_edit_alone() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &unscheduled()));
        says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await;
        let worker = Player::join(bed, "p", 0, "a").await;
        let told = worker.told("Commit", 0).await;
        let missing = fault("MR0401", "OutputNotFound", "no stream alarms; create it");
        worker.answer(&told, &json!({"type": "Rejected", "fault": missing})).await;
        let first = wait("what the worker says", async || {
            let pipeline = pipeline(bed, "p").await;
            let text = message(&pipeline, "RootAcknowledged");
            if text.contains("no stream alarms; create it") { Ok(pipeline) } else { Err(text) }
        })
        .await;
        assert_eq!(condition(&first, "RootAcknowledged"), "False/AwaitingAck");
        // The committed program would have ten minutes.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let epoch = told["root"]["epoch"].as_i64().unwrap();
        assert_eq!(active(&pipeline(bed, "p").await).0, epoch);
        apply(bed, &manifest("p", NEXT, &unscheduled()));
        worker.prepared(&worker.told("Prepare", epoch).await).await;
        worker.acknowledged(&worker.told("Commit", epoch).await).await;
        let mended = says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        assert!(active(&mended).0 > epoch && condition(&mended, "Degraded") == "none");
        office.close().await;
    });
}
