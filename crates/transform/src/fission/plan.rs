//! Which constructs the block runs, which stretch of code each instruction is in, and what crosses from one to another.

use super::home::{Home, definition, homes};
use super::{Refused, is_sync};
use crate::exits::{is_loop, loop_exits};
use analysis::{Uniformity, block_uniformity};
use ir::{Function, Inst, InstId, Op, RegionId, Type, Value};

/// The stretch of what is in none.
pub(super) const NOWHERE: u32 = 0;

/// What is known of a kernel before its program is made.
pub(super) struct Plan {
    split: Split,
    homes: Vec<Home>,
    /// By value: whether another stretch uses it, so that each thread keeps it.
    needs_slot: Vec<bool>,
    /// By value: whether the block uses it though threads compute it.
    needs_cell: Vec<bool>,
    /// By value: the value whose slot it is kept in.
    owners: Vec<Value>,
}

/// How control flow is divided.
pub(super) struct Split {
    /// By instruction: a construct that the block runs.
    pub is_split: Vec<bool>,
    /// By instruction: a construct whose threads may part, so that they run it under flags.
    pub is_masked: Vec<bool>,
    /// By instruction: the stretch that it is in, or whose end hands on what it uses.
    pub segments: Vec<u32>,
    pub n_segments: u32,
}

impl Plan {
    pub(super) fn new(func: &Function) -> Result<Plan, Refused> {
        let uniformity = block_uniformity(func);
        let split = Split::new(func, &uniformity);
        let homes = homes(func, &uniformity, &split);
        let n = func.values.len();
        let mut plan = Plan {
            split,
            homes,
            needs_slot: vec![false; n],
            needs_cell: vec![false; n],
            owners: (0..n as u32).map(Value).collect(),
        };
        plan.uses(func, func.body);
        plan.share_slots(func, func.body);
        plan.refuse(func)?;
        Ok(plan)
    }

    pub(super) fn is_split(&self, id: InstId) -> bool {
        self.split.is_split[id.index()]
    }

    pub(super) fn is_masked(&self, id: InstId) -> bool {
        self.split.is_masked[id.index()]
    }

    pub(super) fn has_masked(&self) -> bool {
        self.split.is_masked.contains(&true)
    }

    pub(super) fn home(&self, value: Value) -> Home {
        self.homes[value.index()]
    }

    pub(super) fn needs_slot(&self, value: Value) -> bool {
        self.needs_slot[value.index()]
    }

    pub(super) fn needs_cell(&self, value: Value) -> bool {
        self.needs_cell[value.index()]
    }

    /// The value in whose slot a value is kept.
    pub(super) fn slot_owner(&self, value: Value) -> Value {
        self.owners[value.index()]
    }

