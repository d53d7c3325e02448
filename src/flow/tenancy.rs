//! Tenancies as the parts hand them to each other: gains, stored captures, heads of state, barriers.

use super::digest::Digest;
use super::epoch::{RootEpoch, SplitEpoch};
use super::ids::{CaptureId, LaneId, Ordinal, SplitId};
use super::lane::Lane;
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::Waker;

/// A revision and the attempt that made it the running one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RootRef {
    /// The attempt's epoch; it names one digest for ever (I42).
    pub epoch: RootEpoch,
    /// The revision's digest.
    pub digest: Digest,
}

/// The newest layer of a split's state, which names the older ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateHead {
    /// The layer itself, small enough to travel in the ledger entry.
    Inline(Arc<[u8]>),
    /// An object that holds it.
    Object {
        /// The object's name; it is never used for another content.
        name: Arc<str>,
        /// Its length in bytes.
        length: u64,
        /// Its SHA-256.
        digest: Digest,
    },
    /// It is known to be lost: whoever needs it stops by name (I39).
    Lost,
}

/// The state that one split's record or entry names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitState {
    /// Whose it is: the gained split's own, or an ancestor's.
    pub split: SplitId,
    /// Its newest layer.
    pub head: StateHead,
}

/// A tenancy that begins: its lane goes to one loop, which reads it from the first record on.
pub struct Gain {
    /// Where its records come from.
    pub lane: Box<dyn Lane>,
    /// The lane's id; never used twice in a process (I9).
    pub id: LaneId,
    /// The split.
    pub split: SplitId,
    /// The tenancy's epoch.
    pub epoch: SplitEpoch,
    /// The split's own state, then that of the ancestors in whose layers keys are still sought, nearest first.
    pub state: Vec<SplitState>,
    /// The root that its progress was made under; a newer one that is installed takes over before the first record.
    pub root: RootRef,
}

impl fmt::Debug for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lane: _, id, split, epoch, state, root } = self;
        f.debug_struct("Gain")
            .field("id", id)
            .field("split", split)
            .field("epoch", epoch)
            .field("state", state)
            .field("root", root)
            .finish()
    }
}

/// A split's state at a batch boundary, stored: with its position it may be committed once all up to `at` is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// Which capture.
    pub id: CaptureId,
    /// Whose.
    pub split: SplitId,
    /// Under which tenancy it was made.
    pub epoch: SplitEpoch,
    /// The last record that it holds.
    pub at: Ordinal,
    /// The root that it was made under.
    pub root: RootRef,
    /// The state.
    pub head: StateHead,
    /// Whether keys are sought in no ancestor's layers any more.
    pub inheritance_over: bool,
}

/// Held by whoever must let go of lanes; letting go of the barrier says that it is done. Where several loops are
/// concerned each holds a clone, and the last one answers.
#[derive(Clone, Debug)]
pub struct Barrier {
    _held: Arc<Held>,
}

/// The other end of a [`Barrier`].
#[derive(Clone, Debug)]
pub struct Awaited(Weak<Held>);

#[derive(Debug)]
struct Held(Mutex<Waker>);

impl Barrier {
    /// A barrier that wakes this waker once its last clone is gone.
    #[must_use]
    pub fn new(waker: Waker) -> (Self, Awaited) {
        let held = Arc::new(Held(Mutex::new(waker)));
        let awaited = Awaited(Arc::downgrade(&held));
        (Self { _held: held }, awaited)
    }
}

impl Awaited {
    /// Whether all have let go.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.get_mut().wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::Barrier;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_barrier_is_over_once_its_last_clone_is_gone() {
        let count = Arc::new(Count::default());
        let (first, awaited) = Barrier::new(Waker::from(count.clone()));
        let second = first.clone();
        drop(first);
        assert!(!awaited.is_over());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        drop(second);
        assert!(awaited.is_over());
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }
}
