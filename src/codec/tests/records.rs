//! Tests of this module: records into rows, by their bindings.

use crate::codec::{BindingError, Bindings, Compression, DecodeError, Decoder, Input, KeyRule, Limits};
use crate::dataflow::value::{Cell, show};
use crate::flow::Record;
use crate::lang::check;
use std::collections::BTreeMap;

pub(super) const ARRIVAL: i64 = 1_800_000_000_000_000;

/// A root with these inputs, and how it is bound.
pub(super) struct Setup<'a> {
    pub(super) root: &'a str,
    pub(super) inputs: &'a [(&'a str, &'a str)],
    pub(super) key: Option<&'a str>,
    pub(super) time: Option<&'a str>,
    pub(super) streams: &'a [&'a str],
    pub(super) limits: Limits,
}

pub(super) fn setup<'a>(root: &'a str, inputs: &'a [(&'a str, &'a str)]) -> Setup<'a> {
    Setup { root, inputs, key: None, time: None, streams: &[], limits: Limits::default() }
}

impl Setup<'_> {
    pub(super) fn decoder(&self) -> Result<Decoder, BindingError> {
        let root = check(&format!("{}\nout ticks: Int = 1", self.root)).unwrap();
        let inputs: BTreeMap<_, _> = self.inputs.iter().map(|(name, at)| ((*name).to_owned(), (*at).to_owned())).collect();
        let bindings = Bindings {
            inputs: &inputs,
            key: self.key.map_or(KeyRule::PartitionKey, |field| KeyRule::Field(field.to_owned())),
            time: self.time,
            max_lead: 300_000_000,
            compression: Compression::Auto,
            streams: self.streams.iter().map(|name| (*name).to_owned()).collect(),
            limits: self.limits,
        };
        Decoder::new(&root, &bindings)
    }

    pub(super) fn decode(&self, payload: &[u8]) -> Result<Input, DecodeError> {
        let decoder = self.decoder().unwrap();
        let mut input = decoder.input();
        decoder.decode(&record(payload), &mut input).map(|()| input)
    }

    /// The row, as the language would write it.
    #[track_caller]
    fn row(&self, payload: &str) -> String {
        self.decode(payload.as_bytes()).map_or_else(|error| panic!("{payload}: {error}"), |input| row(&input))
    }

    #[track_caller]
    fn error(&self, payload: &str) -> DecodeError {
        self.decode(payload.as_bytes()).map_or_else(|error| error, |input| panic!("{payload} is {}", row(&input)))
    }
}

pub(super) fn record(payload: &[u8]) -> Record<'_> {
    Record {
        stream: "main",
        shard: "shard-7",
        partition_key: Some("k"),
        sequence_number: "42",
        sub_sequence: None,
        arrival: ARRIVAL,
        payload,
    }
}

