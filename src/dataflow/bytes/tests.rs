//! Tests of this module: written forms are canonical, bounded and never trusted.

use super::*;
use crate::dataflow::value::{Cell, Code, Failure, Limits, NAN, Shape, Text, Value};
use crate::lang::syntax::Span;
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

const FREE: Limits = Limits { value_bytes: 1 << 30 };

fn written(value: &Value) -> Vec<u8> {
    let mut out = Writer::new();
    out.value(value);
    out.finish()
}

/// As digits.
pub(in crate::dataflow) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn read(bytes: &[u8]) -> Result<Value, BytesError> {
    let mut reader = Reader::new(bytes, FREE)?;
    let value = reader.value()?;
    reader.end().map(|()| value)
}

/// Any value, not deeper than a few levels.
fn any_value() -> impl Strategy<Value = Value> {
    let float = prop_oneof![any::<u64>().prop_map(f64::from_bits), Just(-0.0), Just(f64::NAN)];
    let leaf = prop_oneof![
        Just(Value::Unit),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        float.prop_map(Value::float),
        (-62_167_219_200_000_000..253_402_300_800_000_000_i64).prop_map(Value::Time),
        any::<i64>().prop_map(Value::Duration),
        ".{0,40}".prop_map(|text| Value::str(&text)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let row = || prop::collection::vec(inner.clone(), 0..6);
        let named = prop::collection::vec(("[a-d]{1,2}", inner.clone()), 0..6);
        prop_oneof![
            row().prop_map(|items| Value::list(items, FREE).unwrap()),
            row().prop_map(|items| Value::tuple(items, FREE).unwrap()),
            named.prop_map(|named| Value::map(named.into_iter().map(|(key, value)| (Text::from(key), value)).collect(), FREE).unwrap()),
            row().prop_map(|items| {
                let shape = Shape::new((0..items.len()).map(|at| Arc::from(format!("f{at}"))));
                Value::structure(shape, items, FREE).unwrap()
            }),
            (any::<u32>(), row()).prop_map(|(body, captures)| Value::function((7, body), None, captures, FREE).unwrap()),
        ]
    })
}

proptest! {
    #[test]
    fn values_read_back(value in any_value()) {
        let bytes = written(&value);
        let again = read(&bytes).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.size(), value.size());
        prop_assert_eq!(again.depth(), value.depth());
        prop_assert_eq!(written(&again), bytes);
    }

    #[test]
    fn garbage_is_refused_or_is_itself(garbage in prop::collection::vec(any::<u8>(), 0..100)) {
        let bytes = [&[VERSION][..], &garbage].concat();
        if let Ok(value) = read(&bytes) {
            prop_assert_eq!(written(&value), bytes);
        }
    }

    #[test]
    fn damage_is_refused_or_is_itself(value in any_value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = written(&value);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(value) = read(&bytes) {
            prop_assert_eq!(written(&value), bytes.clone());
        }
        prop_assert!(read(&bytes[..at]).is_err());
    }

    #[test]
    fn rings_read_back(ring in prop::collection::vec(prop_oneof![Just(Cell::NoVal), Just(Cell::Deferred), any_value().prop_map(Cell::Value)], 0..30)) {
        let mut out = Writer::new();
        out.cells(ring.iter());
        let bytes = out.finish();
        let mut reader = Reader::new(&bytes, FREE).unwrap();
        prop_assert_eq!(&reader.cells(30).unwrap(), &ring);
        reader.end().unwrap();
        let fewer = ring.len().saturating_sub(1);
        if fewer < ring.len() {
            prop_assert!(Reader::new(&bytes, FREE).unwrap().cells(fewer).is_err());
        }
    }

    #[test]
    fn numbers_read_back(number in any::<u64>(), signed in any::<i64>()) {
        let mut out = Writer::new();
        out.u64(number);
        out.i64(signed);
        let bytes = out.finish();
        let mut reader = Reader::new(&bytes, FREE).unwrap();
        prop_assert_eq!((reader.u64(), reader.i64()), (Ok(number), Ok(signed)));
    }

    #[test]
    fn rings_of_garbage_take_no_memory(garbage in prop::collection::vec(any::<u8>(), 0..40)) {
        let bytes = [&[VERSION][..], &garbage].concat();
        if let Ok(cells) = Reader::new(&bytes, FREE).unwrap().cells(1_000) {
            prop_assert!(cells.len() <= 1_000);
        }
    }
}

