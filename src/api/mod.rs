//! The four custom resources: what users write and what the system writes.
//!
//! Owns: their fields, bounds, rules, classes, defaults and documentation; the revision and its digest; the same rules
//! for manifests without a cluster; what operator and workers agree on: names, labels, settings, the text of a page.
//! May not: talk to an API server. It builds without kube; only the trait by which kube finds a kind stands behind a feature.

pub mod children;
pub mod class;
pub mod condition;
pub mod crd;
pub mod faults;
mod forms;
pub mod ledger_page;
pub mod manifest;
pub mod pipeline;
pub mod progress;
pub mod revision;
pub mod rights;
pub mod scalar;
pub mod schema;
pub mod stream_ledger;
pub mod stream_split;
pub mod stream_worker;
pub mod worker_settings;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pipeline::{StreamPipelineSpec, StreamPipelineStatus};
use serde::{Deserialize, Serialize};
use stream_ledger::LedgerRecord;
use stream_split::{SplitRecord, StreamSplitSpec};
use stream_worker::{StreamWorkerSpec, StreamWorkerStatus};

/// The API group of all four kinds.
pub const GROUP: &str = "millrace.dev";
/// Their version.
pub const VERSION: &str = "v1alpha1";
/// Both, as `apiVersion` says them.
pub const API_VERSION: &str = "millrace.dev/v1alpha1";

/// What identifies a kind.
pub trait Kind {
    /// Its name.
    const KIND: &'static str;
    /// Its plural, which stands in paths.
    const PLURAL: &'static str;
}

macro_rules! resource {
    ($(#[$doc:meta])* $kind:ident, $plural:literal, { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $kind {
            /// Always [`API_VERSION`].
            pub api_version: String,
            /// Always the kind's own name.
            pub kind: String,
            /// Name, namespace, labels and the like.
            #[serde(default)]
            pub metadata: ObjectMeta,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Kind for $kind {
            const KIND: &'static str = stringify!($kind);
            const PLURAL: &'static str = $plural;
        }

        impl $kind {
            /// An object of this kind with this name, everything else as by default.
            #[must_use]
            pub fn named(name: &str) -> Self {
                Self {
                    api_version: API_VERSION.to_owned(),
                    kind: Self::KIND.to_owned(),
                    metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
                    ..Self::default()
                }
            }
        }

        #[cfg(feature = "kube")]
        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = kube::core::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                Self::KIND.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                GROUP.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                VERSION.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                Self::PLURAL.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

resource! {
    /// A stream program: what to read, the root to evaluate over it, where its rows go.
    StreamPipeline, "streampipelines", {
        /// What the user wants.
        spec: StreamPipelineSpec,
        /// What the operator says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<StreamPipelineStatus>,
    }
}

resource! {
    /// One worker: what it is told and what it answers.
    StreamWorker, "streamworkers", {
        /// What it is told.
        spec: StreamWorkerSpec,
        /// What it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<StreamWorkerStatus>,
    }
}

resource! {
    /// One shard, and who owns it.
    StreamSplit, "streamsplits", {
        /// What the shard is.
        spec: StreamSplitSpec,
        /// What became of it: outside `status`, so that backups bring it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<SplitRecord>,
    }
}

resource! {
    /// One page of a worker's commits.
    StreamLedger, "streamledgers", {
        /// The page: outside `status`, so that backups bring it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<LedgerRecord>,
    }
}
