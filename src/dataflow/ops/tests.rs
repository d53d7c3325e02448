//! Tests of this module: every operation, against the table of the language.

use super::*;
use crate::dataflow::value::{NAN, Shape, TIME_MAX, TIME_MIN};
use crate::lang::types::Type;
use proptest::prelude::*;
use std::sync::Arc;

const FREE: Limits = Limits { value_bytes: 1 << 30 };

fn int(int: i64) -> Value {
    Value::Int(int)
}

fn float(float: f64) -> Value {
    Value::float(float)
}

fn list(items: &[Value]) -> Value {
    Value::list(items.to_vec(), FREE).unwrap()
}

fn map(entries: &[(&str, Value)]) -> Value {
    Value::map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(), FREE).unwrap()
}

fn point(names: &[&str], fields: &[Value]) -> Value {
    Value::structure(Shape::new(names.iter().map(|name| Arc::from(*name))), fields.to_vec(), FREE).unwrap()
}

fn run(function: Function, arguments: &[Value]) -> Result<Value, Code> {
    let arguments: Vec<&Value> = arguments.iter().collect();
    call(function, &arguments, FREE).map_err(|failure| failure.code())
}

#[allow(clippy::needless_pass_by_value, reason = "so that operands can be made where they stand")]
fn op(op: BinaryOp, a: Value, b: Value) -> Result<Value, Code> {
    binary(op, &a, &b, FREE).map_err(|failure| failure.code())
}

#[test]
fn ints_are_checked() {
    use BinaryOp::{Add, Divide, Multiply, Power, Remainder, Subtract};
    for (operator, a, b, wanted) in [
        (Add, i64::MAX, 1, Err(Code::OVERFLOW)),
        (Subtract, i64::MIN, 1, Err(Code::OVERFLOW)),
        (Multiply, i64::MAX, 2, Err(Code::OVERFLOW)),
        (Divide, i64::MIN, -1, Err(Code::OVERFLOW)),
        (Divide, 1, 0, Err(Code::DIVISION_BY_ZERO)),
        (Remainder, 1, 0, Err(Code::DIVISION_BY_ZERO)),
        (Remainder, i64::MIN, -1, Ok(0)),
        (Divide, -7, 2, Ok(-3)),
        (Remainder, -7, 2, Ok(-1)),
        (Remainder, 7, -2, Ok(1)),
        (Power, 2, 62, Ok(1 << 62)),
        (Power, 2, 63, Err(Code::OVERFLOW)),
        (Power, -2, 63, Ok(i64::MIN)),
        (Power, 0, 0, Ok(1)),
        (Power, 2, -1, Err(Code::NEGATIVE_EXPONENT)),
        (Power, 1, -1, Err(Code::NEGATIVE_EXPONENT)),
        (Power, 1, i64::MAX, Ok(1)),
        (Power, -1, i64::MAX, Ok(-1)),
        (Power, -1, i64::MAX - 1, Ok(1)),
        (Power, 0, i64::MAX, Ok(0)),
        (Power, 2, i64::MAX, Err(Code::OVERFLOW)),
    ] {
        assert_eq!(op(operator, int(a), int(b)), wanted.map(int), "{a} {} {b}", operator.symbol());
    }
    assert_eq!(negate(&int(i64::MIN)).unwrap_err().code(), Code::OVERFLOW);
    assert_eq!(run(Function::Abs, &[int(i64::MIN)]), Err(Code::OVERFLOW));
}

#[test]
fn an_int_with_a_float_gives_a_float_that_never_fails() {
    use BinaryOp::{Add, Divide, Multiply, Power, Remainder, Subtract};
    assert_eq!(op(Add, int(1), float(0.5)), Ok(float(1.5)));
    assert_eq!(op(Subtract, float(0.5), int(1)), Ok(float(-0.5)));
    assert_eq!(op(Multiply, int(i64::MAX), float(2.0)), Ok(float(18_446_744_073_709_551_616.0)));
    assert_eq!(op(Divide, int(1), float(0.0)), Ok(float(f64::INFINITY)));
    assert_eq!(op(Divide, float(0.0), int(0)), Ok(float(NAN)));
    assert_eq!(op(Remainder, float(-5.5), int(2)), Ok(float(-1.5)));
    assert_eq!(op(Remainder, int(5), float(0.0)), Ok(float(NAN)));
    assert_eq!(op(Power, int(2), float(-1.0)), Ok(float(0.5)));
    assert_eq!(op(Power, float(2.0), int(-2)), Ok(float(0.25)));
}

