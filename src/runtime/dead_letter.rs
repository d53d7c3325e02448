//! Dead letters: a record that could not be used, with the reason, as a row of its own.
//!
//! The envelope is bounded (`dataflow.md`, Failure); the payload stands in it as text, or in base64 where it is no text.

use super::error::RecordName;
use crate::dataflow::value::time_text;
use crate::flow::Record;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// How much of an error's text a dead letter carries, in bytes.
pub const MESSAGE_BYTES: usize = 2048;

/// Why a record is a dead letter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause<'a> {
    /// `Undecodable`, `TickFailed` or `KeyFailed`.
    pub(super) name: &'static str,
    /// The error's code.
    pub(super) code: &'a str,
    /// Its text.
    pub(super) message: &'a str,
    /// The record's key, where it is known.
    pub(super) key: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Letter<'a> {
    cause: &'static str,
    code: &'a str,
    message: &'a str,
    stream: &'a str,
    shard: &'a str,
    sequence_number: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_sequence: Option<u64>,
    arrival_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

/// Appends the dead letter of a record, as one JSON object.
pub(super) fn write(record: &Record<'_>, cause: Cause<'_>, out: &mut Vec<u8>) {
    let text = std::str::from_utf8(record.payload).ok();
    let letter = Letter {
        cause: cause.name,
        code: cause.code,
        message: cut(cause.message),
        stream: record.stream,
        shard: record.shard,
        sequence_number: record.sequence_number,
        sub_sequence: record.sub_sequence,
        arrival_time: time_text(record.arrival),
        partition_key: record.partition_key,
        key: cause.key.map(cut),
        payload: text,
        payload_base64: text.is_none().then(|| STANDARD.encode(record.payload)),
    };
    let start = out.len();
    // Plain texts and numbers into memory: there is nothing that could fail; half a letter would be worse than none.
    if serde_json::to_writer(&mut *out, &letter).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
}

/// The start of a text, at most [`MESSAGE_BYTES`] long.
fn cut(text: &str) -> &str {
    let mut end = MESSAGE_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or(text)
}

/// A record's name, kept.
pub(super) fn name(record: &Record<'_>) -> RecordName {
    RecordName {
        stream: record.stream.into(),
        shard: record.shard.into(),
        sequence_number: record.sequence_number.into(),
        sub_sequence: record.sub_sequence,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, MESSAGE_BYTES, write};
    use crate::flow::Record;

    fn letter(payload: &[u8], message: &str) -> serde_json::Value {
        let record = Record {
            stream: "main",
            shard: "s-1",
            partition_key: Some("k"),
            sequence_number: "12",
            sub_sequence: None,
            arrival: 1_000_000,
            payload,
        };
        let mut out = Vec::new();
        write(&record, Cause { name: "Undecodable", code: "MR0014", message, key: None }, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_letter_says_what_it_is_and_carries_the_payload_whole() {
        let text = letter(b"{\"a\":", "no object");
        assert_eq!((text["cause"].as_str(), text["payload"].as_str()), (Some("Undecodable"), Some("{\"a\":")));
        assert_eq!((text["sequenceNumber"].as_str(), text["arrivalTime"].as_str()), (Some("12"), Some("1970-01-01T00:00:01Z")));
        let bytes = letter(b"\xff\x00", "no text");
        assert_eq!((bytes.get("payload"), bytes["payloadBase64"].as_str()), (None, Some("/wA=")));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let long = format!("x{}", "é".repeat(MESSAGE_BYTES));
        let cut = letter(b"", &long);
        assert_eq!(cut["message"].as_str().map(str::len), Some(MESSAGE_BYTES - 1));
    }
}
