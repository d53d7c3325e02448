//! Shards into lanes, and their places in commits.

use super::{HOUR, MINUTE, SECOND, simulate};
use crate::fake_kinesis::{Asked, Fake, Trouble};
use crate::kinesis_reading::{From, Reading, opened, resumed};
use millrace::coordination::records::Progress;
use millrace::coordination::source::{Planner, SplitProgress, SplitSource};
use millrace::env::Env;
use millrace::error::Code;
use millrace::flow::{ErrorClass, Ordinal, SplitId};
use millrace::kinesis::Class;
use millrace::source::QueueLimits;
use millrace::source::kinesis::{KinesisPlanner, Notice, StartRule};
use std::sync::Arc;

fn from(fake: &Fake) -> From {
    From::beginning(fake.identity(), fake.retention())
}

/// From this start: a plan's text, or none for the oldest record.
fn open(env: &Env, fake: &Arc<Fake>, shard: &str, start: Option<&str>) -> Reading {
    Reading::open(env, fake.clone(), shard, From { start: start.map(Arc::from), ..from(fake) })
}

/// From the oldest record, into a queue of so many records.
fn with_queue(env: &Env, fake: &Arc<Fake>, shard: &str, records: usize) -> Reading {
    Reading::open(env, fake.clone(), shard, From { limits: QueueLimits { records, bytes: 1 << 20 }, ..from(fake) })
}

/// From a position, in the stream as it is now.
fn resume(env: &Env, fake: &Arc<Fake>, shard: &str, position: &str) -> Reading {
    let resume = Progress { position: Some(position.into()), ..Progress::default() };
    Reading::open(env, fake.clone(), shard, From { resume, ..from(fake) })
}

/// From a committed place.
fn resume_at(env: &Env, fake: &Arc<Fake>, shard: &str, place: &SplitProgress) -> Reading {
    Reading::open(env, fake.clone(), shard, From { resume: resumed(place), ..from(fake) })
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

fn write(fake: &Fake, shard: &str, range: std::ops::Range<usize>) {
    for number in range {
        fake.write(shard, &number.to_string());
    }
}

/// A shard with 25 records that was split, read in pages of 10.
fn closed(env: &Env, empty_pages: u32) -> (Arc<Fake>, Arc<str>, [Arc<str>; 2]) {
    let fake = Fake::new(env, 1);
    fake.set_pages(1_000, 10);
    let shard = fake.shards()[0].clone();
    write(&fake, &shard, 0..25);
    fake.set_empty_pages(&shard, empty_pages);
    let children = fake.split(&shard);
    (fake, shard, children)
}

#[test]
fn scenario_02_the_page_with_the_null_iterator_gives_its_records_and_the_end_comes_once_all_is_acknowledged() {
    simulate(HOUR, |env| async move {
        for empty_pages in [0, 1, 50] {
            let (fake, shard, children) = closed(&env, empty_pages);
            let mut reading = open(&env, &fake, &shard, None);
            assert_eq!(reading.until_its_end().await, numbers(0..25));
            assert_eq!(reading.source.take_finishing(), std::slice::from_ref(&reading.split));
            assert!(reading.source.take_finishing().is_empty(), "it is told once");
            let almost = reading.commit(24);
            assert!(!almost.completed && almost.children.is_empty());
            assert!(reading.source.sweep(&reading.split, Ordinal::new(24)).unwrap().is_none());
            let end = reading.commit(25);
            assert!(end.completed);
            let found: Vec<_> = end.children.iter().map(|child| (child.descriptor.shard.clone(), child.parents.clone())).collect();
            assert_eq!(found, children.map(|child| (child, vec![SplitId::new(&shard)])));
            assert_eq!(end.children[1].descriptor.hash_range, Some(((1_u128 << 127).to_string().into(), u128::MAX.to_string().into())));
            assert_eq!(reading.source.sweep(&reading.split, Ordinal::new(25)).unwrap(), Some(end), "nothing new was read since");
        }
    });
}

#[test]
fn scenario_02_an_empty_shard_that_was_split_ends_without_a_record() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        fake.split(&shard);
        let mut reading = open(&env, &fake, &shard, None);
        assert!(reading.until_its_end().await.is_empty());
        let end = reading.source.sweep(&reading.split, Ordinal::default()).unwrap().unwrap();
        assert!(end.completed && end.children.len() == 2 && end.position.is_none());
    });
}

