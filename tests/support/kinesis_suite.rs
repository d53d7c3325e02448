//! What any service behind `millrace::kinesis::Service` must do: the fake and a Kinesis stand-in are held to the same.
//!
//! Owns: the calls and what they must answer. May not: know which service answers them.

use millrace::kinesis::{
    ChildShard, Class, IteratorStart, ListingStart, PutEntry, RecordsPage, Sequence, Service, Shard, ShardFilter, ShardRecord,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A fresh stream of four shards, and what only its owner can do with it.
pub(crate) trait Stage {
    fn service(&self) -> &dyn Service;
    async fn split(&self, shard: &str);
    async fn merge(&self, one: &str, other: &str);
    async fn pause(&self, span: Duration);
}

/// Between two reads of one shard: what it allows.
const BETWEEN: Duration = Duration::from_millis(210);

pub(crate) async fn all(stage: &impl Stage) {
    let shards = listed(stage, ShardFilter::All).await;
    the_open_shards_take_each_key_once(&shards);
    assert_eq!((shards.len(), shards.iter().filter(|shard| shard.closed).count()), (4, 0));
    let put = put(stage, 0..40).await;
    let records = read_all(stage, &shards).await;
    records_come_back_as_they_were_put(&put, &records);
    iterators_start_where_they_are_told(stage, &records).await;
    what_is_not_there_is_not_found(stage).await;
    a_split_closes_the_shard_and_names_its_children(stage, &shards[0]).await;
    a_merge_has_two_parents(stage, &shards[1], &shards[2]).await;
    the_open_shards_take_each_key_once(&listed(stage, ShardFilter::All).await);
}

async fn listed(stage: &impl Stage, filter: ShardFilter) -> Vec<Shard> {
    let (mut shards, mut from) = (Vec::new(), ListingStart::First(filter));
    loop {
        let page = stage.service().list(from).await.unwrap();
        shards.extend(page.shards);
        match page.next {
            Some(token) => from = ListingStart::Next(token),
            None => return shards,
        }
    }
}

fn the_open_shards_take_each_key_once(shards: &[Shard]) {
    let mut ranges: Vec<_> = shards.iter().filter(|shard| !shard.closed).map(|shard| shard.range).collect();
    ranges.sort_unstable();
    assert_eq!((ranges[0].from, ranges[ranges.len() - 1].to), (0, u128::MAX));
    assert!(ranges.windows(2).all(|pair| pair[0].to + 1 == pair[1].from), "{ranges:?}");
}

/// Puts numbered records of eight keys.
async fn put(stage: &impl Stage, numbers: std::ops::Range<usize>) -> BTreeMap<Sequence, (String, String)> {
    let all: Vec<_> = numbers.map(|number| (format!("key-{}", number % 8), number.to_string())).collect();
    let mut put = BTreeMap::new();
    // A key once a call: the service may take the records of a call in any order.
    for some in all.chunks(8) {
        let entries = some.iter().map(|(key, data)| PutEntry { key, data: data.as_bytes() }).collect();
        let answers = stage.service().put(entries).await.unwrap();
        put.extend(answers.into_iter().map(Result::unwrap).zip(some.iter().cloned()));
    }
    assert_eq!(put.len(), all.len(), "each record has a number of its own");
    put
}

/// Reads a shard from a start to its tip, or to its end: then with its children.
async fn read(stage: &impl Stage, shard: &str, start: IteratorStart) -> (Vec<ShardRecord>, Option<Vec<ChildShard>>) {
    let mut iterator = stage.service().iterator(shard, start).await.unwrap();
    let mut records = Vec::new();
    for _ in 0..100 {
        stage.pause(BETWEEN).await;
        let RecordsPage { records: page, next, children, behind, at } = stage.service().records(&iterator).await.unwrap();
        assert!(at.is_some(), "the service tells its time");
        let quiet = page.is_empty() && behind == Some(0);
        records.extend(page);
        match next {
            None => return (records, Some(children)),
            Some(_) if quiet => return (records, None),
            Some(token) => iterator = token,
        }
    }
    panic!("{shard}: neither a tip nor an end after 100 pages");
}

async fn read_all(stage: &impl Stage, shards: &[Shard]) -> Vec<(Arc<str>, Vec<ShardRecord>)> {
    let mut found = Vec::new();
    for shard in shards {
        let (records, end) = read(stage, &shard.id, IteratorStart::TrimHorizon).await;
        assert!(end.is_none());
        found.push((shard.id.clone(), records));
    }
    found
}

fn records_come_back_as_they_were_put(put: &BTreeMap<Sequence, (String, String)>, read: &[(Arc<str>, Vec<ShardRecord>)]) {
    let mut found = BTreeMap::new();
    for (shard, records) in read {
        assert!(records.windows(2).all(|pair| pair[0].sequence < pair[1].sequence), "{shard} gives its records in order");
        for record in records {
            assert!(record.arrival > 1_700_000_000_000_000, "microseconds since 1970: {}", record.arrival);
            let text = (record.key.as_deref().unwrap().to_owned(), String::from_utf8(record.data.clone()).unwrap());
            found.insert(record.sequence.clone(), text);
        }
    }
    assert_eq!(&found, put);
}

async fn iterators_start_where_they_are_told(stage: &impl Stage, read_before: &[(Arc<str>, Vec<ShardRecord>)]) {
    let (shard, records) = read_before.iter().find(|(_, records)| records.len() >= 4).unwrap();
    let third = &records[2];
    for (start, from) in
        [(IteratorStart::TrimHorizon, 0), (IteratorStart::At(third.sequence.clone()), 2), (IteratorStart::After(third.sequence.clone()), 3)]
    {
        assert_eq!(read(stage, shard, start.clone()).await.0, records[from..], "{start:?}");
    }
    let (since, _) = read(stage, shard, IteratorStart::Timestamp(third.arrival)).await;
    let from = records.iter().position(|record| record.arrival >= third.arrival).unwrap();
    assert_eq!(since, records[from..]);
}

async fn what_is_not_there_is_not_found(stage: &impl Stage) {
    let fault = stage.service().iterator("shardId-000000009999", IteratorStart::TrimHorizon).await.unwrap_err();
    assert_eq!(fault.class, Class::NotFound, "{fault}");
}

/// Waits for the listing to show a shard as closed.
async fn until_closed(stage: &impl Stage, shard: &str) -> Vec<Shard> {
    for _ in 0..100 {
        let shards = listed(stage, ShardFilter::All).await;
        if shards.iter().any(|one| &*one.id == shard && one.closed) {
            return shards;
        }
        stage.pause(BETWEEN).await;
    }
    panic!("{shard} stays open");
}

async fn a_split_closes_the_shard_and_names_its_children(stage: &impl Stage, parent: &Shard) {
    let before = stage.service().summary().await.unwrap().at.unwrap();
    // The service tells its time to the second.
    stage.pause(Duration::from_millis(1_100)).await;
    stage.split(&parent.id).await;
    let shards = until_closed(stage, &parent.id).await;
    let mut children: Vec<_> = shards.iter().filter(|shard| shard.parents == [parent.id.clone()]).collect();
    children.sort_by_key(|child| child.range);
    let [low, high] = children[..] else { panic!("{shards:?}") };
    assert_eq!((low.range.from, low.range.to + 1, high.range.to), (parent.range.from, high.range.from, parent.range.to));
    let (_, end) = read(stage, &parent.id, IteratorStart::TrimHorizon).await;
    let mut named: Vec<_> = end.unwrap().into_iter().map(|child| (child.range, child.id, child.parents)).collect();
    named.sort();
    let listed = |child: &Shard| (child.range, child.id.clone(), child.parents.clone());
    assert_eq!(named, [listed(low), listed(high)]);
    stage.pause(Duration::from_millis(1_100)).await;
    let now = stage.service().summary().await.unwrap().at.unwrap();
    for (moment, shows_parent) in [(before, true), (now, false)] {
        let open = self::listed(stage, ShardFilter::AtTimestamp(moment)).await;
        assert_eq!(open.iter().any(|shard| shard.id == parent.id), shows_parent, "{moment}: {open:?}");
        assert_eq!(open.iter().any(|shard| shard.id == low.id), !shows_parent, "{moment}: {open:?}");
    }
}

async fn a_merge_has_two_parents(stage: &impl Stage, one: &Shard, other: &Shard) {
    stage.merge(&one.id, &other.id).await;
    until_closed(stage, &one.id).await;
    let shards = until_closed(stage, &other.id).await;
    let child = shards.iter().find(|shard| shard.parents.len() == 2).unwrap();
    let parents = [one.id.clone(), other.id.clone()];
    assert!(parents.iter().all(|parent| child.parents.contains(parent)), "{child:?}");
    for parent in &parents {
        let (_, end) = read(stage, parent, IteratorStart::TrimHorizon).await;
        let end = end.unwrap();
        assert_eq!((end.len(), &end[0].id), (1, &child.id));
        assert!(parents.iter().all(|parent| end[0].parents.contains(parent)), "{end:?}");
    }
}
