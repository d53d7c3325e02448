//! Making what is there what was built: server-side apply, and only where something differs.

use super::read::Reader;
use crate::operator::error::OperatorError;
use crate::operator::status::Trouble;
use crate::operator::workload::{self, Ground, Holder, MANAGER, Piece, covers, holder};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use serde_json::Value;

/// What came of applying a workload.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// The template in force.
    pub(super) template: Option<String>,
    /// What keeps the rest from being made.
    pub(super) obstacle: Option<Trouble>,
    /// What the API server says against fields of the spec that only it checks.
    pub(super) invalid: Option<String>,
}

fn resource(piece: Piece) -> ApiResource {
    let (group, version, kind, plural) = piece.names();
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    ApiResource { group: group.into(), version: version.into(), api_version, kind: kind.into(), plural: plural.into() }
}

/// Applies every piece of a workload, in order; stops at the first that somebody or something is against.
pub(super) async fn apply(reader: &Reader, ground: Ground<'_>) -> Result<Applied, OperatorError> {
    let mut applied = Applied::default();
    for (piece, built) in workload::build(ground) {
        let api = Api::<DynamicObject>::namespaced_with(reader.client.clone(), &reader.namespace, &resource(piece));
        let name = piece.name(ground.name);
        let what = format!("the {} {name} cannot be read", piece.names().2);
        let found = api.get_opt(&name).await.map_err(OperatorError::cluster(what))?;
        let one = One { api, piece, name };
        match built {
            None => one.remove(found, ground).await?,
            Some(built) => {
                if let Err(refused) = one.put(found, &built, ground).await? {
                    match refused {
                        Refused::Obstacle(trouble) => applied.obstacle = Some(trouble),
                        Refused::Invalid(message) => applied.invalid = Some(message),
                    }
                    return Ok(applied);
                }
                if piece == Piece::StatefulSet {
                    applied.template = workload::template_digest(&built).map(str::to_owned);
                }
            }
        }
    }
    Ok(applied)
}

enum Refused {
    Obstacle(Trouble),
    Invalid(String),
}

struct One {
    api: Api<DynamicObject>,
    piece: Piece,
    name: String,
}

impl One {
    fn label(&self) -> String {
        format!("{} {}", self.piece.names().2, self.name)
    }

    async fn put(&self, found: Option<DynamicObject>, built: &Value, ground: Ground<'_>) -> Result<Result<(), Refused>, OperatorError> {
        if let Some(found) = &found {
            let holder = holder(&found.metadata, ground.name, ground.uid);
            if let Some(trouble) = self.in_the_way(holder) {
                return Ok(Err(Refused::Obstacle(trouble)));
            }
            let live = serde_json::to_value(found).unwrap_or_default();
            if holder == Holder::Ours && covers(&live, built) {
                return Ok(Ok(()));
            }
        }
        match self.api.patch(&self.name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(built)).await {
            Ok(_) => Ok(Ok(())),
            Err(kube::Error::Api(status)) if status.is_invalid() || status.code == 400 => {
                Ok(Err(Refused::Invalid(format!("spec.worker: the {} is refused: {}", self.label(), status.message))))
            }
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                let reason = if status.message.contains("exceeded quota") { "QuotaExceeded" } else { "Forbidden" };
                let message = format!("the {} cannot be made: {}", self.label(), status.message);
                Ok(Err(Refused::Obstacle(Trouble { reason, message })))
            }
            Err(error) => Err(OperatorError::cluster(format!("the {} cannot be applied", self.label()))(error)),
        }
    }

    fn in_the_way(&self, holder: Holder) -> Option<Trouble> {
        let label = self.label();
        match holder {
            Holder::Ours | Holder::Lost => None,
            Holder::Predecessor => Some(Trouble {
                reason: "PredecessorGoing",
                message: format!("the {label} of the pipeline that had this name before is not gone yet; it is waited for"),
            }),
            Holder::Foreign => Some(Trouble {
                reason: "NameTaken",
                message: format!(
                    "the {label} is there, and is not this pipeline's: delete or rename it, or give the pipeline another name"
                ),
            }),
        }
    }

    /// What a pipeline no longer has goes, if it was ours (I36).
    async fn remove(&self, found: Option<DynamicObject>, ground: Ground<'_>) -> Result<(), OperatorError> {
        let Some(found) = found.filter(|found| holder(&found.metadata, ground.name, ground.uid) == Holder::Ours) else { return Ok(()) };
        let only = Preconditions { uid: found.metadata.uid, resource_version: None };
        let params = DeleteParams { preconditions: Some(only), ..DeleteParams::background() };
        match self.api.delete(&self.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(OperatorError::cluster(format!("the {} cannot be deleted", self.label()))(error)),
        }
    }
}
