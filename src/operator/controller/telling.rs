//! Telling the workers.

use super::read::Reader;
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::progress::RootAt;
use crate::api::stream_worker::{Instruction, Live};
use crate::api::{API_VERSION, Kind, StreamWorker};
use crate::operator::cutover::{At, State, Telling, telling};
use crate::operator::error::OperatorError;
use crate::operator::workload::MANAGER;
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// Tells every worker what it is to be told. Whether one is told something that is not ours to change: then the pipeline
/// is read again.
pub(super) async fn tell(
    reader: &Reader,
    (uid, spec): (&str, &StreamPipelineSpec),
    state: &State,
    workers: &[StreamWorker],
) -> Result<(), OperatorError> {
    for worker in workers {
        let told = worker.spec.root.as_ref();
        // One of the pipeline that had this name before goes with its pod.
        if told.is_some_and(|told| told.pipeline_uid != uid) {
            continue;
        }
        let Some(now) = telling(state, told.and_then(Telling::of)) else { continue };
        let instruction = instruction(uid, spec, now);
        let requests = told.map(|told| told.requests.clone()).unwrap_or_default();
        let whole = Instruction { requests, ..instruction.clone() };
        if told != Some(&whole) {
            write(reader, worker, &instruction).await?;
        }
    }
    Ok(())
}

fn instruction(uid: &str, spec: &StreamPipelineSpec, now: Telling) -> Instruction {
    let root = |at: At| RootAt { epoch: at.epoch, digest: at.digest.to_string() };
    Instruction {
        pipeline_uid: uid.to_owned(),
        root: root(now.root),
        stage: now.stage,
        committed: now.committed.map(root),
        live: Some(live(spec)),
        requests: Vec::new(),
    }
}

/// The live settings that concern workers, spelled out.
fn live(spec: &StreamPipelineSpec) -> Live {
    let streams = spec.source.kinesis.iter().flatten();
    Live {
        paused: Some(false),
        stopped: Some(false),
        max_attempts: Some(spec.failure.as_ref().and_then(|failure| failure.max_attempts).unwrap_or(4)),
        on_recreate: streams.map(|stream| (stream.name().to_owned(), stream.on_recreate.unwrap_or_default())).collect(),
    }
}

/// Writes our part of the object that was read: what we no longer say goes, what is others' stays.
async fn write(reader: &Reader, worker: &StreamWorker, instruction: &Instruction) -> Result<(), OperatorError> {
    let name = worker.metadata.name.clone().unwrap_or_default();
    let patch = json!({
        "apiVersion": API_VERSION,
        "kind": StreamWorker::KIND,
        "metadata": {"name": name, "uid": worker.metadata.uid, "resourceVersion": worker.metadata.resource_version},
        "spec": {"root": instruction},
    });
    let what = format!("the StreamWorker {name} cannot be told");
    let done = reader.api::<StreamWorker>().patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(patch)).await;
    match done {
        Ok(_) => Ok(()),
        // It has gone meanwhile.
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(OperatorError::cluster(what)(error)),
    }
}
