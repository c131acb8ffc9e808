//! What threads of a block and lanes of a warp do together: barriers, fences, shuffles, votes.

use super::{Call, Row, open, row};
use crate::c::lower::Result;
use crate::c::lower::body::{Body, Rvalue};
use crate::c::types::{self, CType};
use ir::{Attr, FenceScope, Op, Scalar, ShuffleMode, Type, Value, VoteMode};

pub(super) const ROWS: &[Row] = &[
    row("__syncthreads", 0, |body, _| plain(body, Op::Barrier, Attr::None)),
    row("__syncthreads_count", 1, |body, call| counted(body, call, Op::BarrierCount)),
    row("__syncthreads_and", 1, |body, call| counted(body, call, Op::BarrierAnd)),
    row("__syncthreads_or", 1, |body, call| counted(body, call, Op::BarrierOr)),
    row("__threadfence", 0, |body, _| plain(body, Op::Fence, Attr::Scope(FenceScope::Device))),
    row("__threadfence_block", 0, |body, _| plain(body, Op::Fence, Attr::Scope(FenceScope::Block))),
    row("__threadfence_system", 0, |body, _| plain(body, Op::Fence, Attr::Scope(FenceScope::System))),
    row("__nanosleep", 1, |_, _| Ok(Rvalue::VOID)),
    open("__syncwarp", 0, 1, sync_warp),
    open("__shfl_sync", 3, 4, |body, call| shuffle(body, call, ShuffleMode::Index)),
    open("__shfl_up_sync", 3, 4, |body, call| shuffle(body, call, ShuffleMode::Up)),
    open("__shfl_down_sync", 3, 4, |body, call| shuffle(body, call, ShuffleMode::Down)),
    open("__shfl_xor_sync", 3, 4, |body, call| shuffle(body, call, ShuffleMode::Xor)),
    row("__all_sync", 2, |body, call| vote(body, call, VoteMode::All)),
    row("__any_sync", 2, |body, call| vote(body, call, VoteMode::Any)),
    row("__uni_sync", 2, |body, call| vote(body, call, VoteMode::Uniform)),
    row("__ballot_sync", 2, |body, call| vote(body, call, VoteMode::Ballot)),
    row("__match_any_sync", 2, match_any),
    row("__match_all_sync", 3, match_all),
    row("__activemask", 0, |body, _| {
        let value = body.b().push1(Op::ActiveMask, &[], Attr::None, Type::scalar(Scalar::U32));
        Ok(Rvalue::value(CType::UNSIGNED, value))
    }),
    row("__reduce_add_sync", 2, |body, call| reduced(body, call, Op::Add)),
    row("__reduce_min_sync", 2, |body, call| reduced(body, call, Op::Min)),
    row("__reduce_max_sync", 2, |body, call| reduced(body, call, Op::Max)),
    row("__reduce_and_sync", 2, |body, call| reduced(body, call, Op::And)),
    row("__reduce_or_sync", 2, |body, call| reduced(body, call, Op::Or)),
    row("__reduce_xor_sync", 2, |body, call| reduced(body, call, Op::Xor)),
];

fn plain(body: &mut Body<'_, '_, '_>, op: Op, attr: Attr) -> Result<Rvalue> {
    body.b().push(op, &[], attr, &[], &[]);
    Ok(Rvalue::VOID)
}

fn counted(body: &mut Body<'_, '_, '_>, call: &Call<'_>, op: Op) -> Result<Rvalue> {
    let holds = body.condition(&call.args[0])?;
    let value = body.b().push1(op, &[holds], Attr::None, Type::i32());
    Ok(Rvalue::value(CType::INT, value))
}

fn sync_warp(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let mask = match call.args.first() {
        Some(_) => body.number_arg(call, 0, Scalar::U32)?,
        None => body.b().int(Scalar::U32, 0xffff_ffff),
    };
    body.b().push(Op::WarpBarrier, &[mask], Attr::None, &[], &[]);
    Ok(Rvalue::VOID)
}

