//! Made-up records, for trials: fields of the kinds that a root's inputs declare.
//!
//! Owns: what record number n of a seed is. Each value follows from the seed, n and the field's pointer alone, so that a
//! root with one more input sees the same values in the others.
//! May not: know types of the language; `worker` says what kinds are wanted.

use super::fetching::Fetching;
use super::places::{Ended, Places};
use super::queue::{Feeder, QueueLane, queue};
use super::simple::Reader;
use crate::env::{Env, first_of};
use crate::error::Code;
use crate::flow::{ErrorClass, Page, Record, SourceError, SplitId};
use serde_json::{Map, Number, Value};
use std::sync::Arc;
use std::time::Duration;

/// How many keys there are.
const KEYS: u64 = 16;
/// The most records of one page.
const PAGE: u64 = 4_096;
/// How long the fetcher sleeps between pages, at least.
const STEP: Duration = Duration::from_millis(10);

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the kind of its name")]
pub enum Kind {
    Int,
    Float,
    Bool,
    Str,
    Time,
    Duration,
    Unit,
    List(Box<Self>),
    Tuple(Vec<Self>),
    Map(Box<Self>),
    Struct(Vec<(String, Self)>),
}

/// Which records to make.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Equal seeds make equal records, arrival times apart.
    pub seed: i64,
    /// Records a second.
    pub rate: u32,
    /// How many; none: no end.
    pub records: Option<u64>,
    /// The fields: the tokens of a JSON pointer each, and what stands there. Shorter pointers come first.
    pub fields: Vec<(Vec<String>, Kind)>,
    /// The field that keys a record, where one does.
    pub key: Option<Vec<String>>,
}

impl Recipe {
    /// The payload and the key of the record of this number, from 1, that arrives at this time.
    #[must_use]
    pub fn record(&self, number: u64, arrival: i64) -> (Value, String) {
        let made = Made { seed: mix(self.seed.cast_unsigned(), number), arrival };
        let key = mix(made.seed, 0).checked_rem(KEYS).unwrap_or(0);
        let mut payload = Value::Object(Map::new());
        for (pointer, kind) in &self.fields {
            let value = if Some(pointer) == self.key.as_ref() { key_value(key, kind) } else { made.value(&pointer.join("/"), kind) };
            put(&mut payload, pointer, value);
        }
        if let Some(pointer) = &self.key
            && !self.fields.iter().any(|(field, _)| field == pointer)
        {
            let kind = kind_of(payload.pointer(&format!("/{}", pointer.join("/"))));
            put(&mut payload, pointer, key_value(key, &kind));
        }
        (payload, key_text(key))
    }
}

/// The kind of what stands at the key's place, inside a struct perhaps; a text where nothing does.
const fn kind_of(there: Option<&Value>) -> Kind {
    match there {
        Some(Value::Number(_)) => Kind::Int,
        Some(Value::Bool(_)) => Kind::Bool,
        _ => Kind::Str,
    }
}

fn key_text(key: u64) -> String {
    format!("key-{key:02}")
}

fn key_value(key: u64, kind: &Kind) -> Value {
    match kind {
        Kind::Int | Kind::Float => Value::Number(key.into()),
        Kind::Bool => Value::Bool(key.is_multiple_of(2)),
        _ => Value::String(key_text(key)),
    }
}

/// Puts a value at a pointer, making the objects on the way. A place inside something that is no object stays as it is.
fn put(into: &mut Value, pointer: &[String], value: Value) {
    let Some((last, way)) = pointer.split_last() else { return };
    let mut at = into;
    for token in way {
        let Value::Object(object) = at else { return };
        at = object.entry(token.as_str()).or_insert_with(|| Value::Object(Map::new()));
    }
    if let Value::Object(object) = at {
        object.insert(last.clone(), value);
    }
}

/// One record in the making.
struct Made {
    seed: u64,
    arrival: i64,
}

impl Made {
    fn number(&self, field: &str, below: u64) -> u64 {
        let hash = field.bytes().fold(self.seed, |hash, byte| mix(hash, u64::from(byte).wrapping_add(1)));
        hash.checked_rem(below).unwrap_or(0)
    }

