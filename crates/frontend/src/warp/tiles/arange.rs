//! `tile_arange`: numbers at equal distances.

use crate::HostValue;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{Attr, Class, Const, Op, Scalar, Type};

pub(super) const ROWS: &[Row] = &[own("tile_arange", "*args, dtype?, storage?", arange)];

/// `tile_arange(stop)`, `tile_arange(start, stop, step)`, of numbers that are known when compiling: element i is
/// start + i step, in the arithmetic of the element type, which is `float` where nothing says else.
fn arange(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let scalar = match call.get(0).filter(|arg| !arg.operand.is_none()).cloned() {
        Some(arg) => {
            let ty = lower.type_argument(call, &arg)?;
            match ty.as_scalar().filter(|scalar| scalar.class() != Class::Bool) {
                Some(scalar) => scalar,
                None => {
                    let name = lower.name_of(ty);
                    let message = format!("`tile_arange` makes numbers, and `dtype` is `{name}`");
                    return Err(lower.error("argument-type", arg.span, message));
                }
            }
        }
        None => Scalar::F32,
    };
    lower.check_storage(call, call.get(1))?;
    let [zero, one] = [0, 1].map(|x| Const::int(scalar, x));
    let mut numbers = Vec::new();
    for arg in &call.rest {
        numbers.push(bound(lower, call, arg, scalar)?);
    }
    let [start, stop, step] = match numbers[..] {
        [stop] => [zero, stop, one],
        [start, stop] => [start, stop, one],
        [start, stop, step] => [start, stop, step],
        _ => {
            let message = format!("`tile_arange` takes 1 to 3 numbers, found {}", numbers.len());
            return Err(lower.error("argument-count", call.span, message));
        }
    };
    let n = match length(scalar, [start, stop, step]) {
        Ok(n) => n,
        Err(message) => return Err(lower.error("tile-shape", call.span, message)),
    };
    let ty = Type::tile(Type::i32(), vec![n]);
    let index = lower.b().push1(Op::TileIndex, &[], Attr::Index(0), ty);
    let span = call.span;
    lower.map_values("arange", &[Operand::Value(index)], span, &mut |lower, args| {
        let x = lower.value(&args[0], span)?;
        let x = lower.b().cast(x, scalar);
        let [start, step] = [start, step].map(|x| lower.b().constant(scalar, x));
        let product = lower.b().binary(Op::Mul, x, step);
        Ok(Operand::Value(lower.b().binary(Op::Add, start, product)))
    })
}

/// A number as the element type holds it: rounded for floats, the very number for integers.
fn bound(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg, scalar: Scalar) -> Result<Const> {
    let refuse = |lower: &mut Lower<'_, '_>, found: &str| {
        let name = lower.name_of(Type::scalar(scalar));
        let message = format!("`tile_arange` of `{name}` cannot hold {found}");
        let report = lower.report("tile-shape", arg.span, message);
        Err(lower.emit(report.help("`dtype` says which numbers the tile holds")))
    };
    let float = match &arg.operand {
        Operand::Static(HostValue::Float(x)) => Some(*x),
        Operand::Static(HostValue::Scalar(of, x)) if of.is_float() => Some(x.as_float(*of)),
        _ => None,
    };
    if let Some(x) = float {
        let made = Const::float(scalar, x);
        let is_kept = if scalar.is_float() { made.as_float(scalar).is_finite() } else { made.as_float(scalar) == x };
        return if is_kept { Ok(made) } else { refuse(lower, &format!("{x:?}")) };
    }
    match arg.operand.as_int() {
        Some(x) => {
            let made = Const::int(scalar, x);
            let is_kept = if scalar.is_float() { made.as_float(scalar).is_finite() } else { made.as_int(scalar) == x };
            if is_kept { Ok(made) } else { refuse(lower, &x.to_string()) }
        }
        None => Err(lower.wrong_type(call, arg, "numbers that are known when compiling")),
    }
}

/// How many numbers lie from `start` to before `stop`.
fn length(scalar: Scalar, [start, stop, step]: [Const; 3]) -> std::result::Result<u32, String> {
    const MOST: i128 = 1 << 20;
    let (n, is_forward, is_ahead, is_still) = if scalar.is_float() {
        let [start, stop, step] = [start, stop, step].map(|x| x.as_float(scalar));
        // Rounded as the numbers are: 0.3 / 0.1 is 3.
        let quotient = Const::float(scalar, (stop - start) / step).as_float(scalar);
        (quotient.ceil() as i128, step > 0.0, stop > start, step == 0.0)
    } else {
        let [start, stop, step] = [start, stop, step].map(|x| x.as_int(scalar));
        let distance = stop - start;
        let n = if step == 0 { 0 } else { distance / step + i128::from(distance % step != 0) };
        (n, step > 0, stop > start, step == 0)
    };
    if is_still {
        return Err("the step of `tile_arange` cannot be 0".into());
    }
    let [from, to] = [start, stop].map(|x| match scalar.is_float() {
        true => format!("{:?}", x.as_float(scalar)),
        false => x.as_int(scalar).to_string(),
    });
    if from == to || is_forward != is_ahead {
        return Err(format!("`tile_arange` must give at least one number: none lies from {from} to before {to}"));
    }
    if n > MOST {
        return Err(format!("`tile_arange` gives at most {MOST} numbers, and more lie from {from} to before {to}"));
    }
    Ok(n.max(1) as u32)
}