#[test]
fn both_parents_of_a_merge_name_their_child() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 2);
        let [low, high] = <[Arc<str>; 2]>::try_from(fake.shards()).unwrap();
        let child = fake.merge(&low, &high);
        for parent in [&low, &high] {
            let mut reading = open(&env, &fake, parent, None);
            reading.until_its_end().await;
            let end = reading.source.sweep(&reading.split, Ordinal::default()).unwrap().unwrap();
            assert_eq!(end.children[0].descriptor.shard, child);
            assert_eq!(end.children[0].parents, [SplitId::new(&low), SplitId::new(&high)]);
        }
    });
}

#[test]
fn scenario_06_latest_crash_before_the_first_commit_split_restart_loses_nothing() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 2);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..3);
        env.clock().sleep(10 * SECOND).await;
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::Latest).plan().await.unwrap();
        assert_eq!(plan.initial.len(), 2);
        env.clock().sleep(SECOND).await;
        write(&fake, &shard, 3..6);
        // Read by somebody who dies before the first commit.
        let mut lost = open(&env, &fake, &shard, plan.start.as_deref());
        assert_eq!(lost.until_quiet(MINUTE, &env).await, numbers(3..6));
        drop(lost);
        let [child, _] = fake.split(&shard);
        write(&fake, &child, 6..9);
        env.clock().sleep(10 * MINUTE).await;
        // The plan stands: a restart resolves nothing anew.
        let mut parent = open(&env, &fake, &shard, plan.start.as_deref());
        assert_eq!(parent.until_its_end().await, numbers(3..6));
        assert!(!plan.initial.iter().any(|initial| initial.descriptor.shard == child), "so it opens at its oldest record");
        let mut child = open(&env, &fake, &child, None);
        assert_eq!(child.records(3).await, numbers(6..9));
    });
}

#[test]
fn scenario_06_a_timestamp_start_takes_what_arrived_then_and_all_of_the_children() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        env.clock().sleep(MINUTE).await;
        write(&fake, &shard, 0..3);
        env.clock().sleep(MINUTE).await;
        let moment = fake.now();
        write(&fake, &shard, 3..5);
        env.clock().sleep(SECOND).await;
        let [child, _] = fake.split(&shard);
        write(&fake, &child, 5..7);
        env.clock().sleep(MINUTE).await;
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::Timestamp(moment)).plan().await.unwrap();
        let initial: Vec<_> = plan.initial.iter().map(|shard| shard.descriptor.shard.clone()).collect();
        assert_eq!(initial, std::slice::from_ref(&shard));
        let mut parent = open(&env, &fake, &shard, plan.start.as_deref());
        assert_eq!(parent.until_its_end().await, numbers(3..5));
        assert_eq!(parent.commit(2).children.len(), 2);
        let mut child = open(&env, &fake, &child, None);
        assert_eq!(child.records(2).await, numbers(5..7));
    });
}

#[test]
fn scenario_12_a_timestamp_ahead_of_the_service_is_its_now_and_reads_without_trouble() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        env.clock().sleep(10 * SECOND).await;
        fake.set_behind(SECOND * 3 / 10);
        let ours = env.clock().wall_micros();
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::Timestamp(ours)).plan().await.unwrap();
        let mut reading = open(&env, &fake, &shard, plan.start.as_deref());
        env.clock().sleep(SECOND / 10).await;
        assert!(reading.source.reports().troubles().is_empty());
        write(&fake, &shard, 0..2);
        assert_eq!(reading.records(2).await, numbers(0..2));
    });
}

