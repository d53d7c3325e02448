//! From a lane's ordinals to positions in its shard.

use super::position::Position;
use crate::flow::Ordinal;
use crate::kinesis::Sequence;
use std::collections::VecDeque;

/// What a tenancy has given to its lane and nobody has committed yet: a sequence number for each ordinal.
#[derive(Debug)]
pub(super) struct Marks {
    /// The last ordinal that a commit was asked for, and the place behind it; none: the split's start.
    base: (Ordinal, Option<Position>),
    /// Those of the ordinals after it.
    sequences: VecDeque<Sequence>,
    /// When the tip was seen, and the last ordinal then; for the base and after it.
    tips: VecDeque<(Ordinal, i64)>,
}

/// A place that a commit may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) position: Option<Position>,
    /// The service's time when the shard was last known to be read to its tip, all of that being at or before this place.
    pub(super) tip_time: Option<i64>,
}

impl Marks {
    /// Those of a tenancy that reads on from here.
    pub(super) fn new(position: Option<Position>, tip_time: Option<i64>) -> Self {
        let start = Ordinal::default();
        Self { base: (start, position), sequences: VecDeque::new(), tips: tip_time.map(|at| (start, at)).into_iter().collect() }
    }

    /// The ordinal of the last record.
    pub(super) fn last(&self) -> Ordinal {
        self.base.0.plus(self.sequences.len() as u64)
    }

    /// The place behind the last record; none: nothing was read.
    pub(super) fn position(&self) -> Option<Position> {
        self.sequences.back().map(|sequence| Position::After(sequence.clone(), None)).or_else(|| self.base.1.clone())
    }

    /// The newest tip that was seen.
    pub(super) fn newest_tip(&self) -> Option<i64> {
        self.tips.back().map(|(_, time)| *time)
    }

    /// The lane has taken records, the next ordinals.
    pub(super) fn give(&mut self, sequences: impl Iterator<Item = Sequence>) {
        self.sequences.extend(sequences);
    }

    /// At this time of the service's, the shard had nothing behind the last record.
    pub(super) fn tip(&mut self, at: i64) {
        let last = self.last();
        match self.tips.back_mut() {
            Some((ordinal, time)) if *ordinal == last => *time = at,
            _ => self.tips.push_back((last, at)),
        }
    }

    /// The place behind an ordinal. What is before it is forgotten: commits never move back (I2). None: that ordinal was
    /// never given, or is forgotten.
    pub(super) fn commit(&mut self, at: Ordinal) -> Option<Place> {
        let behind = usize::try_from(at.get().checked_sub(self.base.0.get())?).ok()?;
        if let Some(before) = behind.checked_sub(1) {
            let sequence = self.sequences.get(before)?.clone();
            self.sequences.drain(..behind);
            self.base = (at, Some(Position::After(sequence, None)));
        }
        while self.tips.get(1).is_some_and(|(ordinal, _)| *ordinal <= at) {
            self.tips.pop_front();
        }
        let tip_time = self.tips.front().filter(|(ordinal, _)| *ordinal <= at).map(|(_, time)| *time);
        Some(Place { position: self.base.1.clone(), tip_time })
    }
}

#[cfg(test)]
mod tests {
    use super::{Marks, Place, Position};
    use crate::flow::Ordinal;
    use crate::kinesis::Sequence;

    fn sequences(numbers: std::ops::Range<u32>) -> impl Iterator<Item = Sequence> {
        numbers.map(|number| number.to_string().parse().unwrap())
    }

    fn after(number: u32) -> Position {
        format!("after/{number}").parse().unwrap()
    }

    #[test]
    fn every_ordinal_has_its_record_and_the_first_place_is_where_it_was_read_on_from() {
        let mut marks = Marks::new(Some(after(9)), None);
        assert_eq!(marks.commit(Ordinal::default()).unwrap().position, Some(after(9)));
        marks.give(sequences(10..13));
        marks.give(sequences(20..22));
        assert_eq!((marks.last(), marks.position()), (Ordinal::new(5), Some(after(21))));
        for (ordinal, number) in [(1, 10), (3, 12), (3, 12), (4, 20), (5, 21)] {
            assert_eq!(marks.commit(Ordinal::new(ordinal)).unwrap().position, Some(after(number)), "{ordinal}");
        }
        assert_eq!(marks.commit(Ordinal::new(4)), None, "it is forgotten");
        assert_eq!(marks.commit(Ordinal::new(6)), None, "it was never given");
        assert_eq!(marks.commit(Ordinal::new(5)).unwrap().position, Some(after(21)));
    }

    #[test]
    fn a_split_of_which_nothing_was_read_is_still_at_its_start() {
        let mut marks = Marks::new(None, None);
        assert_eq!((marks.position(), marks.commit(Ordinal::default())), (None, Some(Place { position: None, tip_time: None })));
    }

    #[test]
    fn a_tip_counts_once_all_that_was_before_it_is_committed() {
        let mut marks = Marks::new(None, Some(100));
        marks.give(sequences(0..4));
        marks.tip(200);
        marks.give(sequences(4..6));
        marks.tip(300);
        marks.tip(310);
        let mut tip_at = |ordinal| marks.commit(Ordinal::new(ordinal)).unwrap().tip_time;
        assert_eq!((tip_at(0), tip_at(3), tip_at(4), tip_at(5), tip_at(6)), (Some(100), Some(100), Some(200), Some(200), Some(310)));
        marks.tip(400);
        assert_eq!(marks.commit(Ordinal::new(6)).unwrap().tip_time, Some(400), "an idle shard's is renewed");
    }
}
