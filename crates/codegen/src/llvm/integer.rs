//! Integer and bool arithmetic. Where the machine would trap or LLVM would call the result undefined, selects give the
//! value that the op table defines.

use super::Lowering;
use super::lanes::{as_int, number};
use super::types::Leaf;
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::intrinsics::Intrinsic;
use inkwell::values::IntValue;
use ir::{Op, Scalar};

impl<'c> Lowering<'c, '_> {
    pub(crate) fn int_op(&self, op: Op, scalar: Scalar, args: &[Leaf<'c>]) -> Result<Leaf<'c>> {
        let b = &self.builder;
        let x = as_int(args[0])?;
        let y = if let Some(&y) = args.get(1) { as_int(y)? } else { x };
        Ok(match op {
            Op::Add => b.build_int_add(x, y, "")?,
            Op::Sub => b.build_int_sub(x, y, "")?,
            Op::Mul => b.build_int_mul(x, y, "")?,
            Op::Div | Op::Rem | Op::FloorDiv | Op::Mod => self.divide(op, scalar, x, y)?,
            Op::Neg => b.build_int_neg(x, "")?,
            Op::Abs if scalar.is_signed() => {
                let negative = b.build_int_compare(IntPredicate::SLT, x, x.get_type().const_zero(), "")?;
                self.select_int(negative, b.build_int_neg(x, "")?, x)?
            }
            Op::Abs => x,
            Op::Min | Op::Max => return self.min_max(op, scalar, args[0], args[1]),
            Op::And => b.build_and(x, y, "")?,
            Op::Or => b.build_or(x, y, "")?,
            Op::Xor => b.build_xor(x, y, "")?,
            Op::Not => b.build_not(x, "")?,
            Op::Shl | Op::Shr => self.shift(op, scalar, x, y)?,
            Op::PopCount => self.bit_count("llvm.ctpop", x, false)?,
            Op::LeadingZeros => self.bit_count("llvm.ctlz", x, true)?,
            Op::TrailingZeros => self.bit_count("llvm.cttz", x, true)?,
            Op::MulHigh => self.mul_high(scalar, x, y)?,
            _ => return Err(Error::Invalid(format!("`{}` on {}", op.name(), scalar.name()))),
        }
        .into())
    }

    fn divide(&self, op: Op, scalar: Scalar, x: IntValue<'c>, y: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let ty = x.get_type();
        let (zero, one) = (ty.const_zero(), number(ty, 1));
        let by_zero = b.build_int_compare(IntPredicate::EQ, y, zero, "")?;
        let wants_quotient = matches!(op, Op::Div | Op::FloorDiv);
        if !scalar.is_signed() {
            let divisor = self.select_int(by_zero, one, y)?;
            return if wants_quotient {
                self.select_int(by_zero, zero, b.build_int_unsigned_div(x, divisor, "")?)
            } else {
                self.select_int(by_zero, x, b.build_int_unsigned_rem(x, divisor, "")?)
            };
        }
        let by_minus_one = b.build_int_compare(IntPredicate::EQ, y, ty.const_all_ones(), "")?;
        // The least value divided by -1 traps; divided by 1 it gives the defined results. Any other value leaves the
        // same rest by both, so that for the rest alone the divisor does not ask what is divided.
        let replaced = if wants_quotient {
            let least = number(ty, 1 << (scalar.bits() - 1));
            let is_least = b.build_int_compare(IntPredicate::EQ, x, least, "")?;
            b.build_and(is_least, by_minus_one, "")?
        } else {
            by_minus_one
        };
        let divisor = self.select_int(b.build_or(by_zero, replaced, "")?, one, y)?;
        if op == Op::Div {
            return self.select_int(by_zero, zero, b.build_int_signed_div(x, divisor, "")?);
        }
        let rest = b.build_int_signed_rem(x, divisor, "")?;
        if op == Op::Rem {
            return self.select_int(by_zero, x, rest);
        }
        let inexact = b.build_int_compare(IntPredicate::NE, rest, zero, "")?;
        let signs = b.build_xor(rest, y, "")?;
        let differ = b.build_int_compare(IntPredicate::SLT, signs, zero, "")?;
        let fix = b.build_and(inexact, differ, "")?;
        if op == Op::Mod {
            let fixed = self.select_int(fix, b.build_int_add(rest, y, "")?, rest)?;
            return self.select_int(by_zero, x, fixed);
        }
        let quotient = b.build_int_signed_div(x, divisor, "")?;
        let fixed = self.select_int(fix, b.build_int_sub(quotient, one, "")?, quotient)?;
        self.select_int(by_zero, zero, fixed)
    }

    /// The amount is unsigned; one of the width or more shifts everything out.
    fn shift(&self, op: Op, scalar: Scalar, x: IntValue<'c>, amount: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let ty = x.get_type();
        let last = number(ty, u64::from(scalar.bits()) - 1);
        let fits = b.build_int_compare(IntPredicate::ULE, amount, last, "")?;
        if op == Op::Shr && scalar.is_signed() {
            let clamped = self.select_int(fits, amount, last)?;
            return Ok(b.build_right_shift(x, clamped, true, "")?);
        }
        // A select stops the undefined result of an over-wide shift that it does not choose.
        let shifted =
            if op == Op::Shl { b.build_left_shift(x, amount, "")? } else { b.build_right_shift(x, amount, false, "")? };
        self.select_int(fits, shifted, ty.const_zero())
    }

    fn bit_count(&self, name: &'static str, x: IntValue<'c>, takes_flag: bool) -> Result<IntValue<'c>> {
        let function = Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, &[x.get_type().into()]))
            .ok_or_else(|| Error::llvm("intrinsic", name))?;
        // The flag says that 0 has a defined result.
        let flag = self.ctx.bool_type().const_zero();
        let call = if takes_flag {
            self.builder.build_call(function, &[x.into(), flag.into()], "")?
        } else {
            self.builder.build_call(function, &[x.into()], "")?
        };
        as_int(call.try_as_basic_value().unwrap_basic())
    }

    fn mul_high(&self, scalar: Scalar, x: IntValue<'c>, y: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let wide = self.int_type(2 * scalar.bits(), &x);
        let extend = |v| {
            if scalar.is_signed() { b.build_int_s_extend(v, wide, "") } else { b.build_int_z_extend(v, wide, "") }
        };
        let product = b.build_int_mul(extend(x)?, extend(y)?, "")?;
        let high = b.build_right_shift(product, number(wide, u64::from(scalar.bits())), false, "")?;
        Ok(b.build_int_truncate(high, x.get_type(), "")?)
    }
}
