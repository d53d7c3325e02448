//! What is made for a pipeline, and what is refused.

use super::play::{Office, apply, condition, manifest, message, pipeline, says, wait};
use crate::bed;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

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
            let maps = bed.api::<ConfigMap>().list(&kube::api::ListParams::default().labels("millrace.dev/part=revision")).await.unwrap();
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
