//! Records as the fields of their objects, and back.
//!
//! Owns: which field holds what; the version that stands in records.
//! May not: call anybody, or know names and owners.

mod lease;
mod page;
mod plan;
mod progress;
mod split;
mod worker;

pub(super) use worker::{assignment, spoken};

use super::keep::keep;
use crate::api::ledger_page::PageError;
use crate::coordination::store::{Kind, Record};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of a record's form that is written where none stands. One that stands is kept: so are the fields that a
/// later version has added.
const SCHEMA: i32 = 1;

/// Sections and their fields: what lies deeper is one value.
const DEPTH: u32 = 2;

/// What a record needs besides itself.
pub(super) struct Writer<'a> {
    /// The pipeline's uid; a record that another one has left is ours once we write it.
    pub(super) pipeline_uid: &'a str,
    /// Microseconds since 1970 UTC, for people to read.
    pub(super) now: i64,
}

/// What an object is to hold.
pub(super) struct Written {
    /// All but its metadata.
    pub(super) data: Value,
    /// Annotations, beside those that it has.
    pub(super) annotations: BTreeMap<String, String>,
}

impl Written {
    fn plain(fields: &impl Serialize) -> Result<Self, FormError> {
        Ok(Self { data: serde_json::to_value(fields)?, annotations: BTreeMap::new() })
    }
}

/// Why a record is no object, or an object no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum FormError {
    /// A field is missing, or has another type.
    #[error("its fields are not those of its kind")]
    Fields(#[from] serde_json::Error),
    /// The text of a page.
    #[error("its packed text is broken")]
    Page(#[from] PageError),
    /// A field holds what it cannot mean.
    #[error("`{0}` is missing or not what it must be")]
    Field(&'static str),
    /// More than a field takes.
    #[error("`{field}` has {has}, more than {most}")]
    TooMuch {
        /// The field.
        field: &'static str,
        /// What it has, in its unit.
        has: usize,
        /// The most it takes.
        most: usize,
    },
    /// The key's object holds another kind of record.
    #[error("a record of another kind")]
    Kind,
}

/// The record that an object holds.
pub(super) fn read(kind: Kind, object: &DynamicObject) -> Result<Record, FormError> {
    match kind {
        Kind::Split => split::read(of(object)?).map(Box::new).map(Record::Split),
        Kind::Page => page::read(of(object)?).map(Record::Page),
        Kind::Worker => worker::read(of(object)?).map(Record::Worker),
        Kind::Beat | Kind::Scratch => lease::beat(&of(object)?, &object.metadata).map(Record::Beat),
        Kind::Leader => lease::leader(&of(object)?, &object.metadata).map(Record::Leader),
        Kind::Plan => plan::read(of(object)?).map(Record::Plan),
    }
}

/// What a new object of this record holds.
pub(super) fn fresh(writer: &Writer<'_>, record: &Record) -> Result<Written, FormError> {
    match record {
        Record::Split(split) => Written::plain(&split::write(writer, split, None)?),
        Record::Page(page) => Written::plain(&page::write(writer, page, None)?),
        Record::Worker(worker) => Written::plain(&worker::write(worker)?),
        Record::Beat(beat) => lease::write_beat(writer, beat, None),
        Record::Leader(leader) => lease::write_leader(writer, leader, None),
        Record::Plan(plan) => Written::plain(&plan::write(plan, None)?),
        Record::Status(_) | Record::Assignment(_) => Err(FormError::Kind),
    }
}

/// What an object holds once this record stands in it.
pub(super) fn over(writer: &Writer<'_>, record: &Record, object: &DynamicObject) -> Result<Written, FormError> {
    match record {
        Record::Split(split) => over_plain(object, |stood: &split::Fields| split::write(writer, split, Some(stood))),
        Record::Page(page) => over_plain(object, |stood: &page::Fields| page::write(writer, page, Some(stood))),
        Record::Beat(beat) => over_lease(object, |stood| lease::write_beat(writer, beat, Some(stood))),
        Record::Leader(leader) => over_lease(object, |stood| lease::write_leader(writer, leader, Some(stood))),
        Record::Plan(plan) => over_plain(object, |stood: &plan::Fields| plan::write(plan, Some(stood))),
        Record::Worker(_) | Record::Status(_) | Record::Assignment(_) => Err(FormError::Kind),
    }
}

fn over_plain<F>(object: &DynamicObject, write: impl FnOnce(&F) -> Result<F, FormError>) -> Result<Written, FormError>
where
    F: Serialize + DeserializeOwned,
{
    let stood: F = of(object)?;
    let known = serde_json::to_value(&stood)?;
    let new = serde_json::to_value(write(&stood)?)?;
    Ok(Written { data: keep(&object.data, &known, &new, DEPTH), annotations: BTreeMap::new() })
}

fn over_lease(object: &DynamicObject, write: impl FnOnce(&lease::Fields) -> Result<Written, FormError>) -> Result<Written, FormError> {
    let stood: lease::Fields = of(object)?;
    let Written { data, annotations } = write(&stood)?;
    Ok(Written { data: keep(&object.data, &serde_json::to_value(&stood)?, &data, DEPTH), annotations })
}

fn of<F: DeserializeOwned>(object: &DynamicObject) -> Result<F, FormError> {
    Ok(F::deserialize(&object.data)?)
}

fn time(micros: i64, field: &'static str) -> Result<MicroTime, FormError> {
    Timestamp::from_microsecond(micros).map(MicroTime).map_err(|_| FormError::Field(field))
}

/// A count of ours as the API's integers are: the largest of theirs stands for any larger one.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn texts<'a>(ids: impl IntoIterator<Item = &'a crate::flow::SplitId>) -> Vec<String> {
    ids.into_iter().map(|id| id.as_str().to_owned()).collect()
}

fn splits(texts: &[String]) -> impl Iterator<Item = crate::flow::SplitId> {
    texts.iter().map(|text| crate::flow::SplitId::new(text))
}

fn bounded(field: &'static str, has: usize, most: usize) -> Result<(), FormError> {
    if has <= most { Ok(()) } else { Err(FormError::TooMuch { field, has, most }) }
}

#[cfg(test)]
mod tests;
