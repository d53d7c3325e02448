//! Which place of a split is behind which of a lane's records.
//!
//! Owns: the way from ordinals back to places, kept at the ends of pages: boundaries of batches, where captures are made.
//! May not: know what a place is.

use crate::flow::Ordinal;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// How a fetcher came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has read all there is.
    Complete,
    /// It was told to stop, or has failed.
    Stopped,
}

/// Shared by a fetcher, which notes, and its source, which asks.
#[derive(Clone, Debug)]
pub struct Places(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The last record of each page, with the place behind it; both rise.
    pages: VecDeque<(Ordinal, Arc<str>)>,
    sent: Ordinal,
    ended: Option<Ended>,
    waker: Waker,
}

impl Places {
    /// Before the first record, whose place this is. The waker is woken when the fetcher ends.
    #[must_use]
    pub fn new(start: Arc<str>, waker: Waker) -> Self {
        let pages = VecDeque::from([(Ordinal::default(), start)]);
        Self(Arc::new(Mutex::new(State { pages, sent: Ordinal::default(), ended: None, waker })))
    }

    /// Notes a page of so many records, before it is sent.
    pub fn note(&self, records: usize, behind: Arc<str>) {
        let mut state = self.0.lock();
        state.sent = state.sent.plus(records as u64);
        let sent = state.sent;
        state.pages.push_back((sent, behind));
    }

    /// Notes the fetcher's end.
    pub fn end(&self, ended: Ended) {
        let mut state = self.0.lock();
        state.ended.get_or_insert(ended);
        state.waker.wake_by_ref();
    }

    /// The place behind a record that ends a page; places before it are forgotten.
    #[must_use]
    pub fn behind(&self, ordinal: Ordinal) -> Option<Arc<str>> {
        let mut state = self.0.lock();
        while state.pages.get(1).is_some_and(|(next, _)| *next <= ordinal) {
            state.pages.pop_front();
        }
        state.pages.front().filter(|(at, _)| *at == ordinal).map(|(_, place)| Arc::clone(place))
    }

    /// How the fetcher ended, once it has and all that it sent is at or below this record.
    #[must_use]
    pub fn ended_at(&self, ordinal: Ordinal) -> Option<Ended> {
        let state = self.0.lock();
        state.ended.filter(|_| state.sent <= ordinal)
    }

    /// How the fetcher ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.0.lock().ended
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, Places};
    use crate::flow::Ordinal;
    use std::task::Waker;

    #[test]
    fn places_are_known_at_the_ends_of_pages_and_forgotten_behind() {
        let places = Places::new("start".into(), Waker::noop().clone());
        assert_eq!(places.behind(Ordinal::new(0)).as_deref(), Some("start"));
        places.note(3, "a".into());
        places.note(2, "b".into());
        assert_eq!(places.behind(Ordinal::new(2)), None, "inside a page");
        assert_eq!(places.behind(Ordinal::new(3)).as_deref(), Some("a"));
        assert_eq!(places.behind(Ordinal::new(0)), None);
        assert_eq!(places.behind(Ordinal::new(5)).as_deref(), Some("b"));
        places.end(Ended::Complete);
        places.end(Ended::Stopped);
        assert_eq!(places.ended_at(Ordinal::new(4)), None);
        assert_eq!(places.ended_at(Ordinal::new(5)), Some(Ended::Complete));
    }

    #[test]
    fn a_page_without_records_moves_the_place_on() {
        let places = Places::new("start".into(), Waker::noop().clone());
        places.note(0, "behind blank lines".into());
        assert_eq!(places.behind(Ordinal::new(0)).as_deref(), Some("behind blank lines"));
    }
}
