//! Casts, and the way between half-width floats and the type that computes for them.
//!
//! f16 and bf16 values are their bits in an i16. Where the target converts f16 in hardware LLVM's `half` appears between
//! a bit cast and an extension only; elsewhere, and for bf16 always (the hardware's instruction flushes subnormals),
//! integer code does it.

use super::arithmetic::element;
use super::lanes::{as_float, as_int, n_lanes, number};
use super::types::{self, Leaf};
use super::value::Lowered;
use super::{Lowering, attr_index};
use crate::{Error, Result};
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use ir::{Inst, Op, Scalar, Value};

impl<'c> Lowering<'c, '_> {
    pub(crate) fn convert(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let x = inst.operands[0];
        let (from, to) = (element(self.func.ty(x))?, element(self.func.ty(inst.result()))?);
        if inst.op == Op::Bitcast {
            return self.map(inst, |this, args| this.bitcast(from, to, args[0]));
        }
        if to == Scalar::I32
            && !self.is_wide()
            && let Some(narrow) = self.narrow_index(x)
        {
            return Ok(narrow.into());
        }
        self.map(inst, |this, args| this.cast(from, to, args[0]))
    }

    /// The i32 that the target counts beside the thread's index, where `x` is that index.
    fn narrow_index(&self, x: Value) -> Option<IntValue<'c>> {
        let def = self.def(x).filter(|def| def.op == Op::Tid)?;
        self.thread.narrow[attr_index(def).ok()? as usize]
    }

    pub(crate) fn cast(&self, from: Scalar, to: Scalar, x: Leaf<'c>) -> Result<Leaf<'c>> {
        if from == to {
            return Ok(x);
        }
        let b = &self.builder;
        if to == Scalar::Bool {
            let op = Op::Ne;
            return Ok(self.compare(op, from, x, types::zero(self.ctx, from))?.into());
        }
        match (from.is_float(), to.is_float()) {
            (false, false) => {
                let x = as_int(x)?;
                let ty = self.int_type(to.bits(), &x);
                Ok(match (from.bits() < to.bits(), from.is_signed()) {
                    (false, _) => b.build_int_truncate_or_bit_cast(x, ty, "")?,
                    (true, true) => b.build_int_s_extend(x, ty, "")?,
                    (true, false) => b.build_int_z_extend(x, ty, "")?,
                }
                .into())
            }
            (false, true) => {
                // f64 holds every i32, so bf16 is rounded once; f16 overflows before f32 starts to round.
                let wide = to == Scalar::F64 || to == Scalar::BF16;
                let mut x = as_int(x)?;
                let ty = self.float_type(if wide { self.ctx.f64_type() } else { self.ctx.f32_type() }, &x);
                if to == Scalar::BF16 && from.bits() == 64 {
                    x = self.fit_in_double(x, from.is_signed())?;
                }
                let value = if from.is_signed() {
                    b.build_signed_int_to_float(x, ty, "")?
                } else {
                    b.build_unsigned_int_to_float(x, ty, "")?
                };
                self.narrow(to, value)
            }
            (true, false) => self.saturate(self.widen(from, x)?, to),
            (true, true) => {
                let x = self.widen(from, x)?;
                if to == Scalar::F64 {
                    return Ok(b.build_float_ext(x, self.float_type(self.ctx.f64_type(), &x), "")?.into());
                }
                self.narrow(to, x)
            }
        }
    }

    /// A 64-bit integer that f64 holds and that rounds to the same bf16: where the low bits do not fit they are dropped,
    /// and the last one kept is set, as in [`Self::round_to_odd`].
    fn fit_in_double(&self, x: IntValue<'c>, is_signed: bool) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let c = |value: u64| number(x.get_type(), value);
        let (exact, dropped) = (1u64 << 53, 11);
        let (shifted, range) = if is_signed { (exact, 2 * exact) } else { (0, exact) };
        let from_least = b.build_int_add(x, c(shifted), "")?;
        let fits = b.build_int_compare(IntPredicate::ULE, from_least, c(range), "")?;
        let rest = b.build_and(x, c((1 << dropped) - 1), "")?;
        let inexact = b.build_int_compare(IntPredicate::NE, rest, c(0), "")?;
        let odd = self.select_int(inexact, c(1 << dropped), c(0))?;
        let kept = b.build_or(b.build_and(x, c(!0 << dropped), "")?, odd, "")?;
        self.select_int(fits, x, kept)
    }

    /// Truncates toward zero, saturates, and takes NaN to 0.
    fn saturate(&self, x: FloatValue<'c>, to: Scalar) -> Result<Leaf<'c>> {
        if n_lanes(&x).is_some() && self.device.is_none() {
            return Ok(self.saturate_lanes(x, to)?.into());
        }
        let ty = self.int_type(to.bits(), &x);
        // NVIDIA's `cvt` does so for f32 by itself.
        let is_plain = self.device.is_some() && to.bits() == 32 && x.get_type() == self.ctx.f32_type();
        let (name, types) = match (is_plain, to.is_signed()) {
            (true, true) => ("llvm.nvvm.f2i.rz", vec![]),
            (true, false) => ("llvm.nvvm.f2ui.rz", vec![]),
            (false, true) => ("llvm.fptosi.sat", vec![ty.into(), x.get_type().into()]),
            (false, false) => ("llvm.fptoui.sat", vec![ty.into(), x.get_type().into()]),
        };
        let function = Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, &types))
            .ok_or_else(|| Error::llvm("intrinsic", name))?;
        let call = self.builder.build_call(function, &[x.into()], "")?;
        Ok(call.try_as_basic_value().unwrap_basic())
    }

    /// The same for lanes side by side; LLVM takes its own instruction apart. What is out of range is clamped before, so
    /// that the conversion is defined, to floats that lie in the range.
    fn saturate_lanes(&self, x: FloatValue<'c>, to: Scalar) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let is_signed = to.is_signed();
        let precision = if self.is_double(&x) { 53 } else { 24 };
        let exponent = to.bits() - u32::from(is_signed);
        let float = |value: f64| x.get_type().const_float(value);
        let end = 2f64.powi(exponent as i32);
        // The last integer where it is a float, else the last float before its end.
        let is_exact = exponent <= precision;
        let last = if is_exact { end - 1.0 } else { end - 2f64.powi((exponent - precision) as i32) };
        let pick = |predicate, x: FloatValue<'c>, limit: f64| {
            let is_inside = b.build_float_compare(predicate, x, float(limit), "")?;
            self.select(is_inside, x.into(), float(limit).into()).and_then(as_float)
        };
        let least = if is_signed { -end } else { 0.0 };
        let inside = pick(FloatPredicate::OLT, pick(FloatPredicate::OGT, x, least)?, last)?;
        // Lanes of less than 32 bits have no conversion of their own.
        let wide = self.int_type(to.bits().max(32), &x);
        let found = if is_signed || to.bits() < 32 {
            b.build_float_to_signed_int(inside, wide, "")?
        } else {
            b.build_float_to_unsigned_int(inside, wide, "")?
        };
        let ty = self.int_type(to.bits(), &x);
        let mut found = b.build_int_truncate_or_bit_cast(found, ty, "")?;
        if !is_exact {
            let is_past = b.build_float_compare(FloatPredicate::OGE, x, float(end), "")?;
            found = self.select_int(is_past, number(ty, u64::MAX >> (64 - exponent)), found)?;
        }
        if is_signed {
            let is_nan = b.build_float_compare(FloatPredicate::UNO, x, x, "")?;
            found = self.select_int(is_nan, number(ty, 0), found)?;
        }
        Ok(found)
    }

    fn bitcast(&self, from: Scalar, to: Scalar, x: Leaf<'c>) -> Result<Leaf<'c>> {
        let b = &self.builder;
        if from.size() != to.size() {
            return Err(Error::Invalid(format!("bitcast of {} to {}", from.name(), to.name())));
        }
        let bits = match from {
            Scalar::Bool => b.build_int_z_extend(as_int(x)?, self.int_type(8, &x), "")?.into(),
            _ => x,
        };
        if to == Scalar::Bool {
            return Ok(self.compare(Op::Ne, Scalar::U8, bits, types::zero(self.ctx, Scalar::U8))?.into());
        }
        if to == Scalar::F32 || to == Scalar::F64 {
            return Ok(b.build_bit_cast(bits, self.float_type(types::compute_type(self.ctx, to), &bits), "")?);
        }
        Ok(b.build_bit_cast(bits, self.int_type(to.bits(), &bits), "")?)
    }

    /// A float scalar in the type that computes for it.
    pub(crate) fn widen(&self, scalar: Scalar, x: Leaf<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let (i32t, f32t) = (self.int_type(32, &x), self.float_type(self.ctx.f32_type(), &x));
        match scalar {
            Scalar::F32 | Scalar::F64 => as_float(x),
            Scalar::BF16 => {
                let bits = b.build_left_shift(b.build_int_z_extend(as_int(x)?, i32t, "")?, number(i32t, 16), "")?;
                as_float(b.build_bit_cast(bits, f32t, "")?)
            }
            Scalar::F16 if self.abilities.half => {
                let half = as_float(b.build_bit_cast(x, self.float_type(self.ctx.f16_type(), &x), "")?)?;
                Ok(b.build_float_ext(half, f32t, "")?)
            }
            Scalar::F16 => self.half_to_float(as_int(x)?),
            _ => Err(Error::Invalid(format!("expected a value of {}", scalar.name()))),
        }
    }

    /// Rounds a computed float to a scalar type: f64 or f32 to anything not wider.
    pub(crate) fn narrow(&self, scalar: Scalar, x: FloatValue<'c>) -> Result<Leaf<'c>> {
        let b = &self.builder;
        let is_double = self.is_double(&x);
        match scalar {
            Scalar::F64 => Ok(x.into()),
            Scalar::F32 if is_double => {
                Ok(b.build_float_trunc(x, self.float_type(self.ctx.f32_type(), &x), "")?.into())
            }
            Scalar::F32 => Ok(x.into()),
            _ => {
                let x = if is_double { self.round_to_odd(x)? } else { x };
                if scalar == Scalar::BF16 {
                    return Ok(self.float_to_bf16(x)?.into());
                }
                if self.abilities.half {
                    let half = b.build_float_trunc(x, self.float_type(self.ctx.f16_type(), &x), "")?;
                    return Ok(b.build_bit_cast(half, self.int_type(16, &x), "")?);
                }
                Ok(self.float_to_half(x)?.into())
            }
        }
    }

    /// f64 to f32 so that a second rounding to a still narrower type gives what one rounding would: an inexact result
    /// is truncated and its last bit set. Boldo & Melquiond, "When double rounding is odd" (2005).
    fn round_to_odd(&self, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let (i32t, f32t) = (self.int_type(32, &x), self.float_type(self.ctx.f32_type(), &x));
        let nearest = b.build_float_trunc(x, f32t, "")?;
        let back = b.build_float_ext(nearest, self.float_type(self.ctx.f64_type(), &x), "")?;
        let inexact = b.build_float_compare(FloatPredicate::ONE, back, x, "")?;
        let (back_size, size) = (self.intrinsic("llvm.fabs", &[back])?, self.intrinsic("llvm.fabs", &[x])?);
        let too_large = b.build_float_compare(FloatPredicate::OGT, back_size, size, "")?;
        let bits = as_int(b.build_bit_cast(nearest, i32t, "")?)?;
        let truncated = b.build_int_sub(bits, b.build_int_z_extend(too_large, i32t, "")?, "")?;
        let odd = b.build_or(truncated, number(i32t, 1), "")?;
        let bits = self.select_int(inexact, odd, bits)?;
        as_float(b.build_bit_cast(bits, f32t, "")?)
    }

    /// Rounds to nearest even by adding just under half of the last place; NaNs are made quiet.
    fn float_to_bf16(&self, x: FloatValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let (i16t, i32t) = (self.int_type(16, &x), self.int_type(32, &x));
        let c = |value: u64| number(i32t, value);
        let bits = as_int(b.build_bit_cast(x, i32t, "")?)?;
        let high = b.build_right_shift(bits, c(16), false, "")?;
        let bias = b.build_int_add(b.build_and(high, c(1), "")?, c(0x7fff), "")?;
        let rounded = b.build_right_shift(b.build_int_add(bits, bias, "")?, c(16), false, "")?;
        let quiet = b.build_or(high, c(0x40), "")?;
        let is_nan = b.build_float_compare(FloatPredicate::UNO, x, x, "")?;
        Ok(b.build_int_truncate(self.select_int(is_nan, quiet, rounded)?, i16t, "")?)
    }

    /// Shifts the bits into place and corrects the exponent by an exact product, which normalizes subnormals too.
    fn half_to_float(&self, x: IntValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let (i32t, f32t) = (self.int_type(32, &x), self.float_type(self.ctx.f32_type(), &x));
        let c = |value: u64| number(i32t, value);
        let x = b.build_int_z_extend(x, i32t, "")?;
        let magnitude = b.build_left_shift(b.build_and(x, c(0x7fff), "")?, c(13), "")?;
        let scale = f32t.const_float(f64::from(2f32.powi(112)));
        let scaled = b.build_float_mul(as_float(b.build_bit_cast(magnitude, f32t, "")?)?, scale, "")?;
        let scaled = as_int(b.build_bit_cast(scaled, i32t, "")?)?;
        let infinity = c(0x1f << 23);
        let is_special = b.build_int_compare(IntPredicate::UGE, magnitude, infinity, "")?;
        let is_nan = b.build_int_compare(IntPredicate::UGT, magnitude, infinity, "")?;
        let special = b.build_or(magnitude, self.select_int(is_nan, c(0x7fc0_0000), c(0x7f80_0000))?, "")?;
        let bits = self.select_int(is_special, special, scaled)?;
        let sign = b.build_left_shift(b.build_and(x, c(0x8000), "")?, c(16), "")?;
        as_float(b.build_bit_cast(b.build_or(bits, sign, "")?, f32t, "")?)
    }

    /// Three cases by magnitude: overflow or NaN, subnormal (an addition rounds), normal (bias added to the bits).
    fn float_to_half(&self, x: FloatValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let (i16t, i32t) = (self.int_type(16, &x), self.int_type(32, &x));
        let f32t = self.float_type(self.ctx.f32_type(), &x);
        let c = |value: u64| number(i32t, value);
        let bits = as_int(b.build_bit_cast(x, i32t, "")?)?;
        let magnitude = b.build_and(bits, c(0x7fff_ffff), "")?;
        let sign = b.build_and(b.build_right_shift(bits, c(16), false, "")?, c(0x8000), "")?;

        let payload = b.build_and(b.build_right_shift(magnitude, c(13), false, "")?, c(0x3ff), "")?;
        let nan = b.build_or(payload, c(0x7e00), "")?;
        let is_nan = b.build_int_compare(IntPredicate::UGT, magnitude, c(0x7f80_0000), "")?;
        let special = self.select_int(is_nan, nan, c(0x7c00))?;

        // 0.5 has the last place of a half's subnormals as its own.
        let half = as_float(b.build_bit_cast(magnitude, f32t, "")?)?;
        let sum = b.build_float_add(half, f32t.const_float(0.5), "")?;
        let subnormal = b.build_int_sub(as_int(b.build_bit_cast(sum, i32t, "")?)?, c(0x3f00_0000), "")?;

        let odd = b.build_and(b.build_right_shift(magnitude, c(13), false, "")?, c(1), "")?;
        let rebias = c(u64::from((15u32.wrapping_sub(127) << 23).wrapping_add(0xfff)));
        let biased = b.build_int_add(b.build_int_add(magnitude, rebias, "")?, odd, "")?;
        let normal = b.build_right_shift(biased, c(13), false, "")?;

        let is_subnormal = b.build_int_compare(IntPredicate::ULT, magnitude, c(113 << 23), "")?;
        let is_special = b.build_int_compare(IntPredicate::UGE, magnitude, c(143 << 23), "")?;
        let finite = self.select_int(is_subnormal, subnormal, normal)?;
        let result = b.build_or(self.select_int(is_special, special, finite)?, sign, "")?;
        Ok(b.build_int_truncate(result, i16t, "")?)
    }
}
