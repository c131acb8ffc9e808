//! Matrices put together and taken apart; the algebra is in the library.

use super::{Arg, Call, Row, own};
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[
    own("transpose", "a", transpose),
    own("identity", "n, dtype?", identity),
    own("matrix_from_rows", "*args", from_rows),
    own("matrix_from_cols", "*args", from_cols),
    own("trace", "a", trace),
    own("get_diag", "mat", get_diag),
    own("diag", "vec", diag),
    own("outer", "a, b", outer),
    own("mul", "a, b", mul),
    own("div", "a, b", div),
    own("pos", "x", pos),
    own("unot", "x", unot),
];

/// A matrix argument with its element type, rows and columns.
fn matrix(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<(Value, Scalar, u32, u32)> {
    match lower.type_of(&arg.operand).map(Type::kind) {
        Some(&TypeKind::Matrix { elem, rows, cols }) => Ok((lower.arg_value(arg)?, elem, rows, cols)),
        _ => Err(lower.wrong_type(call, arg, "a matrix")),
    }
}

fn vector(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<(Value, Scalar, u32)> {
    match lower.type_of(&arg.operand).map(Type::kind) {
        Some(&TypeKind::Vector { elem, len }) => Ok((lower.arg_value(arg)?, elem, len)),
        _ => Err(lower.wrong_type(call, arg, "a vector")),
    }
}

fn transpose(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (m, elem, rows, cols) = matrix(lower, call, call.arg(0))?;
    Ok(Operand::Value(lower.b().push1(Op::Transpose, &[m], Attr::None, Type::matrix(elem, cols, rows))))
}

fn identity(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let n = lower.static_int(call, call.arg(0))?;
    let elem = match call.get(1) {
        Some(arg) => lower.scalar_argument(call, arg)?,
        None => Scalar::F32,
    };
    let mut b = lower.b();
    let (zero, one) = (b.int(elem, 0), b.int(elem, 1));
    let items: Vec<Value> = (0..n * n).map(|i| if i / n == i % n { one } else { zero }).collect();
    Ok(Operand::Value(b.construct(Type::matrix(elem, n, n), &items)))
}

/// The matrix whose rows are the arguments.
fn rows_of(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<(Value, Scalar, u32, u32)> {
    let Some(first) = call.rest.first() else {
        return Err(lower.error("argument-count", call.span, format!("`{}` needs at least one vector", call.name)));
    };
    let (_, elem, len) = vector(lower, call, first)?;
    let mut items = Vec::new();
    for arg in &call.rest {
        let row = lower.value_as(&arg.operand, Type::vector(elem, len), arg.span)?;
        items.extend((0..len).map(|i| lower.b().extract(row, i)));
    }
    let n = call.rest.len() as u32;
    Ok((lower.b().construct(Type::matrix(elem, n, len), &items), elem, n, len))
}

fn from_rows(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    rows_of(lower, call).map(|(m, ..)| Operand::Value(m))
}

fn from_cols(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (m, elem, rows, cols) = rows_of(lower, call)?;
    Ok(Operand::Value(lower.b().push1(Op::Transpose, &[m], Attr::None, Type::matrix(elem, cols, rows))))
}

fn diagonal(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<(Vec<Value>, Scalar)> {
    let (m, elem, rows, cols) = matrix(lower, call, call.arg(0))?;
    if rows != cols {
        return Err(lower.wrong_type(call, call.arg(0), "a square matrix"));
    }
    Ok(((0..rows).map(|i| lower.b().extract(m, i * cols + i)).collect(), elem))
}

fn trace(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (items, _) = diagonal(lower, call)?;
    let (first, rest) = items.split_at(1);
    Ok(Operand::Value(rest.iter().fold(first[0], |sum, &x| lower.b().binary(Op::Add, sum, x))))
}

fn get_diag(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (items, elem) = diagonal(lower, call)?;
    Ok(Operand::Value(lower.b().construct(Type::vector(elem, items.len() as u32), &items)))
}

fn diag(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (v, elem, len) = vector(lower, call, call.arg(0))?;
    let mut b = lower.b();
    let zero = b.int(elem, 0);
    let items: Vec<Value> =
        (0..len * len).map(|i| if i / len == i % len { b.extract(v, i / len) } else { zero }).collect();
    Ok(Operand::Value(b.construct(Type::matrix(elem, len, len), &items)))
}

fn outer(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (x, elem, rows) = vector(lower, call, call.arg(0))?;
    let (y, other, cols) = vector(lower, call, call.arg(1))?;
    if elem != other {
        let wanted = format!("a vector of `{}`", lower.name_of(Type::scalar(elem)));
        return Err(lower.wrong_type(call, call.arg(1), &wanted));
    }
    let mut b = lower.b();
    let mut items = Vec::new();
    for i in 0..rows {
        for j in 0..cols {
            let (left, right) = (b.extract(x, i), b.extract(y, j));
            items.push(b.binary(Op::Mul, left, right));
        }
    }
    Ok(Operand::Value(b.construct(Type::matrix(elem, rows, cols), &items)))
}

/// The operator `*` as a function.
fn mul(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, b) = (call.arg(0).operand.clone(), call.arg(1).operand.clone());
    lower.binary(ruff_python_ast::Operator::Mult, &a, &b, call.span)
}

fn div(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, b) = (call.arg(0).operand.clone(), call.arg(1).operand.clone());
    lower.binary(ruff_python_ast::Operator::Div, &a, &b, call.span)
}

fn pos(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = call.arg(0).operand.clone();
    lower.unary(ruff_python_ast::UnaryOp::UAdd, &x, call.span)
}

fn unot(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = call.arg(0).operand.clone();
    lower.unary(ruff_python_ast::UnaryOp::Not, &x, call.span)
}
