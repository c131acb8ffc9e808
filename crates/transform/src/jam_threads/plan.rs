//! What differs between two neighbors, and whether it pays to run them together.

use crate::exits::{all, loop_exits};
use ir::op::Effect;
use ir::{Attr, Function, InstId, Op, RegionId, Type, Value, ValueDef};

/// Most 32-bit registers that a loop may keep for each of the two threads: what it carries, and what it reads from
/// outside. A round's own values come on top, for several rounds at a time.
const MAX_WORDS: usize = 16;

/// Most instructions of a loop once it runs for both: `batch_reads` takes no longer ones.
const MAX_INSTS: usize = 64;

/// How an instruction is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is the thread's number.
    Index,
    /// Both threads compute the same.
    Once,
    Each,
    /// It writes, or has what does in it.
    EachThatIsThere,
    /// Both threads go through it together.
    Jam,
    /// It ends a region.
    End,
}

pub(super) struct Plan {
    ways: Vec<Way>,
    varying: Vec<bool>,
    /// By instruction that ends a region: which operands differ.
    ends: Vec<Vec<bool>>,
}

impl Plan {
    pub(super) fn way(&self, id: InstId) -> Way {
        self.ways[id.index()]
    }

    /// Whether a value differs between the threads.
    pub(super) fn varies(&self, value: Value) -> bool {
        self.varying[value.index()]
    }

    pub(super) fn end_varies(&self, id: InstId, operand: usize) -> bool {
        self.ends[id.index()].get(operand).copied().unwrap_or(false)
    }
}

/// `None` where a kernel stays as it is.
pub(super) fn plan(func: &Function, dim: u32) -> Option<Plan> {
    let everything = all(func, func.body, |_| true);
    let end = func.terminator(func.body)?;
    for &id in &everything {
        let inst = func.inst(id);
        let is_plain = match inst.op.effect() {
            Effect::Pure | Effect::Read => true,
            Effect::Write => inst.op == Op::Store,
            Effect::Check | Effect::Sync | Effect::Print => false,
            Effect::Control => match inst.op {
                Op::Return => id == end,
                op => matches!(op, Op::If | Op::For | Op::Loop | Op::Yield | Op::Continue | Op::Break),
            },
        };
        if !is_plain {
            return None;
        }
    }
    let mut lanes = Lanes { func, dim, varying: vec![false; func.values.len()], changed: true };
    while lanes.changed {
        lanes.changed = false;
        lanes.region(func.body);
    }
    let plan = lanes.plan(func.body)?;
    // Elsewhere than in what is walked a number would be that of the first thread.
    let is_index = |id: InstId| func.inst(id).op == Op::Tid && func.inst(id).attr == Attr::Index(dim);
    if everything.iter().any(|&id| is_index(id) && plan.way(id) != Way::Index) {
        return None;
    }
    let pays = |&id: &InstId| func.inst(id).op == Op::For && plan.way(id) == Way::Jam && shares_reads(func, &plan, id);
    func.region(func.body).insts.iter().any(pays).then_some(plan)
}

/// Whether a loop reads what both threads want, and keeps little for each.
fn shares_reads(func: &Function, plan: &Plan, id: InstId) -> bool {
    let body = func.inst(id).regions[0];
    let insts = all(func, body, |_| true);
    let copies = |&id: &InstId| if matches!(plan.way(id), Way::Once | Way::End) { 1 } else { 2 };
    if insts.iter().map(copies).sum::<usize>() > MAX_INSTS {
        return false;
    }
    let is_inside = |value: Value| match func.def(value) {
        ValueDef::Param(region, _) => region == body || insts.iter().any(|&id| func.inst(id).regions.contains(&region)),
        ValueDef::Result(id, _) => insts.contains(&id),
    };
    let mut kept: Vec<Value> = func.region(body).params.clone();
    for &id in &insts {
        let outside = func.inst(id).operands.iter().copied().filter(|&operand| !is_inside(operand));
        kept.extend(outside);
    }
    kept.sort();
    kept.dedup();
    let words = kept.iter().filter(|&&value| plan.varies(value)).map(|&value| words(func.ty(value))).sum::<usize>();
    let is_shared = |&id: &InstId| func.inst(id).op == Op::Load && plan.way(id) == Way::Once;
    insts.iter().any(is_shared) && (1..=MAX_WORDS).contains(&words)
}

fn words(ty: Type) -> usize {
    ty.size().div_ceil(4) as usize
}

struct Lanes<'f> {
    func: &'f Function,
    dim: u32,
    varying: Vec<bool>,
    changed: bool,
}

