//! Builds a block from checked bodies: what runs in which stage, what has a register, what has a cell.
//!
//! Owns: the scope, the marking of nodes, the sharing of state, the order of steps.
//! May not: know what an operation becomes (`lower`), nor run one.
//!
//! Equations are marked first, in the order of the plan: which nodes the streams need (first stage), which only delays
//! ask for (second stage), whose value is asked for after its equation is done. Then the steps are made, and with them
//! the pieces of state. State that is the same is there once: a delay or an ê of a *stream* belongs to that stream and is
//! shared by all equations; other state is shared within its equation by what it holds (`identity`).

use super::block::{At, Block, Commit, Entry, Piece, Segment, Use};
use super::code::{Flag, FunctionCode, NONE, Operand, Place, Step, TextSpec};
use super::identity::{Print, Printer, Printing};
use super::presence::{Presence, presence};
use crate::dataflow::slot::Slot;
use crate::dataflow::value::Value;
use crate::dataflow::window::WindowSpec;
use crate::lang::checked::{Body, BodyId, NodeId, Op, StreamId};
use crate::lang::syntax::{Literal, Span};
use crate::lang::types::Type;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A stream as equations read it.
#[derive(Clone, Debug)]
pub(crate) struct ScopeStream {
    pub(crate) name: Arc<str>,
    pub(crate) ty: Type,
    pub(crate) print: Print,
    pub(crate) register: u32,
    pub(crate) presence: Presence,
}

/// The streams by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) streams: Vec<ScopeStream>,
}

/// An equation to build.
#[derive(Clone, Debug)]
pub(crate) struct Equation {
    pub(crate) body: BodyId,
    /// The stream it computes; none for a text.
    pub(crate) stream: Option<StreamId>,
    /// The register of its value.
    pub(crate) out: u32,
    /// Whether its value leaves in records.
    pub(crate) leaves: bool,
    /// What failures call the place: the stream, or the text.
    pub(crate) name: Arc<str>,
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

/// What a block is built from.
pub(crate) struct Source<'a> {
    pub(crate) bodies: &'a [Body],
    pub(crate) scope: Scope,
    pub(crate) equations: Vec<Equation>,
    /// The registers of the inputs behind these streams.
    pub(crate) gate: &'a dyn Fn(&[StreamId]) -> Box<[u32]>,
    /// The registers that the source has given away.
    pub(crate) registers: u32,
    pub(crate) window_values: usize,
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Unused,
    First,
    Second,
}

/// The streams that a body names, delayed or not, those among them that a text may name.
pub(crate) fn reads(body: &Body) -> Vec<StreamId> {
    let mut reads = Vec::new();
    for node in &body.nodes {
        match &node.op {
            Op::Stream(id) => reads.push(*id),
            Op::Text { scope, .. } => reads.extend(scope),
            _ => {}
        }
    }
    reads.sort_unstable();
    reads.dedup();
    reads
}

/// What is known of an equation's nodes.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) prints: Vec<Print>,
    /// The first node with the same state, constant or stream; itself of others.
    pub(super) same: Vec<NodeId>,
    pub(super) stage: Vec<Stage>,
    pub(super) presence: Vec<Presence>,
    /// Whether its value is asked for when its equation is done.
    pub(super) kept: Vec<bool>,
    /// The same, by the commit: a delay then needs a register.
    pub(super) committed: Vec<bool>,
    pub(super) at: Vec<Operand>,
}

/// A node in the making.
pub(super) struct Emitting<'b, 'a> {
    pub(super) builder: &'b mut Builder<'a>,
    pub(super) equation: usize,
    pub(super) body: &'a Body,
    pub(super) marks: &'b Marks,
}

/// A ring whose operand has no register yet.
pub(super) struct Stored {
    pub(super) owner: Owner,
    pub(super) at: At,
    pub(super) equation: usize,
    pub(super) span: Span,
}

/// Whose state it is: a stream's, or an equation's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Owner {
    Stream(StreamId),
    Equation(usize, Print),
}

