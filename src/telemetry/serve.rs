//! The port on which a process says it: `/livez`, `/readyz`, `/metrics`.

use super::health::Health;
use super::metric::{Metric, text};
use crate::error::{Code, Meaning, Retry};
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use std::future::ready;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Makes the metrics of this moment; it does not wait.
pub type Metrics = Arc<dyn Fn() -> Vec<Metric> + Send + Sync>;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// A port cannot be opened, or fails.
    #[error("the port {0} of health and metrics cannot be used")]
    Port(u16, #[source] std::io::Error),
}

impl Meaning for TelemetryError {
    fn code(&self) -> Code {
        Code::OUTPUT_FAILED
    }

    fn retry(&self) -> Retry {
        Retry::Never
    }
}

/// Says all three until dropped.
///
/// # Errors
/// If the port cannot be opened, or fails.
pub async fn serve(health: Health, metrics: Metrics, port: u16) -> Result<(), TelemetryError> {
    // The first is both on most machines; some have no IPv6.
    let any = [SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))];
    let listener = TcpListener::bind(any.as_slice()).await.map_err(|error| TelemetryError::Port(port, error))?;
    axum::serve(listener, router(&health, metrics)).await.map_err(|error| TelemetryError::Port(port, error))
}

fn router(health: &Health, metrics: Metrics) -> Router {
    let (lives, is_ready) = (health.clone(), health.clone());
    Router::new()
        .route("/livez", get(move || ready(answer(lives.lives()))))
        .route("/readyz", get(move || ready(answer(is_ready.is_ready()))))
        .route("/metrics", get(move || ready(([(CONTENT_TYPE, OPEN_METRICS)], text(&metrics())))))
}

fn answer(good: bool) -> (StatusCode, &'static str) {
    if good { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not yet\n") }
}

#[cfg(test)]
mod tests {
    use super::{Health, Metric, Metrics, router, serve};
    use crate::env::Simulation;
    use crate::telemetry::Value;
    use futures::future::{Either, select};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::pin::pin;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn metrics() -> Metrics {
        Arc::new(|| vec![Metric::gauge("splits", "Splits held.").is(Value::Whole(3))])
    }

    #[tokio::test]
    async fn the_port_says_life_readiness_and_metrics_and_takes_no_commands() {
        let health = Health::new(Simulation::new(1).env());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = axum::serve(listener, router(&health, metrics()));
        let asking = async {
            assert!(ask(port, "GET /livez").await.starts_with("HTTP/1.1 200 "));
            assert!(ask(port, "GET /readyz").await.starts_with("HTTP/1.1 503 "));
            health.ready(true);
            assert!(ask(port, "GET /readyz").await.starts_with("HTTP/1.1 200 "));
            let said = ask(port, "GET /metrics").await;
            assert!(said.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"), "{said}");
            assert!(said.ends_with("\r\n\r\n# TYPE splits gauge\n# HELP splits Splits held.\nsplits 3\n# EOF\n"), "{said}");
            assert!(ask(port, "POST /readyz").await.starts_with("HTTP/1.1 405 "));
            assert!(ask(port, "GET /").await.starts_with("HTTP/1.1 404 "));
        };
        let Either::Left(((), _)) = select(pin!(asking), pin!(served.into_future())).await else { panic!("the port has ended") };
    }

    #[tokio::test]
    async fn a_port_that_another_has_is_an_error_with_its_number() {
        let taken = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = serve(Health::new(Simulation::new(1).env()), metrics(), port).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the port {port} of health and metrics cannot be used"));
    }
}