    /// Notes what every instruction of a region uses.
    fn uses(&mut self, func: &Function, region: RegionId) {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            let segment = self.split.segments[id.index()];
            for (i, &operand) in inst.operands.iter().enumerate() {
                if self.is_block_use(func, id, i) {
                    self.needs_cell[operand.index()] |= self.homes[operand.index()] != Home::Block;
                } else {
                    self.use_in(func, operand, segment);
                    // Behind a warp op its operands are looked at again.
                    if is_sync(inst.op) {
                        self.use_in(func, operand, segment + 1);
                    }
                }
            }
            for &inner in &inst.regions {
                self.uses(func, inner);
            }
        }
    }

    /// Whether the block itself uses an operand of an instruction.
    fn is_block_use(&self, func: &Function, id: InstId, index: usize) -> bool {
        let inst = func.inst(id);
        let is_block = |value: Option<&Value>| value.is_some_and(|v| self.homes[v.index()] == Home::Block);
        if self.split.is_split[id.index()] {
            let n_bounds = if inst.op == Op::For { 3 } else { 0 };
            return match inst.op {
                Op::If => !self.split.is_masked[id.index()],
                _ if index < n_bounds => true,
                _ => is_block(func.region(inst.regions[0]).params.get(usize::from(n_bounds > 0) + index - n_bounds)),
            };
        }
        match self.split.targets(func, id) {
            Some(target) if self.split.is_split[target.index()] => {
                let head = func.inst(target);
                let params = &func.region(head.regions[0]).params;
                match inst.op {
                    Op::Continue => is_block(params.get(usize::from(head.op == Op::For) + index)),
                    _ => is_block(head.results.get(index)),
                }
            }
            _ => false,
        }
    }

    fn use_in(&mut self, func: &Function, value: Value, segment: u32) {
        match self.homes[value.index()] {
            Home::Again => {
                if let Some(id) = definition(func, value) {
                    for operand in func.inst(id).operands.clone() {
                        self.use_in(func, operand, segment);
                    }
                }
            }
            Home::Segment => {
                let own = definition(func, value).map_or(segment, |id| self.split.defined_in(func, id));
                self.needs_slot[value.index()] |= own != segment;
            }
            _ => {}
        }
    }

    /// What a `for` gives is what it carried, and what a round hands on may take the place of what it got where that is
    /// not used any more.
    fn share_slots(&mut self, func: &Function, region: RegionId) {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            for &inner in &inst.regions {
                self.share_slots(func, inner);
            }
            if !self.split.is_split[id.index()] || !is_loop(inst.op) {
                continue;
            }
            let body = inst.regions[0];
            let params = &func.region(body).params[usize::from(inst.op == Op::For)..];
            if inst.op == Op::For {
                for (result, &param) in inst.results.iter().zip(params) {
                    self.owners[result.index()] = param;
                }
            }
            let rounds: Vec<InstId> =
                loop_exits(func, body).into_iter().filter(|&exit| func.inst(exit).op == Op::Continue).collect();
            let [end] = rounds[..] else { continue };
            for (&param, &next) in params.iter().zip(&func.inst(end).operands) {
                if self.homes[param.index()] == Home::Slot && self.may_share(func, body, param, next) {
                    self.owners[next.index()] = param;
                }
            }
        }
    }

    fn may_share(&self, func: &Function, body: RegionId, param: Value, next: Value) -> bool {
        let Some(made) = definition(func, next).map(|id| self.split.defined_in(func, id)) else { return false };
        let is_alone = self.homes[next.index()] == Home::Segment && self.owners[next.index()] == next;
        let in_body = func.region(body).insts.iter().any(|&id| func.inst(id).results.contains(&next));
        is_alone && in_body && self.needs_slot[next.index()] && !self.is_used_behind(func, body, param, made)
    }

    /// Whether a region uses a value, perhaps to compute another again, behind a stretch.
    fn is_used_behind(&self, func: &Function, region: RegionId, value: Value, segment: u32) -> bool {
        func.region(region).insts.iter().any(|&id| {
            let inst = func.inst(id);
            let is_behind = self.split.segments[id.index()] > segment || self.split.is_split[id.index()];
            is_behind && inst.operands.iter().any(|&operand| self.leads_to(func, operand, value))
                || inst.regions.iter().any(|&inner| self.is_used_behind(func, inner, value, segment))
        })
    }

    fn leads_to(&self, func: &Function, from: Value, value: Value) -> bool {
        from == value
            || self.homes[from.index()] == Home::Again
                && definition(func, from)
                    .is_some_and(|id| func.inst(id).operands.iter().any(|&operand| self.leads_to(func, operand, value)))
    }

    fn refuse(&self, func: &Function) -> Result<(), Refused> {
        for region in &func.regions {
            for &id in &region.insts {
                let inst = func.inst(id);
                let is_spread = |&value: &Value| self.homes[value.index()] == Home::Spread;
                let rank = |ty: Type| ty.as_array().map_or(0, |(_, rank)| rank);
                if inst.results.iter().any(|value| is_spread(value) && rank(func.ty(*value)) >= ir::verify::MAX_RANK) {
                    let text =
                        "a local array that is used on both sides of a barrier has at most 3 dimensions on the CPU";
                    return Err(Refused { span: inst.span, text: text.into() });
                }
            }
        }
        Ok(())
    }
}

impl Split {
    pub(super) fn new(func: &Function, uniformity: &Uniformity) -> Split {
        let n = func.insts.len();
        let mut split =
            Split { is_split: vec![false; n], is_masked: vec![false; n], segments: vec![NOWHERE; n], n_segments: 0 };
        let waits = super::waits(func);
        split.mark_waiting(func, func.body, waits);
        split.mark_exits(func, func.body, None);
        split.mark_masked(func, uniformity, func.body, false);
        split.number(func, func.body);
        split
    }

