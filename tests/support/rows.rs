//! What must hold of the rows that came out, as a pure function: numbers, order, counters, copies, epochs.
//!
//! The records are numbered from 1; number n goes to key (n − 1) mod KEYS, as that key's record ⌈n / KEYS⌉. The root counts
//! the records of its key, so a row's counter says whether all the state before it was there.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How many keys the records go to.
pub(crate) const KEYS: u64 = 50;

/// A fault in every row is reported this often.
const MOST: usize = 5;

/// One row that came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The number of its record.
    pub(crate) number: u64,
    pub(crate) key: String,
    /// How many records of its key the root has seen.
    pub(crate) count: u64,
    /// Which text of the root made it.
    pub(crate) version: u64,
    /// `_millrace.id`: stream, shard, sequence, output.
    pub(crate) id: String,
    pub(crate) split_epoch: u64,
    pub(crate) root_epoch: u64,
    /// When the service took it, in milliseconds.
    pub(crate) arrived: i64,
}

/// A root that took over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cutover {
    pub(crate) epoch: u64,
    pub(crate) version: u64,
    /// By shard, the last sequence number under the root before it. The first root has none.
    pub(crate) after: BTreeMap<String, String>,
}

/// What was done to the pipeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// Records 1 to this one were fed.
    pub(crate) fed: u64,
    /// In order; the first is the one that the pipeline was made with.
    pub(crate) roots: Vec<Cutover>,
    /// When a second copy of a row may have arrived, in milliseconds: from a kill until it was made good.
    pub(crate) killed: Option<Range<i64>>,
}

pub(crate) fn key_of(number: u64) -> String {
    format!("key-{:02}", number.saturating_sub(1) % KEYS)
}

pub(crate) fn count_of(number: u64) -> u64 {
    number.div_ceil(KEYS)
}

