//! Tests of this module: against the slow way, and against another reader of JSON.

use super::model::{Json, Layout, any_json, json_of, layout};
use super::records::{record, row, setup};
use super::{generate, records::Setup};
use crate::codec::Limits;
use crate::dataflow::value::Cell;
use crate::lang::types::Type;
use proptest::prelude::*;

/// Inputs at places of which some lead through others.
const PLACES: [(&str, &str, &[&str]); 5] =
    [("x0", "/a", &["a"]), ("x1", "/a/b", &["a", "b"]), ("x2", "/b/0", &["b", "0"]), ("x3", "/c", &["c"]), ("x4", "/c", &["c"])];

fn written(json: &Json, layout: Layout) -> String {
    let mut text = String::new();
    json.write(layout, &mut text);
    text
}

/// A payload with values of these types at their places, and others, in any order, names standing twice at times.
fn payload(types: &[Type]) -> BoxedStrategy<Json> {
    let [a, a_b, b_0, c, _] = types else { panic!("five") };
    let b = json_of(b_0).prop_map(|first| Json::Array(vec![first, Json::Null]));
    let inner = prop::collection::vec((Just("b".to_owned()), json_of(a_b)), 1..2).prop_map(Json::Object);
    let a = prop_oneof![json_of(a), inner];
    let member = prop_oneof![
        (Just("a".to_owned()), a.clone()),
        (Just("b".to_owned()), b.clone()),
        (Just("c".to_owned()), json_of(c)),
        ("[d-f]", any_json()),
    ];
    prop::collection::vec(member, 0..7).prop_map(Json::Object).boxed()
}

/// The row that the slow way gives: none where a value does not fit.
fn expected(json: &Json, types: &[Type]) -> Option<Vec<Cell>> {
    let cell = |(ty, (_, _, pointer)): (&Type, &(&str, &str, &[&str]))| match json.at(pointer) {
        None | Some(Json::Null) => Some(Cell::NoVal),
        Some(json) => json.fit(ty).map(Cell::Value),
    };
    types.iter().zip(&PLACES).map(cell).collect()
}

/// Whether another reader takes it for one object. None where it does not say: it refuses numbers that no float holds.
fn is_object(payload: &[u8]) -> Option<bool> {
    match serde_json::from_slice::<serde_json::Value>(payload) {
        Ok(value) => Some(value.is_object()),
        Err(error) if error.to_string().starts_with("number out of range") => None,
        Err(_) => Some(false),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn records_become_the_rows_that_the_slow_way_gives(
        (types, json, layout) in prop::collection::vec(generate::declared(), 5)
            .prop_flat_map(|types| (Just(types.clone()), payload(&types), layout())),
    ) {
        let root: Vec<_> = types.iter().zip(&PLACES).map(|(ty, (name, ..))| format!("in {name}: {ty}")).collect();
        let bound = PLACES.map(|(name, at, _)| (name, at));
        let setup = setup(&root.join("\n"), &bound).decoder().unwrap();
        let (text, mut input) = (written(&json, layout), setup.input());
        let decoded = setup.decode(&record(text.as_bytes()), &mut input);
        match expected(&json, &types) {
            Some(row) => {
                prop_assert!(decoded.is_ok(), "{}: {}", text, decoded.unwrap_err());
                prop_assert_eq!(input.row(), row, "{}", text);
            }
            None => prop_assert!(matches!(&decoded, Err(error) if ["kind", "range", "missing"].contains(&error.kind())), "{}: {:?}", text, decoded),
        }
    }

    #[test]
    fn whether_a_payload_is_json_does_not_depend_on_who_reads_it(
        json in prop::collection::vec(("[a-c]", any_json()), 0..4).prop_map(Json::Object),
        layout in layout(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), prop::sample::select(b"{}[],:\"\\u0de19.-+ tfn\n".to_vec())], 0_u8..3), 0..4),
    ) {
        let mut payload = written(&json, layout).into_bytes();
        for (at, byte, kind) in edits {
            let at = at.index(payload.len().max(1));
            match kind {
                0 if at < payload.len() => payload[at] = byte,
                1 if at < payload.len() => drop(payload.remove(at)),
                _ => payload.insert(at, byte),
            }
        }
        // With nothing bound in it, and with all of it bound: what is skipped is held against the same grammar.
        for (root, bound) in [("in zz: Int", [("zz", "/zz")]), ("in zz: Map<Map<Int>>", [("zz", "")])] {
            let decoded = setup(root, &bound).decode(&payload);
            let json = decoded.as_ref().map_or_else(|error| error.kind() != "syntax", |_| true);
            if let Some(expected) = is_object(&payload) {
                prop_assert_eq!(json, expected, "{}: {:?}", String::from_utf8_lossy(&payload), decoded.err());
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(payload in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"{}[],:\"\\u0de19.-+ tfn\n".to_vec())], 0..40)) {
        let bound = [("x", "/a"), ("y", ""), ("d", "@data")];
        let setup = Setup { key: Some("/k"), time: Some("/t"), ..setup("in x: Time\nin y\nin d: Str", &bound) };
        drop(setup.decode(&payload));
        drop(setup.decode(&[br#"{"k":1,"t":1,"a":"#.as_slice(), &payload, b"}"].concat()));
    }
}

#[test]
fn payloads_of_all_depths_are_read_or_refused_on_a_small_stack() {
    let work = || {
        for limit in [128, 256, u16::MAX] {
            let limits = Limits { depth: limit, ..Limits::default() };
            let setup = Setup { limits, ..setup("in x\nin y: Map<Any>", &[("y", "")]) };
            for levels in [126, 127, 254, 255, 256, 100_000] {
                let payload = format!(r#"{{"x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
                let skipped = payload.replacen('x', "z", 1);
                for payload in [payload, skipped] {
                    let fits = levels < usize::from(limit.min(256));
                    let decoded = setup.decode(payload.as_bytes()).map(|input| row(&input).len());
                    assert_eq!(decoded.as_ref().is_ok(), fits, "{limit} {levels}: {decoded:?}");
                }
            }
            let objects = format!("{}1{}", r#"{"x":"#.repeat(100_000), "}".repeat(100_000));
            assert_eq!(setup.decode(objects.as_bytes()).unwrap_err().kind(), "bound");
        }
    };
    #[allow(clippy::disallowed_methods, reason = "the stack of a thread is what is tested")]
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work);
    thread.unwrap().join().unwrap();
}
