//! Tests of this module: compressed payloads.

use super::records::{Setup, record, row, setup};
use crate::codec::Limits;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// As another writer makes it, with window, checksum and compressed blocks: `{"a":7,"pad":"xxxx…"}` with 200 x.
const ZSTD_OF_ANOTHER: &[u8] = &[
    0x28, 0xb5, 0x2f, 0xfd, 0x24, 0xd8, 0xc5, 0x00, 0x00, 0x88, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x37, 0x2c, 0x22, 0x70, 0x61, 0x64, 0x22,
    0x3a, 0x22, 0x78, 0x22, 0x7d, 0x01, 0x00, 0x44, 0x0a, 0xd4, 0x01, 0x26, 0x06, 0x07, 0xf0,
];

fn decoded(payload: &[u8]) -> Result<String, String> {
    setup("in a: Int", &[]).decode(payload).map(|input| row(&input)).map_err(|error| format!("{}: {error}", error.kind()))
}

#[test]
fn gzip_and_zstd_are_told_by_their_first_bytes() {
    assert_eq!(decoded(&gzip(br#"{"a":1}"#)).as_deref(), Ok("1"));
    assert_eq!(decoded(&zstd(br#"{"a":1}"#)).as_deref(), Ok("1"));
    assert_eq!(decoded(ZSTD_OF_ANOTHER).as_deref(), Ok("7"));
    assert_eq!(decoded(&[gzip(b"{\"a\":"), gzip(b""), gzip(b"2}")].concat()).as_deref(), Ok("2"));
    assert_eq!(decoded(&[zstd(b"{\"a\":"), vec![0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9], zstd(b"3}")].concat()).as_deref(), Ok("3"));
    let mut named = GzBuilder::new().filename("f").comment("c").extra(vec![1, 2, 3]).write(Vec::new(), Compression::best());
    named.write_all(br#"{"a":4}"#).unwrap();
    assert_eq!(decoded(&named.finish().unwrap()).as_deref(), Ok("4"));
    let data = setup("in data: Str", &[("data", "@data")]);
    assert_eq!(data.decode(&gzip(b"plain")).map(|input| row(&input)), Ok("\"plain\"".to_owned()));
}

#[test]
fn one_input_takes_packed_and_plain_payloads_in_any_order() {
    let setup = setup("in a: Int", &[]);
    let decoder = setup.decoder().unwrap();
    let mut input = decoder.input();
    let large = format!("{{\"pad\":\"{}\",\"a\":6}}", "y".repeat(6 << 20));
    for (payload, expected) in [
        (gzip(br#"{"a":1}"#), "1"),
        (ZSTD_OF_ANOTHER.to_vec(), "7"),
        (b"{\"a\":2}".to_vec(), "2"),
        (zstd(large.as_bytes()), "6"),
        (gzip(large.as_bytes()), "6"),
        (zstd(br#"{"a":3}"#), "3"),
        (gzip(b"{}"), "-"),
    ] {
        decoder.decode(&record(&payload), &mut input).unwrap();
        assert_eq!(row(&input), expected);
        assert!(decoder.decode(&record(&payload[..payload.len() - 1]), &mut input).is_err());
    }
}

#[test]
fn what_is_damaged_is_refused() {
    for packed in [gzip(br#"{"a":1}"#), zstd(br#"{"a":1}"#), ZSTD_OF_ANOTHER.to_vec()] {
        for end in 4..packed.len() {
            assert!(decoded(&packed[..end]).unwrap_err().starts_with("compression: "), "{end}");
        }
        assert!(decoded(&[packed.clone(), b"more".to_vec()].concat()).unwrap_err().starts_with("compression: "));
        let mut sum = packed.clone();
        // The last bytes are gzip's length, and zstd's checksum where there is one.
        *sum.last_mut().unwrap() ^= 1;
        assert!(decoded(&sum).is_err());
    }
    let mut sum = gzip(br#"{"a":1}"#);
    let at = sum.len() - 8;
    sum[at] ^= 1;
    assert!(decoded(&sum).unwrap_err().contains("checksum"));
    let mut flags = gzip(br#"{"a":1}"#);
    flags[3] = 0x20;
    assert!(decoded(&flags).unwrap_err().contains("header"));
    assert!(decoded(&[0x1f, 0x8b]).unwrap_err().contains("header"));
}

#[test]
fn bombs_stop_at_the_bound() {
    let limits = Limits { unpacked_bytes: 1 << 20, payload_bytes: 64 << 10, ..Limits::default() };
    let bounded = Setup { limits, ..setup("in a: Int", &[]) };
    let spaces = |count: usize| format!("{}{{\"a\":1}}", " ".repeat(count - 7)).into_bytes();
    for pack in [gzip, zstd] {
        let just = bounded.decode(&pack(&spaces(1 << 20))).map(|input| row(&input));
        assert_eq!(just, Ok("1".to_owned()));
        let error = bounded.decode(&pack(&spaces((1 << 20) + 1))).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains("1048576 bytes")), ("bound", true), "{error}");
    }
    // 16 MiB in 16 KiB, of which no more than the bound is ever unpacked.
    let bomb = gzip(&vec![b' '; 16 << 20]);
    assert!(bomb.len() < 64 << 10);
    let decoder = bounded.decoder().unwrap();
    let mut input = decoder.input();
    assert_eq!(decoder.decode(&record(&bomb), &mut input).unwrap_err().kind(), "bound");
    assert!(format!("{input:?}").contains("Unpacker"));
    // A window of 128 MiB is not made room for.
    let window = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3][..], &[1, 0, 0]].concat();
    assert_eq!(bounded.decode(&window).unwrap_err().kind(), "compression");
    let plain = vec![b' '; (64 << 10) + 1];
    assert_eq!(bounded.decode(&plain).unwrap_err().kind(), "bound");
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(at in 0_usize..60, byte in any::<u8>(), second in 0_usize..60, other in any::<u8>(), which in 0_usize..3) {
        let mut packed = [gzip(br#"{"a":1,"b":"aaaaaaaaaaaaaaaaaaa"}"#), zstd(br#"{"a":1,"b":"aaaaaaaaaaaaaaaaaaaaaaaa"}"#), ZSTD_OF_ANOTHER.to_vec()][which].clone();
        for (at, byte) in [(at, byte), (second, other)] {
            if let Some(place) = packed.get_mut(at) {
                *place = byte;
            }
        }
        // Refused or read: the bound holds either way.
        let limits = Limits { unpacked_bytes: 4 << 10, ..Limits::default() };
        drop(Setup { limits, ..setup("in a: Int", &[]) }.decode(&packed));
    }
}
