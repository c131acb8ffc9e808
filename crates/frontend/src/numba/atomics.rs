//! `cuda.atomic.add(array, index, value)` and its like: one step each; they give what was there.

use super::builtins::{Row, cell, row};
use crate::HostValue;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::walk::subscript::Access;
use crate::warp::builtins::{Arg, Call};
use diagnostics::Span;
use ir::{AtomicOp, Attr, Op, Scalar, Type, Value};

const CELL: &str = "ary, idx, val";

pub(super) const ROWS: &[Row] = &[
    row("cuda.atomic.add", CELL, |lower, call| simple(lower, call, AtomicOp::Add)),
    row("cuda.atomic.sub", CELL, |lower, call| simple(lower, call, AtomicOp::Sub)),
    row("cuda.atomic.and_", CELL, |lower, call| simple(lower, call, AtomicOp::And)),
    row("cuda.atomic.or_", CELL, |lower, call| simple(lower, call, AtomicOp::Or)),
    row("cuda.atomic.xor", CELL, |lower, call| simple(lower, call, AtomicOp::Xor)),
    row("cuda.atomic.exch", CELL, |lower, call| simple(lower, call, AtomicOp::Exchange)),
    row("cuda.atomic.max", CELL, |lower, call| extreme(lower, call, AtomicOp::Max)),
    row("cuda.atomic.min", CELL, |lower, call| extreme(lower, call, AtomicOp::Min)),
    row("cuda.atomic.nanmax", CELL, |lower, call| simple(lower, call, AtomicOp::Max)),
    row("cuda.atomic.nanmin", CELL, |lower, call| simple(lower, call, AtomicOp::Min)),
    row("cuda.atomic.inc", CELL, |lower, call| wrapped(lower, call, true)),
    row("cuda.atomic.dec", CELL, |lower, call| wrapped(lower, call, false)),
    row("cuda.atomic.cas", "ary, idx, old, val", compare_and_swap),
    row("cuda.atomic.compare_and_swap", "ary, old, val", compare_and_swap_first),
    // Hints for caches: plain loads and stores, which give the same values.
    row("cuda.ldca", "ary, idx", load),
    row("cuda.ldcg", "ary, idx", load),
    row("cuda.ldcs", "ary, idx", load),
    row("cuda.ldlu", "ary, idx", load),
    row("cuda.ldcv", "ary, idx", load),
    row("cuda.stcg", "ary, idx, value", store),
    row("cuda.stcs", "ary, idx, value", store),
    row("cuda.stwb", "ary, idx, value", store),
    row("cuda.stwt", "ary, idx, value", store),
];

/// An element that a hint is for: of an array of numbers, at as many integers as it has dimensions.
fn hinted(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Access> {
    let (array, index) = (call.arg(0), call.arg(1));
    if let Some((elem, rank)) = lower.type_of(&array.operand).and_then(Type::as_array) {
        let wrong =
            |lower: &mut Lower<'_, '_>, arg: &Arg, why: String| Err(lower.error("argument-type", arg.span, why));
        if elem.as_scalar().is_none_or(|scalar| scalar == Scalar::Bool) {
            let name = call.name.trim_start_matches("cuda.");
            return wrong(lower, array, format!("{name} requires array of integer or float type"));
        }
        let is_tuple = matches!(index.operand, Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)));
        let indices = if is_tuple { lower.items(&index.operand, index.span)? } else { vec![index.operand.clone()] };
        if indices.len() != rank as usize {
            let found = if is_tuple { indices.len().to_string() } else { "a scalar".to_owned() };
            return wrong(lower, index, format!("Expected {rank} indices, got {found}"));
        }
        let scalars = indices.iter().filter_map(|index| lower.type_of(index).and_then(Type::as_scalar));
        if let Some(scalar) = scalars.into_iter().find(|scalar| !scalar.is_int()) {
            let name = lower.name_of(Type::scalar(scalar));
            return wrong(lower, index, format!("{name} is not a valid index"));
        }
    }
    cell(lower, call, array, index)
}

fn load(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let access = hinted(lower, call)?;
    Ok(Operand::Value(lower.load(&access)))
}

fn store(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let access = hinted(lower, call)?;
    let value = lower.value_as(&call.arg(2).operand, access.ty, call.arg(2).span)?;
    lower.store(&access, value);
    Ok(Operand::NONE)
}

