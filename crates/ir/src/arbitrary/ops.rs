//! Single instructions of random functions, made from the op table.

use super::Maker;
use crate::builder::Builder;
use crate::func::{Attr, PathElem, SiteId, Value};
use crate::op::{AtomicOp, Op, Rule};
use crate::path;
use crate::types::{Class, Scalar, Type, TypeKind};

/// Extents of local arrays: a power of two, so that a mask keeps indices inside.
pub(super) const EXTENT: u64 = 4;

impl Maker<'_, '_> {
    /// Any instruction that owns no regions. Its results come into scope.
    pub(super) fn op(&mut self, b: &mut Builder) {
        let op = Op::ALL[self.source.pick(Op::ALL.len())];
        if op.is_over_blocks() {
            return;
        }
        match op.rule() {
            Rule::Same { n, classes } => {
                let ty = self.number(b, classes, false);
                let operands: Vec<Value> = (0..n).map(|_| self.value(b, ty)).collect();
                let result = b.push1(op, &operands, Attr::None, ty);
                self.scope.push(result);
            }
            Rule::SameScalar { n, classes } => {
                let ty = self.number(b, classes, true);
                let operands: Vec<Value> = (0..n).map(|_| self.value(b, ty)).collect();
                let result = b.push1(op, &operands, Attr::None, ty);
                self.scope.push(result);
            }
            Rule::Compare { classes } => {
                let ty = self.number(b, classes, true);
                let operands = [self.value(b, ty), self.value(b, ty)];
                let result = b.compare(op, operands[0], operands[1]);
                self.scope.push(result);
            }
            Rule::FloatTest => {
                let ty = self.number(b, &[Class::Float], true);
                let x = self.value(b, ty);
                let result = b.push1(op, &[x], Attr::None, Type::bool());
                self.scope.push(result);
            }
            Rule::Own => {
                if let Some(result) = self.own(b, op) {
                    self.scope.push(result);
                }
            }
        }
    }

    /// A type over a scalar of one of these classes, often one that a value in scope has.
    fn number(&mut self, b: &Builder, classes: &[Class], scalars_only: bool) -> Type {
        let fits = |ty: Type| {
            ty.element().is_some_and(|elem| classes.contains(&elem.class()))
                && (!scalars_only || ty.as_scalar().is_some())
        };
        let known: Vec<Type> = self.scope.iter().map(|&v| b.ty(v)).filter(|&ty| fits(ty)).collect();
        if !known.is_empty() && self.source.pick(8) > 0 {
            return known[self.source.pick(known.len())];
        }
        let all: Vec<Scalar> = Scalar::ALL.into_iter().filter(|s| classes.contains(&s.class())).collect();
        Type::scalar(all[self.source.pick(all.len())])
    }

    fn own(&mut self, b: &mut Builder, op: Op) -> Option<Value> {
        match op {
            Op::Const => {
                let ty = Type::scalar(self.source.scalar());
                Some(self.fresh(b, ty))
            }
            Op::Select => {
                let ty = self.source.inner_type();
                let operands = [self.value(b, Type::bool()), self.value(b, ty), self.value(b, ty)];
                Some(b.select(operands[0], operands[1], operands[2]))
            }
            Op::MaskLe => {
                let n = 1 + self.source.pick(9) as u32;
                let ty = Type::vector([Scalar::F32, Scalar::F64][self.source.pick(2)], n);
                let operands = [self.value(b, ty), self.value(b, ty)];
                Some(b.push1(op, &operands, Attr::None, Type::scalar(Scalar::U32)))
            }
            Op::MaskSelect => {
                let ty = Type::vector(self.source.scalar(), 1 + self.source.pick(9) as u32);
                let operands = [self.value(b, Type::scalar(Scalar::U32)), self.value(b, ty), self.value(b, ty)];
                Some(b.push1(op, &operands, Attr::None, ty))
            }
            Op::Cast => {
                let x = self.value_where(b, Type::i32(), |ty| ty.element().is_some());
                let to = self.source.scalar();
                Some(b.cast(x, to))
            }
            Op::Bitcast => {
                let x = self.value_where(b, Type::f32(), |ty| ty.as_scalar().is_some_and(|s| s.bits() > 1));
                let from = b.ty(x).as_scalar()?;
                let all: Vec<Scalar> = Scalar::ALL.into_iter().filter(|s| s.bits() == from.bits()).collect();
                let to = Type::scalar(all[self.source.pick(all.len())]);
                Some(b.push1(op, &[x], Attr::None, to))
            }
            Op::Construct | Op::Splat => {
                let ty = self.source.inner_type();
                Some(self.fresh(b, ty))
            }
            Op::Extract | Op::Insert => {
                let x = self.value_where(b, Type::vector(Scalar::F32, 3), |ty| ty.n_components() > 0);
                let index = self.source.pick(b.ty(x).n_components());
                if op == Op::Extract {
                    return Some(b.extract(x, index as u32));
                }
                let ty = b.ty(x).component(index)?;
                let component = self.value(b, ty);
                Some(b.insert(x, component, index as u32))
            }
            Op::ExtractDyn | Op::InsertDyn => Some(self.dynamic(b, op)),
            Op::Dot | Op::MatMul | Op::Transpose => self.algebra(b, op),
            Op::Call => {
                self.call(b);
                None
            }
            Op::CheckNonZero | Op::CheckFinite | Op::Assert | Op::CheckIndex => {
                self.check(b, op);
                None
            }
            _ => self.memory(b, op),
        }
    }

