//! Values from JSON, by their types.
//!
//! Owns: what each type takes of JSON (language.md, Bindings), and the bound on a value's bytes.
//! May not: know inputs, pointers or records.
//!
//! Two kinds of things go wrong. What is no JSON, or too deep, ends the record at once. What does not fit its type is
//! [`Held::Wrong`]: the value has been stepped over, and where another of the same name follows, that one counts.

use super::error::{DecodeError, Fault, found};
use super::number::NoInt;
use super::scan::{Scanner, Spelled, Start};
use super::wanted::{Fields, Wanted};
use crate::dataflow::value::{self, Failure, Shape, Text, Value, parse_time};
use crate::lang::literal::duration_of;
use std::sync::Arc;

/// What stands at a place.
#[derive(Debug)]
pub(super) enum Held {
    /// Nothing.
    Missing,
    /// `null`.
    Null,
    /// A value of the type.
    Value(Value),
    /// A value that does not fit the type.
    Wrong(DecodeError),
}

/// A value, or why it does not fit.
type Fit = Result<Value, DecodeError>;

const DECLARE: &str = "mend the producer, or declare the input by what it sends";
const SHORTEN: &str = "send less, or raise `root.limits.valueBytes`";

/// What holds a list, map or struct, beside its parts, as [`Value::size`] counts it.
const HEADER: usize = 48;
/// What holds a text that does not stand in place, as [`Value::size`] counts it.
const TEXT_HEADER: usize = 32;
/// The longest text that stands in place.
const SHORT_TEXT: usize = 14;
/// What a member that does not fit is charged, for its words are kept until it is known whether it counts.
const WRONG: usize = 512;

/// The bytes that a text of this length takes, as [`Value::size`] counts them.
#[inline]
pub(super) const fn text_size(length: usize) -> usize {
    size_of::<Value>().saturating_add(if length > SHORT_TEXT { length.saturating_add(TEXT_HEADER) } else { 0 })
}

impl Scanner<'_, '_> {
    /// The value that begins here, as its type wants it.
    #[inline]
    pub(super) fn value(&mut self, wanted: &Wanted) -> Result<Held, DecodeError> {
        let fit = match (wanted, self.start()?) {
            (_, Start::Null) => return self.word("null").map(|()| Held::Null),
            (Wanted::Int, Start::Number) => self.int()?,
            (Wanted::Float, Start::Number) => self.float()?,
            (Wanted::Str | Wanted::Any, Start::Text) => self.string()?,
            (Wanted::Bool | Wanted::Any, Start::True) => self.word("true").map(|()| Ok(Value::Bool(true)))?,
            (Wanted::Bool | Wanted::Any, Start::False) => self.word("false").map(|()| Ok(Value::Bool(false)))?,
            (wanted, start) => self.rare(wanted, start)?,
        };
        Ok(match fit.and_then(|value| self.charge(size_of::<Value>()).map(|()| value)) {
            Ok(value) => Held::Value(value),
            Err(error) => Held::Wrong(error),
        })
    }

    #[inline(never)]
    fn rare(&mut self, wanted: &Wanted, start: Start) -> Result<Fit, DecodeError> {
        match (wanted, start) {
            (Wanted::Time, Start::Text | Start::Number) => self.time(),
            (Wanted::Duration, Start::Text | Start::Number) => self.duration(),
            (Wanted::Any, Start::Number) => self.any_number(),
            (Wanted::Any, Start::Array) => self.list(&Wanted::Any),
            (Wanted::Any, Start::Object) => self.any_struct(),
            (Wanted::List(of), Start::Array) => self.list(of),
            (Wanted::Map(of), Start::Object) => self.map(of),
            (Wanted::Struct(of), Start::Object) => self.structure(of),
            (Wanted::Tuple(items), Start::Array) => self.tuple(items),
            (Wanted::Unit, Start::Array) => self.unit(),
            (wanted, _) => self.clash(wanted),
        }
    }

