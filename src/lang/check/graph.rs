//! The order of evaluation, and the cycles that have none.

use super::declare::Streams;
use super::references::{References, Unlisted};
use crate::lang::checked::StreamId;
use crate::lang::codes::Code;
use crate::lang::diagnostic::{Diagnostic, Errors};
use crate::lang::syntax::{ExprId, ExprKind, Root, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};

/// More cycles are not reported.
const MAX_CYCLES: usize = 20;
/// The most `dynamic` and `defer` without a list.
const MAX_UNLISTED: usize = 256;
/// Of longer cycles, so many edges are named.
const NAMED: usize = 8;

/// The dependencies within a tick.
pub(super) struct Graph {
    /// By stream: whom it reads undelayed, and where first.
    pub(super) reads: Vec<BTreeMap<StreamId, Span>>,
    /// Dependencies first; of those that are free, the first declared. Without what stands on a cycle or behind one.
    pub(super) order: Vec<StreamId>,
    /// What stands on a cycle, or between two.
    pub(super) broken: BTreeSet<StreamId>,
    /// What a text without a list may name.
    pub(super) scopes: HashMap<ExprId, Vec<StreamId>>,
}

/// Works out order and scopes, and reports cycles.
pub(super) fn graph(root: &Root, streams: &Streams, references: &References, errors: &mut Errors) -> Graph {
    let mut reads: Vec<BTreeMap<StreamId, Span>> = Vec::new();
    for found in &references.of {
        let mut edges = BTreeMap::new();
        for reference in found.iter().filter(|reference| !reference.delayed) {
            edges.entry(reference.to).or_insert(reference.span);
        }
        reads.push(edges);
    }
    let mut graph = Graph { reads, order: Vec::new(), broken: BTreeSet::new(), scopes: HashMap::new() };
    graph.unlisted(&references.unlisted, errors);
    graph.order = graph.sorted();
    graph.cycles((root, streams), errors);
    graph
}

impl Graph {
    fn ids(&self) -> impl Iterator<Item = StreamId> + use<> {
        (0..u32::try_from(self.reads.len()).unwrap_or(u32::MAX)).map(StreamId)
    }

    fn edges(&self, id: StreamId) -> impl Iterator<Item = (StreamId, Span)> {
        self.reads.get(id.0 as usize).into_iter().flatten().map(|(to, span)| (*to, *span))
    }

    /// By stream: who reads it undelayed.
    fn readers(&self) -> Vec<Vec<StreamId>> {
        let mut readers = vec![Vec::new(); self.reads.len()];
        for id in self.ids() {
            for (to, _) in self.edges(id) {
                if let Some(list) = readers.get_mut(to.0 as usize) {
                    list.push(id);
                }
            }
        }
        readers
    }

    /// Texts without a list, in the order of the text, may name all streams that do not depend on them undelayed; from then
    /// on theirs depends on these.
    fn unlisted(&mut self, unlisted: &[Unlisted], errors: &mut Errors) {
        if let Some(surplus) = unlisted.get(MAX_UNLISTED) {
            let message = format!("a root has at most {MAX_UNLISTED} `dynamic` or `defer` without a list of streams");
            errors.push(Diagnostic::new(Code::TOO_LONG, surplus.span, message).hint("list the streams that the text may name: `{x, y}`"));
        }
        let mut readers = self.readers();
        for text in unlisted.iter().take(MAX_UNLISTED) {
            let mut free = vec![true; self.reads.len()];
            let mut open = vec![text.of];
            while let Some(id) = open.pop() {
                if let Some(free) = free.get_mut(id.0 as usize).filter(|free| **free) {
                    *free = false;
                    open.extend(readers.get(id.0 as usize).into_iter().flatten());
                }
            }
            let scope: Vec<StreamId> = self.ids().zip(free).filter(|(_, free)| *free).map(|(id, _)| id).collect();
            for to in &scope {
                if let Some(list) = readers.get_mut(to.0 as usize).filter(|_| !text.delayed) {
                    list.push(text.of);
                }
            }
            if let Some(edges) = self.reads.get_mut(text.of.0 as usize)
                && !text.delayed
            {
                for to in &scope {
                    edges.entry(*to).or_insert(text.span);
                }
            }
            self.scopes.insert(text.text, scope);
        }
    }

