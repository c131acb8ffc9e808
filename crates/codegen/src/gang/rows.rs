//! Elements of many equal scalars, a matrix or a transform a lane: four scalars of each lane at a time, turned around.
//!
//! ```text
//! lane 0: a0 b0 c0 d0        a0 a1 a2 a3
//! lane 1: a1 b1 c1 d1   ->   b0 b1 b2 b3
//! lane 2: a2 b2 c2 d2        c0 c1 c2 c3
//! lane 3: a3 b3 c3 d3        d0 d1 d2 d3
//! ```
//!
//! Where the number of scalars is no multiple of four, the last four overlap those before, so nothing beside an element
//! is touched. One wide access and shuffles across all of it, as for elements of up to four, would take LLVM too long.

use super::shape::vector;
use crate::Result;
use crate::llvm::Lowering;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{PointerValue, VectorValue};

/// Scalars of a lane that are moved at once.
const ROW: u32 = 4;

/// Where rows start that cover `n` scalars, at least [`ROW`].
fn starts(n: u64) -> impl Iterator<Item = u64> {
    let row = u64::from(ROW);
    (0..n.div_ceil(row)).map(move |k| (k * row).min(n - row))
}

impl<'c> Lowering<'c, '_> {
    /// Loads `n` scalars from each lane's element, one vector of lanes a scalar.
    pub(super) fn load_rows(
        &self,
        first: PointerValue<'c>,
        scalar: BasicTypeEnum<'c>,
        [n, size, step]: [u64; 3],
    ) -> Result<Vec<VectorValue<'c>>> {
        let row = vector(scalar, ROW)?;
        let mut columns = Vec::new();
        for start in starts(n) {
            let mut rows = Vec::new();
            for lane in 0..u64::from(self.width()) {
                let at = self.at_byte(first, lane * step + start * size)?;
                rows.push(self.load_wide(at, row, size, None)?);
            }
            columns.truncate(start as usize);
            columns.extend(self.columns(&rows)?);
        }
        Ok(columns)
    }

    /// Stores vectors of lanes, one a scalar, to each lane's element.
    pub(super) fn store_rows(
        &self,
        first: PointerValue<'c>,
        columns: &[VectorValue<'c>],
        size: u64,
        step: u64,
    ) -> Result<()> {
        for start in starts(columns.len() as u64) {
            let four = &columns[start as usize..][..ROW as usize];
            for (lane, row) in self.rows(four)?.into_iter().enumerate() {
                let at = self.at_byte(first, lane as u64 * step + start * size)?;
                let store = self.builder.build_store(at, row)?;
                store.set_alignment(size as u32).map_err(|error| crate::Error::llvm("alignment", error))?;
            }
        }
        Ok(())
    }

    /// From a row a lane to four vectors of lanes.
    fn columns(&self, rows: &[VectorValue<'c>]) -> Result<Vec<VectorValue<'c>>> {
        // The rows of every fourth lane side by side, so that the blocks are turned around at once.
        let mut sides = Vec::new();
        for k in 0..ROW as usize {
            sides.push(self.joined(rows.iter().skip(k).step_by(ROW as usize).copied().collect())?);
        }
        self.turned(&sides)
    }

    /// From four vectors of lanes to a row a lane.
    fn rows(&self, columns: &[VectorValue<'c>]) -> Result<Vec<VectorValue<'c>>> {
        let sides = self.turned(columns)?;
        let lane = |lane: u32| {
            let start = lane / ROW * ROW;
            self.shuffle(sides[(lane % ROW) as usize], None, start..start + ROW)
        };
        (0..self.width()).map(lane).collect()
    }

    /// Turns each block of four by four around: block b of result k holds scalar k of block b of all four.
    fn turned(&self, sides: &[VectorValue<'c>]) -> Result<Vec<VectorValue<'c>>> {
        let n = self.width();
        // In each block the low or the high halves of two vectors, element by element.
        let zip = |x, y, half: u32| {
            let picked = (0..n).map(move |i| i / ROW * ROW + half * 2 + i % ROW / 2 + if i % 2 == 1 { n } else { 0 });
            self.shuffle(x, Some(y), picked)
        };
        let pairs = |x, y, half: u32| {
            let picked = (0..n).map(move |i| i / ROW * ROW + half * 2 + i % 2 + if i % ROW >= 2 { n } else { 0 });
            self.shuffle(x, Some(y), picked)
        };
        let (low, high) = (zip(sides[0], sides[1], 0)?, zip(sides[0], sides[1], 1)?);
        let (low_after, high_after) = (zip(sides[2], sides[3], 0)?, zip(sides[2], sides[3], 1)?);
        Ok(vec![
            pairs(low, low_after, 0)?,
            pairs(low, low_after, 1)?,
            pairs(high, high_after, 0)?,
            pairs(high, high_after, 1)?,
        ])
    }
}
