//! All at once: edits, reshards, losses.

use super::fleet::{Fleet, STOPPED, all_came, root};
use crate::bed;
use crate::kinesis_suite::Stage as _;
use crate::rows::{Cutover, Story, faults, shown};

#[test]
fn edits_reshards_and_losses_at_once_lose_and_mix_up_nothing() {
    bed::test(async |bed| {
        let (fleet, mut workers, (feeder, reader)) = Fleet::flowing(bed, 3).await;
        let mut roots = vec![(Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }, Vec::new())];
        let killed = super::losses::now();
        for version in [2, 3] {
            let mut open = open_shards(&fleet).await;
            open.sort_by_key(|(_, range)| range.from);
            // An edit is under way when shards end and the leader goes, or another worker.
            let leader = fleet.leader();
            let gone = if version == 2 { leader } else { (leader + 1) % 3 };
            fleet.apply(&fleet.manifest(&root(version), |_| ()));
            fleet.input.split(&open[0].0).await;
            if gone == leader {
                workers[gone].crash();
            } else {
                workers[gone].stop(STOPPED).await;
            }
            fleet.input.merge(&open[2].0, &open[3].0).await;
            workers[gone] = fleet.worker(gone).await;
            fleet.acknowledged().await;
            let cutover = fleet.cutover(version);
            let owners = fleet.owners().into_iter();
            let ended = owners.filter(|(shard, (state, _))| state == "Completed" && !cutover.after.contains_key(shard));
            let ended = ended.map(|(shard, _)| shard).collect();
            roots.push((cutover, ended));
            fleet.shared_by(3).await;
            all_came(&reader, feeder.fed()).await;
        }
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        for (root, ended) in &mut roots {
            shown(root, ended, &reader.rows());
        }
        let roots = roots.into_iter().map(|(root, _)| root).collect();
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
