//! Answers that go wrong, from a stand-in of an API server that gives them in turn: what the store makes of each, and
//! that it asks once.

use super::worker;
use millrace::coordination::kubernetes::{Kubernetes, Place};
use millrace::coordination::records::{Incarnation, LedgerPage, PageId, WorkerRecord, WorkerStatus};
use millrace::coordination::store::{Cursor, Hint, Key, Kind, ObjectRevision, Record, Store, StoreError, Swap};
use millrace::env;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What becomes of a request.
enum Turn {
    Answer(u16, Value),
    Text(u16, &'static str),
    /// Lines of a watch, then its end.
    Lines(Vec<Value>),
    /// The connection is closed once the request is there.
    Close,
    /// Nothing, ever.
    Hang,
}

type Seen = Arc<Mutex<Vec<String>>>;

/// Runs with a store in front of a server that takes these turns, and hears what was asked: "METHOD path?query".
fn with(turns: Vec<Turn>, work: impl AsyncFnOnce(Kubernetes, Seen)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Seen::default();
        let server = tokio::spawn(serve(listener, turns, seen.clone()));
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        let place = Place { namespace: "n".into(), pipeline: "p".into(), pipeline_uid: "u".into(), pod: None };
        work(Kubernetes::new(env::real(), config, place, Duration::from_millis(1500)).unwrap(), seen).await;
        server.abort();
    });
}

async fn serve(listener: TcpListener, turns: Vec<Turn>, seen: Seen) {
    let mut held = Vec::new();
    for turn in turns {
        let (mut connection, _) = listener.accept().await.unwrap();
        let request = request(&mut connection).await;
        seen.lock().push(request);
        let (code, body) = match turn {
            Turn::Answer(code, body) => (code, body.to_string()),
            Turn::Text(code, body) => (code, body.to_owned()),
            Turn::Lines(lines) => (200, lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")),
            Turn::Close => continue,
            Turn::Hang => {
                held.push(connection);
                continue;
            }
        };
        let start = format!("HTTP/1.1 {code} It\r\ncontent-length: {}\r\nconnection: close\r\nretry-after: 0\r\n\r\n", body.len());
        connection.write_all((start + &body).as_bytes()).await.unwrap();
        let _closed = connection.shutdown().await;
    }
    // A request that nobody expects is seen, and gets no answer.
    while let Ok((mut connection, _)) = listener.accept().await {
        let request = request(&mut connection).await;
        seen.lock().push(request);
        held.push(connection);
    }
}

async fn request(connection: &mut TcpStream) -> String {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let count = connection.read(&mut part).await.unwrap();
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(count > 0, "half a request");
            continue;
        };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            let mut words = head.split(' ');
            return format!("{} {}", words.next().unwrap(), words.next().unwrap());
        }
    }
}

fn status(code: u16, reason: &str) -> Turn {
    Turn::Answer(
        code,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason}),
    )
}

fn key() -> Key {
    Key::Page(PageId::new("p-0"))
}

fn empty() -> Record {
    Record::Page(LedgerPage::empty(Incarnation::new("i")))
}

fn object(revision: &str) -> Value {
    let page =
        json!({"schema": 1, "pipelineUid": "u", "incarnation": "i", "page": millrace::api::ledger_page::Page::default().text().unwrap()});
    json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamLedger", "record": page,
        "metadata": {"name": "p-0", "uid": "o", "resourceVersion": revision}})
}

fn worker_object(revision: &str) -> Value {
    json!({"apiVersion": "millrace.dev/v1alpha1", "kind": "StreamWorker", "spec": {},
        "metadata": {"name": "p-worker-0", "uid": "w", "resourceVersion": revision}})
}

/// What an error says of the write.
fn means(error: &StoreError) -> &'static str {
    match error {
        StoreError::NotWritten(_) => "not written",
        StoreError::Unknown(_) => "unknown",
        _ => "refused",
    }
}

#[test]
fn without_a_connection_nothing_is_written() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        let place = Place { namespace: "n".into(), pipeline: "p".into(), pipeline_uid: "u".into(), pod: None };
        let store = Kubernetes::new(env::real(), config, place, Duration::from_secs(5)).unwrap();
        let error = store.create(&key(), empty()).await.unwrap_err();
        assert_eq!(means(&error), "not written", "{error}");
    });
}

#[test]
fn a_write_is_told_as_unknown_unless_its_answer_shows_that_it_was_not_taken() {
    for (turn, write, read) in [
        (Turn::Close, "unknown", "not written"),
        (Turn::Hang, "unknown", "not written"),
        (Turn::Text(200, "<html>"), "unknown", "not written"),
        (Turn::Text(503, "upstream reset"), "unknown", "not written"),
        (status(504, "Timeout"), "unknown", "not written"),
        (status(500, "InternalError"), "unknown", "not written"),
        (status(503, "ServiceUnavailable"), "not written", "not written"),
        (status(429, "TooManyRequests"), "not written", "not written"),
        (status(401, "Unauthorized"), "not written", "not written"),
        (status(403, "Forbidden"), "refused", "refused"),
        (Turn::Text(404, "404 page not found"), "refused", "refused"),
    ] {
        let again = match &turn {
            Turn::Answer(code, body) => Turn::Answer(*code, body.clone()),
            Turn::Text(code, body) => Turn::Text(*code, body),
            Turn::Lines(_) | Turn::Close => Turn::Close,
            Turn::Hang => Turn::Hang,
        };
        with(vec![turn, again], async |store, seen| {
            let error = store.create(&key(), empty()).await.unwrap_err();
            assert_eq!(means(&error), write, "{error}");
            assert_eq!(seen.lock().len(), 1, "a write is sent once: {error}");
            let error = store.read(&key()).await.unwrap_err();
            assert_eq!(means(&error), read, "{error}");
            assert_eq!(seen.lock().len(), 2, "{error}");
        });
    }
}

