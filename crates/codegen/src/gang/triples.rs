//! Elements of three scalars of four bytes, on a machine whose shuffles work within 16 bytes (AVX2): pieces of four
//! scalars of every fourth lane side by side, then half as many shuffles as from one wide access.
//!
//! ```text
//! x0 y0 z0 x1 | x4 y4 z4 x5        x0 x1 x2 x3 | x4 x5 x6 x7
//! y1 z1 x2 y2 | y5 z5 x6 y6   ->   y0 y1 y2 y3 | y4 y5 y6 y7
//! z2 x3 y3 z3 | z6 x7 y7 z7        z0 z1 z2 z3 | z4 z5 z6 z7
//! ```
//!
//! Melax, "3D Vector Normalization Using 256-Bit Intel Advanced Vector Extensions" (2011).

use super::shape::vector;
use crate::llvm::Lowering;
use crate::{Error, Result};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{PointerValue, VectorValue};
use ir::Scalar;

/// Lanes that are turned around at once, in pieces of four.
const LANES: u32 = 8;
const PIECE: u32 = 4;

impl<'c> Lowering<'c, '_> {
    /// Whether elements of so many scalars, of which all are accessed in all lanes, are moved this way.
    pub(super) fn are_triples(&self, scalars: &[(u64, Scalar)], n: u64) -> bool {
        let is_dense = scalars.len() == 3 && (0u64..).zip(scalars).all(|(i, s)| s.0 == 4 * i && s.1.size() == 4);
        let width = self.width();
        let is_cpu = self.device.is_none() && !self.abilities.permutes;
        is_cpu && n == 3 && is_dense && self.mask().is_none() && width >= LANES && width.is_power_of_two()
    }

    /// Three vectors of lanes from the elements that begin at `first`.
    pub(super) fn load_triples(
        &self,
        first: PointerValue<'c>,
        scalar: BasicTypeEnum<'c>,
    ) -> Result<Vec<VectorValue<'c>>> {
        let piece = vector(scalar, PIECE)?;
        let mut columns = [Vec::new(), Vec::new(), Vec::new()];
        for chunk in 0..u64::from(self.width() / LANES) {
            let load = |number: u64| self.load_wide(self.at_byte(first, chunk * 96 + number * 16)?, piece, 4, None);
            let side = |k: u64| self.shuffle(load(k)?, Some(load(k + 3)?), 0..LANES);
            let [a, b, c] = [side(0)?, side(1)?, side(2)?];
            let xy = self.within(b, c, [2, 3, 1, 2])?;
            let yz = self.within(a, b, [1, 2, 0, 1])?;
            columns[0].push(self.within(a, xy, [0, 3, 0, 2])?);
            columns[1].push(self.within(yz, xy, [0, 2, 1, 3])?);
            columns[2].push(self.within(yz, c, [1, 3, 0, 3])?);
        }
        columns.into_iter().map(|parts| self.joined(parts)).collect()
    }

    /// The scalars of all elements in order, eight a vector, from three vectors of lanes.
    pub(super) fn triples_in_order(&self, columns: &[VectorValue<'c>]) -> Result<Vec<VectorValue<'c>>> {
        let &[x, y, z] = columns else { return Err(Error::Invalid("not three components".into())) };
        let mut parts = Vec::new();
        for start in (0..self.width()).step_by(LANES as usize) {
            let lanes = |column| self.shuffle(column, None, start..start + LANES);
            let [x, y, z] = [lanes(x)?, lanes(y)?, lanes(z)?];
            let xy = self.within(x, y, [0, 2, 0, 2])?;
            let yz = self.within(y, z, [1, 3, 1, 3])?;
            let zx = self.within(z, x, [0, 2, 1, 3])?;
            let a = self.within(xy, zx, [0, 2, 0, 2])?;
            let b = self.within(yz, xy, [0, 2, 1, 3])?;
            let c = self.within(zx, yz, [1, 3, 1, 3])?;
            parts.push(self.shuffle(a, Some(b), (0..4).chain(8..12))?);
            parts.push(self.shuffle(c, Some(a), (0..4).chain(12..16))?);
            parts.push(self.shuffle(b, Some(c), (4..8).chain(12..16))?);
        }
        Ok(parts)
    }

    /// In each piece two scalars of `x`, then two of `y`, by their numbers in the piece.
    fn within(&self, x: VectorValue<'c>, y: VectorValue<'c>, picked: [u32; 4]) -> Result<VectorValue<'c>> {
        let piece = |start: u32| {
            let from = move |k: usize| start + picked[k] + if k < 2 { 0 } else { LANES };
            (0..4).map(from)
        };
        self.shuffle(x, Some(y), [0, PIECE].into_iter().flat_map(piece))
    }
}