    /// A value of another kind, which is stepped over.
    #[cold]
    fn clash(&mut self, wanted: &Wanted) -> Result<Fit, DecodeError> {
        let start = self.at;
        self.skip()?;
        Ok(Err(self.unfit(&wanted.name(), start)))
    }

    /// What stood from this byte on is not what was wanted.
    #[cold]
    fn unfit(&self, wanted: &str, start: usize) -> DecodeError {
        let what = format!("{wanted} is wanted, not {}", found(self.text.get(start..self.at).unwrap_or_default()));
        DecodeError::Kind(Fault::new(what, DECLARE).at(start))
    }

    #[cold]
    fn out_of_range(&self, of: &str, start: usize) -> DecodeError {
        let what = format!("{} does not fit into {of}", found(self.text.get(start..self.at).unwrap_or_default()));
        DecodeError::Range(Fault::new(what, DECLARE).at(start))
    }

    /// Counts bytes of the value that is being made.
    #[inline]
    fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.too_large()),
        }
    }

    #[cold]
    fn too_large(&self) -> DecodeError {
        let what = format!("the value takes more than {} bytes", self.limits.value_bytes);
        DecodeError::Bound(Fault::new(what, SHORTEN).at(self.at))
    }

    fn made(&self, made: Result<Value, Failure>) -> Fit {
        made.map_err(|failure| DecodeError::Bound(Fault::new(failure.what().to_owned(), SHORTEN).at(self.at)))
    }

    fn bounds(&self) -> value::Limits {
        value::Limits { value_bytes: self.limits.value_bytes }
    }

    #[inline]
    fn int(&mut self) -> Result<Fit, DecodeError> {
        let start = self.at;
        let number = self.number()?;
        Ok(match number.int() {
            Ok(int) => Ok(Value::Int(int)),
            Err(NoInt::Range) => Err(self.out_of_range("an Int", start)),
            Err(NoInt::Fraction) => Err(self.unfit("Int", start)),
        })
    }

    #[inline]
    fn float(&mut self) -> Result<Fit, DecodeError> {
        let start = self.at;
        let number = self.number()?;
        Ok(number.float().map(Value::float).ok_or_else(|| self.out_of_range("a Float", start)))
    }

    /// Integers are Int, what has a point or an exponent is Float.
    fn any_number(&mut self) -> Result<Fit, DecodeError> {
        let start = self.at;
        let number = self.number()?;
        Ok(if number.plain {
            number.int().map(Value::Int).map_err(|_| self.out_of_range("an Int", start))
        } else {
            number.float().map(Value::float).ok_or_else(|| self.out_of_range("a Float", start))
        })
    }

    #[inline]
    fn string(&mut self) -> Result<Fit, DecodeError> {
        let spelled = self.spelled()?;
        Ok(self.kept(spelled).map(Value::Str))
    }

    /// A text that becomes part of a value.
    #[inline]
    fn kept(&mut self, spelled: Spelled<'_>) -> Result<Text, DecodeError> {
        self.charge(text_size(self.str(spelled).len()) - size_of::<Value>())?;
        Ok(Text::new(self.str(spelled)))
    }

    pub(super) fn time(&mut self) -> Result<Fit, DecodeError> {
        let start = self.at;
        if self.peek() == Some(b'"') {
            let spelled = self.spelled()?;
            let time = parse_time(self.str(spelled)).map(Value::Time);
            return Ok(time.ok_or_else(|| self.unfit(&Wanted::Time.name(), start)));
        }
        let millis = self.number()?;
        Ok(millis.units(3).and_then(Value::time).ok_or_else(|| self.out_of_range("a Time, in epoch milliseconds", start)))
    }

    fn duration(&mut self) -> Result<Fit, DecodeError> {
        let start = self.at;
        if self.peek() == Some(b'"') {
            let spelled = self.spelled()?;
            let duration = duration_of(self.str(spelled)).map(Value::Duration);
            return Ok(duration.ok_or_else(|| self.unfit(&Wanted::Duration.name(), start)));
        }
        let seconds = self.number()?;
        Ok(seconds.units(6).map(Value::Duration).ok_or_else(|| self.out_of_range("a Duration, in seconds", start)))
    }

    fn unit(&mut self) -> Result<Fit, DecodeError> {
        let start = self.at;
        self.open()?;
        let mut empty = true;
        while self.element(empty)? {
            self.skip()?;
            empty = false;
        }
        Ok(if empty { Ok(Value::Unit) } else { Err(self.unfit(&Wanted::Unit.name(), start)) })
    }

    fn list(&mut self, of: &Wanted) -> Result<Fit, DecodeError> {
        self.open()?;
        let mut fit = self.charge(HEADER);
        let mut items = Vec::new();
        let mut first = true;
        while self.element(first)? {
            first = false;
            if fit.is_err() {
                self.skip()?;
                continue;
            }
            match self.listed(of, items.len())? {
                Ok(item) => items.push(item),
                Err(error) => fit = Err(error),
            }
        }
        Ok(fit.and_then(|()| self.made(Value::list(items, self.bounds()))))
    }

    /// An element, where null is none.
    fn listed(&mut self, of: &Wanted, place: usize) -> Result<Fit, DecodeError> {
        let held = self.value(of)?;
        Ok(match held {
            Held::Value(value) => Ok(value),
            Held::Wrong(error) => Err(error.inside(&place.to_string())),
            Held::Null | Held::Missing => {
                let what = format!("a list holds null, where {} is wanted", of.name());
                Err(DecodeError::Kind(Fault::new(what, "leave the element out").at(self.at)).inside(&place.to_string()))
            }
        })
    }

    fn tuple(&mut self, wanted: &[Wanted]) -> Result<Fit, DecodeError> {
        let start = self.at;
        self.open()?;
        let mut fit = self.charge(HEADER);
        let mut items = Vec::with_capacity(wanted.len());
        let mut count = 0_usize;
        while self.element(count == 0)? {
            match wanted.get(count).filter(|_| fit.is_ok()) {
                Some(wanted) => match self.listed(wanted, count)? {
                    Ok(item) => items.push(item),
                    Err(error) => fit = Err(error),
                },
                None => self.skip()?,
            }
            count = count.saturating_add(1);
        }
        if fit.is_ok() && count != wanted.len() {
            let name = format!("a tuple (an array of {})", wanted.len());
            return Ok(Err(self.unfit(&name, start)));
        }
        Ok(fit.and_then(|()| self.made(Value::tuple(items, self.bounds()))))
    }

    fn map(&mut self, of: &Wanted) -> Result<Fit, DecodeError> {
        self.open()?;
        let fit = self.charge(HEADER);
        let mut members = Members::new(fit);
        let mut first = true;
        while let Some(name) = self.member(first)? {
            members.add(self, name, of)?;
            first = false;
        }
        let entries = members.finish(self);
        Ok(entries.and_then(|entries| self.made(Value::map(entries, self.bounds()))))
    }

    /// An object under `Any`.
    fn any_struct(&mut self) -> Result<Fit, DecodeError> {
        self.open()?;
        let fit = self.charge(HEADER);
        let mut members = Members::new(fit);
        let mut first = true;
        while let Some(name) = self.member(first)? {
            members.add(self, name, &Wanted::Any)?;
            first = false;
        }
        let entries = members.finish(self);
        Ok(entries.and_then(|entries| self.shaped(entries)))
    }

    /// A struct of these members, whose names rise.
    fn shaped(&mut self, members: Vec<(Text, Value)>) -> Fit {
        let shape = self.tools.shapes.of(&members);
        let fields = members.into_iter().map(|(_, value)| value).collect();
        self.made(Value::structure(shape, fields, self.bounds()))
    }

    fn structure(&mut self, fields: &Fields) -> Result<Fit, DecodeError> {
        let start = self.at;
        self.open()?;
        let fit = self.charge(HEADER);
        let mut held: Vec<Held> = fields.wanted.iter().map(|_| Held::Missing).collect();
        let mut others = Members::new(fit);
        let mut first = true;
        while let Some(name) = self.member(first)? {
            first = false;
            let place = fields.shape.index(self.str(name));
            match place.and_then(|place| fields.wanted.get(place).zip(held.get_mut(place))) {
                Some((wanted, held)) => {
                    self.tools.duplicates += u64::from(!matches!(held, Held::Missing));
                    *held = self.value(wanted)?;
                }
                None if fields.open => others.add(self, name, &Wanted::Any)?,
                None => self.skip()?,
            }
        }
        let declared = complete(held, &fields.shape, start);
        let others = others.finish(self);
        Ok(declared.and_then(|declared| match others? {
            others if others.is_empty() => self.made(Value::structure(Arc::clone(&fields.shape), declared, self.bounds())),
            mut others => {
                let names = fields.shape.names().iter().map(|name| Text::new(name));
                others.extend(names.zip(declared));
                others.sort_by(|one, next| one.0.cmp(&next.0));
                self.shaped(others)
            }
        }))
    }
}

