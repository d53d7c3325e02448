//! The store of coordination in Kubernetes: held to the suite of all stores, and to what is its own.

mod answers;
mod bounds;
mod owners;
mod rights;
mod store;

use crate::bed::Bed;
use crate::conformance;
use crate::table;
use kube::ResourceExt as _;
use millrace::api::StreamPipeline;
use millrace::coordination::kubernetes::{Kubernetes, Place};
use millrace::coordination::records::{Beat, Incarnation, WorkerName};
use millrace::coordination::store::{Known, ObjectRevision, Record, Store, Swap};
use millrace::env;
use serde_json::Value;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// The place of a pipeline of this name, which is made.
async fn pipeline(bed: &Bed, name: &str) -> Place {
    let mut manifest = table::minimal();
    manifest["metadata"]["name"] = Value::from(name);
    let made = bed.send("POST", "streampipelines", &manifest).await.unwrap();
    let made: StreamPipeline = serde_json::from_value(made).unwrap();
    Place { namespace: bed.namespace().to_owned(), pipeline: name.to_owned(), pipeline_uid: made.uid().unwrap(), pod: None }
}

async fn store(bed: &Bed, place: &Place) -> Kubernetes {
    Kubernetes::new(env::real(), bed.config().await, place.clone(), LIMIT).unwrap()
}

fn beat(counter: u64) -> Record {
    Record::Beat(Beat { incarnation: Incarnation::new("uid/0a"), counter, ttl: Duration::from_secs(20) })
}

fn worker(name: &str) -> millrace::coordination::store::Key {
    millrace::coordination::store::Key::Worker(WorkerName::new(name))
}

fn done(swap: Swap) -> ObjectRevision {
    match swap {
        Swap::Done(revision) => revision,
        Swap::Lost => panic!("lost with nobody else there"),
    }
}

async fn there(store: &dyn Store, key: &millrace::coordination::store::Key) -> Known {
    store.read(key).await.unwrap().unwrap()
}

/// An object as the API server has it.
fn raw(bed: &Bed, kind: &str, name: &str) -> Value {
    serde_json::from_str(&bed.kubectl(&["get", kind, name, "-o", "json"], "")).unwrap()
}
