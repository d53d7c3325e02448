//! Records into rows.
//!
//! Owns: the order in which a record is taken apart: unpacked, walked, completed with what is known of it; its key; its
//! time, and how far that may lead.
//! May not: allocate where the last record's buffers do.

use super::error::{BindingError, DecodeError, Fault, found};
use super::pointer::Datum;
use super::read::text_size;
use super::route::{self, Known, Route};
use super::scan::{MARK, Scanner, Tools, text_of};
use super::unpack::{KEPT, Unpacker};
use super::walk::{Found, Walk};
use super::{Bindings, Compression, KeyRule, Limits};
use crate::dataflow::RecordTime;
use crate::dataflow::value::{Cell, Text, Value, duration_text, parse_time};
use crate::flow::Record;
use crate::lang::checked::{Checked, Equation};

/// How the records of a pipeline become rows of its root. Shared by threads; each has an [`Input`] of its own.
#[derive(Debug)]
pub struct Decoder {
    routes: Vec<Route>,
    inputs: usize,
    /// The pointer to the key, where a field is it.
    key: Option<String>,
    max_lead: i64,
    compression: Compression,
    limits: Limits,
}

/// A decoded record, and the buffers that the next one uses again.
#[derive(Debug)]
pub struct Input {
    found: Found,
    tools: Tools,
    unpacker: Unpacker,
    time: RecordTime,
}

impl Decoder {
    /// For a root and what its inputs, the key and the time are bound to.
    ///
    /// # Errors
    /// A binding names what the root or the pipeline does not have, is none, or is never of its input's type.
    pub fn new(root: &Checked, bindings: &Bindings<'_>) -> Result<Self, BindingError> {
        let key = match &bindings.key {
            KeyRule::PartitionKey => None,
            KeyRule::Field(text) => Some(text.clone()),
        };
        Ok(Self {
            routes: route::routes(root, bindings)?,
            inputs: root.streams.iter().filter(|stream| stream.equation == Equation::Input).count(),
            key,
            max_lead: bindings.max_lead,
            compression: bindings.compression,
            limits: bindings.limits,
        })
    }

    /// Buffers for [`Decoder::decode`].
    #[must_use]
    pub fn input(&self) -> Input {
        let mut found = Found::default();
        found.clear(self.inputs);
        let time = RecordTime { record: 0, arrival: 0 };
        Input { found, tools: Tools::default(), unpacker: Unpacker::default(), time }
    }

    /// Decodes a record: then the input holds its row, key and time.
    ///
    /// # Errors
    /// It does not decode; then what the input holds means nothing.
    pub fn decode(&self, record: &Record<'_>, input: &mut Input) -> Result<(), DecodeError> {
        let route = self.route(record.stream)?;
        let Input { found, tools, unpacker, time } = input;
        found.clear(self.inputs);
        tools.renew();
        let mut text = "";
        if route.tree.is_some() || route.text {
            text = text_of(self.payload(record.payload, unpacker)?)?;
        }
        if let Some(tree) = &route.tree {
            found.begin(tree);
            let scanner = Scanner::new(text, &self.limits, tools);
            Walk { scanner, tree, found: &mut *found }.payload()?;
            if let Some(error) = found.first_wrong() {
                return Err(error);
            }
        }
        let whole = Whole { record, text: text.strip_prefix(MARK).unwrap_or(text) };
        for known in &route.data {
            let value = self.known(known, &whole).map_err(|error| error.of(|| format!("input {}", known.input).into()))?;
            if let Some(cell) = found.row.get_mut(known.slot) {
                *cell = value.map_or(Cell::NoVal, Cell::Value);
            }
        }
        self.complete_key(record, found)?;
        *time = RecordTime { record: self.time(route, &whole, found)?, arrival: record.arrival };
        Ok(())
    }

    /// How records of this stream are read. Where there is one stream, its name does not matter.
    fn route(&self, stream: &str) -> Result<&Route, DecodeError> {
        let route = match self.routes.as_slice() {
            [only] => Some(only),
            routes => routes.iter().find(|route| route.stream == stream),
        };
        route.ok_or_else(|| {
            let what = format!("a record comes from the stream {}, which these bindings do not know", found(stream));
            DecodeError::Stream(Fault::new(what, "please report it"))
        })
    }

    /// The payload, unpacked.
    fn payload<'a>(&self, payload: &'a [u8], unpacker: &'a mut Unpacker) -> Result<&'a [u8], DecodeError> {
        if payload.len() > self.limits.payload_bytes {
            let what = format!("the payload takes {} bytes, more than {}", payload.len(), self.limits.payload_bytes);
            return Err(DecodeError::Bound(Fault::new(what, "send less in one record")));
        }
        match self.compression {
            Compression::Auto => unpacker.unpack(payload, &self.limits),
            Compression::None => Ok(payload),
        }
    }

