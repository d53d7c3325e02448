//! Real files, read line by line.

use super::{FilePlace, FileSplit, LONGEST_LINE, open, splits};
use crate::env::real;
use crate::flow::{Lane, LaneItem, Ordinal, SplitId};
use crate::source::{Ended, Fetching, Places, QueueLimits};
use std::future::poll_fn;
use std::io::Write;
use std::path::Path;
use std::task::Waker;
use tokio::sync::watch;

type Read = (Vec<(u64, String, String)>, Result<(), String>);

fn places() -> Places {
    Places::new("start".into(), Waker::noop().clone())
}

async fn all(path: &Path) -> Read {
    read(path, FilePlace::default(), places()).await
}

async fn read(path: &Path, from: FilePlace, places: Places) -> Read {
    let (_running, stop) = watch::channel(false);
    let split = FileSplit { id: SplitId::new("file"), path: path.to_owned() };
    let mut lane = open(&real(), &split, from, Fetching { limits: QueueLimits { records: 2, bytes: 64 }, stop, places });
    let mut records = Vec::new();
    loop {
        match poll_fn(|cx| lane.poll_next(cx)).await {
            LaneItem::Batch(batch) => records.extend(batch.iter().map(|(ordinal, record)| {
                (ordinal.get(), record.sequence_number.to_owned(), String::from_utf8(record.payload.to_vec()).unwrap())
            })),
            LaneItem::End => return (records, Ok(())),
            LaneItem::Failed(error) => return (records, Err(error.to_string())),
        }
    }
}

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

#[tokio::test]
async fn lines_are_records_and_blank_ones_only_count() {
    let (records, end) = all(file(b"{\"a\":1}\r\n\n  \n{\"b\":2}\nlast").path()).await;
    let expected = [(1, "1", "{\"a\":1}"), (2, "4", "{\"b\":2}"), (3, "5", "last")];
    assert_eq!(records, expected.map(|(ordinal, line, text)| (ordinal, line.to_owned(), text.to_owned())));
    assert_eq!(end, Ok(()));
}

#[tokio::test]
async fn lines_that_cross_what_is_read_at_once_stay_whole() {
    let long = "x".repeat(300 << 10);
    let (records, _) = all(file(format!("{long}\nshort\n{long}\n").as_bytes()).path()).await;
    assert_eq!(records.iter().map(|(_, _, text)| text.len()).collect::<Vec<_>>(), [long.len(), 5, long.len()]);
}

#[tokio::test]
async fn a_line_without_end_is_refused_by_its_number() {
    let mut content = b"first\n".to_vec();
    content.resize(LONGEST_LINE + (1 << 20), b'x');
    let (records, end) = all(file(&content).path()).await;
    assert_eq!(records.len(), 1);
    assert!(end.unwrap_err().ends_with("has a line of more than 10 MiB, line 2"));
}

#[tokio::test]
async fn a_missing_file_and_an_empty_folder_are_said() {
    let folder = tempfile::tempdir().unwrap();
    assert!(splits(folder.path()).unwrap_err().to_string().ends_with("is a folder without files"));
    let missing = folder.path().join("none");
    assert!(splits(&missing).unwrap_err().to_string().contains("none cannot be read: "));
    assert!(all(&missing).await.1.unwrap_err().contains("none cannot be read: "));
}

#[test]
fn a_folder_is_read_by_name_without_what_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b", "a", ".hidden"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    let names: Vec<_> = splits(folder.path()).unwrap().iter().map(|split| split.id.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn a_stopped_fetcher_ends_the_lane_behind_what_it_has() {
    let (running, stop) = watch::channel(false);
    let content = file("12345\n".repeat(1_000_000).as_bytes());
    let split = FileSplit { id: SplitId::new("file"), path: content.path().to_owned() };
    let mut lane =
        open(&real(), &split, FilePlace::default(), Fetching { limits: QueueLimits { records: 1, bytes: 1 }, stop, places: places() });
    let LaneItem::Batch(first) = poll_fn(|cx| lane.poll_next(cx)).await else { panic!("no records") };
    running.send(true).unwrap();
    let mut more = 0;
    while let LaneItem::Batch(batch) = poll_fn(|cx| lane.poll_next(cx)).await {
        more += batch.len();
    }
    assert!(first.len() + more < 1_000_000);
}

#[tokio::test]
async fn reading_goes_on_from_the_place_behind_a_page() {
    let content = "{\"number\":1}\n".repeat(100_000);
    let file = file(content.as_bytes());
    let noted = places();
    let (records, _) = read(file.path(), FilePlace::default(), noted.clone()).await;
    assert_eq!((records.len(), noted.ended()), (100_000, Some(Ended::Complete)));
    assert_eq!(noted.behind(Ordinal::new(100_000)).as_deref(), Some(format!("line 100000 byte {}", content.len()).as_str()));
    let from: FilePlace = "line 40000 byte 520000".parse().unwrap();
    let (rest, _) = read(file.path(), from, places()).await;
    assert_eq!((rest.len(), rest[0].1.as_str()), (60_000, "40001"));
    assert_eq!((from.to_string().as_str(), "line x byte 1".parse::<FilePlace>()), ("line 40000 byte 520000", Err(())));
}
