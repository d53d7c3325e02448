//! Whole fleets in simulated time: real drivers over one store in memory, a scripted stream, faults by a seed.

pub(crate) mod checks;
pub(crate) mod faulty;
pub(crate) mod machine;
pub(crate) mod stream;
pub(crate) mod worker;

use checks::Checks;
use faulty::{Lie, Rates, World};
use machine::Machine;
use millrace::coordination::Config;
use millrace::env::Simulation;
use millrace::flow::{Digest, RootEpoch, RootRef};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stream::{KEYS, Stream, Wrong};
use worker::{Slip, Worker};

/// What a run is made of.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) shards: u32,
    /// For how long things go wrong, in seconds.
    pub(crate) trouble: u64,
    pub(crate) rates: Rates,
    /// In how many of a thousand seconds each happens.
    pub(crate) crashes: u64,
    pub(crate) pauses: u64,
    pub(crate) cuts: u64,
    pub(crate) leaves: u64,
    pub(crate) reshards: u64,
    pub(crate) stalls: u64,
    /// Every so many revocations are declined; 0: none.
    pub(crate) declines: u64,
    /// The longest time from evaluation to delivery, in milliseconds.
    pub(crate) delivery: u64,
    pub(crate) config: Config,
    pub(crate) lie: Lie,
    pub(crate) wrong: Wrong,
    pub(crate) slip: Slip,
    /// Whether the plan says that no further shards will come.
    pub(crate) is_final: bool,
    /// How fast the first worker's clock runs, in percent.
    pub(crate) clock: u32,
}

impl Options {
    /// Nothing goes wrong, and no shard ends.
    pub(crate) fn calm(seed: u64) -> Self {
        Self {
            seed,
            workers: 2 + usize::try_from(seed % 2).unwrap(),
            shards: 4,
            trouble: 120,
            rates: Rates::default(),
            crashes: 0,
            pauses: 0,
            cuts: 0,
            leaves: 0,
            reshards: 0,
            stalls: 0,
            declines: 0,
            delivery: 400,
            config: Config::default(),
            lie: Lie::None,
            wrong: Wrong::Nothing,
            slip: Slip::Nothing,
            is_final: false,
            clock: 100,
        }
    }

    /// Everything goes wrong.
    pub(crate) fn rough(seed: u64) -> Self {
        Self {
            rates: Rates { lost: 4, late: 3, refused: 3 },
            crashes: 12,
            pauses: 10,
            cuts: 8,
            leaves: 8,
            reshards: 25,
            stalls: 5,
            declines: 5,
            ..Self::calm(seed)
        }
    }
}

/// What workers share with the script.
pub(crate) struct Fleet {
    pub(crate) options: Options,
    pub(crate) world: Arc<World>,
    pub(crate) stream: Stream,
    pub(crate) root: RootRef,
    pub(crate) members: Mutex<Members>,
}

#[derive(Default)]
pub(crate) struct Members {
    pub(crate) workers: BTreeMap<String, Worker>,
    pub(crate) last_lapse: BTreeMap<String, Duration>,
    /// When what happens to it is over, by worker.
    pub(crate) until: BTreeMap<String, (Duration, Ailment)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ailment {
    Crashed,
    Paused,
    Cut,
    Leaving,
    Stalled,
}

/// What a run has come to.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) found: Vec<String>,
    pub(crate) duplicates: u64,
    pub(crate) delivered: u64,
    pub(crate) claims: u64,
    pub(crate) completed: u64,
    pub(crate) drained: u64,
    pub(crate) found_early: u64,
    pub(crate) errors: Vec<String>,
    pub(crate) pages: usize,
    pub(crate) lasted: Duration,
}

impl Fleet {
    /// Whether a worker that still reads a split that is opened elsewhere is at fault: one that does not run cannot know.
    pub(crate) fn ought_to_have_stopped(&self, name: &str) -> bool {
        let members = self.members.lock();
        let Some(worker) = members.workers.get(name) else { return false };
        let now = self.world.env.clock().monotonic();
        worker.machine.runs() && now.saturating_sub(worker.said.lock().resumed_at) > Duration::from_secs(2)
    }
}

