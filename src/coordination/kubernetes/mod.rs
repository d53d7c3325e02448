//! The store of coordination in a Kubernetes API server: custom resources, Leases, and one `ConfigMap`.
//!
//! Owns: which object holds which record, under which name; what an answer of the API server means for a write.
//! May not: decide anything about ownership, or repeat a write: a repeated one may be refused because the first one landed.
//!
//! | record | object | written by |
//! | --- | --- | --- |
//! | split | `StreamSplit` | PUT |
//! | ledger page | `StreamLedger` | PUT |
//! | worker | `StreamWorker`, owned by its pod | PUT of the status; merge patch of `spec.assignment`: `spec.root` is the operator's |
//! | heartbeat, leader, scratch | `Lease` | PUT |
//! | plan | `ConfigMap` | PUT |
//!
//! Every write names the uid and the `resourceVersion` that it was decided on. Fields that this version does not know stay
//! as they are.

mod calls;
mod fault;
mod form;
mod keep;
mod place;
mod recent;
mod watching;

pub use place::{Place, Pod};

use super::records::{Assignment, WorkerStatus};
use super::store::{Answer, Cursor, Deletion, Key, Kind, Known, Listing, ObjectRevision, Record, Store, StoreError, Swap, Watch};
use crate::env::Env;
use crate::error::chain;
use calls::Server;
use fault::Fault;
use form::Writer;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use parking_lot::Mutex;
use recent::Recent;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Who writes, in `managedFields`.
const MANAGER: &str = "millrace-worker";

/// On every object: names the last write, so that each one moves the revision, even one that changes nothing. What went
/// before it can then no longer land. (A status that says the same again moves nothing.)
const WRITE: &str = "millrace.dev/write";

/// The most that an object may hold, in bytes of JSON: etcd takes 1.5 MiB, with what the API server adds.
const MOST: usize = 1024 * 1024;

/// The store in a Kubernetes API server.
pub struct Kubernetes {
    server: Server,
    recent: Mutex<Recent>,
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubernetes").field("place", &self.server.place).finish_non_exhaustive()
    }
}

impl Kubernetes {
    /// The store of one pipeline behind this API server. Each call ends within `limit`. The client's own retries are
    /// switched off.
    ///
    /// # Errors
    /// The configuration makes no client.
    pub fn new(env: Env, mut config: kube::Config, place: Place, limit: Duration) -> Result<Self, StoreError> {
        config.default_retry = false;
        let client = kube::Client::try_from(config).map_err(|error| StoreError::Refused(chain(&error).into()))?;
        Ok(Self { server: Server { env, client, place: Arc::new(place), limit }, recent: Mutex::default() })
    }

    fn place(&self) -> &Place {
        &self.server.place
    }

