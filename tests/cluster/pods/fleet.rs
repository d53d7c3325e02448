//! An installation with real pods: the chart, a pipeline over the Kinesis stand-in, and what is done to them.

use crate::bed::{Bed, whole, within};
use crate::flow::alone;
use crate::rows::Cutover;
use aws_sdk_kinesis::types::{Shard, StreamStatus};
use parking_lot::MutexGuard;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const PIPELINE: &str = "thin";
const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/millrace");
const IMAGE: &str = "bed.internal/millrace:test";
/// As pods see it.
const ENDPOINT: &str = "http://kinesis.bed.internal:4568";

/// A version that no root can have, and where that is seen.
pub(super) const BAD: &str = "nn";
pub(super) const BAD_AT: &str = "6:15";

pub(super) const SOON: Duration = Duration::from_secs(30);
pub(super) const A_WHILE: Duration = Duration::from_secs(90);

/// One installation, in the test's own namespace.
pub(super) struct Fleet<'a> {
    bed: &'a Bed,
    pub(super) input: String,
    pub(super) output: String,
    _alone: MutexGuard<'static, ()>,
}

impl<'a> Fleet<'a> {
    /// Streams, and the operator with rights in this namespace alone: other tests' pipelines are not its concern.
    pub(super) async fn install(bed: &'a Bed) -> Self {
        bed.import_millrace(IMAGE);
        let fleet = Self { bed, input: format!("{}-in", bed.namespace()), output: format!("{}-out", bed.namespace()), _alone: alone() };
        fleet.create_stream(&fleet.input, 4).await;
        fleet.create_stream(&fleet.output, 2).await;
        bed.kubectl(&["label", "namespace", bed.namespace(), "pod-security.kubernetes.io/enforce=restricted"], "");
        let (repository, tag) = IMAGE.rsplit_once(':').unwrap();
        let image = format!("image.repository={repository},image.tag={tag},image.pullPolicy=Never");
        bed.helm(&["install", "millrace", CHART, "--set", &image, "--set", "crds.install=false,rbac.scope=Namespace"]);
        fleet.operators(2).await;
        fleet
    }

    /// How many operator pods there shall be; answers when it is so.
    pub(super) async fn operators(&self, replicas: u32) {
        self.bed.kubectl(&["scale", "deployment/millrace", &format!("--replicas={replicas}")], "");
        within(A_WHILE, "the operator's pods", async || {
            let pods = self.pods("app.kubernetes.io/component=operator");
            let ready = pods.iter().filter(|pod| is_ready(pod)).count();
            let all = usize::try_from(replicas).unwrap();
            if (pods.len(), ready) == (all, all) { Ok(()) } else { Err(said(&pods)) }
        })
        .await;
    }

    pub(super) fn apply(&self, version: &str) {
        self.bed.kubectl(&["apply", "-f", "-"], &manifest(&self.input, &self.output, version));
    }

    /// The first version; answers what runs.
    pub(super) async fn start(&self) -> Cutover {
        self.apply("1");
        self.acknowledged();
        self.two_workers().await;
        Cutover { epoch: self.epoch(), version: 1, after: BTreeMap::new() }
    }

    /// Applies a version and waits for its acknowledgement, as a user would. Answers where it took over.
    pub(super) fn cut_over(&self, version: u64) -> Cutover {
        self.apply(&version.to_string());
        self.acknowledged();
        let epoch = self.epoch();
        let cutover = &self.pipeline()["status"]["cutover"];
        assert_eq!((&cutover["acknowledged"], &cutover["total"]), (&json!(2), &json!(2)), "{cutover}");
        Cutover { epoch, version, after: self.reported(epoch) }
    }

    pub(super) fn acknowledged(&self) {
        self.bed.kubectl(&["wait", "--for=condition=RootAcknowledged", "--timeout=90s", &format!("streampipeline/{PIPELINE}")], "");
    }

    pub(super) fn delete(&self) {
        self.bed.kubectl(&["delete", "streampipeline", PIPELINE, "--timeout=60s"], "");
    }

    /// The epoch of the running root.
    pub(super) fn epoch(&self) -> u64 {
        let status = self.pipeline();
        status["status"]["root"]["active"]["epoch"].as_u64().unwrap_or_else(|| panic!("no active root: {status}"))
    }

    pub(super) fn pipeline(&self) -> Value {
        self.get(&["streampipeline", PIPELINE])
    }

