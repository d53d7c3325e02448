//! How the worker pods are.

use crate::api::children::BUILT_ANNOTATION;
use crate::operator::workload::Worker;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

/// What is wrong with the pods, in the words of the condition `WorkersAvailable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct Trouble {
    /// The reason.
    pub(in crate::operator) reason: &'static str,
    /// What is wrong, and what to do.
    pub(in crate::operator) message: String,
}

/// The pods of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::operator) struct Fleet {
    /// How many there are to be.
    pub(in crate::operator) wanted: usize,
    /// Those that there are.
    pub(in crate::operator) pods: Vec<Worker>,
    /// What keeps one of them from running.
    pub(in crate::operator) trouble: Option<Trouble>,
}

impl Fleet {
    /// How many are ready.
    pub(in crate::operator) fn ready(&self) -> usize {
        self.pods.iter().filter(|pod| pod.ready && !pod.leaving).count()
    }

    /// How many are made from the template in force.
    pub(in crate::operator) fn current(&self) -> usize {
        self.pods.iter().filter(|pod| pod.current && !pod.leaving).count()
    }

    /// Whether an old pod is still there.
    pub(in crate::operator) fn is_rolling(&self) -> bool {
        self.pods.iter().any(|pod| !pod.current)
    }
}

/// A pod as a rollout sees it. `template` is the digest of the template in force, `leader` the holder of the Lease of the
/// workers' leader, which begins with the worker's name or its pod's uid.
pub(in crate::operator) fn worker(pod: &Pod, template: Option<&str>, leader: Option<&str>) -> Worker {
    let meta = &pod.metadata;
    let built = meta.annotations.as_ref().and_then(|all| all.get(BUILT_ANNOTATION)).map(String::as_str);
    let (name, uid) = (meta.name.clone().unwrap_or_default(), meta.uid.clone().unwrap_or_default());
    let begins = |holder: &str| {
        [&name, &uid].into_iter().any(|own| holder == own || holder.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    Worker {
        current: built.is_some() && built == template,
        ready: is_true(pod, "Ready"),
        leaving: meta.deletion_timestamp.is_some(),
        leads: leader.is_some_and(begins),
        name,
        uid,
    }
}

fn is_true(pod: &Pod, kind: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == kind && condition.status == "True")
}

/// What keeps one of these pods from running, the worst first; then what keeps the `StatefulSet` from making more:
/// `refused` are the messages of its events.
pub(in crate::operator) fn trouble(pods: &[Pod], refused: &[String]) -> Option<Trouble> {
    let found = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).filter_map(trouble_of);
    found.min_by_key(|(rank, _)| *rank).map(|(_, trouble)| trouble).or_else(|| refused.iter().rev().find_map(|text| refusal(text)))
}

fn trouble_of(pod: &Pod) -> Option<(u8, Trouble)> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let status = pod.status.as_ref()?;
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    let container = containers.filter_map(|container| of_container(name, container)).min_by_key(|(rank, _)| *rank);
    container.or_else(|| {
        let unscheduled =
            status.conditions.iter().flatten().find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
        let message = unscheduled.message.clone().unwrap_or_default();
        let message = format!("pod {name} finds no node: {message}; add nodes, or lower worker.resources or loosen worker.template");
        Some((3, Trouble { reason: "Unschedulable", message }))
    })
}

fn of_container(pod: &str, container: &ContainerStatus) -> Option<(u8, Trouble)> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let why = waiting.message.clone().unwrap_or_default();
    let (rank, reason, message) = match waiting.reason.as_deref()? {
        "CrashLoopBackOff" => {
            let last = container.last_state.as_ref().and_then(last_words).unwrap_or_else(|| "see its log".to_owned());
            (0, "CrashLoop", format!("pod {pod} keeps ending: {last}"))
        }
        "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
            let image = &container.image;
            (1, "ImagePullFailed", format!("pod {pod} does not get its image {image}: {why}; set worker.image or worker.imagePullSecrets"))
        }
        "CreateContainerConfigError" => (2, "SecretMissing", format!("pod {pod} lacks what its spec names: {why}; create it")),
        "CreateContainerError" | "RunContainerError" => (2, "CrashLoop", format!("pod {pod} cannot be started: {why}")),
        _ => return None,
    };
    Some((rank, Trouble { reason, message }))
}

