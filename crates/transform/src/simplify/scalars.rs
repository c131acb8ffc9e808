//! Constant folding and the laws of scalar arithmetic.
//!
//! Integers wrap, so they are a ring: reassociation and cancellation hold. Of floats only what holds for every bit
//! pattern but NaN payloads: x + -0 == x, x - 0 == x, x * 1 == x, but neither x + 0 (-0 + 0 is 0) nor x - x (NaN).

use super::{Simpler, Simplifier, defined_by};
use ir::{Attr, Const, Function, Inst, InstId, Op, Scalar, Value, eval};

/// An op whose operands are constants.
pub(super) fn fold(func: &Function, inst: &Inst) -> Option<Simpler> {
    let scalar = func.ty(*inst.operands.first()?).as_scalar()?;
    let result = func.ty(inst.result()).as_scalar()?;
    let args: Option<Vec<Const>> = inst.operands.iter().map(|&v| func.as_const(v)).collect();
    let args = args?;
    let value = match inst.op {
        Op::Cast => eval::cast(scalar, result, args[0]),
        Op::Bitcast => args[0],
        // Its first operand's type is not that of the others.
        Op::Select => return None,
        op => eval::scalar_op(op, scalar, &args)?,
    };
    // The bits of a NaN that arithmetic makes are the processor's choice.
    let is_exact = matches!(inst.op, Op::Neg | Op::Abs | Op::CopySign | Op::Min | Op::Max | Op::Bitcast);
    if result.is_float() && !is_exact && value.as_float(result).is_nan() {
        return None;
    }
    Some(Simpler::Const(value))
}

pub(super) fn laws(cx: &mut Simplifier, id: InstId) -> Option<Simpler> {
    let inst = cx.func.inst(id);
    match inst.op {
        Op::Select => return select(cx.func, inst),
        Op::Not => return not(cx.func, inst),
        Op::Neg | Op::Abs => return sign(cx, inst),
        _ => {}
    }
    let [a, b] = inst.operands[..] else { return None };
    let scalar = cx.func.ty(a).as_scalar()?;
    if let Some(swapped) = constant_last(cx.func, inst, a, b) {
        return Some(swapped);
    }
    match inst.op {
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => comparison(cx, inst.op, scalar, a, b),
        _ if scalar.is_float() => float_laws(cx, id, scalar, a, b),
        _ => int_laws(cx.func, inst.op, scalar, a, b).or_else(|| reassociate(cx, id, scalar, a, b)),
    }
}

/// Puts the constant behind, so that rules need to look there only.
fn constant_last(func: &Function, inst: &Inst, a: Value, b: Value) -> Option<Simpler> {
    if func.as_const(a).is_none() || func.as_const(b).is_some() {
        return None;
    }
    let op = match inst.op {
        Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::MulHigh | Op::Eq | Op::Ne => inst.op,
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        _ => return None,
    };
    Some(Simpler::Op(op, vec![b, a], Attr::None))
}

fn int_laws(func: &Function, op: Op, scalar: Scalar, a: Value, b: Value) -> Option<Simpler> {
    let constant = |value: i128| Some(Simpler::Const(Const::int(scalar, value)));
    let keep = Some(Simpler::Value(a));
    if a == b {
        match op {
            Op::Sub | Op::Xor => return constant(0),
            Op::And | Op::Or | Op::Min | Op::Max => return keep,
            _ => {}
        }
    }
    if op == Op::Sub && func.as_const(a).is_some_and(|c| c.0 == 0) {
        return Some(Simpler::Op(Op::Neg, vec![b], Attr::None));
    }
    let c = func.as_const(b)?;
    let all_ones = Const::int(scalar, -1);
    match (op, c.as_int(scalar)) {
        (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::Shr, 0) => keep,
        (Op::Mul | Op::And, 0) => constant(0),
        (Op::And, _) if c == all_ones || scalar == Scalar::Bool => keep,
        (Op::Or, _) if c == all_ones || scalar == Scalar::Bool => Some(Simpler::Const(c)),
        (Op::Xor, _) if c == all_ones || scalar == Scalar::Bool => Some(Simpler::Op(Op::Not, vec![a], Attr::None)),
        (Op::Mul | Op::Div | Op::FloorDiv, 1) => keep,
        (Op::Rem | Op::Mod, 1) => constant(0),
        (Op::Shl, _) if c.0 >= u64::from(scalar.bits()) => constant(0),
        _ => None,
    }
}

/// (x op c) op d == x op (c op d), where op is +, *, &, |, ^ on wrapping integers; x - c is x + -c (not for
/// unsigned types, where the sum would always wrap).
fn reassociate(cx: &mut Simplifier, id: InstId, scalar: Scalar, a: Value, b: Value) -> Option<Simpler> {
    let inst = cx.func.inst(id);
    let (op, span) = (inst.op, inst.span);
    let d = cx.func.as_const(b)?;
    if op == Op::Sub && scalar.is_signed() {
        let negative = eval::scalar_op(Op::Neg, scalar, &[d])?;
        let negative = cx.constant(scalar, negative, span);
        return Some(Simpler::Op(Op::Add, vec![a, negative], Attr::None));
    }
    if !matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor) {
        return None;
    }
    let inner = defined_by(cx.func, a, op)?;
    let (x, c) = (inner.operands[0], cx.func.as_const(inner.operands[1])?);
    let both = eval::scalar_op(op, scalar, &[c, d])?;
    let both = cx.constant(scalar, both, span);
    Some(Simpler::Op(op, vec![x, both], Attr::None))
}

