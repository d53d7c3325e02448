//! Compressed payloads.
//!
//! Owns: telling gzip and zstd by their first bytes, unpacking them to a bounded size, the buffers for that.
//! May not: know what a payload means.

use super::Limits;
use super::error::{DecodeError, Fault};
use flate2::{Crc, Decompress, FlushDecompress, Status};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Buffers above this are given back before the next record.
pub(super) const KEPT: usize = 4 << 20;

const REPACK: &str = "mend the producer, or set `source.format.compression: None` if the payload is not compressed";

/// Unpacks, with buffers that are used again.
#[derive(Default)]
pub(super) struct Unpacker {
    out: Vec<u8>,
    inflate: Option<Box<Decompress>>,
    zstd: Option<Box<FrameDecoder>>,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").field("out", &self.out.capacity()).finish_non_exhaustive()
    }
}

#[cold]
fn damaged(what: impl Into<Cow<'static, str>>) -> DecodeError {
    DecodeError::Compression(Fault::new(what, REPACK))
}

impl Unpacker {
    /// The payload itself, or what is packed in it. What is packed twice is unpacked once.
    pub(super) fn unpack<'a>(&'a mut self, payload: &'a [u8], limits: &Limits) -> Result<&'a [u8], DecodeError> {
        let gzip = payload.starts_with(GZIP);
        if !gzip && !payload.starts_with(ZSTD) {
            return Ok(payload);
        }
        if self.out.capacity() > KEPT {
            self.out = Vec::new();
        }
        self.out.clear();
        if gzip {
            self.gunzip(payload, limits)?;
        } else {
            self.unzstd(payload, limits)?;
        }
        Ok(&self.out)
    }

    /// Holds that no more was unpacked than may be.
    fn bounded(&self, limits: &Limits) -> Result<(), DecodeError> {
        if self.out.len() <= limits.unpacked_bytes {
            return Ok(());
        }
        let what = format!("the payload unpacks to more than {} bytes", limits.unpacked_bytes);
        Err(DecodeError::Bound(Fault::new(what, "send less in one record")))
    }

    /// All members of a gzip file, one after the other.
    fn gunzip(&mut self, packed: &[u8], limits: &Limits) -> Result<(), DecodeError> {
        let mut rest = packed;
        while !rest.is_empty() {
            rest = body(rest).ok_or_else(|| damaged("the header of the gzip payload is damaged"))?;
            let start = self.out.len();
            rest = self.inflate(rest, limits)?;
            let (trailer, next) = rest.split_at_checked(8).ok_or_else(|| damaged("the gzip payload is cut off"))?;
            let mut sum = Crc::new();
            sum.update(self.out.get(start..).unwrap_or_default());
            let own = [sum.sum().to_le_bytes(), sum.amount().to_le_bytes()];
            if own.as_flattened() != trailer {
                return Err(damaged("the checksum of the gzip payload is wrong"));
            }
            rest = next;
        }
        Ok(())
    }

    /// One deflated stream: what stands behind it.
    fn inflate<'a>(&mut self, packed: &'a [u8], limits: &Limits) -> Result<&'a [u8], DecodeError> {
        let inflate = self.inflate.get_or_insert_with(|| Box::new(Decompress::new(false)));
        inflate.reset(false);
        loop {
            let rest = usize::try_from(inflate.total_in()).ok().and_then(|used| packed.get(used..)).unwrap_or_default();
            let left = limits.unpacked_bytes.saturating_sub(self.out.len()).saturating_add(1);
            self.out.reserve(self.out.len().clamp(4 << 10, 1 << 20).min(left));
            let before = (inflate.total_in(), self.out.len());
            let status =
                inflate.decompress_vec(rest, &mut self.out, FlushDecompress::None).map_err(|_| damaged("the gzip payload is damaged"))?;
            if self.out.len() > limits.unpacked_bytes {
                return self.bounded(limits).map(|()| rest);
            }
            if status == Status::StreamEnd {
                let used = usize::try_from(inflate.total_in()).unwrap_or(usize::MAX);
                return Ok(packed.get(used..).unwrap_or_default());
            }
            if before == (inflate.total_in(), self.out.len()) {
                return Err(damaged("the gzip payload is cut off"));
            }
        }
    }

    /// All zstd frames, one after the other. The library is not trusted with what strangers send: should it panic, that is
    /// a payload that cannot be unpacked, and its state is thrown away.
    fn unzstd(&mut self, packed: &[u8], limits: &Limits) -> Result<(), DecodeError> {
        let mut decoder = self.zstd.take().unwrap_or_else(|| Box::new(FrameDecoder::new()));
        decoder.set_max_window_size(limits.unpacked_bytes as u64);
        let mut large = false;
        catch_unwind(AssertUnwindSafe(|| self.frames(&mut decoder, packed, limits, &mut large)))
            .unwrap_or_else(|_| Err(damaged("the zstd payload is damaged")))?;
        if !large {
            self.zstd = Some(decoder);
        }
        Ok(())
    }

    fn frames(&mut self, decoder: &mut FrameDecoder, packed: &[u8], limits: &Limits, large: &mut bool) -> Result<(), DecodeError> {
        let mut rest = packed;
        while !rest.is_empty() {
            *large |= window(rest) > KEPT as u64;
            match decoder.reset(&mut rest) {
                Ok(()) => {}
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = usize::try_from(length).ok().and_then(|length| rest.get(length..));
                    rest = skipped.ok_or_else(|| damaged("the zstd payload is cut off"))?;
                    continue;
                }
                Err(error) => return Err(damaged(format!("the header of the zstd payload is not taken: {error}"))),
            }
            while !decoder.is_finished() {
                let block = decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1));
                block.map_err(|error| damaged(format!("the zstd payload is damaged: {error}")))?;
                decoder.collect_to_writer(&mut self.out).map_err(|error| damaged(format!("the zstd payload is damaged: {error}")))?;
                self.bounded(limits)?;
            }
            let sums = (decoder.get_checksum_from_data(), decoder.get_calculated_checksum());
            if sums.0.is_some() && sums.0 != sums.1 {
                return Err(damaged("the checksum of the zstd payload is wrong"));
            }
        }
        Ok(())
    }
}

/// The size of the window that a zstd frame asks for, or of its content where the window is all of it: what the decoder
/// keeps in memory.
fn window(frame: &[u8]) -> u64 {
    match frame.get(4..) {
        Some([flags, size, ..]) if flags & 0x20 == 0 => {
            let base = 1_u64 << (10 + u32::from(size >> 3));
            base + base / 8 * u64::from(size & 7)
        }
        Some([flags, size @ ..]) => {
            let size = size.get(DICTIONARY.get(usize::from(flags & 3)).copied().unwrap_or_default()..).unwrap_or_default();
            let length = CONTENT.get(usize::from(flags >> 6)).copied().unwrap_or_default();
            size.iter().take(length).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        }
        _ => 0,
    }
}

/// Bytes of a zstd frame's dictionary id and content size, by their flags.
const DICTIONARY: [usize; 4] = [0, 1, 2, 4];
const CONTENT: [usize; 4] = [1, 2, 4, 8];

/// What stands behind the header of a gzip member.
fn body(packed: &[u8]) -> Option<&[u8]> {
    let (head, mut rest) = packed.split_first_chunk::<10>()?;
    let [0x1f, 0x8b, 8, flags, ..] = head else { return None };
    if flags & 0xe0 != 0 {
        return None;
    }
    if flags & 4 != 0 {
        let (length, behind) = rest.split_first_chunk::<2>()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for named in [8, 16] {
        if flags & named != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    Some(rest)
}
