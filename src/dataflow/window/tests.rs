//! Tests of this module: windows, against a naive recomputation, bit for bit.

use super::exact::{Exact, Number};
use super::*;
use crate::dataflow::bytes::tests::hex;
use crate::dataflow::bytes::{Reader, Writer};
use crate::dataflow::ops::nearest;
use crate::dataflow::value::{Limits, NAN, Value, equal, holds_nan};
use crate::lang::builtins::Aggregate;
use crate::lang::syntax::Window as Shape;
use proptest::prelude::*;

const ALL: [Aggregate; 9] = [
    Aggregate::Count,
    Aggregate::Sum,
    Aggregate::Mean,
    Aggregate::Min,
    Aggregate::Max,
    Aggregate::Stddev,
    Aggregate::First,
    Aggregate::Last,
    Aggregate::Distinct,
];

fn spec(aggregate: Aggregate, window: Shape, cap: usize) -> WindowSpec {
    WindowSpec { aggregate, window, float: false, cap }
}

fn bytes(window: &Window, spec: &WindowSpec) -> Vec<u8> {
    let mut out = Writer::new();
    window.write(spec, &mut out);
    out.finish()
}

fn read(bytes: &[u8], cap: usize) -> (WindowSpec, Window) {
    let mut reader = Reader::new(bytes, Limits::default()).unwrap();
    let read = Window::read(&mut reader, cap).unwrap();
    reader.end().unwrap();
    read
}

/// The values that came, as a list, and everything computed from it anew.
#[derive(Clone, Default)]
struct Naive {
    /// Time, value; as they came.
    values: Vec<(i64, Value)>,
    front: i64,
}

impl Naive {
    fn tick(&mut self, spec: &WindowSpec, front: i64, value: Option<(i64, Value)>) -> Ticked {
        let mut ticked = Ticked::default();
        self.front = front;
        let (pane, span) = match spec.window {
            Shape::Time { micros } => (1, micros),
            Shape::Last { .. } => (1, i64::MAX),
            Shape::Panes { pane_micros, panes } => (pane_micros, i64::try_from(panes).unwrap()),
        };
        let inside = |time: i64| time.div_euclid(pane) > front.div_euclid(pane).saturating_sub(span);
        self.values.retain(|(time, _)| inside(*time));
        match value {
            Some((time, _)) if !inside(time) => ticked.ignored = true,
            Some((time, value)) => self.values.push((time, value)),
            None => {}
        }
        match spec.window {
            Shape::Last { count } => {
                let most = usize::try_from(count).unwrap().min(spec.cap);
                while self.values.len() > most {
                    self.values.remove(0);
                    ticked.evicted += u64::from(spec.leaves_early());
                }
            }
            Shape::Time { .. } => {
                while self.values.len() > spec.cap {
                    let oldest = (0..self.values.len()).min_by_key(|at| self.values[*at].0).unwrap();
                    self.values.remove(oldest);
                    ticked.evicted += 1;
                }
            }
            Shape::Panes { .. } => loop {
                let mut panes: Vec<i64> = self.values.iter().map(|(time, _)| time.div_euclid(pane)).collect();
                panes.sort_unstable();
                panes.dedup();
                if panes.len() <= spec.cap {
                    break;
                }
                let before = self.values.len();
                self.values.retain(|(time, _)| time.div_euclid(pane) != panes[0]);
                ticked.evicted += (before - self.values.len()) as u64;
            },
        }
        ticked
    }

