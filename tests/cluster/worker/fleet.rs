//! Workers and an operator as processes, over the real API server and the Kinesis stand-in.
//!
//! Owns: how a process is started as its pod would start it, and asking what the cluster shows of the pipeline.
//! May not: know what is tested.
//!
//! The pods are the `StatefulSet`'s own, which no node takes: names, uids and owners are as ever, and a process of the test
//! stands in for the container.

use super::process::Process;
use crate::bed::{Bed, within};
use crate::flow::{Feeder, Reader, alone};
use crate::kinesis::Stream;
use crate::rows::{Cutover, Row};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use millrace::api::children;
use parking_lot::MutexGuard;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

pub(super) const SOON: Duration = Duration::from_secs(30);
/// A worker that is asked to stop has ended by then.
pub(super) const STOPPED: Duration = Duration::from_secs(15);

/// One pipeline of one test.
pub(super) struct Fleet<'a> {
    pub(super) bed: &'a Bed,
    pub(super) name: String,
    pub(super) input: Rc<Stream>,
    pub(super) output: Rc<Stream>,
    pub(super) replicas: usize,
    operator: Rc<Process>,
    alone: Rc<MutexGuard<'static, ()>>,
}

impl<'a> Fleet<'a> {
    /// Streams of this test's own, and an operator for its namespace alone.
    pub(super) async fn begin(bed: &'a Bed, replicas: usize, shards: i32) -> Fleet<'a> {
        let alone = Rc::new(alone());
        let (input, output) = (Stream::create_as(bed, "in", shards).await, Stream::create_as(bed, "out", 2).await);
        let operator = Process::start(bed, "the operator", |command, port| {
            command.args(["operator", "--namespaces", bed.namespace(), "--leader-namespace", bed.namespace()]);
            command.args(["--worker-image", "registry.invalid/millrace:none", "--metrics-port", &port.to_string()]);
        });
        let (input, output, operator) = (Rc::new(input), Rc::new(output), Rc::new(operator));
        Self { bed, name: "fleet".to_owned(), input, output, replicas, operator, alone }
    }

    /// Another pipeline that reads the same stream and writes to one of its own.
    pub(super) async fn beside(&self, name: &str, replicas: usize) -> Fleet<'a> {
        let output = Rc::new(Stream::create_as(self.bed, name, 2).await);
        let (input, operator) = (Rc::clone(&self.input), Rc::clone(&self.operator));
        Fleet { bed: self.bed, name: name.to_owned(), input, output, replicas, operator, alone: Rc::clone(&self.alone) }
    }

    /// The manifest with this root, and what is changed in it.
    pub(super) fn manifest(&self, root: &str, change: impl FnOnce(&mut Value)) -> Value {
        let endpoint = self.bed.kinesis_endpoint();
        let kinesis = |stream: &Stream| json!({"streamName": stream.name, "region": "eu-west-1", "endpoint": endpoint});
        let mut source = kinesis(&self.input);
        source["startAt"] = json!({"type": "TrimHorizon"});
        let mut manifest = json!({
            "apiVersion": "millrace.dev/v1alpha1",
            "kind": "StreamPipeline",
            "metadata": {"name": self.name},
            "spec": {
                "replicas": self.replicas,
                "source": {"kinesis": [source]},
                "keyBy": {"type": "PartitionKey"},
                "root": {"inline": root, "inputs": {"n": "/n", "key": "/key"}},
                "outputs": [{"name": "rows", "metadata": true, "kinesis": kinesis(&self.output)}],
                // The stand-in takes about a hundred calls a second.
                "worker": {"submit": {"delay": "200ms"}, "drainTimeout": "10s", "template": {"nodeSelector": {"no": "node"}}, "logLevel": "Debug"},
                "coordination": {"ttl": "3s", "commitInterval": "1s"},
            },
        });
        change(&mut manifest["spec"]);
        manifest
    }

    pub(super) fn apply(&self, manifest: &Value) {
        self.bed.kubectl(&["apply", "-f", "-"], &manifest.to_string());
    }

    /// So many workers that share four shards, and whose rows come.
    pub(super) async fn flowing(bed: &'a Bed, workers: usize) -> (Fleet<'a>, Vec<Process>, (Feeder, Reader)) {
        let fleet = Fleet::begin(bed, workers, 4).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let processes = fleet.workers().await;
        let (feeder, reader) = (fleet.feeder(0), fleet.reader());
        fleet.acknowledged().await;
        fleet.shared_by(workers).await;
        all_came(&reader, feeder.fed()).await;
        (fleet, processes, (feeder, reader))
    }

