//! Listings, whole ones.

use super::pace::Backoff;
use crate::env::Env;
use crate::kinesis::{Class, Fault, ListingStart, Service, Shard, ShardFilter, bounded};
use std::collections::HashSet;

/// How often one listing may fail before its failure is the answer.
const TRIES: u32 = 8;

/// All pages of a listing. One whose token expires on the way starts over.
pub(super) async fn list(env: &Env, service: &dyn Service, filter: ShardFilter) -> Result<Vec<Shard>, Fault> {
    let (mut backoff, mut failures) = (Backoff::default(), 0_u32);
    let (mut shards, mut seen) = (Vec::new(), HashSet::new());
    let mut from = ListingStart::First(filter);
    loop {
        match bounded(env, service, "ListShards", service.list(from.clone())).await {
            Ok(page) => {
                backoff.reset();
                shards.extend(page.shards.into_iter().filter(|shard| seen.insert(shard.id.clone())));
                match page.next {
                    Some(token) => from = ListingStart::Next(token),
                    None => return Ok(shards),
                }
            }
            Err(fault) => {
                failures = failures.saturating_add(1);
                if failures >= TRIES || !fault.class.may_pass() {
                    return Err(fault);
                }
                if fault.class == Class::ExpiredToken {
                    shards.clear();
                    seen.clear();
                    from = ListingStart::First(filter);
                }
                env.clock().sleep(backoff.next(env, fault.class)).await;
            }
        }
    }
}
