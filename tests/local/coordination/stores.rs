//! The store in memory is a store; one that does not compare is refused.

use super::conformance;
use millrace::coordination::records::{Beat, Incarnation, WorkerName};
use millrace::coordination::store::{
    Answer, Cursor, Deletion, Key, Kind, Known, Listing, Memory, ObjectRevision, Record, Store, Swap, Watch, list_all, prove,
};
use millrace::env::Simulation;
use std::sync::Arc;
use std::time::Duration;

fn run(work: impl Future<Output = ()> + Send + 'static) {
    let simulation = Simulation::new(1);
    simulation.env().tasks().spawn("test", Box::pin(work));
    assert_eq!(simulation.run(Duration::from_hours(1)), 0, "the test waits for ever");
}

#[test]
fn the_store_in_memory_is_a_store() {
    run(async { conformance::hold(&Memory::new()).await });
}

#[test]
fn a_watch_waits_for_changes_and_says_when_it_has_missed_some() {
    let (store, other) = (Memory::new(), Memory::new());
    run(async move {
        let (_, cursor) = list_all(&store, Kind::Beat).await.unwrap();
        let mut watch = store.watch(Kind::Beat, cursor.clone());
        let key = Key::Beat(WorkerName::new("w-0"));
        let beat = |counter| Record::Beat(Beat { incarnation: Incarnation::new("i"), counter, ttl: Duration::from_secs(1) });
        let reader = async { watch.next().await.unwrap() };
        let changes = async {
            store.create(&Key::Scratch(WorkerName::new("w-0")), beat(0)).await.unwrap();
            store.create(&key, beat(1)).await.unwrap();
        };
        let hints = both(reader, changes).await;
        assert_eq!(hints.iter().map(|hint| &hint.key).collect::<Vec<_>>(), [&key]);
        for number in 0..1_100 {
            let Swap::Done(revision) = store.create(&Key::Scratch(WorkerName::new("x")), beat(number)).await.unwrap() else { panic!() };
            assert_eq!(store.delete(&Key::Scratch(WorkerName::new("x")), &revision).await.unwrap(), Deletion::Done);
        }
        assert!(store.watch(Kind::Scratch, cursor).next().await.is_err(), "what it missed is forgotten");
        let (_, later) = list_all(&store, Kind::Beat).await.unwrap();
        assert!(other.watch(Kind::Beat, later).next().await.is_err(), "that moment is another store's");
    });
}

/// Polls the first, then runs the second to its end, then the first.
async fn both<T>(first: impl Future<Output = T>, second: impl Future<Output = ()>) -> T {
    let mut first = Box::pin(first);
    std::future::poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    second.await;
    first.await
}

/// A store that takes every write, whatever was read.
struct Blind(Memory);

impl Store for Blind {
    fn create<'a>(&'a self, key: &'a Key, new: Record) -> Answer<'a, Swap> {
        self.0.create(key, new)
    }

    fn swap<'a>(&'a self, key: &'a Key, _read: &'a ObjectRevision, new: Record) -> Answer<'a, Swap> {
        Box::pin(async move {
            match self.0.read(key).await? {
                Some(known) => self.0.swap(key, &known.revision, new).await,
                None => Ok(Swap::Lost),
            }
        })
    }

    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Known>> {
        self.0.read(key)
    }

    fn list(&self, kind: Kind, from: Option<Arc<str>>) -> Answer<'_, Listing> {
        self.0.list(kind, from)
    }

    fn delete<'a>(&'a self, key: &'a Key, read: &'a ObjectRevision) -> Answer<'a, Deletion> {
        self.0.delete(key, read)
    }

    fn watch(&self, kind: Kind, after: Cursor) -> Box<dyn Watch> {
        self.0.watch(kind, after)
    }
}

#[test]
fn a_store_whose_swap_does_not_compare_is_refused_and_left_clean() {
    run(async {
        let store = Blind(Memory::new());
        let error = prove(&store, &WorkerName::new("w-0"), 1).await.unwrap_err();
        assert!(error.to_string().contains("a write at an old revision is taken"), "{error}");
        assert!(store.0.snapshot().is_empty());
    });
}
