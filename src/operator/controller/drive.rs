//! Carrying out the steps of a cutover, each on what was read before it.

use super::read::{self, Reader};
use super::{Context, Memory, events, revisions};
use crate::api::StreamPipeline;
use crate::api::condition::ConditionStatus;
use crate::api::pipeline::{CutoverPlan, RootStatus, SplitCounts, StreamPipelineStatus};
use crate::api::revision::Revision;
use crate::api::stream_worker::Fault;
use crate::dataflow::{Decision, Transfer};
use crate::flow::Digest;
use crate::operator::cutover::{
    Answers, Lookups, Member, Patience, Phase, Question, Rest, Source, State, Step, Tally, Why, Wish, Wrote, carried, decide, recovered,
    tally, written,
};
use crate::operator::error::OperatorError;
use crate::operator::status::{Fleet, Seen, Trouble, Workers, Write, compose, moment};
use crate::operator::validate::Verdict;
use crate::operator::workload::MANAGER;
use crate::program;
use kube::api::PostParams;
use std::time::Duration;

/// More steps than any cutover takes in one pass: what takes more is a fault, and goes on in the next.
const STEPS: usize = 32;

/// What was seen of a pipeline beside its cutover.
pub(super) struct View {
    pub(super) verdict: Verdict,
    pub(super) wish: Wish,
    pub(super) fleet: Fleet,
    pub(super) obstacle: Option<Trouble>,
    pub(super) runs: bool,
    pub(super) faults: Vec<(String, Fault)>,
    pub(super) workers: Workers,
    pub(super) splits: Option<SplitCounts>,
}

