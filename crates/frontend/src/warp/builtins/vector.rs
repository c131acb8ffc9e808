//! Products, lengths and searches of vectors and quaternions.

use super::{Accepts, Arg, Call, Row, own};
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[
    own("dot", "a, b", dot),
    own("length", "a", length),
    own("length_sq", "a", length_sq),
    own("cross", "a, b", cross),
    own("cw_mul", "a, b", cw_mul),
    own("cw_div", "a, b", cw_div),
    own("ddot", "a, b", ddot),
    own("tensordot", "a, b", ddot),
    own("argmin", "a", argmin),
    own("argmax", "a", argmax),
];

/// Two vectors, or two quaternions or matrices, of one type; the latter as vectors of their components.
fn pair(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<[Value; 2]> {
    let a = lower.composite_argument(call, call.arg(0), "a vector")?;
    let b = lower.composite_argument(call, call.arg(1), "a vector")?;
    let (ta, tb) = (lower.ty(a), lower.ty(b));
    if ta != tb {
        return Err(differ(lower, call, ta, tb));
    }
    Ok([as_vector(lower, a), as_vector(lower, b)])
}

fn differ(lower: &mut Lower<'_, '_>, call: &Call<'_>, a: Type, b: Type) -> crate::walk::Reported {
    let (a, b) = (lower.name_of(a), lower.name_of(b));
    let message = format!("the arguments of `{}` must have one type, found `{a}` and `{b}`", call.name);
    let mut report = lower.report("type-mismatch", call.arg(1).span, message);
    report = report.also(call.arg(0).span, format!("this is `{a}`"));
    lower.emit(report)
}

fn as_vector(lower: &mut Lower<'_, '_>, x: Value) -> Value {
    let ty = lower.ty(x);
    if matches!(ty.kind(), TypeKind::Vector { .. }) {
        return x;
    }
    let n = ty.n_components() as u32;
    let mut b = lower.b();
    let items: Vec<Value> = (0..n).map(|i| b.extract(x, i)).collect();
    b.construct(Type::vector(ty.element().unwrap_or(Scalar::F32), n), &items)
}

fn dot_of(lower: &mut Lower<'_, '_>, a: Value, b: Value) -> Value {
    let element = lower.ty(a).element().unwrap_or(Scalar::F32);
    lower.b().push1(Op::Dot, &[a, b], Attr::None, Type::scalar(element))
}

fn dot(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let [a, b] = pair(lower, call)?;
    Ok(Operand::Value(dot_of(lower, a, b)))
}

/// The sum of products of all components of two matrices.
fn ddot(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    dot(lower, call)
}

fn length_sq(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let a = lower.composite_argument(call, call.arg(0), "a vector or a quaternion")?;
    let a = as_vector(lower, a);
    Ok(Operand::Value(dot_of(lower, a, a)))
}

fn length(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let a = lower.composite_argument(call, call.arg(0), "a vector or a quaternion")?;
    if lower.ty(a).element().is_some_and(|scalar| !scalar.is_float()) {
        return Err(lower.wrong_type(call, call.arg(0), "a vector of floats"));
    }
    let a = as_vector(lower, a);
    let square = dot_of(lower, a, a);
    Ok(Operand::Value(lower.b().unary(Op::Sqrt, square)))
}

fn cross(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    for arg in [call.arg(0), call.arg(1)] {
        let ty = lower.type_of(&arg.operand);
        if !matches!(ty.map(Type::kind), Some(TypeKind::Vector { len: 3, .. })) {
            return Err(lower.wrong_type(call, arg, "a vector of length 3"));
        }
    }
    let [x, y] = pair(lower, call)?;
    let ty = lower.ty(x);
    let mut b = lower.b();
    let mut component = |i: u32, j: u32| {
        let (xi, xj) = (b.extract(x, i), b.extract(x, j));
        let (yi, yj) = (b.extract(y, i), b.extract(y, j));
        let (left, right) = (b.binary(Op::Mul, xi, yj), b.binary(Op::Mul, xj, yi));
        b.binary(Op::Sub, left, right)
    };
    let items = [component(1, 2), component(2, 0), component(0, 1)];
    Ok(Operand::Value(b.construct(ty, &items)))
}

fn component_wise(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let a = lower.composite_argument(call, call.arg(0), "a vector or a matrix")?;
    let b = lower.composite_argument(call, call.arg(1), "a vector or a matrix")?;
    let (ta, tb) = (lower.ty(a), lower.ty(b));
    if ta != tb {
        return Err(differ(lower, call, ta, tb));
    }
    Ok(Operand::Value(lower.b().binary(op, a, b)))
}

fn cw_mul(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    component_wise(lower, call, Op::Mul)
}

fn cw_div(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    component_wise(lower, call, Op::Div)
}

/// The place of the first extremum. An `int32`, unlike Warp's `uint32`, so that it can be computed with and index.
fn search(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let arg: &Arg = call.arg(0);
    let x = lower.one_type(call, std::slice::from_ref(arg), Accepts::Vector)?[0];
    let n = lower.ty(x).n_components() as u32;
    let mut b = lower.b();
    let mut best = b.extract(x, 0);
    let mut place = b.int(Scalar::I32, 0);
    for i in 1..n {
        let component = b.extract(x, i);
        let is_better = b.compare(op, component, best);
        best = b.select(is_better, component, best);
        let here = b.int(Scalar::I32, i128::from(i));
        place = b.select(is_better, here, place);
    }
    Ok(Operand::Value(place))
}

fn argmin(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    search(lower, call, Op::Lt)
}

fn argmax(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    search(lower, call, Op::Gt)
}