    fn dynamic(&mut self, b: &mut Builder, op: Op) -> Value {
        let x = self.value_where(b, Type::vector(Scalar::I32, 2), Type::is_composite);
        let ty = b.ty(x);
        let elem = ty.element().map_or(Type::i32(), Type::scalar);
        let mut operands = vec![x];
        if op == Op::InsertDyn {
            operands.push(self.value(b, elem));
        }
        let n = if matches!(ty.kind(), TypeKind::Matrix { .. }) { 2 } else { 1 };
        operands.extend((0..n).map(|_| self.value(b, Type::i64())));
        b.push1(op, &operands, Attr::None, if op == Op::InsertDyn { ty } else { elem })
    }

    fn algebra(&mut self, b: &mut Builder, op: Op) -> Option<Value> {
        const NUMBERS: [Scalar; 4] = [Scalar::F32, Scalar::F64, Scalar::I32, Scalar::F16];
        let elem = NUMBERS[self.source.pick(4)];
        let (n, k, m) =
            (1 + self.source.pick(3) as u32, 1 + self.source.pick(3) as u32, 1 + self.source.pick(3) as u32);
        let (a, other, result) = match (op, self.source.pick(3)) {
            (Op::Dot, _) => (Type::vector(elem, k), Type::vector(elem, k), Type::scalar(elem)),
            (Op::Transpose, _) => (Type::matrix(elem, n, m), Type::bool(), Type::matrix(elem, m, n)),
            (_, 0) => (Type::matrix(elem, n, k), Type::matrix(elem, k, m), Type::matrix(elem, n, m)),
            (_, 1) => (Type::matrix(elem, n, k), Type::vector(elem, k), Type::vector(elem, n)),
            _ => (Type::vector(elem, k), Type::matrix(elem, k, m), Type::vector(elem, m)),
        };
        let mut operands = vec![self.value(b, a)];
        if op != Op::Transpose {
            operands.push(self.value(b, other));
        }
        Some(b.push1(op, &operands, Attr::None, result))
    }

    /// Checks that hold or not: a failing one ends the run with a report, which must be the same everywhere.
    fn check(&mut self, b: &mut Builder, op: Op) {
        // Threads that end early are compared elsewhere; gangs take none of them.
        if self.arrays.is_some() {
            return;
        }
        match op {
            Op::CheckNonZero => {
                let ty = self.number(b, &[Class::Int], false);
                let x = self.value(b, ty);
                b.check(op, &[x], SiteId(2));
            }
            Op::CheckFinite => {
                let ty = self.number(b, &[Class::Float], false);
                let x = self.value(b, ty);
                b.check(op, &[x], SiteId(3));
            }
            Op::CheckIndex => {
                let (i, n) = (self.value(b, Type::i64()), b.int(Scalar::I64, 5));
                b.check(op, &[i, n], SiteId(1));
            }
            _ => {
                let condition = self.value(b, Type::bool());
                b.check(op, &[condition], SiteId(4));
            }
        }
    }

