//! Words with brackets of their own: `Map`, `Tuple`, `dynamic`, built-ins, aggregates and their windows.

use super::{Parser, Result};
use crate::lang::builtins::{Aggregate, Builtin};
use crate::lang::codes::Code;
use crate::lang::literal::duration_text;
use crate::lang::syntax::{ExprId, ExprKind, Name, Span, TextWord, Window};
use crate::lang::token::Kind;

impl Parser<'_> {
    pub(super) fn map(&mut self) -> Result<ExprKind> {
        let opening = self.bump().span;
        let mut entries = Vec::new();
        self.list(opening, Kind::RightParen, |parser| {
            if parser.kind() != Kind::Str {
                return Err(parser.expected("a text as key", Some("a map is written `Map(\"a\": 1, \"b\": 2)`")));
            }
            let span = parser.bump().span;
            let key = Name { text: parser.decoded(span).into(), span };
            parser.expect(Kind::Colon)?;
            let value = parser.expr()?;
            entries.push((key, value));
            Ok(())
        })?;
        Ok(ExprKind::Map(entries))
    }

    pub(super) fn tuple(&mut self) -> Result<ExprKind> {
        let opening = self.bump().span;
        let items = self.exprs(opening, Kind::RightParen)?;
        if items.len() < 2 {
            self.error(Code::ARITY, opening.to(self.before()), "a tuple has at least two places", None);
            return Ok(ExprKind::Error);
        }
        Ok(ExprKind::Tuple { items, word: true })
    }

    /// The arguments of a built-in.
    pub(super) fn builtin(&mut self, name: Span, builtin: Builtin) -> Result<ExprKind> {
        let opening = self.bump().span;
        let arguments = self.exprs(opening, Kind::RightParen)?;
        Ok(self.counted(name, builtin, arguments))
    }

    fn counted(&mut self, name: Span, builtin: Builtin, arguments: Vec<ExprId>) -> ExprKind {
        let (least, most) = builtin.arity();
        if (least..=most).contains(&arguments.len()) {
            return ExprKind::Builtin { builtin, name, arguments };
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} or {most}") };
        let plural = if most == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} argument{plural}, not {}", builtin.name(), arguments.len());
        let both = Aggregate::of(builtin.name()).is_some() && arguments.len() == 1;
        let hint = both.then(|| format!("as an aggregate it is written `{}(x over 5m)`", builtin.name()));
        self.error(Code::ARITY, name.to(self.before()), message, hint);
        ExprKind::Error
    }

    /// An aggregate, or the function of the same name (`min`, `max`).
    pub(super) fn aggregate(&mut self, name: Span, aggregate: Aggregate, function: Option<Builtin>) -> Result<ExprKind> {
        let opening = self.bump().span;
        let mut arguments = Vec::new();
        if self.kind() != Kind::RightParen {
            arguments.push(self.expr()?);
        }
        if let (Kind::Over, [of]) = (self.kind(), arguments.as_slice()) {
            let of = *of;
            self.bump();
            let window = self.window()?;
            self.take(Kind::Comma);
            if !self.take(Kind::RightParen) {
                return Err(self.unclosed(opening, "`)`"));
            }
            return Ok(ExprKind::Window { aggregate, of, window });
        }
        let Some(builtin) = function else {
            if self.kind() == Kind::End || self.starts_item() {
                return Err(self.unclosed(opening, "`over`"));
            }
            let hint = Some(format!("write `{0}(x over 5m)` or `{0}(x over last 100)`", aggregate.name()));
            self.error(Code::WINDOW_PLACE, name, format!("`{}` is an aggregate: it needs a window", aggregate.name()), hint);
            return Err(super::Reported);
        };
        if self.kind() != Kind::RightParen && !self.take(Kind::Comma) {
            return Err(self.unclosed(opening, "`,`, `over` or `)`"));
        }
        arguments.extend(self.exprs(opening, Kind::RightParen)?);
        Ok(self.counted(name, builtin, arguments))
    }

    fn window(&mut self) -> Result<Window> {
        let start = self.span();
        if self.at_name("last") {
            self.bump();
            let Kind::Int(count) = self.kind() else { return Err(self.expected("a number of values", None)) };
            let span = self.bump().span;
            if count == 0 {
                self.error(Code::WINDOW, span, "this window holds nothing", Some("a window has at least one value".to_owned()));
            }
            return Ok(Window::Last { count: count.max(1) });
        }
        let Kind::Duration(micros) = self.kind() else {
            return Err(self.expected("a Duration or `last`", Some("write `over 5m`, `over last 100` or `over 1h by 10s`")));
        };
        self.bump();
        if !self.at_name("by") {
            self.above_zero(start, micros);
            return Ok(Window::Time { micros: micros.max(1) });
        }
        self.bump();
        let span = self.span();
        let Kind::Duration(pane) = self.kind() else { return Err(self.expected("a Duration", None)) };
        self.bump();
        self.above_zero(start, micros);
        self.above_zero(span, pane);
        let (micros, pane_micros) = (micros.max(1), pane.max(1));
        if micros % pane_micros != 0 {
            let whole = (micros / pane_micros).max(1).saturating_mul(pane_micros);
            let message = format!("{} is no whole number of panes of {}", duration_text(micros), duration_text(pane_micros));
            let hint = format!("for instance `over {} by {}`", duration_text(whole), duration_text(pane_micros));
            self.error(Code::WINDOW, start.to(span), message, Some(hint));
        }
        Ok(Window::Panes { pane_micros, panes: u64::try_from(micros / pane_micros).unwrap_or(1).max(1) })
    }

    fn above_zero(&mut self, span: Span, micros: i64) {
        if micros == 0 {
            self.error(Code::WINDOW, span, "this window is empty", Some("a window and its panes are longer than nothing".to_owned()));
        }
    }

    /// `dynamic(s: T, {x, y})` and its like.
    pub(super) fn property(&mut self, word: &str) -> Result<ExprKind> {
        let word = match word {
            "dynamic" => TextWord::Dynamic,
            "eval" => TextWord::Eval,
            _ => TextWord::Defer,
        };
        let opening = self.bump().span;
        let source = self.expr()?;
        let ty = if self.take(Kind::Colon) { Some(self.ty()?) } else { None };
        let mut scope = None;
        if self.take(Kind::Comma) && self.kind() != Kind::RightParen {
            let brace = self.span();
            if !self.take(Kind::LeftBrace) {
                return Err(self.expected("`{`", Some("the streams that the text may name: `dynamic(s: Int, {x, y})`")));
            }
            let mut names = Vec::new();
            self.list(brace, Kind::RightBrace, |parser| {
                if parser.kind() != Kind::Name {
                    return Err(parser.expected("the name of a stream", None));
                }
                names.push(parser.any_word());
                Ok(())
            })?;
            scope = Some(names);
            self.take(Kind::Comma);
        }
        if self.take(Kind::RightParen) {
            Ok(ExprKind::Text { word, source, ty, scope })
        } else {
            Err(self.unclosed(opening, "`:`, `,` or `)`"))
        }
    }
}
