//! Tests of this module: values: their size, order, text and bounds.

use super::*;
use proptest::prelude::*;
use std::cmp::Ordering;

const FREE: Limits = Limits { value_bytes: 1 << 30 };

fn list(items: Vec<Value>) -> Value {
    Value::list(items, FREE).unwrap()
}

#[test]
fn a_value_takes_sixteen_bytes() {
    assert_eq!(size_of::<Value>(), 16);
    assert_eq!(size_of::<Cell>(), 16);
    assert_eq!(size_of::<Failure>(), 8);
    assert_eq!(size_of::<Result<Cell, Failure>>(), 16);
    assert_eq!(size_of::<Result<Value, Failure>>(), 16);
    assert_eq!(size_of::<Option<Value>>(), 16);
}

#[test]
fn values_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<(Value, Cell, Failure)>();
}

#[test]
fn numbers_compare_by_their_exact_values() {
    let compare = |int, float| mixed_order(int, float);
    assert_eq!(compare(1, 1.0), Some(Ordering::Equal));
    assert_eq!(compare((1 << 53) + 1, 9_007_199_254_740_992.0), Some(Ordering::Greater));
    assert_eq!(compare(i64::MAX, 9_223_372_036_854_775_808.0), Some(Ordering::Less));
    assert_eq!(compare(i64::MIN, -9_223_372_036_854_775_808.0), Some(Ordering::Equal));
    assert_eq!(compare(i64::MIN, -9_223_372_036_854_777_856.0), Some(Ordering::Greater));
    assert_eq!(compare(-1, -0.5), Some(Ordering::Less));
    assert_eq!(compare(0, -0.5), Some(Ordering::Greater));
    assert_eq!(compare(0, -0.0), Some(Ordering::Equal));
    assert_eq!(compare(1, 1.5), Some(Ordering::Less));
    assert_eq!(compare(0, f64::INFINITY), Some(Ordering::Less));
    assert_eq!(compare(0, f64::NEG_INFINITY), Some(Ordering::Greater));
    assert_eq!(compare(0, f64::NAN), None);
}

#[test]
fn equality_is_the_languages() {
    let eq = |a: &Value, b: &Value| equal(a, b).unwrap();
    assert!(eq(&list(vec![Value::Int(1), Value::Float(0.0)]), &list(vec![Value::Float(1.0), Value::Float(-0.0)])));
    assert!(!eq(&list(vec![Value::float(f64::NAN)]), &list(vec![Value::float(f64::NAN)])));
    assert!(!eq(&Value::Int(1), &Value::Bool(true)));
    assert!(!eq(&Value::Time(1), &Value::Duration(1)));
    assert!(!eq(&list(vec![]), &Value::Unit));
    let map =
        |entries: Vec<(&str, Value)>| Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect(), FREE).unwrap();
    assert!(eq(&map(vec![("a", Value::Int(1)), ("b", Value::Int(2))]), &map(vec![("b", Value::Float(2.0)), ("a", Value::Int(1))])));
    assert!(!eq(&map(vec![("a", Value::Int(1))]), &map(vec![("b", Value::Int(1))])));
    assert!(eq(&map(vec![("a", Value::Int(1)), ("a", Value::Int(2))]), &map(vec![("a", Value::Int(2))])));
    let function = Value::function((0, 0), None, vec![], FREE).unwrap();
    assert_eq!(equal(&function, &Value::Int(1)).unwrap_err().code(), Code::FUNCTION_COMPARED);
    assert_eq!(order(&Value::Unit, &Value::Unit).unwrap_err().code(), Code::NO_ORDER);
    assert_eq!(order(&Value::Int(1), &Value::str("1")).unwrap_err().code(), Code::NO_ORDER);
    assert_eq!(order(&Value::str("a"), &Value::str("ä")).unwrap(), Some(Ordering::Less));
    assert_eq!(order(&Value::Float(NAN), &Value::Int(1)).unwrap(), None);
}

