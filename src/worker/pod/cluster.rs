//! What a worker reads and writes in the cluster beside the store of coordination: its pipeline's committed root, revisions,
//! its own `StreamWorker`.
//!
//! Owns: those calls.
//! May not: decide anything.

use super::Told;
use crate::api::children::{self, part};
use crate::api::pipeline::RevisionStatus;
use crate::api::stream_worker::{Answer, Fault, StreamWorkerStatus, Versions};
use crate::api::{StreamPipeline, StreamSplit, StreamWorker};
use crate::coordination::kubernetes::{Place, Pod};
use crate::env::{Env, first_of};
use crate::error::{Code, Meaning, Retry};
use crate::flow::{Digest, RootRef};
use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;
use tokio::sync::mpsc::Sender;

/// How long a call may take.
const CALL: Duration = Duration::from_secs(4);
/// Who writes, in `managedFields`.
const MANAGER: &str = "millrace-worker";

/// Why a call of the API server has no answer that can be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClusterError {
    /// It says so, or does not answer.
    #[error("{what}: {error}")]
    Call {
        /// What was asked.
        what: &'static str,
        /// What came of it.
        error: Box<kube::Error>,
    },
    /// It has not answered in time.
    #[error("{0}: the API server has not answered within {CALL:?}")]
    Late(&'static str),
    /// The pipeline of this pod is gone; another has its name.
    #[error("the StreamPipeline `{0}` is gone, or another one of that name: this pod goes with it")]
    Gone(String),
    /// There is no such revision yet.
    #[error("there is no revision {0}")]
    NoRevision(Digest),
}

impl Meaning for ClusterError {
    fn code(&self) -> Code {
        match self {
            Self::NoRevision(_) => Code::ROOT_MISSING,
            _ => Code::CLUSTER_FAILED,
        }
    }

    /// All of it may pass: what was just written is not seen everywhere at once, a right that was just given neither.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

/// What a worker says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) answer: Option<Answer>,
    pub(super) faults: Vec<Fault>,
    pub(super) versions: Option<Versions>,
}

impl Said {
    fn of(status: StreamWorkerStatus) -> Self {
        Self { answer: status.answer, faults: status.faults, versions: status.versions }
    }
}

/// The cluster, as this worker sees it.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) env: Env,
    pub(super) client: Client,
    pub(super) place: Place,
    pub(super) pod: Pod,
}

impl Cluster {
    fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.place.namespace)
    }

    async fn call<T>(&self, what: &'static str, call: impl Future<Output = kube::Result<T>>) -> Result<T, ClusterError> {
        let answer = first_of(call, self.env.clock().sleep(CALL)).await.ok_or(ClusterError::Late(what))?;
        answer.map_err(|error| ClusterError::Call { what, error: Box::new(error) })
    }

    /// The committed root, by a quorum read; where status was lost, the highest that splits name.
    pub(super) async fn committed(&self) -> Result<Option<RootRef>, ClusterError> {
        let api = self.api::<StreamPipeline>();
        let found = self.call("the StreamPipeline cannot be read", api.get_opt(&self.place.pipeline)).await?;
        let ours = found.filter(|pipeline| pipeline.metadata.uid.as_deref() == Some(&*self.place.pipeline_uid));
        let pipeline = ours.ok_or_else(|| ClusterError::Gone(self.place.pipeline.clone()))?;
        match pipeline.status.and_then(|status| status.root) {
            Some(root) => Ok(root.active.as_ref().and_then(root_of)),
            None => self.highest().await,
        }
    }

    async fn highest(&self) -> Result<Option<RootRef>, ClusterError> {
        let params = ListParams::default().labels(&children::selector(&self.place.pipeline, part::SPLIT));
        let splits = self.call("the StreamSplits cannot be listed", self.api::<StreamSplit>().list(&params)).await?;
        let bases = splits.items.into_iter().filter_map(|split| split.record?.base?.root);
        let roots = bases.filter_map(|root| Some(RootRef { epoch: root.epoch, digest: root.digest.parse().ok()? }));
        Ok(roots.max_by_key(|root| root.epoch))
    }

    /// The text of a revision.
    pub(super) async fn revision(&self, digest: Digest) -> Result<String, ClusterError> {
        let name = children::revision(&self.place.pipeline, digest);
        let found = self.call("a revision cannot be read", self.api::<ConfigMap>().get_opt(&name)).await?;
        let text = found.and_then(|map| map.data).and_then(|mut data| data.remove(children::REVISION_KEY));
        text.ok_or(ClusterError::NoRevision(digest))
    }

    fn own(&self) -> String {
        children::called(&self.place.pipeline, part::WORKER, &self.pod.name)
    }

    /// Tells what this worker is told, and what stands of what it said, again and again until nobody hears it.
    pub(super) async fn follow(self, tell: Sender<Told>) {
        let own = watcher::Config::default().fields(&format!("metadata.name={}", self.own())).timeout(200);
        let mut seen = Box::pin(watcher(self.api::<StreamWorker>(), own).default_backoff().applied_objects());
        loop {
            let Some(next) = seen.next().await else { return };
            match next {
                // One that an earlier pod of this name leaves is not ours.
                Ok(worker) if self.is_ours(&worker) => {
                    let seen = Told::Seen(Box::new((worker.spec.root, Said::of(worker.status.unwrap_or_default()))));
                    if tell.send(seen).await.is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "the StreamWorker cannot be watched; it is tried again"),
            }
        }
    }

    fn is_ours(&self, worker: &StreamWorker) -> bool {
        worker.metadata.owner_references.iter().flatten().any(|owner| owner.uid == self.pod.uid)
    }

    /// Writes what this worker says over what stands of it; false: there is nothing to write it into yet, or another write
    /// came between.
    pub(super) async fn say(&self, said: &Said) -> Result<bool, ClusterError> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &self.place.namespace, &ApiResource::erase::<StreamWorker>(&()));
        let name = self.own();
        let Some(mut object) = self.call("the StreamWorker cannot be read", api.get_opt(&name)).await? else { return Ok(false) };
        // The driver has made it, and said who it is of.
        let Some(status) = object.data.get_mut("status").and_then(Value::as_object_mut) else { return Ok(false) };
        put(status, "answer", said.answer.as_ref());
        put(status, "faults", Some(&said.faults).filter(|faults| !faults.is_empty()));
        put(status, "versions", said.versions.as_ref());
        let post = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        match self.call("the StreamWorker cannot be written", api.replace_status(&name, &post, &object)).await {
            Ok(_) => Ok(true),
            Err(ClusterError::Call { error, .. }) if is_moved(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn put(status: &mut Map<String, Value>, name: &str, value: Option<&impl Serialize>) {
    // These types have no values that JSON lacks.
    match value.and_then(|value| serde_json::to_value(value).ok()) {
        Some(value) => drop(status.insert(name.to_owned(), value)),
        None => drop(status.remove(name)),
    }
}

fn is_moved(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 || status.code == 404)
}

fn root_of(root: &RevisionStatus) -> Option<RootRef> {
    root.digest.parse().ok().map(|digest| RootRef { epoch: root.epoch, digest })
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("place", &self.place).finish_non_exhaustive()
    }
}
