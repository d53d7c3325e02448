//! Objects as they were last read or written: a write begins from what stands, and need not read it again for that.

use crate::coordination::store::{Key, ObjectRevision};
use kube::api::DynamicObject;
use std::collections::VecDeque;

/// The most objects that are kept: some pages of our own, our heartbeat, and splits that are being claimed.
const MOST: usize = 64;

/// The objects, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<(Key, ObjectRevision, DynamicObject)>);

impl Recent {
    pub(super) fn put(&mut self, key: &Key, revision: ObjectRevision, mut object: DynamicObject) {
        self.forget(key);
        // A write without them leaves them to the API server, which knows them anyway.
        object.metadata.managed_fields = None;
        self.0.push_back((key.clone(), revision, object));
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// The object, if it is known at just this revision. It is about to be written, so it is known no longer.
    pub(super) fn take(&mut self, key: &Key, revision: &ObjectRevision) -> Option<DynamicObject> {
        let at = self.0.iter().position(|(known, at, _)| known == key && at == revision)?;
        self.0.remove(at).map(|(_, _, object)| object)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.retain(|(known, _, _)| known != key);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Recent};
    use crate::coordination::records::PageId;
    use crate::coordination::store::{Key, ObjectRevision};
    use kube::api::DynamicObject;

    fn object() -> DynamicObject {
        DynamicObject { types: None, metadata: kube::core::ObjectMeta::default(), data: serde_json::Value::Null }
    }

    #[test]
    fn an_object_is_known_at_its_last_revision_alone_and_the_oldest_goes() {
        let key = |number: usize| Key::Page(PageId::new(&number.to_string()));
        let at = |revision: &str| ObjectRevision { uid: "u".into(), revision: revision.into() };
        let mut recent = Recent::default();
        recent.put(&key(0), at("1"), object());
        recent.put(&key(0), at("2"), object());
        assert!(recent.take(&key(0), &at("1")).is_none());
        assert!(recent.take(&key(0), &at("2")).is_some());
        assert!(recent.take(&key(0), &at("2")).is_none());
        (0..=MOST).for_each(|number| recent.put(&key(number), at("1"), object()));
        assert!(recent.take(&key(0), &at("1")).is_none() && recent.take(&key(1), &at("1")).is_some());
    }
}