    pub(super) fn condition(&self, kind: &str) -> Value {
        let pipeline = self.pipeline();
        let all = pipeline["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
    }

    /// By shard, the last sequence number under the root before this epoch, as the workers say it.
    fn reported(&self, epoch: u64) -> BTreeMap<String, String> {
        let shards: BTreeMap<String, String> =
            self.splits().iter().map(|split| (text(&split["metadata"]["name"]), text(&split["spec"]["shard"]))).collect();
        let workers = self.get(&["streamworkers"]);
        let mut found = BTreeMap::new();
        for worker in workers["items"].as_array().unwrap() {
            let answer = &worker["status"]["answer"];
            assert_eq!((&answer["root"]["epoch"], &answer["outcome"]["type"]), (&json!(epoch), &json!("Acknowledged")), "{worker}");
            for (split, after) in answer["outcome"]["splits"].as_object().into_iter().flatten() {
                let shard = shards.get(split).unwrap_or(split).clone();
                let twice = found.insert(shard, text(after));
                assert_eq!(twice, None, "two workers speak for {split}");
            }
        }
        found
    }

    pub(super) fn splits(&self) -> Vec<Value> {
        self.get(&["streamsplits"])["items"].as_array().cloned().unwrap_or_default()
    }

    /// Splits by shard, each with its state.
    pub(super) fn states(&self) -> BTreeMap<String, String> {
        self.splits().iter().map(|split| (text(&split["spec"]["shard"]), text(&split["record"]["state"]))).collect()
    }

    fn get(&self, what: &[&str]) -> Value {
        serde_json::from_str(&self.bed.kubectl(&[&["get", "--output=json"], what].concat(), "")).unwrap()
    }

    pub(super) fn pods(&self, selector: &str) -> Vec<Value> {
        self.get(&["pods", "--selector", selector])["items"].as_array().cloned().unwrap_or_default()
    }

    pub(super) fn workers(&self) -> Vec<Value> {
        self.pods(&millrace::api::children::selector(PIPELINE, millrace::api::children::part::WORKER))
    }

    /// Names, uids and restarts: what changes when a pod or its process is another.
    pub(super) fn lives(&self) -> Vec<String> {
        let life = |pod: &Value| {
            let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
            format!("{} {} {restarts}", pod["metadata"]["name"], pod["metadata"]["uid"])
        };
        self.workers().iter().map(life).collect()
    }

    async fn two_workers(&self) {
        self.replaced("").await;
    }

    /// Two workers that are ready, none of them this life.
    pub(super) async fn replaced(&self, gone: &str) {
        within(A_WHILE, "two workers without the one that is gone", async || {
            let workers = self.workers();
            let ready = workers.iter().filter(|pod| is_ready(pod)).count();
            let lives = self.lives();
            if ready == 2 && lives.len() == 2 && !lives.iter().any(|life| life == gone) { Ok(()) } else { Err(said(&workers)) }
        })
        .await;
    }

    /// Ends a worker's process as a crash would. Its pod stays.
    pub(super) fn kill(&self, ordinal: usize) {
        let workers = self.workers();
        let container = text(&workers[ordinal]["status"]["containerStatuses"][0]["containerID"]);
        self.bed.kill_container(container.trim_start_matches("containerd://"));
    }

    pub(super) fn delete_pod(&self, ordinal: usize) {
        let name = text(&self.workers()[ordinal]["metadata"]["name"]);
        self.bed.kubectl(&["delete", "pod", &name, "--wait=false"], "");
    }

    async fn create_stream(&self, name: &str, shards: i32) {
        self.bed.kinesis().create_stream().stream_name(name).shard_count(shards).send().await.unwrap();
        self.stream_is_active(name).await;
    }

    pub(super) async fn stream_is_active(&self, name: &str) {
        within(SOON, "an active stream", async || {
            let asked = self.bed.kinesis().describe_stream_summary().stream_name(name).send().await.map_err(|error| whole(&error))?;
            let summary = asked.stream_description_summary().unwrap();
            if *summary.stream_status() == StreamStatus::Active { Ok(()) } else { Err(format!("{summary:?}")) }
        })
        .await;
    }

    /// The shards of the input that take records, by where their ranges begin.
    pub(super) async fn open_shards(&self) -> Vec<Shard> {
        let listed = self.bed.kinesis().list_shards().stream_name(&self.input).send().await.unwrap();
        let is_open = |shard: &&Shard| shard.sequence_number_range().is_some_and(|range| range.ending_sequence_number().is_none());
        let mut shards: Vec<Shard> = listed.shards().iter().filter(is_open).cloned().collect();
        shards.sort_by_key(|shard| range(shard).0);
        shards
    }

    /// Splits the first shard of the input in the middle, and merges the last two. Answers those three.
    pub(super) async fn reshard(&self) -> Vec<String> {
        let kinesis = self.bed.kinesis();
        let shards = self.open_shards().await;
        let (from, to) = range(&shards[0]);
        let middle = from + (to - from) / 2 + 1;
        let split = kinesis.split_shard().stream_name(&self.input).shard_to_split(shards[0].shard_id());
        split.new_starting_hash_key(middle.to_string()).send().await.unwrap();
        self.stream_is_active(&self.input).await;
        let [one, other] = [&shards[shards.len() - 2], &shards[shards.len() - 1]];
        let merge = kinesis.merge_shards().stream_name(&self.input).shard_to_merge(one.shard_id());
        merge.adjacent_shard_to_merge(other.shard_id()).send().await.unwrap();
        self.stream_is_active(&self.input).await;
        [&shards[0], one, other].map(|shard| shard.shard_id().to_owned()).to_vec()
    }
}

/// The pipeline with this version of its root. Whatever the version, `count` has the same equation.
fn manifest(input: &str, output: &str, version: &str) -> String {
    let kinesis = |stream: &str| json!({"streamName": stream, "region": "eu-west-1", "endpoint": ENDPOINT});
    let mut source = kinesis(input);
    source["startAt"] = json!({"type": "TrimHorizon"});
    let root =
        format!("in n: Int\nin key: Str\nout number = n\nout name = key\nout count = default(count[1], 0) + 1\nout version = {version}\n");
    let env = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    json!({
        "apiVersion": "millrace.dev/v1alpha1",
        "kind": "StreamPipeline",
        "metadata": {"name": PIPELINE},
        "spec": {
            "replicas": 2,
            "source": {"kinesis": [source]},
            "keyBy": {"type": "PartitionKey"},
            "root": {"inline": root, "inputs": {"n": "/n", "key": "/key"}},
            "outputs": [{"name": "rows", "metadata": true, "kinesis": kinesis(output)}],
            "worker": {
                "imagePullPolicy": "Never",
                // The stand-in takes about a hundred calls a second.
                "submit": {"delay": "200ms"},
                "env": env.map(|(name, value)| json!({"name": name, "value": value})),
            },
            "coordination": {"ttl": "5s", "commitInterval": "1s"},
        },
    })
    .to_string()
}

fn range(shard: &Shard) -> (u128, u128) {
    let range = shard.hash_key_range().unwrap();
    (range.starting_hash_key().parse().unwrap(), range.ending_hash_key().parse().unwrap())
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    pod["metadata"]["deletionTimestamp"].is_null() && conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn said(pods: &[Value]) -> String {
    pods.iter().map(|pod| format!("{}: {}", pod["metadata"]["name"], pod["status"])).collect::<Vec<_>>().join("\n")
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

#[test]
fn the_thin_lines_manifests_are_valid_and_its_bad_root_is_bad_where_it_says() {
    let load = |version: &str| {
        let pipeline = millrace::api::manifest::read(manifest("a", "b", version).as_bytes()).unwrap();
        let root = pipeline.spec.root.inline.clone().unwrap();
        millrace::program::load(&pipeline.spec, &root)
    };
    assert!(load("1").is_ok() && load("2").is_ok());
    let said = load(BAD).err().unwrap().to_string();
    assert!(said.contains(BAD_AT), "{said}");
}

/// What the thin line does to pods and shards, with pods that do nothing: what it finds wrong is not its tools' doing.
#[test]
fn a_kill_a_deletion_and_a_reshard_are_done_and_seen() {
    crate::bed::test(async |bed| {
        bed.import_image("bed.internal/idle:1", &["--program", "/bin/busybox:/bin/busybox"]);
        let fleet = Fleet { bed, input: format!("{}-in", bed.namespace()), output: String::new(), _alone: alone() };
        let labels = json!({
            millrace::api::children::PIPELINE_LABEL: PIPELINE,
            millrace::api::children::PART_LABEL: millrace::api::children::part::WORKER,
        });
        let container = json!({
            "name": "worker", "image": "bed.internal/idle:1", "imagePullPolicy": "Never",
            // A shell that is process 1 ends on a signal only if it asks for it.
            "command": ["/bin/busybox", "sh", "-c", "trap 'exit 0' TERM; while :; do /bin/busybox sleep 1; done"],
        });
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": millrace::api::children::workload(PIPELINE)},
            "spec": {
                "replicas": 2, "serviceName": "none", "podManagementPolicy": "Parallel", "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        });
        bed.kubectl(&["apply", "-f", "-"], &set.to_string());
        fleet.two_workers().await;
        let before = fleet.lives();
        fleet.kill(0);
        fleet.replaced(&before[0]).await;
        let killed = fleet.lives();
        assert!(killed[0].ends_with(" 1") && killed[1] == before[1], "{before:?} {killed:?}");
        fleet.delete_pod(1);
        fleet.replaced(&killed[1]).await;
        let deleted = fleet.lives();
        assert!(deleted[0] == killed[0] && deleted[1].ends_with(" 0"), "{killed:?} {deleted:?}");

        fleet.create_stream(&fleet.input, 4).await;
        let before = fleet.open_shards().await;
        let ended = fleet.reshard().await;
        let open: Vec<String> = fleet.open_shards().await.iter().map(|shard| shard.shard_id().to_owned()).collect();
        let kept: Vec<&Shard> = before.iter().filter(|shard| open.contains(&shard.shard_id().to_owned())).collect();
        assert_eq!((ended.len(), open.len(), kept.len()), (3, 4, 1), "{ended:?} {open:?}");
    });
}
