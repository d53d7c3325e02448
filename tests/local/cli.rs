//! The command line, as a user meets it: what it prints and how it ends.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn millrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_millrace")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_first_command_of_the_readme_runs_the_example() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(readme.contains("cargo run --release -- run examples/turbines/pipeline.yaml"));
    let folder = turbines();
    let output = millrace(&["run", folder.path().join("pipeline.yaml").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("{\""), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains(" records of "), "{}", text(&output.stderr));
}

/// A copy of the example, so that what it writes stays out of the repository.
fn turbines() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["pipeline.yaml", "telemetry.ndjson"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/turbines").join(file);
        std::fs::copy(from, folder.path().join(file)).unwrap();
    }
    folder
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
    let folder = turbines();
    let command = format!("'{}' run - < pipeline.yaml", env!("CARGO_BIN_EXE_millrace"));
    let output = Command::new("bash").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let endless = millrace(&["run", "/dev/zero"]);
    assert_eq!(endless.status.code(), Some(3));
    assert!(text(&endless.stderr).contains("longer than 1048576 bytes"), "{}", text(&endless.stderr));
}

#[test]
fn run_names_the_place_of_a_mistake_in_the_root_by_the_lines_of_the_root() {
    let folder = turbines();
    let manifest = std::fs::read_to_string(folder.path().join("pipeline.yaml")).unwrap();
    let path = file(&folder, "wrong.yaml", &manifest.replace("in rpm: Int", "in rpm: Itn"));
    for command in ["run", "check"] {
        let output = millrace(&[command, &path]);
        assert_eq!(output.status.code(), Some(3));
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains("wrong.yaml spec.root.inline:3:9"), "{command}: {said}");
    }
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

