//! Conditions: the types there are, and the reasons each may carry.
//!
//! Owns: the vocabulary of `status.conditions`.
//! May not: decide one; the operator does.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that holds, or does not, or is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Z][A-Za-z]*$"))]
    pub r#type: String,

    /// True, False or Unknown.
    pub status: ConditionStatus,

    /// The generation that it was decided for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// When the status last changed.
    #[schemars(length(max = 64))]
    pub last_transition_time: Time,

    /// Why, in one word.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Z][A-Za-z]*$"))]
    pub reason: String,

    /// Why, and what to do about it.
    #[schemars(length(max = 4096))]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It is not known yet.
    Unknown,
}

macro_rules! conditions {
    ($($name:ident $kind:ident $doc:literal [$($reason:literal),* $(,)?];)*) => {
        /// The types of conditions of a `StreamPipeline`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ConditionType {
            $(#[doc = $doc] $name,)*
        }

        impl ConditionType {
            /// All of them, in the order in which they are shown.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// As written in the manifest.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// What it says when it is true.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $doc,)* }
            }

            /// Whether it is there from the first pass on, or only while it is true.
            #[must_use]
            pub const fn presence(self) -> Presence {
                match self { $(Self::$name => Presence::$kind,)* }
            }

            /// The reasons it may carry when it is not plainly true.
            #[must_use]
            pub const fn reasons(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($reason,)*],)* }
            }
        }
    };
}

/// When a condition is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// From the first pass on; `Unknown` where nothing is known.
    Always,
    /// Only while it is true.
    WhenTrue,
}

conditions! {
    Accepted Always "The manifest is valid, and so is the root in it." ["InvalidSpec", "RootInvalid", "ConfigMapMissing", "DigestMismatch", "RetainedPositions"];
    WorkersAvailable Always "The worker pods that are wanted run." [
        "QuotaExceeded", "Unschedulable", "ImagePullFailed", "CrashLoop", "Forbidden", "SecretMissing", "RolloutFailed",
        "ScaledToZero", "Stopped", "Starting", "NameTaken", "PredecessorGoing",
    ];
    SourceReachable Always "The source can be read." ["StreamNotFound", "AccessDenied", "EndpointUnreachable", "Throttled", "Recreated"];
    RootAcknowledged Always "Every worker runs the program of this generation." [
        "AllWorkers", "NoWorkers", "NotAccepted", "AwaitingRollout", "AwaitingWorkers", "AwaitingPrepare", "AwaitingApproval",
        "AwaitingAck", "AckTimeout", "WorkerRejected", "StateIncompatible", "Aborted", "RolledBack",
    ];
    CutoverSucceeded Always "The last cutover is over, and its program good." [
        "InProgress", "Soaking", "Aborted", "RolledBack", "RollbackFailed", "Superseded", "DeadlineExceeded",
    ];
    Available Always "Data flows, on whatever program." ["NoReadyWorkers", "SourceLost", "Stopped"];
    Ready Always "All of the above: its reason is that of the first that fails." ["Paused", "Stopped", "ScaledToZero", "RollingOut"];
    Reconciling WhenTrue "Something is on its way." [];
    Stalled WhenTrue "Nothing will change until somebody acts." ["PositionsLost"];
    Paused WhenTrue "Intake has stopped, as asked." [];
    Degraded WhenTrue "Data flows, but not as it should." [
        "StateStoreRequired", "OutputNotFound", "OutputDenied", "OutputUnreachable", "OutputFailed", "RollbackFailed",
    ];
    DataLoss WhenTrue "Records were lost before they could be read." [];
}

#[cfg(test)]
mod tests {
    use super::{ConditionType, Presence};

    #[test]
    fn conditions_and_reasons_are_words_that_the_schema_takes() {
        let word = |text: &str| {
            text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphabetic())
        };
        for kind in ConditionType::ALL {
            assert!(word(kind.name()) && kind.reasons().iter().all(|reason| word(reason)), "{kind:?}");
        }
        let always = ConditionType::ALL.iter().filter(|kind| kind.presence() == Presence::Always).count();
        assert_eq!(always, 7);
    }
}
