//! Scenarios 30 to 32 of the acceptance page, for this room.

use super::bed::Run;
use millrace::dataflow::value::Code;
use millrace::dataflow::{Limits, Plan, TickError};
use millrace::lang;
use serde_json::{Value as Json, json};
use std::sync::Arc;

#[test]
fn scenario_30_partial_operations_fail_the_tick_with_place_and_operands() {
    let cases: &[(&str, Json, &str, Code, &str)] = &[
        (
            "in x: Int\nout y: Int = x + 9223372036854775807",
            json!({"x": 1}),
            "x + 9223372036854775807",
            Code::OVERFLOW,
            "1, 9223372036854775807",
        ),
        ("in x: Int\nout y: Int = 7 / x", json!({"x": 0}), "7 / x", Code::DIVISION_BY_ZERO, "7, 0"),
        ("in m: Map<Int>\nout y: Int = Map.get(m, \"k\")", json!({"m": {"a": 1}}), "Map.get(m, \"k\")", Code::MISSING_KEY, "\"k\""),
        ("in l: List<Int>\nout y: Int = List.get(l, 3)", json!({"l": [1, 2]}), "List.get(l, 3)", Code::OUT_OF_RANGE, "3"),
        ("in u\nout y = u + 1", json!({"u": "text"}), "u + 1", Code::KIND, "\"text\", 1"),
    ];
    for (root, inputs, place, code, operands) in cases {
        let mut run = Run::new(root);
        let Err(TickError::Failed(failure)) = run.tick(inputs) else { panic!("{root}") };
        assert_eq!((&**failure.stream(), failure.span().of(root), failure.code()), ("y", *place, *code), "{root}");
        assert!(failure.operands().contains(operands), "{root}: {}", failure.operands());
        // The monitor is terminal, through a snapshot too.
        assert_eq!(run.tick(&json!({})), Err(TickError::MonitorFailed(Arc::clone(&failure))), "{root}");
        let bytes = run.monitor.snapshot(&run.plan);
        let restored = millrace::dataflow::Monitor::restore(&run.plan, &bytes).unwrap();
        let kept = restored.failure().unwrap();
        assert_eq!((kept.stream(), kept.span(), kept.code()), (failure.stream(), failure.span(), failure.code()));
        assert_eq!((kept.what(), kept.operands()), (failure.what(), failure.operands()));
        // Other keys go on.
        assert!(Run::of(Arc::clone(&run.plan)).tick(&json!({})).is_ok());
    }
    // Operands are cut.
    let mut run = Run::new("in s: Str\nout y: Int = Int.parse(s)");
    let Err(TickError::Failed(failure)) = run.tick(&json!({"s": "x".repeat(100_000)})) else { panic!() };
    assert!(failure.to_string().len() < 4_096);
}

#[test]
fn scenario_31_texts_that_are_malformed_huge_or_new_in_every_tick() {
    let limits = Limits { texts: 16, ..Limits::default() };
    let checked = lang::check("in s: Str\nin x: Int\nout y: Int = dynamic(s: Int, {x})").unwrap();
    let mut run = Run::of(Arc::new(Plan::new(&checked, limits)));
    run.tick(&json!({"s": "x + 1", "x": 1})).unwrap();
    let huge = format!("x{}", " + x".repeat(5_000));
    let deep = format!("{}x{}", "(".repeat(8_000), ")".repeat(8_000));
    for bad in ["", "x +", "dynamic(x)", "y", "\u{0}", "if", &"(".repeat(16_000), &"x".repeat(1 << 20), &huge, &deep, &"-".repeat(16_000)] {
        // The body in force goes on.
        assert_eq!(run.outputs(&json!({"s": bad, "x": 4})).unwrap(), json!({"y": 5}), "{}", bad.get(..20).unwrap_or(bad));
    }
    assert!(run.plan.text_counts().refused >= 11);
    let mut most = 0;
    for nth in 0..2_000 {
        let text = if nth % 3 == 0 { format!("x + {nth} +") } else { format!("default(x[1], 0) + {nth}") };
        run.tick(&json!({"s": text, "x": nth})).unwrap();
        most = most.max(run.monitor.memory());
        assert!(run.plan.text_counts().remembered <= 17);
    }
    assert!(most < 4_096, "{most}");
}

