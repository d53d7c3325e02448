//! The proof, once at start, that a store's compare-and-swap compares.

use super::super::records::{Beat, Incarnation, WorkerName};
use super::{Deletion, Key, Known, ObjectRevision, Record, Store, StoreError, Swap};
use std::time::Duration;

/// Makes an object, changes it, and tries what must be refused: a write and a deletion at the revision before, a second
/// create. A store that takes one of these would let two workers own one split.
///
/// # Errors
/// A call was not answered as it must be, or not answered.
pub async fn prove(store: &dyn Store, worker: &WorkerName, nonce: u64) -> Result<(), StoreError> {
    let key = Key::Scratch(WorkerName::new(&format!("{worker}-{nonce:016x}")));
    let made = done(store.create(&key, record(0)).await?, "a create")?;
    let result = check(store, &key, &made).await;
    // Whatever was found, nothing is left behind.
    let left = store.read(&key).await?;
    if let Some(left) = left {
        store.delete(&key, &left.revision).await?;
    }
    result
}

async fn check(store: &dyn Store, key: &Key, made: &ObjectRevision) -> Result<(), StoreError> {
    lost(&store.create(key, record(1)).await?, "a second create")?;
    let second = done(store.swap(key, made, record(2)).await?, "a write at the revision read")?;
    lost(&store.swap(key, made, record(3)).await?, "a write at an old revision")?;
    if store.delete(key, made).await? == Deletion::Done {
        return Err(refused("a deletion at an old revision"));
    }
    match store.read(key).await? {
        Some(Known { revision, record: found }) if revision == second && found == record(2) => Ok(()),
        _ => Err(refused("a write by another content than its own")),
    }
}

fn record(counter: u64) -> Record {
    Record::Beat(Beat { incarnation: Incarnation::new("scratch"), counter, ttl: Duration::from_secs(1) })
}

fn done(swap: Swap, what: &str) -> Result<ObjectRevision, StoreError> {
    match swap {
        Swap::Done(revision) => Ok(revision),
        Swap::Lost => Err(StoreError::Refused(format!("compare-and-swap does not work: {what} is lost with nobody else there").into())),
    }
}

fn lost(swap: &Swap, what: &str) -> Result<(), StoreError> {
    if *swap == Swap::Lost { Ok(()) } else { Err(refused(what)) }
}

fn refused(what: &str) -> StoreError {
    StoreError::Refused(format!("compare-and-swap does not work: {what} is taken").into())
}
