//! From text to tokens.
//!
//! Owns: where tokens and comments begin and end.
//! May not: know the grammar, but for one thing: after a point, digits are a place in a tuple.

use super::codes::Code;
use super::diagnostic::{Diagnostic, Errors};
use super::literal::{NoDuration, duration, text as decode};
use super::syntax::Span;
use super::token::{Comment, Kind, Token};

/// The punctuation that a text starts with, and its length.
fn mark(rest: &[u8]) -> Option<(usize, Kind)> {
    let two = match rest {
        [b'.', b'.', b'.', ..] => return Some((3, Kind::Ellipsis)),
        [b'-', b'>', ..] => Kind::Arrow,
        [b'=', b'>', ..] => Kind::Implies,
        [b'=', b'=', ..] => Kind::EqualEqual,
        [b'!', b'=', ..] => Kind::NotEqual,
        [b'<', b'=', ..] => Kind::LessEqual,
        [b'>', b'=', ..] => Kind::GreaterEqual,
        [b'&', b'&', ..] => Kind::AndAnd,
        [b'|', b'|', ..] => Kind::OrOr,
        [b'+', b'+', ..] => Kind::PlusPlus,
        [b'*', b'*', ..] => Kind::StarStar,
        _ => return single(*rest.first()?).map(|kind| (1, kind)),
    };
    Some((2, two))
}

const fn single(byte: u8) -> Option<Kind> {
    Some(match byte {
        b'(' => Kind::LeftParen,
        b')' => Kind::RightParen,
        b'[' => Kind::LeftBracket,
        b']' => Kind::RightBracket,
        b'{' => Kind::LeftBrace,
        b'}' => Kind::RightBrace,
        b',' => Kind::Comma,
        b':' => Kind::Colon,
        b'.' => Kind::Dot,
        b'=' => Kind::Assign,
        b'\\' => Kind::Backslash,
        b'!' => Kind::Bang,
        b'-' => Kind::Minus,
        b'+' => Kind::Plus,
        b'*' => Kind::Star,
        b'/' => Kind::Slash,
        b'%' => Kind::Percent,
        b'<' => Kind::Less,
        b'>' => Kind::Greater,
        _ => return None,
    })
}

/// What a text consists of.
pub(super) struct Lexed {
    /// The tokens; the last is [`Kind::End`].
    pub(super) tokens: Vec<Token>,
    /// The comments.
    pub(super) comments: Vec<Comment>,
    /// What could not be read.
    pub(super) errors: Errors,
}

/// Reads a text of at most `u32::MAX` bytes.
pub(super) fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer { text, at: 0, out: Lexed { tokens: Vec::new(), comments: Vec::new(), errors: Errors::default() } };
    if text.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    while lexer.next() {}
    let end = lexer.span(text.len());
    lexer.out.tokens.push(Token { kind: Kind::End, span: end });
    lexer.out
}

struct Lexer<'text> {
    text: &'text str,
    at: usize,
    out: Lexed,
}

