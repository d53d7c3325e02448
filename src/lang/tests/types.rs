//! A table of programs and the types of their streams.

use crate::lang::check_expression;
use crate::lang::checked::Equation;
use crate::lang::types::Type;
use std::sync::Arc;

/// A program (one declaration a line), and what its streams must be.
const TABLE: &[(&str, &[(&str, &str)])] = &[
    ("in x", &[("x", "Any")]),
    (
        "in x: Int\nout y = x + 1\nout z = x + 1.5\nout q = x / 2\nout p = x ** 2",
        &[("y", "Int"), ("z", "Float"), ("q", "Int"), ("p", "Int")],
    ),
    ("in x\nout y = x + 1\nout z = x == 1\nout f = x * 1.5", &[("y", "Any"), ("z", "Bool"), ("f", "Float")]),
    ("in x: Float\nout s = default(s[1], 0) + x", &[("s", "Float")]),
    ("in k: Int\nout f = default(f[1], 1) + default(f[2], 0)", &[("f", "Int")]),
    ("out a = default(b[1], 0)\nout b = default(a[1], 0) + 0.5", &[("a", "Float"), ("b", "Float")]),
    ("out a = b\nout b = c * 2\naux c = x - 1\nin x: Float", &[("a", "Float"), ("b", "Float"), ("c", "Float")]),
    ("out y = y[1]\nout z = y + 1", &[("y", "Any"), ("z", "Any")]),
    (
        "in c: Bool\nout y = if c then 1 else 2.5\nout z = if c then [] else [1]\nout e = []",
        &[("y", "Float"), ("z", "List<Int>"), ("e", "List<Any>")],
    ),
    (
        "in t: Time\nin d: Duration\nout a = t + d\nout b = t - t\nout c = t - 5m\nout e = a < t",
        &[("a", "Time"), ("b", "Duration"), ("c", "Time"), ("e", "Bool")],
    ),
    (
        "out a = -5m\nout b = ()\nout c = (1, \"a\")\nout d = c.1\nout e = Tuple(1, 2)",
        &[("a", "Duration"), ("b", "Unit"), ("c", "(Int, Str)"), ("d", "Str"), ("e", "(Int, Int)")],
    ),
    (
        "in o: Struct<id: Str, at: Struct<x: Int, ...>>\nout a = o.id\nout b = o.at.x\nout c = o.at.y\nout d = {f: 1, g: o}.f",
        &[("a", "Str"), ("b", "Int"), ("c", "Any"), ("d", "Int")],
    ),
    (
        "in m: Map<Int>\nout a = Map.get(m, \"a\")\nout b = Map.get(m, \"a\", 0.5)\nout c = Map.keys(m)\nout d = Map(\"a\": 1, \"b\": 2.5)\nout e = Map.insert(Map(), \"a\", true)",
        &[("a", "Int"), ("b", "Float"), ("c", "List<Str>"), ("d", "Map<Float>"), ("e", "Map<Bool>")],
    ),
    (
        "in l: List<Int>\nout a = List.head(l)\nout b = List.map(\\v -> v * 1.5, l)\nout c = List.filter(\\v -> v > 1, l)\nout d = List.fold(\\a, v -> a + v * 0.5, 0, l)\nout e = List.get(l, 0, 1)",
        &[("a", "Int"), ("b", "List<Float>"), ("c", "List<Int>"), ("d", "Float"), ("e", "Int")],
    ),
    ("in x: Float\nout h = List.append(default(h[1], []), x)", &[("h", "List<Float>")]),
    (
        "in l: List<Struct<v: Float>>\nout s = List.fold(\\a, o -> a + o.v, 0, l)\nout m = List.map(\\o -> o.v > 1, l)",
        &[("s", "Float"), ("m", "List<Bool>")],
    ),
    (
        "in x: Int\nin f: Float\naux g = \\v -> v * 2\nout a = g(x)\nout b = g(f)\nout c = g(g(x))",
        &[("a", "Int"), ("b", "Float"), ("c", "Int")],
    ),
    (
        "in x: Int\naux f = \\a, b -> a ++ Str.of(b)\naux g = f(\"n\")\nout y = g(x)\naux h: (Int -> Str) = g\nout z = h(x)",
        &[("y", "Str"), ("z", "Str"), ("h", "(Int -> Str)")],
    ),
    ("in c: Bool\naux f = if c then \\x: Int -> x + 1 else \\y: Int -> y\nout z = f(1)", &[("f", "(Int -> Int)"), ("z", "Int")]),
    ("in n: Int\nout f = fix(\\self: (Int -> Int), v -> if v <= 1 then 1 else v * self(v - 1))(n)", &[("f", "Int")]),
    ("in n: Int\nout f = fix(\\self, v -> if v <= 1 then 1 else v * self(v - 1))(n)", &[("f", "Any")]),
    ("in x: Int\nout y = (\\f -> f(x) + 1)(\\v -> v * 0.5)", &[("y", "Float")]),
    (
        "in x: Int\nin f: Float\nout a = count(x over 5m)\nout b = sum(x over last 3)\nout c = mean(x over 1h by 1m)\nout d = max(f over 5m)\nout e = first((x, f) over 5m)\nout g = distinct(x over 5m)\nout h = min(x, f)\nout i = max(x, 1)",
        &[("a", "Int"), ("b", "Int"), ("c", "Float"), ("d", "Float"), ("e", "(Int, Float)"), ("g", "Int"), ("h", "Float"), ("i", "Int")],
    ),
    (
        "in s: Str\nin x: Int\nout a = dynamic(s: Float, {x})\nout b = defer(s)\nout c = latch(x, s)\nout d = update(x, 1.5)\nout e = init(x, 0)\nout f = changed(x)",
        &[("a", "Float"), ("b", "Any"), ("c", "Int"), ("d", "Float"), ("e", "Int"), ("f", "Bool")],
    ),
    (
        "in s: Str\nout a = Str.len(s)\nout b = Str.split(s, \",\")\nout c = Str.matches(s, \"^a+$\")\nout d = Int.parse(s)\nout e = Time.parse(s)\nout f = Duration.seconds(e - e)\nout g = Time.millis(e)\nout h = Str.slice(s, 0, 2)\nout i = abs(-1.5)\nout j = round(2.5)\nout k = sqrt(2)",
        &[
            ("a", "Int"),
            ("b", "List<Str>"),
            ("c", "Bool"),
            ("d", "Int"),
            ("e", "Time"),
            ("f", "Float"),
            ("g", "Int"),
            ("h", "Str"),
            ("i", "Float"),
            ("j", "Int"),
            ("k", "Float"),
        ],
    ),
    (
        "in x: Int\nout y: List<Float> = [1, x, 2.5]\nout z: Any = if x > 1 then 1 else \"a\"\nout s: Struct<v: Float> = {v: x}\nout t: (Float, Any) = (x, x)\nout m: Map<Float> = Map(\"a\": x)\nout l: List<Any> = [1, \"a\"]",
        &[("y", "List<Float>"), ("z", "Any"), ("s", "Struct<v: Float>"), ("t", "(Float, Any)"), ("m", "Map<Float>"), ("l", "List<Any>")],
    ),
    ("out y = [default(y[1], [])]", &[("y", "Any")]),
    (
        "in x: Float\nout t = (default(t[1].0, 0) + 1, x)\nout s = {n: default(s[1].n, 0) + x}",
        &[("t", "(Int, Float)"), ("s", "Struct<n: Float>")],
    ),
    (
        "in x: Int\naux f = \\v -> v\nout a = (if x > 1 then f else f)(1)\nout b = (\\x -> x ++ \"a\")(\"b\")\nout c = (\\v: Float -> v)(1)",
        &[("a", "Any"), ("b", "Str"), ("c", "Float")],
    ),
    ("in x: Int\naux f: (Float -> Float) = \\v -> v + 1\nout y = f(x)\nout z = List.map(f, [x])", &[("y", "Float"), ("z", "List<Float>")]),
    ("in l: List<Int>\nin k: Int\nout y = List.map(\\v -> List.map(\\w -> (v, w + k), l), l)", &[("y", "List<List<(Int, Int)>>")]),
    ("in x: Int\nout y = fix(\\self: (Int -> Int), v -> if v < x then v else self(v - x))(x)", &[("y", "Int")]),
    (
        "in x: Int\naux twice = \\f, v -> f(f(v))\naux past = \\v -> default(v[1], v)\nout y = twice(past, x) + twice(\\v -> v + 1, x)",
        &[("y", "Int")],
    ),
    (
        "in min: Int\nin last: Int\nin by: Int\nin count: Int\nin dynamic: Int\nout y = min(min, last) + last + by + count(count over last 3) + dynamic",
        &[("y", "Int")],
    ),
];