/// A run's script.
pub(crate) struct Script {
    pub(crate) simulation: Simulation,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) now: Duration,
    drained: u64,
    errors: Vec<String>,
}

pub(crate) fn run(options: Options) -> Report {
    let trouble = options.trouble;
    let mut script = Script::new(options);
    for _ in 0..trouble {
        script.second();
        script.happen();
        if !script.fleet.world.checks.found().is_empty() {
            return script.report();
        }
    }
    script.settle()
}

impl Script {
    pub(crate) fn new(options: Options) -> Self {
        let simulation = Simulation::new(options.seed);
        let stream = Stream::new(options.shards);
        let checks = Arc::new(Checks::new(stream.clone()));
        let world = Arc::new(World::new(simulation.env(), checks, options.lie));
        let root = RootRef { epoch: RootEpoch::new(1), digest: Digest::of(b"root") };
        let fleet = Arc::new(Fleet { options, world, stream, root, members: Mutex::default() });
        let mut script = Self { simulation, fleet, now: Duration::ZERO, drained: 0, errors: Vec::new() };
        for number in 0..script.fleet.options.workers {
            script.join(&format!("w-{number}"));
        }
        script
    }

    pub(crate) fn join(&mut self, name: &str) {
        let percent = if name == "w-0" { self.fleet.options.clock } else { 100 };
        let worker =
            Worker { name: name.to_owned(), machine: Machine::new(&self.simulation, percent), way: Arc::default(), said: Arc::default() };
        worker.way.lock().rates = self.fleet.options.rates;
        self.fleet.members.lock().workers.insert(name.to_owned(), worker.clone());
        worker::start(&self.fleet, &worker);
    }

    pub(crate) fn chance(&self, of_a_thousand: u64) -> bool {
        self.fleet.world.env.random().number() % 1000 < of_a_thousand
    }

    fn number(&self) -> u64 {
        self.fleet.world.env.random().number()
    }

    /// Lets a second pass.
    pub(crate) fn second(&mut self) {
        self.now += Duration::from_secs(1);
        self.simulation.run(self.now);
        let ttl = self.fleet.options.config.ttl;
        let mut members = self.fleet.members.lock();
        let workers: Vec<Worker> = members.workers.values().cloned().collect();
        for worker in &workers {
            members.note(worker, self.now, ttl);
        }
        drop(members);
        self.recover();
    }

    /// Puts records, and lets something happen to the stream or to a worker.
    pub(crate) fn happen(&mut self) {
        for _ in 0..self.number() % 5 {
            self.fleet.stream.put(u32::try_from(self.number()).unwrap_or(0) % KEYS);
            let key = u32::try_from(self.number() % u64::from(KEYS)).unwrap();
            self.fleet.stream.put(key);
        }
        let options = self.fleet.options.clone();
        let which = usize::try_from(self.number() % 1024).unwrap();
        if self.chance(options.reshards) {
            self.fleet.stream.split(which);
        }
        if self.chance(options.reshards) {
            self.fleet.stream.merge(which);
        }
        let ailments = [
            (options.crashes, Ailment::Crashed),
            (options.pauses, Ailment::Paused),
            (options.cuts, Ailment::Cut),
            (options.leaves, Ailment::Leaving),
            (options.stalls, Ailment::Stalled),
        ];
        for (rate, ailment) in ailments {
            if self.chance(rate) {
                let names: Vec<String> = self.fleet.members.lock().workers.keys().cloned().collect();
                let seconds = 1 + self.number() % 45;
                self.strike(&names[which % names.len()], ailment, seconds);
            }
        }
    }

