//! Machines of a simulated fleet: each one's tasks can be paused, stalled by name, or killed; its clock can be wrong.

use millrace::env::{Clock, Env, Random, Simulation, Spawn, Work};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A machine. Its clones are the same machine.
#[derive(Clone)]
pub(crate) struct Machine(Arc<Inner>);

struct Inner {
    world: Env,
    /// Its clock shows this many percent of the time that passes.
    percent: u32,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    dead: bool,
    paused: bool,
    stalled: BTreeSet<&'static str>,
    /// The wakers of all tasks, by number.
    tasks: BTreeMap<u64, Waker>,
    started: u64,
}

impl Machine {
    pub(crate) fn new(simulation: &Simulation, percent: u32) -> Self {
        Self(Arc::new(Inner { world: simulation.env(), percent, state: Arc::default() }))
    }

    pub(crate) fn env(&self) -> Env {
        Env::of(self.0.clone(), self.0.clone(), self.0.clone())
    }

    pub(crate) fn kill(&self) {
        self.change(|state| state.dead = true);
    }

    pub(crate) fn pause(&self, paused: bool) {
        self.change(|state| state.paused = paused);
    }

    /// Stops the tasks of this name, and no others.
    pub(crate) fn stall(&self, name: &'static str, stalled: bool) {
        self.change(|state| {
            let _changed = if stalled { state.stalled.insert(name) } else { state.stalled.remove(name) };
        });
    }

    pub(crate) fn runs(&self) -> bool {
        let state = self.0.state.lock();
        !state.dead && !state.paused
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.state.lock();
        change(&mut state);
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        tasks.into_values().for_each(Waker::wake);
    }
}

impl Clock for Inner {
    fn monotonic(&self) -> Duration {
        self.world.clock().monotonic() * self.percent / 100
    }

    fn wall_micros(&self) -> i64 {
        self.world.clock().wall_micros()
    }

    fn sleep(&self, span: Duration) -> Work {
        self.world.clock().sleep(span.saturating_mul(100) / self.percent)
    }
}

impl Random for Inner {
    fn number(&self) -> u64 {
        self.world.random().number()
    }
}

impl Spawn for Inner {
    fn spawn(&self, name: &'static str, work: Work) {
        let mut state = self.state.lock();
        state.started += 1;
        let gate = Gate { state: self.state.clone(), name, number: state.started, work };
        self.world.tasks().spawn(name, Box::pin(gate));
    }

    fn thread(&self, name: &'static str, work: Work) {
        self.spawn(name, work);
    }
}

/// A task that its machine lets run, or not.
struct Gate {
    state: Arc<Mutex<State>>,
    name: &'static str,
    number: u64,
    work: Work,
}

impl Future for Gate {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let number = self.number;
        {
            let mut state = self.state.lock();
            if state.dead {
                return Poll::Ready(());
            }
            state.tasks.insert(number, context.waker().clone());
            if state.paused || state.stalled.contains(self.name) {
                return Poll::Pending;
            }
        }
        let polled = self.work.as_mut().poll(context);
        if polled.is_ready() {
            self.state.lock().tasks.remove(&number);
        }
        polled
    }
}
