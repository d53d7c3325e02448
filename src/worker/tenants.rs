//! The splits that this worker holds, as the control task sees them.
//!
//! Owns: what of each is captured, stored, committed, and whether it waits for a first commit before it is read.
//! May not: decide ownership or commits; the driver does.

use crate::flow::{LaneId, Ordinal, RootRef, SplitEpoch, SplitId, StoredCapture};
use crate::state::{Capture, SplitKeys, StateError};
use std::collections::BTreeMap;

/// The splits by lane.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    tenants: BTreeMap<LaneId, Tenant>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) split: SplitId,
    pub(super) epoch: SplitEpoch,
    keys: SplitKeys,
    /// What the driver has and has not committed yet.
    in_flight: Option<StoredCapture>,
    /// The capture of a change-over that waits for the one in flight.
    next: Option<StoredCapture>,
    /// The root that its last commit was made under.
    pub(super) committed: RootRef,
    /// Whether the loop reads it.
    flows: bool,
}

impl Tenant {
    /// A tenancy as it begins, under the root of its progress.
    pub(super) const fn new(split: SplitId, epoch: SplitEpoch, keys: SplitKeys, committed: RootRef, flows: bool) -> Self {
        Self { split, epoch, keys, in_flight: None, next: None, committed, flows }
    }

    /// What the driver is to get now.
    fn offer(&mut self) -> Option<StoredCapture> {
        if self.in_flight.is_some() {
            return None;
        }
        self.in_flight = self.next.take();
        self.in_flight.clone()
    }
}

impl Tenants {
    pub(super) fn add(&mut self, lane: LaneId, tenant: Tenant) {
        self.tenants.insert(lane, tenant);
    }

    pub(super) fn remove(&mut self, lane: LaneId) {
        self.tenants.remove(&lane);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (LaneId, &Tenant)> {
        self.tenants.iter().map(|(lane, tenant)| (*lane, tenant))
    }

    /// Stores a capture, and answers what the driver is to get.
    ///
    /// # Errors
    /// The split's state fits nowhere.
    pub(super) fn store(&mut self, capture: Capture) -> Result<Option<StoredCapture>, (LaneId, StateError)> {
        let found = self.tenants.iter_mut().find(|(_, tenant)| tenant.split == capture.split && tenant.epoch == capture.epoch);
        // A tenancy that is over: the state of it is the next owner's to make.
        let Some((lane, tenant)) = found else { return Ok(None) };
        let Capture { id, epoch, at, root, .. } = capture;
        let split = tenant.split.clone();
        let head = tenant.keys.store(capture).map_err(|error| (*lane, error))?;
        // Every key of its ancestors was copied when it opened, and is in its first capture.
        tenant.next = Some(StoredCapture { id, split, epoch, at, root, head, inheritance_over: true });
        Ok(tenant.offer())
    }

    /// A commit stands. Answers what the driver is to get next, and the lane if it is to be read from now on.
    pub(super) fn committed(&mut self, split: &SplitId, at: Ordinal, running: RootRef) -> (Option<StoredCapture>, Option<LaneId>) {
        let Some((lane, tenant)) = self.tenants.iter_mut().find(|(_, tenant)| tenant.split == *split) else { return (None, None) };
        let landed = tenant.in_flight.take_if(|capture| capture.at <= at);
        let Some(landed) = landed else { return (None, None) };
        tenant.committed = landed.root;
        let flows = !tenant.flows && landed.root == running && tenant.next.is_none();
        tenant.flows |= flows;
        (tenant.offer(), flows.then_some(*lane))
    }

    /// The loop reads none of them until a commit under the new root stands.
    pub(super) fn hold_all(&mut self) {
        for tenant in self.tenants.values_mut() {
            tenant.flows = false;
        }
    }
}
