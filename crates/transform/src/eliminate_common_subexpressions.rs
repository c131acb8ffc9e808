//! Computes once what is computed twice.
//!
//! In: a verified function. Out: the same with pure ops of equal op, operands and attribute merged into the first of
//! them, where that one's region is around the other. Reads merge too while nothing between them may write memory, and
//! so do checks: the second can only fail where the first ended the thread.
//!
//! ```text
//! v3: f32 = mul v0, v1
//! v4: f32 = mul v1, v0      ->    (v4 becomes v3)
//! ```

use crate::Changed;
use crate::exits::is_loop;
use crate::replace::Replacements;
use ir::op::Effect;
use ir::{Attr, Function, InstId, Op, RegionId, Type, Value};
use std::collections::HashMap;

/// What makes two instructions the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    operands: Vec<Value>,
    attr: Attr,
    ty: Option<Type>,
    /// For reads, the state of memory they see.
    memory: u32,
}

/// Merges equal computations.
pub fn eliminate_common_subexpressions(func: &mut Function) -> Changed {
    let body = func.body;
    let writes = regions_that_write(func);
    let replacements = Replacements::default();
    let mut merger = Merger { func, writes, replacements, known: HashMap::new(), memory: 0, last: 0, changed: false };
    merger.region(body);
    let changed = merger.changed;
    let replacements = merger.replacements;
    replacements.apply(func);
    Changed(changed)
}

struct Merger<'f> {
    func: &'f mut Function,
    writes: Vec<bool>,
    replacements: Replacements,
    /// The first of each computation whose region is around the current place.
    known: HashMap<Key, InstId>,
    /// Number of the current state of memory.
    memory: u32,
    /// Last number given to a state.
    last: u32,
    changed: bool,
}

impl Merger<'_> {
    fn region(&mut self, region: RegionId) {
        let mut added = Vec::new();
        let insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        let kept = insts.into_iter().filter(|&id| self.keep(id, &mut added)).collect();
        self.func.regions[region.index()].insts = kept;
        for key in added {
            self.known.remove(&key);
        }
    }

    /// Whether an instruction stays. New computations are noted in `added`.
    fn keep(&mut self, id: InstId, added: &mut Vec<Key>) -> bool {
        for operand in &mut self.func.insts[id.index()].operands {
            *operand = self.replacements.get(*operand);
        }
        let inst = self.func.inst(id);
        match inst.op.effect() {
            Effect::Pure | Effect::Read | Effect::Check => {
                let key = self.key(id);
                if let Some(&first) = self.known.get(&key) {
                    if let ([result], [by]) = (&inst.results[..], &self.func.inst(first).results[..]) {
                        self.replacements.set(*result, *by);
                    }
                    self.changed = true;
                    return false;
                }
                self.known.insert(key.clone(), id);
                added.push(key);
            }
            Effect::Write | Effect::Sync => self.memory_changes(),
            Effect::Print => {}
            Effect::Control => self.control(id),
        }
        true
    }

    fn key(&self, id: InstId) -> Key {
        let inst = self.func.inst(id);
        let mut operands = inst.operands.to_vec();
        if matches!(inst.op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::MulHigh | Op::Eq | Op::Ne) {
            operands.sort();
        }
        let effect = inst.op.effect();
        Key {
            op: inst.op,
            operands,
            // Which place reports first does not change whether the thread ends.
            attr: if effect == Effect::Check { Attr::None } else { inst.attr.clone() },
            ty: inst.results.first().map(|&v| self.func.ty(v)),
            memory: if effect == Effect::Read { self.memory } else { 0 },
        }
    }

    fn memory_changes(&mut self) {
        self.last += 1;
        self.memory = self.last;
    }

    fn control(&mut self, id: InstId) {
        let inst = self.func.inst(id);
        let regions = inst.regions.clone();
        let writes = inst.op == Op::Call || regions.iter().any(|region| self.writes[region.index()]);
        // A later round of a loop sees what an earlier one wrote.
        if writes && (is_loop(inst.op) || matches!(inst.op, Op::Threads | Op::Each)) {
            self.memory_changes();
        }
        let before = self.memory;
        for region in regions {
            self.memory = before;
            self.region(region);
        }
        self.memory = before;
        if writes {
            self.memory_changes();
        }
    }
}

/// For each region whether something in it may write memory.
fn regions_that_write(func: &Function) -> Vec<bool> {
    fn visit(func: &Function, region: RegionId, writes: &mut [bool]) -> bool {
        let mut found = false;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            found |= matches!(inst.op.effect(), Effect::Write | Effect::Sync) || inst.op == Op::Call;
            for &inner in &inst.regions {
                found |= visit(func, inner, writes);
            }
        }
        writes[region.index()] = found;
        found
    }
    let mut writes = vec![false; func.regions.len()];
    visit(func, func.body, &mut writes);
    writes
}
