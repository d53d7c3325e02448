//! Random programs and rows, made from a tape of numbers, so that a failing case shrinks.

use millrace::dataflow::value::{Cell, Limits, Value};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Int,
    Float,
    Bool,
    Str,
    List,
    Any,
}

impl Ty {
    const ALL: [Self; 6] = [Self::Int, Self::Float, Self::Bool, Self::Str, Self::List, Self::Any];

    const fn name(self) -> &'static str {
        match self {
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Bool => "Bool",
            Self::Str => "Str",
            Self::List => "List<Int>",
            Self::Any => "Any",
        }
    }
}

/// The inputs of every program.
pub(crate) const INPUTS: &str =
    "in a: Int\nin b: Int\nin f: Float\nin g: Float\nin p: Bool\nin q: Bool\nin s: Str\nin l: List<Int>\nin u\nin t: Str\n";

struct Tape<'a> {
    numbers: &'a [u32],
    at: usize,
    /// The streams that may be read undelayed, and all.
    before: Vec<(String, Ty)>,
    all: Vec<(String, Ty)>,
    /// Names of the innermost functions' parameters.
    parameters: Vec<(String, Ty)>,
    /// Inside a list callback or `fix`: no state.
    pure: bool,
}

impl Tape<'_> {
    fn next(&mut self, of: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number as usize % of
    }

    fn leaf(&mut self, ty: Ty) -> String {
        let inputs: &[&str] = match ty {
            Ty::Int => &["a", "b"],
            Ty::Float => &["f", "g"],
            Ty::Bool => &["p", "q"],
            Ty::Str => &["s"],
            Ty::List => &["l"],
            Ty::Any => &["u"],
        };
        let mut names: Vec<String> = inputs.iter().map(|name| (*name).to_owned()).collect();
        names.extend(self.before.iter().chain(&self.parameters).filter(|(_, own)| *own == ty).map(|(name, _)| name.clone()));
        match self.next(3) {
            0 => match ty {
                Ty::Int => ["0", "1", "2", "-3", "7", "9223372036854775807"][self.next(6)].to_owned(),
                Ty::Float => ["0.0", "1.5", "-2.5", "1e300", "0.1"][self.next(5)].to_owned(),
                Ty::Bool => ["true", "false"][self.next(2)].to_owned(),
                Ty::Str => ["\"\"", "\"x\"", "\"a longer text than fits in place\""][self.next(3)].to_owned(),
                Ty::List => ["[1, 2]", "[0]"][self.next(2)].to_owned(),
                Ty::Any => "u".to_owned(),
            },
            _ => names[self.next(names.len())].clone(),
        }
    }

    fn expr(&mut self, ty: Ty, depth: usize) -> String {
        if depth == 0 || self.at > self.numbers.len() {
            return self.leaf(ty);
        }
        let d = depth - 1;
        let state = if self.pure { 5 } else { 16 };
        match self.next(state + 8) {
            0 => self.leaf(ty),
            1 => format!("default({}, {})", self.expr(ty, d), self.expr(ty, d)),
            2 | 3 => format!("(if {} then {} else {})", self.expr(Ty::Bool, d), self.expr(ty, d), self.expr(ty, d)),
            4 => format!("(\\v{depth}: {} -> {})({})", ty.name(), self.inside(&format!("v{depth}"), ty, ty, d), self.expr(ty, d)),
            5 | 6 if !self.pure => format!("({})[{}]", self.expr(ty, d), self.next(4)),
            7 if !self.pure => format!("({})[{}]", self.expr(ty, d), 7 + self.next(5)),
            8 | 9 if !self.pure => {
                let all: Vec<String> = self.all.iter().filter(|(_, own)| *own == ty).map(|(name, _)| name.clone()).collect();
                match all.len() {
                    0 => self.leaf(ty),
                    count => format!("{}[{}]", all[self.next(count)], 1 + self.next(10)),
                }
            }
            10 if !self.pure => format!("init({}, {})", self.expr(ty, d), self.expr(ty, d)),
            11 if !self.pure => format!("update({}, {})", self.expr(ty, d), self.expr(ty, d)),
            12 if !self.pure => {
                let trigger = Ty::ALL[self.next(6)];
                format!("latch({}, {})", self.expr(ty, d), self.expr(trigger, d))
            }
            13 if !self.pure => format!("{}(t: {}, {{a, b, p}})", ["dynamic", "defer"][self.next(2)], ty.name()),
            14 if !self.pure => self.window(ty, d),
            _ => self.typed(ty, d),
        }
    }

    fn inside(&mut self, name: &str, ty: Ty, result: Ty, depth: usize) -> String {
        self.parameters.push((name.to_owned(), ty));
        let body = self.expr(result, depth);
        self.parameters.pop();
        body
    }

    fn callback(&mut self, name: &str, result: Ty, depth: usize) -> String {
        let pure = std::mem::replace(&mut self.pure, true);
        let body = self.inside(name, Ty::Int, result, depth);
        self.pure = pure;
        body
    }

    fn span(&mut self) -> &'static str {
        ["3s", "last 3", "6s by 2s", "10s", "last 1"][self.next(5)]
    }

    fn window(&mut self, ty: Ty, d: usize) -> String {
        let (aggregate, of) = match ty {
            Ty::Int => match self.next(4) {
                0 => ("count", Ty::ALL[self.next(6)]),
                1 => ("sum", Ty::Int),
                2 => ("max", Ty::Int),
                _ => ("distinct", Ty::Str),
            },
            Ty::Float => (["mean", "sum", "stddev", "min"][self.next(4)], Ty::Float),
            _ => (["first", "last"][self.next(2)], ty),
        };
        format!("{aggregate}({} over {})", self.expr(of, d), self.span())
    }

    fn typed(&mut self, ty: Ty, d: usize) -> String {
        match ty {
            Ty::Int => match self.next(12) {
                0..=4 => {
                    let op = ["+", "-", "*", "/", "%", "**"][self.next(6)];
                    format!("({} {op} {})", self.expr(ty, d), self.expr(ty, d))
                }
                5 => format!("-({})", self.expr(ty, d)),
                6 => format!("List.len({})", self.expr(Ty::List, d)),
                7 => format!("List.get({}, {})", self.expr(Ty::List, d), self.expr(Ty::Int, d)),
                8 => format!("List.get({}, {}, {})", self.expr(Ty::List, d), self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
                9 => {
                    let pure = std::mem::replace(&mut self.pure, true);
                    let (so_far, value) = (format!("r{d}"), format!("e{d}"));
                    self.parameters.push((so_far.clone(), Ty::Int));
                    let body = self.inside(&value, Ty::Int, Ty::Int, d.min(2));
                    self.parameters.pop();
                    self.pure = pure;
                    format!("List.fold(\\{so_far}: Int, {value}: Int -> {body}, {}, {})", self.expr(Ty::Int, d), self.expr(Ty::List, d))
                }
                10 => format!(
                    "fix(\\self: (Int -> Int), n{d}: Int -> if n{d} <= 0 || n{d} > 9 then {} else self(n{d} - 1) + 1)({})",
                    self.callback(&format!("n{d}"), Ty::Int, d.min(2)),
                    self.expr(Ty::Int, d)
                ),
                _ => format!("{{x: {}, y: {}}}.x", self.expr(Ty::Int, d), self.expr(Ty::Bool, d)),
            },
            Ty::Float => match self.next(5) {
                0 | 1 => {
                    let op = ["+", "-", "*", "/"][self.next(4)];
                    format!("({} {op} {})", self.expr(ty, d), self.expr(ty, d))
                }
                2 => format!("({} + {})", self.expr(Ty::Int, d), self.expr(ty, d)),
                3 => format!("sqrt({})", self.expr(ty, d)),
                _ => format!("max({}, {})", self.expr(ty, d), self.expr(ty, d)),
            },
            Ty::Bool => match self.next(10) {
                0 | 1 => {
                    let of = [Ty::Int, Ty::Float, Ty::Str][self.next(3)];
                    let op = ["==", "!=", "<", "<=", ">", ">="][self.next(6)];
                    format!("({} {op} {})", self.expr(of, d), self.expr(of, d))
                }
                2..=4 => {
                    let op = ["&&", "||", "=>"][self.next(3)];
                    format!("({} {op} {})", self.expr(ty, d), self.expr(ty, d))
                }
                5 => format!("!({})", self.expr(ty, d)),
                6 => format!("({} == {})", self.expr(Ty::Any, d), self.expr(Ty::Any, d)),
                _ if self.pure => format!("is_defined({})", self.expr(Ty::Int, d)),
                kind => {
                    let of = Ty::ALL[self.next(6)];
                    let name = match kind {
                        7 => ["is_defined", "is_present"][self.next(2)],
                        8 => "when",
                        _ => "changed",
                    };
                    format!("{name}({})", self.expr(of, d))
                }
            },
            Ty::Str => match self.next(3) {
                0 => format!("({} ++ {})", self.expr(ty, d), self.expr(ty, d)),
                1 => format!("Str.of({})", self.expr(Ty::Int, d)),
                _ => format!("Str.lower({})", self.expr(ty, d)),
            },
            Ty::List => match self.next(5) {
                0 => format!("[{}, {}]", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
                1 => format!("List.append({}, {})", self.expr(ty, d), self.expr(Ty::Int, d)),
                2 => format!("List.tail({})", self.expr(ty, d)),
                3 => {
                    let name = format!("m{d}");
                    format!("List.map(\\{name}: Int -> {}, {})", self.callback(&name, Ty::Int, d.min(2)), self.expr(ty, d))
                }
                _ => {
                    let name = format!("k{d}");
                    format!("List.filter(\\{name}: Int -> {}, {})", self.callback(&name, Ty::Bool, d.min(2)), self.expr(ty, d))
                }
            },
            Ty::Any => {
                let of = [Ty::Int, Ty::Str, Ty::Any][self.next(3)];
                match of {
                    Ty::Any => format!("({} + {})", self.expr(Ty::Any, d), self.expr(Ty::Int, d)),
                    other => self.expr(other, d),
                }
            }
        }
    }
}

/// The streams of a program, one a line.
pub(crate) fn streams(tape: &[u32]) -> Vec<String> {
    let mut tape = Tape { numbers: tape, at: 0, before: Vec::new(), all: Vec::new(), parameters: Vec::new(), pure: false };
    let count = 1 + tape.next(5);
    let named: Vec<(String, Ty)> = (0..count).map(|nth| (format!("y{nth}"), Ty::ALL[tape.next(6)])).collect();
    tape.all.clone_from(&named);
    let mut lines = Vec::new();
    for (name, ty) in named {
        let depth = 1 + tape.next(4);
        let body = tape.expr(ty, depth);
        let kind = ["out", "aux"][tape.next(2)];
        lines.push(format!("{kind} {name}: {} = {body}", ty.name()));
        tape.before.push((name, ty));
    }
    lines
}

const TEXTS: [&str; 14] = [
    "a + 1",
    "a[1]",
    "default(a[2], b)",
    "a +",
    "a / b",
    "sum(a over last 3)",
    "latch(a, p)",
    "(1 / a)[1]",
    "if p then a else b",
    "p && when(b)",
    "1.5",
    "update(a, b[9])",
    "count(a over 5s) + init(b, 0)",
    "changed(a) || c",
];

const LIMITS: Limits = Limits { value_bytes: 1 << 20 };

fn int() -> impl Strategy<Value = Value> {
    prop_oneof![6 => -3_i64..10, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 2 => Just(0)].prop_map(Value::Int)
}

fn float() -> impl Strategy<Value = Value> {
    prop_oneof![4 => (-30_i32..30).prop_map(|n| f64::from(n) / 4.0), 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(-0.0), 1 => Just(1e308)]
        .prop_map(Value::float)
}

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["", "x", "on", "a longer text than fits in place"]).prop_map(Value::str)
}

