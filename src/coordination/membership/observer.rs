//! What an observer concludes from others' counters, on its own clock.

use crate::coordination::records::{Beat, Incarnation, Owner, WorkerName};
use std::collections::BTreeMap;
use std::time::Duration;

/// How an owner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordination) enum Standing {
    /// Its heartbeat moves, or may.
    Alive,
    /// Its heartbeat has stood still for its time.
    Dead,
    /// Another life of that worker beats: this one is over.
    Replaced,
}

/// When heartbeats were read: a counter that moved in between was seen neither before the first nor after the second.
#[derive(Clone, Copy, Debug)]
pub(in crate::coordination) struct Reading {
    /// When the read was sent.
    pub(in crate::coordination) sent: Duration,
    /// When its answer was there.
    pub(in crate::coordination) answered: Duration,
}

#[derive(Debug)]
struct Seen {
    beat: Beat,
    /// When the answer that first showed this counter came.
    since: Duration,
    /// When the last read that showed it was sent.
    read: Duration,
}

/// An observer of heartbeats.
#[derive(Debug, Default)]
pub(in crate::coordination) struct Observer {
    seen: BTreeMap<WorkerName, Seen>,
    /// When reading began, or began anew after a failure.
    begun: Option<Duration>,
    /// When the last read that was answered was sent.
    last: Duration,
}

impl Observer {
    /// Takes a whole list of heartbeats. One that is missing in it counts as one that has not moved.
    pub(in crate::coordination) fn saw_all(&mut self, reading: Reading, beats: Vec<(WorkerName, Beat)>) {
        let anew = self.begun.is_none();
        self.begun.get_or_insert(reading.answered);
        self.last = reading.sent;
        if anew {
            self.seen.values_mut().for_each(|seen| seen.since = reading.answered);
        }
        for (worker, beat) in beats {
            self.saw(reading, worker, beat);
        }
    }

    fn saw(&mut self, reading: Reading, worker: WorkerName, beat: Beat) {
        match self.seen.get_mut(&worker) {
            // Two reads were under way, and the later one was answered first.
            Some(seen) if reading.sent < seen.read => {}
            Some(seen) if seen.beat.incarnation == beat.incarnation && seen.beat.counter == beat.counter => seen.read = reading.sent,
            _ => drop(self.seen.insert(worker, Seen { beat, since: reading.answered, read: reading.sent })),
        }
    }

    /// Takes one heartbeat that was read by itself.
    pub(in crate::coordination) fn saw_one(&mut self, reading: Reading, worker: WorkerName, beat: Option<Beat>) {
        if let Some(beat) = beat {
            self.saw(reading, worker, beat);
        }
    }

    /// A read has failed: it judges nothing, and every count begins anew.
    pub(in crate::coordination) fn failed(&mut self) {
        self.begun = None;
    }

    /// How this owner stands; `ttl` is for a worker that was never seen to beat.
    pub(in crate::coordination) fn standing(&self, owner: &Owner, ttl: Duration) -> Standing {
        let Some(begun) = self.begun else { return Standing::Alive };
        match self.seen.get(&owner.worker) {
            Some(seen) if seen.beat.incarnation != owner.incarnation => Standing::Replaced,
            Some(seen) => still(seen.since, self.last, seen.beat.ttl),
            None => still(begun, self.last, ttl),
        }
    }

    /// The lives that beat.
    pub(in crate::coordination) fn alive(&self) -> impl Iterator<Item = (&WorkerName, &Incarnation)> {
        let alive = |seen: &&Seen| self.begun.is_none() || still(seen.since, self.last, seen.beat.ttl) == Standing::Alive;
        self.seen.iter().filter(move |(_, seen)| alive(seen)).map(|(worker, seen)| (worker, &seen.beat.incarnation))
    }
}

fn still(since: Duration, until: Duration, ttl: Duration) -> Standing {
    if until.saturating_sub(since) >= ttl { Standing::Dead } else { Standing::Alive }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordination::records::PageId;

    const TTL: Duration = Duration::from_secs(20);

    fn owner(life: &str) -> Owner {
        Owner { worker: WorkerName::new("w"), incarnation: Incarnation::new(life), page: PageId::new("p") }
    }

    fn beat(life: &str, counter: u64) -> Vec<(WorkerName, Beat)> {
        vec![(WorkerName::new("w"), Beat { incarnation: Incarnation::new(life), counter, ttl: TTL })]
    }

    fn at(seconds: u64) -> Reading {
        Reading { sent: Duration::from_secs(seconds), answered: Duration::from_secs(seconds + 1) }
    }

    #[test]
    fn i10_a_worker_is_dead_when_its_counter_has_stood_for_its_time_between_two_reads() {
        let mut observer = Observer::default();
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive, "nothing was read");
        observer.saw_all(at(100), beat("1", 5));
        observer.saw_all(at(120), beat("1", 5));
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive, "it may have moved until 101");
        observer.saw_all(at(121), beat("1", 5));
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Dead);
        assert_eq!(observer.alive().count(), 0);
        observer.saw_all(at(122), beat("1", 6));
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive);
    }

    #[test]
    fn i10_a_failed_read_judges_nothing_and_a_whole_time_is_counted_anew() {
        let mut observer = Observer::default();
        observer.saw_all(at(100), beat("1", 5));
        observer.failed();
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive);
        observer.saw_all(at(130), beat("1", 5));
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive);
        observer.saw_all(at(151), beat("1", 5));
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Dead);
    }

    #[test]
    fn a_heartbeat_that_a_list_misses_has_not_moved_and_one_never_seen_gets_a_whole_time() {
        let mut observer = Observer::default();
        observer.saw_all(at(0), Vec::new());
        observer.saw_all(at(20), Vec::new());
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive);
        observer.saw_all(at(21), beat("1", 1));
        observer.saw_all(at(30), Vec::new());
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Alive);
        observer.saw_all(at(42), Vec::new());
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Dead);
    }

    #[test]
    fn an_answer_that_comes_after_a_later_reads_does_not_bring_an_older_life_back() {
        let mut observer = Observer::default();
        observer.saw_all(at(0), beat("1", 1));
        observer.saw_one(at(5), WorkerName::new("w"), beat("2", 1).pop().map(|(_, beat)| beat));
        observer.saw_all(at(4), beat("1", 2));
        assert_eq!(observer.standing(&owner("2"), TTL), Standing::Alive);
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Replaced);
    }

    #[test]
    fn an_older_life_is_over_at_once() {
        let mut observer = Observer::default();
        observer.saw_all(at(0), beat("2", 1));
        assert_eq!(observer.standing(&owner("1"), TTL), Standing::Replaced);
        assert_eq!(observer.standing(&owner("2"), TTL), Standing::Alive);
    }
}