#[test]
fn scenario_12_a_position_that_the_service_calls_invalid_fails_the_split_and_never_begins_elsewhere() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..3);
        let mut reading = resume(&env, &fake, &shard, "after/12345");
        let error = reading.failure().await;
        assert_eq!((error.class, error.code), (ErrorClass::Record, Code::POSITION_INVALID));
        assert!(error.message.contains("another name"), "{error}");
        assert!(iterators(&fake).iter().all(|start| start == "At(12345)"), "{:?}", iterators(&fake));
        let unread = reading.source.validate_resume(&reading.split, &opened("sideways").resume).unwrap_err();
        assert_eq!((unread.class, unread.code), (ErrorClass::Record, Code::POSITION_INVALID));
    });
}

#[test]
fn i21_a_recreated_stream_is_never_read_from_old_positions() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..3);
        let mut reading = open(&env, &fake, &shard, None);
        reading.records(3).await;
        let place = reading.commit(3);
        env.clock().sleep(MINUTE).await;
        fake.recreate();
        fake.breaks(|asked| (asked.call != "DescribeStreamSummary").then_some(Trouble::Fault(Class::NotFound)));
        let error = reading.failure().await;
        assert_eq!((error.class, error.code), (ErrorClass::Fatal, Code::STREAM_RECREATED));
        fake.breaks(|asked| (asked.call == "GetShardIterator").then_some(Trouble::Fault(Class::Invalid)));
        let old = From { identity: reading.identity.clone(), resume: resumed(&place), ..from(&fake) };
        let mut again = Reading::open(&env, fake.clone(), &shard, old);
        assert_eq!(again.failure().await.code, Code::STREAM_RECREATED);
    });
}

fn iterators(fake: &Fake) -> Vec<String> {
    fake.asked().into_iter().filter(|asked| asked.call == "GetShardIterator").map(|asked| asked.from).collect()
}

#[test]
fn scenario_14_minutes_of_a_blocked_sink_repeat_nothing_and_hold_no_more_than_the_queue_may() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        fake.set_pages(1_000, 10);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..200);
        let mut reading = with_queue(&env, &fake, &shard, 20);
        assert_eq!(reading.records(10).await, numbers(0..10));
        env.clock().sleep(6 * MINUTE).await;
        let calls = fake.asked().len();
        assert!(calls <= 8, "a full queue is not read for: {calls}");
        assert_eq!(reading.records(190).await, numbers(10..200));
        assert!(iterators(&fake).len() > 1, "the iterator had run out");
        // And an idle shard is still read.
        env.clock().sleep(6 * MINUTE).await;
        write(&fake, &shard, 200..201);
        assert_eq!(reading.records(1).await, numbers(200..201));
    });
}

#[test]
fn scenario_15_throttling_and_failures_lose_nothing_keep_the_call_budget_and_are_no_error() {
    let mut calls = 0_u32;
    let trouble = move |asked: &Asked| {
        if asked.call != "GetRecords" {
            return None;
        }
        calls += 1;
        let class = match calls {
            60..70 => Class::Failed,
            calls if calls.is_multiple_of(10) => Class::Throttled,
            _ => return None,
        };
        Some(Trouble::Fault(class))
    };
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        fake.set_pages(1_000, 10);
        fake.set_latency(SECOND / 4);
        fake.breaks(trouble);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..1_000);
        let mut reading = open(&env, &fake, &shard, None);
        assert_eq!(reading.records(1_000).await, numbers(0..1_000));
        let before = fake.asked().len();
        env.clock().sleep(MINUTE).await;
        let idle = fake.asked().len() - before;
        assert!((35..=61).contains(&idle), "an idle shard is asked once a second: {idle}");
        write(&fake, &shard, 1_000..1_010);
        assert_eq!(reading.records(10).await, numbers(1_000..1_010));
        assert_eq!(fake.over_limit(), 0, "more calls than a shard allows");
        assert!(reading.source.reports().troubles().is_empty() && reading.source.reports().take_notices().is_empty());
    });
}

