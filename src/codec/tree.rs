//! The bound places of a payload, as a tree: made once, walked for each record.
//!
//! Owns: which names lead to which places, and what is read there.
//! May not: read.

use super::pointer;
use super::wanted::Wanted;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Up to so many names, looking at each is quicker than halving.
const FEW: usize = 8;

/// The places, each before those below it, so that those below one follow it without a gap. The first is the payload.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// A place on the way to, or at, what is bound.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The places right below it, names rising.
    children: Vec<Child>,
    /// Whether a name below it may also be a place in an array.
    pub(super) indexed: bool,
    /// What is read here.
    pub(super) targets: Vec<Target>,
    /// The number behind the last place below it.
    pub(super) end: usize,
}

#[derive(Debug)]
struct Child {
    name: Box<str>,
    index: Option<usize>,
    node: usize,
}

/// What is read at a place.
#[derive(Debug)]
pub(super) enum Target {
    /// An input.
    Cell(Bound),
    /// The key.
    Key,
    /// The record time.
    Time,
}

/// An input at its place.
#[derive(Debug)]
pub(super) struct Bound {
    /// Its place in the row.
    pub(super) slot: usize,
    /// Its name.
    pub(super) input: Arc<str>,
    /// What its value must be.
    pub(super) wanted: Wanted,
    /// Its place in the payload, as a pointer.
    pub(super) pointer: String,
}

/// What is bound where.
pub(super) type Places = Vec<(Vec<String>, Target)>;

impl Tree {
    /// The tree of these places.
    pub(super) fn new(places: Places) -> Self {
        let mut tree = Self::default();
        tree.grow(places, 0);
        tree
    }

    /// Adds the place that these have in common, so many names down, and those below it.
    fn grow(&mut self, places: Places, depth: usize) -> usize {
        let own = self.nodes.len();
        self.nodes.push(Node::default());
        let mut node = Node::default();
        let mut below: BTreeMap<String, Places> = BTreeMap::new();
        for (tokens, target) in places {
            match tokens.get(depth).cloned() {
                Some(token) => below.entry(token).or_default().push((tokens, target)),
                None => node.targets.push(target),
            }
        }
        for (name, places) in below {
            let index = pointer::index(&name);
            node.indexed |= index.is_some();
            let child = self.grow(places, depth + 1);
            node.children.push(Child { name: name.into(), index, node: child });
        }
        node.end = self.nodes.len();
        if let Some(place) = self.nodes.get_mut(own) {
            *place = node;
        }
        own
    }

    /// How many places it has.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, number: usize) -> Option<&Node> {
        self.nodes.get(number)
    }

    /// What is read at a place and below it.
    pub(super) fn targets(&self, number: usize) -> impl Iterator<Item = &Target> {
        let end = self.node(number).map_or(number, |node| node.end);
        self.nodes.get(number..end).unwrap_or_default().iter().flat_map(|node| &node.targets)
    }
}

impl Node {
    /// Whether places stand below it.
    #[inline]
    pub(super) fn is_inner(&self) -> bool {
        !self.children.is_empty()
    }

    /// The place below it under a name.
    #[inline]
    pub(super) fn child(&self, name: &str) -> Option<usize> {
        if self.children.len() <= FEW {
            return self.children.iter().find(|child| *child.name == *name).map(|child| child.node);
        }
        let at = self.children.binary_search_by(|child| (*child.name).cmp(name)).ok()?;
        self.children.get(at).map(|child| child.node)
    }

    /// The place below it at a place of an array.
    pub(super) fn element(&self, index: usize) -> Option<usize> {
        self.children.iter().find(|child| child.index == Some(index)).map(|child| child.node)
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, Tree};
    use crate::codec::pointer::pointer;

    #[test]
    fn places_below_one_follow_it_and_shared_ways_are_shared() {
        let places = ["/a/b", "/a", "/c/0", "/a/b/d", "/a/e"].map(|text| (pointer(text).unwrap(), Target::Key));
        let tree = Tree::new(places.into());
        assert_eq!(tree.len(), 7);
        let root = tree.node(0).unwrap();
        let a = root.child("a").unwrap();
        let b = tree.node(a).unwrap().child("b").unwrap();
        assert_eq!((a, b, tree.node(a).unwrap().end, root.end), (1, 2, 5, 7));
        assert_eq!((tree.targets(a).count(), tree.targets(b).count(), tree.targets(0).count()), (4, 2, 5));
        let c = tree.node(root.child("c").unwrap()).unwrap();
        assert!(c.indexed && c.element(0).is_some() && c.element(1).is_none() && c.child("0") == c.element(0));
        assert!(!root.indexed && root.child("x").is_none());
    }

    #[test]
    fn many_names_are_found_like_few() {
        let places = (0..100).map(|n| (vec![format!("n{n}")], Target::Key)).collect();
        let tree = Tree::new(places);
        let root = tree.node(0).unwrap();
        assert!((0..100).all(|n| root.child(&format!("n{n}")).is_some()) && root.child("n100").is_none());
    }
}
