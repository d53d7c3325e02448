//! From tokens to the syntax tree.
//!
//! Owns: the grammar of language.md, recovery (an error ends an item, not the text), the bounds on nesting.
//! May not: know what names mean, but for the built-ins, which are known by the `(` or `.` after them.

mod expression;
mod forms;
mod types;

use super::builtins;
use super::codes::Code;
use super::diagnostic::{Diagnostic, Errors};
use super::lexer::{Lexed, lex};
use super::names::meant;
use super::syntax::{Expr, ExprId, ExprKind, Item, Name, Root, Span, StreamKind};
use super::token::{Comment, Kind, Token};
use super::{MAX_ROOT, MAX_STREAMS, MAX_TEXT};

/// The deepest nesting of brackets, functions, right operands and types.
const MAX_NESTING: u16 = 100;
/// The highest tree, so the longest chain of operators.
const MAX_HEIGHT: u16 = 1_000;

/// The error was reported: nothing is left to say.
struct Reported;

type Result<T> = std::result::Result<T, Reported>;

/// What a text says.
pub(super) struct Parsed {
    /// What could be read of it.
    pub(super) root: Root,
    /// What could not.
    pub(super) errors: Errors,
    /// Its tokens, as they were understood.
    pub(super) tokens: Vec<Token>,
    /// Its comments.
    pub(super) comments: Vec<Comment>,
}

/// Parses a root.
pub(super) fn root(text: &str) -> Parsed {
    parse(text, MAX_ROOT, |parser| {
        while parser.kind() != Kind::End {
            if parser.item().is_err() {
                parser.recover();
            }
        }
        if parser.root.items.len() > 2 * MAX_STREAMS {
            let error = Diagnostic::new(Code::TOO_LONG, parser.span(), format!("a root has at most {MAX_STREAMS} streams"));
            parser.errors.push(error);
        }
    })
}

/// Parses the text of a `dynamic` or `defer`: one expression.
pub(super) fn text(text: &str) -> Parsed {
    parse(text, MAX_TEXT, |parser| {
        if let Ok(expr) = parser.expr() {
            parser.root.text = Some(expr);
            if parser.kind() != Kind::End {
                parser.expected("the end of the text", None);
            }
        }
    })
}

fn parse(text: &str, longest: usize, all: impl FnOnce(&mut Parser<'_>)) -> Parsed {
    let read = if text.len() > longest { "" } else { text };
    let Lexed { tokens, comments, errors } = lex(read);
    let mut parser = Parser { text: read, tokens, at: 0, root: Root::default(), errors, depth: 0, splits: Vec::new() };
    if read.len() < text.len() {
        let message = format!("this text has {} bytes, more than {longest}", text.len());
        parser.errors.push(Diagnostic::new(Code::TOO_LONG, Span::new(0, 0), message));
    } else {
        all(&mut parser);
    }
    let Parser { root, errors, tokens, splits, .. } = parser;
    Parsed { root, errors, tokens: split(tokens, &splits), comments }
}

/// Puts the second halves of split tokens back in.
fn split(tokens: Vec<Token>, splits: &[usize]) -> Vec<Token> {
    let mut splits = splits.iter().peekable();
    let mut out = Vec::with_capacity(tokens.len() + splits.len());
    for (at, token) in tokens.into_iter().enumerate() {
        if splits.next_if_eq(&&at).is_some() {
            let start = token.span.start.saturating_sub(1);
            out.push(Token { kind: Kind::Greater, span: Span::new(start, token.span.start) });
        }
        out.push(token);
    }
    out
}

struct Parser<'text> {
    text: &'text str,
    tokens: Vec<Token>,
    at: usize,
    root: Root,
    errors: Errors,
    depth: u16,
    /// Where a `>=` was understood as `>` and `=`: the token is the `=` now.
    splits: Vec<usize>,
}