    fn memory(&mut self, b: &mut Builder, op: Op) -> Option<Value> {
        if self.arrays.is_some() && !self.is_of_thread(b, op) {
            return self.global(b, op);
        }
        let array = self.array(b, op)?;
        let (elem, rank) = b.ty(array).as_array()?;
        match op {
            Op::LocalArray => None,
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => self.access(b, op, array),
            Op::Extent => Some(b.extent(array, self.source.pick(rank as usize) as u32)),
            Op::IsNull => Some(b.push1(op, &[array], Attr::None, Type::bool())),
            Op::WithAdjoint => Some(b.push1(op, &[array, array], Attr::None, b.ty(array))),
            Op::WrapIndex => {
                let i = self.value(b, Type::i64());
                Some(b.wrap_index(array, i, self.source.pick(rank as usize) as u32))
            }
            Op::Row if rank > 1 => {
                let i = self.index(b, array, 0);
                Some(b.push1(op, &[array, i], Attr::Index(0), Type::array(elem, rank - 1)))
            }
            Op::Subarray => {
                // All of the dimension, there or back.
                let is_back = self.source.pick(2) == 1;
                let start = b.int(Scalar::I64, if is_back { EXTENT as i128 - 1 } else { 0 });
                let count = b.int(Scalar::I64, EXTENT as i128);
                let step = b.int(Scalar::I64, if is_back { -1 } else { 1 });
                let dim = self.source.pick(rank as usize) as u32;
                let ty = b.ty(array);
                Some(b.push1(op, &[array, start, count, step], Attr::Index(dim), ty))
            }
            Op::CheckBounds => {
                let mut operands = vec![array];
                operands.extend((0..rank).map(|_| self.value(b, Type::i64())));
                b.check(op, &operands, SiteId(0));
                None
            }
            _ => None,
        }
    }

    /// In a kernel: whether an op works on a local array.
    fn is_of_thread(&mut self, b: &Builder, op: Op) -> bool {
        match op {
            Op::LocalArray => self.source.pick(3) == 0,
            // Gangs take no checks, and no atomics on local arrays.
            Op::CheckBounds | Op::Atomic | Op::AtomicCas => false,
            _ => self.scope.iter().any(|&v| b.ty(v).is_array()) && self.source.pick(2) == 0,
        }
    }

    /// An array in scope, or a new one.
    pub(super) fn array(&mut self, b: &mut Builder, op: Op) -> Option<Value> {
        let known: Vec<Value> = self.scope.iter().copied().filter(|&v| b.ty(v).is_array()).collect();
        if op != Op::LocalArray && !known.is_empty() {
            return Some(known[known.len() - 1 - self.source.pick(known.len())]);
        }
        let rank = 1 + self.source.pick(2);
        let ty = Type::array(self.source.inner_type(), rank as u32);
        let array = b.push1(Op::LocalArray, &[], Attr::Extents(vec![EXTENT; rank].into()), ty);
        self.scope.push(array);
        Some(array)
    }

    fn index(&mut self, b: &mut Builder, _array: Value, _dim: u32) -> Value {
        let i = self.value(b, Type::i64());
        self.masked(b, i, EXTENT as i128 - 1)
    }

    pub(super) fn masked(&mut self, b: &mut Builder, i: Value, mask: i128) -> Value {
        let mask = b.int(Scalar::I64, mask);
        b.binary(Op::And, i, mask)
    }

    fn access(&mut self, b: &mut Builder, op: Op, array: Value) -> Option<Value> {
        let (elem, rank) = b.ty(array).as_array()?;
        let mut operands = vec![array];
        for dim in 0..rank {
            operands.push(self.index(b, array, dim));
        }
        let mut ty = elem;
        let mut steps = Vec::new();
        while ty.n_components() > 0 && (self.source.pick(2) == 0 || op == Op::AtomicCas) {
            let step = if self.source.pick(2) == 0 {
                PathElem::Static(self.source.pick(ty.n_components()) as u32)
            } else {
                PathElem::Dynamic
            };
            let Some((piece, n)) = path::step(ty, step) else { continue };
            for dim in 0..n {
                // Zero or one: every vector has two components; rows of matrices too, columns maybe not.
                let i = self.value(b, Type::i64());
                operands.push(self.masked(b, i, if dim == 0 { 1 } else { 0 }));
            }
            steps.push(step);
            ty = piece;
        }
        let path: Box<[PathElem]> = steps.into();
        match op {
            Op::Load => Some(b.push1(op, &operands, Attr::Path(path), ty)),
            Op::Store => {
                operands.push(self.value(b, ty));
                b.push(op, &operands, Attr::Path(path), &[], &[]);
                None
            }
            Op::AtomicCas => {
                operands.extend([self.value(b, ty), self.value(b, ty)]);
                Some(b.push1(op, &operands, Attr::Path(path), ty))
            }
            _ => {
                let class = ty.element()?.class();
                let fitting: &[AtomicOp] = match class {
                    Class::Bool => &[AtomicOp::And, AtomicOp::Or, AtomicOp::Xor, AtomicOp::Exchange],
                    Class::Float => &[AtomicOp::Add, AtomicOp::Sub, AtomicOp::Min, AtomicOp::Max, AtomicOp::Exchange],
                    Class::Int => &AtomicOp::ALL.map(|(op, _)| op),
                };
                let atomic = fitting[self.source.pick(fitting.len())];
                operands.push(self.value(b, ty));
                Some(b.push1(op, &operands, Attr::Atomic(atomic, path), ty))
            }
        }
    }
}
