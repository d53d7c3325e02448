//! `millrace run`: a pipeline on this machine.
//!
//! Owns: reading the file, the signals that end a run, the progress line, what is said at the end.
//! May not: evaluate or read records; `worker` does.

use super::{CliError, read, subject};
use crate::api::manifest;
use crate::env::{self, Env, first_of};
use crate::error::{Exit, Meaning};
use crate::program::{self, ProgramError};
use crate::runtime::{Counts, RuntimeError, Totals};
use crate::worker::{Local, LocalError, LocalReport, Places};
use std::future::pending;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file that holds the `StreamPipeline`; - for the standard input.
    file: PathBuf,
    /// Reads these records in place of the pipeline's source: a file, a folder of files, or - for the standard input. A
    /// line is a record, and has no partition key.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Prints neither progress nor counts.
    #[arg(long)]
    quiet: bool,
}

const IS_ROOT: &str = "a root by itself: run takes a pipeline, which says what is read and where rows go; `millrace trace ROOT RECORDS` \
    evaluates a root over records";

/// How often the progress line changes.
const PROGRESS: Duration = Duration::from_millis(500);

pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let file = &arguments.file;
    if subject::is_root(file) {
        return Err(CliError::OtherFile(file.clone(), IS_ROOT));
    }
    let bytes = read(file).map_err(|error| CliError::Unreadable(file.clone(), error))?;
    let pipeline = manifest::read(&bytes).map_err(|error| CliError::Manifest(file.clone(), error))?;
    let Some(text) = &pipeline.spec.root.inline else {
        let elsewhere = pipeline.spec.root.config_map_ref.map(|at| at.name).unwrap_or_default();
        return Err(CliError::Revision(file.clone(), crate::api::revision::RevisionError::TextMissing(elsewhere)));
    };
    let loaded = program::load(&pipeline.spec, text).map_err(|error| match &error {
        // Its places count the root's lines, not the file's.
        ProgramError::Root(_) => CliError::program(subject::place_in(&file.display().to_string()).into(), error),
        _ => CliError::program(file.clone(), error),
    })?;
    let report = env::run(async |env| {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let local = Local::new(&env, &pipeline.spec, loaded, &folder, arguments.input.as_deref()).await;
        let local = local.map_err(|error| CliError::Local(file.clone(), text.as_str().into(), Box::new(error)))?;
        Ok::<_, CliError>(watched(&env, local, folder, arguments.quiet).await)
    })?;
    let LocalReport { counts, result } = report?;
    if !arguments.quiet {
        summary(&counts, &mut std::io::stderr().lock())?;
    }
    result.map_err(|error| CliError::Local(file.clone(), text.as_str().into(), Box::new(error)))
}

/// Runs it, with a progress line where somebody sees one, until it ends or a signal does.
async fn watched(env: &Env, local: Local, folder: PathBuf, quiet: bool) -> LocalReport {
    let (stopper, stop) = watch::channel(false);
    let places = Places { folder, stdout: Box::new(|| Box::new(std::io::stdout())) };
    let totals = local.totals();
    // Rows on the same terminal would tear the line to pieces.
    let shown = !quiet && std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
    let beside = async {
        let progress = async {
            if shown {
                progress(env, &totals).await;
            }
            pending::<()>().await;
        };
        first_of(progress, signals(&stopper, shown)).await;
    };
    let report = first_of(local.run(&places, stop), beside).await;
    if shown {
        erase();
    }
    // The other side never ends.
    report.unwrap_or(LocalReport { counts: Counts::default(), result: Err(LocalError::LoopGone) })
}

/// The first signal ends the run cleanly, the second at once. It never completes.
async fn signals(stopper: &watch::Sender<bool>, shown: bool) {
    let mut signals = Signals::listen();
    signals.next().await;
    stopper.send_replace(true);
    if shown {
        erase();
    }
    say("ending: what was read is evaluated and delivered first; once more to end at once\n");
    signals.next().await;
    std::process::exit(130);
}

/// Ctrl-C and SIGTERM, from one moment on: none is lost between two looks.
#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // Where no handler can be had, the signal ends the process by itself.
        Self([SignalKind::interrupt(), SignalKind::terminate()].into_iter().filter_map(|kind| signal(kind).ok()).collect())
    }

    async fn next(&mut self) {
        std::future::poll_fn(|cx| {
            let came = self.0.iter_mut().any(|signal| matches!(signal.poll_recv(cx), std::task::Poll::Ready(Some(()))));
            if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    const fn listen() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Where no handler can be had, the signal ends the process by itself.
            pending::<()>().await;
        }
    }
}

