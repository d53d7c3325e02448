//! Functions that are called at run time.
//!
//! Owns: their registers and calls, on stacks of its own; the bounds on steps and depth.
//! May not: touch a monitor's state: functions hold none.
//!
//! Nothing here recurses in Rust: how deep a root's functions go is bounded by [`Limits::depth`], whatever the thread's
//! stack is.

use super::operate::{Reads, not_bool, operate};
use crate::dataflow::ops;
use crate::dataflow::plan::Limits;
use crate::dataflow::plan::block::Block;
use crate::dataflow::plan::code::{Code, Decides, Each, EachKind, Instruction, MadeOf, Step};
use crate::dataflow::slot::Slot;
use crate::dataflow::value::{self, Failure, FunctionValue, Value};

/// The most registers of all calls together.
const STACK: usize = 1 << 20;

/// Bytes that are copied or read for one step.
const COPIED: usize = 64;
const READ: usize = 1_024;

/// What runs functions; one for each thread.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    stack: Vec<Slot>,
    calls: Vec<Call>,
    returns: Vec<u32>,
    /// What is left of this tick's steps.
    steps: u64,
}

#[derive(Debug)]
struct Call {
    function: u32,
    at: u32,
    base: usize,
    returns: usize,
    then: Then,
}

/// Where a result goes.
#[derive(Clone, Copy, Debug)]
enum Out {
    /// Into a register of the call below.
    Register(u32),
    /// To who asked from outside.
    Finish,
}

/// What is done with a call's result.
#[derive(Debug)]
enum Then {
    Give(Out),
    /// It is a function, and is called.
    Apply(Value, Out),
    Walk(Box<Walk>),
}

/// A list callback under way.
#[derive(Debug)]
struct Walk {
    kind: EachKind,
    function: u32,
    captures: Vec<Value>,
    list: Value,
    at: usize,
    so_far: Value,
    made: Vec<Value>,
    size: usize,
    out: Out,
}

#[cold]
fn no_steps() -> Failure {
    Failure::new(value::Code::STEPS, "the tick takes more steps than are allowed")
}

#[cold]
fn too_deep() -> Failure {
    Failure::new(value::Code::RECURSION, "calls nest more deeply than is allowed")
}

#[cold]
fn no_function(value: &Value) -> Failure {
    Failure::new(value::Code::KIND, format!("a call takes a function, not {}", value.kind().name())).with(&[value])
}

/// What functions run in.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) block: &'a Block,
    pub(crate) limits: Limits,
}

/// What is heavy costs by size.
fn size(slot: &Slot) -> usize {
    match slot {
        Slot::Value(value @ (Value::Str(_) | Value::List(_) | Value::Tuple(_) | Value::Map(_) | Value::Struct(_))) => value.size(),
        _ => 0,
    }
}

/// What an operation costs beyond one step: by the size of what it makes and reads.
#[inline]
pub(crate) fn cost(code: &Code, reads: Reads<'_>, made: &Slot) -> u64 {
    let read = |operands: &[_]| operands.iter().map(|operand| size(reads.get(*operand))).fold(0, usize::saturating_add);
    let (read, made) = match code {
        Code::Binary(_, a, b) => match made {
            Slot::Value(Value::Int(_) | Value::Float(_)) => return 0,
            _ => (read(&[*a, *b]), size(made)),
        },
        Code::Function(_, operands) => (read(operands), size(made)),
        Code::Matches(a, _) => (read(&[*a]).saturating_mul(READ / COPIED), 0),
        Code::Cast(a, _) => (0, read(&[*a])),
        Code::List(_) | Code::Tuple(_) | Code::Struct(..) | Code::Map(_) => (0, size(made)),
        _ => return 0,
    };
    (read / READ).saturating_add(made / COPIED) as u64
}

impl Machine {
    /// Begins a tick.
    #[inline]
    pub(crate) const fn begin(&mut self, limits: Limits) {
        self.steps = limits.steps;
    }

