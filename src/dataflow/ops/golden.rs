//! The bits of every numeric function. A change of these is a new edition of the language.

use super::*;
use std::fmt::Write;

const INPUTS: [f64; 34] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.0,
    2.5,
    -2.5,
    10.0,
    0.1,
    -0.1,
    0.7,
    3.3,
    100.25,
    -7.75,
    std::f64::consts::PI,
    std::f64::consts::E,
    std::f64::consts::FRAC_PI_2,
    1e-8,
    1e-300,
    5e-324,
    2.225_073_858_507_201_4e-308,
    1e15,
    1e22,
    1e300,
    f64::MAX,
    709.782_712_893_384,
    -745.133_219_101_941_2,
    9_007_199_254_740_993.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const ONE: [Function; 11] = [
    Function::Abs,
    Function::Trunc,
    Function::Floor,
    Function::Ceil,
    Function::Round,
    Function::Sqrt,
    Function::Log,
    Function::Exp,
    Function::Sin,
    Function::Cos,
    Function::Tan,
];

fn word(result: Result<Value, Failure>) -> String {
    match result {
        Ok(Value::Float(float)) => format!("{:016x}", float.to_bits()),
        Ok(Value::Int(int)) => int.to_string(),
        Ok(other) => panic!("{other:?}"),
        Err(failure) => failure.code().to_string(),
    }
}

/// A line for each input: its bits, then the result of each function; then a line for each pair.
fn table() -> String {
    let mut out = String::new();
    for input in INPUTS {
        write!(out, "{:016x}", input.to_bits()).unwrap();
        for function in ONE {
            write!(out, " {}", word(call(function, &[&Value::float(input)], Limits::default()))).unwrap();
        }
        out.push('\n');
    }
    for (at, x) in INPUTS.iter().enumerate() {
        // Each with a few others, so that the table stays readable.
        for y in INPUTS.iter().cycle().skip(at * 5 % 34).step_by(4).take(3) {
            let (a, b) = (Value::float(*x), Value::float(*y));
            write!(out, "{:016x} {:016x}", x.to_bits(), y.to_bits()).unwrap();
            for result in [power(&a, &b), remainder(&a, &b), divide(&a, &b), add(&a, &b), subtract(&a, &b), multiply(&a, &b)] {
                write!(out, " {}", word(result)).unwrap();
            }
            for function in [Function::Min, Function::Max] {
                write!(out, " {}", word(call(function, &[&a, &b], Limits::default()))).unwrap();
            }
            out.push('\n');
        }
    }
    out
}

#[test]
fn the_bits_of_numeric_functions_are_these() {
    let table = table();
    for (line, golden) in table.lines().zip(include_str!("golden.txt").lines()) {
        assert_eq!(line, golden);
    }
    assert!(table == include_str!("golden.txt"), "the table has another length\n{table}");
}
