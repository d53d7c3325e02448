//! What a Rust file names: every path it writes down, and the declarations that a path can lead through.
//!
//! Reads tokens, so that `use` trees, expressions, types, macros' arguments and attributes count alike; a string inside
//! an attribute counts when it is a path and nothing else (`#[serde(with = "crate::…")]`). Owns the facts of one file
//! and of the whole of `src`. What the names mean is for `resolve`, whether they may stand there for the checks.

use super::rooms::MAIN;
use super::tokens::{self, Token};
use super::tree::{File, Tree};

/// A path written down somewhere.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    pub(super) segments: Vec<String>,
    /// `::a::b`: from the list of crates.
    pub(super) leading: bool,
    pub(super) role: Role,
    pub(super) at: Place,
    pub(super) line: usize,
}

/// What a path is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    /// A `use` that binds this name.
    Binds(String),
    /// `use a::*`
    Glob,
}

/// Where in the crate something stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) module: Vec<String>,
    /// Only built for tests.
    pub(super) test: bool,
    /// Inside an attribute: where its text is read from a string, the string's line.
    attribute: Option<usize>,
}

impl Place {
    fn module(module: Vec<String>) -> Self {
        Self { module, ..Self::default() }
    }
}

/// A name declared or called, and its line.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) at: Place,
}

/// What one file says.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) file: String,
    pub(super) module: Vec<String>,
    pub(super) mentions: Vec<Mention>,
    /// `mod name`, with and without a body.
    pub(super) modules: Vec<Named>,
    /// `macro_rules! name`
    pub(super) macros: Vec<Named>,
    /// `.name()`
    pub(super) calls: Vec<Named>,
    /// Functions that are tests.
    pub(super) tests: Vec<Named>,
    /// Text taken from another file than the module's own: which way, and its line.
    pub(super) detours: Vec<Named>,
}

/// The facts of all of `src`; what a `#[cfg(test)] mod name;` brings in is known to be a test.
pub(super) fn source(tree: &Tree) -> Vec<Facts> {
    let mut all: Vec<Facts> = tree.rust(&["src"]).map(|file| facts(file, module_of(&file.path))).collect();
    let declared = all.iter().flat_map(|facts| &facts.modules).filter(|module| module.at.test);
    let tests: Vec<Vec<String>> = declared.map(|module| within(&module.at.module, &module.name)).collect();
    for facts in &mut all {
        if tests.iter().any(|test| facts.module.starts_with(test)) {
            facts.mentions.iter_mut().for_each(|mention| mention.at.test = true);
            facts.calls.iter_mut().for_each(|call| call.at.test = true);
        }
    }
    all
}

/// The module that a file of `src` holds.
fn module_of(path: &str) -> Vec<String> {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let path = path.strip_suffix(".rs").unwrap_or(path);
    match path {
        "lib" => Vec::new(),
        "main" => vec![MAIN.to_owned()],
        _ => path.strip_suffix("/mod").unwrap_or(path).split('/').map(str::to_owned).collect(),
    }
}

/// What a file says, as the module it holds.
pub(super) fn facts(file: &File, module: Vec<String>) -> Facts {
    let mut facts = Facts { file: file.path.clone(), module: module.clone(), ..Facts::default() };
    facts.level(file.tokens(), &Place::module(module));
    facts
}

fn within(module: &[String], name: &str) -> Vec<String> {
    let mut path = module.to_vec();
    path.push(name.to_owned());
    path
}

/// What the attributes above an item say of it.
#[derive(Default)]
struct Above {
    only_for_tests: bool,
    is_test: bool,
}

