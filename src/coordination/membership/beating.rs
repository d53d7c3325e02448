//! Our own heartbeat: a task that nothing else can delay, and the lease that it renews.

use crate::coordination::ledger::Me;
use crate::coordination::records::Beat;
use crate::coordination::store::{Key, ObjectRevision, Store, StoreError, Swap};
use crate::env::Env;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How long what we hold is ours without a further heartbeat. Others take over after a whole `ttl`; we stop a quarter
/// before.
#[derive(Debug)]
pub(in crate::coordination) struct Lease {
    ttl: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When the last renewal that was answered was sent.
    sent: Option<Duration>,
    /// Rises with each time that we are here anew: at first, and after each lapse.
    terms: u64,
    /// Another life has taken our name.
    taken: bool,
}

impl Lease {
    pub(in crate::coordination) fn new(ttl: Duration) -> Self {
        Self { ttl, state: Mutex::default() }
    }

    /// A renewal that was sent then has been answered.
    pub(in crate::coordination) fn renewed(&self, sent: Duration) {
        let mut state = self.state.lock();
        if state.sent.is_none_or(|last| self.end(last) <= sent) {
            state.terms = state.terms.saturating_add(1);
        }
        state.sent = Some(sent);
    }

    fn end(&self, sent: Duration) -> Duration {
        let quarter = self.ttl.checked_div(4).unwrap_or_default();
        sent.saturating_add(self.ttl.saturating_sub(quarter))
    }

    /// The term that runs now, which is another after each lapse, and when it ends; none: it has.
    pub(in crate::coordination) fn term(&self, now: Duration) -> Option<(u64, Duration)> {
        let state = self.state.lock();
        let end = self.end(state.sent?);
        (now < end && !state.taken).then_some((state.terms, end))
    }

    /// It is lost: at its end at the latest, another has it.
    pub(in crate::coordination) fn lost(&self) {
        self.state.lock().sent = None;
    }

    pub(in crate::coordination) fn is_taken(&self) -> bool {
        self.state.lock().taken
    }
}

/// What beats.
pub(in crate::coordination) struct Heart {
    pub(in crate::coordination) env: Env,
    pub(in crate::coordination) store: Arc<dyn Store>,
    pub(in crate::coordination) me: Me,
    pub(in crate::coordination) lease: Arc<Lease>,
    /// The object and counter of the last beat that was seen to stand.
    last: Option<(ObjectRevision, u64)>,
    joined: bool,
}

enum Pulse {
    Beaten,
    /// Another life has our name.
    Taken,
    /// Somebody else's write came between: read, and try at once.
    Again,
}

impl Heart {
    pub(in crate::coordination) fn new(env: Env, store: Arc<dyn Store>, me: Me, lease: Arc<Lease>) -> Self {
        Self { env, store, me, lease, last: None, joined: false }
    }

    /// Beats every quarter of the time, with jitter, until our name is taken or `goes_on` says no. `told` hears of changes.
    pub(in crate::coordination) async fn run(mut self, told: impl Fn() -> bool + Send) {
        while told() {
            let sent = self.env.clock().monotonic();
            let pause = match self.beat().await {
                Ok(Pulse::Beaten) => {
                    self.lease.renewed(sent);
                    self.pause(4)
                }
                Ok(Pulse::Taken) => {
                    self.lease.state.lock().taken = true;
                    told();
                    return;
                }
                Ok(Pulse::Again) => continue,
                Err(_) => self.pause(16),
            };
            told();
            self.env.clock().sleep(pause).await;
        }
    }

    /// A part of the time, or up to a fifth less.
    fn pause(&self, part: u32) -> Duration {
        let whole = self.lease.ttl.checked_div(part).unwrap_or_default();
        let twentieth = whole.checked_div(20).unwrap_or_default();
        let steps = u32::try_from(self.env.random().number() % 5).unwrap_or(0);
        whole.saturating_sub(twentieth.saturating_mul(steps))
    }

