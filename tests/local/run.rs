//! `millrace run`: records in, rows out, and how it ends.

use crate::cli::text;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const ROOT: &str = "in key: Str\n      in x: Int\n      out n: Int = default(n[1], 0) + 1\n      out part: Int = 100 / x";

/// A pipeline over a source, with further members of its spec.
fn pipeline(source: &str, more: &str) -> String {
    format!(
        "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {{name: p}}\nspec:\n  source: {source}\n  \
         keyBy: {{type: Field, field: /key}}\n  root:\n    inline: |\n      {ROOT}\n  outputs: [{{name: rows, stdout: {{}}}}]\n{more}"
    )
}

fn folder(manifest: &str, records: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), manifest).unwrap();
    std::fs::write(folder.path().join("r.ndjson"), records).unwrap();
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millrace"));
    command.arg("run").arg(folder.join("p.yaml")).args(arguments).current_dir(folder);
    command
}

fn run(manifest: &str, records: &str) -> Output {
    let folder = folder(manifest, records);
    command(folder.path(), &[]).output().unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const RECORDS: &str = "{\"key\":\"a\",\"x\":1}\n{\"key\":\"b\",\"x\":2}\n{\"key\":\"a\",\"x\":4}\n";

#[test]
fn each_key_has_its_own_state_and_rows_come_in_order() {
    let output = run(&pipeline("{file: {path: r.ndjson}}", ""), RECORDS);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "{\"n\":1,\"part\":100}\n{\"n\":1,\"part\":50}\n{\"n\":2,\"part\":25}\n");
    assert_eq!(text(&output.stderr), "3 records of 2 keys made 3 rows.\n");
    let folder = folder(&pipeline("{file: {path: r.ndjson}}", ""), RECORDS);
    assert_eq!(text(&command(folder.path(), &["--quiet"]).output().unwrap().stderr), "");
}

#[test]
fn a_failing_tick_ends_the_run_with_its_place_after_the_rows_before_it() {
    let output = run(&pipeline("{file: {path: r.ndjson}}", ""), &format!("{RECORDS}{{\"key\":\"b\",\"x\":0}}\n{RECORDS}"));
    assert_eq!((output.status.code(), rows(&output).len()), (Some(3), 3));
    let error = text(&output.stderr);
    for part in ["error[MR0301]", "p.yaml spec.root.inline", "4:17", "record 4 of r.ndjson, key b", "`/` by zero (operands: 100, 0)"] {
        assert!(error.contains(part), "{part}\n---\n{error}");
    }
}

