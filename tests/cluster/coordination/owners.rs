//! Who owns what: what goes with its pod or pipeline, what outlives them, and what is waited out.

use super::{beat, done, pipeline, raw, store, there, worker};
use crate::bed::{self, Bed, eventually};
use crate::conformance;
use k8s_openapi::api::core::v1::Pod as PodObject;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams};
use millrace::api::{StreamPipeline, children};
use millrace::coordination::kubernetes::{Place, Pod};
use millrace::coordination::records::{
    Descriptor, Incarnation, LedgerPage, MadeBy, PageId, PlanRecord, Shard, SplitRecord, WorkerName, WorkerRecord, WorkerStatus,
};
use millrace::coordination::store::{Key, Kind, Record, Store, StoreError, Swap, list_all};
use millrace::flow::SplitId;
use serde_json::{Value, json};

/// A pod that no node takes.
async fn pod(bed: &Bed, name: &str) -> Pod {
    let object: PodObject = serde_json::from_value(json!({"metadata": {"name": name}, "spec": {
        "nodeSelector": {"no": "node"}, "terminationGracePeriodSeconds": 0, "containers": [{"name": "worker", "image": "none"}]}}))
    .unwrap();
    let pods = bed.api::<PodObject>();
    let made = eventually("the namespace's ServiceAccount", async || {
        pods.create(&PostParams::default(), &object).await.map_err(|error| bed::whole(&error))
    })
    .await;
    Pod { name: name.to_owned(), uid: made.uid().unwrap() }
}

fn record(id: &str) -> Record {
    let descriptor = Descriptor { stream: "arn".into(), shard: id.into(), hash_range: None };
    Record::Split(Box::new(SplitRecord::unopened(&Shard { split: SplitId::new(id), descriptor, parents: Vec::new() }, MadeBy::Listing)))
}

fn idle() -> Record {
    let status = WorkerStatus { incarnation: Incarnation::new("uid/0a"), budget: 1, leaving: false };
    Record::Worker(WorkerRecord { status, assignment: None })
}

fn is_waited_out<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    match answer {
        Err(StoreError::NotWritten(why)) if why.contains("still belongs to an earlier") => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_workers_own_goes_with_its_pod_and_positions_stay() {
    bed::test(async |bed| {
        let name = children::worker("owned", 0);
        let pod = Some(pod(bed, &name).await);
        let place = Place { pod: pod.clone(), ..pipeline(bed, "owned").await };
        let store = store(bed, &place).await;
        let (own, pulse) = (worker(&name), Key::Beat(WorkerName::new(&name)));
        done(store.create(&own, idle()).await.unwrap());
        done(store.create(&pulse, beat(1)).await.unwrap());
        let split = conformance::split("shardId-000000000001");
        done(store.create(&split, record("shardId-000000000001")).await.unwrap());
        let page = Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")));
        done(store.create(&Key::Page(PageId::new("owned-worker-0-0a-0")), page).await.unwrap());
        let plan = PlanRecord { stream: "arn".into(), start: None, initial: Vec::new(), has_run: true, whole: true, is_final: false };
        done(store.create(&Key::Plan, Record::Plan(plan)).await.unwrap());
        for (kind, object) in [("streamworkers", &name), ("leases", &name)] {
            let owners = raw(bed, kind, object)["metadata"]["ownerReferences"].clone();
            assert_eq!(owners, json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod.as_ref().unwrap().uid}]));
        }
        let kept = [
            ("streamsplits", children::split("owned", "shardId-000000000001"), "split"),
            ("streamledgers", "owned-worker-0-0a-0".to_owned(), "ledger"),
            ("configmaps", "owned-plan".to_owned(), "plan"),
        ];
        for (kind, object, part) in &kept {
            let metadata = raw(bed, kind, object)["metadata"].clone();
            assert_eq!(metadata["ownerReferences"], Value::Null, "{kind}");
            assert_eq!(metadata["labels"], json!({children::PIPELINE_LABEL: "owned", children::PART_LABEL: part}));
        }
        assert_eq!(raw(bed, "configmaps", "owned-plan")["data"]["hasRun"], json!("true"));
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::background() };
        bed.api::<PodObject>().delete(&name, &at_once).await.unwrap();
        eventually("the end of what the pod owned", async || {
            let left = [store.read(&own).await.unwrap(), store.read(&pulse).await.unwrap()];
            if left == [None, None] { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
        assert!(store.read(&split).await.unwrap().is_some() && store.read(&Key::Plan).await.unwrap().is_some());
    });
}