    async fn beat(&mut self) -> Result<Pulse, StoreError> {
        let key = Key::Beat(self.me.worker.clone());
        if self.last.is_none() {
            let known = self.store.read(&key).await?;
            let found = known.map(|known| Ok::<_, StoreError>((known.revision, known.record.beat()?))).transpose()?;
            if let Some((revision, beat)) = found {
                // A start takes its name over from the life before. One that has joined and is found gone is that life.
                if self.joined && beat.incarnation != self.me.incarnation {
                    return Ok(Pulse::Taken);
                }
                self.last = Some((revision, beat.counter));
            }
        }
        let last = self.last.take();
        let counter = last.as_ref().map_or(0, |(_, counter)| *counter).wrapping_add(1);
        let beat = Beat { incarnation: self.me.incarnation.clone(), counter, ttl: self.lease.ttl };
        // Without an answer it stays unknown, and is read before the next beat.
        match self.store.heartbeat(&key, last.as_ref().map(|(revision, _)| revision), beat).await? {
            Swap::Lost => Ok(Pulse::Again),
            Swap::Done(revision) => {
                self.last = Some((revision, counter));
                self.joined = true;
                Ok(Pulse::Beaten)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Heart, Lease};
    use crate::coordination::ledger::Me;
    use crate::coordination::records::{Incarnation, WorkerName};
    use crate::coordination::store::{Key, Memory, Store};
    use crate::env::Simulation;
    use std::sync::Arc;
    use std::time::Duration;

    const TTL: Duration = Duration::from_secs(20);

    fn heart(simulation: &Simulation, store: &Memory, life: &str) -> (Heart, Arc<Lease>) {
        let lease = Arc::new(Lease::new(TTL));
        let me = Me { worker: WorkerName::new("w"), incarnation: Incarnation::new(life) };
        (Heart::new(simulation.env(), Arc::new(store.clone()), me, lease.clone()), lease)
    }

    #[test]
    fn i14_a_lease_ends_a_quarter_before_others_may_take_over_and_its_return_is_another_term() {
        let lease = Lease::new(TTL);
        let second = Duration::from_secs;
        assert_eq!(lease.term(second(0)), None);
        lease.renewed(second(10));
        assert_eq!(lease.term(second(11)), Some((1, second(25))));
        lease.renewed(second(15));
        assert_eq!(lease.term(second(29)), Some((1, second(30))));
        assert_eq!(lease.term(second(30)), None);
        // The whole process slept: it renews before anybody has looked at the lease.
        lease.renewed(second(40));
        assert_eq!(lease.term(second(41)), Some((2, second(55))));
    }

    #[test]
    fn a_start_takes_its_name_over_and_the_life_before_notices() {
        let (simulation, store) = (Simulation::new(3), Memory::new());
        let (first, old) = heart(&simulation, &store, "1");
        simulation.env().tasks().spawn("first", Box::pin(first.run(|| true)));
        simulation.run(Duration::from_mins(1));
        let now = simulation.env().clock().monotonic();
        assert_eq!(old.term(now).map(|(term, _)| term), Some(1), "it beats on and on");
        let (second, new) = heart(&simulation, &store, "2");
        simulation.env().tasks().spawn("second", Box::pin(second.run(|| true)));
        assert_eq!(simulation.run(Duration::from_mins(2)), 1, "the first has ended");
        let now = simulation.env().clock().monotonic();
        assert!(old.is_taken() && old.term(now).is_none());
        assert!(!new.is_taken() && new.term(now).is_some());
    }

    #[test]
    fn a_heartbeat_that_somebody_deletes_is_made_again() {
        let (simulation, store) = (Simulation::new(4), Memory::new());
        let (first, lease) = heart(&simulation, &store, "1");
        simulation.env().tasks().spawn("first", Box::pin(first.run(|| true)));
        simulation.run(Duration::from_mins(1));
        let key = Key::Beat(WorkerName::new("w"));
        let (deleter, target) = (store.clone(), key.clone());
        let delete = async move {
            let known = deleter.read(&target).await.unwrap().unwrap();
            deleter.delete(&target, &known.revision).await.unwrap();
        };
        simulation.env().tasks().spawn("delete", Box::pin(delete));
        simulation.run(Duration::from_mins(2));
        assert!(store.snapshot().contains_key(&key));
        assert!(lease.term(simulation.env().clock().monotonic()).is_some());
    }
}