fn float_laws(cx: &mut Simplifier, id: InstId, scalar: Scalar, a: Value, b: Value) -> Option<Simpler> {
    let inst = cx.func.inst(id);
    let (op, span) = (inst.op, inst.span);
    let keep = Some(Simpler::Value(a));
    let c = cx.func.as_const(b)?;
    let x = c.as_float(scalar);
    match op {
        Op::Add if x == 0.0 && x.is_sign_negative() => keep,
        Op::Sub if x == 0.0 && x.is_sign_positive() => keep,
        Op::Mul | Op::Div if x == 1.0 => keep,
        // The reciprocal of a power of two is exact.
        Op::Div if matches!(scalar, Scalar::F32 | Scalar::F64) => {
            let inverse = Const::float(scalar, 1.0 / x);
            if !is_normal_power(scalar, c) || !is_normal_power(scalar, inverse) {
                return None;
            }
            let inverse = cx.constant(scalar, inverse, span);
            Some(Simpler::Op(Op::Mul, vec![a, inverse], Attr::None))
        }
        _ => None,
    }
}

/// A normal float whose fraction bits are all zero.
fn is_normal_power(scalar: Scalar, value: Const) -> bool {
    let (fraction, is_normal) = match scalar {
        Scalar::F32 => (23, f32::from_bits(value.0 as u32).is_normal()),
        _ => (52, f64::from_bits(value.0).is_normal()),
    };
    is_normal && value.0 & ((1 << fraction) - 1) == 0
}

fn comparison(cx: &Simplifier, op: Op, scalar: Scalar, a: Value, b: Value) -> Option<Simpler> {
    let func = &*cx.func;
    let answer = |value: bool| Some(Simpler::Const(Const::bool(value)));
    if a == b {
        return match op {
            // A NaN is neither less nor greater than itself.
            Op::Lt | Op::Gt => answer(false),
            Op::Ne if !scalar.is_float() => answer(false),
            Op::Eq | Op::Le | Op::Ge if !scalar.is_float() => answer(true),
            _ => None,
        };
    }
    if scalar == Scalar::Bool
        && let Some(c) = func.as_const(b)
        && matches!(op, Op::Eq | Op::Ne)
    {
        let is_same = (op == Op::Eq) == (c.0 != 0);
        return Some(if is_same { Simpler::Value(a) } else { Simpler::Op(Op::Not, vec![a], Attr::None) });
    }
    // A bool made an integer and tested again.
    if let (Some(cast), Some(c)) = (defined_by(func, a, Op::Cast), func.as_const(b))
        && func.ty(cast.operands[0]).as_scalar() == Some(Scalar::Bool)
        && c.0 == 0
        && scalar.is_int()
    {
        match op {
            Op::Ne => return Some(Simpler::Value(cast.operands[0])),
            Op::Eq => return Some(Simpler::Op(Op::Not, vec![cast.operands[0]], Attr::None)),
            _ => {}
        }
    }
    let (x, y) = (cx.range(a)?, cx.range(b)?);
    match op {
        Op::Lt if x.hi < y.lo => answer(true),
        Op::Lt if x.lo >= y.hi => answer(false),
        Op::Le if x.hi <= y.lo => answer(true),
        Op::Le if x.lo > y.hi => answer(false),
        Op::Gt if x.lo > y.hi => answer(true),
        Op::Gt if x.hi <= y.lo => answer(false),
        Op::Ge if x.lo >= y.hi => answer(true),
        Op::Ge if x.hi < y.lo => answer(false),
        Op::Eq if x.hi < y.lo || y.hi < x.lo => answer(false),
        Op::Ne if x.hi < y.lo || y.hi < x.lo => answer(true),
        _ => None,
    }
}

fn select(func: &Function, inst: &Inst) -> Option<Simpler> {
    let [condition, a, b] = inst.operands[..] else { return None };
    if a == b {
        return Some(Simpler::Value(a));
    }
    if let Some(c) = func.as_const(condition) {
        return Some(Simpler::Value(if c.0 != 0 { a } else { b }));
    }
    if let Some(not) = defined_by(func, condition, Op::Not) {
        return Some(Simpler::Op(Op::Select, vec![not.operands[0], b, a], Attr::None));
    }
    let (x, y) = (func.as_const(a)?, func.as_const(b)?);
    match (x.0, y.0) {
        _ if x == y => Some(Simpler::Value(a)),
        _ if func.ty(a).as_scalar() != Some(Scalar::Bool) => None,
        (0, _) => Some(Simpler::Op(Op::Not, vec![condition], Attr::None)),
        _ => Some(Simpler::Value(condition)),
    }
}

fn not(func: &Function, inst: &Inst) -> Option<Simpler> {
    let x = *inst.operands.first()?;
    if let Some(inner) = defined_by(func, x, Op::Not) {
        return Some(Simpler::Value(inner.operands[0]));
    }
    let ir::ValueDef::Result(compare, _) = func.def(x) else { return None };
    let compare = func.inst(compare);
    let is_float = func.ty(*compare.operands.first()?).element().is_some_and(Scalar::is_float);
    let op = match compare.op {
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
        // With a NaN both `<` and `>=` are false.
        _ if is_float => return None,
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        Op::Ge => Op::Lt,
        _ => return None,
    };
    Some(Simpler::Op(op, compare.operands.to_vec(), Attr::None))
}

fn sign(cx: &Simplifier, inst: &Inst) -> Option<Simpler> {
    let func = &*cx.func;
    let x = *inst.operands.first()?;
    if let Some(inner) = defined_by(func, x, Op::Neg) {
        let y = inner.operands[0];
        return Some(if inst.op == Op::Neg { Simpler::Value(y) } else { Simpler::Op(Op::Abs, vec![y], Attr::None) });
    }
    let is_positive = defined_by(func, x, Op::Abs).is_some() || cx.range(x).is_some_and(|r| r.lo >= 0);
    (inst.op == Op::Abs && is_positive).then_some(Simpler::Value(x))
}
