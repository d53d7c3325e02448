//! A Kinesis stream as a pipeline names it, and the way to it.
//!
//! Owns: how a manifest, or a revision with a pod's settings, says which stream is read, where it begins and how it is reached.
//! May not: read.

use crate::api::pipeline::{KinesisStream, StartAt, StartType};
use crate::api::revision::ProgramStream;
use crate::api::worker_settings::StreamReach;
use crate::env::Env;
use crate::flow::SourceError;
use crate::kinesis::{Client, ClientSettings, StreamName};
use crate::source::QueueLimits;
use crate::source::kinesis::{KinesisPlanner, KinesisSource, StartRule};
use std::sync::Arc;

/// A stream to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    /// What the program calls it.
    name: String,
    /// Which it is, in a region, else the process's own.
    at: StreamName,
    region: Option<String>,
    /// How it is reached.
    endpoint: Option<String>,
    role: Option<String>,
    start: StartRule,
}

impl Stream {
    /// As a manifest says it; none where it begins in a way that this version does not know.
    pub(super) fn of_manifest(stream: &KinesisStream) -> Option<Self> {
        Some(Self {
            name: stream.name().to_owned(),
            at: name(stream.stream_arn.as_ref(), stream.stream_name.as_ref()),
            region: stream.region.clone(),
            endpoint: stream.endpoint.clone(),
            role: stream.role_arn.clone(),
            start: start(stream.start_at.as_ref())?,
        })
    }

    /// As a revision and the settings of a pod say it together; none as above.
    pub(super) fn of_revision(stream: &ProgramStream, reach: &[StreamReach]) -> Option<Self> {
        let reach = reach.iter().find(|reach| reach.name == stream.name);
        Some(Self {
            name: stream.name.clone(),
            at: name(stream.stream_arn.as_ref(), stream.stream_name.as_ref()),
            region: stream.region.clone(),
            endpoint: reach.and_then(|reach| reach.endpoint.clone()),
            role: reach.and_then(|reach| reach.role_arn.clone()),
            start: start(stream.start_at.as_ref())?,
        })
    }

    /// Whether both are read at the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.at, &self.region) == (&other.at, &other.region)
    }

    /// Asks the stream which one it is, and makes what reads it and what finds its shards.
    ///
    /// # Errors
    /// It cannot be asked.
    pub(super) async fn connect(&self, env: &Env) -> Result<(KinesisSource, KinesisPlanner), SourceError> {
        let Self { at: stream, region, endpoint, role, .. } = self.clone();
        let service = Arc::new(Client::new(&ClientSettings { stream, region, endpoint, role }).await);
        let source = KinesisSource::connect(env, service.clone(), &self.name, QueueLimits::default()).await?;
        Ok((source, KinesisPlanner::new(env, service, self.start)))
    }
}

fn name(arn: Option<&String>, name: Option<&String>) -> StreamName {
    match arn {
        Some(arn) => StreamName::Arn(arn.clone()),
        None => StreamName::Name(name.cloned().unwrap_or_default()),
    }
}

fn start(at: Option<&StartAt>) -> Option<StartRule> {
    match at.map(|start| (start.r#type, start.timestamp.as_ref())) {
        None | Some((StartType::Latest, _)) => Some(StartRule::Latest),
        Some((StartType::Timestamp, at)) => {
            Some(StartRule::Timestamp(at.and_then(crate::api::scalar::Timestamp::micros).unwrap_or_default()))
        }
        Some((StartType::TrimHorizon, _)) => Some(StartRule::TrimHorizon),
        Some((StartType::KclTable, _)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;
    use crate::api::pipeline::StreamPipelineSpec;
    use crate::api::revision::Program;
    use crate::api::worker_settings::WorkerSettings;
    use serde_json::json;

    #[test]
    fn a_revision_with_its_settings_names_the_stream_of_the_manifest() {
        for stream in [
            json!({"streamName": "orders"}),
            json!({"name": "o", "streamARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/orders", "startAt": {"type": "TrimHorizon"}}),
            json!({"streamName": "s", "region": "eu-west-1", "endpoint": "http://kinesis:4566", "roleArn": "arn:aws:iam::123456789012:role/r",
                "startAt": {"type": "Timestamp", "timestamp": "2026-01-01T00:00:00Z"}}),
        ] {
            let spec = json!({"source": {"kinesis": [stream]}, "root": {"inline": "out a = 1"}, "outputs": [{"name": "o", "stdout": {}}]});
            let spec: StreamPipelineSpec = serde_json::from_value(spec).unwrap();
            let (program, settings) = (Program::of(&spec, None).unwrap(), WorkerSettings::of("p", "u", &spec));
            let own = Stream::of_manifest(&spec.source.kinesis.as_ref().unwrap()[0]).unwrap();
            assert_eq!(Stream::of_revision(&program.streams[0], &settings.source.kinesis), Some(own));
        }
    }
}