    /// Takes steps; none are left where that fails.
    #[inline]
    pub(crate) fn charge(&mut self, steps: u64) -> Result<(), Failure> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.map(|_| ()).ok_or_else(no_steps)
    }

    /// Calls a function of a block from outside.
    pub(crate) fn call(&mut self, env: Env<'_>, function: &Value, argument: &Value) -> Slot {
        self.clear();
        match self.apply(env, function, argument.clone(), Out::Finish) {
            Some(done) => done,
            None => self.run(env),
        }
    }

    /// Runs a list callback from outside.
    pub(crate) fn each(&mut self, env: Env<'_>, each: &Each, reads: Reads<'_>) -> Slot {
        self.clear();
        match self.walk(env, each, reads, Out::Finish) {
            Some(done) => done,
            None => self.run(env),
        }
    }

    /// A function value.
    pub(crate) fn function(env: Env<'_>, made: &MadeOf, reads: Reads<'_>) -> Slot {
        match reads.values(&made.captures) {
            Ok(captures) => {
                let body = made.function << 1 | u32::from(made.fix);
                Value::function((env.block.number, body), None, captures, env.limits.values()).into()
            }
            Err(slot) => slot,
        }
    }

    fn clear(&mut self) {
        self.calls.clear();
        self.stack.clear();
        self.returns.clear();
    }

    /// Gives a result on; answers it where it is the last.
    fn give(&mut self, out: Out, result: Slot) -> Option<Slot> {
        match out {
            Out::Finish => Some(result),
            Out::Register(register) => {
                if let Some(place) = self.calls.last().and_then(|call| self.stack.get_mut(call.base + register as usize)) {
                    *place = result;
                }
                None
            }
        }
    }

    fn apply(&mut self, env: Env<'_>, function: &Value, argument: Value, out: Out) -> Option<Slot> {
        let Value::Function(of) = function else { return self.give(out, Slot::Failed(no_function(function))) };
        let number = of.body >> 1;
        if of.scope != env.block.number {
            return self.give(out, Slot::Failed(Failure::new(value::Code::KIND, "the function is another program's")));
        }
        if of.body & 1 == 1 {
            return self.enter(env, number, (vec![function.clone()], of.captures()), Then::Apply(argument, out));
        }
        self.enter(env, number, (vec![argument], FunctionValue::captures(of)), Then::Give(out))
    }

    /// Begins a call; answers a result where it fails at once and nobody is left to take it.
    fn enter(&mut self, env: Env<'_>, function: u32, (arguments, captures): (Vec<Value>, &[Value]), then: Then) -> Option<Slot> {
        let out = match &then {
            Then::Give(out) | Then::Apply(_, out) => *out,
            Then::Walk(walk) => walk.out,
        };
        let Some(code) = env.block.functions.get(function as usize) else {
            return self.give(out, Slot::Failed(Failure::new(value::Code::KIND, "the function is not there")));
        };
        let registers = code.registers as usize;
        if self.calls.len() >= env.limits.depth as usize || self.stack.len().saturating_add(registers) > STACK {
            return self.give(out, Slot::Failed(too_deep()));
        }
        if let Err(failure) = self.charge(code.registers.into()) {
            return self.give(out, Slot::Failed(failure));
        }
        let base = self.stack.len();
        for (argument, ty) in arguments.into_iter().zip(&code.parameters) {
            let argument = match ty {
                Some(ty) => ops::cast(&argument, ty, env.limits.values()),
                None => Ok(argument),
            };
            match argument {
                Ok(argument) => self.stack.push(Slot::Value(argument)),
                Err(failure) => {
                    self.stack.truncate(base);
                    return self.give(out, Slot::Failed(failure));
                }
            }
        }
        self.stack.extend(captures.iter().cloned().map(Slot::Value));
        self.stack.resize(base.saturating_add(registers), Slot::NoVal);
        self.calls.push(Call { function, at: 0, base, returns: self.returns.len(), then });
        None
    }

    /// Ends the call on top.
    fn leave(&mut self, env: Env<'_>, result: Slot) -> Option<Slot> {
        let Some(call) = self.calls.pop() else { return Some(result) };
        self.stack.truncate(call.base);
        self.returns.truncate(call.returns);
        match call.then {
            Then::Give(out) => self.give(out, result),
            Then::Apply(argument, out) => match result {
                Slot::Value(function) => self.apply(env, &function, argument, out),
                other => self.give(out, other),
            },
            Then::Walk(mut walk) => match walk.take(result, env.limits) {
                Ok(()) => self.go_on(env, walk),
                Err(slot) => self.give(walk.out, slot),
            },
        }
    }

    fn walk(&mut self, env: Env<'_>, each: &Each, reads: Reads<'_>, out: Out) -> Option<Slot> {
        let mut operands = vec![each.list];
        if each.kind == EachKind::Fold {
            operands.insert(0, each.from);
        }
        let first = operands.len();
        operands.extend(&each.captures);
        let mut values = match reads.values(&operands) {
            Ok(values) => values,
            Err(slot) => return self.give(out, slot),
        };
        let captures = values.split_off(first.min(values.len()));
        let list = values.pop().unwrap_or(Value::Unit);
        if let Err(failure) = ops::elements(each.kind.name(), &list) {
            return self.give(out, Slot::Failed(failure));
        }
        let so_far = values.pop().unwrap_or(Value::Unit);
        let walk = Walk { kind: each.kind, function: each.function, captures, list, at: 0, so_far, made: Vec::new(), size: 0, out };
        self.go_on(env, Box::new(walk))
    }

    /// The next element, or the result.
    fn go_on(&mut self, env: Env<'_>, mut walk: Box<Walk>) -> Option<Slot> {
        let Some(element) = ops::elements(walk.kind.name(), &walk.list).ok().and_then(|all| all.get(walk.at)).cloned() else {
            let out = walk.out;
            let result = walk.done(env.limits);
            let result = match self.charge((size(&result) / COPIED) as u64) {
                Ok(()) => result,
                Err(failure) => Slot::Failed(failure),
            };
            return self.give(out, result);
        };
        walk.at += 1;
        let arguments = match walk.kind {
            EachKind::Map | EachKind::Filter => vec![element],
            EachKind::Fold => vec![std::mem::replace(&mut walk.so_far, Value::Unit), element],
        };
        let captures = std::mem::take(&mut walk.captures);
        let function = walk.function;
        let before = self.calls.len();
        let given = self.enter(env, function, (arguments, &captures), Then::Walk(walk));
        if self.calls.len() > before
            && let Some(Call { then: Then::Walk(walk), .. }) = self.calls.last_mut()
        {
            walk.captures = captures;
        }
        given
    }

    fn run(&mut self, env: Env<'_>) -> Slot {
        loop {
            if let Err(failure) = self.charge(1) {
                self.clear();
                return Slot::Failed(failure);
            }
            let Some(call) = self.calls.last_mut() else { return Slot::NoVal };
            let Some(code) = env.block.functions.get(call.function as usize) else { return Slot::NoVal };
            let registers = self.stack.get_mut(call.base..).unwrap_or_default();
            let reads = Reads { registers, cells: &code.constants };
            let instruction = code.instructions.get(call.at as usize).unwrap_or(&Instruction::End);
            call.at += 1;
            match instruction {
                Instruction::Do(step) => {
                    if let Some(done) = self.step(env, step) {
                        return done;
                    }
                }
                Instruction::Jump(to) => call.at = *to,
                Instruction::Branch { condition, otherwise, out, end, place } => {
                    let result = match reads.get(*condition) {
                        Slot::Value(Value::Bool(true)) => continue,
                        Slot::Value(Value::Bool(false)) => {
                            call.at = *otherwise;
                            continue;
                        }
                        Slot::Value(other) => Slot::Failed(located(env.block, *place, not_bool("if", other))),
                        other => other.clone(),
                    };
                    call.at = *end;
                    if let Some(place) = registers.get_mut(*out as usize) {
                        *place = result;
                    }
                }
                Instruction::Decided { left, by, out, end } => {
                    let answer = match (by, reads.get(*left)) {
                        (Decides::And, Slot::Value(Value::Bool(false))) => Slot::FALSE,
                        (Decides::Or, Slot::Value(Value::Bool(true))) | (Decides::Implies, Slot::Value(Value::Bool(false))) => Slot::TRUE,
                        _ => continue,
                    };
                    call.at = *end;
                    if let Some(place) = registers.get_mut(*out as usize) {
                        *place = answer;
                    }
                }
                Instruction::Ensure { register, target } => {
                    if matches!(registers.get(*register as usize), Some(Slot::NoVal)) {
                        self.returns.push(call.at);
                        call.at = *target;
                    }
                }
                Instruction::Return => call.at = self.returns.pop().unwrap_or(u32::MAX),
                Instruction::End => {
                    let result = reads.get(code.result).clone();
                    if let Some(done) = self.leave(env, result) {
                        return done;
                    }
                }
            }
        }
    }

    fn step(&mut self, env: Env<'_>, step: &Step) -> Option<Slot> {
        let call = self.calls.last()?;
        let cells = env.block.functions.get(call.function as usize).map(|code| &*code.constants).unwrap_or_default();
        let out = Out::Register(step.out);
        // What is called may need the whole machine: its operands are taken out first.
        match &step.code {
            Code::Call(f, x) => {
                let registers = self.stack.get(call.base..).unwrap_or_default();
                let reads = Reads { registers, cells };
                let (Slot::Value(function), Slot::Value(argument)) = (reads.get(*f).clone(), reads.get(*x).clone()) else {
                    let special = reads.special(&[*f, *x]);
                    return self.give(out, special);
                };
                let before = self.calls.len();
                let given = self.apply(env, &function, argument, out);
                self.locate(env.block, step, before);
                given
            }
            Code::Each(each) => {
                let registers: Vec<Slot> = self.stack.get(call.base..).unwrap_or_default().to_vec();
                let before = self.calls.len();
                let given = self.walk(env, each, Reads { registers: &registers, cells }, out);
                self.locate(env.block, step, before);
                given
            }
            code => {
                let registers = self.stack.get(call.base..).unwrap_or_default();
                let reads = Reads { registers, cells };
                let made = match code {
                    Code::Closure(made) => Self::function(env, made, reads),
                    code => operate(code, reads, env.limits.values()),
                };
                let cost = cost(code, reads, &made);
                let made = match self.charge(cost) {
                    Ok(()) => made,
                    Err(failure) => Slot::Failed(failure),
                };
                let made = match made {
                    Slot::Failed(failure) => Slot::Failed(located(env.block, step.place, failure)),
                    made => made,
                };
                self.give(out, made)
            }
        }
    }

    /// A call that failed before it began has its failure in the register: it stands here.
    fn locate(&mut self, block: &Block, step: &Step, before: usize) {
        if self.calls.len() == before
            && let Some(call) = self.calls.last()
            && let Some(Slot::Failed(failure)) = self.stack.get_mut(call.base + step.out as usize)
        {
            *failure = located(block, step.place, failure.clone());
        }
    }
}

