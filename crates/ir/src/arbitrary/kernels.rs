//! Random kernels whose threads do not see each other, to compare ways of running a launch.
//!
//! Inputs are read at indices of every kind (the same for all threads, growing evenly, counted from the end, anywhere),
//! outputs at the thread's own element only; local arrays are each thread's own; sums are integers, whose order does not show. Conditions compare what grows
//! evenly more often than chance would.

use super::{Maker, Source};
use crate::builder::Builder;
use crate::func::{Attr, Function, FunctionKind, Module, Param, PathElem, Value};
use crate::op::{AtomicOp, Op};
use crate::path;
use crate::types::{Scalar, Type};

/// Elements of each array: a power of two, so that a mask keeps indices inside, and far more than threads.
pub const EXTENT: u64 = 128;
/// Most threads that a launch may have.
pub const MAX_THREADS: u64 = 53;
/// How far an index that grows evenly may start.
const MAX_START: usize = 20;

/// The arrays of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Arrays {
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    sums: Value,
    /// Where each thread leaves a hash of all it knew.
    hashes: Value,
}

/// A module with the kernel `@main` alone. All parameters are arrays of one dimension with [`EXTENT`] elements.
pub fn kernel(numbers: &[u32]) -> Module {
    let mut source = Source { numbers, at: 0 };
    let mut elems = vec![Type::f32(), Type::i32(), Type::vector(Scalar::F32, 3), Type::i64()];
    elems.extend((0..2).map(|_| source.inner_type()));
    let n_inputs = elems.len();
    elems.extend([Type::f32(), Type::vector(Scalar::F32, 3), source.inner_type()]);
    let n_outputs = elems.len() - n_inputs;
    elems.extend([Type::i32(), Type::scalar(Scalar::U64)]);
    let param = |(i, &elem): (usize, &Type)| Param { name: format!("p{i}"), ty: Type::array(elem, 1) };
    let params = elems.iter().enumerate().map(param).collect();
    let mut func = Function::new("main", FunctionKind::Kernel, params, Vec::new());
    let mut b = Builder::new(&mut func);
    let all = b.func.region(b.func.body).params.clone();
    let arrays = Arrays {
        inputs: all[..n_inputs].to_vec(),
        outputs: all[n_inputs..n_inputs + n_outputs].to_vec(),
        sums: all[all.len() - 2],
        hashes: all[all.len() - 1],
    };
    let module = Module::default();
    let mut maker = Maker {
        source: &mut source,
        module: &module,
        scope: Vec::new(),
        budget: 60,
        loops: Vec::new(),
        depth: 0,
        arrays: Some(arrays),
    };
    maker.thread(&mut b);
    maker.body(&mut b);
    if !b.is_terminated() {
        maker.return_(&mut b);
    }
    Module { funcs: vec![func], ..Module::default() }
}

impl Maker<'_, '_> {
    /// What a thread knows at its start.
    fn thread(&mut self, b: &mut Builder) {
        let tid = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let narrow = b.cast(tid, Scalar::I32);
        self.scope.extend([tid, narrow]);
        for _ in 0..self.source.pick(4) {
            let guard = self.guard(b);
            self.scope.push(guard);
        }
        for _ in 0..self.source.pick(3) {
            let two = self.two_indices(b, false);
            self.scope.extend(two);
        }
        if self.source.pick(2) == 0 {
            self.array(b, Op::LocalArray);
        }
        for _ in 0..2 + self.source.pick(4) {
            if let Some(value) = self.read(b) {
                self.scope.push(value);
            }
        }
    }

    /// A quotient and a rest of the thread's index by a number that is the same in the launch: the extent of the arrays
    /// less something. With `is_inside`, they are indices.
    fn two_indices(&mut self, b: &mut Builder, is_inside: bool) -> [Value; 2] {
        let scalar = [Scalar::I64, Scalar::I32, Scalar::U32, Scalar::U64][self.source.pick(4)];
        let input = self.arrays.as_ref().map_or(self.scope[0], |arrays| arrays.inputs[0]);
        let extent = b.extent(input, 0);
        let (extent, index) = (b.cast(extent, scalar), b.cast(self.scope[self.source.pick(2)], scalar));
        let less = b.int(scalar, self.source.pick(EXTENT as usize + if is_inside { 0 } else { 12 }) as i128);
        let divisor = b.binary(Op::Sub, extent, less);
        let start = b.int(scalar, self.source.pick(MAX_START) as i128);
        let index = match self.source.pick(if is_inside { 2 } else { 4 }) {
            0 => index,
            1 => b.binary(Op::Add, index, start),
            2 => b.binary(Op::Sub, index, start),
            _ => b.binary(Op::Mul, index, start),
        };
        let ops = if self.source.pick(2) == 0 { [Op::Div, Op::Rem] } else { [Op::FloorDiv, Op::Mod] };
        ops.map(|op| b.binary(op, index, divisor))
    }

