//! One split's whole state, as its captures have left it.

use super::capture::Capture;
use super::layer::{INLINE_BYTES, KeyState, Layer};
use super::{RestoredKey, StateError};
use crate::dataflow::Plan;
use crate::flow::{Digest, SplitId, StateHead};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keys of one split's tenancy in their stored form, brought up to date by each capture.
#[derive(Clone, Debug)]
pub struct SplitKeys {
    split: SplitId,
    root: Digest,
    keys: BTreeMap<Box<[u8]>, KeyState>,
    bound: Option<usize>,
}

impl SplitKeys {
    /// A split's state as it was restored, under the root that runs.
    #[must_use]
    pub fn new(split: SplitId, root: Digest, plan: &Plan, restored: &[RestoredKey]) -> Self {
        let mut keys = Self { split, root, keys: BTreeMap::new(), bound: Some(INLINE_BYTES) };
        for key in restored {
            keys.put(&key.key, key.last_arrival, key.monitor.snapshot(plan));
        }
        keys
    }

    /// With another bound on its bytes than that of a ledger entry; none where the store holds any size.
    #[must_use]
    pub const fn bounded(mut self, bound: Option<usize>) -> Self {
        self.bound = bound;
        self
    }

    /// Takes a capture in, and gives the head that holds the split's whole state.
    ///
    /// # Errors
    /// It does not fit into a ledger entry.
    pub fn store(&mut self, capture: Capture) -> Result<StateHead, StateError> {
        if capture.root.digest != self.root {
            // A cutover captures every key, so that nothing stays that was made under another root.
            self.keys.clear();
            self.root = capture.root.digest;
        }
        for key in capture.keys {
            match key.state {
                Some(state) => self.put(&key.key, state.last_arrival, state.monitor.snapshot(&capture.plan)),
                None => drop(self.keys.remove(&key.key)),
            }
        }
        let bytes = Layer { root: self.root, keys: self.keys.values().cloned().collect() }.encode();
        if self.bound.is_some_and(|bound| bytes.len() > bound) {
            return Err(StateError::StoreRequired { split: self.split.clone(), bytes: bytes.len() });
        }
        Ok(StateHead::Inline(Arc::from(bytes)))
    }

    fn put(&mut self, key: &[u8], last_arrival: i64, snapshot: Vec<u8>) {
        let state = KeyState { key: key.into(), last_arrival, snapshot: snapshot.into() };
        self.keys.insert(key.into(), state);
    }
}
