//! Quotients and rests of a thread's index, as where a kernel makes two indices from a flat one.
//!
//! In: a kernel whose gangs end where such a quotient changes. Out: what their lanes then hold, and the divisions for
//! whoever cuts the threads of a launch into such rows.
//!
//! ```text
//! v0: i64 = tid 0
//! v1: i64 = div v0, v9      uniform       (v9: the same in the whole launch)
//! v2: i64 = rem v0, v9      affine 1
//! ```
//!
//! Rows must be known before any thread runs: the divisor from the arguments alone, the dividend from the thread's index
//! besides.

use super::{Analysis, Lanes};
use ir::{Function, Inst, InstId, Op, RegionId, Scalar, Value, ValueDef};

/// Rows of so few threads, where that is known, would leave most of them without a gang.
const SHORT: i128 = 64;

/// A quotient or a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    pub inst: InstId,
    pub dividend: Value,
    pub divisor: Divisor,
    /// How much the dividend grows from thread to thread.
    pub step: u64,
    /// Whether a quotient is rounded down, and the rest has the divisor's sign; else toward zero.
    pub rounds_down: bool,
    pub is_quotient: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divisor {
    Value(Value),
    /// Of a shift or a mask.
    Power(u64),
}

impl Division {
    fn of(func: &Function, id: InstId) -> Option<Division> {
        let inst = func.inst(id);
        let (&[dividend, by], &[result]) = (&inst.operands[..], &inst.results[..]) else { return None };
        let scalar = func.ty(result).as_scalar().filter(|scalar| scalar.is_int() && scalar.size() >= 4)?;
        let constant = func.as_const(by).map(|constant| constant.as_int(scalar));
        let divisor = match inst.op {
            Op::Div | Op::FloorDiv | Op::Rem | Op::Mod if constant.is_none_or(|n| n >= SHORT) => Divisor::Value(by),
            Op::Shr => Divisor::Power(1 << constant.filter(|n| (0..31).contains(n) && 1 << n >= SHORT)?),
            Op::And => {
                let next = constant?.checked_add(1)?;
                let is_mask = (SHORT..1 << 31).contains(&next) && (next & (next - 1)) == 0;
                Divisor::Power(is_mask.then_some(next)? as u64)
            }
            _ => return None,
        };
        Some(Division {
            inst: id,
            dividend,
            divisor,
            step: 1,
            rounds_down: !matches!(inst.op, Op::Div | Op::Rem),
            is_quotient: matches!(inst.op, Op::Div | Op::FloorDiv | Op::Shr),
        })
    }
}

/// When a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    WithTheLaunch,
    WithTheThread,
    Later,
}

/// For every value when it is known.
pub(super) struct Start(Vec<Known>);

impl Start {
    pub(super) fn of(func: &Function) -> Start {
        let mut start = Start(vec![Known::Later; func.values.len()]);
        for &param in &func.region(func.body).params {
            start.0[param.index()] = Known::WithTheLaunch;
        }
        start.region(func, func.body);
        start
    }

    fn region(&mut self, func: &Function, region: RegionId) {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            if let Some(known) = self.after(inst) {
                inst.results.iter().for_each(|result| self.0[result.index()] = known);
            }
            inst.regions.iter().for_each(|&inner| self.region(func, inner));
        }
    }

    fn after(&self, inst: &Inst) -> Option<Known> {
        let own = match inst.op {
            Op::Tid | Op::ThreadIndex | Op::BlockIndex | Op::BlockExtent | Op::GridExtent => Known::WithTheThread,
            Op::Const | Op::LaunchExtent | Op::Extent | Op::Extract => Known::WithTheLaunch,
            Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Div | Op::Rem | Op::FloorDiv | Op::Mod => Known::WithTheLaunch,
            Op::Min | Op::Max | Op::And | Op::Or | Op::Xor | Op::Shl | Op::Shr | Op::Cast => Known::WithTheLaunch,
            _ => return None,
        };
        Some(inst.operands.iter().map(|value| self.0[value.index()]).fold(own, Known::max))
    }
}

impl Analysis<'_> {
    /// What the lanes of a gang hold that is of one row.
    pub(super) fn in_row(&self, id: InstId) -> Lanes {
        let Some(start) = &self.start else { return Lanes::Varying };
        let Some(division) = Division::of(self.func, id) else { return Lanes::Varying };
        let known = |value: Value| start.0[value.index()];
        let is_launched = match division.divisor {
            Divisor::Value(value) => known(value) == Known::WithTheLaunch,
            Divisor::Power(_) => true,
        };
        match self.of(division.dividend) {
            Lanes::Affine(step @ 1..)
                if is_launched && known(division.dividend) != Known::Later && self.grows_surely(division.dividend) =>
            {
                if division.is_quotient {
                    Lanes::Uniform
                } else {
                    Lanes::Affine(step)
                }
            }
            _ => Lanes::Varying,
        }
    }

    /// Whether an affine value is that unless it wraps in its own type, whatever is computed on the way.
    fn grows_surely(&self, value: Value) -> bool {
        let ValueDef::Result(id, _) = self.func.def(value) else { return self.of(value) == Lanes::Uniform };
        let inst = self.func.inst(id);
        match inst.op {
            _ if self.of(value) == Lanes::Uniform => true,
            Op::Add | Op::Sub | Op::Neg | Op::Mul => inst.operands.iter().all(|&operand| self.grows_surely(operand)),
            Op::Cast => {
                let bits = |value| self.func.ty(value).as_scalar().map_or(0, Scalar::bits);
                let is_wider = bits(value) > bits(inst.operands[0]);
                if is_wider { self.never_wraps(inst.operands[0]) } else { self.grows_surely(inst.operands[0]) }
            }
            _ => self.never_wraps(value),
        }
    }

    /// Whether a value cannot wrap within a row: a thread's index, in a type that holds it, or a rest.
    fn never_wraps(&self, value: Value) -> bool {
        let ValueDef::Result(id, _) = self.func.def(value) else { return false };
        let inst = self.func.inst(id);
        match inst.op {
            Op::Tid | Op::ThreadIndex => true,
            Op::Cast => {
                let holds = self.func.ty(value).as_scalar().is_some_and(|scalar| scalar.size() >= 4);
                holds && self.never_wraps(inst.operands[0])
            }
            _ => self.in_row(id) != Lanes::Varying,
        }
    }

    /// The divisions that end rows.
    pub(super) fn divisions(&self) -> Vec<Division> {
        let listed = self.func.regions.iter().flat_map(|region| &region.insts).copied();
        let ends_rows = listed.filter(|&id| self.in_row(id) != Lanes::Varying);
        let division = |id| {
            let division = Division::of(self.func, id)?;
            let Lanes::Affine(step) = self.of(division.dividend) else { return None };
            Some(Division { step: step.unsigned_abs(), ..division })
        };
        ends_rows.filter_map(division).collect()
    }
}
