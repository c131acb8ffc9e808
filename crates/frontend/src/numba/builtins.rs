//! What can be called: the tables of all families, Python's own functions, calls by a name like `cuda.grid`.

use super::types::{self, Number};
use super::{array, atomics, blocks, complex, convert, create, external, math, print, warps};
use crate::walk::call::Args;
use crate::walk::expression::suggest;
use crate::walk::lower::{Lower, Reported, Result};
use crate::walk::operand::Operand;
use crate::warp::builtins::{Arg, Call};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Op, Scalar, Type, TypeKind, Value};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

/// A function by its name: members of modules as `cuda.grid`, `numpy.sqrt`, `operator.add`; those of `math` and
/// Python's own without a module.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// As in Python; `x?` may be left out, `*args` takes all further ones.
    pub(super) params: &'static str,
    pub(super) rule: fn(&mut Lower<'_, '_>, &Call<'_>) -> Result<Operand>,
}

pub(super) const fn row(
    name: &'static str,
    params: &'static str,
    rule: fn(&mut Lower<'_, '_>, &Call<'_>) -> Result<Operand>,
) -> Row {
    Row { name, params, rule }
}

const FAMILIES: [&[Row]; 8] =
    [PYTHON, blocks::ROWS, create::ROWS, atomics::ROWS, warps::ROWS, math::ROWS, print::ROWS, external::ROWS];

const PYTHON: &[Row] = &[
    row("int", "x?", |lower, call| number(lower, call, Scalar::I64)),
    row("float", "x?", |lower, call| number(lower, call, Scalar::F64)),
    row("bool", "x?", boolean),
    row("complex", "real?, imag?", complex_number),
    row("abs", "x", abs),
    row("min", "*args", |lower, call| extreme(lower, call, Op::Min)),
    row("max", "*args", |lower, call| extreme(lower, call, Op::Max)),
    row("round", "number, ndigits?", round),
    row("len", "obj", len),
    row("pow", "base, exp", |lower, call| operator(lower, call, Operator::Pow)),
    row("divmod", "a, b", divmod),
    row("tuple", "items", |lower, call| lower.items(&call.arg(0).operand, call.span).map(Operand::Tuple)),
    row("range", "*args", only_in_loops),
    row("enumerate", "*args", only_in_loops),
    row("zip", "*args", only_in_loops),
    row("reversed", "*args", only_in_loops),
    row("operator.truth", "a", boolean),
    // Loops over tuples of several types are unrolled anyway.
    row("literal_unroll", "container", |_, call| Ok(call.arg(0).operand.clone())),
    row("_like", "x, model", like),
    row("_bits", "x", bits),
    row("_float_of_bits", "x", bits),
    row("_complex", "real, imag", complex_number),
];

/// The functions of `operator` on two numbers.
const OPERATORS: [(&str, Operator); 13] = [
    ("add", Operator::Add),
    ("sub", Operator::Sub),
    ("mul", Operator::Mult),
    ("truediv", Operator::Div),
    ("floordiv", Operator::FloorDiv),
    ("mod", Operator::Mod),
    ("pow", Operator::Pow),
    ("lshift", Operator::LShift),
    ("rshift", Operator::RShift),
    ("and_", Operator::BitAnd),
    ("or_", Operator::BitOr),
    ("xor", Operator::BitXor),
    ("matmul", Operator::MatMult),
];

const COMPARISONS: [(&str, CmpOp); 6] = [
    ("eq", CmpOp::Eq),
    ("ne", CmpOp::NotEq),
    ("lt", CmpOp::Lt),
    ("le", CmpOp::LtE),
    ("gt", CmpOp::Gt),
    ("ge", CmpOp::GtE),
];

const SIGNS: [(&str, UnaryOp); 4] =
    [("neg", UnaryOp::USub), ("pos", UnaryOp::UAdd), ("invert", UnaryOp::Invert), ("not_", UnaryOp::Not)];

/// The names of Python's own functions.
pub(super) fn bare_names() -> Vec<&'static str> {
    PYTHON.iter().map(|row| row.name).filter(|name| !name.starts_with('_') && !name.contains('.')).collect()
}

