//! What the lanes of a warp tell each other: shuffles, votes, matches; bits of integers.

use super::blocks::{predicate, wait};
use super::builtins::{Row, row};
use super::types::integer;
use crate::HostValue;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::warp::builtins::{Arg, Call};
use ir::{Attr, Op, Scalar, ShuffleMode, Type, Value, VoteMode};

pub(super) const ROWS: &[Row] = &[
    row("cuda.syncwarp", "mask?", sync),
    row("cuda.shfl_sync", "mask, value, src_lane", |lower, call| shuffle(lower, call, ShuffleMode::Index)),
    row("cuda.shfl_up_sync", "mask, value, delta", |lower, call| shuffle(lower, call, ShuffleMode::Up)),
    row("cuda.shfl_down_sync", "mask, value, delta", |lower, call| shuffle(lower, call, ShuffleMode::Down)),
    row("cuda.shfl_xor_sync", "mask, value, lane_mask", |lower, call| shuffle(lower, call, ShuffleMode::Xor)),
    row("cuda.all_sync", "mask, predicate", |lower, call| vote(lower, call, VoteMode::All)),
    row("cuda.any_sync", "mask, predicate", |lower, call| vote(lower, call, VoteMode::Any)),
    row("cuda.eq_sync", "mask, predicate", |lower, call| vote(lower, call, VoteMode::Uniform)),
    row("cuda.ballot_sync", "mask, predicate", |lower, call| vote(lower, call, VoteMode::Ballot)),
    row("cuda.match_any_sync", "mask, value", match_any),
    row("cuda.match_all_sync", "mask, value", match_all),
    row("cuda.activemask", "", |lower, _| {
        let mask = lower.b().push1(Op::ActiveMask, &[], Attr::None, Type::scalar(Scalar::U32));
        Ok(Operand::Value(lower.b().cast(mask, Scalar::I32)))
    }),
    row("cuda.lanemask_lt", "", lanes_below),
    row("cuda.popc", "x", |lower, call| bits(lower, call, |lower, x| lower.b().unary(Op::PopCount, x))),
    row("cuda.clz", "x", |lower, call| bits(lower, call, |lower, x| lower.b().unary(Op::LeadingZeros, x))),
    row("cuda.ffs", "x", |lower, call| bits(lower, call, first_set)),
    row("cuda.brev", "x", reversed),
    row("cuda.selp", "a, b, c", select),
    row("cuda.fma", "a, b, c", fma),
];

/// Lanes of a warp.
const WIDTH: i128 = 32;

/// `cuda.laneid`.
pub(super) fn lane(lower: &mut Lower<'_, '_>) -> Operand {
    Operand::Value(lower.b().push1(Op::LaneId, &[], Attr::None, Type::i32()))
}

