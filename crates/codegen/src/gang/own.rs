//! Arrays that each thread has for itself, in a gang: every scalar of them with all lanes side by side.
//!
//! A scalar of `s` bytes that lies `o` bytes from the start of a thread's array lies, for lane `k` of `w`, at
//! `w o + s k` in the gang's. All lanes at one element are a vector in memory, whatever the element is; a view keeps its
//! strides, `w` times as long. An array in which all lanes hold the same is one array, as for one thread.
//!
//! ```text
//! thread   x0 y0 x1 y1
//! gang     x0 x0 x0 x0  y0 y0 y0 y0  x1 x1 x1 x1  y1 y1 y1 y1
//! ```

use super::memory::{piece, scalars};
use crate::llvm::lanes::{as_int, steps};
use crate::llvm::value::{Leaves, Lowered};
use crate::llvm::{Lowering, memory::Array};
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::values::{IntValue, PointerValue, VectorValue};
use ir::{Attr, Inst, InstId, PathElem, Scalar, Type, TypeKind, Value};
use smallvec::SmallVec;

/// Bytes of own arrays that a kernel's gangs may hold for each lane: all lanes' together stay in a cache.
pub(super) const MAX_BYTES: u64 = 8 << 10;
/// A line of the cache.
const ALIGN: u32 = 64;

/// Where the lanes of an access to own arrays lie.
struct Place<'c> {
    /// Without what differs from lane to lane.
    base: PointerValue<'c>,
    /// Bytes from there, where lanes access different elements.
    offsets: Option<IntValue<'c>>,
    ty: Type,
}

