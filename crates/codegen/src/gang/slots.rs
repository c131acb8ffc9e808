//! Memory in which values leave a construct of control flow; LLVM's own pass turns it into registers.

use crate::llvm::Lowering;
use crate::llvm::lanes::{as_int, as_lanes};
use crate::llvm::types::{self, Leaf};
use crate::llvm::value::{Leaves, Lowered};
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{AsValueRef, IntValue, PointerValue};
use ir::Value;
/// The memory of one value, leaf by leaf.
#[derive(Clone)]
pub(super) struct Slots<'c> {
    pub leaves: Vec<(PointerValue<'c>, BasicTypeEnum<'c>)>,
    pub is_wide: bool,
}

impl<'c> Lowering<'c, '_> {
    pub(super) fn new_slots(&mut self, values: &[Value]) -> Result<Vec<Slots<'c>>> {
        let mut all = Vec::with_capacity(values.len());
        for &value in values {
            let is_wide = self.lanes(value) == Lanes::Varying;
            let mut leaves = Vec::new();
            for leaf in self.func.ty(value).leaves() {
                let ty = types::leaf_type(self.ctx, leaf.kind);
                let zero = if is_wide { self.splat_lanes(ty.const_zero(), self.width())? } else { ty.const_zero() };
                leaves.push((self.new_slot(zero)?, zero.get_type()));
            }
            all.push(Slots { leaves, is_wide });
        }
        Ok(all)
    }

    pub(super) fn new_slot(&mut self, first: impl inkwell::values::BasicValue<'c>) -> Result<PointerValue<'c>> {
        let first = first.as_basic_value_enum();
        // SAFETY: a live value; asked again because an integer here may be a vector.
        let first = unsafe { Leaf::new(first.as_value_ref()) };
        let slot = self.allocas.build_alloca(first.get_type(), "")?;
        self.builder.build_store(slot, first)?;
        Ok(slot)
    }

    pub(super) fn load_mask(&self, slot: PointerValue<'c>) -> Result<IntValue<'c>> {
        as_int(self.builder.build_load(as_lanes(self.no_lanes()).get_type(), slot, "")?)
    }

    pub(super) fn store_slots(&self, slots: &[Slots<'c>], values: &[Value], mask: Option<IntValue<'c>>) -> Result<()> {
        // All are read before the first is written: a loop may hand its own values round.
        let mut new = Vec::with_capacity(values.len());
        for (slot, &value) in slots.iter().zip(values) {
            new.push(match self.narrow_value(value)? {
                _ if slot.is_wide => self.widened(value)?,
                Lowered::Leaves(leaves) => leaves,
                Lowered::Memory(_) => return Err(Error::Invalid("a value is too large for a gang".into())),
            });
        }
        for (slot, leaves) in slots.iter().zip(new) {
            for (&(at, ty), mut leaf) in slot.leaves.iter().zip(leaves) {
                if let (true, Some(mask)) = (slot.is_wide, mask) {
                    leaf = self.select(mask, leaf, self.builder.build_load(ty, at, "")?)?;
                }
                self.builder.build_store(at, leaf)?;
            }
        }
        Ok(())
    }

    /// Stores what an arm yields, in all lanes.
    pub(super) fn store_leaves(&self, slots: &[Slots<'c>], yields: Vec<Leaves<'c>>) -> Result<()> {
        for (slot, leaves) in slots.iter().zip(yields) {
            for (&(at, _), leaf) in slot.leaves.iter().zip(leaves) {
                let leaf = if slot.is_wide { self.splat_lanes(leaf, self.width())? } else { leaf };
                self.builder.build_store(at, leaf)?;
            }
        }
        Ok(())
    }

    pub(super) fn load_slots(&self, slots: &Slots<'c>) -> Result<Leaves<'c>> {
        slots.leaves.iter().map(|&(at, ty)| Ok(self.builder.build_load(ty, at, "")?)).collect()
    }

    pub(super) fn define_from(&mut self, values: &[Value], slots: &[Slots<'c>]) -> Result<()> {
        for (&value, slot) in values.iter().zip(slots) {
            let leaves = self.load_slots(slot)?;
            self.define(value, Lowered::Leaves(leaves));
            self.gang_mut()?.exact[value.index()] = None;
        }
        Ok(())
    }
}
