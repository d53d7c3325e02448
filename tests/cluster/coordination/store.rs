//! What every store does, and what a write leaves alone.

use super::{beat, conformance, done, pipeline, raw, store, there, worker};
use crate::bed;
use millrace::api::children;
use millrace::api::ledger_page::{pack, unpack};
use millrace::coordination::records::{
    Assignment, Entry, Incarnation, LedgerPage, MadeBy, PageId, PlanRecord, Shard, SplitRecord, WorkerName, WorkerRecord, WorkerStatus,
};
use millrace::coordination::store::{Cursor, Key, Kind, ObjectRevision, Record, Store, StoreError, Swap, list_all};
use millrace::flow::{SplitEpoch, SplitId};
use serde_json::{Value, json};

#[test]
fn the_store_in_kubernetes_is_a_store() {
    bed::test(async |bed| {
        let place = pipeline(bed, "suite").await;
        conformance::hold(&store(bed, &place).await).await;
    });
}

fn split(id: &str) -> Record {
    let shard = Shard { split: SplitId::new(id), descriptor: descriptor(id), parents: Vec::new() };
    Record::Split(Box::new(SplitRecord::unopened(&shard, MadeBy::Listing)))
}

fn descriptor(shard: &str) -> millrace::coordination::records::Descriptor {
    millrace::coordination::records::Descriptor { stream: "arn".into(), shard: shard.into(), hash_range: None }
}

#[test]
fn pipelines_of_one_namespace_see_nothing_of_each_other() {
    bed::test(async |bed| {
        let (one, other) = (pipeline(bed, "one").await, pipeline(bed, "other").await);
        let (one, other) = (store(bed, &one).await, store(bed, &other).await);
        let key = conformance::split("shardId-000000000001");
        for store in [&one, &other] {
            done(store.create(&key, split("shardId-000000000001")).await.unwrap());
            done(store.create(&Key::Leader, leader()).await.unwrap());
            assert_eq!(list_all(store, Kind::Split).await.unwrap().0.len(), 1);
            assert_eq!(list_all(store, Kind::Leader).await.unwrap().0.len(), 1);
        }
        let at = there(&one, &key).await.revision;
        assert_ne!(at, there(&other, &key).await.revision);
    });
}

fn leader() -> Record {
    Record::Leader(millrace::coordination::records::LeaderRecord {
        holder: WorkerName::new("w-0"),
        incarnation: Incarnation::new("uid/0a"),
        nonce: 1,
        term: 1,
        counter: 1,
        ttl: std::time::Duration::from_secs(20),
    })
}

#[test]
fn a_list_of_more_than_one_part_has_all() {
    bed::test(async |bed| {
        let place = pipeline(bed, "parts").await;
        let store = store(bed, &place).await;
        for number in 0..520 {
            let id = format!("s-{number}");
            done(store.create(&conformance::split(&id), split(&id)).await.unwrap());
        }
        let first = store.list(Kind::Split, None).await.unwrap();
        assert_eq!(first.objects.len(), 500);
        let second = store.list(Kind::Split, first.next).await.unwrap();
        assert_eq!((second.objects.len(), second.next), (20, None));
        assert_eq!(first.cursor, second.cursor, "all parts are of one moment");
    });
}

#[test]
fn a_write_that_changes_nothing_moves_the_revision_all_the_same() {
    bed::test(async |bed| {
        let place = pipeline(bed, "same").await;
        let store = store(bed, &place).await;
        let page = Key::Page(PageId::new("same-0"));
        let empty = || Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")));
        let first = done(store.create(&page, empty()).await.unwrap());
        let second = done(store.swap(&page, &first, empty()).await.unwrap());
        assert_ne!(first, second);
        assert_eq!(store.swap(&page, &first, empty()).await.unwrap(), Swap::Lost);
    });
}

/// A PUT can create a Lease.
#[test]
fn a_swap_of_what_somebody_deleted_makes_nothing() {
    bed::test(async |bed| {
        let place = pipeline(bed, "gone").await;
        let (store, other) = (store(bed, &place).await, store(bed, &place).await);
        let plan = PlanRecord { stream: "arn".into(), start: None, initial: Vec::new(), has_run: false, whole: false, is_final: false };
        for (key, record) in [
            (Key::Beat(WorkerName::new("gone-0")), beat(1)),
            (Key::Leader, leader()),
            (Key::Plan, Record::Plan(plan)),
            (conformance::split("s"), split("s")),
        ] {
            let revision = done(store.create(&key, record.clone()).await.unwrap());
            let other_saw = there(&other, &key).await.revision;
            other.delete(&key, &other_saw).await.unwrap();
            assert_eq!(store.swap(&key, &revision, record).await.unwrap(), Swap::Lost, "{key}");
            assert_eq!(store.read(&key).await.unwrap(), None, "{key}");
        }
    });
}