pub(super) fn row(input: &Input) -> String {
    let cell = |cell: &Cell| cell.value().map_or_else(|| "-".to_owned(), show);
    input.row().iter().map(cell).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_decoder_is_shared_by_threads() {
    fn crosses<T: Send + Sync>() {}
    fn moves<T: Send>() {}
    crosses::<Decoder>();
    moves::<Input>();
}

#[test]
fn inputs_bind_to_the_fields_of_their_names_in_the_order_of_the_plan() {
    let setup = setup("in b: Int\nout x = a\nin a: Str\nin c", &[]);
    assert_eq!(setup.row(r#"{"a":"t","c":[1,{"d":null}],"other":{"b":5},"b":3}"#), r#"3 "t" [1, {}]"#);
    assert_eq!(setup.row(" { } "), "- - -");
    assert_eq!(setup.row(r#"{"a":null,"b":null,"c":null}"#), "- - -");
    let root = check("in b: Int\nout x = a\nin a: Str\nin c").unwrap();
    let plan = crate::dataflow::Plan::new(&root, crate::dataflow::Limits::default());
    let names: Vec<_> = plan.streams().iter().take(plan.inputs()).map(|stream| &*stream.name).collect();
    assert_eq!(names, ["b", "a", "c"]);
}

#[test]
fn pointers_lead_through_objects_and_arrays() {
    let bound = [("a", "/x/y"), ("b", "/x/list/1"), ("c", "/x/list/0/0"), ("d", "/~0~1/"), ("e", "/x/0")];
    let setup = setup("in a: Int\nin b\nin c\nin d\nin e", &bound);
    assert_eq!(setup.row(r#"{"x":{"list":[[7],8,9],"y":1,"0":"zero"},"~/":{"":true}}"#), r#"1 8 7 true "zero""#);
    // What leads nowhere is not there.
    assert_eq!(setup.row(r#"{"x":[5,{"y":1}],"~/":[1]}"#), "- - - - 5");
    assert_eq!(setup.row(r#"{"x":"y"}"#), "- - - - -");
    assert_eq!(setup.row(r#"{"x":{"list":[],"y":null}}"#), "- - - - -");
    assert_eq!(setup.row(r#"{"\u0078":{"\u0079":1}}"#), "1 - - - -");
}

#[test]
fn one_binding_may_lead_through_another_or_be_the_same() {
    let bound = [("whole", ""), ("a", "/a"), ("b", "/a/b"), ("again", "/a/b"), ("c", "/a/c/0")];
    let setup = setup("in whole\nin a: Struct<b: Int>\nin b: Int\nin again: Float\nin c", &bound);
    assert_eq!(setup.row(r#"{"a":{"b":1,"c":[2]},"z":0}"#), "{a: {b: 1, c: [2]}, z: 0} {b: 1} 1 1.0 2");
    assert_eq!(setup.error(r#"{"a":{"c":[2]}}"#).kind(), "missing");
    let error = setup.error(r#"{"a":{"b":1.5}}"#);
    assert_eq!((error.kind(), error.fault().pointer()), ("kind", Some("/a/b")));
    assert!(error.to_string().starts_with("input b: Int is wanted, not `1.5` (at /a/b, byte 10)"), "{error}");
}

#[test]
fn values_that_do_not_fit_name_the_input_and_the_place() {
    let setup = setup("in temp: Float\nin tags: List<Str>", &[("temp", "/sensor/temp")]);
    let error = setup.error(r#"{"sensor":{"temp":"hot"}}"#);
    assert_eq!(
        error.to_string(),
        "input temp: Float is wanted, not `\"hot\"` (at /sensor/temp, byte 18); mend the producer, or declare the input by what it sends"
    );
    assert_eq!(setup.error(r#"{"tags":["a",null]}"#).fault().pointer(), Some("/tags/1"));
}

#[test]
fn of_equal_names_the_last_counts_whatever_the_first_were() {
    let setup = setup("in a: Int\nin b: Int\nin s", &[("a", "/x/a"), ("b", "/x/b")]);
    let decoded = |payload: &str| setup.decode(payload.as_bytes()).map(|input| (row(&input), input.duplicates())).unwrap();
    assert_eq!(decoded(r#"{"x":{"a":1,"a":2}}"#), ("2 - -".to_owned(), 1));
    assert_eq!(decoded(r#"{"x":{"a":1,"b":1},"x":{"a":2}}"#), ("2 - -".to_owned(), 1));
    assert_eq!(decoded(r#"{"x":{"a":"bad","b":true},"x":{"a":"bad","a":2},"x":[],"x":{"b":3}}"#), ("- 3 -".to_owned(), 4));
    assert_eq!(decoded(r#"{"x":{"a":1,"a":null}}"#), ("- - -".to_owned(), 1));
    assert_eq!(decoded(r#"{"s":{"p":1,"p":{"q":1,"q":2}},"u":1,"u":{"v":1,"v":1}}"#), ("- - {p: {q: 2}}".to_owned(), 2));
    assert_eq!(setup.error(r#"{"x":{"a":1},"x":{"a":"bad"}}"#).kind(), "kind");
    let both = self::setup("in whole\nin a: Struct<b: Int>\nin b: Int", &[("whole", ""), ("b", "/a/b")]);
    let input = both.decode(br#"{"a":{"b":1,"b":2},"a":{"b":3,"b":4}}"#).unwrap();
    assert_eq!((row(&input), input.duplicates()), ("{a: {b: 4}} {b: 4} 4".to_owned(), 3));
}

#[test]
fn a_payload_is_one_object_in_utf8() {
    let setup = setup("in a: Int", &[]);
    assert_eq!(setup.row("\u{feff} {\"a\":1}\r\n"), "1");
    for (payload, byte, word) in [
        ("", 0, "the payload is empty"),
        (" \n", 2, "the payload is empty"),
        ("\u{feff}", 3, "the payload is empty"),
        ("[1]", 0, "begins with `[1]`"),
        ("1", 0, "not with an object"),
        ("{\"a\":1}{\"a\":2}", 7, "follows"),
        ("{\"a\":1}\n{\"a\":2}", 8, "follows"),
        ("{\"a\":1}\0", 7, "follows"),
        ("{\"a\":1", 6, "ends where"),
        ("{\"b\":\"\\ud800\"}", 6, "surrogate"),
        ("{\"b\":\"\u{1}\"}", 6, "control character"),
        ("{\"b\":\"\\q\"}", 6, "escape"),
        ("{\"b\":01}", 6, "`,` or `}`"),
        ("{\"b\":.5}", 5, "a value"),
        ("{\"b\":1.}", 7, "a digit"),
        ("{\"b\":tru}", 5, "a value"),
        ("{'a':1}", 1, "a name"),
    ] {
        let error = setup.error(payload);
        assert_eq!((error.kind(), error.fault().byte()), ("syntax", Some(byte)), "{payload:?}: {error}");
        assert!(error.to_string().contains(word), "{payload:?}: {error}");
    }
    let error = setup.decode(b"{\"b\":\"\xc3\"}").unwrap_err();
    assert_eq!((error.kind(), error.fault().byte()), ("syntax", Some(6)));
}

#[test]
fn record_data_binds_beside_fields_and_without_them() {
    let bound = [
        ("key", "@partitionKey"),
        ("sequence", "@sequenceNumber"),
        ("at", "@arrivalTime"),
        ("shard", "@shard"),
        ("number", "@sequenceNumber"),
    ];
    let root = "in key: Str\nin sequence: Str\nin at: Time\nin shard\nin number: Int\nin f: Int";
    assert_eq!(setup(root, &bound).row(r#"{"f":1}"#), r#""k" "42" 2027-01-15T08:00:00Z "shard-7" 42 1"#);
    let decoder = setup(root, &bound).decoder().unwrap();
    let mut input = decoder.input();
    decoder.decode(&Record { partition_key: None, ..record(b"{}") }, &mut input).unwrap();
    assert_eq!(row(&input), r#"- "42" 2027-01-15T08:00:00Z "shard-7" 42 -"#);
    assert_eq!(input.key(), b"");
    let long = Record { sequence_number: "49590338271490256608559692538361571095921575989136588898", ..record(b"{}") };
    let error = decoder.decode(&long, &mut input).unwrap_err();
    assert!(error.kind() == "range" && error.to_string().starts_with("input number: the sequence number"), "{error}");
}

#[test]
fn the_payload_itself_may_be_any_text_where_no_field_of_it_is_read() {
    let only = setup("in data: Str", &[("data", "@data")]);
    assert_eq!(only.row("not { json"), r#""not { json""#);
    assert_eq!(only.row(""), r#""""#);
    assert_eq!(only.row("\u{feff}x"), r#""x""#);
    assert_eq!(only.decode(b"\xff").unwrap_err().kind(), "syntax");
    let also = setup("in data: Str\nin a: Int", &[("data", "@data")]);
    assert_eq!(also.row(r#"{"a":1}"#), r#""{\"a\":1}" 1"#);
    assert_eq!(also.error("not { json").kind(), "syntax");
    assert_eq!(Setup { key: Some("/a"), ..setup("in data: Str", &[("data", "@data")]) }.error("not json").kind(), "syntax");
    assert_eq!(setup("in shard: Str", &[("shard", "@shard")]).decode(b"\xff\xfe").map(|input| row(&input)), Ok(r#""shard-7""#.to_owned()));
    let limits = Limits { value_bytes: 100, ..Limits::default() };
    assert_eq!(Setup { limits, ..only }.error(&"x".repeat(60)).kind(), "bound");
}

#[test]
fn inputs_of_another_stream_have_no_value() {
    let bound = [("a", "orders:/v"), ("b", "refunds:/v"), ("shard", "refunds:@shard"), ("c", "/v")];
    let setup = Setup { streams: &["orders", "refunds"], ..setup("in a: Int\nin b: Int\nin shard\nin c: Int", &bound) };
    let decoder = setup.decoder().unwrap();
    let mut input = decoder.input();
    for (stream, expected) in [("orders", "5 - - 5"), ("refunds", r#"- 5 "shard-7" 5"#), ("orders", "5 - - 5")] {
        decoder.decode(&Record { stream, ..record(br#"{"v":5}"#) }, &mut input).unwrap();
        assert_eq!(row(&input), expected);
    }
    let error = decoder.decode(&record(b"{}"), &mut input).unwrap_err();
    assert_eq!(error.kind(), "stream", "{error}");
}

#[test]
fn keys_are_texts_digits_or_truth() {
    let setup = Setup { key: Some("/k/id"), ..setup("in a", &[]) };
    let key = |payload: &str| setup.decode(payload.as_bytes()).map(|input| String::from_utf8(input.key().to_vec()).unwrap());
    for (value, text) in [
        (r#""a\u00e4""#, "aä"),
        (r#""""#, ""),
        ("7", "7"),
        ("-0", "0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("7.0", "7"),
        ("7e2", "700"),
        ("-0.0", "0"),
        ("7.50", "7.5"),
        ("0.0000001", "0.0000001"),
        ("true", "true"),
        ("false", "false"),
    ] {
        assert_eq!(key(&format!(r#"{{"k":{{"id":{value}}}}}"#)).as_deref(), Ok(text), "{value}");
    }
    for (payload, kind) in [
        (r#"{"k":{}}"#, "missing"),
        (r#"{"k":{"id":null}}"#, "missing"),
        (r#"{"k":{"id":"a","id":null}}"#, "missing"),
        (r#"{"k":{"id":[]}}"#, "kind"),
        (r#"{"k":{"id":{"id":1}}}"#, "kind"),
        (r#"{"k":{"id":1e999}}"#, "range"),
    ] {
        let error = key(payload).unwrap_err();
        assert!(error.kind() == kind && error.to_string().starts_with("the key: "), "{payload}: {error}");
    }
    assert_eq!(key(r#"{"k":{"id":[]},"k":{"id":"b"}}"#).as_deref(), Ok("b"));
    assert_eq!(key(&format!(r#"{{"k":{{"id":"{}"}}}}"#, "x".repeat(5_000))).unwrap_err().kind(), "bound");
    assert_eq!(self::setup("in a", &[]).decode(b"{}").unwrap().key(), b"k");
}

#[test]
fn record_times_come_from_arrival_a_field_or_record_data() {
    let at = |time: Option<&str>, payload: &str| {
        let input = Setup { time, ..setup("in a", &[]) }.decode(payload.as_bytes())?;
        assert_eq!(input.time().arrival, ARRIVAL);
        Ok::<_, DecodeError>(input.time().record)
    };
    assert_eq!(at(None, "{}"), Ok(ARRIVAL));
    assert_eq!(at(Some("@arrivalTime"), "{}"), Ok(ARRIVAL));
    assert_eq!(at(Some("/t"), r#"{"t":"2023-11-14T22:13:20.5Z"}"#), Ok(1_700_000_000_500_000));
    assert_eq!(at(Some("/t"), r#"{"t":1700000000123}"#), Ok(1_700_000_000_123_000));
    assert_eq!(at(Some("/t"), r#"{"t":1,"t":1.5e3}"#), Ok(1_500_000));
    assert_eq!(at(Some("/t"), &format!(r#"{{"t":{}}}"#, ARRIVAL / 1_000 + 300_000)), Ok(ARRIVAL + 300_000_000));
    for (payload, kind) in [
        ("{}", "missing"),
        (r#"{"t":null}"#, "missing"),
        (r#"{"t":1,"t":null}"#, "missing"),
        (r#"{"t":"today"}"#, "kind"),
        (r#"{"t":{}}"#, "kind"),
        (r#"{"t":1e30}"#, "range"),
    ] {
        let error = at(Some("/t"), payload).unwrap_err();
        assert!(error.kind() == kind && error.to_string().starts_with("the record time: "), "{payload}: {error}");
    }
    let error = at(Some("/t"), &format!(r#"{{"t":{}.001}}"#, ARRIVAL / 1_000 + 300_000)).unwrap_err();
    assert_eq!(error.kind(), "lead");
    assert!(error.to_string().contains("leads the arrival time by 5m1us, more than 5m"), "{error}");
    assert_eq!(at(Some("@partitionKey"), "{}").unwrap_err().kind(), "kind");
    let setup = Setup { time: Some("@partitionKey"), ..setup("in a", &[]) };
    let decoder = setup.decoder().unwrap();
    let mut input = decoder.input();
    let mut decode = |key| decoder.decode(&Record { partition_key: key, ..record(b"{}") }, &mut input).map(|()| input.time().record);
    assert_eq!(decode(Some("1970-01-01T00:00:01Z")), Ok(1_000_000));
    assert_eq!(decode(None).unwrap_err().kind(), "missing");
    let orders = Setup { time: Some("orders:/t"), streams: &["main", "orders"], ..self::setup("in a", &[]) };
    assert_eq!(orders.decode(b"{}").map(|input| input.time().record), Ok(ARRIVAL));
}

#[test]
fn bindings_that_cannot_hold_are_refused_beforehand() {
    let error = |root: &str, at: &str| setup(root, &[("x", at)]).decoder().map(drop).unwrap_err().to_string();
    for (root, at, word) in [
        ("in x: Bool", "@arrivalTime", "input x: @arrivalTime is a Time, and Bool is wanted"),
        ("in x: Float", "@sequenceNumber", "@sequenceNumber is a Str"),
        ("in x: Int", "@shard", "@shard is a Str"),
        ("in x: Struct<a: Int>", "@data", "@data is a Str, and Struct<a: Int> is wanted"),
        ("in x: Time", "@partitionKey", "@partitionKey is a Str"),
        ("in x: Int", "temp", "a JSON pointer begins with a slash"),
        ("in x: Int", "/a~", "~0"),
        ("in x: Int", "@time", "@arrivalTime"),
        ("in x: Int", "orders:/a", "the pipeline reads no stream `orders`; it has main"),
        ("in y: Int", "/a", "the root declares no such input; it has y"),
        ("in y: Int\nout x = 2", "/a", "no such input"),
    ] {
        let error = error(root, at);
        assert!(error.contains(word), "{root} at {at}: {error}");
    }
    assert!(error("in x: Int", &"/a".repeat(200)).contains("deeper"));
    assert!(setup("in x: Int", &[("x", "main:/a")]).decoder().is_ok());
    let time = |at| Setup { time: Some(at), ..setup("in x", &[]) }.decoder().map(drop).unwrap_err().to_string();
    assert!(time("@sequenceNumber").starts_with("root.time: @sequenceNumber is"));
    assert!(time("other:/t").starts_with("root.time: the pipeline reads no stream"));
    let key = |at| Setup { key: Some(at), ..setup("in x", &[]) }.decoder().map(drop).unwrap_err().to_string();
    assert!(key("").starts_with("keyBy.field") && key("id").contains("slash"));
}

#[test]
fn an_input_keeps_nothing_from_one_record_to_the_next() {
    let setup = Setup { key: Some("/k"), time: Some("/t"), ..setup("in a\nin b: Int", &[]) };
    let decoder = setup.decoder().unwrap();
    let mut input = decoder.input();
    decoder.decode(&record(br#"{"a":{"z":1},"b":1,"b":2,"k":"one","t":1}"#), &mut input).unwrap();
    assert_eq!((row(&input).as_str(), input.duplicates()), ("{z: 1} 2", 1));
    decoder.decode(&record(br#"{"k":"two","t":2,"a":{"#), &mut input).unwrap_err();
    decoder.decode(&record(br#"{"k":"three","t":3}"#), &mut input).unwrap();
    assert_eq!((row(&input).as_str(), input.duplicates(), input.key(), input.time().record), ("- -", 0, b"three".as_slice(), 3_000));
    assert_eq!(decoder.decode(&record(br#"{"t":3}"#), &mut input).unwrap_err().kind(), "missing");
    assert_eq!(decoder.decode(&record(br#"{"k":3}"#), &mut input).unwrap_err().kind(), "missing");
}