#[test]
fn times_and_durations_add_up() {
    use BinaryOp::{Add, Less, Multiply, Subtract};
    let (time, span) = (Value::Time, Value::Duration);
    assert_eq!(op(Subtract, time(5), time(7)), Ok(span(-2)));
    assert_eq!(op(Subtract, time(TIME_MAX), time(TIME_MIN)), Ok(span(TIME_MAX - TIME_MIN)));
    assert_eq!(op(Add, time(5), span(2)), Ok(time(7)));
    assert_eq!(op(Subtract, time(5), span(2)), Ok(time(3)));
    assert_eq!(op(Add, time(TIME_MAX), span(1)), Err(Code::OVERFLOW));
    assert_eq!(op(Add, time(0), span(i64::MAX)), Err(Code::OVERFLOW));
    assert_eq!(op(Subtract, time(-1), span(i64::MIN)), Err(Code::OVERFLOW));
    assert_eq!(op(Add, time(1), time(1)), Err(Code::KIND));
    assert_eq!(op(Multiply, span(1), int(2)), Err(Code::KIND));
    assert_eq!(op(Less, span(1), span(2)), Ok(Value::Bool(true)));
    assert_eq!(op(Less, span(1), time(2)), Err(Code::NO_ORDER));
    assert_eq!(run(Function::TimeOfMillis, &[int(-1)]), Ok(time(-1_000)));
    assert_eq!(run(Function::TimeOfMillis, &[int(i64::MAX / 1_000)]), Err(Code::OVERFLOW));
    assert_eq!(run(Function::TimeMillis, &[time(-1)]), Ok(int(-1)));
    assert_eq!(run(Function::DurationSeconds, &[span(1_500_000)]), Ok(float(1.5)));
    assert_eq!(run(Function::TimeParse, &[Value::str("1970-01-01T00:00:01Z")]), Ok(time(1_000_000)));
    assert_eq!(run(Function::TimeParse, &[Value::str("today")]), Err(Code::UNREADABLE));
}

#[test]
fn comparisons_with_nan_do_not_hold() {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    for other in [float(1.0), int(1), float(NAN)] {
        for operator in [Equal, Less, LessEqual, Greater, GreaterEqual] {
            assert_eq!(op(operator, float(NAN), other.clone()), Ok(Value::Bool(false)));
            assert_eq!(op(operator, other.clone(), float(NAN)), Ok(Value::Bool(false)));
        }
        assert_eq!(op(NotEqual, float(NAN), other), Ok(Value::Bool(true)));
    }
    assert_eq!(op(GreaterEqual, float(2.0), int(2)), Ok(Value::Bool(true)));
    assert_eq!(op(Less, Value::str("a"), int(2)), Err(Code::NO_ORDER));
    assert_eq!(op(Equal, Value::str("a"), int(2)), Ok(Value::Bool(false)));
}

#[test]
fn bools_and_texts() {
    use BinaryOp::{And, Concat, Implies, Or};
    let truth = Value::Bool;
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(op(And, truth(a), truth(b)), Ok(truth(a && b)));
        assert_eq!(op(Or, truth(a), truth(b)), Ok(truth(a || b)));
        assert_eq!(op(Implies, truth(a), truth(b)), Ok(truth(!a || b)));
    }
    assert_eq!(op(And, truth(true), int(1)), Err(Code::KIND));
    assert_eq!(unary(UnaryOp::Not, &truth(true)), Ok(truth(false)));
    assert_eq!(op(Concat, Value::str("a"), Value::str("ä")), Ok(Value::str("aä")));
    assert_eq!(op(Concat, Value::str("a"), int(1)), Err(Code::KIND));
    let long = Value::str(&"x".repeat(60));
    assert_eq!(concat(&long, &long, Limits { value_bytes: 100 }).unwrap_err().code(), Code::VALUE_SIZE);
}

