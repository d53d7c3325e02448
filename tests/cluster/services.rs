//! The services that tests stand on: each answers, and can be broken where a test needs that.

use crate::bed::{self, eventually, whole};
use aws_sdk_dynamodb::types::{AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::{ShardIteratorType, StreamStatus};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{LogParams, PostParams};
use serde_json::json;

#[test]
fn kinesis_takes_records_and_gives_them_back_in_order() {
    bed::test(async |bed| {
        let (kinesis, stream) = (bed.kinesis(), bed.namespace());
        kinesis.create_stream().stream_name(stream).shard_count(1).send().await.unwrap();
        let shard = eventually("an active stream", async || {
            let summary = kinesis.describe_stream_summary().stream_name(stream).send().await.map_err(|error| whole(&error))?;
            let status = summary.stream_description_summary().unwrap().stream_status().clone();
            if status != StreamStatus::Active {
                return Err(status.to_string());
            }
            let shards = kinesis.list_shards().stream_name(stream).send().await.map_err(|error| whole(&error))?;
            Ok(shards.shards()[0].shard_id().to_owned())
        })
        .await;
        for number in 0..10 {
            kinesis.put_record().stream_name(stream).partition_key("k").data(Blob::new(number.to_string())).send().await.unwrap();
        }
        let iterator = kinesis.get_shard_iterator().stream_name(stream).shard_id(shard).shard_iterator_type(ShardIteratorType::TrimHorizon);
        let iterator = iterator.send().await.unwrap().shard_iterator.unwrap();
        let records = kinesis.get_records().shard_iterator(iterator).send().await.unwrap().records;
        let numbers: Vec<_> = records.iter().map(|record| String::from_utf8_lossy(record.data().as_ref()).into_owned()).collect();
        assert_eq!(numbers, (0..10).map(|number| number.to_string()).collect::<Vec<_>>());
        kinesis.delete_stream().stream_name(stream).send().await.unwrap();
    });
}

#[test]
fn dynamodb_refuses_a_write_whose_condition_does_not_hold() {
    bed::test(async |bed| {
        let dynamodb = bed.dynamodb().await;
        let id = || "id".to_owned();
        let attribute = AttributeDefinition::builder().attribute_name(id()).attribute_type(ScalarAttributeType::S).build().unwrap();
        let key = KeySchemaElement::builder().attribute_name(id()).key_type(KeyType::Hash).build().unwrap();
        let table = dynamodb.create_table().table_name("leases").attribute_definitions(attribute).key_schema(key);
        table.billing_mode(BillingMode::PayPerRequest).send().await.unwrap();
        let put = || {
            let put = dynamodb.put_item().table_name("leases").item("id", AttributeValue::S("shard".to_owned()));
            put.condition_expression("attribute_not_exists(id)").send()
        };
        put().await.unwrap();
        let refused = put().await.unwrap_err().into_service_error();
        assert!(refused.is_conditional_check_failed_exception(), "{refused}");
    });
}

#[test]
fn an_api_server_of_ones_own_can_be_killed_and_comes_back_with_what_it_held() {
    bed::own("killed", async |bed| {
        let maps = bed.api::<ConfigMap>();
        let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "kept"}, "data": {"a": "b"}})).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
        bed.kill("apiserver");
        eventually("the API server's end", async || match maps.get("kept").await {
            Err(kube::Error::Api(status)) => Err(status.to_string()),
            Err(_) => Ok(()),
            Ok(_) => Err("it still answers".to_owned()),
        })
        .await;
        bed.restart("apiserver");
        let found = eventually("the API server's return", async || maps.get("kept").await.map_err(|error| whole(&error))).await;
        assert_eq!(found.data, map.data);
    });
}

#[test]
fn a_pod_runs_and_resolves_names_of_the_cluster_and_of_the_bed() {
    bed::test(async |bed| {
        bed.import_image("bed.internal/busybox:1", &["--program", "/bin/busybox:/bin/busybox"]);
        let script =
            "for name in kubernetes.default.svc.cluster.local kinesis.bed.internal; do /bin/busybox nslookup $name || exit 1; done";
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "asks"},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "asks", "image": "bed.internal/busybox:1", "imagePullPolicy": "Never", "command": ["/bin/busybox", "sh", "-c", script],
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
                }],
            },
        }))
        .unwrap();
        let pods = bed.api::<Pod>();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        let phase = eventually("the pod's end", async || {
            let pod = pods.get("asks").await.map_err(|error| whole(&error))?;
            let status = pod.status.unwrap_or_default();
            let phase = status.phase.clone().unwrap_or_default();
            if phase == "Succeeded" || phase == "Failed" { Ok(phase) } else { Err(format!("{status:?}")) }
        })
        .await;
        let log = pods.logs("asks", &LogParams::default()).await.unwrap();
        assert_eq!(phase, "Succeeded", "{log}");
        assert!(log.contains("10.96.0.1") && log.contains("10.77.0.1"), "{log}");
    });
}
