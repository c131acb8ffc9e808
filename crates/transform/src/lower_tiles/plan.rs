//! Which tiles need no memory, and where each is needed last.
//!
//! A tile is lazy where every element of it is computed once, at the only place that uses it, or costs nothing. What
//! would read arrays later than written waits for nothing that writes.

use crate::replace::Replacements;
use ir::op::Effect;
use ir::{Attr, Function, Inst, InstId, Module, Op, RegionId, Type, Value, ValueDef};
use std::collections::HashMap;

pub(super) struct Plan {
    is_lazy: Vec<bool>,
    /// By value: the region that defines it and the last place there whose instruction, or one in it, uses it.
    last: Vec<Option<(RegionId, usize)>>,
    by_place: HashMap<(RegionId, usize), Vec<Value>>,
    is_used: Vec<bool>,
    /// By region and tile from around it: the last place there that uses the tile, but for the end of the region.
    last_in: HashMap<(RegionId, Value), usize>,
    defined: Vec<RegionId>,
    /// By instruction with regions: the tiles from around it that these use.
    needed: HashMap<InstId, Vec<Value>>,
    /// Scalars that others stand for.
    pub replaced: Replacements,
}

/// Where instructions stand.
struct Places<'f> {
    func: &'f Function,
    of_inst: Vec<(RegionId, usize)>,
    /// The instruction that owns a region.
    owner: Vec<Option<InstId>>,
    uses: Vec<Vec<InstId>>,
}

impl Plan {
    pub(super) fn new(func: &Function, module: &Module) -> Plan {
        let places = Places::new(func);
        let mut is_lazy = vec![false; func.values.len()];
        let listed = || func.regions.iter().flat_map(|region| &region.insts).copied();
        for id in listed() {
            let inst = func.inst(id);
            is_lazy[first_tile(func, inst)] = match inst.op {
                Op::TileFill | Op::TileIndex | Op::TileView => true,
                Op::Select if func.ty(inst.result()).as_tile().is_none() => continue,
                Op::Select | Op::TileMap | Op::TileLoad | Op::TileLoadAt => places.is_single_use(id, module),
                _ => continue,
            };
        }
        // What reads memory and comes, through others, to a place behind a write is computed at once.
        for id in listed() {
            let inst = func.inst(id);
            let reads = matches!(inst.op, Op::TileLoad | Op::TileLoadAt);
            if reads && is_lazy[inst.result().index()] && !places.can_wait(id, &is_lazy) {
                is_lazy[inst.result().index()] = false;
            }
        }
        let mut plan = Plan {
            is_lazy,
            last: vec![None; func.values.len()],
            by_place: HashMap::new(),
            is_used: places.uses.iter().map(|uses| !uses.is_empty()).collect(),
            last_in: HashMap::new(),
            defined: (0..func.values.len()).map(|index| places.defined(Value(index as u32)).0).collect(),
            needed: HashMap::new(),
            replaced: Replacements::default(),
        };
        for index in 0..func.values.len() {
            let value = Value(index as u32);
            if func.ty(value).as_tile().is_none() {
                continue;
            }
            let mut uses = Vec::new();
            places.ultimate(value, &plan.is_lazy, &mut uses);
            let (region, first) = places.defined(value);
            let last = uses.iter().filter_map(|&id| places.within(id, region)).max();
            let last = (region, last.unwrap_or(0).max(first));
            plan.last[index] = Some(last);
            plan.by_place.entry(last).or_default().push(value);
            for &id in &uses {
                let Some(at) = places.within(id, region) else { continue };
                plan.note_uses(&places, value, id, region);
                let around = func.region(region).insts[at];
                if around != id {
                    plan.needed.entry(around).or_default().push(value);
                }
            }
        }
        plan
    }

    fn note_uses(&mut self, places: &Places<'_>, tile: Value, user: InstId, from: RegionId) {
        let mut id = user;
        while let (region, at) = places.of_inst[id.index()]
            && region != from
        {
            // What an arm yields it gives on as it is.
            if places.func.inst(id).op != Op::Yield {
                let last = self.last_in.entry((region, tile)).or_insert(at);
                *last = at.max(*last);
            }
            match places.owner[region.index()] {
                Some(owner) => id = owner,
                None => return,
            }
        }
    }

    /// The last place in a region that uses a tile from around it, but for its end.
    pub(super) fn last_in(&self, tile: Value, region: RegionId) -> Option<usize> {
        self.last_in.get(&(region, tile)).copied()
    }

    /// Whether a value is from around an arm.
    pub(super) fn is_defined_outside(&self, value: Value, arm: RegionId) -> bool {
        self.defined.get(value.index()).is_some_and(|&region| region != arm)
    }

    pub(super) fn is_lazy(&self, tile: Value) -> bool {
        self.is_lazy.get(tile.index()).is_some_and(|&lazy| lazy)
    }

    /// Whether nothing behind an instruction uses a tile.
    pub(super) fn dies_at(&self, tile: Value, region: RegionId, at: usize) -> bool {
        self.last.get(tile.index()).copied().flatten().is_some_and(|(found, last)| found == region && last <= at)
    }

