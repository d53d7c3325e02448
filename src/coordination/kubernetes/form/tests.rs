//! Forms by themselves: what stands in which field, what is kept, what is refused.

use super::{FormError, Writer, fresh, over, read};
use crate::api::ledger_page::Page;
use crate::coordination::records::{
    CutoverAt, Descriptor, Incarnation, LastError, LedgerPage, MadeBy, Owner, PageId, PlanRecord, Progress, Shard, SplitRecord, SplitState,
    WorkerName,
};
use crate::coordination::store::{Kind, Record};
use crate::error::Code;
use crate::flow::{RootEpoch, SplitEpoch, SplitId};
use kube::api::DynamicObject;
use serde_json::{Value, json};

const WRITER: Writer<'static> = Writer { pipeline_uid: "ours", now: 1_767_225_600_000_001 };

fn object(data: Value) -> DynamicObject {
    DynamicObject { types: None, metadata: kube::core::ObjectMeta::default(), data }
}

fn split() -> SplitRecord {
    let descriptor = Descriptor { stream: "arn".into(), shard: "shard".into(), hash_range: Some(("0".into(), "9".into())) };
    let shard = Shard { split: SplitId::new("shard"), descriptor, parents: vec![SplitId::new("parent")] };
    SplitRecord {
        state: SplitState::Open,
        owner: Some(Owner { worker: WorkerName::new("w"), incarnation: Incarnation::new("i"), page: PageId::new("p") }),
        epoch: SplitEpoch::new(3),
        ..SplitRecord::unopened(&shard, MadeBy::Driver)
    }
}

fn raw_split() -> Value {
    json!({
        "later": 1,
        "spec": {"pipelineUid": "theirs", "stream": "arn", "shard": "shard", "hashRange": {"from": "0", "to": "9", "later": 2},
            "parents": ["parent"], "by": "Driver", "opened": false, "later": 3},
        "record": {"schema": 4, "state": "Open", "owner": {"worker": "w", "incarnation": "i", "page": "p", "later": 5}, "epoch": 3,
            "base": {"inherits": ["parent"], "later": 6}, "later": 7},
    })
}

#[test]
fn a_later_versions_fields_stay_where_what_they_stand_in_is_unchanged() {
    let object = object(raw_split());
    assert_eq!(read(Kind::Split, &object).unwrap(), Record::Split(Box::new(split())));
    let base = Progress { position: Some("17".into()), ..Progress::default() };
    let new = SplitRecord { epoch: SplitEpoch::new(4), base, ..split() };
    let written = over(&WRITER, &Record::Split(Box::new(new)), &object).unwrap().data;
    let mut expected = raw_split();
    expected["spec"]["pipelineUid"] = json!("ours");
    expected["record"]["epoch"] = json!(4);
    expected["record"]["base"] = json!({"position": "17"});
    assert_eq!(written, expected);
}

#[test]
fn a_split_without_a_record_waits_and_inherits_from_its_parents() {
    let mut raw = raw_split();
    raw.as_object_mut().unwrap().remove("record");
    raw["spec"]["opened"] = json!(true);
    let Record::Split(found) = read(Kind::Split, &object(raw)).unwrap() else { panic!() };
    assert_eq!((found.state, found.opened, found.epoch), (SplitState::Waiting, true, SplitEpoch::default()));
    assert_eq!(found.base.inherits, [SplitId::new("parent")]);
}

#[test]
fn a_failure_of_a_later_version_is_shown_and_a_long_message_is_cut() {
    let mut raw = raw_split();
    raw["record"]["lastError"] = json!({"code": "MR9999", "message": "no", "at": "2026-01-01T00:00:00Z"});
    let Record::Split(found) = read(Kind::Split, &object(raw)).unwrap() else { panic!() };
    let error = found.last_error.unwrap();
    assert_eq!((error.code, &*error.message, error.at), (Code::INTERNAL, "MR9999: no", 1_767_225_600_000_000));
    let last_error = Some(LastError { code: Code::INTERNAL, message: "é".repeat(2000).into(), at: 0 });
    let written = fresh(&WRITER, &Record::Split(Box::new(SplitRecord { last_error, ..split() }))).unwrap().data;
    assert_eq!(written["record"]["lastError"]["message"].as_str().unwrap().chars().count(), 1024);
}