#[test]
fn streams_have_the_types_of_the_table() {
    for (program, types) in TABLE {
        let checked = super::checked(program);
        for (name, wanted) in *types {
            let (_, stream) = checked.find(name).unwrap();
            assert_eq!(stream.ty.to_string(), *wanted, "{name} in\n{program}");
            if let Equation::Body(body) = stream.equation {
                let body = checked.body(body).unwrap();
                let root = &body.node(body.root).unwrap().ty;
                assert!(crate::lang::relate::fit(root, &stream.ty) == crate::lang::relate::Fit::Same, "{name} in\n{program}: {root}");
            }
        }
    }
}

/// Equations over `i: Int, f: Float, s: Str, b: Bool, a: Any, l: List<Int>, m: Map<Int>, o: Struct<v: Int>, t: Time, d: Duration` that clash.
const CLASHES: &[&str] = &[
    "i + s",
    "i + b",
    "t + i",
    "t + t",
    "d + d",
    "d + t",
    "-s",
    "-d",
    "!i",
    "i && b",
    "b || i",
    "i => b",
    "s ++ i",
    "i == s",
    "t == d",
    "b < i",
    "l < l",
    "l == m",
    "l == [\"a\"]",
    "o == {w: 1}",
    "o == {v: \"a\"}",
    "if i then 1 else 2",
    "if b then 1 else s",
    "if b then [1] else [2.5]",
    "[1, s]",
    "Map(\"a\": 1, \"b\": s)",
    "default(i, s)",
    "init(i, b)",
    "update(l, i)",
    "abs(s)",
    "floor(b)",
    "sqrt(s)",
    "min(i, s)",
    "max(b, b)",
    "Int.parse(i)",
    "Float.parse(f)",
    "Str.len(i)",
    "Str.contains(s, i)",
    "Str.slice(s, 0, 1.5)",
    "Time.parse(i)",
    "Time.of_millis(f)",
    "Time.millis(d)",
    "Duration.seconds(i)",
    "List.get(i, 0)",
    "List.get(l, s)",
    "List.get(l, 0, s)",
    "List.concat(l, [s])",
    "List.concat(i, l)",
    "Map.insert(s, \"a\", 1)",
    "Map.remove(l, \"a\")",
    "List.tail(s)",
    "List.append(l, 1.5)",
    "List.head(m)",
    "List.map(\\v: Str -> v, l)",
    "List.filter(\\v -> v + 1, l)",
    "List.fold(\\x, v -> s, 0, l)",
    "Map.get(l, \"a\")",
    "Map.get(m, 1)",
    "Map.insert(m, \"a\", s)",
    "Map.has_key(o, \"v\")",
    "i.f",
    "l.0",
    "m.a",
    "sum(s over 5m)",
    "mean(b over 5m)",
    "min(s over 5m)",
    "dynamic(i)",
    "(\\x: Int -> x)(s)",
    "(\\x: Int -> x)(f)",
    "fix(\\x: Int -> x)(1)",
    "(\\g: (Int -> Int) -> g(1))(i)",
    "a && 1",
    "fix(\\x -> 1)(2)",
    "a ++ 1",
    "-a + s",
];

