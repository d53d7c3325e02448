//! What is amiss outside the program, what a user sees of it, and that an edit, or what was missing, mends it.

use super::fleet::{Fleet, SOON, all_came, root};
use crate::bed::{self, within};
use crate::kinesis::Stream;
use crate::rows::{KEYS, Row, count_of};
use aws_sdk_kinesis::primitives::Blob;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What `kubectl get` and `kubectl describe` show of the pipeline.
fn shown(fleet: &Fleet<'_>) -> String {
    let said = |arguments: &[&str]| fleet.bed.kubectl(arguments, "");
    said(&["get", "spl", &fleet.name]) + &said(&["describe", "spl", &fleet.name])
}

/// All is well: rows come, and nothing is amiss any more.
async fn well(fleet: &Fleet<'_>) {
    fleet.acknowledged().await;
    let (feeder, reader) = (fleet.feeder(0), fleet.reader());
    within(SOON, "records", async || if feeder.fed() >= 200 { Ok(()) } else { Err(String::new()) }).await;
    let fed = feeder.stop();
    all_came(&reader, fed).await;
    assert!(reader.rows().iter().all(|row: &Row| row.count == count_of(row.number)));
}

#[test]
fn a_stream_that_is_not_there_is_named_and_read_once_it_is_made() {
    bed::test(async |bed| {
        let mut fleet = Fleet::begin(bed, 1, 2).await;
        let name = format!("{}-late", bed.namespace());
        let manifest = fleet.manifest(&root(1), |spec| spec["source"]["kinesis"][0]["streamName"] = json!(name));
        fleet.apply(&manifest);
        let _worker = fleet.worker(0).await;
        fleet.probed(0, true).await;
        let said = fleet.says("SourceReachable", "False/StreamNotFound").await;
        assert!(said.contains(&name), "{said}");
        let shown = shown(&fleet);
        assert!(shown.contains("StreamNotFound"), "{shown}");
        let late = Stream::create_as(bed, "late", 2).await;
        fleet.input.sdk.delete_stream().stream_name(&fleet.input.name).send().await.unwrap();
        fleet.input = std::rc::Rc::new(late);
        well(&fleet).await;
        fleet.says("SourceReachable", "True").await;
        fleet.end().await;
    });
}

#[test]
fn an_output_stream_that_does_not_exist_is_named_and_an_edit_mends_it() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        let name = format!("{}-none", bed.namespace());
        fleet.apply(&fleet.manifest(&root(1), |spec| spec["outputs"][0]["kinesis"]["streamName"] = json!(name)));
        let _worker = fleet.worker(0).await;
        fleet.probed(0, true).await;
        put_one(&fleet).await;
        let said = fleet.says("Degraded", "True").await;
        assert!(said.contains(&name), "{said}\n{}", fleet.shown());
        let shown = shown(&fleet);
        assert!(shown.contains("OutputNotFound"), "{shown}");
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        fleet.acknowledged().await;
        let reader = fleet.reader();
        all_came(&reader, 1).await;
        fleet.says("Degraded", "none").await;
        fleet.end().await;
    });
}

/// A first record, so that there is a row to deliver.
async fn put_one(fleet: &Fleet<'_>) {
    put(fleet, "key-00", &json!({"n": 1, "key": "key-00"})).await;
}

/// Puts a record; answers the shard that took it.
async fn put(fleet: &Fleet<'_>, key: &str, record: &Value) -> String {
    let put = fleet.input.sdk.put_record().stream_name(&fleet.input.name).partition_key(key);
    put.data(Blob::new(record.to_string().into_bytes())).send().await.unwrap().shard_id().to_owned()
}

