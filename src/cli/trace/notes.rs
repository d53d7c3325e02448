//! What `trace` says beside the rows: texts that were refused, values that windows ignored, inputs that never came.

use super::Source;
use crate::cli::subject::Subject;
use crate::dataflow::value::Cell;
use crate::dataflow::{Plan, WindowCount};
use std::collections::BTreeSet;

/// So many are said.
const MOST: usize = 20;
/// So many keys are named.
const KEYS: usize = 10;

/// Notes on a trace.
#[derive(Debug, Default)]
pub(super) struct Notes {
    said: Vec<String>,
    more: usize,
    seen: Vec<bool>,
    records: u64,
    keys: BTreeSet<String>,
    found: bool,
}

impl Notes {
    /// All of them, one a line.
    pub(super) fn text(&self) -> String {
        let more = if self.more > 0 { format!("note: and {} more\n", self.more) } else { String::new() };
        self.said.iter().map(|note| format!("note: {note}\n")).chain([more]).collect()
    }

    fn say(&mut self, note: String) {
        if self.said.len() < MOST {
            self.said.push(note);
        } else {
            self.more += 1;
        }
    }

    /// A record of this key came, where one key is wanted.
    pub(super) fn key(&mut self, key: &[u8], wanted: Option<&str>) {
        let Some(wanted) = wanted else { return };
        self.found |= wanted.as_bytes() == key;
        if !self.found && self.keys.len() <= KEYS {
            self.keys.insert(super::table::visible(&String::from_utf8_lossy(key)));
        }
    }

    /// A row of inputs came.
    pub(super) fn inputs(&mut self, row: &[Cell]) {
        self.records += 1;
        self.seen.resize(row.len(), false);
        for (seen, cell) in self.seen.iter_mut().zip(row) {
            *seen |= !cell.is_noval();
        }
    }

    /// Texts of `dynamic` and `defer` were refused at this line.
    pub(super) fn refused(&mut self, line: u64, plan: &Plan) {
        for refused in plan.take_refused_texts() {
            let (stream, text, why) = (refused.stream, super::table::cut(&super::table::visible(&refused.text)), refused.why);
            self.say(format!("line {line}: the text `{text}` of {stream} is not taken, what was in force goes on: {why}"));
        }
    }

    /// Windows left out values.
    pub(super) fn windows(&mut self, plan: &Plan, counts: &[WindowCount]) {
        let names = plan.windows();
        for (at, count) in counts.iter().enumerate() {
            let name = names.get(at).map_or_else(|| "a text's window".to_owned(), |(stream, label)| format!("{stream}: {label}"));
            if count.ignored > 0 {
                self.say(format!("{name} ignored {} of {} values, which were older than it reaches", count.ignored, count.came));
            }
            if count.evicted > 0 {
                self.say(format!("{name} held as many values as it may: {} left early", count.evicted));
            }
        }
    }

    /// Records of a stream were keyed by partition keys that they do not have here.
    pub(super) fn unkeyed(&mut self, subject: &Subject, source: &Source) {
        let Some(pipeline) = subject.pipeline.as_deref() else { return };
        if pipeline.program.key_by.is_none() && !pipeline.program.streams.is_empty() && source.partition_key.is_none() {
            self.say("the pipeline is keyed by partition keys, and these records have none, so they share one monitor: name the field that holds it with --partition-key".to_owned());
        }
    }

    /// Inputs had no value in any record, or the key that was asked for has no record.
    pub(super) fn unseen(&mut self, plan: &Plan, wanted: Option<&str>) {
        if let Some(wanted) = wanted.filter(|_| !self.found) {
            let mut keys: Vec<_> = self.keys.iter().take(KEYS).cloned().collect();
            if self.keys.len() > KEYS {
                keys.push("…".to_owned());
            }
            let there = if keys.is_empty() { "there are no records".to_owned() } else { format!("there are {}", keys.join(", ")) };
            return self.say(format!("no record has the key {wanted}; {there}"));
        }
        if self.records == 0 {
            return self.say("there are no records".to_owned());
        }
        let never = plan.streams().iter().zip(&self.seen).filter(|(_, seen)| !**seen).map(|(stream, _)| stream.name.to_string());
        let never: Vec<_> = never.collect();
        if !never.is_empty() {
            self.say(format!("no record has a value for {}", never.join(", ")));
        }
    }

    /// What was read or written otherwise than it stands there.
    pub(super) fn counts(&mut self, duplicates: u64, nulls: u64) {
        if duplicates > 0 {
            self.say(format!("{duplicates} members stand twice in an object; the last of each was taken"));
        }
        if nulls > 0 {
            self.say(format!("{nulls} floats are infinite or NaN, which JSON cannot say: they are null"));
        }
    }
}
