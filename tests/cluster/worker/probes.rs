//! What a worker says on its port, and how it ends while it starts.

use super::fleet::{Fleet, SOON, root};
use super::process::Process;
use crate::bed::{self, within};
use millrace::api::children;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// The status and the body of a GET; none: nobody listens.
fn get(process: &Process, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", process.port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: worker\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

async fn answers(process: &Process, path: &str, wanted: u16) -> String {
    within(SOON, &format!("{wanted} of {path}"), async || match get(process, path) {
        Some((status, body)) if status == wanted => Ok(body),
        other => Err(format!("{other:?}")),
    })
    .await
}

#[test]
fn probes_and_metrics_answer_and_a_worker_is_ready_once_it_may_claim() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let mut worker = fleet.worker(0).await;
        let (feeder, reader) = (fleet.feeder(0), fleet.reader());
        answers(&worker, "/readyz", 200).await;
        answers(&worker, "/livez", 200).await;
        super::fleet::all_came(&reader, feeder.fed()).await;
        let fed = feeder.stop();
        super::fleet::all_came(&reader, fed).await;
        let metrics = answers(&worker, "/metrics", 200).await;
        let counted = metrics.lines().find_map(|line| line.strip_prefix("millrace_records_total "));
        assert_eq!(counted, Some(&*fed.to_string()), "{metrics}");
        assert!(metrics.contains("millrace_splits 2") && metrics.ends_with("# EOF\n"), "{metrics}");
        worker.stop(super::fleet::STOPPED).await;
        fleet.end().await;
    });
}

#[test]
fn a_worker_that_has_not_joined_lives_is_not_ready_and_ends_at_once_when_asked() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 1, 2).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let settings = fleet.settings(0).await;
        // Nobody listens there.
        let config = bed.kubeconfig();
        let config = std::fs::read_to_string(config).unwrap();
        let deaf = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(deaf.path(), config.replace(":6443", ":6444")).unwrap();
        let mut worker = Process::start(bed, "a worker without an API server", |command, port| {
            let mut settings = settings.clone();
            settings["metricsPort"] = port.into();
            command.arg("worker").env(children::SETTINGS_VARIABLE, settings.to_string()).env("KUBECONFIG", deaf.path());
            command.env(children::POD_NAME_VARIABLE, "fleet-worker-0").env(children::POD_UID_VARIABLE, "none");
            command.env(children::POD_NAMESPACE_VARIABLE, bed.namespace());
        });
        answers(&worker, "/livez", 200).await;
        answers(&worker, "/readyz", 503).await;
        worker.stop(Duration::from_secs(3)).await;
        fleet.end().await;
    });
}
