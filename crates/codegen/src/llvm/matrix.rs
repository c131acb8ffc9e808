//! Matrix products and transposes: written out where small, loops over memory where large.

use super::Lowering;
use super::arithmetic::element;
use super::types::Leaf;
use super::value::{Leaves, Lowered, is_big};
use crate::{Error, Result};
use inkwell::values::{IntValue, PointerValue};
use ir::{Inst, LeafKind, Op, Scalar, Type, TypeKind};

/// A product of more multiplications than this is a loop.
const MAX_PRODUCTS: u32 = 256;

/// A matrix product's extents; a vector is a matrix of one row or column.
#[derive(Clone, Copy)]
struct Shape {
    rows: u32,
    inner: u32,
    cols: u32,
}

fn shape(x: Type, y: Type) -> Result<Shape> {
    use TypeKind::{Matrix, Vector};
    Ok(match (x.kind(), y.kind()) {
        (&Matrix { rows, cols: inner, .. }, &Matrix { cols, .. }) => Shape { rows, inner, cols },
        (&Matrix { rows, cols: inner, .. }, Vector { .. }) => Shape { rows, inner, cols: 1 },
        (&Vector { len: inner, .. }, &Matrix { cols, .. }) => Shape { rows: 1, inner, cols },
        _ => return Err(Error::Invalid(format!("`matmul` of {x} and {y}"))),
    })
}

/// Whether a product is a loop over memory.
pub(crate) fn is_loop(x: Type, y: Type) -> bool {
    shape(x, y).map_or(true, |Shape { rows, inner, cols }| {
        rows.saturating_mul(inner).saturating_mul(cols) > MAX_PRODUCTS || is_big(x) || is_big(y)
    })
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn matrix(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        if inst.op == Op::Transpose { self.transpose(inst) } else { self.matmul(inst) }
    }

    fn matmul(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let (x, y) = (inst.operands[0], inst.operands[1]);
        let (x_ty, y_ty, ty) = (self.func.ty(x), self.func.ty(y), self.func.ty(inst.result()));
        let elem = element(ty)?;
        let Shape { rows, inner, cols } = shape(x_ty, y_ty)?;
        if is_loop(x_ty, y_ty) || is_big(ty) {
            let (x, y) = (self.value(x)?, self.value(y)?);
            let (x, y) = (self.in_memory(&x, x_ty)?, self.in_memory(&y, y_ty)?);
            let slot = self.slot(ty)?;
            self.matmul_in_memory(elem, Shape { rows, inner, cols }, x, y, slot)?;
            return self.of_memory(slot, ty);
        }
        let (x, y) = (self.leaves(x)?, self.leaves(y)?);
        let mut result = Leaves::new();
        for row in 0..rows {
            for col in 0..cols {
                let mut sum = None;
                for k in 0..inner {
                    let (x, y) = (x[(row * inner + k) as usize], y[(k * cols + col) as usize]);
                    sum = Some(self.multiply_add(elem, sum, x, y)?);
                }
                result.extend(sum);
            }
        }
        Ok(Lowered::Leaves(result))
    }

    fn matmul_in_memory(
        &mut self,
        elem: Scalar,
        Shape { rows, inner, cols }: Shape,
        x: PointerValue<'c>,
        y: PointerValue<'c>,
        result: PointerValue<'c>,
    ) -> Result<()> {
        let (sum, kind) = (self.reserve(8)?, LeafKind::Scalar(elem));
        let this = &*self;
        this.repeat(u64::from(rows), |row| {
            this.repeat(u64::from(cols), |col| {
                let product = |k: IntValue<'c>, sum: Option<Leaf<'c>>| {
                    let x = this.load_component(x, elem, this.linear(row, inner, k)?)?;
                    let y = this.load_component(y, elem, this.linear(k, cols, col)?)?;
                    this.multiply_add(elem, sum, x, y)
                };
                this.store_leaf(sum, kind, product(this.i64(0), None)?)?;
                if inner > 1 {
                    this.repeat(u64::from(inner) - 1, |k| {
                        let k = this.builder.build_int_add(k, this.i64(1), "")?;
                        this.store_leaf(sum, kind, product(k, Some(this.load_leaf(sum, kind)?))?)
                    })?;
                }
                let sum = this.load_leaf(sum, kind)?;
                this.store_component(result, elem, this.linear(row, cols, col)?, sum)
            })
        })
    }

    /// row n + col
    fn linear(&self, row: IntValue<'c>, n: u32, col: IntValue<'c>) -> Result<IntValue<'c>> {
        let start = self.builder.build_int_nsw_mul(row, self.i64(u64::from(n)), "")?;
        Ok(self.builder.build_int_nsw_add(start, col, "")?)
    }

    fn transpose(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let (x, ty) = (inst.operands[0], self.func.ty(inst.result()));
        let &TypeKind::Matrix { elem, rows, cols } = self.func.ty(x).kind() else {
            return Err(Error::Invalid(format!("`transpose` of {}", self.func.ty(x))));
        };
        match self.value(x)? {
            Lowered::Leaves(leaves) => {
                let at = |col, row| leaves[(row * cols + col) as usize];
                Ok(Lowered::Leaves(
                    (0..cols).flat_map(|col| (0..rows).map(move |row| (col, row))).map(|(c, r)| at(c, r)).collect(),
                ))
            }
            Lowered::Memory(from) => {
                let slot = self.slot(ty)?;
                let this = &*self;
                this.repeat(u64::from(rows), |row| {
                    this.repeat(u64::from(cols), |col| {
                        let leaf = this.load_component(from, elem, this.linear(row, cols, col)?)?;
                        this.store_component(slot, elem, this.linear(col, rows, row)?, leaf)
                    })
                })?;
                Ok(Lowered::Memory(slot))
            }
        }
    }
}