impl Facts {
    /// Reads the tokens of one level: a file's, or those between two brackets.
    fn level(&mut self, level: &[Token], at: &Place) {
        let mut rest = level;
        let mut before = None;
        let mut above = Above::default();
        while let [first, ..] = rest {
            let here = Place { test: at.test || above.only_for_tests, ..at.clone() };
            let taken = if let Some((inner, taken)) = tokens::attribute(rest) {
                self.attribute(inner, &here, &mut above);
                taken
            } else {
                self.item(rest, &here, &above).unwrap_or_else(|| self.token(rest, before, &here))
            };
            let last = rest.get(taken.saturating_sub(1)).unwrap_or(first);
            if last.is_mark(';') || last.braces().is_some() {
                above = Above::default();
            }
            before = Some(last);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    fn attribute(&mut self, inner: &[Token], at: &Place, above: &mut Above) {
        let Some(first) = inner.first().filter(|first| !first.is_word("doc")) else {
            return;
        };
        above.is_test |= tokens::makes_a_test(inner);
        above.only_for_tests |= above.is_test || tokens::asks_for_test(inner);
        tokens::each(inner, &mut |rest| {
            if let [path, equals, text, ..] = rest
                && path.is_word("path")
                && equals.is_mark('=')
                && is_rust_file(text)
            {
                self.detours.push(named("#[path]", path.line, at));
            }
        });
        self.level(inner, &Place { attribute: Some(first.line), ..at.clone() });
    }

    /// Reads what declares something, and says how many tokens that took.
    fn item(&mut self, rest: &[Token], at: &Place, above: &Above) -> Option<usize> {
        let first = rest.first()?;
        match (first.word()?, rest.get(1)) {
            ("use", Some(next)) if !next.is_mark('<') => {
                let end = rest.iter().position(|token| token.is_mark(';')).unwrap_or(rest.len());
                self.use_tree(rest.get(1..end)?, &Branch::default(), at);
                return Some(end.saturating_add(1));
            }
            ("extern", Some(next)) if next.is_word("crate") => {
                let name = rest.get(2)?.word()?;
                let bound = if rest.get(3)?.is_word("as") { rest.get(4)?.word()? } else { name };
                let segment = if name == "self" { "crate" } else { name };
                let branch = Branch { segments: vec![segment.to_owned()], leading: name != "self" };
                self.mention(branch, Role::Binds(bound.to_owned()), at, first.line);
                return rest.iter().position(|token| token.is_mark(';'));
            }
            _ => {}
        }
        match rest {
            [_, name, body, ..] if first.is_word("mod") => {
                let name = name.word()?;
                self.modules.push(named(name, first.line, at));
                if let Some(body) = body.braces() {
                    self.level(body, &Place { module: within(&at.module, name), ..at.clone() });
                }
                Some(3)
            }
            [_, name, ..] if first.is_word("fn") && above.is_test => {
                self.tests.push(named(name.word()?, first.line, at));
                Some(2)
            }
            [_, bang, name, body, ..] if first.is_word("macro_rules") && bang.is_mark('!') => {
                self.macros.push(named(name.word()?, first.line, at));
                self.level(body.group()?, at);
                Some(4)
            }
            [_, bang, body, ..] if first.is_word("include") && bang.is_mark('!') => {
                if body.group()?.first().is_some_and(is_rust_file) {
                    self.detours.push(named("include!", first.line, at));
                }
                None
            }
            _ => None,
        }
    }

    /// Reads one token, or the path or call that begins with it, and says how many tokens that took.
    fn token(&mut self, rest: &[Token], before: Option<&Token>, at: &Place) -> usize {
        match rest {
            [dot, name, list, ..] if dot.is_mark('.') && list.parens().is_some_and(<[Token]>::is_empty) => {
                if let Some(name) = name.word() {
                    self.calls.push(named(name, dot.line, at));
                    return 3;
                }
                1
            }
            [colons, tail @ ..] if colons.is_colons() => {
                let goes_on = before.is_some_and(|token| token.word().is_some() || token.is_mark('>'));
                if goes_on { 1 } else { self.path(tail, true, at).saturating_add(1) }
            }
            [word, ..] if word.word().is_some() => self.path(rest, false, at),
            [one, ..] => {
                if let Some(inner) = one.group() {
                    self.level(inner, at);
                } else if let (Some(line), Some(text)) = (at.attribute, one.text()) {
                    self.path_in_string(text, line, at);
                }
                1
            }
            [] => 1,
        }
    }

    fn path(&mut self, rest: &[Token], leading: bool, at: &Place) -> usize {
        let mut segments = Vec::new();
        let mut left = rest;
        if let [first, tail @ ..] = left
            && let Some(word) = first.word()
        {
            segments.push(word.to_owned());
            left = tail;
        }
        while let [colons, next, tail @ ..] = left
            && colons.is_colons()
            && let Some(word) = next.word()
        {
            segments.push(word.to_owned());
            left = tail;
        }
        let taken = rest.len().saturating_sub(left.len());
        if let (true, Some(first)) = (segments.len() > 1, rest.first()) {
            self.mention(Branch { segments, leading }, Role::Plain, at, first.line);
        }
        taken
    }

    fn path_in_string(&mut self, text: &str, line: usize, at: &Place) {
        if text.contains("::")
            && syn::parse_str::<syn::Path>(text).is_ok()
            && let Ok(tokens) = tokens::read(text)
        {
            self.level(&tokens, &Place { attribute: Some(line), ..at.clone() });
        }
    }

    /// Reads one tree of a `use` and returns what follows it.
    fn use_tree<'t>(&mut self, tree: &'t [Token], stem: &Branch, at: &Place) -> &'t [Token] {
        let mut branch = stem.clone();
        let mut rest = tree;
        let line = tree.first().map_or(0, |token| token.line);
        while let [first, tail @ ..] = rest {
            if first.is_colons() {
                branch.leading |= branch.segments.is_empty();
            } else if first.is_mark('*') {
                self.mention(branch, Role::Glob, at, line);
                return tail;
            } else if let (true, [name, tail @ ..]) = (first.is_word("as"), tail) {
                let name = name.word().unwrap_or_default().to_owned();
                self.mention(branch, Role::Binds(name), at, line);
                return tail;
            } else if let Some(word) = first.word() {
                branch.segments.push(word.to_owned());
            } else if let Some(mut inner) = first.braces() {
                while !inner.is_empty() {
                    let after = self.use_tree(inner, &branch, at);
                    let comma = after.iter().position(|token| token.is_mark(',')).unwrap_or(after.len());
                    inner = after.get(comma.saturating_add(1)..).unwrap_or_default();
                }
                return tail;
            } else if !first.is_mark('$') {
                break;
            }
            rest = tail;
        }
        if branch.segments.len() > stem.segments.len() {
            let segments = &branch.segments;
            let last = segments.iter().rev().find(|segment| *segment != "self").cloned().unwrap_or_default();
            self.mention(branch, Role::Binds(last), at, line);
        }
        rest
    }

