//! Golden bytes: snapshots that version 1 of the form wrote, which every later version must read.

use super::bed::{at, row};
use millrace::dataflow::value::Cell;
use millrace::dataflow::{Limits, Monitor, Plan, Scratch, TickError, bytes};
use millrace::lang;
use serde_json::Value as Json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A program, its ticks, and what its snapshot was after the first `cut` of them.
struct Case {
    name: String,
    lines: Vec<String>,
    ticks: Vec<Json>,
    cut: usize,
    snapshot: String,
}

type Ticked = Result<Vec<Cell>, TickError>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/snapshots/version-1")
}

fn cases() -> Vec<Case> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| case(file)).collect()
}

fn case(file: &Path) -> Case {
    let json: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let texts = |member: &str| json[member].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    Case {
        name: file.file_stem().unwrap().to_str().unwrap().to_owned(),
        lines: texts("program"),
        ticks: json["ticks"].as_array().unwrap().clone(),
        cut: usize::try_from(json["cut"].as_u64().unwrap()).unwrap(),
        snapshot: texts("snapshot").concat(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn plan(lines: &[String]) -> Plan {
    let root = lines.join("\n");
    Plan::new(&lang::check(&root).unwrap_or_else(|errors| panic!("{root}\n{errors}")), Limits::default())
}

/// One key over a plan.
struct Run<'a> {
    plan: &'a Plan,
    monitor: Monitor,
    scratch: Scratch,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, monitor: Monitor::new(plan), scratch: Scratch::default() }
    }

    fn restored(plan: &'a Plan, bytes: &[u8]) -> Self {
        Self { plan, monitor: Monitor::restore(plan, bytes).unwrap(), scratch: Scratch::default() }
    }

    fn tick(&mut self, tick: &Json) -> Ticked {
        let row = row(self.plan, &tick["in"]);
        self.monitor.tick(self.plan, &row, at(tick["at"].as_i64().unwrap()), &mut self.scratch).map(|row| row.cells().collect())
    }

    fn snapshot(&self) -> String {
        hex(&self.monitor.snapshot(self.plan))
    }
}

#[test]
fn snapshots_of_version_1_are_written_read_and_gone_on_from_as_ever() {
    let cases = cases();
    assert!(cases.len() >= 15, "{} cases in {}", cases.len(), folder().display());
    let mut changed = Vec::new();
    for case in &cases {
        let plan = plan(&case.lines);
        let (before, after) = case.ticks.split_at(case.cut);
        let mut never_stopped = Run::new(&plan);
        for tick in before {
            let _what_the_snapshot_holds = never_stopped.tick(tick);
        }
        if never_stopped.snapshot() != case.snapshot {
            changed.push(format!("SNAPSHOT {} {}", case.name, never_stopped.snapshot()));
            continue;
        }
        let mut restored = Run::restored(&plan, &bytes_of(&case.snapshot));
        assert_eq!(restored.snapshot(), case.snapshot, "{}: written again", case.name);
        assert!(after.len() > 1, "{}: nothing is left to go on with", case.name);
        let (mut fresh, mut as_fresh) = (Run::new(&plan), true);
        for (nth, tick) in after.iter().enumerate() {
            let wanted = never_stopped.tick(tick);
            as_fresh &= fresh.tick(tick) == wanted;
            assert_eq!(restored.tick(tick), wanted, "{}: tick {} after it", case.name, nth + 1);
        }
        assert_eq!(as_fresh, case.cut == 0, "{}: whether its state means nothing", case.name);
        assert_eq!(restored.snapshot(), never_stopped.snapshot(), "{}: at the end", case.name);
    }
    assert!(
        changed.is_empty(),
        "the form of snapshots has changed: that is a new version, and version 1 stays readable\n{}",
        changed.join("\n")
    );
}

#[test]
fn snapshots_of_version_1_are_read_into_a_plan_with_streams_added_and_reordered() {
    for case in cases() {
        let plan = plan(&case.lines);
        let mut other: Vec<String> = case.lines.iter().rev().cloned().collect();
        other.insert(0, "out added: Int = default(added[11], 0) + 1".to_owned());
        let other = self::plan(&other);
        let (mut one, mut next) = (Run::restored(&plan, &bytes_of(&case.snapshot)), Run::restored(&other, &bytes_of(&case.snapshot)));
        for tick in &case.ticks[case.cut..] {
            match (one.tick(tick), next.tick(tick)) {
                (Ok(one), Ok(next)) => {
                    // A function that was held means nothing under another plan: it comes anew, before it is called.
                    let out = plan.streams().iter().enumerate().filter(|(_, stream)| stream.kind == lang::syntax::StreamKind::Out);
                    for (slot, stream) in out {
                        assert_eq!(one[slot], next[other.slot(&stream.name).unwrap()], "{}: {}", case.name, stream.name);
                    }
                }
                (one, next) => assert_eq!(one, next, "{}", case.name),
            }
        }
    }
}

/// What holds state: each operator, each aggregate over each kind of window, each kind of piece.
#[test]
fn the_golden_snapshots_hold_every_kind_of_state() {
    let programs: String = cases().iter().map(|case| case.lines.join("\n") + "\n").collect();
    let operators =
        ["default(", "init(", "is_defined(", "is_present(", "when(", "update(", "latch(", "changed(", "dynamic(", "eval(", "defer("];
    let aggregates = ["count", "sum", "mean", "min", "max", "stddev", "first", "last", "distinct"];
    let windows = aggregates.iter().flat_map(|name| ["time", "last", "panes"].map(|window| format!("out {name}_{window} = {name}(")));
    for wanted in operators.into_iter().map(str::to_owned).chain(windows) {
        assert!(programs.contains(&wanted), "no case holds {wanted}");
    }
    assert!(cases().iter().all(|case| bytes_of(&case.snapshot).first() == Some(&1)));
    assert_eq!(bytes::VERSION, 1, "move what is written again into version {}, and keep what version 1 wrote", bytes::VERSION);
}
