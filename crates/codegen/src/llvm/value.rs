//! Values as leaves, or in memory where they have too many.
//!
//! A value in memory never changes after its op ran, so parts of it may be shared without a copy. What crosses a merge
//! of control flow is copied, because the slots of a loop's body are used again in the next round.

pub(crate) use super::lanes::{as_int, as_pointer};
use super::lanes::{is_double, n_lanes};
use super::types::{self, Leaf};
use super::{Lowering, MAX_STACK};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::values::{BasicValue, FloatValue, IntValue, PointerValue};
use ir::{LeafKind, Scalar, Type, Value};
use smallvec::SmallVec;

/// A value of more leaves than this lives in memory.
pub(crate) const MAX_LEAVES: usize = 64;

pub(crate) type Leaves<'c> = SmallVec<[Leaf<'c>; 4]>;

#[derive(Clone, Debug)]
pub(crate) enum Lowered<'c> {
    Leaves(Leaves<'c>),
    /// Laid out as `ir::layout` says.
    Memory(PointerValue<'c>),
}

impl<'c> From<Leaf<'c>> for Lowered<'c> {
    fn from(leaf: Leaf<'c>) -> Self {
        Lowered::Leaves(smallvec::smallvec![leaf])
    }
}

impl<'c> From<IntValue<'c>> for Lowered<'c> {
    fn from(leaf: IntValue<'c>) -> Self {
        Leaf::from(leaf).into()
    }
}