    fn mention(&mut self, mut branch: Branch, role: Role, at: &Place, line: usize) {
        if branch.segments.len() > 1 && branch.segments.last().is_some_and(|last| last == "self") {
            branch.segments.pop();
        }
        if !branch.segments.is_empty() {
            let Branch { segments, leading } = branch;
            let line = at.attribute.unwrap_or(line);
            self.mentions.push(Mention { segments, leading, role, at: at.clone(), line });
        }
    }
}

/// A path so far.
#[derive(Clone, Default)]
struct Branch {
    segments: Vec<String>,
    leading: bool,
}

fn named(name: &str, line: usize, at: &Place) -> Named {
    Named { name: name.to_owned(), line: at.attribute.unwrap_or(line), at: at.clone() }
}

fn is_rust_file(token: &Token) -> bool {
    token.text().is_some_and(|text| std::path::Path::new(text).extension().is_some_and(|end| end == "rs"))
}

#[cfg(test)]
mod tests {
    //! The forms in which a path can be written.

    use super::super::tree::File;
    use super::{Role, facts, module_of};

    fn written(text: &str) -> Vec<String> {
        let file = File::new("src/a/mod.rs".into(), text.into());
        let read = facts(&file, module_of(&file.path));
        let line = |mention: &super::Mention| {
            let start = if mention.leading { "::" } else { "" };
            let end = match &mention.role {
                Role::Plain => String::new(),
                Role::Binds(name) => format!(" as {name}"),
                Role::Glob => "::*".to_owned(),
            };
            format!("{}: {start}{}{end}", mention.line, mention.segments.join("::"))
        };
        read.mentions.iter().map(line).collect()
    }

    #[test]
    fn a_use_is_read_through_groups_renames_and_globs() {
        assert_eq!(
            written("use ::x::y;\npub use crate::{self as c, b::{self, C as D,\n e::*}};\nextern crate kube as k;"),
            ["1: ::x::y as y", "2: crate as c", "2: crate::b as b", "2: crate::b::C as D", "3: crate::b::e::*", "4: ::kube as k"]
        );
        assert_eq!(written("fn f() -> impl Sized + use<'_> {}"), [""; 0]);
    }

    #[test]
    fn a_path_is_read_in_expressions_types_macros_and_attributes() {
        assert_eq!(
            written("#[serde(with = \"crate::b\", rename = \"not a::path\")]\nstruct S(Vec<crate::c::C>);"),
            ["1: crate::b", "2: crate::c::C"]
        );
        assert_eq!(
            written("fn f(x: ::d::D) -> ::e::E {\n m!(a, [super::f::F]);\n <g::G as h::H>::i::<j::J>(); }"),
            ["1: ::d::D", "1: ::e::E", "2: super::f::F", "3: g::G", "3: h::H", "3: j::J"]
        );
        assert_eq!(written("/// See `crate::b::C`.\n#[doc(alias = \"crate::x\")]\nfn f() {}"), [""; 0]);
    }

    #[test]
    fn a_file_is_the_module_that_its_path_says() {
        for (path, module) in [
            ("src/lib.rs", ""),
            ("src/main.rs", "main"),
            ("src/a.rs", "a"),
            ("src/a/mod.rs", "a"),
            ("src/a/b.rs", "a::b"),
            ("src/a/b/mod.rs", "a::b"),
        ] {
            assert_eq!(module_of(path).join("::"), module, "{path}");
        }
    }
}
