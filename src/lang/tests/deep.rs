//! Bounds: nothing overflows the stack, and nothing takes long.

use crate::lang::{check, check_expression, format};

const MANY: usize = 100_000;

/// Texts that nest or go on for long.
fn texts() -> Vec<String> {
    let nest = |open: &str, inner: &str, close: &str, times: usize| format!("{}{inner}{}", open.repeat(times), close.repeat(times));
    let mut texts = Vec::new();
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a: ", "}"),
        ("(1, ", ")"),
        ("Map(\"k\": ", ")"),
        ("\\x -> ", ""),
        ("\\f: (Int -> Int), x -> ", ""),
        ("if true then ", " else 1"),
        ("if ", " then 1 else 1"),
        ("if true then 1 else ", ""),
        ("-", ""),
        ("!", ""),
        ("- !", ""),
        ("abs(", ")"),
        ("List.map(\\v -> ", ", [1])"),
        ("(\\v -> ", ")(1)"),
        ("List.fold(\\a, v -> ", ", 0, [1])"),
        ("List.fold(\\a, v -> a + ", " * 0.5, x, [v])"),
        ("(\\f, v -> f(v) + ", ")(\\w -> w + 1, 1)"),
        ("fix(\\f -> ", ")"),
        ("default(x, ", ")"),
        ("sum(", " over 5m)"),
        ("dynamic(", ")"),
        ("dynamic(x: ", ", {x})"),
        ("x[", "]"),
        ("x(", ")"),
        ("(\\x -> x)(", ")"),
        ("1 + (", ")"),
        ("true => ", ""),
        ("2 ** ", ""),
        ("\"a\" ++ ", ""),
        ("1 + ", ""),
        ("1 == ", ""),
        ("true && ", ""),
    ] {
        for times in [60, 90, MANY] {
            texts.push(format!("in x: Int\nout y = {}", nest(open, "x", close, times)));
        }
        texts.push(format!("in x: Int\nout y = {}", open.repeat(90)));
        texts.push(format!("in x: Int\nout y = {}", close.repeat(90)));
    }
    for tail in ["[1]", "(1)", ".f", ".0", " + 1", " - x", " * x + x", " && true", " == 1", " ++ \"a\"", " => true", "[1] + 1", "(1)[1].f"]
    {
        for times in [90, 900, MANY] {
            texts.push(format!("in x: Int\nin p\nout y = x{}\nout z = p{0}", tail.repeat(times)));
        }
    }
    for (open, close) in
        [("List<", ">"), ("(", ")"), ("(Int, ", ")"), ("(Int -> ", ")"), ("(", " -> Int)"), ("Struct<a: ", ">"), ("Map<", ">")]
    {
        texts.push(format!("in x: {}", nest(open, "Int", close, MANY)));
        for times in [60, 90, 200] {
            texts.push(format!("aux x: {} = x[1]\nout y = x == x", nest(open, "Int", close, times)));
            texts.push(format!("out y = \\x: {} -> x", nest(open, "Int", close, times)));
        }
    }
    texts.push(format!("aux f: (Int{}) = \\x -> x", " -> Int".repeat(MANY)));
    texts.push(format!("out y = \\{} -> x", vec!["x"; MANY].join(", ")));
    texts.push(format!("out y = [{}]", "1, ".repeat(MANY)));
    texts.push(nest("(*", "", "*)", MANY));
    texts.push("(*".repeat(MANY));
    texts.push("// x\n".repeat(MANY));
    texts.push("\"".repeat(MANY));
    texts.push("@".repeat(MANY));
    texts.push(format!("out y = \"{}\"", "\\n\\q".repeat(MANY)));
    texts.push("in x ".repeat(MANY));
    texts.push("in in ".repeat(MANY));
    texts.push("y = y ".repeat(MANY));
    texts.push("1.5e".repeat(MANY));
    texts.push("x".repeat(MANY * 2));
    texts.push("x ".repeat(MANY));
    texts.push("a".repeat(2 << 20));
    texts
}

#[test]
fn nothing_overflows_the_stack_or_hangs() {
    for text in texts() {
        let start: String = text.chars().take(60).collect();
        let scope = [("x".into(), crate::lang::types::Type::Int)];
        let (laid_out, checked) = (format(&text), check(&text));
        if let Ok(laid_out) = laid_out {
            assert_eq!(format(&laid_out).unwrap(), laid_out, "{start}");
        } else {
            assert!(checked.is_err(), "{start}");
        }
        if let Err(errors) = checked {
            assert!(!errors.render("x").is_empty() && !errors.reports().is_empty() && errors.list().len() <= 100);
        }
        let expression = text.split_once("out y = ").map_or(&*text, |(_, expression)| expression);
        drop(check_expression(expression, &scope, None).map_err(|errors| errors.render("x")));
    }
}

