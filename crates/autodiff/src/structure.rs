//! Brings a kernel to the form that is differentiated: control leaves every region at its end.
//!
//! In: a kernel with every call inlined. Out: the same, where
//!
//! - the body ends in the only `return`, the arms of an `if` in `yield`, the body of a `for` in `continue`;
//! - the body of a `loop` ends in `if last { break … } else { yield }; continue …`, so that each round runs all of it;
//! - a `for` with a `break` is a `loop` that counts, and a `loop` of one round is no loop.
//!
//! ```text
//! for … { if c { continue v1 } else { yield }; A; continue v2 }
//! ->
//! for … { v3 = if c { yield v1 } else { A; yield v2 }; continue v3 }
//! ```
//!
//! What follows an `if` whose one arm leaves moves into the other arm. Where both arms may leave and may go on, a flag
//! says which they did, and what follows stands under a test of it.

use crate::tangent::zero;
use crate::trips::trip_count;
use diagnostics::Span;
use ir::{Attr, Builder, Function, InstId, Op, RegionId, Type, Value, ValueDef};
use transform::exits::{is_loop, loop_exits};
use transform::replace::Replacements;

/// Brings a kernel to one exit a region.
pub(crate) fn structure(func: &mut Function) {
    let _ = transform::unify_returns(func);
    let mut structurer = Structurer { func, replacements: Replacements::default() };
    structurer.loops_in(structurer.func.body);
    structurer.replacements.apply(structurer.func);
}

struct Structurer<'f> {
    func: &'f mut Function,
    replacements: Replacements,
}

/// The loop whose body is being flattened.
struct Frame {
    carried: Vec<Type>,
    /// What a `break` gives besides the flag; for a `for` that is what it carries.
    results: Option<Vec<Type>>,
    is_for: bool,
}

impl Frame {
    /// What leaves a round: whether it was the last one, what goes to the next round, what comes out of the loop.
    fn exit(&self) -> Vec<Type> {
        let Some(results) = &self.results else { return self.carried.clone() };
        let results = if self.is_for { &[][..] } else { results };
        [&[Type::bool()][..], &self.carried, results].concat()
    }
}

/// How a flattened region ends. Its terminator is gone.
struct End {
    left: Left,
    /// Values as of `Frame::exit`, unless it never leaves.
    exit: Vec<Value>,
    /// What the arm of an `if` yields, unless it always leaves.
    own: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Always,
    Never,
    Maybe(Value),
    /// Control never comes to the end.
    Nowhere,
}

impl End {
    fn goes_on(&self) -> bool {
        matches!(self.left, Left::Never | Left::Maybe(_))
    }

    fn leaves(&self) -> bool {
        matches!(self.left, Left::Always | Left::Maybe(_))
    }
}

