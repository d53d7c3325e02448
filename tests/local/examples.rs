//! The examples: each is sound, complete, and gives the rows that are expected of it.
//!
//! What is expected stands in `expected/`, a file for each output. It was computed apart from this program, from what the
//! example's README says.

use millrace::api::StreamPipeline;
use millrace::api::manifest;
use millrace::lang;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Example {
    name: String,
    folder: PathBuf,
    pipeline: StreamPipeline,
}

/// The expected rows of an output.
fn expected(example: &Example, output: &str) -> PathBuf {
    example.folder.join("expected").join(format!("{output}.ndjson"))
}

/// Texts, one for each dead letter, that it must hold.
fn expected_dead(example: &Example) -> PathBuf {
    example.folder.join("expected/dead-letters.txt")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn examples() -> Vec<Example> {
    let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(folders.len() >= 6, "{folders:?}");
    folders.into_iter().map(example).collect()
}

fn example(folder: PathBuf) -> Example {
    let file = folder.join("pipeline.yaml");
    let pipeline = manifest::read(read(&file).as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Example { name: folder.file_name().unwrap().to_str().unwrap().to_owned(), folder, pipeline }
}

fn dead_letters(example: &Example) -> Option<&str> {
    let place = example.pipeline.spec.failure.as_ref()?.dead_letter.as_ref()?;
    Some(&place.file.as_ref().unwrap_or_else(|| panic!("{}: dead letters go to a file", example.name)).path)
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Whether an output writes that file: one that was run in its own folder has left it there.
fn written(example: &Example, file: &Path) -> bool {
    let outputs = example.pipeline.spec.outputs.iter().filter_map(|output| output.file.as_ref()).map(|file| file.path.as_str());
    outputs.chain(dead_letters(example)).any(|path| file == example.folder.join(path))
}

/// Runs it on a copy, from another folder: paths are relative to the pipeline's file. Answers the copy and the standard output.
fn run(example: &Example) -> (tempfile::TempDir, String) {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(&example.folder).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() && !written(example, &file) {
            std::fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_millrace")).arg("run").arg(copy.path().join("pipeline.yaml")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}: {error}", example.name);
    (copy, String::from_utf8(output.stdout).unwrap())
}

/// Holds rows against those expected, in their order.
fn hold(what: &str, got: &[Value], wanted: &[Value]) {
    assert!(!wanted.is_empty(), "{what}: nothing is expected");
    for (nth, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert_eq!(got, wanted, "{what}: row {}", nth + 1);
    }
    assert_eq!(got.len(), wanted.len(), "{what}: so many rows");
}

#[test]
fn each_example_gives_the_rows_that_are_expected_of_it() {
    for example in &examples() {
        let (copy, printed) = run(example);
        for output in &example.pipeline.spec.outputs {
            let written = output.file.as_ref().map(|file| read(&copy.path().join(&file.path)));
            let got = rows(written.as_deref().unwrap_or(&printed));
            hold(&format!("{}, output {}", example.name, output.name), &got, &rows(&read(&expected(example, &output.name))));
        }
        if let Some(path) = dead_letters(example) {
            let (got, wanted) = (read(&copy.path().join(path)), read(&expected_dead(example)));
            for (letter, part) in got.lines().zip(wanted.lines()) {
                assert!(letter.contains(part), "{}: the dead letter of {part} is {letter}", example.name);
            }
            assert_eq!(got.lines().count(), wanted.lines().count(), "{}: so many dead letters", example.name);
        }
    }
}

#[test]
fn each_example_checks_without_a_finding_and_is_laid_out() {
    for example in &examples() {
        let file = example.folder.join("pipeline.yaml");
        let output = Command::new(env!("CARGO_BIN_EXE_millrace")).args(["check", "--output", "json"]).arg(&file).output().unwrap();
        let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&verdict["valid"], &verdict["findings"]), (&true.into(), &serde_json::json!([])), "{}", example.name);
        let root = example.pipeline.spec.root.inline.as_deref().unwrap();
        assert_eq!(lang::format(root).unwrap(), root, "{}", example.name);
    }
}

#[test]
fn each_example_is_complete() {
    for example in &examples() {
        let spec = &example.pipeline.spec;
        assert_eq!(example.pipeline.metadata.name.as_deref(), Some(example.name.as_str()));
        let readme = read(&example.folder.join("README.md"));
        assert!(readme.contains(&format!("millrace run examples/{}/pipeline.yaml", example.name)), "{}: how it is run", example.name);
        assert!(spec.outputs.iter().filter(|output| output.stdout.is_some()).count() <= 1, "{}: rows on stdout mix", example.name);
        let mut wanted: Vec<PathBuf> = spec.outputs.iter().map(|output| expected(example, &output.name)).collect();
        wanted.extend(dead_letters(example).map(|_| expected_dead(example)));
        wanted.sort();
        let entries = std::fs::read_dir(example.folder.join("expected")).unwrap();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        assert_eq!(found, wanted, "{}: a file is expected for each output", example.name);
        let records = read(&example.folder.join(&spec.source.file.as_ref().unwrap().path));
        assert!((20..=400).contains(&records.lines().count()), "{}: some tens of records", example.name);
        let list = read(&example.folder.join("../README.md"));
        assert!(list.contains(&format!("({0}/README.md)", example.name)), "{}: in the list of examples", example.name);
    }
}
