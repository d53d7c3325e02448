//! `millrace worker`: what runs in a worker's pod.
//!
//! Owns: what the pod hands to it, its logs, the signals that end it, its last words.
//! May not: decide anything; `worker` does.

use super::process::asked_to_stop;
use super::{CliError, explained};
use crate::api::children::{POD_NAME_VARIABLE, POD_NAMESPACE_VARIABLE, POD_UID_VARIABLE, SETTINGS_VARIABLE};
use crate::api::pipeline::LogLevel;
use crate::api::worker_settings::WorkerSettings;
use crate::env::{self, Env};
use crate::telemetry::{LogFormat, log};
use crate::worker::{self, Places, Whoami};
use std::fs::OpenOptions;
use std::io::Write;

/// Where Kubernetes reads a container's last words, unless its spec says otherwise.
const LAST_WORDS: &str = "/dev/termination-log";

/// All of it is set by the operator.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The settings, as JSON.
    #[arg(long, env = SETTINGS_VARIABLE, hide_env_values = true)]
    settings: String,
    /// The pod's namespace.
    #[arg(long, env = POD_NAMESPACE_VARIABLE)]
    namespace: String,
    /// The pod's name.
    #[arg(long, env = POD_NAME_VARIABLE)]
    name: String,
    /// The pod's uid.
    #[arg(long, env = POD_UID_VARIABLE)]
    uid: String,
}

pub(super) fn run(arguments: Arguments) -> Result<(), CliError> {
    let done = started(arguments);
    if let Err(error) = &done {
        last_words(&explained(error));
    }
    done
}

fn started(arguments: Arguments) -> Result<(), CliError> {
    let settings = WorkerSettings::read(&arguments.settings).map_err(CliError::Settings)?;
    log(&format!("warn,millrace={}", level(settings.log_level)), LogFormat::Json);
    let whoami = Whoami { namespace: arguments.namespace, name: arguments.name, uid: arguments.uid };
    env::run(|env| work(env, settings, whoami))?
}

async fn work(env: Env, settings: WorkerSettings, whoami: Whoami) -> Result<(), CliError> {
    let stop = asked_to_stop()?;
    let config = kube::Config::infer().await.map_err(|error| CliError::NoCluster(Box::new(error)))?;
    let places = Places { folder: "/".into(), stdout: Box::new(|| Box::new(std::io::stdout())) };
    worker::work(&env, (config, whoami), settings, places, stop).await.map_err(|error| CliError::Worker(Box::new(error)))
}

fn level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    }
}

/// Tells Kubernetes why this ends, where it listens.
fn last_words(words: &str) {
    // Outside a container there is no such file, and it is not made.
    if let Ok(mut file) = OpenOptions::new().write(true).open(LAST_WORDS) {
        let _told = file.write_all(words.as_bytes());
    }
}