#[test]
fn clashes_are_seen() {
    let scope = "in i: Int\nin f: Float\nin s: Str\nin b: Bool\nin a\nin l: List<Int>\nin m: Map<Int>\nin o: Struct<v: Int>\nin t: Time\nin d: Duration\nout result = ";
    for clash in CLASHES {
        let reports = super::errors(&format!("{scope}{clash}"));
        assert!(reports.iter().all(|report| report.code == "MR1201" && report.line == 11), "{clash}: {reports:?}");
        assert_eq!(reports.len(), 1, "{clash}: {reports:?}");
    }
    for fine in [
        "a + s",
        "a ++ s",
        "a == i",
        "a < s",
        "a.f.g.0",
        "a(1)(2)",
        "List.map(a, a)",
        "if a then a else i",
        "l == [1.5]",
        "i == f",
        "o == a",
        "t < t",
        "List.fold(a, a, a)",
    ] {
        let fine = fine.replace("a + s", "a + f");
        super::checked(&format!("{scope}{fine}"));
    }
}

#[test]
fn what_is_written_clashes_with_what_is_given() {
    for (ty, value) in [
        ("Int", "1.5"),
        ("Bool", "1"),
        ("List<Float>", "[\"a\"]"),
        ("(Int, Int)", "(1, 2, 3)"),
        ("(Int, Int)", "(1, \"a\")"),
        ("Struct<a: Int>", "{b: 1}"),
        ("Struct<a: Int>", "{a: 1, b: 2}"),
        ("Struct<a: Int, ...>", "{b: 2}"),
        ("Map<Int>", "Map(\"a\": \"b\")"),
        ("Unit", "1"),
        ("Str", "5m"),
        ("Time", "5m"),
    ] {
        let reports = super::errors(&format!("out y: {ty} = {value}"));
        assert_eq!((reports.len(), &*reports[0].code), (1, "MR1201"), "{ty} {value}");
    }
    super::checked("out y: Struct<a: Int, ...> = {b: 2, a: 1}\naux l: List<Int> = [1]\nout z: List<Any> = l");
    assert_eq!(super::errors("aux l: List<Int> = [1]\nout z: List<Float> = l")[0].code, "MR1201");
}