    fn writer(&self) -> Writer<'_> {
        Writer { pipeline_uid: &self.place().pipeline_uid, now: self.server.env.clock().wall_micros() }
    }

    fn stamp(&self) -> String {
        format!("{:016x}", self.server.env.random().number())
    }

    /// Takes note of an object as it now stands.
    fn note(&self, key: &Key, object: DynamicObject) -> Result<ObjectRevision, StoreError> {
        let revision = revision(&object)?;
        self.recent.lock().put(key, revision.clone(), object);
        Ok(revision)
    }

    /// What a write was answered with, as the outcome of a compare-and-swap.
    fn swapped(&self, key: &Key, answer: Result<DynamicObject, Fault>) -> Result<Swap, StoreError> {
        let fault = match answer {
            Ok(object) => return self.note(key, object).map(Swap::Done),
            Err(fault) => fault,
        };
        self.recent.lock().forget(key);
        match fault {
            Fault::Absent | Fault::There | Fault::Moved => Ok(Swap::Lost),
            Fault::Store(error) => Err(error),
        }
    }

    /// The object of a key by a quorum read, if it is this pipeline's.
    async fn get(&self, key: &Key) -> Result<Option<DynamicObject>, StoreError> {
        let (api, name) = (self.server.api(key.kind()), self.place().name(key));
        let object = match self.server.reading(api.get(&name)).await {
            Ok(object) => object,
            Err(Fault::Absent) => return Ok(None),
            Err(fault) => return Err(fault.into_error()),
        };
        if let Some(why) = self.place().waits_for(key, &object.metadata) {
            return Err(StoreError::NotWritten(why.into()));
        }
        if self.place().key(key.kind(), &object.metadata).as_ref() != Some(key) {
            let why =
                format!("{} `{name}` stands where the {key} belongs and says that it is another: delete or rename it", kind_of(&object));
            return Err(StoreError::Refused(why.into()));
        }
        Ok(Some(object))
    }

    async fn look(&self, key: &Key) -> Result<Option<Known>, StoreError> {
        let Some(object) = self.get(key).await? else {
            self.recent.lock().forget(key);
            return Ok(None);
        };
        let record = read(key.kind(), &object)?;
        Ok(Some(Known { revision: self.note(key, object)?, record }))
    }

    async fn make(&self, key: &Key, new: Record) -> Result<Swap, StoreError> {
        let written = form::fresh(&self.writer(), &new).map_err(|error| unwritten(key, &error))?;
        let name = self.place().name(key);
        let mut object = DynamicObject::new(&name, &place::resource(key.kind())).data(written.data);
        object.metadata.labels = Some(self.place().labels(key.kind()));
        object.metadata.owner_references = self.place().owners(key);
        object.metadata.annotations = Some(written.annotations).filter(|annotations| !annotations.is_empty());
        if let Some(id) = place::id(key).filter(|id| **id != name) {
            object.metadata.annotations.get_or_insert_default().insert(place::ID.to_owned(), id.to_owned());
        }
        fits(key, &object)?;
        let api = self.server.api(key.kind());
        let made = self.server.writing(api.create(&post(), &object)).await;
        // A create names nothing that could be absent but the namespace.
        let made = made.map_err(|fault| if matches!(fault, Fault::There) { fault } else { Fault::Store(fault.into_error()) });
        match (made, new) {
            (Ok(made), Record::Worker(worker)) => self.speak_first(key, made, &worker.status).await,
            (made, _) => self.swapped(key, made),
        }
    }

    /// A status is not taken with a create, so that a worker is made by two writes. Between them the operator may have
    /// written, or this call may fail: then the worker is there, and has not spoken yet.
    async fn speak_first(&self, key: &Key, made: DynamicObject, status: &WorkerStatus) -> Result<Swap, StoreError> {
        let spoken = self.put_status(key, made, status).await;
        spoken.map_err(|error| match error {
            StoreError::NotWritten(why) => StoreError::Unknown(format!("the worker is made, and its status is not written: {why}").into()),
            other => other,
        })
    }

    /// A patch of a status would not compare the uid.
    async fn put_status(&self, key: &Key, mut object: DynamicObject, status: &WorkerStatus) -> Result<Swap, StoreError> {
        object.data = form::spoken(status, &object).map_err(|error| unwritten(key, &error))?;
        let (api, name) = (self.server.api(key.kind()), self.place().name(key));
        self.swapped(key, self.server.writing(api.replace_status(&name, &post(), &object)).await)
    }

    async fn patch_assignment(&self, key: &Key, read: &ObjectRevision, new: &Assignment) -> Result<Swap, StoreError> {
        let assignment = form::assignment(new).map_err(|error| unwritten(key, &error))?;
        let mut metadata = precise(read);
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("annotations".to_owned(), json!({WRITE: self.stamp()}));
        }
        let patch = Patch::Merge(json!({"metadata": metadata, "spec": {"assignment": assignment}}));
        let (api, name) = (self.server.api(key.kind()), self.place().name(key));
        self.swapped(key, self.server.writing(api.patch(&name, &by(), &patch)).await)
    }

    /// The object as it was read at this revision; none: it has moved on.
    async fn standing(&self, key: &Key, read: &ObjectRevision) -> Result<Option<DynamicObject>, StoreError> {
        if let Some(object) = self.recent.lock().take(key, read) {
            return Ok(Some(object));
        }
        let object = self.get(key).await?;
        Ok(object.filter(|object| revision(object).is_ok_and(|found| found == *read)))
    }

    async fn replace(&self, key: &Key, read: &ObjectRevision, new: &Record) -> Result<Swap, StoreError> {
        let Some(mut object) = self.standing(key, read).await? else { return Ok(Swap::Lost) };
        let written = form::over(&self.writer(), new, &object).map_err(|error| unwritten(key, &error))?;
        object.data = written.data;
        let metadata = &mut object.metadata;
        metadata.annotations.get_or_insert_default().extend(written.annotations);
        metadata.annotations.get_or_insert_default().insert(WRITE.to_owned(), self.stamp());
        metadata.labels.get_or_insert_default().extend(self.place().labels(key.kind()));
        if let Some(owners) = self.place().owners(key) {
            metadata.owner_references = Some(owners);
        }
        fits(key, &object)?;
        let (api, name) = (self.server.api(key.kind()), self.place().name(key));
        self.swapped(key, self.server.writing(api.replace(&name, &post(), &object)).await)
    }

    async fn write(&self, key: &Key, read: &ObjectRevision, new: Record) -> Result<Swap, StoreError> {
        match new {
            Record::Status(status) => match self.standing(key, read).await? {
                Some(object) => self.put_status(key, object, &status).await,
                None => Ok(Swap::Lost),
            },
            Record::Assignment(assignment) => self.patch_assignment(key, read, &assignment).await,
            Record::Worker(_) => Err(StoreError::Refused("a worker's record is written by parts".into())),
            whole => self.replace(key, read, &whole).await,
        }
    }

    async fn remove(&self, key: &Key, read: &ObjectRevision) -> Result<Deletion, StoreError> {
        let preconditions = Preconditions { uid: Some(read.uid.to_string()), resource_version: Some(read.revision.to_string()) };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        let (api, name) = (self.server.api(key.kind()), self.place().name(key));
        let answer = self.server.writing(api.delete(&name, &params)).await;
        self.recent.lock().forget(key);
        match answer {
            Ok(outcome) => outcome.left().map_or(Ok(Deletion::Done), |left| gone(key, &left)),
            Err(Fault::Absent | Fault::There | Fault::Moved) => Ok(Deletion::Lost),
            Err(Fault::Store(error)) => Err(error),
        }
    }

    async fn part(&self, kind: Kind, from: Option<Arc<str>>) -> Result<Listing, StoreError> {
        let mut params = self.place().list(kind);
        params.continue_token = from.map(|from| from.to_string());
        let list = self.server.reading(self.server.api(kind).list(&params)).await.map_err(Fault::into_error)?;
        let mut objects = Vec::with_capacity(list.items.len());
        for object in &list.items {
            let Some(key) = self.place().key(kind, &object.metadata) else { continue };
            if let Some(why) = self.place().waits_for(&key, &object.metadata) {
                return Err(StoreError::NotWritten(why.into()));
            }
            objects.push((key, Known { revision: revision(object)?, record: read(kind, object)? }));
        }
        let cursor = list.metadata.resource_version.unwrap_or_default();
        let next = list.metadata.continue_.filter(|next| !next.is_empty());
        Ok(Listing { objects, next: next.map(Into::into), cursor: Cursor(cursor.into()) })
    }
}

