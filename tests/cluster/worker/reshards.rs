//! Shards that are split and merged under running workers.

use super::fleet::{Fleet, SOON, all_came};
use crate::bed::{self, within};
use crate::kinesis_suite::Stage as _;
use crate::rows::{Cutover, Story, faults};

#[test]
fn a_split_and_a_merge_under_two_workers_keep_order_and_state() {
    bed::test(async |bed| {
        let (fleet, _workers, (feeder, reader)) = Fleet::flowing(bed, 2).await;
        let mut shards = fleet.input.shards().await;
        shards.sort_by_key(|(_, range)| range.from);
        fleet.input.split(&shards[0].0).await;
        fleet.input.merge(&shards[2].0, &shards[3].0).await;
        within(SOON, "three ends and three children", async || {
            let owners = fleet.owners();
            let is_over = |shard: &str| owners.get(shard).is_some_and(|(state, _)| state == "Completed");
            let ended = [0, 2, 3].iter().all(|at: &usize| is_over(&shards[*at].0));
            let open = owners.values().filter(|(state, _)| state == "Open").count();
            if ended && (owners.len(), open) == (7, 4) { Ok(()) } else { Err(format!("{owners:?}")) }
        })
        .await;
        fleet.shared_by(2).await;
        all_came(&reader, feeder.fed()).await;
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        let roots = vec![Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }];
        assert_eq!(faults(&Story { fed, roots, killed: None }, &reader.rows()), Vec::<String>::new());
        fleet.end().await;
    });
}