    pub(super) fn is_used(&self, value: Value) -> bool {
        self.is_used.get(value.index()).is_some_and(|&used| used)
    }

    /// The tiles from around an instruction that its regions use.
    pub(super) fn needed_in(&self, id: InstId) -> Vec<Value> {
        self.needed.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn last_used_at(&self, region: RegionId, at: usize) -> Vec<Value> {
        self.by_place.get(&(region, at)).cloned().unwrap_or_default()
    }
}

/// The value that an instruction over tiles gives, or the first value, which is no tile.
fn first_tile(_: &Function, inst: &Inst) -> usize {
    inst.results.first().map_or(0, |value| value.index())
}

impl<'f> Places<'f> {
    fn new(func: &'f Function) -> Places<'f> {
        let nowhere = (func.body, 0);
        let mut places = Places {
            func,
            of_inst: vec![nowhere; func.insts.len()],
            owner: vec![None; func.regions.len()],
            uses: vec![Vec::new(); func.values.len()],
        };
        places.walk(func.body);
        places
    }

    fn walk(&mut self, region: RegionId) {
        for (at, &id) in self.func.region(region).insts.iter().enumerate() {
            self.of_inst[id.index()] = (region, at);
            let inst = self.func.inst(id);
            inst.operands.iter().for_each(|operand| self.uses[operand.index()].push(id));
            for &inner in &inst.regions {
                self.owner[inner.index()] = Some(id);
                self.walk(inner);
            }
        }
    }

    fn defined(&self, value: Value) -> (RegionId, usize) {
        match self.func.def(value) {
            ValueDef::Result(id, _) => self.of_inst[id.index()],
            ValueDef::Param(region, _) => (region, 0),
        }
    }

    /// The place in a region of the instruction, or of the one around it.
    fn within(&self, id: InstId, region: RegionId) -> Option<usize> {
        let mut id = id;
        loop {
            let (found, at) = self.of_inst[id.index()];
            if found == region {
                return Some(at);
            }
            id = self.owner[found.index()]?;
        }
    }

    /// The instructions that use a value, through lazy ones.
    fn ultimate(&self, value: Value, is_lazy: &[bool], out: &mut Vec<InstId>) {
        for &id in &self.uses[value.index()] {
            let inst = self.func.inst(id);
            out.push(id);
            if let Some(&result) = inst.results.first().filter(|result| is_lazy[result.index()]) {
                self.ultimate(result, is_lazy, out);
            }
        }
    }

    /// Whether one instruction of the same region uses the result, once an element: then it is computed there.
    fn is_single_use(&self, id: InstId, module: &Module) -> bool {
        let result = self.func.inst(id).result();
        let &[user] = &self.uses[result.index()][..] else { return false };
        if self.of_inst[user.index()].0 != self.of_inst[id.index()].0 {
            return false;
        }
        let inst = self.func.inst(user);
        match inst.op {
            Op::TileMap | Op::Select => {
                elementwise(self.func, inst, module).iter().filter(|&&operand| operand == result).count() == 1
            }
            Op::TileReduce | Op::TileScan => true,
            Op::TileStore | Op::TileStoreAt | Op::TileAtomic | Op::TileAtomicAt => {
                inst.operands.last() == Some(&result)
            }
            Op::TilePut | Op::TileScatter => inst.operands[1] == result && inst.operands[0] != result,
            Op::TileMatMul => inst.operands[2] == result,
            _ => false,
        }
    }

    /// Whether nothing writes between a read and where its elements are computed, and that place does not write either.
    fn can_wait(&self, id: InstId, is_lazy: &[bool]) -> bool {
        let (region, first) = self.of_inst[id.index()];
        let mut uses = Vec::new();
        self.ultimate(self.func.inst(id).result(), is_lazy, &mut uses);
        uses.iter().all(|&user| match self.within(user, region) {
            Some(last) => self.func.region(region).insts[first + 1..=last].iter().all(|&id| !writes(self.func, id)),
            None => false,
        })
    }
}

fn writes(func: &Function, id: InstId) -> bool {
    let inst = func.inst(id);
    matches!(inst.op.effect(), Effect::Write | Effect::Sync)
        || inst.op == Op::Call
        || inst.regions.iter().flat_map(|&region| &func.region(region).insts).any(|&inner| writes(func, inner))
}

/// The operands of a `tile_map` of which the function gets elements.
pub(super) fn elementwise(func: &Function, inst: &Inst, module: &Module) -> Vec<Value> {
    if inst.op == Op::Select {
        return inst.operands[1..].to_vec();
    }
    let params = param_types(module, inst);
    let pairs = inst.operands.iter().zip(params);
    let is_elementwise =
        |(operand, param): &(&Value, Type)| func.ty(**operand).as_tile().is_some_and(|(e, _)| e == *param);
    pairs.filter(is_elementwise).map(|(&operand, _)| operand).collect()
}

/// The parameters of the function that an instruction names.
pub(super) fn param_types(module: &Module, inst: &Inst) -> Vec<Type> {
    let Attr::Func(callee) = inst.attr else { return Vec::new() };
    module.func(callee).params.iter().map(|param| param.ty).collect()
}