/// The values of all declared fields, or the first that is not as it must be.
fn complete(held: Vec<Held>, shape: &Shape, start: usize) -> Result<Vec<Value>, DecodeError> {
    let named = held.into_iter().zip(shape.names());
    named
        .map(|(held, name)| match held {
            Held::Value(value) => Ok(value),
            Held::Wrong(error) => Err(error.inside(name)),
            Held::Missing | Held::Null => {
                let is = if matches!(held, Held::Null) { "null" } else { "missing" };
                let what = format!("the declared field `{name}` is {is}");
                Err(DecodeError::Missing(Fault::new(what, "send it, or take it out of the struct's type").at(start)))
            }
        })
        .collect()
}

/// Members whose names are not known beforehand.
struct Members {
    held: Vec<(Text, Held)>,
    /// Not, once they are too many.
    fit: Result<(), DecodeError>,
}

impl Members {
    const fn new(fit: Result<(), DecodeError>) -> Self {
        Self { held: Vec::new(), fit }
    }

    /// The member of this name, whose value begins here.
    fn add(&mut self, scanner: &mut Scanner<'_, '_>, name: Spelled<'_>, wanted: &Wanted) -> Result<(), DecodeError> {
        if self.fit.is_ok() {
            match scanner.charge(size_of::<Text>()).and_then(|()| scanner.kept(name)) {
                Ok(name) => {
                    let held = scanner.value(wanted)?;
                    if matches!(held, Held::Wrong(_)) {
                        self.fit = scanner.charge(WRONG);
                    }
                    self.held.push((name, held));
                    return Ok(());
                }
                Err(error) => self.fit = Err(error),
            }
        }
        scanner.skip()
    }

    /// Those that have values, names rising, of each name the last.
    fn finish(self, scanner: &mut Scanner<'_, '_>) -> Result<Vec<(Text, Value)>, DecodeError> {
        self.fit?;
        let mut held = self.held;
        if !held.is_sorted_by(|one, next| one.0 < next.0) {
            let count = held.len();
            // Stable: turned round, the last of each name comes first, and is the one kept.
            held.reverse();
            held.sort_by(|one, next| one.0.cmp(&next.0));
            held.dedup_by(|one, kept| one.0 == kept.0);
            scanner.tools.duplicates += (count - held.len()) as u64;
        }
        let mut entries = Vec::with_capacity(held.len());
        for (name, held) in held {
            match held {
                Held::Value(value) => entries.push((name, value)),
                Held::Wrong(error) => return Err(error.inside(&name)),
                Held::Null | Held::Missing => {}
            }
        }
        Ok(entries)
    }
}