#[test]
fn rounding_gives_ints() {
    use Function::{Ceil, Floor, Round, Trunc};
    for (function, from, to) in [
        (Floor, -0.5, -1),
        (Ceil, -0.5, 0),
        (Trunc, -1.9, -1),
        (Round, 0.5, 1),
        (Round, -0.5, -1),
        (Round, 2.5, 3),
        (Round, 0.499_999_999_999_999_94, 0),
        (Floor, -9_223_372_036_854_775_808.0, i64::MIN),
    ] {
        assert_eq!(run(function, &[float(from)]), Ok(int(to)));
    }
    for none in [9_223_372_036_854_775_808.0, -9_223_372_036_854_777_856.0, f64::INFINITY, NAN] {
        assert_eq!(run(Round, &[float(none)]), Err(Code::NO_INT));
    }
    assert_eq!(run(Floor, &[int(7)]), Ok(int(7)));
    assert_eq!(run(Floor, &[Value::str("7")]), Err(Code::KIND));
    assert_eq!(run(Function::Sqrt, &[float(-1.0)]), Ok(float(NAN)));
    assert_eq!(run(Function::Sqrt, &[int(9)]), Ok(float(3.0)));
}

#[test]
fn the_lesser_and_the_greater() {
    use Function::{Max, Min};
    assert_eq!(run(Min, &[int(1), int(2)]), Ok(int(1)));
    assert_eq!(run(Max, &[int(1), float(0.5)]), Ok(float(1.0)));
    assert_eq!(run(Min, &[float(1.0), int(1)]), Ok(float(1.0)));
    assert_eq!(run(Min, &[float(NAN), int(1)]), Ok(float(NAN)));
    assert_eq!(run(Max, &[int(1), float(NAN)]), Ok(float(NAN)));
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert_eq!(run(Min, &[float(a), float(b)]), Ok(float(-0.0)));
        assert_eq!(run(Max, &[float(a), float(b)]), Ok(float(0.0)));
    }
    assert_eq!(run(Max, &[Value::str("a"), int(1)]), Err(Code::KIND));
    assert_eq!(run(Max, &[Value::str("a"), Value::str("b")]), Err(Code::KIND));
    assert_eq!(run(Max, &[int(1)]), Err(Code::KIND));
}