#[test]
fn what_is_nested_within_reason_is_accepted() {
    let nested = |times: usize| format!("in x: Int\nout y: Int = {}x{}", "(".repeat(times), ")".repeat(times));
    assert!(check(&nested(90)).is_ok());
    assert_eq!(super::errors(&nested(200))[0].code, "MR1009");
    let sum = |times: usize| format!("in x: Int\nout y: Int = x{}", " + x".repeat(times));
    assert!(check(&sum(900)).is_ok());
    let report = &super::errors(&sum(5_000))[0];
    assert_eq!((&*report.code, report.line), ("MR1009", 2));
    let branches = |times: usize| format!("in x: Int\nout y: Int = {}0", "if x > 1 then 1 else ".repeat(times));
    assert!(check(&branches(900)).is_ok());
    assert_eq!(super::errors(&branches(2_000))[0].code, "MR1009");
}

#[test]
fn expansions_end() {
    for text in [
        "out y = (\\f -> f(f))(\\f -> f(f))",
        "out y = (\\f -> f(f) + f(f))(\\f -> f(f) + f(f))",
        "out y = (\\f -> \\x -> f(f)(x))(\\f -> \\x -> f(f)(x))(1)",
        "out y = (\\f, x -> f(f, x) + f(f, x))(\\f, x -> f(f, x) + f(f, x), 1)",
    ] {
        assert_eq!(super::errors(text)[0].code, "MR1206", "{text}");
    }
    let doubling = |times: usize| {
        let mut text = "aux f0 = \\v -> v + 1\n".to_owned();
        (1..=times).for_each(|at| text.push_str(&format!("aux f{at} = \\v -> f{0}(v) + f{0}(v)\n", at - 1)));
        text + &format!("in x: Int\nout y: Int = f{times}(x)")
    };
    assert!(check(&doubling(8)).is_ok());
    let reports = super::errors(&doubling(40));
    assert!(reports.iter().all(|report| report.code == "MR1206"), "{reports:?}");
    let pairs = |times: usize| {
        let mut text = "in x: Int\naux p0 = (x, x)\n".to_owned();
        (1..=times).for_each(|at| text.push_str(&format!("aux p{at} = (p{0}, p{0})\n", at - 1)));
        text + &format!("out y = p{times} == p{times}")
    };
    assert!(check(&pairs(8)).is_ok());
    assert_eq!(super::errors(&pairs(40))[0].code, "MR1205");
    let growing = "in x: Int\nout y = [default(y[1], [])]\nout z = (x, z[1])\nout m = Map(\"a\": m[1])";
    assert!(check(growing).is_ok());
}

#[test]
fn large_roots_are_checked_in_reasonable_time() {
    // Every stream reads the next one, against the declared order, and all types are inferred.
    let mut chain = String::new();
    (0..4_000).for_each(|at| chain.push_str(&format!("aux s{at} = s{} + default(s{at}[1], 0)\n", at + 1)));
    let checked = super::checked(&format!("{chain}in s4000: Float\nout y = s0"));
    assert!(checked.streams.iter().all(|stream| stream.ty == crate::lang::types::Type::Float));
    assert_eq!(checked.order.len(), 4_001);
    // A ring without an inferable type, and one through every stream.
    let mut ring = String::new();
    (0..4_000).for_each(|at| ring.push_str(&format!("aux r{at} = r{}[1]\n", (at + 1) % 4_000)));
    assert!(check(&format!("{ring}out y = r0")).is_ok());
    let cycles = ring.replace("[1]", "");
    assert_eq!(super::errors(&cycles)[0].code, "MR1109");
    let mut unlisted = "in s: Str\n".to_owned();
    (0..200).for_each(|at| unlisted.push_str(&format!("out d{at} = dynamic(s)\n")));
    assert!(check(&unlisted).is_ok());
    (200..1_000).for_each(|at| unlisted.push_str(&format!("out d{at} = dynamic(s)\n")));
    assert_eq!(super::errors(&unlisted)[0].code, "MR1010");
    let lines = |times: usize, line: &dyn Fn(usize) -> String| (0..times).map(line).collect::<String>();
    let unknown = lines(4_000, &|at| format!("out a_rather_long_name_{at} = b_rather_long_name_{at}\n"));
    assert!(super::errors(&unknown).len() == 100);
    let many = lines(5_000, &|at| format!("in i{at}\n"));
    assert_eq!(super::errors(&many)[0].code, "MR1010");
}
