//! All at once: edits, reshards, losses.

use super::fleet::{Fleet, STOPPED, all_came, root};
use crate::bed;
use crate::kinesis_suite::Stage as _;
use crate::rows::{Cutover, Story, faults};

#[test]
fn edits_reshards_and_losses_at_once_lose_and_mix_up_nothing() {
    bed::test(async |bed| {
        let fleet = Fleet::begin(bed, 3, 4).await;
        fleet.apply(&fleet.manifest(&root(1), |_| ()));
        let mut workers = fleet.workers().await;
        let (feeder, reader) = (fleet.feeder(0), fleet.reader());
        fleet.acknowledged().await;
        fleet.shared_by(3).await;
        all_came(&reader, feeder.fed()).await;
        let mut roots = vec![Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }];
        let killed = super::losses::now();
        for (version, victim) in [(2, 0), (3, 1), (4, 2)] {
            let mut open = open_shards(&fleet).await;
            open.sort_by_key(|(_, range)| range.from);
            let leader = fleet.leader();
            // An edit that is under way when a shard ends and a worker goes, the leader in its turn.
            fleet.apply(&fleet.manifest(&root(version), |_| ()));
            fleet.input.split(&open[0].0).await;
            let gone = if victim == 1 { leader } else { victim };
            if victim == 2 {
                workers[gone].stop(STOPPED).await;
            } else {
                workers[gone].crash();
            }
            fleet.input.merge(&open[2].0, &open[3].0).await;
            workers[gone] = fleet.worker(gone).await;
            fleet.acknowledged().await;
            roots.push(fleet.cutover(version));
            fleet.shared_by(3).await;
            all_came(&reader, feeder.fed()).await;
        }
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        let story = Story { fed, roots, killed: Some(killed..super::losses::now()) };
        assert_eq!(faults(&story, &reader.rows()), Vec::<String>::new());
        fleet.end().await;
    });
}

/// Shards that take records: those whose ranges no later shard has taken over.
async fn open_shards(fleet: &Fleet<'_>) -> Vec<(String, millrace::kinesis::HashRange)> {
    let listed = fleet.input.sdk.list_shards().stream_name(&fleet.input.name).send().await.unwrap();
    let is_open = |shard: &&aws_sdk_kinesis::types::Shard| {
        shard.sequence_number_range().is_some_and(|range| range.ending_sequence_number().is_none())
    };
    let open: Vec<String> = listed.shards().iter().filter(is_open).map(|shard| shard.shard_id().to_owned()).collect();
    let all = fleet.input.shards().await;
    all.into_iter().map(|(shard, range)| (shard.to_string(), range)).filter(|(shard, _)| open.contains(shard)).collect()
}
