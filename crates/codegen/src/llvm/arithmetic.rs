//! Ops that work component by component: this file spreads them over the components and holds the float arithmetic
//! and comparisons; `integer` and `math` hold the rest.

use super::Lowering;
use super::lanes::{as_float, as_int, as_lanes, float_constant, n_lanes};
use super::types::Leaf;
use super::value::{Lowered, is_big};
use crate::{Error, Result};
use inkwell::values::{FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use ir::op::Rule;
use ir::{Class, Inst, Op, Scalar, Type};
use smallvec::SmallVec;

impl<'c> Lowering<'c, '_> {
    pub(crate) fn elementwise(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let op = inst.op;
        let ty = self.func.ty(inst.operands[0]);
        let scalar = ty.element().ok_or_else(|| Error::Invalid(format!("`{}` on {ty}", op.name())))?;
        self.map(inst, |this, args| match (op.rule(), scalar.class()) {
            (Rule::Compare { .. }, _) => Ok(this.compare(op, scalar, args[0], args[1])?.into()),
            (Rule::FloatTest, _) => this.float_test(op, scalar, args[0]),
            (_, Class::Float) => this.float_op(op, scalar, args),
            _ => this.int_op(op, scalar, args),
        })
    }

    /// Applies `f` to each component of the operands, all of one shape.
    pub(crate) fn map(
        &mut self,
        inst: &Inst,
        f: impl Fn(&Self, &[Leaf<'c>]) -> Result<Leaf<'c>>,
    ) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        if is_big(ty) {
            return self.map_in_memory(inst, ty, f);
        }
        let operands = inst.operands.iter().map(|&v| self.leaves(v)).collect::<Result<SmallVec<[_; 4]>>>()?;
        let n = ty.n_leaves();
        if operands.iter().any(|leaves| leaves.len() != n) {
            return Err(Error::Invalid(format!("operands of `{}` differ in shape", inst.op.name())));
        }
        if self.is_octet_op(inst.op, ty) {
            let args = operands.iter().map(|leaves| self.pack(leaves)).collect::<Result<SmallVec<[Leaf<'c>; 4]>>>()?;
            let register = as_lanes(f(self, &args)?);
            return self.unpack(register);
        }
        let component = |i: usize| {
            let args: SmallVec<[Leaf<'c>; 4]> = operands.iter().map(|leaves| leaves[i]).collect();
            f(self, &args)
        };
        Ok(Lowered::Leaves((0..n).map(component).collect::<Result<_>>()?))
    }

    fn map_in_memory(
        &mut self,
        inst: &Inst,
        ty: Type,
        f: impl Fn(&Self, &[Leaf<'c>]) -> Result<Leaf<'c>>,
    ) -> Result<Lowered<'c>> {
        let slot = self.slot(ty)?;
        let operands = inst
            .operands
            .iter()
            .map(|&v| match (self.value(v)?, self.func.ty(v).element()) {
                (Lowered::Memory(ptr), Some(elem)) => Ok((ptr, elem)),
                _ => Err(Error::Invalid(format!("operands of `{}` differ in shape", inst.op.name()))),
            })
            .collect::<Result<SmallVec<[_; 4]>>>()?;
        let elem = element(ty)?;
        self.repeat(ty.n_components() as u64, |i| {
            let args = operands.iter().map(|&(ptr, elem)| self.load_component(ptr, elem, i));
            let args = args.collect::<Result<SmallVec<[Leaf<'c>; 4]>>>()?;
            let result = f(self, &args)?;
            self.store_component(slot, elem, i, result)
        })?;
        Ok(Lowered::Memory(slot))
    }

    pub(crate) fn float_op(&self, op: Op, scalar: Scalar, args: &[Leaf<'c>]) -> Result<Leaf<'c>> {
        match op {
            Op::Neg | Op::Abs | Op::CopySign => return self.sign_op(op, scalar, args),
            Op::Min | Op::Max => return self.min_max(op, scalar, args[0], args[1]),
            Op::Lesser | Op::Greater => {
                let order = if op == Op::Lesser { Op::Lt } else { Op::Gt };
                let holds = self.compare(order, scalar, args[0], args[1])?;
                return self.select(holds, args[0], args[1]);
            }
            _ => {}
        }
        let x: SmallVec<[FloatValue<'c>; 4]> =
            args.iter().map(|&arg| self.widen(scalar, arg)).collect::<Result<_>>()?;
        let b = &self.builder;
        let result = match op {
            Op::Add => self.flagged(b.build_float_add(x[0], x[1], "")?),
            Op::Sub => self.flagged(b.build_float_sub(x[0], x[1], "")?),
            Op::Mul => self.flagged(b.build_float_mul(x[0], x[1], "")?),
            Op::Div => self.flagged(b.build_float_div(x[0], x[1], "")?),
            Op::Rem => self.remainder(x[0], x[1])?,
            Op::FloorDiv => {
                let quotient = self.flagged(b.build_float_div(x[0], x[1], "")?);
                self.intrinsic("llvm.floor", &[quotient])?
            }
            Op::Mod => self.float_mod(x[0], x[1])?,
            _ => self.math(op, &x)?,
        };
        self.narrow(scalar, result)
    }

    /// C's fmod, which is exact. What LLVM makes of `frem` for a GPU is not, so `device.ll` has one.
    fn remainder(&self, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        if self.device.is_none() {
            return Ok(b.build_float_rem(x, y, "")?);
        }
        let Some(lanes) = n_lanes(&x) else { return self.device_remainder(x, y) };
        let mut all = as_lanes(x);
        for lane in 0..lanes {
            let lane = self.ctx.i32_type().const_int(lane.into(), false);
            let part = |v: FloatValue<'c>| as_float(b.build_extract_element(as_lanes(v), lane, "")?);
            let rest = self.device_remainder(part(x)?, part(y)?)?;
            all = b.build_insert_element(all, rest, lane, "")?;
        }
        as_float(all.into())
    }

    fn device_remainder(&self, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let (ty, double) = (x.get_type(), self.ctx.f64_type());
        let function = self
            .llvm
            .get_function("gs_fmod")
            .unwrap_or_else(|| self.llvm.add_function("gs_fmod", double.fn_type(&[double.into(); 2], false), None));
        // Exact, so that f64 serves f32 too.
        let (x, y) = (b.build_float_cast(x, double, "")?, b.build_float_cast(y, double, "")?);
        let rest = b.build_call(function, &[x.into(), y.into()], "")?.try_as_basic_value().unwrap_basic();
        Ok(b.build_float_cast(as_float(rest)?, ty, "")?)
    }

    /// r = fmod(x, y), plus y where r is not 0 and the signs of r and y differ.
    fn float_mod(&self, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let zero = x.get_type().const_zero();
        let r = self.remainder(x, y)?;
        let not_zero = b.build_float_compare(FloatPredicate::UNE, r, zero, "")?;
        let r_negative = b.build_float_compare(FloatPredicate::OLT, r, zero, "")?;
        let y_negative = b.build_float_compare(FloatPredicate::OLT, y, zero, "")?;
        let differ = b.build_xor(r_negative, y_negative, "")?;
        let fix = b.build_and(not_zero, differ, "")?;
        let fixed = b.build_float_add(r, y, "")?;
        as_float(self.select(fix, fixed.into(), r.into())?)
    }

    /// Min and max with a NaN counted as missing, as the op table defines them.
    pub(crate) fn min_max(&self, op: Op, scalar: Scalar, x: Leaf<'c>, y: Leaf<'c>) -> Result<Leaf<'c>> {
        let b = &self.builder;
        if !scalar.is_float() {
            let less = self.compare(if op == Op::Min { Op::Lt } else { Op::Gt }, scalar, x, y)?;
            return self.select(less, x, y);
        }
        let (fx, fy) = (self.widen(scalar, x)?, self.widen(scalar, y)?);
        if self.device.is_some() && matches!(scalar, Scalar::F32 | Scalar::F64) {
            return self.device_min_max(op, fx, fy);
        }
        let order = if op == Op::Min { FloatPredicate::OLT } else { FloatPredicate::OGT };
        let first = b.build_float_compare(order, fx, fy, "")?;
        let missing = b.build_float_compare(FloatPredicate::UNO, fy, fy, "")?;
        let chosen = self.select(first, x, y)?;
        self.select(missing, x, chosen)
    }

    /// A GPU's own instruction differs for zeros alone: to it -0 is less than 0, and the op gives y where x equals it.
    fn device_min_max(&self, op: Op, x: FloatValue<'c>, y: FloatValue<'c>) -> Result<Leaf<'c>> {
        let name = if op == Op::Min { "llvm.minnum" } else { "llvm.maxnum" };
        let chosen = self.intrinsic(name, &[x, y])?;
        let settled = |y: f64| y != 0.0 || (op == Op::Max) == y.is_sign_positive();
        if self.fast.is_some() || float_constant(y).is_some_and(settled) {
            return Ok(chosen.into());
        }
        let is_equal = self.builder.build_float_compare(FloatPredicate::OEQ, x, y, "")?;
        self.select(is_equal, y.into(), chosen.into())
    }

    pub(crate) fn compare(&self, op: Op, scalar: Scalar, x: Leaf<'c>, y: Leaf<'c>) -> Result<IntValue<'c>> {
        let (x, y) = self.same_shape(x, y)?;
        if scalar.is_float() {
            let predicate = match op {
                Op::Eq => FloatPredicate::OEQ,
                Op::Ne => FloatPredicate::UNE,
                Op::Lt => FloatPredicate::OLT,
                Op::Le => FloatPredicate::OLE,
                Op::Gt => FloatPredicate::OGT,
                _ => FloatPredicate::OGE,
            };
            let (x, y) = (self.widen(scalar, x)?, self.widen(scalar, y)?);
            return Ok(self.builder.build_float_compare(predicate, x, y, "")?);
        }
        let signed = scalar.is_signed();
        let predicate = match op {
            Op::Eq => IntPredicate::EQ,
            Op::Ne => IntPredicate::NE,
            Op::Lt if signed => IntPredicate::SLT,
            Op::Le if signed => IntPredicate::SLE,
            Op::Gt if signed => IntPredicate::SGT,
            Op::Ge if signed => IntPredicate::SGE,
            Op::Lt => IntPredicate::ULT,
            Op::Le => IntPredicate::ULE,
            Op::Gt => IntPredicate::UGT,
            _ => IntPredicate::UGE,
        };
        Ok(self.builder.build_int_compare(predicate, as_int(x)?, as_int(y)?, "")?)
    }

    fn float_test(&self, op: Op, scalar: Scalar, x: Leaf<'c>) -> Result<Leaf<'c>> {
        let x = self.widen(scalar, x)?;
        let b = &self.builder;
        let infinity = x.get_type().const_float(f64::INFINITY);
        Ok(match op {
            Op::IsNan => b.build_float_compare(FloatPredicate::UNO, x, x, "")?,
            Op::IsInf => {
                let magnitude = self.intrinsic("llvm.fabs", &[x])?;
                b.build_float_compare(FloatPredicate::OEQ, magnitude, infinity, "")?
            }
            _ => self.is_finite(x)?,
        }
        .into())
    }

    pub(crate) fn is_finite(&self, x: FloatValue<'c>) -> Result<IntValue<'c>> {
        let magnitude = self.intrinsic("llvm.fabs", &[x])?;
        let infinity = x.get_type().const_float(f64::INFINITY);
        Ok(self.builder.build_float_compare(FloatPredicate::OLT, magnitude, infinity, "")?)
    }
}

/// The scalar type of a type whose components are scalars.
pub(crate) fn element(ty: Type) -> Result<Scalar> {
    ty.element().ok_or_else(|| Error::Invalid(format!("{ty} has no scalar type")))
}
