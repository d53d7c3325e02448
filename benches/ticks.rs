//! Ticks a second of the canonical tier, without decoding, beside a hand-written loop.
#![allow(
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement, not a part of the program"
)]

use millrace::dataflow::value::{Cell, Value};
use millrace::dataflow::{Limits, Monitor, Plan, RecordTime, Scratch};
use millrace::lang;
use std::hint::black_box;

const TICKS: u32 = 2_000_000;
/// The loops by hand are short beside the clock's grain.
const AGAIN: u32 = 40;

struct Case {
    name: &'static str,
    root: &'static str,
    target: f64,
    by_hand: fn(&[(f64, f64)]) -> f64,
}

fn sum_by_hand(rows: &[(f64, f64)]) -> f64 {
    let (mut x, mut y, mut last) = (None, None, 0.0);
    for (a, b) in rows.iter().cycle().take(TICKS as usize) {
        x = black_box(Some(*a)).or(x);
        y = black_box(Some(*b)).or(y);
        if let (Some(x), Some(y)) = (x, y) {
            last = black_box(x + y);
        }
    }
    last
}

fn counter_by_hand(rows: &[(f64, f64)]) -> f64 {
    let mut count: Option<i64> = None;
    for _ in rows.iter().cycle().take(TICKS as usize) {
        count = black_box(count.unwrap_or(0).checked_add(1));
    }
    count.unwrap_or(0) as f64
}

fn mean_by_hand(rows: &[(f64, f64)]) -> f64 {
    let (mut one, mut two, mut last) = (None, None, 0.0);
    for (x, _) in rows.iter().cycle().take(TICKS as usize) {
        let x = black_box(Some(*x));
        if let (Some(a), Some(b), Some(c)) = (x, one, two) {
            last = black_box((a + b + c) / 3.0);
        }
        two = one;
        one = x;
    }
    last
}

fn window_by_hand(rows: &[(f64, f64)]) -> f64 {
    let (mut ring, mut at, mut sum) = ([0.0; 64], 0, 0.0);
    for (x, _) in rows.iter().cycle().take(TICKS as usize) {
        sum += black_box(*x) - ring[at];
        ring[at] = *x;
        at = (at + 1) % 64;
        black_box(sum / 64.0);
    }
    sum
}

fn latch_by_hand(rows: &[(f64, f64)]) -> f64 {
    let mut held = None;
    for (x, y) in rows.iter().cycle().take(TICKS as usize) {
        held = black_box(Some(*x)).or(held);
        black_box(if *y > 0.5 { held } else { None });
    }
    held.unwrap_or(0.0)
}

fn seven_by_hand(rows: &[(f64, f64)]) -> f64 {
    let (mut n, mut d, mut e) = (0_i64, [0.0; 2], 0.0);
    for (x, y) in rows.iter().cycle().take(TICKS as usize) {
        n += 1;
        let diff = black_box(*x) - d[0];
        let high = *y > 0.5 && diff > 0.0;
        e = 0.9 * e + 0.1 * diff;
        d = [*x, d[0]];
        black_box((n, diff, high, e, d[1]));
    }
    e
}

const CASES: &[Case] = &[
    Case { name: "z = x + y", root: "in x: Float\nin y: Float\nout z: Float = x + y", target: 15.0, by_hand: sum_by_hand },
    Case { name: "counter", root: "in x: Float\nin y: Float\nout n: Int = default(n[1], 0) + 1", target: 10.0, by_hand: counter_by_hand },
    Case {
        name: "3-tap mean",
        root: "in x: Float\nin y: Float\nout m: Float = (x + x[1] + x[2]) / 3.0",
        target: 6.0,
        by_hand: mean_by_hand,
    },
    Case {
        name: "64-tap mean by window",
        root: "in x: Float\nin y: Float\nout m: Float = mean(x over last 64)",
        target: 5.0,
        by_hand: window_by_hand,
    },
    Case { name: "latch", root: "in x: Float\nin y: Float\nout l: Float = latch(x, y)", target: 6.0, by_hand: latch_by_hand },
    Case {
        name: "7 streams, 5 delays",
        root: "in x: Float\nin y: Float\nout n: Int = default(n[1], 0) + 1\nout diff: Float = x - default(x[1], x)\n\
               out high: Bool = y > 0.5 && diff > 0.0\nout rise: Bool = high && !default(high[1], false)\n\
               out e: Float = 0.9 * default(e[1], 0.0) + 0.1 * diff\nout rises: Int = default(rises[1], 0) + (if rise then 1 else 0)\n\
               out alarm: Bool = e > 1.0 && rises > 3",
        target: 1.0,
        by_hand: seven_by_hand,
    },
];

/// Seconds that this thread has been on a processor: other work on the machine counts little.
fn on_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let only = std::env::args().nth(1).filter(|name| !name.starts_with('-'));
    let pairs: Vec<(f64, f64)> = (0..251_i32).map(|n| (f64::from(n % 17), f64::from(n % 3))).collect();
    let rows: Vec<Vec<Cell>> = pairs.iter().map(|(x, y)| vec![Cell::Value(Value::float(*x)), Cell::Value(Value::float(*y))]).collect();
    for case in CASES.iter().filter(|case| only.as_ref().is_none_or(|only| case.name.contains(only.as_str()))) {
        let plan = Plan::new(&lang::check(case.root).unwrap(), Limits::default());
        let (mut best, mut best_by_hand) = (f64::MAX, f64::MAX);
        for _ in 0..5 {
            let (mut monitor, mut scratch) = (Monitor::new(&plan), Scratch::default());
            let start = on_cpu();
            for (nth, row) in (0..TICKS).zip(rows.iter().cycle()) {
                let time = i64::from(nth);
                let row = monitor.tick(&plan, row, RecordTime { record: time, arrival: time }, &mut scratch).unwrap();
                black_box(row.value(2));
            }
            best = best.min(on_cpu() - start);
            let start = on_cpu();
            for _ in 0..AGAIN {
                black_box((case.by_hand)(black_box(&pairs)));
            }
            best_by_hand = best_by_hand.min((on_cpu() - start) / f64::from(AGAIN));
        }
        let rate = f64::from(TICKS) / best / 1e6;
        let by_hand = f64::from(TICKS) / best_by_hand / 1e6;
        println!("{:24} {rate:7.2} M/s (target {:4.1})  by hand {by_hand:8.1} M/s  ratio {:6.1}", case.name, case.target, by_hand / rate);
    }
}
