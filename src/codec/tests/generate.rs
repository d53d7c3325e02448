//! Tests of this module: types, and values of them, drawn by chance.

use crate::dataflow::value::{self, Shape, TIME_MAX, TIME_MIN, Text, Value};
use crate::lang::types::Type;
use proptest::prelude::*;

const FREE: value::Limits = value::Limits { value_bytes: 1 << 30 };

/// A type without functions and without `Any`, under which a Time would come back as a Str.
pub(super) fn ty() -> BoxedStrategy<Type> {
    types("[a-c]{1,2}|x y|ä\"", Vec::new(), Just(false).boxed())
}

/// A type as a root may declare it: with `Any` in it, and structs that admit more.
pub(super) fn declared() -> BoxedStrategy<Type> {
    types("[a-c]", vec![Type::Any, Type::Any], any::<bool>().boxed())
}

fn types(names: &'static str, more: Vec<Type>, open: BoxedStrategy<bool>) -> BoxedStrategy<Type> {
    let scalars = [Type::Unit, Type::Bool, Type::Int, Type::Float, Type::Str, Type::Time, Type::Duration];
    let scalar = prop::sample::select([scalars.to_vec(), more].concat());
    let nested = move |inner: BoxedStrategy<Type>| {
        let fields = (prop::collection::btree_map(names, inner.clone(), 1..4), open.clone());
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::map),
            prop::collection::vec(inner, 2..4).prop_map(|items| Type::Tuple(items.into())),
            fields.prop_map(|(fields, open)| Type::structure(fields.into_iter().map(|(name, ty)| (name.into(), ty)).collect(), open)),
        ]
    };
    scalar.prop_recursive(4, 24, 4, move |inner| nested(inner.boxed())).boxed()
}

pub(super) fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{0,20}", any::<String>(), "[\"\\\\\u{0}-\u{1f}äß😀\u{7f}\u{2028}]{0,12}"].boxed()
}

/// A value of this type; floats are finite.
pub(super) fn of(ty: &Type) -> BoxedStrategy<Value> {
    let fixed = |value: Option<Value>| Just(value).prop_filter_map("within bounds", |value| value);
    match ty {
        Type::Unit => fixed(Some(Value::Unit)).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Int => prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -9_i64..9].prop_map(Value::Int).boxed(),
        Type::Float => {
            let finite = any::<f64>().prop_filter("finite", |float| float.is_finite());
            prop_oneof![finite, Just(-0.0), (-9_i32..9).prop_map(f64::from), Just(f64::MAX)].prop_map(Value::float).boxed()
        }
        Type::Str => text().prop_map(|text| Value::str(&text)).boxed(),
        Type::Time => prop_oneof![TIME_MIN..=TIME_MAX, Just(TIME_MIN), Just(TIME_MAX), Just(0)].prop_map(Value::Time).boxed(),
        Type::Duration => prop_oneof![any::<i64>(), Just(i64::MIN), Just(0)].prop_map(Value::Duration).boxed(),
        Type::List(of) => prop::collection::vec(self::of(of), 0..4).prop_map(|items| Value::list(items, FREE).unwrap()).boxed(),
        Type::Map(of) => {
            let entries = prop::collection::btree_map(text(), self::of(of), 0..4);
            entries
                .prop_map(|all| Value::map(all.into_iter().map(|(key, value)| (Text::from(key), value)).collect(), FREE).unwrap())
                .boxed()
        }
        Type::Tuple(items) => items.iter().map(self::of).collect::<Vec<_>>().prop_map(|items| Value::tuple(items, FREE).unwrap()).boxed(),
        Type::Struct(of) => {
            let shape = Shape::new(of.fields.iter().map(|(name, _)| name.clone()));
            let fields = of.fields.iter().map(|(_, ty)| self::of(ty)).collect::<Vec<_>>();
            fields.prop_map(move |fields| Value::structure(shape.clone(), fields, FREE).unwrap()).boxed()
        }
        other => panic!("no values of {other} are drawn"),
    }
}
