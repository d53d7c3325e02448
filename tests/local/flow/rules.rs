//! The rules of language.md's table, one by one, where the golden vectors do not say them.

use super::bed::{Run, cell_json};
use millrace::dataflow::TickError;
use serde_json::{Value as Json, json};

/// Runs a program over the inputs and compares stream `y`: `"-"` is `NoVal`, `"?"` Deferred, `"!"` a tick that fails.
#[track_caller]
fn shows(program: &str, inputs: &Json, wanted: &Json) {
    let mut run = Run::new(program);
    let y = run.plan.slot("y").unwrap();
    let mut got = Vec::new();
    for inputs in inputs.as_array().unwrap() {
        match run.tick(inputs) {
            Ok(row) => got.push(match cell_json(&row[y]) {
                Json::Object(special) if special.contains_key("special") => json!(if special["special"] == "NoVal" { "-" } else { "?" }),
                value => value,
            }),
            Err(TickError::Failed(_)) => {
                got.push(json!("!"));
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(Json::Array(got), *wanted, "{program}");
}

#[test]
fn guards_drop_failures() {
    let n = json!([{"n": 2}, {"n": 0}, {"n": 5}]);
    shows("in n: Int\nout y: Int = if n == 0 then 0 else 10 / n", &n, &json!([5, 0, 2]));
    shows("in n: Int\nout y: Bool = n != 0 && 10 / n > 3", &n, &json!([true, false, false]));
    shows("in n: Int\nout y: Bool = 10 / n > 3 && n != 0", &n, &json!([true, false, false]));
    shows("in n: Int\nout y: Bool = n == 0 || 10 / n > 3", &n, &json!([true, true, false]));
    shows("in n: Int\nout y: Bool = n != 0 => 10 / n > 3", &n, &json!([true, true, false]));
    shows("in n: Int\nout y: Int = default(n, 10 / n)", &n, &json!([2, 0, 5]));
    shows("in n: Int\nout y: Int = default(10 / n, 0)", &n, &json!([5, "!"]));
    shows("in n: Int\nout y: Int = List.get([7], 0, 10 / n)", &n, &json!([7, 7, 7]));
    shows("in n: Int\nout y: Int = Map.get(Map(\"a\": 7), \"a\", 10 / n)", &n, &json!([7, 7, 7]));
    shows("in n: Int\nout y: Bool = is_defined(10 / n)", &n, &json!([true, "!"]));
    shows("in n: Int\nout y: Bool = is_present(10 / n)", &n, &json!([true, "!"]));
    // Only a trigger that fires takes the value; `update` takes its first side until the second has come.
    shows("in n: Int\nin k: Int\nout y: Int = default(latch(10 / n, k), -1)", &json!([{"n": 0}, {"n": 5, "k": 1}]), &json!([-1, 2]));
    shows("in n: Int\nin k: Int\nout y: Int = update(10 / n, k)", &json!([{"n": 2}, {"n": 0, "k": 1}, {}]), &json!([5, 1, 1]));
    shows("in n: Int\nin k: Int\nout y: Int = update(k, 10 / n)", &json!([{"n": 0, "k": 1}]), &json!(["!"]));
    // `when` is true for ever: it takes nothing more.
    shows("in n: Int\nout y: Bool = when(10 / n)", &n, &json!([true, true, true]));
    shows("in n: Int\nin k: Int\nout y: Int = init(k, 10 / n)", &json!([{"k": 1, "n": 0}, {"k": 2}]), &json!([1, 2]));
}

#[test]
fn no_hold_keeps_a_failure() {
    let inputs = json!([{"n": 2, "k": 1}, {"n": 0, "k": 1}, {"k": 0}, {"n": 4, "k": 1}]);
    shows(
        "in n: Int\nin k: Int\naux g: Bool = n == 0\nout y: Int = if g then -1 else default(latch(10 / n, k), -2)",
        &inputs,
        &json!([5, -1, -1, 2]),
    );
    // What is held over the failing tick is the value before it.
    shows(
        "in n: Int\nin k: Int\nin g: Bool\nout y: Int = if g then -1 else latch(10 / n, k) + 0",
        &json!([{"n": 2, "k": 1, "g": false}, {"n": 0, "k": 1, "g": true}, {"g": false}]),
        &json!([5, -1, 5]),
    );
}

#[test]
fn failures_do_not_enter_state() {
    let inputs = json!([{"n": 2}, {"n": 0}]);
    shows("in n: Int\nout y: Int = if n == 0 then 0 else default((10 / n)[1], 0)", &inputs, &json!([0, "!"]));
    shows("in n: Int\nout y: Float = if n == 0 then 0.0 else mean(10 / n over last 2)", &inputs, &json!([5.0, "!"]));
    shows("in n: Int\nin m: Int\naux w: Int = 7 / n\nout y: Int = m", &json!([{"n": 1, "m": 3}, {"n": 0, "m": 3}]), &json!([3, "!"]));
}

#[test]
fn a_function_that_any_hides_goes_nowhere_where_functions_do_not() {
    let hidden = "in n: Int\naux f: Any = if n == 0 then (\\v: Int -> v + 1) else n\n";
    let one = |rest: &str, wanted: Json| shows(&format!("{hidden}{rest}"), &json!([{"n": 2}, {"n": 0}]), &json!([wanted, "!"]));
    one("out y: Any = f", json!(2));
    one("out y: Int = n\nout z = f", json!(2));
    one("out y: Int = n\nout z: Any = default(n, f)\nout w: Any = dynamic(\"f\", {f})", json!(2));
    for delayed in ["default(f[1], 0)", "default(f[9], 0)", "default(default(f, 0)[1], 0)"] {
        one(&format!("aux d: Any = {delayed}\nout y: Int = n"), json!(2));
    }
    for collected in
        ["[f]", "(f, n)", "{a: f}", "Map(\"a\": f)", "List.append([f], n)", "Map.insert(Map(), \"a\", f)", "List.map(\\v -> f, [1])"]
    {
        one(&format!("aux c: Any = {collected}\nout y: Int = n"), json!(2));
    }
    // Held, chosen and called it may be.
    shows(
        &format!("{hidden}aux g: Any = latch(f, n)\nout y: Any = if n == 0 then f(4) else n"),
        &json!([{"n": 2}, {"n": 0}]),
        &json!([2, 5]),
    );
}

#[test]
fn the_first_in_the_plans_order_is_named() {
    let mut run = Run::new("in n: Int\nout b: Int = a + 1 / n\nout a: Int = 2 / n\nout c: Int = default((3 / n)[1], 0)");
    let Err(TickError::Failed(failure)) = run.tick(&json!({"n": 0})) else { panic!() };
    assert_eq!(&**failure.stream(), "a");
    assert_eq!(failure.span().of("in n: Int\nout b: Int = a + 1 / n\nout a: Int = 2 / n"), "2 / n");
    assert_eq!(failure.operands(), "2, 0");
    // A stream's value comes before what enters a delay.
    let mut run = Run::new("in n: Int\nout a: Int = default((3 / n)[1], 0)\nout b: Int = 1 / n");
    let Err(TickError::Failed(failure)) = run.tick(&json!({"n": 0})) else { panic!() };
    assert_eq!(&**failure.stream(), "b");
    // The leftmost of strict operands.
    let root = "in n: Int\nout y: Int = List.get([1], n + 5) + 1 / n";
    let mut run = Run::new(root);
    let Err(TickError::Failed(failure)) = run.tick(&json!({"n": 0})) else { panic!() };
    assert_eq!(failure.span().of(root), "List.get([1], n + 5)");
    // Inside a text: the text and the place in it.
    let mut run = Run::new("in s: Str\nin n: Int\nout y: Int = dynamic(s: Int, {n})");
    let Err(TickError::Failed(failure)) = run.tick(&json!({"s": "1 + 2 / n", "n": 0})) else { panic!() };
    let (text, span) = failure.within_text().unwrap();
    assert_eq!((&**failure.stream(), &**text, span.of(text)), ("y", "1 + 2 / n", "2 / n"));
}

#[test]
fn if_takes_what_it_chooses() {
    let program = "in c: Bool\nin a: Int\nin b: Int\nout y: Int = if c then a else 1 / b";
    // c is not there: neither branch is taken; and NoVal while a branch is.
    shows(program, &json!([{"b": 0}, {"c": true}, {"a": 3}, {"c": false}]), &json!(["-", "-", 3, "!"]));
    shows(
        "in c: Bool\nin a: Int\nin x: Int\nout y: Int = if c[1] then a else x",
        &json!([{"c": true, "x": 1}, {"a": 2}]),
        &json!(["-", 2]),
    );
    shows("in c: Bool\nin a: Int\nout y: Int = if c[1] then a else 0", &json!([{"c": true, "a": 1}, {}]), &json!(["?", 1]));
}

#[test]
fn what_can_go_missing_again_is_held() {
    // p decides in the first tick, and asks for q in the second: what `!` holds is the first answer.
    shows("in p: Bool\nin q: Bool\nout y: Bool = !(p && q)", &json!([{"p": false}, {"p": true}, {"q": true}]), &json!([true, true, false]));
    shows(
        "in p: Bool\nin q: Bool\nout y: Bool = !(p || q)",
        &json!([{"p": true}, {"p": false}, {"q": true}]),
        &json!([false, false, false]),
    );
    shows(
        "in p: Bool\nin q: Bool\nout y: Bool = !(p => q)",
        &json!([{"p": false}, {"p": true}, {"q": false}]),
        &json!([false, false, true]),
    );
    // The fallback is asked for only when e is Deferred again.
    shows(
        "in c: Bool\nin x: Int\nin d: Int\nout y: Int = default(if c then x else x[9], d) + 0",
        &json!([{"c": true, "x": 4}, {"c": false}, {"d": 7}]),
        &json!([4, 4, 7]),
    );
    shows(
        "in l: List<Int>\nin i: Int\nin d: Int\nout y: Int = List.get(l, i, d) + 0",
        &json!([{"l": [4], "i": 0}, {"i": 1}, {"d": 7}]),
        &json!([4, 4, 7]),
    );
    // A failure that was dropped is not held: the `if` that dropped it is NoVal next, and was a value.
    shows(
        "in u\nin c: Bool\nout y: Any = update(\"x\", if c then u else \"\")",
        &json!([{"u": 0, "c": false}, {}, {"u": "a"}]),
        &json!(["", "", ""]),
    );
    // Deferred ends what `init` stands in for.
    shows("in x: Int\nin t: Int\nout y: Int = init(latch(x[9], t), 5)", &json!([{}, {"x": 1, "t": 1}, {}]), &json!([5, "?", "-"]));
    // A failure that is chosen is taken, whether the other branch is there or not.
    shows("in c: Bool\nin a: Int\nin b: Int\nout y: Int = if c then 1 / a else b", &json!([{"c": true, "a": 0}]), &json!(["!"]));
    shows(
        "in c: Bool\nin a: Int\nin b: Int\nout y: Int = if c then a else 1 / b",
        &json!([{"c": true, "b": 0}, {"a": 1}]),
        &json!(["-", 1]),
    );
    shows("in x: Int\nin k: Int\nout y: Int = x[0] + k[0]", &json!([{"x": 1}, {"k": 1}, {}]), &json!(["-", 2, 2]));
}

#[test]
fn long_delays_are_as_short_ones() {
    for ticks in [1, 2, 7, 8, 9, 40] {
        let mut run = Run::new(&format!("in x: Int\nout y: Int = default(x[{ticks}], -1)"));
        let mut history: Vec<i64> = Vec::new();
        for now in 0..100_usize {
            let row = run.tick(&if now % 3 == 1 { json!({}) } else { json!({"x": now}) }).unwrap();
            let held = if now % 3 == 1 { *history.last().unwrap() } else { i64::try_from(now).unwrap() };
            let wanted = now.checked_sub(ticks).map_or(-1, |then| history[then]);
            assert_eq!(cell_json(&row[1]), json!(wanted), "{ticks} at {now}");
            history.push(held);
        }
    }
}

#[test]
fn changed_compares_with_the_last_value() {
    shows(
        "in x: Int\nout y: Bool = changed(x)",
        &json!([{}, {"x": 1}, {"x": 1}, {}, {"x": 2}, {}]),
        &json!([false, false, false, false, true, false]),
    );
    shows("in x\nout y: Bool = changed(x)", &json!([{"x": 1}, {"x": 1.0}, {"x": "1"}]), &json!([false, false, true]));
}

#[test]
fn windows_count_nothing_twice() {
    // Held operands add nothing in ticks in which no input behind them came.
    shows("in x: Int\nin k: Int\nout y: Int = sum(x + 1 over last 10)", &json!([{"x": 1}, {"k": 1}, {"x": 2}, {}]), &json!([2, 2, 5, 5]));
    // Of a recursion no input stands behind: it adds in every tick.
    shows(
        "in x: Int\nout y: Int = sum(default(n[1], 0) over last 10)\naux n: Int = default(n[1], 0) + 1",
        &json!([{}, {}, {}]),
        &json!([0, 1, 3]),
    );
    shows("in x: Int\nout y: Int = count(x over 3s)", &json!([{"x": 1}, {"x": 1}, {"x": 1}, {}, {}]), &json!([1, 2, 3, 2, 1]));
    shows(
        "in x: Float\nout y: Float = mean(x over last 2)",
        &json!([{}, {"x": 1.0}, {"x": 2.0}, {"x": 4.0}]),
        &json!(["?", 1.0, 1.5, 3.0]),
    );
}

#[test]
fn a_value_that_a_window_does_not_take_leaves_no_trace() {
    for aggregate in ["sum", "mean", "max", "min"] {
        for window in ["last 3", "10s", "10s by 1s"] {
            let mut run = Run::new(&format!("in u\nout y = {aggregate}(u over {window})"));
            run.tick(&json!({"u": 1})).unwrap();
            let before = run.monitor.snapshot(&run.plan);
            if run.tick(&json!({"u": "text"})).is_err() {
                let after = millrace::dataflow::Transfer::apply(&run.plan, &run.plan, &run.monitor);
                assert_eq!(after.snapshot(&run.plan), before, "{aggregate} {window}");
            }
        }
    }
}

#[test]
fn windows_in_texts_know_what_came() {
    shows(
        "in s: Str\nin x: Int\nin k: Int\naux d: Int = x * 2\nout y: Int = dynamic(s: Int, {d, k})",
        &json!([{"s": "sum(d over last 5)", "x": 1}, {"k": 1}, {"x": 3}, {"s": "sum(d + k over last 5)"}, {"k": 1}, {"x": 1}]),
        &json!([2, 2, 8, 0, 7, 10]),
    );
}

#[test]
fn functions_at_run_time() {
    // The function that is called is chosen when it runs.
    shows(
        "in c: Bool\nin x: Int\nout y: Int = (if c then (\\v: Int -> v + 1) else (\\v: Int -> v * 10))(x)",
        &json!([{"c": true, "x": 1}, {"c": false}, {"x": 4}]),
        &json!([2, 10, 40]),
    );
    // Only the chosen branch of an `if` runs: else this would not end.
    shows(
        "in n: Int\nout y: Int = fix(\\self: (Int -> Int), v: Int -> if v <= 1 then v else self(v - 1) + self(v - 2))(n)",
        &json!([{"n": 15}]),
        &json!([610]),
    );
    shows("in n: Int\nout y: Bool = fix(\\self: (Int -> Bool), v: Int -> v > 0 && self(v - 1))(n)", &json!([{"n": 200}]), &json!([false]));
    // An argument that several branches share is evaluated where it is asked for.
    shows(
        "in n: Int\nout y: Int = fix(\\self: (Int -> Int), v: Int -> (\\r: Int -> if v == 1 then r else if v <= 0 then 1 else r * 2)(self(v - 1)))(n)",
        &json!([{"n": 60}]),
        &json!([1_i64 << 59]),
    );
    shows(
        "in l: List<Int>\nin k: Int\nout y: Int = List.fold(\\a: Int, v: Int -> List.fold(\\b: Int, w: Int -> b + w * k, a, [v, v]), 0, l)",
        &json!([{"l": [1, 2, 3], "k": 2}]),
        &json!([24]),
    );
    shows(
        "in l: List<Int>\nout y: List<Int> = List.map(\\v: Int -> 10 / v, l)",
        &json!([{"l": [1, 2]}, {"l": [1, 0]}]),
        &json!([[10, 5], "!"]),
    );
}

#[test]
fn a_text_that_is_refused_is_counted_as_often_as_it_comes() {
    let mut run = Run::new("in s: Str\nin x: Int\nout y: Int = dynamic(s: Int, {x})");
    for inputs in [json!({"s": "x +"}), json!({}), json!({"s": "x +"}), json!({"s": "x"}), json!({"s": "x +"}), json!({"s": "x"})] {
        run.tick(&inputs).unwrap();
    }
    let counts = run.plan.text_counts();
    assert_eq!((counts.compiled, counts.refused, counts.remembered), (1, 2, 2));
    let refused = run.plan.take_refused_texts();
    assert_eq!(refused.len(), 1);
    assert_eq!((&*refused[0].stream, &*refused[0].text), ("y", "x +"));
    assert!(run.plan.take_refused_texts().is_empty());
}

#[test]
fn another_plans_monitor_is_refused() {
    let mut run = Run::new("in x: Int\nout y: Int = x");
    let mut other = Run::new("in x: Int\nout y: Int = default(y[1], 0) + x");
    std::mem::swap(&mut run.monitor, &mut other.monitor);
    assert_eq!(run.tick(&json!({})), Err(TickError::OtherPlan));
}
