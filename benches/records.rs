//! Records a second, a core: decoded, evaluated, encoded, beside the same written by hand over serde's derived structs.
#![allow(clippy::indexing_slicing, clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, not a part of the program")]

use millrace::codec::{Bindings, Compression, Decoder, Encoder, KeyRule, Limits as Bounds};
use millrace::dataflow::{Limits, Monitor, Plan, Scratch};
use millrace::flow::Record;
use millrace::lang;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

const RECORDS: usize = 500_000;
const TARGET: f64 = 0.5;

const ROOT: &str = "in temp: Float\nin rpm: Int\nin status: Str\nout n: Int = default(n[1], 0) + 1\n\
                    out heat: Float = temp * 1.8 + 32.0\nout alarm: Bool = temp > 70.0 && rpm > 1400 && status == \"run\"";

/// A payload of 256 bytes.
fn payload(n: usize) -> Vec<u8> {
    let (temp, rpm, status) = (50 + n % 40, 1_000 + n % 700, ["run", "stop", "idle"][n % 3]);
    let mut text = format!(
        "{{\"turbine\":\"north-{:04}\",\"at\":\"2026-11-30T12:00:{:02}.{:03}Z\",\"sensor\":{{\"temp\":{temp}.{:02},\"rpm\":{rpm},\
         \"vibration\":0.0{n:03}7}},\"status\":\"{status}\",\"firmware\":\"2.14.{}\",\"position\":[54.{n:03}12,7.{n:03}9],\"tags\":[\"offshore\",\"north\"],\"note\":\"",
        n * 7 % 10_000,
        n % 60,
        n * 13 % 1_000,
        n * 29 % 100,
        n % 9,
    );
    while text.len() < 254 {
        text.push(char::from(b'a' + u8::try_from(text.len() % 26).unwrap()));
    }
    text.push_str("\"}");
    assert_eq!(text.len(), 256);
    text.into_bytes()
}

#[derive(Deserialize)]
struct Reading<'a> {
    sensor: Sensor,
    #[serde(borrow)]
    status: &'a str,
}

#[derive(Deserialize)]
struct Sensor {
    temp: f64,
    rpm: i64,
}

#[derive(Serialize)]
struct Out {
    n: i64,
    heat: f64,
    alarm: bool,
}

/// Seconds that this thread has been on a processor: other work on the machine counts little.
fn on_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// The best of some runs over all records: millions a second.
fn rate(mut run: impl FnMut(&[u8])) -> f64 {
    let payloads: Vec<_> = (0..251).map(payload).collect();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = on_cpu();
        for payload in payloads.iter().cycle().take(RECORDS) {
            run(black_box(payload));
        }
        best = best.min(on_cpu() - start);
    }
    f64::from(u32::try_from(RECORDS).unwrap()) / best / 1e6
}

fn record(payload: &[u8]) -> Record<'_> {
    Record { stream: "main", shard: "s", partition_key: Some("north-0042"), sequence_number: "1", sub_sequence: None, arrival: 0, payload }
}

fn main() {
    let root = lang::check(ROOT).unwrap();
    let plan = Plan::new(&root, Limits::default());
    let inputs: BTreeMap<_, _> =
        [("temp", "/sensor/temp"), ("rpm", "/sensor/rpm")].map(|(name, at)| (name.to_owned(), at.to_owned())).into();
    let bindings = Bindings {
        inputs: &inputs,
        key: KeyRule::PartitionKey,
        time: None,
        max_lead: 0,
        compression: Compression::Auto,
        streams: Vec::new(),
        limits: Bounds::default(),
    };
    let decoder = Decoder::new(&root, &bindings).unwrap();
    let streams: Vec<(Arc<str>, usize)> = ["n", "heat", "alarm"].map(|name| (name.into(), plan.slot(name).unwrap())).into();
    let encoder = Encoder::new(&streams);

    let (mut monitor, mut scratch, mut input, mut out) = (Monitor::new(&plan), Scratch::default(), decoder.input(), Vec::new());
    let whole = rate(|payload| {
        decoder.decode(&record(payload), &mut input).unwrap();
        let row = monitor.tick(&plan, input.row(), input.time(), &mut scratch).unwrap();
        out.clear();
        encoder.encode(row, None, &mut out);
        black_box(&out);
    });
    let decode = rate(|payload| {
        decoder.decode(&record(payload), &mut input).unwrap();
        black_box(input.row());
    });
    let row = monitor.tick(&plan, input.row(), input.time(), &mut scratch).unwrap();
    let encode = rate(|_| {
        out.clear();
        encoder.encode(black_box(row), None, &mut out);
        black_box(&out);
    });

    let mut n = 0;
    let by_hand = rate(|payload| {
        let reading: Reading<'_> = serde_json::from_slice(payload).unwrap();
        n += 1;
        let Sensor { temp, rpm } = reading.sensor;
        let alarm = temp > 70.0 && rpm > 1_400 && reading.status == "run";
        out.clear();
        serde_json::to_writer(&mut out, &Out { n, heat: temp * 1.8 + 32.0, alarm }).unwrap();
        black_box(&out);
    });
    let decode_by_hand = rate(|payload| {
        black_box(serde_json::from_slice::<Reading<'_>>(payload).unwrap());
    });
    let encode_by_hand = rate(|_| {
        out.clear();
        serde_json::to_writer(&mut out, black_box(&Out { n: 1_250_000, heat: 161.6, alarm: true })).unwrap();
        black_box(&out);
    });
    for (name, rate, by_hand) in
        [("decode, tick, encode", whole, by_hand), ("decode", decode, decode_by_hand), ("encode", encode, encode_by_hand)]
    {
        println!("{name:20} {rate:6.2} M/s  by hand {by_hand:6.2} M/s  ratio {:5.2}", by_hand / rate);
    }
    println!("target               {TARGET:6.2} M/s");
}
