//! The stored form of a layer: the root that it was made under, and keys with their state.
//!
//! Owns: its bytes. They outlive versions: a later one reads what this one wrote.

use super::StateError;
use crate::dataflow::bytes::{BytesError, Reader, Writer};
use crate::dataflow::value::Limits;
use crate::flow::{Digest, SplitId};

/// The most bytes of a layer that travels inside a ledger entry.
pub const INLINE_BYTES: usize = 64 << 10;

/// The form of what follows.
const FORM: u8 = 1;

/// A layer, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The revision under which its keys stand.
    pub root: Digest,
    /// The keys, rising.
    pub keys: Vec<KeyState>,
}

/// One key in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    /// The key.
    pub key: Box<[u8]>,
    /// When its last record arrived, in microseconds since 1970 UTC.
    pub last_arrival: i64,
    /// The monitor's snapshot.
    pub snapshot: Box<[u8]>,
}

impl Layer {
    /// The layer as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.byte(FORM);
        writer.text(&self.root.to_string());
        writer.length(self.keys.len());
        for key in &self.keys {
            writer.bytes(&key.key);
            writer.i64(key.last_arrival);
            writer.bytes(&key.snapshot);
        }
        writer.finish()
    }

    /// Reads a split's layer.
    ///
    /// # Errors
    /// It is damaged, or in a form that this version does not know.
    pub fn decode(split: &SplitId, bytes: &[u8]) -> Result<Self, StateError> {
        let unreadable = |what: String| StateError::Unreadable { split: split.clone(), what };
        let (form, read) = Self::read(bytes).map_err(|error| unreadable(error.to_string()))?;
        if form != FORM {
            return Err(unreadable(format!("it is of form {form}, which this version does not know")));
        }
        let (root, keys) = read.ok_or_else(|| unreadable("it names no root".to_owned()))?;
        Ok(Self { root, keys })
    }

    #[expect(clippy::type_complexity, reason = "taken apart at once by the one caller")]
    fn read(bytes: &[u8]) -> Result<(u8, Option<(Digest, Vec<KeyState>)>), BytesError> {
        let mut reader = Reader::new(bytes, Limits::default())?;
        let form = reader.byte()?;
        if form != FORM {
            return Ok((form, None));
        }
        let root: Option<Digest> = reader.text()?.parse().ok();
        let mut keys = Vec::new();
        for _ in 0..reader.length()? {
            let (key, last_arrival) = (reader.bytes()?.into(), reader.i64()?);
            keys.push(KeyState { key, last_arrival, snapshot: reader.bytes()?.into() });
        }
        reader.end()?;
        Ok((form, root.map(|root| (root, keys))))
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyState, Layer};
    use crate::flow::{Digest, SplitId};

    fn layer() -> Layer {
        let key = |key: &[u8], at| KeyState { key: key.into(), last_arrival: at, snapshot: vec![1, 2, 3].into() };
        Layer { root: Digest::of(b"root"), keys: vec![key(b"", -1), key(b"k", 1 << 50)] }
    }

    #[test]
    fn a_layer_reads_what_it_wrote() {
        assert_eq!(Layer::decode(&SplitId::new("s"), &layer().encode()).unwrap(), layer());
    }

    #[test]
    fn damage_is_refused_and_never_empty_state() {
        let bytes = layer().encode();
        for cut in 0..bytes.len() {
            assert!(Layer::decode(&SplitId::new("s"), &bytes[..cut]).is_err(), "cut at {cut}");
        }
        let mut other = bytes;
        other[1] = 9;
        let error = Layer::decode(&SplitId::new("s"), &other).unwrap_err();
        assert!(error.to_string().contains("form 9"), "{error}");
    }
}
