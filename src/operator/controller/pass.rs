//! One pass over one pipeline: read, judge, build and apply, take the cutover on, write status, tell the workers.

use super::apply::{self, Applied};
use super::drive::{Drive, View};
use super::read::{self, Reader};
use super::{Context, Memory, revisions, telling};
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::progress::RootAt;
use crate::api::revision::Revision;
use crate::api::stream_worker::{Answer, Fault, Outcome};
use crate::api::{StreamPipeline, StreamSplit, StreamWorker, children};
use crate::error::{Meaning, chain};
use crate::flow::{Digest, RootEpoch};
use crate::operator::cutover::{Active, Rest, State, Wish, remembered};
use crate::operator::error::OperatorError;
use crate::operator::status::{Fleet, Trouble, Workers, trouble, worker};
use crate::operator::validate::{Refusal, Verdict, judge};
use crate::operator::workload::{self, Ground, Pods};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Preconditions};
use std::time::Duration;

/// While a cutover is under way, it is looked at this often beside what changes bring.
const SOON: Duration = Duration::from_secs(1);
/// While pods come and go.
const PRESENTLY: Duration = Duration::from_secs(5);
/// A change may be missed: then it is seen by this time.
const AT_LAST: Duration = Duration::from_mins(5);

/// When to look at a pipeline again, if nothing brings that about before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is gone, or going.
    Never,
    /// By then.
    In(Duration),
}

/// Takes a pipeline as far as it goes now.
pub(super) async fn pass(context: &Context, reader: &Reader, memory: &mut Memory) -> Result<Next, OperatorError> {
    let Some(pipeline) = reader.pipeline().await?.filter(|pipeline| pipeline.metadata.deletion_timestamp.is_none()) else {
        return Ok(Next::Never);
    };
    memory.belongs_to(pipeline.metadata.uid.as_deref().unwrap_or_default());
    let state = remembered(pipeline.status.as_ref());
    let text = text(reader, &pipeline.spec, state.as_ref()).await?;
    let mut verdict = judge(&pipeline.spec, text.as_deref());
    if state.is_none()
        && let Some(refusal) = retained(&pipeline, &reader.splits().await?, verdict.named())
    {
        verdict = Verdict::Invalid(refusal);
        let view = view(context, &pipeline, verdict);
        Drive::new(context, reader, memory, (pipeline, None, view)).write_refusal().await?;
        return Ok(Next::In(AT_LAST));
    }
    let stored = reader.revisions().await?;
    remake(reader, (state.as_ref(), &verdict), &stored).await?;
    let mut view = view(context, &pipeline, verdict);
    view.runs = view.verdict.is_valid() || state.is_some_and(|state| state.active.is_some() || state.target.is_some());
    if view.runs {
        let names = stored.iter().map(|stored| stored.name.clone()).collect();
        workload(context, (reader, &pipeline, state.as_ref()), names, &mut view).await?;
    }
    observe(reader, (&pipeline, state.as_ref()), &mut view).await?;
    let before = view.runs;
    let mut drive = Drive::new(context, reader, memory, (pipeline, state, view));
    let done = drive.run().await;
    match &done {
        Ok(()) => {}
        Err(error @ (OperatorError::Taken(_) | OperatorError::RevisionLost(_))) => {
            drive.view.obstacle = Some(Trouble { reason: error.reason(), message: told(error) });
        }
        Err(_) => return done.map(|()| Next::Never),
    }
    let state = drive.state.unwrap_or_default();
    if drive.state.is_some() {
        drive.write(state, None, None).await?;
    }
    done?;
    let (rest, rolling, wanted) = (drive.rest, drive.view.fleet.is_rolling(), drive.view.wish.wanted);
    let busy = drive.view.fleet.ready() < drive.view.fleet.wanted || drive.view.obstacle.is_some();
    // What is to run now has been decided just now.
    let unbuilt = !before && (state.active.is_some() || state.target.is_some());
    let pipeline = drive.pipeline;
    finish(reader, &pipeline, &state, &stored).await?;
    Ok(Next::In(match rest {
        Rest::Workers => PRESENTLY,
        // Whoever starts one day is seen when it does.
        Rest::Soak if !wanted && !busy => AT_LAST,
        _ if unbuilt || state.is_under_way() || matches!(rest, Rest::Soak | Rest::Rollout) => SOON,
        _ if busy || rolling || rest != Rest::Edit => PRESENTLY,
        _ => AT_LAST,
    }))
}

/// What an error says, and what to do about it.
fn told(error: &OperatorError) -> String {
    let mend = error.code().entry().map(|entry| entry.mend).unwrap_or_default();
    format!("{}: {}. {mend}", error.code(), chain(error))
}

