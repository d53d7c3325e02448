//! Functions that are called at run time: from a graph to instructions in which only what is asked for is evaluated.
//!
//! Owns: regions (what runs together, behind one decision), and the instructions made of them.
//! May not: run them.
//!
//! Every node belongs to a region: the whole body, a branch of an `if`, the right side of a `&&`, or, where several regions
//! ask for it and none of them runs whenever another does, one of its own, which runs when it is first asked for. No step
//! here recurses over nodes: bodies may be thousands of nodes high.

use super::build::{Builder, get, index, set};
use super::code::{Code, Decides, Each, EachKind, FunctionCode, Instruction, MadeOf, NONE, Operand, Step};
use super::lower::plain;
use crate::dataflow::slot::Slot;
use crate::lang::checked::{BinaryOp, Body, BodyId, Closure, Node, NodeId, Op};
use crate::lang::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

const WHOLE: u32 = 0;

/// What runs together.
struct Region {
    parent: u32,
    depth: u32,
    nodes: Vec<NodeId>,
}

/// Who asks for a node.
#[derive(Clone, Copy)]
struct Asked {
    /// The innermost region that holds all who ask.
    common: u32,
    /// Whether that region itself asks.
    always: bool,
}

/// The regions of a body.
struct Regions {
    all: Vec<Region>,
    /// The region of each node that is reached.
    of: Vec<Option<u32>>,
    /// The regions of an `if`'s branches, or of a right side (in the first place).
    inner: HashMap<NodeId, (u32, u32)>,
    /// The nodes that have a region of their own.
    lazy: Vec<NodeId>,
    is_lazy: Vec<bool>,
}

impl Regions {
    fn add(&mut self, parent: u32) -> u32 {
        let depth = self.all.get(parent as usize).map_or(0, |region| region.depth + 1);
        self.all.push(Region { parent, depth, nodes: Vec::new() });
        index(self.all.len() - 1)
    }

    fn up(&self, region: u32) -> (u32, u32) {
        self.all.get(region as usize).map_or((WHOLE, 0), |region| (region.parent, region.depth))
    }

    /// The innermost region that holds both.
    fn common(&self, mut one: u32, mut next: u32) -> u32 {
        while one != next {
            let ((up_one, depth_one), (up_next, depth_next)) = (self.up(one), self.up(next));
            if depth_one >= depth_next {
                one = up_one;
            }
            if depth_next >= depth_one {
                next = up_next;
            }
        }
        one
    }

    fn ask(&self, uses: &mut [Option<Asked>], id: NodeId, region: u32) {
        let asked = match get(uses, id).flatten() {
            None => Asked { common: region, always: true },
            Some(Asked { common, always }) => {
                let both = self.common(common, region);
                Asked { common: both, always: (always && both == common) || both == region }
            }
        };
        set(uses, id, Some(asked));
    }

    fn of(body: &Body) -> Self {
        let count = body.nodes.len();
        let whole = Region { parent: WHOLE, depth: 0, nodes: Vec::new() };
        let mut this =
            Self { all: vec![whole], of: vec![None; count], inner: HashMap::new(), lazy: Vec::new(), is_lazy: vec![false; count] };
        let mut uses: Vec<Option<Asked>> = vec![None; count];
        this.ask(&mut uses, body.root, WHOLE);
        for (at, node) in (0..index(count)).map(NodeId).zip(&body.nodes).rev() {
            let Some(asked) = get(&uses, at).flatten() else { continue };
            let own = if asked.always || is_given(&node.op) {
                asked.common
            } else {
                this.lazy.push(at);
                set(&mut this.is_lazy, at, true);
                this.add(asked.common)
            };
            set(&mut this.of, at, Some(own));
            match &node.op {
                Op::If(c, a, b) => {
                    let (then, other) = (this.add(own), this.add(own));
                    this.inner.insert(at, (then, other));
                    this.ask(&mut uses, *c, own);
                    this.ask(&mut uses, *a, then);
                    this.ask(&mut uses, *b, other);
                }
                Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Implies, a, b) => {
                    let right = this.add(own);
                    this.inner.insert(at, (right, right));
                    this.ask(&mut uses, *a, own);
                    this.ask(&mut uses, *b, right);
                }
                op => op.operands().into_iter().for_each(|operand| this.ask(&mut uses, operand, own)),
            }
        }
        for (at, node) in (0..).map(NodeId).zip(&body.nodes) {
            if let Some(region) = get(&this.of, at).flatten().filter(|_| !is_given(&node.op))
                && let Some(region) = this.all.get_mut(region as usize)
            {
                region.nodes.push(at);
            }
        }
        this
    }
}

