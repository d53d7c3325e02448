//! What a listing says of shards and their descent: pure.

use crate::coordination::records::{self, Descriptor};
use crate::flow::SplitId;
use crate::kinesis::{ChildShard, HashRange, Shard};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Why a listing is not the whole stream at one moment: it is not gone by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Torn {
    /// Nothing takes the hash keys from here on.
    Hole(u128),
    /// Two shards take this hash key.
    Overlap(u128),
    /// This open shard comes from one that is open as well.
    OpenParent(Arc<str>),
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hole(key) => write!(f, "no shard takes the hash key {key}"),
            Self::Overlap(key) => write!(f, "two shards take the hash key {key}"),
            Self::OpenParent(shard) => write!(f, "{shard} and a shard it comes from are both open"),
        }
    }
}

/// Whether a listing of all shards is the whole stream at one moment: its open shards take each hash key once.
pub(super) fn complete(shards: &[Shard]) -> Result<(), Torn> {
    let open: HashMap<&str, &Shard> = shards.iter().filter(|shard| !shard.closed).map(|shard| (&*shard.id, shard)).collect();
    let torn = open.values().filter(|shard| shard.parents.iter().any(|parent| open.contains_key(&**parent)));
    if let Some(shard) = torn.min_by_key(|shard| &shard.id) {
        return Err(Torn::OpenParent(Arc::clone(&shard.id)));
    }
    covers(open.values().map(|shard| shard.range))
}

/// Whether ranges together take each hash key once.
pub(super) fn covers(ranges: impl Iterator<Item = HashRange>) -> Result<(), Torn> {
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort_unstable();
    let mut next = Some(0_u128);
    for range in ranges {
        match next {
            Some(key) if range.from == key => next = range.to.checked_add(1),
            Some(key) if range.from > key => return Err(Torn::Hole(key)),
            _ => return Err(Torn::Overlap(range.from)),
        }
    }
    next.map_or(Ok(()), |key| Err(Torn::Hole(key)))
}

/// The shards of a listing that came from this one.
pub(super) fn children(shards: &[Shard], of: &str) -> Vec<ChildShard> {
    let children = shards.iter().filter(|shard| shard.parents.iter().any(|parent| &**parent == of));
    children.map(|shard| ChildShard { id: shard.id.clone(), parents: shard.parents.clone(), range: shard.range }).collect()
}

/// A shard as coordination knows it.
pub(super) fn split(stream: &Arc<str>, shard: &ChildShard) -> records::Shard {
    let text = |key: u128| Arc::from(key.to_string());
    records::Shard {
        split: SplitId::new(&shard.id),
        descriptor: Descriptor {
            stream: Arc::clone(stream),
            shard: Arc::clone(&shard.id),
            hash_range: Some((text(shard.range.from), text(shard.range.to))),
        },
        parents: shard.parents.iter().map(|parent| SplitId::new(parent)).collect(),
    }
}

/// The same of a listed one.
pub(super) fn listed(stream: &Arc<str>, shard: &Shard) -> records::Shard {
    split(stream, &ChildShard { id: shard.id.clone(), parents: shard.parents.clone(), range: shard.range })
}

#[cfg(test)]
mod tests {
    use super::{Torn, children, complete};
    use crate::kinesis::{HashRange, Shard};

    const HALF: u128 = 1 << 127;

    fn shard(id: &str, range: (u128, u128), closed: bool, parents: &[&str]) -> Shard {
        let parents = parents.iter().map(|parent| (*parent).into()).collect();
        Shard { id: id.into(), parents, range: HashRange { from: range.0, to: range.1 }, closed }
    }

    fn split_parent() -> Vec<Shard> {
        vec![
            shard("parent", (0, u128::MAX), true, &["trimmed"]),
            shard("high", (HALF, u128::MAX), false, &["parent"]),
            shard("low", (0, HALF - 1), false, &["parent"]),
        ]
    }

    #[test]
    fn a_listing_is_complete_when_its_open_shards_take_each_key_once() {
        assert_eq!(complete(&split_parent()), Ok(()));
        assert_eq!(complete(&[]), Err(Torn::Hole(0)));
        let mut lacks_the_last_key = split_parent();
        lacks_the_last_key[1].range.to = u128::MAX - 1;
        assert_eq!(complete(&lacks_the_last_key), Err(Torn::Hole(u128::MAX)));
        let mut lacks_a_shard = split_parent();
        lacks_a_shard.pop();
        assert_eq!(complete(&lacks_a_shard), Err(Torn::Hole(0)));
        let mut overlaps = split_parent();
        overlaps[2].range.to = HALF;
        assert_eq!(complete(&overlaps), Err(Torn::Overlap(HALF)));
    }

    #[test]
    fn an_open_child_of_an_open_parent_is_a_torn_listing() {
        let mut torn = split_parent();
        torn[0].closed = false;
        assert_eq!(complete(&torn), Err(Torn::OpenParent("high".into())));
    }

    #[test]
    fn children_are_found_by_either_parent() {
        let shards = [
            shard("a", (0, HALF - 1), true, &[]),
            shard("b", (HALF, u128::MAX), true, &[]),
            shard("c", (0, u128::MAX), false, &["a", "b"]),
        ];
        for parent in ["a", "b"] {
            let found: Vec<_> = children(&shards, parent).into_iter().map(|child| child.id).collect();
            assert_eq!(found, ["c".into()], "{parent}");
        }
        assert!(children(&shards, "c").is_empty());
    }
}
