//! `millrace operator`: the controller.
//!
//! Owns: its flags.
//! May not: decide anything; `operator` does.

use super::{CliError, process};
use crate::env::{self, Env};
use crate::operator::{self, Settings};
use crate::telemetry::{self, LogFormat};

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
    /// The port of /livez, /readyz and /metrics.
    #[arg(long, env = "MILLRACE_METRICS_PORT", default_value_t = 9_090)]
    metrics_port: u16,
    /// What is logged, such as info or millrace=debug.
    #[arg(long, env = "MILLRACE_LOG", default_value = "info,kube=warn")]
    log: String,
    /// How logs are written.
    #[arg(long, env = "MILLRACE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Json)]
    log_format: LogFormat,
}

pub(super) fn run(arguments: Arguments) -> Result<(), CliError> {
    telemetry::log(&arguments.log, arguments.log_format);
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
    Ok(operator::run(client, &env, settings, process::asked_to_stop()?).await?)
}
