//! Pages that show a session: the files that a page shows are written down, its commands are run, and what they print is
//! what the page says. With `MILLRACE_GENERATE` set (`tests/generate`), the page is written anew.
//!
//! A fence that opens with a language and a file name, such as a block `dsrv before.dsrv`, is a file. A fence `console` is
//! a session: lines that begin with `$ ` are commands of a shell, what follows each is what it prints.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FENCE: &str = "```";

/// Runs one command in a shell, in a folder, with the binary on the path: what it prints, errors included. The exit code
/// of the command before is there as `$?`.
fn run(folder: &Path, command: &str, before: i32) -> (String, i32) {
    let binary = Path::new(env!("CARGO_BIN_EXE_millrace")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let script = format!("exec 2>&1; (exit {before}); {command}");
    let output = Command::new("bash").args(["-c", &script]).env("PATH", path).current_dir(folder).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// A session again, with what its commands print.
fn replayed(folder: &Path, session: &[&str]) -> String {
    let (mut text, mut code) = (String::new(), 0);
    for command in session.iter().filter_map(|line| line.strip_prefix("$ ")) {
        let (printed, next) = run(folder, command, code);
        writeln!(text, "$ {command}").unwrap();
        text.push_str(&printed);
        code = next;
    }
    text
}

/// The page with its sessions run again.
fn again(page: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        writeln!(out, "{line}").unwrap();
        let Some(opening) = line.strip_prefix(FENCE) else { continue };
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != FENCE).collect();
        let whole = block.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
        if let Some((_, file)) = opening.split_once(' ') {
            std::fs::write(folder.path().join(file), &whole).unwrap();
        }
        out.push_str(&if opening == "console" { replayed(folder.path(), &block) } else { whole });
        writeln!(out, "{FENCE}").unwrap();
    }
    out
}

/// Holds a page against what its commands print.
fn page(file: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\n```console\n$ "), "{file} shows no session");
    let wanted = again(&text);
    if std::env::var_os("MILLRACE_GENERATE").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(text == wanted, "{file} is out of date: run `tests/generate`; it would say\n{wanted}");
    }
}

#[test]
fn the_page_on_plan_shows_what_plan_prints() {
    page("docs/plan.md");
}

#[test]
fn the_page_on_trace_shows_what_trace_prints() {
    page("docs/trace.md");
}
