//! From the tree to layout steps, token by token.

use super::layout::Step;
use crate::lang::parser::Parsed;
use crate::lang::syntax::{ExprId, ExprKind, Root, Span, TypeId, TypeKind};
use crate::lang::token::{Comment, Kind, Token};

pub(super) struct Printer<'text> {
    text: &'text str,
    root: &'text Root,
    tokens: std::iter::Peekable<std::slice::Iter<'text, Token>>,
    comments: std::iter::Peekable<std::slice::Iter<'text, Comment>>,
    /// Where the last token or comment ended.
    end: u32,
    steps: Vec<Step<'text>>,
}

impl<'text> Printer<'text> {
    pub(super) fn new(text: &'text str, parsed: &'text Parsed) -> Self {
        let (tokens, comments) = (parsed.tokens.iter().peekable(), parsed.comments.iter().peekable());
        Self { text, root: &parsed.root, tokens, comments, end: 0, steps: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<Step<'text>> {
        self.steps
    }

    fn kind(&mut self) -> Kind {
        self.tokens.peek().map_or(Kind::End, |token| token.kind)
    }

    /// Where the next token stands.
    fn next(&mut self) -> u32 {
        self.tokens.peek().map_or(u32::MAX, |token| token.span.start)
    }

    /// How many line breaks stand between what was last and this place.
    fn breaks(&self, start: u32) -> usize {
        Span::new(self.end, start).of(self.text).matches('\n').count()
    }

    /// Comments on the line of the token before.
    fn trailing(&mut self) {
        while let Some(comment) = self.comments.peek().copied() {
            if comment.span.start > self.next() || self.end == 0 || self.breaks(comment.span.start) > 0 {
                return;
            }
            self.comments.next();
            self.steps.push(Step::Space);
            self.comment(comment);
        }
    }

    fn comment(&mut self, comment: &Comment) {
        self.steps.push(Step::Text(comment.span.of(self.text)));
        self.steps.push(if comment.line { Step::Hard } else { Step::Space });
        self.end = comment.span.end;
    }

    /// Comments on lines of their own, up to the next token.
    fn leading(&mut self, between_items: bool) {
        while let Some(comment) = self.comments.peek().copied() {
            if comment.span.start > self.next() {
                return;
            }
            self.comments.next();
            let breaks = self.breaks(comment.span.start);
            let own = breaks > 0 || self.end == 0;
            self.steps.push(match breaks {
                2.. if between_items => Step::Blank,
                _ if own => Step::Hard,
                _ => Step::Space,
            });
            self.comment(comment);
            let after = self.comments.peek().map_or(u32::MAX, |comment| comment.span.start).min(self.next());
            if own && self.breaks(after) > 0 {
                self.steps.push(Step::Hard);
            }
        }
    }

    /// The next token, after the comments before it.
    fn token(&mut self) {
        self.trailing();
        self.leading(false);
        if let Some(token) = self.tokens.next() {
            self.steps.push(Step::Text(token.span.of(self.text)));
            self.end = token.span.end;
        }
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.token();
        }
        found
    }

    /// A blank or break; comments of the line before it stay there.
    fn gap(&mut self, step: Step<'text>) {
        self.trailing();
        self.steps.push(step);
    }

    pub(super) fn root(&mut self) {
        let root = self.root;
        for item in &root.items {
            self.leading(true);
            if self.breaks(item.span.start) > 1 && self.end > 0 {
                self.steps.push(Step::Blank);
            }
            self.token();
            self.steps.push(Step::Indent);
            if item.kind.is_some() {
                self.gap(Step::Space);
                self.token();
            }
            if let Some(ty) = item.ty {
                self.token();
                self.gap(Step::Space);
                self.ty(ty);
            }
            if let Some(value) = item.value {
                self.gap(Step::Space);
                self.token();
                self.gap(Step::Space);
                self.expr(value);
            }
            self.trailing();
            self.steps.push(Step::Dedent);
            self.steps.push(Step::Hard);
        }
        self.leading(true);
    }

    /// What stands in brackets: tokens before the opening one are out already.
    fn brackets(&mut self, inner: impl FnOnce(&mut Self)) {
        self.steps.push(Step::Begin);
        self.token();
        self.steps.push(Step::Indent);
        self.gap(Step::Soft);
        inner(self);
        self.gap(Step::Soft);
        self.steps.push(Step::Dedent);
        let at = self.steps.len();
        self.steps.swap(at - 2, at - 1);
        self.token();
        self.steps.push(Step::End);
    }

