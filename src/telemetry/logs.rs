//! Logs: what is written, and how.

use tracing_subscriber::EnvFilter;

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One object a line.
    Json,
    /// For people.
    Text,
}

/// Writes what passes the filter (such as `info` or `warn,millrace=debug`) to the standard error, from now on. What cannot
/// be read in a filter is said there, and left out.
pub fn log(filter: &str, format: LogFormat) {
    let filter = EnvFilter::builder().parse_lossy(filter);
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // It fails only where a test has set one before.
    let _set = match format {
        LogFormat::Json => logs.json().try_init(),
        LogFormat::Text => logs.try_init(),
    };
}
