//! Programs, rows and their JSON.

use millrace::dataflow::value::{Cell, Limits as ValueLimits, Shape, Text, Value, show};
use millrace::dataflow::{Limits, Monitor, Plan, RecordTime, Scratch, TickError};
use millrace::lang;
use millrace::lang::types::Type;
use serde_json::{Value as Json, json};
use std::sync::Arc;

pub(crate) fn plan(root: &str) -> Plan {
    match lang::check(root) {
        Ok(checked) => Plan::new(&checked, Limits::default()),
        Err(errors) => panic!("{root}\n{errors}"),
    }
}

const LIMITS: ValueLimits = ValueLimits { value_bytes: 1 << 20 };

/// A value of a type from JSON.
pub(crate) fn value(json: &Json, ty: &Type) -> Value {
    match (ty, json) {
        (Type::Float, Json::Number(number)) => Value::float(number.as_f64().unwrap()),
        (Type::Time, Json::Number(number)) => Value::time(number.as_i64().unwrap()).unwrap(),
        (Type::Duration, Json::Number(number)) => Value::Duration(number.as_i64().unwrap()),
        (_, Json::Number(number)) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::float(number.as_f64().unwrap()),
        },
        (_, Json::Bool(truth)) => Value::Bool(*truth),
        (_, Json::String(text)) => Value::str(text),
        (Type::List(of), Json::Array(items)) => Value::list(items.iter().map(|item| value(item, of)).collect(), LIMITS).unwrap(),
        (Type::Tuple(of), Json::Array(items)) => {
            Value::tuple(items.iter().zip(of.iter()).map(|(item, ty)| value(item, ty)).collect(), LIMITS).unwrap()
        }
        (_, Json::Array(items)) => Value::list(items.iter().map(|item| value(item, &Type::Any)).collect(), LIMITS).unwrap(),
        (Type::Map(of), Json::Object(entries)) => {
            Value::map(entries.iter().map(|(key, json)| (Text::new(key), value(json, of))).collect(), LIMITS).unwrap()
        }
        (ty, Json::Object(entries)) => {
            let shape = Shape::new(entries.keys().map(|key| Arc::from(key.as_str())));
            let field = |name: &str| match ty {
                Type::Struct(of) => of.field(name).cloned().unwrap_or(Type::Any),
                _ => Type::Any,
            };
            let fields = shape.names().iter().map(|name| value(&entries[&**name], &field(name))).collect();
            Value::structure(shape, fields, LIMITS).unwrap()
        }
        (_, Json::Null) => panic!("null"),
    }
}

/// As the vectors write it: Floats with a point.
pub(crate) fn json(value: &Value) -> Json {
    match value {
        Value::Unit => json!([]),
        Value::Bool(truth) => json!(truth),
        Value::Int(int) => json!(int),
        Value::Float(float) => json!(float),
        Value::Str(text) => json!(text.as_str()),
        Value::List(of) | Value::Tuple(of) => of.items().iter().map(json).collect(),
        Value::Map(of) => Json::Object(of.entries().iter().map(|(key, value)| (key.as_str().to_owned(), json(value))).collect()),
        Value::Struct(of) => {
            Json::Object(of.shape().names().iter().zip(of.fields()).map(|(key, value)| (key.to_string(), json(value))).collect())
        }
        other => json!(show(other)),
    }
}

pub(crate) fn cell_json(cell: &Cell) -> Json {
    match cell {
        Cell::NoVal => json!({"special": "NoVal"}),
        Cell::Deferred => json!({"special": "Deferred"}),
        Cell::Value(value) => json(value),
    }
}

/// The row of a plan's inputs from JSON.
pub(crate) fn row(plan: &Plan, inputs: &Json) -> Vec<Cell> {
    let cell = |stream: &millrace::dataflow::plan::PlanStream| match inputs.get(&*stream.name) {
        Some(json) => Cell::Value(value(json, &stream.ty)),
        None => Cell::NoVal,
    };
    plan.streams()[..plan.inputs()].iter().map(cell).collect()
}

pub(crate) fn at(micros: i64) -> RecordTime {
    RecordTime { record: micros, arrival: micros }
}

/// A plan with one key.
pub(crate) struct Run {
    pub(crate) plan: Arc<Plan>,
    pub(crate) monitor: Monitor,
    pub(crate) scratch: Scratch,
    pub(crate) now: i64,
}

impl Run {
    pub(crate) fn new(root: &str) -> Self {
        Self::of(Arc::new(plan(root)))
    }

    pub(crate) fn of(plan: Arc<Plan>) -> Self {
        Self { monitor: Monitor::new(&plan), plan, scratch: Scratch::default(), now: 0 }
    }

    pub(crate) fn tick(&mut self, inputs: &Json) -> Result<Vec<Cell>, TickError> {
        let row = row(&self.plan, inputs);
        self.now += 1_000_000;
        self.cells(&row, self.now)
    }

    pub(crate) fn cells(&mut self, row: &[Cell], time: i64) -> Result<Vec<Cell>, TickError> {
        self.monitor.tick(&self.plan, row, at(time), &mut self.scratch).map(|row| row.cells().collect())
    }

    /// The `out` streams of a tick, as the vectors write them.
    pub(crate) fn outputs(&mut self, inputs: &Json) -> Result<Json, TickError> {
        let plan = Arc::clone(&self.plan);
        let row = self.tick(inputs)?;
        let out = |(stream, cell): (&millrace::dataflow::plan::PlanStream, &Cell)| {
            (stream.kind == lang::syntax::StreamKind::Out).then(|| (stream.name.to_string(), cell_json(cell)))
        };
        Ok(Json::Object(plan.streams().iter().zip(&row).filter_map(out).collect()))
    }
}
