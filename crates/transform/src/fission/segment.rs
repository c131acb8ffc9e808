//! A stretch of code between two barriers, as the region of a `threads`.

use super::Fission;
use super::home::{Home, definition, is_direct};
use crate::unify_returns::zero;
use ir::{Attr, Builder, Inst, InstId, Op, RegionId, Scalar, Type, Value};
use std::collections::HashMap;

/// The stretch being filled.
pub(super) struct Segment {
    /// The region of the `threads`.
    outer: RegionId,
    /// Where the code goes: the same, or in it what runs for the threads that are on.
    body: RegionId,
    /// Whether the thread is on.
    is_on: Option<Value>,
    /// The thread's linear index.
    pub lin: Value,
    /// How many instructions the body has before any code.
    n_first: usize,
    /// By old value, its copy here.
    local: HashMap<Value, Value>,
}

impl Fission<'_> {
    /// Begins a stretch, where none is open; gives the thread's linear index.
    pub(super) fn open(&mut self) -> Value {
        if let Some(segment) = &self.segment {
            return segment.lin;
        }
        let outer = self.new.add_region(&[]);
        let (width, height) = (self.shape.width, self.shape.height);
        let mut b = Builder::new(&mut self.new);
        b.enter(outer);
        let [x, y, z] = [0, 1, 2].map(|dim| b.push1(Op::ThreadIndex, &[], Attr::Index(dim), Type::i64()));
        let plane = b.binary(Op::Mul, height, z);
        let row = b.binary(Op::Add, y, plane);
        let start = b.binary(Op::Mul, width, row);
        let lin = b.binary(Op::Add, x, start);
        let is_on = self.mask.map(|mask| b.load(mask, &[lin], &[], &[]));
        let body = if is_on.is_some() { self.new.add_region(&[]) } else { outer };
        let n_first = self.new.region(body).insts.len();
        self.segment = Some(Segment { outer, body, is_on, lin, n_first, local: HashMap::new() });
        lin
    }

    /// Ends the stretch: what follows runs when all threads have run it.
    pub(super) fn close(&mut self) {
        let Some(segment) = self.segment.take() else { return };
        let Segment { outer, body, is_on, n_first, .. } = segment;
        let is_bare = self.new.region(body).insts.len() == n_first;
        if is_bare && (body == outer || self.new.region(outer).insts.last().is_some_and(|&id| self.is_load(id))) {
            self.new.regions[outer.index()].insts.clear();
            return;
        }
        let span = self.span;
        if let Some(is_on) = is_on {
            let or = self.new.add_region(&[]);
            let mut b = Builder::new(&mut self.new);
            b.span = span;
            for region in [body, or] {
                b.enter(region);
                b.yield_(&[]);
            }
            b.enter(outer);
            b.push(Op::If, &[is_on], Attr::None, &[body, or], &[]);
        }
        let mut b = Builder::new(&mut self.new);
        b.enter(outer);
        b.yield_(&[]);
        self.b().push(Op::Threads, &[], Attr::None, &[outer], &[]);
    }

    fn is_load(&self, id: InstId) -> bool {
        self.new.inst(id).op == Op::Load
    }

    /// Runs `fill` for every thread of the block, on or not, given its linear index.
    pub(super) fn for_all(&mut self, fill: impl FnOnce(&mut Self, Value)) {
        self.close();
        let mask = self.mask.take();
        let lin = self.open();
        fill(self, lin);
        self.close();
        self.mask = mask;
    }

    /// A builder within the stretch.
    pub(super) fn s(&mut self) -> Builder<'_> {
        self.open();
        let (body, span) = (self.segment.as_ref().map_or(self.at, |segment| segment.body), self.span);
        let mut b = Builder::new(&mut self.new);
        b.enter(body);
        b.span = span;
        b
    }

    pub(super) fn push_store(&mut self, array: Value, indices: &[Value], value: Value) {
        self.s().store(array, indices, &[], &[], value);
    }

    /// Sets a flag for the threads that are on, and clears it for the others.
    pub(super) fn set_flag(&mut self, flags: Value, value: Value) {
        let lin = self.open();
        let no = self.shape.no;
        if let Some(outer) = self.segment.as_ref().filter(|segment| segment.is_on.is_some()).map(|s| s.outer) {
            let mut b = Builder::new(&mut self.new);
            b.enter(outer);
            b.store(flags, &[lin], &[], &[], no);
        }
        self.push_store(flags, &[lin], value);
    }

    /// An old value within the stretch.
    pub(super) fn local(&mut self, value: Value) -> Value {
        if let Some(value) = self.block[value.index()] {
            return value;
        }
        let lin = self.open();
        if let Some(&value) = self.segment.as_ref().and_then(|segment| segment.local.get(&value)) {
            return value;
        }
        let made = match self.plan.home(value) {
            Home::Again => self.again(value),
            Home::Spread => {
                let (slots, rank) = (self.slot(value), self.old.ty(value).as_array().map_or(1, |(_, rank)| rank));
                self.s().row(slots, lin, rank)
            }
            _ => {
                let slots = self.slot(value);
                self.s().load(slots, &[lin], &[], &[])
            }
        };
        self.define(value, made);
        made
    }

    pub(super) fn define(&mut self, old: Value, new: Value) {
        if let Some(segment) = &mut self.segment {
            segment.local.insert(old, new);
        }
    }

    fn again(&mut self, value: Value) -> Value {
        let old = self.old;
        let Some(id) = definition(old, value) else { panic!("v{} has no instruction to compute it again", value.0) };
        let inst = old.inst(id);
        if inst.op == Op::LaneId {
            let lane = self.lane();
            return self.s().cast(lane, Scalar::I32);
        }
        let operands: Vec<Value> = (0..inst.operands.len()).map(|index| self.operand(inst, index)).collect();
        let mut b = self.s();
        b.span = inst.span;
        b.push1(inst.op, &operands, inst.attr.clone(), old.ty(value))
    }

    /// The thread's number in its warp, i64.
    pub(super) fn lane(&mut self) -> Value {
        let lin = self.open();
        let mut b = self.s();
        let last = b.int(Scalar::I64, 31);
        b.binary(Op::And, lin, last)
    }

    fn operand(&mut self, inst: &Inst, index: usize) -> Value {
        let value = inst.operands[index];
        if index == 0 && self.is_in_slots(inst) { self.slot(value) } else { self.local(value) }
    }

    /// Whether an instruction looks into an array that has a copy for each thread.
    fn is_in_slots(&self, inst: &Inst) -> bool {
        inst.operands.first().is_some_and(|&array| self.plan.home(array) == Home::Spread && is_direct(inst, array))
    }

    /// Copies an instruction, with what is in it, to the stretch.
    pub(super) fn copy(&mut self, id: InstId) {
        self.open();
        // Before it, so that what it uses within its regions is there behind them too.
        self.fetch(id);
        let copy = self.copy_inst(id);
        let body = self.segment.as_ref().map_or(self.at, |segment| segment.body);
        self.new.regions[body.index()].insts.push(copy);
        for result in self.old.inst(id).results.clone() {
            self.keep(result);
        }
    }

    /// Keeps a value that was just made where others look for it.
    pub(super) fn keep(&mut self, value: Value) {
        if self.plan.needs_slot(value) {
            let (lin, made, slots) = (self.open(), self.local(value), self.slot(value));
            self.push_store(slots, &[lin], made);
        }
        if self.plan.needs_cell(value) {
            let (made, cell, zero) = (self.local(value), self.cell(value), self.shape.zero);
            self.push_store(cell, &[zero], made);
        }
    }

    /// Makes everything there that an instruction and what is in it use from outside.
    fn fetch(&mut self, id: InstId) {
        let old = self.old;
        let mut inside: Vec<Value> = Vec::new();
        let mut open = vec![id];
        let mut used = Vec::new();
        while let Some(id) = open.pop() {
            let inst = old.inst(id);
            inside.extend(inst.results.iter());
            for &region in &inst.regions {
                inside.extend(&old.region(region).params);
                open.extend(&old.region(region).insts);
            }
            let first = usize::from(self.is_in_slots(inst));
            used.extend(inst.operands.iter().skip(first));
        }
        let inside: std::collections::HashSet<Value> = inside.into_iter().collect();
        for value in used.into_iter().filter(|value| !inside.contains(value)) {
            self.local(value);
        }
    }

    fn copy_inst(&mut self, id: InstId) -> InstId {
        let old = self.old;
        let inst = old.inst(id);
        let mut operands: Vec<Value> = (0..inst.operands.len()).map(|index| self.operand(inst, index)).collect();
        if self.is_in_slots(inst) && !matches!(inst.op, Op::Extent | Op::WrapIndex) {
            let rank = old.ty(inst.operands[0]).as_array().map_or(0, |(_, rank)| rank as usize);
            let lin = self.open();
            operands.insert(1 + rank, lin);
        }
        let regions: Vec<RegionId> = inst.regions.iter().map(|&region| self.copy_region(region)).collect();
        if inst.op == Op::LaneId {
            panic!("`lane_id` is computed again, never copied");
        }
        let types: Vec<Type> = inst.results.iter().map(|&result| old.ty(result)).collect();
        let copy = self.new.add_inst(inst.op, &operands, inst.attr.clone(), &regions, &types, inst.span);
        for (&result, made) in inst.results.iter().zip(self.new.inst(copy).results.clone()) {
            self.define(result, made);
        }
        copy
    }

    fn copy_region(&mut self, region: RegionId) -> RegionId {
        let old = self.old;
        let types: Vec<Type> = old.region(region).params.iter().map(|&param| old.ty(param)).collect();
        let copy = self.new.add_region(&types);
        for (&param, made) in old.region(region).params.iter().zip(self.new.region(copy).params.clone()) {
            self.define(param, made);
        }
        // What is computed again must come to lie in this region, not in front of what it uses.
        let outer = self.segment.as_mut().map(|segment| std::mem::replace(&mut segment.body, copy));
        for &id in &old.region(region).insts {
            let inst = old.inst(id);
            if inst.op == Op::LaneId {
                let (lane, again) = (inst.result(), self.again(inst.result()));
                self.define(lane, again);
                continue;
            }
            let inst = if let (Some(Home::Block), true) =
                (inst.results.first().map(|&v| self.plan.home(v)), inst.op == Op::SharedArray)
            {
                self.plain(id);
                continue;
            } else {
                self.copy_inst(id)
            };
            self.new.regions[copy.index()].insts.push(inst);
        }
        if let (Some(segment), Some(outer)) = (&mut self.segment, outer) {
            segment.body = outer;
        }
        copy
    }

    /// Zeroes a local array that has a copy for each thread, as `local_array` does.
    pub(super) fn clear_spread(&mut self, id: InstId) {
        let (lin, array) = (self.open(), self.old.inst(id).result());
        let slots = self.slot(array);
        let Attr::Extents(extents) = self.old.inst(id).attr.clone() else { return };
        let Some((elem, _)) = self.old.ty(array).as_array() else { return };
        let mut made = Vec::new();
        let span = self.span;
        let value = zero(&mut self.new, elem, span, &mut made);
        let body = self.s().region();
        self.new.regions[body.index()].insts.extend(made);
        let mut indices = Vec::new();
        let mut loops = Vec::new();
        let (first, step) = (self.shape.zero, self.shape.one);
        let mut b = self.s();
        for &extent in &extents {
            let end = b.int(Scalar::I64, i128::from(extent));
            let inner = b.func.add_region(&[Type::i64()]);
            b.push(Op::For, &[first, end, step], Attr::None, &[inner], &[]);
            indices.push(b.region_param(inner, 0));
            loops.push(inner);
            b.enter(inner);
        }
        indices.push(lin);
        b.store(slots, &indices, &[], &[], value);
        for inner in loops.into_iter().rev() {
            b.enter(inner);
            b.continue_(&[]);
        }
    }
}
