//! `millrace operator`: the controller.
//!
//! Owns: its flags, its logs, the signals that end it.
//! May not: decide anything; `operator` does.

use super::CliError;
use crate::env::{self, Env};
use crate::operator::{self, Settings};
use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The namespaces whose pipelines it looks after, separated by commas; none: all.
    #[arg(long, env = "MILLRACE_NAMESPACES", value_delimiter = ',')]
    namespaces: Vec<String>,
    /// The namespace of the Lease by which replicas elect their leader.
    #[arg(long, env = "MILLRACE_LEADER_NAMESPACE", default_value = "default")]
    leader_namespace: String,
    /// The name of that Lease; two installations need two names.
    #[arg(long, env = "MILLRACE_LEADER_NAME", default_value = "millrace-operator")]
    leader_name: String,
    /// This replica's name.
    #[arg(long, env = "MILLRACE_POD_NAME", default_value = "millrace-operator")]
    identity: String,
    /// The image of workers where a pipeline names none.
    #[arg(long, env = "MILLRACE_WORKER_IMAGE")]
    worker_image: String,
    /// The port of /livez and /readyz.
    #[arg(long, env = "MILLRACE_METRICS_PORT", default_value_t = 9_090)]
    metrics_port: u16,
    /// What is logged, such as info or millrace=debug.
    #[arg(long, env = "MILLRACE_LOG", default_value = "info,kube=warn")]
    log: String,
    /// How logs are written.
    #[arg(long, env = "MILLRACE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Json)]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    /// One object a line.
    Json,
    /// For people.
    Text,
}

pub(super) fn run(arguments: Arguments) -> Result<(), CliError> {
    log(&arguments);
    env::run(|env| work(env, arguments))?
}

async fn work(env: Env, arguments: Arguments) -> Result<(), CliError> {
    let config = kube::Config::infer().await.map_err(|error| CliError::NoCluster(Box::new(error)))?;
    let client = operator::client(config)?;
    let settings = Settings {
        namespaces: arguments.namespaces.into_iter().filter(|namespace| !namespace.is_empty()).collect(),
        leader_namespace: arguments.leader_namespace,
        leader_name: arguments.leader_name,
        identity: arguments.identity,
        worker_image: arguments.worker_image,
        port: arguments.metrics_port,
    };
    Ok(operator::run(client, &env, settings, asked_to_stop()?).await?)
}

/// Completes when the process is asked to end.
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()> + Send> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        match select(pin!(terminate.recv()), pin!(interrupt.recv())).await {
            Either::Left(_) | Either::Right(_) => tracing::info!("asked to stop"),
        }
    })
}

/// A filter that cannot be read is said, and the default taken.
fn log(arguments: &Arguments) {
    let filter = EnvFilter::builder().parse_lossy(&arguments.log);
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // It fails only where a test has set one before.
    let _set = match arguments.log_format {
        LogFormat::Json => logs.json().try_init(),
        LogFormat::Text => logs.try_init(),
    };
}
