//! A ledger page in its `StreamLedger`.

use super::{DEPTH, FormError, SCHEMA, Writer, bounded, progress};
use crate::api::ledger_page::{Page, PageEntry, pack, unpack};
use crate::api::stream_ledger::LedgerRecord;
use crate::coordination::kubernetes::keep::keep;
use crate::coordination::records::{self, Incarnation};
use crate::flow::SplitId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most entries of a page.
const ENTRIES: usize = 256;

/// The most characters of a page's text.
const TEXT: usize = 256 * 1024;

#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<LedgerRecord>,
}

pub(super) fn write(writer: &Writer<'_>, page: &records::LedgerPage, stood: Option<&Fields>) -> Result<Fields, FormError> {
    bounded("record.splits", page.entries.len(), ENTRIES)?;
    let stood = stood.and_then(|stood| stood.record.as_ref());
    let names: BTreeSet<&str> = page.entries.keys().map(|(split, _)| split.as_str()).collect();
    let text = text(page, stood)?;
    bounded("record.page", text.len(), TEXT)?;
    Ok(Fields {
        record: Some(LedgerRecord {
            schema: stood.map_or(SCHEMA, |stood| stood.schema),
            pipeline_uid: writer.pipeline_uid.to_owned(),
            incarnation: page.incarnation.as_str().to_owned(),
            splits: names.into_iter().map(str::to_owned).collect(),
            page: text,
        }),
    })
}

/// The text of the entries. Others' entries may have been written by a later version: they stay to the letter.
fn text(page: &records::LedgerPage, stood: Option<&LedgerRecord>) -> Result<String, FormError> {
    let mut new = Page::default();
    for ((split, epoch), entry) in &page.entries {
        let records::Entry { progress, sealed, completed } = entry;
        let entry = PageEntry { progress: progress::write(progress)?, sealed: *sealed, completed: *completed };
        new.entries.insert((split.as_str().to_owned(), *epoch), entry);
    }
    let Some(stood) = stood else { return Ok(new.text()?) };
    let raw: Value = unpack(&stood.page)?;
    let known = serde_json::to_value(Page::of(serde_json::from_value(raw.clone())?)?.named())?;
    Ok(pack(&keep(&raw, &known, &serde_json::to_value(new.named())?, DEPTH))?)
}

pub(super) fn read(fields: Fields) -> Result<records::LedgerPage, FormError> {
    let record = fields.record.ok_or(FormError::Field("record"))?;
    let mut page = records::LedgerPage::empty(Incarnation::new(&record.incarnation));
    for ((split, epoch), entry) in Page::read(&record.page)?.entries {
        let PageEntry { progress, sealed, completed } = entry;
        let entry = records::Entry { progress: progress::read(progress)?, sealed, completed };
        page.entries.insert((SplitId::new(&split), epoch), entry);
    }
    Ok(page)
}