#[test]
fn an_earlier_pods_record_is_waited_out_and_its_heartbeat_is_taken_over() {
    bed::test(async |bed| {
        let name = children::worker("again", 0);
        let earlier = Place { pod: Some(pod(bed, &name).await), ..pipeline(bed, "again").await };
        let before = store(bed, &earlier).await;
        let (own, pulse) = (worker(&name), Key::Beat(WorkerName::new(&name)));
        done(before.create(&own, idle()).await.unwrap());
        done(before.create(&pulse, beat(1)).await.unwrap());
        // So that the garbage collector's work lasts.
        let hold = |finalizers: &[&str]| {
            let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
            bed.kubectl(&["patch", "streamworkers,leases", &name, "--type=merge", "-p", &patch], "");
        };
        hold(&["millrace.dev/test"]);
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::background() };
        bed.api::<PodObject>().delete(&name, &at_once).await.unwrap();
        let place = Place { pod: Some(pod(bed, &name).await), ..earlier };
        let after = store(bed, &place).await;
        is_waited_out(after.read(&own).await);
        assert_eq!(after.create(&own, idle()).await.unwrap(), Swap::Lost);
        is_waited_out(list_all(&after, Kind::Worker).await);
        let at = eventually("the last write of the garbage collector", async || {
            let known = there(&after, &pulse).await;
            let dying = raw(bed, "leases", &name)["metadata"]["deletionTimestamp"].is_string();
            if dying { Ok(known.revision) } else { Err(format!("{known:?}")) }
        })
        .await;
        done(after.swap(&pulse, &at, beat(2)).await.unwrap());
        assert_eq!(before.swap(&pulse, &at, beat(3)).await.unwrap(), Swap::Lost);
        assert_eq!(raw(bed, "leases", &name)["metadata"]["ownerReferences"][0]["uid"], json!(place.pod.unwrap().uid));
        hold(&[]);
        eventually("the end of the earlier record", async || after.read(&own).await.map_err(|error| error.to_string())).await;
        done(after.create(&own, idle()).await.unwrap());
    });
}

#[test]
fn what_another_pipeline_of_the_name_owns_is_waited_out() {
    bed::test(async |bed| {
        let earlier = pipeline(bed, "twice").await;
        let key = conformance::split("s");
        let before = store(bed, &earlier).await;
        done(before.create(&key, record("s")).await.unwrap());
        let owner = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamPipeline", "name": "twice", "uid": earlier.pipeline_uid});
        let patch = json!({"metadata": {"ownerReferences": [owner]}}).to_string();
        bed.kubectl(&["patch", "streamsplits", &children::split("twice", "s"), "--type=merge", "-p", &patch], "");
        assert!(before.read(&key).await.unwrap().is_some(), "its own pipeline's");
        let after = store(bed, &Place { pipeline_uid: "a-later-one".into(), ..earlier }).await;
        is_waited_out(after.read(&key).await);
        is_waited_out(list_all(&after, Kind::Split).await);
        assert_eq!(after.create(&key, record("s")).await.unwrap(), Swap::Lost);
        bed.api::<StreamPipeline>().delete("twice", &DeleteParams::background()).await.unwrap();
        eventually("the split's end with its pipeline", async || match after.read(&key).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        done(after.create(&key, record("s")).await.unwrap());
    });
}

#[test]
fn what_was_retained_is_adopted_by_the_next_pipeline_of_the_name() {
    bed::test(async |bed| {
        let earlier = pipeline(bed, "retained").await;
        let (split, page) = (conformance::split("s"), Key::Page(PageId::new("retained-worker-0-0a-0")));
        let before = store(bed, &earlier).await;
        done(before.create(&split, record("s")).await.unwrap());
        let empty = || Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")));
        done(before.create(&page, empty()).await.unwrap());
        bed.api::<StreamPipeline>().delete("retained", &DeleteParams::background()).await.unwrap();
        let place = eventually("the end of the first pipeline", async || {
            let gone = bed.api::<StreamPipeline>().get_opt("retained").await.unwrap().is_none();
            if gone { Ok(pipeline(bed, "retained").await) } else { Err("it is there".to_owned()) }
        })
        .await;
        assert_ne!(place.pipeline_uid, earlier.pipeline_uid);
        let after = store(bed, &place).await;
        let known = there(&after, &split).await;
        done(after.swap(&split, &known.revision, known.record).await.unwrap());
        let at = there(&after, &page).await.revision;
        done(after.swap(&page, &at, empty()).await.unwrap());
        let object = raw(bed, "streamsplits", &children::split("retained", "s"));
        assert_eq!(object["spec"]["pipelineUid"], json!(place.pipeline_uid));
        assert_eq!(raw(bed, "streamledgers", "retained-worker-0-0a-0")["record"]["pipelineUid"], json!(place.pipeline_uid));
    });
}

/// A copy of an object, as users make them to look at or to keep.
#[test]
fn a_copy_under_another_name_is_nobodys() {
    bed::test(async |bed| {
        let place = pipeline(bed, "copied").await;
        let store = store(bed, &place).await;
        done(store.create(&conformance::split("s"), record("s")).await.unwrap());
        let mut copy = raw(bed, "streamsplits", &children::split("copied", "s"));
        copy["metadata"] = json!({"name": "copy", "labels": copy["metadata"]["labels"], "annotations": copy["metadata"]["annotations"]});
        bed.kubectl(&["create", "-f", "-"], &copy.to_string());
        assert_eq!(list_all(&store, Kind::Split).await.unwrap().0.len(), 1);
    });
}
