//! The thin line: real pods from the chart, records that flow, and all that may happen to them.

mod fleet;

use crate::bed::{self, within};
use crate::flow::{Feeder, Reader};
use crate::rows::{Cutover, Row, Story, compare, faults, place};
use fleet::{A_WHILE, BAD, BAD_AT, Fleet, SOON};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// All of it, once everything is built.
const AT_MOST: Duration = Duration::from_mins(6);

#[test]
fn scenario_52_records_keep_number_order_and_state_through_edits_kills_and_reshards() {
    bed::test(async |bed| {
        let begun = Instant::now();
        let fleet = Fleet::install(bed).await;
        let feeder = Feeder::start(bed.kinesis(), &fleet.input, 0);
        let reader = Reader::start(bed.kinesis(), &fleet.output);
        let mut story = Story { roots: vec![fleet.start().await], ..Story::default() };
        rows_come(&feeder, &reader).await;

        edits(&fleet, &feeder, &reader, &mut story).await;
        story.killed = Some(losses(&fleet, &feeder, &reader).await);
        reshards(&fleet, &feeder, &reader).await;
        story.fed = feeder.stop();
        all_came(&reader, story.fed).await;
        assert_eq!(faults(&story, &reader.rows()), Vec::<String>::new());

        again(&fleet, bed, &reader, &mut story).await;
        assert_eq!(faults(&story, &reader.rows()), Vec::<String>::new());
        assert!(begun.elapsed() < AT_MOST, "it took {:?}", begun.elapsed());
    });
}

/// Every record fed until now comes out.
async fn rows_come(feeder: &Feeder, reader: &Reader) {
    all_came(reader, feeder.fed()).await;
}

async fn all_came(reader: &Reader, fed: u64) {
    within(A_WHILE, "the rows of all records", async || {
        let missing = missing(&reader.rows(), fed);
        if missing.is_empty() { Ok(()) } else { Err(format!("{} of {fed} are missing, {:?} first", missing.len(), missing.first())) }
    })
    .await;
}

fn missing(rows: &[Row], fed: u64) -> Vec<u64> {
    let seen: std::collections::BTreeSet<u64> = rows.iter().map(|row| row.number).collect();
    (1..=fed).filter(|number| !seen.contains(number)).collect()
}

/// Two edits, each acknowledged, without a pod that restarts; then a bad one, which changes nothing.
async fn edits(fleet: &Fleet<'_>, feeder: &Feeder, reader: &Reader, story: &mut Story) {
    let lives = fleet.lives();
    for version in [2, 3] {
        let cutover = fleet.cut_over(version);
        assert_eq!(cutover.after.len(), 4, "each open shard says where it changed over: {cutover:?}");
        assert!(cutover.epoch > story.roots.last().unwrap().epoch);
        story.roots.push(cutover);
        rows_come(feeder, reader).await;
    }
    let epoch = fleet.epoch();
    fleet.apply(BAD);
    within(SOON, "a refusal with its place", async || {
        let accepted = fleet.condition("Accepted");
        let message = accepted["message"].as_str().unwrap_or_default();
        let refused = accepted["status"] == "False" && accepted["reason"] == "RootInvalid" && message.contains(BAD_AT);
        if refused { Ok(()) } else { Err(accepted.to_string()) }
    })
    .await;
    assert_eq!(fleet.condition("RootAcknowledged")["reason"], "NotAccepted");
    let before = reader.len();
    rows_come(feeder, reader).await;
    assert!(reader.len() > before, "no row came while the bad root was there");
    fleet.apply("3");
    fleet.acknowledged();
    assert_eq!((fleet.epoch(), fleet.lives()), (epoch, lives));
}

/// With the operator away, one worker is killed and, once that is made good, another deleted. Answers when a record may
/// have been evaluated twice: from the kill until it was made good, for a planned move replays nothing.
async fn losses(fleet: &Fleet<'_>, feeder: &Feeder, reader: &Reader) -> std::ops::Range<i64> {
    fleet.operators(0).await;
    let lives = fleet.lives();
    let killed = now();
    fleet.kill(0);
    fleet.replaced(&lives[0]).await;
    rows_come(feeder, reader).await;
    let good = now();
    fleet.delete_pod(1);
    fleet.replaced(&lives[1]).await;
    rows_come(feeder, reader).await;
    fleet.operators(2).await;
    killed..good
}

/// One shard is split and two are merged: three end, three begin.
async fn reshards(fleet: &Fleet<'_>, feeder: &Feeder, reader: &Reader) {
    let ended = fleet.reshard().await;
    within(A_WHILE, "the children", async || {
        let states = fleet.states();
        let completed = ended.iter().all(|shard| states.get(shard).is_some_and(|state| state == "Completed"));
        let open = states.values().filter(|state| *state == "Open").count();
        if completed && (states.len(), open) == (7, 4) { Ok(()) } else { Err(format!("{states:?}")) }
    })
    .await;
    rows_come(feeder, reader).await;
}

/// Deleted, fed meanwhile, and applied again: it goes on from where it was, at a higher epoch.
async fn again(fleet: &Fleet<'_>, bed: &bed::Bed, reader: &Reader, story: &mut Story) {
    fleet.delete();
    within(A_WHILE, "the pods' end", async || {
        let left = fleet.workers().len();
        if left == 0 { Ok(()) } else { Err(format!("{left} are left")) }
    })
    .await;
    let feeder = Feeder::start(bed.kinesis(), &fleet.input, story.fed);
    within(SOON, "records", async || if feeder.fed() > story.fed + 300 { Ok(()) } else { Err(feeder.fed().to_string()) }).await;
    let after = last_by_shard(&reader.rows());
    fleet.apply("3");
    fleet.acknowledged();
    let epoch = fleet.epoch();
    assert!(epoch > story.roots.last().unwrap().epoch);
    story.roots.push(Cutover { epoch, version: 3, after });
    rows_come(&feeder, reader).await;
    story.fed = feeder.stop();
    all_came(reader, story.fed).await;
    within(SOON, "Ready", async || {
        let ready = fleet.condition("Ready");
        if ready["status"] == json!("True") { Ok(()) } else { Err(ready.to_string()) }
    })
    .await;
}

fn last_by_shard(rows: &[Row]) -> BTreeMap<String, String> {
    let mut last = BTreeMap::<String, String>::new();
    for (shard, sequence) in rows.iter().filter_map(|row| place(&row.id)) {
        let is_later = last.get(shard).is_none_or(|before| compare(sequence, before).is_gt());
        if is_later {
            last.insert(shard.to_owned(), sequence.to_owned());
        }
    }
    last
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