impl Lanes<'_> {
    fn varies(&self, value: Value) -> bool {
        self.varying[value.index()]
    }

    fn any_varies(&self, values: &[Value]) -> bool {
        values.iter().any(|&value| self.varies(value))
    }

    fn set(&mut self, value: Value) {
        self.changed |= !std::mem::replace(&mut self.varying[value.index()], true);
    }

    fn region(&mut self, region: RegionId) {
        let func = self.func;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            if self.is_jammed(id) {
                for &inner in &inst.regions {
                    self.region(inner);
                }
                let carried = inst.operands.get(3..).filter(|_| inst.op == Op::For).unwrap_or_default();
                for (i, &result) in inst.results.iter().enumerate() {
                    let mut ends = inst.regions.iter().filter_map(|&region| func.terminator(region));
                    let at_end = ends.any(|end| self.varies(func.inst(end).operands[i]));
                    if at_end || carried.get(i).is_some_and(|&value| self.varies(value)) || self.varies(result) {
                        self.set(result);
                        if inst.op == Op::For {
                            self.set(func.region(inst.regions[0]).params[i + 1]);
                        }
                    }
                }
            } else if self.differs(id) {
                inst.results.iter().for_each(|&result| self.set(result));
            }
        }
    }

    /// Whether an instruction that is not jammed gives each thread something else.
    fn differs(&self, id: InstId) -> bool {
        let inst = self.func.inst(id);
        match inst.op {
            Op::Tid => inst.attr == Attr::Index(self.dim),
            // What is in regions is not looked at.
            Op::If | Op::For | Op::Loop => true,
            // Neighbors of an even number and the next agree but in the lowest bit.
            Op::And | Op::Or if self.hides_the_lowest_bit(id) => false,
            _ => self.any_varies(&inst.operands),
        }
    }

    fn hides_the_lowest_bit(&self, id: InstId) -> bool {
        let inst = self.func.inst(id);
        let lowest = u64::from(inst.op == Op::Or);
        let [x, y] = inst.operands[..] else { return false };
        self.func.as_const(y).is_some_and(|bits| bits.0 & 1 == lowest) && self.is_index(x)
    }

    fn is_index(&self, value: Value) -> bool {
        let ValueDef::Result(id, _) = self.func.def(value) else { return false };
        let inst = self.func.inst(id);
        match inst.op {
            Op::Tid => inst.attr == Attr::Index(self.dim),
            Op::Cast => {
                let is_integer = self.func.ty(value).as_scalar().is_some_and(|scalar| scalar.is_int());
                is_integer && self.is_index(inst.operands[0])
            }
            Op::And | Op::Or => {
                let lowest = u64::from(inst.op == Op::And);
                self.func.as_const(inst.operands[1]).is_some_and(|bits| bits.0 & 1 == lowest)
                    && self.is_index(inst.operands[0])
            }
            _ => false,
        }
    }

    /// Whether both threads go through a branch or a loop together.
    fn is_jammed(&self, id: InstId) -> bool {
        let (func, inst) = (self.func, self.func.inst(id));
        let ends_with = |region, op| func.terminator(region).is_some_and(|end| func.inst(end).op == op);
        match inst.op {
            Op::If => !self.varies(inst.operands[0]) && inst.regions.iter().all(|&region| ends_with(region, Op::Yield)),
            Op::For => {
                let body = inst.regions[0];
                !self.any_varies(&inst.operands[..3])
                    && ends_with(body, Op::Continue)
                    && loop_exits(func, body) == func.terminator(body).as_slice()
            }
            _ => false,
        }
    }

    fn plan(self, body: RegionId) -> Option<Plan> {
        let n_insts = self.func.insts.len();
        let (mut ways, mut ends) = (vec![Way::Each; n_insts], vec![Vec::new(); n_insts]);
        self.ways(body, &[], &mut ways, &mut ends)?;
        Some(Plan { ways, ends, varying: self.varying })
    }

    /// `results`: what the op around gives; `None` where it cannot be done.
    fn ways(&self, region: RegionId, results: &[Value], ways: &mut [Way], ends: &mut [Vec<bool>]) -> Option<()> {
        let func = self.func;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            ways[id.index()] = match inst.op {
                Op::Tid if inst.attr == Attr::Index(self.dim) => Way::Index,
                Op::Yield | Op::Continue | Op::Return => {
                    ends[id.index()] = results.iter().map(|&result| self.varies(result)).collect();
                    Way::End
                }
                _ if self.is_jammed(id) => {
                    for &inner in &inst.regions {
                        self.ways(inner, &inst.results, ways, ends)?;
                    }
                    Way::Jam
                }
                op => {
                    let is_written = |&region: &RegionId| !all(func, region, |op| op == Op::Store).is_empty();
                    if op == Op::Store || inst.regions.iter().any(is_written) {
                        // What it gives would have to be merged with what the first thread gets.
                        inst.results.is_empty().then_some(Way::EachThatIsThere)?
                    } else if self.differs(id) {
                        Way::Each
                    } else {
                        Way::Once
                    }
                }
            };
        }
        Some(())
    }
}