fn cell(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Cell> {
    prop_oneof![3 => value.prop_map(Cell::Value), 2 => Just(Cell::NoVal)].boxed()
}

/// A row of [`INPUTS`].
pub(crate) fn row() -> impl Strategy<Value = Vec<Cell>> {
    let list = prop::collection::vec(int(), 0..4).prop_map(|items| Value::list(items, LIMITS).unwrap());
    let loose = prop_oneof![int(), float(), text(), any::<bool>().prop_map(Value::Bool)];
    let source = prop::sample::select(TEXTS.to_vec()).prop_map(Value::str);
    let truth = || any::<bool>().prop_map(Value::Bool);
    vec![
        cell(int()),
        cell(int()),
        cell(float()),
        cell(float()),
        cell(truth()),
        cell(truth()),
        cell(text()),
        cell(list),
        cell(loose),
        cell(source),
    ]
}

pub(crate) fn tape() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0_u32..10_000, 1..80)
}

/// Rows, each with the seconds since the one before; some go back. Each input is absent up to some row.
pub(crate) fn rows() -> impl Strategy<Value = Vec<(i64, Vec<Cell>)>> {
    let seconds = prop_oneof![6 => 0_i64..3, 1 => -4_i64..0, 1 => 5_i64..15];
    let starts = prop::collection::vec(prop_oneof![3 => Just(0_usize), 2 => 1_usize..9], 10);
    (starts, prop::collection::vec((seconds, row()), 1..16)).prop_map(|(starts, mut rows)| {
        for (nth, (_, row)) in rows.iter_mut().enumerate() {
            for (cell, start) in row.iter_mut().zip(&starts) {
                if nth < *start {
                    *cell = Cell::NoVal;
                }
            }
        }
        rows
    })
}
