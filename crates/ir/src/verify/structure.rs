//! Regions, dominance and terminators of one function; the ops themselves are in `rules`.

use super::{MAX_DEPTH, check_type, rules};
use crate::func::{Function, Inst, InstId, Module, RegionId, Value, ValueDef};
use crate::op::Op;
use crate::types::Type;

type Errors = Vec<(Option<InstId>, String)>;

pub(super) fn check(module: &Module, func: &Function, errors: &mut Errors) {
    let mut checker = Checker {
        module,
        func,
        errors,
        is_visible: vec![false; func.values.len()],
        owned: vec![false; func.regions.len()],
        listed: vec![false; func.insts.len()],
        owners: Vec::new(),
    };
    for &ty in &func.results {
        if let Err(message) = check_type(ty) {
            checker.errors.push((None, message));
        }
    }
    checker.params();
    checker.region(None, func.body);
}

struct Checker<'a> {
    module: &'a Module,
    func: &'a Function,
    errors: &'a mut Errors,
    /// Whether a value's definition dominates the current place.
    is_visible: Vec<bool>,
    owned: Vec<bool>,
    listed: Vec<bool>,
    /// The ops that own the regions around the current place, outermost first.
    owners: Vec<InstId>,
}

impl<'a> Checker<'a> {
    fn error(&mut self, at: Option<InstId>, message: impl Into<String>) {
        self.errors.push((at, message.into()));
    }

    fn params(&mut self) {
        let declared: Vec<Type> = self.func.params.iter().map(|param| param.ty).collect();
        let Some(body) = self.func.regions.get(self.func.body.index()) else { return };
        let found: Vec<_> = body.params.iter().filter_map(|&v| self.ty(v)).collect();
        if found != declared {
            self.error(None, format!("parameters are {}, but the body takes {}", types(&declared), types(&found)));
        }
    }

    fn ty(&self, value: Value) -> Option<Type> {
        self.func.values.get(value.index()).map(|known| known.ty)
    }

    fn region(&mut self, owner: Option<InstId>, id: RegionId) {
        let func = self.func;
        let Some(region) = func.regions.get(id.index()) else {
            return self.error(owner, format!("there is no region {}", id.0));
        };
        if std::mem::replace(&mut self.owned[id.index()], true) {
            return self.error(owner, format!("region {} is owned twice", id.0));
        }
        if self.owners.len() > MAX_DEPTH {
            return self.error(owner, format!("regions are nested more than {MAX_DEPTH} deep"));
        }
        let mut defined = Vec::new();
        for (i, &value) in region.params.iter().enumerate() {
            self.define(owner, value, ValueDef::Param(id, i as u32), &mut defined);
        }
        for (i, &inst) in region.insts.iter().enumerate() {
            self.inst(owner, inst, i + 1 == region.insts.len(), &mut defined);
        }
        if region.insts.is_empty() {
            self.error(owner, "a region needs a terminator");
        }
        for value in defined {
            self.is_visible[value.index()] = false;
        }
    }

    fn define(&mut self, at: Option<InstId>, value: Value, def: ValueDef, defined: &mut Vec<Value>) {
        let Some(known) = self.func.values.get(value.index()) else {
            return self.error(at, format!("there is no value v{}", value.0));
        };
        if known.def != def {
            return self.error(at, format!("v{} is defined twice, or not where its definition says", value.0));
        }
        if let Err(message) = check_type(known.ty) {
            self.error(at, message);
        }
        self.is_visible[value.index()] = true;
        defined.push(value);
    }

    fn inst(&mut self, owner: Option<InstId>, id: InstId, is_last: bool, defined: &mut Vec<Value>) {
        let func = self.func;
        let Some(inst) = func.insts.get(id.index()) else {
            return self.error(owner, format!("there is no instruction {}", id.0));
        };
        if std::mem::replace(&mut self.listed[id.index()], true) {
            return self.error(Some(id), "the instruction is listed twice");
        }
        if is_last && !inst.op.is_terminator() {
            self.error(Some(id), format!("a region must end with a terminator, not with `{}`", inst.op.name()));
        } else if !is_last && inst.op.is_terminator() {
            self.error(Some(id), format!("`{}` must be the last instruction of its region", inst.op.name()));
        }
        let operands = self.operands(id, inst);
        // Results become visible only after the op's own regions.
        let mut results = Vec::new();
        for (i, &value) in inst.results.iter().enumerate() {
            self.define(Some(id), value, ValueDef::Result(id, i as u32), &mut results);
        }
        for &value in &results {
            self.is_visible[value.index()] = false;
        }
        if let Some(operands) = operands
            && results.len() == inst.results.len()
        {
            self.types(id, inst, &operands);
        }
        self.owners.push(id);
        for &region in &inst.regions {
            self.region(Some(id), region);
        }
        self.owners.pop();
        for &value in &results {
            self.is_visible[value.index()] = true;
        }
        defined.extend(results);
    }

