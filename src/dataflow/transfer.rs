//! From one plan to another: what each stream's state becomes, and doing it to a monitor.
//!
//! Owns: the decisions keep, carry, reset, with their reasons.
//! May not: know keys or when a cutover happens. (Another `keyBy` resets all: who knows of keys says so.)
//!
//! State moves by the names of its pieces (`plan::identity`): a delay or an ê of a stream under the stream's name and type,
//! other state under its equation's name and type and what it holds. So an edit that leaves alone what a piece holds leaves
//! the piece alone, wherever it stands; a stream of another type has other names, and starts afresh.

use super::monitor::Monitor;
use super::monitor::content::{put, same, take};
use super::plan::block::{At, Piece, Use};
use super::plan::{Plan, PlanStream};
use std::fmt;
use std::sync::Arc;

/// What a stream's state becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Same name, type and state shape: it moves as it is.
    Keep,
    /// It moves as far as it fits: a delay or window is longer or shorter, a part is new or gone.
    Carry,
    /// It starts afresh.
    Reset,
}

/// A stream's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamTransfer {
    /// The stream.
    pub stream: Arc<str>,
    /// What becomes of its state.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
    /// Whether from now on it has the values that the new plan would have given from the start: it is kept, and it and all
    /// that it reads compute what they did before.
    pub exact: bool,
}

/// How monitors go from one plan to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The computed streams of the new plan, by slot.
    pub streams: Vec<StreamTransfer>,
    /// The computed streams of the old plan that the new one does not have.
    pub gone: Vec<Arc<str>>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "keep",
            Self::Carry => "carry",
            Self::Reset => "reset",
        })
    }
}

/// What an equation uses of a piece.
struct Used<'a> {
    piece: &'a Piece,
    ticks: u32,
}

/// One for each piece, delays with their longest reach.
fn used<'a>(plan: &'a Plan, stream: &PlanStream) -> Vec<Used<'a>> {
    let segment = stream.segment.and_then(|at| plan.block.segments.get(at));
    let mut all: Vec<Used<'a>> = Vec::new();
    for Use { piece, ticks } in segment.map(|segment| &*segment.uses).unwrap_or_default() {
        let Some(piece) = plan.block.pieces.get(*piece as usize) else { continue };
        match all.last_mut() {
            Some(last) if std::ptr::eq(last.piece, piece) => last.ticks = last.ticks.max(*ticks),
            _ => all.push(Used { piece, ticks: *ticks }),
        }
    }
    all
}

/// How a piece of the new plan stands to the old one's.
enum Found {
    Same(usize),
    Fitted(usize, String),
}

/// The judging of two streams of one name and type.
struct Pair<'a> {
    old: (&'a Plan, Vec<Used<'a>>),
    new: (&'a Plan, Vec<Used<'a>>),
}

impl Pair<'_> {
    fn found(&self, piece: &Used<'_>, taken: &[bool], exact: bool) -> Option<Found> {
        let free = |at: &usize| taken.get(*at) == Some(&false);
        let (old, new) = (self.old.0, self.new.0);
        let named = self.old.1.iter().enumerate().filter(|(at, used)| free(at) && used.piece.id == piece.piece.id);
        for (at, used) in named {
            let label = &piece.piece.label;
            match (used.piece.at, piece.piece.at) {
                (At::Window(was), At::Window(is)) => {
                    let (Some(was), Some(is)) = (old.block.windows.get(was as usize), new.block.windows.get(is as usize)) else { continue };
                    if same(was, is) {
                        return Some(Found::Same(at));
                    }
                    if !exact && was.carries_to(is) {
                        return Some(Found::Fitted(at, format!("{label} is of another length")));
                    }
                }
                (At::Short { .. } | At::Long { .. }, At::Short { .. } | At::Long { .. }) if used.ticks != piece.ticks => {
                    let reason = format!("{label} goes {} back, {} before", piece.ticks, used.ticks);
                    return Some(Found::Fitted(at, reason));
                }
                _ => return Some(Found::Same(at)),
            }
        }
        None
    }

    fn judge(&self) -> (Decision, String) {
        let mut taken = vec![false; self.old.1.len()];
        let mut open: Vec<&Used<'_>> = self.new.1.iter().collect();
        let (mut changed, mut moved, mut moved_held) = (Vec::new(), 0_usize, 0_usize);
        // What is the same has the first claim; then what fits.
        for exact in [true, false] {
            let mut next = Vec::new();
            for used in open {
                let at = match self.found(used, &taken, exact) {
                    Some(Found::Same(at)) => at,
                    Some(Found::Fitted(at, reason)) => {
                        changed.push(reason);
                        at
                    }
                    None => {
                        next.push(used);
                        continue;
                    }
                };
                if let Some(place) = taken.get_mut(at) {
                    *place = true;
                }
                *if used.piece.held { &mut moved_held } else { &mut moved } += 1;
            }
            open = next;
        }
        changed.extend(open.iter().map(|used| format!("{} starts afresh", used.piece.label)));
        // A last value that the new plan can do without is none the worse for that.
        let gone = self.old.1.iter().zip(&taken).filter(|(used, taken)| !**taken && !used.piece.held);
        changed.extend(gone.map(|(used, _)| format!("{} is gone", used.piece.label)));
        if changed.is_empty() {
            let reason = if self.new.1.is_empty() { "same name and type, no state" } else { "same name, type and state" };
            return (Decision::Keep, reason.to_owned());
        }
        let only_held = self.new.1.iter().all(|used| used.piece.held);
        let any = moved > 0 || (only_held && moved_held > 0);
        (if any { Decision::Carry } else { Decision::Reset }, shortened(&changed))
    }
}