/// The shard and the sequence number in a row's id.
pub(crate) fn place(id: &str) -> Option<(&str, &str)> {
    let mut parts = id.rsplit('/');
    let (_output, sequence, shard) = (parts.next()?, parts.next()?, parts.next()?);
    (shard.starts_with("shardId-") && is_number(sequence)).then_some((shard, sequence))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Sequence numbers have up to 129 digits.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    let [one, other] = [one, other].map(|text| text.trim_start_matches('0'));
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Everything that is wrong; nothing if all is well. Rows of one key are in the order in which they came out.
pub(crate) fn faults(story: &Story, rows: &[Row]) -> Vec<String> {
    let checks: [(&str, Vec<String>); 6] = [
        ("numbers", numbers(story, rows)),
        ("order", order(rows)),
        ("counters", counters(rows)),
        ("copies", copies(story, rows)),
        ("epochs", epochs(story, rows)),
        ("tenancies", tenancies(rows)),
    ];
    checks.into_iter().flat_map(|(name, found)| shortened(name, &found)).collect()
}

fn shortened(name: &str, found: &[String]) -> Vec<String> {
    let more = found.len().saturating_sub(MOST);
    let said = found.iter().take(MOST).map(|what| format!("{name}: {what}"));
    said.chain((more > 0).then(|| format!("{name}: and {more} more"))).collect()
}

/// Every number arrives, and no other.
fn numbers(story: &Story, rows: &[Row]) -> Vec<String> {
    let seen: BTreeSet<u64> = rows.iter().map(|row| row.number).collect();
    let missing = (1..=story.fed).filter(|number| !seen.contains(number)).map(|number| format!("{number} ({}) is missing", key_of(number)));
    let foreign = seen.iter().filter(|number| !(1..=story.fed).contains(*number)).map(|number| format!("{number} was never fed"));
    missing.chain(foreign).collect()
}

/// The first copies of a key's rows come in the order of their records.
fn order(rows: &[Row]) -> Vec<String> {
    let (mut seen, mut last) = (BTreeSet::new(), BTreeMap::<&str, u64>::new());
    let mut found = Vec::new();
    for row in rows {
        if !seen.insert(row.number) {
            continue;
        }
        if let Some(before) = last.insert(&row.key, row.number).filter(|before| *before > row.number) {
            found.push(format!("{} of {} came after {before}", row.number, row.key));
        }
    }
    found
}

/// A row's key is its record's, and its counter the record's place in its key.
fn counters(rows: &[Row]) -> Vec<String> {
    let wrong = rows.iter().filter(|row| row.key != key_of(row.number) || row.count != count_of(row.number));
    wrong
        .map(|row| {
            let (key, count) = (key_of(row.number), count_of(row.number));
            format!("{} says {} of {}, and is {count} of {key} (version {}, {})", row.number, row.count, row.key, row.version, row.id)
        })
        .collect()
}

/// Second copies arrive only after a kill, and are known by their id; two records never share one.
fn copies(story: &Story, rows: &[Row]) -> Vec<String> {
    let (mut first, mut by_id) = (BTreeMap::<u64, &Row>::new(), BTreeMap::<&str, u64>::new());
    let mut found = Vec::new();
    for row in rows {
        if let Some(other) = by_id.insert(&row.id, row.number).filter(|other| *other != row.number) {
            found.push(format!("{other} and {} share the id {}", row.number, row.id));
        }
        let Some(before) = first.get(&row.number) else {
            first.insert(row.number, row);
            continue;
        };
        if !story.killed.as_ref().is_some_and(|window| window.contains(&row.arrived)) {
            found.push(format!("{} came twice, at {} and {}, and nobody was killed then", row.number, before.arrived, row.arrived));
        }
        if before.id != row.id {
            found.push(format!("{} came twice under two ids: {} and {}", row.number, before.id, row.id));
        }
        let content = |row: &Row| (row.count, row.version);
        if before.root_epoch == row.root_epoch && content(before) != content(row) {
            found.push(format!("{} came twice with two contents: {before:?} and {row:?}", row.number));
        }
    }
    found
}

/// A row's root epoch is the one that was reported for its place in its shard, and its content that root's. Of copies the
/// last tenancy's counts: one that was killed while it changed over may have gone further under the old root.
fn epochs(story: &Story, rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    for row in kept(rows) {
        let Some((shard, sequence)) = place(&row.id) else {
            found.push(format!("{} has no place in its id: {}", row.number, row.id));
            continue;
        };
        let Some(root) = story.roots.iter().rev().find(|root| took_over(root, shard, sequence)) else {
            found.push(format!("{} at {shard} {sequence}: no root was there yet", row.number));
            continue;
        };
        if (row.root_epoch, row.version) != (root.epoch, root.version) {
            found.push(format!(
                "{} at {shard} {sequence} has epoch {} and version {}, where {} and {} were reported",
                row.number, row.root_epoch, row.version, root.epoch, root.version
            ));
        }
    }
    found
}

/// Of each record's rows that of the last tenancy, as a consumer keeps it.
fn kept(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut last = BTreeMap::<u64, &Row>::new();
    for row in rows {
        let before = last.entry(row.number).or_insert(row);
        if row.split_epoch > before.split_epoch {
            *before = row;
        }
    }
    last.into_values()
}

/// Where this root took over, as its rows show it, of shards whose ends nobody reports because they have ended.
pub(crate) fn shown(root: &mut Cutover, ended: &[String], rows: &[Row]) {
    for row in kept(rows).filter(|row| row.root_epoch < root.epoch) {
        let Some((shard, sequence)) = place(&row.id).filter(|(shard, _)| ended.iter().any(|ended| ended == shard)) else { continue };
        let last = root.after.entry(shard.to_owned()).or_insert_with(|| sequence.to_owned());
        if compare(last, sequence) == Ordering::Less {
            sequence.clone_into(last);
        }
    }
}

/// A shard that a report does not name came later, or had none before: it is under that root from its first record on.
fn took_over(root: &Cutover, shard: &str, sequence: &str) -> bool {
    root.after.get(shard).is_none_or(|after| compare(sequence, after) == Ordering::Greater)
}

/// In a shard's order, the first copies' split epochs never fall.
fn tenancies(rows: &[Row]) -> Vec<String> {
    let mut shards = BTreeMap::<&str, Vec<(&str, &Row)>>::new();
    let mut seen = BTreeSet::new();
    for row in rows.iter().filter(|row| seen.insert(row.number)) {
        if let Some((shard, sequence)) = place(&row.id) {
            shards.entry(shard).or_default().push((sequence, row));
        }
    }
    let mut found = Vec::new();
    for (shard, mut rows) in shards {
        rows.sort_by(|one, other| compare(one.0, other.0));
        for pair in rows.windows(2).filter(|pair| pair[0].1.split_epoch > pair[1].1.split_epoch) {
            let [before, after] = [pair[0].1, pair[1].1];
            found.push(format!(
                "{shard}: split epoch {} of {} falls to {} of {}",
                before.split_epoch, before.number, after.split_epoch, after.number
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Cutover, KEYS, Row, Story, compare, count_of, faults, key_of, place};
    use std::cmp::Ordering;

    const FED: u64 = 4 * KEYS;
    const CUT: u64 = 2 * KEYS;

    fn shard(number: u64) -> String {
        format!("shardId-00000000000{}", number % 2)
    }

    fn row(number: u64) -> Row {
        let (root_epoch, version) = if number > CUT { (7, 2) } else { (3, 1) };
        let id = format!("arn:aws:kinesis:x:1:stream/in@1/{}/{}/out", shard(number), sequence(number));
        Row {
            number,
            key: key_of(number),
            count: count_of(number),
            version,
            id,
            split_epoch: 1,
            root_epoch,
            arrived: i64::try_from(number).unwrap(),
        }
    }

    fn sequence(number: u64) -> String {
        (990 + number).to_string()
    }

    fn story() -> Story {
        let after = [(shard(0), sequence(CUT)), (shard(1), sequence(CUT - 1))].into();
        let roots = vec![Cutover { epoch: 3, version: 1, ..Cutover::default() }, Cutover { epoch: 7, version: 2, after }];
        Story { fed: FED, roots, killed: None }
    }

    fn rows() -> Vec<Row> {
        (1..=FED).map(row).collect()
    }

    fn found(change: impl FnOnce(&mut Story, &mut Vec<Row>)) -> Vec<String> {
        let (mut story, mut rows) = (story(), rows());
        change(&mut story, &mut rows);
        faults(&story, &rows)
    }

    /// What was found is of this kind, and of no other.
    fn only(kind: &str, found: &[String]) {
        assert!(!found.is_empty() && found.iter().all(|fault| fault.starts_with(&format!("{kind}: "))), "{kind}: {found:?}");
    }

    #[test]
    fn a_story_that_went_well_has_no_fault() {
        assert_eq!(found(|_, _| ()), Vec::<String>::new());
    }

    #[test]
    fn a_number_that_is_lost_or_made_up_is_found() {
        only("numbers", &found(|_, rows| drop(rows.remove(70))));
        only("numbers", &found(|_, rows| drop(rows.pop())));
        only("numbers", &found(|story, _| story.fed -= 1));
        let all = found(|_, rows| rows.truncate(1));
        assert!(all.len() == 6 && all[5].ends_with("and 194 more"), "{all:?}");
    }

    #[test]
    fn a_key_out_of_order_is_found_and_two_keys_are_not() {
        let key = usize::try_from(KEYS).unwrap();
        only("order", &found(|_, rows| rows.swap(3, 3 + key)));
        assert_eq!(found(|_, rows| rows.swap(3, 4)), Vec::<String>::new());
    }

    #[test]
    fn state_that_was_dropped_is_found() {
        // From some record of a key on, it counts anew.
        only("counters", &found(|_, rows| rows.iter_mut().filter(|row| row.number > CUT).for_each(|row| row.count -= 2)));
        only("counters", &found(|_, rows| rows[9].key = key_of(9)));
    }

    #[test]
    fn copies_are_taken_after_a_kill_only_and_only_by_their_id() {
        let again = |rows: &mut Vec<Row>, at: usize, arrived: i64| {
            let copy = Row { arrived, split_epoch: 2, ..rows[at].clone() };
            rows.push(copy);
        };
        only("copies", &found(|_, rows| again(rows, 150, 400)));
        assert_eq!(found(|story, rows| (story.killed = Some(390..500), again(rows, 150, 400)).1), Vec::<String>::new());
        only("copies", &found(|story, rows| (story.killed = Some(390..400), again(rows, 150, 400)).1));
        let other_id = |story: &mut Story, rows: &mut Vec<Row>| {
            story.killed = Some(390..500);
            again(rows, 150, 400);
            rows.last_mut().unwrap().id = rows[152].id.replace("/out", "/other");
        };
        only("copies", &found(other_id));
        let shared = |_: &mut Story, rows: &mut Vec<Row>| rows[3].id = rows[1].id.clone();
        only("copies", &found(shared));
        let content = |story: &mut Story, rows: &mut Vec<Row>| {
            story.killed = Some(390..500);
            again(rows, 150, 400);
            rows[150].version = 9;
        };
        assert!(found(content).iter().any(|fault| fault.contains("two contents")));
    }

    #[test]
    fn a_row_under_another_root_than_was_reported_is_found() {
        let cut = usize::try_from(CUT).unwrap();
        // The last of the old root, and the first of the new one, each on the wrong side.
        only("epochs", &found(|_, rows| (rows[cut - 1].root_epoch, rows[cut - 1].version) = (7, 2)));
        only("epochs", &found(|_, rows| (rows[cut].root_epoch, rows[cut].version) = (3, 1)));
        only("epochs", &found(|_, rows| rows[cut].version = 1));
        only("epochs", &found(|story, _| drop(story.roots[1].after.remove(&shard(0)))));
        only("epochs", &found(|_, rows| rows[5].id = "in/6".into()));
        only("epochs", &found(|story, _| drop(story.roots.remove(0))));
        // A shard that was born later is under the new root from its first record on.
        let born = |_: &mut Story, rows: &mut Vec<Row>| {
            let last = rows.last_mut().unwrap();
            last.id = "in/shardId-000000000009/1/out".into();
        };
        assert_eq!(found(born), Vec::<String>::new());
    }

    #[test]
    fn a_former_owner_that_writes_on_is_found() {
        only("tenancies", &found(|_, rows| rows[40].split_epoch = 2));
    }

    #[test]
    fn sequence_numbers_compare_as_numbers() {
        assert_eq!(compare("999", "1000"), Ordering::Less);
        assert_eq!(compare("0999", "998"), Ordering::Greater);
        assert_eq!(compare(&"9".repeat(56), &"9".repeat(56)), Ordering::Equal);
        assert_eq!(place("arn:aws:kinesis:x:1:stream/in/9/shardId-1/12/out"), Some(("shardId-1", "12")));
        assert_eq!((place("shardId-1/12"), place("a/shardId-1/x/out"), place("a/b/12/out")), (None, None, None));
    }
}
