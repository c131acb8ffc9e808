//! `each` on the CPU: the numbers that it counts are lanes of vectors, as threads of a launch are elsewhere.
//!
//! In: a kernel whose threads run one by one, around `each` regions. Out: for each of them a loop over gangs:
//!
//! ```text
//! each i = 100 {…}   ->   for i in 0, 16, … 80: gang at i;   gang at 96 with 4 lanes on
//! ```
//!
//! What a gang relies on and is not so (see [`crate::gang`]) sends it through one number after the other.

use crate::gang::{Gang, can_widen_region, width};
use crate::host::cpu;
use crate::llvm::Lowering;
use crate::llvm::control::Frame;
use crate::{Error, Isa, Result};
use analysis::Uniformity;
use inkwell::IntPredicate as Is;
use inkwell::basic_block::BasicBlock;
use inkwell::values::IntValue;
use ir::{Function, Inst, InstId, Op, Scalar};

/// What is left of an `each` runs as a gang from so many lanes of this many on.
const MIN_LANES: u64 = 4;

/// What a kernel with `each` needs besides.
pub(crate) struct Each<'c> {
    /// Lowers gangs; taken while one is being lowered.
    gang: Option<Box<Gang<'c>>>,
    /// Those that run as gangs.
    wide: Vec<InstId>,
}

impl<'c> Each<'c> {
    /// `fixed_width`: lanes of a gang, where tests ask for so many.
    pub(crate) fn new(func: &Function, uniformity: &Uniformity, fixed_width: Option<u32>, isa: Isa) -> Each<'c> {
        let Some(width) = fixed_width.or_else(|| width(func, uniformity, cpu(isa).1)).filter(|&width| width > 1) else {
            return Each { gang: None, wide: Vec::new() };
        };
        let listed = func.regions.iter().flat_map(|region| &region.insts).copied();
        let is_wide = |id: &InstId| {
            let inst = func.inst(*id);
            inst.op == Op::Each && can_widen_region(func, uniformity, inst.regions[0], None).is_ok()
        };
        let wide = listed.filter(is_wide).collect();
        Each { gang: Some(Box::new(Gang::new(func, width, uniformity.clone()))), wide }
    }
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn each(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        let n = inst.operands[0];
        let fixed = self.func.as_const(n).map(|n| n.as_int(Scalar::I64) as u64);
        let end = self.int(n)?;
        let each = self.each.as_ref().ok_or_else(|| Error::Invalid("`each` is not prepared".into()))?;
        let lanes = each.gang.as_ref().filter(|_| each.wide.contains(&id)).map(|gang| u64::from(gang.width));
        let Some(lanes) = lanes else { return self.one_by_one(inst, self.i64(0), end) };
        // Each of the three ways is left out where the number of elements says that it is never taken.
        let rest = fixed.map(|n| n % lanes);
        let full = match fixed {
            Some(n) => self.i64(n - n % lanes),
            None => self.builder.build_and(end, self.i64(!(lanes - 1)), "")?,
        };
        if fixed.is_none_or(|n| n >= lanes) {
            self.gangs(inst, full, lanes)?;
        }
        match rest {
            Some(0) => Ok(()),
            Some(rest) if rest <= lanes / MIN_LANES => self.one_by_one(inst, full, end),
            _ => self.part(inst, full, end),
        }
    }

    /// Whole gangs of 0..`end`.
    fn gangs(&mut self, inst: &Inst, end: IntValue<'c>, lanes: u64) -> Result<()> {
        let [head, run, scalar, latch, exit] = [(); 5].map(|()| self.block());
        let from = self.current()?;
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let phi = self.builder.build_phi(self.ctx.i64_type(), "each")?;
        phi.add_incoming(&[(&self.i64(0), from)]);
        let at = phi.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(Is::ULT, at, end, "")?;
        self.builder.build_conditional_branch(more, run, exit)?;
        self.builder.position_at_end(run);
        let next = self.builder.build_int_nuw_add(at, self.i64(lanes), "")?;
        self.gang_at(inst, at, scalar, None)?;
        self.builder.build_unconditional_branch(latch)?;
        self.builder.position_at_end(latch);
        self.builder.build_unconditional_branch(head)?;
        phi.add_incoming(&[(&next, latch)]);
        self.scalar_way(inst, scalar, at, next, latch)?;
        self.builder.position_at_end(exit);
        Ok(())
    }

    /// What is left from `at` on, fewer than a gang's lanes, as a gang some of whose lanes are off.
    fn part(&mut self, inst: &Inst, at: IntValue<'c>, end: IntValue<'c>) -> Result<()> {
        let [run, scalar, exit] = [(); 3].map(|()| self.block());
        let has_any = self.builder.build_int_compare(Is::ULT, at, end, "")?;
        self.builder.build_conditional_branch(has_any, run, exit)?;
        self.builder.position_at_end(run);
        let left = self.builder.build_int_sub(end, at, "")?;
        self.gang_at(inst, at, scalar, Some(left))?;
        self.builder.build_unconditional_branch(exit)?;
        self.scalar_way(inst, scalar, at, end, exit)?;
        self.builder.position_at_end(exit);
        Ok(())
    }

    fn gang_at(
        &mut self,
        inst: &Inst,
        at: IntValue<'c>,
        otherwise: BasicBlock<'c>,
        n_lanes: Option<IntValue<'c>>,
    ) -> Result<()> {
        let region = inst.regions[0];
        let param = self.func.region(region).params[0];
        self.gang = self.each.as_mut().and_then(|each| each.gang.take());
        self.define(param, at.into());
        let next = self.gang_region(region, otherwise, n_lanes);
        let gang = self.gang.take();
        if let Some(each) = &mut self.each {
            each.gang = gang;
        }
        self.builder.position_at_end(next?);
        Ok(())
    }

    /// Fills the block of gangs that run one number after the other, if any can come there.
    fn scalar_way(
        &mut self,
        inst: &Inst,
        block: BasicBlock<'c>,
        at: IntValue<'c>,
        end: IntValue<'c>,
        then: BasicBlock<'c>,
    ) -> Result<()> {
        self.builder.position_at_end(block);
        if block.get_first_use().is_none() {
            self.builder.build_unreachable()?;
            return Ok(());
        }
        self.one_by_one(inst, at, end)?;
        self.builder.build_unconditional_branch(then)?;
        Ok(())
    }

    fn one_by_one(&mut self, inst: &Inst, at: IntValue<'c>, end: IntValue<'c>) -> Result<()> {
        let region = inst.regions[0];
        let [head, run, exit] = [(); 3].map(|()| self.block());
        let from = self.current()?;
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let phi = self.builder.build_phi(self.ctx.i64_type(), "each")?;
        phi.add_incoming(&[(&at, from)]);
        let index = phi.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(Is::ULT, index, end, "")?;
        self.builder.build_conditional_branch(more, run, exit)?;
        self.builder.position_at_end(run);
        self.define(self.func.region(region).params[0], index.into());
        let merge = self.merge(Vec::new())?;
        self.frames.push(Frame::If(merge));
        self.region(region)?;
        match self.frames.pop() {
            Some(Frame::If(merge)) => self.arrive(merge).map(drop)?,
            _ => return Err(Error::Invalid("`each` ends elsewhere".into())),
        }
        let next = self.builder.build_int_nuw_add(index, self.i64(1), "")?;
        phi.add_incoming(&[(&next, self.current()?)]);
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(exit);
        Ok(())
    }
}
