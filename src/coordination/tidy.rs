//! Which entries of a page may go.

use super::records::{EntryKey, PageId};
use super::store::{Key, Store, StoreError};

/// Of these entries of a page, those that may go: a quorum read shows each one's record at its epoch or above, and not
/// naming it. An entry whose record is missing stays: the record is made again from it.
pub(super) async fn may_go(store: &dyn Store, page: &PageId, entries: Vec<EntryKey>) -> Result<Vec<EntryKey>, StoreError> {
    let mut going = Vec::new();
    for (split, epoch) in entries {
        if let Some(known) = store.read(&Key::Split(split.clone())).await?
            && known.record.split()?.lets_go_of(page, epoch)
        {
            going.push((split, epoch));
        }
    }
    Ok(going)
}