pub(crate) fn file(folder: &tempfile::TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A root as a new user might write it, with five mistakes of five kinds.
const FIVE: &str = "in temp: Float\nout hot = tmep > 80.0\nout text: Str = 1 + 2\nout loop1 = loop2 + 1\nout loop2 = loop1 + 1\nout again = temp\nout again = temp\nout old = temp[-1]\n";

#[test]
fn five_mistakes_in_a_root_are_all_said_with_their_places_and_hints() {
    let folder = tempfile::tempdir().unwrap();
    let output = millrace(&["check", &file(&folder, "five.dsrv", FIVE)]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    for part in ["five.dsrv:2:11", "did you mean `temp`", "five.dsrv:3:", "five.dsrv:4:", "five.dsrv:7:", "five.dsrv:8:"] {
        assert!(said.contains(part), "{part}\n---\n{said}");
    }
}

#[test]
fn check_says_for_tools_what_it_says_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let (bad, good) = (file(&folder, "five.dsrv", FIVE), "examples/turbines/pipeline.yaml");
    let output = millrace(&["check", "--output", "json", &bad, good]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    let verdicts: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [root, pipeline] = verdicts.as_slice() else { panic!("{said}") };
    assert_eq!((&root["kind"], &root["valid"], &root["file"]), (&"root".into(), &false.into(), &bad.clone().into()));
    let finding = &root["findings"][0];
    assert_eq!((&finding["severity"], &finding["line"], &finding["column"]), (&"error".into(), &2.into(), &11.into()));
    assert!(finding["code"].as_str().unwrap().starts_with("MR1") && finding["hint"].is_string(), "{finding}");
    assert_eq!((&pipeline["kind"], &pipeline["valid"], &pipeline["findings"]), (&"pipeline".into(), &true.into(), &serde_json::json!([])));
    let digest = text(&millrace(&["check", "--digest", good]).stdout);
    assert_eq!(pipeline["digest"], digest.trim());
}

#[test]
fn names_that_the_root_does_not_have_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {name: p}\nspec:\n  source: {kinesis: [{streamName: s}]}\n  \
        root: {inline: 'in a: Float aux b = a > 1.0 out c = a', inputs: {z: /z, a: 'other:/a'}}\n  \
        outputs: [{name: o, streams: [b, d], emitWhen: c, stdout: {}}, {name: k, emitWhen: b, kinesis: {streamName: t, partitionKey: {type: Stream, stream: e}}}]\n";
    let path = file(&folder, "p.yaml", pipeline);
    for command in ["check", "run"] {
        let output = millrace(&[command, &path]);
        assert_eq!(output.status.code(), Some(3));
        let said = text(&output.stdout) + &text(&output.stderr);
        for part in [
            "spec.outputs[0].streams[0]: b is no out stream of the root: declare it with out",
            "spec.outputs[0].streams[1]: d is no out stream of the root: it has c",
            "spec.outputs[0].emitWhen: c is Float, and a condition must be Bool",
            "spec.outputs[1].kinesis.partitionKey.stream: e is no stream of the root",
            "spec.root.inputs.z: z is no input of the root: it has a",
            "spec.root.inputs.a: other is no stream of spec.source.kinesis; there is main",
        ] {
            assert!(said.contains(part), "{command}: {part}\n---\n{said}");
        }
        assert!(!said.contains("outputs[1].emitWhen"), "{said}");
    }
}

#[test]
fn a_binding_that_is_never_of_its_inputs_type_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "apiVersion: millrace.dev/v1alpha1\nkind: StreamPipeline\nmetadata: {name: p}\nspec:\n  source: {kinesis: [{streamName: s}]}\n  \
        root: {inline: 'in a: Bool out b = a', inputs: {a: '@arrivalTime'}}\n  outputs: [{name: o, stdout: {}}]\n";
    let path = file(&folder, "p.yaml", pipeline);
    for arguments in [["check", &path, &path], ["plan", &path, &path], ["trace", &path, "-"]] {
        let output = millrace(&arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains("error[MR0207]: ") && said.contains("@arrivalTime is a Time"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_manifest_without_its_root_can_be_checked() {
    let output = millrace(&["check", "tests/manifests/full/file.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn fmt_lays_a_root_out_in_place_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "r.dsrv", "in   a:Int // kept\nout b=a+1");
    assert_eq!(millrace(&["fmt", "--check", &path]).status.code(), Some(3));
    assert!(text(&millrace(&["fmt", &path]).stdout).contains("r.dsrv: formatted"));
    let formatted = std::fs::read_to_string(&path).unwrap();
    assert!(formatted.contains("// kept") && formatted.contains("out b = a + 1"), "{formatted}");
    assert_eq!(millrace(&["fmt", "--check", &path]).status.code(), Some(0));
    assert_eq!(text(&millrace(&["fmt", &path]).stdout), "");
    let broken = file(&folder, "broken.dsrv", "out b = (");
    assert_eq!(millrace(&["fmt", &broken]).status.code(), Some(3));
    assert_eq!(std::fs::read_to_string(&broken).unwrap(), "out b = (");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
}

#[test]
fn a_command_that_is_given_another_kind_of_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let root = file(&folder, "r.dsrv", "in  a: Int\nout b = a\n");
    let output = millrace(&["run", &root]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("error[MR0015]") && error.contains("a root by itself") && error.contains("millrace trace"), "{error}");
    let other = file(&folder, "r.txt", "in  a: Int\nout b = a\n");
    let output = millrace(&["fmt", &other]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("r.txt: fmt lays out roots, and a root's file ends in .dsrv"), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&other).unwrap().starts_with("in  a"), "it is as it was");
    let output = millrace(&["check", &other]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("(a root's file ends in .dsrv)"), "{}", text(&output.stdout));
}

#[test]
fn every_shell_can_complete_every_command() {
    let commands: Vec<_> = text(&millrace(&["--help"]).stdout)
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(commands.len() >= 7 && commands.contains(&"completions".to_owned()), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = millrace(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
        assert!(script.contains("digest"), "{shell} does not know the options");
    }
    assert_eq!(millrace(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn bash_completes_a_command_with_the_script_that_is_printed() {
    let asked = "source /dev/stdin; COMP_WORDS=(millrace ch); COMP_CWORD=1; _millrace millrace ch millrace; echo \"${COMPREPLY[@]}\"";
    let command = format!("'{}' completions bash | bash -c '{asked}'", env!("CARGO_BIN_EXE_millrace"));
    let output = Command::new("bash").args(["-c", &command]).output().unwrap();
    assert_eq!(text(&output.stdout).trim(), "check", "{}", text(&output.stderr));
}
