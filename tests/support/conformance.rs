//! What every store of coordination must do. One suite for all: the one in memory, and those that are services.
//!
//! A store is given empty. Each check keeps to keys of its own, so that one store serves them all, in this order.

use millrace::coordination::records::{
    Assignment, Beat, CutoverAt, Descriptor, Entry, Incarnation, LastError, LeaderRecord, LedgerPage, MadeBy, Owner, PageId, PlanRecord,
    Progress, Shard, SplitRecord, SplitState, WorkerName, WorkerRecord, WorkerStatus,
};
use millrace::coordination::store::{Deletion, Hint, Key, Kind, Known, ObjectRevision, Record, Store, Swap, list_all, prove};
use millrace::error::Code;
use millrace::flow::{Digest, RootEpoch, RootRef, SplitEpoch, SplitId, StateHead};
use std::collections::BTreeSet;
use std::time::Duration;

/// Runs every check; panics at the first that fails.
pub(crate) async fn hold(store: &dyn Store) {
    prove(store, &WorkerName::new("w-0"), 7).await.unwrap();
    assert!(list_all(store, Kind::Scratch).await.unwrap().0.is_empty(), "the proof left something behind");
    everything_comes_back_as_it_was_written(store).await;
    a_create_takes_only_a_free_key(store).await;
    a_swap_takes_only_what_was_read(store).await;
    a_deletion_takes_only_what_was_read(store).await;
    a_key_made_again_is_another_object(store).await;
    a_worker_is_written_by_parts(store).await;
    a_heartbeat_is_made_and_renewed_once_each(store).await;
    a_list_has_all_of_its_kind_once(store).await;
    a_watch_shows_what_changed_after_its_list(store).await;
}

pub(crate) fn split(name: &str) -> Key {
    Key::Split(SplitId::new(name))
}

fn shard(name: &str) -> Shard {
    let hash_range = Some(("0".into(), "340282366920938463463374607431768211455".into()));
    let descriptor = Descriptor { stream: "arn:example:stream/orders/1767225600".into(), shard: name.into(), hash_range };
    Shard { split: SplitId::new(name), descriptor, parents: vec![SplitId::new("parent-1"), SplitId::new("parent-2")] }
}

fn record(name: &str) -> SplitRecord {
    SplitRecord::unopened(&shard(name), MadeBy::Listing)
}

fn progress(head: StateHead) -> Progress {
    let root = RootRef { epoch: RootEpoch::new(4), digest: Digest::of(b"root") };
    let cutovers =
        vec![CutoverAt { epoch: RootEpoch::new(3), after: None }, CutoverAt { epoch: RootEpoch::new(4), after: Some("17".into()) }];
    let (position, tip_time) = (Some("49590338271490256608559692538361571095921575989136588898".into()), Some(1_767_225_600_000_001));
    Progress { position, tip_time, head: Some(head), inherits: vec![SplitId::new("parent-1")], root: Some(root), cutovers }
}

fn full_split(name: &str) -> SplitRecord {
    let owner = Owner { worker: WorkerName::new("w-0"), incarnation: Incarnation::new("uid/0a"), page: PageId::new("w-0-0a-0") };
    let last_error = Some(LastError { code: Code::INTERNAL, message: "at 17: no".into(), at: 1_767_225_600_000_000 });
    SplitRecord {
        opened: true,
        state: SplitState::Open,
        owner: Some(owner),
        epoch: SplitEpoch::new(9),
        weight: Some(1_000),
        attempts: 2,
        last_error,
        base: progress(StateHead::Lost),
        cutovers: progress(StateHead::Lost).cutovers,
        write_id: Some("w-0-0a-17".into()),
        ..record(name)
    }
}

fn full_page() -> LedgerPage {
    let mut page = LedgerPage::empty(Incarnation::new("uid/0a"));
    let object = StateHead::Object { name: "s/9/0b".into(), length: 70_000, digest: Digest::of(b"layer") };
    let heads = [StateHead::Inline(vec![0, 255, 7].into()), StateHead::Inline(Vec::new().into()), object, StateHead::Lost];
    for (number, head) in (1..).zip(heads) {
        let entry = Entry { progress: progress(head), sealed: number % 2 == 0, completed: number == 4 };
        page.entries.insert((SplitId::new("shardId-000000000001"), SplitEpoch::new(number)), entry);
    }
    page.entries.insert((SplitId::new("shardId-000000000002"), SplitEpoch::new(1)), Entry::default());
    page
}

fn worker(number: u64) -> WorkerRecord {
    let status = WorkerStatus { incarnation: Incarnation::new("uid/0a"), budget: number, leaving: false };
    WorkerRecord { status, assignment: None }
}

