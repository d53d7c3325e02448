//! What is made for a pipeline, and what is refused.

use super::play::{Office, Player, apply, condition, manifest, message, pipeline, says, wait};
use crate::bed::{self, Bed};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const ROOT: &str = "out total: Int = 1";

#[test]
fn scenario_42_a_pipeline_has_its_objects_and_a_deleted_one_is_back() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({"replicas": 2})));
        says(bed, "p", "Accepted", "True/Valid").await;
        let set = wait("the StatefulSet", async || bed.api::<StatefulSet>().get("p-worker").await.map_err(|error| error.to_string())).await;
        let spec = set.spec.unwrap();
        assert_eq!((spec.replicas, spec.pod_management_policy.as_deref()), (Some(2), Some("Parallel")));
        assert_eq!(spec.update_strategy.unwrap().type_.as_deref(), Some("OnDelete"));
        let uid = pipeline(bed, "p").await.metadata.uid.unwrap();
        assert_eq!(set.metadata.owner_references.unwrap()[0].uid, uid);
        bed.api::<ServiceAccount>().get("p-worker").await.unwrap();
        bed.api::<RoleBinding>().get("p-worker").await.unwrap();
        bed.api::<PodDisruptionBudget>().get("p-worker").await.unwrap();
        let revisions: Vec<ConfigMap> = wait("a revision", async || {
            let maps = bed.api::<ConfigMap>().list(&ListParams::default().labels("millrace.dev/part=revision")).await.unwrap();
            if maps.items.is_empty() { Err("none".to_owned()) } else { Ok(maps.items) }
        })
        .await;
        assert_eq!((revisions.len(), revisions[0].immutable), (1, Some(true)));
        let name = revisions[0].metadata.name.clone().unwrap();
        let role = bed.api::<Role>().get("p-worker").await.unwrap();
        assert!(role.rules.unwrap().iter().any(|rule| rule.resource_names.iter().flatten().any(|named| *named == name)));
        let services = bed.api::<Service>();
        let before = wait("the Service", async || services.get("p-workers").await.map_err(|error| error.to_string())).await;
        services.delete("p-workers", &DeleteParams::default()).await.unwrap();
        wait("the Service again", async || match services.get_opt("p-workers").await.unwrap() {
            Some(after) if after.metadata.uid != before.metadata.uid => Ok(()),
            other => Err(format!("{:?}", other.map(|service| service.metadata.uid))),
        })
        .await;
        // A field of ours that somebody else sets is set back.
        let patch = Patch::Merge(json!({"spec": {"replicas": 5}}));
        bed.api::<StatefulSet>().patch("p-worker", &PatchParams::default(), &patch).await.unwrap();
        wait("two replicas", async || {
            let replicas = bed.api::<StatefulSet>().get("p-worker").await.unwrap().spec.unwrap().replicas;
            if replicas == Some(2) { Ok(()) } else { Err(format!("{replicas:?}")) }
        })
        .await;
        apply(bed, &manifest("p", ROOT, &json!({"replicas": 1})));
        wait("no budget", async || match bed.api::<PodDisruptionBudget>().get_opt("p-worker").await.unwrap() {
            None => Ok(()),
            Some(_) => Err("it is there".to_owned()),
        })
        .await;
        let scale = bed.kubectl(&["get", "spl", "p", "-o", "jsonpath={.status.selector}"], "");
        assert_eq!(scale, "millrace.dev/pipeline=p,millrace.dev/part=worker");
        office.close().await;
    });
}

#[test]
fn scenario_49_an_object_of_somebody_elses_is_left_alone_and_said() {
    bed::test(async |bed| {
        let foreign = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "p-workers"}, "spec": {"ports": [{"port": 80}]}});
        bed.api::<Service>().patch("p-workers", &PatchParams::apply("somebody"), &Patch::Apply(foreign)).await.unwrap();
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &json!({})));
        let taken = says(bed, "p", "WorkersAvailable", "False/NameTaken").await;
        assert!(message(&taken, "WorkersAvailable").contains("Service p-workers"));
        let service = bed.api::<Service>().get("p-workers").await.unwrap();
        assert!(service.metadata.owner_references.is_none() && service.spec.unwrap().ports.unwrap()[0].port == 80);
        bed.api::<Service>().delete("p-workers", &DeleteParams::default()).await.unwrap();
        wait("the StatefulSet", async || bed.api::<StatefulSet>().get("p-worker").await.map_err(|error| error.to_string())).await;
        office.close().await;
    });
}

