//! Tests of this module: exact sums, against fractions.

use super::{Exact, MOST_LIMBS, Number};
use proptest::prelude::*;

/// Values, and the nearest floats of their exact sum, mean and deviation, by another program (Python's fractions).
const CASES: &str = include_str!("cases.txt");

fn floats(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap())).collect()
}

fn number(float: f64) -> Number {
    Number::of_float(float).unwrap()
}

fn sums(values: &[f64]) -> (Exact, Exact) {
    let (mut sum, mut squares) = (Exact::default(), Exact::default());
    for value in values {
        sum.change(number(*value), false);
        squares.change_square(number(*value), false);
    }
    (sum, squares)
}

fn results(values: &[f64]) -> [u64; 3] {
    let (sum, squares) = sums(values);
    let count = values.len() as u64;
    [sum.nearest(), sum.mean(count), sum.deviation(&squares, count)].map(f64::to_bits)
}

#[test]
fn results_are_the_exact_ones_rounded_once() {
    for line in CASES.lines() {
        let (values, wanted) = line.split_once('|').unwrap();
        let wanted: Vec<u64> = floats(wanted).into_iter().map(f64::to_bits).collect();
        assert_eq!(results(&floats(values)).to_vec(), wanted, "{:?}", floats(values));
    }
}

#[test]
fn order_and_history_leave_no_trace() {
    for line in CASES.lines() {
        let mut values = floats(line.split_once('|').unwrap().0);
        let wanted = results(&values);
        values.reverse();
        assert_eq!(results(&values), wanted);
        let (mut sum, mut squares) = sums(&values);
        for strange in [1e300, -3.5, 5e-324, 1e-300, f64::MAX, f64::MIN] {
            sum.change(number(strange), false);
            squares.change_square(number(strange), false);
        }
        for strange in [f64::MIN, 1e300, 5e-324, -3.5, f64::MAX, 1e-300] {
            sum.change(number(strange), true);
            squares.change_square(number(strange), true);
        }
        let count = values.len() as u64;
        assert_eq!([sum.nearest(), sum.mean(count), sum.deviation(&squares, count)].map(f64::to_bits), wanted);
        assert_eq!((sum, squares), sums(&values));
    }
}

#[test]
fn whole_numbers_stay_whole() {
    let mut sum = Exact::default();
    for int in [i64::MAX, i64::MAX, i64::MIN, 7] {
        sum.change(Number::of_int(int), false);
    }
    assert_eq!(sum.int(), None);
    sum.change(Number::of_int(i64::MAX), true);
    assert_eq!(sum.int(), Some(6));
    sum.change(Number::of_int(6), true);
    assert_eq!((sum.int(), sum.nearest(), sum.normal()), (Some(0), 0.0, (0, &[][..])));
    sum.change(Number::of_int(i64::MIN), false);
    assert_eq!(sum.int(), Some(i64::MIN));
    sum.change(Number::of_int(-1), false);
    assert_eq!(sum.int(), None);
    assert_eq!(sum.nearest().to_bits(), (-9_223_372_036_854_775_808.0_f64).to_bits());
}

#[test]
fn what_is_not_normal_is_not_read() {
    assert!(Exact::from_normal(17, vec![1, 0]).is_some());
    assert!(Exact::from_normal(17, vec![u64::MAX]).is_some());
    assert!(Exact::from_normal(17, vec![1]).is_none());
    assert!(Exact::from_normal(17, vec![0, 1, 0]).is_none());
    assert!(Exact::from_normal(17, vec![1, 0, 0]).is_none());
    assert!(Exact::from_normal(1, vec![]).is_none());
    assert!(Exact::from_normal(MOST_LIMBS, vec![1, 0]).is_none());
}

fn any_finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |float| float.is_finite()),
        -1e3..1e3,
        (-1_000_i32..1_000).prop_map(|int| f64::from(int) / 8.0),
    ]
}

proptest! {
    #[test]
    fn parts_combine_and_come_apart(one in prop::collection::vec(any_finite(), 0..20), two in prop::collection::vec(any_finite(), 0..20)) {
        let (mut sum, mut squares) = sums(&one);
        let (more, more_squares) = sums(&two);
        sum.combine(&more, false);
        squares.combine(&more_squares, false);
        prop_assert_eq!((&sum, &squares), (&sums(&[one.clone(), two].concat()).0, &squares));
        sum.combine(&more, true);
        squares.combine(&more_squares, true);
        prop_assert_eq!((sum, squares), sums(&one));
    }

    #[test]
    fn the_normal_form_reads_back(values in prop::collection::vec(any_finite(), 0..20)) {
        for sum in <[Exact; 2]>::from(sums(&values)) {
            let (base, limbs) = sum.normal();
            let again = Exact::from_normal(base, limbs.to_vec()).unwrap();
            prop_assert_eq!(again.nearest().to_bits(), sum.nearest().to_bits());
            prop_assert_eq!(again, sum);
        }
    }
}
