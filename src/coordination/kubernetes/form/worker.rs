//! A worker's record in its `StreamWorker`: two parts of an object that also holds the operator's instruction, the
//! worker's answer to it, and more.

use super::{FormError, bounded, count, splits, texts};
use crate::api::stream_worker::{Assignment, StreamWorkerStatus};
use crate::coordination::records::{self, Incarnation};
use kube::api::DynamicObject;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most splits of one worker.
const SPLITS: usize = 2000;

/// What is ours of the object.
#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    spec: Spec,
    #[serde(default, skip_serializing)]
    status: Status,
}

#[derive(Default, Serialize, Deserialize)]
struct Spec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assignment: Option<Assignment>,
}

#[derive(Default, Deserialize)]
struct Status {
    incarnation: Option<String>,
    budget: Option<i64>,
    leaving: Option<bool>,
}

/// A new object's fields: without a status, which is not taken with a create.
pub(super) fn write(worker: &records::WorkerRecord) -> Result<Fields, FormError> {
    let assignment = worker.assignment.as_ref().map(write_assignment).transpose()?;
    Ok(Fields { spec: Spec { assignment }, status: Status::default() })
}

/// The leader's part, as a patch.
pub(in crate::coordination::kubernetes) fn assignment(assignment: &records::Assignment) -> Result<Value, FormError> {
    Ok(serde_json::to_value(write_assignment(assignment)?)?)
}

fn write_assignment(assignment: &records::Assignment) -> Result<Assignment, FormError> {
    bounded("spec.assignment.splits", assignment.splits.len(), SPLITS)?;
    Ok(Assignment {
        term: i64::try_from(assignment.term).map_err(|_| FormError::Field("spec.assignment.term"))?,
        number: i64::try_from(assignment.number).map_err(|_| FormError::Field("spec.assignment.number"))?,
        splits: texts(&assignment.splits),
    })
}

/// The whole object with this in the worker's part of it.
pub(in crate::coordination::kubernetes) fn spoken(status: &records::WorkerStatus, object: &DynamicObject) -> Result<Value, FormError> {
    let new = StreamWorkerStatus {
        incarnation: Some(status.incarnation.as_str().to_owned()),
        budget: Some(count(status.budget)),
        leaving: Some(status.leaving),
        ..StreamWorkerStatus::default()
    };
    let Value::Object(new) = serde_json::to_value(new)? else { return Err(FormError::Field("status")) };
    let mut data = object.data.clone();
    let fields = data.as_object_mut().ok_or(FormError::Field("status"))?;
    let stood = fields.entry("status").or_insert_with(|| Value::Object(Map::new()));
    stood.as_object_mut().ok_or(FormError::Field("status"))?.extend(new);
    Ok(data)
}

/// A worker that has not spoken yet has no incarnation, and so is none that lives.
pub(super) fn read(fields: Fields) -> Result<records::WorkerRecord, FormError> {
    let Fields { spec, status } = fields;
    let status = records::WorkerStatus {
        incarnation: Incarnation::new(&status.incarnation.unwrap_or_default()),
        budget: u64::try_from(status.budget.unwrap_or(0)).map_err(|_| FormError::Field("status.budget"))?,
        leaving: status.leaving.unwrap_or(false),
    };
    Ok(records::WorkerRecord { status, assignment: spec.assignment.as_ref().map(read_assignment).transpose()? })
}

fn read_assignment(assignment: &Assignment) -> Result<records::Assignment, FormError> {
    Ok(records::Assignment {
        term: u64::try_from(assignment.term).map_err(|_| FormError::Field("spec.assignment.term"))?,
        number: u64::try_from(assignment.number).map_err(|_| FormError::Field("spec.assignment.number"))?,
        splits: splits(&assignment.splits).collect(),
    })
}