#[test]
fn large_pages_keep_the_byte_budget() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        let large = "7".repeat(900_000);
        for _ in 0..30 {
            fake.write(&shard, &large);
        }
        let mut reading = open(&env, &fake, &shard, None);
        assert_eq!(reading.records(30).await.len(), 30);
        assert_eq!(fake.over_limit(), 0);
        assert!(env.clock().monotonic() > 8 * SECOND, "27 MB at 2 MiB a second, the last page unpaid");
    });
}

#[test]
fn scenario_16_an_endpoint_that_never_answers_is_asked_again() {
    for call in ["GetShardIterator", "GetRecords"] {
        let mut first = true;
        simulate(HOUR, move |env| async move {
            let fake = Fake::new(&env, 1);
            fake.breaks(move |asked| (asked.call == call && std::mem::take(&mut first)).then_some(Trouble::Hang));
            let shard = fake.shards()[0].clone();
            write(&fake, &shard, 0..3);
            let mut reading = open(&env, &fake, &shard, None);
            assert_eq!(reading.records(3).await, numbers(0..3));
            let took = env.clock().monotonic();
            assert!((30 * SECOND..40 * SECOND).contains(&took), "{call}: {took:?}");
        });
    }
}

#[test]
fn scenario_17_what_somebody_must_mend_is_shown_until_it_is_mended_and_loses_nothing() {
    simulate(HOUR, |env| async move {
        for (class, code) in [(Class::Denied, Code::KINESIS_DENIED), (Class::EncryptionKey, Code::ENCRYPTION_KEY_UNUSABLE)] {
            let fake = Fake::new(&env, 1);
            let shard = fake.shards()[0].clone();
            let mut reading = open(&env, &fake, &shard, None);
            write(&fake, &shard, 0..3);
            assert_eq!(reading.records(3).await, numbers(0..3));
            fake.breaks(move |asked| (asked.call == "GetRecords").then_some(Trouble::Fault(class)));
            write(&fake, &shard, 3..6);
            let begun = fake.asked().len();
            env.clock().sleep(3 * MINUTE).await;
            assert_eq!(reading.source.reports().troubles()[0].1.code, code);
            assert!(fake.asked().len() - begun < 20, "it is tried slowly");
            fake.works();
            assert_eq!(reading.records(3).await, numbers(3..6));
            env.clock().sleep(SECOND).await;
            assert!(reading.source.reports().troubles().is_empty());
        }
    });
}

#[test]
fn an_end_that_no_child_confirms_is_settled_by_a_listing() {
    simulate(HOUR, |env| async move {
        // Still open: read on.
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        let mut left = 12;
        fake.breaks(move |asked| {
            left -= usize::from(asked.call == "GetRecords" && left > 0);
            (asked.call == "GetRecords" && left > 0).then_some(Trouble::NoIterator)
        });
        write(&fake, &shard, 0..3);
        let mut reading = open(&env, &fake, &shard, None);
        assert_eq!(reading.records(3).await, numbers(0..3));
        assert!(fake.asked().iter().any(|asked| asked.call == "ListShards"));
        // Closed, but its answers never name the children.
        fake.breaks(|asked| (asked.call == "GetRecords").then_some(Trouble::NoIterator));
        fake.split(&shard);
        assert!(reading.until_its_end().await.is_empty());
        assert_eq!(reading.commit(3).children.len(), 2);
    });
}

