//! Whether all lanes take an arm, or none does, told by the first and the last lane alone.
//!
//! In: a condition put together from comparisons of integers that are uniform or grow evenly from lane to lane, as those
//! that guard the edges of a domain are. Out: two scalars, without any vector:
//!
//! ```text
//! 0 < i and i < n    ->    all:  0 < first and 0 < last and first < n and last < n
//!                          none: not (0 < first or 0 < last) or not (first < n or last < n)
//! ```
//!
//! Each is sufficient, not necessary: where neither holds the lanes are asked one by one, under masks.

use crate::Result;
use crate::llvm::Lowering;
use crate::llvm::lanes::number;
use analysis::Lanes;
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use ir::{Inst, Op, Value};

/// What is known of a condition ahead of time.
pub(super) struct Cases<'c> {
    pub all: IntValue<'c>,
    pub none: IntValue<'c>,
}

/// Conditions deeper than this are asked lane by lane.
pub(super) const MAX_DEPTH: u32 = 16;

impl<'c> Lowering<'c, '_> {
    /// The cases of a condition where all lanes are on; `None` where its parts are not of the kind that two lanes tell.
    pub(super) fn end_cases(&mut self, condition: Value) -> Result<Option<Cases<'c>>> {
        // First without making any instruction.
        if self.mask().is_some() || !self.has_ends(condition, MAX_DEPTH)? {
            return Ok(None);
        }
        self.ends(condition).map(Some)
    }

    fn has_ends(&self, condition: Value, depth: u32) -> Result<bool> {
        if depth == 0 {
            return Ok(false);
        }
        if self.lanes(condition) == Lanes::Uniform {
            return Ok(true);
        }
        let Some(inst) = self.def(condition) else { return Ok(false) };
        Ok(match inst.op {
            Op::And | Op::Or | Op::Not => {
                for &operand in &inst.operands {
                    if !self.has_ends(operand, depth - 1)? {
                        return Ok(false);
                    }
                }
                true
            }
            Op::Lt | Op::Le | Op::Gt | Op::Ge => self.is_even(inst.operands[0])? && self.is_even(inst.operands[1])?,
            Op::Eq | Op::Ne => self.difference(inst)?.is_some(),
            _ => false,
        })
    }

    /// Whether an integer is uniform or surely grows evenly.
    fn is_even(&self, value: Value) -> Result<bool> {
        Ok(match self.lanes(value) {
            Lanes::Uniform => self.func.ty(value).as_scalar().is_some_and(ir::Scalar::is_int),
            Lanes::Affine(_) => self.gang()?.exact[value.index()].is_none() && self.grows_evenly(value)?,
            Lanes::Varying => false,
        })
    }

    /// The operands of `x == y` where x grows by one from lane to lane and y is uniform, however the two wrap.
    fn difference(&self, inst: &Inst) -> Result<Option<[Value; 2]>> {
        let [x, y] = [inst.operands[0], inst.operands[1]];
        for [x, y] in [[x, y], [y, x]] {
            let is_exact = self.gang()?.exact[x.index()].is_none();
            if is_exact && self.lanes(x) == Lanes::Affine(1) && self.lanes(y) == Lanes::Uniform {
                return Ok(Some([x, y]));
            }
        }
        Ok(None)
    }

    fn ends(&mut self, condition: Value) -> Result<Cases<'c>> {
        let b = &self.builder;
        if self.lanes(condition) == Lanes::Uniform {
            let all = self.int(condition)?;
            return Ok(Cases { all, none: b.build_not(all, "")? });
        }
        let inst = self.def(condition).ok_or_else(|| crate::Error::Invalid("a condition of no op".into()))?;
        match inst.op {
            Op::Not => {
                let Cases { all, none } = self.ends(inst.operands[0])?;
                Ok(Cases { all: none, none: all })
            }
            Op::And | Op::Or => {
                let (x, y) = (self.ends(inst.operands[0])?, self.ends(inst.operands[1])?);
                let b = &self.builder;
                let both = |x, y| b.build_and(x, y, "");
                let either = |x, y| b.build_or(x, y, "");
                Ok(if inst.op == Op::And {
                    Cases { all: both(x.all, y.all)?, none: either(x.none, y.none)? }
                } else {
                    Cases { all: either(x.all, y.all)?, none: both(x.none, y.none)? }
                })
            }
            Op::Eq | Op::Ne => {
                let no = self.ctx.bool_type().const_zero();
                let Some([x, y]) = self.difference(inst)? else { return Ok(Cases { all: no, none: no }) };
                let distance = b.build_int_sub(self.int(y)?, self.int(x)?, "")?;
                let width = number(distance.get_type(), u64::from(self.width()));
                let apart = b.build_int_compare(IntPredicate::UGE, distance, width, "")?;
                Ok(if inst.op == Op::Ne { Cases { all: apart, none: no } } else { Cases { all: no, none: apart } })
            }
            op => {
                let [x, y] = [inst.operands[0], inst.operands[1]];
                let is_signed = self.func.ty(x).as_scalar().is_some_and(ir::Scalar::is_signed);
                let predicate = match (op, is_signed) {
                    (Op::Lt, true) => IntPredicate::SLT,
                    (Op::Le, true) => IntPredicate::SLE,
                    (Op::Gt, true) => IntPredicate::SGT,
                    (Op::Ge, true) => IntPredicate::SGE,
                    (Op::Lt, false) => IntPredicate::ULT,
                    (Op::Le, false) => IntPredicate::ULE,
                    (Op::Gt, false) => IntPredicate::UGT,
                    _ => IntPredicate::UGE,
                };
                let first = b.build_int_compare(predicate, self.int(x)?, self.int(y)?, "")?;
                let last = b.build_int_compare(predicate, self.last(x)?, self.last(y)?, "")?;
                Ok(Cases { all: b.build_and(first, last, "")?, none: b.build_not(b.build_or(first, last, "")?, "")? })
            }
        }
    }

    /// The last lane's value of an integer that is uniform or affine.
    fn last(&self, value: Value) -> Result<IntValue<'c>> {
        let first = self.int(value)?;
        let distance = self.step(value).wrapping_mul(i64::from(self.width()) - 1);
        if distance == 0 {
            return Ok(first);
        }
        Ok(self.builder.build_int_add(first, number(first.get_type(), distance as u64), "")?)
    }
}
