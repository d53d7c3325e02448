//! The plan: a checked root as code over registers, and the layout of a monitor's state.
//!
//! Owns: the slots of the row, the code of streams and functions, the pieces of state and their stable names, bounds.
//! May not: hold any key's state, evaluate.
//!
//! A [`Plan`] is immutable and shared by every key and thread. `block` says what it consists of, `build` how it is made,
//! `lower` and `function` what operations become, `identity` how state gets names that outlive a change of the root.

pub(crate) mod block;
pub(crate) mod build;
pub(crate) mod code;
mod function;
pub(crate) mod identity;
mod lower;
mod presence;
mod text;

use super::value;
use crate::lang::checked::{Checked, Equation as Computed, Stream, StreamId, StreamKind};
use crate::lang::types::Type;
use block::Block;
use build::{Equation, Scope, ScopeStream, Source, index, stream_print};
use identity::{Print, Printer, Printing};
use presence::Presence;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use text::TextCode;
use text::Texts;
pub use text::{RefusedText, TextCounts};

/// Bounds on one tick and on what it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most steps of functions and list callbacks in a tick; what copies counts by size.
    pub steps: u64,
    /// How deeply calls may nest.
    pub depth: u32,
    /// The most bytes of one value.
    pub value_bytes: usize,
    /// The most values of one window.
    pub window_values: usize,
    /// How many compiled texts of `dynamic` and `defer` a plan remembers.
    pub texts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1_000_000, depth: 256, value_bytes: 1 << 20, window_values: 1_000_000, texts: 1_024 }
    }
}

impl Limits {
    pub(crate) const fn values(self) -> value::Limits {
        value::Limits { value_bytes: self.value_bytes }
    }
}

/// The digest of a plan. It never leaves the process, and names a prepared plan only.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanDigest([u8; 16]);

/// A stream as the row shows it.
#[derive(Clone, Debug)]
pub struct PlanStream {
    /// Its name.
    pub name: Arc<str>,
    /// `in`, `out` or `aux`.
    pub kind: StreamKind,
    /// Its type.
    pub ty: Type,
    pub(crate) print: Print,
    /// What it computes from the streams it reads.
    pub(crate) own: Print,
    /// The slots of the streams it names, delayed or not.
    pub(crate) reads: Box<[u32]>,
    /// Its segment; none of inputs.
    pub(crate) segment: Option<usize>,
}

/// A compiled root.
#[derive(Debug)]
pub struct Plan {
    /// Its own among all plans of the process: what is bound to it is not bound to another.
    pub(crate) id: u64,
    /// By slot: inputs first, then computed streams, each in the order of their declarations.
    streams: Vec<PlanStream>,
    inputs: usize,
    pub(crate) block: Block,
    pub(crate) limits: Limits,
    digest: PlanDigest,
    pub(crate) texts: Texts,
}

impl Plan {
    /// Compiles a checked root.
    #[must_use]
    pub fn new(checked: &Checked, limits: Limits) -> Self {
        let slots = Slots::of(checked);
        let scope = slots.scope(checked);
        let computed = Computes::of(checked, &scope);
        let streams = slots.streams(checked, &computed);
        let mut printer = Printer::new("plan").number(limits.steps).number(u64::from(limits.depth));
        printer = printer.number(limits.value_bytes as u64).number(limits.window_values as u64);
        for stream in &streams {
            let kind = match stream.kind {
                StreamKind::In => "in",
                StreamKind::Out => "out",
                StreamKind::Aux => "aux",
            };
            printer = printer.text(kind).print(stream.print).print(stream.own);
        }
        for id in &checked.order {
            printer = printer.number(u64::from(id.0));
        }
        let digest = printer.finish();
        let equation = |id: &StreamId| {
            let stream = checked.stream(*id)?;
            let Computed::Body(body) = stream.equation else { return None };
            let (name, ty) = (Arc::clone(&stream.name), stream.ty.clone());
            let leaves = stream.kind == StreamKind::Out;
            Some(Equation { body, stream: Some(*id), out: slots.slot(*id), leaves, name, ty, span: stream.span })
        };
        let gate = |reads: &[StreamId]| checked.inputs_behind(reads).into_iter().map(|id| slots.slot(id)).collect();
        let block = build::block(Source {
            bodies: &checked.bodies,
            scope,
            equations: checked.order.iter().filter_map(equation).collect(),
            gate: &gate,
            registers: index(streams.len()),
            window_values: limits.window_values,
            number: digest.number(),
        });
        let mut streams = streams;
        for (at, segment) in block.segments.iter().enumerate() {
            if let Some(stream) = streams.get_mut(segment.out as usize) {
                stream.segment = Some(at);
            }
        }
        Self { id: unique(), streams, inputs: slots.inputs, block, limits, digest: PlanDigest(digest.0), texts: Texts::new(limits) }
    }