#[test]
fn parts_of_a_worker_leave_the_operators_alone_and_compare_the_object() {
    bed::test(async |bed| {
        let place = pipeline(bed, "parted").await;
        let (store, key) = (store(bed, &place).await, worker("parted-worker-0"));
        let status = |budget| WorkerStatus { incarnation: Incarnation::new("uid/0a"), budget, leaving: false };
        let record = WorkerRecord { status: status(u64::MAX), assignment: None };
        let made = done(store.create(&key, Record::Worker(record)).await.unwrap());
        let read = there(&store, &key).await.record.worker().unwrap();
        assert_eq!(read.status.budget, i64::MAX.unsigned_abs(), "more is as much as there is");
        let digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let root = json!({"pipelineUid": place.pipeline_uid, "root": {"epoch": 1, "digest": digest}, "stage": "Prepare"});
        patch(bed, "", &json!({"spec": {"root": root}}));
        let answer = json!({"pipelineUid": place.pipeline_uid, "root": {"epoch": 1, "digest": digest}, "incarnation": "uid/0a",
            "outcome": {"type": "Prepared"}});
        patch(bed, "status", &json!({"status": {"answer": answer}}));
        let assignment = |number| Record::Assignment(Assignment { term: 1, number, splits: [SplitId::new("a")].into() });
        assert_eq!(store.swap(&key, &made, assignment(1)).await.unwrap(), Swap::Lost, "the operator came between");
        let now = there(&store, &key).await.revision;
        let foreign = ObjectRevision { uid: "00000000-0000-4000-8000-000000000000".into(), ..now.clone() };
        assert_eq!(store.swap(&key, &foreign, assignment(1)).await.unwrap(), Swap::Lost);
        assert_eq!(store.swap(&key, &foreign, Record::Status(status(9))).await.unwrap(), Swap::Lost);
        let now = done(store.swap(&key, &now, assignment(2)).await.unwrap());
        let again = done(store.swap(&key, &now, assignment(2)).await.unwrap());
        assert_ne!(now, again, "the same wish again is a write");
        done(store.swap(&key, &again, Record::Status(status(9))).await.unwrap());
        let object = raw(bed, "streamworkers", "parted-worker-0");
        assert_eq!(object["spec"]["root"], root);
        assert_eq!(object["spec"]["assignment"], json!({"term": 1, "number": 2, "splits": ["a"]}));
        assert_eq!((&object["status"]["answer"], &object["status"]["budget"]), (&answer, &json!(9)));
    });
}

fn patch(bed: &bed::Bed, subresource: &str, patch: &Value) {
    let text = patch.to_string();
    let mut arguments = vec!["patch", "streamworkers", "parted-worker-0", "--type=merge", "-p", &text];
    let named = format!("--subresource={subresource}");
    if !subresource.is_empty() {
        arguments.push(&named);
    }
    bed.kubectl(&arguments, "");
}

#[test]
fn what_a_later_version_or_a_user_has_added_is_kept() {
    bed::test(async |bed| {
        let place = pipeline(bed, "kept").await;
        let (store, other) = (store(bed, &place).await, store(bed, &place).await);
        let id = PageId::new("kept-0");
        let entry = |number| ((SplitId::new("s"), SplitEpoch::new(number)), Entry::default());
        let page = LedgerPage { incarnation: Incarnation::new("uid/0a"), entries: [entry(1), entry(2)].into() };
        done(store.create(&Key::Page(id.clone()), Record::Page(page.clone())).await.unwrap());
        let mut object = raw(bed, "streamledgers", "kept-0");
        let mut json: Value = unpack(object["record"]["page"].as_str().unwrap()).unwrap();
        json["s@1"]["later"] = json!(1);
        json["s@1"]["progress"]["later"] = json!(2);
        json["s@2"]["later"] = json!(3);
        object["record"]["page"] = json!(pack(&json).unwrap());
        object["metadata"]["labels"]["user"] = json!("yes");
        bed.kubectl(&["replace", "-f", "-"], &object.to_string());
        let known = there(&other, &Key::Page(id.clone())).await;
        let mut sealed = known.record.page().unwrap();
        sealed.entries.get_mut(&(SplitId::new("s"), SplitEpoch::new(2))).unwrap().sealed = true;
        done(other.swap(&Key::Page(id), &known.revision, Record::Page(sealed)).await.unwrap());
        let object = raw(bed, "streamledgers", "kept-0");
        let json: Value = unpack(object["record"]["page"].as_str().unwrap()).unwrap();
        let expected = json!({"s@1": {"progress": {"later": 2}, "later": 1}, "s@2": {"progress": {}, "sealed": true, "later": 3}});
        assert_eq!((&json, &object["metadata"]["labels"]["user"]), (&expected, &json!("yes")));
    });
}

#[test]
fn a_heartbeat_reads_as_a_lease_does() {
    bed::test(async |bed| {
        let place = pipeline(bed, "beating").await;
        let (store, key) = (store(bed, &place).await, Key::Beat(WorkerName::new("beating-worker-0")));
        let made = done(store.create(&key, beat(1)).await.unwrap());
        let first = raw(bed, "leases", "beating-worker-0");
        done(store.swap(&key, &made, beat(2)).await.unwrap());
        let second = raw(bed, "leases", "beating-worker-0");
        assert_eq!((&second["spec"]["holderIdentity"], &second["spec"]["leaseDurationSeconds"]), (&json!("uid/0a"), &json!(20)));
        assert_eq!(second["spec"]["acquireTime"], first["spec"]["acquireTime"]);
        assert_ne!(second["spec"]["renewTime"], first["spec"]["renewTime"]);
        assert_eq!(second["spec"]["leaseTransitions"], json!(0));
        assert_eq!(second["metadata"]["labels"][children::PART_LABEL], json!(children::part::HEARTBEAT));
    });
}

#[test]
fn a_watch_from_a_moment_that_is_forgotten_is_over() {
    bed::test(async |bed| {
        let place = pipeline(bed, "forgotten").await;
        let store = store(bed, &place).await;
        let mut watch = store.watch(Kind::Split, Cursor("1".into()));
        let error = watch.next().await.unwrap_err();
        assert!(matches!(&error, StoreError::NotWritten(why) if why.contains("410")), "{error}");
        assert!(watch.next().await.is_err(), "it stays over");
    });
}
