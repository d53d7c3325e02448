//! Reading what a decision needs: by quorum, at the time when it is needed.

use crate::api::children::{self, DIGEST_ANNOTATION, EPOCH_ANNOTATION, ID_ANNOTATION, REVISION_KEY, SOAKED_ANNOTATION, part};
use crate::api::ledger_page::Page;
use crate::api::pipeline::{KinesisStream, SplitCounts, StreamPipelineSpec};
use crate::api::progress::RootAt;
use crate::api::stream_split::SplitState;
use crate::api::stream_worker::Outcome;
use crate::api::{StreamLedger, StreamPipeline, StreamSplit, StreamWorker};
use crate::flow::{Digest, RootEpoch};
use crate::operator::cutover::{At, Facts, Kept};
use crate::operator::error::OperatorError;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use kube::api::{ListParams, ObjectMeta, PartialObjectMeta};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// So many objects are asked for at a time.
const PAGE: u32 = 500;

/// A pipeline's namespace, and its name.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A stored revision.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) meta: ObjectMeta,
    pub(super) kept: Kept,
}

impl Reader {
    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// All objects of a kind that are this part of the pipeline.
    pub(super) async fn all<K>(&self, part: &str) -> Result<Vec<K>, OperatorError>
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
        K::DynamicType: Default,
    {
        self.selected(ListParams::default().labels(&children::selector(&self.name, part))).await
    }

    async fn selected<K>(&self, params: ListParams) -> Result<Vec<K>, OperatorError>
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
        K::DynamicType: Default,
    {
        let api = self.api::<K>();
        let mut params = params.limit(PAGE);
        let mut all = Vec::new();
        loop {
            let kind = K::kind(&K::DynamicType::default()).into_owned();
            let page = api.list(&params).await.map_err(OperatorError::cluster(format!("{kind} objects cannot be listed")))?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(all),
            }
        }
    }

    pub(super) async fn pipeline(&self) -> Result<Option<StreamPipeline>, OperatorError> {
        let what = format!("the StreamPipeline {} cannot be read", self.name);
        self.api::<StreamPipeline>().get_opt(&self.name).await.map_err(OperatorError::cluster(what))
    }

    /// The text of a root that stands in a `ConfigMap`, which is read for its digest alone.
    pub(super) async fn root_text(&self, spec: &StreamPipelineSpec) -> Result<Option<String>, OperatorError> {
        let Some(at) = &spec.root.config_map_ref else { return Ok(None) };
        let what = format!("the ConfigMap {} cannot be read", at.name);
        let found = self.api::<ConfigMap>().get_opt(&at.name).await.map_err(OperatorError::cluster(what))?;
        Ok(found.and_then(|map| map.data).and_then(|mut data| data.remove(&at.key)))
    }

    /// The revisions, without their content.
    pub(super) async fn revisions(&self) -> Result<Vec<Stored>, OperatorError> {
        let all: Vec<PartialObjectMeta<ConfigMap>> = self.all(part::REVISION).await?;
        Ok(all.into_iter().filter_map(|map| stored(map.metadata)).collect())
    }

    /// The content of a revision; `None` where it is gone.
    pub(super) async fn revision(&self, digest: Digest) -> Result<Option<ConfigMap>, OperatorError> {
        let name = children::revision(&self.name, digest);
        let what = format!("the revision {name} cannot be read");
        self.api::<ConfigMap>().get_opt(&name).await.map_err(OperatorError::cluster(what))
    }

    pub(super) async fn pods(&self) -> Result<Vec<Pod>, OperatorError> {
        self.all(part::WORKER).await
    }

    pub(super) async fn workers(&self) -> Result<Vec<StreamWorker>, OperatorError> {
        let all: Vec<StreamWorker> = self.all(part::WORKER).await?;
        let own = |worker: &StreamWorker| worker.metadata.name.as_deref().is_some_and(|name| children::ordinal(&self.name, name).is_some());
        Ok(all.into_iter().filter(own).collect())
    }

    pub(super) async fn heartbeats(&self) -> Result<Vec<Lease>, OperatorError> {
        self.all(part::HEARTBEAT).await
    }

    pub(super) async fn splits(&self) -> Result<Vec<StreamSplit>, OperatorError> {
        let all: Vec<StreamSplit> = self.all(part::SPLIT).await?;
        let own = |split: &StreamSplit| split.metadata.name.as_deref() == Some(children::split(&self.name, id(&split.metadata)).as_str());
        Ok(all.into_iter().filter(own).collect())
    }

    /// The worker that leads the assignment of splits: the holder of the leader's Lease begins with its pod's uid.
    pub(super) async fn leader(&self) -> Result<Option<String>, OperatorError> {
        let name = children::leader(&self.name);
        let lease = self.api::<Lease>().get_opt(&name).await.map_err(OperatorError::cluster(format!("the Lease {name} cannot be read")))?;
        Ok(lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity))
    }

    /// The pages of the ledger, by their ids.
    pub(super) async fn pages(&self) -> Result<BTreeMap<String, Page>, OperatorError> {
        let all: Vec<StreamLedger> = self.all(part::LEDGER).await?;
        let name = |meta: &ObjectMeta| children::called(&self.name, part::LEDGER, id(meta));
        let own = all.into_iter().filter(|ledger| ledger.metadata.name.as_deref() == Some(name(&ledger.metadata).as_str()));
        let pages = own.filter_map(|ledger| Some((id(&ledger.metadata).to_owned(), ledger.record?)));
        pages
            .map(|(id, record)| match Page::read(&record.page) {
                Ok(page) => Ok((id, page)),
                Err(error) => Err(OperatorError::Page(id.into(), error)),
            })
            .collect()
    }

    /// Why the `StatefulSet` could not make pods, the last first known to the API server.
    pub(super) async fn refusals(&self) -> Result<Vec<String>, OperatorError> {
        let name = children::workload(&self.name);
        let fields = format!("involvedObject.kind=StatefulSet,involvedObject.name={name},reason=FailedCreate");
        let mut events: Vec<Event> = self.selected(ListParams::default().fields(&fields)).await?;
        let time = |event: &Event| event.last_timestamp.clone().or_else(|| event.first_timestamp.clone()).map(|time| time.0);
        events.sort_by_key(time);
        Ok(events.into_iter().filter_map(|event| event.message).collect())
    }

    /// Everything that survives a lost status.
    pub(super) async fn facts(&self) -> Result<Facts, OperatorError> {
        let (workers, splits, pages) = (self.workers().await?, self.splits().await?, self.pages().await?);
        let mut facts = Facts::default();
        for worker in &workers {
            told_of(worker, &mut facts);
        }
        let bases = splits.iter().filter_map(|split| split.record.as_ref()?.base.as_ref());
        let entries = pages.values().flat_map(|page| page.entries.values()).map(|entry| &entry.progress);
        for progress in bases.chain(entries) {
            facts.committed.extend(progress.root.as_ref().and_then(at));
            facts.epochs.extend(progress.cutovers.iter().map(|cutover| cutover.epoch));
        }
        let records = splits.iter().filter_map(|split| split.record.as_ref());
        facts.epochs.extend(records.flat_map(|record| &record.cutovers).map(|cutover| cutover.epoch));
        for stored in self.revisions().await? {
            facts.revisions.push(stored.kept.at);
            facts.soaked.extend(stored.kept.soaked.map(|epoch| At { epoch, ..stored.kept.at }));
        }
        Ok(facts)
    }
}