/// Makes the revision of what runs, or is about to, anew where somebody has deleted it and the spec still has its content: a
/// worker that starts could not run otherwise.
async fn remake(reader: &Reader, (state, verdict): (Option<&State>, &Verdict), stored: &[read::Stored]) -> Result<(), OperatorError> {
    let (Some(state), Verdict::Valid(revision)) = (state, verdict) else { return Ok(()) };
    let named = [state.target.map(|target| target.at), state.active.map(|active| active.at)];
    for at in named.into_iter().flatten().filter(|at| at.digest == revision.digest()) {
        if !stored.iter().any(|stored| stored.kept.at.digest == at.digest) {
            tracing::warn!(namespace = reader.namespace, pipeline = reader.name, digest = %at.digest, "a revision is made anew");
            revisions::keep(reader, at, Some(revision)).await?;
        }
    }
    Ok(())
}

/// Tells the workers, by what is stored now; then deletes what nothing names.
async fn finish(reader: &Reader, pipeline: &StreamPipeline, state: &State, stored: &[read::Stored]) -> Result<(), OperatorError> {
    let uid = pipeline.metadata.uid.as_deref().unwrap_or_default();
    // Listed after the commit was written (I38).
    let workers = reader.workers().await?;
    telling::tell(reader, (uid, &pipeline.spec), state, &workers).await?;
    revisions::collect(reader, state, (stored, &workers)).await
}

/// What is known before anything is read.
fn view(context: &Context, pipeline: &StreamPipeline, verdict: Verdict) -> View {
    let spec = &pipeline.spec;
    let wanted = usize::try_from(spec.replicas).unwrap_or(0);
    let retry = spec.cutover.as_ref().and_then(|cutover| cutover.retry_epoch).map(RootEpoch::new);
    let image = spec.worker.as_ref().and_then(|worker| worker.image.clone()).unwrap_or_else(|| context.settings.worker_image.clone());
    View {
        wish: Wish { named: verdict.named(), valid: verdict.is_valid(), wanted: wanted > 0, retry, rolling: false },
        verdict,
        fleet: Fleet { wanted, ..Fleet::default() },
        obstacle: None,
        runs: false,
        faults: Vec::new(),
        workers: Workers { image, ..Workers::default() },
        splits: None,
    }
}

/// The text of a root that stands in a `ConfigMap`. What was once taken from there, under this digest, is in a revision.
async fn text(reader: &Reader, spec: &StreamPipelineSpec, state: Option<&State>) -> Result<Option<String>, OperatorError> {
    let Some(at) = &spec.root.config_map_ref else { return Ok(None) };
    let known =
        state.into_iter().flat_map(|state| [state.target.map(|target| target.at), state.active.map(|active| active.at), state.blocked]);
    let known: Vec<_> = known.flatten().collect();
    for at_root in known {
        let found = reader.revision(at_root.digest).await?;
        let program = found.as_ref().and_then(read::content).and_then(|text| Revision::read(text, at_root.digest).ok());
        let text = program.map(|program| program.root.text);
        if let Some(text) = text.filter(|text| Digest::of(text.as_bytes()).hex() == at.sha256.trim_start_matches("sha256:")) {
            return Ok(Some(text));
        }
    }
    reader.root_text(spec).await
}

/// Positions that were kept of a pipeline of this name, in streams that this one does not read.
fn retained(pipeline: &StreamPipeline, splits: &[StreamSplit], named: Option<Digest>) -> Option<Refusal> {
    let uid = pipeline.metadata.uid.as_deref().unwrap_or_default();
    let foreign = read::foreign_streams(&pipeline.spec, uid, splits);
    (!foreign.is_empty()).then(|| Refusal {
        reason: "RetainedPositions",
        message: format!(
            "spec.source: positions are kept of an earlier pipeline of this name, in {}: read that stream, give this pipeline another name, or delete what was kept",
            foreign.into_iter().collect::<Vec<_>>().join(", ")
        ),
        named,
    })
}

