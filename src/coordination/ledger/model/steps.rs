//! What can happen next in the world of the model: each worker's steps, writes that land late, and what nobody needs.

use super::{Bounds, FATES, Fate, Mutation, Open, Worker, World, page_of, position, progress, revision};
use crate::coordination::ledger::{Aim, Last, PageView, Phase, RecordStep, RecordView};
use crate::coordination::records::{LedgerPage, PageId, SplitRecord};

/// Explores from one state.
pub(super) struct Steps<'a> {
    pub(super) world: &'a World,
    pub(super) bounds: Bounds,
    pub(super) mutation: Mutation,
    pub(super) next: Vec<Result<World, String>>,
}

impl Steps<'_> {
    pub(super) fn of(world: &World, bounds: Bounds, mutation: Mutation) -> Vec<Result<World, String>> {
        let mut steps = Steps { world, bounds, mutation, next: Vec::new() };
        for worker in 0..world.workers.len() {
            steps.wish(worker);
            steps.record(worker);
            steps.page(worker);
            steps.drop_entries(worker);
        }
        steps.land();
        steps.act();
        steps.next
    }

    fn step(&mut self, change: impl FnOnce(&mut World) -> Result<(), String>) {
        let mut world = self.world.clone();
        let before = world.effective();
        let changed = change(&mut world).and_then(|()| {
            if world.effective() < before {
                return Err(format!("progress falls from {before} to {}", world.effective()));
            }
            world.check()
        });
        self.next.push(changed.map(|()| world.normal()));
    }

    /// What a worker may want, and what a tenancy may do by itself.
    fn wish(&mut self, number: usize) {
        let (end, mutation) = (self.bounds.end, self.mutation);
        let worker = &self.world.workers[number];
        let phase = worker.claim.phase().clone();
        let at = worker.at;
        match phase {
            Phase::Idle if self.world.record.record.epoch.get() < self.bounds.claims => {
                self.begin(number, Aim::Hold);
                if self.world.record.record.owner.as_ref().is_some_and(|owner| self.world.workers[number].claim.me.is(owner)) {
                    self.begin(number, Aim::Release);
                }
            }
            Phase::Held { .. } => {
                if at < end {
                    self.step(|world| {
                        world.workers[number].at += 1;
                        if mutation != Mutation::EvaluatedForDurable {
                            world.durable = world.durable.max(at + 1);
                        }
                        Ok(())
                    });
                }
                let last = Last { progress: Some(progress(at)), completed: at == end, charge: None };
                self.change(number, |worker| worker.claim.end(last));
                self.change(number, |worker| worker.claim.end(Last::default()));
            }
            _ => {}
        }
    }

    /// A claim begins with a read of the record.
    pub(super) fn begin(&mut self, number: usize, aim: Aim) {
        self.step(|world| {
            world.workers[number].claim.begin(aim);
            let view = world.record.clone();
            see_record(world, number, &view);
            Ok(())
        });
    }

    fn change(&mut self, number: usize, change: impl FnOnce(&mut Worker)) {
        self.step(|world| {
            change(&mut world.workers[number]);
            Ok(())
        });
    }

    pub(super) fn record(&mut self, number: usize) {
        if self.world.workers[number].claim.record_step() == RecordStep::Nothing {
            return;
        }
        self.step(|world| {
            let view = world.record.clone();
            see_record(world, number, &view);
            Ok(())
        });
        let mut looked = self.world.clone();
        see_record(&mut looked, number, &self.world.record);
        if let RecordStep::Write(_, record) = looked.workers[number].claim.record_step() {
            let mut steps = Steps { world: &looked, bounds: self.bounds, mutation: self.mutation, next: Vec::new() };
            for fate in FATES {
                steps.write_record(number, &record, fate);
            }
            self.next.append(&mut steps.next);
        }
        if self.mutation == Mutation::BlindTake
            && let Phase::Taking { tenure, .. } = self.world.workers[number].claim.phase().clone()
        {
            let mut record = self.world.record.record.clone();
            record.owner = Some(self.world.workers[number].claim.me.owner(&tenure.page));
            (record.epoch, record.base) = (tenure.epoch, tenure.progress);
            self.write_record(number, &record, Fate::Answered);
        }
    }

    fn write_record(&mut self, number: usize, record: &SplitRecord, fate: Fate) {
        let mut record = record.clone();
        if self.mutation == Mutation::KeptEpoch {
            record.epoch = self.world.record.record.epoch;
        }
        let (mutation, most) = (self.mutation, self.bounds.open);
        if fate == Fate::Open && self.world.open.len() >= most {
            return;
        }
        self.step(|world| {
            match fate {
                Fate::Open => world.open.push(Open::Record(Box::new(record.clone()))),
                Fate::Answered | Fate::Unanswered => world.write_record(record.clone())?,
            }
            if fate == Fate::Answered || mutation == Mutation::LostIsLanded {
                let view = RecordView { revision: revision(0), record };
                see_record(world, number, &view);
            } else {
                world.workers[number].claim.unsure();
            }
            Ok(())
        });
    }

    pub(super) fn page(&mut self, number: usize) {
        let claim = &self.world.workers[number].claim;
        let Some(id) = claim.page().cloned() else { return };
        let Some((uid, page)) = self.world.pages.get(&id).cloned() else {
            if claim.makes_page() {
                let empty = LedgerPage::empty(claim.me.incarnation.clone());
                for fate in FATES {
                    self.write_page(number, (&id, None), &empty, fate);
                }
            } else {
                self.step(|world| see_page(world, number, None));
            }
            return;
        };
        // A read by itself, and a read with the write that it leads to.
        self.step(|world| see_page(world, number, Some((uid, &page))));
        let mut looked = self.world.clone();
        if see_page(&mut looked, number, Some((uid, &page))).is_err() {
            return;
        }
        let mut new = page;
        let worker = &mut looked.workers[number];
        worker.claim.commit(progress(worker.at));
        if looked.workers[number].claim.page() == Some(&id) && looked.workers[number].claim.edit(&mut new) {
            let mut steps = Steps { world: &looked, bounds: self.bounds, mutation: self.mutation, next: Vec::new() };
            for fate in FATES {
                steps.write_page(number, (&id, Some(uid)), &new, fate);
            }
            self.next.append(&mut steps.next);
        }
    }

    fn write_page(&mut self, number: usize, place: (&PageId, Option<u32>), new: &LedgerPage, fate: Fate) {
        let (id, uid) = place;
        let phase = self.world.workers[number].claim.phase();
        let mut written = new.clone();
        let mut seen = new.clone();
        let old = self.world.pages.get(id).map_or_else(|| new.clone(), |(_, page)| page.clone());
        match self.mutation {
            Mutation::NoSeal if matches!(phase, Phase::Claiming { .. }) => written = old,
            Mutation::LastUnsealed if matches!(phase, Phase::Ending { .. }) => unseal(&mut written),
            Mutation::EarlyProgress if matches!(phase, Phase::Claiming { .. }) => take_early(&mut seen, self.world.before.as_ref()),
            _ => {}
        }
        let (mutation, most) = (self.mutation, self.bounds.open);
        if fate == Fate::Open && self.world.open.len() >= most {
            return;
        }
        self.step(|world| {
            let uid = match fate {
                Fate::Open => {
                    world.open.push(Open::Page(id.clone(), uid, written));
                    uid.unwrap_or(0)
                }
                Fate::Answered | Fate::Unanswered => world.write_page(id, written)?,
            };
            if fate == Fate::Answered || mutation == Mutation::LostIsLanded {
                return see_page(world, number, Some((uid, &seen)));
            }
            Ok(())
        });
    }

    fn land(&mut self) {
        for (place, open) in self.world.open.iter().enumerate() {
            let open = open.clone();
            self.step(|world| {
                world.open.remove(place);
                match open {
                    Open::Record(record) => world.write_record(*record),
                    Open::Page(id, uid, page) => {
                        if world.pages.get(&id).map(|(uid, _)| *uid) == uid {
                            world.write_page(&id, page)?;
                        }
                        Ok(())
                    }
                }
            });
        }
    }

    fn drop_entries(&mut self, number: usize) {
        let id = page_of(number);
        let Some((_, page)) = self.world.pages.get(&id) else { return };
        let record = &self.world.record.record;
        for key in page.entries.keys() {
            let goes = record.lets_go_of(&id, key.1) || (self.mutation == Mutation::DropUnnamed && !record.names(&id, key.1));
            if goes {
                let mut new = page.clone();
                new.entries.remove(key);
                self.step(|world| world.write_page(&id, new).map(|_| ()));
            }
        }
    }

    /// What nobody needs, and anybody may do.
    fn act(&mut self) {
        if self.world.acts >= self.bounds.acts {
            return;
        }
        for number in 0..self.world.workers.len() {
            self.step(|world| {
                world.acts += 1;
                world.workers[number].claim.forget();
                Ok(())
            });
        }
        self.step(|world| {
            world.acts += 1;
            let record = world.record.record.clone();
            world.write_record(record)
        });
        for (id, (_, page)) in &self.world.pages {
            let record = &self.world.record.record;
            let dead = self.mutation == Mutation::DeleteOfTheDead;
            if dead || page.entries.keys().all(|key| record.lets_go_of(id, key.1)) {
                self.step(|world| {
                    world.acts += 1;
                    world.void(id);
                    world.pages.remove(id);
                    Ok(())
                });
            }
        }
    }
}

fn unseal(page: &mut LedgerPage) {
    page.entries.values_mut().for_each(|entry| entry.sealed = false);
}

fn take_early(page: &mut LedgerPage, before: Option<&LedgerPage>) {
    for (key, entry) in &mut page.entries {
        if let Some(before) = before.and_then(|before| before.entries.get(key)) {
            entry.progress = before.progress.clone();
        }
    }
}

fn see_record(world: &mut World, number: usize, view: &RecordView) {
    let worker = &mut world.workers[number];
    worker.claim.saw_record(Some(view), true);
    if let Some(tenure) = worker.claim.held() {
        worker.at = position(&tenure.progress);
    }
}

fn see_page(world: &mut World, number: usize, page: Option<(u32, &LedgerPage)>) -> Result<(), String> {
    let revision = page.map(|(uid, _)| revision(uid));
    let view = page.zip(revision.as_ref()).map(|((_, page), revision)| PageView { revision, page });
    let before = world.workers[number].claim.phase().clone();
    let outcome = world.workers[number].claim.saw_page(view);
    world.check_fence(outcome.as_ref(), &before)
}