/// Whether it is there from the start.
const fn is_given(op: &Op) -> bool {
    matches!(op, Op::Const(_) | Op::Parameter(_) | Op::Capture(_))
}

/// What is left to do.
enum Task {
    /// The nodes of a region from this one on.
    Run(u32, usize),
    /// The first branch is done: its branching instruction.
    Else(NodeId, usize),
    /// Both are: the jump behind the first, too.
    EndIf(NodeId, usize, usize),
    /// The right side is done.
    EndRight(NodeId, usize),
    /// A region of its own is done.
    Return,
}

struct Making<'b, 'a> {
    builder: &'b mut Builder<'a>,
    body: &'a Body,
    name: Arc<str>,
    regions: Regions,
    at: Vec<Operand>,
    constants: Vec<Slot>,
    registers: u32,
    code: Vec<Instruction>,
    targets: HashMap<u32, u32>,
}

impl Builder<'_> {
    /// The number of a function's code, which is made when it is first asked for. Functions nest as deep as the text does,
    /// which the parser bounds.
    pub(super) fn function(&mut self, id: BodyId, name: &Arc<str>) -> u32 {
        if let Some(number) = self.function_at.get(&id) {
            return *number;
        }
        let bodies = self.source.bodies;
        let Some(body) = bodies.get(id.0 as usize) else { return NONE };
        let code = Making::new(self, body, name).make();
        self.functions.push(code);
        let number = index(self.functions.len() - 1);
        self.function_at.insert(id, number);
        number
    }
}

impl<'b, 'a> Making<'b, 'a> {
    fn new(builder: &'b mut Builder<'a>, body: &'a Body, name: &Arc<str>) -> Self {
        let given = index(body.parameters.len() + body.captures.len());
        let mut making = Self {
            builder,
            body,
            name: Arc::clone(name),
            regions: Regions::of(body),
            at: Vec::new(),
            constants: Vec::new(),
            registers: given,
            code: Vec::new(),
            targets: HashMap::new(),
        };
        for (at, node) in (0..).map(NodeId).zip(&body.nodes) {
            let operand = match &node.op {
                Op::Parameter(at) => Operand::register(*at),
                Op::Capture(at) => Operand::register(index(body.parameters.len()) + at),
                Op::Const(literal) => {
                    making.constants.push(Slot::Value(crate::dataflow::ops::literal(literal)));
                    Operand::cell(index(making.constants.len() - 1))
                }
                _ if get(&making.regions.of, at).flatten().is_none() => Operand::NOTHING,
                _ => {
                    making.registers += 1;
                    Operand::register(making.registers - 1)
                }
            };
            making.at.push(operand);
        }
        making
    }

    fn make(mut self) -> FunctionCode {
        let root = self.body.root;
        self.run(vec![Task::Run(WHOLE, 0)]);
        self.ensure(root);
        self.code.push(Instruction::End);
        for lazy in self.regions.lazy.clone() {
            let region = get(&self.regions.of, lazy).flatten().unwrap_or(WHOLE);
            self.targets.insert(self.place_of(lazy).register, index(self.code.len()));
            self.run(vec![Task::Return, Task::Run(region, 0)]);
        }
        for instruction in &mut self.code {
            if let Instruction::Ensure { register, target } = instruction {
                *target = self.targets.get(register).copied().unwrap_or(NONE);
            }
        }
        let typed = |ty: &Type| (!ty.is_loose() && !ty.is_function()).then(|| Arc::new(ty.clone()));
        FunctionCode {
            instructions: self.code.into(),
            constants: self.constants.into(),
            registers: self.registers,
            parameters: self.body.parameters.iter().map(typed).collect(),
            result: get(&self.at, root).unwrap_or(Operand::NOTHING),
        }
    }

    fn place_of(&self, id: NodeId) -> Operand {
        get(&self.at, id).unwrap_or(Operand::NOTHING)
    }

