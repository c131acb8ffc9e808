//! Random programs that have derivatives: loops, branches, early exits, overwrites.
//!
//! In: numbers. Out: a kernel of f64 and arguments for it; every list of numbers gives one. Threads share no element
//! that one of them writes, but for those that they add to, so that the order of the threads does not matter.

use crate::run::Arg;
use interp::InterpValue;
use ir::{AtomicOp, Attr, Builder, Function, FunctionKind, Module, Op, Param, Scalar, Type, Value};

/// Elements of each array, and of each thread's row.
const N: i64 = 4;
/// Threads of the launch.
pub const THREADS: i64 = 2;
const N_VARS: usize = 3;

/// The parameters, in order.
const SCALE: usize = 0;
const SHARED: usize = 1;
const ROUNDS: usize = 2;
const OWN: usize = 3;
const SUMS: usize = 4;
const VECTORS: usize = 5;

/// A kernel and its arguments.
pub fn program(numbers: &[u32]) -> (Module, Vec<Arg>) {
    let f64 = Type::scalar(Scalar::F64);
    let param = |name: &str, ty| Param { name: name.into(), ty };
    let params = vec![
        param("scale", f64),
        param("shared", Type::array(f64, 1)),
        param("rounds", Type::array(Type::i32(), 1)),
        param("own", Type::array(f64, 2)),
        param("sums", Type::array(f64, 1)),
        param("vectors", Type::array(Type::vector(Scalar::F64, 3), 1)),
    ];
    let mut func = Function::new("program", FunctionKind::Kernel, params, Vec::new());
    let mut b = Builder::new(&mut func);
    let mut numbers = Numbers { list: numbers, at: 0 };
    let thread = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
    let local = b.push1(Op::LocalArray, &[], Attr::Extents([N as u64].into()), Type::array(f64, 1));
    let scale = b.param(SCALE);
    let mut vars = vec![scale; N_VARS];
    for var in &mut vars[1..] {
        let index = b.int(Scalar::I64, i128::from(numbers.pick(N as u32)));
        let shared = b.param(SHARED);
        *var = b.load(shared, &[index], &[], &[]);
    }
    let count = b.int(Scalar::I64, 0);
    let mut writer = Writer { b, numbers: &mut numbers, thread, local, vars, count, loops: Vec::new() };
    writer.block(0);
    if !writer.b.is_terminated() {
        writer.finish();
    }
    (Module { funcs: vec![func], ..Module::default() }, inputs(&mut numbers))
}

fn inputs(numbers: &mut Numbers<'_>) -> Vec<Arg> {
    let f64 = Type::scalar(Scalar::F64);
    // No two are equal: that would be a kink of `min`.
    let mut n = 0.0;
    let mut number = || {
        n += 1.0;
        InterpValue::f64(f64::from(numbers.next() % 2000) / 1000.0 - 1.0 + n / 16384.0)
    };
    let mut array = |n: i64| (0..n).map(|_| number()).collect::<Vec<_>>();
    let (shared, own, sums) = (array(N), array(THREADS * N), array(N));
    let vec3 = Type::vector(Scalar::F64, 3);
    let vectors = (0..THREADS).map(|_| InterpValue::composite(vec3, &array(3))).collect();
    let scale = array(1).remove(0);
    let rounds = (0..THREADS).map(|_| InterpValue::i32((numbers.next() % 40) as i32)).collect();
    vec![
        Arg::Value(scale),
        Arg::Array { elem: f64, extents: vec![N], elements: shared },
        Arg::Array { elem: Type::i32(), extents: vec![THREADS], elements: rounds },
        Arg::Array { elem: f64, extents: vec![THREADS, N], elements: own },
        Arg::Array { elem: f64, extents: vec![N], elements: sums },
        Arg::Array { elem: vec3, extents: vec![THREADS], elements: vectors },
    ]
}

struct Numbers<'n> {
    list: &'n [u32],
    at: usize,
}

impl Numbers<'_> {
    /// 0 when the list is at its end, so that programs end.
    fn next(&mut self) -> u32 {
        self.at += 1;
        self.list.get(self.at - 1).copied().unwrap_or(0)
    }

    fn pick(&mut self, n: u32) -> u32 {
        self.next() % n
    }
}

