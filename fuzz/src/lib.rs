//! What the fuzz targets do with bytes. A panic is a find; so is what takes long.
//!
//! `tests/local/fuzz.rs` includes this file and calls the same functions, so that they cannot fall behind.

use millrace::dataflow::value::{Cell, Limits as ValueLimits, Value};
use millrace::dataflow::{Limits, Monitor, Plan, RecordTime, Scratch, TickError};
use millrace::lang::checked::Checked;
use millrace::lang::types::Type;
use millrace::lang::{self, MAX_ROOT};
use std::sync::{Arc, LazyLock};

/// Small, so that what is bounded comes to its bound soon.
const LIMITS: Limits = Limits { steps: 20_000, depth: 64, value_bytes: 1 << 14, window_values: 200, texts: 16 };

/// The inputs of every program here.
const INPUTS: &str = "in x: Int\nin y: Float\nin p: Bool\nin s: Str\nin l: List<Int>\nin u\nin t: Str\n";

/// Programs whose snapshots are read: together they hold every kind of state.
const PROGRAMS: [&str; 5] = [
    "out a = x[1]\nout b = s[3]\nout c = l[12]\nout d = default(d[1], 0) + 1\nout e = u[2]\nout f = (x * 2)[9]",
    "out a = x + y\nout b = default(s, t)\nout c = init(x, 0)\nout d = when(t)\nout e = update(x, y)\nout f = latch(l, p)\nout g = changed(u)\n\
     out h = if p then s else t\nout i = {n: x, of: (s, l)}[1]",
    "out a = count(x over 5s)\nout b = sum(x over 5s)\nout c = mean(y over last 4)\nout d = stddev(y over 9s by 3s)\nout e = max(y over 5s)\n\
     out f = min(x over 9s by 3s)\nout g = first(s over last 3)\nout h = last(l over 9s by 3s)\nout i = distinct(u over 5s)\n\
     out j = distinct(s over 9s by 3s)\nout k = sum(y over 9s by 3s)\nout m = max(x over last 3)",
    "out a = dynamic(t: Int, {x, y, s})\nout b = default(defer(t: Int, {x}), 0)\nout c = default(dynamic(t, {u, l}), 0)",
    "aux step = if p then \\v: Int -> v + x else \\v: Int -> v - x\nout a = step(2)\nout b = 10 / x\n\
     out c = (\\v: Int -> v - default(v[1], v))(x)\nout d = List.fold(\\n: Int, v: Int -> n + v * x, 0, l)",
];

static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| PROGRAMS.iter().filter_map(|program| plan(&format!("{INPUTS}{program}"))).collect());
static OF_TEXTS: LazyLock<Option<Plan>> = LazyLock::new(|| {
    plan(&format!(
        "{INPUTS}out a: Int = dynamic(t: Int, {{x, y, p, s, l, u}})\nout b = dynamic(t, {{x, y, p, s, l, u}})\nout c: Int = defer(t: Int, {{x, u}})"
    ))
});

fn plan(root: &str) -> Option<Plan> {
    lang::check(root).ok().map(|checked| Plan::new(&checked, LIMITS))
}

/// Takes the bytes as a root: parses, checks, draws what is wrong, lays it out, and runs it where it is sound. Whether it is.
///
/// # Panics
/// If the checker and the formatter disagree on what parses; if a layout is not the one layout, or changes the program.
pub fn root(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let checked = lang::check(text);
    let warnings = checked.as_ref().map(|checked| checked.warnings.as_slice()).unwrap_or_default();
    let mut drawn = lang::diagnostic::render(text, "root.dsrv", warnings);
    if let Err(errors) = &checked {
        assert!(!errors.list().is_empty(), "refused without a reason");
        drawn.push_str(&errors.render("root.dsrv"));
        for report in errors.reports() {
            assert!((report.line, report.column) <= (report.end_line, report.end_column), "{report:?}");
        }
    }
    assert_eq!(drawn.is_empty(), checked.is_ok() && warnings.is_empty(), "drawn: {drawn}");
    let laid_out = lang::format(text);
    assert_eq!(laid_out.is_ok(), lang::parse(text).is_ok(), "parsed and laid out");
    if let Ok(once) = laid_out.as_ref().map(String::as_str)
        && once.len() <= MAX_ROOT
    {
        assert_eq!(lang::format(once).as_deref().ok(), Some(once), "laid out twice");
        let digest = |checked: &Checked| Plan::new(checked, LIMITS).digest();
        assert_eq!(lang::check(once).as_ref().map(digest).ok(), checked.as_ref().map(digest).ok(), "laid out, it is another program");
    }
    let Ok(checked) = checked else { return false };
    runs(&Plan::new(&checked, LIMITS), None);
    true
}

