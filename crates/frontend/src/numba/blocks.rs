//! Threads, blocks and the grid; memory that belongs to a block or a thread; barriers and fences.
//!
//! ```text
//! cuda.grid(1)        ->    block_index {0} * block_extent {0} + thread_index {0}
//! cuda.threadIdx.x    ->    cast (thread_index {0}) to i32
//! ```

use super::builtins::{Row, row};
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::warp::builtins::{Arg, Call};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Attr, FenceScope, Op, Scalar, Type, Value};

pub(super) const ROWS: &[Row] = &[
    row("cuda.grid", "ndim", |lower, call| spread(lower, call, grid_index)),
    row("cuda.gridsize", "ndim", |lower, call| spread(lower, call, grid_size)),
    row("cuda.syncthreads", "", |lower, _| wait(lower, Op::Barrier)),
    row("cuda.syncthreads_count", "predicate", |lower, call| counted(lower, call, Op::BarrierCount)),
    row("cuda.syncthreads_and", "predicate", |lower, call| counted(lower, call, Op::BarrierAnd)),
    row("cuda.syncthreads_or", "predicate", |lower, call| counted(lower, call, Op::BarrierOr)),
    row("cuda.threadfence", "", |lower, _| fence(lower, FenceScope::Device)),
    row("cuda.threadfence_block", "", |lower, _| fence(lower, FenceScope::Block)),
    row("cuda.threadfence_system", "", |lower, _| fence(lower, FenceScope::System)),
    row("cuda.nanosleep", "ns", |_, _| Ok(Operand::NONE)),
    row("cuda.cg.this_grid", "", |_, _| Ok(Operand::Static(HostValue::Builtin(GRID_GROUP.into())))),
    row("cuda.shared.array", "shape, dtype, alignment?", shared),
    row("cuda.local.array", "shape, dtype, alignment?", local),
];

/// What `cg.this_grid()` gives.
pub(super) const GRID_GROUP: &str = "cuda.grid_group";

/// `cuda.threadIdx` and the like, and the op of each.
const POSITIONS: [(&str, Op); 4] = [
    ("cuda.threadIdx", Op::ThreadIndex),
    ("cuda.blockIdx", Op::BlockIndex),
    ("cuda.blockDim", Op::BlockExtent),
    ("cuda.gridDim", Op::GridExtent),
];

/// A local array lives on the stack of a worker thread.
pub(super) const MAX_LOCAL_BYTES: u64 = 512 << 10;
/// What a block may share on any device.
const MAX_SHARED_BYTES: u64 = 227 << 10;

/// `cuda.threadIdx.x`: an int32.
pub(super) fn position(lower: &mut Lower<'_, '_>, builtin: &str, name: &str) -> Option<Operand> {
    let (_, op) = POSITIONS.iter().find(|(known, _)| *known == builtin)?;
    let dim = ["x", "y", "z"].iter().position(|letter| *letter == name)? as u32;
    let value = index(lower, *op, dim);
    Some(Operand::Value(lower.b().cast(value, Scalar::I32)))
}

/// `cuda.threadIdx` as a whole: its three parts.
pub(super) fn positions(lower: &mut Lower<'_, '_>, builtin: &str) -> Option<Vec<Operand>> {
    ["x", "y", "z"].iter().map(|name| position(lower, builtin, name)).collect()
}

fn index(lower: &mut Lower<'_, '_>, op: Op, dim: u32) -> Value {
    lower.b().push1(op, &[], Attr::Index(dim), Type::i64())
}

fn grid_index(lower: &mut Lower<'_, '_>, dim: u32) -> Value {
    let (block, extent) = (index(lower, Op::BlockIndex, dim), index(lower, Op::BlockExtent, dim));
    let first = lower.b().binary(Op::Mul, block, extent);
    let thread = index(lower, Op::ThreadIndex, dim);
    lower.b().binary(Op::Add, first, thread)
}

fn grid_size(lower: &mut Lower<'_, '_>, dim: u32) -> Value {
    let (grid, block) = (index(lower, Op::GridExtent, dim), index(lower, Op::BlockExtent, dim));
    lower.b().binary(Op::Mul, grid, block)
}

/// `grid(1)` is an integer, `grid(2)` a tuple of two.
fn spread(lower: &mut Lower<'_, '_>, call: &Call<'_>, of: fn(&mut Lower<'_, '_>, u32) -> Value) -> Result<Operand> {
    let n = match call.arg(0).operand.as_int() {
        Some(n @ 1..=3) => n as u32,
        Some(_) => return Err(lower.wrong_type(call, call.arg(0), "the constant 1, 2 or 3")),
        None => {
            let (name, found) = (call.name, lower.describe(&call.arg(0).operand));
            let message = format!("RequireLiteralValue: `{name}` needs the constant 1, 2 or 3, found {found}");
            return Err(lower.error("argument-type", call.arg(0).span, message));
        }
    };
    let items: Vec<Operand> = (0..n).map(|dim| Operand::Value(of(lower, dim))).collect();
    Ok(if let [one] = items.as_slice() { one.clone() } else { Operand::Tuple(items) })
}