    /// Items with commas between them, and perhaps one at the end.
    fn separated<T>(&mut self, items: impl IntoIterator<Item = T>, mut one: impl FnMut(&mut Self, T)) {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.token();
                self.gap(Step::Line);
            }
            one(self, item);
        }
        self.take(Kind::Comma);
    }

    fn ty(&mut self, id: TypeId) {
        let root = self.root;
        match &root.ty(id).kind {
            TypeKind::Error | TypeKind::Name(_) => self.token(),
            TypeKind::Of(_, of) => {
                self.token();
                self.brackets(|printer| printer.separated([*of], Self::ty));
            }
            TypeKind::Struct { fields, open } => {
                self.token();
                self.brackets(|printer| {
                    printer.separated(fields, |printer, (_, ty)| {
                        printer.token();
                        printer.token();
                        printer.gap(Step::Space);
                        printer.ty(*ty);
                    });
                    if *open {
                        printer.gap(Step::Line);
                        printer.token();
                        printer.take(Kind::Comma);
                    }
                });
            }
            TypeKind::Tuple(items) => self.brackets(|printer| printer.separated(items.iter().copied(), Self::ty)),
            TypeKind::Arrow(types) => self.brackets(|printer| {
                for (at, ty) in types.iter().enumerate() {
                    if at > 0 {
                        printer.gap(Step::Space);
                        printer.token();
                        printer.gap(Step::Line);
                    }
                    printer.ty(*ty);
                }
                printer.take(Kind::Comma);
            }),
        }
    }

    /// An expression: down the first operands in a loop, then up again.
    fn expr(&mut self, id: ExprId) {
        let root = self.root;
        let (mut at, mut frames) = (id, Vec::new());
        let mut level = 0;
        loop {
            let kind = &root.expr(at).kind;
            at = match kind {
                ExprKind::Binary(op, _, [left, _]) => {
                    let begins = op.level() != level;
                    if begins {
                        self.steps.push(Step::Begin);
                    }
                    level = op.level();
                    frames.push((at, begins));
                    *left
                }
                ExprKind::Unary(_, of) => {
                    self.token();
                    frames.push((at, false));
                    *of
                }
                ExprKind::Delay { of, .. } | ExprKind::Field(of, _) | ExprKind::Item(of, ..) | ExprKind::Call { function: of, .. } => {
                    frames.push((at, false));
                    *of
                }
                kind => {
                    self.base(at, kind);
                    break;
                }
            };
        }
        while let Some((frame, begins)) = frames.pop() {
            self.frame(&root.expr(frame).kind);
            if begins {
                self.steps.push(Step::End);
            }
        }
    }

    fn frame(&mut self, kind: &'text ExprKind) {
        match kind {
            ExprKind::Binary(_, _, [_, right]) => {
                self.gap(Step::Line);
                self.token();
                self.gap(Step::Space);
                self.expr(*right);
            }
            ExprKind::Delay { .. } => (0..3).for_each(|_| self.token()),
            ExprKind::Field(..) | ExprKind::Item(..) => (0..2).for_each(|_| self.token()),
            ExprKind::Call { arguments, .. } => self.arguments(arguments),
            _ => {}
        }
    }

    fn arguments(&mut self, arguments: &[ExprId]) {
        self.brackets(|printer| printer.separated(arguments.iter().copied(), Self::expr));
    }

    fn base(&mut self, id: ExprId, kind: &'text ExprKind) {
        match kind {
            ExprKind::Literal(_) => {
                let two = matches!(self.kind(), Kind::Minus | Kind::LeftParen);
                (0..if two { 2 } else { 1 }).for_each(|_| self.token());
            }
            ExprKind::Paren(inner) => self.arguments(std::slice::from_ref(inner)),
            ExprKind::Tuple { items, word } => {
                if *word {
                    self.token();
                }
                self.arguments(items);
            }
            ExprKind::List(items) => self.arguments(items),
            ExprKind::Struct(entries) => self.entries(entries),
            ExprKind::Map(entries) => {
                self.token();
                self.entries(entries);
            }
            ExprKind::If(_) => self.branches(id),
            ExprKind::Lambda { params, body } => {
                self.token();
                for (at, param) in params.iter().enumerate() {
                    if at > 0 {
                        self.token();
                        self.gap(Step::Space);
                    }
                    self.token();
                    if let Some(ty) = param.ty {
                        self.token();
                        self.gap(Step::Space);
                        self.ty(ty);
                    }
                }
                self.gap(Step::Space);
                self.token();
                self.gap(Step::Space);
                self.expr(*body);
            }
            ExprKind::Builtin { arguments, .. } => {
                self.token();
                if self.kind() == Kind::Dot {
                    self.token();
                    self.token();
                }
                self.arguments(arguments);
            }
            ExprKind::Text { source, ty, scope, .. } => self.property(*source, *ty, scope.as_ref().map(Vec::len)),
            ExprKind::Window { of, .. } => self.window(*of),
            _ => self.token(),
        }
    }

    fn entries<K>(&mut self, entries: &[(K, ExprId)]) {
        self.brackets(|printer| {
            printer.separated(entries, |printer, (_, value)| {
                printer.token();
                printer.token();
                printer.gap(Step::Space);
                printer.expr(*value);
            });
        });
    }

    fn branches(&mut self, id: ExprId) {
        let root = self.root;
        let mut at = id;
        self.steps.push(Step::Begin);
        while let ExprKind::If([condition, then, other]) = &root.expr(at).kind {
            self.token();
            self.gap(Step::Space);
            self.expr(*condition);
            self.gap(Step::Space);
            self.token();
            self.gap(Step::Space);
            self.expr(*then);
            self.gap(Step::Line);
            self.token();
            self.gap(Step::Space);
            at = *other;
        }
        self.expr(at);
        self.steps.push(Step::End);
    }

    fn property(&mut self, source: ExprId, ty: Option<TypeId>, scope: Option<usize>) {
        self.token();
        self.brackets(|printer| {
            printer.expr(source);
            if let Some(ty) = ty {
                printer.token();
                printer.gap(Step::Space);
                printer.ty(ty);
            }
            if let Some(names) = scope {
                printer.token();
                printer.gap(Step::Line);
                printer.brackets(|printer| printer.separated(0..names, |printer, _| printer.token()));
            }
            printer.take(Kind::Comma);
        });
    }

    fn window(&mut self, of: ExprId) {
        self.token();
        self.brackets(|printer| {
            printer.expr(of);
            printer.gap(Step::Line);
            printer.token();
            while !matches!(printer.kind(), Kind::RightParen | Kind::Comma | Kind::End) {
                printer.gap(Step::Space);
                printer.token();
            }
            printer.take(Kind::Comma);
        });
    }
}