/// What a name means in the part of the kernel library that is written in this dialect.
pub(super) fn library_name(name: &str) -> Option<HostValue> {
    Some(match Scalar::ALL.into_iter().find(|&scalar| types::name(Type::scalar(scalar)) == name) {
        Some(scalar) => HostValue::Type(TypePattern::Is(Type::scalar(scalar))),
        None => HostValue::Builtin(name.to_owned()),
    })
}

/// Calls a builtin by name.
pub(crate) fn call(lower: &mut Lower<'_, '_>, name: &str, args: Args, span: Span) -> Result<Operand> {
    let found = FAMILIES.iter().flat_map(|rows| rows.iter()).find(|row| row.name == name);
    if let Some(row) = found {
        let call = lower.match_arguments(name, row.params, args, span)?;
        return (row.rule)(lower, &call);
    }
    if let Some(result) = operator_call(lower, name, &args, span) {
        return result;
    }
    if let Some(function) = name.strip_prefix("numpy.")
        && let Some(result) = create::reduction(lower, function, &args, span)
    {
        return result;
    }
    if let Some(result) = math::ufunc(lower, name, &args, span) {
        return result;
    }
    if let Some(function) = name.strip_prefix("cmath.") {
        let args = complex_arguments(lower, args.clone(), span)?;
        if let Some(result) = lower.call_library(&format!("_cmath_{function}"), args, span) {
            return result;
        }
    }
    // Those of the kernel library that are written in the other dialect have no `_`.
    let function = name.strip_prefix("library.");
    if (name.starts_with('_') || function.is_some())
        && let Some(result) = lower.call_library(function.unwrap_or(name), args, span)
    {
        return result;
    }
    Err(unknown(lower, name, span))
}

fn unknown(lower: &mut Lower<'_, '_>, name: &str, span: Span) -> Reported {
    let report = lower.report("unknown-function", span, format!("`{name}` cannot be called in a kernel"));
    let known = FAMILIES.iter().flat_map(|rows| rows.iter().map(|row| row.name));
    let help = match suggest::closest(name, known) {
        Some(close) => format!("did you mean `{close}`?"),
        None => "kernels call functions of `cuda`, `math` and `cmath`, NumPy's on scalars, and device functions".into(),
    };
    lower.emit(report.help(help))
}

fn operator_call(lower: &mut Lower<'_, '_>, name: &str, args: &Args, span: Span) -> Option<Result<Operand>> {
    let function = name.strip_prefix("operator.")?;
    // `operator.iadd(a, b)` is `a + b` for numbers.
    let plain = function
        .strip_prefix('i')
        .filter(|rest| OPERATORS.iter().any(|(known, _)| known.trim_end_matches('_') == *rest));
    let is_it = |known: &str| known == function || plain.is_some_and(|plain| known.trim_end_matches('_') == plain);
    match args.positional.as_slice() {
        [a, b] => {
            if let Some((_, op)) = OPERATORS.iter().find(|(known, _)| is_it(known)) {
                return Some(lower.binary(*op, a, b, span));
            }
            let (_, op) = COMPARISONS.iter().find(|(known, _)| *known == function)?;
            Some(lower.compare(*op, a, b, span))
        }
        [a] => {
            let (_, op) = SIGNS.iter().find(|(known, _)| *known == function)?;
            Some(lower.unary(*op, a, span))
        }
        _ => None,
    }
}

/// Arguments of `cmath`'s functions: every number as a complex one.
fn complex_arguments(lower: &mut Lower<'_, '_>, mut args: Args, span: Span) -> Result<Args> {
    for operand in &mut args.positional {
        if let Some(Number::Real(scalar)) = lower.type_of(operand).and_then(Number::of) {
            let part = types::float(scalar, scalar);
            let value = lower.value(operand, span)?;
            *operand = Operand::Value(complex::widen(lower, value, part));
        }
    }
    Ok(args)
}

fn operator(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Operator) -> Result<Operand> {
    lower.binary(op, &call.arg(0).operand, &call.arg(1).operand, call.span)
}

fn divmod(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    Ok(Operand::Tuple(vec![operator(lower, call, Operator::FloorDiv)?, operator(lower, call, Operator::Mod)?]))
}

