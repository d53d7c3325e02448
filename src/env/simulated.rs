//! A simulated environment: one thread, virtual time, chance from a seed. The same seed gives the same run.
//!
//! Owns: the executor of simulated tasks and its timers.
//! May not: read anything of the machine.

use super::{Clock, Env, Random, Spawn, Work};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Where the simulated wall clock begins: 2026-01-01T00:00:00Z.
const WALL_START: i64 = 1_767_225_600_000_000;

/// A world with its own time and chance. Its tasks run only while [`Simulation::run`] does.
#[derive(Clone)]
pub struct Simulation(Arc<World>);

struct World {
    state: Mutex<State>,
    this: Weak<Self>,
}

struct State {
    now: Duration,
    rng: fastrand::Rng,
    timers: BTreeMap<(Duration, u64), Waker>,
    next_timer: u64,
    tasks: BTreeMap<u64, Option<Work>>,
    next_task: u64,
    ready: BTreeSet<u64>,
}

impl Simulation {
    /// A world whose every choice follows from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State {
            now: Duration::ZERO,
            rng: fastrand::Rng::with_seed(seed),
            timers: BTreeMap::new(),
            next_timer: 0,
            tasks: BTreeMap::new(),
            next_task: 0,
            ready: BTreeSet::new(),
        };
        Self(Arc::new_cyclic(|this| World { state: Mutex::new(state), this: this.clone() }))
    }

    /// The environment that its tasks are given.
    #[must_use]
    pub fn env(&self) -> Env {
        Env { clock: self.0.clone(), random: self.0.clone(), spawn: self.0.clone() }
    }

    /// Runs tasks, in an order that the seed chooses, and lets time pass whenever all of them wait; until none is left,
    /// none will ever wake, or this much time has passed. Answers how many are left.
    pub fn run(&self, limit: Duration) -> usize {
        loop {
            while let Some((id, work)) = self.0.next_ready() {
                self.0.poll(id, work);
            }
            if !self.0.next_moment(limit) {
                return self.0.state.lock().tasks.len();
            }
        }
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation").field("now", &self.0.state.lock().now).finish_non_exhaustive()
    }
}

impl World {
    fn next_ready(&self) -> Option<(u64, Work)> {
        let mut state = self.state.lock();
        while !state.ready.is_empty() {
            let count = state.ready.len();
            let chosen = state.rng.usize(..count);
            let id = *state.ready.iter().nth(chosen)?;
            state.ready.remove(&id);
            // A task may have completed since it was woken.
            if let Some(work) = state.tasks.get_mut(&id).and_then(Option::take) {
                return Some((id, work));
            }
        }
        None
    }

    fn poll(&self, id: u64, mut work: Work) {
        let waker = Waker::from(Arc::new(TaskWaker { id, world: self.this.clone() }));
        let done = work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let mut state = self.state.lock();
        if done {
            state.tasks.remove(&id);
            drop(state);
            drop(work);
        } else {
            state.tasks.insert(id, Some(work));
        }
    }

    /// Lets time pass to the next timer within the limit; false if there is none.
    fn next_moment(&self, limit: Duration) -> bool {
        let mut state = self.state.lock();
        let due = match state.timers.first_entry() {
            Some(timer) if timer.key().0 <= limit => timer.remove_entry(),
            _ => return false,
        };
        let ((at, _), waker) = due;
        state.now = at.max(state.now);
        drop(state);
        waker.wake();
        true
    }
}

impl Clock for World {
    fn monotonic(&self) -> Duration {
        self.state.lock().now
    }

    fn wall_micros(&self) -> i64 {
        i64::try_from(self.state.lock().now.as_micros()).ok().and_then(|since| WALL_START.checked_add(since)).unwrap_or(i64::MAX)
    }

    fn sleep(&self, span: Duration) -> Work {
        let Some(world) = self.this.upgrade() else { return Box::pin(std::future::pending()) };
        let until = self.state.lock().now.saturating_add(span);
        Box::pin(Sleep { world, until, timer: None })
    }
}

impl Random for World {
    fn number(&self) -> u64 {
        self.state.lock().rng.u64(..)
    }
}

impl Spawn for World {
    fn spawn(&self, _name: &'static str, work: Work) {
        let mut state = self.state.lock();
        let id = state.next_task;
        state.next_task = id.wrapping_add(1);
        state.tasks.insert(id, Some(work));
        state.ready.insert(id);
    }

    /// There is but one thread: each task of it is a thread as well.
    fn thread(&self, name: &'static str, work: Work) {
        self.spawn(name, work);
    }
}

struct TaskWaker {
    id: u64,
    world: Weak<World>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if let Some(world) = self.world.upgrade() {
            world.state.lock().ready.insert(self.id);
        }
    }
}

struct Sleep {
    world: Arc<World>,
    until: Duration,
    timer: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let world = self.world.clone();
        let mut state = world.state.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        let number = *self.timer.get_or_insert_with(|| {
            let number = state.next_timer;
            state.next_timer = number.wrapping_add(1);
            number
        });
        state.timers.insert((self.until, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.timer {
            self.world.state.lock().timers.remove(&(self.until, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Simulation;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::time::Duration;

    const HOUR: Duration = Duration::from_hours(1);

    /// What three tasks do that sleep for random times, as they do it.
    fn history(seed: u64) -> Vec<(u128, u64)> {
        let simulation = Simulation::new(seed);
        let log = Arc::new(Mutex::new(Vec::new()));
        for task in 0..3 {
            let (world, entries) = (simulation.env(), log.clone());
            let work = async move {
                for _ in 0..20 {
                    let span = Duration::from_millis(world.random().number() % 5);
                    world.clock().sleep(span).await;
                    entries.lock().push((world.clock().monotonic().as_millis(), task));
                }
            };
            simulation.env().tasks().spawn("sleeper", Box::pin(work));
        }
        assert_eq!(simulation.run(HOUR), 0);
        std::mem::take(&mut *log.lock())
    }

    #[test]
    fn one_seed_gives_one_history_and_another_seed_another() {
        assert_eq!(history(7), history(7));
        assert_ne!(history(7), history(8));
    }

    #[test]
    fn time_passes_only_when_all_wait_and_not_beyond_the_limit() {
        let simulation = Simulation::new(0);
        let env = simulation.env();
        let inner = env.clone();
        env.tasks().spawn("long", Box::pin(async move { inner.clock().sleep(2 * HOUR).await }));
        assert_eq!(simulation.run(HOUR), 1);
        assert_eq!(env.clock().monotonic(), Duration::ZERO);
        assert_eq!(simulation.run(3 * HOUR), 0);
        assert_eq!(env.clock().monotonic(), 2 * HOUR);
        assert_eq!(env.clock().wall_micros() - super::WALL_START, 7_200_000_000);
    }

    #[test]
    fn a_sleep_that_is_dropped_leaves_no_timer() {
        let simulation = Simulation::new(0);
        let env = simulation.env();
        let inner = env.clone();
        let work = async move {
            let mut sleep = inner.clock().sleep(HOUR);
            let _pending = futures_poll(&mut sleep).await;
        };
        env.tasks().spawn("impatient", Box::pin(work));
        assert_eq!(simulation.run(HOUR), 0);
        assert!(simulation.0.state.lock().timers.is_empty());
    }

    /// Polls once and answers whether it is ready.
    async fn futures_poll(work: &mut super::Work) -> bool {
        std::future::poll_fn(|context| std::task::Poll::Ready(work.as_mut().poll(context).is_ready())).await
    }
}
