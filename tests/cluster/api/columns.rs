//! What `kubectl get` shows.

use crate::bed::{self, Bed};
use crate::table;
use serde_json::{Value, json};

/// The table of `kubectl get`, a map from column to cell for its one row.
fn row(bed: &Bed, what: &[&str]) -> Vec<(String, String)> {
    let mut arguments = vec!["get"];
    arguments.extend(what);
    let text = bed.kubectl(&arguments, "");
    let mut lines = text.lines();
    let (head, line) = (lines.next().unwrap(), lines.next().unwrap());
    // Columns begin where their heads begin; cells may be empty or hold blanks.
    let begins = |at: &usize| !head[*at..].starts_with(' ') && (*at == 0 || head[..*at].ends_with("  "));
    let starts: Vec<usize> = (0..head.len()).filter(begins).collect();
    let cell = |text: &str, index: usize| {
        let end = starts.get(index + 1).copied().unwrap_or(text.len()).min(text.len());
        text.get(starts[index].min(text.len())..end).unwrap_or_default().trim().to_owned()
    };
    (0..starts.len()).map(|index| (cell(head, index), cell(line, index))).filter(|(name, _)| !name.is_empty()).collect()
}

fn heads(row: &[(String, String)]) -> Vec<&str> {
    row.iter().map(|(head, _)| head.as_str()).collect()
}

fn cell<'a>(row: &'a [(String, String)], head: &str) -> &'a str {
    row.iter().find(|(name, _)| name == head).map_or_else(|| panic!("no column {head} in {row:?}"), |(_, cell)| cell)
}

async fn put(bed: &Bed, plural: &str, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let mut made = bed.send("POST", plural, object).await.unwrap();
    if let Some(status) = object.get("status") {
        made["status"] = status.clone();
        bed.send("PUT", &format!("{plural}/{name}/status"), &made).await.unwrap();
    }
}

#[test]
fn pipelines_show_whether_they_are_ready_and_why_not() {
    bed::test(async |bed| {
        let full = table::full("StreamPipeline").into_iter().find(|value| value["metadata"]["name"] == "full-kinesis").unwrap();
        put(bed, "streampipelines", &full).await;
        let narrow = row(bed, &["spl", "full-kinesis"]);
        assert_eq!(heads(&narrow), ["NAME", "READY", "STATE", "ROOT", "ACKED", "WORKERS", "LAG", "AGE"]);
        for (head, value) in
            [("READY", "True"), ("STATE", "Ready"), ("ROOT", "ba7816bf"), ("ACKED", "2/3"), ("WORKERS", "2"), ("LAG", "3s")]
        {
            assert_eq!(cell(&narrow, head), value, "{head}");
        }
        let wide = row(bed, &["streampipelines", "full-kinesis", "-o", "wide"]);
        assert_eq!(heads(&wide).split_off(8), ["EPOCH", "STREAM", "VERSION"]);
        assert_eq!((cell(&wide, "EPOCH"), cell(&wide, "VERSION")), ("7", "0.1.0"));
        assert!(cell(&wide, "STREAM").contains("orders"), "{wide:?}");
    });
}

#[test]
fn the_other_kinds_show_what_they_are_about() {
    bed::test(async |bed| {
        for (kind, plural, short, wanted) in [
            (
                "StreamWorker",
                "streamworkers",
                "slw",
                json!({"STAGE": "Commit", "EPOCH": "7", "ANSWER": "Acknowledged", "INSTALLED": "7", "LEAVING": "false"}),
            ),
            (
                "StreamSplit",
                "streamsplits",
                "sls",
                json!({"SHARD": "shardId-000000000002", "STATE": "Open", "OWNER": "full-0", "EPOCH": "3", "ATTEMPTS": "1",
                    "PARENTS": "[\"shardId-000000000000\",\"shardId-000000000001\"]"}),
            ),
            ("StreamLedger", "streamledgers", "sll", json!({"INCARNATION": "uid/nonce", "SPLITS": "[\"full-aaaa\"]"})),
        ] {
            let object = table::full(kind)
                .into_iter()
                .find(|object| object["metadata"]["name"].as_str().unwrap().starts_with("full-0") || kind == "StreamSplit")
                .unwrap();
            put(bed, plural, &object).await;
            let shown = row(bed, &[short]);
            for (head, value) in wanted.as_object().unwrap() {
                assert_eq!(cell(&shown, head), value.as_str().unwrap(), "{kind} {head}");
            }
        }
    });
}

#[test]
fn one_category_shows_all_kinds() {
    bed::test(async |bed| {
        for (kind, plural) in [
            ("StreamPipeline", "streampipelines"),
            ("StreamWorker", "streamworkers"),
            ("StreamSplit", "streamsplits"),
            ("StreamLedger", "streamledgers"),
        ] {
            bed.send("POST", plural, &table::full(kind)[0]).await.unwrap();
        }
        let names = bed.kubectl(&["get", "streams", "-o", "name"], "");
        for kind in
            ["streampipeline.millrace.dev/", "streamworker.millrace.dev/", "streamsplit.millrace.dev/", "streamledger.millrace.dev/"]
        {
            assert!(names.contains(kind), "{names}");
        }
    });
}
