//! What a cutover keeps, carries and resets.

use super::bed::{Run, plan};
use millrace::dataflow::{Decision, Transfer};
use serde_json::json;
use std::sync::Arc;

#[track_caller]
fn decides(old: &str, new: &str, wanted: &[(&str, Decision, &str)]) {
    let transfer = Transfer::new(&plan(old), &plan(new));
    for (stream, decision, reason) in wanted {
        let got = transfer.of(stream).unwrap();
        assert_eq!(got.decision, *decision, "{stream}: {}", got.reason);
        assert!(got.reason.contains(reason), "{stream}: {}", got.reason);
    }
}

use Decision::{Carry, Keep, Reset};

#[test]
fn decisions() {
    let x = "in x: Int\nin z: Int\n";
    let of = |body: &str| format!("{x}{body}");
    decides(&of("out y: Int = x"), &of("out y: Int = x\nout w: Int = x"), &[("y", Keep, "no state"), ("w", Reset, "new")]);
    decides(&of("out y: Int = default(y[1], 0) + 1"), &of("out y: Int = default(y[1], 0) + 2"), &[("y", Keep, "another way")]);
    decides(&of("out y: Int = default(y[1], 0) + 1"), &of("out y: Float = default(y[1], 0.0) + 1.0"), &[("y", Reset, "type")]);
    decides(&of("out y: Int = x[3]"), &of("out y: Int = x[5]"), &[("y", Carry, "5 back, 3 before")]);
    decides(&of("out y: Int = x[3]"), &of("out y: Int = x[20]"), &[("y", Carry, "20 back, 3 before")]);
    decides(&of("out y: Int = x[3]"), &of("out y: Int = z[3]"), &[("y", Reset, "")]);
    decides(&of("out y: Int = (x * 2)[1]"), &of("out y: Int = (x * 3)[1]"), &[("y", Reset, "")]);
    decides(&of("out y: Int = sum(x over 5m)"), &of("out y: Int = sum(x over 10m)"), &[("y", Carry, "another length")]);
    decides(&of("out y: Int = sum(x over 5m)"), &of("out y: Int = max(x over 5m)"), &[("y", Reset, "")]);
    decides(
        &of("out y: Int = sum(x over 5m) - sum(x over 1m)"),
        &of("out y: Int = sum(x over 2m) - sum(x over 5m)"),
        &[("y", Carry, "another length")],
    );
    decides(&of("out y: Int = sum(x over 5m)"), &of("out y: Int = sum(x over 5m) + sum(z over 5m)"), &[("y", Carry, "starts afresh")]);
    decides(&of("out y: Bool = when(x)"), &of("out y: Bool = x > 0 || when(x)"), &[("y", Carry, "afresh")]);
    // Reads something that is computed in another way.
    decides(
        &of("aux b: Bool = x > 1\nout y: Int = default(y[1], 0) + (if b then 1 else 0)"),
        &of("aux b: Bool = x > 2\nout y: Int = default(y[1], 0) + (if b then 1 else 0)"),
        &[("b", Keep, "another way"), ("y", Keep, "another way")],
    );
    let transfer = Transfer::new(&plan(&of("out y: Int = x\nout w: Int = x")), &plan(&of("out y: Int = x")));
    assert_eq!(transfer.gone, [Arc::from("w")]);
    assert!(transfer.of("y").unwrap().exact);
}

fn moved(old: &str, new: &str, values: &[i64]) -> Run {
    let mut run = Run::new(old);
    for x in values {
        run.tick(&json!({"x": x})).unwrap();
    }
    let next = Arc::new(plan(new));
    let monitor = Transfer::apply(&run.plan, &next, &run.monitor);
    // The same through bytes.
    let restored = millrace::dataflow::Monitor::restore(&next, &run.monitor.snapshot(&run.plan)).unwrap();
    assert_eq!(restored.snapshot(&next), monitor.snapshot(&next));
    Run { plan: next, monitor, scratch: millrace::dataflow::Scratch::default(), now: run.now }
}

#[test]
fn lengths_carry_the_newest() {
    let values: Vec<i64> = (1..=12).collect();
    let mut run = moved("in x: Int\nout y: Int = x[3]", "in x: Int\nout y: Int = x[2]", &values);
    assert_eq!(run.outputs(&json!({"x": 13})).unwrap(), json!({"y": 11}));
    let mut run = moved("in x: Int\nout y: Int = x[2]", "in x: Int\nout y: Int = default(x[4], -1)", &values);
    let got: Vec<_> = (13..18).map(|x| run.outputs(&json!({"x": x})).unwrap()["y"].clone()).collect();
    assert_eq!(got, [-1, -1, 11, 12, 13]);
    let mut run = moved("in x: Int\nout y: Int = x[2]", "in x: Int\nout y: Int = default(x[10], -1)", &values);
    let got: Vec<_> = (13..23).map(|x| run.outputs(&json!({"x": x})).unwrap()["y"].clone()).collect();
    assert_eq!(got, [-1, -1, -1, -1, -1, -1, -1, -1, 11, 12]);
    let mut run = moved("in x: Int\nout y: Int = x[11]", "in x: Int\nout y: Int = x[3]", &values);
    assert_eq!(run.outputs(&json!({"x": 13})).unwrap(), json!({"y": 10}));
    let mut run = moved("in x: Int\nout y: Int = sum(x over last 5)", "in x: Int\nout y: Int = sum(x over last 3)", &values);
    assert_eq!(run.outputs(&json!({"x": 13})).unwrap(), json!({"y": 11 + 12 + 13}));
    let mut run = moved("in x: Int\nout y: Int = sum(x over 3s)", "in x: Int\nout y: Int = sum(x over 5s)", &values);
    assert_eq!(run.outputs(&json!({"x": 13})).unwrap(), json!({"y": 10 + 11 + 12 + 13}));
}

#[test]
fn a_text_in_force_moves_with_its_state() {
    let mut run = Run::new("in s: Str\nin x: Int\nout y: Int = dynamic(s: Int)");
    for inputs in [json!({"s": "default(x[2], 0) + sum(x over last 9)", "x": 1}), json!({"x": 2}), json!({"x": 3})] {
        run.tick(&inputs).unwrap();
    }
    let next = Arc::new(plan("in z: Int\nin s: Str\nin x: Int\naux w: Int = x + z\nout y: Int = dynamic(s: Int)"));
    let monitor = Transfer::apply(&run.plan, &next, &run.monitor);
    let mut run = Run { plan: next, monitor, scratch: millrace::dataflow::Scratch::default(), now: run.now };
    assert_eq!(run.outputs(&json!({"x": 4})).unwrap(), json!({"y": 2 + 10}));
}

#[test]
fn a_cutover_revives_a_failed_monitor() {
    let mut run = Run::new("in x: Int\nout y: Int = default(y[1], 0) + 10 / x");
    run.tick(&json!({"x": 5})).unwrap();
    run.tick(&json!({"x": 0})).unwrap_err();
    let next = Arc::new(plan("in x: Int\nout y: Int = default(y[1], 0) + (if x == 0 then 0 else 10 / x)"));
    let monitor = Transfer::apply(&run.plan, &next, &run.monitor);
    let mut run = Run { plan: next, monitor, scratch: millrace::dataflow::Scratch::default(), now: run.now };
    assert_eq!(run.outputs(&json!({"x": 0})).unwrap(), json!({"y": 2}));
}
