//! Block programs on the CPU: one thread of the machine runs a thread block, one after the other.
//!
//! In: a block program (`transform::fission`). Out: a `BlockEntryPoint` of `runtime::abi`. The program's own code runs
//! once for a block; each `threads` is three loops over the block's threads, the innermost along x in gangs where
//! that pays:
//!
//! ```text
//! for b in begin..end:                     index of b by divisions, once a block
//!     program, and for each of its `threads`:
//!         for z, for y, for x:             region with thread index (x, y, z)
//! ```
//!
//! Memory for shared arrays and for what threads keep comes from the runtime, a piece for each machine thread that the
//! next block uses again.

use crate::Note;
use crate::gang::{Gang, Reason, can_widen_region, explain_region, width};
use crate::host::{cpu, gathers};
use crate::llvm::types::pointer;
use crate::llvm::value::Lowered;
use crate::llvm::{Lowering, attr_index};
use crate::{Error, Isa, Result};
use analysis::Uniformity;
use diagnostics::Span;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PhiValue, PointerValue};
use inkwell::{AtomicOrdering, IntPredicate as Is};
use ir::op::Effect;
use ir::{Attr, Function, Inst, InstId, Op, Value};
use shape::Shape;
use smallvec::SmallVec;

/// Threads that `thread_slots` has elements for besides those of the block.
const SPARE: u64 = 64;

mod shape;
mod threads;

/// What a block program knows while it runs.
pub(crate) struct Block<'c> {
    /// Index of the block, extents of a block and of the grid.
    index: [IntValue<'c>; 3],
    extents: [IntValue<'c>; 3],
    grid: [IntValue<'c>; 3],
    memory: Memory<'c>,
    /// Lowers gangs; taken while one is being lowered.
    gang: Option<Box<Gang<'c>>>,
    /// The `threads` that run as gangs.
    wide: Vec<InstId>,
    has_checks: bool,
    launch: Launch,
}

/// The block's memory: what threads keep, then shared arrays, then dynamic shared memory.
#[derive(Clone)]
struct Memory<'c> {
    slots: PointerValue<'c>,
    /// Elements of each array of slots.
    n_padded: IntValue<'c>,
    shared: PointerValue<'c>,
    dynamic: PointerValue<'c>,
    n_dynamic: IntValue<'c>,
}

/// Which `threads` of a program run as gangs, how wide, and why the others do not.
pub(crate) struct Plan {
    pub uniformity: Uniformity,
    pub width: u32,
    pub wide: Vec<InstId>,
    pub refused: Vec<(InstId, Reason)>,
}

impl Plan {
    pub(crate) fn new(func: &Function, uniformity: Uniformity, fixed_width: Option<u32>, isa: Isa) -> Plan {
        let mut plan = Plan { width: 1, wide: Vec::new(), refused: Vec::new(), uniformity };
        let Some(width) = fixed_width.or_else(|| width(func, &plan.uniformity, cpu(isa).1)) else { return plan };
        plan.width = width;
        let gathers = fixed_width.is_none().then(|| gathers(isa));
        for id in all_threads(func) {
            let region = func.inst(id).regions[0];
            match can_widen_region(func, &plan.uniformity, region, gathers) {
                Ok(()) if width > 1 => plan.wide.push(id),
                Ok(()) => {}
                Err(reason) => plan.refused.push((id, reason)),
            }
        }
        plan
    }
}

/// What becomes of each stretch between two barriers.
pub(crate) fn explain(func: &Function, plan: &Plan) -> Vec<Note> {
    let all = all_threads(func);
    let plural = if all.len() == 1 { "stretch" } else { "stretches" };
    let text = format!("runs a thread block at a time, in {} {plural} of code between barriers", all.len());
    let mut notes = vec![Note { span: Span::NONE, text }];
    for id in all {
        let inst = func.inst(id);
        let reason = plan.refused.iter().find(|(refused, _)| *refused == id).map(|(_, reason)| reason);
        let text = match reason {
            None if plan.width > 1 => format!("stretch: {} threads at a time as lanes of vectors", plan.width),
            None => "stretch: each thread runs alone".into(),
            Some(reason) => format!("stretch: each thread runs alone: {}", reason.text),
        };
        notes.push(Note { span: reason.and_then(|r| r.inst).map_or(inst.span, |id| func.inst(id).span), text });
        if reason.is_none() && plan.width > 1 {
            explain_region(func, &plan.uniformity, inst.regions[0], &mut notes);
        }
    }
    notes
}

fn all_threads(func: &Function) -> Vec<InstId> {
    let listed = func.regions.iter().flat_map(|region| &region.insts).copied();
    listed.filter(|&id| func.inst(id).op == Op::Threads).collect()
}

/// Bytes that all shared arrays take, and those that each thread's slots take.
fn sizes(func: &Function) -> [u64; 2] {
    let size = |wanted: Op| {
        let listed = func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id));
        let sizes = listed.filter(|inst| inst.op == wanted).filter_map(|inst| array_size(func, inst));
        sizes.fold(0u64, |all, size| all.saturating_add(size.next_multiple_of(align(wanted))))
    };
    [size(Op::SharedArray), size(Op::ThreadSlots)]
}