    /// What is known of a record, as its input wants it.
    fn known(&self, known: &Known, whole: &Whole<'_>) -> Result<Option<Value>, DecodeError> {
        let record = whole.record;
        let text = match known.datum {
            Datum::ArrivalTime => return arrival(record).map(Some),
            Datum::PartitionKey => match record.partition_key {
                Some(key) => key,
                None => return Ok(None),
            },
            Datum::SequenceNumber if known.int => return number(record.sequence_number).map(Some),
            Datum::SequenceNumber => record.sequence_number,
            Datum::Shard => record.shard,
            Datum::Data => whole.text,
        };
        // Its length first: a text that is too large is not copied.
        if text_size(text.len()) > self.limits.value_bytes {
            let what = format!("{} takes more than {} bytes", known.datum.name(), self.limits.value_bytes);
            return Err(DecodeError::Bound(Fault::new(what, "send less, or raise `root.limits.valueBytes`")));
        }
        Ok(Some(Value::Str(Text::new(text))))
    }

    /// The partition key, where no field keys records; of a record without one, the empty key.
    fn complete_key(&self, record: &Record<'_>, found: &mut Found) -> Result<(), DecodeError> {
        match &self.key {
            None => found.key.extend_from_slice(record.partition_key.unwrap_or_default().as_bytes()),
            Some(_) if found.keyed => {}
            Some(pointer) => {
                let fault = Fault::new("the field is missing or null", "send it with every record, or name another in `keyBy.field`");
                return Err(DecodeError::Missing(fault).below(pointer).of(|| "the key".into()));
            }
        }
        Ok(())
    }

    /// The record time.
    fn time(&self, route: &Route, whole: &Whole<'_>, found: &Found) -> Result<i64, DecodeError> {
        let record = whole.record;
        let missing = |what: String| {
            let fault = Fault::new(what, "send it with every record, or name another in `root.time`");
            DecodeError::Missing(fault).of(|| "the record time".into())
        };
        let time = match (route.time, &route.time_pointer) {
            (None, None) | (Some(Datum::ArrivalTime), _) => return Ok(record.arrival),
            (Some(Datum::PartitionKey), _) => match record.partition_key {
                Some(key) => clock(key, Datum::PartitionKey)?,
                None => return Err(missing("the record has no partition key".to_owned())),
            },
            (Some(datum), _) => clock(whole.text, datum)?,
            (None, Some(pointer)) => found.time.ok_or_else(|| missing("the field is missing or null".to_owned()).below(pointer))?,
        };
        if time.saturating_sub(record.arrival) > self.max_lead {
            let lead = duration_text(time.saturating_sub(record.arrival));
            let what = format!("it leads the arrival time by {lead}, more than {}", duration_text(self.max_lead));
            let fault = Fault::new(what, "set the producer's clock, or raise `root.maxLead`");
            let pointer = route.time_pointer.as_deref().unwrap_or_default();
            return Err(DecodeError::Lead(fault).below(pointer).of(|| "the record time".into()));
        }
        Ok(time)
    }
}

/// A record, and its payload as text where that is read.
struct Whole<'a> {
    record: &'a Record<'a>,
    text: &'a str,
}

fn arrival(record: &Record<'_>) -> Result<Value, DecodeError> {
    Value::time(record.arrival).ok_or_else(|| {
        let what = format!("{} microseconds since 1970 do not fit into a Time", record.arrival);
        DecodeError::Range(Fault::new(what, "please report it: the source gives impossible times"))
    })
}

fn number(text: &str) -> Result<Value, DecodeError> {
    text.parse::<i64>().map(Value::Int).map_err(|_| {
        let what = format!("the sequence number {} does not fit into an Int", found(text));
        DecodeError::Range(Fault::new(what, "declare the input as Str"))
    })
}

/// A time that is written in record data.
fn clock(text: &str, datum: Datum) -> Result<i64, DecodeError> {
    parse_time(text).ok_or_else(|| {
        let what = format!("{} is no RFC 3339 time: {}", datum.name(), found(text));
        DecodeError::Kind(Fault::new(what, "name another place in `root.time`")).of(|| "the record time".into())
    })
}

impl Tools {
    /// Ready for the next record.
    fn renew(&mut self) {
        self.duplicates = 0;
        if self.scratch.capacity() > KEPT {
            self.scratch = String::new();
        }
    }
}

impl Input {
    /// The input row: a cell for each input, in the order of the plan's.
    #[must_use]
    pub fn row(&self) -> &[Cell] {
        &self.found.row
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.found.key
    }

    /// The record time and the arrival time.
    #[must_use]
    pub const fn time(&self) -> RecordTime {
        self.time
    }

    /// How many names of this record stood twice in an object: bound ones, and those inside bound values. What the program
    /// does not read is not looked at for this.
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.tools.duplicates
    }
}
