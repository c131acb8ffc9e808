//! Sums of each machine thread's own: what a chunk of a launch's threads adds to a small array of integers is summed up
//! on the stack first, without a locked instruction and without a cache line that cores take from each other.
//!
//! In: the parameters that are used for such sums only, of a launch in which no other array shares their memory. Out:
//!
//! ```text
//! start:           is the array small beside the chunk? then own = 0, size = its bytes, else size = 0
//! atomic a[i], x:  a[i]'s distance from the array's start < size?  own += x, no lock    else as it is
//! end:             every word of own that is not 0 goes to the array, with a lock
//! ```
//!
//! An index out of the array's range does what it does without this. The order of integer sums does not show.

use crate::Result;
use crate::llvm::Lowering;
use crate::llvm::lanes::as_int;
use crate::llvm::types::Leaf;
use inkwell::AtomicOrdering::SequentiallyConsistent as SeqCst;
use inkwell::values::{BasicValue, IntValue, PointerValue};
use inkwell::{AtomicRMWBinOp, IntPredicate};
use ir::{AtomicOp, Scalar, Value};

/// Bytes that an array may have: half of the first-level cache.
const MOST: u64 = 16 << 10;
const WORD: u64 = 4;
/// A chunk has at least so many threads for each byte: clearing and adding up are a small part of its work.
const THREADS_PER_BYTE: u64 = 2;

/// A parameter that is summed up.
#[derive(Clone, Copy)]
pub(crate) struct SmallSum<'c> {
    array: Value,
    op: AtomicOp,
    /// The array's memory, and this machine thread's.
    base: PointerValue<'c>,
    own: PointerValue<'c>,
    /// Bytes of the array; 0 where the chunk does without.
    size: IntValue<'c>,
}

impl<'c> Lowering<'c, '_> {
    /// Begins the sums of a chunk of `n_threads`. Where arguments are loaded.
    pub(crate) fn begin_small_sums(&mut self, sums: &[(usize, AtomicOp)], n_threads: IntValue<'c>) -> Result<()> {
        for &(param, op) in sums {
            let array = self.func.region(self.func.body).params[param];
            let crate::llvm::memory::Array { base, extents, elem, .. } = self.array(array)?;
            let own = self.allocas.build_alloca(self.ctx.i8_type().array_type(MOST as u32), "sum")?;
            if let Some(slot) = own.as_instruction_value() {
                slot.set_alignment(64).map_err(|error| crate::Error::llvm("alignment", error))?;
            }
            let b = &self.builder;
            // An array whose bytes wrap around would have to be larger than memory.
            let mut size = self.i64(elem.size());
            for extent in extents {
                size = b.build_int_mul(size, extent, "")?;
            }
            let is_small = b.build_int_compare(IntPredicate::ULE, size, self.i64(MOST), "")?;
            let least = b.build_int_mul(size, self.i64(THREADS_PER_BYTE), "")?;
            let pays = b.build_int_compare(IntPredicate::ULE, least, n_threads, "")?;
            let size = self.select_int(b.build_and(is_small, pays, "")?, size, self.i64(0))?;
            b.build_memset(own, 64, self.ctx.i8_type().const_zero(), size)?;
            self.small_sums.push(SmallSum { array, op, base, own, size });
        }
        Ok(())
    }

    /// The sum that an atomic on `array` goes to.
    pub(crate) fn small_sum_of(&self, array: Value) -> Option<SmallSum<'c>> {
        self.small_sums.iter().find(|sum| sum.array == array).copied()
    }

    /// An atomic whose result nobody uses: in the sum where `at` lies in its array, else as `otherwise` does it.
    pub(crate) fn sum_up(
        &self,
        sum: &SmallSum<'c>,
        op: AtomicOp,
        scalar: Scalar,
        at: PointerValue<'c>,
        x: Leaf<'c>,
        otherwise: impl FnOnce() -> Result<Leaf<'c>>,
    ) -> Result<()> {
        let b = &self.builder;
        let int = self.ctx.i64_type();
        let offset = b.build_int_sub(b.build_ptr_to_int(at, int, "")?, b.build_ptr_to_int(sum.base, int, "")?, "")?;
        let is_inside = b.build_int_compare(IntPredicate::ULT, offset, sum.size, "")?;
        let (inside, outside, join) = (self.block(), self.block(), self.block());
        b.build_conditional_branch(is_inside, inside, outside)?;
        b.position_at_end(inside);
        self.update(scalar, self.at(sum.own, offset)?, &|old| self.updated(op, scalar, old, x))?;
        b.build_unconditional_branch(join)?;
        b.position_at_end(outside);
        otherwise()?;
        b.build_unconditional_branch(join)?;
        b.position_at_end(join);
        Ok(())
    }

    /// Adds the chunk's sums to their arrays.
    pub(crate) fn end_small_sums(&self) -> Result<()> {
        for sum in &self.small_sums {
            let b = &self.builder;
            let (head, add, next, done) = (self.block(), self.block(), self.block(), self.block());
            let before = self.current()?;
            let is_any = b.build_int_compare(IntPredicate::NE, sum.size, self.i64(0), "")?;
            b.build_conditional_branch(is_any, head, done)?;
            b.position_at_end(head);
            let at = b.build_phi(self.ctx.i64_type(), "")?;
            let offset = at.as_basic_value().into_int_value();
            let word = as_int(b.build_load(self.ctx.i32_type(), self.at(sum.own, offset)?, "")?)?;
            let is_none = b.build_int_compare(IntPredicate::EQ, word, self.ctx.i32_type().const_zero(), "")?;
            b.build_conditional_branch(is_none, next, add)?;
            b.position_at_end(add);
            let op = match sum.op {
                AtomicOp::Or => AtomicRMWBinOp::Or,
                AtomicOp::Xor => AtomicRMWBinOp::Xor,
                _ => AtomicRMWBinOp::Add,
            };
            b.build_atomicrmw(op, self.at(sum.base, offset)?, word, SeqCst)?;
            b.build_unconditional_branch(next)?;
            b.position_at_end(next);
            let following = b.build_int_nuw_add(offset, self.i64(WORD), "")?;
            at.add_incoming(&[(&self.i64(0), before), (&following, next)]);
            let is_more = b.build_int_compare(IntPredicate::ULT, following, sum.size, "")?;
            b.build_conditional_branch(is_more, head, done)?;
            b.position_at_end(done);
        }
        Ok(())
    }
}
