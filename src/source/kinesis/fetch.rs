//! A tenancy's fetcher: a task that reads its shard into its lane's queue, until the end or until it is told to stop.

use super::reader::{Outcome, Reader};
use super::tenancy::{Intake, Tenancy};
use crate::env::first_of;
use crate::source::queue::Feeder;
use std::sync::Arc;

/// Reads until the shard ends, it cannot be read, or the tenancy is over. The queue ends with it.
pub(super) async fn run(tenancy: Arc<Tenancy>, mut reader: Reader, feeder: Feeder) {
    let outcome = attempt(&tenancy, &mut reader, &feeder).await;
    match outcome {
        Some(Outcome::End(children)) => tenancy.finish(children),
        Some(Outcome::Failed(error)) => feeder.fail(error),
        Some(Outcome::LaneGone | Outcome::Stopped) | None => {}
    }
    tenancy.rest();
}

/// None: the tenancy is over.
async fn attempt(tenancy: &Tenancy, reader: &mut Reader, feeder: &Feeder) -> Option<Outcome> {
    let mut intake = tenancy.watch();
    loop {
        if *intake.borrow_and_update() == Intake::Closed {
            return None;
        }
        if tenancy.begin() {
            let stopped = async {
                // The tenancy holds the sender: it is never gone before this.
                drop(intake.wait_for(|intake| *intake != Intake::Open).await);
            };
            match first_of(Box::pin(reader.read_on(feeder)), stopped).await {
                None | Some(Outcome::Stopped) => reader.interrupted(),
                outcome => return outcome,
            }
            tenancy.rest();
        } else if intake.changed().await.is_err() {
            return None;
        }
    }
}
