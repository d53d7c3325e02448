//! Writing.
//!
//! Owns: the bytes of each thing.
//! May not: fail.

use super::{VERSION, tag};
use crate::dataflow::value::{Cell, Failure, Shape, Value, canonical};
use std::sync::Arc;

/// Bytes being written.
#[derive(Debug)]
pub struct Writer {
    out: Vec<u8>,
    shapes: Vec<Arc<Shape>>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// Begins with the version.
    #[must_use]
    pub fn new() -> Self {
        Self { out: vec![VERSION], shapes: Vec::new() }
    }

    /// What was written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// How many bytes were written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written: never, as the version was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// A number.
    pub fn u32(&mut self, number: u32) {
        self.u64(u64::from(number));
    }

    /// A number.
    pub fn u64(&mut self, mut number: u64) {
        loop {
            let low = u8::try_from(number & 0x7f).unwrap_or_default();
            number >>= 7;
            if number == 0 {
                return self.byte(low);
            }
            self.byte(low | 0x80);
        }
    }

    /// A length.
    pub fn length(&mut self, length: usize) {
        self.u64(u64::try_from(length).unwrap_or(u64::MAX));
    }

    /// A signed number.
    pub fn i64(&mut self, number: i64) {
        self.u64((number << 1 ^ number >> 63).cast_unsigned());
    }

    /// A float.
    pub fn f64(&mut self, float: f64) {
        self.word(canonical(float).to_bits());
    }

    /// Eight bytes.
    pub fn word(&mut self, word: u64) {
        self.out.extend_from_slice(&word.to_le_bytes());
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    /// A value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Unit => self.byte(tag::UNIT),
            Value::Bool(false) => self.byte(tag::FALSE),
            Value::Bool(true) => self.byte(tag::TRUE),
            Value::Int(int) => self.tagged(tag::INT, *int),
            Value::Float(float) => {
                self.byte(tag::FLOAT);
                self.f64(*float);
            }
            Value::Time(micros) => self.tagged(tag::TIME, *micros),
            Value::Duration(micros) => self.tagged(tag::DURATION, *micros),
            Value::Str(text) => {
                self.byte(tag::STR);
                self.text(text);
            }
            Value::List(of) => self.row(tag::LIST, of.items()),
            Value::Tuple(of) => self.row(tag::TUPLE, of.items()),
            Value::Map(of) => {
                self.byte(tag::MAP);
                self.length(of.entries().len());
                for (key, value) in of.entries() {
                    self.text(key);
                    self.value(value);
                }
            }
            Value::Struct(of) => {
                self.byte(tag::STRUCT);
                self.shape(of.shape());
                self.values(of.fields());
            }
            Value::Function(of) => {
                self.byte(tag::FUNCTION);
                self.u32(of.scope);
                self.u32(of.body);
                self.length(of.captures().len());
                self.values(of.captures());
            }
        }
    }

    fn tagged(&mut self, tag: u8, number: i64) {
        self.byte(tag);
        self.i64(number);
    }

    fn row(&mut self, tag: u8, items: &[Value]) {
        self.byte(tag);
        self.length(items.len());
        self.values(items);
    }

    fn values(&mut self, values: &[Value]) {
        for value in values {
            self.value(value);
        }
    }

    /// The number of a shape, and its names where they are new.
    fn shape(&mut self, shape: &Arc<Shape>) {
        let known = self.shapes.iter().position(|own| Arc::ptr_eq(own, shape) || own == shape);
        self.length(known.unwrap_or(self.shapes.len()));
        if known.is_none() {
            self.length(shape.names().len());
            for name in shape.names() {
                self.text(name);
            }
            self.shapes.push(Arc::clone(shape));
        }
    }

    /// A cell.
    pub fn cell(&mut self, cell: &Cell) {
        match cell {
            Cell::NoVal => self.byte(tag::NOVAL),
            Cell::Deferred => self.byte(tag::DEFERRED),
            Cell::Value(value) => self.value(value),
        }
    }

    /// The cells of a ring, oldest first; the special ones of a row together.
    pub fn cells<'a>(&mut self, cells: impl ExactSizeIterator<Item = &'a Cell>) {
        self.length(cells.len());
        let mut cells = cells.peekable();
        while let Some(cell) = cells.next() {
            self.cell(cell);
            if cell.value().is_none() {
                let mut more: u64 = 0;
                while cells.next_if(|next| *next == cell).is_some() {
                    more = more.saturating_add(1);
                }
                self.u64(more);
            }
        }
    }

    /// A failure, with its operands as text.
    pub fn failure(&mut self, failure: &Failure) {
        self.u32(u32::from(failure.code().number()));
        self.text(failure.what());
        self.text(&failure.operands());
        match failure.place() {
            None => self.byte(0),
            Some((stream, span)) => {
                self.byte(1);
                self.text(stream);
                self.u32(span.start);
                self.u32(span.end);
            }
        }
    }
}