#[test]
fn nan_is_one() {
    let other = f64::from_bits(0xfff8_0000_0000_1234);
    assert!(matches!(Value::float(other), Value::Float(float) if float.to_bits() == NAN.to_bits()));
    assert_eq!(Value::Float(other), Value::Float(NAN));
    assert_ne!(Value::Float(0.0), Value::Float(-0.0));
}

#[test]
fn size_and_depth_are_bounded() {
    let small = Limits { value_bytes: 200 };
    assert!(Value::list(vec![Value::Unit; 4], small).is_ok());
    assert_eq!(Value::list(vec![Value::Unit; 40], small).unwrap_err().code(), Code::VALUE_SIZE);
    assert_eq!(Value::str(&"x".repeat(200)).within(small).unwrap_err().code(), Code::VALUE_SIZE);
    let mut deep = Value::Int(1);
    let mut levels = 0;
    loop {
        match Value::list(vec![deep.clone()], FREE) {
            Ok(list) => deep = list,
            Err(failure) => break assert_eq!(failure.code(), Code::VALUE_DEPTH),
        }
        levels += 1;
    }
    assert_eq!((levels, deep.depth()), (MAX_DEPTH, MAX_DEPTH));
    // Sharing is cheap, but counted as what it stands for.
    let mut wide = Value::str(&"x".repeat(1_000));
    let failure = loop {
        match Value::tuple(vec![wide.clone(), wide.clone()], Limits::default()) {
            Ok(tuple) => wide = tuple,
            Err(failure) => break failure,
        }
    };
    assert_eq!(failure.code(), Code::VALUE_SIZE);
}

#[test]
fn a_deep_value_is_dropped_on_a_small_stack() {
    let mut deep = Value::Int(1);
    for _ in 0..MAX_DEPTH {
        deep = list(vec![deep]);
    }
    let same = deep.clone();
    #[allow(clippy::disallowed_methods, reason = "the stack of a thread is what is tested")]
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        assert!(equal(&deep, &same).unwrap());
        assert!(show(&deep).len() > 500);
        drop((deep, same));
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn floats_are_written_with_the_fewest_digits() {
    for (float, text) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (123_456.789, "123456.789"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1.5e300, "1.5e300"),
        (0.000_01, "0.00001"),
        (0.000_001, "1e-6"),
        (1.25e-7, "1.25e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(float_text(float), text);
    }
}

#[test]
fn values_are_shown_as_the_language_writes_them() {
    let shape = Shape::new(["x", "name"].map(Arc::from));
    let value = list(vec![
        Value::Unit,
        Value::str("a\"\\\n\u{1}ä"),
        Value::Duration(-5_400_000_000),
        Value::Duration(0),
        Value::Duration(93_784_005_006),
        Value::structure(shape, vec![Value::str("n"), Value::Int(-1)], FREE).unwrap(),
        Value::map(vec![("k".into(), Value::Bool(true))], FREE).unwrap(),
        Value::tuple(vec![Value::Float(1.0), Value::Time(0)], FREE).unwrap(),
        Value::function((0, 0), None, vec![], FREE).unwrap(),
    ]);
    let text = r#"[(), "a\"\\\n\u0001ä", -1h30m, 0s, 1d2h3m4s5ms6us, {name: "n", x: -1}, Map("k": true), (1.0, 1970-01-01T00:00:00Z), <function>]"#;
    assert_eq!(show(&value), text);
    assert_eq!(text_of(&value, FREE).unwrap(), text);
    assert_eq!(text_of(&value, Limits { value_bytes: 10 }), None);
    let long = show(&Value::str(&"ä".repeat(5_000)));
    assert!(long.len() <= SHOWN + '…'.len_utf8() && long.ends_with('…'), "{}", long.len());
}

#[test]
fn failures_say_what_happened() {
    let failure = Failure::new(Code::OVERFLOW, "`+` leaves the range of Int").with(&[&Value::Int(1), &Value::str("x")]);
    assert_eq!(failure.to_string(), "`+` leaves the range of Int (operands: 1, \"x\")");
    assert_eq!(format!("{failure:?}"), "MR2002: `+` leaves the range of Int (operands: 1, \"x\")");
    let span = crate::lang::syntax::Span::new(1, 2);
    let placed = failure.clone().at(&Arc::from("inner"), span).at(&Arc::from("outer"), span);
    assert_eq!(placed.place().map(|(stream, _)| &**stream), Some("inner"));
    assert_eq!(failure.place(), None);
    let long = Value::str(&"x".repeat(5_000));
    assert!(Failure::new(Code::KIND, "").with(&[&long, &long]).operands().len() < SHOWN + 8);
}

#[test]
fn times_are_read_and_written() {
    for (text, micros) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-30T12:00:00.5+01:00", 1_796_036_400_500_000),
        ("2000-02-29t23:59:59.1234569z", 951_868_799_123_456),
        ("1969-12-31 23:59:59.999999Z", -1),
        ("0000-01-01T00:00:00Z", TIME_MIN),
        ("9999-12-31T23:59:59.999999Z", TIME_MAX),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000_000),
        ("1970-01-01T00:00:00-00:30", 1_800_000_000),
    ] {
        assert_eq!(parse_time(text), Some(micros), "{text}");
    }
    for wrong in [
        "",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00Zx",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+970-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z ",
        "１970-01-01T00:00:00Z",
    ] {
        assert_eq!(parse_time(wrong), None, "{wrong}");
    }
    assert_eq!(time_text(1_796_036_400_500_000), "2026-11-30T11:00:00.5Z");
    assert_eq!(time_text(TIME_MIN), "0000-01-01T00:00:00Z");
}

