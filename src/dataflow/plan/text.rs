//! Texts of `dynamic` and `defer`: compiled once for all keys, bounded in number and in bytes.
//!
//! Owns: the cache, its counts, the list of refused texts that have not been logged yet.
//! May not: know which text is in force for a key.
//!
//! A text is asked for only when it changes, so the lock stands outside of what runs in every tick.

use super::block::Block;
use super::build::{self, Equation, Scope, ScopeStream, Source, index, stream_print};
use super::code::{NONE, TextSpec};
use super::identity::Printer;
use super::presence::Presence;
use super::{Limits, unique};
use crate::lang::checked::{CheckedExpr, StreamId};
use crate::lang::syntax::Span;
use crate::lang::{self, MAX_TEXT};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The most bytes of remembered texts.
const REMEMBERED: usize = 1 << 20;
/// The most refused texts that wait to be logged.
const WAITING: usize = 64;

/// A text, compiled.
#[derive(Debug)]
pub(crate) struct TextCode {
    pub(crate) text: Arc<str>,
    pub(crate) id: u64,
    pub(crate) block: Block,
    /// The places in the scope that it reads: the n-th stands in register n, and whether an input behind it came in the
    /// register as far behind all of them.
    pub(crate) reads: Box<[u32]>,
}

/// What became of texts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextCounts {
    /// Texts that compiled.
    pub compiled: u64,
    /// Texts that came and were refused; one counts as often as it comes.
    pub refused: u64,
    /// Texts that are remembered now.
    pub remembered: usize,
}

/// A text that was refused, to be logged once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedText {
    /// The stream whose `dynamic` or `defer` it was for.
    pub stream: Arc<str>,
    /// The text, cut at 1 KiB.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// The texts of a plan.
#[derive(Debug)]
pub(crate) struct Texts {
    limits: Limits,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    texts: HashMap<(u32, Arc<str>), Remembered>,
    bytes: usize,
    clock: u64,
    counts: TextCounts,
    waiting: VecDeque<RefusedText>,
}

#[derive(Debug)]
struct Remembered {
    code: Option<Arc<TextCode>>,
    used: u64,
}

impl Known {
    fn remember(&mut self, key: (u32, Arc<str>), code: Option<Arc<TextCode>>, most: usize) {
        self.bytes = self.bytes.saturating_add(key.1.len());
        self.texts.insert(key, Remembered { code, used: self.clock });
        if self.texts.len() > most || self.bytes > REMEMBERED {
            let mut used: Vec<u64> = self.texts.values().map(|text| text.used).collect();
            used.sort_unstable();
            let middle = used.get(used.len() / 2).copied().unwrap_or_default();
            self.texts.retain(|_, text| text.used > middle);
            self.bytes = self.texts.keys().map(|(_, text)| text.len()).sum();
        }
        self.counts.remembered = self.texts.len();
    }

    fn refuse(&mut self, stream: &Arc<str>, text: &str, why: String) {
        if self.waiting.len() < WAITING {
            self.waiting.push_back(RefusedText { stream: Arc::clone(stream), text: cut(text).to_owned(), why });
        }
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=text.len().min(1_024)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

impl Texts {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, known: Mutex::default() }
    }

    pub(crate) fn counts(&self) -> TextCounts {
        self.known.lock().counts
    }

    pub(crate) fn refused(&self) -> Vec<RefusedText> {
        self.known.lock().waiting.drain(..).collect()
    }

    /// The code of a text for the `dynamic` with this number; none where it is refused.
    pub(crate) fn get(&self, number: u32, spec: &TextSpec, text: &str) -> Option<Arc<TextCode>> {
        if text.len() > MAX_TEXT {
            let mut known = self.known.lock();
            known.counts.refused += 1;
            known.refuse(&spec.stream, text, format!("a text may take {MAX_TEXT} bytes, this one takes {}", text.len()));
            return None;
        }
        let key = (number, Arc::<str>::from(text));
        {
            let mut known = self.known.lock();
            known.clock += 1;
            let clock = known.clock;
            if let Some(found) = known.texts.get_mut(&key) {
                found.used = clock;
                let code = found.code.clone();
                known.counts.refused += u64::from(code.is_none());
                return code;
            }
        }
        // Compiled outside the lock: two threads may do it at once, and each result is as good.
        let made = lang::check_expression(text, &spec.scope, Some(&spec.ty));
        let mut known = self.known.lock();
        let code = match made {
            Ok(checked) => {
                known.counts.compiled += 1;
                Some(Arc::new(compile(&key.1, spec, &checked, self.limits)))
            }
            Err(errors) => {
                known.counts.refused += 1;
                known.refuse(&spec.stream, text, errors.to_string());
                None
            }
        };
        known.remember(key, code.clone(), self.limits.texts);
        code
    }
}

fn compile(text: &Arc<str>, spec: &TextSpec, checked: &CheckedExpr, limits: Limits) -> TextCode {
    let count = index(checked.reads.len());
    let nth = |id: StreamId| checked.reads.binary_search(&id).ok().map_or(NONE, index);
    let stream = |(id, (name, ty)): (StreamId, &(Arc<str>, _))| ScopeStream {
        name: Arc::clone(name),
        ty: lang::types::Type::clone(ty),
        print: stream_print(name, ty),
        register: nth(id),
        presence: Presence::Sparse,
    };
    let scope = Scope { streams: (0..).map(StreamId).zip(spec.scope.iter()).map(stream).collect() };
    let gate = |reads: &[StreamId]| reads.iter().map(|id| nth(*id)).filter(|at| *at != NONE).map(|at| at + count).collect();
    let span = Span::new(0, index(text.len()));
    let (name, ty) = (Arc::clone(text), checked.ty.clone());
    let equation = Equation { body: checked.root, stream: None, out: 2 * count, leaves: false, name, ty, span };
    let block = build::block(Source {
        bodies: &checked.bodies,
        scope,
        equations: vec![equation],
        gate: &gate,
        registers: 2 * count + 1,
        window_values: limits.window_values,
        number: Printer::new("text").text(text).finish().number(),
    });
    TextCode { text: Arc::clone(text), id: unique(), block, reads: checked.reads.iter().map(|id| id.0).collect() }
}
