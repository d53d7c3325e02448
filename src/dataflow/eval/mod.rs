//! The canonical evaluator: one tick of a block, step by step, over tagged values.
//!
//! Owns: the order streams → delays and windows → commit, what makes a tick fail, how a failed tick leaves no trace.
//! May not: know keys, records, other tiers.
//!
//! While a tick runs, cells are only read: what it will leave in them stands in the registers until `commit`, which
//! cannot fail. Windows take their value at once, since their result is asked for in the same tick; they keep what they
//! need to go back. A text's new body is staged beside the one in force.

pub(crate) mod machine;
mod operate;
mod text;

use super::monitor::RecordTime;
use super::monitor::state::{BlockState, TextState};
use super::ops;
use super::plan::Plan;
use super::plan::block::{Block, Commit};
use super::plan::code::{Code, Flag, Operand, Place, Step, WindowUse};
use super::slot::{Slot, is_scalar};
use super::value::{Failure, Value};
use crate::lang::checked::BinaryOp;
use machine::{Env, Machine, cost, located};
use operate::{Reads, operate};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a thread needs to run ticks, over and over. Nothing in it outlives a tick but memory.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) frame: Frame,
    pub(crate) machine: Machine,
    pub(crate) counts: Vec<WindowCount>,
}

/// What a window of a plan took in on this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCount {
    /// Values that came.
    pub came: u64,
    /// Those among them that were older than the window.
    pub ignored: u64,
    /// Values that left early, because the window held as many as it may.
    pub evicted: u64,
}

impl Scratch {
    /// What each window of the plan took in since the last call, by the number of the window ([`Plan::windows`]); behind
    /// them, all windows of texts together.
    pub fn take_window_counts(&mut self) -> Vec<WindowCount> {
        std::mem::take(&mut self.counts)
    }
}

/// The registers of a block, and what its tick has staged.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) registers: Vec<Slot>,
    /// The plan or text whose constants stand in the registers.
    bound: u64,
    /// The windows that took a tick.
    ticked: Vec<u32>,
    texts: Vec<TextFrame>,
}

/// A `dynamic` or `defer` in a tick.
#[derive(Debug, Default)]
pub(crate) struct TextFrame {
    frame: Frame,
    staged: TextState,
    /// Whether what is staged replaces what is there.
    replaces: bool,
    /// Whether the body ran.
    ran: bool,
}

/// Why a tick fails.
#[derive(Debug)]
pub(crate) struct Trip {
    /// The stream, and its equation's or its delay's place in the root.
    pub(crate) place: Place,
    pub(crate) failure: Failure,
}

/// Where an operation stands.
#[derive(Clone, Copy)]
struct Site<'a> {
    block: &'a Block,
    place: u32,
}

/// A tick under way.
pub(crate) struct Tick<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) machine: &'a mut Machine,
    pub(crate) counts: &'a mut Vec<WindowCount>,
    pub(crate) time: RecordTime,
    pub(crate) front: i64,
}

impl Frame {
    /// Makes the registers those of a block.
    #[inline]
    pub(crate) fn bind(&mut self, id: u64, block: &Block) {
        if self.bound != id {
            self.rebind(id, block);
        }
    }

