//! A slow interpreter, written from the table in language.md: every node's result of every tick is kept, and what a table
//! row says about the past is looked up there. It shares no code with the evaluator but the operations on values and the
//! windows themselves, which are tested on their own.

use millrace::dataflow::ops;
use millrace::dataflow::value::{Cell, Code, Failure, Limits, Shape, Text, Value, equal};
use millrace::dataflow::window::{Window, WindowSpec};
use millrace::lang::builtins::Function;
use millrace::lang::checked::{BinaryOp, Body, BodyId, Checked, Closure, Equation, Node, NodeId, Op, StreamId, TextMode};
use millrace::lang::types::Type;
use millrace::lang::{self};
use std::rc::Rc;
use std::sync::Arc;

const LIMITS: Limits = Limits { value_bytes: 1 << 20 };

/// What a node gives in a tick.
#[derive(Clone)]
pub(crate) enum Outcome {
    NoVal,
    Deferred,
    Value(Value),
    Function(Rc<Made>),
    Fail(Failure),
}

use Outcome::{Deferred, Fail, NoVal};

pub(crate) struct Made {
    bodies: Rc<Vec<Body>>,
    body: BodyId,
    captures: Vec<Outcome>,
    fix: bool,
}

impl Outcome {
    fn of(result: Result<Value, Failure>) -> Self {
        result.map_or_else(Fail, Self::Value)
    }

    fn truth(truth: bool) -> Self {
        Self::Value(Value::Bool(truth))
    }

    fn is_value(&self) -> bool {
        matches!(self, Self::Value(_) | Self::Function(_))
    }

    pub(crate) fn cell(&self) -> Cell {
        match self {
            Self::Value(value) => Cell::Value(value.clone()),
            Deferred => Cell::Deferred,
            _ => Cell::NoVal,
        }
    }
}

/// Any failure → the leftmost, else any `NoVal`, else any Deferred.
fn special(operands: &[Outcome]) -> Option<Outcome> {
    let find = |wanted: &dyn Fn(&&Outcome) -> bool| operands.iter().find(|operand| wanted(operand)).cloned();
    find(&|operand| matches!(operand, Fail(_)))
        .or_else(|| find(&|operand| matches!(operand, NoVal)))
        .or_else(|| find(&|operand| matches!(operand, Deferred)))
}

/// What a node of an equation reads besides nodes.
struct World<'a> {
    /// The streams by number, in this tick.
    streams: &'a [Outcome],
    /// Whether one of the inputs behind these streams came; true where there are none.
    came: &'a dyn Fn(&[StreamId]) -> bool,
    time: i64,
    front: i64,
    scope: &'a dyn Fn(StreamId) -> (Arc<str>, Type),
}

/// A text in force and its own equation.
struct InForce {
    text: String,
    block: Block,
    reads: Vec<StreamId>,
}

/// The history of a body's nodes.
struct Block {
    bodies: Rc<Vec<Body>>,
    root: BodyId,
    /// By tick, then node.
    past: Vec<Vec<Outcome>>,
    now: Vec<Option<Outcome>>,
    texts: Vec<Option<InForce>>,
    /// What each window took in: front and value of each tick.
    taken: Vec<Vec<Taken>>,
}

/// The front, and the value with its time.
type Taken = (i64, Option<(i64, Value)>);

/// A failure that ends the tick.
struct Ends(Failure);

type Evaluated = Result<Outcome, Ends>;

impl Block {
    fn new(bodies: Rc<Vec<Body>>, root: BodyId) -> Self {
        let count = bodies[root.0 as usize].nodes.len();
        let texts = (0..count).map(|_| None).collect();
        Self { bodies, root, past: Vec::new(), now: vec![None; count], texts, taken: vec![Vec::new(); count] }
    }

    fn body(&self) -> &Body {
        &self.bodies[self.root.0 as usize]
    }

    /// The result of the whole, in this tick.
    fn result(&mut self, world: &World<'_>) -> Evaluated {
        let root = self.body().root;
        self.raw(root, world)
    }

    /// The nodes that only delays ask for.
    fn rest(&mut self, world: &World<'_>) -> Result<(), Ends> {
        for node in (0..).map(NodeId).take(self.now.len()) {
            self.raw(node, world)?;
        }
        Ok(())
    }