    /// Starts the process of a pod of the `StatefulSet`.
    pub(super) async fn worker(&self, ordinal: usize) -> Process {
        self.process(&self.pod(ordinal, "").await)
    }

    /// What the pod is started with.
    pub(super) async fn settings(&self, ordinal: usize) -> Value {
        settings(&self.pod(ordinal, "").await)
    }

    /// A pod of the `StatefulSet`, as soon as it is there and is not this one.
    pub(super) async fn pod(&self, ordinal: usize, gone: &str) -> Pod {
        let name = children::worker(&self.name, ordinal.try_into().unwrap());
        within(SOON, &format!("the pod {name}"), async || {
            let pod = self.bed.api::<Pod>().get_opt(&name).await.map_err(|error| error.to_string())?;
            let pod = pod.filter(|pod| pod.metadata.uid.as_deref() != Some(gone) && pod.metadata.deletion_timestamp.is_none());
            pod.ok_or_else(|| self.object().to_string())
        })
        .await
    }

    /// Starts the process of this pod.
    pub(super) fn process(&self, pod: &Pod) -> Process {
        self.process_with(pod, |_| ())
    }

    /// The same with other settings.
    pub(super) fn process_with(&self, pod: &Pod, change: impl FnOnce(&mut Value)) -> Process {
        let (name, uid) = (pod.metadata.name.clone().unwrap(), pod.metadata.uid.clone().unwrap());
        let mut settings = settings(pod);
        change(&mut settings);
        Process::start(self.bed, &format!("the worker {name}"), |command, port| {
            settings["metricsPort"] = port.into();
            command.arg("worker").env(children::SETTINGS_VARIABLE, settings.to_string());
            command.env(children::POD_NAME_VARIABLE, &name).env(children::POD_UID_VARIABLE, &uid);
            command.env(children::POD_NAMESPACE_VARIABLE, self.bed.namespace());
        })
    }

    pub(super) async fn workers(&self) -> Vec<Process> {
        let mut workers = Vec::new();
        for ordinal in 0..self.replicas {
            workers.push(self.worker(ordinal).await);
        }
        workers
    }

    pub(super) fn feeder(&self, last: u64) -> Feeder {
        Feeder::start(self.bed.kinesis(), &self.input.name, last)
    }

    pub(super) fn reader(&self) -> Reader {
        Reader::start(self.bed.kinesis(), &self.output.name)
    }

    /// Plays the kubelet of a pod whose probe has found the worker ready, or has not.
    pub(super) async fn probed(&self, ordinal: usize, is_ready: bool) {
        let ready = if is_ready { "True" } else { "False" };
        let status = json!({"status": {"phase": "Running", "conditions": [
            {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}]}});
        let name = children::worker(&self.name, ordinal.try_into().unwrap());
        self.bed.api::<Pod>().patch_status(&name, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap();
    }

    /// Takes the streams away.
    pub(super) async fn end(self) {
        for stream in [&self.input, &self.output] {
            stream.sdk.delete_stream().stream_name(&stream.name).send().await.unwrap();
        }
    }
}

/// What the cluster shows.
impl Fleet<'_> {
    pub(super) fn get(&self, what: &[&str]) -> Value {
        serde_json::from_str(&self.bed.kubectl(&[&["get", "--output=json"], what].concat(), "")).unwrap()
    }

    pub(super) fn object(&self) -> Value {
        self.get(&["streampipeline", &self.name])
    }

    /// Waits until a condition says `STATUS/Reason`, or only `STATUS`, or is not there (`none`); answers its message.
    pub(super) async fn says(&self, kind: &str, wanted: &str) -> String {
        within(SOON, &format!("{kind} {wanted}"), async || {
            let object = self.object();
            let all = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let own = all.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default();
            let (status, reason) = (own["status"].as_str().unwrap_or("none"), own["reason"].as_str().unwrap_or_default());
            let is_new = own["observedGeneration"] == object["metadata"]["generation"];
            let said = (is_new || own.is_null()) && (wanted == status || wanted == format!("{status}/{reason}"));
            if said { Ok(own["message"].as_str().unwrap_or_default().to_owned()) } else { Err(self.shown()) }
        })
        .await
    }

    /// All that there is to see of the pipeline, for a test that fails.
    pub(super) fn shown(&self) -> String {
        let workers = self.get(&["streamworkers"]);
        let each = workers["items"].as_array().into_iter().flatten();
        let workers: Vec<String> = each.map(|worker| format!("{} {}", worker["spec"], worker["status"])).collect();
        format!("{}\nworkers:\n{}", self.object()["status"], workers.join("\n"))
    }

