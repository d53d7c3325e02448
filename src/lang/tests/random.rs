//! Generated texts: nothing panics, layout changes nothing, what is well typed is accepted.

use crate::lang::{check, check_expression, format, parse};
use proptest::prelude::*;

/// Words from which roots are made, and some that have no place in them.
const WORDS: &[&str] = &[
    "in",
    "out",
    "aux",
    "var",
    "x",
    "y",
    "z",
    "x",
    "y",
    ":",
    "=",
    "=",
    "Int",
    "Float",
    "Str",
    "List<Int>",
    "Map",
    "Struct<a: Int, ...>",
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    "[1]",
    "{",
    "}",
    ",",
    ".",
    ".0",
    "\\",
    "\\v ->",
    "->",
    "if",
    "then",
    "else",
    "over",
    "over 5m",
    "over last 3",
    "sum(",
    "default(",
    "dynamic(",
    "fix(",
    "List.map(",
    "Map.get(",
    "List.",
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "++",
    "&&",
    "||",
    "=>",
    "==",
    "!=",
    "<=",
    ">=",
    "!",
    "1",
    "1.5",
    "1e3",
    "\"a\"",
    "\"",
    "5m",
    "1h30m",
    "5x",
    "true",
    "()",
    "// c\n",
    "(* c *)",
    "(*",
    "*)",
    "\n",
    "@",
    "ä",
    "...",
    "99999999999999999999",
];

fn soup() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec![" ", " ", "\n", ""]);
    let words = prop::collection::vec((prop::sample::select(WORDS), blank), 0..80);
    words.prop_map(|words| words.into_iter().map(|(word, blank)| format!("{word}{blank}")).fold(String::new(), |text, word| text + &word))
}

/// What the formatter keeps: the tree without places.
fn tree(text: &str) -> String {
    let spans = regex::Regex::new(r"@\d+\.\.\d+").unwrap();
    let root = parse(text).unwrap_or_else(|errors| panic!("{text}\n{}", errors.render("random")));
    spans.replace_all(&format!("{root:?}"), "").into_owned()
}

fn all(text: &str) {
    let checked = check(text);
    if let Err(errors) = &checked {
        assert!(!errors.list().is_empty() && !errors.render("r").is_empty());
        for report in errors.reports() {
            assert!(report.line > 0 && report.column > 0 && (report.end_line, report.end_column) >= (report.line, report.column));
        }
    }
    let scope = [("x".into(), crate::lang::types::Type::Int), ("y".into(), crate::lang::types::Type::Any)];
    assert!(check_expression(text, &scope, None).is_ok_and(|checked| !checked.bodies.is_empty()) || !text.is_empty() || checked.is_ok());
    if let Ok(laid_out) = format(text) {
        assert_eq!(tree(&laid_out), tree(text));
        assert_eq!(format(&laid_out).unwrap(), laid_out);
        assert_eq!(check(&laid_out).is_ok(), checked.is_ok());
    } else {
        assert!(checked.is_err());
    }
}

/// Something between two tokens.
fn gap() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        " ",
        " ",
        " ",
        " ",
        "\n",
        "\n\n\n",
        "  ",
        " // c\n",
        " (* c *) ",
        "\n// own\n",
        "\n(* own *)\n",
        "\n(* a\n  b *) ",
        "\r\n",
    ])
    .prop_map(str::to_owned)
}

fn ty() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["Int", "Float", "Str", "Bool", "Any", "Time", "Duration", "Unit"]).prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("List < {a} >")),
            inner.clone().prop_map(|a| format!("Map < {a} , >")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("( {a} , {b} )")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("( {a} -> {b} )")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("Struct < in : {a} , b : {b} , ... >")),
        ]
    })
}

/// Any expression of the grammar, its tokens between blanks.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["x", "y", "1", "- 1", "2.5", "- 0.5", "1e-3", "\"a // b\"", "true", "( )", "5m", "- 1h30m", "z"])
        .prop_map(str::to_owned);
    leaf.prop_recursive(6, 60, 4, |inner| {
        let op = prop::sample::select(vec!["+", "-", "*", "/", "%", "**", "++", "&&", "||", "=>", "==", "!=", "<", "<=", ">", ">="]);
        let closed = inner.clone().prop_map(|a| format!("( {a} )"));
        prop_oneof![
            (closed.clone(), op.clone(), inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (closed.clone(), op.clone(), closed.clone(), op, closed.clone()).prop_map(|(a, p, b, q, c)| format!("{a} {p} {b} {q} - {c}")),
            closed.clone().prop_map(|a| format!("! - {a} [ 2 ] . f . 0")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("if {c} then {a} else {b}")),
            (inner.clone(), ty()).prop_map(|(a, ty)| format!("\\ v : {ty} , w -> {a}")),
            (closed, inner.clone()).prop_map(|(f, a)| format!("{f} ( {a} , 1 , ) ( 2 )")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[ {a} , {b} , ]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ if : {a} , g : {b} }}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("Map ( \"k\" : {a} , \"l\" : {b} , )")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("Tuple ( {a} , {b} )")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("( {a} , {b} )")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("default ( {a} , List . get ( {b} , 0 ) )")),
            (inner.clone(), ty()).prop_map(|(a, ty)| format!("dynamic ( {a} : {ty} , {{ x , y }} )")),
            inner.clone().prop_map(|a| format!("defer ( {a} )")),
            inner.clone().prop_map(|a| format!("mean ( {a} over 1h by 10s )")),
            inner.prop_map(|a| format!("min ( {a} over last 3 , )")),
        ]
    })
}