fn mask(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<Value> {
    if let Some(value) = arg.operand.as_int() {
        return Ok(lower.b().int(Scalar::U32, value & 0xffff_ffff));
    }
    match lower.type_of(&arg.operand).and_then(Type::as_scalar) {
        Some(scalar) if scalar.is_int() => lower.value_as(&arg.operand, Type::scalar(Scalar::U32), arg.span),
        _ => Err(lower.wrong_type(call, arg, "an integer mask of lanes")),
    }
}

fn sync(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let mask = match call.get(0) {
        Some(arg) => mask(lower, call, arg)?,
        None => lower.b().int(Scalar::U32, 0xffff_ffff),
    };
    lower.b().push(Op::WarpBarrier, &[mask], Attr::None, &[], &[]);
    Ok(Operand::NONE)
}

/// A value that lanes can exchange: narrow integers are widened to 32 bits.
fn exchanged(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<Value> {
    let Some(scalar) = lower.type_of(&arg.operand).and_then(Type::as_scalar) else {
        return Err(lower.wrong_type(call, arg, "a 32- or 64-bit number"));
    };
    let scalar = match scalar {
        _ if scalar.size() >= 4 => scalar,
        _ if scalar.is_float() => Scalar::F32,
        _ => Scalar::I32,
    };
    lower.value_as(&arg.operand, Type::scalar(scalar), arg.span)
}

fn shuffle(lower: &mut Lower<'_, '_>, call: &Call<'_>, mode: ShuffleMode) -> Result<Operand> {
    let mask = mask(lower, call, call.arg(0))?;
    let value = exchanged(lower, call, call.arg(1))?;
    let lane = lower.value_as(&call.arg(2).operand, Type::i32(), call.arg(2).span)?;
    let width = lower.b().int(Scalar::I32, WIDTH);
    let types = [lower.ty(value), Type::bool()];
    let inst = lower.b().push(Op::Shuffle, &[mask, value, lane, width], Attr::Shuffle(mode), &[], &types);
    Ok(Operand::Value(lower.func.inst(inst).results[0]))
}

fn vote(lower: &mut Lower<'_, '_>, call: &Call<'_>, mode: VoteMode) -> Result<Operand> {
    let mask = mask(lower, call, call.arg(0))?;
    let holds = predicate(lower, call.arg(1))?;
    let is_ballot = mode == VoteMode::Ballot;
    let ty = if is_ballot { Type::scalar(Scalar::U32) } else { Type::bool() };
    let result = lower.b().push1(Op::Vote, &[mask, holds], Attr::Vote(mode), ty);
    Ok(Operand::Value(if is_ballot { lower.b().cast(result, Scalar::I32) } else { result }))
}

fn match_any(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (mask, value) = (mask(lower, call, call.arg(0))?, exchanged(lower, call, call.arg(1))?);
    let lanes = lower.b().push1(Op::MatchAny, &[mask, value], Attr::None, Type::scalar(Scalar::U32));
    Ok(Operand::Value(lower.b().cast(lanes, Scalar::I32)))
}

fn match_all(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (mask, value) = (mask(lower, call, call.arg(0))?, exchanged(lower, call, call.arg(1))?);
    let types = [Type::scalar(Scalar::U32), Type::bool()];
    let inst = lower.b().push(Op::MatchAll, &[mask, value], Attr::None, &[], &types);
    let results = lower.func.inst(inst).results.clone();
    let lanes = lower.b().cast(results[0], Scalar::I32);
    Ok(Operand::Tuple(vec![Operand::Value(lanes), Operand::Value(results[1])]))
}

fn lanes_below(lower: &mut Lower<'_, '_>, _: &Call<'_>) -> Result<Operand> {
    let lane = lower.b().push1(Op::LaneId, &[], Attr::None, Type::i32());
    let (one, minus) = (lower.b().int(Scalar::I32, 1), lower.b().int(Scalar::I32, -1));
    let bit = lower.b().binary(Op::Shl, one, lane);
    Ok(Operand::Value(lower.b().binary(Op::Add, bit, minus)))
}

/// An integer argument of 32 or 64 bits.
fn word(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<(Value, Scalar)> {
    let arg = call.arg(0);
    match lower.type_of(&arg.operand).and_then(Type::as_scalar) {
        Some(scalar) if !scalar.is_float() => {
            let unsigned = if scalar.size() == 8 { Scalar::U64 } else { Scalar::U32 };
            let value = lower.value_as(&arg.operand, Type::scalar(unsigned), arg.span)?;
            Ok((value, unsigned))
        }
        _ => Err(lower.wrong_type(call, arg, "an integer")),
    }
}

fn bits(lower: &mut Lower<'_, '_>, call: &Call<'_>, count: fn(&mut Lower<'_, '_>, Value) -> Value) -> Result<Operand> {
    let (value, _) = word(lower, call)?;
    let result = count(lower, value);
    Ok(Operand::Value(lower.b().cast(result, Scalar::I32)))
}

/// Position of the lowest one bit, from 1; 0 where there is none.
fn first_set(lower: &mut Lower<'_, '_>, x: Value) -> Value {
    let scalar = lower.ty(x).as_scalar().unwrap_or(Scalar::U32);
    let mut b = lower.b();
    let (zero, one) = (b.int(scalar, 0), b.int(scalar, 1));
    let trailing = b.unary(Op::TrailingZeros, x);
    let position = b.binary(Op::Add, trailing, one);
    let is_zero = b.compare(Op::Eq, x, zero);
    b.select(is_zero, zero, position)
}

fn reversed(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (value, scalar) = word(lower, call)?;
    Ok(Operand::Value(crate::walk::bits::reversed(&mut lower.b(), value, scalar)))
}

fn select(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let condition = lower.truth(&call.arg(0).operand, call.arg(0).span)?;
    if let Operand::Static(HostValue::Bool(holds)) = condition {
        return Ok(call.arg(if holds { 1 } else { 2 }).operand.clone());
    }
    let types = [1, 2].map(|at| lower.type_of(&call.arg(at).operand));
    let [Some(x), Some(y)] = types else { return Err(lower.wrong_type(call, call.arg(1), "a number")) };
    let Some(ty) = super::types::unify(x, y) else { return Err(lower.wrong_type(call, call.arg(1), "a number")) };
    let x = lower.value_as(&call.arg(1).operand, ty, call.span)?;
    let y = lower.value_as(&call.arg(2).operand, ty, call.span)?;
    let condition = lower.value(&condition, call.span)?;
    Ok(Operand::Value(lower.b().select(condition, x, y)))
}

fn fma(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let mut scalar = None;
    for at in 0..3 {
        let found = lower.type_of(&call.arg(at).operand).and_then(Type::as_scalar);
        let Some(found) = found else { return Err(lower.wrong_type(call, call.arg(at), "a number")) };
        scalar = Some(super::types::float(found, scalar.unwrap_or(found)));
    }
    let ty = Type::scalar(scalar.unwrap_or(Scalar::F64));
    let mut values = Vec::new();
    for at in 0..3 {
        values.push(lower.value_as(&call.arg(at).operand, ty, call.arg(at).span)?);
    }
    Ok(Operand::Value(lower.b().push1(Op::Fma, &values, Attr::None, ty)))
}

/// `g.sync()` of the grid's group.
pub(super) fn grid_sync(lower: &mut Lower<'_, '_>) -> Result<Operand> {
    wait(lower, Op::GridBarrier)?;
    Ok(Operand::int(0))
}

/// The integer that has an int's bits counted: `int.bit_count`.
pub(super) fn bit_count(lower: &mut Lower<'_, '_>, value: Value) -> Value {
    let scalar = lower.ty(value).as_scalar().unwrap_or(Scalar::I64);
    let size = lower.b().unary(Op::Abs, value);
    let count = lower.b().unary(Op::PopCount, size);
    lower.b().cast(count, integer(scalar, scalar))
}
