//! The check of what only `env` may do: read a clock, draw randomness, spawn or start a thread.
//!
//! Judges paths after following the file's `use` lines, and calls of `.elapsed()`. Holds for `src`; what is only built
//! for tests may wait and read clocks. Owns the list of what is banned. It cannot see a handle that was passed in.

use super::Violation;
use super::paths::{self, Facts, Mention, Role};
use super::resolve::{Names, Target};
use super::rooms;
use super::tree::Tree;

/// The only room that may.
const ENV: &str = "env";

/// Paths that reach for the machine, and what to do instead. One that begins with `..` is the end of a path; a last
/// name that ends in `*` stands for all that begin so.
struct Banned {
    paths: &'static [&'static str],
    does: &'static str,
    mend: &'static str,
}

const BANNED: &[Banned] = &[
    Banned {
        paths: &[
            "..SystemTime::now",
            "..SystemTime::elapsed",
            "..Instant::now",
            "..Instant::elapsed",
            "..Timestamp::now",
            "..Zoned::now",
            "..Utc::now",
            "..Local::now",
            "..OffsetDateTime::now_utc",
            "..OffsetDateTime::now_local",
        ],
        does: "reads a clock",
        mend: "take the time from the clock that `env` gives",
    },
    Banned {
        paths: &["tokio::time", "tokio_util::time", "std::thread::sleep", "futures_timer"],
        does: "waits on the machine's clock",
        mend: "wait with the clock that `env` gives",
    },
    Banned {
        paths: &[
            "rand",
            "rand_*",
            "getrandom",
            "fastrand",
            "..new_v4",
            "..now_v7",
            "std::hash::RandomState",
            "std::collections::hash_map::RandomState",
        ],
        does: "draws randomness",
        mend: "draw from the randomness that `env` gives",
    },
    Banned {
        paths: &[
            "tokio::spawn",
            "tokio::task::spawn*",
            "tokio::task::JoinSet",
            "tokio::task::LocalSet",
            "tokio::main",
            "tokio::runtime",
            "tokio_util::task::TaskTracker",
            "std::thread::spawn",
            "std::thread::scope",
            "std::thread::Builder",
            "rayon",
        ],
        does: "spawns",
        mend: "spawn through `env`, which the simulator stands in for",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let all = paths::source(tree);
    let names = Names::of(&all);
    let mut found = Vec::new();
    for facts in &all {
        for mention in facts.mentions.iter().filter(|mention| is_held(&mention.at)) {
            let mut readings = names.written(facts, mention);
            readings.extend(names.bound(facts, mention));
            found.extend(readings.iter().find_map(|target| banned(facts, mention, target)));
        }
        let calls = facts.calls.iter().filter(|call| call.name == "elapsed" && is_held(&call.at));
        found.extend(calls.map(|call| Violation {
            file: facts.file.clone(),
            line: call.line,
            rule: "ambient",
            what: "`.elapsed()` reads a clock".to_owned(),
            mend: "subtract from the time of the clock that `env` gives".to_owned(),
        }));
    }
    found
}

fn is_held(at: &paths::Place) -> bool {
    !at.test && !rooms::is_inside(&at.module, ENV)
}

fn banned(facts: &Facts, mention: &Mention, target: &Target) -> Option<Violation> {
    let Target::Out(path) = target else {
        return None;
    };
    let glob = mention.role == Role::Glob;
    let banned = BANNED.iter().find(|banned| banned.paths.iter().any(|pattern| matches(pattern, path, glob)))?;
    Some(Violation {
        file: facts.file.clone(),
        line: mention.line,
        rule: "ambient",
        what: format!("`{}` {}", path.join("::"), banned.does),
        mend: banned.mend.to_owned(),
    })
}

fn matches(pattern: &str, path: &[String], glob: bool) -> bool {
    if let Some(end) = pattern.strip_prefix("..") {
        let names = end.rsplit("::");
        return path.len() >= names.clone().count() && names.zip(path.iter().rev()).all(|(name, own)| name == own);
    }
    let names = pattern.split("::");
    let covers = path.len() >= names.clone().count() || glob;
    covers && names.zip(path).all(|(name, own)| rooms::matches_name(name, own))
}

#[test]
fn reads_of_clocks_and_randomness_and_spawning_outside_env_are_found() -> Result<(), super::Told> {
    super::proof::shown(check, include_str!("fixtures/ambient.txt"))
}

#[test]
fn in_this_repository_only_env_reads_clocks_draws_randomness_or_spawns() -> Result<(), super::Told> {
    super::kept_here(check)
}
