//! Written types.

use super::{Parser, Result};
use crate::lang::syntax::{Span, TypeExpr, TypeId, TypeKind};
use crate::lang::token::Kind;

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Result<TypeId> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = match parser.kind() {
                Kind::Name => parser.named_type()?,
                Kind::LeftParen => parser.bracketed_type()?,
                _ => return Err(parser.expected("a type", None)),
            };
            let span = start.to(parser.before());
            let id = TypeId(u32::try_from(parser.root.types.len()).unwrap_or(u32::MAX));
            parser.root.types.push(TypeExpr { kind, span });
            Ok(id)
        })
    }

    fn named_type(&mut self) -> Result<TypeKind> {
        let name = self.any_word();
        let opening = self.span();
        if !self.take(Kind::Less) {
            return Ok(TypeKind::Name(name.text));
        }
        if &*name.text == "Struct" {
            return self.struct_type(opening);
        }
        let of = self.ty()?;
        if self.kind() == Kind::Comma && &*name.text == "Map" && !matches!(self.ahead(1).kind, Kind::Greater | Kind::GreaterEqual) {
            return Err(self.expected("`>`", Some("the keys of a map are always Str: `Map<Int>`")));
        }
        self.take(Kind::Comma);
        self.greater(opening)?;
        Ok(TypeKind::Of(name, of))
    }

    fn struct_type(&mut self, opening: Span) -> Result<TypeKind> {
        let (mut fields, mut open) = (Vec::new(), false);
        loop {
            if !fields.is_empty() && self.take(Kind::Ellipsis) {
                open = true;
                self.take(Kind::Comma);
                break;
            }
            let name = self.field_name()?;
            self.expect(Kind::Colon)?;
            let ty = self.ty()?;
            fields.push((name, ty));
            if !self.take(Kind::Comma) || matches!(self.kind(), Kind::Greater | Kind::GreaterEqual) {
                break;
            }
        }
        self.greater(opening)?;
        Ok(TypeKind::Struct { fields, open })
    }

    /// The `>` that closes a type, perhaps the first half of `>=`.
    fn greater(&mut self, opening: Span) -> Result<()> {
        if self.kind() == Kind::GreaterEqual {
            let at = self.at;
            if let Some(token) = self.tokens.get_mut(at) {
                token.kind = Kind::Assign;
                token.span.start += 1;
            }
            self.splits.push(at);
            return Ok(());
        }
        if self.take(Kind::Greater) { Ok(()) } else { Err(self.unclosed(opening, "`>`")) }
    }

    /// `(A, B)`, `(A -> B)`, `(A)`.
    fn bracketed_type(&mut self) -> Result<TypeKind> {
        let opening = self.bump().span;
        if self.kind() == Kind::RightParen {
            return Err(self.expected("a type", Some("the type of `()` is `Unit`")));
        }
        let mut types = vec![self.ty()?];
        if self.kind() == Kind::Arrow {
            while self.take(Kind::Arrow) {
                types.push(self.ty()?);
            }
            self.take(Kind::Comma);
            return if self.take(Kind::RightParen) { Ok(TypeKind::Arrow(types)) } else { Err(self.unclosed(opening, "`->` or `)`")) };
        }
        if self.take(Kind::Comma) {
            self.list(opening, Kind::RightParen, |parser| {
                let ty = parser.ty()?;
                types.push(ty);
                Ok(())
            })?;
        } else if !self.take(Kind::RightParen) {
            return Err(self.unclosed(opening, "`,`, `->` or `)`"));
        }
        Ok(if types.len() == 1 { TypeKind::Arrow(types) } else { TypeKind::Tuple(types) })
    }
}
