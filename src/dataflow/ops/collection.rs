//! Functions of lists, maps, structs and tuples.
//!
//! Owns: `List.*` and `Map.*` but for those that call functions, `e.f` and `e.0`.
//! May not: change a value: what is new is made whole, within its bounds.

use crate::dataflow::value::{Code, Failure, Limits, Table, Text, Value};

/// The elements of a list.
///
/// # Errors
/// It is no list.
pub fn elements<'a>(operation: &str, list: &'a Value) -> Result<&'a [Value], Failure> {
    if let Value::List(of) = list { Ok(of.items()) } else { Err(Failure::kind(operation, "a List", list)) }
}

fn table<'a>(operation: &str, map: &'a Value) -> Result<&'a Table, Failure> {
    if let Value::Map(of) = map { Ok(of) } else { Err(Failure::kind(operation, "a Map", map)) }
}

fn key<'a>(operation: &str, key: &'a Value) -> Result<&'a Text, Failure> {
    if let Value::Str(text) = key { Ok(text) } else { Err(Failure::kind(operation, "a Str as key", key)) }
}

/// The element at a place, where there is one.
///
/// # Errors
/// The kinds.
pub fn list_get(list: &Value, place: &Value) -> Result<Option<Value>, Failure> {
    let items = elements("List.get", list)?;
    let place = place.as_int().ok_or_else(|| Failure::kind("List.get", "an Int as place", place))?;
    Ok(usize::try_from(place).ok().and_then(|place| items.get(place)).cloned())
}

/// `List.get(l, i)`.
pub(super) fn get(list: &Value, place: &Value) -> Result<Value, Failure> {
    list_get(list, place)?.ok_or_else(|| {
        let length = elements("List.get", list).map_or(0, <[Value]>::len);
        Failure::new(Code::OUT_OF_RANGE, format!("`List.get`: a list of {length} has no such place")).with(&[list, place])
    })
}

/// `List.concat`.
pub(super) fn join(a: &Value, b: &Value, limits: Limits) -> Result<Value, Failure> {
    let (left, right) = (elements("List.concat", a)?, elements("List.concat", b)?);
    if a.size().saturating_add(b.size()) > limits.value_bytes.saturating_mul(2) {
        return Err(Failure::size(limits));
    }
    Value::list([left, right].concat(), limits)
}

/// Holds that a value may become a part of another.
///
/// # Errors
/// It is a function.
#[inline]
pub fn collected(value: &Value) -> Result<(), Failure> {
    if matches!(value, Value::Function(_)) { Err(Failure::function("stand in a list, map, struct or tuple")) } else { Ok(()) }
}

/// `List.append(l, x)`.
pub(super) fn append(list: &Value, value: &Value, limits: Limits) -> Result<Value, Failure> {
    let items = elements("List.append", list)?;
    collected(value)?;
    let mut made = Vec::with_capacity(items.len().saturating_add(1));
    made.extend_from_slice(items);
    made.push(value.clone());
    Value::list(made, limits)
}

/// `List.head`.
pub(super) fn head(list: &Value) -> Result<Value, Failure> {
    elements("List.head", list)?.first().cloned().ok_or_else(|| empty("List.head"))
}

/// `List.tail`.
pub(super) fn tail(list: &Value, limits: Limits) -> Result<Value, Failure> {
    let (_, rest) = elements("List.tail", list)?.split_first().ok_or_else(|| empty("List.tail"))?;
    Value::list(rest.to_vec(), limits)
}

#[cold]
fn empty(operation: &'static str) -> Failure {
    Failure::new(Code::OUT_OF_RANGE, format!("`{operation}` of an empty list"))
}

/// `List.len`.
pub(super) fn len(list: &Value) -> Result<Value, Failure> {
    Ok(Value::Int(i64::try_from(elements("List.len", list)?.len()).unwrap_or(i64::MAX)))
}

/// The value under a key, where there is one.
///
/// # Errors
/// The kinds.
pub fn map_get(map: &Value, at: &Value) -> Result<Option<Value>, Failure> {
    Ok(table("Map.get", map)?.get(key("Map.get", at)?).cloned())
}

/// `Map.get(m, k)`.
pub(super) fn at_key(map: &Value, at: &Value) -> Result<Value, Failure> {
    map_get(map, at)?.ok_or_else(|| Failure::new(Code::MISSING_KEY, "`Map.get`: the map has no such key").with(&[map, at]))
}

/// `Map.insert(m, k, v)`.
pub(super) fn insert(map: &Value, at: &Value, value: &Value, limits: Limits) -> Result<Value, Failure> {
    let table = table("Map.insert", map)?;
    let key = key("Map.insert", at)?;
    collected(value)?;
    let mut entries = Vec::with_capacity(table.entries().len().saturating_add(1));
    let (at, after) = table.find(key).map_or_else(|at| (at, at), |at| (at, at.saturating_add(1)));
    entries.extend_from_slice(table.entries().get(..at).unwrap_or_default());
    entries.push((key.clone(), value.clone()));
    entries.extend_from_slice(table.entries().get(after..).unwrap_or_default());
    Value::map(entries, limits)
}

/// `Map.remove(m, k)`: of a key that is not there, the map as it is.
pub(super) fn remove(map: &Value, at: &Value, limits: Limits) -> Result<Value, Failure> {
    let table = table("Map.remove", map)?;
    let Ok(place) = table.find(key("Map.remove", at)?) else { return Ok(map.clone()) };
    let mut entries = table.entries().to_vec();
    entries.remove(place);
    Value::map(entries, limits)
}

/// `Map.has_key`.
pub(super) fn has_key(map: &Value, at: &Value) -> Result<Value, Failure> {
    Ok(Value::Bool(table("Map.has_key", map)?.find(key("Map.has_key", at)?).is_ok()))
}

/// `Map.keys`, rising.
pub(super) fn keys(map: &Value, limits: Limits) -> Result<Value, Failure> {
    let keys = table("Map.keys", map)?.entries().iter().map(|(key, _)| Value::Str(key.clone())).collect();
    Value::list(keys, limits)
}

/// `e.f`.
///
/// # Errors
/// It is no struct, or has no such field.
#[inline]
pub fn field(value: &Value, name: &str) -> Result<Value, Failure> {
    let Value::Struct(of) = value else { return Err(Failure::kind(&format!(".{name}"), "a Struct", value)) };
    of.get(name).cloned().ok_or_else(|| Failure::new(Code::MISSING_FIELD, format!("the struct has no field `{name}`")).with(&[value]))
}

/// `e.0`.
///
/// # Errors
/// It is no tuple, or has no such place.
pub fn item(value: &Value, place: u32) -> Result<Value, Failure> {
    let Value::Tuple(of) = value else { return Err(Failure::kind(&format!(".{place}"), "a tuple", value)) };
    let found = usize::try_from(place).ok().and_then(|place| of.items().get(place)).cloned();
    found.ok_or_else(|| Failure::new(Code::MISSING_FIELD, format!("the tuple has no place {place}")).with(&[value]))
}
