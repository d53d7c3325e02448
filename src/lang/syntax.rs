//! The syntax tree: what a root says, as it is written.
//!
//! Owns: spans, the arena of expressions and types, operators, literals.
//! May not: know what a name means, nor any type but as text.
//!
//! Nodes live in arenas in the order in which they were finished, so children stand before their parents: a pass from
//! the front needs no recursion, and dropping a tree never does.

use super::builtins::{Aggregate, Builtin};
use std::fmt;
use std::sync::Arc;

/// A range of bytes of the text, always at character boundaries.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// From one byte up to another.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// From the start of this one to the end of that one.
    #[must_use]
    pub const fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    /// As a range of indices.
    #[must_use]
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text it covers; nothing where it does not fit.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}..{}", self.start, self.end)
    }
}

/// The number of an expression in its [`Root`]; stable as long as the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// The number of a written type in its [`Root`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// Its place.
    pub span: Span,
}

/// How a stream is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// `in`: it comes from the record.
    In,
    /// `out`: computed, may leave in outputs.
    Out,
    /// `aux` or `var`: computed, stays inside.
    Aux,
}

/// One declaration or equation.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The kind of a declaration; none for a bare equation `y = …`.
    pub kind: Option<StreamKind>,
    /// The stream's name.
    pub name: Name,
    /// The written type.
    pub ty: Option<TypeId>,
    /// The right side of `=`; an [`ExprKind::Error`] where it could not be read.
    pub value: Option<ExprId>,
    /// The whole item.
    pub span: Span,
}

/// A parsed root, or a parsed text of a `dynamic` (no items then, `text` instead).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Root {
    /// Declarations and equations in the order of the text.
    pub items: Vec<Item>,
    /// All expressions, children before parents.
    pub exprs: Vec<Expr>,
    /// All written types, children before parents.
    pub types: Vec<TypeExpr>,
    /// The expression, where the text is one expression.
    pub text: Option<ExprId>,
}

impl Root {
    /// The expression with this number. Numbers come from this root: of another's, what is answered means nothing.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        self.exprs.get(id.0 as usize).unwrap_or(&Expr::ERROR)
    }

    /// The written type with this number.
    #[must_use]
    pub fn ty(&self, id: TypeId) -> &TypeExpr {
        self.types.get(id.0 as usize).unwrap_or(&TypeExpr::ERROR)
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
    /// The levels of its tree: one more than its highest child.
    pub height: u16,
    /// The levels of recursion that it needs where chains are walked in a loop: left operands, operands of `-` and `!`,
    /// what stands before `(…)`, `[n]` and `.f`, and the `if` after an `else` cost nothing.
    pub nesting: u16,
}

impl Expr {
    const ERROR: Self = Self { kind: ExprKind::Error, span: Span::new(0, 0), height: 1, nesting: 1 };
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Something that could not be read and was reported.
    Error,
    /// A constant.
    Literal(Literal),
    /// A stream or a parameter.
    Name(Arc<str>),
    /// `(e)`.
    Paren(ExprId),
    /// `(a, b)`, or `Tuple(a, b)` where `word`.
    Tuple {
        /// At least two.
        items: Vec<ExprId>,
        /// Written with the word.
        word: bool,
    },
    /// `[a, b]`.
    List(Vec<ExprId>),
    /// `{f: v}`.
    Struct(Vec<(Name, ExprId)>),
    /// `Map("k": v)`.
    Map(Vec<(Name, ExprId)>),
    /// `-e`, `!e`.
    Unary(UnaryOp, ExprId),
    /// `a + b` and the like; the span is the operator's.
    Binary(BinaryOp, Span, [ExprId; 2]),
    /// `if c then a else b`: condition, then, else.
    If([ExprId; 3]),
    /// `\a, b -> e`.
    Lambda {
        /// At least one.
        params: Vec<Param>,
        /// Right of the arrow.
        body: ExprId,
    },
    /// `f(x, y)`.
    Call {
        /// What is called.
        function: ExprId,
        /// At least one.
        arguments: Vec<ExprId>,
    },
    /// A built-in with its arguments, the right number of them.
    Builtin {
        /// Which.
        builtin: Builtin,
        /// Its name's place.
        name: Span,
        /// In order.
        arguments: Vec<ExprId>,
    },
    /// `e[n]`.
    Delay {
        /// What is delayed.
        of: ExprId,
        /// By how many ticks.
        ticks: u32,
    },
    /// `e.f`.
    Field(ExprId, Name),
    /// `e.0`.
    Item(ExprId, u32, Span),
    /// `dynamic(…)`, `eval(…)`, `defer(…)`.
    Text {
        /// Which word.
        word: TextWord,
        /// The text.
        source: ExprId,
        /// The type after the colon.
        ty: Option<TypeId>,
        /// The listed streams.
        scope: Option<Vec<Name>>,
    },
    /// `sum(e over 5m)`.
    Window {
        /// Which aggregate.
        aggregate: Aggregate,
        /// What is aggregated.
        of: ExprId,
        /// Over which window.
        window: Window,
    },
}

