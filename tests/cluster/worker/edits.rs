//! Edits of the root under running workers.

use super::fleet::{Fleet, all_came, root};
use super::process::Process;
use crate::bed;
use crate::rows::{Cutover, Story, faults};

#[test]
fn an_edit_is_acknowledged_and_each_row_carries_the_epoch_of_its_place() {
    bed::test(async |bed| {
        let (fleet, mut workers, (feeder, reader)) = Fleet::flowing(bed, 2).await;
        let mut roots = vec![Cutover { epoch: fleet.epoch(), version: 1, ..Cutover::default() }];
        for version in [2, 3] {
            fleet.apply(&fleet.manifest(&root(version), |_| ()));
            fleet.acknowledged().await;
            let cutover = fleet.cutover(version);
            assert_eq!(cutover.after.len(), 4, "each shard says where it changed over: {cutover:?}");
            assert!(cutover.epoch > roots.last().unwrap().epoch, "{cutover:?} {roots:?}");
            roots.push(cutover);
            all_came(&reader, feeder.fed()).await;
        }
        let fed = feeder.stop();
        all_came(&reader, fed).await;
        assert_eq!(faults(&Story { fed, roots, killed: None }, &reader.rows()), Vec::<String>::new());
        assert!(workers.iter_mut().all(Process::is_running));
        fleet.end().await;
    });
}