pub(super) fn wait(lower: &mut Lower<'_, '_>, op: Op) -> Result<Operand> {
    lower.b().push(op, &[], Attr::None, &[], &[]);
    Ok(Operand::NONE)
}

fn counted(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let holds = predicate(lower, call.arg(0))?;
    Ok(Operand::Value(lower.b().push1(op, &[holds], Attr::None, Type::i32())))
}

pub(super) fn predicate(lower: &mut Lower<'_, '_>, arg: &Arg) -> Result<Value> {
    let holds = lower.truth(&arg.operand, arg.span)?;
    lower.value(&holds, arg.span)
}

fn fence(lower: &mut Lower<'_, '_>, scope: FenceScope) -> Result<Operand> {
    lower.b().push(Op::Fence, &[], Attr::Scope(scope), &[], &[]);
    Ok(Operand::NONE)
}

/// `shared.array(shape, dtype)`; a shape of 0 is the launch's dynamic shared memory.
fn shared(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    check_alignment(lower, call)?;
    let (shape, elem) = (extents(lower, call)?, dtype(lower, call, call.arg(1))?);
    if shape == [0] {
        let start = lower.b().int(Scalar::I64, 0);
        return Ok(Operand::Value(lower.b().push1(Op::DynamicShared, &[start], Attr::None, Type::array(elem, 1))));
    }
    own(lower, call.span, Op::SharedArray, &shape, elem, MAX_SHARED_BYTES)
}

fn local(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    check_alignment(lower, call)?;
    let (shape, elem) = (extents(lower, call)?, dtype(lower, call, call.arg(1))?);
    own(lower, call.span, Op::LocalArray, &shape, elem, MAX_LOCAL_BYTES)
}

pub(super) fn own(
    lower: &mut Lower<'_, '_>,
    span: Span,
    op: Op,
    shape: &[u64],
    elem: Type,
    most: u64,
) -> Result<Operand> {
    let bytes = shape.iter().fold(elem.size(), |bytes, &n| bytes.saturating_mul(n));
    if bytes > most {
        let what = if op == Op::SharedArray { "a shared array" } else { "a local array" };
        let message = format!("{what} of {bytes} bytes is too large: at most {most} bytes");
        return Err(lower.error("local-array-size", span, message));
    }
    let ty = Type::array(elem, shape.len() as u32);
    Ok(Operand::Value(lower.b().push1(op, &[], Attr::Extents(shape.to_vec().into()), ty)))
}

/// Alignment is a power of two; memory is aligned to more than any that is useful.
fn check_alignment(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<()> {
    let Some(arg) = call.get(2).filter(|arg| !arg.operand.is_none()) else { return Ok(()) };
    match arg.operand.as_int() {
        Some(n) if n > 0 && n & (n - 1) == 0 => Ok(()),
        _ => Err(lower.wrong_type(call, arg, "an alignment that is a constant power of two")),
    }
}

/// The shape of an array made in a kernel: constants.
pub(super) fn extents(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Vec<u64>> {
    let arg = call.arg(0);
    let items = match &arg.operand {
        operand if operand.as_int().is_some() => vec![operand.clone()],
        Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => lower.items(&arg.operand, arg.span)?,
        _ => Vec::new(),
    };
    let shape: Option<Vec<u64>> = items.iter().map(|item| u64::try_from(item.as_int()?).ok()).collect();
    match shape {
        Some(shape) if (1..=4).contains(&shape.len()) => Ok(shape),
        _ => Err(lower.wrong_type(call, arg, "a shape of 1 to 4 constants, known when compiling")),
    }
}

/// The type that `dtype=` names.
pub(super) fn dtype(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<Type> {
    match &arg.operand {
        Operand::Static(HostValue::Type(TypePattern::Is(ty))) => Ok(*ty),
        Operand::Static(HostValue::Builtin(name)) if name == "int" => Ok(Type::i64()),
        Operand::Static(HostValue::Builtin(name)) if name == "float" => Ok(Type::scalar(Scalar::F64)),
        Operand::Static(HostValue::Builtin(name)) if name == "bool" => Ok(Type::bool()),
        Operand::Static(HostValue::Builtin(name)) if name == "complex" => Ok(super::types::complex(Scalar::F64)),
        Operand::Static(HostValue::Str(name)) => match super::builtins::library_name(name) {
            Some(HostValue::Type(TypePattern::Is(ty))) => Ok(ty),
            _ => {
                let report =
                    lower.report("argument-type", arg.span, format!("Invalid NumPy dtype specified: '{name}'"));
                Err(lower.emit(report.help("write the name of a type such as \"float32\"")))
            }
        },
        _ => Err(lower.wrong_type(call, arg, "a type such as `float32` here")),
    }
}