/// A parameter of a lambda.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// Its written type.
    pub ty: Option<TypeId>,
}

/// The word before the text of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextWord {
    /// `dynamic`.
    Dynamic,
    /// `eval`, another word for `dynamic`.
    Eval,
    /// `defer`.
    Defer,
}

/// What a window takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// `over 5m`: record times in (front − span, front].
    Time {
        /// Microseconds, above zero.
        micros: i64,
    },
    /// `over last 100`: the values added last.
    Last {
        /// How many, above zero.
        count: u64,
    },
    /// `over 1h by 10s`: panes aligned to UTC, the front's one included.
    Panes {
        /// Microseconds of one pane, above zero.
        pane_micros: i64,
        /// How many panes: the whole span divided by the pane.
        panes: u64,
    },
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `()`.
    Unit,
    /// `true`, `false`.
    Bool(bool),
    /// `1`, `-1`.
    Int(i64),
    /// `1.5`, `1e3`, `-0.5`: finite.
    Float(f64),
    /// `"a\n"`.
    Str(Arc<str>),
    /// `1h30m`, in microseconds.
    Duration(i64),
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`.
    Negate,
    /// `!`.
    Not,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `++`.
    Concat,
    /// `=>`.
    Implies,
    /// `||`.
    Or,
    /// `&&`.
    And,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Remainder,
    /// `**`.
    Power,
}

impl BinaryOp {
    /// How it is written.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Concat => "++",
            Self::Implies => "=>",
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Power => "**",
        }
    }

    /// How tightly it binds, from 1.
    #[must_use]
    pub const fn level(self) -> u8 {
        match self {
            Self::Concat => 1,
            Self::Implies => 2,
            Self::Or => 3,
            Self::And => 4,
            Self::Equal | Self::NotEqual => 5,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 6,
            Self::Add | Self::Subtract => 7,
            Self::Multiply | Self::Divide | Self::Remainder => 8,
            Self::Power => 9,
        }
    }

    /// Whether `a • b • c` is `a • (b • c)`.
    #[must_use]
    pub const fn groups_right(self) -> bool {
        matches!(self, Self::Implies | Self::Power)
    }
}

/// A written type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

impl TypeExpr {
    const ERROR: Self = Self { kind: TypeKind::Error, span: Span::new(0, 0) };
}

/// What a written type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// Something that could not be read and was reported.
    Error,
    /// `Int`.
    Name(Arc<str>),
    /// `List<T>`.
    Of(Name, TypeId),
    /// `Struct<f: T, …>`.
    Struct {
        /// In the order of the text.
        fields: Vec<(Name, TypeId)>,
        /// Ends in `...`.
        open: bool,
    },
    /// `(A, B)`.
    Tuple(Vec<TypeId>),
    /// `(A -> B -> C)`; of one: `(A)`.
    Arrow(Vec<TypeId>),
}