/// A place in a text whose length fits.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<'text> Lexer<'text> {
    fn rest(&self) -> &'text str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// From a byte up to where we are.
    fn span(&self, start: usize) -> Span {
        Span::new(place(start), place(self.at))
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, hint: Option<&str>) {
        self.out.errors.push(Diagnostic::new(code, span, message).maybe_hint(hint.map(str::to_owned)));
    }

    /// Goes over what `wanted` holds for.
    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    fn push(&mut self, kind: Kind, start: usize) {
        let span = self.span(start);
        self.out.tokens.push(Token { kind, span });
    }

    /// Reads one token or comment; false at the end.
    fn next(&mut self) -> bool {
        self.skip(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
        let (start, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else { return false };
        if rest.starts_with("//") {
            self.skip(|c| c != '\n');
            let length = self.text.get(start..self.at).map_or(0, |line| line.trim_end().len());
            self.out.comments.push(Comment { span: Span::new(place(start), place(start + length)), line: true });
        } else if rest.starts_with("(*") {
            self.comment(start);
        } else if first.is_ascii_alphabetic() || first == '_' {
            self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
            let word = self.text.get(start..self.at).unwrap_or_default();
            self.push(Kind::keyword(word).unwrap_or(Kind::Name), start);
        } else if first.is_ascii_digit() {
            self.number(start);
        } else if first == '"' {
            self.string(start);
        } else if let Some((length, kind)) = mark(rest.as_bytes()) {
            self.at += length;
            self.push(kind, start);
        } else {
            self.unknown(start, first);
        }
        true
    }

    /// A comment that nests.
    fn comment(&mut self, start: usize) {
        let mut depth = 0_usize;
        let bytes = self.text.as_bytes();
        while let Some(first) = bytes.get(self.at) {
            match (*first, bytes.get(self.at + 1)) {
                (b'(', Some(b'*')) => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', Some(b')')) => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                let span = self.span(start);
                self.out.comments.push(Comment { span, line: false });
                return;
            }
        }
        let opening = Span::new(place(start), place(start + 2));
        self.error(Code::OPEN_COMMENT, opening, "this comment is not closed", Some("close it with `*)`; such comments nest"));
    }

    fn number(&mut self, start: usize) {
        let digits = |c: char| c.is_ascii_digit();
        self.skip(digits);
        if self.out.tokens.last().is_some_and(|token| token.kind == Kind::Dot) {
            let value = self.text.get(start..self.at).and_then(|digits| digits.parse().ok());
            let value = value.unwrap_or(u32::MAX);
            return self.push(Kind::Digits(value), start);
        }
        let mut float = false;
        if self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(digits)) {
            float = true;
            self.at += 1;
            self.skip(digits);
        }
        if let Some(rest) = self.rest().strip_prefix(['e', 'E'])
            && rest.strip_prefix(['+', '-']).unwrap_or(rest).starts_with(digits)
        {
            float = true;
            self.at += 1 + usize::from(rest.starts_with(['+', '-']));
            self.skip(digits);
        }
        let end = self.at;
        self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
        let word = self.text.get(start..self.at).unwrap_or_default();
        let value = if self.at > end && float { Err(NoDuration::Form) } else { value(word, float, self.at > end) };
        match value {
            Ok(kind) => self.push(kind, start),
            Err(why) => self.bad_number(start, word, why),
        }
    }

    fn bad_number(&mut self, start: usize, word: &str, why: NoDuration) {
        let span = self.span(start);
        let decimal = word.starts_with("0x") || word.starts_with("0b") || word.contains('_');
        let (code, message, hint) = match why {
            NoDuration::Form if decimal => (Code::BAD_NUMBER, format!("`{word}` is no number"), "numbers are decimal, their digits alone"),
            NoDuration::Form => {
                (Code::BAD_NUMBER, format!("`{word}` is no number or Duration"), "units are `d h m s ms us`, as in `1h30m`")
            }
            NoDuration::Order => (Code::BAD_NUMBER, format!("the units of `{word}` do not fall"), "from `d` to `us`, each once: `1h30m`"),
            NoDuration::Range => {
                (Code::NUMBER_RANGE, "this number is too large".to_owned(), "numbers have 64 bits; a Float ends near 1.8e308")
            }
        };
        self.error(code, span, message, Some(hint));
        self.push(Kind::Bad, start);
    }

    fn string(&mut self, start: usize) {
        self.at += 1;
        let mut escaped = false;
        for c in self.rest().chars() {
            match c {
                '\n' => break,
                '"' if !escaped => return self.closed_string(start),
                _ => {
                    escaped = c == '\\' && !escaped;
                    self.at += c.len_utf8();
                }
            }
        }
        let span = self.span(start);
        self.error(Code::OPEN_TEXT, span, "this text is not closed on its line", Some("close it with `\"`; a new line in a text is `\\n`"));
        self.push(Kind::Bad, start);
    }

    fn closed_string(&mut self, start: usize) {
        let raw = self.text.get(start + 1..self.at).unwrap_or_default();
        for (from, to) in decode(raw).1 {
            let span = Span::new(place(start + 1 + from), place(start + 1 + to));
            self.error(Code::BAD_ESCAPE, span, "no text holds this", Some("the escapes are `\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX`"));
        }
        self.at += 1;
        self.push(Kind::Str, start);
    }

    fn unknown(&mut self, start: usize, first: char) {
        self.at += first.len_utf8();
        let hint = match first {
            '\'' | '“' | '”' | '‘' | '’' => "texts stand in double quotes: `\"…\"`",
            '&' => "`and` is written `&&`",
            '|' => "`or` is written `||`",
            '^' => "powers are written `**`",
            ';' => "nothing ends an equation: the next one begins with its name",
            '?' => "a choice is written `if c then a else b`, a value in place of none `default(x, 0)`",
            '#' => "comments are `// …` and `(* … *)`",
            '≠' => "write `!=`",
            '≤' => "write `<=`",
            '≥' => "write `>=`",
            'λ' => "functions are written `\\x -> …`",
            c if c.is_alphabetic() => "names have the letters A to Z, digits and `_`",
            _ => "",
        };
        let span = self.span(start);
        let message = format!("`{}` means nothing here", first.escape_debug());
        self.error(Code::UNKNOWN_CHARACTER, span, message, Some(hint).filter(|hint| !hint.is_empty()));
        self.push(Kind::Bad, start);
    }
}

/// The value of a word that begins with a digit.
fn value(word: &str, float: bool, letters: bool) -> Result<Kind, NoDuration> {
    if float {
        word.parse().ok().filter(|value: &f64| value.is_finite()).map(Kind::Float).ok_or(NoDuration::Range)
    } else if letters {
        duration(word).map(Kind::Duration)
    } else {
        word.parse().ok().filter(|value| *value <= 1 << 63).map(Kind::Int).ok_or(NoDuration::Range)
    }
}