/// Slots are counted in multiples of 64 elements, so that any size keeps them aligned.
fn align(op: Op) -> u64 {
    if op == Op::SharedArray { 64 } else { 1 }
}

fn array_size(func: &Function, inst: &Inst) -> Option<u64> {
    let Attr::Extents(extents) = &inst.attr else { return None };
    let (elem, _) = func.ty(inst.result()).as_array()?;
    Some(extents.iter().fold(elem.size(), |size, &n| size.saturating_mul(n)))
}

/// Where blocks are counted.
pub(crate) struct Shell<'c> {
    pub arguments: BasicBlock<'c>,
    head: BasicBlock<'c>,
    pub end: BasicBlock<'c>,
    count: PhiValue<'c>,
    exit: BasicBlock<'c>,
    start: BasicBlock<'c>,
    launch: Launch,
}

/// What a program is launched over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    Blocks,
    /// Threads, in blocks of `n` along rows of the launch.
    Threads {
        rank: u32,
        n: u32,
    },
}

impl<'c> Shell<'c> {
    pub(crate) fn new(lowering: &Lowering<'c, '_>, launch: Launch) -> Result<Shell<'c>> {
        let [start, arguments, head, end, exit] = [(); 5].map(|()| lowering.block());
        let b = lowering.ctx.create_builder();
        b.position_at_end(head);
        let count = b.build_phi(lowering.ctx.i64_type(), "block")?;
        Ok(Shell { arguments, head, end, count, exit, start, launch })
    }
}