/// A program as objects name it, if its digest is one.
pub(super) fn at(root: &RootAt) -> Option<At> {
    root.digest.parse().ok().map(|digest| At { epoch: root.epoch, digest })
}

fn told_of(worker: &StreamWorker, facts: &mut Facts) {
    if let Some(told) = &worker.spec.root {
        facts.told.extend(at(&told.root));
        facts.committed.extend(told.committed.as_ref().and_then(at));
    }
    let Some(answer) = worker.status.as_ref().and_then(|status| status.answer.as_ref()) else { return };
    facts.committed.extend(answer.installed.as_ref().and_then(at));
    if matches!(answer.outcome, Outcome::Acknowledged { .. }) {
        facts.committed.extend(at(&answer.root));
    }
}

fn stored(meta: ObjectMeta) -> Option<Stored> {
    let note = |name: &str| meta.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str);
    let epoch = |text: &str| text.parse().ok().map(RootEpoch::new);
    let digest = note(DIGEST_ANNOTATION)?.parse().ok()?;
    let kept = Kept { at: At { epoch: note(EPOCH_ANNOTATION).and_then(epoch)?, digest }, soaked: note(SOAKED_ANNOTATION).and_then(epoch) };
    Some(Stored { name: meta.name.clone()?, meta, kept })
}

/// What an object is called in records. One whose name is not that of its id is somebody's copy, and no record.
fn id(meta: &ObjectMeta) -> &str {
    let noted = meta.annotations.as_ref().and_then(|all| all.get(ID_ANNOTATION)).or(meta.name.as_ref());
    noted.map(String::as_str).unwrap_or_default()
}

/// What a revision's `ConfigMap` holds.
pub(super) fn content(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get(REVISION_KEY).map(String::as_str)
}

