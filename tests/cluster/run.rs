//! `millrace run` over a Kinesis stand-in: the same runtime, source and sink as in a pod, with one worker.

use crate::bed::{self, Bed, eventually};
use crate::kinesis::Stream;
use crate::kinesis_suite::Stage;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::ShardIteratorType;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Counts each key's records, and says which record it is: after `per_key` records the counter is the record's own number.
fn manifest(bed: &Bed, from: &str, to: &str) -> String {
    let endpoint = bed.kinesis_endpoint();
    format!(
        "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {{name: p}}\nspec:\n  source:\n    kinesis:\n    \
         - {{streamName: {from}, region: eu-west-1, endpoint: \"{endpoint}\", startAt: {{type: TrimHorizon}}}}\n  \
         root:\n    inline: |\n      in  n: Int\n      out key: Str = key_in\n      in  key_in: Str\n      out nth: Int = default(nth[1], 0) + 1\n      \
         out number: Int = n\n    inputs: {{key_in: \"@partitionKey\"}}\n  \
         outputs:\n  - {{name: rows, kinesis: {{streamName: {to}, region: eu-west-1, endpoint: \"{endpoint}\"}}}}\n"
    )
}

/// `millrace run` as a process.
pub(crate) struct Run {
    child: Child,
    _folder: tempfile::TempDir,
}

impl Run {
    pub(crate) fn start(manifest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.yaml");
        std::fs::write(&file, manifest).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_millrace"));
        command.arg("run").arg(file).env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, _folder: folder }
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn stop(self) -> String {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    }
}

/// The rows of a stream, shard after shard, each in order.
pub(crate) async fn rows(stream: &Stream) -> Vec<Value> {
    let mut rows = Vec::new();
    for (shard, _) in stream.shards().await {
        let first = stream.sdk.get_shard_iterator().stream_name(&stream.name).shard_id(&*shard);
        let first = first.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await.unwrap();
        let mut next = first.shard_iterator;
        while let Some(iterator) = next {
            let page = stream.sdk.get_records().shard_iterator(iterator).send().await.unwrap();
            rows.extend(page.records.iter().map(|record| serde_json::from_slice::<Value>(record.data().as_ref()).unwrap()));
            next = page.next_shard_iterator.filter(|_| page.millis_behind_latest.is_some_and(|behind| behind > 0));
        }
    }
    rows
}

/// Puts numbered records of eight keys, one after the other.
async fn put(stream: &Stream, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let put = stream.sdk.put_record().stream_name(&stream.name).partition_key(format!("key-{}", number % 8));
        put.data(Blob::new(format!("{{\"n\":{number}}}"))).send().await.unwrap();
    }
}

fn by_key(rows: &[Value]) -> BTreeMap<String, Vec<(i64, i64)>> {
    let mut keys: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    for row in rows {
        let of = |name: &str| row[name].as_i64().unwrap();
        keys.entry(row["key"].as_str().unwrap().to_owned()).or_default().push((of("number"), of("nth")));
    }
    keys
}

#[test]
fn run_reads_all_shards_through_a_split_and_a_merge_with_each_keys_state() {
    bed::test(async |bed| {
        let (from, to) = (Stream::create_as(bed, "in", 2).await, Stream::create_as(bed, "out", 2).await);
        let run = Run::start(&manifest(bed, &from.name, &to.name));
        let arrived = async |count: usize| {
            eventually("all rows", async || {
                let found = rows(&to).await.len();
                if found >= count { Ok(()) } else { Err(format!("{found} of {count}")) }
            })
            .await;
        };
        put(&from, 0..80).await;
        arrived(80).await;
        let shards: Vec<Arc<str>> = from.shards().await.into_iter().map(|(shard, _)| shard).collect();
        from.split(&shards[0]).await;
        put(&from, 80..160).await;
        arrived(160).await;
        let children: Vec<Arc<str>> =
            from.shards().await.into_iter().map(|(shard, _)| shard).filter(|shard| !shards.contains(shard)).collect();
        from.merge(&children[0], &children[1]).await;
        put(&from, 160..240).await;
        arrived(240).await;
        let said = run.stop();
        assert!(said.contains("240 records"), "{said}");
        let found = by_key(&rows(&to).await);
        assert_eq!(found.len(), 8);
        for (key, rows) in found {
            // The counter went on through both, and no record came twice or out of order.
            let nths: Vec<i64> = rows.iter().map(|(_, nth)| *nth).collect();
            assert_eq!(nths, (1..=30).collect::<Vec<_>>(), "{key}: {rows:?}");
            assert!(rows.is_sorted(), "{key}: {rows:?}");
        }
        from.delete().await;
        to.delete().await;
    });
}

#[test]
fn a_stream_that_is_not_there_is_named_with_what_to_do() {
    bed::test(async |bed| {
        let missing = format!("{}-none", bed.namespace());
        let run = Run::start(&manifest(bed, &missing, &missing));
        let output = run.child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.contains(&missing) && said.contains("to mend it"), "{said}");
    });
}