fn beat(counter: u64) -> Beat {
    Beat { incarnation: Incarnation::new("uid/0a"), counter, ttl: Duration::from_secs(20) }
}

fn assignment(number: u64) -> Assignment {
    Assignment { term: 3, number, splits: [SplitId::new("a"), SplitId::new("b")].into() }
}

async fn read(store: &dyn Store, key: &Key) -> Option<Known> {
    store.read(key).await.unwrap()
}

fn done(swap: Swap) -> ObjectRevision {
    match swap {
        Swap::Done(revision) => revision,
        Swap::Lost => panic!("lost with nobody else there"),
    }
}

async fn create(store: &dyn Store, key: &Key, record: Record) -> ObjectRevision {
    done(store.create(key, record).await.unwrap())
}

async fn everything_comes_back_as_it_was_written(store: &dyn Store) {
    let name = WorkerName::new("w-whole");
    let leader = LeaderRecord {
        holder: name.clone(),
        incarnation: Incarnation::new("uid/0a"),
        nonce: u64::MAX,
        term: 2,
        counter: 5,
        ttl: Duration::from_secs(20),
    };
    let plan = PlanRecord {
        stream: "arn".into(),
        start: Some("at 1767225600".into()),
        initial: vec![shard("a"), shard("b")],
        has_run: false,
        whole: true,
        is_final: true,
    };
    let all = [
        (split("whole"), Record::Split(Box::new(full_split("whole")))),
        (split("bare"), Record::Split(Box::new(SplitRecord::unopened(&Shard { parents: Vec::new(), ..shard("bare") }, MadeBy::Driver)))),
        (Key::Page(PageId::new("whole")), Record::Page(full_page())),
        (Key::Page(PageId::new("empty")), Record::Page(LedgerPage::empty(Incarnation::new("uid/0b")))),
        (Key::Worker(name.clone()), Record::Worker(WorkerRecord { assignment: Some(assignment(1)), ..worker(7) })),
        (Key::Beat(name), Record::Beat(beat(1))),
        (Key::Leader, Record::Leader(leader)),
        (Key::Plan, Record::Plan(plan)),
    ];
    for (key, record) in all {
        assert_eq!(read(store, &key).await, None, "{key}");
        let revision = create(store, &key, record.clone()).await;
        assert_eq!(read(store, &key).await, Some(Known { revision: revision.clone(), record: record.clone() }), "{key}");
        let listed = list_all(store, key.kind()).await.unwrap().0;
        assert!(listed.contains(&(key.clone(), Known { revision: revision.clone(), record })), "{key}");
        assert_eq!(store.delete(&key, &revision).await.unwrap(), Deletion::Done, "{key}");
        assert_eq!(read(store, &key).await, None, "{key}");
    }
}

async fn a_create_takes_only_a_free_key(store: &dyn Store) {
    let key = split("create");
    let first = create(store, &key, Record::Split(Box::new(record("create")))).await;
    let second = Record::Split(Box::new(full_split("create")));
    assert_eq!(store.create(&key, second).await.unwrap(), Swap::Lost);
    let kept = read(store, &key).await.unwrap();
    assert_eq!((kept.revision, kept.record), (first, Record::Split(Box::new(record("create")))));
}