    /// Constructs with barriers or returns in them; gives whether a region has any.
    fn mark_waiting(&mut self, func: &Function, region: RegionId, waits: bool) -> bool {
        let mut found = false;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            for &inner in &inst.regions {
                self.is_split[id.index()] |= self.mark_waiting(func, inner, waits);
            }
            found |= self.is_split[id.index()] || is_sync(inst.op) || inst.op == Op::Return && waits;
        }
        found
    }

    /// Branches that leave a loop which the block runs; gives whether a region leaves the loop around it.
    fn mark_exits(&mut self, func: &Function, region: RegionId, around: Option<InstId>) -> bool {
        let mut found = false;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            let is_loop = is_loop(inst.op);
            for &inner in &inst.regions {
                let leaves = self.mark_exits(func, inner, if is_loop { Some(id) } else { around });
                let is_of_split = around.is_some_and(|target| self.is_split[target.index()]);
                self.is_split[id.index()] |= leaves && !is_loop && is_of_split;
                found |= leaves && !is_loop;
            }
            found |= matches!(inst.op, Op::Continue | Op::Break);
        }
        found
    }

    /// Constructs whose threads may part; gives whether some threads leave a region early under a mask.
    fn mark_masked(&mut self, func: &Function, uniformity: &Uniformity, region: RegionId, is_under: bool) -> bool {
        let mut leaves = false;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            match inst.op {
                Op::Return => leaves |= is_under,
                Op::Continue | Op::Break => {
                    // A loop around that threads leave in different rounds makes every exit one under a mask.
                    let target = self.targets(func, id);
                    leaves |=
                        target.is_some_and(|target| self.is_split[target.index()] && uniformity.is_divergent(target));
                }
                _ if self.is_split[id.index()] => {
                    let is_divergent = uniformity.is_divergent(id);
                    let mut inner_leaves = false;
                    for &inner in &inst.regions {
                        inner_leaves |= self.mark_masked(func, uniformity, inner, is_under || is_divergent);
                    }
                    self.is_masked[id.index()] = is_divergent || inner_leaves;
                    // A loop ends what leaves it, but not a return.
                    leaves |= inner_leaves && (!is_loop(inst.op) || has_return(func, inst));
                }
                _ => {}
            }
        }
        leaves
    }

    /// The loop that a `continue` or `break` belongs to, or the `if` of a `yield`.
    pub(super) fn targets(&self, func: &Function, id: InstId) -> Option<InstId> {
        let op = func.inst(id).op;
        let is_target = |owner: &Inst| match op {
            Op::Yield => owner.op == Op::If,
            Op::Continue | Op::Break => is_loop(owner.op),
            _ => false,
        };
        let mut at = owner_of(func, id)?;
        while !is_target(func.inst(at)) {
            at = owner_of(func, at)?;
        }
        Some(at)
    }

    fn number(&mut self, func: &Function, region: RegionId) {
        self.n_segments += 1;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            self.segments[id.index()] = self.n_segments;
            if is_sync(inst.op) {
                self.n_segments += 1;
            } else if self.is_split[id.index()] {
                for &inner in &inst.regions {
                    self.number(func, inner);
                }
                self.n_segments += 1;
            } else {
                let segment = self.n_segments;
                for &inner in &inst.regions {
                    self.place(func, inner, segment);
                }
            }
        }
    }

    fn place(&mut self, func: &Function, region: RegionId, segment: u32) {
        for &id in &func.region(region).insts {
            self.segments[id.index()] = segment;
            for &inner in &func.inst(id).regions {
                self.place(func, inner, segment);
            }
        }
    }

    /// The stretch in which an instruction's results come to be.
    fn defined_in(&self, func: &Function, id: InstId) -> u32 {
        self.segments[id.index()] + u32::from(is_sync(func.inst(id).op))
    }
}

fn has_return(func: &Function, inst: &Inst) -> bool {
    inst.regions.iter().any(|&region| !crate::exits::all(func, region, |op| op == Op::Return).is_empty())
}

/// The op that owns the region that lists an instruction.
fn owner_of(func: &Function, id: InstId) -> Option<InstId> {
    let region = func.regions.iter().position(|region| region.insts.contains(&id))?;
    let owns = |owner: &&InstId| func.inst(**owner).regions.iter().any(|inner| inner.index() == region);
    func.regions.iter().flat_map(|region| &region.insts).find(owns).copied()
}
