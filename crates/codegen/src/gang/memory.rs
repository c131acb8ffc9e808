//! Memory accesses of a gang, by where the lanes lie: one address, neighbors, a constant distance, or anywhere.
//!
//! ```text
//! all lanes at one address            one scalar load, repeated on use
//! neighbors of one scalar each        load <16 x float>
//! neighbors of n equal scalars each   load <48 x float>, a shuffle a component; the inverse for stores
//! anywhere                            gather, scatter
//! ```
//!
//! What makes lanes neighbors may have to be tested ([`super::Exact`]); then the gather stands beside the wide access.
//! Arrays that each thread has for itself are in [`super::own`].

use super::shape::vector;
use crate::llvm::lanes::{as_int, as_lanes, steps};
use crate::llvm::types;
use crate::llvm::value::{Leaves, Lowered, is_big};
use crate::llvm::{Lowering, memory::Array};
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValue, IntValue, PointerValue, VectorValue};
use ir::{Inst, LeafKind, Op, PathElem, Scalar, Type, TypeKind, Value};

/// Lanes further apart than so many of their scalars are loaded and stored in rows, or one by one.
pub(super) const MAX_INTERLEAVED: u64 = 4;

/// Where the lanes of an access lie.
enum Place<'c> {
    Uniform(PointerValue<'c>),
    /// So many bytes apart, as long as `holds`.
    Affine {
        first: PointerValue<'c>,
        step: u64,
        /// Bytes from the start of the element to the piece.
        offset: Option<u64>,
        holds: Option<IntValue<'c>>,
    },
    Anywhere,
}