#[test]
fn bounds_hold() {
    let mut deep = vec![VERSION];
    deep.extend([8, 1].repeat(100_000));
    assert_eq!(read(&deep), Err(BytesError::Large));
    assert_eq!(read(&[VERSION, 8, 0xff, 0xff, 0xff, 0xff, 0x0f]), Err(BytesError::End));
    assert_eq!(read(&[VERSION + 1, 0]), Err(BytesError::Version(VERSION + 1)));
    assert_eq!(read(&[]), Err(BytesError::End));
    assert_eq!(read(&[VERSION, 0, 0]), Err(BytesError::Surplus));
    assert!(matches!(read(&[VERSION, 3, 0x80, 0]), Err(BytesError::Damaged(_))));
    let text = written(&Value::str(&"x".repeat(1_000)));
    assert_eq!(Reader::new(&text, Limits { value_bytes: 500 }).unwrap().value(), Err(BytesError::Large));
    // A long run of nothing is short.
    let ring = vec![Cell::Deferred; 1_000_000];
    let mut out = Writer::new();
    out.cells(ring.iter());
    let bytes = out.finish();
    assert!(bytes.len() < 10);
    assert_eq!(Reader::new(&bytes, FREE).unwrap().cells(1_000_000).unwrap().len(), 1_000_000);
}

#[test]
fn the_form_is_this() {
    let shape = Shape::new(["b", "a"].map(Arc::from));
    let point = |int| Value::structure(Arc::clone(&shape), vec![Value::Int(int), Value::Bool(true)], FREE).unwrap();
    let map = Value::map(vec![("k".into(), Value::Float(-0.0)), ("a".into(), Value::Float(NAN))], FREE).unwrap();
    let tuple = Value::tuple(vec![Value::Time(-1), Value::Duration(300), Value::Unit], FREE).unwrap();
    let function = Value::function((1, 2), None, vec![Value::str("ä")], FREE).unwrap();
    let mut out = Writer::new();
    out.value(&Value::list(vec![point(-3), point(64), map, tuple, function, Value::Bool(false)], FREE).unwrap());
    out.cells([Cell::NoVal, Cell::NoVal, Cell::Deferred, Cell::Value(Value::Int(1))].iter());
    out.failure(&Failure::new(Code::KIND, "what").with(&[&Value::Int(1)]).at(&Arc::from("s"), Span::new(3, 200)));
    let bytes = out.finish();
    let golden = concat!(
        "01",
        "0806",
        "0b00020161016203",
        "0502",
        "0b00",
        "03800102",
        "0a020161",
        "04000000000000f87f",
        "016b",
        "040000000000000080",
        "09030501",
        "06d80400",
        "0c01020107",
        "02c3a4",
        "01",
        "0420012100",
        "0302",
        "d40f",
        "0477686174",
        "0131",
        "01017303c801"
    );
    assert_eq!(hex(&bytes), golden, "the bytes of values changed: a new version is needed");
}

#[test]
fn failures_read_back() {
    for failure in [
        Failure::new(Code::OVERFLOW, "what").with(&[&Value::Int(1), &Value::str("two")]),
        Failure::new(Code::STEPS, "what").at(&Arc::from("stream"), Span::new(1, 2)),
    ] {
        let mut out = Writer::new();
        out.failure(&failure);
        let bytes = out.finish();
        assert_eq!(Reader::new(&bytes, FREE).unwrap().failure().unwrap(), failure);
    }
}
