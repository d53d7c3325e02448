//! The controller: which pipeline is looked at when, and by whom.
//!
//! Owns: the watches, the passes and what is remembered between them, what follows a failure.
//! May not: decide what the pure parts decide; hold anything that a successor would need: what is remembered here is only
//! this replica's own looking on.

mod apply;
mod drive;
mod events;
mod pass;
mod read;
mod revisions;
mod telling;

use super::beats::Beats;
use super::counts::Counts;
use super::cutover::Patience;
use super::error::OperatorError;
use super::office::Term;
use super::{Settings, workload};
use crate::api::children::PIPELINE_LABEL;
use crate::api::{StreamPipeline, StreamSplit, StreamWorker};
use crate::env::{Env, first_of};
use crate::error::{Meaning, Retry, chain};
use crate::telemetry::Health;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::PartialObjectMeta;
use kube::runtime::controller::{Action, Config};
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{Controller, Predicate, WatchStreamExt, predicates, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use pass::Next;
use read::Reader;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A pass takes no longer.
const LONGEST_PASS: Duration = Duration::from_secs(30);
/// So many pipelines are looked at beside each other.
const BESIDE: u16 = 16;
/// A watch is begun anew after so many seconds: some load balancers drop what is idle for 240.
const WATCH_SECONDS: u32 = 200;
/// The first wait after a failure, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(5));

/// A pipeline, by what the caches hold of it.
type Seen = PartialObjectMeta<StreamPipeline>;

/// What passes share.
pub(super) struct Context {
    client: Client,
    env: Env,
    settings: Settings,
    /// This installation, as pipelines name it.
    installation: String,
    recorder: Recorder,
    term: watch::Receiver<Term>,
    memories: Mutex<HashMap<(String, String), Memory>>,
    counts: Arc<Counts>,
}

/// What this replica remembers of a pipeline between passes.
#[derive(Debug, Default)]
struct Memory {
    uid: String,
    beats: Beats,
    patience: Option<Patience>,
    /// Passes in a row that have failed.
    failures: u32,
}

impl Memory {
    /// Another pipeline of that name is remembered by nothing.
    fn belongs_to(&mut self, uid: &str) {
        if self.uid != uid {
            *self = Self { uid: uid.to_owned(), ..Self::default() };
        }
    }
}

impl Context {
    pub(super) fn new((client, env): (Client, Env), settings: Settings, term: watch::Receiver<Term>, counts: Arc<Counts>) -> Self {
        let recorder =
            Recorder::new(client.clone(), Reporter { controller: workload::MANAGER.into(), instance: Some(settings.identity.clone()) });
        let installation = format!("{}/{}", settings.leader_namespace, settings.leader_name);
        Self { client, env, settings, installation, recorder, term, memories: Mutex::default(), counts }
    }

    fn now(&self) -> Duration {
        self.env.clock().monotonic()
    }

    fn leads(&self) -> bool {
        self.term.borrow().is_some()
    }

    /// Completes when this replica leads no longer.
    async fn deposed(&self) {
        let mut term = self.term.clone();
        // A channel that is closed means that the office is.
        drop(term.wait_for(Option::is_none).await);
    }
}

/// Looks after all pipelines of these namespaces until told to stop.
pub(super) async fn run(context: Arc<Context>, health: Health, stop: watch::Receiver<bool>) {
    let namespaces: Vec<Option<String>> = match context.settings.namespaces.as_slice() {
        [] => vec![None],
        named => named.iter().cloned().map(Some).collect(),
    };
    let all = namespaces.into_iter().map(|namespace| controller(context.clone(), health.clone(), (namespace, stop.clone())));
    futures::future::join_all(all).await;
}

async fn controller(context: Arc<Context>, health: Health, (namespace, stop): (Option<String>, watch::Receiver<bool>)) {
    let scope = Scope { client: context.client.clone(), namespace };
    let (store, writer) = reflector::store();
    let own = watcher(scope.api::<Seen>(), config())
        .default_backoff()
        .modify(|pipeline: &mut Seen| pipeline.managed_fields_mut().clear())
        .reflect(writer)
        .touched_objects()
        .predicate_filter(
            predicates::generation
                .combine(predicates::annotations)
                .combine(|pipeline: &Seen| Some(u64::from(pipeline.metadata.deletion_timestamp.is_some()))),
            kube::runtime::PredicateConfig::default(),
        );
    let (elected, mut halt) = (elections(context.term.clone()), stop);
    let controller = Controller::for_stream(own, store.clone())
        .with_config(Config::default().concurrency(BESIDE).debounce(Duration::from_millis(50)))
        .watches_stream(scope.parts::<StatefulSet>(), owner)
        .watches_stream(scope.parts::<Service>(), owner)
        .watches_stream(scope.parts::<ServiceAccount>(), owner)
        .watches_stream(scope.parts::<Role>(), owner)
        .watches_stream(scope.parts::<RoleBinding>(), owner)
        .watches_stream(scope.parts::<PodDisruptionBudget>(), owner)
        .watches_stream(scope.parts::<ConfigMap>(), owner)
        .watches_stream(scope.parts::<Pod>(), owner)
        .watches_stream(scope.parts::<StreamWorker>(), owner)
        .watches_stream(scope.parts::<StreamSplit>(), owner)
        .reconcile_all_on(elected)
        .graceful_shutdown_on(async move { drop(halt.wait_for(|stop| *stop).await) });
    let filled = async {
        if store.wait_until_ready().await.is_ok() {
            health.ready(true);
        }
    };
    let passes = controller.run(reconcile, policy, context).for_each(|done| {
        if let Err(error) = done {
            tracing::debug!(%error, "a pass has failed");
        }
        futures::future::ready(())
    });
    futures::future::join(filled, passes).await;
}

/// An item for every election that we win.
fn elections(term: watch::Receiver<Term>) -> impl Stream<Item = ()> + Send + 'static {
    let changes = futures::stream::unfold(term, |mut term| async move {
        term.changed().await.ok()?;
        let leads = term.borrow_and_update().is_some();
        Some((leads, term))
    });
    changes.filter_map(|leads| futures::future::ready(leads.then_some(())))
}

