//! Objects in a real API server: defaults, round trips, apply, scale, explain.

use crate::bed;
use crate::table;
use kube::Resource as _;
use kube::api::{Patch, PatchParams, PostParams};
use millrace::api::pipeline::{DesiredState, OnDelete};
use millrace::api::{StreamLedger, StreamPipeline, StreamSplit, StreamWorker};
use serde_json::{Value, json};

#[test]
fn a_minimal_pipeline_is_complete_and_gets_its_defaults() {
    bed::test(async |bed| {
        let made: StreamPipeline = serde_json::from_value(bed.send("POST", "streampipelines", &table::minimal()).await.unwrap()).unwrap();
        assert_eq!(made.spec.replicas, 1);
        assert_eq!((made.spec.desired_state, made.spec.on_delete), (DesiredState::Running, OnDelete::Retain));
        assert_eq!(made.spec.source.kinesis.unwrap()[0].name(), "main");
        assert_eq!(made.status.unwrap().observed_generation, Some(-1));
        let explicit = bed.kubectl(&["get", "spl", "minimal", "-o", "jsonpath={.status}"], "");
        assert_eq!(explicit, r#"{"observedGeneration":-1}"#);
    });
}

#[test]
fn the_fullest_objects_come_back_as_they_were_sent() {
    bed::test(async |bed| {
        for (kind, plural) in [
            ("StreamPipeline", "streampipelines"),
            ("StreamWorker", "streamworkers"),
            ("StreamSplit", "streamsplits"),
            ("StreamLedger", "streamledgers"),
        ] {
            for sent in table::full(kind) {
                let name = sent["metadata"]["name"].as_str().unwrap().to_owned();
                let mut stored = bed.send("POST", &format!("{plural}?fieldValidation=Strict"), &sent).await.unwrap();
                if let Some(status) = sent.get("status") {
                    stored["status"] = status.clone();
                    stored = bed.send("PUT", &format!("{plural}/{name}/status?fieldValidation=Strict"), &stored).await.unwrap();
                }
                contains(&stored, &sent, &name);
                through_types(kind, &stored);
            }
        }
    });
}

/// All that was sent stands in what came back; what came besides is defaults and Kubernetes' own.
fn contains(stored: &Value, sent: &Value, at: &str) {
    match (stored, sent) {
        (Value::Object(stored), Value::Object(sent)) => {
            for (key, value) in sent {
                let there = stored.get(key).unwrap_or_else(|| panic!("{at}.{key} was lost"));
                contains(there, value, &format!("{at}.{key}"));
            }
        }
        (Value::Array(stored), Value::Array(sent)) => {
            assert_eq!(stored.len(), sent.len(), "{at}");
            stored.iter().zip(sent).enumerate().for_each(|(index, (stored, sent))| contains(stored, sent, &format!("{at}[{index}]")));
        }
        _ => assert_eq!(stored, sent, "{at}"),
    }
}

/// Our types read what the API server holds, and write it again without loss.
fn through_types(kind: &str, stored: &Value) {
    let mut stored = stored.clone();
    stored["metadata"].as_object_mut().unwrap().remove("managedFields");
    let again = match kind {
        "StreamPipeline" => serde_json::to_value(serde_json::from_value::<StreamPipeline>(stored.clone()).unwrap()),
        "StreamWorker" => serde_json::to_value(serde_json::from_value::<StreamWorker>(stored.clone()).unwrap()),
        "StreamSplit" => serde_json::to_value(serde_json::from_value::<StreamSplit>(stored.clone()).unwrap()),
        _ => serde_json::to_value(serde_json::from_value::<StreamLedger>(stored.clone()).unwrap()),
    };
    assert_eq!(again.unwrap(), stored);
}

#[test]
fn applying_the_same_twice_changes_nothing() {
    bed::test(async |bed| {
        for mut manifest in table::full("StreamPipeline").into_iter().chain([table::minimal()]) {
            // Nobody applies a status.
            manifest.as_object_mut().unwrap().remove("status");
            let text = manifest.to_string();
            let name = manifest["metadata"]["name"].as_str().unwrap();
            let version = || bed.kubectl(&["get", "spl", name, "-o", "jsonpath={.metadata.resourceVersion} {.metadata.generation}"], "");
            let created = bed.kubectl(&["apply", "-f", "-"], &text);
            let before = version();
            let again = bed.kubectl(&["apply", "-f", "-"], &text);
            assert!(created.contains("created") && again.contains("unchanged"), "{name}: {created}{again}");
            assert_eq!(version(), before, "{name}");
            let on_server = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
            bed.kubectl(&on_server, &text);
            let before = version();
            bed.kubectl(&on_server, &text);
            assert_eq!(version(), before, "{name}");
        }
    });
}

#[test]
fn two_managers_apply_their_own_parts() {
    bed::test(async |bed| {
        let pipelines = bed.api::<StreamPipeline>();
        let user = table::changed(
            &table::minimal(),
            json!({"/spec/outputs": [{"name": "one", "stdout": {}}, {"name": "two", "stdout": {}}], "/spec/replicas": null})
                .as_object()
                .unwrap(),
        );
        pipelines.patch("minimal", &PatchParams::apply("user"), &Patch::Apply(&user)).await.unwrap();
        let other = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamPipeline", "metadata": {"name": "minimal"},
            "spec": {"replicas": 3, "outputs": [{"name": "three", "file": {"path": "f"}}],
                "worker": {"env": [{"name": "A", "value": "1"}]}}});
        pipelines.patch("minimal", &PatchParams::apply("other"), &Patch::Apply(&other)).await.unwrap();
        let more = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamPipeline", "metadata": {"name": "minimal"},
            "spec": {"worker": {"env": [{"name": "B", "value": "2"}]}}});
        pipelines.patch("minimal", &PatchParams::apply("more"), &Patch::Apply(&more)).await.unwrap();
        // The user applies again what they always applied: what the others own stays.
        let both = pipelines.patch("minimal", &PatchParams::apply("user"), &Patch::Apply(&user)).await.unwrap();
        let names: Vec<_> = both.spec.outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(names, ["one", "two", "three"]);
        assert_eq!(both.spec.replicas, 3);
        assert_eq!(both.spec.worker.unwrap().env.unwrap().len(), 2);
        let stolen = json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamPipeline", "metadata": {"name": "minimal"},
            "spec": {"outputs": [{"name": "one", "stdout": {}, "emitWhen": "y"}], "replicas": 5}});
        let refused = pipelines.patch("minimal", &PatchParams::apply("thief"), &Patch::Apply(&stolen)).await.unwrap_err();
        assert!(bed::whole(&refused).contains("conflict"), "{}", bed::whole(&refused));
    });
}