/// What a split carries: the entry of the page that its record names, at its epoch, else the record's base.
pub(super) fn carries(split: &StreamSplit, pages: &BTreeMap<String, Page>) -> Option<RootEpoch> {
    let record = split.record.as_ref()?;
    let page = record.owner.as_ref().and_then(|owner| pages.get(&owner.page));
    let entry = page.and_then(|page| page.entries.get(&(id(&split.metadata).to_owned(), record.epoch))).map(|entry| &entry.progress);
    entry.or(record.base.as_ref())?.root.as_ref().map(|root| root.epoch)
}

/// The life that owns a split.
pub(super) fn owner(split: &StreamSplit) -> Option<&str> {
    split.record.as_ref()?.owner.as_ref().map(|owner| owner.incarnation.as_str())
}

/// How many splits there are.
pub(super) fn counts(splits: &[StreamSplit]) -> SplitCounts {
    let mut counts = SplitCounts::default();
    for state in splits.iter().map(|split| split.record.as_ref().map_or(SplitState::Waiting, |record| record.state)) {
        let count = match state {
            SplitState::Waiting => &mut counts.waiting,
            SplitState::Open => &mut counts.open,
            SplitState::Completed => &mut counts.completed,
            SplitState::Quarantined => &mut counts.quarantined,
        };
        *count = count.saturating_add(1);
    }
    counts
}

/// Whether splits that are to be read are on their way to another worker: one has no owner among these pods, by their uids,
/// while another has. Where none has, nobody can own any, and waiting would hold up what mends that.
pub(super) fn is_moving(splits: &[StreamSplit], pods: &[&str]) -> bool {
    let is_there = |incarnation: &str| incarnation.split('/').next().is_some_and(|uid| pods.contains(&uid));
    let open = splits.iter().filter(|split| split.record.as_ref().is_some_and(|record| record.state == SplitState::Open));
    let (held, free): (Vec<_>, Vec<_>) = open.partition(|split| owner(split).is_some_and(is_there));
    !held.is_empty() && !free.is_empty()
}

/// The programs that splits name, and the lowest epoch that one still speaks of.
pub(super) fn named(splits: &[StreamSplit], pages: &BTreeMap<String, Page>) -> (BTreeSet<Digest>, Option<RootEpoch>) {
    let records = || splits.iter().filter_map(|split| split.record.as_ref());
    let entries = pages.values().flat_map(|page| page.entries.values()).map(|entry| &entry.progress);
    let all: Vec<_> = records().filter_map(|record| record.base.as_ref()).chain(entries).collect();
    let roots = || all.iter().filter_map(|progress| progress.root.as_ref());
    let cutovers = records().flat_map(|record| &record.cutovers).chain(all.iter().flat_map(|progress| &progress.cutovers));
    let oldest = cutovers.map(|cutover| cutover.epoch).chain(roots().map(|root| root.epoch)).min();
    (roots().filter_map(at).map(|at| at.digest).collect(), oldest)
}

/// The streams of retained splits that this spec does not read: positions in them mean nothing in another.
pub(super) fn foreign_streams(spec: &StreamPipelineSpec, uid: &str, splits: &[StreamSplit]) -> BTreeSet<String> {
    let own: Vec<_> = spec.source.kinesis.iter().flatten().collect();
    let retained = splits.iter().filter(|split| split.spec.pipeline_uid != uid);
    let streams = retained.filter_map(|split| Some((arn_of(&split.spec.stream), stream_of(&split.spec.stream)?)));
    streams.filter(|kept| !own.iter().any(|stream| reads(stream, *kept))).map(|(arn, _)| arn.to_owned()).collect()
}

/// Whether this is the stream of that ARN and name, by what the spec says of it. An endpoint's ARNs may be of any region.
fn reads(stream: &KinesisStream, (arn, name): (&str, &str)) -> bool {
    match (&stream.stream_arn, &stream.stream_name, &stream.region) {
        (Some(own), _, _) => own == arn,
        (None, own, Some(region)) if stream.endpoint.is_none() => own.as_deref() == Some(name) && arn.split(':').nth(3) == Some(region),
        (None, own, _) => own.as_deref() == Some(name),
    }
}

/// The ARN that an identity of a stream begins with.
fn arn_of(identity: &str) -> &str {
    identity.split_once('@').map_or(identity, |(arn, _)| arn)
}

/// The stream's name in an ARN, or in an identity that begins with one.
fn stream_of(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(":stream/")?;
    rest.split(|c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c))).next()
}

#[cfg(test)]
mod tests {
    use super::{carries, counts, foreign_streams, is_moving, named, stream_of};
    use crate::api::StreamSplit;
    use crate::api::ledger_page::{Page, PageEntry};
    use crate::api::pipeline::StreamPipelineSpec;
    use crate::flow::{Digest, RootEpoch, SplitEpoch};
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn root(epoch: i64) -> Value {
        json!({"root": {"epoch": epoch, "digest": Digest::of(&epoch.to_be_bytes()).to_string()}, "cutovers": [{"epoch": epoch}]})
    }

