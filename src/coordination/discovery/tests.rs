//! Listings beside records, and rounds over a store in memory.

use super::{Discovery, Listing, Records};
use crate::coordination::election::Lead;
use crate::coordination::leader::Stop;
use crate::coordination::records::SplitState::{Completed, Open, Waiting};
use crate::coordination::records::{
    Descriptor, Entry, Incarnation, LedgerPage, MadeBy, PageId, PlanRecord, Shard, SplitRecord, SplitState,
};
use crate::coordination::source::{Discovered, Planned, Planner};
use crate::coordination::store::{Key, Known, Memory, ObjectRevision, Record, Store};
use crate::env::Simulation;
use crate::error::Code;
use crate::flow::{ErrorClass, SourceError, SplitEpoch, SplitId, StateHead};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

fn shard(name: &str, parents: &[&str]) -> Shard {
    let parents = parents.iter().map(|name| SplitId::new(name)).collect();
    Shard { split: SplitId::new(name), descriptor: Descriptor::default(), parents }
}

fn plan(initial: &[Shard]) -> PlanRecord {
    PlanRecord { stream: "s".into(), start: None, initial: initial.to_vec(), has_run: true, whole: true, is_final: false }
}

fn record(shard: &Shard, state: SplitState) -> SplitRecord {
    SplitRecord { state, opened: state != SplitState::Waiting, ..SplitRecord::unopened(shard, MadeBy::Driver) }
}

fn records(known: &[(Shard, SplitState)]) -> Records {
    let revision = ObjectRevision { uid: "1".into(), revision: "7".into() };
    known.iter().map(|(shard, state)| (shard.split.clone(), (revision.clone(), record(shard, *state)))).collect()
}

fn names(made: &[(SplitId, SplitRecord)]) -> Vec<(&str, SplitState)> {
    made.iter().map(|(split, record)| (split.as_str(), record.state)).collect()
}

#[test]
fn what_has_no_record_gets_one_that_waits_parents_before_children() {
    let (root, child, a) = (shard("root", &[]), shard("z-child", &["root"]), shard("a-grandchild", &["z-child", "other"]));
    let other = shard("other", &["root"]);
    let known = records(&[(root.clone(), Open)]);
    let plan = plan(std::slice::from_ref(&root));
    let made = Listing::new(&plan, &known, vec![a.clone(), other, child, root]).missing();
    assert_eq!(names(&made), [("other", Waiting), ("z-child", Waiting), ("a-grandchild", Waiting)]);
    let last = &made[2].1;
    assert_eq!((&last.base.inherits, last.by, last.opened), (&a.parents, MadeBy::Listing, false));
}

#[test]
fn i19_what_was_closed_before_the_start_counts_as_read_however_far_back() {
    let (first, second, initial) = (shard("first", &[]), shard("second", &["first"]), shard("initial", &["second"]));
    let known = records(&[(initial.clone(), Waiting)]);
    let plan = plan(std::slice::from_ref(&initial));
    let listing = Listing::new(&plan, &known, vec![first, second, initial]);
    assert!(!listing.misses_any());
    assert_eq!(names(&listing.missing()), []);
    assert_eq!(listing.freed(), []);
}

#[test]
fn i19_an_initial_split_whose_record_is_gone_waits_for_nothing_from_before_the_start() {
    let (before, initial) = (shard("before", &[]), shard("initial", &["before"]));
    let known = records(&[]);
    let plan = plan(std::slice::from_ref(&initial));
    let made = Listing::new(&plan, &known, vec![before, initial]).missing();
    assert_eq!(names(&made), [("initial", Waiting)]);
    assert!(made[0].1.may_follow(&SplitId::new("before"), None), "it has no record, and never gets one");
}

