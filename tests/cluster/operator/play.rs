//! What the tests of the operator share: an operator in this process, a worker that says what the test wants.
//!
//! Owns: how a worker looks to the operator (docs/operator.md), and waiting for what is to come.
//! May not: know what is tested.

use crate::bed::Bed;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use millrace::api::{StreamPipeline, StreamWorker, children};
use millrace::env;
use millrace::operator::{self, Settings};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What is to come has come by then.
const SOON: Duration = Duration::from_secs(30);

/// An operator that looks after the test's own namespace.
pub(super) struct Office {
    stop: Option<oneshot::Sender<()>>,
    done: JoinHandle<()>,
}

impl Office {
    pub(super) fn open(bed: &Bed, replica: &str) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let settings = Settings {
            namespaces: vec![bed.namespace().to_owned()],
            leader_namespace: bed.namespace().to_owned(),
            leader_name: "operator".into(),
            identity: replica.into(),
            worker_image: "registry.invalid/millrace:none".into(),
            port: 0,
        };
        let client = bed.client();
        let done = tokio::spawn(async move {
            let env = env::real();
            let stop = async { drop(stopped.await) };
            operator::run(client, &env, settings, stop).await.unwrap();
        });
        Self { stop: Some(stop), done }
    }

    /// As SIGTERM does.
    pub(super) async fn close(mut self) {
        drop(self.stop.take());
        tokio::time::timeout(SOON, self.done).await.expect("the operator does not end").unwrap();
    }
}

