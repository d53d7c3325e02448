//! The plan of a first start, and the listings after it.

use super::{HOUR, MINUTE, SECOND, simulate};
use crate::fake_kinesis::{Fake, Trouble};
use millrace::coordination::source::Planner;
use millrace::error::{Code, Meaning, Retry};
use millrace::flow::ErrorClass;
use millrace::kinesis::Class;
use millrace::source::kinesis::{KinesisPlanner, StartRule};
use std::sync::Arc;

fn listings(fake: &Fake) -> Vec<String> {
    fake.asked().into_iter().filter(|asked| asked.call == "ListShards").map(|asked| asked.from).collect()
}

#[test]
fn scenario_07_a_thousand_and_one_shards_take_two_pages_and_a_token_that_expired_starts_over() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1_001);
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::TrimHorizon).plan().await.unwrap();
        assert_eq!((plan.initial.len(), plan.start, plan.is_final), (1_001, None, false));
        assert_eq!(listings(&fake), ["First(All)", "Next(Token(..))"]);

        let fake = Fake::new(&env, 1_001);
        let mut told = false;
        fake.breaks(move |asked| {
            let expires = asked.from.starts_with("Next") && !std::mem::replace(&mut told, true);
            expires.then_some(Trouble::Fault(Class::ExpiredToken))
        });
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::TrimHorizon).plan().await.unwrap();
        assert_eq!(plan.initial.len(), 1_001);
        assert_eq!(listings(&fake), ["First(All)", "Next(Token(..))", "First(All)", "Next(Token(..))"]);
    });
}

#[test]
fn a_stream_from_its_oldest_records_begins_with_all_shards_and_their_descent() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let parent = fake.shards()[0].clone();
        let children = fake.split(&parent);
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::TrimHorizon).plan().await.unwrap();
        assert_eq!(plan.stream, fake.identity());
        let found: Vec<_> = plan.initial.iter().map(|shard| (shard.descriptor.shard.clone(), shard.parents.len())).collect();
        assert_eq!(found, [(parent, 0), (children[0].clone(), 1), (children[1].clone(), 1)]);
        assert!(
            plan.initial.iter().all(|shard| shard.descriptor.stream == plan.stream && shard.split.as_str() == &*shard.descriptor.shard)
        );
    });
}

#[test]
fn shards_closed_before_the_start_count_as_read() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let parent = fake.shards()[0].clone();
        env.clock().sleep(MINUTE).await;
        let children = fake.split(&parent);
        env.clock().sleep(MINUTE).await;
        let plan = KinesisPlanner::new(&env, fake.clone(), StartRule::Latest).plan().await.unwrap();
        let found: Vec<_> = plan.initial.iter().map(|shard| shard.descriptor.shard.clone()).collect();
        assert_eq!(found, children);
        // A listing still shows the parent.
        let shown = KinesisPlanner::new(&env, fake.clone(), StartRule::Latest).discover(&plan.stream).await.unwrap();
        assert_eq!(shown.len(), 3);
    });
}

#[test]
fn a_listing_that_is_not_the_whole_stream_is_asked_for_again() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 2);
        let planner = KinesisPlanner::new(&env, fake.clone(), StartRule::TrimHorizon);
        fake.hide(&fake.shards()[1]);
        for error in [planner.plan().await.unwrap_err(), planner.discover(&fake.identity()).await.unwrap_err()] {
            assert_eq!((error.class, error.retry()), (ErrorClass::Retryable, Retry::Backoff));
            assert!(error.message.contains("no shard takes"), "{error}");
        }
    });
}

#[test]
fn a_stream_that_is_missing_or_denied_is_named_with_what_to_do() {
    simulate(HOUR, |env| async move {
        for (class, code, advice) in [
            (Class::NotFound, Code::STREAM_NOT_FOUND, "create the stream"),
            (Class::Denied, Code::KINESIS_DENIED, "grant"),
            (Class::Credentials, Code::CREDENTIALS_MISSING, "credentials"),
        ] {
            let fake = Fake::new(&env, 1);
            fake.breaks(move |_| Some(Trouble::Fault(class)));
            let error = KinesisPlanner::new(&env, fake, StartRule::Latest).plan().await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Retryable, code));
            assert!(error.message.contains("orders") && error.message.contains(advice), "{error}");
        }
    });
}

#[test]
fn i21_a_listing_of_another_stream_of_the_name_decides_nothing() {
    simulate(HOUR, |env| async move {
        let fake = Fake::new(&env, 1);
        let old: Arc<str> = fake.identity();
        env.clock().sleep(SECOND).await;
        fake.recreate();
        let error = KinesisPlanner::new(&env, fake, StartRule::Latest).discover(&old).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Fatal, Code::STREAM_RECREATED));
    });
}