#[test]
fn a_head_that_is_not_whole_is_no_empty_state() {
    let heads = [
        json!({}),
        json!({"object": "o"}),
        json!({"object": "o", "length": 1, "sha256": "x"}),
        json!({"inline": "?"}),
        json!({"lost": false}),
    ];
    for head in heads {
        let mut raw = raw_split();
        raw["record"]["base"]["head"] = head.clone();
        assert!(matches!(read(Kind::Split, &object(raw)), Err(FormError::Field(_))), "{head}");
    }
}

#[test]
fn an_object_that_is_no_record_says_what_it_lacks() {
    for (kind, raw, says) in [
        (Kind::Page, json!({}), "`record`"),
        (Kind::Page, json!({"record": {"schema": 1, "pipelineUid": "u", "incarnation": "i", "page": "?"}}), "packed text"),
        (Kind::Beat, json!({"spec": {"leaseDurationSeconds": 1}}), "`spec.holderIdentity`"),
        (Kind::Beat, json!({"spec": {"holderIdentity": "i", "leaseDurationSeconds": 1}}), "`millrace.dev/counter`"),
        (Kind::Plan, json!({"data": {}}), "fields"),
    ] {
        let error = read(kind, &object(raw)).unwrap_err();
        assert!(error.to_string().contains(says), "{says}: {error}");
    }
}

#[test]
fn a_page_and_a_plan_keep_the_version_that_stands_in_them() {
    let text = Page::default().text().unwrap();
    let raw = json!({"record": {"schema": 3, "pipelineUid": "theirs", "incarnation": "i", "page": text, "later": 1}});
    let page = Record::Page(LedgerPage::empty(Incarnation::new("i")));
    let written = over(&WRITER, &page, &object(raw)).unwrap().data;
    assert_eq!(
        (&written["record"]["schema"], &written["record"]["later"], &written["record"]["pipelineUid"]),
        (&json!(3), &json!(1), &json!("ours"))
    );
    let plan = PlanRecord { stream: "arn".into(), start: None, initial: Vec::new(), has_run: true, whole: true, is_final: false };
    let mut raw = fresh(&WRITER, &Record::Plan(plan.clone())).unwrap().data;
    (raw["data"]["schema"], raw["data"]["later"]) = (json!("3"), json!("x"));
    let written = over(&WRITER, &Record::Plan(PlanRecord { is_final: true, ..plan }), &object(raw)).unwrap().data;
    let data = &written["data"];
    assert_eq!((&data["schema"], &data["later"], &data["final"]), (&json!("3"), &json!("x"), &json!("true")));
}

#[test]
fn times_are_kept_to_the_microsecond() {
    let base = Progress { tip_time: Some(1_767_225_600_000_001), ..Progress::default() };
    let cutovers = vec![CutoverAt { epoch: RootEpoch::new(1), after: None }];
    let record = Record::Split(Box::new(SplitRecord { base, cutovers, ..split() }));
    let data = fresh(&WRITER, &record).unwrap().data;
    assert_eq!(data["record"]["base"]["tipTime"], json!("2026-01-01T00:00:00.000001Z"));
    assert_eq!(read(Kind::Split, &object(data)).unwrap(), record);
}

#[test]
fn a_lease_says_a_whole_number_of_seconds_that_is_not_too_short() {
    for (ttl, seconds) in [(20_000, 20), (1_500, 2), (1, 1), (0, 1)] {
        assert_eq!(super::lease::seconds(std::time::Duration::from_millis(ttl)), seconds);
    }
}
