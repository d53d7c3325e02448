//! Where a pipeline's objects are: their names, labels and owners, and which of those found are its own.

use crate::api::children::{self, part};
use crate::api::{API_VERSION, Kind as _, StreamLedger, StreamPipeline, StreamSplit, StreamWorker};
use crate::coordination::records::{PageId, WorkerName};
use crate::coordination::store::{Key, Kind};
use crate::flow::SplitId;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{ApiResource, ListParams, WatchParams};
use std::collections::BTreeMap;

/// The annotation with what an object is called in records, where its name is a hash of that.
pub(super) const ID: &str = children::ID_ANNOTATION;

/// How long a watch runs before it is asked for anew, in seconds: some load balancers drop what is quiet for longer.
pub(super) const WATCH: u32 = 200;

/// Where a pipeline's objects are, and who writes them.
#[derive(Clone, Debug)]
pub struct Place {
    /// The namespace of pipeline and pods.
    pub namespace: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// Its uid.
    pub pipeline_uid: String,
    /// The pod that writes: what is its own goes with it. None: nothing does.
    pub pod: Option<Pod>,
}

/// A pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name, which is the worker's.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The kind of object that holds a kind of record.
pub(super) fn resource(kind: Kind) -> ApiResource {
    match kind {
        Kind::Split => ApiResource::erase::<StreamSplit>(&()),
        Kind::Page => ApiResource::erase::<StreamLedger>(&()),
        Kind::Worker => ApiResource::erase::<StreamWorker>(&()),
        Kind::Beat | Kind::Leader | Kind::Scratch => ApiResource::erase::<Lease>(&()),
        Kind::Plan => ApiResource::erase::<ConfigMap>(&()),
    }
}

const fn part_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Split => part::SPLIT,
        Kind::Page => part::LEDGER,
        Kind::Worker => part::WORKER,
        Kind::Beat => part::HEARTBEAT,
        Kind::Leader => part::LEADER,
        Kind::Plan => part::PLAN,
        Kind::Scratch => part::SCRATCH,
    }
}

/// What an object is called in records; none: it is the only one of its kind.
pub(super) fn id(key: &Key) -> Option<&str> {
    match key {
        Key::Split(split) => Some(split.as_str()),
        Key::Page(page) => Some(page.as_str()),
        Key::Worker(worker) | Key::Beat(worker) | Key::Scratch(worker) => Some(worker.as_str()),
        Key::Leader | Key::Plan => None,
    }
}

impl Place {
    /// The name of a key's object.
    pub(super) fn name(&self, key: &Key) -> String {
        let (pipeline, part) = (self.pipeline.as_str(), part_of(key.kind()));
        match key {
            Key::Split(split) => children::split(pipeline, split.as_str()),
            Key::Page(page) => children::called(pipeline, part, page.as_str()),
            Key::Worker(worker) | Key::Beat(worker) => children::called(pipeline, part, worker.as_str()),
            // Never by its own text: that could be a worker's, whose heartbeat is a Lease as well.
            Key::Scratch(worker) => children::hashed(pipeline, part, worker.as_str()),
            Key::Leader => children::leader(pipeline),
            Key::Plan => children::plan(pipeline),
        }
    }

    /// The key of an object that was found; none: it has our labels, and is not ours all the same.
    pub(super) fn key(&self, kind: Kind, metadata: &ObjectMeta) -> Option<Key> {
        let name = metadata.name.as_deref()?;
        let id = metadata.annotations.as_ref().and_then(|annotations| annotations.get(ID)).map_or(name, String::as_str);
        let key = match kind {
            Kind::Split => Key::Split(SplitId::new(id)),
            Kind::Page => Key::Page(PageId::new(id)),
            Kind::Worker => Key::Worker(WorkerName::new(id)),
            Kind::Beat => Key::Beat(WorkerName::new(id)),
            Kind::Scratch => Key::Scratch(WorkerName::new(id)),
            Kind::Leader => Key::Leader,
            Kind::Plan => Key::Plan,
        };
        (self.name(&key) == name).then_some(key)
    }