    /// The operands' types, where all are visible.
    fn operands(&mut self, id: InstId, inst: &Inst) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        for &value in &inst.operands {
            match self.ty(value) {
                Some(ty) if self.is_visible[value.index()] => types.push(ty),
                Some(_) => self.error(Some(id), format!("v{} is not defined on the way here", value.0)),
                None => self.error(Some(id), format!("there is no value v{}", value.0)),
            }
        }
        (types.len() == inst.operands.len()).then_some(types)
    }

    fn types(&mut self, id: InstId, inst: &Inst, operands: &[Type]) {
        let results: Vec<Type> = inst.results.iter().filter_map(|&v| self.ty(v)).collect();
        let in_threads = self.owners.iter().any(|&owner| matches!(self.func.inst(owner).op, Op::Threads | Op::Each));
        let op = rules::OpTypes { module: self.module, func: self.func, inst, operands, results: &results, in_threads };
        if let Err(message) = rules::check(&op) {
            self.error(Some(id), message);
        }
        if inst.op.is_terminator()
            && let Err(message) = self.terminator(inst, operands)
        {
            self.error(Some(id), message);
        }
    }

    /// Whether a terminator may end its region, and whether its target takes values of these types.
    fn terminator(&self, inst: &Inst, operands: &[Type]) -> Result<(), String> {
        let name = inst.op.name();
        let owner = self.owners.last().map(|&id| self.func.inst(id));
        let is_loop = |inst: &Inst| matches!(inst.op, Op::For | Op::Loop);
        let is_threads = |inst: &&Inst| matches!(inst.op, Op::Threads | Op::Each);
        let around = || self.owners.iter().rev().map(|&id| self.func.inst(id));
        let target = around().take_while(|inst| !is_threads(inst)).find(|inst| is_loop(inst));
        let expected: Vec<Type> = match inst.op {
            Op::Unreachable => Vec::new(),
            Op::Return if around().any(|inst| is_threads(&inst)) => {
                return Err("`return` within `threads` or `each`".into());
            }
            Op::Return => self.func.results.clone(),
            Op::Yield => match owner {
                Some(owner) if matches!(owner.op, Op::If | Op::Threads | Op::Each) => self.value_types(&owner.results),
                _ => return Err("`yield` ends a region of `if`, `threads` or `each` only".into()),
            },
            _ => {
                let target = target.ok_or_else(|| format!("`{name}` outside any loop"))?;
                if inst.op == Op::Break {
                    self.value_types(&target.results)
                } else {
                    self.value_types(self.carried(target))
                }
            }
        };
        if expected != operands {
            return Err(format!("`{name}` must give {}, found {}", types(&expected), types(operands)));
        }
        Ok(())
    }

    /// The values that a loop's region carries from round to round.
    fn carried(&self, inst: &'a Inst) -> &'a [Value] {
        let params = match inst.regions.first().and_then(|region| self.func.regions.get(region.index())) {
            Some(region) => &region.params[..],
            None => &[],
        };
        if inst.op == Op::For { params.get(1..).unwrap_or_default() } else { params }
    }

    fn value_types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().filter_map(|&v| self.ty(v)).collect()
    }
}

/// Types in a message: `f32 and i32`, `nothing`.
pub(super) fn types(types: &[Type]) -> String {
    match types {
        [] => "nothing".to_string(),
        [one] => one.to_string(),
        [start @ .., last] => {
            let start: Vec<_> = start.iter().map(Type::to_string).collect();
            format!("{} and {last}", start.join(", "))
        }
    }
}
