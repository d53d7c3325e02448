//! `millrace trace`: what it prints of a root or pipeline over records, and how it ends.

use crate::cli::{file, millrace, text};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};

const ROOT: &str = "in total: Int\nin n: Int\nout share = total / n\naux twice = total * 2\n";

/// A trace with records on the standard input.
fn piped(arguments: &[&str], records: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_millrace"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .spawn()
        .unwrap();
    // A trace that is over need not read all of it.
    let _closed_early = child.stdin.take().unwrap().write_all(records.as_bytes());
    child.wait_with_output().unwrap()
}

/// The objects that a trace prints.
fn objects(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A pipeline with this root, and these fields of its spec besides.
fn pipeline(folder: &tempfile::TempDir, root: &str, fields: &str) -> String {
    let head = "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {name: p}\nspec:\n  outputs: [{name: o, stdout: {}}]\n";
    file(folder, "p.yaml", &format!("{head}  root: {root}\n{fields}\n"))
}

const KINESIS: &str = "  source: {kinesis: [{streamName: s}]}";
const KEYED: &str = "  source: {file: {path: records}}\n  keyBy: {type: Field, field: /k}";

#[test]
fn the_binary_gives_what_golden_vectors_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}/tests/vectors/specials.json", env!("CARGO_MANIFEST_DIR"));
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in cases.iter().take(5) {
        let root = file(&folder, "case.dsrv", case["program"].as_str().unwrap());
        let records: String = case["inputs"].as_array().unwrap().iter().flat_map(|tick| [tick.to_string(), "\n".to_owned()]).collect();
        let records = file(&folder, "case.ndjson", &records);
        let output = millrace(&["trace", &root, &records, "--output", "json"]);
        assert_eq!(json!(objects(&output)), case["outputs"], "{case}\n{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_failing_tick_is_drawn_at_its_operator_and_ends_the_monitor() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", ROOT);
    let records = file(&folder, "r.ndjson", "{\"total\":10,\"n\":2}\n\n{\"total\":1,\"n\":0}\n{\"total\":9,\"n\":3}\n");
    let output = millrace(&["trace", &root, &records]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    for part in [
        "line  total  n  share  twice\n   1     10  2      5     20\n   3  failed\nerror[MR2001]: share: `/` by zero\n",
        "r.dsrv:3:13\n",
        "^^^^^^^^^ operands: 1, 0\n",
        "r.ndjson:3\n",
        "= hint: Guard it: `if n == 0",
        "\n   4  ended at line 3\n",
    ] {
        assert!(said.contains(part), "{part}\n---\n{said}");
    }
    let error = text(&output.stderr);
    assert!(error.contains("error[MR0301]: ") && error.contains("r.ndjson: 1 of the ticks failed, the first at line 3"), "{error}");

    let output = millrace(&["trace", &root, &records, "--output", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let [first, last] = objects(&output).try_into().unwrap();
    assert_eq!(first, json!({"share": 5}), "JSON has the out streams only");
    assert_eq!(last["detail"], "`share`: `/` by zero (operands: 1, 0)");
    assert_eq!((&last["error"], &last["line"], &last["code"]), (&json!(true), &json!(3), &json!("MR2001")));
    assert_eq!((&last["stream"], &last["root"]), (&json!("share"), &json!({"line": 3, "column": 13})));
}

#[test]
fn a_failure_inside_a_text_is_drawn_in_that_text() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", "in x: Int\nin s: Str\nout y: Int = dynamic(s: Int)\n");
    let records = "{\"x\":0,\"s\":\"7 / x\"}\n";
    let output = piped(&["trace", &root, "-"], records);
    let said = text(&output.stdout);
    for part in
        ["the text of y:1:1\n", "7 / x\n", "operands: 7, 0", "r.dsrv:3:5\n", "evaluated in this equation", "record: standard input:1"]
    {
        assert!(said.contains(part), "{part}\n---\n{said}");
    }
    let refused = piped(&["trace", &root, "-"], "{\"x\":0,\"s\":\"7 / z\"}\n");
    assert_eq!(refused.status.code(), Some(0));
    assert!(text(&refused.stderr).contains("note: line 1: the text `7 / z` of y is not taken"), "{}", text(&refused.stderr));
}

#[test]
fn a_record_that_does_not_decode_ends_the_trace_after_the_rows_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", ROOT);
    let records = file(&folder, "r.ndjson", "{\"total\":10,\"n\":2}\n{\"total\":\"ten\"}\n{\"total\":1}\n");
    for output in ["text", "json"] {
        let output = millrace(&["trace", &root, &records, "--output", output]);
        assert_eq!(output.status.code(), Some(3));
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(said.lines().filter(|line| line.contains('5')).count(), 1, "{said}");
        assert!(error.contains("r.ndjson:2: input total: Int is wanted, not `\"ten\"`"), "{error}");
    }
    let output = piped(&["trace", &root, "-"], "{\"total\":10,\"n\":2} {}\n");
    assert!(text(&output.stderr).contains("error[MR0201]: standard input:1: "), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("no record"), "what never came is not known: {}", text(&output.stderr));
}

#[test]
fn the_streams_that_are_asked_for_are_shown_in_that_order() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", ROOT);
    let records = "{\"total\":10,\"n\":2}\n{}\n";
    let output = piped(&["trace", &root, "-", "--streams", "twice,total"], records);
    assert_eq!(text(&output.stdout), "line  twice  total\n   1     20     10\n   2     20  NoVal\n");
    let output = piped(&["trace", &root, "-", "--streams", "twice,n", "--output", "json"], records);
    assert_eq!(objects(&output), [json!({"twice": 20, "n": 2}), json!({"twice": 20, "n": {"special": "NoVal"}})]);
    let output = piped(&["trace", &root, "-", "--streams", "twcie"], records);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no stream twcie; it has total, n, share, twice"), "{}", text(&output.stderr));
}

