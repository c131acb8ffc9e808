//! Arrays that each thread has for itself, and whether the lanes of a gang hold the same in them.
//!
//! In: a kernel. Out: its local arrays and their views, without those that are handed on: through a merge of control
//! flow, a struct or memory it would not be known any more whose array an access goes to.
//!
//! ```text
//! v1: array<f32, 1> = local_array {4}    own
//! v2: array<f32, 1> = subarray v1 ..     own, a view of v1
//! store v1[v8], v9                       as long as v8, v9 are uniform and all lanes are on, all hold the same
//! ```

use ir::{Function, Inst, Op, RegionId, Value};

/// The arrays of a thread's own.
#[derive(Clone, Debug)]
pub struct OwnArrays {
    /// By value: the local array that it is, or is a view of.
    roots: Vec<Option<Value>>,
    /// By value of a local array: lanes may hold different things in it.
    is_parted: Vec<bool>,
}

impl OwnArrays {
    pub(super) fn of(func: &Function) -> OwnArrays {
        let n = func.values.len();
        let mut own = OwnArrays { roots: vec![None; n], is_parted: vec![false; n] };
        match super::has_each(func) {
            // Arrays around `each` are one for all lanes.
            true => {
                for inst in super::each::listed(func, func.body).filter(|inst| inst.op == Op::Each) {
                    own.find(func, inst.regions[0]);
                }
            }
            false => own.find(func, func.body),
        }
        let handed_on = own.handed_on(func);
        own.roots.iter_mut().for_each(|root| *root = root.filter(|root| !handed_on[root.index()]));
        own
    }

    /// Whether a value is a local array, or a view of one, whose every access is known.
    pub fn is_own(&self, array: Value) -> bool {
        self.roots[array.index()].is_some()
    }

    /// Whether the lanes may hold different things in an own array.
    pub fn is_parted(&self, array: Value) -> bool {
        self.roots[array.index()].is_some_and(|root| self.is_parted[root.index()])
    }

    /// Notes that lanes may hold different things in an array; whether that is news.
    pub(super) fn part(&mut self, array: Value) -> bool {
        self.roots[array.index()].is_some_and(|root| !std::mem::replace(&mut self.is_parted[root.index()], true))
    }

    fn find(&mut self, func: &Function, region: RegionId) {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            match inst.op {
                Op::LocalArray => self.roots[inst.result().index()] = Some(inst.result()),
                Op::Row | Op::Subarray => {
                    self.roots[inst.result().index()] = self.roots[inst.operands[0].index()];
                }
                _ => inst.regions.iter().for_each(|&inner| self.find(func, inner)),
            }
        }
    }

    /// By value: local arrays that some instruction does more with than look into them.
    fn handed_on(&self, func: &Function) -> Vec<bool> {
        let mut found = vec![false; self.roots.len()];
        for inst in func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id)) {
            for (position, operand) in inst.operands.iter().enumerate() {
                if let Some(root) = self.roots[operand.index()].filter(|_| position > 0 || !looks_into(inst)) {
                    found[root.index()] = true;
                }
            }
        }
        found
    }
}

/// Whether an instruction does nothing with the array that is its first operand but look into it.
fn looks_into(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Load
            | Op::Store
            | Op::Atomic
            | Op::AtomicCas
            | Op::Row
            | Op::Subarray
            | Op::Extent
            | Op::WrapIndex
            | Op::IsNull
            | Op::CheckBounds
    )
}
