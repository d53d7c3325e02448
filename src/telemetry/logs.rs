//! Logs of processes that serve: one line an event, on the standard error.

use tracing_subscriber::EnvFilter;

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One object a line.
    Json,
    /// For people.
    Text,
}

/// Logs what the filter lets through, such as `info,kube=warn`, from now on. A part of it that cannot be read is said, and
/// left out.
pub fn log(filter: &str, format: LogFormat) {
    let filter = EnvFilter::builder().parse_lossy(filter);
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // It fails only where a test has set one before.
    let _set = match format {
        LogFormat::Json => logs.json().try_init(),
        LogFormat::Text => logs.try_init(),
    };
}