/// The node with this number; numbers come from the checker.
pub(super) fn get<T: Copy>(list: &[T], id: NodeId) -> Option<T> {
    list.get(id.0 as usize).copied()
}

pub(super) fn set<T>(list: &mut [T], id: NodeId, value: T) {
    if let Some(place) = list.get_mut(id.0 as usize) {
        *place = value;
    }
}

impl Scope {
    pub(crate) fn stream(&self, id: StreamId) -> Option<&ScopeStream> {
        self.streams.get(id.0 as usize)
    }
}

/// The print of a stream: its name and type.
pub(crate) fn stream_print(name: &str, ty: &Type) -> Print {
    Printer::new("stream").text(name).ty(ty).finish()
}

/// The operand places of a node that are ê.
fn held(op: &Op) -> Vec<NodeId> {
    let raw = matches!(op, Op::Cast(_) | Op::Init(..) | Op::IsPresent(_) | Op::When(_) | Op::Changed(_) | Op::Window { .. });
    match op {
        Op::Latch(value, _) => vec![*value],
        Op::Delay { ticks: 1.., .. } => Vec::new(),
        _ if raw => Vec::new(),
        other => other.operands(),
    }
}

/// The operands that the commit reads.
fn committed(op: &Op) -> Option<NodeId> {
    match op {
        Op::Delay { of, ticks: 1.. } | Op::Init(of, _) | Op::When(of) | Op::Changed(of) | Op::Update(_, of) => Some(*of),
        _ => None,
    }
}

/// Whether two nodes with the same print are one: state, and what can neither fail nor cost.
const fn is_shared(op: &Op) -> bool {
    matches!(
        op,
        Op::Const(_)
            | Op::Stream(_)
            | Op::Hold(_)
            | Op::Delay { .. }
            | Op::Init(..)
            | Op::When(_)
            | Op::Update(..)
            | Op::Latch(..)
            | Op::Changed(_)
            | Op::Text { .. }
            | Op::Window { .. }
    )
}

/// The making of a block.
pub(super) struct Builder<'a> {
    pub(super) source: Source<'a>,
    pub(super) marks: Vec<Marks>,
    /// The longest delay of each operand.
    pub(super) longest: BTreeMap<Owner, u32>,
    /// The node that is stored; none for streams.
    pub(super) stored: HashMap<Owner, NodeId>,
    pub(super) stores: Vec<Stored>,
    pub(super) constants: Vec<(u32, Value)>,
    pub(super) constant_at: HashMap<Print, u32>,
    pub(super) next: u32,
    pub(super) initial: Vec<Slot>,
    pub(super) word: Option<(u32, u8)>,
    pub(super) rings: Vec<u32>,
    pub(super) windows: Vec<WindowSpec>,
    pub(super) texts: Vec<TextSpec>,
    pub(super) functions: Vec<FunctionCode>,
    pub(super) function_at: HashMap<BodyId, u32>,
    pub(super) places: Vec<Place>,
    pub(super) pieces: Vec<Piece>,
    pub(super) hold_at: HashMap<Owner, (u32, u32)>,
    pub(super) ring_at: HashMap<Owner, (u32, At)>,
    pub(super) entries: Vec<Entry>,
    pub(super) commits: Vec<Commit>,
    pub(super) uses: Vec<Use>,
}

/// Builds the block.
pub(crate) fn block(source: Source<'_>) -> Block {
    let mut builder = Builder {
        next: source.registers,
        source,
        marks: Vec::new(),
        longest: BTreeMap::new(),
        stored: HashMap::new(),
        stores: Vec::new(),
        constants: Vec::new(),
        constant_at: HashMap::new(),
        initial: Vec::new(),
        word: None,
        rings: Vec::new(),
        windows: Vec::new(),
        texts: Vec::new(),
        functions: Vec::new(),
        function_at: HashMap::new(),
        places: Vec::new(),
        pieces: Vec::new(),
        hold_at: HashMap::new(),
        ring_at: HashMap::new(),
        entries: Vec::new(),
        commits: Vec::new(),
        uses: Vec::new(),
    };
    builder.mark();
    builder.emit()
}