#[test]
fn a_gap_is_reported_only_if_something_unread_can_be_in_it() {
    simulate(100 * HOUR, |env| async move {
        // Whether the reader was at the tip until shortly before, and whether something is there when it reads on.
        for (watched, there) in [(true, true), (true, false), (false, true), (false, false)] {
            let fake = Fake::new(&env, 1);
            fake.set_retention(HOUR);
            let shard = fake.shards()[0].clone();
            write(&fake, &shard, 0..3);
            let mut reading = open(&env, &fake, &shard, None);
            reading.records(3).await;
            if watched {
                env.clock().sleep(2 * HOUR).await;
            }
            env.clock().sleep(2 * SECOND).await;
            let place = reading.commit(3);
            reading.source.close_split(&reading.split);
            if !watched {
                write(&fake, &shard, 3..4);
                env.clock().sleep(2 * HOUR).await;
            }
            if there {
                write(&fake, &shard, 4..5);
            }
            let mut again = resume_at(&env, &fake, &shard, &place);
            env.clock().sleep(10 * SECOND).await;
            if !there {
                write(&fake, &shard, 4..5);
            }
            assert_eq!(again.records(1).await, numbers(4..5));
            let notices = again.source.reports().take_notices();
            assert_eq!(notices.len(), usize::from(!watched), "{watched} {there}: {notices:?}");
            if let Some(Notice::Gap { after, next, since, until, .. }) = notices.first() {
                assert!(after.is_some() && next.is_some() == there && since < until && *since == place.tip_time, "{notices:?}");
            }
        }
    });
}

#[test]
fn empty_pages_with_a_lag_of_all_that_is_kept_lead_to_the_oldest_record() {
    simulate(100 * HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        fake.set_retention(HOUR);
        let shard = fake.shards()[0].clone();
        let gone = fake.write(&shard, "0");
        env.clock().sleep(2 * HOUR).await;
        write(&fake, &shard, 1..4);
        fake.set_sticky(true);
        let mut reading = resume(&env, &fake, &shard, &format!("after/{gone}"));
        assert_eq!(reading.records(3).await, numbers(1..4));
        assert!(matches!(&reading.source.reports().take_notices()[..], [Notice::Gap { after: Some(_), next: None, .. }]));
    });
}

#[test]
fn scenario_11_a_shard_that_expired_while_nobody_read_it_is_reported_and_its_children_are_read() {
    simulate(100 * HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        fake.set_retention(HOUR);
        let shard = fake.shards()[0].clone();
        let sequence = fake.write(&shard, "0");
        write(&fake, &shard, 1..3);
        let [low, _] = fake.split(&shard);
        env.clock().sleep(2 * HOUR).await;
        write(&fake, &low, 3..5);
        let mut reading = resume(&env, &fake, &shard, &format!("after/{sequence}"));
        assert!(reading.until_its_end().await.is_empty());
        assert!(
            matches!(&reading.source.reports().take_notices()[..], [Notice::Gap { after: Some(after), next: None, .. }] if *after == sequence)
        );
        let end = reading.source.sweep(&reading.split, Ordinal::default()).unwrap().unwrap();
        assert!(end.completed && end.children.len() == 2);
        let mut child = open(&env, &fake, &low, None);
        assert_eq!(child.records(2).await, numbers(3..5));
    });
}

#[test]
fn a_lag_near_the_retention_is_said_once() {
    simulate(100 * HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        fake.set_retention(HOUR);
        fake.set_pages(1_000, 1);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..5);
        env.clock().sleep(50 * MINUTE).await;
        let mut reading = open(&env, &fake, &shard, None);
        reading.records(5).await;
        env.clock().sleep(SECOND).await;
        let notices = reading.source.reports().take_notices();
        assert!(matches!(notices[..], [Notice::RetentionAtRisk { behind, .. }] if behind >= 48 * 60_000), "{notices:?}");
    });
}

#[test]
fn a_drain_ends_where_intake_stopped_and_whoever_reads_on_repeats_nothing() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        fake.set_pages(1_000, 10);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..200);
        let mut reading = with_queue(&env, &fake, &shard, 20);
        assert_eq!(reading.records(10).await, numbers(0..10));
        env.clock().sleep(MINUTE).await;
        assert!(reading.source.begin_revoke(&reading.split));
        env.clock().sleep(MINUTE).await;
        // Two pages are in the queue; the third was not taken, and is not given.
        assert!(reading.source.drain_ready(&reading.split, Ordinal::new(10)).unwrap().is_none());
        assert_eq!(reading.records(20).await, numbers(10..30));
        assert!(reading.source.drain_ready(&reading.split, Ordinal::new(29)).unwrap().is_none());
        let place = reading.source.drain_ready(&reading.split, Ordinal::new(30)).unwrap().unwrap();
        assert_eq!(reading.source.drain_ready(&reading.split, Ordinal::new(30)).unwrap(), Some(place.clone()), "on every call");
        let calls = fake.asked().len();
        env.clock().sleep(MINUTE).await;
        assert_eq!(fake.asked().len(), calls, "nothing is read while it drains");
        // Taken back, it reads on.
        assert!(reading.source.resume_intake(&reading.split));
        assert_eq!(reading.records(70).await, numbers(30..100));
        // Elsewhere, from the drained place.
        let mut next = resume_at(&env, &fake, &shard, &place);
        assert_eq!(next.records(170).await, numbers(30..200));
    });
}