#[test]
fn what_this_version_does_not_do_is_refused_by_its_path_and_makes_nothing() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let more = json!({"desiredState": "Paused", "cutover": {"approval": "Manual"}, "state": {"store": {"url": "s3://bucket/x"}}});
        apply(bed, &manifest("p", ROOT, &more));
        let refused = says(bed, "p", "Accepted", "False/InvalidSpec").await;
        let message = message(&refused, "Accepted");
        for path in ["spec.desiredState: ", "spec.cutover.approval: ", "spec.state.store: "] {
            assert!(message.contains(path), "{path}: {message}");
        }
        assert_eq!(condition(&refused, "Ready"), "False/InvalidSpec");
        assert!(bed.api::<StatefulSet>().get_opt("p-worker").await.unwrap().is_none());
        office.close().await;
    });
}

#[test]
fn scenario_65_a_wrong_field_of_the_pod_is_refused_in_the_api_servers_own_words() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        let wrong = json!({"worker": {"template": {"volumes": [{"name": "data", "emptyDir": {}, "configMap": {"name": "x"}}]}}});
        apply(bed, &manifest("p", ROOT, &wrong));
        let refused = says(bed, "p", "Accepted", "False/InvalidSpec").await;
        let message = message(&refused, "Accepted");
        assert!(message.starts_with("spec.worker: ") && message.contains("may not specify more than 1 volume type"), "{message}");
        apply(bed, &manifest("p", ROOT, &json!({"worker": {"template": {"volumes": [{"name": "data", "emptyDir": {}}]}}})));
        says(bed, "p", "Accepted", "True/Valid").await;
        office.close().await;
    });
}

/// Pods by name, with uid, image and whether they are ready.
async fn pods(bed: &Bed) -> BTreeMap<String, (String, String, bool)> {
    let all = bed.api::<Pod>().list(&ListParams::default().labels("millrace.dev/part=worker")).await.unwrap();
    let pod = |pod: Pod| {
        let ready =
            pod.status.iter().flat_map(|status| status.conditions.iter().flatten()).any(|one| one.type_ == "Ready" && one.status == "True");
        let image = pod.spec.unwrap().containers[0].image.clone().unwrap();
        (pod.metadata.name.unwrap(), (pod.metadata.uid.unwrap(), image, ready))
    };
    all.items.into_iter().map(pod).collect()
}

/// Plays the kubelet of a pod that no node takes.
async fn ready(bed: &Bed, name: &str) {
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    bed.api::<Pod>().patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap();
}

fn with_image(image: &str) -> Value {
    json!({"replicas": 2, "worker": {"image": image, "template": {"nodeSelector": {"kept": "free"}}}})
}

#[test]
fn a_rollout_replaces_one_pod_at_a_time_each_ready_before_the_next() {
    bed::test(async |bed| {
        let office = Office::open(bed, "a");
        apply(bed, &manifest("p", ROOT, &with_image("registry.invalid/one")));
        let both = async |what: &str, ready: usize| {
            wait(what, async || {
                let pods = pods(bed).await;
                if pods.len() == 2 && pods.values().filter(|pod| pod.2).count() == ready { Ok(pods) } else { Err(format!("{pods:?}")) }
            })
            .await
        };
        both("two pods", 0).await;
        let trouble = says(bed, "p", "WorkersAvailable", "False/Unschedulable").await;
        assert!(message(&trouble, "WorkersAvailable").contains("finds no node"));
        for pod in ["p-worker-0", "p-worker-1"] {
            ready(bed, pod).await;
        }
        let before = both("two ready pods", 2).await;
        // A committed cutover ends first.
        let workers = [Player::join(bed, "p", 0, "a").await, Player::join(bed, "p", 1, "a").await];
        for worker in &workers {
            worker.acknowledged(&worker.told("Commit", 0).await).await;
        }
        says(bed, "p", "WorkersAvailable", "True/AllReady").await;
        says(bed, "p", "RootAcknowledged", "True/AllWorkers").await;
        apply(bed, &manifest("p", ROOT, &with_image("registry.invalid/two")));
        let half = both("one that is replaced", 1).await;
        let replaced: Vec<_> = half.iter().filter(|(name, pod)| pod.0 != before[*name].0).collect();
        assert!(replaced.len() == 1 && replaced[0].1.1 == "registry.invalid/two", "{half:?}");
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(pods(bed).await, half, "the next went before the last was ready");
        assert_eq!(condition(&pipeline(bed, "p").await, "Ready").split('/').next(), Some("False"));
        ready(bed, replaced[0].0).await;
        let second = wait("the second one", async || {
            let pods = pods(bed).await;
            let done = pods.len() == 2 && pods.values().all(|pod| pod.1 == "registry.invalid/two");
            if done { Ok(pods) } else { Err(format!("{pods:?}")) }
        })
        .await;
        assert!(second.values().filter(|pod| pod.2).count() == 1 && second[replaced[0].0].0 == replaced[0].1.0, "{second:?}");
        office.close().await;
    });
}
