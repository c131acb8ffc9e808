//! Random kernels over thread blocks give the same on the interpreter, as programs, and on the CPU.
//!
//! Threads talk through shared memory with barriers between, by warp ops and by counting barriers; loops and branches
//! around those go one way for all threads of the block, which half of them cannot know. `BLOCK_CASES` says how many.

use gridstride_filetests::cpu;
use interp::{InterpValue, Program};
use ir::{Attr, Builder, Function, FunctionKind, Module, Op, Param, Scalar, ShuffleMode, Type, Value, VoteMode};
use proptest::collection::vec;
use proptest::prelude::*;
use runtime::{BlockBounds, Fault};

/// Threads of a block at most; the shared array has an element for each.
const MAX_THREADS: u64 = 96;

struct Maker<'a> {
    numbers: &'a [u32],
    at: usize,
    budget: usize,
    /// i32 values in scope.
    scope: Vec<Value>,
    same: Value,
    shared: Value,
    local: Value,
    lin: Value,
    /// The index along x.
    x: Value,
    n: Value,
}

impl Maker<'_> {
    fn pick(&mut self, n: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number as usize % n
    }

    fn value(&mut self) -> Value {
        let n = self.scope.len();
        let back = self.pick(n.min(6));
        self.scope[n - 1 - back]
    }

    fn bit(&mut self, b: &mut Builder) -> Value {
        if self.pick(3) == 0 {
            // A stretch of the row.
            let op = [Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne][self.pick(6)];
            let bound = if self.pick(2) == 0 { b.int(Scalar::I64, self.pick(36) as i128 - 2) } else { self.n };
            let pair = if self.pick(2) == 0 { (self.x, bound) } else { (bound, self.x) };
            return b.compare(op, pair.0, pair.1);
        }
        let (x, one) = (self.value(), b.int(Scalar::I32, 1));
        let bit = b.binary(Op::And, x, one);
        b.compare(Op::Eq, bit, one)
    }

    /// A number that is the same for all threads: known to be, or read from memory that holds it for each.
    fn same(&mut self, b: &mut Builder) -> Value {
        if self.pick(2) == 0 {
            return b.int(Scalar::I32, 2);
        }
        let (same, lin) = (self.same, self.lin);
        b.load(same, &[lin], &[], &[])
    }

    fn block(&mut self, b: &mut Builder, depth: usize, in_step: bool) {
        for _ in 0..2 + self.pick(4) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(b, depth, in_step);
        }
    }

    /// `in_step`: all threads that have not returned are here.
    fn statement(&mut self, b: &mut Builder, depth: usize, in_step: bool) {
        let n = self.scope.len();
        match self.pick(if in_step { 14 } else { 6 }) {
            0..3 => {
                let op = [Op::Add, Op::Mul, Op::Xor, Op::Sub][self.pick(4)];
                let (x, y) = (self.value(), self.value());
                let z = b.binary(op, x, y);
                self.scope.push(z);
            }
            3 => {
                let (x, three) = (self.value(), b.int(Scalar::I32, 3));
                let index = b.binary(Op::And, x, three);
                let index = b.cast(index, Scalar::I64);
                let (value, local) = (self.value(), self.local);
                b.store(local, &[index], &[], &[], value);
                let index = b.int(Scalar::I64, self.pick(4) as i128);
                let z = b.load(local, &[index], &[], &[]);
                self.scope.push(z);
            }
            4 if depth < 3 && self.pick(2) == 0 => {
                // Nothing but what stands in the branch is done: threads that skip it need not be visited.
                let condition = self.bit(b);
                let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
                b.push(Op::If, &[condition], Attr::None, &arms, &[]);
                let outer = b.enter(arms[0]);
                let (value, local) = (self.value(), self.local);
                let index = b.int(Scalar::I64, self.pick(4) as i128);
                b.store(local, &[index], &[], &[], value);
                if in_step {
                    b.store(self.shared, &[self.lin], &[], &[], value);
                }
                b.yield_(&[]);
                b.enter(arms[1]);
                b.yield_(&[]);
                b.enter(outer);
                if in_step {
                    b.push(Op::Barrier, &[], Attr::None, &[], &[]);
                }
            }
            4 if depth < 3 => {
                let condition = self.bit(b);
                self.branch(b, condition, depth, false);
            }
            5 if depth < 3 => {
                let end = b.int(Scalar::I32, 1 + self.pick(2) as i128);
                self.repeat(b, end, depth, false);
            }
            6 => self.exchange(b),
            7 if depth < 3 => {
                let (x, two) = (self.same(b), b.int(Scalar::I32, 2));
                let op = if self.pick(4) == 0 { Op::Ne } else { Op::Eq };
                let condition = b.compare(op, x, two);
                self.branch(b, condition, depth, true);
            }
            8 if depth < 3 => {
                let end = self.same(b);
                self.repeat(b, end, depth, true);
            }
            9 => {
                let op = [Op::BarrierCount, Op::BarrierAnd, Op::BarrierOr][self.pick(3)];
                let bit = self.bit(b);
                let z = b.push1(op, &[bit], Attr::None, Type::i32());
                self.scope.push(z);
            }
            10 | 11 => self.warp(b),
            12 if depth == 0 && n > 4 => {
                // Some threads end here: what they left in shared memory stays.
                let condition = self.bit(b);
                let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
                b.push(Op::If, &[condition], Attr::None, &arms, &[]);
                let outer = b.enter(arms[0]);
                b.ret(&[]);
                b.enter(arms[1]);
                b.yield_(&[]);
                b.enter(outer);
            }
            _ => {
                let (x, y) = (self.value(), self.value());
                let bit = self.bit(b);
                let z = b.select(bit, x, y);
                self.scope.push(z);
            }
        }
    }

    fn exchange(&mut self, b: &mut Builder) {
        let (x, shared, lin) = (self.value(), self.shared, self.lin);
        b.store(shared, &[lin], &[], &[], x);
        b.push(Op::Barrier, &[], Attr::None, &[], &[]);
        let step = b.int(Scalar::I64, self.pick(40) as i128);
        let at = b.binary(Op::Add, lin, step);
        let at = b.binary(Op::Rem, at, self.n);
        let z = b.load(shared, &[at], &[], &[]);
        b.push(Op::Barrier, &[], Attr::None, &[], &[]);
        self.scope.push(z);
    }

    fn warp(&mut self, b: &mut Builder) {
        let mask = b.int(Scalar::U32, [0xffff_ffff, 0x0f0f_ffff][self.pick(2)]);
        let x = self.value();
        let z = match self.pick(4) {
            0 => {
                let mode = ShuffleMode::ALL[self.pick(4)];
                let n = if self.pick(2) == 0 { b.int(Scalar::I32, self.pick(32) as i128) } else { self.value() };
                let width = b.int(Scalar::I32, [32, 8, 1][self.pick(3)]);
                let types = [Type::i32(), Type::bool()];
                let inst = b.push(Op::Shuffle, &[mask, x, n, width], Attr::Shuffle(mode), &[], &types);
                let [value, exists] = b.func.inst(inst).results[..] else { return };
                let exists = b.cast(exists, Scalar::I32);
                b.binary(Op::Add, value, exists)
            }
            1 => {
                let mode = VoteMode::ALL[self.pick(4)];
                let bit = self.bit(b);
                let ty = if mode == VoteMode::Ballot { Type::scalar(Scalar::U32) } else { Type::bool() };
                let vote = b.push1(Op::Vote, &[mask, bit], Attr::Vote(mode), ty);
                b.cast(vote, Scalar::I32)
            }
            2 => {
                let lanes = b.push1(Op::MatchAny, &[mask, x], Attr::None, Type::scalar(Scalar::U32));
                b.cast(lanes, Scalar::I32)
            }
            _ => {
                let lanes = b.push1(Op::ActiveMask, &[], Attr::None, Type::scalar(Scalar::U32));
                b.cast(lanes, Scalar::I32)
            }
        };
        self.scope.push(z);
    }

    fn branch(&mut self, b: &mut Builder, condition: Value, depth: usize, in_step: bool) {
        let n = self.scope.len();
        let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
        let inst = b.push(Op::If, &[condition], Attr::None, &arms, &[Type::i32()]);
        let outer = b.region();
        for arm in arms {
            b.enter(arm);
            self.block(b, depth + 1, in_step);
            let value = self.value();
            b.yield_(&[value]);
            self.scope.truncate(n);
        }
        b.enter(outer);
        let result = b.func.inst(inst).result();
        self.scope.push(result);
    }

    fn repeat(&mut self, b: &mut Builder, end: Value, depth: usize, in_step: bool) {
        let n = self.scope.len();
        let (zero, one) = (b.int(Scalar::I32, 0), b.int(Scalar::I32, 1));
        let first = [self.value(), self.value()];
        let types = [Type::i32(), Type::i32()];
        let body = b.func.add_region(&[Type::i32(), Type::i32(), Type::i32()]);
        let inst = b.push(Op::For, &[zero, end, one, first[0], first[1]], Attr::None, &[body], &types);
        let outer = b.enter(body);
        self.scope.extend(b.func.region(body).params.clone());
        self.block(b, depth + 1, in_step);
        if self.pick(4) == 0 {
            // All leave in one round, which half of the conditions do not show.
            let (same, two) = (self.same(b), b.int(Scalar::I32, 2));
            let condition = if in_step { b.compare(Op::Eq, same, two) } else { self.bit(b) };
            let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
            b.push(Op::If, &[condition], Attr::None, &arms, &[]);
            let inner = b.enter(arms[0]);
            let values = [self.value(), self.value()];
            b.break_(&values);
            b.enter(arms[1]);
            b.yield_(&[]);
            b.enter(inner);
        }
        let next = [self.value(), self.value()];
        b.continue_(&next);
        self.scope.truncate(n);
        b.enter(outer);
        let results = b.func.inst(inst).results.clone();
        self.scope.extend(results);
    }
}