    fn result(&self, spec: &WindowSpec) -> Option<Result<Value, ()>> {
        let values: Vec<&Value> = self.values.iter().map(|(_, value)| value).collect();
        let count = values.len() as u64;
        Some(Ok(match spec.aggregate {
            Aggregate::Count => super::fold::int(count),
            Aggregate::Distinct => {
                let new = |at: &usize| !values[..*at].iter().any(|before| equal(before, values[*at]).unwrap());
                super::fold::int((0..values.len()).filter(new).count() as u64)
            }
            Aggregate::Sum if values.iter().all(|value| value.as_int().is_some()) => {
                let sum: i128 = values.iter().map(|value| i128::from(value.as_int().unwrap())).sum();
                return Some(i64::try_from(sum).map(Value::Int).map_err(|_| ()));
            }
            _ if count == 0 => return None,
            Aggregate::First => self.values.iter().min_by_key(|(time, _)| *time).unwrap().1.clone(),
            Aggregate::Last => self.values.iter().max_by_key(|(time, _)| *time).unwrap().1.clone(),
            Aggregate::Min | Aggregate::Max => best(spec.aggregate, &values),
            Aggregate::Sum | Aggregate::Mean | Aggregate::Stddev => moments(spec.aggregate, &values),
        }))
    }
}

fn best(aggregate: Aggregate, values: &[&Value]) -> Value {
    if values.iter().any(|value| holds_nan(value)) {
        return Value::Float(NAN);
    }
    let mut best = values[0];
    for value in values {
        let key = |value: &Value| match value {
            Value::Float(float) => float.is_sign_positive(),
            _ => true,
        };
        let ordering = crate::dataflow::value::order(value, best).unwrap().unwrap().then(key(value).cmp(&key(best)));
        if if aggregate == Aggregate::Min { ordering.is_lt() } else { ordering.is_gt() } {
            best = value;
        }
    }
    match best {
        Value::Int(int) if values.iter().any(|value| matches!(value, Value::Float(_))) => Value::float(nearest(*int)),
        _ => best.clone(),
    }
}

fn moments(aggregate: Aggregate, values: &[&Value]) -> Value {
    let floats = values.iter().map(|value| match value {
        Value::Float(float) => *float,
        Value::Int(int) => nearest(*int),
        _ => panic!(),
    });
    let strange: Vec<f64> = floats.filter(|float| !float.is_finite()).collect();
    if !strange.is_empty() {
        return Value::float(if aggregate == Aggregate::Stddev { NAN } else { strange.iter().sum() });
    }
    let (mut sum, mut squares) = (Exact::default(), Exact::default());
    for value in values {
        let number = match value {
            Value::Int(int) => Number::of_int(*int),
            Value::Float(float) => Number::of_float(*float).unwrap(),
            _ => panic!(),
        };
        sum.change(number, false);
        squares.change_square(number, false);
    }
    let count = values.len() as u64;
    Value::float(match aggregate {
        Aggregate::Sum => sum.nearest(),
        Aggregate::Mean => sum.mean(count),
        _ => sum.deviation(&squares, count),
    })
}

#[derive(Clone, Debug)]
struct Step {
    /// How far the record's time is from the front.
    lead: i64,
    value: Option<Value>,
    /// Whether the tick is done, undone and done again.
    undo: bool,
    /// Whether the window is written and read before.
    restore: bool,
}

fn number() -> impl Strategy<Value = Value> {
    let special =
        prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e-300, 5e-324, 1.0, 2.5]);
    prop_oneof![
        4 => (-9_i64..9).prop_map(Value::Int),
        1 => prop::sample::select(vec![i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1]).prop_map(Value::Int),
        4 => (-1e3..1e3).prop_map(Value::float),
        2 => special.prop_map(Value::float),
        1 => (-300.0..300.0_f64).prop_map(|exponent| Value::float(10_f64.powf(exponent))),
    ]
}

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["", "a", "b", "a longer text than fits", "zz"]).prop_map(Value::str)
}

fn float() -> impl Strategy<Value = Value> {
    (-1e3..1e3).prop_map(Value::float)
}