fn config() -> watcher::Config {
    watcher::Config::default().timeout(WATCH_SECONDS).page_size(500)
}

/// Where pipelines are looked after: one namespace, or all.
struct Scope {
    client: Client,
    namespace: Option<String>,
}

impl Scope {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// Whatever bears our label, by its metadata alone. A watch that fails is begun anew by itself, and holds up no other.
    fn parts<K>(&self) -> impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send + 'static
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + serde::de::DeserializeOwned + Debug + Send + Sync + 'static,
    {
        watcher(self.api::<PartialObjectMeta<K>>(), config().labels(PIPELINE_LABEL))
            .default_backoff()
            .touched_objects()
            .predicate_filter(predicates::resource_version, kube::runtime::PredicateConfig::default())
            .filter(|item| futures::future::ready(item.is_ok()))
    }
}

/// The pipeline that an object says it is part of.
fn owner<K: Resource>(part: PartialObjectMeta<K>) -> Option<ObjectRef<Seen>> {
    let namespace = part.metadata.namespace?;
    let name = part.metadata.labels?.remove(PIPELINE_LABEL)?;
    Some(ObjectRef::new(&name).within(&namespace))
}

async fn reconcile(seen: Arc<Seen>, context: Arc<Context>) -> Result<Action, OperatorError> {
    if !context.leads() {
        return Ok(Action::await_change());
    }
    let key = (seen.namespace().unwrap_or_default(), seen.name_any());
    let reader = Reader { client: context.client.clone(), namespace: key.0.clone(), name: key.1.clone() };
    // One pipeline is never looked at twice at once, so nobody misses it meanwhile.
    let mut memory = context.memories.lock().remove(&key).unwrap_or_default();
    let limit = context.env.clock().sleep(LONGEST_PASS);
    let work = first_of(boxed(&context, &reader, &mut memory), limit);
    let done = first_of(work, context.deposed()).await;
    let result = match done {
        // Deposed in the midst of it: the successor goes on.
        None => return Ok(Action::await_change()),
        Some(None) => Err(OperatorError::Late(LONGEST_PASS)),
        Some(Some(result)) => result,
    };
    memory.failures = if result.is_err() { memory.failures.saturating_add(1) } else { 0 };
    let pipelines = {
        let mut memories = context.memories.lock();
        if !matches!(result, Ok(Next::Never)) {
            memories.insert(key, memory);
        }
        memories.len()
    };
    context.counts.pass(result.as_ref().err().map(Meaning::code), pipelines);
    match result? {
        Next::Never => Ok(Action::await_change()),
        Next::In(span) => Ok(Action::requeue(span.saturating_add(jitter(&context.env, span / 10)))),
    }
}

/// A pass on the heap: it is large.
fn boxed<'a>(context: &'a Context, reader: &'a Reader, memory: &'a mut Memory) -> BoxFuture<'a, Result<Next, OperatorError>> {
    Box::pin(pass::pass(context, reader, memory))
}

/// Up to this much, by chance.
fn jitter(env: &Env, most: Duration) -> Duration {
    let share = u32::try_from(env.random().number() % 1_000).unwrap_or(0);
    most.saturating_mul(share) / 1_000
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands both over")]
fn policy(seen: Arc<Seen>, error: &OperatorError, context: Arc<Context>) -> Action {
    let key = (seen.namespace().unwrap_or_default(), seen.name_any());
    let failures = context.memories.lock().get(&key).map_or(1, |memory| memory.failures);
    let wait = wait(error.retry(), failures);
    if !matches!(error, OperatorError::Moved(_)) {
        tracing::warn!(namespace = key.0, pipeline = key.1, failures, code = %error.code(), wait = ?wait, "{}", chain(error));
    }
    Action::requeue(wait.saturating_add(jitter(&context.env, wait / 2)))
}

/// How long to wait after so many failures in a row.
fn wait(retry: Retry, failures: u32) -> Duration {
    let (first, longest) = BACKOFF;
    match retry {
        // What keeps moving is a fault like any other.
        Retry::After(span) if failures < 10 => span,
        _ => first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(longest),
    }
}

#[cfg(test)]
mod tests {
    use super::{Retry, wait};
    use std::time::Duration;

    #[test]
    fn waits_grow_with_failures_and_end_at_five_minutes() {
        let waits = [1, 2, 3, 30].map(|failures| wait(Retry::Backoff, failures));
        assert_eq!(waits, [500, 1_000, 2_000, 300_000].map(Duration::from_millis));
        let soon = Duration::from_millis(50);
        assert_eq!((wait(Retry::After(soon), 1), wait(Retry::After(soon), 10)), (soon, Duration::from_secs(256)));
    }
}