impl Store for Kubernetes {
    fn create<'a>(&'a self, key: &'a Key, new: Record) -> Answer<'a, Swap> {
        Box::pin(self.make(key, new))
    }

    fn swap<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision, new: Record) -> Answer<'a, Swap> {
        Box::pin(self.write(key, read, new))
    }

    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Known>> {
        Box::pin(self.look(key))
    }

    /// A part whose beginning has expired is an error: the whole list must begin anew.
    fn list(&self, kind: Kind, from: Option<Arc<str>>) -> Answer<'_, Listing> {
        Box::pin(self.part(kind, from))
    }

    fn delete<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision) -> Answer<'a, Deletion> {
        Box::pin(self.remove(key, read))
    }

    fn watch(&self, kind: Kind, after: Cursor) -> Box<dyn Watch> {
        Box::new(watching::Following::new(self.server.clone(), kind, &after))
    }
}

fn post() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}

fn by() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

fn precise(read: &ObjectRevision) -> Value {
    json!({"uid": &*read.uid, "resourceVersion": &*read.revision})
}

fn kind_of(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("an object", |types| &types.kind)
}

fn revision(object: &DynamicObject) -> Result<ObjectRevision, StoreError> {
    match (&object.metadata.uid, &object.metadata.resource_version) {
        (Some(uid), Some(revision)) => Ok(ObjectRevision { uid: uid.as_str().into(), revision: revision.as_str().into() }),
        // It stands in every answer; without it nothing can be said of what happened.
        _ => Err(StoreError::Unknown("an answer of the API server without uid or resourceVersion".into())),
    }
}

fn read(kind: Kind, object: &DynamicObject) -> Result<Record, StoreError> {
    form::read(kind, object).map_err(|error| {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        StoreError::Refused(format!("{} `{name}` cannot be read: {}", kind_of(object), chain(&error)).into())
    })
}

fn unwritten(key: &Key, error: &form::FormError) -> StoreError {
    StoreError::Refused(format!("the {key} cannot be written: {}", chain(error)).into())
}

fn fits(key: &Key, object: &DynamicObject) -> Result<(), StoreError> {
    let length = serde_json::to_vec(object).map_or(usize::MAX, |bytes| bytes.len());
    if length <= MOST { Ok(()) } else { Err(StoreError::Refused(format!("the {key} has {length} bytes, more than {MOST}").into())) }
}

/// A deletion that was taken, and left the object there.
fn gone(key: &Key, left: &DynamicObject) -> Result<Deletion, StoreError> {
    match left.metadata.finalizers.as_deref() {
        Some(finalizers) if !finalizers.is_empty() => {
            Err(StoreError::Unknown(format!("the {key} goes once its finalizers do: {}", finalizers.join(", ")).into()))
        }
        _ => Ok(Deletion::Done),
    }
}