    /// A failure that would enter a delay.
    fn entering(&self) -> Option<Failure> {
        let bodies = Rc::clone(&self.bodies);
        let mut delays: Vec<&Node> =
            bodies[self.root.0 as usize].nodes.iter().filter(|node| matches!(node.op, Op::Delay { ticks: 1.., .. })).collect();
        delays.sort_by_key(|node| node.span);
        delays.into_iter().find_map(|node| match &node.op {
            Op::Delay { of, .. } => match &self.now[of.0 as usize] {
                Some(Fail(failure)) => Some(failure.clone()),
                _ => None,
            },
            _ => None,
        })
    }

    fn entering_texts(&self) -> Option<Failure> {
        self.texts.iter().flatten().find_map(|text| text.block.entering())
    }

    fn end(&mut self) {
        for text in self.texts.iter_mut().flatten() {
            text.block.end();
        }
        self.past.push(self.now.iter_mut().map(|now| now.take().unwrap_or(NoVal)).collect());
    }

    fn raw(&mut self, id: NodeId, world: &World<'_>) -> Evaluated {
        if let Some(known) = &self.now[id.0 as usize] {
            return Ok(known.clone());
        }
        let bodies = Rc::clone(&self.bodies);
        let outcome = self.node(id, &bodies[self.root.0 as usize].nodes[id.0 as usize], world)?;
        self.now[id.0 as usize] = Some(outcome.clone());
        Ok(outcome)
    }

    /// ê: a `NoVal` operand is replaced by the last that was not `NoVal`; no ê keeps a failure.
    fn hat(&mut self, id: NodeId, world: &World<'_>) -> Evaluated {
        let now = self.raw(id, world)?;
        if !matches!(now, NoVal) {
            return Ok(now);
        }
        let before = self.past.iter().rev().map(|tick| &tick[id.0 as usize]);
        Ok(before.into_iter().find(|outcome| !matches!(outcome, NoVal | Fail(_))).cloned().unwrap_or(NoVal))
    }

    fn hats(&mut self, ids: &[NodeId], world: &World<'_>) -> Result<Vec<Outcome>, Ends> {
        ids.iter().map(|id| self.hat(*id, world)).collect()
    }

    /// Whether it had a value in an earlier tick.
    fn had(&self, id: NodeId) -> bool {
        self.past.iter().any(|tick| tick[id.0 as usize].is_value())
    }

    fn closure(&mut self, closure: &Closure, world: &World<'_>, fix: bool) -> Result<Result<Rc<Made>, Outcome>, Ends> {
        let captures = self.hats(&closure.captures, world)?;
        Ok(match special(&captures) {
            Some(instead) => Err(instead),
            None => Ok(Rc::new(Made { bodies: Rc::clone(&self.bodies), body: closure.body, captures, fix })),
        })
    }