/// Takes the bytes as a text that arrives at run time. Whether some `dynamic` takes it.
///
/// # Panics
/// If the tick ends otherwise than with a row or a failure.
pub fn text(bytes: &[u8]) -> bool {
    let (Ok(text), Some(plan)) = (std::str::from_utf8(bytes), OF_TEXTS.as_ref()) else { return false };
    let scope = [("x", Type::Int), ("u", Type::Any)].map(|(name, ty)| (Arc::from(name), ty));
    let expression = lang::check_expression(text, &scope, Some(&Type::Int));
    if let Err(errors) = &expression {
        assert!(!errors.render("text").is_empty(), "refused without a reason");
    }
    runs(plan, Some(text));
    expression.is_ok()
}

/// Takes the bytes as a snapshot. Whether it is one.
///
/// # Panics
/// If what was read is not written in a way that reads back as the same state.
pub fn snapshot(bytes: &[u8]) -> bool {
    let Some((first, bytes)) = bytes.split_first() else { return false };
    let Some(plan) = PLANS.get(usize::from(*first) % PLANS.len().max(1)) else { return false };
    let Ok(mut monitor) = Monitor::restore(plan, bytes) else { return false };
    let mut again = restored(plan, &monitor);
    let front = monitor.front().unwrap_or(0);
    for nth in 0..ROWS {
        let time = front.saturating_add(i64::from(nth) * 1_700_000);
        assert_eq!(tick(plan, &mut monitor, None, (nth, time)), tick(plan, &mut again, None, (nth, time)), "tick {nth}");
    }
    restored(plan, &monitor);
    true
}

/// A snapshot of each program after some ticks, as [`snapshot`] takes it: what fuzzing begins with.
pub fn snapshots() -> Vec<Vec<u8>> {
    let of = |(number, plan): (u8, &Plan)| {
        let mut monitor = Monitor::new(plan);
        for nth in 0..ROWS {
            tick(plan, &mut monitor, Some("default(x[2], 0) + sum(x over last 3)"), (nth, i64::from(nth) * 1_700_000));
        }
        [&[number], monitor.snapshot(plan).as_slice()].concat()
    };
    (0..).zip(PLANS.iter()).map(of).collect()
}

const ROWS: u8 = 6;

/// Runs a plan over some rows; it goes on from its snapshot as if it had never stopped.
fn runs(plan: &Plan, text: Option<&str>) {
    let mut monitor = Monitor::new(plan);
    for nth in 0..ROWS {
        let mut again = restored(plan, &monitor);
        let time = i64::from(nth) * 1_700_000;
        assert_eq!(tick(plan, &mut monitor, text, (nth, time)), tick(plan, &mut again, text, (nth, time)), "tick {nth}");
    }
}

/// The same from its bytes.
fn restored(plan: &Plan, monitor: &Monitor) -> Monitor {
    let written = monitor.snapshot(plan);
    let again = Monitor::restore(plan, &written);
    let Ok(again) = again else { panic!("what was written cannot be read: {again:?}") };
    assert_eq!(again.snapshot(plan), written, "written again");
    again
}

fn tick(plan: &Plan, monitor: &mut Monitor, text: Option<&str>, (nth, time): (u8, i64)) -> Option<Vec<Cell>> {
    let inputs = plan.streams().iter().take(plan.inputs());
    let row: Vec<Cell> = inputs.map(|input| cell(&input.name, &input.ty, text, nth)).collect();
    let mut scratch = Scratch::default();
    match monitor.tick(plan, &row, RecordTime { record: time, arrival: time }, &mut scratch) {
        Ok(row) => Some(row.cells().collect()),
        Err(TickError::Failed(_) | TickError::MonitorFailed(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

/// What an input brings: each misses some ticks.
fn cell(name: &str, ty: &Type, text: Option<&str>, nth: u8) -> Cell {
    let (number, even) = (i64::from(nth), nth.is_multiple_of(2));
    let list =
        || Value::list((0..number).map(Value::Int).collect(), ValueLimits { value_bytes: LIMITS.value_bytes }).unwrap_or(Value::Unit);
    match (name, ty, text) {
        ("t", Type::Str, Some(text)) if nth != 2 => Cell::Value(Value::str(text)),
        _ if usize::from(nth) % 4 == name.len() % 4 => Cell::NoVal,
        (_, Type::Int, _) => Cell::Value(Value::Int(number * 7 - 9)),
        (_, Type::Float, _) => Cell::Value(Value::float(f64::from(nth) / 2.0 - 1.0)),
        (_, Type::Bool, _) => Cell::Value(Value::Bool(even)),
        (_, Type::Str, _) => Cell::Value(Value::str(if even { "a" } else { "a text that is longer than its place" })),
        (_, Type::List(of), _) if **of == Type::Int => Cell::Value(list()),
        (_, Type::Any, _) if even => Cell::Value(Value::Int(number)),
        (_, Type::Any, _) => Cell::Value(Value::str("any")),
        _ => Cell::NoVal,
    }
}
