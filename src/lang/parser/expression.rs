//! Expressions: operators, what follows a value, brackets, functions, `if`.

use super::{Parser, Result};
use crate::lang::MAX_DELAY;
use crate::lang::builtins::{self, Aggregate, Builtin};
use crate::lang::codes::Code;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::literal;
use crate::lang::syntax::{BinaryOp, ExprId, ExprKind, Literal, Param, Span, UnaryOp};
use crate::lang::token::Kind;

/// The most parameters of a function.
const MAX_PARAMS: usize = 32;

/// The operator that is written so, between two operands.
const fn binary(kind: Kind) -> Option<BinaryOp> {
    Some(match kind {
        Kind::PlusPlus => BinaryOp::Concat,
        Kind::Implies => BinaryOp::Implies,
        Kind::OrOr => BinaryOp::Or,
        Kind::AndAnd => BinaryOp::And,
        Kind::EqualEqual => BinaryOp::Equal,
        Kind::NotEqual => BinaryOp::NotEqual,
        Kind::Less => BinaryOp::Less,
        Kind::LessEqual => BinaryOp::LessEqual,
        Kind::Greater => BinaryOp::Greater,
        Kind::GreaterEqual => BinaryOp::GreaterEqual,
        Kind::Plus => BinaryOp::Add,
        Kind::Minus => BinaryOp::Subtract,
        Kind::Star => BinaryOp::Multiply,
        Kind::Slash => BinaryOp::Divide,
        Kind::Percent => BinaryOp::Remainder,
        Kind::StarStar => BinaryOp::Power,
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<ExprId> {
        self.nested(Self::operators)
    }

    /// Operands and operators, with a stack for those that wait for a tighter one.
    fn operators(&mut self) -> Result<ExprId> {
        let mut waiting: Vec<(ExprId, BinaryOp, Span)> = Vec::new();
        let mut value = self.operand()?;
        while let Some(op) = binary(self.kind()) {
            let span = self.bump().span;
            value = self.reduce(&mut waiting, value, Some(op))?;
            waiting.push((value, op, span));
            value = self.operand()?;
        }
        self.reduce(&mut waiting, value, None)
    }

    /// Finishes the waiting operators that bind before `next`.
    fn reduce(&mut self, waiting: &mut Vec<(ExprId, BinaryOp, Span)>, right: ExprId, next: Option<BinaryOp>) -> Result<ExprId> {
        let mut right = right;
        while let Some((left, op, span)) = waiting.pop() {
            if next.is_some_and(|next| op.level() < next.level() || (op.level() == next.level() && next.groups_right())) {
                waiting.push((left, op, span));
                break;
            }
            let whole = self.root.expr(left).span.to(self.root.expr(right).span);
            right = self.add(ExprKind::Binary(op, span, [left, right]), whole)?;
        }
        Ok(right)
    }

    /// An operand; a function or an `if` reaches as far right as it can, so nothing follows it.
    fn operand(&mut self) -> Result<ExprId> {
        match self.kind() {
            Kind::Backslash => self.nested(Self::lambda),
            Kind::If => self.nested(Self::branches),
            _ => self.unary(),
        }
    }

    fn unary(&mut self) -> Result<ExprId> {
        let mut signs = Vec::new();
        while matches!(self.kind(), Kind::Minus | Kind::Bang) {
            let number = matches!(self.ahead(1).kind, Kind::Int(_) | Kind::Float(_) | Kind::Duration(_));
            if self.kind() == Kind::Minus && number {
                break;
            }
            let token = self.bump();
            signs.push((if token.kind == Kind::Bang { UnaryOp::Not } else { UnaryOp::Negate }, token.span));
        }
        if !signs.is_empty() && matches!(self.kind(), Kind::If | Kind::Backslash) {
            return Err(self.expected("an operand", Some("put it into brackets")));
        }
        let mut value = self.post()?;
        for (op, span) in signs.into_iter().rev() {
            let whole = span.to(self.root.expr(value).span);
            value = self.add(ExprKind::Unary(op, value), whole)?;
        }
        Ok(value)
    }

    /// A value with what follows it: `(…)`, `[n]`, `.f`, `.0`.
    fn post(&mut self) -> Result<ExprId> {
        let mut value = self.atom()?;
        loop {
            let start = self.root.expr(value).span;
            let kind = match self.kind() {
                Kind::LeftParen => self.call(value)?,
                Kind::LeftBracket => self.delay(value)?,
                Kind::Dot => self.member(value)?,
                _ => return Ok(value),
            };
            value = self.add(kind, start.to(self.before()))?;
        }
    }

    fn call(&mut self, function: ExprId) -> Result<ExprKind> {
        let opening = self.bump().span;
        let arguments = self.exprs(opening, Kind::RightParen)?;
        if arguments.is_empty() {
            let place = opening.to(self.before());
            self.error(Code::ARITY, place, "a call has at least one argument", Some("a stream is read without brackets".to_owned()));
        }
        Ok(ExprKind::Call { function, arguments })
    }

    fn delay(&mut self, of: ExprId) -> Result<ExprKind> {
        let opening = self.bump().span;
        let start = self.span();
        let constant = if let Kind::Int(ticks) = self.kind() { Some(ticks) } else { None };
        let inner = self.expr()?;
        let plain = constant.filter(|_| matches!(self.root.expr(inner).kind, ExprKind::Literal(_)));
        let place = start.to(self.before());
        if !self.take(Kind::RightBracket) {
            return Err(self.unclosed(opening, "`]`"));
        }
        let ticks = plain.and_then(|ticks| u32::try_from(ticks).ok()).filter(|ticks| *ticks <= MAX_DELAY);
        if ticks.is_none() {
            let (message, hint) = match (plain, &self.root.expr(inner).kind) {
                (Some(_), _) => (format!("a delay has at most {MAX_DELAY} ticks"), "for a span of time use a window: `first(x over 1h)`"),
                (None, ExprKind::Literal(Literal::Int(_))) => ("a delay cannot be negative".to_owned(), "`x[1]` is x one tick ago"),
                _ => (
                    "a delay is a constant number of ticks".to_owned(),
                    "write a number, as in `x[1]`; an element of a list is `List.get(l, i)`",
                ),
            };
            self.error(Code::DELAY, place, message, Some(hint.to_owned()));
        }
        Ok(ExprKind::Delay { of, ticks: ticks.unwrap_or(1) })
    }

    fn member(&mut self, of: ExprId) -> Result<ExprKind> {
        self.bump();
        if let Kind::Digits(index) = self.kind() {
            let span = self.bump().span;
            return Ok(ExprKind::Item(of, index, span));
        }
        Ok(ExprKind::Field(of, self.field_name()?))
    }

    /// Expressions up to a closing bracket.
    pub(super) fn exprs(&mut self, opening: Span, close: Kind) -> Result<Vec<ExprId>> {
        let mut all = Vec::new();
        self.list(opening, close, |parser| {
            let expr = parser.expr()?;
            all.push(expr);
            Ok(())
        })?;
        Ok(all)
    }

    fn atom(&mut self) -> Result<ExprId> {
        let start = self.span();
        let kind = match self.kind() {
            Kind::Minus | Kind::Int(_) | Kind::Float(_) | Kind::Duration(_) => self.number()?,
            Kind::Str => {
                self.bump();
                ExprKind::Literal(Literal::Str(self.decoded(start).into()))
            }
            Kind::True | Kind::False => ExprKind::Literal(Literal::Bool(self.bump().kind == Kind::True)),
            Kind::Bad => {
                self.bump();
                ExprKind::Error
            }
            Kind::LeftParen => self.brackets()?,
            Kind::LeftBracket => {
                self.bump();
                ExprKind::List(self.exprs(start, Kind::RightBracket)?)
            }
            Kind::LeftBrace => self.structure()?,
            Kind::Name => return self.name(),
            Kind::Dot if matches!(self.ahead(1).kind, Kind::Digits(_)) => {
                return Err(self.expected("an expression", Some("a point has digits on both sides: `0.5`")));
            }
            _ => return Err(self.expected("an expression", None)),
        };
        self.add(kind, start.to(self.before()))
    }

    /// The text that a token of that kind stands for.
    pub(super) fn decoded(&self, span: Span) -> String {
        let raw = self.word(span);
        let raw = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default();
        literal::text(raw).0
    }

    /// A number or Duration, perhaps with its minus.
    fn number(&mut self) -> Result<ExprKind> {
        let negative = self.take(Kind::Minus);
        let token = self.bump();
        let literal = match token.kind {
            Kind::Int(value) if negative => Literal::Int(0_i64.checked_sub_unsigned(value).unwrap_or(i64::MIN)),
            Kind::Int(value) => Literal::Int(i64::try_from(value).unwrap_or_else(|_| {
                let hint = Some("an Int ends at 9223372036854775807; a Float is written `9.3e18`".to_owned());
                self.error(Code::NUMBER_RANGE, token.span, "this number is too large for an Int", hint);
                i64::MAX
            })),
            Kind::Float(value) => Literal::Float(if negative { -value } else { value }),
            Kind::Duration(micros) => Literal::Duration(if negative { -micros } else { micros }),
            _ => return Err(self.expected("a number", None)),
        };
        Ok(ExprKind::Literal(literal))
    }

    /// `()`, `(e)`, `(a, b)`.
    fn brackets(&mut self) -> Result<ExprKind> {
        let opening = self.bump().span;
        let items = self.exprs(opening, Kind::RightParen)?;
        Ok(match items.as_slice() {
            [] => ExprKind::Literal(Literal::Unit),
            [one] => ExprKind::Paren(*one),
            _ => ExprKind::Tuple { items, word: false },
        })
    }

    fn structure(&mut self) -> Result<ExprKind> {
        let opening = self.bump().span;
        if self.kind() == Kind::RightBrace {
            return Err(self.expected("the name of a field", Some("a struct has at least one field: `{f: v}`")));
        }
        let mut fields = Vec::new();
        self.list(opening, Kind::RightBrace, |parser| {
            let name = parser.field_name()?;
            parser.expect(Kind::Colon)?;
            let value = parser.expr()?;
            fields.push((name, value));
            Ok(())
        })?;
        Ok(ExprKind::Struct(fields))
    }

    fn lambda(&mut self) -> Result<ExprId> {
        let start = self.bump().span;
        let mut params = Vec::new();
        loop {
            if !self.kind().is_word() {
                return Err(self.expected("the name of a parameter", Some("a function is written `\\x, y -> x + y`")));
            }
            let name = self.any_word();
            self.reserved(&name);
            let ty = if self.take(Kind::Colon) { Some(self.ty()?) } else { None };
            if params.len() >= MAX_PARAMS {
                self.error(Code::ARITY, name.span, format!("a function has at most {MAX_PARAMS} parameters"), None);
                return Err(super::Reported);
            }
            params.push(Param { name, ty });
            if !self.take(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::Arrow)?;
        let body = self.expr()?;
        self.add(ExprKind::Lambda { params, body }, start.to(self.root.expr(body).span))
    }

    /// `if … then … else if … then … else …`, as long as it goes on.
    fn branches(&mut self) -> Result<ExprId> {
        let mut chain = Vec::new();
        let last = loop {
            let start = self.bump().span;
            let condition = self.expr()?;
            self.keyword(Kind::Then, start)?;
            let then = self.expr()?;
            self.keyword(Kind::Else, start)?;
            chain.push((start, condition, then));
            if self.kind() != Kind::If {
                break self.expr()?;
            }
        };
        chain.into_iter().rev().try_fold(last, |other, (start, condition, then)| {
            let span = start.to(self.root.expr(other).span);
            self.add(ExprKind::If([condition, then, other]), span)
        })
    }

    fn keyword(&mut self, kind: Kind, start: Span) -> Result<()> {
        if self.take(kind) {
            return Ok(());
        }
        let (found, word) = (self.span(), kind.name());
        if matches!(self.kind(), Kind::Bad | Kind::Over) || self.habit().is_some() {
            return Err(self.expected(word, None));
        }
        let error = Diagnostic::new(Code::SYNTAX, found, format!("expected {word}, found {}", self.found()));
        self.errors.push(error.other(start, "of this `if`").hint("an `if` always has both branches: `if c then a else b`"));
        Err(super::Reported)
    }

    /// A stream, a parameter, or a built-in, known by the `(` or `.` after it.
    fn name(&mut self) -> Result<ExprId> {
        let span = self.bump().span;
        let word = self.word(span).to_owned();
        if self.kind() == Kind::Dot && builtins::is_family(&word) && self.ahead(1).kind.is_word() {
            self.bump();
            let second = self.bump().span;
            let name = format!("{word}.{}", self.word(second));
            return self.family(&name, span.to(second));
        }
        let kind = if self.kind() == Kind::LeftParen {
            let (builtin, aggregate) = (Builtin::of(&word), Aggregate::of(&word));
            match word.as_str() {
                "Map" => self.map()?,
                "Tuple" => self.tuple()?,
                "dynamic" | "eval" | "defer" => self.property(&word)?,
                _ if aggregate.is_some() => self.aggregate(span, aggregate.unwrap_or(Aggregate::Count), builtin)?,
                _ => match builtin {
                    Some(builtin) => self.builtin(span, builtin)?,
                    None => ExprKind::Name(word.into()),
                },
            }
        } else {
            ExprKind::Name(word.into())
        };
        self.add(kind, span.to(self.before()))
    }

    /// `List.get` and the like; `whole` is the name with its point.
    fn family(&mut self, name: &str, whole: Span) -> Result<ExprId> {
        let builtin = Builtin::of(name);
        if builtin.is_none() {
            let hint = self.meant(name, builtins::names().filter(|name| name.contains('.')));
            self.error(Code::UNKNOWN_BUILTIN, whole, format!("there is no built-in `{name}`"), hint);
        } else if self.kind() != Kind::LeftParen {
            let hint = Some(format!("a function of it is written `\\x -> {name}(x)`"));
            self.error(Code::UNKNOWN_BUILTIN, whole, format!("`{name}` is a built-in, which is always called"), hint);
        }
        let kind = match builtin {
            Some(builtin) if self.kind() == Kind::LeftParen => self.builtin(whole, builtin)?,
            _ => ExprKind::Error,
        };
        self.add(kind, whole.to(self.before()))
    }
}
