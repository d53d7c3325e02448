//! What every fetcher is started with.

use super::places::Places;
use super::queue::QueueLimits;
use tokio::sync::watch;

/// What every fetcher is started with.
#[derive(Debug)]
pub struct Fetching {
    /// How much may be fetched ahead.
    pub limits: QueueLimits,
    /// Once it says so, or its sender is gone, no more is fetched: the lane ends behind what it has.
    pub stop: watch::Receiver<bool>,
    /// Where the fetcher notes what it has sent.
    pub places: Places,
}

impl Fetching {
    /// Completes once no more is to be fetched.
    pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
        // An error is a sender that is gone: the same.
        drop(stop.wait_for(|stop| *stop).await);
    }
}