/// Appends statements. Every variable is carried through every loop and every `if`.
struct Writer<'w, 'n, 'f> {
    b: Builder<'f>,
    numbers: &'w mut Numbers<'n>,
    thread: Value,
    local: Value,
    vars: Vec<Value>,
    /// An integer that statements change.
    count: Value,
    /// Of the loops around: whether it is a `loop`.
    loops: Vec<bool>,
}

impl Writer<'_, '_, '_> {
    fn state(&self) -> Vec<Value> {
        let mut state = self.vars.clone();
        state.push(self.count);
        state
    }

    fn state_types() -> Vec<Type> {
        let mut types = vec![Type::scalar(Scalar::F64); N_VARS];
        types.push(Type::i64());
        types
    }

    fn set_state(&mut self, values: &[Value]) {
        self.vars.copy_from_slice(&values[..N_VARS]);
        self.count = values[N_VARS];
    }

    /// Stores the variables where the loss sees them, and returns.
    fn finish(&mut self) {
        for at in 0..N_VARS {
            let index = self.b.int(Scalar::I64, at as i128);
            let own = self.b.param(OWN);
            let var = self.vars[at];
            self.b.store(own, &[self.thread, index], &[], &[], var);
        }
        self.b.ret(&[]);
    }

    fn block(&mut self, depth: usize) {
        let n = 1 + self.numbers.pick(if depth == 0 { 7 } else { 4 });
        for _ in 0..n {
            if self.b.is_terminated() {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let kind = self.numbers.pick(if depth < 3 { 20 } else { 12 });
        match kind {
            0..=3 => self.assign(),
            4 => self.load(),
            5..=6 => self.store(),
            7 => {
                let (sums, index, value) = (self.b.param(SUMS), self.index(), self.var());
                self.b.atomic(AtomicOp::Add, sums, &[index], &[], &[], value);
            }
            8 => self.vector(),
            9 => {
                let step = self.b.int(Scalar::I64, 1 + i128::from(self.numbers.pick(3)));
                self.count = self.b.binary(Op::Add, self.count, step);
            }
            10 => self.local_array(),
            11 => self.choose(),
            12..=14 => self.branch(depth),
            15..=17 => self.for_loop(depth),
            18 => self.while_loop(depth),
            _ => self.leave_early(),
        }
    }

    fn var(&mut self) -> Value {
        let at = self.numbers.pick(N_VARS as u32) as usize;
        self.vars[at]
    }

    fn set(&mut self, value: Value) {
        let at = self.numbers.pick(N_VARS as u32) as usize;
        self.vars[at] = value;
    }

    fn number(&mut self, value: f64) -> Value {
        self.b.float(Scalar::F64, value)
    }

    /// An index below N: a constant, or from the integer variable.
    fn index(&mut self) -> Value {
        let n = self.b.int(Scalar::I64, i128::from(N));
        if self.numbers.pick(2) == 0 {
            return self.b.int(Scalar::I64, i128::from(self.numbers.pick(N as u32)));
        }
        self.b.binary(Op::Mod, self.count, n)
    }

    /// Values stay small: products of sines, quotients over 1 + x², and the like.
    fn assign(&mut self) {
        let (x, y) = (self.var(), self.var());
        let b = &mut self.b;
        let value = match self.numbers.pick(10) {
            0 => {
                let half = b.float(Scalar::F64, 0.625);
                let (x, y) = (b.binary(Op::Mul, x, half), b.binary(Op::Mul, y, half));
                b.binary(Op::Add, x, y)
            }
            1 => {
                let sin = b.unary(Op::Sin, x);
                b.binary(Op::Mul, sin, y)
            }
            2 => {
                let product = b.binary(Op::Mul, x, y);
                b.unary(Op::Cos, product)
            }
            3 => {
                let (one, square) = (b.float(Scalar::F64, 1.0), b.binary(Op::Mul, y, y));
                let sum = b.binary(Op::Add, square, one);
                b.binary(Op::Div, x, sum)
            }
            4 => {
                let (one, square) = (b.float(Scalar::F64, 1.0), b.binary(Op::Mul, x, x));
                let sum = b.binary(Op::Add, square, one);
                b.unary(Op::Sqrt, sum)
            }
            5 => b.unary(Op::Tanh, x),
            6 => b.binary(Op::Min, x, y),
            7 => b.binary(Op::Max, x, y),
            8 => {
                let difference = b.binary(Op::Sub, x, y);
                b.unary(Op::Abs, difference)
            }
            _ => {
                let sin = b.unary(Op::Sin, x);
                b.unary(Op::Exp, sin)
            }
        };
        self.set(value);
    }

    fn load(&mut self) {
        let index = self.index();
        let value = if self.numbers.pick(2) == 0 {
            let shared = self.b.param(SHARED);
            self.b.load(shared, &[index], &[], &[])
        } else {
            let own = self.b.param(OWN);
            self.b.load(own, &[self.thread, index], &[], &[])
        };
        self.set(value);
    }

    fn store(&mut self) {
        let (index, value) = (self.index(), self.var());
        let own = self.b.param(OWN);
        let thread = self.thread;
        match self.numbers.pick(3) {
            0 => {
                let half = self.number(0.5);
                let (old, value) = (self.b.load(own, &[thread, index], &[], &[]), self.b.binary(Op::Mul, value, half));
                let sum = self.b.binary(Op::Add, old, value);
                let sin = self.b.unary(Op::Sin, sum);
                self.b.store(own, &[thread, index], &[], &[], sin);
            }
            _ => self.b.store(own, &[thread, index], &[], &[], value),
        }
    }

    /// Reads a vector, changes components, writes it back.
    fn vector(&mut self) {
        let (vectors, thread) = (self.b.param(VECTORS), self.thread);
        let vector = self.b.load(vectors, &[thread], &[], &[]);
        let value = self.var();
        let three = self.b.int(Scalar::I64, 3);
        let index = self.b.binary(Op::Mod, self.count, three);
        let part = self.b.push1(Op::ExtractDyn, &[vector, index], Attr::None, Type::scalar(Scalar::F64));
        let ty = self.b.ty(vector);
        let value = self.b.unary(Op::Sin, value);
        let changed = self.b.push1(Op::InsertDyn, &[vector, value, index], Attr::None, ty);
        let dot = self.b.push1(Op::Dot, &[vector, changed], Attr::None, Type::scalar(Scalar::F64));
        let half = self.number(0.25);
        let dot = self.b.binary(Op::Mul, dot, half);
        let sum = self.b.binary(Op::Add, dot, part);
        if self.numbers.pick(2) == 0 {
            self.b.store(vectors, &[thread], &[], &[], changed);
        }
        self.set(sum);
    }

    fn local_array(&mut self) {
        let (index, value, local) = (self.index(), self.var(), self.local);
        if self.numbers.pick(2) == 0 {
            self.b.store(local, &[index], &[], &[], value);
        } else {
            let value = self.b.load(local, &[index], &[], &[]);
            self.set(value);
        }
    }

    fn choose(&mut self) {
        let (condition, x, y) = (self.condition(), self.var(), self.var());
        let value = self.b.select(condition, x, y);
        self.set(value);
    }

    fn condition(&mut self) -> Value {
        if self.numbers.pick(3) == 0 {
            let (two, zero) = (self.b.int(Scalar::I64, 2), self.b.int(Scalar::I64, 0));
            let rest = self.b.binary(Op::Mod, self.count, two);
            return self.b.compare(Op::Eq, rest, zero);
        }
        let (x, bound) = (self.var(), f64::from(self.numbers.pick(9)) / 8.0 - 0.5);
        let bound = self.number(bound);
        self.b.compare(Op::Lt, x, bound)
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.condition();
        let before = self.state();
        let mut arms = Vec::new();
        for _ in 0..2 {
            let arm = self.b.func.add_region(&[]);
            let here = self.b.enter(arm);
            self.set_state(&before);
            self.block(depth + 1);
            if !self.b.is_terminated() {
                let state = self.state();
                self.b.yield_(&state);
            }
            self.b.enter(here);
            arms.push(arm);
        }
        let test = self.b.push(Op::If, &[condition], Attr::None, &arms, &Self::state_types());
        let results = self.b.func.inst(test).results.to_vec();
        self.set_state(&results);
    }

    fn for_loop(&mut self, depth: usize) {
        let zero = self.b.int(Scalar::I64, 0);
        let (lo, hi, step) = match self.numbers.pick(4) {
            0 => {
                let rounds = self.b.param(ROUNDS);
                let n = self.b.load(rounds, &[self.thread], &[], &[]);
                (zero, self.b.cast(n, Scalar::I64), 1)
            }
            1 => (self.b.int(Scalar::I64, i128::from(self.numbers.pick(6))), self.b.int(Scalar::I64, -3), -2),
            _ => (zero, self.b.int(Scalar::I64, i128::from(self.numbers.pick(5))), 1),
        };
        let step = self.b.int(Scalar::I64, step);
        let body = self.b.func.add_region(&[&[Type::i64()][..], &Self::state_types()].concat());
        let operands = [&[lo, hi, step][..], &self.state()].concat();
        let here = self.b.enter(body);
        let params = self.b.func.region(body).params.to_vec();
        self.set_state(&params[1..]);
        if self.numbers.pick(2) == 0 {
            self.count = self.b.binary(Op::Add, self.count, params[0]);
        }
        self.loops.push(false);
        self.block(depth + 1);
        self.loops.pop();
        if !self.b.is_terminated() {
            let state = self.state();
            self.b.continue_(&state);
        }
        self.b.enter(here);
        let run = self.b.push(Op::For, &operands, Attr::None, &[body], &Self::state_types());
        let results = self.b.func.inst(run).results.to_vec();
        self.set_state(&results);
    }

    /// Ends when a counter of its own has reached a number, or before.
    fn while_loop(&mut self, depth: usize) {
        let zero = self.b.int(Scalar::I64, 0);
        let body = self.b.func.add_region(&[&[Type::i64()][..], &Self::state_types()].concat());
        let operands = [&[zero][..], &self.state()].concat();
        let here = self.b.enter(body);
        let params = self.b.func.region(body).params.to_vec();
        self.set_state(&params[1..]);
        let n = self.b.int(Scalar::I64, 1 + i128::from(self.numbers.pick(45)));
        let one = self.b.int(Scalar::I64, 1);
        let counted = self.b.binary(Op::Add, params[0], one);
        let is_done = self.b.compare(Op::Ge, params[0], n);
        self.leave_where(is_done, Op::Break);
        if self.numbers.pick(2) == 0 {
            let condition = self.condition();
            self.leave_where(condition, Op::Break);
        }
        self.loops.push(true);
        self.block(depth + 1);
        self.loops.pop();
        if !self.b.is_terminated() {
            let state = [&[counted][..], &self.state()].concat();
            self.b.continue_(&state);
        }
        self.b.enter(here);
        let run = self.b.push(Op::Loop, &operands, Attr::None, &[body], &Self::state_types());
        let results = self.b.func.inst(run).results.to_vec();
        self.set_state(&results);
    }

    fn leave_where(&mut self, condition: Value, op: Op) {
        let (leave, stay) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
        let here = self.b.enter(leave);
        let state = self.state();
        match op {
            Op::Break => self.b.break_(&state),
            Op::Continue => self.b.continue_(&state),
            _ => self.finish(),
        }
        self.b.enter(stay);
        self.b.yield_(&[]);
        self.b.enter(here);
        self.b.push(Op::If, &[condition], Attr::None, &[leave, stay], &[]);
    }

    /// A `return`, or a `break` or `continue` where there is a loop for it. A `loop` carries its counter besides.
    fn leave_early(&mut self) {
        let condition = self.condition();
        let op = match (self.loops.last(), self.numbers.pick(5)) {
            (Some(false), 0 | 1) => Op::Continue,
            (Some(_), 0..=2) => Op::Break,
            (None, 0..=2) => return,
            _ => Op::Return,
        };
        self.leave_where(condition, op);
    }
}
