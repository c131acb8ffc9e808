//! Kernels with tiles over blocks of several threads, for CPUs.
//!
//! In: a kernel with `each`. Out: a block kernel that does the same. Its blocks lie along rows of the launch; along x the
//! grid has those of a row, along y the rows.
//!
//! ```text
//! v0 = tid 1        ->    v2 = block_index 0;  v3 = thread_index 0;  v0 = v2 * 64 + v3
//! v1 = tid 0              v1 = block_index 1
//! each v4 = v5 {…}        barrier;  for v4 = thread_index 0 to v5 step min(64, launch_extent 1 - v2 * 64) {…}
//! ```

use crate::{Changed, spread_each};
use ir::{Attr, Builder, Function, FunctionKind, Op, RegionId, Scalar, Type, Value};

/// Makes the block kernel, for blocks of `n_threads` threads of launches over `rank` dimensions.
pub fn tiles_in_blocks(func: &mut Function, n_threads: u32, rank: u32) -> Changed {
    let last = rank.saturating_sub(1);
    let number = |b: &mut Builder<'_>, op: Op, dim: u32| b.push1(op, &[], Attr::Index(dim), Type::i64());
    let first = |b: &mut Builder<'_>| {
        let (block, most) = (number(b, Op::BlockIndex, 0), b.int(Scalar::I64, n_threads.into()));
        b.binary(Op::Mul, block, most)
    };
    let spread = spread_each(func, |b| {
        let (first, all) = (first(b), number(b, Op::LaunchExtent, last));
        let (most, left) = (b.int(Scalar::I64, n_threads.into()), b.binary(Op::Sub, all, first));
        b.binary(Op::Min, most, left)
    });
    if !spread.0 {
        return Changed(false);
    }
    let prologue = func.add_region(&[]);
    let mut b = Builder::new(func);
    b.enter(prologue);
    let (first, thread) = (first(&mut b), number(&mut b, Op::ThreadIndex, 0));
    let mut index = vec![b.binary(Op::Add, first, thread); rank as usize];
    let mut row = number(&mut b, Op::BlockIndex, 1);
    for dim in (0..last).rev() {
        index[dim as usize] = row;
        if dim > 0 {
            let extent = number(&mut b, Op::LaunchExtent, dim);
            index[dim as usize] = b.binary(Op::Rem, row, extent);
            row = b.binary(Op::Div, row, extent);
        }
    }
    replace_indices(func, func.body, &index);
    let prologue = std::mem::take(&mut func.regions[prologue.index()].insts);
    func.regions[func.body.index()].insts.splice(0..0, prologue);
    func.kind = FunctionKind::BlockKernel;
    Changed(true)
}

fn replace_indices(func: &mut Function, region: RegionId, index: &[Value]) {
    let insts = std::mem::take(&mut func.regions[region.index()].insts);
    let mut replaced = crate::replace::Replacements::default();
    let mut kept = Vec::with_capacity(insts.len());
    for id in insts {
        let inst = func.inst(id).clone();
        match (inst.op, &inst.attr) {
            (Op::Tid, &Attr::Index(dim)) if (dim as usize) < index.len() => {
                replaced.set(inst.result(), index[dim as usize]);
            }
            _ => {
                inst.regions.iter().for_each(|&inner| replace_indices(func, inner, index));
                kept.push(id);
            }
        }
    }
    func.regions[region.index()].insts = kept;
    replaced.apply(func);
}