    #[allow(clippy::too_many_lines, reason = "one row of the table after another")]
    fn node(&mut self, id: NodeId, node: &Node, world: &World<'_>) -> Evaluated {
        let now = self.past.len();
        if !matches!(node.op, Op::Delay { ticks: 1.., .. }) {
            // All operands are evaluated in every tick, whatever becomes of them.
            node.op.operands().into_iter().try_for_each(|operand| self.raw(operand, world).map(|_| ()))?;
        }
        Ok(match &node.op {
            Op::Stream(stream) => world.streams[stream.0 as usize].clone(),
            Op::Hold(a) => self.hat(*a, world)?,
            Op::Cast(a) => match self.raw(*a, world)? {
                Outcome::Value(value) => Outcome::of(ops::cast(&value, &node.ty, LIMITS)),
                other => other,
            },
            Op::Delay { of, ticks: 0 } => self.hat(*of, world)?,
            // x n ticks ago; Deferred until n ticks have passed; a `NoVal` stored in between repeats the last result.
            Op::Delay { of, ticks } => match now.checked_sub(*ticks as usize) {
                None => Deferred,
                Some(then) => match self.past[then][of.0 as usize].clone() {
                    NoVal => self.past.last().map_or(Deferred, |last| last[id.0 as usize].clone()),
                    other => other,
                },
            },
            Op::Init(e, i) => match self.raw(*e, world)? {
                NoVal if !self.past.iter().any(|tick| !matches!(tick[e.0 as usize], NoVal | Fail(_))) => self.raw(*i, world)?,
                other => other,
            },
            Op::IsPresent(e) => match self.raw(*e, world)? {
                Fail(failure) => Fail(failure),
                other => Outcome::truth(other.is_value()),
            },
            Op::When(e) => {
                let raw = self.raw(*e, world)?;
                match raw {
                    _ if self.had(*e) => Outcome::truth(true),
                    Fail(failure) => Fail(failure),
                    other => Outcome::truth(other.is_value()),
                }
            }
            Op::Update(a, b) => {
                let (before, after) = (self.hat(*a, world)?, self.hat(*b, world)?);
                if self.had(*b) || after.is_value() {
                    after
                } else if matches!(after, Fail(_)) {
                    special(&[before, after]).unwrap()
                } else {
                    before
                }
            }
            Op::Latch(v, t) => {
                let (value, trigger) = (self.hat(*v, world)?, self.raw(*t, world)?);
                match trigger {
                    Fail(failure) => Fail(failure),
                    other if other.is_value() => value,
                    _ => NoVal,
                }
            }
            Op::Changed(e) => match self.raw(*e, world)? {
                Outcome::Value(value) => {
                    let last = self.past.iter().rev().find_map(|tick| match &tick[e.0 as usize] {
                        Outcome::Value(last) => Some(last.clone()),
                        _ => None,
                    });
                    match last {
                        Some(last) => Outcome::of(equal(&value, &last).map(|same| Value::Bool(!same))),
                        None => Outcome::truth(false),
                    }
                }
                Fail(failure) => Fail(failure),
                _ => Outcome::truth(false),
            },
            Op::If(c, a, b) => {
                let all = self.hats(&[*c, *a, *b], world)?;
                let chosen = match &all[0] {
                    Outcome::Value(Value::Bool(true)) => Some(&all[1]),
                    Outcome::Value(Value::Bool(false)) => Some(&all[2]),
                    Outcome::Value(other) => return Ok(Fail(ops::truth("if", other).unwrap_err())),
                    Fail(failure) => return Ok(Fail(failure.clone())),
                    _ => None,
                };
                if let Some(Fail(failure)) = chosen {
                    Fail(failure.clone())
                } else if all.iter().any(|outcome| matches!(outcome, NoVal)) {
                    NoVal
                } else {
                    chosen.cloned().unwrap_or(Deferred)
                }
            }
            Op::Text { mode, source, scope } => self.text(id, node, (*mode, *source, scope), world)?,
            Op::Window { aggregate, of, window, reads } => {
                let spec = WindowSpec { aggregate: *aggregate, window: *window, float: node.ty == Type::Float, cap: 1_000_000 };
                let raw = if (world.came)(reads) { self.raw(*of, world)? } else { NoVal };
                let value = match raw {
                    Fail(failure) => return Err(Ends(failure)),
                    Outcome::Value(value) => Some((world.time, value)),
                    _ => None,
                };
                let taken = &mut self.taken[id.0 as usize];
                taken.push((world.front, value));
                let mut window = Window::default();
                for (front, value) in taken.iter() {
                    window.tick(&spec, *front, value.as_ref().map(|(time, value)| (*time, value))).map_err(Ends)?;
                }
                match window.result(&spec) {
                    Ok(Some(value)) => Outcome::Value(value),
                    Ok(None) => Deferred,
                    Err(failure) => Fail(failure),
                }
            }
            Op::ListMap(f, l) | Op::ListFilter(f, l) => {
                let list = self.hat(*l, world)?;
                let function = self.closure(f, world, false)?;
                each(node, (list, None), function)
            }
            Op::ListFold(f, a, l) => {
                let (from, list) = (self.hat(*a, world)?, self.hat(*l, world)?);
                let function = self.closure(f, world, false)?;
                each(node, (list, Some(from)), function)
            }
            Op::Closure(f) | Op::Fix(f) => match self.closure(f, world, matches!(node.op, Op::Fix(_)))? {
                Ok(made) => Outcome::Function(made),
                Err(instead) => instead,
            },
            other => {
                let operands = self.hats(&other.operands(), world)?;
                strict(node, &operands)
            }
        })
    }