impl<'a> Builder<'a> {
    fn body(&self, equation: usize) -> Option<&'a Body> {
        let id = self.source.equations.get(equation)?.body;
        let bodies: &'a [Body] = self.source.bodies;
        bodies.get(id.0 as usize)
    }

    fn mark(&mut self) {
        let bodies = self.source.bodies;
        let mut all: Vec<Vec<Print>> = Vec::new();
        {
            let mut printing = Printing::new(bodies, &self.source.scope);
            for equation in &self.source.equations {
                all.push(bodies.get(equation.body.0 as usize).map(|body| printing.body(body)).unwrap_or_default());
            }
        }
        let mut delays = Vec::new();
        for (equation, prints) in all.into_iter().enumerate() {
            let Some(body) = self.body(equation) else { continue };
            let mut marks = Marks::new(body, prints);
            let root = marks.one(body.root);
            delays.push(marks.reach(body, root, Stage::First));
            self.presences(body, &mut marks, Stage::First);
            let root = get(&marks.presence, root).unwrap_or(Presence::Sparse);
            if let Some(id) = self.source.equations.get(equation).and_then(|equation| equation.stream)
                && let Some(stream) = self.source.scope.streams.get_mut(id.0 as usize)
            {
                stream.presence = root;
            }
            self.marks.push(marks);
        }
        for (equation, open) in delays.into_iter().enumerate() {
            self.mark_delays(equation, open);
        }
        self.give_registers();
    }

    /// The second stage of an equation: what its delays store.
    fn mark_delays(&mut self, equation: usize, mut open: Vec<NodeId>) {
        let Some(body) = self.body(equation) else { return };
        let Some(mut marks) = self.marks.get_mut(equation).map(std::mem::take) else { return };
        while let Some(at) = open.pop() {
            let Some(Op::Delay { of, ticks }) = body.node(at).map(|node| &node.op) else { continue };
            let owner = Self::owner(equation, body, &marks, *of);
            let longest = self.longest.entry(owner).or_insert(0);
            let first = *longest == 0;
            *longest = (*longest).max(*ticks);
            if first && !matches!(owner, Owner::Stream(_)) {
                let of = marks.one(*of);
                open.extend(marks.reach(body, of, Stage::Second));
                marks.keep(body, of, true);
                self.stored.insert(owner, of);
            }
        }
        self.presences(body, &mut marks, Stage::Second);
        if let Some(place) = self.marks.get_mut(equation) {
            *place = marks;
        }
    }

    /// The presence of the nodes of a stage, and which of their operands outlive the equation.
    fn presences(&self, body: &Body, marks: &mut Marks, stage: Stage) {
        for (at, node) in (0..).map(NodeId).zip(&body.nodes) {
            if get(&marks.stage, at) != Some(stage) {
                continue;
            }
            let of = |id: NodeId| get(&marks.presence, marks.one(id)).unwrap_or(Presence::Sparse);
            let stream = |id| self.source.scope.stream(id).map_or(Presence::Sparse, |stream| stream.presence);
            let found = presence(body, node, of, stream);
            set(&mut marks.presence, at, found);
            for operand in held(&node.op) {
                let operand = marks.one(operand);
                if get(&marks.presence, operand) == Some(Presence::Sparse) {
                    marks.keep(body, operand, false);
                }
            }
            if let Some(operand) = committed(&node.op).filter(|_| !matches!(node.op, Op::Delay { .. })) {
                marks.keep(body, operand, true);
            }
            if stage == Stage::Second {
                marks.keep(body, at, false);
                for operand in node.op.operands() {
                    marks.keep(body, operand, false);
                }
            }
        }
    }

    /// Constants and what is kept get registers of their own.
    fn give_registers(&mut self) {
        for equation in 0..self.marks.len() {
            let Some(body) = self.body(equation) else { continue };
            let Some(mut marks) = self.marks.get_mut(equation).map(std::mem::take) else { continue };
            for (at, node) in (0..).map(NodeId).zip(&body.nodes) {
                if get(&marks.stage, at) == Some(Stage::Unused) {
                    continue;
                }
                if let Op::Const(literal) = &node.op {
                    let register = self.constant(literal, get(&marks.prints, at).unwrap_or_default());
                    set(&mut marks.at, at, Operand::register(register));
                } else if get(&marks.kept, at) == Some(true) && self.computes(equation, body, &marks, at) {
                    set(&mut marks.at, at, Operand::register(self.next));
                    self.next += 1;
                }
            }
            if let Some(place) = self.marks.get_mut(equation) {
                *place = marks;
            }
        }
    }

    fn constant(&mut self, literal: &Literal, print: Print) -> u32 {
        if let Some(register) = self.constant_at.get(&print) {
            return *register;
        }
        let register = self.next;
        self.next += 1;
        self.constants.push((register, crate::dataflow::ops::literal(literal)));
        self.constant_at.insert(print, register);
        register
    }

    pub(super) fn owner(equation: usize, body: &Body, marks: &Marks, of: NodeId) -> Owner {
        match body.node(of).map(|node| &node.op) {
            Some(Op::Stream(id)) => Owner::Stream(*id),
            _ => Owner::Equation(equation, get(&marks.prints, of).unwrap_or_default()),
        }
    }

    fn emit(mut self) -> Block {
        let temporary = self.next;
        let mut highest = temporary;
        let mut segments = Vec::new();
        for equation in 0..self.marks.len() {
            self.next = temporary;
            let steps = self.steps(equation, Stage::First);
            highest = highest.max(self.next);
            let equation = self.source.equations.get(equation).cloned();
            let Some(equation) = equation else { continue };
            let place = self.place(&equation.name, equation.span);
            let uses = std::mem::take(&mut self.uses);
            let hides = equation.leaves && equation.ty.is_loose();
            segments.push((Segment { steps: steps.into(), out: equation.out, hides, place, uses: Box::default() }, uses));
        }
        let mut after = Vec::new();
        for (equation, segment) in (0..self.marks.len()).zip(&mut segments) {
            after.extend(self.steps(equation, Stage::Second));
            segment.1.append(&mut self.uses);
            segment.1.sort_unstable_by_key(|used| (used.piece, used.ticks));
            segment.1.dedup();
        }
        self.store();
        let finish = |(mut segment, uses): (Segment, Vec<Use>)| {
            segment.uses = uses.into();
            segment
        };
        Block {
            registers: highest,
            constants: self.constants.into(),
            segments: segments.into_iter().map(finish).collect(),
            after: after.into(),
            entries: self.entries.into(),
            commits: self.commits.into(),
            initial: self.initial.into(),
            rings: self.rings.into(),
            windows: self.windows.into(),
            texts: self.texts.into(),
            functions: self.functions.into(),
            number: self.source.number,
            places: self.places.into(),
            pieces: self.pieces.into(),
        }
    }

    fn steps(&mut self, equation: usize, stage: Stage) -> Vec<Step> {
        let mut steps = Vec::new();
        let (Some(body), Some(own)) = (self.body(equation), self.source.equations.get(equation).cloned()) else { return steps };
        let Some(mut marks) = self.marks.get_mut(equation).map(std::mem::take) else { return steps };
        let root = marks.one(body.root);
        for (at, node) in (0..).map(NodeId).zip(&body.nodes) {
            if get(&marks.stage, at) != Some(stage) {
                continue;
            }
            let computes = self.computes(equation, body, &marks, at);
            if !computes {
                let operand = Emitting { builder: self, equation, body, marks: &marks }.alias(node, at);
                set(&mut marks.at, at, operand);
                continue;
            }
            let out = match get(&marks.at, at) {
                _ if at == root && stage == Stage::First => own.out,
                Some(given) if given.register != NONE => given.register,
                _ => {
                    self.next += 1;
                    self.next - 1
                }
            };
            let code = Emitting { builder: self, equation, body, marks: &marks }.code(node, at);
            let place = self.place(&own.name, node.span);
            set(&mut marks.at, at, Operand::register(out));
            steps.push(Step { code, out, place });
        }
        if stage == Stage::First && get(&marks.at, root) != Some(Operand::register(own.out)) {
            let place = self.place(&own.name, own.span);
            let of = get(&marks.at, root).unwrap_or(Operand::NOTHING);
            steps.push(Step { code: super::code::Code::Copy(of), out: own.out, place });
        }
        if let Some(place) = self.marks.get_mut(equation) {
            *place = marks;
        }
        steps
    }

    pub(super) fn place(&mut self, stream: &Arc<str>, span: Span) -> u32 {
        self.places.push(Place { stream: Arc::clone(stream), span });
        index(self.places.len() - 1)
    }

    pub(super) fn cell(&mut self, slot: Slot) -> u32 {
        self.initial.push(slot);
        index(self.initial.len() - 1)
    }

    pub(super) fn flag_bit(&mut self) -> Flag {
        let (cell, bit) = match self.word {
            Some((cell, bit)) if bit < 63 => (cell, bit),
            _ => (self.cell(Slot::Value(Value::Int(0))), 0),
        };
        self.word = Some((cell, bit + 1));
        Flag { cell, bit }
    }

    pub(super) fn piece(&mut self, print: Print, at: At, label: String) -> u32 {
        self.pieces.push(Piece { id: print.short(), at, held: false, label: label.into() });
        index(self.pieces.len() - 1)
    }

    pub(super) fn used(&mut self, piece: u32, ticks: u32) {
        self.uses.push(Use { piece, ticks });
    }
}

