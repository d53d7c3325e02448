//! What a pipeline's objects are called: what operator and workers find each other by.
//!
//! Owns: names, labels, annotations and keys of data.
//! May not: make an object.

use crate::flow::Digest;

/// On every object of a pipeline: its name.
pub const PIPELINE_LABEL: &str = "millrace.dev/pipeline";
/// On every object of a pipeline: what it is (one of [`part`]).
pub const PART_LABEL: &str = "millrace.dev/part";

/// The values of [`PART_LABEL`].
pub mod part {
    /// What makes the pods, their account and rights.
    pub const WORKLOAD: &str = "workload";
    /// A `ConfigMap` that holds a revision.
    pub const REVISION: &str = "revision";
    /// The `ConfigMap` that is the plan record.
    pub const PLAN: &str = "plan";
    /// A Lease that is a worker's heartbeat.
    pub const HEARTBEAT: &str = "heartbeat";
    /// The Lease of the workers' leader.
    pub const LEADER: &str = "leader";
    /// A `StreamWorker`.
    pub const WORKER: &str = "worker";
    /// A `StreamSplit`.
    pub const SPLIT: &str = "split";
    /// A `StreamLedger`.
    pub const LEDGER: &str = "ledger";
    /// A Lease by which a store's compare-and-swap is proved; it is gone again at once.
    pub const SCRATCH: &str = "scratch";
}

/// On an object whose name is no more than a hash: what it is called in records (a split's id, say).
pub const ID_ANNOTATION: &str = "millrace.dev/id";

/// On a revision: its whole digest, of which its name has the beginning.
pub const DIGEST_ANNOTATION: &str = "millrace.dev/digest";
/// On a revision: the highest epoch that was to be its (I42), in decimal.
pub const EPOCH_ANNOTATION: &str = "millrace.dev/epoch";
/// On a revision: the last epoch under which it has proven good, in decimal.
pub const SOAKED_ANNOTATION: &str = "millrace.dev/soaked";
/// On what the operator builds: the digest of what it built.
pub const BUILT_ANNOTATION: &str = "millrace.dev/built";

/// The key of a revision's `ConfigMap` under which its canonical JSON stands.
pub const REVISION_KEY: &str = "revision.json";

/// The container of a pod that is the worker.
pub const WORKER_CONTAINER: &str = "worker";
/// The environment variable with the [`super::worker_settings::WorkerSettings`].
pub const SETTINGS_VARIABLE: &str = "MILLRACE_WORKER";
/// The environment variable with the pod's name, which is the worker's.
pub const POD_NAME_VARIABLE: &str = "MILLRACE_POD_NAME";
/// The environment variable with the pod's namespace.
pub const POD_NAMESPACE_VARIABLE: &str = "MILLRACE_POD_NAMESPACE";
/// The environment variable with the pod's uid, the first half of an incarnation.
pub const POD_UID_VARIABLE: &str = "MILLRACE_POD_UID";

/// Where the volume is that outlives a container, for the marker of what is in hand.
pub const HAND_FOLDER: &str = "/var/lib/millrace/hand";
/// Where files may be written that nobody needs after the process.
pub const SCRATCH_FOLDER: &str = "/tmp";
/// Where Secrets are mounted, each in a folder of its own name.
pub const SECRETS_FOLDER: &str = "/etc/millrace/secrets";
/// Where the certificates of `worker.caBundle` are mounted.
pub const CA_FILE: &str = "/etc/millrace/ca/bundle.pem";
/// The environment variable by which every TLS client of a worker finds that file: it replaces the system's certificates.
pub const CA_VARIABLE: &str = "SSL_CERT_FILE";

/// The `StatefulSet`, the `ServiceAccount`, the Role, the `RoleBinding` and the `PodDisruptionBudget`.
#[must_use]
pub fn workload(pipeline: &str) -> String {
    format!("{pipeline}-worker")
}

/// The headless Service.
#[must_use]
pub fn service(pipeline: &str) -> String {
    format!("{pipeline}-workers")
}

/// A worker: its pod, its `StreamWorker` and its heartbeat's Lease.
#[must_use]
pub fn worker(pipeline: &str, ordinal: i32) -> String {
    format!("{}-{ordinal}", workload(pipeline))
}