    fn text(&mut self, id: NodeId, node: &Node, (mode, source, scope): (TextMode, NodeId, &[StreamId]), world: &World<'_>) -> Evaluated {
        let source = self.hat(source, world)?;
        let at = id.0 as usize;
        if let Outcome::Value(Value::Str(text)) = &source {
            let text = text.as_str();
            let wanted = match &self.texts[at] {
                Some(body) => mode == TextMode::Dynamic && body.text != text,
                None => true,
            };
            let names: Vec<(Arc<str>, Type)> = scope.iter().map(|id| (world.scope)(*id)).collect();
            if wanted && let Ok(made) = lang::check_expression(text, &names, Some(&node.ty)) {
                let block = Block::new(Rc::new(made.bodies), made.root);
                self.texts[at] = Some(InForce { text: text.to_owned(), block, reads: scope.to_vec() });
            }
        }
        let result = match self.texts[at].as_mut() {
            None => Deferred,
            Some(body) => {
                let streams: Vec<Outcome> = body.reads.iter().map(|id| world.streams[id.0 as usize].clone()).collect();
                let reads = body.reads.clone();
                let came = |ids: &[StreamId]| {
                    let outer: Vec<StreamId> = ids.iter().map(|id| reads[id.0 as usize]).collect();
                    (world.came)(&outer)
                };
                let scope = |id: StreamId| (world.scope)(reads[id.0 as usize]);
                let inner = World { streams: &streams, came: &came, time: world.time, front: world.front, scope: &scope };
                let result = body.block.result(&inner)?;
                body.block.rest(&inner)?;
                if let Some(failure) = body.block.entering() {
                    return Err(Ends(failure));
                }
                result
            }
        };
        Ok(match source {
            Deferred => Deferred,
            Fail(failure) => Fail(failure),
            Outcome::Value(Value::Str(_)) | NoVal => result,
            Outcome::Value(_) | Outcome::Function(_) => Fail(Failure::new(Code::KIND, "no text")),
        })
    }
}

fn each(node: &Node, (list, from): (Outcome, Option<Outcome>), function: Result<Rc<Made>, Outcome>) -> Outcome {
    let mut operands: Vec<Outcome> = from.iter().cloned().chain([list.clone()]).collect();
    if let Err(instead) = &function {
        operands.push(instead.clone());
    }
    if let Some(instead) = special(&operands) {
        return instead;
    }
    let (Ok(function), Outcome::Value(list)) = (function, &list) else { return NoVal };
    let items = match ops::elements("List", list) {
        Ok(items) => items.to_vec(),
        Err(failure) => return Fail(failure),
    };
    if let Some(mut so_far) = from {
        for item in items {
            so_far = run(&function, vec![so_far, Outcome::Value(item)]);
            if matches!(so_far, Fail(_)) {
                return so_far;
            }
        }
        return so_far;
    }
    let mut made = Vec::new();
    for item in items {
        match run(&function, vec![Outcome::Value(item.clone())]) {
            Outcome::Value(value) if matches!(node.op, Op::ListMap(..)) => made.push(value),
            Outcome::Value(Value::Bool(true)) => made.push(item),
            Outcome::Value(Value::Bool(false)) => {}
            other => return other,
        }
    }
    Outcome::of(Value::list(made, LIMITS))
}

/// Calls a function.
fn call(function: &Rc<Made>, argument: Outcome) -> Outcome {
    if function.fix {
        return match run(function, vec![Outcome::Function(Rc::clone(function))]) {
            Outcome::Function(inner) => call(&inner, argument),
            other => other,
        };
    }
    run(function, vec![argument])
}

fn run(function: &Rc<Made>, arguments: Vec<Outcome>) -> Outcome {
    let body = &function.bodies[function.body.0 as usize];
    let mut given = Vec::new();
    for (argument, ty) in arguments.into_iter().zip(&body.parameters) {
        given.push(match argument {
            Outcome::Value(value) => match ops::cast(&value, ty, LIMITS) {
                Ok(value) => Outcome::Value(value),
                Err(failure) => return Fail(failure),
            },
            other => other,
        });
    }
    inside(function, body, &given, body.root)
}