/// A root, with blanks and comments of all kinds between its tokens.
fn root() -> impl Strategy<Value = String> {
    let items = prop::collection::vec(
        (prop::sample::select(vec!["in x", "out y", "aux z", "y", "var w"]), prop::option::of(ty()), expression()),
        1..5,
    );
    (items, prop::collection::vec(gap(), 64)).prop_map(|(items, gaps)| {
        let mut tokens = Vec::new();
        for (start, ty, value) in items {
            let ty = ty.filter(|_| start.contains(' ')).map(|ty| format!(" : {ty}")).unwrap_or_default();
            tokens.extend(
                format!("{start}{ty} = {value}")
                    .replace("\"a // b\"", "\"a_//_b\"")
                    .split(' ')
                    .map(|word| word.replace("a_//_b", "a // b")),
            );
        }
        let gaps = gaps.iter().cycle();
        tokens.iter().zip(gaps).fold(String::new(), |text, (token, gap)| text + token + gap)
    })
}

/// Well-typed expressions over `i: Int, f: Float, b: Bool, s: Str, l: List<Int>`: for each type a strategy one level up.
fn typed(levels: u32) -> [BoxedStrategy<String>; 5] {
    let leaf = |words: &[&'static str]| prop::sample::select(words.to_vec()).prop_map(str::to_owned).boxed();
    let leaves = [
        leaf(&["i", "1", "-7", "i[1]"]),
        leaf(&["f", "2.5", "i", "f[3]"]),
        leaf(&["b", "true", "b[1]"]),
        leaf(&["s", "\"t\""]),
        leaf(&["l", "[]", "[1, i]"]),
    ];
    if levels == 0 {
        return leaves;
    }
    let [int, float, bool, text, list] = typed(levels - 1);
    let next_int = prop_oneof![
        (int.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%", "**"]), int.clone())
            .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
        (bool.clone(), int.clone(), int.clone()).prop_map(|(c, a, b)| format!("(if {c} then {a} else {b})")),
        (list.clone(), int.clone()).prop_map(|(l, i)| format!("List.get({l}, {i}, {i})")),
        (list.clone(), int.clone()).prop_map(|(l, i)| format!("List.fold(\\a, v -> a + v + i, {i}, {l})")),
        float.clone().prop_map(|f| format!("round({f})")),
        (int.clone(), int.clone()).prop_map(|(a, b)| format!("(\\v -> v + {a})({b})")),
        text.clone().prop_map(|s| format!("Str.len({s})")),
        bool.clone().prop_map(|b| format!("count({b} over 5m)")),
    ];
    let next_float = prop_oneof![
        (float.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%", "**"]), float.clone())
            .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
        (bool.clone(), float.clone(), float.clone()).prop_map(|(c, a, b)| format!("(if {c} then {a} else {b})")),
        (float.clone(), int.clone()).prop_map(|(a, b)| format!("default({a}, {b})")),
        float.clone().prop_map(|f| format!("mean({f} over last 4)")),
        float.clone().prop_map(|f| format!("sqrt({f})")),
    ];
    let next_bool = prop_oneof![
        (int.clone(), prop::sample::select(vec!["<", "==", ">=", "!="]), float.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
        (bool.clone(), prop::sample::select(vec!["&&", "||", "=>", "=="]), bool.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
        bool.clone().prop_map(|b| format!("!{b}")),
        float.clone().prop_map(|f| format!("is_defined({f}[2])")),
        (text.clone(), text.clone()).prop_map(|(a, b)| format!("({a} < {b})")),
        (list.clone(), list.clone()).prop_map(|(a, b)| format!("({a} == {b})")),
    ];
    let next_str = prop_oneof![
        (text.clone(), int.clone()).prop_map(|(s, i)| format!("({s} ++ Str.of({i}))")),
        (text.clone(), bool.clone()).prop_map(|(s, b)| format!("latch({s}, {b})"))
    ];
    let next_list = prop_oneof![
        (list.clone(), int.clone()).prop_map(|(l, i)| format!("List.append({l}, {i})")),
        list.clone().prop_map(|l| format!("List.map(\\v: Int -> v * i, {l})")),
        (list, int).prop_map(|(l, i)| format!("update({l}, [{i}])")),
    ];
    [next_int.boxed(), next_float.boxed(), next_bool.boxed(), next_str.boxed(), next_list.boxed()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        all(&text);
    }

    #[test]
    fn no_bytes_panic(text in "(?s).{0,120}") {
        all(&text);
    }

    #[test]
    fn no_soup_of_words_panics(text in soup()) {
        all(&text);
        all(&format!("in x: Int\nin y\nout z = {text}"));
    }

    #[test]
    fn layout_keeps_the_tree_and_the_comments(text in root()) {
        let laid_out = format(&text).unwrap();
        prop_assert_eq!(tree(&laid_out), tree(&text));
        prop_assert_eq!(&format(&laid_out).unwrap(), &laid_out);
        for comment in ["// c", "(* c *)", "// own", "(* own *)"] {
            prop_assert_eq!(laid_out.matches(comment).count(), text.matches(comment).count());
        }
        prop_assert!(laid_out.lines().all(|line| !line.ends_with(' ')));
        all(&text);
    }

    #[test]
    fn what_is_well_typed_is_accepted([int, float, bool, str, list] in typed(3)) {
        let scope = "in i: Int\nin f: Float\nin b: Bool\nin s: Str\nin l: List<Int>\n";
        let text = format!("{scope}out vi: Int = {int}\nout vf: Float = {float}\nout vb: Bool = {bool}\nout vs: Str = {str}\nout vl: List<Int> = {list}\nout ui = {int}\nout ub = {bool}\n");
        let checked = check(&text);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err().render("typed"));
        all(&text);
    }
}
