//! Integer and bool arithmetic. Where the machine would trap or LLVM would call the result undefined, selects give the
//! value that the op table defines.

use super::Lowering;
use super::lanes::{as_int, as_lanes, n_lanes, number};
use super::types::Leaf;
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::FloatType;
use inkwell::values::IntValue;
use ir::{Op, Scalar};

/// How integers are divided.
#[derive(Clone, Copy)]
struct Division<'c> {
    is_signed: bool,
    /// The float type whose quotients are those of the integers.
    float: Option<FloatType<'c>>,
}

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

    /// The quotient toward zero, where it is defined. Processors divide no lanes of integers, but lanes of floats: where
    /// x / y is no integer it is 1 / y away from the next one at least, and floats that hold every x round x / y by less.
    fn quotient(&self, x: IntValue<'c>, y: IntValue<'c>, how: Division<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let ty = x.get_type();
        let Division { is_signed, float } = how;
        let Some(float) = float else {
            return Ok(if is_signed { b.build_int_signed_div(x, y, "")? } else { b.build_int_unsigned_div(x, y, "")? });
        };
        Ok(if is_signed {
            let x = b.build_signed_int_to_float(x, float, "")?;
            let y = b.build_signed_int_to_float(y, float, "")?;
            b.build_float_to_signed_int(b.build_float_div(x, y, "")?, ty, "")?
        } else {
            let x = b.build_unsigned_int_to_float(x, float, "")?;
            let y = b.build_unsigned_int_to_float(y, float, "")?;
            b.build_float_to_unsigned_int(b.build_float_div(x, y, "")?, ty, "")?
        })
    }

    fn rest(&self, x: IntValue<'c>, y: IntValue<'c>, how: Division<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        if how.float.is_some() {
            let quotient = self.quotient(x, y, how)?;
            return Ok(b.build_int_sub(x, b.build_int_mul(quotient, y, "")?, "")?);
        }
        Ok(if how.is_signed { b.build_int_signed_rem(x, y, "")? } else { b.build_int_unsigned_rem(x, y, "")? })
    }

    /// The float type whose quotients are those of x and y; `None` where the target or LLVM does better.
    fn float_of_quotients(&self, x: IntValue<'c>, y: IntValue<'c>) -> Option<FloatType<'c>> {
        n_lanes(&x).filter(|_| self.device.is_none() && !y.is_const())?;
        let bits = as_lanes(x).get_type().get_element_type().into_int_type().get_bit_width();
        let float = match bits {
            ..=16 => self.ctx.f32_type(),
            17..=32 => self.ctx.f64_type(),
            _ => return None,
        };
        Some(self.float_type(float, &x))
    }

    fn divide(&self, op: Op, scalar: Scalar, x: IntValue<'c>, y: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let ty = x.get_type();
        let (zero, one) = (ty.const_zero(), number(ty, 1));
        let by_zero = b.build_int_compare(IntPredicate::EQ, y, zero, "")?;
        let wants_quotient = matches!(op, Op::Div | Op::FloorDiv);
        let how = Division { is_signed: scalar.is_signed(), float: self.float_of_quotients(x, y) };
        if !scalar.is_signed() {
            let divisor = self.select_int(by_zero, one, y)?;
            return if wants_quotient {
                self.select_int(by_zero, zero, self.quotient(x, divisor, how)?)
            } else {
                self.select_int(by_zero, x, self.rest(x, divisor, how)?)
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
            return self.select_int(by_zero, zero, self.quotient(x, divisor, how)?);
        }
        let rest = self.rest(x, divisor, how)?;
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
        let quotient = self.quotient(x, divisor, how)?;
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
