//! Kernels with `each`: where it stands, and what its lanes write.

use ir::{Function, FunctionKind, Inst, Op, RegionId, Value};

/// Whether the kernel's lanes are the numbers that `each` counts.
pub fn has_each(func: &Function) -> bool {
    func.kind == FunctionKind::Kernel && listed(func, func.body).any(|inst| inst.op == Op::Each)
}

/// Whether the threads of a block of a kernel over threads work on tiles together.
pub fn shares_tiles(func: &Function) -> bool {
    let is_shared = |op: Op| matches!(op, Op::Each | Op::SharedArray | Op::ThreadIndex);
    func.kind == FunctionKind::Kernel && listed(func, func.body).any(|inst| is_shared(inst.op))
}

/// The instructions of a region and of those in it.
pub(super) fn listed(func: &Function, region: RegionId) -> impl Iterator<Item = &Inst> {
    let mut open = vec![region];
    let mut next = Vec::new();
    std::iter::from_fn(move || {
        while next.is_empty() {
            next = func.region(open.pop()?).insts.iter().rev().map(|&id| func.inst(id)).collect();
        }
        let inst: &Inst = next.pop()?;
        open.extend(&inst.regions);
        Some(inst)
    })
}

/// The shared array that an array is, or looks into.
pub(super) fn shared_root(func: &Function, array: Value) -> Option<Value> {
    let mut array = array;
    loop {
        let ir::ValueDef::Result(inst, _) = func.def(array) else { return None };
        match func.inst(inst).op {
            Op::Row | Op::Subarray => array = func.inst(inst).operands[0],
            Op::SharedArray => return Some(array),
            _ => return None,
        }
    }
}

/// The shared arrays that a region stores to.
pub(super) fn stored(func: &Function, region: RegionId) -> Vec<Value> {
    let writes = listed(func, region).filter(|inst| matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas));
    writes.filter_map(|inst| shared_root(func, inst.operands[0])).collect()
}