#[test]
fn each_key_of_a_pipeline_has_a_monitor_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipeline(&folder, "{inline: 'in x: Int out y = 10 / x + default(y[1], 0)', inputs: {x: /at/x}}", KEYED);
    let records = "{\"k\":\"a\",\"at\":{\"x\":1}}\n{\"k\":\"b\",\"at\":{\"x\":2}}\n{\"k\":\"a\",\"at\":{\"x\":0}}\n{\"k\":\"b\",\"at\":{\"x\":5}}\n{\"k\":\"a\",\"at\":{\"x\":1}}\n";
    let output = piped(&["trace", &path, "-"], records);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    let rows = ["   1  a    1  10\n", "   2  b    2   5\n", "   3  a    failed\n", "   4  b    5   7\n", "   5  a    ended at line 3\n"];
    for part in rows.iter().chain(&["record: standard input:3, key a\n", "p.yaml spec.root.inline:1:19\n"]) {
        assert!(said.contains(part), "{part}\n---\n{said}");
    }
    let json = objects(&piped(&["trace", &path, "-", "--output", "json"], records));
    assert_eq!(json[1], json!({"y": 5, "_millrace": {"line": 2, "key": "b", "time": "1970-01-01T00:00:02Z"}}));
    assert_eq!(json[4]["detail"], "the key's monitor ended at line 3");
    assert_eq!((json.len(), &json[4]["_millrace"]["key"]), (5, &json!("a")));

    let one = piped(&["trace", &path, "-", "--key", "b"], records);
    assert_eq!((one.status.code(), text(&one.stdout).as_str()), (Some(0), "line  x  y\n   2  2  5\n   4  5  7\n"));
    let none = piped(&["trace", &path, "-", "--key", "c"], records);
    assert!(text(&none.stderr).contains("note: no record has the key c; there are a, b"), "{}", text(&none.stderr));
}

#[test]
fn a_root_by_itself_has_no_keys_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", ROOT);
    for (option, value) in [("--key", "a"), ("--partition-key", "/k"), ("--from", "s")] {
        let output = piped(&["trace", &root, "-", option, value], "");
        assert_eq!(output.status.code(), Some(2), "{option}");
        let error = text(&output.stderr);
        assert!(error.contains(&format!("{option} is for pipelines")) && error.contains("one monitor for all records"), "{error}");
    }
}

#[test]
fn records_are_a_second_apart_unless_a_field_says_when_they_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", "in x: Int\nout n = count(x over 3s)\n");
    let records: String =
        ["00", "02", "04", "06", "08"].iter().flat_map(|at| ["{\"x\":1,\"at\":\"2026-03-01T06:00:", at, "Z\"}\n"]).collect();
    let counts = |arguments: &[&str]| {
        let mut all = vec!["trace", root.as_str(), "-", "--output", "json"];
        all.extend(arguments);
        objects(&piped(&all, &records)).iter().map(|row| row["n"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&[]), [1, 2, 3, 3, 3]);
    assert_eq!(counts(&["--time", "/at"]), [1, 2, 2, 2, 2]);
    let table = text(&piped(&["trace", &root, "-", "--time", "/at"], &records).stdout);
    assert!(table.contains("\n   2  2026-03-01T06:00:02Z  1  2\n"), "{table}");
    let output = piped(&["trace", &root, "-", "--time", "/when"], &records);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("standard input:1: --time or --partition-key: the record time: "), "{}", text(&output.stderr));
    assert_eq!(piped(&["trace", &root, "-", "--time", "at"], &records).status.code(), Some(2));
}

