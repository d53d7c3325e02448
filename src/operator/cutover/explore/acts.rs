//! What may happen next in a world.

use super::super::{Answers, At, Facts, Lookups, Member, Question, Rest, State, Step, Telling, carried, decide, recovered, tally, telling};
use super::world::{Answered, Fault, Kind, Operator, Said, Split, Stored, Tenancy, World, digest, program, text};
use crate::api::progress::RootAt;
use crate::api::stream_worker::{Answer, Fault as Reported, Outcome, Stage};
use crate::flow::RootEpoch;
use std::collections::BTreeMap;

/// One act. What is bound to happen leads on by itself; the rest are faults and people.
pub(super) struct Act {
    pub(super) name: String,
    pub(super) bound: bool,
}

type Next = (Act, World);

/// Everything that may happen in this world.
pub(super) fn all(world: &World) -> Vec<Next> {
    let mut next = Vec::new();
    people(world, &mut next);
    operator(world, &mut next);
    for index in 0..world.fleet {
        worker(world, index, &mut next);
    }
    next
}

fn push(next: &mut Vec<Next>, world: &World, name: impl Into<String>, bound: bool, change: impl FnOnce(&mut World)) {
    let mut world = world.clone();
    change(&mut world);
    next.push((Act { name: name.into(), bound }, world));
}

fn people(world: &World, next: &mut Vec<Next>) {
    for spec in (0..3).filter(|spec| world.left.edits > 0 && *spec != world.spec) {
        push(next, world, format!("the spec names {spec}"), false, |world| {
            world.left.edits -= 1;
            world.spec = spec;
            world.touched();
        });
    }
    if let Some(blocked) = world.status.and_then(|state| state.blocked).filter(|_| world.left.retries > 0) {
        push(next, world, "a retry is asked for", false, |world| {
            world.left.retries -= 1;
            world.retry = Some(blocked.epoch);
            world.touched();
        });
    }
    if world.left.losses > 0 && world.status.is_some() {
        push(next, world, "the status is lost", false, |world| {
            world.left.losses -= 1;
            world.status = None;
            world.touched();
        });
    }
    if world.left.deposed > 0 && world.deposed.is_none() && world.operator.is_some() {
        push(next, world, "the operator is deposed", false, |world| {
            world.left.deposed -= 1;
            world.deposed = world.operator.take();
        });
    }
    if world.left.crashes > 0 && world.operator.is_some() {
        push(next, world, "the operator crashes", false, |world| {
            world.left.crashes -= 1;
            world.operator = None;
        });
    }
}

// --- the operator --------------------------------------------------------------------------------

fn operator(world: &World, next: &mut Vec<Next>) {
    match &world.operator {
        None => push(next, world, "the operator reads", true, |world| world.operator = Some(read(world))),
        Some(operator) => {
            if !operator.fresh {
                push(next, world, "the operator reads again", true, |world| world.operator = Some(read(world)));
            }
            step(world, operator, false, next);
        }
    }
    if let Some(operator) = &world.deposed {
        step(world, operator, true, next);
    }
}

fn read(world: &World) -> Operator {
    Operator { wish: world.wish(), state: world.status, seen: Lookups::default(), fresh: true, recovered: None, honest: true }
}

fn put(world: &mut World, operator: Option<Operator>, deposed: bool) {
    *(if deposed { &mut world.deposed } else { &mut world.operator }) = operator;
}