#[test]
fn a_write_begins_from_what_was_read_and_reads_nothing_again() {
    let turns =
        vec![Turn::Answer(200, object("7")), Turn::Answer(200, object("8")), status(409, "Conflict"), Turn::Answer(200, object("9"))];
    with(turns, async |store, seen| {
        let known = store.read(&key()).await.unwrap().unwrap();
        let swap = store.swap(&key(), &known.revision, empty()).await.unwrap();
        let Swap::Done(revision) = swap else { panic!("{swap:?}") };
        assert_eq!(&*revision.revision, "8");
        assert_eq!(store.swap(&key(), &revision, empty()).await.unwrap(), Swap::Lost);
        // It does not know what stands there now, reads it, and finds that it is not what was read.
        assert_eq!(store.swap(&key(), &revision, empty()).await.unwrap(), Swap::Lost);
        let path = "/apis/millrace.dev/v1alpha1/namespaces/n/streamledgers/p-0";
        let put = format!("PUT {path}?&fieldManager=millrace-worker");
        assert_eq!(*seen.lock(), [format!("GET {path}"), put.clone(), put, format!("GET {path}")]);
    });
}

#[test]
fn a_worker_that_was_made_and_did_not_speak_is_not_told_as_missing() {
    let record = || {
        Record::Worker(WorkerRecord {
            status: WorkerStatus { incarnation: Incarnation::new("i"), budget: 1, leaving: false },
            assignment: None,
        })
    };
    for (turn, expected) in [
        (Turn::Answer(200, worker_object("2")), "done"),
        (status(409, "Conflict"), "lost"),
        (status(503, "ServiceUnavailable"), "unknown"),
        (Turn::Close, "unknown"),
        (status(403, "Forbidden"), "refused"),
    ] {
        with(vec![Turn::Answer(201, worker_object("1")), turn], async |store, _| {
            let told = match store.create(&worker("p-worker-0"), record()).await {
                Ok(Swap::Done(revision)) => {
                    assert_eq!(revision, ObjectRevision { uid: "w".into(), revision: "2".into() });
                    "done"
                }
                Ok(Swap::Lost) => "lost",
                Err(error) => means(&error),
            };
            assert_eq!(told, expected);
        });
    }
}

#[test]
fn a_list_whose_beginning_has_expired_is_begun_anew_by_its_caller() {
    let first = json!({"kind": "StreamLedgerList", "apiVersion": "millrace.dev/v1alpha1", "metadata": {"resourceVersion": "9", "continue": "c"},
        "items": [object("7")]});
    with(vec![Turn::Answer(200, first), status(410, "Expired")], async |store, seen| {
        let part = store.list(Kind::Page, None).await.unwrap();
        assert_eq!((part.objects.len(), part.next.as_deref(), &*part.cursor.0), (1, Some("c"), "9"));
        let error = store.list(Kind::Page, part.next).await.unwrap_err();
        assert_eq!(means(&error), "not written", "{error}");
        let asked = seen.lock().clone();
        assert!(asked.iter().all(|asked| !asked.contains("resourceVersion")), "a list is answered by quorum: {asked:?}");
        assert!(asked[1].contains("continue=c"), "{asked:?}");
    });
}

#[test]
fn a_watch_goes_on_from_where_the_server_ended_it() {
    let mark = json!({"type": "BOOKMARK", "object": {"kind": "StreamLedger", "apiVersion": "millrace.dev/v1alpha1", "metadata": {"resourceVersion": "12"}}});
    let lines = vec![json!({"type": "MODIFIED", "object": object("11")}), mark];
    let gone = vec![json!({"type": "DELETED", "object": object("13")})];
    let over = json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}});
    with(vec![Turn::Lines(lines), Turn::Lines(gone), Turn::Lines(vec![over])], async |store, seen| {
        let mut watch = store.watch(Kind::Page, Cursor("10".into()));
        let hints = watch.next().await.unwrap();
        assert!(
            matches!(&hints[..], [Hint { key: found, known: Some(known) }] if *found == key() && &*known.revision.revision == "11"),
            "{hints:?}"
        );
        assert_eq!(watch.next().await.unwrap(), [Hint { key: key(), known: None }]);
        let error = watch.next().await.unwrap_err();
        assert_eq!(means(&error), "not written", "{error}");
        let asked = seen.lock().clone();
        for (asked, from) in asked.iter().zip(["10", "12", "13"]) {
            assert!(asked.ends_with(&format!("resourceVersion={from}")) && asked.contains("watch=true"), "{asked}");
        }
        assert_eq!(asked.len(), 3);
    });
}

#[test]
fn a_watch_that_ends_at_once_again_and_again_is_not_asked_for_in_a_hurry() {
    with(vec![Turn::Lines(Vec::new()), Turn::Lines(Vec::new())], async |store, seen| {
        let mut watch = store.watch(Kind::Page, Cursor("10".into()));
        let waited = tokio::time::timeout(Duration::from_millis(1500), watch.next()).await;
        assert!(waited.is_err(), "there is nothing to tell");
        assert_eq!(seen.lock().len(), 2);
    });
}