fn kernel(numbers: &[u32]) -> Module {
    let array = |name: &str| Param { name: name.into(), ty: Type::array(Type::i32(), 1) };
    let params = vec![array("data"), array("same"), array("out")];
    let mut func = Function::new("k", FunctionKind::BlockKernel, params, vec![]);
    let mut b = Builder::new(&mut func);
    let [data, same, out] = [0, 1, 2].map(|i| b.param(i));
    let index = |b: &mut Builder, op, dim| b.push1(op, &[], Attr::Index(dim), Type::i64());
    let [x, y] = [0, 1].map(|dim| index(&mut b, Op::ThreadIndex, dim));
    let [width, height] = [0, 1].map(|dim| index(&mut b, Op::BlockExtent, dim));
    let number = index(&mut b, Op::BlockIndex, 0);
    let row = b.binary(Op::Mul, y, width);
    let lin = b.binary(Op::Add, row, x);
    let n = b.binary(Op::Mul, width, height);
    let before = b.binary(Op::Mul, number, n);
    let at = b.binary(Op::Add, before, lin);
    let ty = Type::array(Type::i32(), 1);
    let shared = b.push1(Op::SharedArray, &[], Attr::Extents([MAX_THREADS].into()), ty);
    let local = b.push1(Op::LocalArray, &[], Attr::Extents([4].into()), ty);
    let zero = b.int(Scalar::I32, 0);
    b.store(shared, &[lin], &[], &[], zero);
    b.push(Op::Barrier, &[], Attr::None, &[], &[]);
    let first = b.load(data, &[at], &[], &[]);
    let lane = b.push1(Op::LaneId, &[], Attr::None, Type::i32());
    let mut maker = Maker { numbers, at: 0, budget: 24, scope: vec![first, lane], same, shared, local, lin, x, n };
    maker.block(&mut b, 0, true);
    maker.block(&mut b, 0, true);
    let mut hash = first;
    for value in maker.scope {
        let factor = b.int(Scalar::I32, 31);
        hash = b.binary(Op::Mul, hash, factor);
        hash = b.binary(Op::Add, hash, value);
    }
    b.store(out, &[at], &[], &[], hash);
    b.ret(&[]);
    Module { funcs: vec![func], ..Module::default() }
}