/// The cell and the value, where the array's element type is one that the operation is for.
fn place(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<(Access, Scalar, Value)> {
    let access = cell(lower, call, call.arg(0), call.arg(1))?;
    let scalar = scalar(lower, call, &access)?;
    let last = call.arg(2);
    let value = lower.value_as(&last.operand, Type::scalar(scalar), last.span)?;
    Ok((access, scalar, value))
}

fn scalar(lower: &mut Lower<'_, '_>, call: &Call<'_>, access: &Access) -> Result<Scalar> {
    match access.ty.as_scalar() {
        Some(scalar) if scalar.size() >= 4 => Ok(scalar),
        _ => Err(lower.wrong_type(call, call.arg(0), "an array of 32- or 64-bit numbers")),
    }
}

fn simple(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: AtomicOp) -> Result<Operand> {
    let (access, scalar, value) = place(lower, call)?;
    if matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor) && !scalar.is_int() {
        return Err(lower.wrong_type(call, call.arg(0), "an array of integers"));
    }
    Ok(Operand::Value(atomic(lower, op, &access, value)))
}

fn atomic(lower: &mut Lower<'_, '_>, op: AtomicOp, access: &Access, value: Value) -> Value {
    lower.b().atomic(op, access.array, &access.indices, &access.path, &access.path_indices, value)
}

/// `max` and `min` leave a NaN that is there; the op would replace it.
fn extreme(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: AtomicOp) -> Result<Operand> {
    let (access, scalar, value) = place(lower, call)?;
    if !scalar.is_float() {
        return Ok(Operand::Value(atomic(lower, op, &access, value)));
    }
    let old = lower.load(&access);
    let is_nan = lower.b().push1(Op::IsNan, &[old], Attr::None, Type::bool());
    let (kept, ()) = lower.in_region(&[], |lower| lower.b().yield_(&[old]));
    let (changed, ()) = lower.in_region(&[], |lower| {
        let old = atomic(lower, op, &access, value);
        lower.b().yield_(&[old]);
    });
    let inst = lower.b().push(Op::If, &[is_nan], Attr::None, &[kept, changed], &[Type::scalar(scalar)]);
    Ok(Operand::Value(lower.func.inst(inst).result()))
}

/// `inc`: one more, 0 after `val`. `dec`: one less, `val` after 0 and where it was above `val`.
fn wrapped(lower: &mut Lower<'_, '_>, call: &Call<'_>, is_inc: bool) -> Result<Operand> {
    let (access, scalar, bound) = place(lower, call)?;
    if scalar.is_float() {
        return Err(lower.wrong_type(call, call.arg(0), "an array of uint32 or uint64"));
    }
    // The loop carries what it saw last: a loop's results are of its parameters' types.
    let (body, ()) = lower.in_region(&[Type::scalar(scalar)], |lower| {
        let old = lower.load(&access);
        let new = lower.b().wrapped_step(scalar, old, bound, is_inc);
        let seen = swap(lower, &access, old, new);
        let is_done = lower.b().compare(Op::Eq, seen, old);
        let (done, ()) = lower.in_region(&[], |lower| lower.b().break_(&[seen]));
        let (again, ()) = lower.in_region(&[], |lower| lower.b().yield_(&[]));
        lower.b().push(Op::If, &[is_done], Attr::None, &[done, again], &[]);
        lower.b().continue_(&[seen]);
    });
    let start = lower.b().int(scalar, 0);
    let inst = lower.b().push(Op::Loop, &[start], Attr::None, &[body], &[Type::scalar(scalar)]);
    Ok(Operand::Value(lower.func.inst(inst).result()))
}

fn swap(lower: &mut Lower<'_, '_>, access: &Access, old: Value, new: Value) -> Value {
    let operands = [&[access.array], access.indices.as_slice(), &access.path_indices, &[old, new]].concat();
    let path = access.path.clone().into_boxed_slice();
    let ty = lower.ty(old);
    lower.b().push1(Op::AtomicCas, &operands, Attr::Path(path), ty)
}

fn exchange(lower: &mut Lower<'_, '_>, call: &Call<'_>, access: &Access, from: usize, span: Span) -> Result<Operand> {
    let ty = Type::scalar(scalar(lower, call, access)?);
    let old = lower.value_as(&call.arg(from).operand, ty, span)?;
    let new = lower.value_as(&call.arg(from + 1).operand, ty, span)?;
    Ok(Operand::Value(swap(lower, access, old, new)))
}

fn compare_and_swap(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let access = cell(lower, call, call.arg(0), call.arg(1))?;
    exchange(lower, call, &access, 2, call.span)
}

/// The old form: the first element.
fn compare_and_swap_first(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let first = crate::warp::builtins::Arg { operand: Operand::int(0), span: call.span };
    let access = cell(lower, call, call.arg(0), &first)?;
    exchange(lower, call, &access, 1, call.span)
}
