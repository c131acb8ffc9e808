//! Removes instructions that have no effect and whose results are unused, and values that loops and `if`s hand on for
//! no one.
//!
//! In: a verified function. Out: the same without them. Everything is dead until something live needs it: what writes,
//! checks, prints, calls or returns is live, then what it uses, and the control flow that leads there. A loop that
//! may run forever is live; a `for` is not for its own sake. What is written to a local array is live only where
//! something live may load it.
//!
//! ```text
//! v6: i32, v7: f32 = for v3: i32 = v0 to v1 step v2 with (v4: i32 = v2, v5: f32 = v8) { … continue v9, v10 }
//! return v6
//! ->
//! v6: i32 = for v3: i32 = v0 to v1 step v2 with (v4: i32 = v2) { … continue v9 }
//! ```

use crate::Changed;
use crate::exits::{is_loop, loop_exits};
use analysis::{Aliases, Root, roots};
use ir::op::Effect;
use ir::{Function, InstId, Op, RegionId, Value, ValueDef};

/// Removes instructions that have no effect and whose results are unused.
pub fn eliminate_dead_code(func: &mut Function) -> Changed {
    let aliases = Aliases { params_overlap: true };
    eliminate_dead_writes(func, aliases, &|root| matches!(root, Root::Local(_)))
}

/// As [`eliminate_dead_code`], where no one looks at the memory of the roots that `is_scratch` names when the function
/// is done.
pub fn eliminate_dead_writes(func: &mut Function, aliases: Aliases, is_scratch: &dyn Fn(Root) -> bool) -> Changed {
    let mut marker = Marker::new(func, aliases, is_scratch);
    marker.run();
    let Marker { is_live, is_live_inst, .. } = marker;
    let body = func.body;
    Changed(sweep(func, body, &is_live, &is_live_inst))
}

struct Marker<'f> {
    func: &'f Function,
    is_live: Vec<bool>,
    is_live_inst: Vec<bool>,
    /// The op that owns the region which lists an instruction.
    parents: Vec<Option<InstId>>,
    /// The op that owns a region.
    owners: Vec<Option<InstId>>,
    /// The terminators that belong to an op.
    exits: Vec<Vec<InstId>>,
    values: Vec<Value>,
    insts: Vec<InstId>,
    aliases: Aliases,
    /// Writes to scratch memory that nothing live was found to load.
    writes: Vec<(InstId, Vec<Root>)>,
}

impl<'f> Marker<'f> {
    fn new(func: &'f Function, aliases: Aliases, is_scratch: &dyn Fn(Root) -> bool) -> Marker<'f> {
        let n = func.insts.len();
        // Whose address is taken may be reached by ways unknown.
        let reached = func.reached();
        let taken = reached.iter().map(|&id| func.inst(id)).filter(|inst| inst.op == Op::Address);
        let taken: Vec<Root> = taken.flat_map(|inst| roots(func, inst.operands[0])).collect();
        let is_scratch = |root: Root| is_scratch(root) && !taken.contains(&root);
        let mut marker = Marker {
            func,
            is_live: vec![false; func.values.len()],
            is_live_inst: vec![false; n],
            parents: vec![None; n],
            owners: vec![None; func.regions.len()],
            exits: vec![Vec::new(); n],
            values: Vec::new(),
            insts: Vec::new(),
            aliases,
            writes: Vec::new(),
        };
        marker.collect(func.body, None, None, &is_scratch);
        marker
    }

    /// Notes who owns what, and marks what is live for its own sake.
    fn collect(
        &mut self,
        region: RegionId,
        owner: Option<InstId>,
        around: Option<InstId>,
        is_scratch: &dyn Fn(Root) -> bool,
    ) {
        let func = self.func;
        self.owners[region.index()] = owner;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            self.parents[id.index()] = owner;
            let target = match inst.op {
                Op::Yield => owner,
                Op::Continue | Op::Break => around,
                _ => None,
            };
            if let Some(target) = target {
                self.exits[target.index()].push(id);
            }
            let inner = if is_loop(inst.op) { Some(id) } else { around };
            for &region in &inst.regions {
                self.collect(region, Some(id), inner, is_scratch);
            }
            if inst.op.effect() == Effect::Write {
                let roots = roots(func, inst.operands[0]);
                if roots.iter().all(|&root| is_scratch(root)) {
                    self.writes.push((id, roots));
                    continue;
                }
            }
            if is_root(func, id) {
                self.mark(id);
            }
        }
    }

    fn mark(&mut self, id: InstId) {
        if !std::mem::replace(&mut self.is_live_inst[id.index()], true) {
            self.insts.push(id);
        }
    }

    fn mark_value(&mut self, value: Value) {
        if !std::mem::replace(&mut self.is_live[value.index()], true) {
            self.values.push(value);
        }
    }

    fn run(&mut self) {
        loop {
            if let Some(id) = self.insts.pop() {
                self.inst(id);
            } else if let Some(value) = self.values.pop() {
                self.value(value);
            } else {
                return;
            }
        }
    }

    fn inst(&mut self, id: InstId) {
        let inst = self.func.inst(id);
        if let Some(parent) = self.parents[id.index()] {
            self.mark(parent);
        }
        let n_fixed = match inst.op {
            Op::If => 1,
            Op::For => 3,
            // Handed-on values are live only where their receivers are.
            Op::Loop | Op::Yield | Op::Continue | Op::Break => 0,
            _ => inst.operands.len(),
        };
        for &value in &inst.operands[..n_fixed] {
            self.mark_value(value);
        }
        let effect = inst.op.effect();
        let is_read = effect == Effect::Read || effect == Effect::Write && !inst.results.is_empty();
        if is_read && !self.writes.is_empty() {
            self.mark_writes(&roots(self.func, inst.operands[0]));
        }
        // A live op takes its exits with it: leaving early is part of what it does.
        for exit in self.exits[id.index()].clone() {
            self.mark(exit);
        }
    }