/// Whether values of a type live in memory.
pub(crate) fn is_big(ty: Type) -> bool {
    ty.n_leaves() > MAX_LEAVES
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn value(&self, value: Value) -> Result<Lowered<'c>> {
        if self.is_wide() {
            return self.widened(value).map(Lowered::Leaves);
        }
        self.narrow_value(value)
    }

    /// A value as it was defined: in a gang that of the first lane where lanes differ by a constant or not at all.
    pub(crate) fn narrow_value(&self, value: Value) -> Result<Lowered<'c>> {
        self.values[value.index()]
            .clone()
            .ok_or_else(|| Error::Invalid(format!("v{} is used before it is set", value.0)))
    }

    /// The leaves of a value that does not live in memory.
    pub(crate) fn leaves(&self, value: Value) -> Result<Leaves<'c>> {
        match self.value(value)? {
            Lowered::Leaves(leaves) => Ok(leaves),
            Lowered::Memory(_) => Err(Error::Invalid(format!("v{} is too large here", value.0))),
        }
    }

    /// The only leaf of a scalar.
    pub(crate) fn leaf(&self, value: Value) -> Result<Leaf<'c>> {
        match &self.value(value) {
            Ok(Lowered::Leaves(leaves)) if leaves.len() == 1 => Ok(leaves[0]),
            _ => Err(Error::Invalid(format!("v{} is no scalar", value.0))),
        }
    }

    pub(crate) fn int(&self, value: Value) -> Result<IntValue<'c>> {
        as_int(self.leaf(value)?)
    }

    pub(crate) fn i64(&self, value: u64) -> IntValue<'c> {
        self.ctx.i64_type().const_int(value, false)
    }

    /// Memory of this thread, reserved once in the function's first block.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<PointerValue<'c>> {
        let n_words = bytes.div_ceil(8).max(1);
        self.stack = self.stack.saturating_add(n_words.saturating_mul(8));
        if self.stack > MAX_STACK {
            let name = &self.func.name;
            return Err(Error::TooLarge(format!(
                "kernel `{name}` needs more than {MAX_STACK} bytes of local arrays and large matrices a thread"
            )));
        }
        let ty = self.ctx.i64_type().array_type(n_words as u32);
        Ok(self.allocas.build_alloca(ty, "")?)
    }

    pub(crate) fn slot(&mut self, ty: Type) -> Result<PointerValue<'c>> {
        self.reserve(ty.size())
    }

    pub(crate) fn at(&self, base: PointerValue<'c>, offset: IntValue<'c>) -> Result<PointerValue<'c>> {
        // SAFETY: LLVM's precondition, not Rust's: the IR promises that accesses are in range.
        Ok(unsafe { self.builder.build_in_bounds_gep(self.ctx.i8_type(), base, &[offset], "")? })
    }

    pub(crate) fn at_byte(&self, base: PointerValue<'c>, offset: u64) -> Result<PointerValue<'c>> {
        if offset == 0 { Ok(base) } else { self.at(base, self.i64(offset)) }
    }

    pub(crate) fn load_leaf(&self, ptr: PointerValue<'c>, kind: LeafKind) -> Result<Leaf<'c>> {
        if kind == LeafKind::Scalar(Scalar::Bool) {
            let byte = self.builder.build_load(self.ctx.i8_type(), ptr, "")?.into_int_value();
            let zero = self.ctx.i8_type().const_zero();
            return Ok(self.builder.build_int_compare(IntPredicate::NE, byte, zero, "")?.into());
        }
        Ok(self.builder.build_load(types::leaf_type(self.ctx, kind), ptr, "")?)
    }

    pub(crate) fn store_leaf(&self, ptr: PointerValue<'c>, kind: LeafKind, leaf: Leaf<'c>) -> Result<()> {
        let leaf = match kind {
            LeafKind::Scalar(Scalar::Bool) => {
                self.builder.build_int_z_extend(as_int(leaf)?, self.ctx.i8_type(), "")?.into()
            }
            _ => leaf,
        };
        self.builder.build_store(ptr, leaf)?;
        Ok(())
    }

    /// Reads a value; a big one is copied, since the memory may change later.
    pub(crate) fn load_value(&mut self, ptr: PointerValue<'c>, ty: Type) -> Result<Lowered<'c>> {
        if is_big(ty) {
            let slot = self.slot(ty)?;
            self.copy(slot, ptr, ty)?;
            return Ok(Lowered::Memory(slot));
        }
        if self.is_octet(ty) {
            let register = self.builder.build_load(self.octet_type(), ptr, "")?.into_vector_value();
            if let Some(load) = register.as_instruction() {
                load.set_alignment(4).map_err(|error| Error::llvm("alignment", error.to_string()))?;
            }
            return self.unpack(register);
        }
        self.load_leaves(ptr, ty).map(Lowered::Leaves)
    }

    pub(crate) fn load_leaves(&self, ptr: PointerValue<'c>, ty: Type) -> Result<Leaves<'c>> {
        ty.leaves().into_iter().map(|leaf| self.load_leaf(self.at_byte(ptr, leaf.offset)?, leaf.kind)).collect()
    }

    pub(crate) fn store_value(&self, ptr: PointerValue<'c>, ty: Type, value: &Lowered<'c>) -> Result<()> {
        match value {
            Lowered::Memory(from) => self.copy(ptr, *from, ty),
            Lowered::Leaves(leaves) if self.is_octet(ty) => {
                let store = self.builder.build_store(ptr, self.pack(leaves)?)?;
                store.set_alignment(4).map_err(|error| Error::llvm("alignment", error.to_string()))
            }
            Lowered::Leaves(leaves) => {
                for (leaf, &value) in ty.leaves().into_iter().zip(leaves) {
                    self.store_leaf(self.at_byte(ptr, leaf.offset)?, leaf.kind, value)?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn copy(&self, to: PointerValue<'c>, from: PointerValue<'c>, ty: Type) -> Result<()> {
        if to != from {
            let align = ty.align() as u32;
            self.builder.build_memcpy(to, align, from, align, self.i64(ty.size()))?;
        }
        Ok(())
    }

    /// A value's bytes in memory that nothing writes to.
    pub(crate) fn in_memory(&mut self, value: &Lowered<'c>, ty: Type) -> Result<PointerValue<'c>> {
        if let Lowered::Memory(ptr) = value {
            return Ok(*ptr);
        }
        let slot = self.slot(ty)?;
        self.store_value(slot, ty, value)?;
        Ok(slot)
    }

    /// The value whose bytes a fresh slot holds.
    pub(crate) fn of_memory(&self, slot: PointerValue<'c>, ty: Type) -> Result<Lowered<'c>> {
        if is_big(ty) { Ok(Lowered::Memory(slot)) } else { self.load_leaves(slot, ty).map(Lowered::Leaves) }
    }

    /// Emits `for i in 0..n { body(i) }`.
    pub(crate) fn repeat(&self, n: u64, body: impl FnOnce(IntValue<'c>) -> Result<()>) -> Result<()> {
        let b = &self.builder;
        let before = b.get_insert_block().ok_or_else(|| Error::Invalid("no block to append to".into()))?;
        let (head, after) = (self.block(), self.block());
        b.build_unconditional_branch(head)?;
        b.position_at_end(head);
        let phi = b.build_phi(self.ctx.i64_type(), "")?;
        let i = phi.as_basic_value().into_int_value();
        body(i)?;
        let next = b.build_int_nuw_add(i, self.i64(1), "")?;
        let more = b.build_int_compare(IntPredicate::ULT, next, self.i64(n), "")?;
        let last = b.get_insert_block().ok_or_else(|| Error::Invalid("no block to append to".into()))?;
        phi.add_incoming(&[(&self.i64(0), before), (&next, last)]);
        b.build_conditional_branch(more, head, after)?;
        b.position_at_end(after);
        Ok(())
    }

    pub(crate) fn select(&self, condition: IntValue<'c>, a: Leaf<'c>, b: Leaf<'c>) -> Result<Leaf<'c>> {
        let (mut a, mut b) = self.same_shape(a, b)?;
        if let Some(lanes) = n_lanes(&condition) {
            (a, b) = (self.splat_lanes(a, lanes)?, self.splat_lanes(b, lanes)?);
        }
        Ok(self.builder.build_select(condition, a, b, "")?)
    }

    pub(crate) fn select_int(&self, c: IntValue<'c>, a: IntValue<'c>, b: IntValue<'c>) -> Result<IntValue<'c>> {
        as_int(self.select(c, a.into(), b.into())?)
    }

    /// Gives a float instruction the freedoms of fast math, where the module asks for it. Those on f64 keep their order:
    /// the expanded math functions rely on it, and whoever computes in f64 wants its accuracy.
    pub(crate) fn flagged(&self, value: FloatValue<'c>) -> FloatValue<'c> {
        if let (Some(flags), Some(inst)) = (self.fast, value.as_instruction_value())
            && !is_double(&value)
            && inst.can_use_fast_math_flags()
        {
            // Cannot fail: the instruction was just asked.
            let _ = inst.set_fast_math_flags(flags);
        }
        value
    }
}