#[test]
fn with_arrival_times_state_ends_by_its_ttl_and_times_may_not_lead() {
    let folder = tempfile::tempdir().unwrap();
    let root = "{inline: 'in x: Int out y = x + default(y[1], 0)', time: /own, maxLead: 10s}";
    let path = pipeline(&folder, root, &format!("{KEYED}\n  state: {{ttl: 1h}}"));
    let record = |at: &str, own: &str| format!("{{\"k\":\"a\",\"x\":1,\"at\":\"2026-03-01T{at}Z\",\"own\":\"2026-03-01T{own}Z\"}}\n");
    let records = record("06:00:00", "06:00:10")
        + &record("07:00:00", "06:00:11")
        + &record("08:00:01", "06:00:12")
        + &record("08:00:01", "08:00:12");
    let without = objects(&piped(&["trace", &path, "-", "--output", "json"], &records));
    assert_eq!(without.iter().map(|row| row["y"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let with = piped(&["trace", &path, "-", "--output", "json", "--time", "/at"], &records);
    assert_eq!(objects(&with).iter().map(|row| row["y"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2, 1]);
    assert!(text(&with.stderr).contains("error[MR0206]: standard input:4: "), "{}", text(&with.stderr));
}

#[test]
fn record_data_that_only_a_source_knows_can_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let root =
        "{inline: 'in p: Str in n: Int in at: Time out y = p', inputs: {p: '@partitionKey', n: '@sequenceNumber', at: '@arrivalTime'}}";
    let path = pipeline(&folder, root, KINESIS);
    let records = "{\"key\":\"a\"}\n\n{\"key\":\"b\"}\n";
    let plain = piped(&["trace", &path, "-"], records);
    assert_eq!(
        text(&plain.stdout),
        "line  key  p      n  at                    y\n   1       NoVal  1  1970-01-01T00:00:01Z  NoVal\n   3       NoVal  3  1970-01-01T00:00:02Z  NoVal\n"
    );
    assert!(text(&plain.stderr).contains("name the field that holds it with --partition-key"), "{}", text(&plain.stderr));
    let keyed = piped(&["trace", &path, "-", "--partition-key", "/key", "--streams", "p"], records);
    assert_eq!(text(&keyed.stdout), "line  key  p\n   1  a    \"a\"\n   3  b    \"b\"\n");
    assert_eq!(text(&keyed.stderr), "");
}

#[test]
fn of_several_streams_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = "{inline: 'in a: Int in b: Int out y = default(a, 0) - default(b, 0)', inputs: {a: 'orders:/x', b: 'refunds:/x'}}";
    let path = pipeline(
        &folder,
        root,
        "  source: {kinesis: [{name: orders, streamName: o}, {name: refunds, streamName: r}]}\n  keyBy: {type: Field, field: /k}",
    );
    let records = "{\"k\":\"a\",\"x\":4}\n";
    for (from, y) in [("orders", 4), ("refunds", -4)] {
        let rows = objects(&piped(&["trace", &path, "-", "--output", "json", "--from", from], records));
        assert_eq!(rows[0]["y"], y);
    }
    let output = piped(&["trace", &path, "-"], records);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("say with --from which stream the records come from; the pipeline reads orders, refunds"));
    let output = piped(&["trace", &path, "-", "--from", "returns"], records);
    assert!(text(&output.stderr).contains("there is no stream returns; the pipeline reads orders, refunds"), "{}", text(&output.stderr));
}

#[test]
fn what_stands_in_no_row_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", "in x: Int\nin y: Int\nout n = count(x over 3s)\nout q = 1.0 / (0.0 * x)\n");
    let late = "{\"x\":1,\"at\":60000}\n{\"x\":1,\"x\":1,\"at\":1000}\n";
    let output = piped(&["trace", &root, "-", "--time", "/at", "--output", "json"], late);
    assert_eq!(output.status.code(), Some(0));
    let notes = text(&output.stderr);
    for part in [
        "note: n: the window `count` of `x` ignored 1 of 2 values, which were older than it reaches\n",
        "note: no record has a value for y\n",
        "note: 1 members stand twice in an object; the last of each was taken\n",
        "note: 2 floats are infinite or NaN, which JSON cannot say: they are null\n",
    ] {
        assert!(notes.contains(part), "{part}---\n{notes}");
    }
    let none = piped(&["trace", &root, "-"], "\n \n");
    assert_eq!((text(&none.stdout).as_str(), text(&none.stderr).as_str()), ("line  x  y  n  q\n", "note: there are no records\n"));
    // Of what was not read, nothing is known.
    let cut = piped(&["trace", &root, "-"], "{\"x\":\n{\"x\":1,\"y\":1}\n");
    assert!(!text(&cut.stderr).contains("note:"), "{}", text(&cut.stderr));
}

#[test]
fn long_values_are_cut_and_the_data_cannot_drive_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", "in s: Str\nout t = s\n");
    let output = piped(&["trace", &root, "-", "--streams", "t"], &format!("{{\"s\":\"\\u009b{}\"}}\n", "x".repeat(100)));
    let said = text(&output.stdout);
    assert!(said.contains("\"\\u{9b}xxx") && said.contains('…') && said.lines().all(|line| line.chars().count() < 60), "{said}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", ROOT);
    for (root, records, path) in [(root.as_str(), "no-such.ndjson", "no-such.ndjson"), ("no-such.dsrv", "-", "no-such.dsrv")] {
        let output = piped(&["trace", root, records], "");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(&format!("error[MR0001]: {path}: cannot be read")), "{}", text(&output.stderr));
    }
    let broken = file(&folder, "broken.dsrv", "out y = z\n");
    let output = piped(&["trace", &broken, "-"], "{}\n");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), ""));
    assert!(text(&output.stderr).contains("broken.dsrv:1:9"), "{}", text(&output.stderr));
}