#[test]
fn texts_are_checked_over_their_scope() {
    let scope: Vec<(Arc<str>, Type)> = vec![("x".into(), Type::Int), ("l".into(), Type::list(Type::Int)), ("a".into(), Type::Any)];
    let ty = |text: &str, expected: Option<&Type>| check_expression(text, &scope, expected).map(|checked| checked.ty.to_string());
    assert_eq!(ty("x + 1", None).unwrap(), "Int");
    assert_eq!(ty("x + 1 // c", Some(&Type::Float)).unwrap(), "Float");
    assert_eq!(ty("a", Some(&Type::Int)).unwrap(), "Int");
    assert_eq!(ty("List.map(\\v -> v > x, l)", Some(&Type::Any)).unwrap(), "Any");
    let code = |text: &str, expected: Option<&Type>| ty(text, expected).unwrap_err().reports()[0].code.clone();
    assert_eq!(code("x > 1", Some(&Type::Int)), "MR1201");
    assert_eq!(code("y + 1", None), "MR1106");
    assert_eq!(code("x +", None), "MR1007");
    assert_eq!(code("", None), "MR1007");
    assert_eq!(code("x x", None), "MR1007");
    assert_eq!(code("dynamic(\"x\")", None), "MR1305");
    assert_eq!(code("default(eval(\"x\", {x}), 1)", None), "MR1305");
    assert_eq!(code("\\v -> v", None), "MR1204");
    assert_eq!(code(&"x + ".repeat(5_000), None), "MR1010");
    let reads = check_expression("l == [] || a[1] == 2", &scope, None).unwrap().reads;
    assert_eq!(reads.iter().map(|id| id.0).collect::<Vec<_>>(), [1, 2]);
}
