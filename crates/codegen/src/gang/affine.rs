//! Values that grow by a constant from lane to lane: the first lane's scalar stands for all, as long as none wraps.
//!
//! In: an instruction whose result is affine. Out: the scalar, and where it may not be what the lanes hold, a test of
//! that with all lanes beside it ([`Exact`]).

use super::Exact;
use crate::llvm::Lowering;
use crate::llvm::lanes::{as_int, number};
use crate::llvm::value::Lowered;
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use ir::{Inst, InstId, Op, Scalar, Value};
use transform::range::Range;

impl<'c> Lowering<'c, '_> {
    /// Lowers an instruction whose result is affine, and what has to hold for that.
    pub(super) fn affine_inst(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        let own = match inst.op {
            Op::WrapIndex => Some(self.none_negative(inst.operands[1])?),
            Op::Cast => self.none_wraps(inst)?,
            _ => None,
        };
        let mut holds = own;
        for &operand in &inst.operands {
            if let Some(exact) = self.gang()?.exact[operand.index()] {
                holds = Some(self.both(holds, exact.holds)?);
            }
        }
        let exact = match holds {
            None => None,
            Some(holds) => match self.wide_inst(id, inst)? {
                Lowered::Leaves(leaves) if leaves.len() == 1 => Some(Exact { holds, lanes: leaves[0] }),
                _ => return Err(Error::Invalid("an affine value is no scalar".into())),
            },
        };
        self.gang_mut()?.exact[inst.result().index()] = exact;
        if inst.op == Op::WrapIndex {
            let index = self.narrow_value(inst.operands[1])?;
            self.define(inst.result(), index);
            return Ok(());
        }
        self.scalar_inst(id)
    }

    /// Whether no lane that is on has a negative index: then `wrap_index` leaves all of them as they are.
    fn none_negative(&mut self, index: Value) -> Result<IntValue<'c>> {
        let zero = self.i64(0);
        if self.mask().is_some() {
            let lanes = self.wide_int(index)?;
            let negative = self.builder.build_int_compare(IntPredicate::SLT, lanes, number(lanes.get_type(), 0), "")?;
            return self.none_on(negative);
        }
        let (first, step) = (self.int(index)?, self.step(index));
        let last = self.i64((step as u64).wrapping_mul(u64::from(self.width()) - 1));
        let least = if step < 0 { self.builder.build_int_add(first, last, "")? } else { first };
        Ok(self.builder.build_int_compare(IntPredicate::SGE, least, zero, "")?)
    }

    /// Whether an affine integer that is made wider stays affine: it must not wrap within the gang.
    fn none_wraps(&mut self, inst: &Inst) -> Result<Option<IntValue<'c>>> {
        let x = inst.operands[0];
        let scalar = |value| self.func.ty(value).as_scalar().unwrap_or(Scalar::Bool);
        let (from, to) = (scalar(x), scalar(inst.result()));
        if from.bits() >= to.bits() || self.grows_evenly(x)? {
            return Ok(None);
        }
        let step = self.step(x);
        let distance = i128::from(step) * i128::from(self.width() - 1);
        if distance.unsigned_abs() >= 1 << (from.bits() - 1) {
            return Ok(Some(self.ctx.bool_type().const_zero()));
        }
        let before = match (step < 0, from.is_signed()) {
            (false, true) => IntPredicate::SLT,
            (false, false) => IntPredicate::ULT,
            (true, true) => IntPredicate::SGT,
            (true, false) => IntPredicate::UGT,
        };
        let first = self.int(x)?;
        if self.mask().is_some() {
            let lanes = self.wide_int(x)?;
            let first = as_int(self.splat_lanes(first.into(), self.width())?)?;
            let wrapped = self.builder.build_int_compare(before, lanes, first, "")?;
            return self.none_on(wrapped).map(Some);
        }
        let last = self.builder.build_int_add(first, number(first.get_type(), distance as u64), "")?;
        let wrapped = self.builder.build_int_compare(before, last, first, "")?;
        Ok(Some(self.builder.build_not(wrapped, "")?))
    }

    /// Whether an affine integer is known not to wrap within the gang. A row ends before the thread's index does; of what
    /// is computed from it, bounds narrower than the type's say that no step on the way has wrapped.
    pub(super) fn grows_evenly(&self, value: Value) -> Result<bool> {
        let Some(scalar) = self.func.ty(value).as_scalar().filter(|scalar| scalar.is_int()) else { return Ok(false) };
        let is_of_row =
            |id| self.gang().is_ok_and(|gang| gang.uniformity.divisions().iter().any(|known| known.inst == id));
        if matches!(self.func.def(value), ir::ValueDef::Result(id, _) if is_of_row(id)) {
            return Ok(true);
        }
        let range = self.gang()?.counters.range(self.func, value);
        Ok(range.is_some_and(|range| range != Range::of_type(scalar)))
    }
}