impl Parser<'_> {
    /// The token so far ahead.
    fn ahead(&self, by: usize) -> Token {
        let end = Token { kind: Kind::End, span: Span::new(0, 0) };
        self.tokens.get(self.at + by).or(self.tokens.last()).copied().unwrap_or(end)
    }

    fn kind(&self) -> Kind {
        self.ahead(0).kind
    }

    fn span(&self) -> Span {
        self.ahead(0).span
    }

    /// The place of the token before.
    fn before(&self) -> Span {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(Span::new(0, 0), |token| token.span)
    }

    fn bump(&mut self) -> Token {
        let token = self.ahead(0);
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: Kind) -> Result<Span> {
        if self.kind() == kind { Ok(self.bump().span) } else { Err(self.expected(kind.name(), None)) }
    }

    fn word(&self, span: Span) -> &str {
        span.of(self.text)
    }

    /// Whether the token is this name, which is no word of the language.
    fn at_name(&self, name: &str) -> bool {
        self.kind() == Kind::Name && self.word(self.span()) == name
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, hint: Option<String>) {
        self.errors.push(Diagnostic::new(code, span, message).maybe_hint(hint));
    }

    /// Reports that something else should stand here.
    fn expected(&mut self, what: &str, hint: Option<&str>) -> Reported {
        let (kind, span) = (self.kind(), self.span());
        let hint = hint.or_else(|| self.habit()).map(str::to_owned);
        match kind {
            Kind::Bad => {}
            Kind::Over => {
                let hint = hint.or_else(|| Some(format!("an aggregate is written `sum(x over 5m)`; there are {}", builtins::aggregates())));
                self.error(Code::WINDOW_PLACE, span, "`over` stands only in an aggregate", hint);
            }
            Kind::RightParen | Kind::RightBracket | Kind::RightBrace if self.depth == 0 => {
                self.error(Code::OPEN_BRACKET, span, format!("{} closes nothing", kind.name()), hint);
            }
            _ => self.error(Code::SYNTAX, span, format!("expected {what}, found {}", self.found()), hint),
        }
        Reported
    }

    /// How a message calls the token.
    fn found(&self) -> String {
        let word = self.word(self.span());
        if self.kind() == Kind::Name && word.len() <= 64 { format!("`{word}`") } else { self.kind().name().to_owned() }
    }

    /// What somebody means who writes this token where it has no place.
    fn habit(&self) -> Option<&'static str> {
        match self.kind() {
            Kind::Assign => Some("`=` stands once, after the name of a stream; values are compared with `==`"),
            Kind::EqualEqual => Some("an equation has one `=`"),
            Kind::Name => match self.word(self.span()) {
                "and" => Some("write `&&`"),
                "or" => Some("write `||`"),
                "not" => Some("write `!`"),
                "mod" => Some("write `%`"),
                "let" | "def" | "output" => Some("declare a stream with `out` or `aux`"),
                "input" => Some("declare an input with `in`"),
                "elif" | "elsif" => Some("write `else if`"),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reports a bracket that was not closed, or something else in its place.
    fn unclosed(&mut self, opening: Span, what: &str) -> Reported {
        if self.kind() != Kind::End && !self.starts_item() {
            return self.expected(what, None);
        }
        let open = self.word(opening).to_owned();
        let found = self.span();
        let error = Diagnostic::new(Code::OPEN_BRACKET, opening, format!("`{open}` is not closed")).label("opened here");
        self.errors.push(error.other(found, "not closed before this"));
        Reported
    }

    /// Goes one level down.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let out = inner(self);
        self.depth -= 1;
        out
    }

    fn too_deep(&mut self, span: Span) -> Reported {
        let hint = Some("give a part of it a name of its own, with `aux`".to_owned());
        self.error(Code::TOO_DEEP, span, "this is nested too deeply, or too long", hint);
        Reported
    }

    /// Adds an expression to the tree.
    fn add(&mut self, kind: ExprKind, span: Span) -> Result<ExprId> {
        let (height, nesting) = self.heights(&kind);
        if height > MAX_HEIGHT || nesting > MAX_NESTING {
            return Err(self.too_deep(self.before()));
        }
        Ok(self.push(Expr { kind, span, height, nesting }))
    }

    fn push(&mut self, expr: Expr) -> ExprId {
        let id = ExprId(u32::try_from(self.root.exprs.len()).unwrap_or(u32::MAX));
        self.root.exprs.push(expr);
        id
    }

    /// An expression in the place of one that could not be read.
    fn unread(&mut self, span: Span) -> ExprId {
        self.push(Expr { kind: ExprKind::Error, span, height: 1, nesting: 1 })
    }

    /// The height and nesting of what has these children.
    fn heights(&self, kind: &ExprKind) -> (u16, u16) {
        let child = |id: &ExprId| self.root.expr(*id);
        let all = |ids: &mut dyn Iterator<Item = &ExprId>| {
            ids.map(child).fold((0, 0), |most: (u16, u16), one| (most.0.max(one.height), most.1.max(one.nesting)))
        };
        // What is walked in a loop comes first, and costs no nesting.
        let of = |first: Option<&ExprId>, ids: &mut dyn Iterator<Item = &ExprId>| {
            let (height, nesting) = all(ids);
            let (first_height, first_nesting) = first.map_or((0, 0), |id| (child(id).height, child(id).nesting));
            (height.max(first_height) + 1, (nesting + 1).max(first_nesting))
        };
        let none = &mut std::iter::empty();
        match kind {
            ExprKind::Error | ExprKind::Literal(_) | ExprKind::Name(_) => (1, 1),
            ExprKind::Paren(inner) | ExprKind::Lambda { body: inner, .. } | ExprKind::Window { of: inner, .. } => {
                of(None, &mut [*inner].iter())
            }
            ExprKind::Text { source, .. } => of(None, &mut [*source].iter()),
            ExprKind::Tuple { items, .. } | ExprKind::List(items) => of(None, &mut items.iter()),
            ExprKind::Builtin { arguments, .. } => of(None, &mut arguments.iter()),
            ExprKind::Struct(entries) | ExprKind::Map(entries) => of(None, &mut entries.iter().map(|(_, id)| id)),
            ExprKind::Unary(_, inner) | ExprKind::Delay { of: inner, .. } | ExprKind::Field(inner, _) | ExprKind::Item(inner, ..) => {
                of(Some(inner), none)
            }
            ExprKind::Binary(_, _, [left, right]) => of(Some(left), &mut [*right].iter()),
            ExprKind::Call { function, arguments } => of(Some(function), &mut arguments.iter()),
            ExprKind::If([condition, then, other]) => {
                let chained = matches!(child(other).kind, ExprKind::If(_));
                if chained { of(Some(other), &mut [*condition, *then].iter()) } else { of(None, &mut [*condition, *then, *other].iter()) }
            }
        }
    }

    /// Whether a declaration or an equation may begin here.
    fn starts_item(&self) -> bool {
        match self.kind() {
            Kind::In | Kind::Out | Kind::Aux | Kind::End => true,
            Kind::Name => self.ahead(1).kind == Kind::Assign,
            _ => false,
        }
    }

    /// After an error: goes on to what may begin an item.
    fn recover(&mut self) {
        self.depth = 0;
        while !self.starts_item() {
            self.bump();
        }
    }

    fn item(&mut self) -> Result<()> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::In => Some(StreamKind::In),
            Kind::Out => Some(StreamKind::Out),
            Kind::Aux => Some(StreamKind::Aux),
            Kind::Name if matches!(self.ahead(1).kind, Kind::Assign | Kind::EqualEqual) => None,
            Kind::Name if self.ahead(1).kind == Kind::Colon => {
                self.expected("`in`, `out` or `aux`", Some("a declaration begins with `in`, `out`, `aux` or `var`"));
                Some(StreamKind::Aux)
            }
            _ => return Err(self.expected("an operator, a declaration or an equation", None)),
        };
        if matches!(self.kind(), Kind::In | Kind::Out | Kind::Aux) {
            self.bump();
        }
        let name = self.stream_name()?;
        let ty = if kind.is_some() && self.take(Kind::Colon) { self.ty().map(Some) } else { Ok(None) };
        let at = self.root.items.len();
        self.root.items.push(Item { kind, name, ty: ty.as_ref().ok().copied().flatten(), value: None, span: start });
        let value = ty.and_then(|_| self.equation());
        let unread = if value.is_err() { Some(self.unread(self.span())) } else { None };
        let end = self.before();
        if let Some(item) = self.root.items.get_mut(at) {
            item.value = value.as_ref().ok().copied().flatten().or(unread);
            item.span = start.to(end);
        }
        value.map(|_| ())
    }

    fn equation(&mut self) -> Result<Option<ExprId>> {
        match self.kind() {
            Kind::Assign => {
                self.bump();
                self.expr().map(Some)
            }
            Kind::EqualEqual => {
                self.expected("`=`", None);
                self.bump();
                self.expr().map(Some)
            }
            Kind::Name if !self.starts_item() && builtins::type_names().any(|ty| ty == self.word(self.span())) => {
                Err(self.expected("`:` or `=`", Some("a type stands after a `:`")))
            }
            _ => Ok(None),
        }
    }

    /// The name of a stream that is declared or defined.
    fn stream_name(&mut self) -> Result<Name> {
        let missing = !self.kind().is_word() || (self.kind() != Kind::Name && self.ahead(1).kind == Kind::Name);
        if missing {
            return Err(self.expected("the name of a stream", None));
        }
        let name = self.any_word();
        self.reserved(&name);
        Ok(name)
    }

    /// Reports a name that is a word of the language or a type.
    fn reserved(&mut self, name: &Name) {
        if Kind::keyword(&name.text).is_some() || builtins::type_names().any(|ty| ty == &*name.text) {
            let hint = Some("only fields may have such a name".to_owned());
            self.error(Code::RESERVED, name.span, format!("`{}` is a word of the language", name.text), hint);
        }
    }

    /// The token as a name; the caller has seen that it is a word.
    fn any_word(&mut self) -> Name {
        let span = self.bump().span;
        Name { text: self.word(span).into(), span }
    }

    /// The name of a field: any word.
    fn field_name(&mut self) -> Result<Name> {
        if self.kind().is_word() { Ok(self.any_word()) } else { Err(self.expected("the name of a field", None)) }
    }

    /// Items up to the closing bracket, a comma between them and perhaps one at the end.
    fn list(&mut self, opening: Span, close: Kind, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        while self.kind() != close {
            item(self)?;
            if !self.take(Kind::Comma) && self.kind() != close {
                return Err(self.unclosed(opening, &format!("`,` or {}", close.name())));
            }
        }
        self.bump();
        Ok(())
    }

    /// A hint for a mistaken name, while hints pay.
    fn meant<'name>(&self, name: &str, known: impl Iterator<Item = &'name str>) -> Option<String> {
        if self.errors.are_few() { meant(name, known) } else { None }
    }
}