    fn sorted(&self) -> Vec<StreamId> {
        let readers = self.readers();
        let mut missing: Vec<usize> = self.reads.iter().map(BTreeMap::len).collect();
        let free = self.ids().zip(&missing).filter(|(_, missing)| **missing == 0).map(|(id, _)| Reverse(id));
        let mut free: BinaryHeap<_> = free.collect();
        let mut order = Vec::new();
        while let Some(Reverse(id)) = free.pop() {
            order.push(id);
            for reader in readers.get(id.0 as usize).into_iter().flatten() {
                if let Some(left) = missing.get_mut(reader.0 as usize) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        free.push(Reverse(*reader));
                    }
                }
            }
        }
        order
    }

    fn cycles(&mut self, (root, streams): (&Root, &Streams), errors: &mut Errors) {
        let sorted: BTreeSet<StreamId> = self.order.iter().copied().collect();
        let mut left: BTreeSet<StreamId> = self.ids().filter(|id| !sorted.contains(id)).collect();
        self.trim(&mut left);
        self.broken.clone_from(&left);
        for _ in 0..MAX_CYCLES {
            let Some(cycle) = self.on_a_cycle(&left).and_then(|id| self.cycle(id, &left)) else { return };
            for (id, ..) in &cycle {
                left.remove(id);
            }
            errors.push(described(root, streams, &cycle));
            self.trim(&mut left);
        }
    }

    /// Takes out what reads none or is read by none in the set, until all do and are.
    fn trim(&self, left: &mut BTreeSet<StreamId>) {
        let readers = self.readers();
        let readers = |id: StreamId| readers.get(id.0 as usize).map(Vec::as_slice).unwrap_or_default();
        let reads = |id: &StreamId| self.edges(*id).filter(|(to, _)| left.contains(to)).count();
        let mut reading: BTreeMap<StreamId, usize> = left.iter().map(|id| (*id, reads(id))).collect();
        let read_by = |id: &StreamId| readers(*id).iter().filter(|reader| left.contains(reader)).count();
        let mut read: BTreeMap<StreamId, usize> = left.iter().map(|id| (*id, read_by(id))).collect();
        let mut open: Vec<StreamId> = left.iter().copied().filter(|id| reading.get(id) == Some(&0) || read.get(id) == Some(&0)).collect();
        while let Some(id) = open.pop() {
            if !left.remove(&id) {
                continue;
            }
            let mut less = |counts: &mut BTreeMap<StreamId, usize>, id: StreamId| {
                if let Some(count) = counts.get_mut(&id) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        open.push(id);
                    }
                }
            };
            self.edges(id).for_each(|(to, _)| less(&mut read, to));
            for reader in readers(id) {
                less(&mut reading, *reader);
            }
        }
    }

    /// A stream on a cycle of a set in which all read another.
    fn on_a_cycle(&self, within: &BTreeSet<StreamId>) -> Option<StreamId> {
        let mut seen = BTreeSet::new();
        let mut at = *within.first()?;
        while seen.insert(at) {
            at = self.edges(at).map(|(to, _)| to).find(|to| within.contains(to))?;
        }
        Some(at)
    }

    /// The shortest cycle through a stream, as edges: from, to, where.
    fn cycle(&self, start: StreamId, within: &BTreeSet<StreamId>) -> Option<Vec<(StreamId, StreamId, Span)>> {
        let mut from: HashMap<StreamId, (StreamId, Span)> = HashMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(id) = open.pop_front() {
            for (to, span) in self.edges(id).filter(|(to, _)| within.contains(to)) {
                if to == start {
                    let mut edges = vec![(id, to, span)];
                    let mut at = id;
                    while at != start {
                        let (before, span) = from.get(&at).copied()?;
                        edges.push((before, at, span));
                        at = before;
                    }
                    edges.reverse();
                    let first = edges.iter().enumerate().min_by_key(|(_, edge)| edge.0).map_or(0, |(at, _)| at);
                    edges.rotate_left(first);
                    return Some(edges);
                }
                if let std::collections::hash_map::Entry::Vacant(entry) = from.entry(to) {
                    entry.insert((id, span));
                    open.push_back(to);
                }
            }
        }
        None
    }
}

/// A cycle, edge by edge.
fn described(root: &Root, streams: &Streams, cycle: &[(StreamId, StreamId, Span)]) -> Diagnostic {
    let name = |id: StreamId| streams.get(id).map_or("", |stream| &*stream.name.text);
    let start = cycle.first().map_or("", |edge| name(edge.0));
    let shown = cycle.iter().take(NAMED);
    let path: Vec<String> = shown.clone().map(|edge| format!("`{}`", name(edge.1))).collect();
    let path = path.join(" -> ");
    let rest = if cycle.len() > NAMED { format!(" and so on, over {} streams", cycle.len()) } else { String::new() };
    let message = format!("`{start}` needs itself in the same tick: `{start}` -> {path}{rest}");
    let mut edges = shown.map(|edge| (edge.2, format!("`{}` reads `{}` here", name(edge.0), name(edge.1))));
    let (span, label) = edges.next().unwrap_or_default();
    let mut error = Diagnostic::new(Code::CYCLE, span, message).label(label);
    for (span, label) in edges {
        error = error.other(span, label);
    }
    let closing = cycle.last().map_or("", |edge| name(edge.1));
    let reader = cycle.last().map_or("", |edge| name(edge.0));
    let lambda = |id: StreamId| {
        let value = streams.get(id).and_then(|stream| stream.value);
        value.is_some_and(|value| matches!(root.expr(value).kind, ExprKind::Lambda { .. }))
    };
    if cycle.iter().any(|edge| lambda(edge.0)) {
        return error.hint("a function that calls itself is written with `fix`: `fix(\\self: (Int -> Int), n -> … self(n - 1) …)`");
    }
    error.hint(format!(
        "delay the edge that closes it: in `{reader}` write `default({closing}[1], …)`, with the first value in place of `…`"
    ))
}
