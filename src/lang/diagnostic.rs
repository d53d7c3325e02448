//! Errors of a program: where, what, and what to do.
//!
//! Owns: one error with its places and hint, all errors of a text, their order, their text and their structured form.
//! May not: decide what is an error.

use super::codes::Code;
use super::syntax::Span;
use crate::error::Meaning;
use codespan_reporting::diagnostic::{Diagnostic as Drawn, Label, Severity};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term::{Chars, Config, emit_into_string};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// More errors than this are counted, not kept.
const MOST: usize = 100;
/// With more errors than this, further ones get no costly hint.
const HINTED: usize = 20;
/// So many are kept until they are sorted.
const KEPT: usize = 1_000;
/// Longer lines are not drawn.
const LONGEST_LINE: usize = 1_000;

/// One error (or warning) of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: Code,
    /// What is wrong, in one line.
    pub message: String,
    /// The place.
    pub span: Span,
    /// What stands under the place; may be empty.
    pub label: String,
    /// Further places that explain it.
    pub others: Vec<(Span, String)>,
    /// What to do, where something is likely.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub(super) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, label: String::new(), others: Vec::new(), hint: None }
    }

    /// With words under the place.
    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With a further place.
    pub(super) fn other(mut self, span: Span, label: impl Into<String>) -> Self {
        self.others.push((span, label.into()));
        self
    }

    /// With a hint.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With a hint, if there is one.
    pub(super) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Whether it is only a warning.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        self.code.number() >= 1900
    }
}

/// Where a [`Diagnostic`] stands for people and editors, for output as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `MR1xxx`.
    pub code: String,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What is wrong.
    pub message: String,
    /// The line of the first character, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The line of the character after the last.
    pub end_line: usize,
    /// Its column.
    pub end_column: usize,
    /// What to do.
    pub hint: Option<String>,
}

/// Errors while they are found: so many are kept, the others counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    list: Vec<Diagnostic>,
    dropped: usize,
}

impl Errors {
    /// Takes one in.
    pub(super) fn push(&mut self, error: Diagnostic) {
        if self.list.len() < KEPT {
            self.list.push(error);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether there are few enough that a costly hint pays.
    pub(super) fn are_few(&self) -> bool {
        self.list.len() < HINTED
    }

    /// What was kept.
    pub(super) fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }
}

/// All errors of one text, by place.
#[derive(Clone, thiserror::Error)]
pub struct Diagnostics {
    text: Arc<str>,
    list: Vec<Diagnostic>,
    more: usize,
}

impl Diagnostics {
    /// Sorts by place, removes what is said twice, and bounds the number.
    pub(super) fn new(text: &str, errors: Errors) -> Self {
        let Errors { mut list, dropped } = errors;
        list.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end, diagnostic.code));
        let mut seen = HashSet::new();
        list.retain(|one| seen.insert((one.span, one.code)));
        let more = list.len().saturating_sub(MOST) + dropped;
        list.truncate(MOST);
        Self { text: text.into(), list, more }
    }

    /// The errors, by place.
    #[must_use]
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// How many further errors there are.
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    /// All of them as text, without colours, each with its lines underlined. `file` is what is named as their place.
    #[must_use]
    pub fn render(&self, file: &str) -> String {
        let mut text = render(&self.text, file, &self.list);
        if self.more > 0 {
            text.push_str(&format!("and {} more\n", self.more));
        }
        text
    }

    /// All of them in structured form.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        reports(&self.text, &self.list)
    }
}

impl Meaning for Diagnostics {
    fn code(&self) -> crate::error::Code {
        crate::error::Code::ROOT_INVALID
    }
}

/// Without the text, which may be long.
impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagnostics").field("list", &self.list).field("more", &self.more).finish_non_exhaustive()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, report) in self.reports().into_iter().enumerate() {
            let Report { code, message, line, column, .. } = report;
            write!(f, "{}{line}:{column}: {code}: {message}", if at == 0 { "" } else { "; " })?;
        }
        if self.more > 0 { write!(f, "; and {} more", self.more) } else { Ok(()) }
    }
}