    /// A comparison of the thread's index.
    pub(super) fn guard(&mut self, b: &mut Builder) -> Value {
        let ops = [Op::Lt, Op::Ge, Op::Ne, Op::Eq, Op::Le, Op::Gt];
        let tid = self.scope[self.source.pick(2)];
        let scalar = b.ty(tid).as_scalar().unwrap_or(Scalar::I64);
        let limit = b.int(scalar, self.source.pick(MAX_THREADS as usize) as i128);
        let op = ops[self.source.pick(ops.len())];
        b.compare(op, tid, limit)
    }

    /// An op on the kernel's arrays; `None` where it has no result.
    pub(super) fn global(&mut self, b: &mut Builder, op: Op) -> Option<Value> {
        let arrays = self.arrays.clone()?;
        match op {
            Op::Store => {
                let array = arrays.outputs[self.source.pick(arrays.outputs.len())];
                let (operands, path, ty) = self.place(b, array, true);
                let value = self.value(b, ty);
                b.push(op, &[&operands[..], &[value]].concat(), Attr::Path(path), &[], &[]);
                None
            }
            Op::Atomic => {
                let index = self.any_index(b, arrays.sums);
                let value = self.value(b, Type::i32());
                b.push1(op, &[arrays.sums, index, value], Attr::Atomic(AtomicOp::Add, Box::new([])), Type::i32());
                None
            }
            Op::Extent => Some(b.extent(arrays.inputs[0], 0)),
            _ => self.read(b),
        }
    }

    fn read(&mut self, b: &mut Builder) -> Option<Value> {
        let arrays = self.arrays.clone()?;
        let is_own = self.source.pick(4) == 0;
        let known = if is_own { &arrays.outputs } else { &arrays.inputs };
        let array = known[self.source.pick(known.len())];
        let (operands, path, ty) = self.place(b, array, is_own);
        Some(b.push1(Op::Load, &operands, Attr::Path(path), ty))
    }

    /// An array, an index and a path with its indices, and the type that they lead to.
    fn place(&mut self, b: &mut Builder, array: Value, is_own: bool) -> (Vec<Value>, Box<[PathElem]>, Type) {
        let index = if is_own { self.scope[0] } else { self.any_index(b, array) };
        let mut ty = b.ty(array).as_array().map_or(Type::f32(), |(elem, _)| elem);
        let (mut operands, mut steps) = (vec![array, index], Vec::new());
        while ty.n_components() > 0 && self.source.pick(3) == 0 {
            let step = if self.source.pick(3) > 0 {
                PathElem::Static(self.source.pick(ty.n_components()) as u32)
            } else {
                PathElem::Dynamic
            };
            let Some((piece, n)) = path::step(ty, step) else { break };
            for dim in 0..n {
                let i = self.value(b, Type::i64());
                operands.push(self.masked(b, i, if dim == 0 { 1 } else { 0 }));
            }
            steps.push(step);
            ty = piece;
        }
        (operands, steps.into(), ty)
    }

    fn any_index(&mut self, b: &mut Builder, array: Value) -> Value {
        let tid = self.scope[0];
        let start = self.source.pick(MAX_START) as i128;
        match self.source.pick(9) {
            0 => tid,
            1 => {
                let start = b.int(Scalar::I64, start);
                b.binary(Op::Add, tid, start)
            }
            2 => {
                let start = b.int(Scalar::I32, start);
                let sum = b.binary(Op::Add, self.scope[1], start);
                b.cast(sum, Scalar::I64)
            }
            3 => {
                let start = b.int(Scalar::I32, start);
                let before = b.binary(Op::Sub, self.scope[1], start);
                let before = b.cast(before, Scalar::I64);
                b.wrap_index(array, before, 0)
            }
            4 => {
                let two = b.int(Scalar::I64, 2);
                b.binary(Op::Mul, tid, two)
            }
            5 => {
                let last = b.int(Scalar::I64, MAX_THREADS as i128 + start);
                b.binary(Op::Sub, last, tid)
            }
            6 => b.int(Scalar::I64, start),
            7 => {
                let [quotient, rest] = self.two_indices(b, true);
                b.cast(if self.source.pick(4) == 0 { quotient } else { rest }, Scalar::I64)
            }
            _ => {
                let i = self.value(b, Type::i64());
                self.masked(b, i, EXTENT as i128 - 1)
            }
        }
    }

    /// Leaves what the thread knows where others do not look, and ends it.
    pub(super) fn end_thread(&mut self, b: &mut Builder) {
        let Some(hashes) = self.arrays.as_ref().map(|arrays| arrays.hashes) else { return };
        let hash = self.hash(b);
        b.store(hashes, &[self.scope[0]], &[], &[], hash);
        b.ret(&[]);
    }
}
