//! Heartbeats and the leader's record in Leases. What a Lease has no field for stands in annotations; its times are for
//! people to read, and judge nothing (I10).

use super::{FormError, Writer, Written, time};
use crate::coordination::records::{Beat, Incarnation, LeaderRecord, WorkerName};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

const COUNTER: &str = "millrace.dev/counter";
const INCARNATION: &str = "millrace.dev/incarnation";
const NONCE: &str = "millrace.dev/nonce";
const TERM: &str = "millrace.dev/term";

#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    spec: LeaseSpec,
}

pub(super) fn write_beat(writer: &Writer<'_>, beat: &Beat, stood: Option<&Fields>) -> Result<Written, FormError> {
    let spec = write(writer, beat.incarnation.as_str(), beat.ttl, stood)?;
    Ok(Written { data: serde_json::to_value(Fields { spec })?, annotations: [annotation(COUNTER, beat.counter)].into() })
}

pub(super) fn write_leader(writer: &Writer<'_>, leader: &LeaderRecord, stood: Option<&Fields>) -> Result<Written, FormError> {
    let spec = write(writer, leader.holder.as_str(), leader.ttl, stood)?;
    let annotations = BTreeMap::from([
        annotation(COUNTER, leader.counter),
        annotation(NONCE, leader.nonce),
        annotation(TERM, leader.term),
        (INCARNATION.to_owned(), leader.incarnation.as_str().to_owned()),
    ]);
    Ok(Written { data: serde_json::to_value(Fields { spec })?, annotations })
}

fn write(writer: &Writer<'_>, holder: &str, ttl: Duration, stood: Option<&Fields>) -> Result<LeaseSpec, FormError> {
    let now = time(writer.now, "spec.renewTime")?;
    let stood = stood.map(|stood| stood.spec.clone()).unwrap_or_default();
    let first = stood.holder_identity.is_none();
    let same = stood.holder_identity.as_deref() == Some(holder);
    let transitions = stood.lease_transitions.unwrap_or(0);
    Ok(LeaseSpec {
        acquire_time: if same { stood.acquire_time } else { Some(now.clone()) },
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(seconds(ttl)),
        lease_transitions: Some(if same || first { transitions } else { transitions.saturating_add(1) }),
        renew_time: Some(now),
        ..stood
    })
}

/// Whole seconds, at least one: who waits longer than the holder itself does takes nothing too early.
pub(super) fn seconds(ttl: Duration) -> i32 {
    let whole = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0)).max(1);
    i32::try_from(whole).unwrap_or(i32::MAX)
}

fn annotation(key: &str, number: u64) -> (String, String) {
    (key.to_owned(), number.to_string())
}

pub(super) fn beat(fields: &Fields, metadata: &ObjectMeta) -> Result<Beat, FormError> {
    let holder = fields.spec.holder_identity.as_deref().ok_or(FormError::Field("spec.holderIdentity"))?;
    Ok(Beat { incarnation: Incarnation::new(holder), counter: number(metadata, COUNTER)?, ttl: ttl(fields)? })
}

pub(super) fn leader(fields: &Fields, metadata: &ObjectMeta) -> Result<LeaderRecord, FormError> {
    let holder = fields.spec.holder_identity.as_deref().ok_or(FormError::Field("spec.holderIdentity"))?;
    Ok(LeaderRecord {
        holder: WorkerName::new(holder),
        incarnation: Incarnation::new(text(metadata, INCARNATION)?),
        nonce: number(metadata, NONCE)?,
        term: number(metadata, TERM)?,
        counter: number(metadata, COUNTER)?,
        ttl: ttl(fields)?,
    })
}

fn text<'a>(metadata: &'a ObjectMeta, key: &'static str) -> Result<&'a str, FormError> {
    let annotations = metadata.annotations.as_ref();
    annotations.and_then(|annotations| annotations.get(key)).map(String::as_str).ok_or(FormError::Field(key))
}

fn number(metadata: &ObjectMeta, key: &'static str) -> Result<u64, FormError> {
    text(metadata, key)?.parse().map_err(|_| FormError::Field(key))
}

fn ttl(fields: &Fields) -> Result<Duration, FormError> {
    let seconds = fields.spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map(Duration::from_secs).ok_or(FormError::Field("spec.leaseDurationSeconds"))
}
