//! Where answers and hints wait for the driver.

use super::ops::Reply;
use crate::coordination::store::{Hint, Key, Known};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The driver's inbox. Answers are as many as calls are in flight; of hints only the last of each object is kept.
#[derive(Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    hints: BTreeMap<Key, Option<Known>>,
    waker: Option<Waker>,
    woken: bool,
    closed: bool,
}

impl Inbox {
    pub(super) fn push(&self, reply: Reply) {
        self.0.lock().replies.push_back(reply);
        self.nudge();
    }

    /// Takes hints; false once the driver is gone.
    pub(super) fn hint(&self, hints: Vec<Hint>) -> bool {
        if !hints.is_empty() {
            self.0.lock().hints.extend(hints.into_iter().map(|hint| (hint.key, hint.known)));
            self.nudge();
        }
        self.is_open()
    }

    /// Wakes whoever polls the driver.
    pub(super) fn nudge(&self) {
        let waker = {
            let mut state = self.0.lock();
            state.woken = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes, and says whether the driver is still there.
    pub(super) fn nudge_open(&self) -> bool {
        self.nudge();
        self.is_open()
    }

    pub(super) fn is_open(&self) -> bool {
        !self.0.lock().closed
    }

    pub(super) fn close(&self) {
        self.0.lock().closed = true;
    }

    pub(super) fn take(&self) -> (VecDeque<Reply>, BTreeMap<Key, Option<Known>>) {
        let mut state = self.0.lock();
        state.woken = false;
        (std::mem::take(&mut state.replies), std::mem::take(&mut state.hints))
    }

    /// Waits: false if something has come since the last take.
    pub(super) fn wait(&self, waker: &Waker) -> bool {
        let mut state = self.0.lock();
        state.waker = Some(waker.clone());
        !state.woken
    }
}

impl Wake for Inbox {
    fn wake(self: Arc<Self>) {
        self.nudge();
    }
}