impl<'c> Lowering<'c, '_> {
    /// Lowers a whole program; `args` are loaded by `load`.
    pub(crate) fn program(
        &mut self,
        shell: &Shell<'c>,
        plan: Plan,
        load: impl FnOnce(&mut Self, PointerValue<'c>) -> Result<()>,
    ) -> Result<()> {
        let [args, bounds, begin, end, _] = self.function.get_params()[..] else {
            return Err(Error::Invalid("an entry point takes five arguments".into()));
        };
        let range = [begin.into_int_value(), end.into_int_value()];
        self.builder.position_at_end(shell.start);
        let bounds = bounds.into_pointer_value();
        let Shape { grid, block, n_dynamic, begin, end, row } = match shell.launch {
            Launch::Blocks => self.shape_of_blocks(bounds, range)?,
            Launch::Threads { rank, n } => self.shape_of_threads(bounds, range, rank as usize, n)?,
        };
        let memory = self.block_memory(block, n_dynamic)?;
        let has_any = self.builder.build_int_compare(Is::SLT, begin, end, "")?;
        self.builder.build_conditional_branch(has_any, shell.arguments, shell.exit)?;
        self.builder.position_at_end(shell.arguments);
        load(self, args.into_pointer_value())?;
        let from = self.current()?;
        self.builder.build_unconditional_branch(shell.head)?;
        shell.count.add_incoming(&[(&begin, from)]);

        self.builder.position_at_end(shell.head);
        let number = shell.count.as_basic_value().into_int_value();
        let x = self.builder.build_int_unsigned_rem(number, grid[0], "")?;
        let line = self.builder.build_int_unsigned_div(number, grid[0], "")?;
        let y = self.builder.build_int_unsigned_rem(line, grid[1], "")?;
        let z = self.builder.build_int_unsigned_div(line, grid[1], "")?;
        let mut extents = block;
        if let Some(row) = row {
            extents[0] = self.threads_left(block[0], row, x)?;
        }
        let gang = Gang::new(self.func, plan.width, plan.uniformity);
        self.block = Some(Box::new(Block {
            index: [x, y, z],
            extents,
            grid,
            memory,
            gang: Some(Box::new(gang)),
            wide: plan.wide,
            has_checks: self.func.insts.iter().any(|inst| inst.op.effect() == Effect::Check),
            launch: shell.launch,
        }));
        self.thread.index[0] = number;
        self.region(self.func.body)?;

        self.builder.position_at_end(shell.end);
        let next = self.builder.build_int_nuw_add(number, self.i64(1), "")?;
        let mut more = self.builder.build_int_compare(Is::SLT, next, end, "")?;
        if let Some(failed) = self.has_failed()? {
            more = self.builder.build_and(more, self.builder.build_not(failed, "")?, "")?;
        }
        self.builder.build_conditional_branch(more, shell.head, shell.exit)?;
        shell.count.add_incoming(&[(&next, shell.end)]);
        self.builder.position_at_end(shell.exit);
        self.builder.build_return(None)?;
        self.allocas.build_unconditional_branch(shell.start)?;
        Ok(())
    }

    fn block_memory(&mut self, block: [IntValue<'c>; 3], n_dynamic: IntValue<'c>) -> Result<Memory<'c>> {
        let [shared, slots] = sizes(self.func);
        let b = &self.builder;
        let n_threads = b.build_int_mul(b.build_int_mul(block[0], block[1], "")?, block[2], "")?;
        let n_slots = b.build_int_add(n_threads, self.i64(SPARE), "")?;
        let up = b.build_int_add(n_slots, self.i64(63), "")?;
        let n_padded = b.build_and(up, self.i64(!63), "")?;
        let kept = b.build_int_mul(n_padded, self.i64(slots), "")?;
        let fixed = b.build_int_add(kept, self.i64(shared), "")?;
        let all = b.build_int_add(fixed, n_dynamic, "")?;
        let name = "gs_block_memory";
        let function = self.llvm.get_function(name).unwrap_or_else(|| {
            let ty = pointer(self.ctx).fn_type(&[self.ctx.i64_type().into()], false);
            let function = self.llvm.add_function(name, ty, None);
            let enum_attribute =
                |name, value| self.ctx.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value);
            function.add_attribute(AttributeLoc::Function, enum_attribute("nounwind", 0));
            function.add_attribute(AttributeLoc::Return, enum_attribute("noalias", 0));
            function.add_attribute(AttributeLoc::Return, enum_attribute("align", 64));
            function
        });
        let base = b.build_call(function, &[all.into()], "")?.try_as_basic_value().unwrap_basic().into_pointer_value();
        let (at_shared, at_dynamic) = (self.moved(base, kept)?, self.moved(base, fixed)?);
        Ok(Memory { slots: base, n_padded, shared: at_shared, dynamic: at_dynamic, n_dynamic })
    }

    /// The index of the thread at hand in the launch, as reports have it.
    pub(crate) fn reported_index(&self) -> Result<[IntValue<'c>; 4]> {
        let mut index = self.thread.index;
        let Some(Block { launch: Launch::Threads { rank, n }, index: block, .. }) = self.block.as_deref() else {
            return Ok(index);
        };
        let (b, last) = (&self.builder, *rank as usize - 1);
        let mut line = block[1];
        let thread = index[1];
        index.fill(self.i64(0));
        index[last] = b.build_int_add(b.build_int_mul(block[0], self.i64((*n).into()), "")?, thread, "")?;
        for dim in (0..last).rev() {
            let extent = self.thread.extents[dim];
            index[dim] = if dim == 0 { line } else { b.build_int_unsigned_rem(line, extent, "")? };
            line = b.build_int_unsigned_div(line, extent, "")?;
        }
        Ok(index)
    }

    /// Whether a check failed anywhere in the launch; nothing where the program has no checks.
    fn has_failed(&self) -> Result<Option<IntValue<'c>>> {
        if !self.block.as_ref().is_some_and(|block| block.has_checks) {
            return Ok(None);
        }
        // `Fault` begins with its flag.
        let flag = self.builder.build_load(self.ctx.i8_type(), self.thread.fault, "")?.into_int_value();
        Ok(Some(self.builder.build_int_compare(Is::NE, flag, flag.get_type().const_zero(), "")?))
    }

    fn block_program(&self) -> Result<&Block<'c>> {
        self.block.as_deref().ok_or_else(|| Error::Invalid("no block program".into()))
    }

    pub(crate) fn program_op(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        let dim = || attr_index(inst).map(|dim| dim as usize % 3);
        let lowered: Lowered<'c> = match inst.op {
            Op::Threads => return self.threads(id, inst),
            Op::CheckConverged => return self.check(inst),
            Op::Fence => {
                // One machine thread sees its own order; others see it where neither compiler nor processor changes it.
                self.builder.build_fence(AtomicOrdering::AcquireRelease, false, "")?;
                return Ok(());
            }
            Op::GridBarrier => {
                let ty = self.ctx.void_type().fn_type(&[], false);
                let name = "gs_grid_barrier";
                let function = self.llvm.get_function(name).unwrap_or_else(|| self.llvm.add_function(name, ty, None));
                self.builder.build_call(function, &[], "")?;
                return Ok(());
            }
            Op::ThreadIndex => self.thread.index[1 + dim()?].into(),
            Op::BlockIndex => self.block_program()?.index[dim()?].into(),
            Op::BlockExtent => self.block_program()?.extents[dim()?].into(),
            Op::GridExtent => self.block_program()?.grid[dim()?].into(),
            Op::SharedArray => self.memory_of(id, inst)?,
            Op::ThreadSlots => self.slots_of(id, inst)?,
            Op::DynamicShared => self.dynamic_shared_array(inst)?,
            _ => return Err(Error::Invalid(format!("`{}` in a block program", inst.op.name()))),
        };
        self.define(inst.result(), lowered);
        Ok(())
    }

    /// Whether an array is a block's own, in a program: the block runs on one machine thread.
    pub(crate) fn is_of_block(&self, array: Value) -> bool {
        let mut array = array;
        while let (true, Some(def)) = (self.block.is_some(), self.def(array)) {
            match def.op {
                Op::Row | Op::Subarray => array = def.operands[0],
                op => return matches!(op, Op::SharedArray | Op::DynamicShared | Op::ThreadSlots),
            }
        }
        false
    }

    /// Bytes that the same op takes before this one.
    fn offset_of(&self, id: InstId) -> u64 {
        let op = self.func.inst(id).op;
        let listed = self.func.regions.iter().flat_map(|region| &region.insts);
        let before = listed.take_while(|&&other| other != id).map(|&other| self.func.inst(other));
        let sizes = before.filter(|inst| inst.op == op).filter_map(|inst| array_size(self.func, inst));
        sizes.map(|size| size.next_multiple_of(align(op))).sum()
    }

    fn memory_of(&mut self, id: InstId, inst: &Inst) -> Result<Lowered<'c>> {
        let (Attr::Extents(extents), Some((elem, _))) = (&inst.attr, self.func.ty(inst.result()).as_array()) else {
            return Err(Error::Invalid("`shared_array` without extents".into()));
        };
        let base = self.at_byte(self.block_program()?.memory.shared, self.offset_of(id))?;
        let extents: SmallVec<[IntValue<'c>; 4]> = extents.iter().map(|&n| self.i64(n)).collect();
        self.contiguous(base, extents, elem)
    }

    fn slots_of(&mut self, id: InstId, inst: &Inst) -> Result<Lowered<'c>> {
        let (Attr::Extents(extents), Some((elem, _))) = (&inst.attr, self.func.ty(inst.result()).as_array()) else {
            return Err(Error::Invalid("`thread_slots` without extents".into()));
        };
        let Memory { slots, n_padded, .. } = self.block_program()?.memory.clone();
        let before = self.builder.build_int_mul(n_padded, self.i64(self.offset_of(id)), "")?;
        let base = self.moved(slots, before)?;
        // Rows are as long as there is memory for; the number of threads is told in full by the block's shape.
        let mut all: SmallVec<[IntValue<'c>; 4]> = extents.iter().map(|&n| self.i64(n)).collect();
        all.push(n_padded);
        self.contiguous(base, all, elem)
    }

    fn dynamic_shared_array(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let Some((elem, _)) = self.func.ty(inst.result()).as_array() else {
            return Err(Error::Invalid("`dynamic_shared` gives no array".into()));
        };
        let offset = self.int(inst.operands[0])?;
        let Memory { dynamic, n_dynamic, .. } = self.block_program()?.memory.clone();
        let b = &self.builder;
        let is_there = b.build_int_compare(Is::ULE, offset, n_dynamic, "")?;
        let left = b.build_int_sub(n_dynamic, offset, "")?;
        let n = b.build_int_unsigned_div(left, self.i64(elem.size().max(1)), "")?;
        let n = b.build_select(is_there, n, self.i64(0), "")?.into_int_value();
        let at = self.moved(dynamic, offset)?;
        let base = self.builder.build_select(is_there, at, pointer(self.ctx).const_null(), "")?.into_pointer_value();
        self.contiguous(base, SmallVec::from_slice(&[n]), elem)
    }
}