/// A node of a function, on demand.
fn inside(function: &Rc<Made>, body: &Body, given: &[Outcome], id: NodeId) -> Outcome {
    let node = &body.nodes[id.0 as usize];
    let of = |id: &NodeId| inside(function, body, given, *id);
    let function_of = |closure: &Closure, fix: bool| {
        let captures: Vec<Outcome> = closure.captures.iter().map(of).collect();
        match special(&captures) {
            Some(instead) => Err(instead),
            None => Ok(Rc::new(Made { bodies: Rc::clone(&function.bodies), body: closure.body, captures, fix })),
        }
    };
    match &node.op {
        Op::Parameter(at) => given[*at as usize].clone(),
        Op::Capture(at) => function.captures[*at as usize].clone(),
        Op::If(c, a, b) => match of(c) {
            Outcome::Value(Value::Bool(true)) => of(a),
            Outcome::Value(Value::Bool(false)) => of(b),
            Outcome::Value(other) => Fail(ops::truth("if", &other).unwrap_err()),
            other => other,
        },
        Op::Cast(a) => match of(a) {
            Outcome::Value(value) => Outcome::of(ops::cast(&value, &node.ty, LIMITS)),
            other => other,
        },
        Op::IsPresent(a) => match of(a) {
            Fail(failure) => Fail(failure),
            other => Outcome::truth(other.is_value()),
        },
        Op::ListMap(f, l) | Op::ListFilter(f, l) => each(node, (of(l), None), function_of(f, false)),
        Op::ListFold(f, a, l) => each(node, (of(l), Some(of(a))), function_of(f, false)),
        Op::Closure(f) | Op::Fix(f) => match function_of(f, matches!(node.op, Op::Fix(_))) {
            Ok(made) => Outcome::Function(made),
            Err(instead) => instead,
        },
        other => {
            let operands: Vec<Outcome> = other.operands().iter().map(of).collect();
            strict(node, &operands)
        }
    }
}

/// The operators of operands that are ê already.
fn strict(node: &Node, operands: &[Outcome]) -> Outcome {
    let one_side = |by_left: bool, by_right: bool, answer: bool| {
        let is = |at: usize, truth: bool| matches!(&operands[at], Outcome::Value(Value::Bool(value)) if *value == truth);
        (is(0, by_left) || is(1, by_right)).then(|| Outcome::truth(answer))
    };
    let decided = match &node.op {
        Op::Binary(BinaryOp::And, ..) => one_side(false, false, false),
        Op::Binary(BinaryOp::Or, ..) => one_side(true, true, true),
        Op::Binary(BinaryOp::Implies, ..) => one_side(false, true, true),
        Op::Default(..) => {
            return if matches!(operands[0], NoVal | Deferred) { operands[1].clone() } else { operands[0].clone() };
        }
        Op::IsDefined(_) => {
            return if matches!(operands[0], Fail(_)) { operands[0].clone() } else { Outcome::truth(operands[0].is_value()) };
        }
        Op::Function(function @ (Function::ListGet | Function::MapGet), all) if all.len() == 3 => {
            if let Some(instead) = special(&operands[..2]) {
                return instead;
            }
            let (Outcome::Value(a), Outcome::Value(b)) = (&operands[0], &operands[1]) else { return NoVal };
            let found = if *function == Function::ListGet { ops::list_get(a, b) } else { ops::map_get(a, b) };
            return match found {
                Ok(Some(value)) => Outcome::Value(value),
                Ok(None) => operands[2].clone(),
                Err(failure) => Fail(failure),
            };
        }
        _ => None,
    };
    if let Some(answer) = decided.or_else(|| special(operands)) {
        return answer;
    }
    if let Op::Call(..) = node.op {
        return match &operands[0] {
            Outcome::Function(function) => call(function, operands[1].clone()),
            _ => Fail(Failure::new(Code::KIND, "no function")),
        };
    }
    let mut values = Vec::new();
    for operand in operands {
        match operand {
            Outcome::Value(value) => values.push(value.clone()),
            _ => return Fail(Failure::new(Code::KIND, "a function where a value is wanted")),
        }
    }
    Outcome::of(match &node.op {
        Op::Const(literal) => Ok(ops::literal(literal)),
        Op::Unary(op, _) => ops::unary(*op, &values[0]),
        Op::Binary(op, ..) => ops::binary(*op, &values[0], &values[1], LIMITS),
        Op::Function(function, _) => ops::call(*function, &values.iter().collect::<Vec<_>>(), LIMITS),
        Op::Matches(_, pattern) => ops::matches(&values[0], &pattern.0),
        Op::Field(_, name) => ops::field(&values[0], name),
        Op::Item(_, at) => ops::item(&values[0], *at),
        Op::List(_) => Value::list(values, LIMITS),
        Op::Tuple(_) => Value::tuple(values, LIMITS),
        Op::Map(entries) => Value::map(entries.iter().map(|(key, _)| Text::new(key)).zip(values).collect(), LIMITS),
        Op::Struct(fields) => {
            let shape = Shape::new(fields.iter().map(|(name, _)| Arc::clone(name)));
            let of = |name: &Arc<str>| values[fields.iter().position(|(own, _)| own == name).unwrap()].clone();
            let values = shape.names().iter().map(of).collect();
            Value::structure(shape, values, LIMITS)
        }
        other => panic!("{other:?}"),
    })
}