fn step(world: &World, own: &Operator, deposed: bool, next: &mut Vec<Next>) {
    let who = if deposed { "the deposed operator" } else { "the operator" };
    let step = faulty(world, own, decide(&own.wish, own.state.as_ref(), &own.seen));
    let look = |change: &dyn Fn(&mut Lookups)| {
        let mut own = own.clone();
        change(&mut own.seen);
        own
    };
    let mut go = |name: &str, changed: &mut dyn FnMut(&mut World)| {
        push(next, world, format!("{who} {name}"), !deposed, |world| changed(world));
    };
    match step {
        Step::Recover => match own.recovered {
            None => go("reads what survives", &mut |world| {
                let state = recovered(&facts(world));
                put(world, Some(Operator { recovered: Some(state), ..own.clone() }), deposed);
            }),
            Some(state) => go("writes what survives", &mut |world| write(world, own, state, deposed)),
        },
        Step::Revise(at, _) => go("sees to the revision", &mut |world| {
            let stored = &mut world.revisions[program(at.digest)];
            let soaked = stored.and_then(|stored| stored.soaked);
            let epoch = stored.map_or(at.epoch, |stored| stored.epoch.max(at.epoch));
            let epoch = if world.fault == Fault::EpochNotInRevision { RootEpoch::new(1) } else { epoch };
            *stored = Some(Stored { epoch, soaked });
            put(world, Some(look(&|seen| seen.revised = Some(at.digest))), deposed);
        }),
        Step::LookAtAnswers => {
            let answers = answers(world, own.state);
            let honest = all_run_it(world, own.state);
            go("reads answers", &mut |world| {
                put(world, Some(Operator { honest, ..look(&|seen| seen.answers = Some(answers)) }), deposed);
            });
            if answers == Answers::Waiting && world.left.late > 0 && world.workers.iter().any(|worker| worker.joined) {
                push(next, world, format!("{who} reads answers too late"), false, |world| {
                    world.left.late -= 1;
                    let seen = look(&|seen| (seen.answers, seen.late) = (Some(answers), true));
                    put(world, Some(seen), deposed);
                });
            }
        }
        Step::LookAtRecords => {
            let carried = records(world, own.state);
            go("reads records", &mut |world| put(world, Some(look(&|seen| seen.carried = Some(carried))), deposed));
        }
        Step::Mark(at) => go("marks the revision", &mut |world| {
            if let Some(stored) = &mut world.revisions[program(at.digest)] {
                stored.soaked = Some(at.epoch);
            }
            put(world, Some(look(&|seen| seen.marked = true)), deposed);
        }),
        Step::Write(state, wrote) => go(&format!("writes {wrote:?}"), &mut |world| write(world, own, state, deposed)),
        Step::Rest(rest) => {
            let waits = rest != Rest::Edit && own.seen != Lookups::default();
            if waits && !deposed {
                go("looks again", &mut |world| world.operator = Some(read(world)));
            }
        }
    }
    tell(world, own, deposed, next);
}

/// The same, built wrong.
fn faulty(world: &World, own: &Operator, step: Step) -> Step {
    match (world.fault, step) {
        (Fault::WithoutRevision, Step::Revise(at, _)) => {
            let seen = Lookups { revised: Some(at.digest), ..own.seen };
            decide(&own.wish, own.state.as_ref(), &seen)
        }
        (Fault::NoRecordCheck, Step::LookAtRecords) => {
            let seen = Lookups { carried: Some(true), ..own.seen };
            decide(&own.wish, own.state.as_ref(), &seen)
        }
        (Fault::NotBlocked, Step::Write(state, wrote)) => Step::Write(State { blocked: None, ..state }, wrote),
        (Fault::NoCancel, Step::Write(_, super::super::Wrote::Cancelled)) => {
            let wish = super::super::Wish {
                named: own.state.and_then(|state| state.target).map(|target| target.at.digest),
                valid: true,
                ..own.wish
            };
            decide(&wish, own.state.as_ref(), &own.seen)
        }
        (_, step) => step,
    }
}

fn write(world: &mut World, own: &Operator, state: State, deposed: bool) {
    if !own.fresh {
        put(world, None, deposed);
        return;
    }
    if let Some(active) = state.active {
        world.committed.push(active.at);
        world.committed.sort_unstable();
        world.committed.dedup();
    }
    world.status = Some(state);
    world.touched();
    let again = Operator { state: Some(state), seen: Lookups::default(), fresh: true, recovered: None, honest: true, wish: own.wish };
    put(world, Some(again), deposed);
}

fn facts(world: &World) -> Facts {
    let told = world.workers.iter().filter_map(|worker| worker.told);
    let committed = told.clone().filter_map(|told| told.committed).chain(world.splits.iter().filter_map(|split| split.progress));
    let answered = world.workers.iter().filter_map(|worker| worker.answer).filter(|answer| answer.said == Said::Acknowledged);
    let stored = || world.revisions.iter().enumerate().filter_map(|(program, stored)| stored.map(|stored| (program, stored)));
    Facts {
        committed: committed.chain(answered.map(|answer| answer.about)).collect(),
        told: told.map(|told| told.root).collect(),
        revisions: stored().map(|(program, stored)| At { epoch: stored.epoch, digest: digest(program) }).collect(),
        soaked: stored().filter_map(|(program, stored)| stored.soaked.map(|epoch| At { epoch, digest: digest(program) })).collect(),
        epochs: Vec::new(),
    }
}

/// The joined workers, as the controller would list them.
fn members(world: &World) -> Vec<Member> {
    let joined = world.workers.iter().enumerate().filter(|(_, worker)| worker.joined);
    joined
        .map(|(index, worker)| {
            let answer = worker.answer.map(|answered| Answer {
                pipeline_uid: "u".into(),
                root: RootAt { epoch: answered.about.epoch, digest: text(answered.about.digest) },
                incarnation: life(index, if world.fault == Fault::EarlierLife { worker.life } else { answered.life }),
                outcome: outcome(answered.said, world.fault),
                installed: None,
            });
            Member { name: index.to_string(), incarnation: life(index, worker.life), answer }
        })
        .collect()
}

