//! All that can happen to small fleets, breadth first: the design's check of the protocol, redone on this very code.
//!
//! Owns: the exploration, the properties that every state must keep, the faults that it must find.
//! May not: decide anything itself; every decision of the operator is the one that the controller carries out.

mod acts;
mod properties;
mod world;

use std::collections::{HashMap, VecDeque};
use world::{Fault, Kind, Limits, World};

/// What one exploration has seen.
struct Explored {
    states: usize,
    /// The first broken property, with the acts that lead there.
    broken: Option<String>,
    /// States from which nothing that is bound to happen leads to an end.
    stuck: usize,
}

/// Explores every state that can be reached. A path back to each is kept only as its parent and the act.
fn explore(start: World) -> Explored {
    let mut seen: HashMap<World, usize> = HashMap::new();
    let mut came: Vec<(usize, String)> = vec![(0, "start".into())];
    let mut queue = VecDeque::from([start.clone()]);
    let mut backward: Vec<Vec<usize>> = vec![Vec::new()];
    let mut settled = vec![properties::is_settled(&start)];
    seen.insert(start, 0);
    while let Some(world) = queue.pop_front() {
        let from = seen[&world];
        for (act, next) in acts::all(&world) {
            if let Some(broken) = properties::broken(&world, &next) {
                let broken = Some(format!("{broken}\n{}{}", path(&came, from), act.name));
                return Explored { states: seen.len(), broken, stuck: 0 };
            }
            let to = seen.get(&next).copied().unwrap_or_else(|| {
                let to = came.len();
                came.push((from, act.name.clone()));
                backward.push(Vec::new());
                settled.push(properties::is_settled(&next));
                seen.insert(next.clone(), to);
                queue.push_back(next);
                to
            });
            if act.bound {
                backward[to].push(from);
            }
        }
    }
    Explored { states: seen.len(), broken: None, stuck: stuck(&backward, settled) }
}

/// How many states have no path of acts that are bound to happen to a settled one.
fn stuck(backward: &[Vec<usize>], mut good: Vec<bool>) -> usize {
    let mut queue: VecDeque<usize> = (0..good.len()).filter(|at| good[*at]).collect();
    while let Some(at) = queue.pop_front() {
        for from in &backward[at] {
            if !std::mem::replace(&mut good[*from], true) {
                queue.push_back(*from);
            }
        }
    }
    good.iter().filter(|good| !**good).count()
}

fn path(came: &[(usize, String)], mut at: usize) -> String {
    let mut acts = Vec::new();
    while at != 0 {
        acts.push(came[at].1.clone());
        at = came[at].0;
    }
    acts.reverse();
    acts.push(String::new());
    acts.join("\n")
}

fn holds(programs: [Kind; 3], limits: Limits, start: fn([Kind; 3], Limits) -> World, at_least: usize) {
    let explored = explore(start(programs, limits));
    assert!(explored.broken.is_none(), "{}", explored.broken.unwrap_or_default());
    assert_eq!(explored.stuck, 0, "of {} states", explored.states);
    assert!(explored.states > at_least, "only {} states: the exploration has lost its reach", explored.states);
}

fn finds(fault: Fault, programs: [Kind; 3], limits: Limits, start: fn([Kind; 3], Limits) -> World) {
    let mut world = start(programs, limits);
    world.fault = fault;
    let explored = explore(world);
    assert!(explored.broken.is_some() || explored.stuck > 0, "{fault:?} passes {} states", explored.states);
}

use Kind::{Good, Invalid, Rejected};

const EDIT: Limits = Limits { edits: 1, ..Limits::NONE };

#[test]
fn edits_to_good_invalid_and_rejected_programs_end_well() {
    holds([Good, Good, Good], Limits { edits: 2, late: 1, ..Limits::NONE }, World::running, 5_000);
    holds([Good, Invalid, Good], Limits { edits: 2, late: 1, ..Limits::NONE }, World::running, 1_000);
    holds([Good, Rejected, Good], Limits { edits: 2, late: 1, ..Limits::NONE }, World::running, 1_000);
}

#[test]
fn a_first_start_ends_well_with_a_good_or_a_rejected_program() {
    holds([Good, Good, Good], Limits { late: 1, ..EDIT }, World::unseen, 500);
    holds([Rejected, Good, Good], EDIT, World::unseen, 500);
}

#[test]
fn i43_crashes_and_drains_change_nothing_that_was_promised() {
    holds([Good, Good, Good], Limits { crashes: 1, ..EDIT }, World::alone, 500);
    holds([Good, Good, Good], Limits { drains: 1, ..EDIT }, World::running, 1_000);
}

#[test]
fn i34_a_failed_program_is_retried_once_when_its_epoch_is_named() {
    holds([Good, Rejected, Good], Limits { retries: 1, ..EDIT }, World::running, 300);
}

#[test]
fn i42_a_status_that_is_lost_begins_no_epoch_again() {
    holds([Good, Good, Good], Limits { losses: 1, ..EDIT }, World::alone, 300);
    holds([Good, Invalid, Good], Limits { losses: 1, ..EDIT }, World::alone, 200);
}

#[test]
fn scenario_45_a_deposed_operator_beside_its_successor_changes_nothing_that_was_promised() {
    let explored = explore(World::alone([Good, Good, Good], Limits { deposed: 1, ..EDIT }));
    assert!(explored.broken.is_none(), "{}", explored.broken.unwrap_or_default());
    assert!(explored.states > 300, "{}", explored.states);
}

#[test]
fn faults_of_the_protocol_are_found() {
    finds(Fault::ToldBeforeIntent, [Good, Good, Good], EDIT, World::running);
    finds(Fault::WithoutRevision, [Good, Good, Good], EDIT, World::running);
    finds(Fault::EarlierLife, [Good, Good, Good], Limits { crashes: 1, ..EDIT }, World::alone);
    finds(Fault::NoRecordCheck, [Good, Good, Good], Limits { drains: 1, ..EDIT }, World::running);
    finds(Fault::RootNotReadAtJoin, [Good, Good, Good], Limits { crashes: 1, ..EDIT }, World::running);
    finds(Fault::RejectionIgnored, [Good, Rejected, Good], EDIT, World::alone);
    finds(Fault::NotBlocked, [Good, Rejected, Good], EDIT, World::alone);
    finds(Fault::EpochNotInRevision, [Good, Good, Good], Limits { losses: 1, deposed: 1, ..EDIT }, World::alone);
    finds(Fault::NoCancel, [Good, Good, Good], Limits { edits: 2, ..Limits::NONE }, World::alone);
    finds(Fault::ToldBlind, [Good, Good, Good], Limits { edits: 2, deposed: 1, ..Limits::NONE }, World::alone);
}