#[test]
fn numbers_are_read_from_texts() {
    for (text, wanted) in [
        ("0", Some(0)),
        ("-7", Some(-7)),
        ("007", Some(7)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("", None),
        ("-", None),
        ("+1", None),
        (" 1", None),
        ("1.0", None),
        ("1e3", None),
        ("٣", None),
    ] {
        assert_eq!(run(Function::IntParse, &[Value::str(text)]), wanted.map(int).ok_or(Code::UNREADABLE), "{text}");
    }
    for (text, wanted) in [
        ("1", Some(1.0)),
        ("-0.5", Some(-0.5)),
        ("1e3", Some(1e3)),
        ("1.5E-3", Some(1.5e-3)),
        ("1e+3", Some(1e3)),
        ("1e-999", Some(0.0)),
        ("NaN", Some(NAN)),
        ("-inf", Some(f64::NEG_INFINITY)),
        ("1e999", None),
        ("1.", None),
        (".5", None),
        ("1e", None),
        ("nan", None),
        ("infinity", None),
        ("+1.0", None),
        ("1_0", None),
        ("", None),
        ("0x1", None),
    ] {
        assert_eq!(run(Function::FloatParse, &[Value::str(text)]), wanted.map(float).ok_or(Code::UNREADABLE), "{text}");
    }
}

#[test]
fn texts_are_counted_and_cut_by_code_point() {
    let text = |text: &str| Value::str(text);
    assert_eq!(run(Function::StrLen, &[text("aä😀")]), Ok(int(3)));
    for (from, to, wanted) in
        [(0, 2, "aä"), (1, 3, "ä😀"), (-5, 99, "aä😀"), (2, 2, ""), (3, 1, ""), (9, 12, ""), (2, i64::MAX, "😀"), (i64::MIN, 1, "a")]
    {
        assert_eq!(run(Function::StrSlice, &[text("aä😀"), int(from), int(to)]), Ok(text(wanted)), "{from} {to}");
    }
    let texts = |texts: &[&str]| list(&texts.iter().map(|text| Value::str(text)).collect::<Vec<_>>());
    assert_eq!(run(Function::StrSplit, &[text("a,b,,c"), text(",")]), Ok(texts(&["a", "b", "", "c"])));
    assert_eq!(run(Function::StrSplit, &[text(""), text(",")]), Ok(texts(&[""])));
    assert_eq!(run(Function::StrSplit, &[text("aä"), text("")]), Ok(texts(&["a", "ä"])));
    assert_eq!(run(Function::StrUpper, &[text("straße")]), Ok(text("STRASSE")));
    assert_eq!(run(Function::StrLower, &[text("ΑΣ")]), Ok(text("ασ")));
    assert_eq!(run(Function::StrContains, &[text("abc"), text("")]), Ok(Value::Bool(true)));
    assert_eq!(run(Function::StrStartsWith, &[text("abc"), text("ab")]), Ok(Value::Bool(true)));
    assert_eq!(run(Function::StrEndsWith, &[text("abc"), text("ab")]), Ok(Value::Bool(false)));
    assert_eq!(run(Function::StrLen, &[int(1)]), Err(Code::KIND));
    assert_eq!(matches(&text("a1"), &regex::Regex::new("^[a-z][0-9]$").unwrap()), Ok(Value::Bool(true)));
    assert_eq!(run(Function::StrOf, &[text("a\"b")]), Ok(text("a\"b")));
    assert_eq!(run(Function::StrOf, &[Value::Duration(90_000_000)]), Ok(text("1m30s")));
    assert_eq!(run(Function::StrOf, &[list(&[text("a"), float(1.0)])]), Ok(text("[\"a\", 1.0]")));
    assert_eq!(
        call(Function::StrSplit, &[&text(&"x".repeat(99)), &text("")], Limits { value_bytes: 500 }).unwrap_err().code(),
        Code::VALUE_SIZE
    );
}

#[test]
fn lists_and_maps() {
    use Function::{ListAppend, ListConcat, ListGet, ListHead, ListLen, ListTail, MapGet, MapHasKey, MapInsert, MapKeys, MapRemove};
    let some = list(&[int(1), int(2)]);
    assert_eq!(run(ListGet, &[some.clone(), int(1)]), Ok(int(2)));
    assert_eq!(run(ListGet, &[some.clone(), int(2)]), Err(Code::OUT_OF_RANGE));
    assert_eq!(run(ListGet, &[some.clone(), int(-1)]), Err(Code::OUT_OF_RANGE));
    assert_eq!(list_get(&some, &int(i64::MIN)).unwrap(), None);
    assert_eq!(run(ListConcat, &[some.clone(), list(&[int(3)])]), Ok(list(&[int(1), int(2), int(3)])));
    assert_eq!(run(ListAppend, &[some.clone(), int(3)]), Ok(list(&[int(1), int(2), int(3)])));
    assert_eq!(run(ListHead, std::slice::from_ref(&some)), Ok(int(1)));
    assert_eq!(run(ListTail, std::slice::from_ref(&some)), Ok(list(&[int(2)])));
    assert_eq!(run(ListLen, std::slice::from_ref(&some)), Ok(int(2)));
    assert_eq!(run(ListHead, &[list(&[])]), Err(Code::OUT_OF_RANGE));
    assert_eq!(run(ListTail, &[list(&[])]), Err(Code::OUT_OF_RANGE));
    assert_eq!(run(ListLen, &[int(1)]), Err(Code::KIND));
    assert_eq!(call(ListAppend, &[&some, &some], Limits { value_bytes: 150 }).unwrap_err().code(), Code::VALUE_SIZE);
    assert_eq!(call(ListConcat, &[&some, &some], Limits { value_bytes: 100 }).unwrap_err().code(), Code::VALUE_SIZE);

    let table = map(&[("b", int(2)), ("a", int(1))]);
    let key = Value::str;
    assert_eq!(run(MapGet, &[table.clone(), key("a")]), Ok(int(1)));
    assert_eq!(run(MapGet, &[table.clone(), key("c")]), Err(Code::MISSING_KEY));
    assert_eq!(map_get(&table, &key("c")).unwrap(), None);
    assert_eq!(run(MapInsert, &[table.clone(), key("aa"), int(3)]), Ok(map(&[("a", int(1)), ("aa", int(3)), ("b", int(2))])));
    assert_eq!(run(MapInsert, &[table.clone(), key("b"), int(3)]), Ok(map(&[("a", int(1)), ("b", int(3))])));
    assert_eq!(run(MapRemove, &[table.clone(), key("b")]), Ok(map(&[("a", int(1))])));
    assert_eq!(run(MapRemove, &[table.clone(), key("x")]), Ok(table.clone()));
    assert_eq!(run(MapHasKey, &[table.clone(), key("a")]), Ok(Value::Bool(true)));
    assert_eq!(run(MapKeys, std::slice::from_ref(&table)), Ok(list(&[key("a"), key("b")])));
    assert_eq!(run(MapGet, &[table, int(1)]), Err(Code::KIND));

    let value = point(&["x", "y"], &[int(1), int(2)]);
    assert_eq!(field(&value, "y"), Ok(int(2)));
    assert_eq!(field(&value, "z").unwrap_err().code(), Code::MISSING_FIELD);
    assert_eq!(field(&int(1), "z").unwrap_err().code(), Code::KIND);
    let pair = Value::tuple(vec![int(1), int(2)], FREE).unwrap();
    assert_eq!(item(&pair, 1), Ok(int(2)));
    assert_eq!(item(&pair, 2).unwrap_err().code(), Code::MISSING_FIELD);
}

#[test]
fn casts_check_and_make_ints_floats() {
    let to = |value: &Value, ty: &Type| cast(value, ty, FREE).map_err(|failure| failure.code());
    assert_eq!(to(&int(1), &Type::Float), Ok(float(1.0)));
    assert_eq!(to(&int((1 << 53) + 1), &Type::Float), Ok(float(9_007_199_254_740_992.0)));
    assert_eq!(to(&float(1.0), &Type::Int), Err(Code::KIND));
    assert_eq!(to(&int(1), &Type::Any), Ok(int(1)));
    let numbers = list(&[float(0.5), int(1), int(2), float(3.0)]);
    assert_eq!(to(&numbers, &Type::list(Type::Float)), Ok(list(&[float(0.5), float(1.0), float(2.0), float(3.0)])));
    assert_eq!(to(&numbers, &Type::list(Type::Any)), Ok(numbers.clone()));
    assert_eq!(to(&numbers, &Type::list(Type::Int)), Err(Code::KIND));
    assert_eq!(to(&list(&[int(7)]), &Type::list(Type::Float)), Ok(list(&[float(7.0)])));
    assert_eq!(to(&map(&[("a", int(1))]), &Type::map(Type::Float)), Ok(map(&[("a", float(1.0))])));
    let pair = |a: Value, b: Value| Value::tuple(vec![a, b], FREE).unwrap();
    let pair_type = Type::Tuple(vec![Type::Int, Type::Float].into());
    assert_eq!(to(&pair(int(1), int(2)), &pair_type), Ok(pair(int(1), float(2.0))));
    assert_eq!(to(&pair(float(1.0), int(2)), &pair_type), Err(Code::KIND));
    assert_eq!(to(&Value::tuple(vec![int(1)], FREE).unwrap(), &pair_type), Err(Code::KIND));
    let ty = |open| Type::structure(vec![("x".into(), Type::Float)], open);
    assert_eq!(to(&point(&["x"], &[int(1)]), &ty(false)), Ok(point(&["x"], &[float(1.0)])));
    assert_eq!(to(&point(&["x", "y"], &[int(1), Value::Unit]), &ty(true)), Ok(point(&["x", "y"], &[float(1.0), Value::Unit])));
    assert_eq!(to(&point(&["x", "y"], &[int(1), Value::Unit]), &ty(false)), Err(Code::KIND));
    assert_eq!(to(&point(&["y"], &[int(1)]), &ty(true)), Err(Code::MISSING_FIELD));
    let function = Value::function((0, 0), None, vec![], FREE).unwrap();
    assert_eq!(to(&function, &Type::function(Type::Int, Type::Int)), Ok(function.clone()));
    assert_eq!(to(&function, &Type::Int), Err(Code::KIND));
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Unit),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-3_i64..3).prop_map(Value::Int),
        any::<u64>().prop_map(|bits| Value::float(f64::from_bits(bits))),
        (TIME_MIN..=TIME_MAX).prop_map(Value::Time),
        any::<i64>().prop_map(Value::Duration),
        ".{0,20}".prop_map(|text| Value::str(&text)),
        prop::collection::vec((-3_i64..3).prop_map(Value::Int), 0..3).prop_map(|items| list(&items)),
        prop::collection::vec(("[ab]", (-3_i64..3).prop_map(Value::Int)), 0..3)
            .prop_map(|entries| map(&entries.iter().map(|(key, value)| (key.as_str(), value.clone())).collect::<Vec<_>>())),
    ]
}

