//! Chains of casts.

use super::{Simpler, Simplifier, defined_by};
use crate::range::Range;
use ir::{Attr, Inst, Op, Scalar};

pub(super) fn simpler(simplifier: &Simplifier<'_>, inst: &Inst) -> Option<Simpler> {
    let func = &*simplifier.func;
    match inst.op {
        Op::Cast => cast(simplifier, inst),
        Op::Bitcast => {
            let x = inst.operands[0];
            let source = defined_by(func, x, Op::Bitcast).map_or(x, |inner| inner.operands[0]);
            if func.ty(source) == func.ty(inst.result()) {
                return Some(Simpler::Value(source));
            }
            (source != x).then(|| Simpler::Op(Op::Bitcast, vec![source], Attr::None))
        }
        _ => None,
    }
}

fn cast(simplifier: &Simplifier<'_>, inst: &Inst) -> Option<Simpler> {
    let func = &*simplifier.func;
    let x = inst.operands[0];
    let to = func.ty(inst.result()).element()?;
    if func.ty(x) == func.ty(inst.result()) {
        return Some(Simpler::Value(x));
    }
    let inner = defined_by(func, x, Op::Cast)?;
    let source = inner.operands[0];
    let (from, middle) = (func.ty(source).element()?, func.ty(x).element()?);
    // A float saturates where an integer wraps.
    if from.is_int() && middle.is_float() && to.is_int() && !is_lossless(from, to) {
        return None;
    }
    // Bits that the second cast drops anyway are all that the first can lose.
    let only_wraps = from.is_int() && middle.is_int() && to.is_int() && middle.bits() >= to.bits();
    // A thread index fits 32 bits, so `i64(i32(tid))` is `tid`.
    let fits = || {
        let (bounds, all) = (simplifier.range(source), Range::of_type(middle));
        middle.is_int() && bounds.is_some_and(|bounds| all.lo <= bounds.lo && bounds.hi <= all.hi)
    };
    (is_lossless(from, middle) || only_wraps || fits()).then(|| Simpler::Op(Op::Cast, vec![source], Attr::None))
}

/// Whether every value of `from` is one of `to`, so that a further cast sees the same number.
fn is_lossless(from: Scalar, to: Scalar) -> bool {
    use Scalar::{BF16, Bool, F16, F32, F64};
    match (from, to) {
        _ if from == to => true,
        (Bool, _) => true,
        (_, Bool) => false,
        (F16 | BF16, F32 | F64) | (F32, F64) => true,
        _ if from.is_float() => false,
        (_, F64) => from.bits() <= 32,
        (_, F32) => from.bits() <= 16,
        (_, F16 | BF16) => from.bits() <= 8,
        _ if from.is_signed() == to.is_signed() => from.bits() <= to.bits(),
        _ => to.is_signed() && from.bits() < to.bits(),
    }
}
