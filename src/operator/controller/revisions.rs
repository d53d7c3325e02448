//! Storing revisions, and deleting those that nothing can name any more.

use super::read::{Reader, Stored, at, content, named};
use crate::api::StreamWorker;
use crate::api::children::{self, DIGEST_ANNOTATION, EPOCH_ANNOTATION, REVISION_KEY, SOAKED_ANNOTATION, part};
use crate::api::revision::Revision;
use crate::flow::{Digest, RootEpoch};
use crate::operator::cutover::{At, Kept, State, may_go};
use crate::operator::error::OperatorError;
use crate::operator::workload::{MANAGER, labels};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;
use std::collections::BTreeSet;

/// Sees that a program's revision is there, whole, and annotated with this epoch at least (I42). Without its content,
/// what is stored must be it.
pub(super) async fn keep(reader: &Reader, at: At, content_of: Option<&Revision>) -> Result<(), OperatorError> {
    let name = children::revision(&reader.name, at.digest);
    let Some(found) = reader.revision(at.digest).await? else {
        let Some(revision) = content_of else { return Err(OperatorError::RevisionLost(name.into())) };
        return create(reader, (&name, at), revision).await;
    };
    let text = content(&found).unwrap_or_default();
    let whole = content_of.map_or_else(|| Revision::read(text, at.digest).is_ok(), |revision| revision.text() == text);
    if !whole {
        let error = if content_of.is_some() { OperatorError::Taken } else { OperatorError::RevisionLost };
        return Err(error(format!("ConfigMap {name}").into()));
    }
    let noted = found.metadata.annotations.as_ref().and_then(|all| all.get(EPOCH_ANNOTATION)).and_then(|text| text.parse().ok());
    if noted.map(RootEpoch::new).is_some_and(|noted| noted >= at.epoch) {
        return Ok(());
    }
    note(reader, &found, (EPOCH_ANNOTATION, at.epoch)).await
}

async fn create(reader: &Reader, (name, at): (&str, At), revision: &Revision) -> Result<(), OperatorError> {
    let map = json!({
        "metadata": {
            "name": name,
            "labels": labels(&reader.name, part::REVISION),
            "annotations": {DIGEST_ANNOTATION: at.digest.to_string(), EPOCH_ANNOTATION: at.epoch.to_string()},
        },
        "immutable": true,
        "data": {REVISION_KEY: revision.text()},
    });
    let map: ConfigMap = serde_json::from_value(map)
        .map_err(|error| OperatorError::cluster("a revision cannot be written")(kube::Error::SerdeError(error)))?;
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match reader.api::<ConfigMap>().create(&params, &map).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Err(OperatorError::Moved(format!("the revision {name}").into())),
        Err(error) => Err(OperatorError::cluster(format!("the revision {name} cannot be stored"))(error)),
    }
}

/// Notes that a program has proven good under this epoch.
pub(super) async fn mark(reader: &Reader, at: At) -> Result<(), OperatorError> {
    let Some(found) = reader.revision(at.digest).await? else {
        return Err(OperatorError::RevisionLost(children::revision(&reader.name, at.digest).into()));
    };
    note(reader, &found, (SOAKED_ANNOTATION, at.epoch)).await
}

/// An annotation, on the very object that was read.
async fn note(reader: &Reader, found: &ConfigMap, (annotation, epoch): (&str, RootEpoch)) -> Result<(), OperatorError> {
    let name = found.metadata.name.clone().unwrap_or_default();
    let patch = json!({"metadata": {
        "uid": found.metadata.uid,
        "resourceVersion": found.metadata.resource_version,
        "annotations": {annotation: epoch.to_string()},
    }});
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let what = format!("the revision {name} cannot be annotated");
    reader.api::<ConfigMap>().patch_metadata(&name, &params, &Patch::Merge(patch)).await.map_err(OperatorError::cluster(what))?;
    Ok(())
}

/// Deletes the revisions that nothing names: they were read first, then the state, and now all that may name one.
pub(super) async fn collect(
    reader: &Reader,
    state: &State,
    (revisions, workers): (&[Stored], &[StreamWorker]),
) -> Result<(), OperatorError> {
    let kept: Vec<Kept> = revisions.iter().map(|stored| stored.kept).collect();
    // Without splits nothing more could go than with them: ask for those only where there is something to delete.
    if may_go(state, &kept, &BTreeSet::new(), None).is_empty() {
        return Ok(());
    }
    let (mut digests, oldest) = named(&reader.splits().await?, &reader.pages().await?);
    digests.extend(workers.iter().flat_map(told));
    for digest in may_go(state, &kept, &digests, oldest) {
        if let Some(stored) = revisions.iter().find(|stored| stored.kept.at.digest == digest) {
            delete(reader, stored).await?;
        }
    }
    Ok(())
}

/// The programs that a worker is told of, or speaks of.
fn told(worker: &StreamWorker) -> Vec<Digest> {
    let told = worker.spec.root.iter().flat_map(|told| [Some(&told.root), told.committed.as_ref()]).flatten();
    let answer = worker.status.as_ref().and_then(|status| status.answer.as_ref());
    let answered = answer.iter().flat_map(|answer| [Some(&answer.root), answer.installed.as_ref()]).flatten();
    told.chain(answered).filter_map(at).map(|at| at.digest).collect()
}

async fn delete(reader: &Reader, stored: &Stored) -> Result<(), OperatorError> {
    let only = Preconditions { uid: stored.meta.uid.clone(), resource_version: stored.meta.resource_version.clone() };
    let params = DeleteParams { preconditions: Some(only), ..DeleteParams::background() };
    match reader.api::<ConfigMap>().delete(&stored.name, &params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        Err(error) => Err(OperatorError::cluster(format!("the revision {} cannot be deleted", stored.name))(error)),
    }
}
