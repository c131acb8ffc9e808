//! Square roots of 16 lanes without the divider, which takes 12 cycles for them on Intel's processors, and as many again
//! for a quotient of the same numbers.
//!
//! ```text
//! y = rsqrt14 x    s = x y, h = y / 2    e = 1/2 - s h    s += s e, h += h e    s + (x - s²) h
//! ```
//!
//! That is `sqrt x` to the last bit for all x from 2^-100 on: tests/kernels/roots.rs compares every number of two
//! binades, and what lies between others differs by exponents only, since nothing on the way is subnormal or infinite.
//! For what is less the result is below 2^-50, for infinity, what is negative, and NaN it is NaN; a gang with such a lane takes
//! the instruction.
//!
//! Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor" (1990).

use crate::Result;
use crate::llvm::Lowering;
use crate::llvm::lanes::{as_float, as_lanes};
use crate::llvm::value::Lowered;
use analysis::{Lanes, Uniformity};
use inkwell::FloatPredicate;
use inkwell::values::FloatValue;
use ir::{Function, Inst, InstId, Op, RegionId, Scalar};
use std::collections::HashSet;

/// Lanes that are computed at once.
pub(super) const LANES: u32 = 16;
/// Instructions that a processor runs beside a root or quotient of as many lanes: where a region has more, the divider
/// is not what it waits for.
const BESIDE: usize = 24;
/// Below this a root comes of a number that is too small.
const LEAST: f64 = 1.0 / (1u64 << 50) as f64;

/// The roots of a kernel that are worth it.
pub(super) fn roots(func: &Function, uniformity: &Uniformity) -> HashSet<InstId> {
    let mut found = HashSet::new();
    region(func, uniformity, func.body, &mut found);
    found
}

fn region(func: &Function, uniformity: &Uniformity, at: RegionId, found: &mut HashSet<InstId>) {
    let insts = &func.region(at).insts;
    let is_wide = |inst: &Inst| {
        inst.results.first().is_some_and(|&value| {
            uniformity.lanes(value) == Lanes::Varying && func.ty(value).element() == Some(Scalar::F32)
        })
    };
    let divides = |op| insts.iter().filter(move |&&id| func.inst(id).op == op && is_wide(func.inst(id)));
    let n_wide = insts.iter().filter(|&&id| is_wide(func.inst(id))).count();
    if (divides(Op::Sqrt).count() + divides(Op::Div).count()) * BESIDE > n_wide {
        found.extend(divides(Op::Sqrt));
    }
    for &id in insts {
        for &inner in &func.inst(id).regions {
            region(func, uniformity, inner, found);
        }
    }
}

impl<'c> Lowering<'c, '_> {
    pub(super) fn is_soft_root(&self, id: InstId) -> bool {
        let is_here = self.abilities.estimates_roots && self.width() == LANES && !self.is_fast();
        is_here && self.gang.as_ref().is_some_and(|gang| gang.roots.contains(&id) && !gang.divides_roots)
    }

    /// The result of an instruction that starts from the processor's estimate of a root.
    pub(super) fn estimated(&mut self, id: InstId, inst: &Inst) -> Result<Option<Lowered<'c>>> {
        if self.is_soft_root(id) {
            return self.soft_root(inst).map(Some);
        }
        self.cubed_root(inst).map(|r| self.by_cubed_root(inst, r)).transpose()
    }

    fn soft_root(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let leaves = self.widened(inst.operands[0])?;
        let roots = leaves.into_iter().map(|leaf| Ok(self.soft_root_lanes(as_float(leaf)?)?.into()));
        Ok(Lowered::Leaves(roots.collect::<Result<_>>()?))
    }

    fn soft_root_lanes(&self, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let lanes = as_lanes(x).get_type();
        let half = x.get_type().const_float(0.5);
        let y = self.estimate_root(x)?;
        let fma = |x, y, z| self.intrinsic("llvm.fma", &[x, y, z]);
        let minus = |x: FloatValue<'c>| b.build_float_neg(x, "");
        let (s, h) = (b.build_float_mul(x, y, "")?, b.build_float_mul(y, half, "")?);
        let e = fma(minus(s)?, h, half)?;
        let (s, h) = (fma(s, e, s)?, fma(h, e, h)?);
        let root = fma(fma(minus(s)?, s, x)?, h, s)?;

        let least = x.get_type().const_float(LEAST);
        let is_odd = self.on(b.build_float_compare(FloatPredicate::ULT, root, least, "")?)?;
        let bool_type = self.ctx.bool_type();
        let call =
            self.call("llvm.expect", &[bool_type.into()], &[self.any(is_odd)?.into(), bool_type.const_zero().into()])?;
        let is_any_odd = call.try_as_basic_value().unwrap_basic().into_int_value();
        let (odd, join) = (self.block(), self.block());
        let from = self.current()?;
        b.build_conditional_branch(is_any_odd, odd, join)?;
        b.position_at_end(odd);
        let slow = self.intrinsic("llvm.sqrt", &[x])?;
        b.build_unconditional_branch(join)?;
        b.position_at_end(join);
        let phi = b.build_phi(lanes, "")?;
        phi.add_incoming(&[(&as_lanes(root), from), (&as_lanes(slow), odd)]);
        as_float(phi.as_basic_value())
    }
    /// The processor's estimate of 1 / √x, off by less than 2^-14.
    pub(super) fn estimate_root(&self, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let lanes = as_lanes(x);
        let all = self.ctx.i16_type().const_all_ones();
        let args = [lanes.into(), lanes.get_type().const_zero().into(), all.into()];
        let estimate = self.call("llvm.x86.avx512.rsqrt14.ps.512", &[], &args)?;
        as_float(estimate.try_as_basic_value().unwrap_basic())
    }
}
