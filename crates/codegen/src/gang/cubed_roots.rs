//! Quotients by r √r under fast math, the weight of every pull that falls off with the square of a distance: without
//! root and without quotient, by one step of Newton's for r^(-3/2) itself.
//!
//! ```text
//! y = rsqrt14 r    x / (r √r) = (3/2 x y) y² (5/3 - r y²)
//! ```
//!
//! With y = (1 + d) / √r, where |d| < 2^-14, that is off by 15/2 d², less than half of a float's last bit. It takes five
//! operations where a step for the root and a cube after it take seven, and the processor's multipliers are what such
//! loops wait for.

use super::roots::LANES;
use crate::Result;
use crate::llvm::Lowering;
use crate::llvm::lanes::as_float;
use crate::llvm::value::Lowered;
use inkwell::values::FloatValue;
use ir::{Inst, Op, Scalar, Value};

impl<'c> Lowering<'c, '_> {
    /// The r of a quotient by r √r that is computed so.
    pub(super) fn cubed_root(&self, inst: &Inst) -> Option<Value> {
        let is_here = self.is_fast() && self.abilities.permutes && self.device.is_none() && self.width() == LANES;
        let is_quotient = inst.op == Op::Div && self.func.ty(inst.result()).as_scalar() == Some(Scalar::F32);
        if !is_here || !is_quotient {
            return None;
        }
        let product = self.def(inst.operands[1]).filter(|product| product.op == Op::Mul)?;
        let [x, y] = [product.operands[0], product.operands[1]];
        let is_root_of = |root, r| self.def(root).is_some_and(|root| root.op == Op::Sqrt && root.operands[0] == r);
        [(x, y), (y, x)].into_iter().find(|&(root, r)| is_root_of(root, r)).map(|(_, r)| r)
    }

    /// What `inst` divides by r √r.
    pub(super) fn by_cubed_root(&self, inst: &Inst, r: Value) -> Result<Lowered<'c>> {
        let lanes = |value| self.widened(value).and_then(|leaves| as_float(leaves[0]));
        let (x, r) = (lanes(inst.operands[0])?, lanes(r)?);
        let b = &self.builder;
        let number = |number| r.get_type().const_float(number);
        let mul = |x: FloatValue<'c>, y: FloatValue<'c>| b.build_float_mul(x, y, "");
        let y = self.estimate_root(r)?;
        let square = mul(y, y)?;
        let step = self.intrinsic("llvm.fma", &[b.build_float_neg(r, "")?, square, number(5.0 / 3.0)])?;
        let pull = mul(mul(mul(x, number(1.5))?, y)?, square)?;
        Ok(Lowered::Leaves([mul(pull, step)?.into()].into_iter().collect()))
    }
}
