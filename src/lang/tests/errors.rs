//! Every code, its place and its hint.

use super::errors;
use crate::lang::codes::CODES;

/// A program with one error: the text, the code, line and column, a part of the message, a part of the hint.
type Case = (&'static str, &'static str, (usize, usize), &'static str, &'static str);

const CASES: &[Case] = &[
    ("in x: Int\nout y = x ? 1", "MR1001", (2, 11), "`?`", "if c then a else b"),
    ("in x: Int\nout y = x | 1", "MR1001", (2, 11), "`|`", "`||`"),
    ("out y = \"abc\nout z = 1", "MR1002", (1, 9), "not closed", "`\\n`"),
    ("out y = \"a\\qb\"", "MR1003", (1, 11), "", "\\u"),
    ("out y = \"\\ud800\"", "MR1003", (1, 10), "", "escapes"),
    ("in x: Int (* (* *)", "MR1004", (1, 11), "not closed", "`*)`"),
    ("out y = 12abc", "MR1005", (1, 9), "12abc", "`1h30m`"),
    ("out y = 0x1f", "MR1005", (1, 9), "0x1f", "decimal"),
    ("out y = 5m1h", "MR1005", (1, 9), "do not fall", "`1h30m`"),
    ("out y = 1m1m", "MR1005", (1, 9), "do not fall", ""),
    ("out y = 9223372036854775808", "MR1006", (1, 9), "too large", "Float"),
    ("out y = 1e999", "MR1006", (1, 9), "too large", ""),
    ("out y = 999999999999d", "MR1006", (1, 9), "too large", ""),
    ("in x: Int\nout y = if x == 1 then 2", "MR1007", (2, 25), "`else`", "both branches"),
    ("in x: Int\nout y = if x = 1 then 2 else 3", "MR1007", (2, 14), "found `=`", "`==`"),
    ("in x: Int\nout y == x", "MR1007", (2, 7), "found `==`", "one `=`"),
    ("in x: Int\ny: Int = x", "MR1007", (2, 1), "`in`, `out` or `aux`", "begins with"),
    ("in p: Bool\nout y = p and p", "MR1007", (2, 11), "`and`", "`&&`"),
    ("out y = .5", "MR1007", (1, 9), "found `.`", "`0.5`"),
    ("in x Int", "MR1007", (1, 6), "`Int`", "`:`"),
    ("in m: Map<Str, Int>", "MR1007", (1, 14), "`,`", "Map<Int>"),
    ("in x: Int\nout y = (x + 1", "MR1008", (2, 9), "not closed", ""),
    ("in x: Int\nout y = x + 1)", "MR1008", (2, 14), "closes nothing", ""),
    ("in if: Int", "MR1011", (1, 4), "`if`", "fields"),
    ("in Int: Int", "MR1011", (1, 4), "`Int`", ""),
    ("in x: Int\nout y = x over 5m", "MR1012", (2, 11), "only in an aggregate", "sum(x over 5m)"),
    ("in x: Int\nout y = avg(x over 5m)", "MR1012", (2, 15), "only in an aggregate", "count sum mean min max"),
    ("in x: Int\nout y = sum(x)", "MR1012", (2, 9), "needs a window", "over 5m"),
    ("in x: Int\nout y = default(x)", "MR1013", (2, 9), "takes 2 arguments", ""),
    ("in x: Int\nout y = min(x)", "MR1013", (2, 9), "takes 2 arguments", "over 5m"),
    ("in x: Int\nout y = List.get([x])", "MR1013", (2, 9), "2 or 3", ""),
    ("in x: Int\nout y = Tuple(x)", "MR1013", (2, 14), "two places", ""),
    ("in x: Int\nin x: Str", "MR1101", (2, 4), "declared twice", ""),
    ("in x: Int\nx = 1", "MR1102", (2, 1), "is an input", "`out` or `aux`"),
    ("in x: Int = 1", "MR1102", (1, 4), "is an input", ""),
    ("in rate: Int\nrated = rate", "MR1103", (2, 1), "no declaration", "did you mean `rate`"),
    ("in x: Int\nlimit = x", "MR1103", (2, 1), "no declaration", "out limit"),
    ("out y: Int", "MR1104", (1, 5), "no equation", "`y = …`"),
    ("out y: Int = 1\ny = 2", "MR1105", (2, 1), "two equations", ""),
    ("in temperature: Int\nout y = temprature", "MR1106", (2, 9), "`temprature`", "did you mean `temperature`"),
    ("in x: Int\nout y = abs + x", "MR1106", (2, 9), "`abs`", "`abs(…)`"),
    ("in x: Int\nout y = defalt(x, 1)", "MR1106", (2, 9), "`defalt`", "`default`"),
    ("in x: Int\nout y = x == null", "MR1106", (2, 14), "`null`", "is_present(x)"),
    ("in x: Int\nin hot: Bool\nout y = prev(x)", "MR1106", (3, 9), "`prev`", "x[1]"),
    ("in s: Str\nout y = len(s)", "MR1106", (2, 9), "`len`", "Str.len(s)"),
    ("in hot: Bool\nout y = TRUE", "MR1106", (2, 9), "`TRUE`", "`true`"),
    ("in x: String", "MR1107", (1, 7), "`String`", "did you mean `Str`"),
    ("in x: List", "MR1107", (1, 7), "`List` alone", "List<Int>"),
    ("in x: Int<Int>", "MR1107", (1, 7), "no parts", "`Int` alone"),
    ("out y = {a: 1, a: 2}", "MR1108", (1, 16), "`a`", ""),
    ("out y = Map(\"a\": 1, \"a\": 2)", "MR1108", (1, 21), "`a`", ""),
    ("aux f = \\v, v -> v\nout y = f(1, 2)", "MR1108", (1, 13), "`v`", ""),
    ("in x: Struct<a: Int, a: Int>", "MR1108", (1, 22), "`a`", ""),
    ("in s: Str\nin x\nout y = dynamic(s, {x, x})", "MR1108", (3, 24), "`x`", ""),
    (
        "in x: Int\nout a = b + 1\naux b = c - x\naux c = a * 2",
        "MR1109",
        (2, 9),
        "`a` -> `b` -> `c` -> `a`",
        "in `c` write `default(a[1], …)`",
    ),
    ("out y = default(y, 0) + 1", "MR1109", (1, 17), "`y` -> `y`", "`default(y[1], …)`"),
    ("in x: Int\naux f = \\v -> if v < 1 then 0 else f(v - 1)\nout y = f(x)", "MR1109", (2, 36), "`f` -> `f`", "`fix`"),
    ("in l: List<Int>\nout y = List.length(l)", "MR1110", (2, 9), "`List.length`", "`List.len`"),
    ("in l: List<List<Int>>\nout y = List.map(List.len, l)", "MR1110", (2, 18), "always called", "List.len(x)"),
    ("in s: Str\nout y = dynamic(s, {y})", "MR1111", (2, 21), "computes", "aux past"),
    ("in s: Str\naux f = \\v -> v\nout y = dynamic(s, {f})", "MR1111", (3, 21), "function", ""),
    ("in x: Int\nout y = x + \"a\"", "MR1201", (2, 11), "Int and Str", "`++`"),
    ("in x: Float\nout y: Int = x", "MR1201", (2, 14), "must be Int", "round"),
    ("in o: Struct<amount: Float>\nout y = o.amuont", "MR1202", (2, 11), "`amuont`", "did you mean `amount`"),
    ("out y = (1, 2).2", "MR1202", (1, 16), "no place 2", "from 0"),
    ("in x: Int\nout y = x(1)", "MR1203", (2, 9), "Int is no function", "operator"),
    ("aux f = \\v: Int -> v\nout y = f(1, 2)", "MR1203", (1, 20), "Int is no function", "argument"),
    ("aux f = \\v -> v\nout y = f == f", "MR1204", (2, 9), "not compared", "call it"),
    ("aux f = \\v -> v\naux g = f[1]\nout y = g(1)", "MR1204", (2, 9), "not delayed", ""),
    ("aux f = \\v -> v\nout y = [f]", "MR1204", (2, 10), "not collected", ""),
    ("out f = \\v: Int -> v", "MR1204", (1, 5), "cannot be `out`", "`aux`"),
    ("in f: (Int -> Int)", "MR1204", (1, 4), "cannot be `in`", ""),
    ("in f: List<(Int -> Int)>", "MR1204", (1, 7), "not collected", ""),
    ("out y = (\\f -> f(f))(\\f -> f(f))", "MR1206", (1, 9), "without end", "`fix`"),
    ("in x: Int\nin n: Int\nout y = x[n]", "MR1301", (3, 11), "constant", "List.get"),
    ("in x: Int\nout y = x[-1]", "MR1301", (2, 11), "negative", "one tick ago"),
    ("in x: Int\nout y = x[1.0]", "MR1301", (2, 11), "constant", ""),
    ("in x: Int\nout y = x[2000000]", "MR1301", (2, 11), "at most", "window"),
    ("in s: Str\nout y = Str.matches(s, s)", "MR1302", (2, 24), "constant", "Str.contains"),
    ("in s: Str\nout y = Str.matches(s, \"(a\")", "MR1302", (2, 24), "unclosed group", ""),
    ("in s: Str\nout y = Str.matches(s, \"(?=a)\")", "MR1302", (2, 24), "", "look-around"),
    ("in x: Int\nout y = sum(x over 1h by 7s)", "MR1303", (2, 20), "whole number of panes", "by 7s"),
    ("in x: Int\nout y = sum(x over 0s)", "MR1303", (2, 20), "empty", ""),
    ("in x: Int\nout y = sum(x over last 0)", "MR1303", (2, 25), "nothing", ""),
    ("in l: List<Int>\nout y = List.map(\\v -> v[1], l)", "MR1304", (2, 24), "no state", "aux"),
    ("in l: List<Int>\nout y = List.filter(\\v -> sum(v over 5m) > 1, l)", "MR1304", (2, 27), "no state", ""),
    ("in x: Int\naux f = \\v -> v - v[1]\nout y = List.map(f, [x])", "MR1304", (2, 19), "no state", ""),
    ("in p: Bool\naux f = \\v -> v[1]\naux g = if p then f else f\nout y = g(1)", "MR1304", (2, 15), "no state", "aux"),
    ("in l: List<Int>\naux f = \\v -> v[1]\nout y = List.map(\\v -> f(v), l)", "MR1304", (2, 15), "no state", "aux"),
    ("in l: List<Int>\nout y = (\\g -> List.map(g, l))(\\v -> v[1])", "MR1304", (2, 38), "no state", "aux"),
    ("in x: Int\nout y = fix(\\self, v -> latch(v, x))(x)", "MR1304", (2, 25), "no state", ""),
];

