//! Tests of this module: what JSON means, said the slow way: a tree, of equal names the last, then types.

use crate::dataflow::value::{self, Shape, Value, parse_time};
use crate::lang::literal::duration_of;
use crate::lang::types::Type;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;

const FREE: value::Limits = value::Limits { value_bytes: 1 << 30 };

/// A document, with names that may stand twice.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// How it is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) blanks: &'static str,
    /// Whether every character of a text is escaped.
    pub(super) escaped: bool,
}

pub(super) fn layout() -> impl Strategy<Value = Layout> {
    (prop::sample::select(vec!["", " ", "\n\t", "\r\n  "]), any::<bool>()).prop_map(|(blanks, escaped)| Layout { blanks, escaped })
}

impl Json {
    pub(super) fn write(&self, layout: Layout, out: &mut String) {
        let blanks = layout.blanks;
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(truth) => write!(out, "{truth}").unwrap(),
            Self::Number(text) => out.push_str(text),
            Self::Text(text) => write_text(text, layout, out),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(blanks);
                    item.write(layout, out);
                    out.push_str(blanks);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(blanks);
                    write_text(name, layout, out);
                    write!(out, "{blanks}:{blanks}").unwrap();
                    value.write(layout, out);
                    out.push_str(blanks);
                }
                out.push('}');
            }
        }
    }

    /// The value that a pointer leads to.
    pub(super) fn at(&self, pointer: &[&str]) -> Option<&Self> {
        let [token, rest @ ..] = pointer else { return Some(self) };
        match self {
            Self::Object(members) => members.iter().rev().find(|(name, _)| name == token)?.1.at(rest),
            Self::Array(items) => items.get(token.parse::<usize>().ok()?)?.at(rest),
            _ => None,
        }
    }

    /// The members that count, without nulls.
    fn members(members: &[(String, Self)]) -> BTreeMap<&str, &Self> {
        let last: BTreeMap<&str, &Self> = members.iter().map(|(name, value)| (name.as_str(), value)).collect();
        last.into_iter().filter(|(_, value)| !matches!(value, Self::Null)).collect()
    }

    /// As a value of a type; none where it is not of it.
    pub(super) fn fit(&self, ty: &Type) -> Option<Value> {
        match (ty, self) {
            (Type::Int, Self::Number(text)) => int(text).map(Value::Int),
            (Type::Float, Self::Number(text)) => float(text).map(Value::float),
            (Type::Any, Self::Number(text)) if text.contains(['.', 'e']) => float(text).map(Value::float),
            (Type::Any, Self::Number(text)) => text.parse().ok().map(Value::Int),
            (Type::Any | Type::Str, Self::Text(text)) => Some(Value::str(text)),
            (Type::Any | Type::Bool, Self::Bool(truth)) => Some(Value::Bool(*truth)),
            (Type::Time, Self::Text(text)) => parse_time(text).map(Value::Time),
            (Type::Time, Self::Number(text)) => Value::time(int(text)?.checked_mul(1_000)?),
            (Type::Duration, Self::Text(text)) => duration_of(text).map(Value::Duration),
            (Type::Duration, Self::Number(text)) => int(text)?.checked_mul(1_000_000).map(Value::Duration),
            (Type::Unit, Self::Array(items)) => items.is_empty().then_some(Value::Unit),
            (Type::Any, Self::Array(items)) => list(items, &Type::Any),
            (Type::List(of), Self::Array(items)) => list(items, of),
            (Type::Tuple(types), Self::Array(items)) if types.len() == items.len() => {
                let items: Option<Vec<_>> = items.iter().zip(types.iter()).map(|(item, ty)| item.fit(ty)).collect();
                Value::tuple(items?, FREE).ok()
            }
            (Type::Map(of), Self::Object(members)) => {
                let entries = Self::members(members).into_iter().map(|(name, value)| Some((name.into(), value.fit(of)?)));
                Value::map(entries.collect::<Option<_>>()?, FREE).ok()
            }
            (Type::Any, Self::Object(members)) => structure(&Self::members(members), |_| Some(&Type::Any)),
            (Type::Struct(of), Self::Object(members)) => {
                let members = Self::members(members);
                let has_all = of.fields.iter().all(|(name, _)| members.contains_key(&**name));
                let ty = |name: &str| of.field(name).or(of.open.then_some(&Type::Any));
                has_all.then(|| structure(&members, ty)).flatten()
            }
            _ => None,
        }
    }
}

