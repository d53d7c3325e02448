//! What every state and every act must keep, and which states are an end.

use super::super::{Answers, At, State};
use super::world::{Kind, Tenancy, World, program};
use crate::api::stream_worker::Stage;

/// Whether an act, by the worlds before and after it, keeps a property.
type Rule = fn(&World, &World) -> bool;

/// The property that an act breaks, if it breaks one.
pub(super) fn broken(before: &World, after: &World) -> Option<String> {
    let rules: [(&str, Rule); 11] = [
        ("I42: an epoch names two programs", one_program_an_epoch),
        ("an epoch or the active program falls", nothing_falls),
        ("I30: a worker is told what is not stored", told_is_stored),
        ("I29: what nobody committed is installed or in progress", only_what_was_committed),
        ("a program is committed that is invalid, or that the spec does not name", committed_by_the_spec),
        ("a program is committed that a worker has rejected in an answer that stood there", not_what_was_rejected),
        ("I43: after the acknowledgement a tenancy evaluates an older program", acknowledged_for_good),
        ("I38: a tenancy is below its progress, or a progress falls", tenancies_are_not_below),
        ("a worker that was joined had not installed what is acknowledged", acknowledged_by_all),
        ("I34: a program that failed is tried again by itself", no_attempt_of_its_own),
        ("a revision is missing that status or progress names, or the last good one has not soaked", revisions_are_there),
    ];
    rules.into_iter().find(|(_, holds)| !holds(before, after)).map(|(name, _)| name.to_owned())
}

fn places(world: &World) -> Vec<At> {
    let state = world.status.unwrap_or_default();
    let told = world.workers.iter().filter_map(|worker| worker.told);
    let mut all: Vec<At> = told.flat_map(|told| [Some(told.root), told.committed]).flatten().collect();
    all.extend(world.splits.iter().filter_map(|split| split.progress));
    all.extend(state.active.map(|active| active.at));
    all.extend(state.target.map(|target| target.at));
    all.extend(world.named.iter());
    all.extend(world.committed.iter());
    all
}

fn one_program_an_epoch(_: &World, after: &World) -> bool {
    let all = places(after);
    all.iter().all(|one| all.iter().all(|other| one.epoch != other.epoch || one.digest == other.digest))
}

fn nothing_falls(before: &World, after: &World) -> bool {
    let (Some(old), Some(new)) = (before.status, after.status) else { return true };
    let told = before.workers.iter().zip(&after.workers).all(|(old, new)| match (old.told, new.told) {
        (Some(old), Some(new)) => new.root.epoch >= old.root.epoch && new.committed.map(|at| at.epoch) >= old.committed.map(|at| at.epoch),
        (old, new) => old.is_none() || new.is_some(),
    });
    new.epoch >= old.epoch && new.active.map(|active| active.at.epoch) >= old.active.map(|active| active.at.epoch) && told
}

fn told_is_stored(_: &World, after: &World) -> bool {
    let Some(state) = after.status else { return true };
    after.workers.iter().filter_map(|worker| worker.told).all(|told| told.root.epoch <= state.epoch)
}

fn only_what_was_committed(_: &World, after: &World) -> bool {
    let installed = after.workers.iter().filter_map(|worker| worker.installed);
    installed.chain(after.splits.iter().filter_map(|split| split.progress)).all(|at| after.committed.contains(&at))
}

fn commit(before: &World, after: &World) -> Option<(State, At)> {
    let state = before.status?;
    let now = after.status?.active?;
    (state.active.map(|active| active.at) != Some(now.at)).then_some((state, now.at))
}

fn committed_by_the_spec(before: &World, after: &World) -> bool {
    let Some((state, at)) = commit(before, after) else { return true };
    let recovery = state.target.is_some_and(|target| target.recovery);
    after.kinds[program(at.digest)] != Kind::Invalid && (recovery || program(at.digest) == after.spec)
}

/// Whoever commits because all have prepared has read that of each of them, and no worker prepares what it rejects.
fn not_what_was_rejected(before: &World, after: &World) -> bool {
    let Some((_, at)) = commit(before, after) else { return true };
    let all = [&before.operator, &before.deposed].into_iter().flatten().any(|own| own.fresh && own.seen.answers == Some(Answers::All));
    !(all && after.kinds[program(at.digest)] == Kind::Rejected)
}

fn acknowledged_by_all(before: &World, after: &World) -> bool {
    let acked = |world: &World| world.status.and_then(|state| state.active).filter(|active| active.acked).map(|active| active.at);
    let writers = [&before.operator, &before.deposed];
    let mut writers = writers.into_iter().flatten().filter(|own| own.fresh && own.seen.answers == Some(Answers::All));
    acked(after).is_none() || acked(before) == acked(after) || writers.all(|own| own.honest)
}

fn no_attempt_of_its_own(_: &World, after: &World) -> bool {
    after.status.is_none_or(|state| state.epoch.get() <= after.most)
}

fn acknowledged_for_good(_: &World, after: &World) -> bool {
    let acked = after.status.and_then(|state| state.active).filter(|active| active.acked);
    let Some(active) = acked else { return true };
    after.splits.iter().filter(|split| after.lives(split.owner)).all(|split| match split.tenancy {
        Tenancy::Opening => true,
        Tenancy::Flowing(root) | Tenancy::Draining(root) => root.epoch >= active.at.epoch,
    })
}

fn tenancies_are_not_below(before: &World, after: &World) -> bool {
    let falls = before.splits.iter().zip(&after.splits).any(|(old, new)| new.progress < old.progress);
    let below = after.splits.iter().any(|split| match split.tenancy {
        Tenancy::Flowing(root) => split.progress.is_none_or(|progress| root.epoch < progress.epoch),
        _ => false,
    });
    !falls && !below
}

fn revisions_are_there(_: &World, after: &World) -> bool {
    let state = after.status.unwrap_or_default();
    let named = [state.active.map(|active| active.at), state.target.map(|target| target.at), state.good];
    let progress = after.splits.iter().filter_map(|split| split.progress);
    let stored = |at: At| after.revisions[program(at.digest)];
    let good = state.good.is_none_or(|good| stored(good).is_some_and(|stored| stored.soaked.is_some()));
    good && named.into_iter().flatten().chain(progress).all(|at| stored(at).is_some())
}

/// An end: the spec's program runs everywhere and has proven good, or it is invalid or has failed, and says so; nobody is
/// left with something to prepare.
pub(super) fn is_settled(world: &World) -> bool {
    let Some(state) = world.status else { return false };
    let wish = world.wish();
    let state = state.under(&wish);
    let idle = state.target.is_none() && !world.workers.iter().any(|worker| worker.told.is_some_and(|told| told.stage == Stage::Prepare));
    let runs = |at: At| world.workers.iter().take(world.fleet).all(|worker| worker.joined && worker.installed == Some(at));
    let flows =
        |at: At| world.splits.iter().take(world.fleet).all(|split| world.lives(split.owner) && split.tenancy == Tenancy::Flowing(at));
    let active = state.active;
    let ready = state.acknowledges(&wish) && active.is_some_and(|active| active.soaked && runs(active.at) && flows(active.at));
    let rejected = active.is_none_or(|active| world.kinds[program(active.at.digest)] == Kind::Rejected);
    let steady = active.is_none_or(|active| !state.recovering && runs(active.at) && (active.acked || active.failed));
    let unready = !wish.valid || state.blocked.is_some();
    idle && (ready || (unready && (steady || rejected || state.recovery_failed)))
}