    /// Marks what may have written the memory that is loaded.
    fn mark_writes(&mut self, loaded: &[Root]) {
        let aliases = self.aliases;
        let is_seen = |written: &[Root]| {
            written.iter().any(|&written| loaded.iter().any(|&loaded| aliases.may_alias(written, loaded)))
        };
        let (seen, unseen) = std::mem::take(&mut self.writes).into_iter().partition(|(_, roots)| is_seen(roots));
        self.writes = unseen;
        let seen: Vec<(InstId, Vec<Root>)> = seen;
        for (id, _) in seen {
            self.mark(id);
        }
    }

    fn value(&mut self, value: Value) {
        match self.func.def(value) {
            ValueDef::Result(id, index) => {
                self.mark(id);
                let inst = self.func.inst(id);
                let index = index as usize;
                for exit in self.exits[id.index()].clone() {
                    // What a round of `for` hands on may be its result; of `loop` only what `break` gives.
                    if inst.op != Op::Loop || self.func.inst(exit).op == Op::Break {
                        self.mark_value(self.func.inst(exit).operands[index]);
                    }
                }
                if inst.op == Op::For {
                    self.mark_value(self.func.region(inst.regions[0]).params[1 + index]);
                }
            }
            ValueDef::Param(region, index) => {
                let Some(id) = self.owners[region.index()] else { return };
                self.mark(id);
                let inst = self.func.inst(id);
                let n_fixed = usize::from(matches!(inst.op, Op::For | Op::Each));
                let Some(index) = (index as usize).checked_sub(n_fixed) else { return };
                self.mark_value(inst.operands[if inst.op == Op::For { 3 + index } else { index }]);
                // A `for` gives what it carries, so the two stay in step.
                if inst.op == Op::For {
                    self.mark_value(inst.results[index]);
                }
                for exit in self.exits[id.index()].clone() {
                    if self.func.inst(exit).op == Op::Continue {
                        self.mark_value(self.func.inst(exit).operands[index]);
                    }
                }
            }
        }
    }
}

/// Whether an instruction is live whatever uses its results.
fn is_root(func: &Function, id: InstId) -> bool {
    let inst = func.inst(id);
    match inst.op.effect() {
        Effect::Pure | Effect::Read => false,
        Effect::Write | Effect::Check | Effect::Print | Effect::Sync => true,
        Effect::Control => match inst.op {
            Op::Return | Op::Call => true,
            // Without a `continue` it makes one round.
            Op::Loop => loop_exits(func, inst.regions[0]).iter().any(|&exit| func.inst(exit).op == Op::Continue),
            _ => false,
        },
    }
}

/// Drops what is not live from a region; gives whether anything was.
fn sweep(func: &mut Function, region: RegionId, is_live: &[bool], is_live_inst: &[bool]) -> bool {
    let insts = std::mem::take(&mut func.regions[region.index()].insts);
    let n = insts.len();
    let kept: Vec<InstId> =
        insts.into_iter().filter(|id| is_live_inst[id.index()] || func.inst(*id).op.is_terminator()).collect();
    let mut changed = kept.len() != n;
    for &id in &kept {
        for inner in func.inst(id).regions.clone() {
            changed |= sweep(func, inner, is_live, is_live_inst);
        }
        if !func.inst(id).regions.is_empty() {
            changed |= drop_slots(func, id, is_live);
        }
    }
    func.regions[region.index()].insts = kept;
    changed
}

/// Drops results and carried values that are not live from an op, its regions and its exits.
fn drop_slots(func: &mut Function, id: InstId, is_live: &[bool]) -> bool {
    let inst = func.inst(id).clone();
    if inst.op == Op::Each {
        return false;
    }
    let keeps = |values: &[Value]| values.iter().map(|v| is_live[v.index()]).collect::<Vec<bool>>();
    let results = keeps(&inst.results);
    let mut changed = results.contains(&false);
    let body = inst.regions[0];
    let (n_fixed, n_operands) = if inst.op == Op::For { (1, 3) } else { (0, 0) };
    let carried = keeps(&func.region(body).params[n_fixed..]);
    if inst.op == Op::If {
        for region in inst.regions {
            if let Some(end) = func.terminator(region).filter(|&end| func.inst(end).op == Op::Yield) {
                func.insts[end.index()].operands.retain(keeper(0, &results));
            }
        }
    } else {
        changed |= carried.contains(&false);
        for exit in loop_exits(func, body) {
            let kept = if func.inst(exit).op == Op::Break { &results } else { &carried };
            func.insts[exit.index()].operands.retain(keeper(0, kept));
        }
        func.insts[id.index()].operands.retain(keeper(n_operands, &carried));
        func.regions[body.index()].params.retain_mut(keeper(n_fixed, &carried));
        renumber(func, body);
    }
    func.insts[id.index()].results.retain(keeper(0, &results));
    for (i, value) in (0u32..).zip(func.inst(id).results.clone()) {
        func.values[value.index()].def = ValueDef::Result(id, i);
    }
    changed
}

fn renumber(func: &mut Function, region: RegionId) {
    for (i, value) in (0u32..).zip(func.region(region).params.clone()) {
        func.values[value.index()].def = ValueDef::Param(region, i);
    }
}

/// Keeps the values behind the first `n_fixed` where `kept` says so.
fn keeper(n_fixed: usize, kept: &[bool]) -> impl FnMut(&mut Value) -> bool {
    let mut kept = std::iter::repeat_n(true, n_fixed).chain(kept.iter().copied());
    move |_| kept.next().unwrap_or(true)
}
