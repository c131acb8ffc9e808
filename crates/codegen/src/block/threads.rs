//! The loops over the threads of a block.
//!
//! Where all that a region does stands under a condition on the index along x, the loop along x runs over the threads
//! alone that it can hold for: `if x < s { … }` is `for x in 0..s`. Rows run in gangs. What is left of a row is one
//! gang more with some lanes off, or a few threads one by one.

use crate::llvm::Lowering;
use crate::llvm::control::Frame;
use crate::rows::divisions_in;
use crate::{Error, Result};
use inkwell::IntPredicate as Is;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PhiValue};
use ir::{Inst, InstId, Op, RegionId, Scalar, Value};

/// What is left of a row runs as a gang from so many lanes of this many on.
const MIN_LANES: u32 = 4;

impl<'c> Lowering<'c, '_> {
    /// The three loops over the threads of the block.
    pub(super) fn threads(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        let region = inst.regions[0];
        let extents = self.block_program()?.extents;
        let is_wide = self.block_program()?.wide.contains(&id);
        let outer = self.thread.clone();
        let [first, end] = self.threads_in(region, extents[0])?;
        let (run, done) = (self.block(), self.block());
        let has_any = self.builder.build_int_compare(Is::SLT, first, end, "")?;
        self.builder.build_conditional_branch(has_any, run, done)?;
        self.builder.position_at_end(run);
        let zero = self.i64(0);
        let z = self.begin_count(zero)?;
        let y = self.begin_count(zero)?;
        self.thread.index[2] = y.value();
        self.thread.index[3] = z.value();
        if is_wide {
            self.wide_row(region, first, end)?;
        } else {
            let x = self.begin_count(first)?;
            self.one_thread(region, x.value())?;
            self.end_count(x, end)?;
        }
        self.end_count(y, extents[1])?;
        self.end_count(z, extents[2])?;
        self.thread = outer;
        if let Some(failed) = self.has_failed()? {
            self.builder.build_conditional_branch(failed, self.thread.end, done)?;
        } else {
            self.builder.build_unconditional_branch(done)?;
        }
        self.builder.position_at_end(done);
        Ok(())
    }

    /// The threads along x for which a region does anything, of `0..n`.
    fn threads_in(&self, region: RegionId, n: IntValue<'c>) -> Result<[IntValue<'c>; 2]> {
        let mut range = [self.i64(0), n];
        let insts = &self.func.region(region).insts;
        let [before @ .., branch, _] = &insts[..] else { return Ok(range) };
        let branch = self.func.inst(*branch);
        let is_only = branch.op == Op::If
            && branch.results.is_empty()
            && before.iter().all(|&id| self.func.inst(id).op.is_pure())
            && self.func.region(branch.regions[1]).insts.len() == 1
            && self.func.terminator(branch.regions[1]).is_some_and(|end| self.func.inst(end).op == Op::Yield);
        if is_only {
            self.narrow_range(branch.operands[0], &mut range)?;
        }
        Ok(range)
    }

    /// Narrows a range of x to where a condition may hold.
    fn narrow_range(&self, condition: Value, range: &mut [IntValue<'c>; 2]) -> Result<()> {
        let Some(def) = self.def(condition) else { return Ok(()) };
        if def.op == Op::And {
            self.narrow_range(def.operands[0], range)?;
            return self.narrow_range(def.operands[1], range);
        }
        let [x, y] = def.operands[..] else { return Ok(()) };
        let (bound, op) = match (self.is_x(x), self.is_x(y)) {
            (true, false) => (y, def.op),
            (false, true) => (x, mirrored(def.op)),
            _ => return Ok(()),
        };
        let scalar = self.func.ty(bound).as_scalar().filter(|scalar| scalar.is_int() && scalar.is_signed());
        // What the region itself computes is not there yet.
        if scalar.is_none_or(|scalar| scalar.bits() < 32) || !self.is_defined(bound) {
            return Ok(());
        }
        let b = &self.builder;
        let bound = b.build_int_s_extend_or_bit_cast(self.int(bound)?, self.ctx.i64_type(), "")?;
        // The greatest number has none behind it, but no index comes near.
        let next = b.build_int_add(bound, self.i64(1), "")?;
        let (first, end) = match op {
            Op::Lt => (None, Some(bound)),
            Op::Le => (None, Some(next)),
            Op::Gt => (Some(next), None),
            Op::Ge => (Some(bound), None),
            Op::Eq => (Some(bound), Some(next)),
            _ => (None, None),
        };
        if let Some(first) = first {
            let is_later = b.build_int_compare(Is::SGT, first, range[0], "")?;
            range[0] = b.build_select(is_later, first, range[0], "")?.into_int_value();
        }
        if let Some(end) = end {
            let is_earlier = b.build_int_compare(Is::SLT, end, range[1], "")?;
            range[1] = b.build_select(is_earlier, end, range[1], "")?.into_int_value();
        }
        Ok(())
    }

    /// Whether a value is the thread's index along x, in any integer type that holds it.
    fn is_x(&self, value: Value) -> bool {
        let Some(def) = self.def(value) else { return false };
        match def.op {
            Op::ThreadIndex => def.attr == ir::Attr::Index(0),
            Op::Cast => {
                let holds = |value: Value| self.func.ty(value).as_scalar().is_some_and(is_wide_enough);
                holds(value) && self.is_x(def.operands[0])
            }
            _ => false,
        }
    }

    /// The region for the thread at `x` of the row.
    fn one_thread(&mut self, region: RegionId, x: IntValue<'c>) -> Result<()> {
        self.thread.index[1] = x;
        let merge = self.merge(Vec::new())?;
        self.thread.end = merge.block;
        self.frames.push(Frame::If(merge));
        self.region(region)?;
        match self.frames.pop() {
            Some(Frame::If(merge)) => self.arrive(merge).map(drop),
            _ => Err(Error::Invalid("`threads` ends elsewhere".into())),
        }
    }

    /// Part of a row in gangs, which end where a quotient of the index changes.
    fn wide_row(&mut self, region: RegionId, first: IntValue<'c>, end: IntValue<'c>) -> Result<()> {
        let all = self.block_program()?.gang.as_ref().map(|gang| gang.uniformity.divisions());
        let divisions = divisions_in(self.func, region, all.unwrap_or_default());
        if divisions.is_empty() {
            return self.stretch_of_gangs(region, first, end);
        }
        let part = self.begin_count(first)?;
        self.thread.index[1] = part.value();
        let left = self.builder.build_int_sub(end, part.value(), "")?;
        let n = self.swap_gang(|this| this.left_in_row(&divisions, 1, left))?;
        let stop = self.builder.build_int_add(part.value(), n, "")?;
        self.stretch_of_gangs(region, part.value(), stop)?;
        self.end_count_at(part, stop, end)
    }

    /// Threads in gangs. What is left over, and gangs that are not what they must be, run thread by thread.
    fn stretch_of_gangs(&mut self, region: RegionId, first: IntValue<'c>, end: IntValue<'c>) -> Result<()> {
        let [head, gang_block, part, part_block, scalar, tail, exit] = [(); 7].map(|()| self.block());
        let from = self.current()?;
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let phi = self.builder.build_phi(self.ctx.i64_type(), "x")?;
        phi.add_incoming(&[(&first, from)]);
        let x = phi.as_basic_value().into_int_value();
        let width = self.block_program()?.gang.as_ref().map_or(1, |gang| gang.width);
        let left = self.builder.build_int_sub(end, x, "")?;
        let has_room = self.builder.build_int_compare(Is::SGE, left, self.i64(u64::from(width)), "")?;
        self.builder.build_conditional_branch(has_room, gang_block, part)?;
        self.builder.position_at_end(part);
        let is_worth = self.builder.build_int_compare(Is::SGT, left, self.i64(u64::from(width / MIN_LANES)), "")?;
        self.builder.build_conditional_branch(is_worth, part_block, scalar)?;

        let mut ways = Vec::new();
        for (block, lanes) in [(gang_block, None), (part_block, Some(left))] {
            self.builder.position_at_end(block);
            self.thread.index[1] = x;
            let next = self.swap_gang(|this| this.gang_region(region, scalar, lanes))?;
            self.builder.position_at_end(next);
            let after = match lanes {
                None => self.builder.build_int_nuw_add(x, self.i64(u64::from(width)), "")?,
                Some(_) => end,
            };
            self.builder.build_unconditional_branch(tail)?;
            ways.push((after, next));
        }

        self.builder.position_at_end(scalar);
        self.one_thread(region, x)?;
        let after = self.builder.build_int_nuw_add(x, self.i64(1), "")?;
        ways.push((after, self.current()?));
        self.builder.build_unconditional_branch(tail)?;

        self.builder.position_at_end(tail);
        let next = self.builder.build_phi(self.ctx.i64_type(), "")?;
        for (after, from) in &ways {
            next.add_incoming(&[(after, *from)]);
        }
        let next = next.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(Is::SLT, next, end, "")?;
        self.builder.build_conditional_branch(more, head, exit)?;
        phi.add_incoming(&[(&next, tail)]);
        self.builder.position_at_end(exit);
        Ok(())
    }

    /// Lowers something for gangs.
    fn swap_gang<T>(&mut self, lower: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.gang = self.block.as_mut().and_then(|block| block.gang.take());
        let lowered = lower(self);
        let gang = self.gang.take();
        if let Some(block) = &mut self.block {
            block.gang = gang;
        }
        lowered
    }

    fn begin_count(&mut self, first: IntValue<'c>) -> Result<Count<'c>> {
        let (head, from) = (self.block(), self.current()?);
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let phi = self.builder.build_phi(self.ctx.i64_type(), "")?;
        phi.add_incoming(&[(&first, from)]);
        Ok(Count { head, phi })
    }

    /// Counts on; goes on behind the loop when `end` is reached, after at least one round.
    fn end_count(&mut self, count: Count<'c>, end: IntValue<'c>) -> Result<()> {
        let next = self.builder.build_int_nuw_add(count.value(), self.i64(1), "")?;
        self.end_count_at(count, next, end)
    }

    /// As `end_count`, where `next` comes after.
    fn end_count_at(&mut self, count: Count<'c>, next: IntValue<'c>, end: IntValue<'c>) -> Result<()> {
        let exit = self.block();
        let more = self.builder.build_int_compare(Is::SLT, next, end, "")?;
        let from = self.current()?;
        self.builder.build_conditional_branch(more, count.head, exit)?;
        count.phi.add_incoming(&[(&next, from)]);
        self.builder.position_at_end(exit);
        Ok(())
    }
}

/// A block has fewer than 2^31 threads along x.
fn is_wide_enough(scalar: Scalar) -> bool {
    scalar.is_int() && scalar.bits() >= 32
}

fn mirrored(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        op => op,
    }
}

/// A loop being built.
struct Count<'c> {
    head: BasicBlock<'c>,
    phi: PhiValue<'c>,
}

impl<'c> Count<'c> {
    fn value(&self) -> IntValue<'c> {
        self.phi.as_basic_value().into_int_value()
    }
}
