//! What a worker pod is started with: the settings of class "pods", with their defaults filled in.
//!
//! Owns: the JSON in the variable `MILLRACE_WORKER` of the worker's container (see [`super::children`]).
//! May not: hold the program or a live setting: those reach a worker through revisions and its `StreamWorker`, so that an
//! edit of them replaces no pod.

use super::pipeline::{Coordination, Discovery, KinesisStream, LogLevel, Retrieval, StreamPipelineSpec, Tiers};
use super::scalar::{Duration, DurationOrZero, Quantity};
use serde::{Deserialize, Serialize};

/// Everything that a worker knows from its start on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerSettings {
    /// The pipeline's name; its namespace is the pod's.
    pub pipeline: String,

    /// The pipeline's uid.
    pub pipeline_uid: String,

    /// How the source is reached.
    pub source: SourceReach,

    /// How workers share the shards.
    pub coordination: CoordinationSettings,

    /// How long a worker may take to finish when it is stopped.
    pub drain_timeout: Duration,

    /// The port of health and metrics.
    pub metrics_port: u16,

    /// Evaluation threads; absent: the CPU limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,

    /// How roots are evaluated.
    pub tiers: Tiers,

    /// When rows are submitted.
    pub submit: SubmitSettings,

    /// How much is logged.
    pub log_level: LogLevel,

    /// How much state is held in memory; absent: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_memory: Option<Quantity>,

    /// Whether certificates to trust are mounted at [`super::children::CA_FILE`].
    #[serde(default)]
    pub ca_bundle: bool,
}

/// How the source is reached. Which streams there are, and where they begin, stands in the revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceReach {
    /// Those Kinesis streams that are reached otherwise than by default, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinesis: Vec<StreamReach>,

    /// The path of a file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,

    /// Made-up records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorReach>,
}

/// How a Kinesis stream is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamReach {
    /// What the program calls it.
    pub name: String,

    /// Another endpoint than the region's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,

    /// A role to assume for reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_arn: Option<String>,

    /// How records are fetched.
    pub retrieval: Retrieval,

    /// The name of the fan-out consumer, where one is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_name: Option<String>,
}

/// Made-up records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorReach {
    /// Equal seeds make equal records.
    pub seed: i64,

    /// Records a second.
    pub rate_per_second: i32,

    /// How many records to make; absent: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<i64>,
}

/// How workers share the shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CoordinationSettings {
    /// How long a worker may be silent before others take its shards over.
    pub ttl: Duration,

    /// How often progress is committed.
    pub commit_interval: Duration,

    /// How long the shards of a vanished worker wait for it.
    pub rebalance_delay: DurationOrZero,

    /// How long a shard that moves may finish what it has taken in.
    pub drain_deadline: Duration,

    /// How new shards are found.
    pub discovery: Discovery,

    /// How often the stream's shards are listed whole.
    pub resync: Duration,

    /// What the pipeline may write to the store each second.
    pub writes_per_second: i32,

    /// The same in bytes.
    pub bytes_per_second: i64,
}

/// When rows are submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitSettings {
    /// At this many rows.
    pub rows: i32,

    /// Or after this long.
    pub delay: Duration,
}