    fn run(&mut self, mut tasks: Vec<Task>) {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Run(region, from) => self.region(region, from, &mut tasks),
                Task::Else(node, branch) => {
                    self.branch_done(node, 1);
                    self.code.push(Instruction::Jump(NONE));
                    let jump = self.code.len() - 1;
                    let here = index(self.code.len());
                    if let Some(Instruction::Branch { otherwise, .. }) = self.code.get_mut(branch) {
                        *otherwise = here;
                    }
                    tasks.push(Task::EndIf(node, branch, jump));
                    let (_, other) = self.regions.inner.get(&node).copied().unwrap_or_default();
                    tasks.push(Task::Run(other, 0));
                }
                Task::EndIf(node, branch, jump) => {
                    self.branch_done(node, 2);
                    let here = index(self.code.len());
                    if let Some(Instruction::Branch { end, .. }) = self.code.get_mut(branch) {
                        *end = here;
                    }
                    if let Some(Instruction::Jump(to)) = self.code.get_mut(jump) {
                        *to = here;
                    }
                }
                Task::EndRight(node, decided) => {
                    self.step(node);
                    let here = index(self.code.len());
                    if let Some(Instruction::Decided { end, .. }) = self.code.get_mut(decided) {
                        *end = here;
                    }
                }
                Task::Return => self.code.push(Instruction::Return),
            }
        }
    }

    /// The nodes of a region, up to one with regions inside.
    fn region(&mut self, region: u32, from: usize, tasks: &mut Vec<Task>) {
        for nth in from.. {
            let Some(at) = self.regions.all.get(region as usize).and_then(|region| region.nodes.get(nth)).copied() else { return };
            let Some(node) = self.body.node(at) else { continue };
            let out = self.place_of(at).register;
            let inner = self.regions.inner.get(&at).copied();
            match (&node.op, inner) {
                (Op::If(c, ..), Some((then, _))) => {
                    self.ensure(*c);
                    let place = self.builder.place(&self.name, node.span);
                    let condition = self.place_of(*c);
                    self.code.push(Instruction::Branch { condition, otherwise: NONE, out, end: NONE, place });
                    tasks.push(Task::Run(region, nth + 1));
                    tasks.push(Task::Else(at, self.code.len() - 1));
                    tasks.push(Task::Run(then, 0));
                    return;
                }
                (Op::Binary(op, a, _), Some((right, _))) => {
                    self.ensure(*a);
                    let by = match op {
                        BinaryOp::And => Decides::And,
                        BinaryOp::Or => Decides::Or,
                        _ => Decides::Implies,
                    };
                    self.code.push(Instruction::Decided { left: self.place_of(*a), by, out, end: NONE });
                    tasks.push(Task::Run(region, nth + 1));
                    tasks.push(Task::EndRight(at, self.code.len() - 1));
                    tasks.push(Task::Run(right, 0));
                    return;
                }
                _ => self.step(at),
            }
        }
    }

    /// The value of a branch goes where the `if`'s is.
    fn branch_done(&mut self, at: NodeId, operand: usize) {
        let Some(node) = self.body.node(at) else { return };
        let Some(of) = node.op.operands().get(operand).copied() else { return };
        self.ensure(of);
        let place = self.builder.place(&self.name, node.span);
        let (of, out) = (self.place_of(of), self.place_of(at).register);
        self.code.push(Instruction::Do(Step { code: Code::Copy(of), out, place }));
    }

    fn step(&mut self, at: NodeId) {
        let Some(node) = self.body.node(at) else { return };
        for operand in node.op.operands() {
            self.ensure(operand);
        }
        let code = self.operation(node);
        let place = self.builder.place(&self.name, node.span);
        self.code.push(Instruction::Do(Step { code, out: self.place_of(at).register, place }));
    }

    /// Makes sure that a node with a region of its own has run.
    fn ensure(&mut self, id: NodeId) {
        if get(&self.regions.is_lazy, id) == Some(true) {
            self.code.push(Instruction::Ensure { register: self.place_of(id).register, target: NONE });
        }
    }

    fn operation(&mut self, node: &Node) -> Code {
        let of =
            |this: &Self, closure: &Closure| -> Box<[Operand]> { closure.captures.iter().map(|capture| this.place_of(*capture)).collect() };
        let (kind, closure, from, list) = match &node.op {
            Op::ListMap(f, l) => (EachKind::Map, f, None, l),
            Op::ListFilter(f, l) => (EachKind::Filter, f, None, l),
            Op::ListFold(f, a, l) => (EachKind::Fold, f, Some(a), l),
            Op::Closure(closure) | Op::Fix(closure) => {
                let name = Arc::clone(&self.name);
                let function = self.builder.function(closure.body, &name);
                let fix = matches!(node.op, Op::Fix(_));
                return Code::Closure(Box::new(MadeOf { function, captures: of(self, closure), fix }));
            }
            _ => return plain(node, &mut |id, _| self.place_of(id)),
        };
        let name = Arc::clone(&self.name);
        let function = self.builder.function(closure.body, &name);
        let from = from.map_or(Operand::NOTHING, |from| self.place_of(*from));
        let (captures, list) = (of(self, closure), self.place_of(*list));
        Code::Each(Box::new(Each { kind, function, captures, from, list }))
    }
}
