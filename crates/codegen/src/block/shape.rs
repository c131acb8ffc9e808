//! Which blocks an entry point is to run, and how many threads they have.

use crate::Result;
use crate::llvm::Lowering;
use inkwell::IntPredicate as Is;
use inkwell::values::{IntValue, PointerValue};

/// The shape of a launch, and the blocks to run of it.
pub(super) struct Shape<'c> {
    pub grid: [IntValue<'c>; 3],
    pub block: [IntValue<'c>; 3],
    pub n_dynamic: IntValue<'c>,
    pub begin: IntValue<'c>,
    pub end: IntValue<'c>,
    /// Threads of a row, where the launch is over threads.
    pub row: Option<IntValue<'c>>,
}

impl<'c> Lowering<'c, '_> {
    fn words<const N: usize>(&self, bounds: PointerValue<'c>) -> Result<[IntValue<'c>; N]> {
        let mut words = [self.i64(0); N];
        for (at, word) in (0u64..).zip(&mut words) {
            let ptr = self.at_byte(bounds, 8 * at)?;
            *word = self.builder.build_load(self.ctx.i64_type(), ptr, "")?.into_int_value();
        }
        Ok(words)
    }

    /// From a `BlockBounds`.
    pub(super) fn shape_of_blocks(
        &self,
        bounds: PointerValue<'c>,
        [begin, end]: [IntValue<'c>; 2],
    ) -> Result<Shape<'c>> {
        let [x, y, z, u, v, w, n_dynamic] = self.words(bounds)?;
        Ok(Shape { grid: [x, y, z], block: [u, v, w], n_dynamic, begin, end, row: None })
    }

    /// From a `LaunchBounds`: blocks of `n` threads along its rows. Those run whose first thread is one of the range.
    pub(super) fn shape_of_threads(
        &mut self,
        bounds: PointerValue<'c>,
        range: [IntValue<'c>; 2],
        rank: usize,
        n: u32,
    ) -> Result<Shape<'c>> {
        let (one, most) = (self.i64(1), self.i64(n.into()));
        let mut extents: [IntValue<'c>; 4] = self.words(bounds)?;
        extents[rank..].fill(one);
        self.thread.extents = extents;
        let b = &self.builder;
        let blocks = |threads: IntValue<'c>| {
            let up = b.build_int_add(threads, self.i64(u64::from(n) - 1), "")?;
            b.build_int_unsigned_div(up, most, "")
        };
        // A launch may be empty.
        let row = extents[rank - 1];
        let is_empty = b.build_int_compare(Is::SLT, row, one, "")?;
        let row = b.build_select(is_empty, one, row, "")?.into_int_value();
        let in_row = blocks(row)?;
        let mut ends = range;
        for end in &mut ends {
            let line = b.build_int_unsigned_div(*end, row, "")?;
            let before = blocks(b.build_int_unsigned_rem(*end, row, "")?)?;
            *end = b.build_int_add(b.build_int_mul(line, in_row, "")?, before, "")?;
        }
        let leading = extents[..rank - 1].iter();
        let mut lines = leading.copied().try_fold(one, |all, extent| b.build_int_mul(all, extent, ""))?;
        let has_none = b.build_int_compare(Is::SLT, lines, one, "")?;
        lines = b.build_select(has_none, one, lines, "")?.into_int_value();
        let [begin, end] = ends;
        let (grid, block) = ([in_row, lines, one], [most, one, one]);
        Ok(Shape { grid, block, n_dynamic: self.i64(0), begin, end, row: Some(row) })
    }

    /// Threads of block `x` of a row.
    pub(super) fn threads_left(&self, most: IntValue<'c>, row: IntValue<'c>, x: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let left = b.build_int_sub(row, b.build_int_mul(x, most, "")?, "")?;
        let is_full = b.build_int_compare(Is::ULE, most, left, "")?;
        Ok(b.build_select(is_full, most, left, "")?.into_int_value())
    }
}
