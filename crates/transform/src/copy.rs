//! Copies of instructions and regions within a function.

use ir::{Function, InstId, RegionId, Value};
use std::collections::HashMap;

/// What copied values are; a value that was not copied stands for itself.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    by: HashMap<Value, Value>,
}

impl Copies {
    /// From here on copies use `by` for `value`.
    pub(crate) fn set(&mut self, value: Value, by: Value) {
        self.by.insert(value, by);
    }

    pub(crate) fn get(&self, value: Value) -> Value {
        self.by.get(&value).copied().unwrap_or(value)
    }

    pub(crate) fn all(&self, values: &[Value]) -> Vec<Value> {
        values.iter().map(|&value| self.get(value)).collect()
    }

    /// Copies an instruction with all it contains; whoever calls lists it in a region.
    pub(crate) fn inst(&mut self, func: &mut Function, id: InstId) -> InstId {
        let inst = func.inst(id).clone();
        let regions: Vec<RegionId> = inst.regions.iter().map(|&region| self.region(func, region)).collect();
        let types: Vec<_> = inst.results.iter().map(|&value| func.ty(value)).collect();
        let copy = func.add_inst(inst.op, &self.all(&inst.operands), inst.attr, &regions, &types, inst.span);
        for (&value, by) in inst.results.iter().zip(func.inst(copy).results.clone()) {
            self.set(value, by);
        }
        copy
    }

    pub(crate) fn region(&mut self, func: &mut Function, region: RegionId) -> RegionId {
        let (params, insts) = (func.region(region).params.clone(), func.region(region).insts.clone());
        let types: Vec<_> = params.iter().map(|&value| func.ty(value)).collect();
        let copy = func.add_region(&types);
        for (&param, by) in params.iter().zip(func.region(copy).params.clone()) {
            self.set(param, by);
        }
        for id in insts {
            let inst = self.inst(func, id);
            func.regions[copy.index()].insts.push(inst);
        }
        copy
    }
}
