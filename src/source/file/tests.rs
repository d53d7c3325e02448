use super::{FileSplit, LONGEST_LINE, open, splits};
use crate::env::real;
use crate::flow::{Lane, LaneItem, SplitId};
use crate::source::QueueLimits;
use std::future::poll_fn;
use std::io::Write;
use std::path::Path;
use tokio::sync::watch;

type Read = (Vec<(u64, String, String)>, Result<(), String>);

async fn all(path: &Path) -> Read {
    let (_running, stop) = watch::channel(false);
    let split = FileSplit { id: SplitId::new("file"), path: path.to_owned() };
    let mut lane = open(&real(), &split, QueueLimits { records: 2, bytes: 64 }, stop);
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
    let content = file("12345\n".repeat(100_000).as_bytes());
    let split = FileSplit { id: SplitId::new("file"), path: content.path().to_owned() };
    let mut lane = open(&real(), &split, QueueLimits { records: 1, bytes: 1 }, stop);
    let LaneItem::Batch(first) = poll_fn(|cx| lane.poll_next(cx)).await else { panic!("no records") };
    running.send(true).unwrap();
    let mut more = 0;
    while let LaneItem::Batch(batch) = poll_fn(|cx| lane.poll_next(cx)).await {
        more += batch.len();
    }
    assert!(first.len() + more < 100_000);
}
