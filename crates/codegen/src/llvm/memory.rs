//! Arrays: addresses, loads and stores, views, local arrays.
//!
//! An array's leaves are base pointer, extents, strides in bytes. Element (i, j) lies at base + i stride0 + j stride1.

use super::types;
use super::value::{Leaves, Lowered, as_int, as_pointer};
use super::{Lowering, attr_index};
use crate::nvptx::entry::GLOBAL;
use crate::{Error, Result};
use inkwell::module::Linkage;
use inkwell::values::{IntValue, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use ir::{Attr, Inst, Op, PathElem, Type, TypeKind, Value};
use smallvec::SmallVec;

/// An array value taken apart.
pub(crate) struct Array<'c> {
    pub base: PointerValue<'c>,
    pub extents: SmallVec<[IntValue<'c>; 4]>,
    pub strides: SmallVec<[IntValue<'c>; 4]>,
    pub elem: Type,
}

impl<'c> Array<'c> {
    fn into_lowered(self) -> Lowered<'c> {
        let mut leaves = Leaves::new();
        leaves.push(self.base.into());
        leaves.extend(self.extents.into_iter().map(Into::into));
        leaves.extend(self.strides.into_iter().map(Into::into));
        Lowered::Leaves(leaves)
    }
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn array(&self, value: Value) -> Result<Array<'c>> {
        let ty = self.func.ty(value);
        let (elem, rank) = ty.as_array().ok_or_else(|| Error::Invalid(format!("{ty} is no array")))?;
        let rank = rank as usize;
        let leaves = self.leaves(value)?;
        if leaves.len() != 1 + 2 * rank {
            return Err(Error::Invalid(format!("{ty} has {} leaves", leaves.len())));
        }
        let ints = |leaves: &[_]| leaves.iter().map(|&leaf| as_int(leaf)).collect::<Result<_>>();
        Ok(Array {
            base: as_pointer(leaves[0])?,
            extents: ints(&leaves[1..1 + rank])?,
            strides: ints(&leaves[1 + rank..])?,
            elem,
        })
    }

    /// Address and type of what a memory op accesses, and the operands after the access.
    pub(crate) fn access<'i>(&self, inst: &'i Inst) -> Result<(PointerValue<'c>, Type, &'i [Value])> {
        let array = self.array(inst.operands[0])?;
        let (_, indices, path_indices, rest) = inst.access(array.extents.len());
        let b = &self.builder;
        let mut ptr = array.base;
        let number = self.short_offset(inst, &array)?;
        if let Some(offset) = number {
            ptr = self.at(ptr, offset)?;
        }
        // Rows first and one address a dimension, so that what does not change in a row is computed once a row.
        for (&index, &stride) in indices.iter().zip(&array.strides).filter(|_| number.is_none()) {
            let offset = b.build_int_nsw_mul(self.int(index)?, stride, "")?;
            ptr = self.at(ptr, offset)?;
        }
        let (mut ty, mut fixed, mut dynamic) = (array.elem, 0, path_indices.iter());
        let mut next = || dynamic.next().ok_or_else(|| Error::Invalid("a path lacks an index".into()));
        for &step in inst.path() {
            let piece = match step {
                PathElem::Static(index) => ty.component(index as usize),
                PathElem::Dynamic => ty.component(0),
            };
            let piece = piece.ok_or_else(|| Error::Invalid(format!("{ty} has no component {step:?}")))?;
            match step {
                PathElem::Static(index) => fixed += ty.offset(index as usize),
                PathElem::Dynamic => {
                    let mut index = self.int(*next()?)?;
                    if let TypeKind::Matrix { cols, .. } = ty.kind() {
                        let start = b.build_int_nsw_mul(index, self.i64(u64::from(*cols)), "")?;
                        index = b.build_int_nsw_add(start, self.int(*next()?)?, "")?;
                    }
                    ptr = self.at(ptr, b.build_int_nsw_mul(index, self.i64(piece.size()), "")?)?;
                }
            }
            ty = piece;
        }
        Ok((self.at_byte(ptr, fixed)?, ty, rest))
    }

    pub(crate) fn load_op(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let (ptr, ty, _) = self.access(inst)?;
        self.load_value(ptr, ty)
    }

    pub(crate) fn store_op(&mut self, inst: &Inst) -> Result<()> {
        let (ptr, ty, rest) = self.access(inst)?;
        let value = self.value(rest[0])?;
        self.store_value(ptr, ty, &value)
    }

    pub(crate) fn array_op(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        match inst.op {
            Op::LocalArray => return self.local_array(inst),
            Op::ArrayFromAddress => return self.array_from_address(inst),
            _ => {}
        }
        let mut array = self.array(inst.operands[0])?;
        let b = &self.builder;
        match inst.op {
            Op::WithAdjoint => Ok(array.into_lowered()),
            Op::Extent => Ok(dim(&array.extents, attr_index(inst)?)?.into()),
            Op::IsNull => Ok(b.build_is_null(array.base, "")?.into()),
            Op::Address => Ok(b.build_ptr_to_int(array.base, self.ctx.i64_type(), "")?.into()),
            Op::WrapIndex => {
                if let Some(short) = self.short_wrap(inst, dim(&array.extents, attr_index(inst)?)?)? {
                    return Ok(short.into());
                }
                let index = self.int(inst.operands[1])?;
                let negative = b.build_int_compare(IntPredicate::SLT, index, self.i64(0), "")?;
                let wrapped = b.build_int_add(index, dim(&array.extents, attr_index(inst)?)?, "")?;
                Ok(self.select_int(negative, wrapped, index)?.into())
            }
            Op::Row => {
                let at = attr_index(inst)?;
                let stride = dim(&array.strides, at)?;
                array.extents.remove(at as usize);
                array.strides.remove(at as usize);
                let offset = b.build_int_mul(self.int(inst.operands[1])?, stride, "")?;
                array.base = self.moved(array.base, offset)?;
                Ok(array.into_lowered())
            }
            Op::Subarray => {
                let at = attr_index(inst)?;
                let stride = dim(&array.strides, at)?;
                let offset = b.build_int_mul(self.int(inst.operands[1])?, stride, "")?;
                array.base = self.moved(array.base, offset)?;
                array.extents[at as usize] = self.int(inst.operands[2])?;
                array.strides[at as usize] = b.build_int_mul(stride, self.int(inst.operands[3])?, "")?;
                Ok(array.into_lowered())
            }
            _ => Err(Error::Invalid(format!("`{}` on an array", inst.op.name()))),
        }
    }

    /// An address that may lie outside the array: an empty view's, or a bad row's that is never accessed.
    pub(crate) fn moved(&self, base: PointerValue<'c>, offset: IntValue<'c>) -> Result<PointerValue<'c>> {
        // SAFETY: LLVM's precondition, not Rust's: without `inbounds` any offset is defined.
        Ok(unsafe { self.builder.build_gep(self.ctx.i8_type(), base, &[offset], "")? })
    }

    fn local_array(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        let (Attr::Extents(extents), Some((elem, _))) = (&inst.attr, ty.as_array()) else {
            return Err(Error::Invalid("`local_array` without extents".into()));
        };
        let bytes = extents.iter().fold(elem.size(), |size, &n| size.saturating_mul(n));
        let base = self.reserve(bytes)?;
        if bytes > 0 {
            self.builder.build_memset(base, 8, self.ctx.i8_type().const_zero(), self.i64(bytes))?;
        }
        let extents: SmallVec<[IntValue<'c>; 4]> = extents.iter().map(|&n| self.i64(n)).collect();
        self.contiguous(base, extents, elem)
    }

    /// A shared array of a kernel whose threads are blocks of their own.
    pub(crate) fn tile_memory(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        let (Attr::Extents(extents), Some((elem, _))) = (&inst.attr, ty.as_array()) else {
            return Err(Error::Invalid("`shared_array` without extents".into()));
        };
        let base = self.reserve(extents.iter().fold(elem.size(), |size, &n| size.saturating_mul(n)))?;
        // Gangs read whole vectors.
        if let Some(alloca) = base.as_instruction() {
            alloca.set_alignment(64).map_err(|error| Error::llvm("alignment", error.to_string()))?;
        }
        let extents: SmallVec<[IntValue<'c>; 4]> = extents.iter().map(|&n| self.i64(n)).collect();
        self.contiguous(base, extents, elem)
    }

    /// Memory of the code's own that nobody uses.
    pub(crate) fn spare_memory(&self) -> Result<Lowered<'c>> {
        const NAME: &str = "gs_spare_memory";
        let ty = self.ctx.i64_type().array_type(8);
        let global = self.llvm.get_global(NAME).unwrap_or_else(|| {
            let space = self.device.is_some().then(|| AddressSpace::from(GLOBAL));
            let global = self.llvm.add_global(ty, space, NAME);
            global.set_linkage(Linkage::Internal);
            global.set_initializer(&ty.const_zero());
            global.set_alignment(64);
            global
        });
        let base = global.as_pointer_value();
        let base = if self.device.is_some() {
            self.builder.build_address_space_cast(base, types::pointer(self.ctx), "")?
        } else {
            base
        };
        Ok(self.builder.build_ptr_to_int(base, self.ctx.i64_type(), "")?.into())
    }

    fn array_from_address(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        let (elem, _) = ty.as_array().ok_or_else(|| Error::Invalid(format!("{ty} is no array")))?;
        let address = self.int(inst.operands[0])?;
        let base = self.builder.build_int_to_ptr(address, types::pointer(self.ctx), "")?;
        let extents = inst.operands[1..].iter().map(|&n| self.int(n)).collect::<Result<_>>()?;
        self.contiguous(base, extents, elem)
    }

    pub(crate) fn contiguous(
        &self,
        base: PointerValue<'c>,
        extents: SmallVec<[IntValue<'c>; 4]>,
        elem: Type,
    ) -> Result<Lowered<'c>> {
        let strides = self.row_major(&extents, elem)?;
        Ok(Array { base, extents, strides, elem }.into_lowered())
    }

    /// Replaces the strides of an array, where this is one, by those that its extents give. `aligned`: a row takes a
    /// multiple of 16 bytes.
    pub(crate) fn assume_contiguous(&mut self, value: Value, aligned: bool) -> Result<()> {
        if self.func.ty(value).as_array().is_none() {
            return Ok(());
        }
        let mut array = self.array(value)?;
        array.strides = self.row_major(&array.extents, array.elem)?;
        if let (true, Some((_, rows))) = (aligned, array.strides.split_last_mut()) {
            // Changes nothing, and tells LLVM.
            for stride in rows {
                *stride = self.builder.build_and(*stride, self.i64(!15), "")?;
            }
        }
        self.define(value, array.into_lowered());
        Ok(())
    }

    /// The strides of an array without gaps, last dimension fastest.
    pub(crate) fn row_major(&self, extents: &[IntValue<'c>], elem: Type) -> Result<SmallVec<[IntValue<'c>; 4]>> {
        let mut stride = self.i64(elem.size());
        let mut strides = SmallVec::from_elem(stride, extents.len());
        for d in (1..extents.len()).rev() {
            stride = self.builder.build_int_nsw_mul(stride, extents[d], "")?;
            strides[d - 1] = stride;
        }
        Ok(strides)
    }
}

fn dim<'c>(of: &[IntValue<'c>], dim: u32) -> Result<IntValue<'c>> {
    of.get(dim as usize).copied().ok_or_else(|| Error::Invalid(format!("an array has no dimension {dim}")))
}