/// A program, from the start.
pub(crate) struct Reference {
    checked: Checked,
    blocks: Vec<Option<Block>>,
    front: i64,
}

impl Reference {
    pub(crate) fn new(checked: &Checked) -> Self {
        let bodies = Rc::new(checked.bodies.clone());
        let block = |equation: &Equation| match equation {
            Equation::Body(body) => Some(Block::new(Rc::clone(&bodies), *body)),
            _ => None,
        };
        let blocks = checked.streams.iter().map(|stream| block(&stream.equation)).collect();
        Self { checked: checked.clone(), blocks, front: i64::MIN }
    }

    /// A tick: the cells of inputs, then computed streams, each in declared order; or the stream that fails, and how.
    pub(crate) fn tick(&mut self, row: &[Cell], time: i64) -> Result<Vec<Cell>, (Arc<str>, Failure)> {
        let checked = &self.checked;
        self.front = self.front.max(time);
        let mut inputs = row.iter();
        let mut streams: Vec<Outcome> = checked
            .streams
            .iter()
            .map(|stream| match stream.equation {
                Equation::Input => match inputs.next().unwrap() {
                    Cell::NoVal => NoVal,
                    Cell::Deferred => Deferred,
                    Cell::Value(value) => Outcome::Value(value.clone()),
                },
                _ => NoVal,
            })
            .collect();
        let present: Vec<bool> = streams.iter().map(Outcome::is_value).collect();
        let came = |ids: &[StreamId]| {
            let behind = checked.inputs_behind(ids);
            behind.is_empty() || behind.iter().any(|id| present[id.0 as usize])
        };
        let scope = |id: StreamId| (Arc::clone(&checked.streams[id.0 as usize].name), checked.streams[id.0 as usize].ty.clone());
        let name = |id: &StreamId| Arc::clone(&checked.streams[id.0 as usize].name);
        for id in &checked.order {
            let at = id.0 as usize;
            let world = World { streams: &streams, came: &came, time, front: self.front, scope: &scope };
            match self.blocks[at].as_mut().unwrap().result(&world) {
                Ok(Fail(failure)) | Err(Ends(failure)) => return Err((name(id), failure)),
                Ok(outcome) => streams[at] = outcome,
            }
        }
        let world = World { streams: &streams, came: &came, time, front: self.front, scope: &scope };
        for id in &checked.order {
            let block = self.blocks[id.0 as usize].as_mut().unwrap();
            block.rest(&world).map_err(|Ends(failure)| (name(id), failure))?;
        }
        for id in &checked.order {
            let block = self.blocks[id.0 as usize].as_mut().unwrap();
            if let Some(failure) = block.entering().or_else(|| block.entering_texts()) {
                return Err((name(id), failure));
            }
        }
        self.blocks.iter_mut().flatten().for_each(Block::end);
        let inputs = checked.streams.iter().zip(&streams).filter(|(stream, _)| stream.equation == Equation::Input);
        let computed = checked.streams.iter().zip(&streams).filter(|(stream, _)| matches!(stream.equation, Equation::Body(_)));
        Ok(inputs.chain(computed).map(|(_, outcome)| outcome.cell()).collect())
    }
}