/// Applies the workload, and replaces the next pod of a rollout.
async fn workload(
    context: &Context,
    (reader, pipeline, state): (&Reader, &StreamPipeline, Option<&State>),
    mut revisions: Vec<String>,
    view: &mut View,
) -> Result<(), OperatorError> {
    // A worker may read a revision before it is told of it.
    revisions.extend(view.wish.named.filter(|_| view.wish.valid).map(|digest| children::revision(&reader.name, digest)));
    let pods = reader.pods().await?;
    let lives = lives(&pods);
    let ground = Ground {
        name: &reader.name,
        namespace: &reader.namespace,
        uid: pipeline.metadata.uid.as_deref().unwrap_or_default(),
        spec: &pipeline.spec,
        revisions: &revisions,
        pods: &lives,
        image: &context.settings.worker_image,
    };
    let Applied { template, obstacle, invalid } = apply::apply(reader, ground).await?;
    if let Some(message) = invalid {
        view.verdict = Verdict::Invalid(Refusal { reason: "InvalidSpec", message, named: view.wish.named });
        view.wish.valid = false;
    }
    view.obstacle = obstacle;
    let leader = if pods.is_empty() { None } else { reader.leader().await? };
    view.fleet.pods = pods.iter().map(|pod| worker(pod, template.as_deref(), leader.as_deref())).collect();
    view.fleet.trouble = troubles(reader, &view.fleet, &pods).await?;
    if template.is_some() {
        roll(reader, pipeline, state, view).await?;
    }
    Ok(())
}

/// Names and uids, in one order.
fn lives(pods: &[Pod]) -> Vec<(String, String)> {
    let life = |pod: &Pod| (pod.metadata.name.clone().unwrap_or_default(), pod.metadata.uid.clone().unwrap_or_default());
    let mut lives: Vec<_> = pods.iter().map(life).collect();
    lives.sort();
    lives
}

async fn troubles(reader: &Reader, fleet: &Fleet, pods: &[Pod]) -> Result<Option<Trouble>, OperatorError> {
    if fleet.ready() >= fleet.wanted {
        return Ok(None);
    }
    let refusals = if pods.len() < fleet.wanted { reader.refusals().await? } else { Vec::new() };
    Ok(trouble(pods, &refusals))
}

/// One pod at a time: the next once the last is ready and has its splits.
async fn roll(reader: &Reader, pipeline: &StreamPipeline, state: Option<&State>, view: &mut View) -> Result<(), OperatorError> {
    // A rollout that nobody is left to serve under holds no cutover back: both are taken.
    view.wish.rolling = view.fleet.is_rolling() && view.fleet.ready() > 0;
    let set = pipeline.spec.disruption.as_ref().and_then(|disruption| disruption.max_unavailable.as_ref());
    let limit = workload::limit(set, view.fleet.wanted);
    let switching = state.is_some_and(State::is_under_way);
    let pods = Pods { there: &view.fleet.pods, wanted: view.fleet.wanted, limit, switching };
    let Some(next) = workload::next(&pods) else { return Ok(()) };
    let there: Vec<_> = view.fleet.pods.iter().map(|pod| pod.uid.as_str()).collect();
    if next.ready && read::is_moving(&reader.splits().await?, &there) {
        return Ok(());
    }
    let only = Preconditions { uid: Some(next.uid.clone()), resource_version: None };
    let params = DeleteParams { preconditions: Some(only), ..DeleteParams::default() };
    tracing::info!(namespace = reader.namespace, pipeline = reader.name, pod = next.name, "a rollout replaces a pod");
    match reader.api::<Pod>().delete(&next.name, &params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        Err(error) => Err(OperatorError::cluster(format!("the pod {} cannot be replaced", next.name))(error)),
    }
}

/// What workers say of themselves, and how many splits there are.
async fn observe(reader: &Reader, (pipeline, state): (&StreamPipeline, Option<&State>), view: &mut View) -> Result<(), OperatorError> {
    let uid = pipeline.metadata.uid.as_deref().unwrap_or_default();
    let workers = reader.workers().await?;
    let active = state.and_then(|state| state.active);
    for own in &workers {
        let Some(status) = &own.status else { continue };
        let name = own.metadata.name.clone().unwrap_or_default();
        view.faults.extend(faults(own, (uid, state)).into_iter().map(|fault| (name.clone(), fault)));
        let answer = status.answer.as_ref().filter(|answer| answer.pipeline_uid == uid);
        let counts = answer.zip(active).is_some_and(|(answer, active)| runs(answer, &active));
        view.workers.acknowledged = view.workers.acknowledged.saturating_add(usize::from(counts));
    }
    let versions = workers.iter().filter_map(|own| own.status.as_ref()?.versions.as_ref()).map(|versions| versions.binary.clone());
    view.workers.version = versions.min();
    view.splits = Some(read::counts(&reader.splits().await?));
    Ok(())
}

/// Whether a worker runs the active program: by its acknowledgement, or, once all have given theirs, by what it says beside an
/// answer about the next.
fn runs(answer: &Answer, active: &Active) -> bool {
    let reached = |root: &RootAt| root.epoch >= active.at.epoch;
    match answer.outcome {
        Outcome::Acknowledged { .. } => reached(&answer.root),
        _ => active.acked && answer.installed.as_ref().is_some_and(reached),
    }
}