/// What `run` leaves in the kernel's last array.
fn outcome(data: &[i32], bounds: &BlockBounds, run: impl FnOnce(&[InterpValue], &Fault)) -> String {
    let mut arrays = [data.to_vec(), vec![2; data.len()], vec![-1; data.len()]];
    let args: Vec<InterpValue> = arrays
        .iter_mut()
        .map(|array| InterpValue::array(Type::i32(), array.as_mut_ptr() as u64, &[data.len() as i64]))
        .collect();
    assert_eq!(bounds.n_blocks().zip(bounds.n_threads()).map(|(x, y)| x * y), Some(data.len() as i64));
    let fault = Fault::default();
    run(&args, &fault);
    format!("{:?} {:?}", fault.take(), arrays[2])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("BLOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
    ))]

    #[test]
    fn threads_of_a_block_agree(numbers in vec(any::<u32>(), 0..150), shape in 0..6usize, seed in any::<i32>()) {
        let module = kernel(&numbers);
        if let Err(errors) = ir::verify::verify(&module) {
            panic!("{}", ir::verify::report(&module, &errors));
        }
        let block = [[1, 1, 1], [7, 1, 1], [33, 1, 1], [8, 8, 1], [16, 3, 1], [96, 1, 1]][shape];
        let bounds = BlockBounds { grid: [2, 1, 1], block, dynamic_shared: 0 };
        let n = 2 * block[0] * block[1];
        let data: Vec<i32> = (0..n as i32).map(|i| seed.wrapping_mul(i * i + 3) >> 7).collect();
        let func = ir::FuncRef(0);
        let expected = outcome(&data, &bounds, |args, fault| {
            Program::new(&module).launch_blocks(func, &interp::pack(args), &bounds, fault, false);
        });
        let mut program = module.clone();
        let _ = transform::fission_barriers(&mut program).unwrap();
        if let Err(errors) = ir::verify::verify(&program) {
            panic!("{module}\n{}", ir::verify::report(&program, &errors));
        }
        let found = outcome(&data, &bounds, |args, fault| {
            Program::new(&program).launch_blocks(func, &interp::pack(args), &bounds, fault, false);
        });
        prop_assert_eq!(&found, &expected, "as a program\n{}\n{}", module, program);
        let mut ran = String::new();
        let found = outcome(&data, &bounds, |args, fault| {
            if let Err(error) = cpu::launch_blocks(&module, func, args, &bounds, fault) {
                ran = error;
            }
        });
        prop_assert_eq!(ran, "", "{}", module);
        prop_assert_eq!(&found, &expected, "on the cpu\n{}", module);
    }
}
