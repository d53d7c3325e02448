//! What the commands have in common that run until they are told to stop.

use futures::future::select;
use std::future::Future;
use std::pin::pin;
use tokio::signal::unix::{SignalKind, signal};

/// Completes when the process is asked to end, by SIGTERM or SIGINT.
pub(super) fn asked_to_stop() -> std::io::Result<impl Future<Output = ()> + Send> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        select(pin!(terminate.recv()), pin!(interrupt.recv())).await;
        tracing::info!("asked to stop");
    })
}