/// The ordinal of a worker of this pipeline; `None` for a name that is none.
#[must_use]
pub fn ordinal(pipeline: &str, worker: &str) -> Option<i32> {
    let text = worker.strip_prefix(workload(pipeline).as_str())?.strip_prefix('-')?;
    let number: i32 = text.parse().ok()?;
    // "+1" and "01" parse, and name no pod.
    (number.to_string() == text).then_some(number)
}

/// The `ConfigMap` of a revision: a digest's first 16 digits tell the programs of one pipeline apart, and the content is
/// held against the whole digest.
#[must_use]
pub fn revision(pipeline: &str, digest: Digest) -> String {
    let short: String = digest.hex().chars().take(16).collect();
    format!("{pipeline}-root-{short}")
}

/// The plan record.
#[must_use]
pub fn plan(pipeline: &str) -> String {
    format!("{pipeline}-plan")
}

/// The Lease of the workers' leader.
#[must_use]
pub fn leader(pipeline: &str) -> String {
    format!("{pipeline}-leader")
}

/// A split's `StreamSplit`. The split's id stands in its [`ID_ANNOTATION`].
#[must_use]
pub fn split(pipeline: &str, id: &str) -> String {
    hashed(pipeline, part::SPLIT, id)
}

/// What is called by a text that its maker chose, a ledger page or a worker: the text, where it can be a name.
#[must_use]
pub fn called(pipeline: &str, part: &str, text: &str) -> String {
    if is_name(text) { text.to_owned() } else { hashed(pipeline, part, text) }
}

/// A name for any text: pipeline and hash.
#[must_use]
pub fn hashed(pipeline: &str, part: &str, text: &str) -> String {
    // Digits of 80 bits: a pipeline's ten thousands of splits do not meet by chance.
    let short: String = Digest::of(format!("{part} {text}").as_bytes()).hex().chars().take(20).collect();
    format!("{pipeline}-{short}")
}

/// Whether a text can be the name of an object, and the value of a label.
fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'-');
    plain && (1..=63).contains(&text.len()) && !text.starts_with('-') && !text.ends_with('-')
}

/// The selector of all objects of a pipeline that are this part of it.
#[must_use]
pub fn selector(pipeline: &str, part: &str) -> String {
    format!("{PIPELINE_LABEL}={pipeline},{PART_LABEL}={part}")
}

#[cfg(test)]
mod tests {
    use super::{called, leader, ordinal, part, plan, revision, service, split, worker, workload};
    use crate::api::crd::MAX_NAME;
    use crate::flow::Digest;

    #[test]
    fn names_of_children_fit_where_they_stand_as_labels() {
        let pipeline = "p".repeat(MAX_NAME);
        let names =
            [service(&pipeline), worker(&pipeline, 9_999), revision(&pipeline, Digest::of(b"")), plan(&pipeline), leader(&pipeline)];
        assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
        // A StatefulSet's name and a hash make a label.
        assert!(workload(&pipeline).len() + "-0123456789".len() <= 63);
    }

    #[test]
    fn any_text_gives_a_name_and_two_texts_give_two() {
        let pipeline = "p".repeat(MAX_NAME);
        let long = "w".repeat(64);
        for text in ["shardId-000000000001", "a/b", "", "-a", "a-", &long] {
            let name = called(&pipeline, part::LEDGER, text);
            assert!(super::is_name(&name) && name != text, "{text}: {name}");
        }
        assert_eq!(called("p", part::LEDGER, "w-0-0a-0"), "w-0-0a-0");
        assert_ne!(split("p", "a"), split("p", "b"));
        assert_ne!(split("p", "/"), called("p", part::LEDGER, "/"));
    }

    #[test]
    fn a_worker_is_told_by_its_name() {
        assert_eq!(ordinal("turbines", &worker("turbines", 12)), Some(12));
        for other in
            ["turbines-worker", "turbines-worker-", "turbines-worker-01", "turbines-worker-+1", "turbines-worker-worker-1", "x-worker-1"]
        {
            assert_eq!(ordinal("turbines", other), None, "{other}");
        }
    }
}
