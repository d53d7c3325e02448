//! The command line, as a user meets it: what it prints and how it ends.

use std::path::Path;
use std::process::{Command, Output};

fn millrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_millrace")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_first_command_of_the_readme_loads_and_validates_the_example() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(readme.contains("cargo run --release -- run examples/turbines/pipeline.yaml"));
    let output = millrace(&["run", "examples/turbines/pipeline.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("The manifest of StreamPipeline turbines is valid."), "{}", text(&output.stdout));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = millrace(&["run", "no-such-file.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("error[MR0001]: no-such-file.yaml: cannot be read"), "{error}");
    assert!(error.contains("because: No such file"), "{error}");
    assert!(error.contains("to mend it: Check the path"), "{error}");
}

#[test]
fn an_invalid_pipeline_exits_3_and_says_where_and_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    std::fs::write(&file, "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {name: p}\nspec: {source: {}, root: {inline: ' '}, outputs: [{name: a}]}").unwrap();
    let output = millrace(&["run", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    let error = text(&output.stderr);
    for part in [
        "error[MR0004]",
        "spec.source: name exactly one source: kinesis, file or generator",
        "spec.root.inline: the root holds no equation",
        "spec.outputs[0]: give the output exactly one destination",
    ] {
        assert!(error.contains(part), "{part}\n---\n{error}");
    }
    let findings = error.lines().filter(|line| line.starts_with("error[MR0004]: ") && line.contains("p.yaml: spec"));
    assert_eq!(findings.count(), 3, "each line can be understood by itself: {error}");
}

#[test]
fn a_pipeline_may_come_from_the_standard_input_and_from_no_endless_device() {
    let command = format!("'{}' run - < examples/turbines/pipeline.yaml", env!("CARGO_BIN_EXE_millrace"));
    let output = Command::new("bash").args(["-c", &command]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let endless = millrace(&["run", "/dev/zero"]);
    assert_eq!(endless.status.code(), Some(3));
    assert!(text(&endless.stderr).contains("longer than 1048576 bytes"), "{}", text(&endless.stderr));
}

#[test]
fn a_root_in_a_config_map_needs_a_cluster_and_says_so() {
    let output = millrace(&["run", "tests/manifests/full/file.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    let error = text(&output.stderr);
    assert!(error.contains("error[MR0007]") && error.contains("ConfigMap roots, which only a cluster has"), "{error}");
    assert!(error.contains("write the root into `spec.root.inline`"), "{error}");
}

#[test]
fn a_wrong_command_line_exits_2_and_help_exits_0() {
    for arguments in [&["no-such-command"] as &[&str], &["run"], &["crd", "pods"], &[]] {
        assert_eq!(millrace(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let help = millrace(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("Runs a pipeline on this machine"), "{}", text(&help.stdout));
    assert!(text(&millrace(&["--version"]).stdout).starts_with("millrace 0."));
}

#[test]
fn the_definitions_are_printed_all_or_by_name() {
    let all = text(&millrace(&["crd"]).stdout);
    assert_eq!(all.matches("kind: CustomResourceDefinition").count(), 4);
    let one = text(&millrace(&["crd", "streamledgers"]).stdout);
    assert_eq!(one.matches("kind: CustomResourceDefinition").count(), 1);
    assert!(all.contains(&one));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let binary = env!("CARGO_BIN_EXE_millrace");
    let status = Command::new("bash").args(["-c", &format!("set -o pipefail; '{binary}' crd | head -n 1")]).output().unwrap().status;
    assert_eq!(status.code(), Some(0));
}
