//! Where the values of a kernel live in its program.

use super::is_sync;
use super::plan::{NOWHERE, Split};
use analysis::Uniformity;
use ir::{Function, Inst, InstId, Op, RegionId, Value, ValueDef};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Computed once for the block.
    Block,
    /// Computed again in each stretch that uses it.
    Again,
    /// Computed in its stretch; kept for each thread where another uses it.
    Segment,
    /// Kept for each thread only.
    Slot,
    /// A local array that several stretches use: memory with a copy for each thread, by its linear index.
    Spread,
}

/// Values are computed again up to this many instructions.
const MAX_AGAIN: u32 = 24;

/// The home of each value.
pub(super) fn homes(func: &Function, uniformity: &Uniformity, split: &Split) -> Vec<Home> {
    let mut finder = Finder {
        func,
        uniformity,
        split,
        homes: vec![Home::Segment; func.values.len()],
        costs: vec![0; func.values.len()],
    };
    for &param in &func.region(func.body).params {
        finder.homes[param.index()] = Home::Block;
    }
    finder.region(func.body);
    finder.homes
}

struct Finder<'a> {
    func: &'a Function,
    uniformity: &'a Uniformity,
    split: &'a Split,
    homes: Vec<Home>,
    /// Instructions that it takes to compute a value again.
    costs: Vec<u32>,
}

impl Finder<'_> {
    fn region(&mut self, region: RegionId) {
        let func = self.func;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            if self.split.is_split[id.index()] {
                self.construct(id, inst);
                continue;
            }
            for &result in &inst.results {
                (self.homes[result.index()], self.costs[result.index()]) = self.of(id, inst, result);
            }
        }
    }

    fn construct(&mut self, id: InstId, inst: &Inst) {
        let is_masked = self.split.is_masked[id.index()];
        let home = |value: Value| {
            if !is_masked && self.uniformity.is_uniform(value) { Home::Block } else { Home::Slot }
        };
        let params = inst.regions.iter().flat_map(|&region| &self.func.region(region).params);
        let mut homes: Vec<(Value, Home)> = params.chain(&inst.results).map(|&value| (value, home(value))).collect();
        if inst.op == Op::For {
            // What a `for` carries and what it gives are one.
            let n = inst.results.len();
            for i in 1..=n {
                if homes[i].1 != homes[n + i].1 {
                    (homes[i].1, homes[n + i].1) = (Home::Slot, Home::Slot);
                }
            }
        }
        for (value, home) in homes {
            self.homes[value.index()] = home;
        }
        for &region in &inst.regions {
            self.region(region);
        }
    }

    fn of(&self, id: InstId, inst: &Inst, result: Value) -> (Home, u32) {
        let is_at = |home: Home| inst.operands.iter().all(|operand| self.homes[operand.index()] == home);
        match inst.op {
            Op::BarrierCount | Op::BarrierAnd | Op::BarrierOr | Op::SharedArray => return (Home::Block, 0),
            Op::ThreadIndex | Op::LaneId => return (Home::Again, 1),
            Op::LocalArray if self.is_spread(id, inst) => return (Home::Spread, 0),
            op if is_sync(op) || !op.is_pure() => return (Home::Segment, 0),
            _ => {}
        }
        if is_at(Home::Block) {
            return (Home::Block, 0);
        }
        let own = match inst.op {
            Op::Div | Op::Rem | Op::FloorDiv | Op::Mod | Op::Sqrt | Op::MatMul => 8,
            _ => 1,
        };
        let cost = inst.operands.iter().fold(own, |cost, operand| cost + self.costs[operand.index()]);
        let is_free = |operand: &Value| matches!(self.homes[operand.index()], Home::Block | Home::Again | Home::Spread);
        let is_view = self.func.ty(result).is_array();
        let is_local = inst.operands.iter().any(|operand| self.is_local(*operand));
        if !is_local && (is_view || cost <= MAX_AGAIN && inst.operands.iter().all(is_free)) {
            return (Home::Again, cost);
        }
        (Home::Segment, 0)
    }

    /// Whether an array is a local one of its stretch: a view of it stays there too.
    fn is_local(&self, value: Value) -> bool {
        self.func.ty(value).is_array() && self.homes[value.index()] == Home::Segment
    }

    fn is_spread(&self, id: InstId, inst: &Inst) -> bool {
        let own = self.split.segments[id.index()];
        let mut listed = self.func.regions.iter().flat_map(|region| &region.insts);
        own == NOWHERE
            || listed.any(|&user| {
                let user_inst = self.func.inst(user);
                let uses = user_inst.operands.contains(&inst.result());
                uses && (self.split.segments[user.index()] != own || !is_direct(user_inst, inst.result()))
            }) && self.split.n_segments > 1
    }
}

/// Whether an instruction does nothing with an array but look into it.
pub(super) fn is_direct(user: &Inst, array: Value) -> bool {
    let is_access = matches!(
        user.op,
        Op::Load | Op::Store | Op::Atomic | Op::AtomicCas | Op::CheckBounds | Op::Extent | Op::WrapIndex
    );
    is_access && user.operands[0] == array && !user.operands[1..].contains(&array)
}

/// The instruction that defines a value.
pub(super) fn definition(func: &Function, value: Value) -> Option<InstId> {
    if let ValueDef::Result(id, _) = func.def(value) { Some(id) } else { None }
}