/// A cutover in a pass: the pipeline as it was read or written last, and what was looked up since.
pub(super) struct Drive<'a> {
    pub(super) context: &'a Context,
    pub(super) reader: &'a Reader,
    pub(super) memory: &'a mut Memory,
    pub(super) view: View,
    pub(super) pipeline: StreamPipeline,
    pub(super) state: Option<State>,
    lookups: Lookups,
    tally: Option<Tally>,
    members: Vec<Member>,
    plan: Option<CutoverPlan>,
    pub(super) rest: Rest,
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        context: &'a Context,
        reader: &'a Reader,
        memory: &'a mut Memory,
        (pipeline, state, view): (StreamPipeline, Option<State>, View),
    ) -> Self {
        let (lookups, members) = (Lookups::default(), Vec::new());
        Self { context, reader, memory, view, pipeline, state, lookups, tally: None, members, plan: None, rest: Rest::Edit }
    }

    fn uid(&self) -> &str {
        self.pipeline.metadata.uid.as_deref().unwrap_or_default()
    }

    fn span(&self, pick: impl Fn(&crate::api::pipeline::Cutover) -> Option<Duration>, default: u64) -> Duration {
        self.pipeline.spec.cutover.as_ref().and_then(pick).unwrap_or(Duration::from_secs(default))
    }

    fn ack_timeout(&self) -> Duration {
        self.span(|set| set.ack_timeout.as_ref().map(crate::api::scalar::Duration::span), 120)
    }

    fn progress_deadline(&self) -> Duration {
        self.span(|set| set.progress_deadline.as_ref().map(crate::api::scalar::Duration::span), 600)
    }

    /// Goes on until nothing is left to be done now.
    pub(super) async fn run(&mut self) -> Result<(), OperatorError> {
        for _ in 0..STEPS {
            match decide(&self.view.wish, self.state.as_ref(), &self.lookups) {
                Step::Rest(rest) => {
                    self.rest = rest;
                    return Ok(());
                }
                step => self.step(step).await?,
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), OperatorError> {
        match step {
            Step::Recover => {
                let state = recovered(&self.reader.facts().await?);
                self.write(state, None, None).await?;
            }
            Step::Revise(at, source) => {
                let revision = match (&self.view.verdict, source) {
                    (Verdict::Valid(revision), Source::Spec) => Some(revision.clone()),
                    _ => None,
                };
                revisions::keep(self.reader, at, revision.as_ref()).await?;
                self.plan = self.compare(revision.as_ref()).await?;
                self.lookups.revised = Some(at.digest);
            }
            Step::LookAtAnswers => self.look_at_answers().await?,
            Step::LookAtRecords => self.look_at_records().await?,
            Step::Mark(at) => {
                revisions::mark(self.reader, at).await?;
                self.lookups.marked = true;
            }
            Step::Write(state, wrote) => {
                let failure = self.failure(wrote);
                self.write(state, Some(wrote), failure.as_deref()).await?;
            }
            Step::Rest(rest) => self.rest = rest,
        }
        Ok(())
    }

    /// Every joined worker, read by quorum, with what stands in its status.
    async fn look_at_answers(&mut self) -> Result<(), OperatorError> {
        let leases = self.reader.heartbeats().await?;
        let joined = self.memory.beats.look(&leases, self.context.now());
        let workers = self.reader.workers().await?;
        let object = |name: &str| workers.iter().find(|worker| worker.metadata.name.as_deref() == Some(name));
        let answer = |name: &str| object(name)?.status.as_ref()?.answer.clone();
        // A worker of the pipeline that had this name before drains, and never answers this one.
        let told = |name: &str| object(name)?.spec.root.as_ref().map(|told| told.pipeline_uid.as_str());
        let ours = joined.into_iter().filter(|(name, _)| told(name).is_none_or(|uid| uid == self.uid()));
        self.members = ours.map(|(name, incarnation)| Member { answer: answer(&name), name, incarnation }).collect();
        let Some(state) = self.state else { return Ok(()) };
        let question = state.target.map(|target| Question::Prepared(target.at));
        let Some(question) = question.or(state.active.map(|active| Question::Acknowledged(active.at))) else { return Ok(()) };
        let counted = tally(self.uid(), &self.members, question);
        self.lookups.answers = Some(counted.answers());
        self.tally = Some(counted);
        self.judge_time(&state);
        Ok(())
    }

    async fn look_at_records(&mut self) -> Result<(), OperatorError> {
        let Some(active) = self.state.and_then(|state| state.active) else { return Ok(()) };
        let (splits, pages) = (self.reader.splits().await?, self.reader.pages().await?);
        let held = splits.iter().map(|split| (read::owner(split), read::carries(split, &pages)));
        self.lookups.carried = Some(carried(held, &self.members, active.at.epoch));
        self.view.splits = Some(read::counts(&splits));
        Ok(())
    }

    /// Whether the attempt's time is over: judged after the answers were read, and by a replica that has looked on.
    fn judge_time(&mut self, state: &State) {
        let phase = match (state.target, state.active) {
            (Some(target), _) => Phase { epoch: target.at.epoch, committed: false },
            (None, Some(active)) if !active.acked => Phase { epoch: active.at.epoch, committed: true },
            _ => return,
        };
        let joined = !self.members.is_empty();
        let now = self.context.now();
        let patience = Patience::looked(self.memory.patience, phase, (now, joined), self.ack_timeout());
        self.memory.patience = Some(patience);
        let cutover = self.pipeline.status.as_ref().and_then(|status| status.cutover.as_ref());
        let deadline = cutover.filter(|cutover| cutover.epoch == Some(phase.epoch)).and_then(|cutover| cutover.deadline.as_ref());
        let overdue = deadline.is_some_and(|deadline| moment(self.context.env.clock().wall_micros()) >= deadline.0);
        self.lookups.late = patience.is_over(now, overdue);
    }

    /// Why an attempt has failed, behind the reason of the condition.
    fn failure(&self, wrote: Wrote) -> Option<String> {
        let (why, committed) = match wrote {
            Wrote::Aborted(why) => (why, false),
            Wrote::Failed(why) => (why, true),
            _ => return None,
        };
        let tally = self.tally.clone().unwrap_or_default();
        let text = |fault: &Fault| fault.message.chars().take(600).collect::<String>();
        Some(match (why, tally.rejected.first().or(tally.held.first())) {
            (Why::Rejected, Some((worker, fault))) => {
                let reason = if fault.reason == "StateIncompatible" { "StateIncompatible" } else { "WorkerRejected" };
                format!("{reason}: {worker} rejects the program: {}: {}", fault.code, text(fault))
            }
            (Why::Rejected, None) => "WorkerRejected: a worker rejects the program".to_owned(),
            (Why::Late, held) => {
                let done = if committed { "acknowledged" } else { "prepared" };
                let names: Vec<_> = tally.waiting.iter().take(8).map(|(name, _)| name.as_str()).collect();
                format!(
                    "AckTimeout: in time only {} of {} workers have {done} the program; not {}{}",
                    tally.done,
                    tally.total,
                    names.join(", "),
                    held.map(|(worker, fault)| format!("\n{worker}: {}: {}", fault.code, text(fault))).unwrap_or_default()
                )
            }
        })
    }

    /// What the cutover to this program does to the state of streams.
    async fn compare(&self, revision: Option<&Revision>) -> Result<Option<CutoverPlan>, OperatorError> {
        let Some(active) = self.state.and_then(|state| state.active) else { return Ok(None) };
        let (Some(revision), Some(old)) = (revision, self.program(active.at.digest).await?) else { return Ok(None) };
        let new = Revision::read(revision.text(), revision.digest()).ok().and_then(|program| program::of_revision(&program).ok());
        Ok(new.map(|new| {
            let transfer = Transfer::new(&old.plan, &new.plan);
            let count = |decision: Decision| {
                let all = transfer.streams.iter().filter(|stream| stream.decision == decision).count();
                i32::try_from(all).unwrap_or(i32::MAX)
            };
            let reset = transfer.streams.iter().filter(|stream| stream.decision == Decision::Reset).map(|stream| stream.stream.to_string());
            CutoverPlan { kept: count(Decision::Keep), carried: count(Decision::Carry), reset: reset.take(16).collect() }
        }))
    }

    async fn program(&self, digest: Digest) -> Result<Option<program::Loaded>, OperatorError> {
        let found = self.reader.revision(digest).await?;
        let program = found.as_ref().and_then(read::content).and_then(|text| Revision::read(text, digest).ok());
        Ok(program.and_then(|program| program::of_revision(&program).ok()))
    }

    /// Writes status under the snapshot's revision, if it differs; what was looked up under the old one is dropped.
    pub(super) async fn write(&mut self, state: State, step: Option<Wrote>, failure: Option<&str>) -> Result<(), OperatorError> {
        let before = self.pipeline.status.clone().unwrap_or_default();
        let generation = self.pipeline.metadata.generation;
        let state = state.under(&self.view.wish);
        let root = written(&state, &before.root.clone().unwrap_or_default(), generation, failure);
        let write = Write { step, plan: self.plan.clone(), ack_timeout: self.ack_timeout(), progress_deadline: self.progress_deadline() };
        let after = self.compose(&before, (&state, Some(&root)), &write);
        self.replace(before, after, step).await?;
        self.state = Some(state);
        if step.is_some() {
            (self.lookups, self.tally) = (Lookups::default(), None);
            let epoch = state.target.map(|target| target.at.epoch).or(state.active.map(|active| active.at.epoch));
            if let (Some(epoch), Some(Wrote::Intent | Wrote::Committed)) = (epoch, step) {
                self.memory.patience =
                    Some(Patience::begun(Phase { epoch, committed: step == Some(Wrote::Committed) }, self.context.now()));
            }
        }
        Ok(())
    }

    /// Writes what was seen where nothing may be made of what survives.
    pub(super) async fn write_refusal(&mut self) -> Result<(), OperatorError> {
        let before = self.pipeline.status.clone().unwrap_or_default();
        let after = self.compose(&before, (&State::default(), None), &Write::default());
        self.replace(before, after, None).await
    }

    fn compose(&self, before: &StreamPipelineStatus, (state, root): (&State, Option<&RootStatus>), write: &Write) -> StreamPipelineStatus {
        let view = &self.view;
        let seen = Seen {
            name: &self.reader.name,
            operator: &self.context.installation,
            generation: self.pipeline.metadata.generation.unwrap_or_default(),
            verdict: &view.verdict,
            wish: &view.wish,
            state,
            root,
            rest: self.resting(state, write.step),
            tally: self.tally.as_ref().filter(|_| write.step.is_none()),
            fleet: &view.fleet,
            obstacle: view.obstacle.as_ref(),
            runs: view.runs,
            faults: &view.faults,
            workers: &view.workers,
            splits: view.splits.as_ref(),
        };
        compose(before, &seen, write, moment(self.context.env.clock().wall_micros()))
    }

    /// What is waited for, after a step that has just been taken.
    fn resting(&self, state: &State, step: Option<Wrote>) -> Rest {
        match step {
            None => self.rest,
            Some(_) if state.target.is_some() => Rest::Prepare,
            Some(Wrote::Committed) if self.lookups.answers == Some(Answers::Nobody) => Rest::Workers,
            Some(Wrote::Committed) => Rest::Acknowledge,
            Some(_) => Rest::Edit,
        }
    }

    async fn replace(
        &mut self,
        before: StreamPipelineStatus,
        after: StreamPipelineStatus,
        step: Option<Wrote>,
    ) -> Result<(), OperatorError> {
        if before == after {
            return Ok(());
        }
        let next = StreamPipeline { status: Some(after.clone()), ..self.pipeline.clone() };
        let params = PostParams { field_manager: Some(format!("{MANAGER}-status")), ..PostParams::default() };
        let what = format!("the status of {} cannot be written", self.reader.name);
        let api = self.reader.api::<StreamPipeline>();
        self.pipeline = api.replace_status(&self.reader.name, &params, &next).await.map_err(OperatorError::cluster(what))?;
        let ready = after.conditions.iter().find(|condition| condition.r#type == "Ready");
        let (is_ready, reason) = ready.map_or((false, ""), |ready| (ready.status == ConditionStatus::True, ready.reason.as_str()));
        if let Some(step) = step {
            self.context.counts.step(step);
        }
        tracing::info!(namespace = self.reader.namespace, pipeline = self.reader.name, ?step, is_ready, reason, "status");
        events::publish(&self.context.recorder, &self.pipeline, (&before, &after), step).await;
        Ok(())
    }
}
