//! Traces held against the golden vectors, which an independent implementation answered.

use super::notes::Notes;
use super::{Arguments, Source, trace};
use crate::cli::Output;
use crate::cli::subject::Subject;
use crate::error::Meaning;
use crate::program;
use serde_json::{Value, json};

/// What a trace prints, and the code it ends with.
fn traced(root: &str, records: &str, output: Output) -> (String, Option<String>) {
    let loaded = program::of_root(root).unwrap_or_else(|error| panic!("{root}\n{error}"));
    let subject = Subject { file: "case.dsrv".into(), text: root.to_owned(), loaded, pipeline: None };
    let arguments = Arguments { root: "case.dsrv".into(), records: "case.ndjson".into(), streams: None, output, source: Source::default() };
    let (mut out, mut notes) = (Vec::new(), Notes::default());
    let ended = trace(&arguments, &subject, (records.as_bytes(), &mut notes), &mut out);
    (String::from_utf8(out).expect("a text"), ended.err().map(|error| error.code().to_string()))
}

/// Where a case and the language disagree, the language wins: the same two as in `tests/local/flow/vectors.rs`.
fn settled(case: &Value) -> Value {
    let mut case = case.clone();
    match case["name"].as_str() {
        // No stream may be named `over`.
        Some("mixed_types_sampled") => {
            let text = case.to_string().replace("out over", "out above").replace("\"over\":", "\"above\":");
            return serde_json::from_str(&text).expect("JSON");
        }
        // A deciding side of `=>` decides, whatever the other is.
        Some("dynamic_bool_body") => case["outputs"][4]["z"] = json!(true),
        _ => {}
    }
    case
}

fn judge(case: &Value) -> Result<(), String> {
    let root = case["program"].as_str().expect("a program");
    let records: String = case["inputs"].as_array().expect("inputs").iter().flat_map(|tick| [tick.to_string(), "\n".to_owned()]).collect();
    let (said, code) = traced(root, &records, Output::Json);
    let got: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let wanted = case["outputs"].as_array().expect("outputs");
    let fails = wanted.last().is_some_and(|last| last.get("error").is_some());
    if got.len() != wanted.len() || code.is_some() != fails {
        return Err(format!("{} of {} ticks, {code:?}\n{said}", got.len(), wanted.len()));
    }
    for (at, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let same = if wanted.get("error").is_some() { got["error"] == true && got["detail"].is_string() } else { got == wanted };
        if !same {
            return Err(format!("tick {at}: wanted {wanted}, got {got}"));
        }
    }
    Ok(())
}

#[test]
fn a_trace_gives_what_the_golden_vectors_say() {
    let mut wrong = Vec::new();
    for file in ["arithmetic", "collections", "delays", "differences", "dynamic", "functions", "lifting", "specials"] {
        let path = format!("{}/tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
        let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors")).expect("JSON");
        assert!(!cases.is_empty());
        for case in &cases {
            wrong.extend(judge(&settled(case)).err().map(|why| format!("{file}, {}: {why}\n{}", case["name"], case["program"])));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn both_forms_print_a_row_for_each_record_whatever_the_vector() {
    let root = "in x: Int\nout y = x[1]\naux z = x * 2\n";
    let (table, _) = traced(root, "{\"x\":1}\n\n{}\n{\"x\":null}\n", Output::Text);
    assert_eq!(table, "line      x         y  z\n   1      1  Deferred  2\n   3  NoVal         1  2\n   4  NoVal         1  2\n");
    let (json, _) = traced(root, "{\"x\":1}\n\n{}\n", Output::Json);
    assert_eq!(json, "{\"y\":{\"special\":\"Deferred\"}}\n{\"y\":1}\n");
}