/// A value that lanes can exchange: narrow numbers are widened to 32 bits.
fn exchanged(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<(Value, Scalar)> {
    let given = body.type_of(&call.args[1])?.as_scalar().unwrap_or(Scalar::I32);
    let scalar = match given {
        _ if given.size() >= 4 => given,
        _ if given.is_float() => Scalar::F32,
        _ => types::promoted(given),
    };
    let value = body.number_arg(call, 1, scalar)?;
    Ok((value, given))
}

fn shuffle(body: &mut Body<'_, '_, '_>, call: &Call<'_>, mode: ShuffleMode) -> Result<Rvalue> {
    let mask = body.number_arg(call, 0, Scalar::U32)?;
    let (value, given) = exchanged(body, call)?;
    let lane = body.number_arg(call, 2, Scalar::I32)?;
    let width = match call.args.get(3) {
        Some(_) => body.number_arg(call, 3, Scalar::I32)?,
        None => body.b().int(Scalar::I32, 32),
    };
    let types = [body.func.ty(value), Type::bool()];
    let inst = body.b().push(Op::Shuffle, &[mask, value, lane, width], Attr::Shuffle(mode), &[], &types);
    let found = body.func.inst(inst).results[0];
    let found = body.b().cast(found, given);
    Ok(Rvalue::scalar(given, found))
}

fn vote(body: &mut Body<'_, '_, '_>, call: &Call<'_>, mode: VoteMode) -> Result<Rvalue> {
    let mask = body.number_arg(call, 0, Scalar::U32)?;
    let holds = body.condition(&call.args[1])?;
    let is_ballot = mode == VoteMode::Ballot;
    let ty = if is_ballot { Type::scalar(Scalar::U32) } else { Type::bool() };
    let found = body.b().push1(Op::Vote, &[mask, holds], Attr::Vote(mode), ty);
    if is_ballot {
        return Ok(Rvalue::value(CType::UNSIGNED, found));
    }
    let found = body.b().cast(found, Scalar::I32);
    Ok(Rvalue::value(CType::INT, found))
}

fn match_any(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let mask = body.number_arg(call, 0, Scalar::U32)?;
    let (value, _) = exchanged(body, call)?;
    let lanes = body.b().push1(Op::MatchAny, &[mask, value], Attr::None, Type::scalar(Scalar::U32));
    Ok(Rvalue::value(CType::UNSIGNED, lanes))
}

/// `__match_all_sync(mask, x, &pred)`.
fn match_all(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let mask = body.number_arg(call, 0, Scalar::U32)?;
    let (value, _) = exchanged(body, call)?;
    let types = [Type::scalar(Scalar::U32), Type::bool()];
    let inst = body.b().push(Op::MatchAll, &[mask, value], Attr::None, &[], &types);
    let found = body.func.inst(inst).results.to_vec();
    let (memory, ty) = body.target(&call.args[2])?;
    let place = body.memory_place(memory, ty, call.args[2].span);
    body.write(&place, Rvalue::value(CType::BOOL, found[1]))?;
    Ok(Rvalue::value(CType::UNSIGNED, found[0]))
}

/// `__reduce_add_sync(mask, x)`: five exchanges, in which lanes outside of the mask bring nothing.
fn reduced(body: &mut Body<'_, '_, '_>, call: &Call<'_>, op: Op) -> Result<Rvalue> {
    let mask = body.number_arg(call, 0, Scalar::U32)?;
    let (mut value, given) = exchanged(body, call)?;
    if given.is_float() || given.size() > 4 {
        let message = format!("`{}` is for integers of 32 bits", call.name);
        return Err(body.error("argument-type", call.args[1].span, message, "exchange values by `__shfl_xor_sync`"));
    }
    let (lane, width) = (body.b().push1(Op::LaneId, &[], Attr::None, Type::i32()), body.b().int(Scalar::I32, 32));
    for distance in [16, 8, 4, 2, 1] {
        let (step, one) = (body.b().int(Scalar::I32, distance), body.b().int(Scalar::U32, 1));
        let types = [body.func.ty(value), Type::bool()];
        let attr = Attr::Shuffle(ShuffleMode::Xor);
        let inst = body.b().push(Op::Shuffle, &[mask, value, step, width], attr, &[], &types);
        let other = body.func.inst(inst).results[0];
        let partner = body.b().binary(Op::Xor, lane, step);
        let partner = body.b().cast(partner, Scalar::U32);
        let bit = body.b().binary(Op::Shl, one, partner);
        let bit = body.b().binary(Op::And, bit, mask);
        let zero = body.b().int(Scalar::U32, 0);
        let is_in = body.b().compare(Op::Ne, bit, zero);
        let both = body.b().binary(op, value, other);
        value = body.b().select(is_in, both, value);
    }
    Ok(Rvalue::scalar(types::promoted(given), value))
}