fn life(worker: usize, life: u8) -> String {
    format!("{worker}/{life}")
}

fn outcome(said: Said, fault: Fault) -> Outcome {
    match said {
        Said::Prepared => Outcome::Prepared,
        Said::Rejected if fault == Fault::RejectionIgnored => Outcome::Prepared,
        Said::Rejected => {
            Outcome::Rejected { fault: Reported { code: String::new(), reason: String::new(), message: String::new(), may_pass: false } }
        }
        Said::Acknowledged => {
            Outcome::Acknowledged { state_changed: false, interface_changed: false, generation: None, splits: BTreeMap::new() }
        }
    }
}

fn answers(world: &World, state: Option<State>) -> Answers {
    let Some(state) = state else { return Answers::Nobody };
    let question =
        state.target.map(|target| Question::Prepared(target.at)).or(state.active.map(|active| Question::Acknowledged(active.at)));
    question.map_or(Answers::Nobody, |question| tally("u", &members(world), question).answers())
}

/// Whether every joined worker has installed the active program, or a later one, in this life.
fn all_run_it(world: &World, state: Option<State>) -> bool {
    let Some(active) = state.and_then(|state| state.active) else { return true };
    let installed = |at: Option<At>| at.is_some_and(|at| at.epoch >= active.at.epoch);
    world.workers.iter().filter(|worker| worker.joined).all(|worker| installed(worker.installed))
}

fn records(world: &World, state: Option<State>) -> bool {
    let lives: Vec<_> = world.splits.iter().map(|split| split.owner.map(|(worker, own)| life(worker, own))).collect();
    let splits = world.splits.iter().zip(&lives).map(|(split, owner)| (owner.as_deref(), split.progress.map(|at| at.epoch)));
    state.and_then(|state| state.active).is_none_or(|active| carried(splits, &members(world), active.at.epoch))
}

fn tell(world: &World, own: &Operator, deposed: bool, next: &mut Vec<Next>) {
    let Some(mut state) = own.state else { return };
    if world.fault == Fault::ToldBeforeIntent
        && let Step::Write(intended, _) = decide(&own.wish, own.state.as_ref(), &own.seen)
    {
        state = intended;
    }
    for index in 0..world.fleet {
        let told = world.workers[index].told;
        let blind = world.fault == Fault::ToldBlind;
        let Some(now) = telling(&state, told.filter(|_| !blind)).filter(|now| Some(*now) != told) else { continue };
        if !allowed(told, now) && !blind {
            continue;
        }
        let who = if deposed { "the deposed operator" } else { "the operator" };
        push(next, world, format!("{who} tells worker {index} {:?} of {}", now.stage, now.root.epoch), !deposed, |world| {
            world.workers[index].told = Some(now);
            if !world.named.contains(&now.root) {
                world.named.push(now.root);
                world.named.sort_unstable();
            }
        });
    }
}

/// The API server's own rules on instructions.
fn allowed(told: Option<Telling>, now: Telling) -> bool {
    let Some(told) = told else { return true };
    let falls = now.root.epoch < told.root.epoch || now.committed.map(|at| at.epoch) < told.committed.map(|at| at.epoch);
    let same = now.root.epoch == told.root.epoch;
    !falls && !(same && (now.root.digest != told.root.digest || (told.stage == Stage::Commit && now.stage != Stage::Commit)))
}

// --- a worker ------------------------------------------------------------------------------------

fn worker(world: &World, index: usize, next: &mut Vec<Next>) {
    let own = &world.workers[index];
    if !own.joined {
        push(next, world, format!("worker {index} joins"), true, |world| {
            let worker = &mut world.workers[index];
            worker.joined = true;
            (worker.read, worker.installed, worker.floor) = (false, None, None);
        });
        return;
    }
    if world.left.crashes > 0 {
        push(next, world, format!("worker {index} crashes"), false, |world| {
            world.left.crashes -= 1;
            let worker = &mut world.workers[index];
            worker.joined = false;
            worker.life += 1;
            (worker.read, worker.installed, worker.floor) = (false, None, None);
        });
    }
    if !own.read {
        push(next, world, format!("worker {index} reads the root"), true, |world| read_root(world, index));
    }
    instructed(world, index, next);
    for split in 0..world.fleet {
        splits(world, (index, split), next);
    }
}

