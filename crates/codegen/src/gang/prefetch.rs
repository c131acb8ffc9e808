//! Asks for what later gangs will load. A processor's own prefetching follows a stream at the rate at which it is read,
//! which is not ahead of a kernel that computes between its loads; it starts anew at each page.
//!
//! In: a load of neighbors that every gang of a row repeats, further on. Out: the same, and a hint for each line that the
//! gang [`AHEAD`] gangs later touches. What lies past an array's end is asked for in vain.

use crate::Result;
use crate::llvm::Lowering;
use crate::llvm::types;
use inkwell::values::PointerValue;
use ir::{Function, Inst, RegionId, Value};

/// Gangs from one load to the one it is asked for.
const AHEAD: u64 = 8;
const LINE: u64 = 64;
/// Kernels of fewer instructions wait for memory anyway, whose rate no hint changes.
const MIN_INSTS: usize = 24;

/// Whether a kernel computes enough between its loads.
pub(super) fn is_worth_it(func: &Function) -> bool {
    fn count(func: &Function, region: RegionId) -> usize {
        let insts = &func.region(region).insts;
        let inner = insts.iter().flat_map(|&id| &func.inst(id).regions).map(|&inner| count(func, inner));
        insts.len() + inner.sum::<usize>()
    }
    count(func, func.body) >= MIN_INSTS
}

impl<'c> Lowering<'c, '_> {
    /// Hints for a load whose first lane is at `first`, lanes `step` bytes apart. One is enough for each place but for the last
    /// index.
    pub(super) fn prefetch(&mut self, inst: &Inst, first: PointerValue<'c>, step: u64) -> Result<()> {
        if !self.abilities.prefetches || self.block.is_some() || self.mask().is_some() || self.is_in_loop()? {
            return Ok(());
        }
        let rank = self.func.ty(inst.operands[0]).as_array().map_or(0, |(_, rank)| rank as usize);
        let place: Vec<Value> = inst.operands[..rank.max(1)].to_vec();
        let gang = self.gang_mut()?;
        if !gang.is_prefetched.as_mut().is_some_and(|known| known.insert(place)) {
            return Ok(());
        }
        let bytes = step * u64::from(self.width());
        let int = |n| self.ctx.i32_type().const_int(n, false);
        for line in (0..bytes).step_by(LINE as usize) {
            let offset = self.i64(AHEAD * bytes + line);
            // SAFETY: LLVM's precondition, not Rust's: without `inbounds` any offset is defined.
            let at = unsafe { self.builder.build_gep(self.ctx.i8_type(), first, &[offset], "")? };
            // For reading, into all caches, data.
            let args = [at.into(), int(0).into(), int(3).into(), int(1).into()];
            self.call("llvm.prefetch", &[types::pointer(self.ctx).into()], &args)?;
        }
        Ok(())
    }
}
