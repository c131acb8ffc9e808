//! Several neighboring threads of the launch for one thread of the GPU, so that they share vector accesses.
//!
//! In: a kernel. Out: the same as a gang ([`crate::gang`]) of as many lanes as fill an access of 16 bytes with theirs, or the
//! [`Reason`] why each thread of the GPU runs one of the launch. The lanes' arithmetic becomes scalar again; what is
//! gained is that neighboring accesses are one instruction, and that more of them are on their way at a time.
//!
//! ```text
//! y[i] = a x[i] + y[i]     ld.global.v4, ld.global.v4, 4 multiplications, 4 sums, st.global.v4
//! ```
//!
//! Threads keep their own order and their bits. It is done where all accesses are to neighbors or to one place, and
//! nothing else could keep the GPU busier: no loop, no atomic, and few enough values for the registers.

use crate::gang::{Reason, can_widen, is_gather, scalars};
use analysis::{Lanes, Uniformity};
use ir::{Function, InstId, Op};

/// Bytes of the widest access.
const ACCESS: u64 = 16;

/// Most lanes: bytes four at a time are an access of 4 already.
const MAX_WIDTH: u64 = 4;

/// Most scalars that one thread of the launch may read and write.
const MAX_SCALARS: usize = 24;

/// Most instructions of a kernel.
const MAX_INSTS: usize = 200;

pub(super) struct Plan {
    /// The kernel with one `return` at its end.
    pub func: Function,
    pub uniformity: Uniformity,
    pub width: u32,
}

pub(super) fn plan(func: &Function, rank: u32) -> Result<Plan, Reason> {
    let refuse = |inst: Option<InstId>, text: &str| Reason { inst, text: text.into() };
    if let Some(&inst) = all_insts(func).iter().find(|&&id| matches!(func.inst(id).op, Op::For | Op::Loop)) {
        return Err(refuse(Some(inst), "has a loop"));
    }
    let n_insts = all_insts(func).len();
    if n_insts > MAX_INSTS {
        return Err(refuse(None, "is long, and several copies would need too many registers"));
    }
    let mut func = func.clone();
    let _ = transform::unify_returns(&mut func);
    let uniformity = analysis::uniformity(&func, rank.saturating_sub(1));
    can_widen(&func, &uniformity, None)?;
    let (mut n_scalars, mut widest) = (0, 0);
    for id in all_insts(&func) {
        let inst = func.inst(id);
        match inst.op {
            Op::Atomic | Op::AtomicCas => return Err(refuse(Some(id), "has an atomic")),
            // A GPU interleaves them itself, thread by thread.
            Op::LocalArray => return Err(refuse(Some(id), "has an array of its own in each thread")),
            Op::Load | Op::Store if is_gather(&func, &uniformity, id) => {
                return Err(refuse(Some(id), "reads or writes where its neighbors do not"));
            }
            Op::Load | Op::Store => {
                let varies = inst.operands[1..].iter().any(|&operand| uniformity.lanes(operand) != Lanes::Uniform);
                let value = if inst.op == Op::Load { inst.result() } else { inst.operands[inst.operands.len() - 1] };
                let found = scalars(func.ty(value)).map_err(|_| refuse(Some(id), "accesses more than numbers"))?;
                if varies {
                    // Lanes of a warp would be that much further apart: what they read is no longer together.
                    let elem = func.ty(inst.operands[0]).as_array().map_or(0, |(elem, _)| elem.size());
                    n_scalars += found.len();
                    widest = u64::max(widest, elem);
                }
            }
            _ => {}
        }
    }
    let width = (ACCESS / widest.max(1)).min(MAX_WIDTH) as u32;
    match (n_scalars, width) {
        (0, _) => Err(refuse(None, "reads and writes nothing by its index")),
        (MAX_SCALARS.., _) => {
            Err(refuse(None, "reads and writes much, and several copies would need too many registers"))
        }
        (_, 0..2) => Err(refuse(None, "reads and writes elements of more than 8 bytes")),
        _ => Ok(Plan { func, uniformity, width }),
    }
}

/// The instructions that are in a region, in no order.
fn all_insts(func: &Function) -> Vec<InstId> {
    let mut found = Vec::new();
    let mut open = vec![func.body];
    while let Some(region) = open.pop() {
        for &id in &func.region(region).insts {
            found.push(id);
            open.extend(func.inst(id).regions.iter().copied());
        }
    }
    found
}
