//! Vectors of eight f32 in one register, where a CPU's threads run one by one.
//!
//! To all else such a value is eight leaves. Here they are put together for what computes on all of them at once, and
//! taken apart again; who wants the same eight finds the register that they came from.
//!
//! ```text
//! v3: vec<f32, 8> = sub v1, v2    ->    %3 = fsub <8 x float> %1, %2
//! v4: u32 = mask_le v3, v2        ->    %4 = fcmp ole <8 x float> %3, %2;  %5 = bitcast <8 x i1> %4 to i8
//! ```

use super::Lowering;
use super::arithmetic::element;
use super::lanes::{as_int, as_lanes, number};
use super::types::Leaf;
use super::value::{Leaves, Lowered};
use crate::Result;
use inkwell::types::VectorType;
use inkwell::values::{AsValueRef, IntValue, VectorValue};
use ir::{Inst, Op, Scalar, Type, TypeKind};
use std::collections::HashMap;

const N: u32 = 8;

/// By the first of eight leaves: all of them, and the register that they are from.
pub(crate) type Octets<'c> = HashMap<usize, (Leaves<'c>, VectorValue<'c>)>;

impl<'c> Lowering<'c, '_> {
    pub(crate) fn is_octet(&self, ty: Type) -> bool {
        let is_vector = matches!(ty.kind(), TypeKind::Vector { elem: Scalar::F32, len: N });
        is_vector && self.device.is_none() && !self.is_wide()
    }

    /// Whether an op on eight numbers is one on a register.
    pub(crate) fn is_octet_op(&self, op: Op, ty: Type) -> bool {
        let is_one = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Lesser | Op::Greater);
        is_one && self.is_octet(ty)
    }

    pub(crate) fn octet_type(&self) -> VectorType<'c> {
        self.ctx.f32_type().vec_type(N)
    }

    /// Eight leaves in a register.
    pub(crate) fn pack(&self, leaves: &[Leaf<'c>]) -> Result<Leaf<'c>> {
        if let Some((known, register)) = self.octets.get(&key(leaves[0]))
            && known[..] == *leaves
        {
            return Ok((*register).into());
        }
        if leaves.iter().all(|leaf| *leaf == leaves[0]) {
            return self.splat_lanes(leaves[0], N);
        }
        let mut register = self.octet_type().get_poison();
        for (k, &leaf) in (0u64..).zip(leaves) {
            register =
                self.builder.build_insert_element(register, leaf, self.ctx.i32_type().const_int(k, false), "")?;
        }
        Ok(register.into())
    }

    /// The eight leaves of a register.
    pub(crate) fn unpack(&mut self, register: VectorValue<'c>) -> Result<Lowered<'c>> {
        let part = |k| self.builder.build_extract_element(register, self.ctx.i32_type().const_int(k, false), "");
        let leaves: Leaves<'c> = (0..u64::from(N)).map(part).collect::<std::result::Result<_, _>>()?;
        self.octets.insert(key(leaves[0]), (leaves.clone(), register));
        Ok(Lowered::Leaves(leaves))
    }

    /// A bit a component.
    pub(crate) fn mask_le(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.operands[0]);
        let scalar = element(ty)?;
        let (a, b) = (self.leaves(inst.operands[0])?, self.leaves(inst.operands[1])?);
        if self.is_octet(ty) {
            let holds = self.compare(Op::Le, scalar, self.pack(&a)?, self.pack(&b)?)?;
            let bits = self.builder.build_bit_cast(as_lanes(holds), self.ctx.i8_type(), "")?.into_int_value();
            return Ok(self.builder.build_int_z_extend(bits, self.ctx.i32_type(), "")?.into());
        }
        let mut mask: Leaf<'c> = self.ctx.i32_type().const_zero().into();
        for (k, (&a, &b)) in (0u64..).zip(a.iter().zip(&b)) {
            let holds = self.compare(Op::Le, scalar, a, b)?;
            let bit = self.builder.build_int_z_extend(holds, self.int_type(32, &holds), "")?;
            let bit: IntValue<'c> = self.builder.build_left_shift(bit, number(bit.get_type(), k), "")?;
            let (all, bit) = self.same_shape(mask, as_leaf(bit))?;
            mask = as_leaf(self.builder.build_or(as_int(all)?, as_int(bit)?, "")?);
        }
        Ok(mask.into())
    }

    /// The components of the one where a bit is set, else of the other.
    pub(crate) fn mask_select(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let mask = self.leaf(inst.operands[0])?;
        let (a, b) = (self.leaves(inst.operands[1])?, self.leaves(inst.operands[2])?);
        if self.is_octet(self.func.ty(inst.result())) {
            let bits = self.builder.build_int_truncate(as_int(mask)?, self.ctx.i8_type(), "")?;
            let lanes = self.builder.build_bit_cast(bits, self.ctx.bool_type().vec_type(N), "")?;
            let chosen = self.select(as_int(lanes)?, self.pack(&a)?, self.pack(&b)?)?;
            return self.unpack(as_lanes(chosen));
        }
        let mut leaves = Leaves::new();
        for (k, (&a, &b)) in (0u64..).zip(a.iter().zip(&b)) {
            let bits = as_int(mask)?;
            let bit = self.builder.build_and(bits, number(bits.get_type(), 1 << k), "")?;
            let zero = number(bits.get_type(), 0);
            let is_set = self.builder.build_int_compare(inkwell::IntPredicate::NE, bit, zero, "")?;
            let (a, b) = self.same_shape(a, b)?;
            leaves.push(self.select(is_set, a, b)?);
        }
        Ok(Lowered::Leaves(leaves))
    }
}

fn key(leaf: Leaf<'_>) -> usize {
    leaf.as_value_ref() as usize
}

/// A number, or lanes of it, as what it is.
fn as_leaf(x: IntValue<'_>) -> Leaf<'_> {
    if super::lanes::n_lanes(&x).is_some() { as_lanes(x).into() } else { x.into() }
}
