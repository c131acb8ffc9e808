//! Splits structs that `if`s and loops hand on into their fields.
//!
//! In: a function. Out: no op with regions gives, and no loop carries, a struct or a tuple; nor is one selected. What of
//! it never changes is then seen not to change, and no one keeps in registers what no one reads.
//!
//! ```text
//! v9: struct S<…> = loop (v1: struct S<…> = v0) { … continue v4 }
//! ->
//! v9: i32, v10: f32 = loop (v1: i32 = v7, v2: f32 = v8) { v3: struct S<…> = construct v1, v2 … continue v5, v6 }
//! ```

use crate::Changed;
use crate::exits::is_loop;
use crate::replace::Replacements;
use diagnostics::Span;
use ir::{Attr, Function, InstId, Op, RegionId, Type, TypeKind, Value, ValueDef};

/// Structs of more fields, those of structs within counted, stay whole: text must not explode.
const MAX_FIELDS: usize = 64;

/// Splits structs that `if`s and loops hand on into their fields.
pub fn split_structs(func: &mut Function) -> Changed {
    let body = func.body;
    let mut splitter = Splitter { func, replacements: Replacements::default(), changed: false };
    splitter.region(body);
    let Splitter { func, replacements, changed } = splitter;
    replacements.apply(func);
    Changed(changed)
}

struct Splitter<'f> {
    func: &'f mut Function,
    replacements: Replacements,
    changed: bool,
}

