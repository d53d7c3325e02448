//! Reading.
//!
//! Owns: what bytes say, within bounds.
//! May not: trust them: lengths are held against what is left, depth and size against the bounds.

use super::{BytesError, VERSION, tag};
use crate::dataflow::value::{Cell, Code, Failure, Limits, MAX_DEPTH, Shape, Text, Value};
use crate::lang::syntax::Span;
use std::sync::Arc;

/// Bytes being read.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    shapes: Vec<Arc<Shape>>,
    limits: Limits,
}

type Read<T> = Result<T, BytesError>;

impl<'a> Reader<'a> {
    /// Begins behind the version.
    ///
    /// # Errors
    /// It is not known here.
    pub fn new(bytes: &'a [u8], limits: Limits) -> Read<Self> {
        let mut reader = Self { rest: bytes, shapes: Vec::new(), limits };
        match reader.byte()? {
            VERSION => Ok(reader),
            other => Err(BytesError::Version(other)),
        }
    }

    /// Nothing must be left.
    ///
    /// # Errors
    /// Something is.
    pub fn end(&self) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(BytesError::Surplus) }
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, many: usize) -> Read<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(many).ok_or(BytesError::End)?;
        self.rest = rest;
        Ok(head)
    }

    /// One byte.
    ///
    /// # Errors
    /// There is none.
    pub fn byte(&mut self) -> Read<u8> {
        let (first, rest) = self.rest.split_first().ok_or(BytesError::End)?;
        self.rest = rest;
        Ok(*first)
    }

    /// A number.
    ///
    /// # Errors
    /// There is none, or it is larger.
    pub fn u32(&mut self) -> Read<u32> {
        u32::try_from(self.u64()?).map_err(|_| BytesError::Damaged("a number is too large"))
    }

    /// A number.
    ///
    /// # Errors
    /// There is none, it is larger, or not written in the one way.
    pub fn u64(&mut self) -> Read<u64> {
        let mut number = 0;
        for at in 0..10 {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            if (at == 9 && low > 1) || (at > 0 && byte == 0) {
                break;
            }
            number |= low << (at * 7);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BytesError::Damaged("a number is not written as one"))
    }

    /// A length of things that take at least one byte each.
    ///
    /// # Errors
    /// There are not so many bytes left.
    pub fn length(&mut self) -> Read<usize> {
        let length = usize::try_from(self.u64()?).map_err(|_| BytesError::End)?;
        if length <= self.rest.len() { Ok(length) } else { Err(BytesError::End) }
    }

    /// A signed number.
    ///
    /// # Errors
    /// There is none.
    pub fn i64(&mut self) -> Read<i64> {
        let number = self.u64()?;
        Ok((number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg())
    }

    /// A float.
    ///
    /// # Errors
    /// There is none, or a NaN that is not the one.
    pub fn f64(&mut self) -> Read<f64> {
        let float = f64::from_bits(self.word()?);
        match Value::float(float) {
            Value::Float(own) if own.to_bits() == float.to_bits() => Ok(float),
            _ => Err(BytesError::Damaged("a NaN is not the one")),
        }
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// There are none.
    pub fn word(&mut self) -> Read<u64> {
        let bytes = self.take(8)?;
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| BytesError::End)
    }

    /// A text.
    ///
    /// # Errors
    /// There is none.
    pub fn text(&mut self) -> Read<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| BytesError::Damaged("a text is not UTF-8"))
    }

    /// Bytes.
    ///
    /// # Errors
    /// There are none.
    pub fn bytes(&mut self) -> Read<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// A value.
    ///
    /// # Errors
    /// There is none, or it is too large.
    pub fn value(&mut self) -> Read<Value> {
        let tag = self.byte()?;
        self.tagged(tag, MAX_DEPTH)
    }

    fn tagged(&mut self, tag: u8, deep: u16) -> Read<Value> {
        let value = match tag {
            tag::UNIT => Value::Unit,
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::INT => Value::Int(self.i64()?),
            tag::FLOAT => Value::Float(self.f64()?),
            tag::TIME => Value::time(self.i64()?).ok_or(BytesError::Damaged("a time is out of range"))?,
            tag::DURATION => Value::Duration(self.i64()?),
            tag::STR => Value::str(self.text()?),
            tag::LIST..=tag::FUNCTION => self.deep(tag, deep.checked_sub(1).ok_or(BytesError::Large)?)?,
            _ => return Err(BytesError::Damaged("a value has a kind that there is not")),
        };
        value.within(self.limits).map_err(|_| BytesError::Large)
    }

    fn deep(&mut self, tag: u8, deep: u16) -> Read<Value> {
        let limits = self.limits;
        match tag {
            tag::LIST => {
                let length = self.length()?;
                Value::list(self.row(length, deep)?, limits)
            }
            tag::TUPLE => {
                let length = self.length()?;
                Value::tuple(self.row(length, deep)?, limits)
            }
            tag::MAP => {
                let length = self.length()?;
                let mut entries: Vec<(Text, Value)> = Vec::new();
                for _ in 0..length {
                    let key = Text::new(self.text()?);
                    if entries.last().is_some_and(|(last, _)| *last >= key) {
                        return Err(BytesError::Damaged("the keys of a map do not rise"));
                    }
                    let tag = self.byte()?;
                    entries.push((key, self.tagged(tag, deep)?));
                }
                Value::map(entries, limits)
            }
            tag::STRUCT => {
                let shape = self.shape()?;
                let fields = self.row(shape.names().len(), deep)?;
                Value::structure(shape, fields, limits)
            }
            _ => {
                let place = (self.u32()?, self.u32()?);
                let length = self.length()?;
                Value::function(place, None, self.row(length, deep)?, limits)
            }
        }
        .map_err(|_| BytesError::Large)
    }

    fn row(&mut self, length: usize, deep: u16) -> Read<Vec<Value>> {
        // Grows as values come: what a length claims is not believed.
        let mut items = Vec::new();
        for _ in 0..length {
            let tag = self.byte()?;
            items.push(self.tagged(tag, deep)?);
        }
        Ok(items)
    }

    fn shape(&mut self) -> Read<Arc<Shape>> {
        let number = usize::try_from(self.u64()?).map_err(|_| BytesError::End)?;
        if let Some(shape) = self.shapes.get(number) {
            return Ok(Arc::clone(shape));
        }
        let length = self.length()?;
        let names = (0..length).map(|_| self.text().map(Arc::from)).collect::<Read<Vec<Arc<str>>>>()?;
        if number != self.shapes.len() || !names.is_sorted_by(|one, next| one < next) {
            return Err(BytesError::Damaged("the names of a struct do not rise"));
        }
        let shape = Shape::new(names);
        self.shapes.push(Arc::clone(&shape));
        Ok(shape)
    }

    /// A cell.
    ///
    /// # Errors
    /// There is none.
    pub fn cell(&mut self) -> Read<Cell> {
        match self.byte()? {
            tag::NOVAL => Ok(Cell::NoVal),
            tag::DEFERRED => Ok(Cell::Deferred),
            tag => self.tagged(tag, MAX_DEPTH).map(Cell::Value),
        }
    }

    /// The cells of a ring, oldest first, at most so many.
    ///
    /// # Errors
    /// There are none, or more.
    pub fn cells(&mut self, most: usize) -> Read<Vec<Cell>> {
        let length = usize::try_from(self.u64()?).ok().filter(|length| *length <= most).ok_or(BytesError::Damaged("a ring is too long"))?;
        let mut cells = Vec::new();
        while cells.len() < length {
            let cell = self.cell()?;
            let more = if cell.value().is_none() { self.u64()? } else { 0 };
            let more = usize::try_from(more).ok().filter(|more| *more < length.saturating_sub(cells.len()));
            let more = more.ok_or(BytesError::Damaged("a ring has more cells than it says"))?;
            if cell.value().is_none() && cells.last() == Some(&cell) {
                return Err(BytesError::Damaged("a ring is not written in the one way"));
            }
            cells.extend(std::iter::repeat_n(cell, more.saturating_add(1)));
        }
        Ok(cells)
    }

    /// A failure.
    ///
    /// # Errors
    /// There is none.
    pub fn failure(&mut self) -> Read<Failure> {
        let number = u16::try_from(self.u32()?).ok();
        let code = number.and_then(Code::of).ok_or(BytesError::Damaged("a failure has a code that there is not"))?;
        let failure = Failure::new(code, self.text()?.to_owned()).with_text(self.text()?);
        match self.byte()? {
            0 => Ok(failure),
            1 => {
                let stream = Arc::from(self.text()?);
                Ok(failure.at(&stream, Span::new(self.u32()?, self.u32()?)))
            }
            _ => Err(BytesError::Damaged("a failure's place is neither there nor not")),
        }
    }
}
