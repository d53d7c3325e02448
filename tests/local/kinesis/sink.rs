//! Rows into a stream.

use super::{HOUR, simulate};
use crate::fake_kinesis::{Asked, Fake, Trouble};
use millrace::env::Env;
use millrace::error::{Code, Meaning, Retry};
use millrace::kinesis::Class;
use millrace::runtime::{Destination, OutputError, Rows};
use millrace::sink::kinesis::KinesisDestination;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn rows(all: &[(&str, &str)]) -> Rows {
    let mut rows = Rows::default();
    for (key, data) in all {
        rows.push(key, |bytes| bytes.extend_from_slice(data.as_bytes()));
    }
    rows
}

/// `each` rows of each of so many keys, taking turns.
fn numbered(keys: usize, each: usize) -> Rows {
    let mut rows = Rows::default();
    for number in 0..each {
        for key in 0..keys {
            rows.push(&format!("k{key}"), |bytes| bytes.extend_from_slice(format!("{number}").as_bytes()));
        }
    }
    rows
}

fn destination(env: &Env, fake: &Arc<Fake>) -> KinesisDestination {
    KinesisDestination::new(env, &"rows".into(), fake.clone())
}

/// The numbers of each key, in the order of their arrival.
fn by_key(fake: &Fake) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (key, data) in fake.all() {
        found.entry(key).or_default().push(data.parse().unwrap());
    }
    found
}

/// Delivers rows to a stream of two shards on which this goes wrong.
fn deliver(
    within: Duration,
    rows: Rows,
    hook: impl FnMut(&Asked) -> Option<Trouble> + Send + 'static,
) -> (Result<(), OutputError>, Arc<Fake>, Duration) {
    simulate(within, |env| async move {
        let fake = Fake::new(&env, 2);
        fake.set_latency(Duration::from_millis(20));
        fake.breaks(hook);
        let result = destination(&env, &fake).deliver(rows).await;
        (result, fake, env.clock().monotonic())
    })
}

#[test]
fn every_row_arrives_once_and_those_of_a_key_in_order() {
    let (result, fake, _) = deliver(HOUR, numbered(700, 3), |_| None);
    result.unwrap();
    let found = by_key(&fake);
    assert_eq!(found.len(), 700);
    assert!(found.values().all(|numbers| *numbers == [0, 1, 2]), "{found:?}");
}

#[test]
fn rows_that_are_not_taken_are_sent_again_alone_and_nothing_of_their_key_overtakes_them() {
    let mut call = 0_usize;
    let (result, fake, _) = deliver(HOUR, numbered(8, 20), move |_| {
        call += 1;
        // Another record of the call each time; every seventh call fails as a whole.
        let class = if call.is_multiple_of(2) { Class::Throttled } else { Class::Failed };
        Some(if call.is_multiple_of(7) { Trouble::Fault(class) } else { Trouble::Entries(vec![call % 5, call % 3], class) })
    });
    result.unwrap();
    let expected: Vec<usize> = (0..20).collect();
    for (key, numbers) in by_key(&fake) {
        assert_eq!(numbers, expected, "{key}");
    }
}

#[test]
fn scenario_16_a_call_that_is_never_answered_is_repeated() {
    let mut first = true;
    let (result, fake, took) = deliver(HOUR, rows(&[("a", "1")]), move |_| std::mem::take(&mut first).then_some(Trouble::Hang));
    result.unwrap();
    assert_eq!(fake.all(), [("a".to_owned(), "1".to_owned())]);
    assert!((30..33).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn throttling_only_slows_it_down() {
    let mut calls = 0;
    let (result, fake, took) = deliver(HOUR, rows(&[("a", "1")]), move |_| {
        calls += 1;
        (calls <= 40).then_some(Trouble::Entries(vec![0], Class::Throttled))
    });
    result.unwrap();
    assert_eq!(fake.all().len(), 1);
    assert!(took > Duration::from_secs(90), "far longer than a failure is borne: {took:?}");
    assert!(fake.asked().windows(2).all(|pair| pair[1].at < pair[0].at + Duration::from_secs(6)));
}

#[test]
fn what_cannot_pass_ends_it_at_once_and_says_how_to_mend_it() {
    for (class, code, advice) in [
        (Class::NotFound, Code::STREAM_NOT_FOUND, "create the stream"),
        (Class::Denied, Code::KINESIS_DENIED, "grant"),
        (Class::Invalid, Code::KINESIS_REFUSED, "correct"),
    ] {
        let (result, fake, took) = deliver(HOUR, rows(&[("a", "1")]), move |_| Some(Trouble::Fault(class)));
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.retry(), fake.asked().len()), (code, Retry::Never, 1));
        assert!(error.to_string().starts_with("output rows: ") && error.to_string().contains(advice), "{error}");
        assert!(took < Duration::from_secs(1));
    }
}

#[test]
fn a_service_that_stays_away_is_borne_for_a_minute() {
    let (result, _, took) = deliver(HOUR, rows(&[("a", "1")]), |_| Some(Trouble::Fault(Class::Unreachable)));
    let error = result.unwrap_err();
    assert_eq!((error.code(), error.retry()), (Code::KINESIS_UNREACHABLE, Retry::Backoff));
    assert!((60..66).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn calls_keep_to_what_the_service_takes() {
    let mut large = Rows::default();
    for key in 0..20 {
        large.push(&format!("k{key}"), |bytes| bytes.resize(bytes.len() + 900_000, b'7'));
    }
    for rows in [large, numbered(1_300, 1)] {
        let count = rows.len();
        let (result, fake, _) = deliver(HOUR, rows, |_| None);
        result.unwrap();
        assert_eq!(fake.all().len(), count);
    }
}

#[test]
fn rows_without_a_key_each_get_one_and_spread_over_the_shards() {
    let texts: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let all: Vec<_> = texts.iter().map(|text| ("", text.as_str())).collect();
    let (result, fake, _) = deliver(HOUR, rows(&all), |_| None);
    result.unwrap();
    assert_eq!(fake.asked().len(), 1);
    let counts: Vec<_> = fake.shards().iter().map(|shard| fake.held(shard).len()).collect();
    assert!(counts.iter().all(|count| *count > 5) && counts.iter().sum::<usize>() == 40, "{counts:?}");
}

#[test]
fn a_row_that_no_call_can_carry_is_named_before_any_is_sent() {
    let (key, data) = ("k".repeat(257), "7".repeat((1 << 20) + 1));
    for (unfit, says) in [((key.as_str(), "1"), "257 characters"), (("a", data.as_str()), "1048578 bytes")] {
        let (result, fake, _) = deliver(HOUR, rows(&[("a", "1"), unfit]), |_| None);
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.retry()), (Code::ROW_UNFIT, Retry::Never));
        assert!(error.to_string().contains(says), "{error}");
        assert!(fake.all().is_empty());
    }
    let longest = "é".repeat(256);
    let (result, fake, _) = deliver(HOUR, rows(&[(&longest, "1")]), |_| None);
    result.unwrap();
    assert_eq!(fake.all().len(), 1);
}
