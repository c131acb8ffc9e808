//! Which memory changes while a kernel's thread runs.
//!
//! In: a kernel in the form of [`crate::structure`]. Out: the memory that is *volatile*: loaded from where the same thread may have written before. All other memory reads the same at any time,
//! if the differentiated kernel leaves its writes away. Volatile memory does not: what is loaded from it must be kept.

use crate::custom::{Customs, call_roots};
pub(crate) use analysis::{Aliases, Root, roots};
use ir::op::Effect;
use ir::{Function, Op, RegionId, Type, Value};
use std::collections::HashSet;

/// Memory that a thread may load from after it wrote there.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    loaded: HashSet<Root>,
}

impl Volatile {
    pub(crate) fn of(func: &Function, aliases: Aliases, customs: &Customs) -> Volatile {
        let mut walk = Walk { func, aliases, customs, written: HashSet::new(), found: Volatile::default() };
        walk.region(func.body);
        walk.found
    }

    /// Whether loads from one of these roots may see what the thread wrote.
    pub(crate) fn is_volatile(&self, roots: &[Root]) -> bool {
        roots.iter().any(|root| self.loaded.contains(root))
    }

    /// Whether a load may see what is written to one of these roots.
    pub(crate) fn keeps(&self, roots: &[Root], aliases: Aliases) -> bool {
        roots.iter().any(|&root| self.loaded.iter().any(|&loaded| aliases.may_alias(root, loaded)))
    }
}

struct Walk<'f> {
    func: &'f Function,
    aliases: Aliases,
    customs: &'f Customs,
    written: HashSet<Root>,
    found: Volatile,
}

impl Walk<'_> {
    fn load(&mut self, roots: &[Root]) {
        for &root in roots {
            if self.written.iter().any(|&written| self.aliases.may_alias(written, root)) {
                self.found.loaded.insert(root);
            }
        }
    }

    fn region(&mut self, region: RegionId) {
        let func = self.func;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            match inst.op {
                op if op.effect() == Effect::Read => self.load(&roots(func, inst.operands[0])),
                Op::Call => {
                    let roots = call_roots(func, inst);
                    self.load(&roots);
                    if self.customs.get(inst).is_some_and(|custom| custom.writes) {
                        self.written.extend(roots);
                    }
                }
                op if op.effect() == Effect::Write => self.written.extend(roots(func, inst.operands[0])),
                // What a round writes, the next may load.
                Op::For | Op::Loop => self.region(inst.regions[0]),
                _ => {}
            }
            for &inner in &inst.regions {
                self.region(inner);
            }
        }
    }
}

/// The element type of what an access reaches.
pub(crate) fn element(func: &Function, array: Value) -> Type {
    func.ty(array).as_array().map_or(Type::bool(), |(elem, _)| elem)
}