    pub(super) async fn acknowledged(&self) {
        self.says("RootAcknowledged", "True").await;
    }

    /// The epoch of the running root.
    pub(super) fn epoch(&self) -> u64 {
        let object = self.object();
        object["status"]["root"]["active"]["epoch"].as_u64().unwrap_or_else(|| panic!("no active root: {object}"))
    }

    pub(super) fn splits(&self) -> Vec<Value> {
        self.get(&["streamsplits"])["items"].as_array().cloned().unwrap_or_default()
    }

    /// Splits by shard, each with its state and whose it is.
    pub(super) fn owners(&self) -> BTreeMap<String, (String, String)> {
        let own = |split: &Value| (text(&split["record"]["state"]), split["record"]["owner"]["worker"].as_str().unwrap_or("").to_owned());
        self.splits().iter().map(|split| (text(&split["spec"]["shard"]), own(split))).collect()
    }

    /// The shards that records give to a worker.
    pub(super) fn owned_by(&self, ordinal: usize) -> Vec<String> {
        let name = children::worker(&self.name, ordinal.try_into().unwrap());
        self.owners().into_iter().filter(|(_, (_, owner))| *owner == name).map(|(shard, _)| shard).collect()
    }

    /// Which worker leads.
    pub(super) fn leader(&self) -> usize {
        let holder = text(&self.get(&["lease", &children::leader(&self.name)])["spec"]["holderIdentity"]);
        (0..self.replicas)
            .find(|ordinal| holder.starts_with(&children::worker(&self.name, i32::try_from(*ordinal).unwrap())))
            .unwrap_or_else(|| panic!("{holder}"))
    }

    /// Waits until so many workers share all open shards.
    pub(super) async fn shared_by(&self, workers: usize) {
        within(SOON, &format!("{workers} owners"), async || {
            let owners = self.owners();
            let open: Vec<&String> = owners.values().filter(|(state, _)| state != "Completed").map(|(_, owner)| owner).collect();
            let named: BTreeSet<&&String> = open.iter().filter(|owner| !owner.is_empty()).collect();
            let all = !open.is_empty() && open.iter().all(|owner| !owner.is_empty()) && named.len() == workers;
            if all { Ok(()) } else { Err(format!("{owners:?}\n{}", self.shown())) }
        })
        .await;
    }

    /// Where the workers say that this epoch took over, by shard.
    pub(super) fn cutover(&self, version: u64) -> Cutover {
        let epoch = self.epoch();
        let shards: BTreeMap<String, String> =
            self.splits().iter().map(|split| (text(&split["metadata"]["name"]), text(&split["spec"]["shard"]))).collect();
        let mut after = BTreeMap::new();
        for worker in self.get(&["streamworkers"])["items"].as_array().unwrap() {
            let answer = &worker["status"]["answer"];
            assert_eq!((&answer["root"]["epoch"], &answer["outcome"]["type"]), (&json!(epoch), &json!("Acknowledged")), "{worker}");
            for (split, last) in answer["outcome"]["splits"].as_object().into_iter().flatten() {
                let twice = after.insert(shards[split].clone(), text(last));
                assert_eq!(twice, None, "two workers speak for {split}");
            }
        }
        Cutover { epoch, version, after }
    }
}

fn settings(pod: &Pod) -> Value {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let container = containers.into_iter().find(|container| container.name == children::WORKER_CONTAINER).unwrap();
    let settings = container.env.iter().flatten().find(|env| env.name == children::SETTINGS_VARIABLE).unwrap();
    serde_json::from_str(settings.value.as_deref().unwrap()).unwrap()
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// The root of most tests. Whatever the version, `count` has the same equation.
pub(super) fn root(version: u64) -> String {
    format!("in n: Int\nin key: Str\nout number = n\nout name = key\nout count = default(count[1], 0) + 1\nout version = {version}\n")
}

/// Waits until every record up to this one has come out.
pub(super) async fn all_came(reader: &Reader, fed: u64) {
    within(SOON, "the rows of all records", async || {
        let missing = missing(&reader.rows(), fed);
        if missing.is_empty() { Ok(()) } else { Err(format!("{} of {fed} are missing, {:?} first", missing.len(), missing.first())) }
    })
    .await;
}

fn missing(rows: &[Row], fed: u64) -> Vec<u64> {
    let seen: BTreeSet<u64> = rows.iter().map(|row| row.number).collect();
    (1..=fed).filter(|number| !seen.contains(number)).collect()
}