#[test]
fn an_output_stream_that_goes_away_ends_the_worker_and_nothing_is_lost_once_it_is_back() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let mut worker = fleet.worker(0).await;
        fleet.probed(0, true).await;
        fleet.acknowledged().await;
        let feeder = fleet.feeder(0);
        let reader = fleet.reader();
        within(SOON, "rows", async || if reader.len() > 100 { Ok(()) } else { Err(fleet.shown()) }).await;
        drop(reader);
        let output = &fleet.output.name;
        fleet.output.sdk.delete_stream().stream_name(output).send().await.unwrap();
        let status = worker.ended(SOON).await;
        assert!(status.code().is_some_and(|code| code != 0), "{status}");
        assert!(worker.log().contains("MR0401"), "{}", worker.log());
        // Its container is started again, and waits.
        fleet.probed(0, false).await;
        let mut worker = fleet.worker(0).await;
        within(SOON, "what is amiss", async || {
            let shown = shown(&fleet);
            if shown.contains("OutputNotFound") { Ok(()) } else { Err(format!("{shown}\n{}", fleet.shown())) }
        })
        .await;
        assert!(worker.is_running());
        let _again = Stream::create_as(bed, "out", 2).await;
        let reader = fleet.reader();
        let fed = feeder.stop();
        // What was committed went with the stream; from there on nothing is missing.
        within(SOON, "the rows behind the last commit", async || {
            let rows = reader.rows();
            let seen: BTreeSet<u64> = rows.iter().map(|row| row.number).collect();
            let is_last = |number: &u64| *number + KEYS > fed;
            let whole = seen.iter().filter(|number| is_last(number)).count() == usize::try_from(KEYS).unwrap();
            if whole && seen.iter().all(|number| is_last(number) || seen.contains(&(number + KEYS))) { Ok(()) } else { Err(fleet.shown()) }
        })
        .await;
        assert!(reader.rows().iter().all(|row| row.count == count_of(row.number)));
        fleet.end().await;
    });
}

#[test]
fn an_endpoint_where_nobody_answers_is_named_and_an_edit_mends_it() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        let nowhere = bed.kinesis_endpoint().replace(":4568", ":4569");
        fleet.apply(&fleet.manifest(&root(1), |spec| spec["source"]["kinesis"][0]["endpoint"] = json!(nowhere)));
        let pod = fleet.pod(0, "").await;
        let mut worker = fleet.process(&pod);
        let said = fleet.says("SourceReachable", "False/EndpointUnreachable").await;
        assert!(said.contains(&fleet.input.name), "{said}\n{}", fleet.shown());
        let shown = shown(&fleet);
        assert!(shown.contains("SourceReachable"), "{shown}");
        // How the source is reached is a setting of the pod, which the operator replaces.
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let next = fleet.pod(0, pod.metadata.uid.as_deref().unwrap()).await;
        worker.stop(super::fleet::STOPPED).await;
        let _worker = fleet.process(&next);
        fleet.probed(0, true).await;
        well(&fleet).await;
        fleet.says("SourceReachable", "True").await;
        fleet.end().await;
    });
}

#[test]
fn a_root_that_cannot_be_read_says_where_while_the_one_before_goes_on() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        let bad = "in n: Int\nout number = nn\n";
        fleet.apply(&fleet.manifest(bad, |_| ()));
        let said = fleet.says("Accepted", "False/RootInvalid").await;
        assert!(said.starts_with("2:14: MR1"), "{said}");
        assert!(shown(&fleet).contains("2:14: MR1"), "{}", shown(&fleet));
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let _worker = fleet.worker(0).await;
        fleet.acknowledged().await;
        let (feeder, reader) = (fleet.feeder(0), fleet.reader());
        all_came(&reader, feeder.fed()).await;
        let epoch = fleet.epoch();
        fleet.apply(&fleet.manifest(bad, |_| ()));
        fleet.says("Accepted", "False/RootInvalid").await;
        let before = feeder.fed();
        within(SOON, "records", async || if feeder.fed() > before + 100 { Ok(()) } else { Err(String::new()) }).await;
        all_came(&reader, feeder.fed()).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        fleet.acknowledged().await;
        assert_eq!(fleet.epoch(), epoch);
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        fleet.end().await;
    });
}

/// The last forty texts of each key are state.
const KEEPS: &str = "in pad: Str\nout long = Str.len(default(pad[40], \"\"))\n";