/// A failure with its place, where it has none yet.
#[cold]
pub(crate) fn located(block: &Block, place: u32, failure: Failure) -> Failure {
    match block.places.get(place as usize) {
        Some(place) => failure.at(&place.stream, place.span),
        None => failure,
    }
}

impl Walk {
    /// Takes the result for an element.
    fn take(&mut self, result: Slot, limits: Limits) -> Result<(), Slot> {
        let Slot::Value(result) = result else { return Err(result) };
        match self.kind {
            EachKind::Fold => self.so_far = result,
            EachKind::Map => self.keep(result, limits).map_err(Slot::Failed)?,
            EachKind::Filter => {
                if ops::truth(self.kind.name(), &result).map_err(Slot::Failed)? {
                    let list = ops::elements(self.kind.name(), &self.list).map_err(Slot::Failed)?;
                    let element = list.get(self.at.wrapping_sub(1)).cloned().unwrap_or(Value::Unit);
                    self.keep(element, limits).map_err(Slot::Failed)?;
                }
            }
        }
        Ok(())
    }

    /// What would be too large is found before all of it is made.
    fn keep(&mut self, value: Value, limits: Limits) -> Result<(), Failure> {
        ops::collected(&value)?;
        self.size = self.size.saturating_add(value.size());
        if self.size > limits.value_bytes {
            let what = format!("a value would take more than {} bytes", limits.value_bytes);
            return Err(Failure::new(value::Code::VALUE_SIZE, what));
        }
        self.made.push(value);
        Ok(())
    }

    fn done(self, limits: Limits) -> Slot {
        match self.kind {
            EachKind::Fold => Slot::Value(self.so_far),
            EachKind::Map | EachKind::Filter => Value::list(self.made, limits.values()).into(),
        }
    }
}

impl EachKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Map => "List.map",
            Self::Filter => "List.filter",
            Self::Fold => "List.fold",
        }
    }
}
