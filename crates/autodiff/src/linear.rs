//! Adjoints of ops that are linear in each float operand: composites taken apart and put together, products of vectors
//! and matrices, choices, conversions.

use crate::sweep::Sweep;
use crate::tangent::{has_floats, zero};
use ir::{Attr, Inst, Op, Scalar, Type, TypeKind, Value};

impl Sweep<'_> {
    pub(crate) fn reverse_linear(&mut self, inst: &Inst, d: Value) {
        let x = inst.operands.first().copied();
        match (inst.op, &inst.attr) {
            (Op::Select, _) => self.reverse_select(inst, d),
            (Op::MaskSelect, _) => {
                let (mask, ty) = (self.value(inst.operands[0]), self.primal.ty(inst.result()));
                let nothing = zero(&mut self.b, ty);
                for (operand, [set, unset]) in [(1, [d, nothing]), (2, [nothing, d])] {
                    let d = self.b.push1(Op::MaskSelect, &[mask, set, unset], Attr::None, ty);
                    self.accumulate(inst.operands[operand], d);
                }
            }
            (Op::Cast, _) => {
                let (from, to) = (self.scalar_of(inst.operands[0]), self.scalar_of(inst.result()));
                if from.is_some_and(Scalar::is_float)
                    && to.is_some_and(Scalar::is_float)
                    && let (Some(x), Some(from)) = (x, from)
                {
                    let d = self.b.cast(d, from);
                    self.accumulate(x, d);
                }
            }
            (Op::Construct, _) => {
                for (index, &operand) in (0u32..).zip(&inst.operands) {
                    if has_floats(self.primal.ty(operand)) {
                        let d = self.b.extract(d, index);
                        self.accumulate(operand, d);
                    }
                }
            }
            (Op::Splat, _) => {
                let n = self.primal.ty(inst.result()).n_components() as u32;
                let sum = (1..n).fold(self.b.extract(d, 0), |sum, index| {
                    let part = self.b.extract(d, index);
                    self.b.binary(Op::Add, sum, part)
                });
                self.accumulate(inst.operands[0], sum);
            }
            (Op::Extract, &Attr::Index(index)) => {
                let whole = zero(&mut self.b, self.primal.ty(inst.operands[0]));
                let d = self.b.insert(whole, d, index);
                self.accumulate(inst.operands[0], d);
            }
            (Op::Insert, &Attr::Index(index)) => {
                let part_ty = self.primal.ty(inst.operands[1]);
                if has_floats(part_ty) {
                    let part = self.b.extract(d, index);
                    self.accumulate(inst.operands[1], part);
                }
                let nothing = zero(&mut self.b, part_ty);
                let rest = self.b.insert(d, nothing, index);
                self.accumulate(inst.operands[0], rest);
            }
            (Op::ExtractDyn, _) => {
                let ty = self.primal.ty(inst.operands[0]);
                let whole = zero(&mut self.b, ty);
                let operands = [&[whole, d][..], &self.all(&inst.operands[1..])].concat();
                let d = self.b.push1(Op::InsertDyn, &operands, Attr::None, ty);
                self.accumulate(inst.operands[0], d);
            }
            (Op::InsertDyn, _) => self.reverse_insert_dyn(inst, d),
            (Op::Dot, _) => {
                let ty = self.primal.ty(inst.operands[0]);
                let d = self.b.splat(ty, d);
                for (of, other) in [(0, 1), (1, 0)] {
                    let factor = self.value(inst.operands[other]);
                    let d = self.b.binary(Op::Mul, d, factor);
                    self.accumulate(inst.operands[of], d);
                }
            }
            (Op::Transpose, _) => {
                let d = self.transpose(d);
                self.accumulate(inst.operands[0], d);
            }
            (Op::MatMul, _) => self.reverse_matmul(inst, d),
            (Op::Bitcast, _) => {
                self.refuse(inst, "a float that is read as the bits of another type has no gradient")
                    .help("compute with the float itself, or give the function a gradient with `@func_grad`");
            }
            (op, _) => {
                self.refuse(inst, format!("`{}` has no gradient", op.name()))
                    .help("give the function that uses it a gradient with `@func_grad`");
            }
        }
    }

    fn scalar_of(&self, value: Value) -> Option<Scalar> {
        self.primal.ty(value).element()
    }

    fn reverse_select(&mut self, inst: &Inst, d: Value) {
        let condition = self.value(inst.operands[0]);
        let none = zero(&mut self.b, self.primal.ty(inst.result()));
        for (operand, [then, or]) in [(inst.operands[1], [d, none]), (inst.operands[2], [none, d])] {
            let d = self.b.select(condition, then, or);
            self.accumulate(operand, d);
        }
    }

    /// Outside the composite the op gives the composite as it is, and reading there gives 0.
    fn reverse_insert_dyn(&mut self, inst: &Inst, d: Value) {
        let (ty, part) = (self.primal.ty(inst.operands[0]), self.primal.ty(inst.operands[1]));
        let indices = self.all(&inst.operands[2..]);
        let d_part = self.b.push1(Op::ExtractDyn, &[&[d][..], &indices].concat(), Attr::None, part);
        self.accumulate(inst.operands[1], d_part);
        let nothing = zero(&mut self.b, part);
        let rest = self.b.push1(Op::InsertDyn, &[&[d, nothing][..], &indices].concat(), Attr::None, ty);
        self.accumulate(inst.operands[0], rest);
    }

    fn transpose(&mut self, x: Value) -> Value {
        let TypeKind::Matrix { elem, rows, cols } = *self.b.ty(x).kind() else { panic!("transposed no matrix") };
        self.b.push1(Op::Transpose, &[x], Attr::None, Type::matrix(elem, cols, rows))
    }

    fn matmul(&mut self, x: Value, y: Value, ty: Type) -> Value {
        self.b.push1(Op::MatMul, &[x, y], Attr::None, ty)
    }

    /// The matrix of all products of x's components and y's.
    fn outer(&mut self, x: Value, y: Value, ty: Type) -> Value {
        let (n, m) = (self.b.ty(x).n_components() as u32, self.b.ty(y).n_components() as u32);
        let mut parts = Vec::new();
        for row in 0..n {
            let x = self.b.extract(x, row);
            for col in 0..m {
                let y = self.b.extract(y, col);
                parts.push(self.b.binary(Op::Mul, x, y));
            }
        }
        self.b.construct(ty, &parts)
    }

    fn reverse_matmul(&mut self, inst: &Inst, d: Value) {
        let (x, y) = (inst.operands[0], inst.operands[1]);
        let (x_ty, y_ty) = (self.primal.ty(x), self.primal.ty(y));
        let (a, b) = (self.value(x), self.value(y));
        let is_matrix = |ty: Type| matches!(ty.kind(), TypeKind::Matrix { .. });
        let (dx, dy) = match (is_matrix(x_ty), is_matrix(y_ty)) {
            (true, true) => {
                let (a, b) = (self.transpose(a), self.transpose(b));
                (self.matmul(d, b, x_ty), self.matmul(a, d, y_ty))
            }
            // Ax, and xA: the other way round.
            (true, false) => (self.outer(d, b, x_ty), self.matmul(d, a, y_ty)),
            _ => (self.matmul(b, d, x_ty), self.outer(a, d, y_ty)),
        };
        self.accumulate(x, dx);
        self.accumulate(y, dy);
    }
}
