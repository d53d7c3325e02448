//! One walk over a payload, along the bound places.
//!
//! Owns: which value counts where names stand twice, what becomes of a value that does not fit.
//! May not: know record data.

use super::error::{DecodeError, Fault, found};
use super::read::Held;
use super::scan::{Scanner, Start};
use super::tree::{Bound, Node, Target, Tree};
use super::wanted::Wanted;
use crate::dataflow::value::{Cell, Value};
use std::io::Write;

/// What a walk finds, in buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The input row.
    pub(super) row: Vec<Cell>,
    /// The key that stands in a field.
    pub(super) key: Vec<u8>,
    /// Whether there is one.
    pub(super) keyed: bool,
    /// The time that stands in a field.
    pub(super) time: Option<i64>,
    /// Values that do not fit, with their places: errors, unless another of their name follows.
    wrong: Vec<(usize, DecodeError)>,
    /// By place: the walk in which a value stood there last.
    marks: Vec<u64>,
    /// The number of this walk.
    walk: u64,
}

impl Found {
    /// Forgets the last record; the row has so many cells.
    pub(super) fn clear(&mut self, inputs: usize) {
        self.row.clear();
        self.row.resize_with(inputs, Cell::default);
        self.key.clear();
        (self.keyed, self.time) = (false, None);
        self.wrong.clear();
    }

    /// Begins a walk over a tree.
    pub(super) fn begin(&mut self, tree: &Tree) {
        if self.marks.len() < tree.len() {
            self.marks.resize(tree.len(), 0);
        }
        self.walk = self.walk.wrapping_add(1);
    }

    /// The first value that did not fit and was not replaced.
    pub(super) fn first_wrong(&mut self) -> Option<DecodeError> {
        if self.wrong.is_empty() { None } else { Some(self.wrong.swap_remove(0).1) }
    }
}

/// A walk.
pub(super) struct Walk<'a, 't> {
    pub(super) scanner: Scanner<'a, 't>,
    pub(super) tree: &'t Tree,
    pub(super) found: &'t mut Found,
}

impl Walk<'_, '_> {
    /// Walks the whole payload: one object.
    pub(super) fn payload(&mut self) -> Result<(), DecodeError> {
        self.scanner.object()?;
        self.visit(0)?;
        self.scanner.end()
    }

    /// The value of a place begins here.
    fn visit(&mut self, place: usize) -> Result<(), DecodeError> {
        let Some(node) = self.tree.node(place) else { return self.scanner.skip() };
        if let Some(mark) = self.found.marks.get_mut(place) {
            if *mark == self.found.walk {
                self.scanner.tools.duplicates += 1;
                self.forget(place, node);
            } else {
                *mark = self.found.walk;
            }
        }
        match node.targets.as_slice() {
            [target] if !node.is_inner() => self.read(place, target),
            [] => self.descend(node),
            targets => self.again(node, place, targets),
        }
    }

    /// What stood at a place and below it does not count.
    #[cold]
    fn forget(&mut self, place: usize, node: &Node) {
        let below = place..node.end;
        if let Some(marks) = self.found.marks.get_mut(place.saturating_add(1)..node.end) {
            marks.fill(0);
        }
        self.found.wrong.retain(|(wrong, _)| !below.contains(wrong));
        for target in self.tree.targets(place) {
            match target {
                Target::Cell(bound) => self.put(bound, Cell::NoVal),
                Target::Key => self.found.keyed = false,
                Target::Time => self.found.time = None,
            }
        }
    }

    /// Reads a value once for what is bound below it, and once for each target of its own. Names that stand twice in it
    /// count once.
    fn again(&mut self, node: &Node, place: usize, targets: &[Target]) -> Result<(), DecodeError> {
        let (start, before) = (self.scanner.at, self.scanner.tools.duplicates);
        self.descend(node)?;
        let mut most = self.scanner.tools.duplicates;
        for target in targets {
            self.scanner.at = start;
            self.scanner.tools.duplicates = before;
            self.read(place, target)?;
            most = most.max(self.scanner.tools.duplicates);
        }
        self.scanner.tools.duplicates = most;
        Ok(())
    }

    /// To the places below a node.
    fn descend(&mut self, node: &Node) -> Result<(), DecodeError> {
        match self.scanner.start()? {
            Start::Object if node.is_inner() => {
                self.scanner.open()?;
                let mut first = true;
                while let Some(name) = self.scanner.member(first)? {
                    first = false;
                    match node.child(self.scanner.str(name)) {
                        Some(child) => self.visit(child)?,
                        None => self.scanner.skip()?,
                    }
                }
                Ok(())
            }
            Start::Array if node.indexed => {
                self.scanner.open()?;
                let mut index = 0_usize;
                while self.scanner.element(index == 0)? {
                    match node.element(index) {
                        Some(child) => self.visit(child)?,
                        None => self.scanner.skip()?,
                    }
                    index = index.saturating_add(1);
                }
                Ok(())
            }
            _ => self.scanner.skip(),
        }
    }

