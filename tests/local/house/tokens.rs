//! Rust text as tokens with their lines: what the checks match on.
//!
//! Owns the token type and the reading of one file. Tokens, not syntax, because a path inside a macro's arguments or an
//! attribute is an edge like any other. Comments are not tokens; a doc comment is a `#[doc = …]` attribute. It knows no
//! rule.

use std::str::FromStr;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// One token; a group holds the tokens between its brackets.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) line: usize,
    pub(super) kind: Kind,
}

/// What a token is, as far as a check asks.
#[derive(Debug)]
pub(super) enum Kind {
    Word(String),
    /// `::`
    Colons,
    /// `->` or `=>`, so that their `>` is not taken for the end of a list of types.
    Arrow,
    Mark(char),
    /// The value of a string literal.
    Text(String),
    /// Any other literal.
    Value,
    Group(Delimiter, Vec<Token>),
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        if let Kind::Word(word) = &self.kind { Some(word) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        matches!(self.kind, Kind::Mark(own) if own == mark)
    }

    pub(super) fn is_colons(&self) -> bool {
        matches!(self.kind, Kind::Colons)
    }

    pub(super) fn group(&self) -> Option<&[Token]> {
        if let Kind::Group(_, inner) = &self.kind { Some(inner) } else { None }
    }

    pub(super) fn braces(&self) -> Option<&[Token]> {
        self.within(Delimiter::Brace)
    }

    pub(super) fn parens(&self) -> Option<&[Token]> {
        self.within(Delimiter::Parenthesis)
    }

    pub(super) fn brackets(&self) -> Option<&[Token]> {
        self.within(Delimiter::Bracket)
    }

    fn within(&self, delimiter: Delimiter) -> Option<&[Token]> {
        match &self.kind {
            Kind::Group(own, inner) if *own == delimiter => Some(inner),
            _ => None,
        }
    }
}

/// The tokens of a Rust text.
pub(super) fn read(text: &str) -> Result<Vec<Token>, (usize, String)> {
    let stream = TokenStream::from_str(text).map_err(|error| (error.span().start().line, error.to_string()))?;
    Ok(tokens(stream))
}

fn tokens(stream: TokenStream) -> Vec<Token> {
    let mut read: Vec<Token> = Vec::new();
    let mut joint = None;
    for tree in stream {
        let line = tree.span().start().line;
        let before = joint.take();
        let kind = match tree {
            TokenTree::Ident(word) => Kind::Word(word.to_string()),
            TokenTree::Group(group) => Kind::Group(group.delimiter(), tokens(group.stream())),
            TokenTree::Literal(literal) => match syn::Lit::new(literal) {
                syn::Lit::Str(text) => Kind::Text(text.value()),
                _ => Kind::Value,
            },
            TokenTree::Punct(punct) => {
                let mark = punct.as_char();
                let pair = match (before, mark) {
                    (Some(':'), ':') => Some(Kind::Colons),
                    (Some('-' | '='), '>') => Some(Kind::Arrow),
                    _ => None,
                };
                if let (Some(kind), Some(last)) = (pair, read.last_mut()) {
                    last.kind = kind;
                    continue;
                }
                if punct.spacing() == Spacing::Joint {
                    joint = Some(mark);
                }
                Kind::Mark(mark)
            }
        };
        read.push(Token { line, kind });
    }
    read
}

/// Calls `look` with what is left of its level at every token, at every depth.
pub(super) fn each<'t>(level: &'t [Token], look: &mut dyn FnMut(&'t [Token])) {
    let mut rest = level;
    while let [first, tail @ ..] = rest {
        look(rest);
        if let Some(inner) = first.group() {
            each(inner, look);
        }
        rest = tail;
    }
}

/// An attribute at the start of `rest`: what stands between its brackets, and how many tokens it takes.
pub(super) fn attribute(rest: &[Token]) -> Option<(&[Token], usize)> {
    match rest {
        [hash, group, ..] if hash.is_mark('#') => group.brackets().map(|inner| (inner, 2)).or_else(|| match rest {
            [_, bang, group, ..] if bang.is_mark('!') => group.brackets().map(|inner| (inner, 3)),
            _ => None,
        }),
        _ => None,
    }
}

/// Whether an attribute says `cfg(test)`, or a `cfg(all(…))` that asks for it.
pub(super) fn asks_for_test(attribute: &[Token]) -> bool {
    fn predicate(tokens: &[Token]) -> bool {
        match tokens {
            [word] => word.is_word("test"),
            [all, list] if all.is_word("all") => list.parens().is_some_and(|list| list.split(|token| token.is_mark(',')).any(predicate)),
            _ => false,
        }
    }
    match attribute {
        [cfg, group] if cfg.is_word("cfg") => group.parens().is_some_and(predicate),
        _ => false,
    }
}

/// Whether an attribute makes the function under it a test: `#[test]`, `#[tokio::test(…)]`.
pub(super) fn makes_a_test(attribute: &[Token]) -> bool {
    let path = attribute.iter().take_while(|token| token.word().is_some() || token.is_colons());
    path.last().is_some_and(|last| last.is_word("test"))
}

#[test]
fn tokens_keep_their_lines_and_join_their_colons() -> Result<(), super::Told> {
    let read = read("a::b(\n\"c\",\n|x| -> u8 {})").map_err(|(line, error)| super::Told(format!("{line}: {error}")))?;
    let [a, colons, b, group] = read.as_slice() else {
        return Err(super::Told(format!("{read:?}")));
    };
    assert!(a.is_word("a") && colons.is_colons() && b.is_word("b"));
    let inner = group.parens().unwrap_or_default();
    assert_eq!(inner.first().map(|token| (token.line, token.text())), Some((2, Some("c"))));
    assert!(inner.iter().any(|token| matches!(token.kind, Kind::Arrow) && token.line == 3));
    Ok(())
}

#[test]
fn what_is_only_built_for_tests_is_told_by_its_attribute() -> Result<(), super::Told> {
    for (text, expected) in [
        ("#[cfg(test)]", true),
        ("#[cfg(all(test, feature = \"operator\"))]", true),
        ("#[cfg(not(test))]", false),
        ("#[cfg(any(test, feature = \"simulation\"))]", false),
        ("#[cfg(feature = \"test\")]", false),
    ] {
        let read = read(text).map_err(|(_, error)| super::Told(error))?;
        let found = attribute(&read).is_some_and(|(inner, _)| asks_for_test(inner));
        assert_eq!(found, expected, "{text}");
    }
    Ok(())
}