/// `int(x)`, `float(x)`: integers keep their type under `int`, float32 stays under `float`.
fn number(lower: &mut Lower<'_, '_>, call: &Call<'_>, to: Scalar) -> Result<Operand> {
    let Some(arg) = call.get(0) else { return Ok(Operand::Static(HostValue::Scalar(to, ir::Const(0)))) };
    if let Operand::Static(value @ (HostValue::Int(_) | HostValue::Float(_))) = &arg.operand {
        let is_same = matches!((value, to), (HostValue::Int(_), Scalar::I64) | (HostValue::Float(_), Scalar::F64));
        if is_same {
            return Ok(arg.operand.clone());
        }
    }
    if let Operand::Static(HostValue::Str(text)) = &arg.operand
        && to == Scalar::F64
        && let Ok(number) = text.trim().parse::<f64>()
    {
        return Ok(Operand::Static(HostValue::Float(number)));
    }
    let found = lower.type_of(&arg.operand).and_then(Type::as_scalar);
    let keeps = found.is_some_and(|scalar| scalar.is_float() == to.is_float() && scalar != Scalar::Bool);
    if keeps && !matches!(arg.operand, Operand::Static(_)) {
        return Ok(arg.operand.clone());
    }
    convert::cast(lower, to, &Args::positional(std::slice::from_ref(&arg.operand), arg.span), arg.span)
}

/// `_like(x, y)`: x in the type of y.
fn like(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match lower.type_of(&call.arg(1).operand) {
        Some(ty) => lower.value_as(&call.arg(0).operand, ty, call.span).map(Operand::Value),
        None => Err(lower.wrong_type(call, call.arg(1), "a value")),
    }
}

/// The bits of a float as an integer of its size, and back.
fn bits(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let value = lower.arg_value(call.arg(0))?;
    let to = match lower.ty(value).as_scalar() {
        Some(Scalar::F64) => Scalar::I64,
        Some(Scalar::F32) => Scalar::I32,
        Some(Scalar::F16) => Scalar::I16,
        Some(Scalar::I64) => Scalar::F64,
        Some(Scalar::I32) => Scalar::F32,
        Some(Scalar::I16) => Scalar::F16,
        _ => return Err(lower.wrong_type(call, call.arg(0), "a number of 16, 32 or 64 bits")),
    };
    Ok(Operand::Value(lower.b().push1(Op::Bitcast, &[value], ir::Attr::None, Type::scalar(to))))
}

fn boolean(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match call.get(0) {
        Some(arg) => lower.truth(&arg.operand, arg.span),
        None => Ok(Operand::Static(HostValue::Bool(false))),
    }
}

fn complex_number(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let operands: Vec<Operand> = call.all().into_iter().map(|arg| arg.operand).collect();
    let scalars = operands.iter().filter_map(|operand| Some(lower.type_of(operand).and_then(Number::of)?.scalar()));
    let is_small = scalars.map(|scalar| types::float(scalar, scalar)).all(|scalar| scalar == Scalar::F32);
    let part = if is_small && !operands.is_empty() { Scalar::F32 } else { Scalar::F64 };
    complex::construct(lower, part, &Args::positional(&operands, call.span), call.span)
}

fn abs(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let arg = call.arg(0);
    match lower.type_of(&arg.operand).and_then(Number::of) {
        Some(Number::Complex(_)) => {
            let value = lower.arg_value(arg)?;
            let (real, imag) = complex::parts(lower, value);
            Ok(Operand::Value(complex::hypot(lower, real, imag)))
        }
        Some(Number::Real(scalar)) => {
            let scalar = if scalar == Scalar::Bool { Scalar::I64 } else { scalar };
            let value = lower.value_as(&arg.operand, Type::scalar(scalar), arg.span)?;
            Ok(Operand::Value(if scalar.is_int() && !scalar.is_signed() {
                value
            } else {
                lower.b().unary(Op::Abs, value)
            }))
        }
        None => Err(lower.wrong_type(call, arg, "a number")),
    }
}

