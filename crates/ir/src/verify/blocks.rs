//! Rules of the ops over blocks of threads.

use super::rules::{Checked, OpTypes, region_types};
use super::{VerifyError, calls, error};
use crate::func::{Attr, FuncRef, Function, FunctionKind, InstId, Module};
use crate::op::{Effect, Op, VoteMode};
use crate::types::{Scalar, Type};

/// A thread kernel that calls a function with ops over blocks, directly or through others.
pub(super) fn find_stray_calls(module: &Module) -> Option<VerifyError> {
    let has_op = |func: &Function| {
        let mut listed = func.regions.iter().flat_map(|region| &region.insts);
        listed.any(|&id| func.inst(id).op.is_over_blocks())
    };
    let calls: Vec<Vec<(InstId, usize)>> = module.funcs.iter().map(calls).collect();
    let mut needs_blocks: Vec<bool> = module.funcs.iter().map(has_op).collect();
    // Calls do not recurse, so that as many rounds as functions reach the end.
    for _ in 0..module.funcs.len() {
        for (func, calls) in calls.iter().enumerate() {
            needs_blocks[func] |= calls.iter().any(|&(_, callee)| needs_blocks[callee]);
        }
    }
    let stray = |func: usize| calls[func].iter().find(|(_, callee)| needs_blocks[*callee]);
    let kernels = (0..module.funcs.len()).filter(|&func| module.funcs[func].kind == FunctionKind::Kernel);
    let (func, &(inst, callee)) = kernels.filter_map(|func| Some((func, stray(func)?))).next()?;
    let message = format!("@{} is for kernels over blocks of threads", module.funcs[callee].name);
    Some(error(module, FuncRef(func as u32), Some(inst), message))
}

pub(super) fn check(op: &OpTypes) -> Checked {
    place(op)?;
    let (i64, bool) = (Type::i64(), Type::bool());
    let u32 = Type::scalar(Scalar::U32);
    match op.inst.op {
        Op::ThreadIndex | Op::BlockIndex | Op::BlockExtent | Op::GridExtent => {
            if op.index_attr() > 2 {
                return Err("a grid and its blocks have 3 dimensions".into());
            }
            signature(op, &[], &[i64])
        }
        Op::LaneId => signature(op, &[], &[Type::i32()]),
        Op::SharedArray => super::memory::owned_array(op, 0),
        Op::ThreadSlots => super::memory::owned_array(op, 1),
        Op::DynamicShared => match op.result()?.as_array() {
            Some((_, 1)) => op.operands_are(&[i64]),
            _ => Err("`dynamic_shared` gives an array of one dimension".into()),
        },
        Op::Barrier | Op::GridBarrier | Op::Fence => signature(op, &[], &[]),
        Op::BarrierCount | Op::BarrierAnd | Op::BarrierOr => signature(op, &[bool], &[Type::i32()]),
        Op::WarpBarrier => signature(op, &[u32], &[]),
        Op::Shuffle => {
            let ty = exchanged(op)?;
            signature(op, &[u32, ty, Type::i32(), Type::i32()], &[ty, bool])
        }
        Op::Vote => {
            let is_ballot = op.inst.attr == Attr::Vote(VoteMode::Ballot);
            signature(op, &[u32, bool], &[if is_ballot { u32 } else { bool }])
        }
        Op::MatchAny => signature(op, &[u32, exchanged(op)?], &[u32]),
        Op::MatchAll => signature(op, &[u32, exchanged(op)?], &[u32, bool]),
        Op::ActiveMask => signature(op, &[], &[u32]),
        Op::CallExtern => match op.operands.iter().chain(op.results).find(|ty| ty.as_scalar().is_none()) {
            Some(ty) => Err(format!("`call_extern` takes and gives scalars, found {ty}")),
            None if op.results.len() > 1 => Err("`call_extern` gives one scalar at most".into()),
            None => Ok(()),
        },
        Op::CheckConverged => signature(op, &[bool, i64, i64], &[]),
        Op::Threads => {
            if op.inst.regions.iter().any(|&region| !region_types(op, region.index()).is_empty()) {
                return Err("the region of `threads` takes no parameters".into());
            }
            signature(op, &[], &[])
        }
        other => Err(format!("`{}` has no rule", other.name())),
    }
}

fn signature(op: &OpTypes, operands: &[Type], results: &[Type]) -> Checked {
    op.operands_are(operands)?;
    op.results_are(results)
}

/// The type of the value that lanes exchange.
fn exchanged(op: &OpTypes) -> Result<Type, String> {
    let ty = op.operand(1)?;
    match ty.as_scalar() {
        Some(scalar) if scalar.size() >= 4 => Ok(ty),
        _ => Err(format!("`{}` takes a scalar of 4 or 8 bytes, found {ty}", op.name())),
    }
}

/// Whether the op may stand where it does.
fn place(op: &OpTypes) -> Checked {
    let name = op.name();
    let kind = op.func.kind;
    // What `each` works on.
    if kind == FunctionKind::Kernel && !matches!(op.inst.op, Op::SharedArray | Op::ThreadIndex) {
        return Err(format!("`{name}` outside a kernel over blocks of threads"));
    }
    let is_program = kind == FunctionKind::BlockProgram;
    match op.inst.op {
        Op::Threads | Op::ThreadSlots | Op::CheckConverged if !is_program => {
            Err(format!("`{name}` outside a block program"))
        }
        Op::Threads | Op::ThreadSlots | Op::CheckConverged | Op::SharedArray | Op::GridBarrier if op.in_threads => {
            Err(format!("`{name}` within `threads`"))
        }
        Op::ThreadIndex | Op::LaneId if is_program && !op.in_threads => {
            Err(format!("`{name}` outside `threads` in a block program"))
        }
        Op::GridBarrier | Op::Fence => Ok(()),
        sync if is_program && sync.effect() == Effect::Sync => Err(format!("`{name}` in a block program")),
        _ => Ok(()),
    }
}