    /// The streams by their slots in the row: inputs first, then computed streams.
    #[must_use]
    pub fn streams(&self) -> &[PlanStream] {
        &self.streams
    }

    /// How many inputs a row has.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.inputs
    }

    /// The slot of the stream with this name.
    #[must_use]
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.streams.iter().position(|stream| *stream.name == *name)
    }

    /// Its digest.
    #[must_use]
    pub const fn digest(&self) -> PlanDigest {
        self.digest
    }

    /// The bounds it was compiled with.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// The windows by number: the stream each stands in, and what it is.
    #[must_use]
    pub fn windows(&self) -> Vec<(Arc<str>, String)> {
        let name = |segment: &block::Segment| self.streams.get(segment.out as usize).map(|stream| Arc::clone(&stream.name));
        let used = self.block.segments.iter().flat_map(|segment| segment.uses.iter().map(move |used| (segment, used)));
        let mut windows: Vec<_> = used
            .filter_map(|(segment, used)| {
                let piece = self.block.pieces.get(used.piece as usize)?;
                if let block::At::Window(number) = piece.at { Some((number, name(segment)?, piece.label.to_string())) } else { None }
            })
            .collect();
        windows.sort();
        windows.into_iter().map(|(_, name, label)| (name, label)).collect()
    }

    /// The texts that were refused since the last call, each once as long as it is remembered: to be logged.
    #[must_use]
    pub fn take_refused_texts(&self) -> Vec<RefusedText> {
        self.texts.refused()
    }

    /// What became of the texts of `dynamic` and `defer` so far.
    #[must_use]
    pub fn text_counts(&self) -> TextCounts {
        self.texts.counts()
    }
}

/// A number that nothing else in this process has.
fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl fmt::Debug for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The slots of the streams, by number.
struct Slots {
    of: Vec<u32>,
    inputs: usize,
}

impl Slots {
    fn of(checked: &Checked) -> Self {
        let mut of = vec![code::NONE; checked.streams.len()];
        let mut next = 0;
        let mut give = |wanted: &dyn Fn(&Stream) -> bool| {
            for (slot, stream) in of.iter_mut().zip(&checked.streams) {
                if wanted(stream) {
                    *slot = next;
                    next += 1;
                }
            }
            next as usize
        };
        let inputs = give(&|stream| stream.equation == Computed::Input);
        give(&|stream| matches!(stream.equation, Computed::Body(_)));
        Self { of, inputs }
    }

    fn slot(&self, id: StreamId) -> u32 {
        self.of.get(id.0 as usize).copied().unwrap_or(code::NONE)
    }

    fn scope(&self, checked: &Checked) -> Scope {
        let stream = |(id, stream): (StreamId, &Stream)| ScopeStream {
            name: Arc::clone(&stream.name),
            ty: stream.ty.clone(),
            print: stream_print(&stream.name, &stream.ty),
            register: self.slot(id),
            presence: Presence::Sparse,
        };
        Scope { streams: (0..).map(StreamId).zip(&checked.streams).map(stream).collect() }
    }

    fn streams(&self, checked: &Checked, computed: &Computes) -> Vec<PlanStream> {
        let mut streams: Vec<_> = (0..)
            .map(StreamId)
            .zip(&checked.streams)
            .filter(|(id, _)| self.slot(*id) != code::NONE)
            .map(|(id, stream)| {
                let plan = PlanStream {
                    name: Arc::clone(&stream.name),
                    kind: stream.kind,
                    ty: stream.ty.clone(),
                    print: stream_print(&stream.name, &stream.ty),
                    own: computed.own.get(id.0 as usize).copied().unwrap_or_default(),
                    reads: computed.reads.get(id.0 as usize).into_iter().flatten().map(|id| self.slot(*id)).collect(),
                    segment: None,
                };
                (self.slot(id), plan)
            })
            .collect();
        streams.sort_by_key(|(slot, _)| *slot);
        streams.into_iter().map(|(_, stream)| stream).collect()
    }
}

/// What each stream computes, and which streams its body names.
struct Computes {
    own: Vec<Print>,
    reads: Vec<Vec<StreamId>>,
}

impl Computes {
    fn of(checked: &Checked, scope: &Scope) -> Self {
        let mut printing = Printing::new(&checked.bodies, scope);
        let mut own = Vec::new();
        let mut reads = Vec::new();
        for stream in &checked.streams {
            let body = if let Computed::Body(id) = stream.equation { checked.body(id) } else { None };
            let print = Printer::new("equation").print(stream_print(&stream.name, &stream.ty));
            let root = body.and_then(|body| printing.body(body).get(body.root.0 as usize).copied());
            own.push(root.map_or(print, |_| Printer::new("computed").text(&stream.name)).print(root.unwrap_or_default()).finish());
            reads.push(body.map(build::reads).unwrap_or_default());
        }
        Self { own, reads }
    }
}
