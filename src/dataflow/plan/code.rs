//! What a plan's code is: steps over registers, and the code of functions.
//!
//! Owns: operands, operations, steps, places.
//! May not: know how they are made (`build`, `lower`, `function`), nor run them (`eval`).

use crate::dataflow::slot::Slot;
use crate::dataflow::value::Shape;
use crate::lang::builtins::Function;
use crate::lang::checked::{BinaryOp, Pattern, TextMode, UnaryOp};
use crate::lang::syntax::Span;
use crate::lang::types::Type;
use std::sync::Arc;

/// No register, no cell.
pub(crate) const NONE: u32 = u32::MAX;

/// Where an operand is found: in a register; where that holds `NoVal` (or is [`NONE`]), in a cell.
///
/// In equations the cell is one of the monitor: that is ê. A short delay is a cell without a register. In functions the
/// cell is one of the code's constants, which have no register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) register: u32,
    pub(crate) cell: u32,
}

impl Operand {
    pub(crate) const NOTHING: Self = Self { register: NONE, cell: NONE };

    pub(crate) const fn register(register: u32) -> Self {
        Self { register, cell: NONE }
    }

    pub(crate) const fn cell(cell: u32) -> Self {
        Self { register: NONE, cell }
    }
}

/// One operation on operands, whose result goes into a register.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) code: Code,
    pub(crate) out: u32,
    /// Its place, an index into the block's places.
    pub(crate) place: u32,
}

/// An operation.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// The operand as it is.
    Copy(Operand),
    Cast(Operand, Arc<Type>),
    Unary(UnaryOp, Operand),
    /// The strict ones.
    Binary(BinaryOp, Operand, Operand),
    And(Operand, Operand),
    Or(Operand, Operand),
    Implies(Operand, Operand),
    If(Operand, Operand, Operand),
    Default(Operand, Operand),
    Init {
        of: Operand,
        initial: Operand,
        flag: Flag,
    },
    IsDefined(Operand),
    IsPresent(Operand),
    When(Operand, Flag),
    Update {
        before: Operand,
        after: Operand,
        flag: Flag,
    },
    Latch(Operand, Operand),
    /// The second operand is where the last value stands.
    Changed(Operand, Operand),
    /// So many ticks back in a long ring.
    Back {
        ring: u32,
        ticks: u32,
    },
    Function(Function, Box<[Operand]>),
    /// `List.get` and `Map.get` with a fallback, the last operand.
    Fallback(Function, Box<[Operand; 3]>),
    Matches(Operand, Box<Pattern>),
    List(Box<[Operand]>),
    Tuple(Box<[Operand]>),
    /// Fields in the order of the shape.
    Struct(Arc<Shape>, Box<[Operand]>),
    Map(Box<[(Arc<str>, Operand)]>),
    Field(Operand, Arc<str>),
    Item(Operand, u32),
    Closure(Box<MadeOf>),
    Call(Operand, Operand),
    Each(Box<Each>),
    Window(Box<WindowUse>),
    Text(Box<TextUse>),
}

/// A bit of the monitor: of the word in this cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) cell: u32,
    pub(crate) bit: u8,
}

/// A function as it is made.
#[derive(Clone, Debug)]
pub(crate) struct MadeOf {
    /// Its number among the block's functions.
    pub(crate) function: u32,
    pub(crate) captures: Box<[Operand]>,
    /// Whether it is `fix`: its parameter is itself, and what it gives is the function that is called.
    pub(crate) fix: bool,
}

/// What a list callback is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EachKind {
    Map,
    Filter,
    Fold,
}

/// A list callback.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub(crate) kind: EachKind,
    pub(crate) function: u32,
    pub(crate) captures: Box<[Operand]>,
    /// Where a fold begins; nothing else.
    pub(crate) from: Operand,
    pub(crate) list: Operand,
}

/// A window and what it takes in.
#[derive(Clone, Debug)]
pub(crate) struct WindowUse {
    /// Its number among the block's windows.
    pub(crate) window: u32,
    pub(crate) of: Operand,
    /// The registers of the inputs behind the operand: one must have come. Empty: no such condition.
    pub(crate) gate: Box<[u32]>,
}

/// A `dynamic` or `defer`.
#[derive(Clone, Debug)]
pub(crate) struct TextUse {
    /// Its number among the block's texts.
    pub(crate) text: u32,
    pub(crate) source: Operand,
}

/// A function's code: one instruction after another, registers of its own.
#[derive(Debug)]
pub(crate) struct FunctionCode {
    pub(crate) instructions: Box<[Instruction]>,
    /// What operands without a register mean.
    pub(crate) constants: Box<[Slot]>,
    /// Parameters first, then captures, then the rest.
    pub(crate) registers: u32,
    /// What arguments are cast to; none where every value is taken.
    pub(crate) parameters: Box<[Option<Arc<Type>>]>,
    pub(crate) result: Operand,
}

/// An instruction of a function.
#[derive(Debug)]
pub(crate) enum Instruction {
    /// An operation.
    Do(Step),
    /// Goes on elsewhere.
    Jump(u32),
    /// Where the condition is true, on; false, elsewhere; a failure or no `Bool`: into the register, and to the end.
    Branch { condition: Operand, otherwise: u32, out: u32, end: u32, place: u32 },
    /// Where the left side decides, its answer into the register, and to the end.
    Decided { left: Operand, by: Decides, out: u32, end: u32 },
    /// Runs the code at the target, which ends with a return, unless the register has a value already.
    Ensure { register: u32, target: u32 },
    /// Back to behind the `Ensure` that led here.
    Return,
    /// The function is done.
    End,
}

/// Which left sides decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// `&&`: false.
    And,
    /// `||`: true.
    Or,
    /// `=>`: false.
    Implies,
}

/// Where an operation stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) stream: Arc<str>,
    pub(crate) span: Span,
}

/// A `dynamic` or `defer` of a block.
#[derive(Clone, Debug)]
pub(crate) struct TextSpec {
    pub(crate) mode: TextMode,
    pub(crate) ty: Type,
    /// The stream it stands in.
    pub(crate) stream: Arc<str>,
    /// Names and types of what a text may read.
    pub(crate) scope: Arc<[(Arc<str>, Type)]>,
    /// For each, the register it is read from and the registers of the inputs behind it.
    pub(crate) reads: Box<[(u32, Box<[u32]>)]>,
}
