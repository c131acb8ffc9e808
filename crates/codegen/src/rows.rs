//! Rows that end where a quotient of the thread's index changes.
//!
//! In: a kernel in which [`analysis::uniformity_in_rows`] found divisions. Out: how many threads from one on are of its
//! row, and whether the rows of a launch are long enough for gangs.
//!
//! ```text
//! y = i / n; x = i % n    ->    a row from i on has n - i % n threads, in all of which y is one number
//! ```
//!
//! Where a divisor is not above zero, or a dividend below it is rounded toward zero, a thread is a row of its own.

use crate::Result;
use crate::llvm::Lowering;
use crate::plan::Conditions;
use analysis::{Division, Divisor};
use inkwell::IntPredicate as Is;
use inkwell::values::IntValue;
use ir::{InstId, Scalar, Value, ValueDef};
use transform::Rows;

/// What quotients and rests are at a row's first thread.
pub(crate) struct RowStart<'c> {
    /// Its index along the dimension of the lanes, and which that is.
    first: IntValue<'c>,
    dim: usize,
    values: Vec<(InstId, u64, IntValue<'c>)>,
}

impl<'c> Lowering<'c, '_> {
    /// Threads from the one at hand to the end of its row along `dim`, at most `left`. What quotients and rests are there
    /// is computed here, so that gangs need not divide.
    pub(crate) fn left_in_row(
        &mut self,
        divisions: &[Division],
        dim: usize,
        left: IntValue<'c>,
    ) -> Result<IntValue<'c>> {
        let mut early = Vec::new();
        let mut values = Vec::new();
        let mut left = left;
        let mut done: Vec<&Division> = Vec::new();
        for division in divisions {
            let result = self.func.inst(division.inst).result();
            self.lower_early(result, &mut early)?;
            let step = if division.is_quotient { 0 } else { division.step };
            values.push((division.inst, step, self.int(result)?));
            let is_same = |known: &&Division| {
                (known.dividend, known.divisor, known.rounds_down)
                    == (division.dividend, division.divisor, division.rounds_down)
            };
            if done.iter().any(is_same) {
                continue;
            }
            done.push(division);
            let own = self.left_before(division, &mut early)?;
            let is_fewer = self.builder.build_int_compare(Is::SLT, own, left, "")?;
            left = self.select_int(is_fewer, own, left)?;
        }
        early.into_iter().for_each(|value| self.forget(value));
        if let Some(gang) = self.gang.as_mut().filter(|_| !values.is_empty()) {
            gang.row = Some(RowStart { first: self.thread.index[dim], dim, values });
        }
        Ok(left)
    }

    /// A quotient or rest at a gang's first lane, from what it was at the row's first thread; nothing for other ops.
    pub(crate) fn of_row(&self, id: InstId) -> Result<Option<IntValue<'c>>> {
        let Some(row) = self.gang.as_ref().and_then(|gang| gang.row.as_ref()) else { return Ok(None) };
        let Some(&(_, step, start)) = row.values.iter().find(|(known, ..)| *known == id) else { return Ok(None) };
        if step == 0 {
            return Ok(Some(start));
        }
        let b = &self.builder;
        let distance = b.build_int_sub(self.thread.index[row.dim], row.first, "")?;
        let distance = b.build_int_mul(distance, self.i64(step), "")?;
        let distance = b.build_int_truncate_or_bit_cast(distance, start.get_type(), "")?;
        Ok(Some(b.build_int_add(start, distance, "")?))
    }

    /// Whether a launch keeps to what code relies on.
    pub(crate) fn keeps_to(&mut self, conditions: &Conditions) -> Result<IntValue<'c>> {
        let Conditions { divisions, least_row, rows } = conditions;
        let long = self.are_rows_long(divisions, *least_row)?;
        let vectors = self.are_vectors(rows)?;
        Ok(self.builder.build_and(long, vectors, "")?)
    }

    /// Whether the last dimensions of arrays are as long as vectors, and no array that is stored to by vectors shares
    /// memory with another.
    fn are_vectors(&mut self, rows: &Rows) -> Result<IntValue<'c>> {
        let params = self.func.region(self.func.body).params.clone();
        let b = &self.builder;
        let mut holds = self.ctx.bool_type().const_all_ones();
        for &(param, length) in &rows.lengths {
            let array = self.array(params[param])?;
            let Some(&extent) = array.extents.last() else { continue };
            let is_length = b.build_int_compare(Is::EQ, extent, self.i64(length.into()), "")?;
            holds = b.build_and(holds, is_length, "")?;
        }
        for &stored in &rows.apart {
            let [start, end] = self.span(params[stored])?;
            let others =
                params.iter().enumerate().filter(|&(at, &param)| at != stored && self.func.ty(param).is_array());
            for (_, &other) in others {
                let [other_start, other_end] = self.span(other)?;
                let is_before = b.build_int_compare(Is::ULE, end, other_start, "")?;
                let is_behind = b.build_int_compare(Is::ULE, other_end, start, "")?;
                holds = b.build_and(holds, b.build_or(is_before, is_behind, "")?, "")?;
            }
        }
        Ok(holds)
    }

    /// Where an array without gaps begins and ends.
    fn span(&self, array: Value) -> Result<[IntValue<'c>; 2]> {
        let array = self.array(array)?;
        let mut size = self.i64(array.elem.size());
        for &extent in &array.extents {
            size = self.builder.build_int_mul(size, extent, "")?;
        }
        let start = self.builder.build_ptr_to_int(array.base, self.ctx.i64_type(), "")?;
        Ok([start, self.builder.build_int_add(start, size, "")?])
    }

    /// Whether all rows of a launch have at least `n` threads.
    fn are_rows_long(&mut self, divisions: &[Division], n: u64) -> Result<IntValue<'c>> {
        let mut early = Vec::new();
        let mut are_long = self.ctx.bool_type().const_all_ones();
        for division in divisions {
            let divisor = self.row_divisor(division, &mut early)?;
            let is_long =
                self.builder.build_int_compare(Is::SGE, divisor, self.i64(n.saturating_mul(division.step)), "")?;
            are_long = self.builder.build_and(are_long, is_long, "")?;
        }
        Ok(are_long)
    }

    fn left_before(&mut self, division: &Division, early: &mut Vec<Value>) -> Result<IntValue<'c>> {
        let divisor = self.row_divisor(division, early)?;
        let first = self.early_int(division.dividend, early)?;
        let scalar = self.func.ty(division.dividend).as_scalar().unwrap_or(Scalar::I64);
        let b = &self.builder;
        let (zero, one) = (self.i64(0), self.i64(1));
        let is_there = b.build_int_compare(Is::SGT, divisor, zero, "")?;
        let divisor = self.select_int(is_there, divisor, one)?;
        let is_below = b.build_int_compare(Is::SLT, first, zero, "")?;
        let mut rest = self.rest_of(scalar, first, divisor)?;
        let mut is_row = is_there;
        if division.rounds_down && scalar.is_signed() {
            let fix = b.build_int_compare(Is::SLT, rest, zero, "")?;
            rest = self.select_int(fix, b.build_int_add(rest, divisor, "")?, rest)?;
        } else {
            is_row = b.build_and(is_there, b.build_not(is_below, "")?, "")?;
        }
        // The dividend must not wrap either.
        let bits = if scalar.is_signed() || scalar.bits() == 64 { scalar.bits() - 1 } else { scalar.bits() };
        let greatest = self.i64((1 << bits) - 1);
        let from = self.select_int(is_below, zero, first)?;
        let until_wrap = b.build_int_sub(greatest, from, "")?;
        let until_next = b.build_int_sub(b.build_int_sub(divisor, one, "")?, rest, "")?;
        let wraps = b.build_int_compare(Is::SLT, until_wrap, until_next, "")?;
        let mut more = self.select_int(wraps, until_wrap, until_next)?;
        if division.step > 1 {
            more = b.build_int_unsigned_div(more, self.i64(division.step), "")?;
        }
        self.select_int(is_row, b.build_int_add(more, one, "")?, one)
    }

    /// The rest toward zero, by a division no longer than it has to be.
    fn rest_of(&self, scalar: Scalar, x: IntValue<'c>, divisor: IntValue<'c>) -> Result<IntValue<'c>> {
        let (b, long) = (&self.builder, self.ctx.i64_type());
        if scalar.bits() != 32 {
            return Ok(b.build_int_signed_rem(x, divisor, "")?);
        }
        let short = self.ctx.i32_type();
        let (x, divisor) = (b.build_int_truncate(x, short, "")?, b.build_int_truncate(divisor, short, "")?);
        Ok(if scalar.is_signed() {
            b.build_int_s_extend(b.build_int_signed_rem(x, divisor, "")?, long, "")?
        } else {
            b.build_int_z_extend(b.build_int_unsigned_rem(x, divisor, "")?, long, "")?
        })
    }

    fn row_divisor(&mut self, division: &Division, early: &mut Vec<Value>) -> Result<IntValue<'c>> {
        match division.divisor {
            Divisor::Value(value) => self.early_int(value, early),
            Divisor::Power(n) => Ok(self.i64(n)),
        }
    }

    /// An integer of the thread at hand, as an i64, of which those of u64 above the greatest are below zero.
    fn early_int(&mut self, value: Value, early: &mut Vec<Value>) -> Result<IntValue<'c>> {
        self.lower_early(value, early)?;
        let is_signed = self.func.ty(value).as_scalar().is_some_and(Scalar::is_signed);
        let (int, ty) = (self.int(value)?, self.ctx.i64_type());
        Ok(if is_signed {
            self.builder.build_int_s_extend_or_bit_cast(int, ty, "")?
        } else {
            self.builder.build_int_z_extend_or_bit_cast(int, ty, "")?
        })
    }

    /// Lowers what a value is computed from, as far as it is not there. Nesting is bounded by the kernel's text; an
    /// explicit stack keeps long ones from the machine's.
    fn lower_early(&mut self, value: Value, early: &mut Vec<Value>) -> Result<()> {
        let mut open: Vec<(Value, bool)> = vec![(value, false)];
        while let Some((value, is_ready)) = open.pop() {
            let ValueDef::Result(id, _) = self.func.def(value) else { continue };
            if self.is_defined(value) {
                continue;
            }
            let func = self.func;
            let inst = func.inst(id);
            if is_ready {
                self.scalar_inst(id)?;
                early.extend(&inst.results);
            } else {
                open.push((value, true));
                open.extend(inst.operands.iter().map(|&operand| (operand, false)));
            }
        }
        Ok(())
    }
}

/// The divisions among some that stand in a region, or in one of its own.
pub(crate) fn divisions_in(func: &ir::Function, region: ir::RegionId, all: &[Division]) -> Vec<Division> {
    fn collect(func: &ir::Function, region: ir::RegionId, found: &mut Vec<InstId>) {
        for &id in &func.region(region).insts {
            found.push(id);
            func.inst(id).regions.iter().for_each(|&inner| collect(func, inner, found));
        }
    }
    let mut found = Vec::new();
    if !all.is_empty() {
        collect(func, region, &mut found);
    }
    all.iter().filter(|division| found.contains(&division.inst)).copied().collect()
}