#[test]
fn every_error_has_its_code_place_and_hint() {
    let mut faults = String::new();
    for (text, code, place, message, hint) in CASES {
        let reports = errors(text);
        let [report] = reports.as_slice() else {
            faults.push_str(&format!("{text}\n{reports:#?}\n"));
            continue;
        };
        let told = report.hint.clone().unwrap_or_default();
        let right =
            report.code == *code && (report.line, report.column) == *place && report.message.contains(message) && told.contains(hint);
        if !right || (report.end_line, report.end_column) < *place || report.severity != "error" {
            faults.push_str(&format!("{text}\n{report:?}\n"));
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn every_code_is_produced() {
    let elsewhere = ["MR1009", "MR1010", "MR1205", "MR1305", "MR1901", "MR1902"]; // tests `deep`, `types`, and below
    for entry in CODES {
        let code = entry.code.to_string();
        assert!(elsewhere.contains(&&*code) || CASES.iter().any(|case| case.1 == code), "{code}");
    }
}

#[test]
fn five_mistakes_are_reported_together_by_place() {
    let text = "in  order:  Struct<id: Str, amount: Float>
in  limit:  Flaot
out large:  Bool  = order.amuont > limit
aux total        = total + order.amount
out alarm:  Bool  = if large then totl > 100.0
out text:   Str   = \"order \" + order.id
";
    let found = errors(text);
    let short: Vec<_> =
        found.iter().map(|report| (&*report.code, report.line, report.column, report.hint.as_deref().unwrap_or(""))).collect();
    assert_eq!(
        short,
        [
            ("MR1107", 2, 13, "did you mean `Float`?"),
            ("MR1202", 3, 27, "did you mean `amount`?"),
            (
                "MR1109",
                4,
                20,
                "delay the edge that closes it: in `total` write `default(total[1], …)`, with the first value in place of `…`"
            ),
            ("MR1007", 6, 1, "an `if` always has both branches: `if c then a else b`"),
            ("MR1201", 6, 30, "texts are joined with `++`, other values after `Str.of(…)`"),
        ]
    );
    let mended = "in order: Struct<id: Str, amount: Float>\nin limit: Float\nout large: Bool = order.amount > limit\naux total = default(total[1], 0.0) + order.amount
out alarm: Bool = if large then total > 100.0 else false\nout text: Str = \"order \" ++ order.id";
    assert!(super::checked(mended).warnings.is_empty());
}

#[test]
fn errors_are_drawn_with_their_lines() {
    let errors = crate::lang::check("in x: Int\nout y: Int = x + \"ä\" // c\n").unwrap_err();
    let drawn = errors.render("root.dsrv");
    assert!(drawn.starts_with("error[MR1201]: `+` does not go with Int and Str\n  --> root.dsrv:2:16\n"), "{drawn}");
    assert!(drawn.contains("2 | out y: Int = x + \"ä\" // c\n"), "{drawn}");
    assert!(drawn.is_ascii() || drawn.chars().all(|c| c != '\u{1b}'));
    assert_eq!(errors.to_string(), "2:16: MR1201: `+` does not go with Int and Str");
    let wide = format!("out y = \"{}\" + 1", "x".repeat(5_000));
    let drawn = crate::lang::check(&wide).unwrap_err().render("root.dsrv");
    assert!(drawn.len() < 300 && drawn.contains("--> root.dsrv:1:5012"), "{drawn}");
}

#[test]
fn what_is_unused_is_a_warning() {
    let text = "in x: Int\naux past = x[1]\nout y = x";
    let checked = super::checked(text);
    assert_eq!(checked.warnings.len(), 1);
    assert!(crate::lang::diagnostic::render(text, "r.dsrv", &checked.warnings).starts_with("warning[MR1901]: `past` is read by nothing"));
    let text = "in x: Int\nout y = if (y[1] + x) * 2 > 1 then 1 else 2\nout z = if x > 1 then z[1] else default(z[1], 0) + x";
    let checked = super::checked(text);
    assert_eq!(checked.warnings.len(), 1);
    let warning = crate::lang::diagnostic::render(text, "r.dsrv", &checked.warnings);
    assert!(warning.starts_with("warning[MR1902]: `y` never has a value") && warning.contains("`default(y[1], …)`"), "{warning}");
    assert!(super::checked("in s: Str\nin x: Int\naux past = x[1]\nout y = dynamic(s)").warnings.is_empty());
}