fn shortened(reasons: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut text = reasons.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    if reasons.len() > SHOWN {
        text.push_str(&format!("; and {} more", reasons.len() - SHOWN));
    }
    text
}

impl Transfer {
    /// Decides for every computed stream of the new plan.
    #[must_use]
    pub fn new(old: &Plan, new: &Plan) -> Self {
        let before = |name: &str| old.streams().iter().find(|stream| *stream.name == *name);
        let judge = |stream: &PlanStream| match before(&stream.name) {
            None => (Decision::Reset, "a new stream".to_owned()),
            Some(was) if was.segment.is_none() => (Decision::Reset, "it was an input".to_owned()),
            Some(was) if was.ty != stream.ty => (Decision::Reset, format!("its type is `{}`, `{}` before", stream.ty, was.ty)),
            Some(was) => Pair { old: (old, used(old, was)), new: (new, used(new, stream)) }.judge(),
        };
        let computed = new.streams().get(new.inputs()..).unwrap_or_default();
        let judged: Vec<_> = computed.iter().map(judge).collect();
        let own = |stream: &PlanStream, decision: Decision| {
            let was = before(&stream.name);
            was.is_some_and(|was| was.own == stream.own && was.print == stream.print) && decision == Decision::Keep
        };
        let inputs = new.streams().iter().take(new.inputs()).map(|stream| own(stream, Decision::Keep));
        let mut exact: Vec<bool> =
            inputs.chain(computed.iter().zip(&judged).map(|(stream, (decision, _))| own(stream, *decision))).collect();
        spread(new, &mut exact);
        let streams = computed.iter().zip(judged).zip(exact.iter().skip(new.inputs())).map(|((stream, (decision, reason)), exact)| {
            let reason = match (decision, exact) {
                (Decision::Keep, false) => format!("{reason}; it, or what it reads, is computed in another way"),
                _ => reason,
            };
            StreamTransfer { stream: Arc::clone(&stream.name), decision, reason, exact: *exact }
        });
        let streams = streams.collect();
        let gone = old.streams().get(old.inputs()..).unwrap_or_default().iter().filter(|stream| new.slot(&stream.name).is_none());
        Self { streams, gone: gone.map(|stream| Arc::clone(&stream.name)).collect() }
    }

    /// The decision for a stream.
    #[must_use]
    pub fn of(&self, stream: &str) -> Option<&StreamTransfer> {
        self.streams.iter().find(|transfer| *transfer.stream == *stream)
    }

    /// Moves a monitor over. Its failure, if it has one, ends here: it goes on from its last committed state.
    #[must_use]
    pub fn apply(old: &Plan, new: &Plan, monitor: &Monitor) -> Monitor {
        let contents = take(&old.block, &monitor.state);
        Monitor { state: put(new, &new.block, contents, monitor.front), front: monitor.front, failed: None }
    }
}

/// What reads a stream that is not as it was, is not either.
fn spread(plan: &Plan, exact: &mut [bool]) {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); plan.streams().len()];
    for (slot, stream) in plan.streams().iter().enumerate() {
        for read in &stream.reads {
            if let Some(list) = readers.get_mut(*read as usize) {
                list.push(slot);
            }
        }
    }
    let mut open: Vec<usize> = exact.iter().enumerate().filter(|(_, exact)| !**exact).map(|(slot, _)| slot).collect();
    while let Some(slot) = open.pop() {
        for reader in readers.get(slot).into_iter().flatten() {
            if let Some(place) = exact.get_mut(*reader).filter(|exact| **exact) {
                *place = false;
                open.push(*reader);
            }
        }
    }
}
