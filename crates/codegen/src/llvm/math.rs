//! Math functions: exact ones are LLVM intrinsics, the others are calls of `runtime::math`, the very functions that
//! the interpreter calls.

use super::Lowering;
use super::lanes::{as_float, as_int, number};
use super::types::Leaf;
use crate::{Error, Result};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, FloatValue};
use ir::{Inst, Op, Scalar};
use smallvec::SmallVec;

impl<'c> Lowering<'c, '_> {
    pub(crate) fn math(&self, op: Op, args: &[FloatValue<'c>]) -> Result<FloatValue<'c>> {
        let intrinsic = match op {
            Op::Sqrt => "llvm.sqrt",
            Op::Fma => "llvm.fma",
            Op::Floor => "llvm.floor",
            Op::Ceil => "llvm.ceil",
            Op::Trunc => "llvm.trunc",
            Op::Round => "llvm.round",
            // Rounding to even whatever the mode, unlike `llvm.rint`.
            Op::Rint => "llvm.roundeven",
            _ if self.device.is_some() => return self.approximate(op, args),
            _ => return self.library_call(op, args),
        };
        self.intrinsic(intrinsic, args)
    }

    /// Calls an intrinsic over one float type.
    pub(crate) fn intrinsic(&self, name: &'static str, args: &[FloatValue<'c>]) -> Result<FloatValue<'c>> {
        let function = Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, &[args[0].get_type().into()]))
            .ok_or_else(|| Error::llvm("intrinsic", name))?;
        let args: SmallVec<[BasicMetadataValueEnum<'c>; 4]> = args.iter().map(|&arg| arg.into()).collect();
        let call = self.builder.build_call(function, &args, "")?;
        Ok(self.flagged(as_float(call.try_as_basic_value().unwrap_basic())?))
    }

    /// With fast math, m / sqrt(r) and m / (r * sqrt(r)) by y = 1 / sqrt(r), for which processors have an estimate that
    /// LLVM refines; `None` for other quotients.
    pub(crate) fn root_quotient(&self, inst: &Inst) -> Result<Option<FloatValue<'c>>> {
        let is_float = self.func.ty(inst.result()).as_scalar() == Some(Scalar::F32);
        if self.fast.is_none() || self.device.is_some() || !is_float {
            return Ok(None);
        }
        let root = |value| self.def(value).filter(|def| def.op == Op::Sqrt).map(|def| def.operands[0]);
        let [m, divisor] = [inst.operands[0], inst.operands[1]];
        let product = self.def(divisor).filter(|def| def.op == Op::Mul).map(|def| [def.operands[0], def.operands[1]]);
        let of_cube = product.and_then(|[x, y]| {
            let is_cube = |r, of| if r == of { Some(r) } else { None };
            root(y).and_then(|r| is_cube(r, x)).or_else(|| root(x).and_then(|r| is_cube(r, y)))
        });
        let Some(r) = of_cube.or_else(|| root(divisor)) else { return Ok(None) };
        let (m, r) = self.same_shape(self.leaves(m)?[0], self.leaves(r)?[0])?;
        let (m, r) = (as_float(m)?, as_float(r)?);
        let one = r.get_type().const_float(1.0);
        let y = self.flagged(self.builder.build_float_div(one, self.intrinsic("llvm.sqrt", &[r])?, "")?);
        let times = |x, y| Ok::<_, Error>(self.flagged(self.builder.build_float_mul(x, y, "")?));
        let quotient = times(m, y)?;
        Ok(Some(if of_cube.is_some() { times(quotient, times(y, y)?)? } else { quotient }))
    }

    fn library_call(&self, op: Op, args: &[FloatValue<'c>]) -> Result<FloatValue<'c>> {
        let ty = args[0].get_type();
        let suffix = if ty == self.ctx.f64_type() { "f64" } else { "f32" };
        let name = format!("gs_{}_{suffix}", op.name());
        let function = self.llvm.get_function(&name).unwrap_or_else(|| {
            let params: SmallVec<[BasicMetadataTypeEnum<'c>; 4]> = args.iter().map(|_| ty.into()).collect();
            let function = self.llvm.add_function(&name, ty.fn_type(&params, false), None);
            // No effect but the result: equal calls merge and unused ones go.
            for attribute in ["nounwind", "willreturn", "nofree", "nosync", "memory"] {
                let kind = Attribute::get_named_enum_kind_id(attribute);
                function.add_attribute(AttributeLoc::Function, self.ctx.create_enum_attribute(kind, 0));
            }
            function
        });
        let args: SmallVec<[BasicMetadataValueEnum<'c>; 4]> = args.iter().map(|&arg| arg.into()).collect();
        let call = self.builder.build_call(function, &args, "")?;
        match call.try_as_basic_value().basic() {
            Some(Leaf::FloatValue(value)) => Ok(value),
            _ => Err(Error::llvm("call", name)),
        }
    }

    /// Ops on the sign bit alone, exact for every type and every NaN.
    pub(crate) fn sign_op(&self, op: Op, scalar: Scalar, args: &[Leaf<'c>]) -> Result<Leaf<'c>> {
        let b = &self.builder;
        if matches!(scalar, Scalar::F32 | Scalar::F64) {
            let x = as_float(args[0])?;
            return Ok(match op {
                Op::Neg => self.flagged(b.build_float_neg(x, "")?),
                Op::Abs => self.intrinsic("llvm.fabs", &[x])?,
                _ => self.intrinsic("llvm.copysign", &[x, as_float(args[1])?])?,
            }
            .into());
        }
        let x = as_int(args[0])?;
        let (sign, rest) = (number(x.get_type(), 0x8000), number(x.get_type(), 0x7fff));
        Ok(match op {
            Op::Neg => b.build_xor(x, sign, "")?,
            Op::Abs => b.build_and(x, rest, "")?,
            _ => {
                let sign = b.build_and(as_int(args[1])?, sign, "")?;
                b.build_or(b.build_and(x, rest, "")?, sign, "")?
            }
        }
        .into())
    }
}
