//! What LLVM is told about loops.

use super::Lowering;
use analysis::{Lanes, Uniformity};
use inkwell::values::{AsValueRef, InstructionValue};
use ir::op::Effect;
use ir::{Inst, Op};
use llvm_sys::core::{
    LLVMGetMDKindIDInContext, LLVMMDNodeInContext2, LLVMMDStringInContext2, LLVMMetadataAsValue,
    LLVMReplaceMDNodeOperandWith, LLVMSetMetadata,
};

impl<'c> Lowering<'c, '_> {
    /// Keeps LLVM from running several rounds at a time of a loop that `transform::batch_reads` has looked at: it took
    /// what pays, and what it left are few rounds, or those of a batch one by one, where it seldom comes to that. On the
    /// CPU, of one that threads leave apart: each thread would pay for a wrong guess at the end of either loop.
    pub(crate) fn mark_loop(&self, inst: &Inst, latch: InstructionValue<'c>) {
        let insts = &self.func.region(inst.regions[0]).insts;
        let (mut reads, mut is_straight) = (false, true);
        for &id in insts {
            let inst = self.func.inst(id);
            reads |= inst.op == Op::Load;
            is_straight &= inst.regions.is_empty() && !matches!(inst.op.effect(), Effect::Write | Effect::Sync);
        }
        let leaves = |lanes: &Uniformity| inst.operands[..3].iter().any(|&bound| lanes.lanes(bound) != Lanes::Uniform);
        let parts = self.alone.as_ref().is_some_and(leaves);
        if !parts && (self.device.is_none() || !reads || !is_straight) {
            return;
        }
        let is_rare = self.counts_from_its_start(inst);
        let text = if is_rare { c"llvm.loop.unroll.disable" } else { c"llvm.loop.unroll.runtime.disable" };
        let kind = c"llvm.loop";
        // SAFETY: a live context and instruction, and nodes of that context; a loop's first operand is the loop itself.
        unsafe {
            let ctx = self.ctx.raw();
            let hint = LLVMMDStringInContext2(ctx, text.as_ptr(), text.count_bytes());
            let hint = LLVMMDNodeInContext2(ctx, [hint].as_mut_ptr(), 1);
            let node = LLVMMDNodeInContext2(ctx, [hint, hint].as_mut_ptr(), 2);
            let value = LLVMMetadataAsValue(ctx, node);
            LLVMReplaceMDNodeOperandWith(value, 0, node);
            let kind = LLVMGetMDKindIDInContext(ctx, kind.as_ptr(), kind.count_bytes() as u32);
            LLVMSetMetadata(latch.as_value_ref(), kind, value);
        }
    }

    /// Whether a loop has a number of rounds that is known, wherever it starts.
    fn counts_from_its_start(&self, inst: &Inst) -> bool {
        let (lo, hi) = (inst.operands[0], inst.operands[1]);
        let sum = self.def(hi).filter(|sum| sum.op == Op::Add && sum.operands[0] == lo);
        sum.is_some_and(|sum| self.func.as_const(sum.operands[1]).is_some())
    }
}
