//! Scalars and composites.

use super::{Lower, index};
use crate::code::{DynamicComponent, Mask, MaskSelect, MatMul, Move, Step, TernaryN};
use crate::scalar::{Meaning, binary, cast, meaning};
use ir::{Inst, Op, Type, TypeKind, Value};

impl Lower<'_> {
    /// An op on scalars, done to each component.
    pub(super) fn componentwise(&mut self, inst: &Inst) {
        let scalar = self.element(inst.operands[0]);
        let n = self.n_words(inst.operands[0]) as u32;
        let dst = self.define(inst.result());
        let operands = self.slots(&inst.operands);
        let step = match (meaning(inst.op, scalar), &*operands) {
            (Meaning::Unary(function), &[a]) if n == 1 => Step::Unary { function, dst, a },
            (Meaning::Unary(function), &[a]) => Step::UnaryN { function, dst, a, n },
            (Meaning::Binary(function), &[a, b]) if n == 1 => Step::Binary { function, dst, a, b },
            (Meaning::Binary(function), &[a, b]) => Step::BinaryN { function, dst, a, b, n },
            (Meaning::Ternary(function), &[a, b, c]) if n == 1 => Step::Ternary { function, dst, a, b, c },
            (Meaning::Ternary(function), &[a, b, c]) => {
                Step::TernaryN(Box::new(TernaryN { function, dst, a, b, c, n }))
            }
            _ => panic!("`{}` has no meaning on {}", inst.op.name(), scalar.name()),
        };
        self.push(step);
    }

    pub(super) fn composite(&mut self, inst: &Inst) {
        let result = inst.result();
        let first = inst.operands[0];
        match inst.op {
            Op::Select => {
                let dst = self.define(result);
                let [condition, a, b] = [first, inst.operands[1], inst.operands[2]].map(|value| self.slot(value));
                let n = self.n_words(result) as u32;
                self.push(if n == 1 {
                    Step::Select1 { dst, condition, a, b }
                } else {
                    Step::Select { dst, condition, a, b, n }
                });
            }
            Op::Cast => self.convert(inst, cast(self.element(first), self.element(result))),
            Op::Bitcast => self.alias(result, self.slot(first)),
            Op::Construct => {
                let mut dst = self.define(result);
                for &component in &inst.operands {
                    let n = self.n_words(component) as u32;
                    self.moves(&[Move { dst, src: self.slot(component), n }]);
                    dst += n;
                }
            }
            Op::Splat => {
                let dst = self.define(result);
                self.push(Step::Fill { dst, src: self.slot(first), n: self.n_words(result) as u32 });
            }
            Op::Extract => {
                let start = self.ty(first).leaf_start(index(inst) as usize);
                self.alias(result, self.slot(first) + start as u32);
            }
            Op::Insert => {
                let dst = self.define(result);
                let start = self.ty(first).leaf_start(index(inst) as usize) as u32;
                let component = inst.operands[1];
                self.moves(&[Move { dst, src: self.slot(first), n: self.n_words(result) as u32 }]);
                let n = self.n_words(component) as u32;
                self.moves(&[Move { dst: dst + start, src: self.slot(component), n }]);
            }
            Op::ExtractDyn => {
                let step = self.dynamic_component(inst, None, &inst.operands[1..]);
                self.push(Step::ExtractDyn(Box::new(step)));
            }
            Op::InsertDyn => {
                let step = self.dynamic_component(inst, Some(inst.operands[1]), &inst.operands[2..]);
                self.push(Step::InsertDyn(Box::new(step)));
            }
            Op::Dot | Op::MatMul => self.products(inst),
            Op::Transpose => {
                let dst = self.define(result);
                let (rows, cols) = shape(self.ty(first));
                self.push(Step::Transpose { dst, src: self.slot(first), rows, cols });
            }
            op => unreachable!("`{}` is no op on composites", op.name()),
        }
    }

    /// A bit a component.
    pub(super) fn mask(&mut self, inst: &Inst) {
        let (a, b) = (inst.operands[0], inst.operands[1]);
        let (function, n) = (binary(Op::Le, self.element(a)), self.n_words(a) as u32);
        let dst = self.define(inst.result());
        self.push(Step::Mask(Box::new(Mask { function, dst, a: self.slot(a), b: self.slot(b), n })));
    }

    pub(super) fn mask_select(&mut self, inst: &Inst) {
        let [mask, a, b] = [0, 1, 2].map(|index| self.slot(inst.operands[index]));
        let n = self.n_words(inst.result()) as u32;
        let dst = self.define(inst.result());
        self.push(Step::MaskSelect(Box::new(MaskSelect { mask, dst, a, b, n })));
    }

    fn convert(&mut self, inst: &Inst, function: crate::scalar::Unary) {
        let a = self.slot(inst.operands[0]);
        let n = self.n_words(inst.operands[0]) as u32;
        let dst = self.define(inst.result());
        self.push(if n == 1 { Step::Unary { function, dst, a } } else { Step::UnaryN { function, dst, a, n } });
    }

    fn dynamic_component(&mut self, inst: &Inst, component: Option<Value>, indices: &[Value]) -> DynamicComponent {
        let src = inst.operands[0];
        let ty = self.ty(src);
        let component = component.map(|value| self.slot(value));
        let dst = self.define(inst.result());
        let limits: &[(u64, u64)] = &dynamic_limits(ty);
        assert_eq!(indices.len(), limits.len(), "`{}` of {ty}", inst.op.name());
        let indices =
            indices.iter().zip(limits).map(|(&value, &(extent, stride))| (self.slot(value), extent, stride)).collect();
        DynamicComponent { indices, src: self.slot(src), dst, n: ty.n_leaves() as u32, component }
    }

    fn products(&mut self, inst: &Inst) {
        let (a, b) = (inst.operands[0], inst.operands[1]);
        let scalar = self.element(a);
        let is_vector = |ty: Type| !matches!(ty.kind(), TypeKind::Matrix { .. });
        // A vector on the left is one row, on the right one column.
        let (rows, inner) = if is_vector(self.ty(a)) { (1, self.n_words(a) as u32) } else { shape(self.ty(a)) };
        let cols = if is_vector(self.ty(b)) { 1 } else { shape(self.ty(b)).1 };
        let dst = self.define(inst.result());
        self.push(Step::MatMul(Box::new(MatMul {
            mul: binary(Op::Mul, scalar),
            add: binary(Op::Add, scalar),
            rows,
            inner,
            cols,
            a: self.slot(a),
            b: self.slot(b),
            dst,
        })));
    }
}

fn shape(ty: Type) -> (u32, u32) {
    let TypeKind::Matrix { rows, cols, .. } = ty.kind() else { panic!("{ty} is no matrix") };
    (*rows, *cols)
}

/// How many components each dynamic index of `ty` may name, and how many components lie between two of them.
pub(super) fn dynamic_limits(ty: Type) -> Vec<(u64, u64)> {
    match ty.kind() {
        TypeKind::Matrix { rows, cols, .. } => {
            vec![(u64::from(*rows), u64::from(*cols)), (u64::from(*cols), 1)]
        }
        _ => vec![(ty.n_components() as u64, 1)],
    }
}
