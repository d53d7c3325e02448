//! A process of the program under test, whose log is kept and told when the test fails.

use crate::bed::{Bed, within};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// What a failing test tells of each log.
const TOLD: usize = 12_000;

/// A process in the bed's network.
pub(super) struct Process {
    name: String,
    child: Child,
    log: tempfile::NamedTempFile,
    pub(super) port: u16,
}

impl Process {
    /// Starts it with a port of its own for health and metrics.
    pub(super) fn start(bed: &Bed, name: &str, command: impl FnOnce(&mut Command, u16)) -> Self {
        let log = tempfile::NamedTempFile::new().unwrap();
        let port = free_port();
        let mut start = Command::new(env!("CARGO_BIN_EXE_millrace"));
        start.env("KUBECONFIG", bed.kubeconfig()).env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        command(&mut start, port);
        let child = start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.reopen().unwrap()).spawn().unwrap();
        Self { name: name.to_owned(), child, log, port }
    }

    /// All that it has said.
    pub(super) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log.path()).unwrap_or_default()).into_owned()
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self, limit: Duration) -> ExitStatus {
        let name = self.name.clone();
        within(limit, &format!("the end of {name}"), async || self.child.try_wait().unwrap().ok_or_else(|| "it runs".to_owned())).await
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it as a crash does.
    pub(super) fn crash(&mut self) {
        self.signal(Signal::SIGKILL);
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{} had ended by itself: {}", self.name, self.log());
    }

    /// Ends it as Kubernetes does; it must end well, and by itself.
    pub(super) async fn stop(&mut self, limit: Duration) {
        self.signal(Signal::SIGTERM);
        let status = self.ended(limit).await;
        assert_eq!(status.code(), Some(0), "{}: {status}", self.name);
    }
}

#[expect(clippy::print_stderr, reason = "it is part of how a test fails")]
impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already is not there to be killed.
        let _gone = self.child.kill();
        let _status = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let from = log.len().saturating_sub(TOLD);
            let from = (from..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(0);
            eprintln!("--- {} said at last:\n{}", self.name, &log[from..]);
        }
    }
}

/// Below the ports that the kernel gives away.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(21_000);
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}