#[test]
fn i12_what_an_opened_split_came_from_is_not_read_again_and_its_state_is_lost() {
    let chain = [shard("0", &[]), shard("1", &["0"]), shard("2", &["1"]), shard("3", &["2"])];
    // The records of 1 and 2 were deleted; of 0 there is one.
    let known = records(&[(chain[0].clone(), Completed), (chain[3].clone(), Open)]);
    let made = Listing::new(&plan(&chain[..1]), &known, chain.to_vec()).missing();
    assert_eq!(names(&made), [("1", Completed), ("2", Completed)]);
    assert!(made.iter().all(|(_, record)| record.base.head == Some(StateHead::Lost) && record.opened));
    // The same with a child that nobody has opened: they are read, each at its oldest record.
    let known = records(&[(chain[0].clone(), Completed), (chain[3].clone(), Waiting)]);
    let made = Listing::new(&plan(&chain[..1]), &known, chain.to_vec()).missing();
    assert_eq!(names(&made), [("1", Waiting), ("2", Waiting)]);
}

#[test]
fn i45_a_parent_that_is_nowhere_is_waited_for_until_a_listing_after_the_record() {
    let (root, orphan) = (shard("root", &[]), shard("orphan", &["trimmed", "root"]));
    let plan = plan(std::slice::from_ref(&root));
    let listed = vec![root.clone(), orphan.clone()];
    let known = records(&[(root.clone(), Open)]);
    let first = Listing::new(&plan, &known, listed.clone());
    let made = first.missing();
    assert_eq!((names(&made), first.freed()), (vec![("orphan", Waiting)], Vec::new()));
    assert!(!made[0].1.may_follow(&SplitId::new("trimmed"), None));

    let known = records(&[(root.clone(), Open), (orphan.clone(), Waiting)]);
    let freed = Listing::new(&plan, &known, listed.clone()).freed();
    let [(split, revision, record)] = &freed[..] else { panic!("{freed:?}") };
    assert_eq!((split.as_str(), &*revision.revision), ("orphan", "7"), "the very record that was read");
    assert_eq!(record.base.inherits, [SplitId::new("root")]);
    assert!(record.may_follow(&SplitId::new("trimmed"), None) && !record.may_follow(&SplitId::new("root"), None));
}

#[test]
fn i17_no_split_is_freed_that_is_open_or_not_listed_or_whose_parent_is_anywhere() {
    let (root, child, parent) = (shard("root", &[]), shard("child", &["parent"]), shard("parent", &[]));
    let plan = plan(std::slice::from_ref(&root));
    for (known, listed) in [
        (vec![(child.clone(), Open)], vec![child.clone()]),
        (vec![(child.clone(), Waiting)], vec![root.clone()]),
        (vec![(child.clone(), Waiting)], vec![child.clone(), parent.clone()]),
        (vec![(child.clone(), Waiting), (parent.clone(), Open)], vec![child.clone()]),
    ] {
        let known = records(&known);
        assert_eq!(Listing::new(&plan, &known, listed.clone()).freed(), [], "{listed:?}");
    }
}

#[test]
fn i40_a_split_with_entries_is_not_begun_anew_and_its_children_wait_for_it() {
    let (root, child, grandchild) = (shard("root", &[]), shard("child", &["root"]), shard("grandchild", &["child"]));
    let known = records(&[(root.clone(), Completed)]);
    let plan = plan(std::slice::from_ref(&root));
    let mut listing = Listing::new(&plan, &known, vec![root, child.clone(), grandchild]);
    listing.entered = BTreeSet::from([child.split.clone()]);
    assert_eq!((names(&listing.missing()), listing.lost()), (Vec::new(), vec![child.split]));
}

/// A stream whose listing is told; while it is made, a reader makes a record.
struct Told {
    listed: Result<Vec<Shard>, SourceError>,
    meanwhile: Option<(Arc<Memory>, SplitRecord)>,
}

impl Planner for Told {
    fn plan(&self) -> Planned<'_> {
        unreachable!("the plan stands")
    }

    fn discover<'a>(&'a self, _: &'a Arc<str>) -> Discovered<'a> {
        Box::pin(async {
            if let Some((store, record)) = &self.meanwhile {
                let made = store.create(&Key::Split(SplitId::new("child")), Record::Split(Box::new(record.clone()))).await;
                assert!(made.is_ok());
            }
            self.listed.clone()
        })
    }
}

fn stands(store: &Memory, name: &str) -> Option<SplitRecord> {
    match store.snapshot().remove(&Key::Split(SplitId::new(name))) {
        Some(Known { record: Record::Split(record), .. }) => Some(*record),
        other => other.map(|other| panic!("{other:?}")),
    }
}