#[test]
fn state_beyond_what_a_record_holds_stops_its_split_alone_and_an_edit_frees_it() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        fleet.apply(&fleet.manifest(&(root(1) + KEEPS), |_| ()));
        let _worker = fleet.worker(0).await;
        fleet.probed(0, true).await;
        let reader = fleet.reader();
        fleet.acknowledged().await;
        let [heavy, light] = two_keys(&fleet).await;
        let mut number = 100;
        let (mut fed, texts) = (
            BTreeMap::from([(heavy.clone(), 1), (light.clone(), 1)]),
            [(heavy.clone(), "x".repeat(4_000)), (light.clone(), "x".to_owned())],
        );
        for _ in 0..40 {
            for (key, text) in &texts {
                number += 1;
                put(&fleet, key, &json!({"n": number, "key": key, "pad": text})).await;
                *fed.get_mut(key).unwrap() += 1;
            }
        }
        let said = fleet.says("Degraded", "True/StateStoreRequired").await;
        assert!(said.contains("65536"), "{said}");
        let light_came = async |wanted: u64| {
            within(SOON, "the light key's rows", async || {
                let came = reader.rows().iter().filter(|row| row.key == light).map(|row| row.count).max();
                if came == Some(wanted) { Ok(()) } else { Err(format!("{came:?} of {wanted}\n{}", fleet.shown())) }
            })
            .await;
        };
        light_came(fed[&light]).await;
        for key in [&heavy, &light] {
            number += 1;
            put(&fleet, key, &json!({"n": number, "key": key, "pad": "y"})).await;
            *fed.get_mut(key).unwrap() += 1;
        }
        light_came(fed[&light]).await;
        // What it has not committed comes again under the root that keeps less.
        fleet.apply(&fleet.manifest(&root(2), |_| ()));
        fleet.acknowledged().await;
        within(SOON, "the heavy key's rows", async || {
            let came = reader.rows().iter().filter(|row| row.key == heavy).map(|row| row.count).max();
            if came == Some(fed[&heavy]) { Ok(()) } else { Err(format!("{came:?} of {}\n{}", fed[&heavy], fleet.shown())) }
        })
        .await;
        fleet.says("Degraded", "none").await;
        fleet.end().await;
    });
}

#[test]
fn state_that_cannot_be_read_holds_its_split_alone_and_is_said() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let mut worker = fleet.worker(0).await;
        let reader = fleet.reader();
        fleet.acknowledged().await;
        let [damaged, whole] = two_keys(&fleet).await;
        let came = async |key: &str, wanted: u64| {
            within(SOON, "a key's rows", async || {
                let came = reader.rows().iter().filter(|row| row.key == key).map(|row| row.count).max();
                if came == Some(wanted) { Ok(()) } else { Err(format!("{came:?} of {wanted}\n{}", fleet.shown())) }
            })
            .await;
        };
        came(&damaged, 1).await;
        came(&whole, 1).await;
        worker.stop(super::fleet::STOPPED).await;
        let shard = put(&fleet, &damaged, &json!({"n": 100, "key": damaged})).await;
        let splits = fleet.splits();
        let split = splits.iter().find(|split| split["spec"]["shard"] == json!(shard)).unwrap();
        let name = super::fleet::text(&split["metadata"]["name"]);
        assert!(split["record"]["base"]["head"]["inline"].is_string(), "{split}");
        let patch = json!({"record": {"base": {"head": {"inline": "AAAA", "length": null, "sha256": null}}}}).to_string();
        bed.kubectl(&["patch", "streamsplit", &name, "--type=merge", "-p", &patch], "");
        let mut worker = fleet.worker(0).await;
        fleet.probed(0, true).await;
        let said = fleet.says("Degraded", "True/StateUnreadable").await;
        assert!(said.contains(&shard), "{said}");
        put(&fleet, &whole, &json!({"n": 101, "key": whole})).await;
        came(&whole, 2).await;
        // It stays said, and an edit does not begin the split anew.
        fleet.apply(&fleet.manifest(&root(2), |_| ()));
        within(SOON, "the next root", async || if fleet.epoch() > 1 { Ok(()) } else { Err(fleet.shown()) }).await;
        put(&fleet, &whole, &json!({"n": 102, "key": whole})).await;
        came(&whole, 3).await;
        fleet.says("Degraded", "True/StateUnreadable").await;
        assert!(!reader.rows().iter().any(|row| row.number == 100));
        worker.stop(super::fleet::STOPPED).await;
        fleet.end().await;
    });
}

/// Two keys in two shards, each with a first record.
async fn two_keys(fleet: &Fleet<'_>) -> [String; 2] {
    let mut found = BTreeMap::new();
    for number in 0.. {
        let key = format!("key-{number}");
        found.entry(put(fleet, &key, &json!({"n": number, "key": key, "pad": ""})).await).or_insert(key);
        if found.len() == 2 {
            break;
        }
    }
    let keys: Vec<String> = found.into_values().collect();
    keys.try_into().unwrap()
}

#[test]
fn a_worker_that_cannot_reach_the_source_leaves_all_of_it_to_one_that_can() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 2, 4).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let pod = fleet.pod(1, "").await;
        let _deaf = fleet.process_with(&pod, |settings| settings["source"]["kinesis"][0]["endpoint"] = json!("http://127.0.0.1:9"));
        let _reads = fleet.worker(0).await;
        fleet.shared_by(1).await;
        assert_eq!(fleet.owned_by(0).len(), 4, "{}", fleet.shown());
        fleet.end().await;
    });
}
