//! Tests of this module: single values, by their types.

use super::generate;
use crate::codec::value::{read, write};
use crate::codec::{DecodeError, Limits};
use crate::dataflow::value::{NAN, Value};
use crate::lang::check;
use crate::lang::types::Type;
use proptest::prelude::*;

/// A type as the language writes it.
fn ty(text: &str) -> Type {
    check(&format!("in x: {text}\nout y = 1")).unwrap().find("x").unwrap().1.ty.clone()
}

fn reads(text: &str, wanted: &str) -> Result<Value, DecodeError> {
    read(text.as_bytes(), &ty(wanted), &Limits::default())
}

/// What the value that was read shows as.
#[track_caller]
fn shows(text: &str, wanted: &str, shown: &str) {
    let value = reads(text, wanted).unwrap_or_else(|error| panic!("{text} as {wanted}: {error}"));
    assert_eq!(format!("{value:?}"), shown, "{text} as {wanted}");
}

/// That it is refused, with a word of why.
#[track_caller]
fn refused(text: &str, wanted: &str, kind: &str, word: &str) {
    let error = reads(text, wanted).map_or_else(|error| error, |value| panic!("{text} as {wanted} is {value:?}"));
    assert_eq!(error.kind(), kind, "{text} as {wanted}: {error}");
    assert!(error.to_string().contains(word), "{text} as {wanted}: {error}");
}

fn written(value: &Value) -> (String, u32) {
    let mut out = Vec::new();
    let lost = write(value, &mut out);
    (String::from_utf8(out).unwrap(), lost)
}