fn read_root(world: &mut World, index: usize) {
    world.workers[index].read = true;
    let highest = world.splits.iter().filter_map(|split| split.progress).max();
    let root = world.status.map_or(highest, |state| state.active.map(|active| active.at));
    let Some(root) = root.filter(|_| world.fault != Fault::RootNotReadAtJoin) else { return };
    if rejects(world, root) {
        world.workers[index].floor = Some(root.epoch);
        answer(world, index, root, Said::Rejected);
    } else {
        install(world, index, root);
    }
}

fn rejects(world: &World, root: At) -> bool {
    world.kinds[program(root.digest)] == Kind::Rejected
}

fn install(world: &mut World, index: usize, root: At) {
    let worker = &mut world.workers[index];
    if worker.installed.is_none_or(|installed| installed.epoch < root.epoch) {
        worker.installed = Some(root);
    }
}

fn answer(world: &mut World, index: usize, about: At, said: Said) {
    let life = world.workers[index].life;
    world.workers[index].answer = Some(Answered { life, about, said });
}

fn stands(world: &World, index: usize, about: At, said: Option<Said>) -> bool {
    let own = &world.workers[index];
    own.answer.is_some_and(|answer| answer.life == own.life && answer.about == about && said.is_none_or(|said| answer.said == said))
}

fn instructed(world: &World, index: usize, next: &mut Vec<Next>) {
    let own = &world.workers[index];
    let Some(told) = own.told else { return };
    let above = |at: At| own.installed.is_none_or(|installed| at.epoch > installed.epoch);
    if told.stage == Stage::Prepare && above(told.root) && !stands(world, index, told.root, None) {
        push(next, world, format!("worker {index} prepares {}", told.root.epoch), true, |world| {
            let said = if rejects(world, told.root) { Said::Rejected } else { Said::Prepared };
            answer(world, index, told.root, said);
        });
    }
    let Some(committed) = told.committed else { return };
    let floor = own.floor.is_none_or(|floor| committed.epoch >= floor);
    if above(committed) && floor && !stands(world, index, committed, Some(Said::Rejected)) && own.read {
        push(next, world, format!("worker {index} installs {}", committed.epoch), true, |world| {
            if rejects(world, committed) { answer(world, index, committed, Said::Rejected) } else { install(world, index, committed) }
        });
    }
    let held = world.splits.iter().filter(|split| split.owner == Some((index, own.life)) && !matches!(split.tenancy, Tenancy::Draining(_)));
    let through = held.clone().all(|split| split.progress.is_some_and(|progress| progress.epoch >= committed.epoch));
    let asked = told.stage == Stage::Prepare && told.root.epoch > committed.epoch;
    if own.installed == Some(committed) && !asked && through && !stands(world, index, committed, Some(Said::Acknowledged)) {
        push(next, world, format!("worker {index} acknowledges {}", committed.epoch), true, |world| {
            answer(world, index, committed, Said::Acknowledged);
        });
    }
}

fn splits(world: &World, (index, at): (usize, usize), next: &mut Vec<Next>) {
    let (own, split) = (&world.workers[index], &world.splits[at]);
    let mine = split.owner == Some((index, own.life));
    let mut go = |name: &str, bound: bool, change: &dyn Fn(&mut World)| {
        push(next, world, format!("worker {index} {name} split {at}"), bound, |world| change(world));
    };
    let Some(installed) = own.installed.filter(|installed| own.floor.is_none_or(|floor| installed.epoch >= floor)) else { return };
    if !mine && !world.lives(split.owner) && own.read {
        go("claims", true, &|world| {
            let life = world.workers[index].life;
            world.splits[at] = Split { owner: Some((index, life)), progress: world.splits[at].progress, tenancy: Tenancy::Opening };
        });
    }
    if !mine {
        return;
    }
    let behind = split.progress.is_none_or(|progress| progress.epoch < installed.epoch);
    match split.tenancy {
        Tenancy::Opening | Tenancy::Flowing(_) if behind => go("cuts over", true, &|world| {
            world.splits[at].progress = Some(installed);
            world.splits[at].tenancy = Tenancy::Flowing(installed);
        }),
        Tenancy::Opening => go("opens", true, &|world| {
            let Some(progress) = world.splits[at].progress else { return };
            install(world, index, progress);
            world.splits[at].tenancy = Tenancy::Flowing(progress);
        }),
        Tenancy::Flowing(_) => {}
        Tenancy::Draining(_) => go("releases", true, &|world| world.splits[at].owner = None),
    }
    if let Tenancy::Flowing(root) = split.tenancy
        && world.left.drains > 0
    {
        go("drains", false, &|world| {
            world.left.drains -= 1;
            world.splits[at].tenancy = Tenancy::Draining(root);
        });
    }
}