    #[cold]
    fn rebind(&mut self, id: u64, block: &Block) {
        self.bound = id;
        self.registers.clear();
        self.registers.resize(block.registers as usize, Slot::NoVal);
        self.ticked.clear();
        self.texts.clear();
        self.texts.resize_with(block.texts.len(), TextFrame::default);
        for (register, value) in &block.constants {
            self.set(*register, Slot::Value(value.clone()));
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, register: u32, slot: Slot) {
        if let Some(place) = self.registers.get_mut(register as usize) {
            place.put(slot);
        }
    }
}

#[cold]
#[inline(never)]
#[allow(clippy::unnecessary_box_returns, reason = "every caller answers it in a result, which stays small so")]
fn trip(block: &Block, place: u32, failure: &Failure) -> Box<Trip> {
    let failure = located(block, place, failure.clone());
    let place = block.places.get(place as usize).cloned().unwrap_or_default();
    Box::new(Trip { place, failure })
}

impl Tick<'_> {
    /// Evaluates a block. Its inputs stand in the registers, and afterwards its results do; cells are as before.
    /// `whole`: a failed stream ends the tick (in a text, it is the text's result).
    pub(crate) fn run(&mut self, block: &Block, frame: &mut Frame, state: &mut BlockState, whole: bool) -> Result<(), Box<Trip>> {
        for segment in &block.segments {
            for step in &segment.steps {
                self.step(block, step, frame, state)?;
            }
            match frame.registers.get(segment.out as usize) {
                Some(Slot::Failed(failure)) if whole => return Err(trip(block, segment.place, failure)),
                Some(Slot::Value(Value::Function(_))) if segment.hides => {
                    return Err(trip(block, segment.place, &Failure::function("leave in an `out` stream")));
                }
                _ => {}
            }
        }
        for step in &block.after {
            self.step(block, step, frame, state)?;
        }
        for entry in &block.entries {
            let reads = Reads { registers: &frame.registers, cells: &state.cells };
            match reads.get(entry.operand) {
                Slot::Failed(failure) => return Err(trip(block, entry.place, failure)),
                Slot::Value(Value::Function(_)) => return Err(trip(block, entry.place, &Failure::function("be delayed"))),
                _ => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn step(&mut self, block: &Block, step: &Step, frame: &mut Frame, state: &mut BlockState) -> Result<(), Box<Trip>> {
        let reads = Reads { registers: &frame.registers, cells: &state.cells };
        let limits = self.plan.limits;
        let made = match &step.code {
            Code::Binary(op, a, b) => match (reads.get(*a), reads.get(*b)) {
                (Slot::Value(Value::Int(x)), Slot::Value(Value::Int(y))) if let Some(value) = of_ints(*op, *x, *y) => {
                    frame.set(step.out, Slot::Value(value));
                    return Ok(());
                }
                (Slot::Value(Value::Float(x)), Slot::Value(Value::Float(y))) if let Some(value) = of_floats(*op, *x, *y) => {
                    frame.set(step.out, Slot::Value(value));
                    return Ok(());
                }
                (Slot::Value(x), Slot::Value(y)) if is_scalar(x) && is_scalar(y) => ops::binary(*op, x, y, limits.values()).into(),
                _ => self.charged(&step.code, reads),
            },
            code if is_charged(code) => self.charged(code, reads),
            Code::Back { ring, ticks } => state.back(*ring, *ticks),
            Code::Window(window) => self.window(Site { block, place: step.place }, window, frame, state)?,
            Code::Text(text) => self.text(Site { block, place: step.place }, text, frame, state)?,
            Code::Closure(made) => Machine::function(Env { block, limits }, made, reads),
            Code::Each(each) => self.machine.each(Env { block, limits }, each, reads),
            Code::Call(f, x) => match (reads.get(*f), reads.get(*x)) {
                (Slot::Value(f), Slot::Value(x)) => self.machine.call(Env { block, limits }, f, x),
                _ => reads.special(&[*f, *x]),
            },
            code => operate(code, reads, limits.values()),
        };
        frame.set(step.out, made);
        if let Some(Slot::Failed(failure)) = frame.registers.get_mut(step.out as usize) {
            *failure = located(block, step.place, failure.clone());
        }
        Ok(())
    }

    #[inline(never)]
    fn charged(&mut self, code: &Code, reads: Reads<'_>) -> Slot {
        let made = operate(code, reads, self.plan.limits.values());
        match made {
            Slot::Value(Value::Int(_) | Value::Float(_)) => made,
            made => match self.machine.charge(cost(code, reads, &made)) {
                Ok(()) => made,
                Err(failure) => Slot::Failed(failure),
            },
        }
    }

    fn window(&mut self, site: Site<'_>, of: &WindowUse, frame: &mut Frame, state: &mut BlockState) -> Result<Slot, Box<Trip>> {
        let Site { block, place } = site;
        let reads = Reads { registers: &frame.registers, cells: &state.cells };
        let number = of.window as usize;
        let spec = block.windows.get(number);
        let window = state.rest.as_deref_mut().and_then(|rest| rest.windows.get_mut(number));
        let (Some(spec), Some(window)) = (spec, window) else { return Ok(Slot::NoVal) };
        let slot = if came(&of.gate, &frame.registers) { reads.get(of.of) } else { &Slot::NoVal };
        let value = match slot {
            Slot::Value(value) => Some((self.time.record, value)),
            Slot::Failed(failure) => return Err(trip(block, place, failure)),
            Slot::NoVal | Slot::Deferred => None,
        };
        frame.ticked.push(of.window);
        match window.tick(spec, self.front, value) {
            Ok(ticked) => {
                let number = if block.number == self.plan.block.number { number } else { self.plan.block.windows.len() };
                if self.counts.len() <= number {
                    self.counts.resize(number + 1, WindowCount::default());
                }
                if let Some(count) = self.counts.get_mut(number) {
                    count.came += u64::from(value.is_some());
                    count.ignored += u64::from(ticked.ignored);
                    count.evicted += ticked.evicted;
                }
            }
            // A value of a kind that the window does not take would have entered it.
            Err(failure) => return Err(trip(block, place, &failure)),
        }
        Ok(match window.result(spec) {
            Ok(Some(value)) => Slot::Value(value),
            Ok(None) => Slot::Deferred,
            Err(failure) => Slot::Failed(failure),
        })
    }
}

/// Whether an operation may cost more than its step.
#[inline]
const fn is_charged(code: &Code) -> bool {
    use Code::{Cast, Function, List, Map, Matches, Struct, Tuple};
    matches!(code, Function(..) | Matches(..) | Cast(..) | List(_) | Tuple(_) | Struct(..) | Map(_))
}

/// What is computed of two `Int` most often; nothing where it fails, or is left to `ops`.
#[inline]
fn of_ints(op: BinaryOp, x: i64, y: i64) -> Option<Value> {
    Some(match op {
        BinaryOp::Add => Value::Int(x.checked_add(y)?),
        BinaryOp::Subtract => Value::Int(x.checked_sub(y)?),
        BinaryOp::Multiply => Value::Int(x.checked_mul(y)?),
        BinaryOp::Equal => Value::Bool(x == y),
        BinaryOp::NotEqual => Value::Bool(x != y),
        BinaryOp::Less => Value::Bool(x < y),
        BinaryOp::LessEqual => Value::Bool(x <= y),
        BinaryOp::Greater => Value::Bool(x > y),
        BinaryOp::GreaterEqual => Value::Bool(x >= y),
        _ => return None,
    })
}

/// The same of two `Float`.
#[inline]
#[allow(clippy::float_cmp, reason = "it is the language's own comparison")]
fn of_floats(op: BinaryOp, x: f64, y: f64) -> Option<Value> {
    Some(match op {
        BinaryOp::Add => Value::float(x + y),
        BinaryOp::Subtract => Value::float(x - y),
        BinaryOp::Multiply => Value::float(x * y),
        BinaryOp::Divide => Value::float(x / y),
        BinaryOp::Equal => Value::Bool(x == y),
        BinaryOp::NotEqual => Value::Bool(x != y),
        BinaryOp::Less => Value::Bool(x < y),
        BinaryOp::LessEqual => Value::Bool(x <= y),
        BinaryOp::Greater => Value::Bool(x > y),
        BinaryOp::GreaterEqual => Value::Bool(x >= y),
        _ => return None,
    })
}

/// Whether an input behind a window's operand came; true where none stands behind it.
fn came(gate: &[u32], registers: &[Slot]) -> bool {
    let mut conditional = false;
    for register in gate {
        match registers.get(*register as usize) {
            Some(Slot::Value(_)) => return true,
            Some(Slot::NoVal) => conditional = true,
            _ => {}
        }
    }
    !conditional
}

/// Makes what a tick has staged the state.
pub(crate) fn commit(block: &Block, frame: &mut Frame, state: &mut BlockState) {
    for commit in &block.commits {
        match commit {
            Commit::Hold { cell, register } => {
                if let Some(slot @ (Slot::Value(_) | Slot::Deferred)) = frame.registers.get(*register as usize)
                    && let Some(place) = state.cells.get_mut(*cell as usize)
                {
                    place.copy_from(slot);
                }
            }
            Commit::Short { cell, length, of } => store_short(frame, state, (*cell, *length), *of),
            other => commit_other(other, frame, state),
        }
    }
    frame.ticked.clear();
    if !frame.texts.is_empty() {
        text::commit(block, frame, state);
    }
}

/// The newest first; a `NoVal` repeats what was newest before.
#[inline]
fn store_short(frame: &Frame, state: &mut BlockState, (cell, length): (u32, u32), of: Operand) {
    let reads = Reads { registers: &frame.registers, cells: &state.cells };
    let start = cell as usize;
    let slot = match reads.get(of) {
        slot @ (Slot::Value(_) | Slot::Deferred) => slot.clone(),
        Slot::NoVal | Slot::Failed(_) if length == 1 => return,
        Slot::NoVal | Slot::Failed(_) => state.cells.get(start).cloned().unwrap_or_default(),
    };
    match state.cells.get_mut(start..start + length as usize) {
        Some([newest]) => newest.put(slot),
        Some([newest, oldest]) => oldest.put(std::mem::replace(newest, slot)),
        Some(ring) => {
            ring.rotate_right(1);
            if let Some(newest) = ring.first_mut() {
                newest.put(slot);
            }
        }
        None => {}
    }
}

#[inline(never)]
fn commit_other(commit: &Commit, frame: &Frame, state: &mut BlockState) {
    let reads = Reads { registers: &frame.registers, cells: &state.cells };
    match commit {
        Commit::Latest { cell, of } => {
            if let slot @ Slot::Value(_) = reads.get(*of) {
                let slot = slot.clone();
                if let Some(place) = state.cells.get_mut(*cell as usize) {
                    *place = slot;
                }
            }
        }
        Commit::OnValue { flag, of } => {
            if matches!(reads.get(*of), Slot::Value(_)) {
                set_flag(state, *flag);
            }
        }
        Commit::OnAny { flag, of } => {
            if matches!(reads.get(*of), Slot::Value(_) | Slot::Deferred) {
                set_flag(state, *flag);
            }
        }
        Commit::Long { ring, of } => {
            let slot = reads.get(*of).clone();
            state.store(*ring, slot);
        }
        Commit::Hold { .. } | Commit::Short { .. } => {}
    }
}

pub(crate) fn set_flag(state: &mut BlockState, flag: Flag) {
    if let Some(Slot::Value(Value::Int(word))) = state.cells.get_mut(flag.cell as usize) {
        *word |= 1 << flag.bit;
    }
}

/// Takes back what a failed tick did to windows.
pub(crate) fn roll_back(block: &Block, frame: &mut Frame, state: &mut BlockState) {
    if let Some(rest) = state.rest.as_deref_mut() {
        for number in frame.ticked.drain(..) {
            if let (Some(window), Some(spec)) = (rest.windows.get_mut(number as usize), block.windows.get(number as usize)) {
                window.rollback(spec);
            }
        }
    }
    frame.ticked.clear();
    text::roll_back(frame, state);
}

impl BlockState {
    /// So many ticks back in a long ring.
    fn back(&self, ring: u32, ticks: u32) -> Slot {
        let ring = self.rest.as_deref().and_then(|rest| rest.rings.get(ring as usize));
        let at = (ticks as usize).wrapping_sub(1);
        ring.and_then(|ring| ring.values.get(at)).cloned().unwrap_or(Slot::Deferred)
    }

    fn store(&mut self, ring: u32, slot: Slot) {
        let Some(ring) = self.rest.as_deref_mut().and_then(|rest| rest.rings.get_mut(ring as usize)) else { return };
        let length = ring.length as usize;
        let values: &mut VecDeque<Slot> = &mut Arc::make_mut(ring).values;
        let slot = match slot {
            Slot::NoVal | Slot::Failed(_) => values.front().cloned().unwrap_or(Slot::Deferred),
            slot => slot,
        };
        values.truncate(length.saturating_sub(1));
        values.push_front(slot);
    }
}
