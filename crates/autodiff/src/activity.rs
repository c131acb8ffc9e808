//! Which values a derivative flows through.
//!
//! In: a kernel and which of its parameters have an adjoint. Out: a flag a value: active values *vary* with an input
//! that has an adjoint and are *useful* for an output that has one. Only those get adjoints, and an op without a
//! derivative matters only where it stands between the two.
//!
//! Griewank & Walther, "Evaluating Derivatives" (2008), ch. 6.2; Hascoët & Pascual, "The Tapenade tool" (2013).

use crate::memory::{Root, roots};
use crate::rules::{Rule, rule};
use crate::tangent::has_floats;
use ir::op::Effect;
use ir::{Function, Inst, InstId, Op, RegionId, Scalar, Value};

/// What is known of the values of a function.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) varies: Vec<bool>,
    pub(crate) is_useful: Vec<bool>,
    /// Per parameter: whether it has an adjoint.
    wanted: Vec<bool>,
    /// Local arrays that are read for something useful.
    read: Vec<Root>,
}

/// Whether the array that an access names has an adjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counterpart {
    Present,
    Absent,
    /// On some paths.
    Mixed,
}

impl Activity {
    pub(crate) fn of(func: &Function, wanted: &[bool]) -> Activity {
        let n = func.values.len();
        let mut found =
            Activity { varies: vec![false; n], is_useful: vec![false; n], wanted: wanted.to_vec(), read: Vec::new() };
        for (&param, &is_wanted) in func.region(func.body).params.iter().zip(wanted) {
            found.varies[param.index()] = is_wanted && has_floats(func.ty(param));
        }
        while found.varying(func, func.body, None) {}
        while found.using(func, func.body, None) {}
        found
    }

    pub(crate) fn is_active(&self, value: Value) -> bool {
        self.varies[value.index()] && self.is_useful[value.index()]
    }

    /// Whether an array value has an adjoint beside it.
    pub(crate) fn counterpart(&self, func: &Function, array: Value) -> Counterpart {
        if !func.ty(array).as_array().is_some_and(|(elem, _)| has_floats(elem)) {
            return Counterpart::Absent;
        }
        let found = roots(func, array);
        let is_present = |root: &Root| match root {
            Root::Param(index, _) => self.wanted.get(*index as usize) == Some(&true),
            Root::Local(_) | Root::WithAdjoint => true,
            Root::Unknown => false,
        };
        match (found.iter().any(is_present), found.iter().all(is_present)) {
            (_, true) => Counterpart::Present,
            (true, false) => Counterpart::Mixed,
            _ => Counterpart::Absent,
        }
    }

    fn is_counted(&self, func: &Function, array: Value) -> bool {
        self.counterpart(func, array) != Counterpart::Absent
    }

