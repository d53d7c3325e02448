//! The port.

use super::health::Health;
use super::metrics::{Family, render};
use crate::error::{Code, Meaning};
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::net::TcpListener;

/// The type of the text of metrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Why there is no port.
#[derive(Debug, thiserror::Error)]
#[error("port {port} for /livez, /readyz and /metrics cannot be opened: {error}")]
pub struct TelemetryError {
    port: u16,
    error: std::io::Error,
}

impl Meaning for TelemetryError {
    fn code(&self) -> Code {
        Code::OUTPUT_FAILED
    }
}

/// Serves all three until dropped.
///
/// # Errors
/// If the port cannot be opened.
pub async fn serve(
    health: Health,
    port: u16,
    metrics: impl Fn() -> Vec<Family> + Clone + Send + Sync + 'static,
) -> Result<(), TelemetryError> {
    let failed = |error| TelemetryError { port, error };
    let listener = TcpListener::bind(("0.0.0.0", port)).await.map_err(failed)?;
    let (lives, ready) = (health.clone(), health);
    let router = Router::new()
        .route("/livez", get(move || std::future::ready(answer(lives.lives()))))
        .route("/readyz", get(move || std::future::ready(answer(ready.is_ready()))))
        .route("/metrics", get(move || std::future::ready(([(CONTENT_TYPE, OPEN_METRICS)], render(&metrics())))));
    axum::serve(listener, router).await.map_err(failed)
}

fn answer(good: bool) -> (StatusCode, &'static str) {
    if good { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not yet\n") }
}