async fn a_swap_takes_only_what_was_read(store: &dyn Store) {
    let key = Key::Page(PageId::new("swap"));
    let first = create(store, &key, Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")))).await;
    let second = done(store.swap(&key, &first, Record::Page(full_page())).await.unwrap());
    assert_eq!(first.uid, second.uid);
    assert_ne!(first.revision, second.revision);
    let other = LedgerPage::empty(Incarnation::new("uid/0b"));
    assert_eq!(store.swap(&key, &first, Record::Page(other.clone())).await.unwrap(), Swap::Lost);
    let foreign = ObjectRevision { uid: "no-such-uid".into(), ..second.clone() };
    assert_eq!(store.swap(&key, &foreign, Record::Page(other.clone())).await.unwrap(), Swap::Lost);
    assert_eq!(store.swap(&Key::Page(PageId::new("nowhere")), &second, Record::Page(other)).await.unwrap(), Swap::Lost);
    let kept = read(store, &key).await.unwrap();
    assert_eq!((kept.revision, kept.record), (second, Record::Page(full_page())));
}

async fn a_deletion_takes_only_what_was_read(store: &dyn Store) {
    let key = Key::Page(PageId::new("delete"));
    let first = create(store, &key, Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")))).await;
    let second = done(store.swap(&key, &first, Record::Page(full_page())).await.unwrap());
    assert_eq!(store.delete(&key, &first).await.unwrap(), Deletion::Lost);
    assert!(read(store, &key).await.is_some());
    assert_eq!(store.delete(&key, &second).await.unwrap(), Deletion::Done);
    assert_eq!(store.delete(&key, &second).await.unwrap(), Deletion::Lost);
    assert_eq!(read(store, &key).await, None);
}

async fn a_key_made_again_is_another_object(store: &dyn Store) {
    let key = split("again");
    let old = create(store, &key, Record::Split(Box::new(record("again")))).await;
    assert_eq!(store.delete(&key, &old).await.unwrap(), Deletion::Done);
    let new = create(store, &key, Record::Split(Box::new(record("again")))).await;
    assert_ne!(old.uid, new.uid);
    assert_ne!(old.revision, new.revision);
    assert_eq!(store.swap(&key, &old, Record::Split(Box::new(full_split("again")))).await.unwrap(), Swap::Lost);
    assert_eq!(store.delete(&key, &old).await.unwrap(), Deletion::Lost);
    assert_eq!(read(store, &key).await.unwrap().revision, new);
}

async fn a_worker_is_written_by_parts(store: &dyn Store) {
    let key = Key::Worker(WorkerName::new("w-parts"));
    let first = create(store, &key, Record::Worker(worker(1))).await;
    let second = done(store.swap(&key, &first, Record::Assignment(assignment(1))).await.unwrap());
    assert_eq!(store.swap(&key, &first, Record::Status(worker(2).status)).await.unwrap(), Swap::Lost);
    let third = done(store.swap(&key, &second, Record::Status(worker(2).status)).await.unwrap());
    let both = WorkerRecord { assignment: Some(assignment(1)), ..worker(2) };
    assert_eq!(read(store, &key).await, Some(Known { revision: third, record: Record::Worker(both) }));
}

async fn a_heartbeat_is_made_and_renewed_once_each(store: &dyn Store) {
    let key = Key::Beat(WorkerName::new("w-beat"));
    let first = done(store.heartbeat(&key, None, beat(1)).await.unwrap());
    assert_eq!(store.heartbeat(&key, None, beat(1)).await.unwrap(), Swap::Lost);
    let second = done(store.heartbeat(&key, Some(&first), beat(2)).await.unwrap());
    assert_eq!(store.heartbeat(&key, Some(&first), beat(3)).await.unwrap(), Swap::Lost);
    assert_eq!(read(store, &key).await, Some(Known { revision: second, record: Record::Beat(beat(2)) }));
}

async fn a_list_has_all_of_its_kind_once(store: &dyn Store) {
    let wanted: BTreeSet<Key> = (0..600).map(|number| Key::Page(PageId::new(&format!("list-{number:03}")))).collect();
    for key in &wanted {
        create(store, key, Record::Page(LedgerPage::empty(Incarnation::new("uid/0a")))).await;
    }
    create(store, &split("list"), Record::Split(Box::new(record("list")))).await;
    let (objects, _) = list_all(store, Kind::Page).await.unwrap();
    let found: Vec<&Key> = objects.iter().map(|(key, _)| key).filter(|key| key.to_string().contains("page list-")).collect();
    assert_eq!((found.len(), found.into_iter().cloned().collect()), (600, wanted));
    assert!(objects.iter().all(|(key, _)| key.kind() == Kind::Page));
}

async fn a_watch_shows_what_changed_after_its_list(store: &dyn Store) {
    let [old, kept, gone, new] = ["watch-old", "watch-kept", "watch-gone", "watch-new"].map(split);
    for key in [&old, &kept, &gone] {
        create(store, key, Record::Split(Box::new(record("watch")))).await;
    }
    let (_, cursor) = list_all(store, Kind::Split).await.unwrap();
    let mut watch = store.watch(Kind::Split, cursor);
    let at = read(store, &kept).await.unwrap().revision;
    let swapped = done(store.swap(&kept, &at, Record::Split(Box::new(full_split("watch")))).await.unwrap());
    let at = read(store, &gone).await.unwrap().revision;
    store.delete(&gone, &at).await.unwrap();
    let made = create(store, &new, Record::Split(Box::new(record("watch")))).await;
    let mut left: Vec<Hint> = vec![
        Hint { key: kept, known: Some(Known { revision: swapped, record: Record::Split(Box::new(full_split("watch"))) }) },
        Hint { key: gone, known: None },
        Hint { key: new, known: Some(Known { revision: made, record: Record::Split(Box::new(record("watch"))) }) },
    ];
    while !left.is_empty() {
        for hint in watch.next().await.unwrap() {
            assert_ne!(hint.key, old, "nothing happened to it after the list");
            left.retain(|wanted| *wanted != hint);
        }
    }
}