#[test]
fn the_scale_subresource_reads_and_writes_replicas() {
    bed::test(async |bed| {
        let pipelines = bed.api::<StreamPipeline>();
        bed.send("POST", "streampipelines", &table::minimal()).await.unwrap();
        bed.kubectl(&["scale", "spl/minimal", "--replicas=4"], "");
        assert_eq!(pipelines.get("minimal").await.unwrap().spec.replicas, 4);
        let status = json!({"status": {"replicas": 2, "selector": "millrace.dev/pipeline=minimal"}});
        pipelines.patch_status("minimal", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
        let scale = pipelines.get_scale("minimal").await.unwrap();
        assert_eq!(scale.spec.unwrap().replicas, Some(4));
        let status = scale.status.unwrap();
        assert_eq!((status.replicas, status.selector.as_deref()), (2, Some("millrace.dev/pipeline=minimal")));
        let refused = bed.try_kubectl(&["scale", "spl/minimal", "--replicas=20000"], "");
        assert!(!refused.status.success(), "replicas have a bound");
    });
}

#[test]
fn status_is_written_apart_from_the_spec() {
    bed::test(async |bed| {
        let pipelines = bed.api::<StreamPipeline>();
        bed.send("POST", "streampipelines", &table::minimal()).await.unwrap();
        let before = pipelines.get("minimal").await.unwrap();
        let patch = json!({"status": {"observedGeneration": 1}, "spec": {"replicas": 9}});
        let after = pipelines.patch_status("minimal", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        assert_eq!(after.spec.replicas, 1);
        assert_eq!(after.meta().generation, before.meta().generation);
        let patch = json!({"status": {"observedGeneration": 7}, "spec": {"replicas": 2}});
        let after = pipelines.patch("minimal", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        assert_eq!((after.spec.replicas, after.status.unwrap().observed_generation), (2, Some(1)));
        assert_eq!(after.metadata.generation, Some(2));
    });
}

/// Positions and epochs must come back with a backup, which leaves every status out.
#[test]
fn records_of_splits_and_ledgers_stand_outside_status() {
    bed::test(async |bed| {
        for (kind, plural) in [("StreamSplit", "streamsplits"), ("StreamLedger", "streamledgers")] {
            let object = table::full(kind).remove(0);
            bed.send("POST", plural, &object).await.unwrap();
            let name = object["metadata"]["name"].as_str().unwrap();
            let text = bed.kubectl(&["get", plural, name, "-o", "json"], "");
            bed.kubectl(&["delete", plural, name], "");
            let mut saved: Value = serde_json::from_str(&text).unwrap();
            saved.as_object_mut().unwrap().remove("status");
            for field in ["uid", "resourceVersion", "creationTimestamp"] {
                saved["metadata"].as_object_mut().unwrap().remove(field);
            }
            bed.kubectl(&["create", "-f", "-"], &saved.to_string());
            let restored: Value = serde_json::from_str(&bed.kubectl(&["get", plural, name, "-o", "json"], "")).unwrap();
            assert_eq!(restored["record"], object["record"]);
        }
    });
}

#[test]
fn explain_reads_as_documentation() {
    bed::test(async |bed| {
        for (path, says) in [
            ("streampipeline", "What to read, the root to evaluate over it"),
            ("streampipeline.spec", "Only source, root and one output are required"),
            ("streampipeline.spec.root.inputs", "a JSON pointer (/sensor/temp)"),
            ("streampipeline.spec.source.kinesis.startAt.type", "TrimHorizon: At the oldest record there is."),
            ("streampipeline.spec.cutover.ackTimeout", "default 2m"),
            ("streampipeline.status.root.active", "The committed one"),
            ("streamworker.spec.root.stage", "Plan and compile it"),
            ("streamsplit.record.epoch", "it never falls"),
            ("streamledger.record.page", "compact JSON, deflated"),
        ] {
            let text = bed.kubectl(&["explain", path], "").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(says), "{path}: {text}");
        }
        let all = bed.kubectl(&["explain", "streampipeline.spec", "--recursive"], "");
        assert!(all.contains("topologySpreadConstraints"), "{all}");
    });
}

/// kubectl keeps what was applied in an annotation, and annotations end at 256 KiB.
#[test]
fn scenario_47_a_client_side_apply_of_the_definitions_works_twice() {
    bed::test(async |bed| {
        let crds = concat!(env!("CARGO_MANIFEST_DIR"), "/crds");
        let again = bed.kubectl(&["apply", "-f", crds], "");
        assert_eq!(again.matches("unchanged").count(), 4, "{again}");
    });
}

#[test]
fn the_example_of_the_readme_is_taken() {
    bed::test(async |bed| {
        bed.kubectl(&["apply", "-f", concat!(env!("CARGO_MANIFEST_DIR"), "/examples/turbines/pipeline.yaml")], "");
        let pipeline = bed.api::<StreamPipeline>().get("turbines").await.unwrap();
        assert!(pipeline.spec.root.inline.unwrap().contains("out alarm"));
        let made = StreamPipeline {
            metadata: kube::core::ObjectMeta { name: Some("copy".to_owned()), ..Default::default() },
            ..pipeline_of("turbines")
        };
        bed.api::<StreamPipeline>().create(&PostParams::default(), &made).await.unwrap();
    });
}

fn pipeline_of(name: &str) -> StreamPipeline {
    let text = std::fs::read_to_string(format!("{}/examples/{name}/pipeline.yaml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    millrace::api::manifest::read(text.as_bytes()).unwrap()
}