impl<'c> Lowering<'c, '_> {
    /// Whether the lanes may hold different things in an array of their own.
    pub(super) fn is_parted(&self, array: Value) -> bool {
        self.gang.as_ref().is_some_and(|gang| gang.uniformity.own().is_parted(array))
    }

    /// A `local_array`: zeros for all lanes. A lane that is off makes its own before it looks into it.
    pub(super) fn own_array(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        let (Attr::Extents(extents), Some((elem, _))) = (&inst.attr, self.func.ty(inst.result()).as_array()) else {
            return Err(Error::Invalid("`local_array` without extents".into()));
        };
        let n_copies = if self.is_parted(inst.result()) { u64::from(self.width()) } else { 1 };
        let bytes = extents.iter().fold(elem.size(), |size, &n| size.saturating_mul(n)).saturating_mul(n_copies);
        let base = match self.gang()?.own.get(&id) {
            Some(&known) => known,
            None => {
                let base = self.reserve(bytes)?;
                if let Some(alloca) = base.as_instruction() {
                    alloca.set_alignment(ALIGN).map_err(|error| Error::llvm("alignment", error))?;
                }
                self.gang_mut()?.own.insert(id, base);
                base
            }
        };
        if bytes > 0 {
            self.builder.build_memset(base, ALIGN, self.ctx.i8_type().const_zero(), self.i64(bytes))?;
        }
        let mut stride = elem.size().saturating_mul(n_copies);
        let mut strides: SmallVec<[IntValue<'c>; 4]> = SmallVec::new();
        for &n in extents.iter().rev() {
            strides.insert(0, self.i64(stride));
            stride = stride.saturating_mul(n);
        }
        let mut leaves = Leaves::from_slice(&[base.into()]);
        leaves.extend(extents.iter().map(|&n| self.i64(n).into()));
        leaves.extend(strides.into_iter().map(Into::into));
        self.define(inst.result(), Lowered::Leaves(leaves));
        Ok(())
    }

    pub(super) fn own_load(&mut self, inst: &Inst) -> Result<()> {
        let place = self.own_place(inst)?;
        let mut leaves = Leaves::new();
        for (at, scalar) in scalars(place.ty)? {
            let ty = self.memory_vector(scalar, self.width());
            let lanes = match self.own_pointers(&place, at, scalar)? {
                None => self.load_wide(self.own_vector(&place, at)?, ty, scalar.size(), None)?,
                Some(from) => self.gather_lanes(from, ty, scalar.size())?,
            };
            leaves.push(self.of_memory_lanes(scalar, lanes)?);
        }
        self.define(inst.result(), Lowered::Leaves(leaves));
        Ok(())
    }

    pub(super) fn own_store(&mut self, inst: &Inst) -> Result<()> {
        let value = *inst.operands.last().ok_or_else(|| Error::Invalid("`store` of nothing".into()))?;
        let place = self.own_place(inst)?;
        for ((at, scalar), leaf) in scalars(place.ty)?.into_iter().zip(self.widened(value)?) {
            let lanes = self.memory_lanes(scalar, leaf)?;
            if let Some(to) = self.own_pointers(&place, at, scalar)? {
                self.scatter_lanes(to, lanes, scalar.size())?;
                continue;
            }
            let to = self.own_vector(&place, at)?;
            let mut lanes = lanes.into();
            if let Some(mask) = self.mask() {
                // The memory is there for every lane.
                let old = self.load_wide(to, self.memory_vector(scalar, self.width()), scalar.size(), None)?;
                lanes = self.select(mask, lanes, old.into())?;
            }
            let store = self.builder.build_store(to, lanes)?;
            store.set_alignment(scalar.size() as u32).map_err(|error| Error::llvm("alignment", error))?;
        }
        Ok(())
    }

    fn own_vector(&self, place: &Place<'c>, at: u64) -> Result<PointerValue<'c>> {
        self.at_byte(place.base, at * u64::from(self.width()))
    }

    /// Each lane's address of the scalar `at` bytes into what is accessed; `None` where they lie side by side.
    fn own_pointers(&self, place: &Place<'c>, at: u64, scalar: Scalar) -> Result<Option<VectorValue<'c>>> {
        let Some(offsets) = place.offsets else { return Ok(None) };
        let lane = steps(self.ctx.i64_type(), self.width(), scalar.size() as i64);
        let offsets = self.builder.build_int_add(offsets, lane, "")?;
        self.offset_lanes(self.own_vector(place, at)?, offsets).map(Some)
    }

    fn own_place(&mut self, inst: &Inst) -> Result<Place<'c>> {
        let Array { mut base, strides, elem, .. } = self.array(inst.operands[0])?;
        let width = u64::from(self.width());
        let (_, indices, path_indices, _) = inst.access(strides.len());
        let mut offsets = None;
        for (&index, &stride) in indices.iter().zip(&strides) {
            (base, offsets) = self.own_step(base, offsets, index, stride)?;
        }
        let (mut ty, mut dynamic) = (elem, path_indices.iter());
        let mut next = || dynamic.next().copied().ok_or_else(|| Error::Invalid("a path lacks an index".into()));
        for &step in inst.path() {
            let number = if let PathElem::Static(number) = step { number as usize } else { 0 };
            let (part, _) = piece(ty, &[PathElem::Static(number as u32)])?;
            match step {
                PathElem::Static(_) => base = self.at_byte(base, ty.offset(number) * width)?,
                PathElem::Dynamic => {
                    if let TypeKind::Matrix { cols, .. } = ty.kind() {
                        let row = self.i64(u64::from(*cols) * part.size() * width);
                        (base, offsets) = self.own_step(base, offsets, next()?, row)?;
                    }
                    let stride = self.i64(part.size() * width);
                    (base, offsets) = self.own_step(base, offsets, next()?, stride)?;
                }
            }
            ty = part;
        }
        Ok(Place { base, offsets, ty })
    }

    /// Goes `index` strides on.
    fn own_step(
        &mut self,
        base: PointerValue<'c>,
        offsets: Option<IntValue<'c>>,
        index: Value,
        stride: IntValue<'c>,
    ) -> Result<(PointerValue<'c>, Option<IntValue<'c>>)> {
        if self.lanes(index) == Lanes::Uniform {
            let offset = self.builder.build_int_nsw_mul(self.int(index)?, stride, "")?;
            return Ok((self.at(base, offset)?, offsets));
        }
        let stride = as_int(self.splat_lanes(stride.into(), self.width())?)?;
        let offset = self.builder.build_int_mul(self.wide_int(index)?, stride, "")?;
        Ok((base, Some(self.plus(offsets, offset)?)))
    }
}