    /// One walk forward; says whether it found anything. `around` is the innermost loop.
    fn varying(&mut self, func: &Function, region: RegionId, around: Option<InstId>) -> bool {
        let mut changed = false;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            match inst.op {
                Op::If => {
                    for &arm in &inst.regions {
                        changed |= self.varying(func, arm, around);
                        if let Some(end) = func.terminator(arm).map(|end| func.inst(end)).filter(|e| e.op == Op::Yield)
                        {
                            changed |= spread(&mut self.varies, &end.operands, &inst.results);
                        }
                    }
                }
                Op::For | Op::Loop => {
                    let body = inst.regions[0];
                    let (initial, params) = carried(func, inst);
                    changed |= spread(&mut self.varies, initial, params);
                    if inst.op == Op::For {
                        changed |= spread(&mut self.varies, initial, &inst.results);
                    }
                    changed |= self.varying(func, body, Some(id));
                }
                Op::Break | Op::Continue => {
                    let Some(target) = around.map(|id| func.inst(id)) else { continue };
                    let (_, params) = carried(func, target);
                    if inst.op == Op::Break {
                        changed |= spread(&mut self.varies, &inst.operands, &target.results);
                    } else {
                        changed |= spread(&mut self.varies, &inst.operands, params);
                        if target.op == Op::For {
                            changed |= spread(&mut self.varies, &inst.operands, &target.results);
                        }
                    }
                }
                _ => {
                    let varies = match inst.op {
                        Op::Call => inst.operands.iter().any(|&v| self.varies[v.index()] || self.is_counted(func, v)),
                        op if matches!(op.effect(), Effect::Read | Effect::Write) => {
                            self.is_counted(func, inst.operands[0])
                        }
                        _ => flows(func, inst).iter().any(|v| self.varies[v.index()]),
                    };
                    if varies {
                        for &result in &inst.results {
                            changed |= !std::mem::replace(&mut self.varies[result.index()], true);
                        }
                    }
                }
            }
        }
        changed
    }

    /// One walk backward.
    fn using(&mut self, func: &Function, region: RegionId, around: Option<InstId>) -> bool {
        let mut changed = false;
        for &id in func.region(region).insts.iter().rev() {
            let inst = func.inst(id);
            match inst.op {
                Op::If => {
                    for &arm in &inst.regions {
                        if let Some(end) = func.terminator(arm).map(|end| func.inst(end)).filter(|e| e.op == Op::Yield)
                        {
                            changed |= spread(&mut self.is_useful, &inst.results, &end.operands);
                        }
                        changed |= self.using(func, arm, around);
                    }
                }
                Op::For | Op::Loop => {
                    let (initial, params) = carried(func, inst);
                    if inst.op == Op::For {
                        changed |= spread(&mut self.is_useful, &inst.results, params);
                    }
                    changed |= self.using(func, inst.regions[0], Some(id));
                    changed |= spread(&mut self.is_useful, params, initial);
                }
                Op::Break | Op::Continue => {
                    let Some(target) = around.map(|id| func.inst(id)) else { continue };
                    let (_, params) = carried(func, target);
                    let receivers = if inst.op == Op::Break { &target.results[..] } else { params };
                    changed |= spread(&mut self.is_useful, receivers, &inst.operands);
                    if inst.op == Op::Continue && target.op == Op::For {
                        changed |= spread(&mut self.is_useful, &target.results, &inst.operands);
                    }
                }
                op if op.effect() == Effect::Write => {
                    if self.is_read(func, inst.operands[0])
                        && let Some(value) = inst.operands.last()
                    {
                        changed |= !std::mem::replace(&mut self.is_useful[value.index()], true);
                    }
                }
                Op::Return => {
                    for value in &inst.operands {
                        changed |= !std::mem::replace(&mut self.is_useful[value.index()], true);
                    }
                }
                _ if inst.results.iter().any(|v| self.is_useful[v.index()])
                    || inst.op == Op::Call && inst.operands.iter().any(|&v| self.is_counted(func, v)) =>
                {
                    for value in flows(func, inst) {
                        changed |= !std::mem::replace(&mut self.is_useful[value.index()], true);
                    }
                    for &array in inst.operands.iter().filter(|&&v| func.ty(v).is_array()) {
                        changed |= self.note_read(func, array);
                    }
                }
                _ => {}
            }
        }
        changed
    }

    /// Notes the local arrays that an array may be; says whether one is new.
    fn note_read(&mut self, func: &Function, array: Value) -> bool {
        let n_before = self.read.len();
        for root in roots(func, array) {
            if matches!(root, Root::Local(_)) && !self.read.contains(&root) {
                self.read.push(root);
            }
        }
        self.read.len() > n_before
    }

    /// Whether what is stored to an array may be of use: a local one must be read for that.
    fn is_read(&self, func: &Function, array: Value) -> bool {
        let is_unread = |root: &Root| matches!(root, Root::Local(_)) && !self.read.contains(root);
        self.is_counted(func, array) && !roots(func, array).iter().all(is_unread)
    }
}

/// Marks each of `to` whose counterpart in `from` is marked.
fn spread(marks: &mut [bool], from: &[Value], to: &[Value]) -> bool {
    let mut changed = false;
    for (from, to) in from.iter().zip(to) {
        if marks[from.index()] && !marks[to.index()] {
            marks[to.index()] = true;
            changed = true;
        }
    }
    changed
}

/// A loop's initial values and the parameters that take them.
pub(crate) fn carried<'f>(func: &'f Function, inst: &'f Inst) -> (&'f [Value], &'f [Value]) {
    let params = &func.region(inst.regions[0]).params;
    if inst.op == Op::For { (&inst.operands[3..], &params[1..]) } else { (&inst.operands, params) }
}

/// The operands whose derivative may reach the results; numbers that say where, or whether, are none.
fn flows<'f>(func: &Function, inst: &'f Inst) -> &'f [Value] {
    let is_float = |value: Value| func.ty(value).element().is_some_and(Scalar::is_float);
    match inst.op {
        Op::Select | Op::MaskSelect => &inst.operands[1..],
        Op::ExtractDyn => &inst.operands[..1],
        Op::InsertDyn => &inst.operands[..2],
        // From a number to another kind of number the derivative is zero, but bits may come back as a float.
        Op::Cast if !is_float(inst.operands[0]) && is_float(inst.result()) => &[],
        Op::Cast if is_float(inst.operands[0]) && !is_float(inst.result()) => &[],
        Op::TileMap | Op::TileReduce | Op::TileScan if !has_floats(func.ty(inst.result())) => &[],
        Op::TileMap | Op::TileReduce | Op::TileScan | Op::TileMatMul => &inst.operands,
        Op::TileFill | Op::TileOfThreads | Op::TileOfThread => &inst.operands,
        Op::TileView | Op::TileGet => &inst.operands[..1],
        Op::TilePut | Op::TileScatter | Op::TileSet | Op::TileUpdate => &inst.operands[..2],
        Op::Bitcast | Op::Cast | Op::Call => &inst.operands,
        Op::Construct | Op::Splat | Op::Extract | Op::Insert | Op::Dot | Op::MatMul | Op::Transpose => &inst.operands,
        Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl | Op::Shr | Op::MulHigh => &inst.operands,
        op => match rule(op) {
            Some(Rule::Whole(_) | Rule::Scalar(_)) => &inst.operands,
            _ => &[],
        },
    }
}
