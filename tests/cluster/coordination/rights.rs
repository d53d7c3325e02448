//! The rights that the operator gives workers: with these the whole suite of their store runs, and one that is missing is named.

use super::{LIMIT, pipeline};
use crate::bed::{self, Bed, eventually};
use crate::conformance;
use millrace::api::rights::of_workers;
use millrace::coordination::kubernetes::{Kubernetes, Place};
use millrace::coordination::records::{Incarnation, LedgerPage, PageId};
use millrace::coordination::store::{Key, Kind, Record, Store, StoreError, list_all};
use millrace::env;
use serde_json::{Value, json};

/// A store under a user who has these rights and no others.
async fn store_with(bed: &Bed, place: &Place, rules: &Value) -> Kubernetes {
    let user = format!("worker-{}", bed.namespace());
    let group = "rbac.authorization.k8s.io";
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "worker"}, "rules": rules},
        {"apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "worker"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "worker"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]},
    ]});
    bed.kubectl(&["apply", "-f", "-"], &objects.to_string());
    let mut config = bed.config().await;
    config.auth_info.impersonate = Some(user);
    let store = Kubernetes::new(env::real(), config, place.clone(), LIMIT).unwrap();
    eventually("the rights", async || list_all(&store, Kind::Beat).await.map_err(|error| error.to_string())).await;
    store
}

#[test]
fn the_rights_of_a_worker_are_enough_for_the_whole_suite() {
    bed::test(async |bed| {
        let place = pipeline(bed, "rights").await;
        conformance::hold(&store_with(bed, &place, &json!(of_workers("rights", &[]))).await).await;
    });
}

#[test]
fn a_right_that_is_missing_is_named() {
    bed::test(async |bed| {
        let place = pipeline(bed, "less").await;
        let mut rules = json!(of_workers("less", &[]));
        rules[1]["resources"] = json!(["streamsplits"]);
        let status = rules.as_array_mut().unwrap().remove(3);
        assert_eq!(status["resources"], json!(["streamworkers/status"]));
        let store = store_with(bed, &place, &rules).await;
        let page = Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")));
        let made = store.create(&Key::Page(PageId::new("less-0")), page).await;
        let listed = store.list(Kind::Page, None).await.map(|_| ());
        let status = millrace::coordination::records::WorkerStatus { incarnation: Incarnation::new("i"), budget: 1, leaving: false };
        let record = millrace::coordination::records::WorkerRecord { status, assignment: None };
        let spoken = store.create(&super::worker("less-worker-0"), Record::Worker(record)).await;
        for (answer, says) in [
            (made.map(|_| ()), "cannot create resource \"streamledgers\" in API group \"millrace.dev\""),
            (listed, "cannot list resource \"streamledgers\""),
            (spoken.map(|_| ()), "cannot update resource \"streamworkers/status\""),
        ] {
            match answer {
                Err(StoreError::Refused(why)) if why.contains(says) => {}
                other => panic!("{says}: {other:?}"),
            }
        }
    });
}

#[test]
fn a_worker_reads_its_own_pipeline_and_revisions_and_no_others() {
    bed::test(async |bed| {
        let place = pipeline(bed, "own").await;
        drop(store_with(bed, &place, &json!(of_workers("own", &["own-root-a".to_owned()]))).await);
        let user = format!("--as=worker-{}", bed.namespace());
        for (verb, object, may) in [
            ("get", "streampipelines/own", "yes"),
            ("get", "streampipelines/other", "no"),
            ("list", "streampipelines", "no"),
            ("patch", "streampipelines/own", "no"),
            ("get", "configmaps/own-root-a", "yes"),
            ("update", "configmaps/own-root-a", "no"),
            ("get", "configmaps/other-root-a", "no"),
            ("get", "configmaps/own-plan", "yes"),
            ("list", "configmaps", "no"),
            ("get", "secrets", "no"),
            ("delete", "pods", "no"),
        ] {
            let answer = bed.try_kubectl(&["auth", "can-i", verb, object, &user], "");
            let said = String::from_utf8_lossy(&answer.stdout).into_owned();
            assert!(said.lines().any(|line| line == may), "{verb} {object}: {said}, not {may}");
        }
    });
}