    pub(super) fn labels(&self, kind: Kind) -> BTreeMap<String, String> {
        let part = part_of(kind);
        [(children::PIPELINE_LABEL, self.pipeline.as_str()), (children::PART_LABEL, part)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    /// Whom an object goes with; none: nobody, or whoever owns it now. Splits, pages and the plan outlive all.
    pub(super) fn owners(&self, key: &Key) -> Option<Vec<OwnerReference>> {
        let owner = match key {
            Key::Split(_) | Key::Page(_) | Key::Plan => return None,
            Key::Leader => owner(API_VERSION, StreamPipeline::KIND, &self.pipeline, &self.pipeline_uid),
            Key::Worker(worker) | Key::Beat(worker) if !self.is_own(worker) => return None,
            Key::Worker(_) | Key::Beat(_) | Key::Scratch(_) => {
                let pod = self.pod.as_ref()?;
                owner("v1", "Pod", &pod.name, &pod.uid)
            }
        };
        Some(vec![owner])
    }

    fn is_own(&self, worker: &WorkerName) -> bool {
        self.pod.as_ref().is_some_and(|pod| pod.name == worker.as_str())
    }

    /// Why an object must be waited out: its owner is an earlier one of the same name, and it goes with that.
    pub(super) fn waits_for(&self, key: &Key, metadata: &ObjectMeta) -> Option<String> {
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let pod = match key {
            Key::Worker(worker) if self.is_own(worker) => self.pod.as_ref().map(|pod| pod.uid.as_str()),
            _ => None,
        };
        let foreign = owners.iter().find(|owner| match owner.kind.as_str() {
            StreamPipeline::KIND => owner.uid != self.pipeline_uid,
            "Pod" => pod.is_some_and(|pod| owner.uid != pod),
            _ => false,
        })?;
        let OwnerReference { kind, name, uid, .. } = foreign;
        Some(format!("the {key} still belongs to an earlier {kind} `{name}` (uid {uid}), and goes with it"))
    }

    pub(super) fn list(&self, kind: Kind) -> ListParams {
        let (labels, fields) = self.selectors(kind);
        // A part is answered within a call's time: a page may have a quarter of a MiB.
        let limit = if kind == Kind::Page { 50 } else { 500 };
        ListParams { label_selector: labels, field_selector: fields, limit: Some(limit), ..ListParams::default() }
    }

    pub(super) fn watch(&self, kind: Kind) -> WatchParams {
        let (label_selector, field_selector) = self.selectors(kind);
        WatchParams { label_selector, field_selector, timeout: Some(WATCH), bookmarks: true, send_initial_events: false }
    }

    /// By labels; what there is one of, by its name, so that a Role can name it.
    fn selectors(&self, kind: Kind) -> (Option<String>, Option<String>) {
        let named = |name| (None, Some(format!("metadata.name={name}")));
        match kind {
            Kind::Leader => named(children::leader(&self.pipeline)),
            Kind::Plan => named(children::plan(&self.pipeline)),
            other => (Some(children::selector(&self.pipeline, part_of(other))), None),
        }
    }
}

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> OwnerReference {
    let [api_version, kind, name, uid] = [api_version, kind, name, uid].map(str::to_owned);
    OwnerReference { api_version, kind, name, uid, block_owner_deletion: None, controller: None }
}

#[cfg(test)]
mod tests {
    use super::{ID, Place, Pod};
    use crate::coordination::records::{PageId, WorkerName};
    use crate::coordination::store::Key;
    use crate::flow::SplitId;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    fn place() -> Place {
        let pod = Some(Pod { name: "p-worker-0".into(), uid: "pod-2".into() });
        Place { namespace: "n".into(), pipeline: "p".into(), pipeline_uid: "pipeline-2".into(), pod }
    }

    fn found(key: &Key, id: Option<&str>) -> ObjectMeta {
        let annotations = id.map(|id| [(ID.to_owned(), id.to_owned())].into());
        ObjectMeta { name: Some(place().name(key)), annotations, ..ObjectMeta::default() }
    }

    #[test]
    fn a_key_is_found_again_from_its_object_and_a_copy_under_another_name_is_not_ours() {
        let split = Key::Split(SplitId::new("shardId-000000000001"));
        let long = "w".repeat(70);
        for (key, id) in [
            (split.clone(), Some("shardId-000000000001")),
            (Key::Page(PageId::new("p-worker-0-0a-0")), None),
            (Key::Page(PageId::new(&long)), Some(long.as_str())),
            (Key::Scratch(WorkerName::new("p-worker-0")), Some("p-worker-0")),
            (Key::Beat(WorkerName::new("p-worker-0")), None),
            (Key::Leader, None),
            (Key::Plan, None),
        ] {
            let found = found(&key, id);
            assert_eq!(place().key(key.kind(), &found), Some(key.clone()), "{key}");
            let copy = ObjectMeta { name: Some("copy".into()), annotations: Some([(ID.to_owned(), "x".to_owned())].into()), ..found };
            assert_eq!(place().key(key.kind(), &copy), None, "{key}");
        }
        assert_eq!(place().key(split.kind(), &found(&split, None)), None, "nothing says which split it is");
    }

    #[test]
    fn what_an_earlier_owner_takes_along_is_waited_out_and_what_was_retained_is_not() {
        let earlier =
            Place { pipeline_uid: "pipeline-1".into(), pod: Some(Pod { name: "p-worker-0".into(), uid: "pod-1".into() }), ..place() };
        let own = WorkerName::new("p-worker-0");
        let waits =
            |by: &Place, key: &Key| place().waits_for(key, &ObjectMeta { owner_references: by.owners(key), ..ObjectMeta::default() });
        for key in [Key::Leader, Key::Worker(own.clone())] {
            assert!(waits(&earlier, &key).is_some_and(|why| why.contains("-1)")), "{key}");
            assert_eq!(waits(&place(), &key), None, "{key}");
        }
        // A heartbeat is taken over with its owner, in one write.
        assert_eq!(waits(&earlier, &Key::Beat(own)), None);
        assert_eq!(waits(&earlier, &Key::Split(SplitId::new("s"))), None);
        // Others' records are theirs.
        assert_eq!(place().owners(&Key::Worker(WorkerName::new("p-worker-1"))), None);
    }
}