/// What keeps a worker from its work, by what it says of itself and by what it answers, for the time being, to what it is told
/// now. What is said twice is said once.
fn faults(worker: &StreamWorker, (uid, state): (&str, Option<&State>)) -> Vec<Fault> {
    let Some(status) = &worker.status else { return Vec::new() };
    // One of the pipeline that had this name before goes with its pod.
    if worker.spec.root.as_ref().is_some_and(|told| told.pipeline_uid != uid) {
        return Vec::new();
    }
    let now = state.into_iter().flat_map(|state| [state.target.map(|target| target.at), state.active.map(|active| active.at)]);
    let epochs: Vec<_> = now.flatten().map(|at| at.epoch).collect();
    let answer = status.answer.as_ref().filter(|answer| answer.pipeline_uid == uid && epochs.contains(&answer.root.epoch));
    let answered = answer.and_then(|answer| match &answer.outcome {
        Outcome::Rejected { fault } if fault.may_pass => Some(fault),
        _ => None,
    });
    let mut faults = status.faults.clone();
    faults.extend(answered.filter(|fault| !status.faults.contains(fault)).cloned());
    faults
}

#[cfg(test)]
mod tests {
    use super::{faults, runs};
    use crate::api::StreamWorker;
    use crate::api::stream_worker::Answer;
    use crate::flow::{Digest, RootEpoch};
    use crate::operator::cutover::{Active, At, State, Target};
    use serde_json::{Value, json};

    fn at(epoch: i64) -> At {
        At { epoch: RootEpoch::new(epoch), digest: Digest::of(&epoch.to_be_bytes()) }
    }

    fn worker(told: &str, faults: &Value, outcome: &Value) -> StreamWorker {
        let root = json!({"epoch": 3, "digest": "sha256:00"});
        let answer = json!({"pipelineUid": "u", "root": root, "incarnation": "i", "outcome": outcome});
        let spec = json!({"root": {"pipelineUid": told, "root": root, "stage": "Commit"}});
        serde_json::from_value(
            json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamWorker", "metadata": {"name": "w"}, "spec": spec,
            "status": {"faults": faults, "answer": answer}}),
        )
        .unwrap()
    }

    #[test]
    fn a_worker_that_prepares_the_next_program_still_runs_the_active_one() {
        let active = |acked| Active { acked, ..Active::committed(Target { at: at(3), recovery: false }) };
        let answer = |outcome: Value, installed: i64| -> Answer {
            let root = |epoch: i64| json!({"epoch": epoch, "digest": "sha256:00"});
            serde_json::from_value(
                json!({"pipelineUid": "u", "root": root(4), "incarnation": "i", "outcome": outcome, "installed": root(installed)}),
            )
            .unwrap()
        };
        let prepared = |installed| answer(json!({"type": "Prepared"}), installed);
        assert!(runs(&prepared(3), &active(true)) && !runs(&prepared(2), &active(true)));
        assert!(!runs(&prepared(3), &active(false)), "its splits may not be through");
        assert!(runs(&answer(json!({"type": "Acknowledged", "stateChanged": false, "interfaceChanged": false}), 4), &active(false)));
    }

    #[test]
    fn a_worker_is_heard_once_and_of_what_it_is_told_now_alone() {
        let fault = |reason: &str, may_pass: bool| json!({"code": "MR0401", "reason": reason, "message": "m", "mayPass": may_pass});
        let rejects = |fault: Value| json!({"type": "Rejected", "fault": fault});
        let state = |epoch: i64| State { active: Some(Active::committed(Target { at: at(epoch), recovery: false })), ..State::default() };
        let heard = |worker: &StreamWorker, epoch| {
            faults(worker, ("u", Some(&state(epoch)))).into_iter().map(|fault| fault.reason).collect::<Vec<_>>()
        };
        let both = worker("u", &json!([fault("OutputNotFound", true)]), &rejects(fault("OutputNotFound", true)));
        assert_eq!(heard(&both, 3), ["OutputNotFound"]);
        let one = worker("u", &json!([fault("StreamNotFound", true)]), &rejects(fault("OutputNotFound", true)));
        assert_eq!(heard(&one, 3), ["StreamNotFound", "OutputNotFound"]);
        assert_eq!(heard(&one, 4), ["StreamNotFound"], "an answer to what is over");
        let good = worker("u", &json!([]), &rejects(fault("OutputNotFound", false)));
        assert_eq!(heard(&good, 3), Vec::<String>::new(), "what is rejected for good ends the attempt");
        assert_eq!(
            heard(&worker("before", &json!([fault("StreamNotFound", true)]), &json!({"type": "Prepared"})), 3),
            Vec::<String>::new()
        );
    }
}