#[test]
fn scenario_32_deep_programs_and_values_are_errors() {
    let nested = [
        format!("in x: Int\nout y: Int = {}x{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("in x: Int\nout y: Int = {}x", "-".repeat(100_000)),
        format!("in x: Int\nout y: Any = {}x{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("in x: Int\nout y: Int = {}", "if true then x else ".repeat(50_000)),
        format!("in x: {}Int{}\nout y: Int = 1", "List<".repeat(50_000), ">".repeat(50_000)),
    ];
    for root in nested {
        assert!(lang::check(&root).is_err());
    }
    // As high as the checker lets it be: built, run, snapshot and dropped without a deep stack.
    let sum = format!("in x: Int\nout y: Int = {}", "x + ".repeat(3_000) + "x");
    if lang::check(&sum).is_ok() {
        assert_eq!(Run::new(&sum).outputs(&json!({"x": 1})).unwrap(), json!({"y": 3_001}));
    }
    // A value that nests one level deeper in every tick.
    let mut run = Run::new("in x\nout y: Any = [default(y[1], x)]");
    let failure = (0..1_000).find_map(|_| run.tick(&json!({"x": 1})).err());
    let Some(TickError::Failed(failure)) = failure else { panic!() };
    assert_eq!(failure.code(), Code::VALUE_DEPTH);
    let restored = millrace::dataflow::Monitor::restore(&run.plan, &run.monitor.snapshot(&run.plan)).unwrap();
    assert_eq!(restored.snapshot(&run.plan), run.monitor.snapshot(&run.plan));
}

#[test]
fn what_loops_recurses_or_grows_is_stopped() {
    let stopped = |root: &str, inputs: &Json| {
        let mut run = Run::new(root);
        let failure = (0..200).find_map(|_| run.tick(inputs).err());
        let Some(TickError::Failed(failure)) = failure else { panic!("{root}") };
        failure.code()
    };
    let recursion = "in n: Int\nout y: Int = fix(\\self: (Int -> Int), v: Int -> self(v + 1))(n)";
    assert_eq!(stopped(recursion, &json!({"n": 1})), Code::RECURSION);
    let branching = "in n: Int\nout y: Int = fix(\\self: (Int -> Int), v: Int -> if v == 0 then 1 else self(v - 1) + self(v - 1))(n)";
    assert_eq!(stopped(branching, &json!({"n": 100})), Code::STEPS);
    let itself = "in n: Int\nout y: Int = fix(\\self: (Int -> Int) -> self)(n)";
    if lang::check(itself).is_ok() {
        let code = stopped(itself, &json!({"n": 1}));
        assert!(code == Code::STEPS || code == Code::RECURSION);
    }
    let growing = "in s: Str\nout y: Str = default(y[1], s) ++ default(y[1], s)";
    assert_eq!(stopped(growing, &json!({"s": "0123456789"})), Code::VALUE_SIZE);
    let list = "in l: List<Int>\nout y: List<Int> = List.concat(default(y[1], l), default(y[1], l))";
    assert_eq!(stopped(list, &json!({"l": [1, 2, 3]})), Code::VALUE_SIZE);
    // A guard that drops it lets the tick end.
    let dropped = "in n: Int\nout y: Int = if n > 0 then n else fix(\\self: (Int -> Int), v: Int -> self(v + 1))(n)";
    assert_eq!(Run::new(dropped).outputs(&json!({"n": 1})).unwrap(), json!({"y": 1}));
}

#[test]
fn a_counter_and_a_mean_of_three_cost_less_than_200_bytes() {
    let mut run = Run::new("in x: Float\nout n: Int = default(n[1], 0) + 1\nout m: Float = (x + x[1] + x[2]) / 3.0");
    for _ in 0..5 {
        run.tick(&json!({"x": 1.5})).unwrap();
    }
    // The cells are one allocation, whose header the allocator adds.
    let bytes = run.monitor.memory() + 16;
    println!("{bytes} bytes");
    assert!(bytes < 200, "{bytes}");
    assert!(run.monitor.snapshot(&run.plan).len() < 100);
}

#[test]
fn a_long_delay_costs_by_what_it_holds() {
    let mut run = Run::new("in x: Int\nout y: Int = default(x[1000000], 0)");
    run.tick(&json!({"x": 1})).unwrap();
    assert!(run.monitor.memory() < 512, "{}", run.monitor.memory());
}

#[test]
fn the_largest_programs_are_planned_and_run() {
    let mut wide = "in x: Int\nout y0: Int = x\n".to_owned();
    for nth in 1..4_000 {
        wide.push_str(&format!(
            "out y{nth}: Int = y{} % 7 + default(y{nth}[1], 0) % 5 + (if x > {nth} then x else y{}[9] % 3)\n",
            nth - 1,
            nth / 2
        ));
    }
    let mut run = Run::new(&wide);
    for x in 0..20 {
        run.tick(&json!({"x": x})).unwrap();
    }
    let restored = millrace::dataflow::Monitor::restore(&run.plan, &run.monitor.snapshot(&run.plan)).unwrap();
    assert_eq!(restored.snapshot(&run.plan), run.monitor.snapshot(&run.plan));
    let transfer = millrace::dataflow::Transfer::new(&run.plan, &run.plan);
    assert!(transfer.streams.iter().all(|stream| stream.exact));
    // A function of many branches, nested and side by side.
    let chain = (0..800).map(|nth| format!("if v == {nth} then v * {nth} else ")).collect::<Vec<_>>().concat();
    let deep = format!("in l: List<Int>\nout y: List<Int> = List.map(\\v: Int -> {chain}0, l)");
    if lang::check(&deep).is_ok() {
        assert_eq!(Run::new(&deep).outputs(&json!({"l": [3, 799, 5_000]})).unwrap(), json!({"y": [9, 799 * 799, 0]}));
    }
}

#[test]
fn plans_are_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    const fn moved<T: Send>() {}
    shared::<Plan>();
    shared::<millrace::dataflow::Monitor>();
    moved::<millrace::dataflow::Scratch>();
    let plan = Arc::new(super::bed::plan("in s: Str\nin x: Int\nout y: Int = dynamic(s: Int, {x})"));
    std::thread::scope(|scope| {
        for nth in 0..4 {
            let plan = Arc::clone(&plan);
            scope.spawn(move || {
                let mut run = Run::of(plan);
                for text in 0..50 {
                    let got = run.outputs(&json!({"s": format!("x + {}", text % 7), "x": nth})).unwrap();
                    assert_eq!(got, json!({"y": nth + text % 7}));
                }
            });
        }
    });
}
