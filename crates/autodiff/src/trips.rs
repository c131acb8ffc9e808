//! Rounds of a `for`, counted: how many there are, and the induction variable of each.

use ir::{Builder, Const, Function, InstId, Op, Scalar, Value};

/// How many rounds `for i = lo to hi step s` makes, i64; as Python's `len(range(lo, hi, s))`.
pub(crate) fn trip_count(b: &mut Builder<'_>, lo: Value, hi: Value, step: Value) -> Value {
    let scalar = b.ty(lo).as_scalar().unwrap_or(Scalar::I64);
    let sign = b.func.as_const(step).map(|step| step.as_int(scalar).signum());
    let up = |b: &mut Builder<'_>| rounds(b, lo, hi, step, Op::Lt);
    let down = |b: &mut Builder<'_>| {
        let size = b.unary(Op::Neg, step);
        rounds(b, hi, lo, size, Op::Lt)
    };
    match sign {
        Some(0) => b.int(Scalar::I64, 0),
        Some(1) => up(b),
        Some(_) => down(b),
        None if !scalar.is_signed() => up(b),
        None => {
            let zero = b.int(scalar, 0);
            let is_up = b.compare(Op::Gt, step, zero);
            let (up, down) = (up(b), down(b));
            b.select(is_up, up, down)
        }
    }
}

/// (high - low - 1) / size + 1 where low < high, else 0, in unsigned arithmetic: a distance may not fit the signed type.
/// A division by 0 gives 0.
fn rounds(b: &mut Builder<'_>, low: Value, high: Value, size: Value, order: Op) -> Value {
    let scalar = b.ty(low).as_scalar().unwrap_or(Scalar::I64);
    let zero = b.int(scalar, 0);
    let runs = b.compare(order, low, high);
    let moves = b.compare(Op::Ne, size, zero);
    let runs = b.binary(Op::And, runs, moves);
    let wide = |b: &mut Builder<'_>, x: Value| {
        let wide = b.cast(x, if scalar.is_signed() { Scalar::I64 } else { Scalar::U64 });
        b.cast(wide, Scalar::U64)
    };
    let (low, high, size) = (wide(b, low), wide(b, high), wide(b, size));
    let one = b.int(Scalar::U64, 1);
    let distance = b.binary(Op::Sub, high, low);
    let distance = b.binary(Op::Sub, distance, one);
    let n = b.binary(Op::Div, distance, size);
    let n = b.binary(Op::Add, n, one);
    let n = b.cast(n, Scalar::I64);
    let none = b.int(Scalar::I64, 0);
    b.select(runs, n, none)
}

/// The induction variable of round `k`, an i64: lo + k s.
pub(crate) fn induction(b: &mut Builder<'_>, lo: Value, step: Value, k: Value) -> Value {
    let scalar = b.ty(lo).as_scalar().unwrap_or(Scalar::I64);
    let k = b.cast(k, scalar);
    let distance = b.binary(Op::Mul, k, step);
    b.binary(Op::Add, lo, distance)
}

/// The number of rounds of a `for` whose bounds are constants.
pub(crate) fn static_trips(func: &Function, id: InstId) -> Option<u64> {
    let inst = func.inst(id);
    if inst.op != Op::For {
        return None;
    }
    let scalar = func.ty(inst.operands[0]).as_scalar()?;
    let number = |value: Value| func.as_const(value).map(|value: Const| value.as_int(scalar));
    let (lo, hi, step) = (number(inst.operands[0])?, number(inst.operands[1])?, number(inst.operands[2])?);
    let (low, high, size) = if step > 0 { (lo, hi, step) } else { (hi, lo, -step) };
    let n = if low < high && size != 0 { (high - low - 1) / size + 1 } else { 0 };
    u64::try_from(n).ok()
}