#[test]
fn a_record_that_does_not_decode_ends_the_run_or_is_skipped_or_goes_to_the_dead_letters() {
    let records = format!("{RECORDS}{{\"key\":\"b\",\"x\":9223372036854775808}}\n{{\"key\":\"b\",\"x\":5}}\n");
    let source = |policy: &str| format!("{{file: {{path: r.ndjson}}, format: {{onUndecodable: {policy}}}}}");
    let output = run(&pipeline(&source("Fail"), ""), &records);
    assert_eq!((output.status.code(), rows(&output).len()), (Some(3), 3));
    let error = text(&output.stderr);
    assert!(error.contains("error[MR0204]") && error.contains("record 4 of r.ndjson does not decode: input x"), "{error}");
    assert!(error.contains("to go on without it: set `source.format.onUndecodable` to `Skip`"), "{error}");

    let output = run(&pipeline(&source("Skip"), ""), &records);
    assert_eq!((output.status.code(), rows(&output).len()), (Some(0), 4));
    assert!(text(&output.stderr).contains("1 record did not decode: skipped"), "{}", text(&output.stderr));

    let dead = "  failure: {onTickError: DeadLetterKey, deadLetter: {file: {path: dead.ndjson}}}\n";
    let folder = folder(&pipeline(&source("DeadLetter"), dead), &format!("{{\"key\":\"a\",\"x\":0}}\n{records}"));
    let output = command(folder.path(), &[]).output().unwrap();
    assert_eq!((output.status.code(), rows(&output).len()), (Some(0), 2), "{}", text(&output.stderr));
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    let seen: Vec<_> = letters
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|letter| (letter["cause"].as_str().unwrap().to_owned(), letter["sequenceNumber"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [("TickFailed", "1"), ("KeyFailed", "2"), ("KeyFailed", "4"), ("Undecodable", "5")];
    assert_eq!(seen, expected.map(|(cause, line)| (cause.to_owned(), line.to_owned())));
}

#[test]
fn records_come_from_the_standard_input_too_and_instead_of_the_pipelines_source() {
    let feed = |mut command: Command| {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(RECORDS.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let standard = folder(&pipeline("{file: {path: \"-\"}}", ""), "");
    let kinesis = folder(&pipeline("{kinesis: [{streamName: s, region: eu-west-1}]}", ""), RECORDS);
    let outputs = [
        feed(command(standard.path(), &[])),
        feed(command(kinesis.path(), &["--input", "-"])),
        command(kinesis.path(), &["--input", "r.ndjson"]).output().unwrap(),
    ];
    for output in outputs {
        assert_eq!((output.status.code(), rows(&output).len()), (Some(0), 3), "{}", text(&output.stderr));
    }
}

#[test]
fn the_files_of_a_folder_are_read_each_with_keys_of_its_own() {
    let folder = folder(&pipeline("{file: {path: parts}}", ""), "");
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    for part in 0..400 {
        std::fs::write(folder.path().join(format!("parts/{part:03}")), RECORDS).unwrap();
    }
    let output = command(folder.path(), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let second = rows(&output).iter().filter(|row| row["n"] == 2).count();
    assert_eq!((rows(&output).len(), second), (1200, 400));
}

#[test]
fn made_up_records_fit_the_root_and_repeat_with_their_seed() {
    let manifest = pipeline("{generator: {seed: 7, ratePerSecond: 100000, records: 300}}", "").replace("100 / x", "x");
    let (one, two) = (run(&manifest, ""), run(&manifest, ""));
    assert_eq!(rows(&one).len(), 300, "{}", text(&one.stderr));
    assert_eq!(one.stdout, two.stdout);
    assert_ne!(one.stdout, run(&manifest.replace("seed: 7", "seed: 8"), "").stdout);
    assert!(text(&one.stderr).starts_with("300 records of 16 keys"), "{}", text(&one.stderr));
}

#[test]
fn rows_carry_their_identity_where_they_are_asked_to() {
    let manifest = pipeline("{file: {path: r.ndjson}}", "").replace("name: rows,", "name: rows, metadata: true,");
    let first = &rows(&run(&manifest, RECORDS))[0];
    assert_eq!(first["_millrace"], serde_json::json!({"id": "main/r.ndjson/1/rows", "splitEpoch": 1, "rootEpoch": 1}));
}

/// A run over records without end, once it has made a row.
fn endless(folder: &Path) -> Child {
    let manifest = pipeline("{generator: {ratePerSecond: 200}}", "").replace("100 / x", "x").replace("stdout: {}", "file: {path: out}");
    std::fs::write(folder.join("p.yaml"), manifest).unwrap();
    let child = command(folder, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while std::fs::metadata(folder.join("out")).map_or(true, |file| file.len() == 0) {
        std::thread::yield_now();
    }
    child
}

#[test]
#[cfg(unix)]
fn a_signal_ends_the_run_cleanly() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let folder = tempfile::tempdir().unwrap();
        let child = endless(folder.path());
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let rows = std::fs::read_to_string(folder.path().join("out")).unwrap().lines().count();
        let made = if rows == 1 { " made 1 row.".to_owned() } else { format!(" made {rows} rows.") };
        assert!(said.replace(',', "").contains(&made), "what was read was delivered: {rows} rows, {said}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_without_an_error() {
    let folder = folder(&pipeline("{generator: {ratePerSecond: 1000000}}", "").replace("100 / x", "x"), "");
    let mut child = command(folder.path(), &["--quiet"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn a_run_that_would_read_its_own_output_is_refused() {
    for (source, output) in [("r.ndjson", "r.ndjson"), ("parts", "parts/out.ndjson"), ("parts", "./parts/../parts/out.ndjson")] {
        let manifest = pipeline(&format!("{{file: {{path: {source}}}}}"), "").replace("stdout: {}", &format!("file: {{path: {output}}}"));
        let folder = folder(&manifest, RECORDS);
        std::fs::create_dir(folder.path().join("parts")).unwrap();
        std::fs::write(folder.path().join("parts/a"), RECORDS).unwrap();
        let output = command(folder.path(), &[]).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(3) && said.contains("is read and written: let the output go elsewhere"), "{said}");
    }
}

#[test]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a real pipe fills in real time")]
fn a_reader_that_takes_nothing_does_not_hold_the_end_up() {
    let manifest = pipeline("{generator: {ratePerSecond: 1000000}}", "  worker: {drainTimeout: 1s}\n").replace("100 / x", "x");
    let folder = folder(&manifest, "");
    let mut child = command(folder.path(), &["--quiet"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Its first rows fill the pipe, and nobody takes them: it is full once no more come.
    let kept = child.stdout.take().unwrap();
    let filled = || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        rustix::io::ioctl_fionread(&kept).unwrap()
    };
    let mut held = filled();
    for _ in 0..100 {
        let before = std::mem::replace(&mut held, filled());
        if held > 4_096 && before == held {
            break;
        }
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().try_into().unwrap()), nix::sys::signal::Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(kept);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("MR0302"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_read_or_written_is_named_before_anything_runs() {
    let cases = [
        (pipeline("{file: {path: none.ndjson}}", ""), 2, "MR0001", "none.ndjson cannot be read"),
        (pipeline("{kinesis: [{streamName: s, region: eu-west-1, retrieval: FanOut}]}", ""), 3, "MR0014", "spec.source.kinesis"),
        (pipeline("{file: {path: r.ndjson}}", "").replace("stdout: {}", "file: {path: no/such/place}"), 1, "MR0005", "output rows"),
        (pipeline("{file: {path: r.ndjson}}", "").replace("stdout: {}", "http: {url: \"http://localhost\"}"), 3, "MR0014", "output rows"),
    ];
    for (manifest, code, error, what) in cases {
        let output = run(&manifest, RECORDS);
        let said = text(&output.stderr);
        assert!(said.contains(&format!("error[{error}]")) && said.contains(what), "{said}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{said}");
    }
}