#[test]
fn a_drain_is_over_only_once_the_fetcher_rests() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..3);
        let mut reading = open(&env, &fake, &shard, None);
        reading.records(3).await;
        env.clock().sleep(10 * SECOND).await;
        let at = Ordinal::new(3);
        assert!(reading.source.drain_ready(&reading.split, at).unwrap().is_none(), "nobody asked for it");
        assert!(reading.source.begin_revoke(&reading.split));
        assert!(reading.source.drain_ready(&reading.split, at).unwrap().is_none(), "the fetcher has not heard of it");
        env.clock().sleep(SECOND).await;
        assert!(reading.source.drain_ready(&reading.split, at).unwrap().is_some());
    });
}

#[test]
fn i12_a_drain_never_completes_a_split() {
    simulate(HOUR, |env| async move {
        let (fake, shard, _) = closed(&env, 0);
        let mut reading = open(&env, &fake, &shard, None);
        reading.until_its_end().await;
        assert!(reading.source.begin_revoke(&reading.split));
        let place = reading.source.drain_ready(&reading.split, Ordinal::new(25)).unwrap().unwrap();
        assert!(!place.completed && place.children.is_empty());
        // Its next owner finds the end without a new record.
        let mut next = resume_at(&env, &fake, &shard, &place);
        assert!(next.until_its_end().await.is_empty());
        assert!(next.source.sweep(&next.split, Ordinal::default()).unwrap().unwrap().completed);
        assert!(next.source.reports().take_notices().is_empty());
    });
}

#[test]
fn an_idle_shards_tip_is_known_and_goes_on() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..3);
        let mut reading = open(&env, &fake, &shard, None);
        reading.records(3).await;
        assert_eq!(reading.commit(2).tip_time, None, "not all that was there is behind this");
        for _ in 0..3 {
            env.clock().sleep(MINUTE).await;
            let age = fake.now() - reading.commit(3).tip_time.unwrap();
            assert!((0..3_000_000).contains(&age), "{age}");
        }
        let error = reading.source.encode_commit(&reading.split, Ordinal::new(4)).unwrap_err();
        assert_eq!(error.code, Code::INTERNAL);
    });
}

#[test]
fn a_closed_tenancy_is_read_no_more() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        let mut reading = open(&env, &fake, &shard, None);
        env.clock().sleep(10 * SECOND).await;
        reading.source.close_split(&reading.split);
        let calls = fake.asked().len();
        env.clock().sleep(MINUTE).await;
        assert_eq!(fake.asked().len(), calls);
        assert!(!reading.source.begin_revoke(&reading.split), "it is not open");
    });
}

#[test]
fn a_stream_that_is_gone_is_waited_for_and_its_positions_are_kept() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let shard = fake.shards()[0].clone();
        write(&fake, &shard, 0..3);
        let mut reading = open(&env, &fake, &shard, None);
        assert_eq!(reading.records(3).await, numbers(0..3));
        fake.set_gone(true);
        env.clock().sleep(10 * MINUTE).await;
        assert_eq!(reading.source.reports().troubles()[0].1.code, Code::STREAM_NOT_FOUND);
        fake.set_gone(false);
        write(&fake, &shard, 3..6);
        assert_eq!(reading.records(3).await, numbers(3..6));
        assert!(reading.source.reports().take_notices().is_empty());
    });
}
