//! What a path means: a place in this crate, or a foreign crate's.
//!
//! Follows `crate`, `self`, `super`, `millrace`, the names that a file's `use` lines bind, re-exports at the crate's
//! root and exported macros. Owns the readings of a path; where a name could be several things, all of them count.

use std::collections::BTreeMap;

use super::paths::{Facts, Mention, Named, Role};
use super::rooms::{self, MAIN};

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// From this crate's root.
    Here(Vec<String>),
    /// Begins with a foreign crate, or with a name of which the file does not say what it is.
    Out(Vec<String>),
}

impl Target {
    fn then(&self, more: &[String]) -> Self {
        let join = |path: &[String]| path.iter().chain(more).cloned().collect();
        match self {
            Self::Here(path) => Self::Here(join(path)),
            Self::Out(path) => Self::Out(join(path)),
        }
    }
}

/// Renames of renames are followed so far.
const DEPTH: usize = 4;

/// The names that lead somewhere from anywhere in the crate.
pub(super) struct Names {
    /// What `lib.rs` re-exports.
    root: BTreeMap<String, Vec<Target>>,
    /// The modules that define an exported macro.
    macros: BTreeMap<String, Vec<Target>>,
}

impl Names {
    pub(super) fn of(all: &[Facts]) -> Self {
        let mut root: BTreeMap<String, Vec<Target>> = BTreeMap::new();
        let mut macros: BTreeMap<String, Vec<Target>> = BTreeMap::new();
        for facts in all {
            for mention in facts.mentions.iter().filter(|mention| mention.at.module.is_empty()) {
                if let Role::Binds(name) = &mention.role {
                    root.entry(name.clone()).or_default().push(literal(mention));
                }
            }
            for one in &facts.macros {
                macros.entry(one.name.clone()).or_default().push(Target::Here(one.at.module.clone()));
            }
        }
        Self { root, macros }
    }

    /// A path as it is written, through the crate's root where it goes there; nothing where its first name is bound
    /// (in a `use` that would be ambiguous, so there a crate's name is the crate).
    pub(super) fn written(&self, facts: &Facts, mention: &Mention) -> Vec<Target> {
        let target = literal(mention);
        if let (Target::Out(path), false) = (&target, mention.leading) {
            let module = &mention.at.module;
            let is_child = |child: &&Named| child.at.module == *module && path.first() == Some(&child.name);
            if let Some(child) = facts.modules.iter().find(is_child) {
                let below = path.iter().skip(1).cloned();
                return vec![Target::Here(module.iter().chain([&child.name]).cloned().chain(below).collect())];
            }
            if mention.role == Role::Plain && !bindings(facts, mention, 1).is_empty() {
                return Vec::new();
            }
        }
        self.through_root(target, DEPTH)
    }

    /// What a path means by the names that the file's `use` lines bind.
    pub(super) fn bound(&self, facts: &Facts, mention: &Mention) -> Vec<Target> {
        let targets = bindings(facts, mention, DEPTH);
        targets.into_iter().flat_map(|target| self.through_root(target, DEPTH)).collect()
    }

    fn through_root(&self, target: Target, depth: usize) -> Vec<Target> {
        let Some(depth) = depth.checked_sub(1) else {
            return vec![target];
        };
        let known = match &target {
            Target::Here(path) => path.split_first().filter(|(first, _)| rooms::room(first).is_none()),
            Target::Out(_) => None,
        };
        let Some((first, more)) = known else {
            return vec![target];
        };
        let exported = self.root.get(first).into_iter().flatten().map(|to| to.then(more));
        let macros = self.macros.get(first).into_iter().flatten().filter(|_| more.is_empty()).cloned();
        let next: Vec<Target> = exported.chain(macros).filter(|next| *next != target).collect();
        if next.is_empty() {
            return vec![target];
        }
        next.into_iter().flat_map(|next| self.through_root(next, depth)).collect()
    }
}

fn bindings(facts: &Facts, mention: &Mention, depth: usize) -> Vec<Target> {
    let (Some(depth), Some((first, more))) = (depth.checked_sub(1), mention.segments.split_first()) else {
        return Vec::new();
    };
    let binds = |other: &&Mention| {
        !mention.leading
            && matches!(&other.role, Role::Binds(name) if name == first)
            && other.segments != mention.segments
            && mention.at.module.starts_with(&other.at.module)
    };
    let mut targets = Vec::new();
    for other in facts.mentions.iter().filter(binds) {
        targets.push(literal(other).then(more));
        targets.extend(bindings(facts, other, depth).into_iter().map(|target| target.then(more)));
    }
    targets
}

/// A path by its own words alone.
fn literal(mention: &Mention) -> Target {
    let module = &mention.at.module;
    let Some((first, more)) = mention.segments.split_first() else {
        return Target::Here(module.clone());
    };
    let crate_root = || module.iter().take(usize::from(module.first().is_some_and(|first| first == MAIN)));
    match first.as_str() {
        "millrace" => Target::Here(more.to_vec()),
        _ if mention.leading => Target::Out(mention.segments.clone()),
        "crate" => Target::Here(crate_root().chain(more).cloned().collect()),
        "self" => Target::Here(module.iter().chain(more).cloned().collect()),
        "super" => {
            let ups = mention.segments.iter().take_while(|segment| *segment == "super").count();
            let left = module.iter().take(module.len().saturating_sub(ups));
            Target::Here(left.chain(mention.segments.iter().skip(ups)).cloned().collect())
        }
        name if module.is_empty() && rooms::room(name).is_some() => Target::Here(mention.segments.clone()),
        _ => Target::Out(mention.segments.clone()),
    }
}
