//! The fake is a Kinesis: `tests/cluster/kinesis.rs` holds a stand-in to the same.

use super::{HOUR, simulate};
use crate::fake_kinesis::Fake;
use crate::kinesis_suite::{Stage, all};
use millrace::env::Env;
use millrace::kinesis::Service;
use std::sync::Arc;
use std::time::Duration;

struct Simulated(Env, Arc<Fake>);

impl Stage for Simulated {
    fn service(&self) -> &dyn Service {
        &*self.1
    }

    async fn split(&self, shard: &str) {
        self.1.split(shard);
    }

    async fn merge(&self, one: &str, other: &str) {
        self.1.merge(one, other);
    }

    async fn pause(&self, span: Duration) {
        self.0.clock().sleep(span).await;
    }
}

#[test]
fn the_fake_does_what_the_service_does() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 4);
        fake.set_pages(3, 7);
        env.clock().sleep(Duration::from_secs(10)).await;
        all(&Simulated(env, fake)).await;
    });
}
