//! Bounds of integer values.
//!
//! In: a verified function and one of its integer values. Out: an interval that holds whatever the value is at run
//! time; the whole range of its type where nothing better is known. In an arm of an `if` its condition helps. Bounds are i128, in which no 64-bit operation
//! overflows, so a result that leaves its type is seen, and wrapping then makes everything possible.

use ir::{Attr, Function, InstId, Op, RegionId, Scalar, Value, ValueDef};

/// Both ends belong to the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub lo: i128,
    pub hi: i128,
}

/// How many definitions to follow; the cost doubles with each.
const MAX_STEPS: u32 = 6;

impl Range {
    pub fn of_type(scalar: Scalar) -> Range {
        let bits = scalar.bits();
        if scalar.is_signed() {
            Range { lo: -(1 << (bits - 1)), hi: (1 << (bits - 1)) - 1 }
        } else {
            Range { lo: 0, hi: (1 << bits) - 1 }
        }
    }

    /// What is in both; `self` where that is nothing, which only code that never runs can ask for.
    fn intersection(self, other: Range) -> Range {
        let both = Range { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        if both.lo <= both.hi { both } else { self }
    }

    fn point(value: i128) -> Range {
        Range { lo: value, hi: value }
    }

    fn union(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// This range if all of it fits the type; else a wrapped value may be anything.
    fn within(self, scalar: Scalar) -> Range {
        let all = Range::of_type(scalar);
        if all.lo <= self.lo && self.hi <= all.hi { self } else { all }
    }
}

/// Which `for` owns which region, so that a loop variable's bounds are found; and what branches have decided.
#[derive(Debug, Default)]
pub struct Counters {
    owners: Vec<Option<InstId>>,
    /// Bounds that hold where the caller stands.
    facts: Vec<(Value, Range)>,
}

impl Counters {
    /// Stays right while no region gets a new owner.
    pub fn new(func: &Function) -> Counters {
        let mut owners = vec![None; func.regions.len()];
        for (i, inst) in func.insts.iter().enumerate().filter(|(_, inst)| matches!(inst.op, Op::For | Op::Each)) {
            owners[inst.regions[0].index()] = Some(InstId(i as u32));
        }
        Counters { owners, facts: Vec::new() }
    }

    /// Bounds of an integer value; `None` for values of other types.
    pub fn range(&self, func: &Function, value: Value) -> Option<Range> {
        self.bounds(func, value, MAX_STEPS)
    }
    fn bounds(&self, func: &Function, value: Value, steps: u32) -> Option<Range> {
        let scalar = func.ty(value).as_scalar()?;
        if !scalar.is_int() && scalar != Scalar::Bool {
            return None;
        }
        let all = Range::of_type(scalar);
        if steps == 0 {
            return Some(all);
        }
        let found = match func.def(value) {
            ValueDef::Param(region, 0) => self.counter(func, region, steps - 1),
            ValueDef::Param(..) => None,
            ValueDef::Result(inst, index) => self.result(func, inst, index, scalar, steps - 1),
        };
        let found = found.map_or(all, |range| range.within(scalar));
        let facts = self.facts.iter().filter(|(known, _)| *known == value);
        Some(facts.fold(found, |found, &(_, range)| found.intersection(range)))
    }

    /// Takes for granted, until [`Counters::forget`], that a condition came out as `holds`.
    pub fn assume(&mut self, func: &Function, condition: Value, holds: bool) {
        let ValueDef::Result(id, _) = func.def(condition) else { return };
        let inst = func.inst(id);
        match (inst.op, &inst.operands[..]) {
            (Op::And, &[a, b]) if holds => {
                self.assume(func, a, true);
                self.assume(func, b, true);
            }
            (Op::Or, &[a, b]) if !holds => {
                self.assume(func, a, false);
                self.assume(func, b, false);
            }
            (Op::Not, &[a]) => self.assume(func, a, !holds),
            (op, &[a, b]) => self.assume_comparison(func, op, [a, b], holds),
            _ => {}
        }
    }

    fn assume_comparison(&mut self, func: &Function, op: Op, [a, b]: [Value; 2], holds: bool) {
        let (Some(x), Some(y)) = (self.range(func, a), self.range(func, b)) else { return };
        let op = match (op, holds) {
            (Op::Lt, true) | (Op::Ge, false) => Op::Lt,
            (Op::Le, true) | (Op::Gt, false) => Op::Le,
            (Op::Gt, true) | (Op::Le, false) => Op::Gt,
            (Op::Ge, true) | (Op::Lt, false) => Op::Ge,
            (Op::Eq, true) | (Op::Ne, false) => Op::Eq,
            _ => return,
        };
        let below = |hi| Range { lo: i128::MIN, hi };
        let above = |lo| Range { lo, hi: i128::MAX };
        let (of_a, of_b) = match op {
            Op::Lt => (below(y.hi - 1), above(x.lo + 1)),
            Op::Le => (below(y.hi), above(x.lo)),
            Op::Gt => (above(y.lo + 1), below(x.hi - 1)),
            Op::Ge => (above(y.lo), below(x.hi)),
            _ => (y, x),
        };
        self.facts.extend([(a, of_a), (b, of_b)]);
    }

    /// How many facts are taken for granted, for [`Counters::forget`].
    pub fn n_facts(&self) -> usize {
        self.facts.len()
    }

    /// Forgets all facts but the first `n`.
    pub fn forget(&mut self, n: usize) {
        self.facts.truncate(n);
    }

    /// Bounds of the variable of the `for` whose body is `region`: from lo to before hi.
    fn counter(&self, func: &Function, region: RegionId, steps: u32) -> Option<Range> {
        let owner = func.inst(self.owners.get(region.index()).copied().flatten()?);
        if owner.op == Op::Each {
            let n = self.bounds(func, owner.operands[0], steps)?;
            return Some(Range { lo: 0, hi: (n.hi - 1).max(0) });
        }
        let [lo, hi, step, ..] = owner.operands[..] else { return None };
        let (lo, hi, step) =
            (self.bounds(func, lo, steps)?, self.bounds(func, hi, steps)?, self.bounds(func, step, steps)?);
        // The variable never passes hi, so counting does not wrap.
        if step.lo > 0 {
            Some(Range { lo: lo.lo, hi: (hi.hi - 1).max(lo.lo) })
        } else if step.hi < 0 {
            Some(Range { lo: (hi.lo + 1).min(lo.hi), hi: lo.hi })
        } else {
            None
        }
    }

    fn result(&self, func: &Function, id: InstId, index: u32, scalar: Scalar, steps: u32) -> Option<Range> {
        let inst = func.inst(id);
        let operand = |i: usize| inst.operands.get(i).and_then(|&v| self.bounds(func, v, steps));
        Some(match inst.op {
            Op::Const => {
                let Attr::Const(value) = inst.attr else { return None };
                Range::point(value.as_int(scalar))
            }
            // A launch has fewer than 2^31 threads along a dimension; no extent is negative.
            Op::Tid | Op::ThreadIndex => Range { lo: 0, hi: i128::from(i32::MAX) - 1 },
            Op::LaunchExtent => Range { lo: 0, hi: i128::from(i32::MAX) },
            Op::Extent => Range { lo: 0, hi: i128::from(i64::MAX) },
            Op::Add => {
                let (a, b) = (operand(0)?, operand(1)?);
                Range { lo: a.lo + b.lo, hi: a.hi + b.hi }
            }
            Op::Sub => {
                let (a, b) = (operand(0)?, operand(1)?);
                Range { lo: a.lo - b.hi, hi: a.hi - b.lo }
            }
            Op::Mul => {
                let (a, b) = (operand(0)?, operand(1)?);
                let mut ends = [Some(0); 4];
                for (end, (x, y)) in ends.iter_mut().zip([(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)]) {
                    *end = x.checked_mul(y);
                }
                let [Some(p), Some(q), Some(r), Some(s)] = ends else { return None };
                Range { lo: p.min(q).min(r).min(s), hi: p.max(q).max(r).max(s) }
            }
            Op::Div | Op::FloorDiv => {
                let (a, b) = (operand(0)?, operand(1)?);
                if a.lo < 0 || b.lo < 0 {
                    return None;
                }
                Range { lo: 0, hi: a.hi / b.lo.max(1) }
            }
            Op::Rem => {
                let (a, b) = (operand(0)?, operand(1)?);
                let largest = if b.lo > 0 { (b.hi - 1).min(a.hi.max(-a.lo)) } else { a.hi.max(-a.lo) };
                Range { lo: if a.lo < 0 { -largest } else { 0 }, hi: if a.hi > 0 { largest } else { 0 } }
            }
            Op::Mod => {
                let b = operand(1)?;
                if b.lo <= 0 {
                    return None;
                }
                Range { lo: 0, hi: b.hi - 1 }
            }
            Op::And => {
                let (a, b) = (operand(0)?, operand(1)?);
                match (a.lo >= 0, b.lo >= 0) {
                    (true, true) => Range { lo: 0, hi: a.hi.min(b.hi) },
                    (true, false) => Range { lo: 0, hi: a.hi },
                    (false, true) => Range { lo: 0, hi: b.hi },
                    (false, false) => return None,
                }
            }
            Op::Shr => {
                let a = operand(0)?;
                if a.lo < 0 {
                    return None;
                }
                Range { lo: 0, hi: a.hi }
            }
            Op::Min => {
                let (a, b) = (operand(0)?, operand(1)?);
                Range { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) }
            }
            Op::Max => {
                let (a, b) = (operand(0)?, operand(1)?);
                Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) }
            }
            Op::Select => operand(1)?.union(operand(2)?),
            // A float or composite operand has no bounds.
            Op::Cast if scalar != Scalar::Bool => operand(0)?,
            Op::WrapIndex if index == 0 => {
                let i = operand(1)?;
                if i.lo < 0 {
                    return None;
                }
                i
            }
            _ => return None,
        })
    }
}