#[test]
fn scalars_are_read_by_their_types() {
    shows(" 7 ", "Int", "Int 7");
    shows("7.0", "Int", "Int 7");
    shows("-9223372036854775808", "Int", "Int -9223372036854775808");
    shows("7", "Float", "Float 7.0");
    shows("1e-400", "Float", "Float 0.0");
    shows("9007199254740993", "Float", "Float 9007199254740992.0");
    shows("-0", "Float", "Float -0.0");
    shows(r#""a\u00e4\ud83d\ude00\n""#, "Str", "Str \"aä😀\\n\"");
    shows("true", "Bool", "Bool true");
    shows("[ ]", "Unit", "Unit ()");
    shows(r#""2026-11-30T12:00:00+01:00""#, "Time", "Time 2026-11-30T11:00:00Z");
    shows("1700000000123.4567", "Time", "Time 2023-11-14T22:13:20.123456Z");
    shows("-1", "Time", "Time 1969-12-31T23:59:59.999Z");
    shows(r#""1h30m""#, "Duration", "Duration 1h30m");
    shows(r#""-5ms""#, "Duration", "Duration -5ms");
    shows("1.5", "Duration", "Duration 1s500ms");
}

#[test]
fn what_is_of_another_kind_or_does_not_fit_is_refused_and_never_rounded() {
    refused("9223372036854775808", "Int", "range", "`9223372036854775808` does not fit into an Int");
    refused("9007199254740992.0", "Int", "range", "Int");
    refused("1.5", "Int", "kind", "Int is wanted, not `1.5` (at byte 0)");
    refused("\"1\"", "Int", "kind", "Int is wanted, not `\"1\"`");
    refused("1e309", "Float", "range", "Float");
    refused("1", "Str", "kind", "Str");
    refused("1", "Bool", "kind", "Bool");
    refused("[1]", "Unit", "kind", "Unit");
    refused("{}", "Unit", "kind", "Unit");
    refused("\"2026-02-29T00:00:00Z\"", "Time", "kind", "RFC 3339");
    refused("253402300800000", "Time", "range", "Time");
    refused("true", "Time", "kind", "epoch milliseconds");
    refused("\"5 minutes\"", "Duration", "kind", "1h30m");
    refused("1e13", "Duration", "range", "Duration");
    refused("null", "Int", "kind", "not null");
    refused("null", "Any", "kind", "not null");
    refused(&format!("\"{}\"", "ä".repeat(200)), "Int", "kind", "ä…`");
}

#[test]
fn collections_are_read_by_their_types() {
    shows("[1,2.0, 3e0]", "List<Int>", "List [1, 2, 3]");
    shows("[]", "List<Int>", "List []");
    shows("[1, \"a\"]", "(Int, Str)", "Tuple (1, \"a\")");
    shows(r#"{"b":1,"a":2}"#, "Map<Int>", r#"Map Map("a": 2, "b": 1)"#);
    shows(r#"{"b":1,"a":null}"#, "Map<Int>", r#"Map Map("b": 1)"#);
    shows("{}", "Map<Int>", "Map Map()");
    shows(r#"{"b":1,"a":"x"}"#, "Struct<a: Str, b: Float>", r#"Struct {a: "x", b: 1.0}"#);
    refused("[1,true]", "List<Int>", "kind", "(at /1, byte 3)");
    refused("[1,null]", "List<Int>", "kind", "a list holds null, where Int is wanted (at /1");
    refused("[1,null]", "(Int, Any)", "kind", "null");
    refused("[1,2,3]", "(Int, Int)", "kind", "array of 2");
    refused("[1]", "(Int, Int)", "kind", "array of 2");
    refused("{}", "List<Int>", "kind", "List");
    refused("[]", "Map<Int>", "kind", "Map");
    refused(r#"{"a/~":{"k":[0,""]}}"#, "Map<Map<List<Int>>>", "kind", "/a~1~0/k/1");
}

#[test]
fn structs_have_their_declared_fields_and_others_only_where_open() {
    shows(r#"{"x":1,"extra":[1,{"deep":null}],"y":2}"#, "Struct<x: Int>", "Struct {x: 1}");
    shows(r#"{"x":1,"b":2.5,"a":null}"#, "Struct<x: Int, ...>", "Struct {b: 2.5, x: 1}");
    shows(r#"{"x":1}"#, "Struct<x: Int, ...>", "Struct {x: 1}");
    refused(r#"{"y":1}"#, "Struct<x: Int>", "missing", "the declared field `x` is missing");
    refused(r#"{"x":null}"#, "Struct<x: Int>", "missing", "`x` is null");
    refused(r#"{"x":{"y":"a"}}"#, "Struct<x: Struct<y: Int>>", "kind", "/x/y");
    refused(r#"{"x":1,"y":1e999}"#, "Struct<x: Int, ...>", "range", "/y");
}

#[test]
fn any_keeps_its_own_kind() {
    shows("1", "Any", "Int 1");
    shows("-0", "Any", "Int 0");
    shows("1.0", "Any", "Float 1.0");
    shows("1e2", "Any", "Float 100.0");
    shows(r#""2026-11-30T12:00:00Z""#, "Any", r#"Str "2026-11-30T12:00:00Z""#);
    shows(r#"{"b":[1,1.5,{}],"a":null,"c":false}"#, "Any", "Struct {b: [1, 1.5, {}], c: false}");
    refused("9223372036854775808", "Any", "range", "Int");
    refused("1e999", "Any", "range", "Float");
    refused("[null]", "Any", "kind", "null");
}

#[test]
fn of_equal_names_the_last_counts_even_where_an_earlier_one_does_not_fit() {
    shows(r#"{"x":"bad","x":1}"#, "Struct<x: Int>", "Struct {x: 1}");
    refused(r#"{"x":1,"x":"bad"}"#, "Struct<x: Int>", "kind", "bad");
    shows(r#"{"b":2,"a":"bad","a":1}"#, "Map<Int>", r#"Map Map("a": 1, "b": 2)"#);
    shows(r#"{"b":2,"a":1,"a":null}"#, "Map<Int>", r#"Map Map("b": 2)"#);
    shows(r#"{"a":1,"a":{"b":1e999},"a":[]}"#, "Any", "Struct {a: []}");
    shows(r#"{"x":1,"\u0078":2}"#, "Any", "Struct {x: 2}");
    shows(r#"{"x":{"y":[1,"z",{"q":1}]},"x":{"y":[3]}}"#, "Struct<x: Struct<y: List<Int>>>", "Struct {x: {y: [3]}}");
}

#[test]
fn what_is_no_json_is_refused_with_its_byte() {
    for (text, byte) in [
        ("", 0),
        ("tru", 0),
        ("1 2", 2),
        ("[1,]", 3),
        ("[,1]", 1),
        ("[1", 2),
        ("{\"a\":1,}", 7),
        ("{,}", 1),
        ("{\"a\" 1}", 5),
        ("{a:1}", 1),
        ("\"a", 2),
        ("\"a\u{1}\"", 2),
        ("\"\\x\"", 1),
        ("\"\\ud800\"", 1),
        ("01", 1),
        ("-", 1),
        ("\u{feff}x", 3),
        ("[1]]", 3),
        ("'a'", 0),
        ("NaN", 0),
    ] {
        let error = reads(text, "Any").unwrap_err();
        assert_eq!((error.kind(), error.fault().byte()), ("syntax", Some(byte)), "{text}: {error}");
    }
    let error = read(b"\"\xff\"", &Type::Any, &Limits::default()).unwrap_err();
    assert_eq!((error.kind(), error.fault().byte()), ("syntax", Some(1)));
    assert!(reads("\u{feff}1", "Int").is_ok());
}

#[test]
fn depth_and_size_are_bounded_where_a_value_is_made_and_where_one_is_skipped() {
    let limits = Limits { depth: 4, value_bytes: 400, ..Limits::default() };
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(deep(4).as_bytes(), &Type::Any, &limits).is_ok());
    let kind = |text: String, wanted: &str| read(text.as_bytes(), &ty(wanted), &limits).unwrap_err().kind();
    assert_eq!(kind(deep(5), "Any"), "bound");
    assert_eq!(kind(deep(5), "Int"), "bound");
    assert_eq!(kind(deep(1_000_000), "Struct<x: Int>"), "bound");
    let items = |count: usize| format!("[{}0]", "0,".repeat(count));
    assert!(read(items(15).as_bytes(), &Type::Any, &limits).is_ok());
    assert_eq!(kind(items(50), "List<Int>"), "bound");
    assert_eq!(kind(format!("[{}0]", "[],".repeat(9)), "List<Any>"), "bound");
    assert_eq!(kind(format!("\"{}\"", "x".repeat(400)), "Str"), "bound");
    assert_eq!(kind(format!("{{\"{}\":1}}", "x".repeat(400)), "Any"), "bound");
    let wrong: Vec<_> = (0..9).map(|n| format!("\"{n}\":true")).collect();
    assert_eq!(kind(format!("{{{}}}", wrong.join(",")), "Map<Int>"), "bound");
    // A value that was too large is stepped over whole: what replaces it counts.
    let replaced = format!("{{\"x\":{},\"x\":[1]}}", items(500));
    assert_eq!(read(replaced.as_bytes(), &ty("Struct<x: List<Int>>"), &limits).unwrap_err().kind(), "bound");
    assert!(read(format!("{{\"x\":{},\"x\":[1]}}", "[true]").as_bytes(), &ty("Struct<x: List<Int>>"), &limits).is_ok());
}

#[test]
fn values_are_written_as_the_language_page_says() {
    for (text, wanted, out) in [
        ("2", "Float", "2.0"),
        ("1e300", "Float", "1e+300"),
        ("0.1", "Float", "0.1"),
        ("-0.0", "Float", "-0.0"),
        ("9223372036854775807", "Int", "9223372036854775807"),
        ("1700000000123", "Time", r#""2023-11-14T22:13:20.123Z""#),
        ("5400", "Duration", r#""1h30m""#),
        ("[1,[]]", "(Int, Unit)", "[1,[]]"),
        (r#"{"b":[],"a":"\u000a\u001f\"\\\/ä\u007f"}"#, "Any", "{\"a\":\"\\n\\u001f\\\"\\\\/ä\u{7f}\",\"b\":[]}"),
        (r#"{"b":true}"#, "Map<Bool>", r#"{"b":true}"#),
    ] {
        assert_eq!(written(&reads(text, wanted).unwrap()), (out.to_owned(), 0), "{text}");
    }
}

#[test]
fn what_json_cannot_write_is_null_and_counted() {
    let free = crate::dataflow::value::Limits::default();
    let list = Value::list(vec![Value::Float(NAN), Value::Float(1.0), Value::Float(f64::NEG_INFINITY)], free).unwrap();
    let map = Value::map(vec![("k".into(), list), ("l".into(), Value::Float(f64::INFINITY))], free).unwrap();
    assert_eq!(written(&map), (r#"{"k":[null,1.0,null],"l":null}"#.to_owned(), 3));
    let function = Value::function((0, 0), None, Vec::new(), free).unwrap();
    assert_eq!(written(&function), ("null".to_owned(), 1));
}

proptest! {
    #[test]
    fn every_value_that_is_written_is_read_as_the_same(
        (ty, value) in generate::ty().prop_flat_map(|ty| (Just(ty.clone()), generate::of(&ty))),
    ) {
        let (text, lost) = written(&value);
        prop_assert_eq!(lost, 0);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        let limits = Limits { value_bytes: 1 << 30, ..Limits::default() };
        prop_assert_eq!(read(text.as_bytes(), &ty, &limits).map_err(|error| error.to_string()), Ok(value), "{}", text);
    }

    #[test]
    fn a_value_may_be_as_large_as_is_allowed_to_the_byte(
        (ty, value) in generate::ty().prop_flat_map(|ty| (Just(ty.clone()), generate::of(&ty))),
    ) {
        let (text, _) = written(&value);
        let read_within = |value_bytes| read(text.as_bytes(), &ty, &Limits { value_bytes, ..Limits::default() });
        prop_assert!(read_within(value.size()).is_ok());
        prop_assert_eq!(read_within(value.size() - 1).unwrap_err().kind(), "bound");
    }
}