    fn split(record: &Value) -> StreamSplit {
        let spec = json!({"pipelineUid": "old", "stream": "arn:aws:kinesis:eu-west-1:123456789012:stream/telemetry@1700", "shard": "s-0"});
        let meta = json!({"name": "p-0123", "annotations": {"millrace.dev/id": "split-a"}});
        serde_json::from_value(
            json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamSplit", "metadata": meta, "spec": spec, "record": record}),
        )
        .unwrap()
    }

    fn owned(epoch: i64) -> StreamSplit {
        split(
            &json!({"schema": 1, "state": "Open", "epoch": epoch, "base": root(3), "owner": {"worker": "w", "incarnation": "u/1", "page": "page-1"}}),
        )
    }

    fn pages() -> BTreeMap<String, Page> {
        let progress = serde_json::from_value(root(5)).unwrap();
        let entry = PageEntry { progress, ..PageEntry::default() };
        let page = Page { entries: BTreeMap::from([(("split-a".to_owned(), SplitEpoch::new(7)), entry)]) };
        BTreeMap::from([("page-1".to_owned(), page)])
    }

    #[test]
    fn a_split_carries_what_its_page_says_at_its_epoch_else_what_its_record_says() {
        assert_eq!(carries(&owned(7), &pages()), Some(RootEpoch::new(5)));
        assert_eq!(carries(&owned(8), &pages()), Some(RootEpoch::new(3)));
        assert_eq!(carries(&owned(7), &BTreeMap::new()), Some(RootEpoch::new(3)));
        assert_eq!(carries(&split(&json!({"schema": 1, "state": "Open", "epoch": 1})), &pages()), None);
    }

    #[test]
    fn programs_and_the_oldest_epoch_are_named_by_records_and_pages() {
        let (digests, oldest) = named(&[owned(7)], &pages());
        assert_eq!((digests.len(), oldest), (2, Some(RootEpoch::new(3))));
    }

    #[test]
    fn splits_are_counted() {
        let free = split(&json!({"schema": 1, "state": "Open", "epoch": 1}));
        let done = split(&json!({"schema": 1, "state": "Completed", "epoch": 1}));
        let counted = counts(&[owned(1), free, done]);
        assert_eq!((counted.open, counted.completed, counted.waiting), (2, 1, 0));
    }

    #[test]
    fn a_split_that_moves_holds_a_rollout_up_and_one_that_nobody_can_own_does_not() {
        let free = split(&json!({"schema": 1, "state": "Open", "epoch": 1}));
        let done = split(&json!({"schema": 1, "state": "Completed", "epoch": 1}));
        let record = json!({"schema": 1, "state": "Open", "epoch": 1, "owner": {"worker": "x", "incarnation": "dead/1", "page": "p"}});
        let left = split(&record);
        let moving = |splits: &[StreamSplit]| is_moving(splits, &["u", "v"]);
        assert!(moving(&[owned(1), free.clone()]) && moving(&[owned(1), left.clone()]));
        assert!(!moving(&[owned(1), done.clone()]) && !moving(&[owned(1)]) && !moving(&[]));
        assert!(!moving(&[free, left, done]));
    }

    #[test]
    fn scenario_60_a_retained_name_with_another_stream_is_seen() {
        let spec = |stream: Value| -> StreamPipelineSpec {
            serde_json::from_value(json!({"source": {"kinesis": [stream]}, "root": {"inline": "out a = 1"}, "outputs": []})).unwrap()
        };
        let foreign = |stream, uid| foreign_streams(&spec(stream), uid, &[owned(1)]).len();
        assert_eq!(foreign(json!({"streamName": "telemetry"}), "new"), 0);
        assert_eq!(foreign(json!({"streamName": "telemetry", "region": "eu-west-1"}), "new"), 0);
        assert_eq!(foreign(json!({"streamName": "telemetry", "region": "us-east-1"}), "new"), 1);
        assert_eq!(foreign(json!({"streamName": "telemetry", "region": "us-east-1", "endpoint": "http://kinesis:4567"}), "new"), 0);
        assert_eq!(foreign(json!({"streamARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/telemetry"}), "new"), 0);
        assert_eq!(foreign(json!({"streamARN": "arn:aws:kinesis:eu-west-1:210987654321:stream/telemetry"}), "new"), 1);
        assert_eq!(foreign(json!({"streamName": "other"}), "new"), 1);
        assert_eq!(foreign(json!({"streamName": "other"}), "old"), 0);
        assert_eq!(stream_of("a file"), None);
    }
}
