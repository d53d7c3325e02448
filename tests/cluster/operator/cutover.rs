//! An edit of the program, from the spec to the acknowledgement.

use super::play::{Office, Player, active, apply, condition, manifest, message, pipeline, says, split_meta, split_name, wait};
use crate::bed::{self, Bed};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

const ROOT: &str = "in temp: Float\nout alarm: Bool = temp > 80.0";
const NEXT: &str = "in temp: Float\nout alarm: Bool = temp > 90.0";
const BAD: &str = "in temp: Float\nout alarm: Bool = tempp > 90.0";

/// A pipeline whose one worker runs the first program, acknowledged.
async fn running<'a>(bed: &'a Bed, name: &str) -> Player<'a> {
    apply(bed, &manifest(name, ROOT, &json!({})));
    says(bed, name, "RootAcknowledged", "False/AwaitingWorkers").await;
    let worker = Player::join(bed, name, 0, "a").await;
    let told = worker.told("Commit", 0).await;
    worker.acknowledged(&told).await;
    says(bed, name, "RootAcknowledged", "True/AllWorkers").await;
    worker
}

fn edit(bed: &Bed, name: &str, root: &str) {
    apply(bed, &manifest(name, root, &json!({})));
}

#[test]
fn scenario_44_a_bad_root_says_where_and_leaves_the_running_one_and_a_good_edit_mends_it() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let (before, told) = (active(&pipeline(bed, "p").await), worker.instruction().await);
        edit(bed, "p", BAD);
        let bad = says(bed, "p", "Accepted", "False/RootInvalid").await;
        assert!(message(&bad, "Accepted").starts_with("2:19: MR1"), "{}", message(&bad, "Accepted"));
        assert_eq!(condition(&bad, "RootAcknowledged"), "False/NotAccepted");
        assert_eq!(condition(&bad, "Stalled"), "True/RootInvalid");
        assert_eq!((active(&bad), worker.instruction().await), (before.clone(), told));
        let shown = bed.kubectl(&["get", "spl", "p"], "");
        assert!(shown.contains("RootInvalid"), "{shown}");
        let described = bed.kubectl(&["describe", "spl", "p"], "");
        assert!(described.contains("2:19: MR1") && described.contains("Warning  RootInvalid"), "{described}");
        edit(bed, "p", NEXT);
        let told = worker.told("Prepare", before.0).await;
        worker.prepared(&told).await;
        worker.acknowledged(&worker.told("Commit", before.0).await).await;
        let good = says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        assert!(active(&good).0 > before.0 && condition(&good, "Stalled") == "none");
        office.close().await;
    });
}

#[test]
fn scenario_43_kubectl_wait_never_answers_for_an_older_spec() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let (epoch, _) = active(&pipeline(bed, "p").await);
        // It looks once, since the operator runs in this very thread.
        let holds = || bed.try_kubectl(&["wait", "--for=condition=RootAcknowledged", "spl/p", "--timeout=0s"], "").status.success();
        let never = async |what: &str| {
            for _ in 0..10 {
                assert!(!holds(), "{what}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        let comes = async || wait("kubectl wait", async || if holds() { Ok(()) } else { Err(String::new()) }).await;
        comes().await;
        edit(bed, "p", NEXT);
        never("satisfied by the verdict on the spec before").await;
        worker.prepared(&worker.told("Prepare", epoch).await).await;
        let told = worker.told("Commit", epoch).await;
        never("satisfied before the worker has acknowledged").await;
        worker.acknowledged(&told).await;
        comes().await;
        // A change that leaves the program alone is stamped in the same pass.
        bed.kubectl(&["patch", "spl", "p", "--type=merge", "-p", r#"{"spec": {"cutover": {"ackTimeout": "90s"}}}"#], "");
        comes().await;
        office.close().await;
    });
}

#[test]
fn a_program_that_a_worker_rejects_is_cancelled_and_says_why_and_going_back_mends_it() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let before = active(&pipeline(bed, "p").await);
        edit(bed, "p", NEXT);
        worker.rejected(&worker.told("Prepare", before.0).await, "the window does not fit").await;
        let stalled = says(bed, "p", "RootAcknowledged", "False/StateIncompatible").await;
        assert!(message(&stalled, "RootAcknowledged").contains("the window does not fit"));
        assert_eq!((condition(&stalled, "CutoverSucceeded"), active(&stalled)), ("False/Aborted".to_owned(), before.clone()));
        let cancelled = worker.told("Cancel", before.0).await;
        assert_eq!(cancelled["committed"]["epoch"], before.0);
        // It is not tried again by itself.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(worker.instruction().await, cancelled);
        edit(bed, "p", ROOT);
        let back = says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        assert_eq!(active(&back), before);
        office.close().await;
    });
}

#[test]
fn scenario_55_an_answer_of_an_earlier_life_does_not_count() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let before = active(&pipeline(bed, "p").await);
        let other = Player::join(bed, "p", 1, "a").await;
        other.acknowledged(&other.told("Commit", 0).await).await;
        edit(bed, "p", NEXT);
        let told = worker.told("Prepare", before.0).await;
        worker.prepared(&told).await;
        worker.crash();
        let again = Player::join(bed, "p", 0, "b").await;
        other.prepared(&other.told("Prepare", before.0).await).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(active(&pipeline(bed, "p").await), before, "committed by the answer of a life that is over");
        again.prepared(&told).await;
        again.told("Commit", before.0).await;
        office.close().await;
    });
}

