//! Atomic additions to what all threads of a launch add up, in the accumulators of a chunk (`runtime::sums`).
//!
//! In: an atomic operation on such a place. Out: the same, where the launch gives no accumulators; else a note of the
//! address and a plain addition to the accumulator of the thread, or of all lanes of a gang at once.

use super::Lowering;
use super::lanes::{as_float, as_lanes, is_double};
use super::types::{self, Leaf};
use super::value::{Leaves, Lowered};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValue, InstructionValue, IntValue, PointerValue};
use ir::{AtomicOp, Attr, Inst, Scalar};
use runtime::Sites;
use runtime::sums::LANES;

/// What a kernel needs for its accumulators.
#[derive(Clone, Copy)]
pub(crate) struct Summing<'c, 'a> {
    pub sites: &'a Sites,
    /// Null where the launch gives none.
    pub memory: PointerValue<'c>,
    /// The dimension along which the threads of a row differ.
    pub last: usize,
}

/// Where an instruction adds to.
pub(crate) struct Accumulators<'c> {
    /// Bytes to where the address is noted.
    address: u64,
    /// Bytes to the accumulators of each scalar.
    parts: Vec<u64>,
    memory: PointerValue<'c>,
    last: usize,
}

impl<'c> Lowering<'c, '_> {
    /// Where an atomic operation has accumulators, if it has.
    pub(crate) fn accumulators(&self, inst: &Inst) -> Option<Accumulators<'c>> {
        let Summing { sites, memory, last } = self.summing?;
        let (address, parts) = sites.offsets(self.func, inst)?;
        Some(Accumulators { address, parts, memory, last })
    }

    /// An atomic addition with accumulators.
    pub(crate) fn accumulate(&mut self, inst: &Inst, to: &Accumulators<'c>) -> Result<()> {
        let [plain, run, done] = [(); 3].map(|()| self.block());
        let is_plain = self.builder.build_is_null(to.memory, "")?;
        self.builder.build_conditional_branch(is_plain, plain, run)?;
        self.builder.position_at_end(plain);
        if self.gang.is_some() {
            self.gang_atomic_in_memory(inst)?;
        } else {
            self.atomic_op(inst)?;
        }
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(run);
        let results = if self.gang.is_some() { self.add_lanes(inst, to, done)? } else { self.add_one(inst, to)? };
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(done);
        // Nobody asks what was there.
        self.define(inst.result(), Lowered::Leaves(results));
        Ok(())
    }

    fn add_one(&mut self, inst: &Inst, to: &Accumulators<'c>) -> Result<Leaves<'c>> {
        let x = self.leaves(inst.operands[inst.operands.len() - 1])?;
        self.note_address(inst, to)?;
        let lane = self.lane_in_chunk(to)?;
        for (&part, &x) in to.parts.iter().zip(&x) {
            self.add_at(self.accumulator(to, part, scalar_of(x), lane)?, self.negated(inst, x)?)?;
        }
        Ok(x.into_iter().map(|x| types::zero(self.ctx, scalar_of(x))).collect())
    }

    /// All lanes that are on. Accumulators that lie in a row take them in one step, else one after the other.
    fn add_lanes(&mut self, inst: &Inst, to: &Accumulators<'c>, done: BasicBlock<'c>) -> Result<Leaves<'c>> {
        let width = self.width();
        let on = self.mask();
        if let Some(on) = on {
            let (any, run) = (self.any(on)?, self.block());
            self.builder.build_conditional_branch(any, run, done)?;
            self.builder.position_at_end(run);
        }
        let mut lanes = Leaves::new();
        for x in self.widened(inst.operands[inst.operands.len() - 1])? {
            let x = self.negated(inst, x)?;
            let none = self.builder.build_float_neg(as_float(as_lanes(x).get_type().const_zero().into())?, "")?;
            // -0 changes no sum.
            lanes.push(match on {
                Some(on) => self.select(on, x, as_lanes(none).into())?,
                None => x,
            });
        }
        self.note_address(inst, to)?;
        let first = self.lane_in_chunk(to)?;
        let most = self.i64((LANES as u64).saturating_sub(width.into()));
        let [row, single, next] = [(); 3].map(|()| self.block());
        let is_row = self.builder.build_int_compare(IntPredicate::ULE, first, most, "")?;
        let is_row = if width as usize > LANES { is_row.get_type().const_zero() } else { is_row };
        self.builder.build_conditional_branch(is_row, row, single)?;
        self.builder.position_at_end(row);
        for (&part, &x) in to.parts.iter().zip(&lanes) {
            self.add_at(self.accumulator(to, part, scalar_of(x), first)?, x)?;
        }
        self.builder.build_unconditional_branch(next)?;
        self.builder.position_at_end(single);
        let (this, parts) = (&*self, &to.parts);
        this.repeat(width.into(), |lane| {
            let place = this.wrapped(this.builder.build_int_add(first, lane, "")?)?;
            for (&part, &x) in parts.iter().zip(&lanes) {
                let one = this.builder.build_extract_element(as_lanes(x), lane, "")?;
                this.add_at(this.accumulator(to, part, scalar_of(x), place)?, one)?;
            }
            Ok(())
        })?;
        self.builder.build_unconditional_branch(next)?;
        self.builder.position_at_end(next);
        Ok(lanes.into_iter().map(|x| as_lanes(x).get_type().const_zero().into()).collect())
    }

    fn note_address(&self, inst: &Inst, to: &Accumulators<'c>) -> Result<()> {
        let (address, ..) = self.access(inst)?;
        self.builder.build_store(self.at_byte(to.memory, to.address)?, address)?;
        Ok(())
    }

    /// The accumulator that the thread adds to, or the gang's first lane.
    fn lane_in_chunk(&self, to: &Accumulators<'c>) -> Result<IntValue<'c>> {
        let thread = &self.thread;
        self.wrapped(self.builder.build_int_add(thread.row_in_chunk, thread.index[to.last], "")?)
    }

    fn wrapped(&self, number: IntValue<'c>) -> Result<IntValue<'c>> {
        Ok(self.builder.build_and(number, number.get_type().const_int(LANES as u64 - 1, false), "")?)
    }

    fn accumulator(
        &self,
        to: &Accumulators<'c>,
        part: u64,
        scalar: Scalar,
        lane: IntValue<'c>,
    ) -> Result<PointerValue<'c>> {
        let size = self.i64(scalar.size());
        self.at(self.at_byte(to.memory, part)?, self.builder.build_int_mul(lane, size, "")?)
    }

    fn negated(&self, inst: &Inst, x: Leaf<'c>) -> Result<Leaf<'c>> {
        match inst.attr {
            Attr::Atomic(AtomicOp::Sub, _) => Ok(self.builder.build_float_neg(as_float(x)?, "")?.into()),
            _ => Ok(x),
        }
    }

    /// Adds one scalar, or lanes that lie one after the other.
    fn add_at(&self, at: PointerValue<'c>, x: Leaf<'c>) -> Result<()> {
        let align = scalar_of(x).size() as u32;
        let aligned =
            |inst: InstructionValue<'c>| inst.set_alignment(align).map_err(|error| Error::llvm("alignment", error));
        let old = self.builder.build_load(x.get_type(), at, "")?;
        if let Some(load) = old.as_instruction_value() {
            aligned(load)?;
        }
        // Without the freedoms of fast math: a sum has the same bits everywhere.
        let new = self.builder.build_float_add(as_float(old)?, as_float(x)?, "")?;
        aligned(self.builder.build_store(at, new)?)
    }
}

fn scalar_of(x: Leaf<'_>) -> Scalar {
    if is_double(&x) { Scalar::F64 } else { Scalar::F32 }
}
