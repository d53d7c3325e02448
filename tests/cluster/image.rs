//! The image: laid out as the Dockerfile says, and good enough for a restricted pod.

use crate::bed::{self, within};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{LogParams, PostParams};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn make(folder: &Path) -> PathBuf {
    let archive = folder.join("image.tar");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bed/millrace-image");
    let made = Command::new(script).arg(&archive).args(["bed.internal/millrace:1", env!("CARGO_BIN_EXE_millrace")]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    archive
}

fn member(archive: &Path, name: &str) -> Vec<u8> {
    Command::new("tar").arg("-xOf").args([archive, Path::new(name)]).output().unwrap().stdout
}

/// What an instruction of the Dockerfile's last stage says.
fn dockerfile(word: &str) -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Dockerfile")).unwrap();
    let said = text.lines().rev().find_map(|line| line.strip_prefix(word)).unwrap_or_else(|| panic!("no {word}"));
    said.trim().to_owned()
}

#[test]
fn the_beds_image_is_laid_out_as_the_dockerfile_says() {
    let folder = tempfile::tempdir().unwrap();
    let archive = make(folder.path());
    let config: Value = serde_json::from_slice(&member(&archive, "config.json")).unwrap();
    assert_eq!(config["config"]["User"], dockerfile("USER"));
    assert_eq!(config["config"]["Entrypoint"].to_string(), dockerfile("ENTRYPOINT"));
    std::fs::write(folder.path().join("layer0.tar"), member(&archive, "layer0.tar")).unwrap();
    let place = dockerfile("COPY").rsplit_once(' ').unwrap().1.to_owned();
    let held = member(&folder.path().join("layer0.tar"), place.trim_start_matches('/'));
    assert!(held == std::fs::read(env!("CARGO_BIN_EXE_millrace")).unwrap(), "{place} is not the program");
    assert!(!member(&folder.path().join("layer0.tar"), "etc/ssl/certs/ca-certificates.crt").is_empty());
}

#[test]
fn a_restricted_pod_runs_the_image_without_naming_a_user_or_a_command() {
    bed::test(async |bed| {
        bed.import_millrace("bed.internal/millrace:version");
        bed.kubectl(&["label", "namespace", bed.namespace(), "pod-security.kubernetes.io/enforce=restricted"], "");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "says"},
            "spec": {
                "restartPolicy": "Never",
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "says", "image": "bed.internal/millrace:version", "imagePullPolicy": "Never", "args": ["--version"],
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
                }],
            },
        }))
        .unwrap();
        let pods = bed.api::<Pod>();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        within(std::time::Duration::from_mins(2), "the pod's end", async || {
            let status = pods.get("says").await.map_err(|error| bed::whole(&error))?.status.unwrap_or_default();
            if status.phase.as_deref() == Some("Succeeded") { Ok(()) } else { Err(format!("{status:?}")) }
        })
        .await;
        let said = pods.logs("says", &LogParams::default()).await.unwrap();
        assert_eq!(said.trim(), format!("millrace {}", env!("CARGO_PKG_VERSION")));
    });
}
