//! Sizes: what is too much is refused before the call, and what is not is taken.

use super::{done, pipeline, store, there, worker};
use crate::bed;
use millrace::coordination::records::{Assignment, Entry, Incarnation, LedgerPage, PageId, Progress, WorkerName};
use millrace::coordination::store::{Key, Record, Store, StoreError};
use millrace::flow::{SplitEpoch, SplitId, StateHead};

fn page(entries: i64, bytes: usize) -> LedgerPage {
    let mut page = LedgerPage::empty(Incarnation::new("uid/0a"));
    let mut chance = fastrand::Rng::with_seed(7);
    for number in 1..=entries {
        let state: Vec<u8> = std::iter::repeat_with(|| chance.u8(..)).take(bytes).collect();
        let progress = Progress { head: Some(StateHead::Inline(state.into())), ..Progress::default() };
        page.entries.insert((SplitId::new(&format!("s-{number}")), SplitEpoch::new(1)), Entry { progress, ..Entry::default() });
    }
    page
}

fn refused(answer: Result<impl std::fmt::Debug, StoreError>, says: &str) {
    match answer {
        Err(StoreError::Refused(why)) if why.contains(says) => {}
        other => panic!("{says}: {other:?}"),
    }
}

#[test]
fn a_page_has_its_bounds() {
    bed::test(async |bed| {
        let place = pipeline(bed, "bounds").await;
        let (store, key) = (store(bed, &place).await, Key::Page(PageId::new("bounds-0")));
        let made = done(store.create(&key, Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")))).await.unwrap());
        refused(store.swap(&key, &made, Record::Page(page(257, 8))).await, "`record.splits` has 257, more than 256");
        refused(store.swap(&key, &made, Record::Page(page(4, 64 * 1024))).await, "`record.page` has ");
        // As full as it gets.
        let full = page(256, 700);
        done(store.swap(&key, &made, Record::Page(full.clone())).await.unwrap());
        assert_eq!(there(&store, &key).await.record, Record::Page(full));
    });
}

#[test]
fn what_is_beyond_a_bound_of_the_schema_is_refused_with_its_field() {
    bed::test(async |bed| {
        let place = pipeline(bed, "schema").await;
        let store = store(bed, &place).await;
        let mut long = page(1, 8);
        long.entries.insert((SplitId::new(&"s".repeat(64)), SplitEpoch::new(1)), Entry::default());
        refused(store.create(&Key::Page(PageId::new("schema-0")), Record::Page(long)).await, "record.splits");
        let status = millrace::coordination::records::WorkerStatus { incarnation: Incarnation::new("i"), budget: 1, leaving: false };
        let record = millrace::coordination::records::WorkerRecord { status, assignment: None };
        let made = done(store.create(&worker("schema-worker-0"), Record::Worker(record)).await.unwrap());
        let splits = (0..2001).map(|number| SplitId::new(&number.to_string())).collect();
        let much = Record::Assignment(Assignment { term: 1, number: 1, splits });
        refused(store.swap(&worker("schema-worker-0"), &made, much).await, "`spec.assignment.splits` has 2001");
    });
}

/// The longest names that there are, as the driver makes them.
#[test]
fn names_of_any_length_are_taken_and_found_again() {
    bed::test(async |bed| {
        let name = "p".repeat(40);
        let place = pipeline(bed, &name).await;
        let store = store(bed, &place).await;
        let own = format!("{name}-worker-9999");
        let id = PageId::new(&format!("{own}-0123456789abcdef-4095"));
        let empty = Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")));
        done(store.create(&Key::Page(id.clone()), empty.clone()).await.unwrap());
        assert_eq!(there(&store, &Key::Page(id.clone())).await.record, empty);
        let shard = millrace::coordination::records::Shard {
            split: SplitId::new("shardId-000000000001"),
            descriptor: millrace::coordination::records::Descriptor { stream: "arn".into(), shard: "s".into(), hash_range: None },
            parents: Vec::new(),
        };
        let mut split = millrace::coordination::records::SplitRecord::unopened(&shard, millrace::coordination::records::MadeBy::Listing);
        let incarnation = Incarnation::new("0b0c1f0e-0000-4000-8000-000000000001/0123456789abcdef");
        split.owner = Some(millrace::coordination::records::Owner { worker: WorkerName::new(&own), incarnation, page: id });
        split.write_id = Some(format!("{own}-0123456789abcdef").into());
        let key = Key::Split(shard.split);
        done(store.create(&key, Record::Split(Box::new(split.clone()))).await.unwrap());
        assert_eq!(there(&store, &key).await.record, Record::Split(Box::new(split)));
    });
}