/// What a start of a worker cannot do without.
#[derive(Debug, thiserror::Error)]
#[error("the settings of the worker cannot be read: the operator and the image are versions that do not fit together")]
pub struct SettingsError(#[from] serde_json::Error);

impl crate::error::Meaning for SettingsError {
    fn code(&self) -> crate::error::Code {
        crate::error::Code::INTERNAL
    }
}

impl WorkerSettings {
    /// The settings that a spec asks for. What the schema lets no manifest say is taken as not said.
    #[must_use]
    pub fn of(pipeline: &str, uid: &str, spec: &StreamPipelineSpec) -> Self {
        let worker = spec.worker.clone().unwrap_or_default();
        let submit = worker.submit.unwrap_or_default();
        Self {
            pipeline: pipeline.to_owned(),
            pipeline_uid: uid.to_owned(),
            source: SourceReach::of(spec),
            coordination: CoordinationSettings::of(&spec.coordination.clone().unwrap_or_default()),
            drain_timeout: worker.drain_timeout.unwrap_or_else(|| Duration::seconds(30)),
            metrics_port: worker.metrics_port.and_then(|port| port.try_into().ok()).unwrap_or(9_090),
            threads: worker.threads.and_then(|threads| threads.try_into().ok()),
            tiers: worker.tiers.unwrap_or_default(),
            submit: SubmitSettings { rows: submit.rows.unwrap_or(256), delay: submit.delay.unwrap_or_else(|| Duration::millis(5)) },
            log_level: worker.log_level.unwrap_or_default(),
            state_memory: spec.state.as_ref().and_then(|state| state.memory.clone()),
            ca_bundle: worker.ca_bundle.is_some(),
        }
    }

    /// Reads what stands in the variable.
    ///
    /// # Errors
    /// If it is not what this version writes.
    pub fn read(text: &str) -> Result<Self, SettingsError> {
        Ok(serde_json::from_str(text)?)
    }
}

impl SourceReach {
    fn of(spec: &StreamPipelineSpec) -> Self {
        // A stream that is reached as any other says nothing here: to add one is a cutover and no rollout.
        let plain = |reach: &StreamReach| *reach == StreamReach { name: reach.name.clone(), ..StreamReach::default() };
        let mut kinesis: Vec<_> = spec.source.kinesis.iter().flatten().map(StreamReach::of).filter(|reach| !plain(reach)).collect();
        // Their order says nothing, and must replace no pod.
        kinesis.sort_by(|one, other| one.name.cmp(&other.name));
        Self {
            kinesis,
            file: spec.source.file.as_ref().map(|file| file.path.clone()),
            generator: spec.source.generator.as_ref().map(|made| GeneratorReach {
                seed: made.seed.unwrap_or(0),
                rate_per_second: made.rate_per_second.unwrap_or(10),
                records: made.records,
            }),
        }
    }
}

impl StreamReach {
    fn of(stream: &KinesisStream) -> Self {
        Self {
            name: stream.name().to_owned(),
            endpoint: stream.endpoint.clone(),
            role_arn: stream.role_arn.clone(),
            retrieval: stream.retrieval.unwrap_or_default(),
            consumer_name: stream.consumer_name.clone(),
        }
    }
}

impl CoordinationSettings {
    fn of(set: &Coordination) -> Self {
        let budget = set.budget.clone().unwrap_or_default();
        Self {
            ttl: set.ttl.clone().unwrap_or_else(|| Duration::seconds(20)),
            commit_interval: set.commit_interval.clone().unwrap_or_else(|| Duration::seconds(5)),
            rebalance_delay: set.rebalance_delay.clone().unwrap_or_else(DurationOrZero::zero),
            drain_deadline: set.drain_deadline.clone().unwrap_or_else(|| Duration::seconds(10)),
            discovery: set.discovery.unwrap_or_default(),
            resync: set.resync.clone().unwrap_or_else(|| Duration::seconds(600)),
            writes_per_second: budget.writes_per_second.unwrap_or(20),
            bytes_per_second: budget.bytes_per_second.unwrap_or(1_048_576),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WorkerSettings;
    use crate::api::pipeline::StreamPipelineSpec;
    use serde_json::json;
    use std::time::Duration;

    fn settings(change: &serde_json::Value) -> WorkerSettings {
        let mut spec = json!({"source": {"kinesis": [{"streamName": "s"}]}, "root": {"inline": "out a = 1"}, "outputs": [{"name": "o", "stdout": {}}]});
        spec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let spec: StreamPipelineSpec = serde_json::from_value(spec).unwrap();
        WorkerSettings::of("p", "u", &spec)
    }

    #[test]
    fn what_is_not_said_is_the_default_of_the_documentation() {
        let settings = settings(&json!({}));
        assert_eq!(settings.coordination.ttl.span(), Duration::from_secs(20));
        assert_eq!(settings.coordination.rebalance_delay.span(), Duration::ZERO);
        assert_eq!((settings.metrics_port, settings.submit.rows, settings.submit.delay.span()), (9_090, 256, Duration::from_millis(5)));
        assert!(settings.source.kinesis.is_empty());
        assert_eq!(WorkerSettings::read(&serde_json::to_string(&settings).unwrap()).unwrap(), settings);
    }

    #[test]
    fn what_is_live_or_part_of_the_program_changes_no_setting() {
        let edit = json!({"replicas": 7, "failure": {"maxAttempts": 9}, "root": {"inline": "out b = 2"}, "cutover": {"ackTimeout": "5s"},
            "source": {"kinesis": [{"streamName": "s", "onRecreate": "StartOver"}, {"name": "more", "streamName": "t"}]}});
        assert_eq!(settings(&edit), settings(&json!({})));
    }

    #[test]
    fn what_is_of_the_pods_changes_the_settings() {
        for edit in [
            json!({"source": {"kinesis": [{"streamName": "s", "endpoint": "http://e"}]}}),
            json!({"coordination": {"commitInterval": "1s"}}),
            json!({"coordination": {"budget": {"writesPerSecond": 3}}}),
            json!({"worker": {"threads": 2}}),
            json!({"worker": {"logLevel": "Debug"}}),
            json!({"state": {"memory": "64Mi"}}),
        ] {
            assert_ne!(settings(&edit), settings(&json!({})), "{edit}");
        }
    }
}
