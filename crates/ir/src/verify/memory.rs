//! Rules of the ops over arrays.

use super::rules::{Checked, OpTypes};
use crate::func::Attr;
use crate::op::{AtomicOp, Op};
use crate::path;
use crate::types::{Class, Scalar, Type};

pub(super) fn check(op: &OpTypes) -> Checked {
    let i64 = Type::i64();
    match op.inst.op {
        Op::LocalArray => owned_array(op, 0),
        Op::ArrayFromAddress => {
            let (_, rank) = array(op, op.result()?)?;
            let mut expected = vec![Type::scalar(Scalar::U64)];
            expected.extend(std::iter::repeat_n(i64, rank as usize));
            op.operands_are(&expected)
        }
        _ => over_array(op),
    }
}

/// An array with memory of its own, of the extents that the op carries and `n_more` that it does not.
pub(super) fn owned_array(op: &OpTypes, n_more: usize) -> Checked {
    let Attr::Extents(extents) = &op.inst.attr else { return Ok(()) };
    op.operands_are(&[])?;
    let n_elements = extents.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent));
    let (elem, rank) = array(op, op.result()?)?;
    if rank as usize != extents.len() + n_more {
        return Err(format!("{} extents for an array of {rank} dimensions", extents.len()));
    }
    match n_elements.and_then(|n| n.checked_mul(elem.size())) {
        Some(size) if size <= 1 << 31 => Ok(()),
        _ => Err(format!("a {} is at most 2 GiB", op.name().replace('_', " "))),
    }
}

/// The ops whose first operand is an array.
fn over_array(op: &OpTypes) -> Checked {
    let i64 = Type::i64();
    let ty = op.operand(0)?;
    let (elem, rank) = array(op, ty)?;
    match op.inst.op {
        Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => access(op, ty),
        Op::CheckBounds => {
            let mut expected = vec![ty];
            expected.extend(std::iter::repeat_n(i64, rank as usize));
            op.operands_are(&expected)?;
            op.results_are(&[])
        }
        Op::Extent => {
            dimension(op, rank)?;
            op.operands_are(&[ty])?;
            op.results_are(&[i64])
        }
        Op::WrapIndex => {
            dimension(op, rank)?;
            op.operands_are(&[ty, i64])?;
            op.results_are(&[i64])
        }
        Op::Subarray => {
            dimension(op, rank)?;
            op.operands_are(&[ty, i64, i64, i64])?;
            op.results_are(&[ty])
        }
        Op::Row => {
            if rank < 2 {
                return Err(format!("`row` takes an array of two or more dimensions, found {ty}"));
            }
            dimension(op, rank)?;
            dimension(op, rank)?;
            op.operands_are(&[ty, i64])?;
            op.results_are(&[Type::array(elem, rank - 1)])
        }
        Op::IsNull => {
            op.operands_are(&[ty])?;
            op.results_are(&[Type::bool()])
        }
        Op::WithAdjoint => {
            op.operands_are(&[ty, ty])?;
            op.results_are(&[ty])
        }
        Op::Address => {
            op.operands_are(&[ty])?;
            op.results_are(&[Type::scalar(Scalar::U64)])
        }
        other => Err(format!("`{}` has no rule", other.name())),
    }
}

fn array(op: &OpTypes, ty: Type) -> Result<(Type, u32), String> {
    ty.as_array().ok_or_else(|| format!("`{}` is about arrays, found {ty}", op.name()))
}

fn dimension(op: &OpTypes, rank: u32) -> Checked {
    let dim = op.index_attr();
    if dim < rank as usize { Ok(()) } else { Err(format!("an array of {rank} dimensions has no dimension {dim}")) }
}

fn access(op: &OpTypes, ty: Type) -> Checked {
    let (elem, rank) = array(op, ty)?;
    let Some((piece, n_path)) = path::walk(elem, op.inst.path()) else {
        return Err(format!("the path leads to no piece of {elem}"));
    };
    let n_rest = match op.inst.op {
        Op::Load => 0,
        Op::AtomicCas => 2,
        _ => 1,
    };
    let mut expected = vec![ty];
    expected.extend(std::iter::repeat_n(Type::i64(), rank as usize + n_path));
    expected.extend(std::iter::repeat_n(piece, n_rest));
    op.operands_are(&expected)?;
    op.results_are(if op.inst.op == Op::Store { &[] } else { std::slice::from_ref(&piece) })?;
    match &op.inst.attr {
        Attr::Atomic(atomic, _) => match piece.element() {
            Some(elem) if is_atomic(*atomic, elem.class()) => Ok(()),
            _ => Err(format!("`atomic {}` is not for {piece}", atomic.name())),
        },
        _ if op.inst.op == Op::AtomicCas && piece.as_scalar().is_none() => {
            Err(format!("`atomic_cas` takes a scalar, found {piece}"))
        }
        _ => Ok(()),
    }
}

/// Which scalars an atomic operation is for.
fn is_atomic(op: AtomicOp, class: Class) -> bool {
    match op {
        AtomicOp::Add | AtomicOp::Sub | AtomicOp::Min | AtomicOp::Max => class != Class::Bool,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => class != Class::Float,
        AtomicOp::Exchange => true,
    }
}