#[test]
fn i43_a_split_that_lacks_the_epoch_holds_the_acknowledgement_back() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let (epoch, digest) = active(&pipeline(bed, "p").await);
        let base = |epoch: i64, digest: &str| json!({"root": {"epoch": epoch, "digest": digest}});
        let split = json!({
            "apiVersion": "millrace.dev/v1alpha1", "kind": "StreamSplit",
            "metadata": split_meta(),
            "spec": {"pipelineUid": "u", "stream": "arn:aws:kinesis:eu-west-1:123456789012:stream/telemetry@1", "shard": "s"},
            "record": {"schema": 1, "state": "Open", "epoch": 1, "base": base(epoch, &digest),
                "owner": {"worker": worker.name, "incarnation": "pod-0/a", "page": "none"}},
        });
        bed.send("POST", "streamsplits", &split).await.unwrap();
        edit(bed, "p", NEXT);
        worker.prepared(&worker.told("Prepare", epoch).await).await;
        let told = worker.told("Commit", epoch).await;
        worker.acknowledged(&told).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(condition(&pipeline(bed, "p").await, "RootAcknowledged"), "False/AwaitingAck");
        let root = base(told["root"]["epoch"].as_i64().unwrap(), told["root"]["digest"].as_str().unwrap());
        let patch = Patch::Merge(json!({"record": {"base": root}}));
        bed.api::<millrace::api::StreamSplit>().patch(&split_name(), &PatchParams::default(), &patch).await.unwrap();
        says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        office.close().await;
    });
}

#[test]
fn a_root_in_a_config_map_is_read_once_and_a_missing_or_changed_one_is_said() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let digest = millrace::flow::Digest::of(ROOT.as_bytes()).to_string();
        let at = json!({"root": {"configMapRef": {"name": "roots", "key": "root", "sha256": digest}}});
        apply(bed, &manifest("p", ROOT, &at));
        says(bed, "p", "Accepted", "False/ConfigMapMissing").await;
        let maps = bed.api::<ConfigMap>();
        let map = |text: &str| {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "roots"}, "data": {"root": text}});
            Patch::Apply(map)
        };
        maps.patch("roots", &PatchParams::apply("test").force(), &map(NEXT)).await.unwrap();
        // Its own edit brings a pass about; the map's does not.
        bed.kubectl(&["annotate", "--overwrite", "spl", "p", "look=again"], "");
        says(bed, "p", "Accepted", "False/DigestMismatch").await;
        maps.patch("roots", &PatchParams::apply("test").force(), &map(ROOT)).await.unwrap();
        bed.kubectl(&["annotate", "--overwrite", "spl", "p", "look=once-more"], "");
        says(bed, "p", "Accepted", "True/Valid").await;
        maps.delete("roots", &kube::api::DeleteParams::default()).await.unwrap();
        bed.kubectl(&["annotate", "--overwrite", "spl", "p", "look=gone"], "");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(condition(&pipeline(bed, "p").await, "Accepted"), "True/Valid");
        office.close().await;
    });
}

#[test]
fn scenario_59_a_status_that_is_lost_is_made_again_at_a_higher_epoch() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let before = active(&pipeline(bed, "p").await);
        wait("a status without anything", async || {
            let mut whole = serde_json::to_value(pipeline(bed, "p").await).unwrap();
            whole["status"] = json!({});
            bed.send("PUT", "streampipelines/p/status", &whole).await
        })
        .await;
        bed.kubectl(&["annotate", "--overwrite", "spl", "p", "look=again"], "");
        worker.prepared(&worker.told("Prepare", before.0).await).await;
        worker.acknowledged(&worker.told("Commit", before.0).await).await;
        let after = wait("a new epoch", async || {
            let pipeline = pipeline(bed, "p").await;
            if condition(&pipeline, "RootAcknowledged").starts_with("True") {
                Ok(active(&pipeline))
            } else {
                Err(json!(pipeline.status).to_string())
            }
        })
        .await;
        assert!(after.0 > before.0 && after.1 == before.1, "{after:?} after {before:?}");
        office.close().await;
    });
}

#[test]
fn scenario_45_a_second_replica_goes_on_where_the_first_has_stopped() {
    bed::test(async |bed| {
        let first = Office::open(bed, "a");
        let worker = running(bed, "p").await;
        let (epoch, _) = active(&pipeline(bed, "p").await);
        let second = Office::open(bed, "b");
        edit(bed, "p", NEXT);
        let told = worker.told("Prepare", epoch).await;
        first.close().await;
        worker.prepared(&told).await;
        worker.acknowledged(&worker.told("Commit", epoch).await).await;
        says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        second.close().await;
        let lease = bed.api::<k8s_openapi::api::coordination::v1::Lease>().get("operator").await.unwrap();
        assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some(""), "the office is given up");
    });
}

#[test]
fn scenario_54_an_edit_reaches_a_pipeline_that_is_down() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({})));
        let before = active(&says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await);
        edit(bed, "p", BAD);
        says(bed, "p", "Accepted", "False/RootInvalid").await;
        edit(bed, "p", NEXT);
        let after = active(&says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await);
        assert!(after.0 > before.0 && after.1 != before.1, "{after:?} after {before:?}");
        let worker = Player::join(bed, "p", 0, "a").await;
        worker.acknowledged(&worker.told("Commit", before.0).await).await;
        says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        office.close().await;
    });
}
