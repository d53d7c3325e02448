//! A watch: hints, from a list on.

use super::calls::Server;
use super::fault::{self, Fault};
use super::place::WATCH;
use crate::coordination::store::{Answer, Cursor, Hint, Kind, Known, StoreError, Watch};
use crate::env::first_of;
use futures_core::Stream;
use kube::api::{DynamicObject, WatchEvent};
use kube::core::ObjectMeta;
use std::pin::Pin;
use std::time::Duration;

/// A watch that is still open so long after its end, and says nothing, is on a connection that nobody holds.
const LATE: Duration = Duration::from_secs(WATCH as u64 + 20);

/// Between two watches of which the first has ended at once.
const PAUSE: Duration = Duration::from_secs(1);

type Events = Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<DynamicObject>>> + Send>>;

/// A watch that goes on by itself when the API server ends it in good order.
pub(super) struct Following {
    server: Server,
    kind: Kind,
    /// The last revision that was seen.
    after: Option<String>,
    events: Option<Events>,
    /// Whether this stream of events has brought anything.
    fruitful: bool,
}

impl Following {
    pub(super) fn new(server: Server, kind: Kind, after: &Cursor) -> Self {
        Self { server, kind, after: Some(after.0.to_string()), events: None, fruitful: true }
    }

    async fn open(&mut self) -> Result<(), StoreError> {
        let Some(after) = self.after.clone() else {
            return Err(StoreError::NotWritten("the watch is over: list again".into()));
        };
        if !self.fruitful {
            self.server.env.clock().sleep(PAUSE).await;
        }
        let (api, params) = (self.server.api(self.kind), self.server.place.watch(self.kind));
        let events = self.server.reading(api.watch(&params, &after)).await.map_err(Fault::into_error)?;
        self.events = Some(Box::pin(events));
        self.fruitful = false;
        Ok(())
    }

    async fn hint(&mut self) -> Result<Hint, StoreError> {
        loop {
            let Some(events) = &mut self.events else {
                self.open().await?;
                continue;
            };
            let next = std::future::poll_fn(|context| events.as_mut().poll_next(context));
            let late = || StoreError::NotWritten("nothing is heard of the watch".into());
            match first_of(next, self.server.env.clock().sleep(LATE)).await.ok_or_else(late)? {
                None => self.events = None,
                Some(event) => {
                    let event = event.map_err(|error| fault::of(&error, false).into_error())?;
                    self.fruitful = true;
                    if let Some(hint) = self.take(event)? {
                        return Ok(hint);
                    }
                }
            }
        }
    }

    fn take(&mut self, event: WatchEvent<DynamicObject>) -> Result<Option<Hint>, StoreError> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.reach(&object.metadata);
                let Some(key) = self.server.place.key(self.kind, &object.metadata) else { return Ok(None) };
                if self.server.place.waits_for(&key, &object.metadata).is_some() {
                    return Ok(None);
                }
                let known = Known { revision: super::revision(&object)?, record: super::read(self.kind, &object)? };
                Ok(Some(Hint { key, known: Some(known) }))
            }
            WatchEvent::Deleted(object) => {
                self.reach(&object.metadata);
                let key = self.server.place.key(self.kind, &object.metadata);
                Ok(key.map(|key| Hint { key, known: None }))
            }
            WatchEvent::Bookmark(mark) => {
                self.after = Some(mark.metadata.resource_version);
                Ok(None)
            }
            WatchEvent::Error(status) => Err(fault::of(&kube::Error::Api(status), false).into_error()),
        }
    }

    fn reach(&mut self, metadata: &ObjectMeta) {
        if let Some(revision) = &metadata.resource_version {
            self.after = Some(revision.clone());
        }
    }
}

impl Watch for Following {
    fn next(&mut self) -> Answer<'_, Vec<Hint>> {
        Box::pin(async {
            let hint = self.hint().await;
            if hint.is_err() {
                (self.events, self.after) = (None, None);
            }
            Ok(vec![hint?])
        })
    }
}