/// One round over a store with a plan, the record of a root and a page with these entries.
fn round(planner: impl FnOnce(&Arc<Memory>) -> Told + Send + 'static, entries: &[&str]) -> (Arc<Memory>, Result<Vec<SplitId>, Code>) {
    let simulation = Simulation::new(1);
    let (env, store) = (simulation.env(), Arc::new(Memory::new()));
    let answer = Arc::new(parking_lot::Mutex::new(None));
    let root = shard("root", &[]);
    let mut page = LedgerPage::empty(Incarnation::new("pod/1"));
    page.entries.extend(entries.iter().map(|name| ((SplitId::new(name), SplitEpoch::new(3)), Entry::default())));
    let (told, given) = (answer.clone(), store.clone());
    let tasks = simulation.env();
    let work = async move {
        let first = [
            (Key::Plan, Record::Plan(plan(std::slice::from_ref(&root)))),
            (Key::Split(root.split.clone()), Record::Split(Box::new(record(&root, Open)))),
            (Key::Page(PageId::new("p")), Record::Page(page)),
        ];
        for (key, record) in first {
            given.create(&key, record).await.unwrap();
        }
        let lead = Arc::new(Lead::new(Duration::from_secs(20)));
        lead.take_for_test(env.clock().monotonic(), 4);
        let planner = Arc::new(planner(&given));
        let discovery = Discovery { env, store: given, lead, planner, pause: Duration::from_secs(10) };
        let found = discovery.round(4).await.map_err(|stop| match stop {
            Stop::Source(error) => error.code,
            Stop::Store => Code::STORE_UNREACHABLE,
        });
        *told.lock() = Some(found);
    };
    tasks.tasks().spawn("test", Box::pin(work));
    simulation.run(Duration::from_mins(1));
    let answer = answer.lock().take().unwrap();
    (store, answer)
}

fn told(listed: &[Shard]) -> Told {
    Told { listed: Ok(listed.to_vec()), meanwhile: None }
}

#[test]
fn a_round_makes_the_records_that_are_missing() {
    let child = shard("child", &["root"]);
    let (store, answer) = round(move |_| told(&[shard("root", &[]), child]), &["root"]);
    assert_eq!(answer, Ok(Vec::new()));
    assert_eq!(stands(&store, "child"), Some(SplitRecord::unopened(&shard("child", &["root"]), MadeBy::Listing)));
    assert_eq!(stands(&store, "root").map(|record| record.state), Some(Open));
}

#[test]
fn i45_a_record_that_a_reader_makes_while_the_stream_is_listed_stays_as_it_is() {
    let child = shard("child", &["root"]);
    let made = record(&child, Completed);
    let before = made.clone();
    let (store, answer) =
        round(move |store| Told { listed: Ok(vec![shard("root", &[]), child]), meanwhile: Some((store.clone(), made)) }, &[]);
    assert_eq!((answer, stands(&store, "child")), (Ok(Vec::new()), Some(before)));
}

#[test]
fn i45_a_listing_frees_no_record_that_was_made_after_it_began() {
    let child = shard("child", &["trimmed"]);
    let made = record(&child, Waiting);
    let before = made.clone();
    let (store, answer) = round(move |store| Told { listed: Ok(vec![child]), meanwhile: Some((store.clone(), made)) }, &[]);
    assert_eq!((answer, stands(&store, "child")), (Ok(Vec::new()), Some(before)));
}

#[test]
fn a_split_that_has_entries_and_no_record_is_told_of_and_not_made() {
    let (store, answer) = round(|_| told(&[shard("root", &[]), shard("child", &["root"])]), &["child"]);
    assert_eq!((answer, stands(&store, "child")), (Ok(vec![SplitId::new("child")]), None));
}

#[test]
fn what_the_source_says_against_a_listing_is_passed_on() {
    let error = SourceError { class: ErrorClass::Retryable, code: Code::KINESIS_FAILED, message: "torn".into() };
    let (_, answer) = round(|_| Told { listed: Err(error), meanwhile: None }, &[]);
    assert_eq!(answer, Err(Code::KINESIS_FAILED));
}