fn steps(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Vec<Step>> {
    let lead = prop_oneof![5 => 0_i64..8, 2 => Just(0), 2 => -30_i64..0, 1 => 0_i64..100];
    let step = (lead, prop::option::weighted(0.85, value), prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    prop::collection::vec(step.prop_map(|(lead, value, undo, restore)| Step { lead, value, undo, restore }), 1..80)
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (1_i64..40).prop_map(|micros| Shape::Time { micros }),
        (1_u64..12).prop_map(|count| Shape::Last { count }),
        (1_i64..9, 1_u64..6).prop_map(|(pane_micros, panes)| Shape::Panes { pane_micros, panes }),
    ]
}

fn run(spec: &WindowSpec, steps: &[Step]) {
    let (mut window, mut naive, mut front) = (Window::default(), Naive::default(), 1_000);
    for step in steps {
        if step.restore {
            let before = bytes(&window, spec);
            let (read_spec, again) = read(&before, spec.cap);
            assert_eq!(read_spec, *spec);
            assert_eq!(bytes(&again, spec), before);
            window = again;
        }
        let time = front + step.lead;
        front = front.max(time);
        let value = step.value.as_ref().map(|value| (time, value));
        if step.undo {
            let (before, shared) = (bytes(&window, spec), window.clone());
            window.tick(spec, front, value).unwrap();
            assert_eq!(bytes(&shared, spec), before);
            window.rollback(spec);
            assert_eq!(bytes(&window, spec), before);
            window.rollback(spec);
            assert_eq!(bytes(&window, spec), before);
        }
        let ticked = window.tick(spec, front, value).unwrap();
        assert_eq!(ticked, naive.tick(spec, front, step.value.clone().map(|value| (time, value))));
        assert_eq!(window.len(), naive.values.len() as u64);
        match (window.result(spec), naive.result(spec)) {
            (Ok(result), wanted) => assert_eq!(result.map(Ok), wanted, "{:?}", naive.values),
            (Err(_), wanted) => assert_eq!(wanted, Some(Err(()))),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn windows_of_numbers_equal_a_list(window in shape(), steps in steps(number()), cap in prop_oneof![Just(1_000), 1_usize..8]) {
        for aggregate in ALL {
            let cap = if aggregate == Aggregate::Distinct && matches!(window, Shape::Panes { .. }) { 1_000 } else { cap };
            run(&spec(aggregate, window, cap), &steps);
        }
    }

    #[test]
    fn windows_of_floats_equal_a_list(window in shape(), steps in steps(float())) {
        for aggregate in ALL {
            run(&spec(aggregate, window, 1_000), &steps);
        }
    }

    #[test]
    fn windows_of_texts_equal_a_list(window in shape(), steps in steps(text())) {
        for aggregate in [Aggregate::Count, Aggregate::First, Aggregate::Last, Aggregate::Distinct] {
            run(&spec(aggregate, window, 1_000), &steps);
        }
    }

    #[test]
    fn a_carried_window_is_as_one_of_that_shape_over_the_same_values(from in shape(), to in shape(), steps in steps(number())) {
        for aggregate in ALL {
            let (from, to) = (spec(aggregate, from, 1_000), spec(aggregate, to, 1_000));
            let (mut window, mut naive, mut front) = (Window::default(), Naive::default(), 0);
            for step in &steps {
                let time = front + step.lead;
                front = front.max(time);
                window.tick(&from, front, step.value.as_ref().map(|value| (time, value))).unwrap();
                naive.tick(&from, front, step.value.clone().map(|value| (time, value)));
            }
            let carried = window.carry(&from, &to, front);
            if !from.carries_to(&to) {
                prop_assert!(carried.is_empty());
                continue;
            }
            // In the order of their times, as they stand in the window.
            let mut fresh = Naive::default();
            let mut direct = Window::default();
            if matches!(from.window, Shape::Time { .. }) {
                naive.values.sort_by_key(|(time, _)| *time);
            }
            for (time, value) in naive.values {
                direct.tick(&to, front, Some((time, &value))).unwrap();
                fresh.tick(&to, front, Some((time, value)));
            }
            match fresh.result(&to) {
                Some(Err(())) => prop_assert!(carried.result(&to).is_err()),
                wanted => prop_assert_eq!(carried.result(&to).unwrap().map(Ok), wanted),
            }
            direct.tick(&to, front, None).unwrap();
            prop_assert_eq!(bytes(&carried, &to), bytes(&direct, &to));
            if from == to {
                prop_assert_eq!(bytes(&carried, &to), bytes(&window, &to));
            }
        }
    }

    #[test]
    fn garbage_is_refused_or_read(garbage in prop::collection::vec(any::<u8>(), 0..200), kind in 0_u8..54) {
        let bytes = [&[1, kind][..], &garbage].concat();
        let mut reader = Reader::new(&bytes, Limits::default()).unwrap();
        if let Ok((spec, mut window)) = Window::read(&mut reader, 100) {
            let _result = window.result(&spec);
            let _ticked = window.tick(&spec, i64::MAX, Some((5, &Value::Int(1))));
            window.rollback(&spec);
            let _memory = window.memory();
        }
    }

    #[test]
    fn damage_is_refused_or_read(window in shape(), steps in steps(number()), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        for aggregate in ALL {
            let spec = spec(aggregate, window, 1_000);
            let mut window = Window::default();
            for (time, step) in (0..).zip(&steps) {
                window.tick(&spec, time, step.value.as_ref().map(|value| (time, value))).unwrap();
            }
            let mut bytes = bytes(&window, &spec);
            let at = at.index(bytes.len() - 1) + 1;
            bytes[at] = byte;
            if cut {
                bytes.truncate(at);
            }
            let mut reader = Reader::new(&bytes, Limits::default()).unwrap();
            if let Ok((spec, mut window)) = Window::read(&mut reader, 1_000) {
                let _result = window.result(&spec);
                let _ticked = window.tick(&spec, i64::MAX, Some((0, &Value::Int(1))));
                window.rollback(&spec);
            }
        }
    }
}

#[test]
fn nothing_is_zero_or_deferred() {
    for aggregate in ALL {
        let spec = spec(aggregate, Shape::Last { count: 3 }, 10);
        let wanted = match aggregate {
            Aggregate::Count | Aggregate::Sum | Aggregate::Distinct => Some(Value::Int(0)),
            _ => None,
        };
        assert_eq!(Window::default().result(&spec).unwrap(), wanted);
    }
    let spec = WindowSpec { float: true, ..spec(Aggregate::Sum, Shape::Last { count: 3 }, 10) };
    assert_eq!(Window::default().result(&spec).unwrap(), Some(Value::Float(0.0)));
}

#[test]
fn what_is_not_finite_leaves_with_its_value() {
    let spec = spec(Aggregate::Sum, Shape::Last { count: 2 }, 10);
    let mut window = Window::default();
    let mut sums = Vec::new();
    for float in [f64::NAN, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, 0.1, 0.2] {
        window.tick(&spec, 0, Some((0, &Value::float(float)))).unwrap();
        sums.push(window.result(&spec).unwrap().unwrap());
    }
    let wanted = [NAN, NAN, 3.0, f64::INFINITY, NAN, f64::NEG_INFINITY, 0.1 + 0.2].map(Value::float);
    assert_eq!(sums, wanted);
}

#[test]
fn a_sum_of_ints_fails_only_while_it_overflows() {
    let spec = spec(Aggregate::Sum, Shape::Last { count: 2 }, 10);
    let mut window = Window::default();
    for (int, fits) in [(i64::MAX, true), (1, false), (-5, true), (i64::MIN, false), (1, true)] {
        window.tick(&spec, 0, Some((0, &Value::Int(int)))).unwrap();
        assert_eq!(window.result(&spec).is_ok(), fits, "{int}");
    }
}

#[test]
fn kinds_that_an_aggregate_does_not_take_fail_and_change_nothing() {
    for (aggregate, first, wrong) in [
        (Aggregate::Sum, Value::Int(1), Value::str("x")),
        (Aggregate::Min, Value::Int(1), Value::str("x")),
        (Aggregate::Max, Value::Float(NAN), Value::Time(1)),
        (Aggregate::Distinct, Value::str("x"), Value::function((0, 0), None, vec![], Limits::default()).unwrap()),
    ] {
        for window in [Shape::Time { micros: 5 }, Shape::Last { count: 5 }, Shape::Panes { pane_micros: 2, panes: 3 }] {
            let spec = spec(aggregate, window, 10);
            let mut window = Window::default();
            window.tick(&spec, 1, Some((1, &first))).unwrap();
            let before = bytes(&window, &spec);
            assert!(window.tick(&spec, 100, Some((100, &wrong))).is_err());
            window.rollback(&spec);
            assert_eq!(bytes(&window, &spec), before);
            assert!(window.tick(&spec, 2, Some((2, &wrong))).is_err());
            window.rollback(&spec);
            assert_eq!(bytes(&window, &spec), before);
        }
    }
}

#[test]
fn values_told_apart_are_bounded_in_panes() {
    let spec = spec(Aggregate::Distinct, Shape::Panes { pane_micros: 10, panes: 3 }, 4);
    let mut window = Window::default();
    let mut evicted = 0;
    for (time, int) in [(0, 1), (1, 2), (1, 1), (10, 2), (11, 3), (12, 4), (13, 5), (14, 6), (15, 7)] {
        let before = bytes(&window, &spec);
        window.tick(&spec, time, Some((time, &Value::Int(int)))).unwrap();
        window.rollback(&spec);
        assert_eq!(bytes(&window, &spec), before);
        evicted += window.tick(&spec, time, Some((time, &Value::Int(int)))).unwrap().evicted;
    }
    // The first pane's three values left with the fifth value; 6 and 7 were too many for one pane.
    assert_eq!((window.result(&spec).unwrap(), evicted), (Some(Value::Int(4)), 5));
}

#[test]
fn the_written_form_is_this() {
    let mut all = String::new();
    for aggregate in ALL {
        for window in [Shape::Time { micros: 100 }, Shape::Last { count: 3 }, Shape::Panes { pane_micros: 10, panes: 3 }] {
            let spec = spec(aggregate, window, 100);
            let mut window = Window::default();
            for (time, float) in [(7, 1.5), (9, -2.0), (25, 0.1), (21, 1.5)] {
                window.tick(&spec, 30, Some((time, &Value::float(float)))).unwrap();
            }
            let hex = hex(&bytes(&window, &spec));
            all.push_str(&format!("{} {:?} {hex}\n", aggregate.name(), spec.window));
        }
    }
    let golden = include_str!("golden.txt");
    assert!(all == golden, "the bytes of windows changed: a new version is needed\n{all}");
}

#[test]
fn small_windows_are_small() {
    assert_eq!(size_of::<Window>(), 8);
    let spec = spec(Aggregate::Mean, Shape::Last { count: 3 }, 1_000);
    let mut window = Window::default();
    for int in 0..10 {
        window.tick(&spec, 0, Some((0, &Value::Int(int)))).unwrap();
    }
    assert!(window.memory() <= 260, "{}", window.memory());
    window.tick(&spec, 0, None).unwrap();
    assert_eq!(window.len(), 3);
}

#[test]
fn a_window_that_was_long_lets_go_of_its_memory() {
    let spec = spec(Aggregate::Sum, Shape::Time { micros: 10_000 }, 1_000_000);
    let mut window = Window::default();
    for time in 0..10_000 {
        window.tick(&spec, time, Some((time, &Value::Int(time)))).unwrap();
    }
    assert!(window.memory() > 160_000);
    for time in 20_000..20_003 {
        window.tick(&spec, time, Some((time, &Value::Int(time)))).unwrap();
    }
    assert!(window.memory() < 1_000, "{}", window.memory());
    window.tick(&spec, 40_000, None).unwrap();
    assert_eq!((window.len(), window.result(&spec).unwrap()), (0, Some(Value::Int(0))));
    window.rollback(&spec);
    assert_eq!(window.len(), 3);
    window.tick(&spec, 40_000, None).unwrap();
    window.tick(&spec, 40_001, None).unwrap();
    assert_eq!(window.memory(), 0);
}