fn write_text(text: &str, layout: Layout, out: &mut String) {
    if !layout.escaped {
        return out.push_str(&serde_json::to_string(text).unwrap());
    }
    out.push('"');
    text.encode_utf16().for_each(|unit| write!(out, "\\u{unit:04X}").unwrap());
    out.push('"');
}

fn float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// Texts drawn here are short enough that the nearest float is an integer only where they are.
fn int(text: &str) -> Option<i64> {
    let float = float(text)?;
    let small = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    if text.contains(['.', 'e']) { small.then(|| format!("{float:.0}").parse().unwrap()) } else { text.parse().ok() }
}

fn list(items: &[Json], of: &Type) -> Option<Value> {
    Value::list(items.iter().map(|item| item.fit(of)).collect::<Option<_>>()?, FREE).ok()
}

fn structure<'t>(members: &BTreeMap<&str, &Json>, ty: impl Fn(&str) -> Option<&'t Type>) -> Option<Value> {
    let kept: Vec<_> = members.iter().filter_map(|(name, value)| Some((*name, *value, ty(name)?))).collect();
    let fields = kept.iter().map(|(_, value, ty)| value.fit(ty)).collect::<Option<Vec<_>>>()?;
    Value::structure(Shape::new(kept.iter().map(|(name, ..)| (*name).into())), fields, FREE).ok()
}

fn number() -> BoxedStrategy<Json> {
    let texts = ["0", "-0", "1.0", "-0.0", "1e3", "15e-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e400"];
    let floats = any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(|float| format!("{float:?}"));
    prop_oneof![
        prop::sample::select(texts.to_vec()).prop_map(str::to_owned),
        (-1_000_i64..1_000_000).prop_map(|int| int.to_string()),
        any::<i64>().prop_map(|int| int.to_string()),
        floats,
    ]
    .prop_map(Json::Number)
    .boxed()
}

/// Any document.
pub(super) fn any_json() -> BoxedStrategy<Json> {
    let text = prop_oneof!["[a-c]{0,3}", super::generate::text()].prop_map(Json::Text);
    let leaf = prop_oneof![Just(Json::Null), any::<bool>().prop_map(Json::Bool), number(), text];
    let nested = |inner: BoxedStrategy<Json>| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec(("[a-e]", inner), 0..5).prop_map(Json::Object),
        ]
    };
    leaf.prop_recursive(5, 40, 5, move |inner| nested(inner.boxed())).boxed()
}

/// A document that mostly is of this type, and has members beside those of its structs.
pub(super) fn json_of(ty: &Type) -> BoxedStrategy<Json> {
    let fitting = match ty {
        Type::Any => any_json(),
        Type::List(of) => prop::collection::vec(json_of(of), 0..4).prop_map(Json::Array).boxed(),
        Type::Tuple(items) => items.iter().map(json_of).collect::<Vec<_>>().prop_map(Json::Array).boxed(),
        Type::Map(of) => prop::collection::vec(("[a-e]", json_of(of)), 0..5).prop_map(Json::Object).boxed(),
        Type::Struct(of) => {
            let fields: Vec<_> = of.fields.iter().map(|(name, ty)| (Just(name.to_string()), json_of(ty))).collect();
            let more = prop::collection::vec(("[a-e]", any_json()), 0..3);
            // In any order: what is declared may come after something else of its name, or before.
            (fields, more).prop_flat_map(|(fields, more)| Just([more, fields].concat()).prop_shuffle()).prop_map(Json::Object).boxed()
        }
        scalar => super::generate::of(scalar).prop_map(|value| scalar_json(&value)).boxed(),
    };
    prop_oneof![30 => fitting, 1 => any_json(), 1 => Just(Json::Null)].boxed()
}

fn scalar_json(value: &Value) -> Json {
    let mut out = Vec::new();
    crate::codec::value::write(value, &mut out);
    let text = String::from_utf8(out).unwrap();
    match value {
        Value::Unit => Json::Array(Vec::new()),
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Str(text) => Json::Text(text.to_string()),
        Value::Time(_) | Value::Duration(_) => Json::Text(text.trim_matches('"').to_owned()),
        _ => Json::Number(text),
    }
}
