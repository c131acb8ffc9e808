//! Arrays and the memory behind them.

use super::values::dynamic_limits;
use super::{Lower, index};
use crate::code::{
    Access, ArrayFromAddress, AtomicAccess, AtomicOperation, LocalArray, Piece, Place, Slot, Step, View, Width,
};
use crate::value::contiguous_strides;
use ir::{Attr, Inst, LeafKind, Op, PathElem, Scalar, Type, Value};
use runtime::atomics;

impl Lower<'_> {
    pub(super) fn memory(&mut self, inst: &Inst) {
        match inst.op {
            Op::Load => {
                let (place, ty) = self.place(inst);
                let value = self.define(inst.result());
                self.push(Step::Load(Box::new(Access { place, pieces: pieces(ty), value })));
            }
            Op::Store => {
                let (place, ty) = self.place(inst);
                let value = self.slot(inst.operands[inst.operands.len() - 1]);
                self.push(Step::Store(Box::new(Access { place, pieces: pieces(ty), value })));
            }
            Op::Atomic | Op::AtomicCas => self.atomic(inst),
            Op::Extent => {
                let array = self.slot(inst.operands[0]);
                self.alias(inst.result(), array + 1 + index(inst));
            }
            Op::Address => {
                let array = self.slot(inst.operands[0]);
                self.alias(inst.result(), array);
            }
            Op::WithAdjoint => {
                let array = self.slot(inst.operands[0]);
                self.alias(inst.result(), array);
            }
            Op::IsNull => {
                let dst = self.define(inst.result());
                self.push(Step::IsNull { dst, array: self.slot(inst.operands[0]) });
            }
            Op::Row => self.view(inst, index(inst), None),
            Op::Subarray => {
                let count_step = (self.slot(inst.operands[2]), self.slot(inst.operands[3]));
                self.view(inst, index(inst), Some(count_step));
            }
            Op::WrapIndex => {
                let dst = self.define(inst.result());
                let extent = self.slot(inst.operands[0]) + 1 + index(inst);
                self.push(Step::WrapIndex { dst, index: self.slot(inst.operands[1]), extent });
            }
            Op::LocalArray | Op::SharedArray => self.local_array(inst),
            Op::ArrayFromAddress => {
                let dst = self.define(inst.result());
                let (elem, _) = self.array(inst.result());
                self.push(Step::ArrayFromAddress(Box::new(ArrayFromAddress {
                    address: self.slot(inst.operands[0]),
                    extents: self.slots(&inst.operands[1..]),
                    elem_size: elem.size(),
                    dst,
                })));
            }
            op => unreachable!("`{}` is no op on arrays", op.name()),
        }
    }

    pub(super) fn array(&self, value: Value) -> (Type, u32) {
        self.ty(value).as_array().unwrap_or_else(|| panic!("{} is no array", self.ty(value)))
    }

    /// Where a memory op goes, and the type of the piece there.
    fn place(&self, inst: &Inst) -> (Place, Type) {
        let (elem, rank) = self.array(inst.operands[0]);
        let (array, indices, mut path_indices, _) = inst.access(rank as usize);
        let mut ty = elem;
        let mut offset = 0;
        let mut path = Vec::new();
        for step in inst.path() {
            match *step {
                PathElem::Static(index) => {
                    offset += ty.offset(index as usize);
                    ty = ty.component(index as usize).unwrap_or_else(|| panic!("{ty} has no component {index}"));
                }
                PathElem::Dynamic => {
                    let scalar = ty.element().unwrap_or_else(|| panic!("dynamic component of {ty}"));
                    for (extent, stride) in dynamic_limits(ty) {
                        let (&value, rest) = path_indices.split_first().expect("an index for each dynamic step");
                        path.push((self.slot(value), extent, stride * scalar.size()));
                        path_indices = rest;
                    }
                    ty = Type::scalar(scalar);
                }
            }
        }
        let place = Place {
            array: self.slot(array),
            rank,
            indices: self.slots(indices),
            offset,
            path: path.into_boxed_slice(),
            span: inst.span,
        };
        (place, ty)
    }

    fn atomic(&mut self, inst: &Inst) {
        let (place, ty) = self.place(inst);
        let scalar = ty.element().unwrap_or_else(|| panic!("atomic on {ty}"));
        let last = inst.operands.len() - 1;
        let value = self.slot(inst.operands[last]);
        let missing = || panic!("`{}` has no meaning on {}", inst.op.name(), scalar.name());
        let operation = if let Attr::Atomic(op, _) = &inst.attr {
            let function = atomics::rmw(op.name(), scalar.name()).unwrap_or_else(missing);
            AtomicOperation::Rmw { function, value }
        } else {
            let function = atomics::cas(scalar.name()).unwrap_or_else(|| panic!("no cas on {}", scalar.name()));
            AtomicOperation::Cas { function, expected: self.slot(inst.operands[last - 1]), value }
        };
        let dst = self.define(inst.result());
        let pieces = ty.leaves().into_iter().map(|leaf| (leaf.offset, scalar.size())).collect();
        let accumulators = self.sums.and_then(|sums| sums.offsets(self.func, inst));
        self.push(Step::Atomic(Box::new(AtomicAccess { place, pieces, operation, dst, accumulators })));
    }

    fn view(&mut self, inst: &Inst, dim: u32, count_step: Option<(Slot, Slot)>) {
        let (_, rank) = self.array(inst.operands[0]);
        let [array, start] = [self.slot(inst.operands[0]), self.slot(inst.operands[1])];
        let dst = self.define(inst.result());
        self.push(Step::View(Box::new(View { array, rank, dim, start, count_step, dst })));
    }

    fn local_array(&mut self, inst: &Inst) {
        let Attr::Extents(extents) = &inst.attr else { panic!("`local_array` without its extents") };
        let pointer = self.define(inst.result());
        let (elem, _) = self.array(inst.result());
        let n_bytes = extents.iter().try_fold(elem.size(), |n, &extent| n.checked_mul(extent));
        let n_words = n_bytes.and_then(|n| usize::try_from(n.div_ceil(8)).ok());
        let extents: Vec<i64> = extents.iter().map(|&extent| extent as i64).collect();
        let descriptor = extents.iter().copied().chain(contiguous_strides(elem, &extents));
        for (slot, word) in (pointer as usize + 1..).zip(descriptor) {
            self.code.template[slot] = word as u64;
        }
        self.code.local_arrays.push(pointer);
        self.push(Step::LocalArray(Box::new(LocalArray { pointer, n_words })));
    }
}

fn pieces(ty: Type) -> Box<[Piece]> {
    let width = |kind| match kind {
        LeafKind::Scalar(Scalar::Bool) => Width::Bool,
        LeafKind::Scalar(scalar) => match scalar.size() {
            1 => Width::W1,
            2 => Width::W2,
            4 => Width::W4,
            _ => Width::W8,
        },
        LeafKind::Pointer | LeafKind::Extent(_) | LeafKind::Stride(_) => Width::W8,
    };
    ty.leaves().into_iter().map(|leaf| Piece { offset: leaf.offset, width: width(leaf.kind) }).collect()
}
