//! Facts about arrays that are known without looking at memory.

use super::{Simpler, Simplifier, defined_by};
use ir::{Attr, Const, Function, Inst, Op, PathElem, Scalar, Value, path};

pub(super) fn simpler(cx: &Simplifier, inst: &Inst) -> Option<Simpler> {
    let func = &*cx.func;
    match inst.op {
        Op::Extent => extent(func, inst),
        Op::WrapIndex => {
            let i = inst.operands[1];
            cx.range(i)?.lo.ge(&0).then_some(Simpler::Value(i))
        }
        Op::Load | Op::Atomic | Op::AtomicCas => constant_path(func, inst),
        _ => None,
    }
}

fn extent(func: &Function, inst: &Inst) -> Option<Simpler> {
    let Attr::Index(dim) = inst.attr else { return None };
    let ir::ValueDef::Result(made, _) = func.def(inst.operands[0]) else { return None };
    let made = func.inst(made);
    let of = |array: Value, dim: u32| Some(Simpler::Op(Op::Extent, vec![array], Attr::Index(dim)));
    match (made.op, &made.attr) {
        (Op::LocalArray, Attr::Extents(extents)) => {
            let extent = i128::from(*extents.get(dim as usize)?);
            Some(Simpler::Const(Const::int(Scalar::I64, extent)))
        }
        (Op::Subarray, &Attr::Index(along)) if along != dim => of(made.operands[0], dim),
        (Op::Row, &Attr::Index(along)) => of(made.operands[0], if dim < along { dim } else { dim + 1 }),
        _ => None,
    }
}

/// Steps of a path by a constant in range become static.
fn constant_path(func: &Function, inst: &Inst) -> Option<Simpler> {
    let array = func.ty(inst.operands[0]);
    let access = path::split(inst, array)?;
    let (mut ty, _) = array.as_array()?;
    let mut kept = Vec::new();
    let mut steps = Vec::new();
    let mut indices = access.path_indices;
    for &step in inst.path() {
        let (piece, n) = path::step(ty, step)?;
        let (these, rest) = indices.split_at(n);
        let constant = match *these {
            [index] if step == PathElem::Dynamic => func.as_const(index).map(|c| c.as_int(Scalar::I64)),
            _ => None,
        };
        match constant.filter(|index| (0..ty.n_components() as i128).contains(index)) {
            Some(index) => steps.push(PathElem::Static(index as u32)),
            None => {
                steps.push(step);
                kept.extend(these.iter().copied());
            }
        }
        (ty, indices) = (piece, rest);
    }
    if steps[..] == *inst.path() {
        return None;
    }
    let operands = [&[access.array], access.indices, &kept[..], access.rest].concat();
    let attr = match &inst.attr {
        Attr::Atomic(op, _) => Attr::Atomic(*op, steps.into()),
        _ => Attr::Path(steps.into()),
    };
    Some(Simpler::Op(inst.op, operands, attr))
}

/// Whether 0 <= i < n for all values that `i` and `n` may have.
pub(super) fn is_index_below(cx: &Simplifier, i: Value, n: Value) -> bool {
    let (Some(i), Some(n)) = (cx.range(i), cx.range(n)) else { return false };
    i.lo >= 0 && i.hi < n.lo
}

/// Whether the indices are within the static extents of a local array.
pub(super) fn is_within_local_array(cx: &Simplifier, array: Value, indices: &[Value]) -> bool {
    let Some(Attr::Extents(extents)) = defined_by(cx.func, array, Op::LocalArray).map(|inst| &inst.attr) else {
        return false;
    };
    let is_within =
        |(&i, &extent): (&Value, &u64)| cx.range(i).is_some_and(|range| range.lo >= 0 && range.hi < i128::from(extent));
    indices.len() == extents.len() && indices.iter().zip(extents).all(is_within)
}