/// Draws the line over and over. It never completes.
async fn progress(env: &Env, totals: &Arc<Totals>) {
    let mut before = (env.clock().monotonic(), 0);
    loop {
        env.clock().sleep(PROGRESS).await;
        let (now, counts) = (env.clock().monotonic(), totals.read());
        let rate = rate(counts.records.saturating_sub(before.1), now.saturating_sub(before.0));
        before = (now, counts.records);
        say(&format!("\r\x1b[K{}", line(&counts, rate)));
    }
}

fn line(counts: &Counts, rate: u64) -> String {
    let (records, keys, errors) = (many(counts.records, "record"), many(counts.keys, "key"), many(counts.errors(), "error"));
    format!("{records}, {} a second, {keys}, {errors}", grouped(rate))
}

fn rate(records: u64, span: Duration) -> u64 {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    records.saturating_mul(1_000).checked_div(millis).unwrap_or(0)
}

fn erase() {
    say("\r\x1b[K");
}

/// Progress is a courtesy: where it cannot be shown, the run goes on.
fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _unshown = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// What was counted, in words; what was not, is not mentioned.
fn summary(counts: &Counts, out: &mut impl Write) -> std::io::Result<()> {
    let (records, keys, rows) = (many(counts.records, "record"), many(counts.keys, "key"), many(counts.rows, "row"));
    writeln!(out, "{records} of {keys} made {rows}.")?;
    let further = [
        (counts.skipped, "record", "did not decode: skipped"),
        (counts.undecodable, "record", "did not decode: sent to the dead letters"),
        (counts.too_far_ahead, "record", "of those, for a time too far ahead of the arrival"),
        (counts.failed_keys, "key", "failed"),
        (counts.failed_records, "record", "of failed keys sent to the dead letters"),
        (counts.duplicate_names, "name", "stood twice in an object: the last counted"),
        (counts.not_finite, "float", "infinite or NaN: written as null"),
        (counts.window_ignored, "value", "older than the window: ignored"),
        (counts.window_evicted, "value", "left a full window early"),
    ];
    for (count, what, became) in further.into_iter().filter(|(count, ..)| *count > 0) {
        writeln!(out, "  {} {became}.", many(count, what))?;
    }
    Ok(())
}

/// So many of something.
fn many(number: u64, what: &str) -> String {
    let number_of = grouped(number);
    if number == 1 { format!("{number_of} {what}") } else { format!("{number_of} {what}s") }
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What an error of a run says: with the place in the root where there is one.
pub(super) fn told(file: &Path, text: &str, error: &LocalError) -> String {
    let file = file.display();
    match error {
        LocalError::Runtime(RuntimeError::Tick { failure, .. }) => {
            let (line, column) = failure.place(text);
            format!("{file} spec.root.inline:{line}:{column}: {error}")
        }
        _ => format!("{file}: {error}"),
    }
}

/// What lets a run go on, where a record ended it.
pub(super) const fn way_on(error: &LocalError) -> Option<&'static str> {
    match error {
        LocalError::Runtime(RuntimeError::Record { .. }) => {
            Some("set `source.format.onUndecodable` to `Skip`, or to `DeadLetter` with a place in `failure.deadLetter`.")
        }
        _ => None,
    }
}

/// What a run that did not get to its end exits with.
pub(super) fn exit(error: &LocalError) -> Exit {
    match error {
        // As of any other file that is named and cannot be read.
        LocalError::Source(_) => Exit::Usage,
        _ => error.exit(),
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, line, rate, summary};
    use crate::runtime::Counts;
    use std::time::Duration;

    #[test]
    fn numbers_are_grouped_and_the_line_says_what_was_done() {
        assert_eq!([0, 12, 999, 1_000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
        let counts = Counts { records: 12_000, keys: 40, skipped: 3, ..Counts::default() };
        assert_eq!(line(&counts, rate(500, Duration::from_millis(250))), "12,000 records, 2,000 a second, 40 keys, 3 errors");
    }

    #[test]
    fn the_summary_leaves_out_what_did_not_happen() {
        let mut text = Vec::new();
        summary(&Counts { records: 3, keys: 1, rows: 2, skipped: 1, ..Counts::default() }, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "3 records of 1 key made 2 rows.\n  1 record did not decode: skipped.\n");
    }
}