/// Something that happened at a place of a text and is no error of the program itself: a tick that failed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// Its code.
    pub code: String,
    /// What happened, in one line.
    pub message: String,
    /// The place.
    pub span: Span,
    /// What stands under the place; may be empty.
    pub label: String,
    /// What is to be said besides, one line each.
    pub notes: Vec<String>,
}

/// Draws it as an error is drawn, without colours. `file` is what is named as its place.
#[must_use]
pub fn draw(text: &str, file: &str, scene: &Scene) -> String {
    let label = Label::primary((), scene.span.range()).with_message(&scene.label);
    let drawn = Drawn::error().with_code(&scene.code).with_message(&scene.message).with_labels(vec![label]);
    Canvas::new(text, file).picture(&drawn.with_notes(scene.notes.clone()), scene.span)
}

/// Diagnostics of a text as text, without colours. For warnings of a program without errors.
#[must_use]
pub fn render(text: &str, file: &str, list: &[Diagnostic]) -> String {
    let canvas = Canvas::new(text, file);
    let picture = |one: &Diagnostic| {
        let severity = if one.is_warning() { Severity::Warning } else { Severity::Error };
        let notes = one.hint.iter().map(|hint| format!("hint: {hint}")).collect();
        let mut labels = vec![Label::primary((), one.span.range()).with_message(&one.label)];
        labels.extend(one.others.iter().map(|(span, label)| Label::secondary((), span.range()).with_message(label)));
        let drawn = Drawn::new(severity).with_code(one.code).with_message(&one.message).with_labels(labels);
        canvas.picture(&drawn.with_notes(notes), one.span)
    };
    list.iter().map(picture).collect()
}

/// What is drawn upon.
struct Canvas<'a> {
    source: SimpleFile<&'a str, &'a str>,
    lines: Lines<'a>,
    config: Config,
    /// Whether its lines are short enough.
    drawn: bool,
}

impl<'a> Canvas<'a> {
    fn new(text: &'a str, file: &'a str) -> Self {
        let config = Config { chars: Chars::ascii(), tab_width: 1, ..Config::default() };
        let drawn = text.lines().all(|line| line.len() <= LONGEST_LINE);
        Self { source: SimpleFile::new(file, text), lines: Lines::new(text), config, drawn }
    }

    fn picture(&self, diagnostic: &Drawn<()>, span: Span) -> String {
        if let Some(excerpt) = self.drawn.then(|| emit_into_string(&self.config, &self.source, diagnostic).ok()).flatten() {
            return excerpt.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
        }
        let word = if diagnostic.severity == Severity::Warning { "warning" } else { "error" };
        let (code, (line, column)) = (diagnostic.code.as_deref().unwrap_or_default(), self.lines.place(span.start));
        let mut text = format!("{word}[{code}]: {}\n  --> {}:{line}:{column}\n", diagnostic.message, self.source.name());
        text.extend(diagnostic.notes.iter().map(|note| format!("  = {note}\n")));
        text.push('\n');
        text
    }
}

/// Diagnostics of a text in structured form.
#[must_use]
pub fn reports(text: &str, list: &[Diagnostic]) -> Vec<Report> {
    let lines = Lines::new(text);
    let report = |one: &Diagnostic| {
        let ((line, column), (end_line, end_column)) = (lines.place(one.span.start), lines.place(one.span.end));
        let severity = if one.is_warning() { "warning" } else { "error" };
        let (code, message, hint) = (one.code.to_string(), one.message.clone(), one.hint.clone());
        Report { code, severity, message, line, column, end_line, end_column, hint }
    };
    list.iter().map(report).collect()
}

/// Line and column of a byte of a text, both from 1, the column in characters: for the place of a failing tick.
#[must_use]
pub fn place(text: &str, at: u32) -> (usize, usize) {
    Lines::new(text).place(at)
}

/// Where lines start.
struct Lines<'text> {
    text: &'text str,
    starts: Vec<usize>,
}

impl<'text> Lines<'text> {
    fn new(text: &'text str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    fn place(&self, at: u32) -> (usize, usize) {
        let at = at as usize;
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        (line, self.text.get(start..at).map_or(0, |before| before.chars().count()) + 1)
    }
}
