//! The table that `trace` prints: one line a tick, columns aligned.
//!
//! Rows are held back until a block of them is there, so that columns are as wide as their widest cell. Later blocks keep
//! the widths they find, or widen them.

use crate::dataflow::value::{Cell, show};
use std::io::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// No cell is wider.
const WIDEST: usize = 40;
/// What stands between columns.
const GAP: &str = "  ";

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// What stands above it.
    pub(super) head: String,
    /// Whether its cells end under each other, as numbers do.
    pub(super) right: bool,
}

enum Entry {
    /// A cell for each column.
    Cells(Vec<String>),
    /// Cells for the first columns, then words across the others.
    Words(Vec<String>, String),
}

/// A table while it is printed.
pub(super) struct Table {
    columns: Vec<Column>,
    widths: Vec<usize>,
    held: Vec<Entry>,
    most: usize,
    begun: bool,
}

impl Table {
    /// An empty table that holds back so many rows.
    pub(super) fn new(columns: Vec<Column>, most: usize) -> Self {
        let widths = columns.iter().map(|column| column.head.width()).collect();
        Self { columns, widths, held: Vec::new(), most, begun: false }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<String>, out: &mut impl Write) -> std::io::Result<()> {
        self.add(Entry::Cells(cells), out)
    }

    /// Adds a row that has only its first cells, and words instead of the others.
    pub(super) fn words(&mut self, cells: Vec<String>, words: String, out: &mut impl Write) -> std::io::Result<()> {
        self.add(Entry::Words(cells, words), out)
    }

    fn add(&mut self, entry: Entry, out: &mut impl Write) -> std::io::Result<()> {
        let (Entry::Cells(cells) | Entry::Words(cells, _)) = &entry;
        for (width, cell) in self.widths.iter_mut().zip(cells) {
            *width = cell.width().max(*width);
        }
        self.held.push(entry);
        if self.held.len() < self.most { Ok(()) } else { self.flush(out) }
    }

    /// Prints what is held back, and the heads where nothing is printed yet.
    pub(super) fn flush(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if !self.begun {
            self.begun = true;
            let heads: Vec<_> = self.columns.iter().map(|column| column.head.clone()).collect();
            self.print(&heads, "", out)?;
        }
        for entry in std::mem::take(&mut self.held) {
            match entry {
                Entry::Cells(cells) => self.print(&cells, "", out)?,
                Entry::Words(cells, words) => self.print(&cells, &words, out)?,
            }
        }
        out.flush()
    }

    fn print(&self, cells: &[String], words: &str, out: &mut impl Write) -> std::io::Result<()> {
        let mut line = String::new();
        for (cell, (column, width)) in cells.iter().zip(self.columns.iter().zip(&self.widths)) {
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            let [before, after] = if column.right { [blanks.as_str(), ""] } else { ["", blanks.as_str()] };
            line.extend([before, cell, after, GAP]);
        }
        line.push_str(words);
        writeln!(out, "{}", line.trim_end_matches(' '))
    }
}

/// A cell as a table shows it.
pub(super) fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::NoVal => "NoVal".to_owned(),
        Cell::Deferred => "Deferred".to_owned(),
        Cell::Value(value) => cut(&visible(&show(value))),
    }
}

/// A text that takes one cell at most.
pub(super) fn cut(text: &str) -> String {
    if text.width() <= WIDEST {
        return text.to_owned();
    }
    let mut room = WIDEST - 1;
    let fits = |c: &char| {
        let width = c.width().unwrap_or_default();
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The text, with what a terminal would obey or hide written out: data must not drive the terminal.
pub(super) fn visible(text: &str) -> String {
    let each = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns { c.escape_unicode().collect() } else { String::from(c) }
    };
    text.chars().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::{Column, Table, WIDEST, cut, visible};
    use unicode_width::UnicodeWidthStr;

    fn columns() -> Vec<Column> {
        [("line", true), ("name", false), ("n", true)].map(|(head, right)| Column { head: head.to_owned(), right }).to_vec()
    }

    fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_wide_characters_count_twice() {
        let (mut out, mut table) = (Vec::new(), Table::new(columns(), 10));
        table.row(cells(["1", "ab", "7"]), &mut out).expect("a Vec takes all");
        table.row(cells(["12", "水車水車", "1000"]), &mut out).expect("a Vec takes all");
        table.words(cells(["13"]), "ended at line 12".to_owned(), &mut out).expect("a Vec takes all");
        assert!(out.is_empty(), "rows are held back");
        table.flush(&mut out).expect("a Vec takes all");
        let wanted = "line  name         n\n   1  ab           7\n  12  水車水車  1000\n  13  ended at line 12\n";
        assert_eq!(String::from_utf8(out).expect("a text"), wanted);
    }

    #[test]
    fn a_full_block_is_printed_at_once_under_one_head() {
        let (mut out, mut table) = (Vec::new(), Table::new(columns(), 1));
        table.row(cells(["1", "a", "1"]), &mut out).expect("a Vec takes all");
        assert_eq!(out, b"line  name  n\n   1  a     1\n");
        table.row(cells(["2", "longer", "1"]), &mut out).expect("a Vec takes all");
        assert!(out.ends_with(b"\n   2  longer  1\n"), "{}", String::from_utf8_lossy(&out));
    }

    #[test]
    fn long_texts_are_cut_to_a_cell() {
        assert_eq!(cut(&"x".repeat(WIDEST)), "x".repeat(WIDEST));
        assert_eq!(cut(&"x".repeat(WIDEST + 1)), "x".repeat(WIDEST - 1) + "…");
        assert!(cut(&"水".repeat(100)).width() <= WIDEST);
    }

    #[test]
    fn nothing_in_the_data_drives_the_terminal() {
        assert_eq!(visible("a\u{1b}[2J\u{9b}b\u{202e}"), "a\\u{1b}[2J\\u{9b}b\\u{202e}");
    }
}