impl Splitter<'_> {
    fn region(&mut self, region: RegionId) {
        let insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            let inst = self.func.inst(id);
            for inner in inst.regions.clone() {
                self.region(inner);
            }
            match self.func.inst(id).op {
                Op::For | Op::Loop | Op::If => self.handed_on(id, &mut out),
                Op::Select => self.select(id, &mut out),
                _ => out.push(id),
            }
        }
        self.func.regions[region.index()].insts = out;
    }

    /// An op with regions.
    fn handed_on(&mut self, id: InstId, out: &mut Vec<InstId>) {
        let inst = self.func.inst(id);
        let (op, span, regions, results) = (inst.op, inst.span, inst.regions.clone(), inst.results.clone());
        let n_bounds = if op == Op::For { 3 } else { 0 };
        if is_loop(op) && self.any_split(&inst.operands[n_bounds..]) {
            let (bounds, initial) = inst.operands.split_at(n_bounds);
            let (mut operands, initial) = (bounds.to_vec(), initial.to_vec());
            operands.extend(self.fields_of(&initial, span, out));
            self.func.insts[id.index()].operands = operands.into_iter().collect();
            self.params(regions[0], n_bounds.min(1), span);
            self.exits(regions[0], Op::Continue);
        }
        if !self.any_split(&results) {
            return out.push(id);
        }
        match op {
            Op::If => regions.iter().for_each(|&arm| self.terminator(arm, Op::Yield)),
            _ => self.exits(regions[0], Op::Break),
        }
        out.push(id);
        let types: Vec<Type> = results.iter().flat_map(|&result| fields(self.func.ty(result))).collect();
        let fresh: Vec<Value> =
            (0..).zip(types).map(|(k, ty)| self.func.add_value(ty, ValueDef::Result(id, k))).collect();
        self.func.insts[id.index()].results = fresh.iter().copied().collect();
        self.stand_for(&results, &fresh, span, out);
    }

    fn select(&mut self, id: InstId, out: &mut Vec<InstId>) {
        let inst = self.func.inst(id).clone();
        let results = [inst.result()];
        if !self.any_split(&results) {
            return out.push(id);
        }
        let [yes, no] = [1, 2].map(|k| self.fields_of(&[inst.operands[k]], inst.span, out));
        let mut fresh = Vec::new();
        for (yes, no) in yes.into_iter().zip(no) {
            let ty = self.func.ty(yes);
            fresh.push(self.add(Op::Select, &[inst.operands[0], yes, no], Attr::None, ty, inst.span, out));
        }
        self.stand_for(&results, &fresh, inst.span, out);
    }

    /// Gives a loop's body a parameter a field; the first `n_fixed` stay.
    fn params(&mut self, region: RegionId, n_fixed: usize, span: Span) {
        let old = std::mem::take(&mut self.func.regions[region.index()].params);
        for &param in &old[..n_fixed] {
            self.func.regions[region.index()].params.push(param);
        }
        let types: Vec<Type> = old[n_fixed..].iter().flat_map(|&param| fields(self.func.ty(param))).collect();
        let fresh: Vec<Value> = types.into_iter().map(|ty| self.func.add_region_param(region, ty)).collect();
        let mut start = Vec::new();
        self.stand_for(&old[n_fixed..], &fresh, span, &mut start);
        let insts = &mut self.func.regions[region.index()].insts;
        insts.splice(0..0, start);
    }

    /// The `continue`s or `break`s of the loop whose body is `region`.
    fn exits(&mut self, region: RegionId, op: Op) {
        for at in 0..self.func.region(region).insts.len() {
            let inst = self.func.inst(self.func.region(region).insts[at]);
            if !is_loop(inst.op) {
                inst.regions.clone().into_iter().for_each(|inner| self.exits(inner, op));
            }
        }
        self.terminator(region, op);
    }

    /// Splits the operands of a region's last instruction, where it is that op.
    fn terminator(&mut self, region: RegionId, op: Op) {
        let Some(end) = self.func.terminator(region).filter(|&end| self.func.inst(end).op == op) else { return };
        let (operands, span) = (self.func.inst(end).operands.to_vec(), self.func.inst(end).span);
        let mut before = Vec::new();
        let operands = self.fields_of(&operands, span, &mut before);
        self.func.insts[end.index()].operands = operands.into_iter().collect();
        let insts = &mut self.func.regions[region.index()].insts;
        insts.pop();
        insts.extend(before);
        insts.push(end);
    }

    fn any_split(&self, values: &[Value]) -> bool {
        values.iter().any(|&value| is_split(self.func.ty(value)))
    }

    /// The fields of structs; what is none stays.
    fn fields_of(&mut self, values: &[Value], span: Span, out: &mut Vec<InstId>) -> Vec<Value> {
        let mut found = Vec::new();
        for &value in values {
            if is_split(self.func.ty(value)) {
                self.take_apart(value, span, out, &mut found);
            } else {
                found.push(value);
            }
        }
        found
    }

    fn take_apart(&mut self, value: Value, span: Span, out: &mut Vec<InstId>, found: &mut Vec<Value>) {
        let ty = self.func.ty(value);
        if !is_struct(ty) {
            return found.push(value);
        }
        for index in 0..ty.n_components() {
            let Some(field) = ty.component(index) else { continue };
            let field = self.add(Op::Extract, &[value], Attr::Index(index as u32), field, span, out);
            self.take_apart(field, span, out, found);
        }
    }

    /// Makes structs of fresh values for their fields stand for old ones, and fresh values for what was none.
    fn stand_for(&mut self, old: &[Value], fresh: &[Value], span: Span, out: &mut Vec<InstId>) {
        self.changed = true;
        let mut fresh = fresh.iter().copied();
        for &value in old {
            let ty = self.func.ty(value);
            let by = if is_split(ty) { self.put_together(ty, &mut fresh, span, out) } else { fresh.next() };
            if let Some(by) = by {
                self.replacements.set(value, by);
            }
        }
    }

    fn put_together(
        &mut self,
        ty: Type,
        fresh: &mut dyn Iterator<Item = Value>,
        span: Span,
        out: &mut Vec<InstId>,
    ) -> Option<Value> {
        if !is_struct(ty) {
            return fresh.next();
        }
        let mut parts = Vec::new();
        for index in 0..ty.n_components() {
            parts.push(self.put_together(ty.component(index)?, fresh, span, out)?);
        }
        Some(self.add(Op::Construct, &parts, Attr::None, ty, span, out))
    }

    fn add(&mut self, op: Op, operands: &[Value], attr: Attr, ty: Type, span: Span, out: &mut Vec<InstId>) -> Value {
        let id = self.func.add_inst(op, operands, attr, &[], &[ty], span);
        out.push(id);
        self.func.inst(id).result()
    }
}

fn is_struct(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Struct(_) | TypeKind::Tuple(_))
}

fn is_split(ty: Type) -> bool {
    is_struct(ty) && all_fields(ty).len() <= MAX_FIELDS
}

/// The types that stand for a value of one: its fields, or itself.
fn fields(ty: Type) -> Vec<Type> {
    if is_split(ty) { all_fields(ty) } else { vec![ty] }
}

fn all_fields(ty: Type) -> Vec<Type> {
    if !is_struct(ty) {
        return vec![ty];
    }
    (0..ty.n_components()).filter_map(|index| ty.component(index)).flat_map(all_fields).collect()
}
