//! A copy of a kind's objects, kept by list and watch. All it tells are hints: late, repeated, out of order.

use super::store::{Hint, Key, Kind, Store, StoreError, Watch, list_all};
use crate::env::{Env, Work};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Follows a kind.
pub(super) struct Mirror {
    pub(super) env: Env,
    pub(super) store: Arc<dyn Store>,
    pub(super) kind: Kind,
    /// From one whole list to the next.
    pub(super) resync: Duration,
    /// Until the next try after a failure.
    pub(super) pause: Duration,
}

impl Mirror {
    /// Follows on and on; `told` takes what is new and answers whether to go on.
    pub(super) async fn run(self, told: impl Fn(Vec<Hint>) -> bool + Send) {
        let mut known = BTreeSet::new();
        while told(Vec::new()) {
            if self.follow(&mut known, &told).await.is_err() {
                self.env.clock().sleep(self.pause).await;
            }
        }
    }

    async fn follow(&self, known: &mut BTreeSet<Key>, told: &(impl Fn(Vec<Hint>) -> bool + Send)) -> Result<(), StoreError> {
        let (objects, cursor) = list_all(&*self.store, self.kind).await?;
        let listed: BTreeSet<Key> = objects.iter().map(|(key, _)| key.clone()).collect();
        // A list does not say what was deleted.
        let gone = known.difference(&listed).map(|key| Hint { key: key.clone(), known: None });
        let mut hints: Vec<Hint> = gone.collect();
        hints.extend(objects.into_iter().map(|(key, object)| Hint { key, known: Some(object) }));
        *known = listed;
        let mut watch = self.store.watch(self.kind, cursor);
        let mut timer = self.env.clock().sleep(self.resync);
        while told(hints) {
            match until(&mut *watch, &mut timer).await? {
                None => return Ok(()),
                Some(new) => hints = new,
            }
            known.extend(hints.iter().map(|hint| hint.key.clone()));
        }
        Ok(())
    }
}

/// The next changes; none: it is time for a whole list.
async fn until(watch: &mut dyn Watch, timer: &mut Work) -> Result<Option<Vec<Hint>>, StoreError> {
    let mut next = watch.next();
    std::future::poll_fn(|context| match next.as_mut().poll(context) {
        Poll::Ready(hints) => Poll::Ready(hints.map(Some)),
        Poll::Pending => timer.as_mut().poll(context).map(|()| Ok(None)),
    })
    .await
}