impl Structurer<'_> {
    /// Inner loops first.
    fn loops_in(&mut self, region: RegionId) {
        let mut at = 0;
        while at < self.func.region(region).insts.len() {
            let id = self.func.region(region).insts[at];
            for inner in self.func.inst(id).regions.clone() {
                self.loops_in(inner);
            }
            if is_loop(self.func.inst(id).op) {
                at = self.structure_loop(region, at, id);
            } else {
                at += 1;
            }
        }
    }

    /// Gives where to go on in `region`.
    fn structure_loop(&mut self, region: RegionId, at: usize, id: InstId) -> usize {
        let inst = self.func.inst(id).clone();
        let body = inst.regions[0];
        let exits: Vec<Op> = loop_exits(self.func, body).into_iter().map(|exit| self.func.inst(exit).op).collect();
        let is_for = inst.op == Op::For;
        if is_for && exits == [Op::Continue] && self.ends_in(body, Op::Continue) {
            return at + 1;
        }
        let params = self.func.region(body).params.clone();
        let carried = params[usize::from(is_for)..].iter().map(|&v| self.func.ty(v)).collect();
        let results: Vec<Type> = inst.results.iter().map(|&v| self.func.ty(v)).collect();
        let frame = Frame { carried, results: exits.contains(&Op::Break).then_some(results), is_for };
        let end = self.flatten(&frame, body);
        let n_carried = frame.carried.len();
        if end.left == Left::Nowhere {
            self.append(body, inst.span, |b| {
                b.push(Op::Unreachable, &[], Attr::None, &[], &[]);
            });
        } else if frame.results.is_none() {
            self.append(body, inst.span, |b| b.continue_(&end.exit));
        } else if !is_for && !exits.contains(&Op::Continue) {
            // One round, always.
            for (&param, &initial) in params.iter().zip(&inst.operands) {
                self.replacements.set(param, initial);
            }
            for (&result, &value) in inst.results.iter().zip(&end.exit[1 + n_carried..]) {
                self.replacements.set(result, value);
            }
            let insts = std::mem::take(&mut self.func.regions[body.index()].insts);
            let n = insts.len();
            self.func.regions[region.index()].insts.splice(at..=at, insts);
            return at + n;
        } else if is_for {
            return self.counted_loop(region, at, id, &end.exit);
        } else {
            let (next, out) = end.exit[1..].split_at(n_carried);
            self.append(body, inst.span, |b| leave_or_continue(b, end.exit[0], out, next));
        }
        at + 1
    }

    fn ends_in(&self, region: RegionId, op: Op) -> bool {
        self.func.terminator(region).is_some_and(|id| self.func.inst(id).op == op)
    }

    fn append(&mut self, region: RegionId, span: Span, add: impl FnOnce(&mut Builder<'_>)) {
        let mut b = Builder::new(self.func);
        b.span = span;
        b.enter(region);
        add(&mut b);
    }

    /// Turns a `for` with a `break` into a `loop` that counts. Its flattened body ends with `exit`.
    fn counted_loop(&mut self, region: RegionId, at: usize, id: InstId, exit: &[Value]) -> usize {
        let inst = self.func.inst(id).clone();
        let (body, span) = (inst.regions[0], inst.span);
        let params = self.func.region(body).params.clone();
        let carried: Vec<Type> = params[1..].iter().map(|&v| self.func.ty(v)).collect();
        let insts = std::mem::take(&mut self.func.regions[body.index()].insts);
        let before = self.func.add_region(&[]);
        let (inner, past) = (self.func.add_region(&[]), self.func.add_region(&[]));
        let outer = self.func.add_region(&[&[Type::i64()][..], &carried].concat());
        let outer_params = self.func.region(outer).params.clone();
        for (&param, &by) in params[1..].iter().zip(&outer_params[1..]) {
            self.replacements.set(param, by);
        }
        let mut b = Builder::new(self.func);
        b.span = span;
        b.enter(before);
        let n = trip_count(&mut b, inst.operands[0], inst.operands[1], inst.operands[2]);
        let zero = b.int(ir::Scalar::I64, 0);
        b.enter(inner);
        let induction = crate::trips::induction(&mut b, inst.operands[0], inst.operands[2], outer_params[0]);
        b.func.regions[inner.index()].insts.extend(insts);
        b.yield_(exit);
        b.enter(past);
        let last = b.bool(true);
        b.yield_(&[&[last][..], &outer_params[1..]].concat());
        b.enter(outer);
        let is_in = b.compare(Op::Lt, outer_params[0], n);
        let types = [&[Type::bool()][..], &carried].concat();
        let test = b.push(Op::If, &[is_in], Attr::None, &[inner, past], &types);
        let ends = b.func.inst(test).results.clone();
        let one = b.int(ir::Scalar::I64, 1);
        let next = b.binary(Op::Add, outer_params[0], one);
        leave_or_continue(&mut b, ends[0], &ends[1..], &[&[next][..], &ends[1..]].concat());
        self.replacements.set(params[0], induction);
        let changed = &mut self.func.insts[id.index()];
        changed.op = Op::Loop;
        changed.regions[0] = outer;
        changed.operands.drain(..3);
        changed.operands.insert(0, zero);
        let added = std::mem::take(&mut self.func.regions[before.index()].insts);
        let n_added = added.len();
        self.func.regions[region.index()].insts.splice(at..at, added);
        at + n_added + 1
    }

    /// Takes the terminators out of a region of a loop's body, down to where inner loops begin.
    fn flatten(&mut self, frame: &Frame, region: RegionId) -> End {
        let leaving = self.func.region(region).insts.iter().position(|&id| {
            let inst = self.func.inst(id);
            inst.op == Op::If && inst.regions.iter().any(|&arm| self.leaves_loop(arm))
        });
        let Some(at) = leaving else { return self.terminated(frame, region) };
        let id = self.func.region(region).insts[at];
        let rest = self.func.regions[region.index()].insts.split_off(at + 1);
        let arms = self.func.inst(id).regions.clone();
        let mut ends: Vec<End> = arms.iter().map(|&arm| self.flatten(frame, arm)).collect();
        let going_on: Vec<usize> = (0..2).filter(|&arm| ends[arm].goes_on()).collect();
        match going_on[..] {
            [] => self.merge(frame, id, &ends),
            [arm] if !ends[arm].leaves() => {
                // What follows runs only after this arm.
                for (&result, &value) in self.func.inst(id).results.iter().zip(&ends[arm].own) {
                    self.replacements.set(result, value);
                }
                self.func.insts[id.index()].results.clear();
                self.func.regions[arms[arm].index()].insts.extend(rest);
                ends[arm] = self.flatten(frame, arms[arm]);
                self.merge(frame, id, &ends)
            }
            _ => {
                let end = self.merge(frame, id, &ends);
                let Left::Maybe(left) = end.left else {
                    self.func.regions[region.index()].insts.extend(rest);
                    return self.flatten(frame, region);
                };
                let (then, or) = (self.func.add_region(&[]), self.func.add_region(&[]));
                self.func.regions[or.index()].insts = rest;
                let span = self.func.inst(id).span;
                let test = self.func.add_inst(Op::If, &[left], Attr::None, &[then, or], &[], span);
                self.func.regions[region.index()].insts.push(test);
                let gone = End { left: Left::Always, exit: end.exit, own: Vec::new() };
                let rest = self.flatten(frame, or);
                self.merge(frame, test, &[gone, rest])
            }
        }
    }

    /// Whether an arm may leave the loop that is being flattened.
    fn leaves_loop(&self, region: RegionId) -> bool {
        !loop_exits(self.func, region).is_empty()
    }

    /// The end of a region whose `if`s do not leave.
    fn terminated(&mut self, frame: &Frame, region: RegionId) -> End {
        let Some(last) = self.func.regions[region.index()].insts.pop() else { panic!("a region without an end") };
        let inst = self.func.inst(last).clone();
        let values = inst.operands.to_vec();
        let mut b = Builder::new(self.func);
        b.span = inst.span;
        b.enter(region);
        let (left, exit, own) = match inst.op {
            Op::Yield => (Left::Never, Vec::new(), values),
            Op::Unreachable => (Left::Nowhere, Vec::new(), Vec::new()),
            Op::Continue if frame.results.is_none() => (Left::Always, values, Vec::new()),
            Op::Continue => {
                let last = b.bool(false);
                let unset = if frame.is_for { &[][..] } else { frame.results.as_deref().unwrap_or_default() };
                let unset: Vec<Value> = unset.iter().map(|&ty| zero(&mut b, ty)).collect();
                (Left::Always, [&[last][..], &values, &unset].concat(), Vec::new())
            }
            Op::Break => {
                let last = b.bool(true);
                let unset = if frame.is_for { &[][..] } else { &frame.carried[..] };
                let unset: Vec<Value> = unset.iter().map(|&ty| zero(&mut b, ty)).collect();
                (Left::Always, [&[last][..], &unset, &values].concat(), Vec::new())
            }
            op => panic!("`{}` inside a loop, after `unify_returns`", op.name()),
        };
        End { left, exit, own }
    }

    /// Gives the arms of an `if` their ends back: it yields the flag where that is not sure, then exit, then its own.
    fn merge(&mut self, frame: &Frame, id: InstId, ends: &[End]) -> End {
        let (leaves, goes_on) = (ends.iter().any(End::leaves), ends.iter().any(End::goes_on));
        let (arms, span) = (self.func.inst(id).regions.clone(), self.func.inst(id).span);
        let exit_types = if leaves { frame.exit() } else { Vec::new() };
        let own: &[Value] = ends.iter().find(|end| end.goes_on()).map_or(&[], |end| &end.own);
        let own_types: Vec<Type> = own.iter().map(|&v| self.func.ty(v)).collect();
        for (&arm, end) in arms.iter().zip(ends) {
            let mut b = Builder::new(self.func);
            b.span = span;
            b.enter(arm);
            if end.left == Left::Nowhere {
                b.push(Op::Unreachable, &[], Attr::None, &[], &[]);
                continue;
            }
            let mut values = Vec::new();
            if leaves && goes_on {
                values.push(match end.left {
                    Left::Maybe(flag) => flag,
                    left => b.bool(left == Left::Always),
                });
            }
            let mut part = |is_set: bool, set: &[Value], types: &[Type]| {
                if is_set {
                    values.extend(set);
                } else {
                    values.extend(types.iter().map(|&ty| zero(&mut b, ty)));
                }
            };
            part(end.leaves(), &end.exit, &exit_types);
            part(end.goes_on(), &end.own, &own_types);
            b.yield_(&values);
        }
        let kept = std::mem::take(&mut self.func.insts[id.index()].results);
        let mut results = Vec::new();
        let mut add = |func: &mut Function, ty: Type| {
            let value = func.add_value(ty, ValueDef::Result(id, 0));
            results.push(value);
            value
        };
        let flag = (leaves && goes_on).then(|| add(self.func, Type::bool()));
        let exit: Vec<Value> = exit_types.iter().map(|&ty| add(self.func, ty)).collect();
        // Its own results stay the values that they were: what follows uses them.
        let own: Vec<Value> = match kept.len() {
            0 => own_types.iter().map(|&ty| add(self.func, ty)).collect(),
            _ if goes_on => {
                results.extend(kept.iter().copied());
                kept.to_vec()
            }
            _ => Vec::new(),
        };
        for (index, &value) in (0u32..).zip(&results) {
            self.func.values[value.index()].def = ValueDef::Result(id, index);
        }
        self.func.insts[id.index()].results = results.into();
        let left = match (leaves, goes_on, flag) {
            (_, _, Some(flag)) => Left::Maybe(flag),
            (true, false, _) => Left::Always,
            (false, true, _) => Left::Never,
            _ => Left::Nowhere,
        };
        End { left, exit, own }
    }
}

/// `if last { break out } else { yield }; continue next`.
fn leave_or_continue(b: &mut Builder<'_>, last: Value, out: &[Value], next: &[Value]) {
    let (leave, stay) = (b.func.add_region(&[]), b.func.add_region(&[]));
    let here = b.enter(leave);
    b.break_(out);
    b.enter(stay);
    b.yield_(&[]);
    b.enter(here);
    b.push(Op::If, &[last], Attr::None, &[leave, stay], &[]);
    b.continue_(next);
}