    #[inline]
    fn read(&mut self, place: usize, target: &Target) -> Result<(), DecodeError> {
        match target {
            Target::Cell(bound) => {
                self.scanner.left = self.scanner.limits.value_bytes;
                match self.scanner.value(&bound.wanted)? {
                    Held::Value(value) => self.put(bound, Cell::Value(value)),
                    Held::Null | Held::Missing => {}
                    Held::Wrong(error) => self.wrong(place, error.below(&bound.pointer).of(|| format!("input {}", bound.input).into())),
                }
                Ok(())
            }
            Target::Key => self.key(place),
            Target::Time => self.time(place),
        }
    }

    #[inline]
    fn put(&mut self, bound: &Bound, cell: Cell) {
        if let Some(place) = self.found.row.get_mut(bound.slot) {
            *place = cell;
        }
    }

    #[cold]
    fn wrong(&mut self, place: usize, error: DecodeError) {
        self.found.wrong.push((place, error));
    }

    /// The key: a text as it is, a number as its digits, `true` or `false`.
    fn key(&mut self, place: usize) -> Result<(), DecodeError> {
        self.found.key.clear();
        let start = self.scanner.start()?;
        let at = self.scanner.at;
        match start {
            Start::Text => {
                let text = self.scanner.spelled()?;
                self.found.key.extend_from_slice(self.scanner.str(text).as_bytes());
            }
            Start::Number => return self.number_key(place),
            Start::True => {
                self.scanner.word("true")?;
                self.found.key.extend_from_slice(b"true");
            }
            Start::False => {
                self.scanner.word("false")?;
                self.found.key.extend_from_slice(b"false");
            }
            Start::Null => return self.scanner.word("null"),
            Start::Object | Start::Array => {
                self.scanner.skip()?;
                let what = format!("the key must be a text, a number, true or false, not {}", self.shown(at));
                self.wrong(place, DecodeError::Kind(Fault::new(what, "name another field in `keyBy.field`").at(at)).of(key_name));
                return Ok(());
            }
        }
        self.keyed(place, at);
        Ok(())
    }

    /// Equal numbers are equal keys, whether they are written as integers or not.
    fn number_key(&mut self, place: usize) -> Result<(), DecodeError> {
        let at = self.scanner.at;
        let number = self.scanner.number()?;
        if number.plain {
            let digits = if number.text == "-0" { "0" } else { number.text };
            self.found.key.extend_from_slice(digits.as_bytes());
        } else if let Some(float) = number.float() {
            // Without its sign, where it is zero. Writing into a Vec cannot fail.
            let _infallible = write!(self.found.key, "{}", float + 0.0);
        } else {
            let what = format!("{} does not fit into a Float", self.shown(at));
            self.wrong(place, DecodeError::Range(Fault::new(what, "send it as a text").at(at)).of(key_name));
            return Ok(());
        }
        self.keyed(place, at);
        Ok(())
    }

    fn keyed(&mut self, place: usize, at: usize) {
        let most = self.scanner.limits.key_bytes;
        if self.found.key.len() > most {
            let what = format!("the key takes more than {most} bytes");
            self.wrong(place, DecodeError::Bound(Fault::new(what, "name a shorter field in `keyBy.field`").at(at)).of(key_name));
        } else {
            self.found.keyed = true;
        }
    }

    fn time(&mut self, place: usize) -> Result<(), DecodeError> {
        let start = self.scanner.start()?;
        let at = self.scanner.at;
        let fit = match start {
            Start::Null => return self.scanner.word("null"),
            Start::Text | Start::Number => self.scanner.time()?,
            _ => {
                self.scanner.skip()?;
                let what = format!("{} is wanted, not {}", Wanted::Time.name(), self.shown(at));
                Err(DecodeError::Kind(Fault::new(what, "name another field in `root.time`").at(at)))
            }
        };
        match fit {
            Ok(Value::Time(micros)) => self.found.time = Some(micros),
            Ok(_) => {}
            Err(error) => self.wrong(place, error.of(|| "the record time".into())),
        }
        Ok(())
    }

    /// What stood from this byte on.
    fn shown(&self, from: usize) -> String {
        found(self.scanner.text.get(from..self.scanner.at).unwrap_or_default())
    }
}

fn key_name() -> std::borrow::Cow<'static, str> {
    "the key".into()
}