    fn value(&self, field: &str, kind: &Kind) -> Value {
        let inner = |at: &str, kind: &Kind| self.value(&format!("{field}/{at}"), kind);
        match kind {
            Kind::Int => Value::Number(self.number(field, 100).into()),
            Kind::Float => hundredths(self.number(field, 10_000)),
            Kind::Bool => Value::Bool(self.number(field, 2) == 1),
            Kind::Str => Value::String(format!("text-{:02}", self.number(field, 16))),
            Kind::Time => Value::Number(self.arrival.div_euclid(1_000).into()),
            Kind::Duration => Value::Number(self.number(field, 60).into()),
            Kind::Unit => Value::Array(Vec::new()),
            Kind::List(of) => (0..self.number(field, 4)).map(|at| inner(&at.to_string(), of)).collect(),
            Kind::Tuple(of) => of.iter().enumerate().map(|(at, kind)| inner(&at.to_string(), kind)).collect(),
            Kind::Map(of) => (0..self.number(field, 4)).map(|at| (key_text(at), inner(&at.to_string(), of))).collect(),
            Kind::Struct(fields) => fields.iter().map(|(name, kind)| (name.clone(), inner(name, kind))).collect(),
        }
    }
}

/// A number of hundredths as a float.
fn hundredths(number: u64) -> Value {
    let float = u32::try_from(number).map_or(0.0, f64::from) / 100.0;
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// Mixes a number into another; equal inputs give equal results for ever, whatever the version.
const fn mix(one: u64, other: u64) -> u64 {
    let mut bits = one ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The generator as one split.
#[derive(Clone, Debug)]
pub struct GeneratorReader {
    /// Where it runs.
    pub env: Env,
    /// What it makes.
    pub recipe: Recipe,
}

impl Reader for GeneratorReader {
    fn open(&self, _split: &SplitId, behind: Option<&str>, fetching: Fetching) -> Result<QueueLane, SourceError> {
        let number = behind.map_or(Ok(0), str::parse).map_err(|_| SourceError {
            class: ErrorClass::Fatal,
            code: Code::INTERNAL,
            message: format!("{} is no number of a made record", behind.unwrap_or_default()).into(),
        })?;
        Ok(open(&self.env, self.recipe.clone(), number, fetching))
    }

    fn start(&self) -> Arc<str> {
        "0".into()
    }
}

/// Starts to make records, behind so many that were made.
#[must_use]
pub fn open(env: &Env, recipe: Recipe, behind: u64, fetching: Fetching) -> QueueLane {
    let (feeder, lane) = queue(fetching.limits);
    let work = fetch(env.clone(), (recipe, behind), feeder, fetching);
    env.tasks().spawn("generator", Box::pin(work));
    lane
}

async fn fetch(env: Env, from: (Recipe, u64), feeder: Feeder, fetching: Fetching) {
    let Fetching { limits: _, mut stop, places } = fetching;
    let ended = first_of(make(env, from, &feeder, &places), Fetching::stopped(&mut stop)).await;
    places.end(ended.unwrap_or(Ended::Stopped));
}

async fn make(env: Env, (recipe, behind): (Recipe, u64), feeder: &Feeder, places: &Places) -> Ended {
    let (stream, shard): (Arc<str>, Arc<str>) = ("main".into(), "generator".into());
    let (begun, mut made) = (env.clock().monotonic(), behind);
    let most = recipe.records.unwrap_or(u64::MAX);
    while made < most {
        let due = due(recipe.rate, env.clock().monotonic().saturating_sub(begun)).saturating_add(behind).min(most);
        let until = due.min(made.saturating_add(PAGE));
        let mut page = Page::new(Arc::clone(&stream), Arc::clone(&shard));
        while made < until {
            made = made.saturating_add(1);
            push(&mut page, &recipe, made, env.clock().wall_micros());
        }
        let (records, place) = (page.len(), made.to_string().into());
        if feeder.send(page, || places.note(records, place)).await.is_err() {
            return Ended::Stopped;
        }
        if made >= due && made < most {
            env.clock().sleep(STEP).await;
        }
    }
    Ended::Complete
}

/// How many records are due: the first at once.
fn due(rate: u32, since: Duration) -> u64 {
    let micros = since.as_micros().saturating_mul(u128::from(rate));
    u64::try_from(micros / 1_000_000).unwrap_or(u64::MAX).saturating_add(1)
}

fn push(page: &mut Page, recipe: &Recipe, number: u64, arrival: i64) {
    let (payload, key) = recipe.record(number, arrival);
    let (payload, number) = (payload.to_string(), number.to_string());
    page.push(&Record {
        stream: "",
        shard: "",
        partition_key: Some(&key),
        sequence_number: &number,
        sub_sequence: None,
        arrival,
        payload: payload.as_bytes(),
    });
}

#[cfg(test)]
mod tests {
    use super::{Ended, Fetching, Kind, Places, Recipe, open};
    use crate::env::Simulation;
    use crate::flow::{Lane, LaneItem, Ordinal};
    use crate::source::QueueLimits;
    use parking_lot::Mutex;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::task::Waker;
    use std::time::Duration;
    use tokio::sync::watch;

    fn pointer(tokens: &[&str]) -> Vec<String> {
        tokens.iter().map(|token| (*token).to_owned()).collect()
    }

    fn recipe(seed: i64, fields: Vec<(Vec<String>, Kind)>) -> Recipe {
        Recipe { seed, rate: 10, records: Some(25), fields, key: Some(pointer(&["device", "id"])) }
    }

    #[test]
    fn equal_seeds_make_equal_records_and_a_new_field_leaves_the_others_alone() {
        let one = recipe(7, vec![(pointer(&["temp"]), Kind::Float)]);
        let two = recipe(7, vec![(pointer(&["on"]), Kind::Bool), (pointer(&["temp"]), Kind::Float)]);
        let other = recipe(8, vec![(pointer(&["temp"]), Kind::Float)]);
        let mut differ = 0;
        for number in 1..100 {
            let (payload, key) = one.record(number, 5);
            assert_eq!(payload["device"]["id"].as_str(), Some(key.as_str()));
            assert_eq!(two.record(number, 9).0["temp"], payload["temp"]);
            differ += i32::from(other.record(number, 5).0["temp"] != payload["temp"]);
        }
        assert!(differ > 90);
        // What a seed makes outlives versions.
        assert_eq!(one.record(1, 0).0.to_string(), r#"{"device":{"id":"key-02"},"temp":16.36}"#);
    }

    #[test]
    fn a_key_inside_a_struct_has_the_kind_that_the_struct_declares() {
        let made = recipe(7, vec![(pointer(&["device"]), Kind::Struct(vec![("id".into(), Kind::Int)]))]);
        assert!((1..20).all(|number| made.record(number, 0).0["device"]["id"].is_u64()));
    }

    #[test]
    fn every_kind_is_made() {
        let of = Kind::Struct(vec![("a".into(), Kind::Int), ("l".into(), Kind::List(Box::new(Kind::Str)))]);
        let tuple = Kind::Tuple(vec![Kind::Duration, Kind::Unit, Kind::Map(Box::new(of))]);
        let (payload, _) = recipe(1, vec![(pointer(&["t"]), tuple), (pointer(&["at"]), Kind::Time)]).record(3, 7_000);
        assert_eq!((payload["at"].as_i64(), payload["t"][1].as_array().map(Vec::len)), (Some(7), Some(0)));
        assert!(payload["t"][2].is_object());
    }

    #[test]
    fn records_come_at_their_rate_and_end() {
        let world = Simulation::new(1);
        let (_running, stop) = watch::channel(false);
        let places = Places::new("0".into(), Waker::noop().clone());
        let fetching = Fetching { limits: QueueLimits::default(), stop, places: places.clone() };
        let mut lane = open(&world.env(), recipe(1, vec![]), 0, fetching);
        let (seen, env) = (Arc::new(Mutex::new(Vec::new())), world.env());
        let noted = Arc::clone(&seen);
        let reader = async move {
            while let LaneItem::Batch(batch) = poll_fn(|cx| lane.poll_next(cx)).await {
                noted.lock().push((batch.len(), env.clock().monotonic()));
            }
        };
        world.env().tasks().spawn("reader", Box::pin(reader));
        assert_eq!(world.run(Duration::from_secs(10)), 0);
        let seen = seen.lock();
        assert_eq!(seen.iter().map(|(records, _)| records).sum::<usize>(), 25);
        let last = seen.last().unwrap().1;
        assert_eq!((places.behind(Ordinal::new(25)).as_deref(), places.ended()), (Some("25"), Some(Ended::Complete)));
        assert!(last >= Duration::from_millis(2_400) && last < Duration::from_millis(2_500), "{last:?}");
    }
}