#[test]
fn short_texts_stand_in_place() {
    for text in ["", "a", "fourteen bytes", "fifteen bytes..", "ääääääää"] {
        assert_eq!(Text::new(text).as_str(), text);
        assert_eq!(Text::from(text.to_owned()), Text::new(text));
    }
    assert_eq!(Value::str("fourteen bytes").size(), 16);
    assert!(Value::str("fifteen bytes..").size() > 30);
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        (-5_i64..5).prop_map(Value::Int),
        any::<u64>().prop_map(|bits| Value::float(f64::from_bits(bits))),
        (-10_i32..10).prop_map(|half| Value::float(f64::from(half) / 2.0)),
        Just(Value::Float(NAN)),
        Just(Value::Float(-0.0)),
    ]
}

proptest! {
    #[test]
    fn times_read_back(micros in TIME_MIN..=TIME_MAX) {
        prop_assert_eq!(parse_time(&time_text(micros)), Some(micros));
    }

    #[test]
    fn no_text_makes_a_time_panic(text in "[0-9TZtz:+. -]{0,30}|.{0,30}") {
        let _time = parse_time(&text);
    }

    #[test]
    fn floats_read_back(bits in any::<u64>()) {
        let float = f64::from_bits(bits);
        let again: f64 = float_text(float).parse().unwrap();
        prop_assert_eq!(canonical(again).to_bits(), canonical(float).to_bits());
    }

    #[test]
    fn keys_have_a_total_order_that_agrees_with_equality(a in number(), b in number(), c in number()) {
        let (x, y, z) = (Key(a.clone()), Key(b.clone()), Key(c));
        prop_assert_eq!(x.cmp(&y), y.cmp(&x).reverse());
        if x <= y && y <= z {
            prop_assert!(x <= z);
        }
        if !holds_nan(&a) && !holds_nan(&b) {
            prop_assert_eq!(x == y, equal(&a, &b).unwrap());
            prop_assert_eq!(Some(x.cmp(&y)), order(&a, &b).unwrap());
        }
    }
}
