//! Functions of f32 with fast math, by the instructions that a GPU has for a few of them.
//!
//! ```text
//! v1: f32 = exp v0     ->    ex2.approx.ftz.f32 (v0 * log2 e)
//! v1: f32 = tan v0     ->    sin.approx.ftz.f32 v0 / cos.approx.ftz.f32 v0
//! ```
//!
//! Their errors are those of the instructions (PTX ISA, "Floating Point Instructions"): about 2^-21 of the result, for sine
//! and cosine 2^-20.9 in itself for arguments up to pi and more beyond. docs/math.md says so.

use crate::llvm::Lowering;
use crate::llvm::lanes::{as_float, as_lanes, n_lanes};
use crate::{Error, Result};
use inkwell::FloatPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::FloatValue;
use ir::Op;
use std::f64::consts::{LN_2, LOG2_E, LOG10_2};

const TANH: &str = "tanh.approx.f32";

impl<'c> Lowering<'c, '_> {
    /// A function of f32 that `expand_math` left, which it does with fast math alone.
    pub(crate) fn approximate(&self, op: Op, args: &[FloatValue<'c>]) -> Result<FloatValue<'c>> {
        let x = args[0];
        let of = |constant: f64| x.get_type().const_float(constant);
        let times = |x, constant| Ok::<_, Error>(self.flagged(self.builder.build_float_mul(x, of(constant), "")?));
        match op {
            Op::Sin => self.by_lanes("sin.approx.ftz.f", x),
            Op::Cos => self.by_lanes("cos.approx.ftz.f", x),
            Op::Tanh => self.by_lanes(TANH, x),
            Op::Tan => {
                let (sin, cos) = (self.by_lanes("sin.approx.ftz.f", x)?, self.by_lanes("cos.approx.ftz.f", x)?);
                Ok(self.flagged(self.builder.build_float_div(sin, cos, "")?))
            }
            Op::Exp => self.by_lanes("ex2.approx.ftz", times(x, LOG2_E)?),
            Op::Exp2 => self.by_lanes("ex2.approx.ftz", x),
            Op::Log => times(self.by_lanes("lg2.approx.ftz.f", x)?, LN_2),
            Op::Log2 => self.by_lanes("lg2.approx.ftz.f", x),
            Op::Log10 => times(self.by_lanes("lg2.approx.ftz.f", x)?, LOG10_2),
            Op::Pow => self.approximate_power(x, args[1]),
            _ => Err(Error::Invalid(format!("`{}` must be expanded before code is made for a GPU", op.name()))),
        }
    }

    /// 2^(y log2 |x|), 1 where y is 0, and with the sign that x^y has for negative x; NaN where it has none.
    fn approximate_power(&self, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let of = |constant: f64| x.get_type().const_float(constant);
        let log = self.by_lanes("lg2.approx.ftz.f", self.intrinsic("llvm.fabs", &[x])?)?;
        let size = self.by_lanes("ex2.approx.ftz", self.flagged(b.build_float_mul(y, log, "")?))?;
        let whole = self.intrinsic("llvm.trunc", &[y])?;
        let half = b.build_float_mul(y, of(0.5), "")?;
        let is_whole = b.build_float_compare(FloatPredicate::OEQ, whole, y, "")?;
        let is_even = b.build_float_compare(FloatPredicate::OEQ, self.intrinsic("llvm.trunc", &[half])?, half, "")?;
        let signed = self.select(is_even, size.into(), b.build_float_neg(size, "")?.into())?;
        let negative = self.select(is_whole, signed, of(f64::NAN).into())?;
        let is_negative = b.build_float_compare(FloatPredicate::OLT, x, of(0.0), "")?;
        let power = self.select(is_negative, negative, size.into())?;
        let is_zero = b.build_float_compare(FloatPredicate::OEQ, y, of(0.0), "")?;
        as_float(self.select(is_zero, of(1.0).into(), power)?)
    }

    /// An instruction for a value, or for each of its lanes.
    fn by_lanes(&self, name: &str, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let Some(lanes) = n_lanes(&x) else { return self.instruction(name, x) };
        let (b, mut out) = (&self.builder, as_lanes(x));
        let given = out;
        for lane in 0..lanes {
            let index = self.ctx.i32_type().const_int(u64::from(lane), false);
            let one = as_float(b.build_extract_element(given, index, "")?)?;
            out = b.build_insert_element(out, self.instruction(name, one)?, index, "")?;
        }
        as_float(out.into())
    }

    fn instruction(&self, name: &str, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        if name != TANH {
            let types: &[BasicTypeEnum<'c>] = if name.starts_with("ex2") { &[x.get_type().into()] } else { &[] };
            return self.estimate(name, types, x);
        }
        // No intrinsic stands for it.
        let float = x.get_type();
        let signature = float.fn_type(&[float.into()], false);
        let text = format!("{name} $0, $1;");
        let asm = self.ctx.create_inline_asm(signature, text, "=f,f".into(), false, false, None, false);
        let call = self.builder.build_indirect_call(signature, asm, &[x.into()], "")?;
        as_float(call.try_as_basic_value().unwrap_basic())
    }
}