    pub(crate) fn strike(&mut self, name: &str, ailment: Ailment, seconds: u64) {
        let mut members = self.fleet.members.lock();
        if members.until.contains_key(name) {
            return;
        }
        let worker = members.workers[name].clone();
        let span = if ailment == Ailment::Leaving { 600 } else { seconds };
        members.until.insert(name.to_owned(), (self.now + Duration::from_secs(span), ailment));
        drop(members);
        match ailment {
            Ailment::Crashed => {
                worker.machine.kill();
                self.fleet.world.checks.crashed(name);
            }
            Ailment::Paused => worker.machine.pause(true),
            Ailment::Cut => worker.way.lock().cut = true,
            Ailment::Stalled => worker.machine.stall("control", true),
            Ailment::Leaving => {
                let mut said = worker.said.lock();
                said.leave = true;
                said.waker.take().into_iter().for_each(std::task::Waker::wake);
            }
        }
    }

    /// Ends what has lasted long enough; a worker that has ended starts again.
    fn recover(&mut self) {
        let members = self.fleet.members.lock();
        let over: Vec<(String, Ailment)> = members
            .until
            .iter()
            .filter(|(_, (until, _))| *until <= self.now)
            .map(|(name, (_, ailment))| (name.clone(), *ailment))
            .collect();
        let ended: Vec<Worker> = members.workers.values().filter(|worker| worker.said.lock().ended.is_some()).cloned().collect();
        drop(members);
        for (name, ailment) in over {
            self.fleet.members.lock().until.remove(&name);
            let worker = self.fleet.members.lock().workers[&name].clone();
            match ailment {
                Ailment::Crashed => self.join(&name),
                Ailment::Paused | Ailment::Stalled => {
                    worker.said.lock().resumed_at = self.now;
                    worker.machine.pause(false);
                    worker.machine.stall("control", false);
                }
                Ailment::Cut => worker.way.lock().cut = false,
                Ailment::Leaving => {}
            }
        }
        for worker in ended {
            let why = worker.said.lock().ended.clone().unwrap_or_default();
            if why != "left" {
                self.errors.push(why);
            }
            self.drained += worker.said.lock().drained;
            worker.machine.kill();
            self.fleet.world.checks.crashed(&worker.name);
            self.fleet.members.lock().until.remove(&worker.name);
            self.join(&worker.name);
        }
    }

    /// Nothing goes wrong any more: within three minutes all is delivered, committed, and held or completed.
    pub(crate) fn settle(mut self) -> Report {
        for (until, _) in self.fleet.members.lock().until.values_mut() {
            *until = self.now;
        }
        let workers: Vec<Worker> = self.fleet.members.lock().workers.values().cloned().collect();
        for worker in workers {
            worker.way.lock().rates = Rates::default();
        }
        self.recover();
        let workers: Vec<Worker> = self.fleet.members.lock().workers.values().cloned().collect();
        for worker in workers {
            worker.way.lock().rates = Rates::default();
        }
        let mut left = None;
        for _ in 0..180 {
            self.second();
            left = self.fleet.world.checks.unsettled(&self.fleet.world.memory);
            if left.is_none() || !self.fleet.world.checks.found().is_empty() {
                break;
            }
        }
        if let Some(left) = left {
            self.fleet.world.checks.say("quiescence", &left);
        }
        self.report()
    }

    pub(crate) fn report(self) -> Report {
        let checks = &self.fleet.world.checks;
        let (claims, completed) = checks.counts();
        let workers = self.fleet.members.lock();
        let drained = workers.workers.values().map(|worker| worker.said.lock().drained).sum::<u64>() + self.drained;
        let pages =
            self.fleet.world.memory.snapshot().keys().filter(|key| matches!(key, millrace::coordination::store::Key::Page(_))).count();
        Report {
            found: checks.found(),
            duplicates: checks.duplicates(),
            delivered: checks.delivered(),
            claims,
            completed,
            drained,
            found_early: checks.found_early(),
            errors: self.errors.clone(),
            pages,
            lasted: self.now,
        }
    }
}