/// Counts of nodes, cells and places are bounded by the checker far below this.
pub(super) fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

impl Marks {
    fn new(body: &Body, prints: Vec<Print>) -> Self {
        let count = body.nodes.len();
        let mut first = HashMap::new();
        let mut same: Vec<NodeId> = (0..).map(NodeId).take(count).collect();
        for ((node, print), at) in body.nodes.iter().zip(&prints).zip(&mut same) {
            if is_shared(&node.op) {
                *at = *first.entry(*print).or_insert(*at);
            }
        }
        Self {
            prints,
            same,
            stage: vec![Stage::Unused; count],
            presence: vec![Presence::Sparse; count],
            kept: vec![false; count],
            committed: vec![false; count],
            at: vec![Operand::NOTHING; count],
        }
    }

    /// The node that stands for this one.
    pub(super) fn one(&self, id: NodeId) -> NodeId {
        get(&self.same, id).unwrap_or(id)
    }

    /// Takes a node and all it reads in this tick into a stage; answers the delays that were reached.
    fn reach(&mut self, body: &Body, from: NodeId, stage: Stage) -> Vec<NodeId> {
        let mut delays = Vec::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            let Some(node) = body.node(at) else { continue };
            if get(&self.stage, at) != Some(Stage::Unused) {
                continue;
            }
            set(&mut self.stage, at, stage);
            if matches!(node.op, Op::Delay { ticks: 1.., .. }) {
                delays.push(at);
            } else {
                open.extend(node.op.operands().into_iter().map(|operand| self.one(operand)));
            }
        }
        delays
    }

    /// The value of this node is asked for later; by the commit, maybe. What only holds another is that other.
    fn keep(&mut self, body: &Body, at: NodeId, committed: bool) {
        let mut at = self.one(at);
        loop {
            set(&mut self.kept, at, true);
            if committed {
                set(&mut self.committed, at, true);
            }
            match body.node(at).map(|node| &node.op) {
                Some(Op::Hold(of) | Op::Delay { of, ticks: 0 }) => at = self.one(*of),
                _ => return,
            }
        }
    }
}
