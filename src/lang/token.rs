//! Tokens and comments.
//!
//! Owns: what kinds of token there are and how each is called in a message.
//! May not: know the grammar.

use super::syntax::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name that is no word of the language.
    Name,
    /// Digits alone, up to 2^63 (which only a minus makes an `Int`).
    Int(u64),
    /// The digits after the point of `.0`.
    Digits(u32),
    Float(f64),
    Str,
    Duration(i64),
    In,
    Out,
    Aux,
    If,
    Then,
    Else,
    Over,
    True,
    False,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Comma,
    Colon,
    Dot,
    Ellipsis,
    Arrow,
    Assign,
    Backslash,
    Bang,
    Minus,
    Plus,
    PlusPlus,
    Star,
    StarStar,
    Slash,
    Percent,
    AndAnd,
    OrOr,
    Implies,
    EqualEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Something that was reported.
    Bad,
    End,
}

impl Kind {
    /// How a message calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Int(_) | Self::Float(_) | Self::Digits(_) => "a number",
            Self::Str => "a text",
            Self::Duration(_) => "a Duration",
            Self::In => "`in`",
            Self::Out => "`out`",
            Self::Aux => "`aux`",
            Self::If => "`if`",
            Self::Then => "`then`",
            Self::Else => "`else`",
            Self::Over => "`over`",
            Self::True => "`true`",
            Self::False => "`false`",
            Self::LeftParen => "`(`",
            Self::RightParen => "`)`",
            Self::LeftBracket => "`[`",
            Self::RightBracket => "`]`",
            Self::LeftBrace => "`{`",
            Self::RightBrace => "`}`",
            Self::Comma => "`,`",
            Self::Colon => "`:`",
            Self::Dot => "`.`",
            Self::Ellipsis => "`...`",
            Self::Arrow => "`->`",
            Self::Assign => "`=`",
            Self::Backslash => "`\\`",
            Self::Bang => "`!`",
            Self::Minus => "`-`",
            Self::Plus => "`+`",
            Self::PlusPlus => "`++`",
            Self::Star => "`*`",
            Self::StarStar => "`**`",
            Self::Slash => "`/`",
            Self::Percent => "`%`",
            Self::AndAnd => "`&&`",
            Self::OrOr => "`||`",
            Self::Implies => "`=>`",
            Self::EqualEqual => "`==`",
            Self::NotEqual => "`!=`",
            Self::Less => "`<`",
            Self::LessEqual => "`<=`",
            Self::Greater => "`>`",
            Self::GreaterEqual => "`>=`",
            Self::Bad => "something unreadable",
            Self::End => "the end of the text",
        }
    }

    /// The word of the language that is written so.
    pub(super) fn keyword(word: &str) -> Option<Self> {
        Some(match word {
            "in" => Self::In,
            "out" => Self::Out,
            "aux" | "var" => Self::Aux,
            "if" => Self::If,
            "then" => Self::Then,
            "else" => Self::Else,
            "over" => Self::Over,
            "true" => Self::True,
            "false" => Self::False,
            _ => return None,
        })
    }

    /// Whether it is written as a name: names and the words of the language.
    pub(super) const fn is_word(self) -> bool {
        matches!(
            self,
            Self::Name | Self::In | Self::Out | Self::Aux | Self::If | Self::Then | Self::Else | Self::Over | Self::True | Self::False
        )
    }
}

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// A comment and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) span: Span,
    /// It reaches to the end of its line (`//`).
    pub(super) line: bool,
}