/// A manifest with this root and these further fields of its spec.
pub(super) fn manifest(name: &str, root: &str, more: &Value) -> Value {
    let mut spec = json!({
        "source": {"kinesis": [{"streamName": "telemetry", "region": "eu-west-1"}]},
        "root": {"inline": root},
        "outputs": [{"name": "out", "stdout": {}}],
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamPipeline", "metadata": {"name": name}, "spec": spec})
}

pub(super) fn apply(bed: &Bed, manifest: &Value) {
    bed.kubectl(&["apply", "-f", "-"], &manifest.to_string());
}

/// Waits until a question about an object has an answer.
pub(super) async fn wait<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(seen) => assert!(begun.elapsed() < SOON, "{what} has not come; seen: {seen}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The name of the object of the split "shard".
pub(super) fn split_name() -> String {
    children::split("p", "shard")
}

/// Its metadata.
pub(super) fn split_meta() -> Value {
    json!({
        "name": split_name(),
        "labels": {"millrace.dev/pipeline": "p", "millrace.dev/part": "split"},
        "annotations": {"millrace.dev/id": "shard"},
    })
}

pub(super) async fn pipeline(bed: &Bed, name: &str) -> StreamPipeline {
    bed.api::<StreamPipeline>().get(name).await.unwrap()
}

/// A condition as `STATUS/Reason`, of the present generation alone.
pub(super) fn condition(pipeline: &StreamPipeline, kind: &str) -> String {
    let conditions = pipeline.status.iter().flat_map(|status| &status.conditions);
    let own = conditions.into_iter().find(|condition| condition.r#type == kind);
    own.filter(|condition| condition.observed_generation == pipeline.metadata.generation)
        .map_or_else(|| "none".to_owned(), |condition| format!("{:?}/{}", condition.status, condition.reason))
}

pub(super) fn message(pipeline: &StreamPipeline, kind: &str) -> String {
    let conditions = pipeline.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().find(|condition| condition.r#type == kind).map(|condition| condition.message.clone()).unwrap_or_default()
}

/// Waits until a condition of the present generation says this.
pub(super) async fn says(bed: &Bed, name: &str, kind: &str, wanted: &str) -> StreamPipeline {
    wait(&format!("{kind} {wanted}"), async || {
        let pipeline = pipeline(bed, name).await;
        let said = condition(&pipeline, kind);
        if said == wanted { Ok(pipeline) } else { Err(format!("{said}; {}", json!(pipeline.status))) }
    })
    .await
}

/// The epoch and digest of the committed program.
pub(super) fn active(pipeline: &StreamPipeline) -> (i64, String) {
    let active =
        pipeline.status.as_ref().and_then(|status| status.root.as_ref()).and_then(|root| root.active.clone()).expect("no active program");
    (active.epoch.get(), active.digest)
}

/// A worker: its Lease beats, and it answers what it is told to.
pub(super) struct Player<'a> {
    bed: &'a Bed,
    pub(super) name: String,
    incarnation: String,
    beating: JoinHandle<()>,
}

impl<'a> Player<'a> {
    /// Joins as a worker of a pipeline does: heartbeat first, then its object.
    pub(super) async fn join(bed: &'a Bed, pipeline: &str, ordinal: usize, life: &str) -> Player<'a> {
        let name = format!("{pipeline}-worker-{ordinal}");
        let incarnation = format!("pod-{ordinal}/{life}");
        let labels = |part: &str| json!({"millrace.dev/pipeline": pipeline, "millrace.dev/part": part});
        beat(bed.api(), &name, &incarnation, &labels("heartbeat")).await;
        let worker = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamWorker", "metadata": {"name": name, "labels": labels("worker")}, "spec": {}});
        bed.api::<StreamWorker>().patch(&name, &PatchParams::apply("worker").force(), &Patch::Apply(worker)).await.unwrap();
        let (leases, own, life, part) = (bed.api::<Lease>(), name.clone(), incarnation.clone(), labels("heartbeat"));
        let beating = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                beat(leases.clone(), &own, &life, &part).await;
            }
        });
        Self { bed, name, incarnation, beating }
    }

    async fn object(&self) -> StreamWorker {
        self.bed.api::<StreamWorker>().get(&self.name).await.unwrap()
    }

    /// Waits to be told this, of an epoch above; answers the instruction as it stands.
    pub(super) async fn told(&self, stage: &str, above: i64) -> Value {
        wait(&format!("{}: {stage} above {above}", self.name), async || {
            let told = serde_json::to_value(self.object().await.spec.root).unwrap();
            let fits = told["stage"] == stage && told["root"]["epoch"].as_i64().is_some_and(|epoch| epoch > above);
            if fits { Ok(told.clone()) } else { Err(told.to_string()) }
        })
        .await
    }

    /// What it is told now.
    pub(super) async fn instruction(&self) -> Value {
        serde_json::to_value(self.object().await.spec.root).unwrap()
    }

    /// Answers to an instruction.
    pub(super) async fn answer(&self, told: &Value, outcome: &Value) {
        let answer = json!({
            "pipelineUid": told["pipelineUid"],
            "root": told["root"],
            "incarnation": self.incarnation,
            "outcome": outcome,
        });
        let status = json!({"status": {"incarnation": self.incarnation, "answer": answer}});
        self.bed.api::<StreamWorker>().patch_status(&self.name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    pub(super) async fn prepared(&self, told: &Value) {
        self.answer(told, &json!({"type": "Prepared"})).await;
    }

    pub(super) async fn acknowledged(&self, told: &Value) {
        self.answer(told, &json!({"type": "Acknowledged", "stateChanged": false, "interfaceChanged": false})).await;
    }

    pub(super) async fn rejected(&self, told: &Value, message: &str) {
        let fault = json!({"code": "MR0304", "reason": "StateIncompatible", "message": message, "mayPass": false});
        self.answer(told, &json!({"type": "Rejected", "fault": fault})).await;
    }

    /// Ends as a crash does: no farewell.
    pub(super) fn crash(self) {
        self.beating.abort();
    }
}

async fn beat(leases: kube::Api<Lease>, name: &str, incarnation: &str, labels: &Value) {
    let now = k8s_openapi::jiff::Timestamp::now();
    let renewed = format!("{now:.6}");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "labels": labels},
        "spec": {"holderIdentity": incarnation, "leaseDurationSeconds": 5, "renewTime": renewed},
    });
    // A test that is over takes its namespace away.
    drop(leases.patch(name, &PatchParams::apply("worker").force(), &Patch::Apply(lease)).await);
}