impl<'c> Lowering<'c, '_> {
    pub(super) fn gang_load(&mut self, inst: &Inst) -> Result<()> {
        if self.is_parted(inst.operands[0]) {
            return self.own_load(inst);
        }
        let (place, ty) = self.place(inst)?;
        let leaves = match place {
            Place::Uniform(ptr) => self.load_leaves(ptr, ty)?,
            Place::Anywhere => self.gather(inst, ty)?,
            Place::Affine { first, step, offset, holds } => match holds {
                None => self.load_neighbors(inst, first, ty, step, offset)?,
                Some(holds) => {
                    let (near, far, join) = (self.block(), self.block(), self.block());
                    self.builder.build_conditional_branch(holds, near, far)?;
                    self.builder.position_at_end(near);
                    let x = self.load_neighbors(inst, first, ty, step, offset)?;
                    let near = self.current()?;
                    self.builder.build_unconditional_branch(join)?;
                    self.builder.position_at_end(far);
                    let y = self.gather(inst, ty)?;
                    let far = self.current()?;
                    self.builder.build_unconditional_branch(join)?;
                    self.builder.position_at_end(join);
                    let mut leaves = Leaves::new();
                    for (x, y) in x.into_iter().zip(y) {
                        let phi = self.builder.build_phi(x.get_type(), "")?;
                        phi.add_incoming(&[(&x, near), (&y, far)]);
                        leaves.push(phi.as_basic_value());
                    }
                    leaves
                }
            },
        };
        self.define(inst.result(), Lowered::Leaves(leaves));
        Ok(())
    }

    pub(super) fn gang_store(&mut self, inst: &Inst) -> Result<()> {
        if self.is_parted(inst.operands[0]) {
            return self.own_store(inst);
        }
        let (place, ty) = self.place(inst)?;
        let value = *inst.operands.last().ok_or_else(|| Error::Invalid("`store` of nothing".into()))?;
        let (first, step, holds) = match place {
            Place::Uniform(ptr) => return self.store_last(ptr, ty, value),
            Place::Anywhere => return self.scatter(inst, ty, value),
            Place::Affine { first, step, holds, .. } => (first, step, holds),
        };
        let Some(holds) = holds else { return self.store_neighbors(inst, first, ty, step, value) };
        let (near, far, join) = (self.block(), self.block(), self.block());
        self.builder.build_conditional_branch(holds, near, far)?;
        self.builder.position_at_end(near);
        self.store_neighbors(inst, first, ty, step, value)?;
        self.builder.build_unconditional_branch(join)?;
        self.builder.position_at_end(far);
        self.scatter(inst, ty, value)?;
        self.builder.build_unconditional_branch(join)?;
        self.builder.position_at_end(join);
        Ok(())
    }

    /// Arrays among the parameters that are accessed by an affine index: their last dimension must be dense.
    pub(super) fn dense_params(&mut self) -> Result<Option<IntValue<'c>>> {
        let func = self.func;
        let mut holds = None;
        for inst in func.insts.iter().filter(|inst| matches!(inst.op, Op::Load | Op::Store)) {
            let array = inst.operands[0];
            let is_param = func.region(func.body).params.contains(&array);
            if !is_param || self.gang()?.is_dense[array.index()] || self.affine_step(inst)?.is_none() {
                continue;
            }
            self.gang_mut()?.is_dense[array.index()] = true;
            let Array { base, strides, elem, .. } = self.array(array)?;
            let Some(&stride) = strides.last() else { continue };
            if stride != self.i64(elem.size()) {
                let dense = self.builder.build_int_compare(IntPredicate::EQ, stride, self.i64(elem.size()), "")?;
                // An array that is not there has no strides, and no lane reads it.
                let is_null = self.builder.build_is_null(base, "")?;
                let dense = self.builder.build_or(dense, is_null, "")?;
                holds = Some(self.both(holds, dense)?);
            }
        }
        Ok(holds)
    }

    /// Elements from lane to lane, where the last index is affine and nothing else of the address varies.
    fn affine_step(&self, inst: &Inst) -> Result<Option<i64>> {
        let rank = self.func.ty(inst.operands[0]).as_array().map_or(0, |(_, rank)| rank as usize);
        let (_, indices, path_indices, _) = inst.access(rank);
        let is_uniform = |&value: &Value| self.lanes(value) == Lanes::Uniform;
        let Some((&last, leading)) = indices.split_last() else { return Ok(None) };
        if !leading.iter().all(is_uniform) || !path_indices.iter().all(is_uniform) {
            return Ok(None);
        }
        Ok(if let Lanes::Affine(step) = self.lanes(last) { Some(step) } else { None })
    }

    fn place(&mut self, inst: &Inst) -> Result<(Place<'c>, Type)> {
        let array = inst.operands[0];
        let Array { strides, elem, .. } = self.array(array)?;
        let (_, indices, path_indices, _) = inst.access(strides.len());
        if indices.iter().chain(path_indices).all(|&value| self.lanes(value) == Lanes::Uniform) {
            let (ptr, ty, _) = self.access(inst)?;
            return Ok((Place::Uniform(ptr), ty));
        }
        let (ty, offset) = piece(elem, inst.path())?;
        let (Some(step), Some(&stride)) = (self.affine_step(inst)?, strides.last()) else {
            return Ok((Place::Anywhere, ty));
        };
        let step = u64::try_from(step).ok().and_then(|step| step.checked_mul(elem.size()));
        let Some(step) = step.filter(|&step| is_wide_access(ty, step)) else { return Ok((Place::Anywhere, ty)) };
        let gang = self.gang()?;
        let mut holds = indices.last().and_then(|last| gang.exact[last.index()]).map(|exact| exact.holds);
        if !gang.is_dense[array.index()] && stride != self.i64(elem.size()) {
            let dense = self.builder.build_int_compare(IntPredicate::EQ, stride, self.i64(elem.size()), "")?;
            holds = Some(self.both(holds, dense)?);
        }
        let (first, ty, _) = self.access(inst)?;
        Ok((Place::Affine { first, step, offset: offset.filter(|_| step == elem.size()), holds }, ty))
    }

    // ---- neighbors

    fn load_neighbors(
        &mut self,
        inst: &Inst,
        first: PointerValue<'c>,
        ty: Type,
        step: u64,
        offset: Option<u64>,
    ) -> Result<Leaves<'c>> {
        let scalars = scalars(ty)?;
        let size = scalars[0].1.size();
        self.prefetch(inst, first, step)?;
        if scalars.len() == 1 && step == size {
            let lanes = self.load_wide(first, self.memory_vector(scalars[0].1, self.width()), size, self.mask())?;
            return Ok(Leaves::from_slice(&[self.of_memory_lanes(scalars[0].1, lanes)?]));
        }
        if scalars.iter().any(|(_, scalar)| scalar.size() != size) {
            return self.gather(inst, ty);
        }
        let (width, n) = (u64::from(self.width()), step / size);
        let common = self.common_type(&scalars);
        let are_triples = self.are_triples(&scalars, n);
        if n > MAX_INTERLEAVED || are_triples {
            let columns = if are_triples {
                self.load_triples(first, common)?
            } else if self.mask().is_some() || !are_rows(&scalars) || width % 4 != 0 {
                return self.gather(inst, ty);
            } else {
                self.load_rows(first, common, [scalars.len() as u64, size, step])?
            };
            let leaf = |(&(_, scalar), lanes): (&(u64, Scalar), VectorValue<'c>)| {
                let ty = self.memory_vector(scalar, self.width());
                self.of_memory_lanes(scalar, as_lanes(self.builder.build_bit_cast(lanes, ty, "")?))
            };
            return scalars.iter().zip(columns).map(leaf).collect();
        }
        // Whole elements where they are known to be there: their number of scalars is a round one.
        let (ptr, start, count) = match offset.filter(|offset| offset % size == 0) {
            Some(offset) => (self.before(first, offset)?, offset / size, width * n),
            None => {
                let last = scalars.iter().map(|(at, _)| at / size).max().unwrap_or(0);
                (first, 0, (width - 1) * n + last + 1)
            }
        };
        let mask = self.mask().map(|mask| self.spread(mask, n, count)).transpose()?;
        let wide = self.load_wide(ptr, vector(common, count as u32)?, size, mask)?;
        let mut leaves = Leaves::new();
        for &(at, scalar) in &scalars {
            let picked = (0..width).map(|lane| (lane * n + start + at / size) as u32);
            let lanes = self.shuffle(wide, None, picked)?;
            let ty = self.memory_vector(scalar, self.width());
            let lanes = as_lanes(self.builder.build_bit_cast(lanes, ty, "")?);
            leaves.push(self.of_memory_lanes(scalar, lanes)?);
        }
        Ok(leaves)
    }

    fn store_neighbors(
        &mut self,
        inst: &Inst,
        first: PointerValue<'c>,
        ty: Type,
        step: u64,
        value: Value,
    ) -> Result<()> {
        let scalars = scalars(ty)?;
        let size = scalars[0].1.size();
        let n = (step / size) as usize;
        let is_dense = n == scalars.len() && (0u64..).zip(&scalars).all(|(i, s)| s.0 == i * size && s.1.size() == size);
        if !is_dense {
            return self.scatter(inst, ty, value);
        }
        let is_in_rows = n as u64 > MAX_INTERLEAVED;
        if is_in_rows && (self.mask().is_some() || !are_rows(&scalars) || !self.width().is_multiple_of(4)) {
            return self.scatter(inst, ty, value);
        }
        let leaves = self.widened(value)?;
        let common = self.common_type(&scalars);
        let mut parts = Vec::new();
        for (&(_, scalar), leaf) in scalars.iter().zip(leaves) {
            let lanes = self.memory_lanes(scalar, leaf)?;
            let lanes = self.builder.build_bit_cast(lanes, vector(common, self.width())?, "")?;
            parts.push(as_lanes(lanes));
        }
        if is_in_rows {
            return self.store_rows(first, &parts, size, step);
        }
        let width = self.width() as usize;
        let are_triples = self.are_triples(&scalars, n as u64);
        if are_triples {
            parts = self.triples_in_order(&parts)?;
        }
        // One vector that holds all, then every scalar to its place.
        let mut wide = self.joined(parts)?;
        let mut mask = self.mask();
        if n > 1 {
            let from = |at: usize| if are_triples { at } else { at % n * width + at / n };
            wide = self.shuffle(wide, None, (0..n * width).map(|at| from(at) as u32))?;
            mask = mask.map(|mask| self.spread(mask, n as u64, (n * width) as u64)).transpose()?;
        }
        let Some(mask) = mask else { return self.store_wide(inst.operands[0], first, wide, size) };
        let types = [wide.get_type().into(), types::pointer(self.ctx).into()];
        let call = self.call("llvm.masked.store", &types, &[wide.into(), first.into(), as_lanes(mask).into()])?;
        self.aligned(call, 1, size);
        Ok(())
    }

    /// A mask of lanes as one of scalars, `n` a lane.
    fn spread(&self, mask: IntValue<'c>, n: u64, count: u64) -> Result<IntValue<'c>> {
        if n == 1 {
            return Ok(mask);
        }
        as_int(self.shuffle(as_lanes(mask), None, (0..count).map(|at| (at / n) as u32))?.into())
    }

    pub(super) fn load_wide(
        &self,
        ptr: PointerValue<'c>,
        ty: VectorType<'c>,
        align: u64,
        mask: Option<IntValue<'c>>,
    ) -> Result<VectorValue<'c>> {
        let Some(mask) = mask else {
            let lanes = self.builder.build_load(ty, ptr, "")?;
            if let Some(load) = lanes.as_instruction_value() {
                load.set_alignment(align as u32).map_err(|error| Error::llvm("alignment", error))?;
            }
            return Ok(as_lanes(lanes));
        };
        let args = [ptr.into(), as_lanes(mask).into(), ty.const_zero().into()];
        let call = self.call("llvm.masked.load", &[ty.into(), types::pointer(self.ctx).into()], &args)?;
        self.aligned(call, 0, align);
        Ok(as_lanes(call.try_as_basic_value().unwrap_basic()))
    }

    // ---- anywhere

    fn gather(&mut self, inst: &Inst, ty: Type) -> Result<Leaves<'c>> {
        let pointers = self.lane_pointers(inst)?;
        let mut leaves = Leaves::new();
        for (at, scalar) in scalars(ty)? {
            let from = self.at_byte_lanes(pointers, at)?;
            let lanes = self.gather_lanes(from, self.memory_vector(scalar, self.width()), scalar.size())?;
            leaves.push(self.of_memory_lanes(scalar, lanes)?);
        }
        Ok(leaves)
    }

    fn scatter(&mut self, inst: &Inst, ty: Type, value: Value) -> Result<()> {
        let pointers = self.lane_pointers(inst)?;
        for ((at, scalar), leaf) in scalars(ty)?.into_iter().zip(self.widened(value)?) {
            let to = self.at_byte_lanes(pointers, at)?;
            self.scatter_lanes(to, self.memory_lanes(scalar, leaf)?, scalar.size())?;
        }
        Ok(())
    }

    /// One scalar of each lane that is on, from addresses that are multiples of `align`.
    pub(super) fn gather_lanes(
        &self,
        from: VectorValue<'c>,
        ty: VectorType<'c>,
        align: u64,
    ) -> Result<VectorValue<'c>> {
        let mask = as_lanes(self.mask().unwrap_or_else(|| self.all_lanes()));
        let args = [from.into(), mask.into(), ty.const_zero().into()];
        let call = self.call("llvm.masked.gather", &[ty.into(), from.get_type().into()], &args)?;
        self.aligned(call, 0, align);
        Ok(as_lanes(call.try_as_basic_value().unwrap_basic()))
    }

    pub(super) fn scatter_lanes(&self, to: VectorValue<'c>, lanes: VectorValue<'c>, align: u64) -> Result<()> {
        let mask = as_lanes(self.mask().unwrap_or_else(|| self.all_lanes()));
        let types = [lanes.get_type().into(), to.get_type().into()];
        let call = self.call("llvm.masked.scatter", &types, &[lanes.into(), to.into(), mask.into()])?;
        self.aligned(call, 1, align);
        Ok(())
    }

    /// The address of each lane's piece.
    pub(super) fn lane_pointers(&mut self, inst: &Inst) -> Result<VectorValue<'c>> {
        let array = self.array(inst.operands[0])?;
        let (_, indices, path_indices, _) = inst.access(array.strides.len());
        let (mut base, mut total) = (array.base, None);
        for (&index, &stride) in indices.iter().zip(&array.strides) {
            if self.lanes(index) == Lanes::Uniform {
                base = self.at(base, self.builder.build_int_nsw_mul(self.int(index)?, stride, "")?)?;
            } else {
                let stride = as_int(self.splat_lanes(stride.into(), self.width())?)?;
                let offset = self.builder.build_int_mul(self.wide_int(index)?, stride, "")?;
                total = Some(self.plus(total, offset)?);
            }
        }
        let (mut ty, mut fixed, mut dynamic) = (array.elem, 0, path_indices.iter());
        let mut next = || dynamic.next().copied().ok_or_else(|| Error::Invalid("a path lacks an index".into()));
        for &step in inst.path() {
            let number = if let PathElem::Static(number) = step { number as usize } else { 0 };
            let piece = ty.component(number).ok_or_else(|| Error::Invalid(format!("{ty} has no component")))?;
            match step {
                PathElem::Static(_) => fixed += ty.offset(number),
                PathElem::Dynamic => {
                    let mut index = self.wide_int(next()?)?;
                    let all = |n: u64| crate::llvm::lanes::number(index.get_type(), n);
                    let (cols, size) = if let TypeKind::Matrix { cols, .. } = ty.kind() {
                        (Some(all(u64::from(*cols))), all(piece.size()))
                    } else {
                        (None, all(piece.size()))
                    };
                    if let Some(cols) = cols {
                        let start = self.builder.build_int_mul(index, cols, "")?;
                        index = self.builder.build_int_add(start, self.wide_int(next()?)?, "")?;
                    }
                    total = Some(self.plus(total, self.builder.build_int_mul(index, size, "")?)?);
                }
            }
            ty = piece;
        }
        let base = self.at_byte(base, fixed)?;
        let zero = || steps(self.ctx.i64_type(), self.width(), 0);
        self.offset_lanes(base, total.unwrap_or_else(zero))
    }

    pub(super) fn plus(&self, x: Option<IntValue<'c>>, y: IntValue<'c>) -> Result<IntValue<'c>> {
        Ok(match x {
            Some(x) => self.builder.build_int_add(x, y, "")?,
            None => y,
        })
    }

    pub(super) fn offset_lanes(&self, base: PointerValue<'c>, offsets: IntValue<'c>) -> Result<VectorValue<'c>> {
        // SAFETY: LLVM's precondition, not Rust's: without `inbounds` any offset is defined.
        Ok(as_lanes(unsafe { self.builder.build_gep(self.ctx.i8_type(), base, &[offsets], "")? }))
    }

    fn at_byte_lanes(&self, pointers: VectorValue<'c>, offset: u64) -> Result<VectorValue<'c>> {
        if offset == 0 {
            return Ok(pointers);
        }
        // SAFETY: a vector of pointers, and LLVM adds the offset to each.
        let base = unsafe { PointerValue::new(inkwell::values::AsValueRef::as_value_ref(&pointers)) };
        self.offset_lanes(base, self.i64(offset))
    }

    fn before(&self, ptr: PointerValue<'c>, offset: u64) -> Result<PointerValue<'c>> {
        if offset == 0 {
            return Ok(ptr);
        }
        // SAFETY: as above.
        Ok(unsafe { self.builder.build_gep(self.ctx.i8_type(), ptr, &[self.i64(offset.wrapping_neg())], "")? })
    }

    // ---- one address

    /// All lanes store to one place: what the last of them stores stays.
    fn store_last(&mut self, ptr: PointerValue<'c>, ty: Type, value: Value) -> Result<()> {
        if self.lanes(value) == Lanes::Uniform {
            let value = self.narrow_value(value)?;
            return self.store_value(ptr, ty, &value);
        }
        let last = match self.mask() {
            None => self.ctx.i32_type().const_int(u64::from(self.width()) - 1, false),
            Some(mask) => {
                let bits = self.builder.build_int_z_extend(self.bits(mask)?, self.ctx.i32_type(), "")?;
                let args = [bits.into(), self.ctx.bool_type().const_zero().into()];
                let call = self.call("llvm.ctlz", &[self.ctx.i32_type().into()], &args)?;
                let zeros = as_int(call.try_as_basic_value().unwrap_basic())?;
                self.builder.build_int_sub(self.ctx.i32_type().const_int(31, false), zeros, "")?
            }
        };
        let lanes = self.widened(value)?;
        let leaves = lanes.into_iter().map(|leaf| Ok(self.builder.build_extract_element(as_lanes(leaf), last, "")?));
        let leaves = Lowered::Leaves(leaves.collect::<Result<_>>()?);
        self.store_value(ptr, ty, &leaves)
    }
}

/// The scalars of a piece of memory and where they lie.
pub(crate) fn scalars(ty: Type) -> Result<Vec<(u64, Scalar)>> {
    let all = ty.leaves().into_iter().map(|leaf| match leaf.kind {
        LeafKind::Scalar(scalar) if !is_big(ty) => Ok((leaf.offset, scalar)),
        _ => Err(Error::Invalid(format!("a gang accesses {ty}"))),
    });
    all.collect::<Result<Vec<_>>>()
}

/// The type that a path leads to, and its offset where that is fixed.
pub(super) fn piece(elem: Type, path: &[PathElem]) -> Result<(Type, Option<u64>)> {
    let (mut ty, mut offset) = (elem, Some(0));
    for &step in path {
        let number = if let PathElem::Static(number) = step { number as usize } else { 0 };
        let piece = ty.component(number).ok_or_else(|| Error::Invalid(format!("{ty} has no component {number}")))?;
        offset = match step {
            PathElem::Static(_) => offset.map(|offset| offset + ty.offset(number)),
            PathElem::Dynamic => None,
        };
        ty = piece;
    }
    Ok((ty, offset))
}

/// Whether scalars lie one after the other, enough of them to be moved in rows, few enough for the registers.
fn are_rows(scalars: &[(u64, Scalar)]) -> bool {
    let size = scalars[0].1.size();
    let is_dense = (0u64..).zip(scalars).all(|(i, &(at, scalar))| at == i * size && scalar.size() == size);
    is_dense && size >= 4 && (4..=16).contains(&scalars.len())
}

/// Whether lanes so many bytes apart are worth a wide access and shuffles.
pub(super) fn is_wide_access(ty: Type, step: u64) -> bool {
    let Ok(scalars) = scalars(ty) else { return false };
    let Some(&(_, first)) = scalars.first() else { return false };
    let size = first.size();
    step.is_multiple_of(size)
        && (step / size <= MAX_INTERLEAVED || are_rows(&scalars))
        && scalars.iter().all(|(at, scalar)| scalar.size() == size && at % size == 0 && at + size <= step)
}
