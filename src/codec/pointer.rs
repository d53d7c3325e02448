//! Bindings as they are written: JSON pointers and record data, behind a stream's name where there is one.
//!
//! Owns: their form (`api::forms` says it to the API server), and what each part means.
//! May not: know a root's inputs.

/// What a binding names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    /// The stream from whose records alone it is read.
    pub(super) stream: Option<String>,
    /// What is read.
    pub(super) place: Place,
}

/// What is read of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A value of its payload: the names and indices on the way to it.
    Field(Vec<String>),
    /// Something that is known of it.
    Datum(Datum),
}

/// What is known of a record beside its payload, and the payload as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Datum {
    PartitionKey,
    SequenceNumber,
    ArrivalTime,
    Shard,
    Data,
}

impl Datum {
    const ALL: [Self; 5] = [Self::PartitionKey, Self::SequenceNumber, Self::ArrivalTime, Self::Shard, Self::Data];

    /// As it is written.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::PartitionKey => "@partitionKey",
            Self::SequenceNumber => "@sequenceNumber",
            Self::ArrivalTime => "@arrivalTime",
            Self::Shard => "@shard",
            Self::Data => "@data",
        }
    }

    /// What it is, in a message.
    pub(super) const fn is(self) -> &'static str {
        match self {
            Self::SequenceNumber => "a Str (or an Int, where it fits)",
            Self::ArrivalTime => "a Time",
            Self::PartitionKey | Self::Shard | Self::Data => "a Str",
        }
    }
}

/// Reads a binding.
pub(super) fn binding(text: &str) -> Result<Binding, &'static str> {
    let (stream, rest) = match text.split_once(':').filter(|(name, _)| !name.contains(['/', '@'])) {
        Some((name, rest)) if is_label(name) => (Some(name.to_owned()), rest),
        Some(_) => return Err("what stands before the colon is no name of a stream"),
        None => (None, text),
    };
    let place = match rest.strip_prefix('@') {
        Some(_) => Datum::ALL
            .into_iter()
            .find(|datum| datum.name() == rest)
            .map(Place::Datum)
            .ok_or("of a record's own data there is @partitionKey, @sequenceNumber, @arrivalTime, @shard and @data")?,
        None => Place::Field(pointer(rest)?),
    };
    Ok(Binding { stream, place })
}

/// The names on the way to a JSON pointer's value. The empty pointer is the whole payload.
pub(super) fn pointer(text: &str) -> Result<Vec<String>, &'static str> {
    let Some(tokens) = text.strip_prefix('/') else {
        return if text.is_empty() { Ok(Vec::new()) } else { Err("a JSON pointer begins with a slash, such as /sensor/temp") };
    };
    tokens.split('/').map(token).collect()
}

/// A token without its escapes.
fn token(text: &str) -> Result<String, &'static str> {
    let mut parts = text.split('~');
    let mut token = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (c, rest) = match part.as_bytes() {
            [b'0', ..] => ('~', part.get(1..)),
            [b'1', ..] => ('/', part.get(1..)),
            _ => return Err("in a JSON pointer ~ is written ~0, and / in a name ~1"),
        };
        token.push(c);
        token.push_str(rest.unwrap_or_default());
    }
    Ok(token)
}

/// A pointer to these.
pub(super) fn text(tokens: &[String]) -> String {
    let mut text = String::new();
    for token in tokens {
        text.push('/');
        text.push_str(&token.replace('~', "~0").replace('/', "~1"));
    }
    text
}

/// The place in an array that a token names.
pub(super) fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if plain { token.parse().ok() } else { None }
}

fn is_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(inner) && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::{Binding, Datum, Place, binding, index, pointer, text};

    fn field(stream: Option<&str>, tokens: &[&str]) -> Binding {
        let tokens = tokens.iter().map(|token| (*token).to_owned()).collect();
        Binding { stream: stream.map(str::to_owned), place: Place::Field(tokens) }
    }

    #[test]
    fn bindings_are_pointers_or_record_data_of_any_or_one_stream() {
        assert_eq!(binding("/sensor/temp"), Ok(field(None, &["sensor", "temp"])));
        assert_eq!(binding(""), Ok(field(None, &[])));
        assert_eq!(binding("/"), Ok(field(None, &[""])));
        assert_eq!(binding("/a~1b/~0~01/0"), Ok(field(None, &["a/b", "~~1", "0"])));
        assert_eq!(binding("/a:b"), Ok(field(None, &["a:b"])));
        assert_eq!(binding("orders:/amount"), Ok(field(Some("orders"), &["amount"])));
        assert_eq!(binding("orders-2:"), Ok(field(Some("orders-2"), &[])));
        let datum = Binding { stream: Some("o".into()), place: Place::Datum(Datum::ArrivalTime) };
        assert_eq!(binding("o:@arrivalTime"), Ok(datum));
        for wrong in ["temp", "@time", "@", "/a~", "/a~2", "Orders:/a", "-:/a", "o-:/a", ":/a", "o:a", "@data/a"] {
            assert!(binding(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pointers_are_written_as_they_are_read() {
        for pointer_text in ["", "/", "/a~1b/~0~01", "//"] {
            assert_eq!(text(&pointer(pointer_text).unwrap()), pointer_text);
        }
    }

    #[test]
    fn places_in_arrays_are_numbers_without_zeros_before_them() {
        assert_eq!((index("0"), index("12"), index("01"), index("-"), index(""), index("+1")), (Some(0), Some(12), None, None, None, None));
        assert_eq!(index("99999999999999999999999"), None);
    }
}
