//! The text of a ledger page: `{"SPLIT@EPOCH": {progress, sealed, completed}}` as compact JSON, deflated, in base64.
//!
//! Owns: how that is written and read, for the store that writes it and the operator that reads it.
//! May not: decide anything by it.

use super::progress::Progress;
use crate::error::{Code, Meaning};
use crate::flow::SplitEpoch;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// A page unpacks to no more than this many bytes: 256 entries of 64 KiB of state in base64, and what stands around it.
const MOST: u64 = 32 * 1024 * 1024;

/// The entries of a page, by split and epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The entries.
    pub entries: BTreeMap<(String, SplitEpoch), PageEntry>,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageEntry {
    /// What the last commit wrote.
    pub progress: Progress,

    /// Whether its owner can no longer write it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sealed: bool,

    /// Whether the split was read to its end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub completed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Why a page cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// It is no base64.
    #[error("the page is no base64")]
    Base64(#[from] base64::DecodeError),
    /// It cannot be packed or unpacked.
    #[error("the page cannot be unpacked")]
    Packed(#[from] std::io::Error),
    /// It is longer than any page can be.
    #[error("the page unpacks to more than {MOST} bytes")]
    TooLong,
    /// It is no JSON of a page.
    #[error("the page holds no entries")]
    Json(#[from] serde_json::Error),
    /// A key names no split and epoch.
    #[error("the page's key `{0}` names no split and epoch")]
    Key(String),
}

impl Meaning for PageError {
    fn code(&self) -> Code {
        Code::INTERNAL
    }
}

/// Packs JSON as a page is packed.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn pack(json: &impl Serialize) -> Result<String, PageError> {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&serde_json::to_vec(json)?)?;
    Ok(STANDARD.encode(packed.finish()?))
}

/// Unpacks JSON that is packed as a page is.
///
/// # Errors
/// If it is not, or is not what is asked for.
pub fn unpack<T: DeserializeOwned>(text: &str) -> Result<T, PageError> {
    let mut json = Vec::new();
    let limit = MOST.saturating_add(1);
    DeflateDecoder::new(STANDARD.decode(text)?.as_slice()).take(limit).read_to_end(&mut json)?;
    if u64::try_from(json.len()).is_ok_and(|length| length > MOST) {
        return Err(PageError::TooLong);
    }
    Ok(serde_json::from_slice(&json)?)
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(text: &str) -> Result<Self, PageError> {
        Self::of(unpack(text)?)
    }

    /// The text of this page.
    ///
    /// # Errors
    /// If it cannot be written as JSON, which no page of ours is.
    pub fn text(&self) -> Result<String, PageError> {
        pack(&self.named())
    }

    /// The page of entries by their keys in JSON.
    ///
    /// # Errors
    /// A key names no split and epoch.
    pub fn of(named: BTreeMap<String, PageEntry>) -> Result<Self, PageError> {
        let entries = named.into_iter().map(|(key, entry)| split_and_epoch(&key).map(|key| (key, entry)).ok_or(PageError::Key(key)));
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }

    /// Its entries by their keys in JSON.
    #[must_use]
    pub fn named(&self) -> BTreeMap<String, &PageEntry> {
        self.entries.iter().map(|((split, epoch), entry)| (format!("{split}@{epoch}"), entry)).collect()
    }
}

fn split_and_epoch(key: &str) -> Option<(String, SplitEpoch)> {
    let (split, epoch) = key.rsplit_once('@')?;
    epoch.parse().ok().map(|epoch| (split.to_owned(), SplitEpoch::new(epoch)))
}

#[cfg(test)]
mod tests {
    use super::{Page, PageEntry, PageError, STANDARD};
    use crate::api::progress::{Progress, RootAt};
    use crate::flow::{Digest, RootEpoch, SplitEpoch};
    use base64::Engine as _;
    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use std::io::Write;

    fn packed(json: &[u8]) -> String {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(json).unwrap();
        STANDARD.encode(packed.finish().unwrap())
    }

    #[test]
    fn a_page_reads_what_it_writes() {
        let root = RootAt { epoch: RootEpoch::new(3), digest: Digest::of(b"root").to_string() };
        let progress = Progress { position: Some("after 7".into()), root: Some(root), ..Progress::default() };
        let mut page = Page::default();
        page.entries.insert(("a".into(), SplitEpoch::new(4)), PageEntry { progress, sealed: true, completed: false });
        page.entries.insert(("b@c".into(), SplitEpoch::new(1)), PageEntry::default());
        assert_eq!(Page::read(&page.text().unwrap()).unwrap(), page);
        assert_eq!(Page::read(&Page::default().text().unwrap()).unwrap(), Page::default());
    }

    #[test]
    fn what_is_no_page_is_refused() {
        assert!(matches!(Page::read("?"), Err(PageError::Base64(_))));
        assert!(matches!(Page::read(&STANDARD.encode([7, 255, 0])), Err(PageError::Packed(_))));
        assert!(matches!(Page::read(&packed(b"[]")), Err(PageError::Json(_))));
        assert!(matches!(Page::read(&packed(br#"{"a": {"progress": {}}}"#)), Err(PageError::Key(_))));
        let bomb = vec![b' '; 33 * 1024 * 1024];
        assert!(matches!(Page::read(&packed(&bomb)), Err(PageError::TooLong)));
    }
}
