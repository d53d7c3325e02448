//! A pipeline at rest, deleted, and made again.

use super::play::{Office, Player, active, apply, condition, manifest, pipeline, says, split_meta, split_name, wait};
use crate::bed::{self, Bed};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{DeleteParams, Patch, PatchParams};
use millrace::api::{StreamPipeline, StreamSplit};
use serde_json::json;
use std::time::Duration;

const ROOT: &str = "out total: Int = 1";

/// Every object of the namespace with its revision, but for the Leases and what keeps count of them.
fn revisions(bed: &Bed) -> String {
    let kinds = "spl,slw,sls,sll,statefulsets,services,serviceaccounts,roles,rolebindings,poddisruptionbudgets,configmaps";
    bed.kubectl(&["get", kinds, "-o", r#"jsonpath={range .items[*]}{.kind}/{.metadata.name}@{.metadata.resourceVersion}{"\n"}{end}"#], "")
}

#[test]
fn scenario_40_an_idle_pipeline_is_written_to_no_more() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        // None is wanted: the pods of this namespace, which nobody can run here, are no part of the test.
        apply(bed, &manifest("p", ROOT, &json!({"replicas": 0})));
        says(bed, "p", "RootAcknowledged", "True/NoWorkers").await;
        says(bed, "p", "Ready", "True/ScaledToZero").await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let before = revisions(bed);
        assert!(before.contains("StatefulSet/p-worker@") && before.contains("ConfigMap/p-root-"), "{before}");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(revisions(bed), before);
        office.close().await;
    });
}

#[test]
fn scenario_41_a_broken_pipeline_makes_few_events() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", "out total: Int = nothing", &json!({})));
        says(bed, "p", "Accepted", "False/RootInvalid").await;
        for look in 0..5 {
            bed.kubectl(&["annotate", "--overwrite", "spl", "p", &format!("look={look}")], "");
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        let events = bed.kubectl(&["get", "events", "--field-selector=involvedObject.name=p", "-o", "name"], "");
        assert!((1..=3).contains(&events.lines().count()), "{events}");
        office.close().await;
    });
}

#[test]
fn scenario_60_deleted_and_made_again_it_goes_on_at_a_higher_epoch() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({})));
        says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await;
        let worker = Player::join(bed, "p", 0, "a").await;
        worker.acknowledged(&worker.told("Commit", 0).await).await;
        let before = active(&says(bed, "p", "RootAcknowledged", "True/AllWorkers").await);
        let split = json!({
            "apiVersion": "millrace.dev/v1alpha1", "kind": "StreamSplit",
            "metadata": split_meta(),
            "spec": {"pipelineUid": "old", "stream": "arn:aws:kinesis:eu-west-1:123456789012:stream/telemetry@1", "shard": "s"},
            "record": {"schema": 1, "state": "Open", "epoch": 3, "base": {"root": {"epoch": before.0 + 6, "digest": before.1}}},
        });
        bed.send("POST", "streamsplits", &split).await.unwrap();
        let uid = pipeline(bed, "p").await.metadata.uid;
        bed.api::<StreamPipeline>().delete("p", &DeleteParams::background()).await.unwrap();
        wait("the pipeline gone", async || match bed.api::<StreamPipeline>().get_opt("p").await.unwrap() {
            None => Ok(()),
            Some(_) => Err("it is there".to_owned()),
        })
        .await;
        worker.crash();
        // Generation 1 both times.
        apply(bed, &manifest("p", ROOT, &json!({})));
        let again = says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await;
        assert!(again.metadata.uid != uid && active(&again) == (before.0 + 7, before.1), "{:?}", active(&again));
        let owned = wait("the StatefulSet", async || {
            let set = bed.api::<StatefulSet>().get_opt("p-worker").await.unwrap();
            let owner = set.and_then(|set| set.metadata.owner_references).map(|owners| owners[0].uid.clone());
            if owner == again.metadata.uid { Ok(owner) } else { Err(format!("{owner:?}")) }
        })
        .await;
        assert!(owned.is_some());
        office.close().await;
    });
}

