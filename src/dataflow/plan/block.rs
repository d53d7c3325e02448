//! A block: the code and the state of equations that tick together. A root is one, a text of a `dynamic` is one.
//!
//! Owns: what a block consists of, and the pieces of its state with their stable names.
//! May not: run.

use super::code::{Flag, FunctionCode, Operand, Place, Step, TextSpec};
use crate::dataflow::slot::Slot;
use crate::dataflow::value::Value;
use crate::dataflow::window::WindowSpec;

/// The longest delay whose ring stands among the cells; longer ones grow out of line, by what they hold.
pub(crate) const SHORT_RING: u32 = 8;

/// Equations that tick together.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) registers: u32,
    /// Registers that hold constants.
    pub(crate) constants: Box<[(u32, Value)]>,
    /// The streams in the order of the plan.
    pub(crate) segments: Box<[Segment]>,
    /// What only delays ask for.
    pub(crate) after: Box<[Step]>,
    /// What enters a delay, and so may be no failure.
    pub(crate) entries: Box<[Entry]>,
    pub(crate) commits: Box<[Commit]>,
    /// The cells of a monitor that has seen nothing.
    pub(crate) initial: Box<[Slot]>,
    /// The lengths of the long rings.
    pub(crate) rings: Box<[u32]>,
    pub(crate) windows: Box<[WindowSpec]>,
    pub(crate) texts: Box<[TextSpec]>,
    pub(crate) functions: Box<[FunctionCode]>,
    /// Tells this block's functions from those of others.
    pub(crate) number: u32,
    pub(crate) places: Box<[Place]>,
    pub(crate) pieces: Box<[Piece]>,
}

/// A stream's steps.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) steps: Box<[Step]>,
    /// The register of its value.
    pub(crate) out: u32,
    /// Whether it leaves under a type that may hide a function.
    pub(crate) hides: bool,
    /// The place of the whole equation.
    pub(crate) place: u32,
    /// The state that it uses.
    pub(crate) uses: Box<[Use]>,
}

/// A piece of state, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// An index into the block's pieces.
    pub(crate) piece: u32,
    /// How many ticks back a delay goes; 0 of other pieces.
    pub(crate) ticks: u32,
}

/// What enters a delay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) operand: Operand,
    pub(crate) place: u32,
}

/// What a committed tick does to a cell. Each reads registers and its own cells only, so their order means nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Commit {
    /// The last that was not `NoVal`.
    Hold { cell: u32, register: u32 },
    /// The last value.
    Latest { cell: u32, of: Operand },
    /// Set by a value.
    OnValue { flag: Flag, of: Operand },
    /// Set by anything but `NoVal`.
    OnAny { flag: Flag, of: Operand },
    /// A ring of so many cells, the newest first.
    Short { cell: u32, length: u32, of: Operand },
    /// A ring out of line.
    Long { ring: u32, of: Operand },
}

/// A piece of state.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Its stable name, printed: owner, kind, and what it holds (`identity`). Lengths are no part of it, so that state is
    /// carried between them; an equation's windows of several lengths over the same operand share a name, and are told
    /// apart by their lengths, else by their order.
    pub(crate) id: u64,
    pub(crate) at: At,
    /// Whether it is an ê: what is lost with it comes back with the operand's next value.
    pub(crate) held: bool,
    /// What it is, for people.
    pub(crate) label: Box<str>,
}

/// Where a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// A cell, `NoVal` at first.
    Cell(u32),
    Flag(Flag),
    Short {
        cell: u32,
        length: u32,
    },
    Long {
        ring: u32,
        length: u32,
    },
    Window(u32),
    Text(u32),
}
