//! Vectors as they lie in memory, shuffles, and calls of intrinsics.

use crate::llvm::Lowering;
use crate::llvm::lanes::as_lanes;
use crate::llvm::types::{self, Leaf};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicMetadataValueEnum, BasicValue, CallSiteValue, InstructionOpcode, IntValue, VectorValue};
use ir::Scalar;

impl<'c> Lowering<'c, '_> {
    /// The type in which a scalar lies in memory.
    pub(super) fn memory_type(&self, scalar: Scalar) -> BasicTypeEnum<'c> {
        if scalar == Scalar::Bool { self.ctx.i8_type().into() } else { types::scalar_type(self.ctx, scalar) }
    }

    pub(super) fn memory_vector(&self, scalar: Scalar, n: u32) -> VectorType<'c> {
        match self.memory_type(scalar) {
            BasicTypeEnum::FloatType(ty) => ty.vec_type(n),
            ty => ty.into_int_type().vec_type(n),
        }
    }

    /// The memory type of all scalars, or integers of their size where they differ.
    pub(super) fn common_type(&self, scalars: &[(u64, Scalar)]) -> BasicTypeEnum<'c> {
        let first = self.memory_type(scalars[0].1);
        if scalars.iter().all(|&(_, scalar)| self.memory_type(scalar) == first) {
            return first;
        }
        types::bits_type(self.ctx, scalars[0].1).as_basic_type_enum()
    }

    pub(super) fn of_memory_lanes(&self, scalar: Scalar, lanes: VectorValue<'c>) -> Result<Leaf<'c>> {
        if scalar != Scalar::Bool {
            return Ok(lanes.into());
        }
        let zero = lanes.get_type().const_zero();
        Ok(self.builder.build_int_compare(IntPredicate::NE, lanes, zero, "")?.into())
    }

    pub(super) fn memory_lanes(&self, scalar: Scalar, leaf: Leaf<'c>) -> Result<VectorValue<'c>> {
        let lanes = as_lanes(leaf);
        if scalar != Scalar::Bool {
            return Ok(lanes);
        }
        Ok(self.builder.build_int_z_extend(lanes, self.memory_vector(scalar, self.width()), "")?)
    }

    /// A scalar in every lane. One that was loaded in another block is repeated there: the processor does both in one.
    pub(super) fn splat_where_loaded(&self, leaf: Leaf<'c>) -> Result<Leaf<'c>> {
        let here = self.current()?;
        let load = leaf.as_instruction_value().filter(|inst| inst.get_opcode() == InstructionOpcode::Load);
        let Some(after) =
            load.filter(|load| load.get_parent() != Some(here)).and_then(|load| load.get_next_instruction())
        else {
            return self.splat_lanes(leaf, self.width());
        };
        self.builder.position_before(&after);
        let all = self.splat_lanes(leaf, self.width());
        self.builder.position_at_end(here);
        all
    }

    pub(super) fn shuffle(
        &self,
        x: VectorValue<'c>,
        y: Option<VectorValue<'c>>,
        picked: impl Iterator<Item = u32>,
    ) -> Result<VectorValue<'c>> {
        let int = self.ctx.i32_type();
        let picked: Vec<IntValue<'c>> = picked.map(|at| int.const_int(u64::from(at), false)).collect();
        let y = y.unwrap_or_else(|| x.get_type().get_poison());
        Ok(self.builder.build_shuffle_vector(x, y, VectorType::const_vector(&picked), "")?)
    }

    /// Vectors of one length behind each other; where their number is no power of two, with undefined lanes at the end.
    pub(super) fn joined(&self, mut parts: Vec<VectorValue<'c>>) -> Result<VectorValue<'c>> {
        while parts.len() > 1 {
            let n = parts[0].get_type().get_size();
            let joined = parts.chunks(2).map(|pair| self.shuffle(pair[0], pair.get(1).copied(), 0..2 * n));
            parts = joined.collect::<Result<_>>()?;
        }
        parts.pop().ok_or_else(|| Error::Invalid("nothing to join".into()))
    }

    pub(super) fn call(
        &self,
        name: &'static str,
        types: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<CallSiteValue<'c>> {
        let function = Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, types))
            .ok_or_else(|| Error::llvm("intrinsic", name))?;
        Ok(self.builder.build_call(function, args, "")?)
    }

    pub(super) fn aligned(&self, call: CallSiteValue<'c>, param: u32, align: u64) {
        let kind = Attribute::get_named_enum_kind_id("align");
        call.add_attribute(AttributeLoc::Param(param), self.ctx.create_enum_attribute(kind, align));
    }
}

pub(super) fn vector(ty: BasicTypeEnum<'_>, n: u32) -> Result<VectorType<'_>> {
    match ty {
        BasicTypeEnum::FloatType(ty) => Ok(ty.vec_type(n)),
        BasicTypeEnum::IntType(ty) => Ok(ty.vec_type(n)),
        _ => Err(Error::Invalid("a vector of no scalars".into())),
    }
}