/// What a container said when it ended.
fn last_words(state: &ContainerState) -> Option<String> {
    let ended = state.terminated.as_ref()?;
    let words = ended.message.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let reason = ended.reason.clone().unwrap_or_default();
    Some(words.map_or_else(|| format!("{reason}, exit code {}; see its log", ended.exit_code), str::to_owned))
}

/// What an event of a pod that could not be made says.
fn refusal(text: &str) -> Option<Trouble> {
    let reason = if text.contains("exceeded quota") {
        "QuotaExceeded"
    } else if text.contains("forbidden") || text.contains("not found") || text.contains("denied") {
        "Forbidden"
    } else {
        return None;
    };
    Some(Trouble { reason, message: format!("the pods cannot be made: {text}") })
}

#[cfg(test)]
mod tests {
    use super::{Trouble, trouble, worker};
    use crate::api::children::BUILT_ANNOTATION;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::{Value, json};

    fn pod(status: &Value) -> Pod {
        let meta = json!({"name": "p-worker-0", "uid": "u", "annotations": {BUILT_ANNOTATION: "new"}});
        serde_json::from_value(json!({"metadata": meta, "status": status})).unwrap()
    }

    fn waiting(reason: &str, message: &str, last: &Value) -> Pod {
        pod(&json!({"containerStatuses": [{"name": "worker", "image": "i", "imageID": "", "ready": false, "restartCount": 3,
            "state": {"waiting": {"reason": reason, "message": message}}, "lastState": last}]}))
    }

    fn told(pods: &[Pod], refused: &[&str]) -> Option<(&'static str, String)> {
        let refused: Vec<_> = refused.iter().map(|text| (*text).to_owned()).collect();
        trouble(pods, &refused).map(|Trouble { reason, message }| (reason, message))
    }

    #[test]
    fn scenario_46_what_keeps_a_pod_from_running_is_said_in_its_own_words() {
        let unscheduled = pod(&json!({"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]}));
        let crash = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "MR0101: no such stream\n"}});
        for (pod, reason, says) in [
            (waiting("CrashLoopBackOff", "back-off", &crash), "CrashLoop", "MR0101: no such stream"),
            (waiting("ImagePullBackOff", "no such image", &json!({})), "ImagePullFailed", "worker.image"),
            (waiting("CreateContainerConfigError", "secret x", &json!({})), "SecretMissing", "secret x"),
            (unscheduled, "Unschedulable", "0/3 nodes"),
        ] {
            let (found, message) = told(&[pod], &[]).unwrap();
            assert!(found == reason && message.contains(says), "{found}: {message}");
        }
        assert_eq!(told(&[waiting("ContainerCreating", "", &json!({}))], &[]), None);
        assert_eq!(told(&[], &["pods \"p\" is forbidden: exceeded quota: small"]).unwrap().0, "QuotaExceeded");
        assert_eq!(told(&[], &["error looking up service account a/b: serviceaccount \"b\" not found"]).unwrap().0, "Forbidden");
    }

    #[test]
    fn a_pod_is_current_if_it_was_made_from_the_template_in_force() {
        let ready = pod(&json!({"conditions": [{"type": "Ready", "status": "True"}]}));
        let seen = |template| worker(&ready, template, Some("u/nonce"));
        assert!(seen(Some("new")).current && seen(Some("new")).ready && seen(Some("new")).leads);
        assert!(!seen(Some("newer")).current && !seen(None).current);
        assert!(!worker(&ready, None, Some("p-worker-01/x")).leads && worker(&ready, None, Some("p-worker-0/x")).leads);
    }
}