/// `min(a, b, …)` or of the items of a tuple. A NaN gives way to a number.
fn extreme(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let operands: Vec<Operand> = match call.rest.as_slice() {
        [] => {
            return Err(lower.error("argument-count", call.span, format!("`{}` takes at least one value", call.name)));
        }
        [only] => lower.items(&only.operand, only.span)?,
        all => all.iter().map(|arg| arg.operand.clone()).collect(),
    };
    let mut ty: Option<Type> = None;
    for operand in &operands {
        let found = lower.type_of(operand).filter(|ty| ty.as_scalar().is_some());
        ty = found.and_then(|found| ty.map_or(Some(found), |known| types::unify(known, found)));
        if ty.is_none() {
            let what = lower.describe(operand);
            return Err(lower.error(
                "argument-type",
                call.span,
                format!("`{}` takes numbers, found {what}", call.name),
            ));
        }
    }
    let Some(ty) = ty else { return Err(lower.error("argument-count", call.span, "an empty tuple has no extreme")) };
    let mut best: Option<Value> = None;
    for operand in &operands {
        let value = lower.value_as(operand, ty, call.span)?;
        best = Some(best.map_or(value, |known| lower.b().binary(op, known, value)));
    }
    Ok(best.map_or(Operand::NONE, Operand::Value))
}

/// `round(x)` is an int, halves to even; `round(x, n)` a float.
fn round(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let arg = call.arg(0);
    let Some(scalar) = lower.type_of(&arg.operand).and_then(Type::as_scalar) else {
        return Err(lower.wrong_type(call, arg, "a real number"));
    };
    let scalar = types::float(scalar, scalar);
    let x = lower.value_as(&arg.operand, Type::scalar(scalar), arg.span)?;
    let Some(digits) = call.get(1).filter(|digits| !digits.operand.is_none()) else {
        let whole = lower.b().unary(Op::Rint, x);
        return Ok(Operand::Value(lower.b().cast(whole, Scalar::I64)));
    };
    let n = lower.value_as(&digits.operand, Type::i64(), digits.span)?;
    let args = Args::positional(&[Operand::Value(x), Operand::Value(n)], call.span);
    lower.call_library("_round_digits", args, call.span).unwrap_or(Err(Reported))
}

fn len(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let arg = call.arg(0);
    let n = match &arg.operand {
        Operand::Tuple(items) => items.len(),
        Operand::Static(HostValue::Tuple(items)) => items.len(),
        Operand::Static(HostValue::Str(text)) => text.chars().count(),
        operand => match lower.type_of(operand).map(Type::kind) {
            Some(TypeKind::Array { .. }) => {
                let array = lower.arg_value(arg)?;
                return Ok(Operand::Value(lower.extent_of(array, 0)));
            }
            Some(TypeKind::Tuple(items)) => items.len(),
            Some(TypeKind::Struct(s)) => s.fields.len(),
            _ => return Err(lower.wrong_type(call, arg, "an array or a tuple")),
        },
    };
    Ok(Operand::int(n as i128))
}

fn only_in_loops(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let message = format!("`{}` can only stand after `in` of a `for` loop", call.name);
    Err(lower.error("unsupported-syntax", call.span, message))
}

/// An array argument and the element at an index argument: an integer or a tuple of them.
pub(super) fn cell(
    lower: &mut Lower<'_, '_>,
    call: &Call<'_>,
    array: &Arg,
    index: &Arg,
) -> Result<crate::walk::subscript::Access> {
    let part = array::parted(lower, &array.operand);
    let ty = part.map(|(whole, ..)| lower.ty(whole)).or_else(|| lower.type_of(&array.operand));
    let Some((_, rank)) = ty.and_then(Type::as_array) else {
        return Err(lower.wrong_type(call, array, "an array"));
    };
    let indices = array::flat(lower, &index.operand, index.span)?;
    if indices.len() != rank as usize {
        let message = format!("`{}` needs {rank} indices for this array, found {}", call.name, indices.len());
        return Err(lower.error("argument-count", index.span, message));
    }
    let name = lower.source(array.span);
    if let Some((whole, field, ty)) = part {
        let access = lower.element(whole, &indices, &name, call.span)?;
        return Ok(access.step(ir::PathElem::Static(field), &[], ty));
    }
    let value = lower.arg_value(array)?;
    lower.element(value, &indices, &name, call.span)
}
