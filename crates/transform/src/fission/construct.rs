//! Branches and loops that the block runs, and the terminators that leave them.

use super::Fission;
use super::home::Home;
use crate::exits::{all, loop_exits};
use ir::{Attr, InstId, Op, RegionId, Type, Value};

/// A construct around the place being filled.
#[derive(Clone, Copy)]
pub(super) enum Frame {
    Arm {
        id: InstId,
        /// For threads under masks: flags of those that reach the end of an arm, where not all do.
        reached: Option<Value>,
    },
    Loop {
        id: InstId,
        /// For threads under masks: flags of those that take part in the next round.
        live: Option<Value>,
    },
}

impl Fission<'_> {
    pub(super) fn construct(&mut self, id: InstId) {
        match (self.old.inst(id).op, self.plan.is_masked(id)) {
            (Op::If, false) => self.uniform_if(id),
            (Op::If, true) => self.masked_if(id),
            (_, false) => self.uniform_loop(id),
            (_, true) => self.masked_loop(id),
        }
    }

    fn is_block(&self, value: Value) -> bool {
        self.plan.home(value) == Home::Block
    }

    /// Gives each thread's values to where they are handed on; the block's own are the result.
    fn hand_on(&mut self, targets: &[Value], values: &[Value]) -> Vec<Value> {
        let pairs: Vec<(Value, Value)> = targets.iter().copied().zip(values.iter().copied()).collect();
        let is_there = |this: &Self, target: Value, value: Value| {
            this.block[value.index()].is_none() && this.plan.slot_owner(target) == this.plan.slot_owner(value)
        };
        let mut stores = Vec::new();
        for &(target, value) in &pairs {
            if !self.is_block(target) && !is_there(self, target, value) {
                // All are read before the first is written: a loop may hand its own values round.
                stores.push((target, self.local(value)));
            }
        }
        for (target, value) in stores {
            let (lin, slots) = (self.open(), self.slot(target));
            self.push_store(slots, &[lin], value);
        }
        let own: Vec<Value> = pairs.iter().filter(|(target, _)| self.is_block(*target)).map(|pair| pair.1).collect();
        own.into_iter().map(|value| self.at_block(value)).collect()
    }

    fn block_types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().filter(|&&value| self.is_block(value)).map(|&value| self.old.ty(value)).collect()
    }

    fn define_block(&mut self, old: &[Value], new: &[Value]) {
        let own: Vec<Value> = old.iter().copied().filter(|&value| self.is_block(value)).collect();
        for (old, &new) in own.into_iter().zip(new) {
            self.block[old.index()] = Some(new);
        }
    }

    /// Fills a region of the program with one of the kernel.
    fn fill(&mut self, from: RegionId, into: RegionId, frame: Frame) {
        let outer = std::mem::replace(&mut self.at, into);
        self.frames.push(frame);
        self.walk(from);
        self.frames.pop();
        self.at = outer;
    }

    fn uniform_if(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        let condition = self.at_block(inst.operands[0]);
        self.close();
        let arms = [self.new.add_region(&[]), self.new.add_region(&[])];
        let types = self.block_types(&inst.results);
        let made = self.b().push(Op::If, &[condition], Attr::None, &arms, &types);
        for (&from, into) in inst.regions.iter().zip(arms) {
            self.fill(from, into, Frame::Arm { id, reached: None });
        }
        let results = self.new.inst(made).results.to_vec();
        self.define_block(&inst.results, &results);
    }

    fn masked_if(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        let before = self.mask;
        let leaves = |&arm: &RegionId| {
            !all(self.old, arm, |op| op == Op::Return).is_empty() || !loop_exits(self.old, arm).is_empty()
        };
        let has_exits = inst.regions.iter().any(leaves);
        let is_trivial = |arm: RegionId| {
            let insts = &self.old.region(arm).insts;
            insts.len() == 1 && self.old.inst(insts[0]).op == Op::Yield && inst.results.is_empty()
        };
        let trivial = [0, 1].map(|arm| is_trivial(inst.regions[arm]));
        let condition = self.local(inst.operands[0]);
        let not = self.s().unary(Op::Not, condition);
        let conditions = [condition, not];
        let flags = [self.flags(), self.flags()];
        let reached = has_exits.then(|| self.flags());
        for (flags, condition) in flags.into_iter().zip(conditions) {
            self.set_flag(flags, condition);
        }
        if let Some(reached) = reached {
            let at_once = (0..2).find(|&arm| trivial[arm]).map_or(self.shape.no, |arm| conditions[arm]);
            self.set_flag(reached, at_once);
        }
        self.close();
        self.masked.push(id);
        for arm in (0..2).filter(|&arm| !trivial[arm]) {
            self.mask = Some(flags[arm]);
            let any = self.any(flags[arm]);
            let into = self.if_any(any);
            self.fill(inst.regions[arm], into, Frame::Arm { id, reached });
        }
        self.masked.pop();
        self.mask = before;
        if let Some(reached) = reached {
            self.mask = Some(reached);
            self.rest_if_any(reached);
        }
    }

    /// `if any { … } else { yield }`, whose first region is to be filled.
    fn if_any(&mut self, any: Value) -> RegionId {
        let arms = [self.new.add_region(&[]), self.new.add_region(&[])];
        let mut b = self.b();
        b.push(Op::If, &[any], Attr::None, &arms, &[]);
        b.enter(arms[1]);
        b.yield_(&[]);
        arms[0]
    }

    /// What follows in this region runs only where threads are left: a loop without any might never end.
    fn rest_if_any(&mut self, flags: Value) {
        let any = self.any(flags);
        let rest = self.if_any(any);
        self.rests.push(self.at);
        self.at = rest;
    }

    /// Ends the regions that `rest_if_any` opened since there were `n` of them.
    pub(super) fn end_rests(&mut self, n: usize) {
        while self.rests.len() > n {
            if let Some(outer) = self.rests.pop() {
                self.at = outer;
                self.leave();
            }
        }
    }

    fn uniform_loop(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        let n_bounds = if inst.op == Op::For { 3 } else { 0 };
        let params = self.old.region(inst.regions[0]).params.clone();
        let bounds: Vec<Value> = inst.operands[..n_bounds].iter().map(|&bound| self.at_block(bound)).collect();
        let own = self.hand_on(&params[n_bounds / 3..], &inst.operands[n_bounds..]);
        self.close();
        let body = self.new.add_region(&self.block_types(&params));
        let types = self.block_types(&inst.results);
        let made = self.b().push(inst.op, &[bounds, own].concat(), Attr::None, &[body], &types);
        let inner = self.new.region(body).params.clone();
        self.define_block(&params, &inner);
        self.fill(inst.regions[0], body, Frame::Loop { id, live: None });
        let results = self.new.inst(made).results.to_vec();
        self.define_block(&inst.results, &results);
    }

    /// Goes round while threads are left, each round with the flags of those.
    fn masked_loop(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        let body = inst.regions[0];
        let before = self.mask;
        let (live, round) = (self.flags(), self.flags());
        let params = self.old.region(body).params.clone();
        let (yes, no) = (self.shape.yes, self.shape.no);
        self.hand_on(&params, &inst.operands);
        self.set_flag(live, yes);
        self.close();
        let into = self.new.add_region(&[]);
        self.b().push(Op::Loop, &[], Attr::None, &[into], &[]);
        let outer = std::mem::replace(&mut self.at, into);
        self.for_all(|this, lin| {
            let flag = this.s().load(live, &[lin], &[], &[]);
            this.push_store(round, &[lin], flag);
            this.push_store(live, &[lin], no);
        });
        let any = self.any(round);
        let arms = [self.new.add_region(&[]), self.new.add_region(&[])];
        let mut b = self.b();
        b.push(Op::If, &[any], Attr::None, &arms, &[]);
        b.enter(arms[0]);
        b.yield_(&[]);
        b.enter(arms[1]);
        b.break_(&[]);
        self.mask = Some(round);
        self.masked.push(id);
        self.fill(body, into, Frame::Loop { id, live: Some(live) });
        self.masked.pop();
        self.at = outer;
        self.mask = before;
        let returns = !all(self.old, body, |op| op == Op::Return).is_empty();
        if let (true, Some(ended)) = (returns, self.ended) {
            let left = self.flags();
            let lin = self.open();
            let flag = self.s().load(ended, &[lin], &[], &[]);
            let flag = self.s().unary(Op::Not, flag);
            self.set_flag(left, flag);
            self.close();
            self.mask = Some(left);
            self.rest_if_any(left);
        }
    }

    pub(super) fn terminator(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        match inst.op {
            Op::Yield => self.end_arm(id),
            Op::Continue | Op::Break => self.jump(id),
            Op::Return => self.end_threads(),
            _ => {
                self.close();
                self.b().push(inst.op, &[], Attr::None, &[], &[]);
            }
        }
    }

    fn end_arm(&mut self, id: InstId) {
        let Some(&Frame::Arm { id: owner, reached }) = self.frames.last() else { panic!("`yield` outside an arm") };
        let (targets, values) = (self.old.inst(owner).results.to_vec(), self.old.inst(id).operands.to_vec());
        let own = self.hand_on(&targets, &values);
        if let Some(reached) = reached {
            let (lin, yes) = (self.open(), self.shape.yes);
            self.push_store(reached, &[lin], yes);
        }
        self.close();
        self.b().yield_(&own);
    }

    fn jump(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        let found = self.frames.iter().rev().find_map(|frame| match *frame {
            Frame::Loop { id, live } => Some((id, live)),
            Frame::Arm { .. } => None,
        });
        let Some((target, live)) = found else { panic!("`{}` outside a loop", inst.op.name()) };
        let head = self.old.inst(target);
        let params = &self.old.region(head.regions[0]).params[usize::from(head.op == Op::For)..];
        let targets = if inst.op == Op::Continue { params.to_vec() } else { head.results.to_vec() };
        let own = self.hand_on(&targets, &inst.operands);
        let Some(live) = live else {
            self.close();
            self.b().push(inst.op, &own, Attr::None, &[], &[]);
            return;
        };
        if inst.op == Op::Continue {
            let (lin, yes) = (self.open(), self.shape.yes);
            self.push_store(live, &[lin], yes);
        }
        self.close();
        self.leave();
    }

    /// `return`: of all threads, or of those that are on.
    fn end_threads(&mut self) {
        if let (false, Some(ended)) = (self.masked.is_empty(), self.ended) {
            let (lin, yes) = (self.open(), self.shape.yes);
            self.push_store(ended, &[lin], yes);
            self.close();
            return self.leave();
        }
        self.close();
        self.b().ret(&[]);
    }

    /// Ends a region for the threads that are on: the others go on behind what is around.
    fn leave(&mut self) {
        let frame = self.frames.last().copied();
        let mut b = self.b();
        match frame {
            Some(Frame::Arm { .. }) => b.yield_(&[]),
            Some(Frame::Loop { .. }) => b.continue_(&[]),
            None => b.ret(&[]),
        }
    }
}
