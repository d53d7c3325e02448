//! The controller: it checks pipelines, runs their pods, takes edits of the program to the workers, and says what holds.
//!
//! Owns: what the operator alone decides: workloads and rollouts, the cutover across workers, status and Events.
//! May not: move data, reach AWS, or read a Secret. Decisions are pure; only `controller`, `office` and `definitions` see a
//! client.
//!
//! What it and the workers agree on — names, labels, annotations, the settings of a pod, the text of a ledger page — stands
//! in `api::children`, `api::worker_settings` and `api::ledger_page`, and in `docs/operator.md`.

mod beats;
mod controller;
mod counts;
mod cutover;
mod definitions;
mod error;
mod office;
mod status;
mod validate;
mod workload;

pub use error::OperatorError;

use crate::env::{Env, first_of};
use crate::telemetry::{self, Health, Metrics};
use controller::Context;
use counts::Counts;
use kube::Client;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How an operator is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespaces whose pipelines it looks after; none: all.
    pub namespaces: Vec<String>,
    /// The namespace of the Lease by which replicas elect their leader.
    pub leader_namespace: String,
    /// Its name, which tells installations apart.
    pub leader_name: String,
    /// This replica's name, in Events.
    pub identity: String,
    /// The image of workers where a pipeline names none.
    pub worker_image: String,
    /// The port of health and metrics.
    pub port: u16,
}

/// Runs an operator until `stop` completes; then gives its office up.
///
/// # Errors
/// If the installed definitions lack fields of ours, or the port of health cannot be opened.
pub async fn run(client: Client, env: &Env, settings: Settings, stop: impl Future<Output = ()> + Send) -> Result<(), OperatorError> {
    definitions::check(&client).await?;
    let health = Health::new(env.clone());
    let (told, term) = watch::channel(None);
    let (halt, halted) = watch::channel(false);
    let place = office::Place { namespace: settings.leader_namespace.clone(), name: settings.leader_name.clone() };
    let beat = health.clone();
    let office = office::keep(client.clone(), env.clone(), place, (told, halted.clone()), move || beat.beat());
    let counts = Arc::new(Counts::default());
    let (counted, led) = (counts.clone(), term.clone());
    let metrics: Metrics = Arc::new(move || counted.metrics(led.borrow().is_some()));
    let served = telemetry::serve(health.clone(), metrics, settings.port);
    let serve = async { Ok(served.await?) };
    let context = Arc::new(Context::new((client, env.clone()), settings, term, counts));
    let work = futures::future::join(office, controller::run(context, health, halted));
    let work = async {
        work.await;
        Ok(())
    };
    // It says so, and leaves the end to those who work.
    let stopped = async {
        stop.await;
        halt.send_replace(true);
        std::future::pending::<()>().await;
    };
    let work = async { first_of(work, stopped).await.unwrap_or(Ok(())) };
    // The port ends only where it fails.
    match futures::future::select(Box::pin(work), Box::pin(serve)).await {
        futures::future::Either::Left((done, _)) | futures::future::Either::Right((done, _)) => done,
    }
}

/// A client whose calls are bounded: what fails is tried again by whoever made it, with waits that grow.
///
/// # Errors
/// If the configuration cannot be used.
pub fn client(mut config: kube::Config) -> Result<Client, OperatorError> {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    // Longer than a watch, which may have nothing to say.
    config.read_timeout = Some(READ);
    Client::try_from(config).map_err(OperatorError::cluster("the client of the API server cannot be made"))
}

const CONNECT: Duration = Duration::from_secs(10);
const READ: Duration = Duration::from_mins(4);