const FUNCTIONS: [Function; 39] = {
    use Function::*;
    [
        Abs,
        Trunc,
        Floor,
        Ceil,
        Round,
        Sqrt,
        Log,
        Exp,
        Sin,
        Cos,
        Tan,
        Min,
        Max,
        IntParse,
        FloatParse,
        StrOf,
        StrLen,
        StrLower,
        StrUpper,
        StrContains,
        StrStartsWith,
        StrEndsWith,
        StrSplit,
        StrSlice,
        TimeParse,
        TimeOfMillis,
        TimeMillis,
        DurationSeconds,
        ListGet,
        ListConcat,
        ListAppend,
        ListHead,
        ListTail,
        ListLen,
        MapGet,
        MapInsert,
        MapRemove,
        MapHasKey,
        MapKeys,
    ]
};

const OPERATORS: [BinaryOp; 16] = {
    use BinaryOp::*;
    [Concat, Implies, Or, And, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Add, Subtract, Multiply, Divide, Remainder, Power]
};

proptest! {
    #[test]
    fn no_operands_make_an_operation_panic(a in any_scalar(), b in any_scalar(), c in any_scalar()) {
        for operator in OPERATORS {
            let _result = binary(operator, &a, &b, FREE);
        }
        for function in FUNCTIONS {
            for arguments in [&[&a][..], &[&a, &b], &[&a, &b, &c], &[]] {
                let _result = call(function, arguments, FREE);
            }
        }
        let _result = (negate(&a), not(&a), field(&a, "x"), item(&a, 0));
    }

    #[test]
    fn results_stay_within_bounds(a in any_scalar(), b in any_scalar(), c in any_scalar()) {
        let tight = Limits { value_bytes: 120 };
        for function in FUNCTIONS {
            for arguments in [&[&a][..], &[&a, &b], &[&a, &b, &c]] {
                if let Ok(result) = call(function, arguments, tight) {
                    let largest = arguments.iter().map(|argument| argument.size()).max().unwrap_or(0);
                    prop_assert!(result.size() <= largest.max(120), "{}", function.name());
                }
            }
        }
    }

    #[test]
    fn texts_of_numbers_read_back(int in any::<i64>(), bits in any::<u64>(), micros in TIME_MIN..=TIME_MAX) {
        for (value, parse) in [
            (Value::Int(int), Function::IntParse),
            (Value::float(f64::from_bits(bits)), Function::FloatParse),
            (Value::Time(micros), Function::TimeParse),
        ] {
            let text = run(Function::StrOf, std::slice::from_ref(&value)).unwrap();
            prop_assert_eq!(run(parse, &[text]), Ok(value));
        }
    }

    #[test]
    fn division_holds_together(a in any::<i64>(), b in any::<i64>()) {
        if let (Ok(Value::Int(quotient)), Ok(Value::Int(rest))) = (divide(&int(a), &int(b)), remainder(&int(a), &int(b))) {
            prop_assert_eq!(i128::from(quotient) * i128::from(b) + i128::from(rest), i128::from(a));
        }
    }
}
