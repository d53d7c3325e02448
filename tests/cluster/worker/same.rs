//! One program, however it is run.

use super::fleet::{Fleet, SOON};
use crate::bed::{self, within};
use crate::kinesis::Stream;
use crate::run::{Run, rows};
use serde_json::Value;
use std::collections::BTreeMap;

/// It keeps a counter, a window and a delay.
const ROOT: &str = "in n: Int\nin key: Str\nout number = n\nout name = key\nout count = default(count[1], 0) + 1\n\
                    out recent = sum(n over last 5)\nout spread = max(n over 1h) - min(n over 1h)\nout before = default(n[3], 0 - 1)\n";

#[test]
fn the_same_program_gives_the_same_rows_per_key_under_run_one_worker_and_three() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 4).await;
        let feeder = fleet.feeder(0);
        let run = Run::start(&fleet.manifest(ROOT, |_| ()).to_string());
        within(SOON, "a thousand records", async || if feeder.fed() >= 1_000 { Ok(()) } else { Err(feeder.fed().to_string()) }).await;
        let fed = feeder.stop();
        arrived(&fleet.output, fed).await;
        run.stop();
        let wanted = by_key(&rows(&fleet.output).await);
        assert_eq!((wanted.len(), wanted.values().all(|rows| rows.len() >= 20)), (50, true));
        for (name, replicas) in [("one", 1), ("three", 3)] {
            let workers = fleet.beside(name, replicas).await;
            workers.apply(&workers.manifest(ROOT, |_| ()));
            let _processes = workers.workers().await;
            workers.shared_by(replicas).await;
            arrived(&workers.output, fed).await;
            assert_eq!(by_key(&rows(&workers.output).await), wanted, "{replicas} workers");
            workers.output.sdk.delete_stream().stream_name(&workers.output.name).send().await.unwrap();
        }
        fleet.end().await;
    });
}

async fn arrived(stream: &Stream, fed: u64) {
    within(SOON, "all rows", async || {
        let found = rows(stream).await.len();
        if u64::try_from(found).unwrap() >= fed { Ok(()) } else { Err(format!("{found} of {fed}")) }
    })
    .await;
}

/// Rows of each key in their order, without what says who made them.
fn by_key(rows: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut keys = BTreeMap::<String, Vec<Value>>::new();
    for row in rows {
        let mut row = row.clone();
        let metadata = row.as_object_mut().unwrap().remove("_millrace");
        assert!(metadata.is_some_and(|metadata| metadata["id"].is_string()), "{row}");
        keys.entry(row["name"].as_str().unwrap().to_owned()).or_default().push(row);
    }
    keys
}