#[test]
fn scenario_60_a_retained_name_with_another_stream_is_refused() {
    bed::test(async |bed| {
        let split = json!({
            "apiVersion": "millrace.dev/v1alpha1", "kind": "StreamSplit",
            "metadata": split_meta(),
            "spec": {"pipelineUid": "old", "stream": "arn:aws:kinesis:eu-west-1:123456789012:stream/orders@1", "shard": "s"},
        });
        bed.send("POST", "streamsplits", &split).await.unwrap();
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({})));
        let refused = says(bed, "p", "Accepted", "False/RetainedPositions").await;
        assert!(condition(&refused, "Stalled").starts_with("True") && refused.status.unwrap().root.is_none());
        assert!(bed.api::<StatefulSet>().get_opt("p-worker").await.unwrap().is_none());
        bed.api::<StreamSplit>().delete(&split_name(), &DeleteParams::default()).await.unwrap();
        bed.kubectl(&["annotate", "spl", "p", "look=again"], "");
        says(bed, "p", "Accepted", "True/Valid").await;
        office.close().await;
    });
}

#[test]
fn scenario_48_a_pipeline_goes_before_anybody_has_looked_at_it_and_in_the_midst_of_a_cutover() {
    bed::test(async |bed| {
        let gone = async |name: &str| {
            bed.kubectl(&["delete", "spl", name, "--timeout=10s"], "");
        };
        apply(bed, &manifest("p", ROOT, &json!({})));
        gone("p").await;
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({})));
        says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await;
        gone("p").await;
        office.close().await;
    });
}

#[test]
fn scenario_60_workers_of_the_pipeline_before_hold_nothing_up() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({})));
        says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await;
        // Its heart goes on beating, as that of a pod that drains does.
        let worker = Player::join(bed, "p", 0, "a").await;
        let told = worker.told("Commit", 0).await;
        worker.acknowledged(&told).await;
        let before = active(&says(bed, "p", "RootAcknowledged", "True/AllWorkers").await);
        bed.kubectl(&["delete", "spl", "p", "--timeout=10s"], "");
        apply(bed, &manifest("p", ROOT, &json!({})));
        let again = active(&says(bed, "p", "RootAcknowledged", "False/AwaitingWorkers").await);
        assert!(again.0 > before.0 && again.1 == before.1, "{again:?} after {before:?}");
        assert_eq!(worker.instruction().await, told, "it was told something of another pipeline");
        office.close().await;
    });
}

#[test]
fn the_splits_of_a_pipeline_at_rest_are_counted_as_they_come_and_go() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({"replicas": 0})));
        says(bed, "p", "Ready", "True/ScaledToZero").await;
        let counted = async |open: i32, completed: i32| {
            wait(&format!("{open} open, {completed} completed"), async || {
                let splits = pipeline(bed, "p").await.status.and_then(|status| status.splits).unwrap_or_default();
                if (splits.open, splits.completed) == (open, completed) { Ok(()) } else { Err(format!("{splits:?}")) }
            })
            .await;
        };
        let split = json!({
            "apiVersion": "millrace.dev/v1alpha1", "kind": "StreamSplit",
            "metadata": split_meta(),
            "spec": {"pipelineUid": "u", "stream": "arn:aws:kinesis:eu-west-1:123456789012:stream/telemetry@1", "shard": "s"},
            "record": {"schema": 1, "state": "Open", "epoch": 1},
        });
        bed.send("POST", "streamsplits", &split).await.unwrap();
        counted(1, 0).await;
        let done = Patch::Merge(json!({"record": {"state": "Completed"}}));
        bed.api::<StreamSplit>().patch(&split_name(), &PatchParams::default(), &done).await.unwrap();
        counted(0, 1).await;
        office.close().await;
    });
}
