//! The shell around a kernel's body on the GPU: which thread of the launch this is, and the arguments.
//!
//! In: an empty entry. Out: its blocks, with holes for the loading of arguments and for the body, and the [`Thread`]
//! that the body sees.
//!
//! ```text
//! start:  x = ctaid.x * ntid.x + tid.x, y and z likewise     all below their extents?  ─> body    else ─> exit
//! ```
//!
//! Coarsened code ([`super::coarsen`]) takes `width` neighbors at a time, and those that are left over one by one:
//!
//! ```text
//! body:   x + width <= extent?  ─> gang    else ─> each thread of x .. extent by the scalar body
//! ```
//!
//! In strided code each of y and z is a loop, `y += nctaid.y * ntid.y`, for launches that a grid cannot hold.

use super::PtxOptions;
use crate::llvm::value::{Lowered, as_pointer};
use crate::llvm::{Lowering, Thread, types};
use crate::{Error, Result};
use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module as LlvmModule;
use inkwell::values::{AsValueRef, BasicValue, BasicValueEnum, FunctionValue, IntValue, PhiValue, PointerValue};
use ir::LeafKind;

/// The number of the address space of arrays in device memory.
pub(crate) const GLOBAL: u16 = 1;

pub(super) struct Shell<'c> {
    /// Holds nothing but allocas.
    pub allocas: BasicBlock<'c>,
    pub thread: Thread<'c>,
    pub bounds: PointerValue<'c>,
    args: PointerValue<'c>,
    arguments: BasicBlock<'c>,
    /// Where it is decided whether this thread has anything to do.
    start: BasicBlock<'c>,
    body: BasicBlock<'c>,
    gang: Option<GangBlocks<'c>>,
}

/// Where several neighbors run together.
struct GangBlocks<'c> {
    head: BasicBlock<'c>,
    /// What the first of them sees.
    thread: Thread<'c>,
    /// The number of the thread that the scalar body runs, along x.
    one: PhiValue<'c>,
}

impl<'c> Shell<'c> {
    /// For a kernel over the threads of a launch, of which each thread takes `width`: by a gang, or by a body that is
    /// written so.
    pub(super) fn over_threads(
        ctx: &'c Context,
        llvm: &LlvmModule<'c>,
        function: FunctionValue<'c>,
        options: &PtxOptions,
        width: u32,
        has_gang: bool,
    ) -> Result<Shell<'c>> {
        let mut shell = Shell::over_blocks(ctx, function)?;
        let start = ctx.insert_basic_block_after(shell.arguments, "start");
        let (body, exit) = (shell.body, shell.thread.end);
        let grid = Grid { ctx, llvm, b: ctx.create_builder(), function, body, exit, width };
        let b = &grid.b;
        b.position_at_end(start);
        let rank = options.rank as usize;
        let extents = load_extents(ctx, b, shell.bounds, rank)?;
        let axes = grid.axes(&extents, rank)?;
        let (at, end) = if options.strided { grid.walk(&axes)? } else { grid.guard(&axes)? };
        b.position_at_end(body);
        (shell.start, shell.thread.end, shell.thread.extents) = (start, end, extents);
        grid.index(&at, rank, &mut shell.thread)?;
        if has_gang {
            grid.split(&mut shell, rank)?;
        }
        Ok(shell)
    }

    /// What the first of several neighbors sees, where the code is coarsened.
    pub(super) fn gang_thread(&self) -> Option<Thread<'c>> {
        self.gang.as_ref().map(|gang| gang.thread.clone())
    }

    /// For a kernel over a grid of thread blocks, whose threads all run the body.
    pub(super) fn over_blocks(ctx: &'c Context, function: FunctionValue<'c>) -> Result<Shell<'c>> {
        let params: Vec<BasicValueEnum<'c>> = function.get_params();
        let [args, bounds, fault] = params[..] else {
            return Err(Error::Invalid("an entry takes three parameters".into()));
        };
        let block = |name| ctx.append_basic_block(function, name);
        let (allocas, arguments, body, end) = (block("allocas"), block("arguments"), block("thread"), block("exit"));
        let b = ctx.create_builder();
        b.position_at_end(end);
        b.build_return(None)?;
        b.position_at_end(arguments);
        let fault = b.build_int_to_ptr(fault.into_int_value(), types::pointer(ctx), "")?;
        let (zero, one) = (ctx.i64_type().const_zero(), ctx.i64_type().const_int(1, false));
        let thread = Thread { index: [zero; 4], narrow: [None; 4], extents: [one; 4], end, fault, row_in_chunk: zero };
        let (args, bounds) = (args.into_pointer_value(), bounds.into_pointer_value());
        Ok(Shell { allocas, thread, bounds, args, arguments, start: body, body, gang: None })
    }

    /// For a kernel whose threads each take several of the launch, as its body says.
    pub(super) fn over_all_threads(ctx: &'c Context, function: FunctionValue<'c>, rank: u32) -> Result<Shell<'c>> {
        let mut shell = Shell::over_blocks(ctx, function)?;
        shell.start = ctx.insert_basic_block_after(shell.arguments, "start");
        let b = ctx.create_builder();
        b.position_at_end(shell.start);
        shell.thread.extents = load_extents(ctx, &b, shell.bounds, rank as usize)?;
        b.build_unconditional_branch(shell.body)?;
        Ok(shell)
    }

    /// Fills the holes: arguments, then the body, then the jumps that allocas and arguments lacked. `gang` lowers the
    /// body for several neighbors, where the code is coarsened.
    pub(super) fn fill(
        self,
        lowering: &mut Lowering<'c, '_>,
        gang: Option<&mut Lowering<'c, '_>>,
        options: &PtxOptions,
    ) -> Result<()> {
        lowering.builder.position_at_end(self.arguments);
        load_arguments(lowering, self.args, options)?;
        lowering.builder.build_unconditional_branch(self.start)?;
        if let (Some(gang), Some(blocks)) = (gang, self.gang) {
            lowering.share_params(gang);
            gang.builder.position_at_end(blocks.head);
            if let Some(holds) = gang.guard()? {
                let (from, run) = (gang.current()?, gang.block());
                gang.builder.build_conditional_branch(holds, run, self.body)?;
                let first = blocks.thread.narrow[options.rank as usize - 1];
                let first = first.ok_or_else(|| Error::Invalid("no index along x".into()))?;
                blocks.one.add_incoming(&[(&first, from)]);
                gang.builder.position_at_end(run);
            }
            gang.region(gang.func.body)?;
        }
        lowering.builder.position_at_end(self.body);
        lowering.region(lowering.func.body)?;
        lowering.allocas.build_unconditional_branch(self.arguments)?;
        Ok(())
    }
}

/// One of x, y and z: a thread's first index along it, and what it must stay below.
struct Axis<'c> {
    first: IntValue<'c>,
    /// By how much strided code moves on.
    stride: IntValue<'c>,
    size: IntValue<'c>,
}

struct Grid<'c, 'a> {
    ctx: &'c Context,
    llvm: &'a LlvmModule<'c>,
    b: Builder<'c>,
    function: FunctionValue<'c>,
    body: BasicBlock<'c>,
    exit: BasicBlock<'c>,
    /// Threads of the launch that a thread runs.
    width: u32,
}

impl<'c> Grid<'c, '_> {
    /// x first. An i32 counts along each, an i64 along a z of two dimensions.
    fn axes(&self, extents: &[IntValue<'c>; 4], rank: usize) -> Result<Vec<Axis<'c>>> {
        let (b, int, short) = (&self.b, self.ctx.i64_type(), self.ctx.i32_type());
        let mut axes = Vec::new();
        for (name, back) in ["x", "y", "z"].into_iter().zip(1..=rank) {
            let special = |kind: &str| special_register(self.llvm, b, &format!("{kind}.{name}"));
            let n_threads = special("ntid")?;
            let block = b.build_int_nuw_mul(special("ctaid")?, n_threads, "")?;
            let mut first = b.build_int_nuw_add(block, special("tid")?, "")?;
            if back == 1 {
                first = b.build_int_nuw_mul(first, self.ctx.i32_type().const_int(self.width.into(), false), "")?;
            }
            let mut stride = b.build_int_nuw_mul(special("nctaid")?, n_threads, "")?;
            let mut size = extents[rank - back];
            if back == 3 && rank == 4 {
                size = b.build_int_mul(extents[0], size, "")?;
                first = b.build_int_z_extend(first, int, "")?;
                stride = b.build_int_z_extend(stride, int, "")?;
            } else {
                size = b.build_int_truncate(size, short, "")?;
            }
            axes.push(Axis { first, stride, size });
        }
        Ok(axes)
    }

    fn is_inside(&self, index: IntValue<'c>, axis: &Axis<'c>) -> Result<IntValue<'c>> {
        Ok(self.b.build_int_compare(IntPredicate::ULT, index, axis.size, "")?)
    }

    /// To the body with the first indices, where all are inside. Gives them, and where a thread goes that is done.
    fn guard(&self, axes: &[Axis<'c>]) -> Result<(Vec<IntValue<'c>>, BasicBlock<'c>)> {
        let mut all = self.is_inside(axes[0].first, &axes[0])?;
        for axis in &axes[1..] {
            all = self.b.build_and(all, self.is_inside(axis.first, axis)?, "")?;
        }
        self.b.build_conditional_branch(all, self.body, self.exit)?;
        Ok((axes.iter().map(|axis| axis.first).collect(), self.exit))
    }

    /// As `guard`, with a loop over each of z and y: x always fits a grid.
    fn walk(&self, axes: &[Axis<'c>]) -> Result<(Vec<IntValue<'c>>, BasicBlock<'c>)> {
        let b = &self.b;
        let mut at = vec![axes[0].first];
        let mut end = self.exit;
        let mut enter = self.is_inside(axes[0].first, &axes[0])?;
        for axis in axes[1..].iter().rev() {
            let from = b.get_insert_block().ok_or_else(|| Error::Invalid("no block to append to".into()))?;
            let [head, latch] = ["axis", "axis_end"].map(|name| self.ctx.append_basic_block(self.function, name));
            b.build_conditional_branch(enter, head, end)?;
            b.position_at_end(head);
            let phi = b.build_phi(axis.first.get_type(), "")?;
            let index = phi.as_basic_value().into_int_value();
            b.position_at_end(latch);
            let next = b.build_int_nuw_add(index, axis.stride, "")?;
            b.build_unconditional_branch(head)?;
            phi.add_incoming(&[(&axis.first, from), (&next, latch)]);
            b.position_at_end(head);
            enter = self.is_inside(index, axis)?;
            at.insert(1, index);
            // An index past the end leaves to the loop around; what ends inside goes on with this one.
            let outer = std::mem::replace(&mut end, latch);
            let inside = self.ctx.append_basic_block(self.function, "");
            b.build_conditional_branch(enter, inside, outer)?;
            b.position_at_end(inside);
            enter = self.ctx.bool_type().const_int(1, false);
        }
        b.build_conditional_branch(enter, self.body, end)?;
        Ok((at, end))
    }

    /// The index along each dimension of the launch, from those along x, y and z.
    fn index(&self, at: &[IntValue<'c>], rank: usize, thread: &mut Thread<'c>) -> Result<()> {
        let b = &self.b;
        for (&at, back) in at.iter().zip(1..) {
            if at.get_type() == self.ctx.i64_type() {
                thread.index[0] = b.build_int_unsigned_div(at, thread.extents[1], "")?;
                thread.index[1] = b.build_int_unsigned_rem(at, thread.extents[1], "")?;
                continue;
            }
            thread.index[rank - back] = not_negative(b.build_int_z_extend(at, self.ctx.i64_type(), "")?);
            thread.narrow[rank - back] = Some(at);
        }
        Ok(())
    }
}

impl<'c> Grid<'c, '_> {
    /// From the body's first block to a gang, where there is room for one, or to the threads one by one.
    fn split(&self, shell: &mut Shell<'c>, rank: usize) -> Result<()> {
        let (b, ctx, x) = (&self.b, self.ctx, rank - 1);
        let (short, end) = (ctx.i32_type(), shell.thread.end);
        let [head, one, latch] = ["gang", "one", "one_end"].map(|name| ctx.append_basic_block(self.function, name));
        let thread = shell.thread.clone();
        let first = thread.narrow[x].ok_or_else(|| Error::Invalid("no index along x".into()))?;
        let width = short.const_int(self.width.into(), false);
        let size = b.build_int_truncate(thread.extents[x], short, "")?;
        let left = b.build_int_nuw_sub(size, first, "")?;
        let has_room = b.build_int_compare(IntPredicate::UGE, left, width, "")?;
        b.build_conditional_branch(has_room, head, one)?;
        b.position_at_end(one);
        let phi = b.build_phi(short, "")?;
        let at = phi.as_basic_value().into_int_value();
        shell.thread.index[x] = not_negative(b.build_int_z_extend(at, ctx.i64_type(), "")?);
        (shell.thread.narrow[x], shell.thread.end) = (Some(at), latch);
        b.position_at_end(latch);
        let next = b.build_int_nuw_add(at, short.const_int(1, false), "")?;
        let is_left = b.build_int_compare(IntPredicate::ULT, next, size, "")?;
        let is_own = b.build_int_compare(IntPredicate::ULT, b.build_int_sub(next, first, "")?, width, "")?;
        b.build_conditional_branch(b.build_and(is_left, is_own, "")?, one, end)?;
        phi.add_incoming(&[(&first, shell.body), (&next, latch)]);
        shell.body = one;
        shell.gang = Some(GangBlocks { head, thread, one: phi });
        Ok(())
    }
}

/// Marks an extension of what lies below an extent, hence below 2^31.
fn not_negative(extended: IntValue<'_>) -> IntValue<'_> {
    if extended.as_instruction_value().is_some() {
        // SAFETY: a live `zext` instruction.
        unsafe { llvm_sys::core::LLVMSetNNeg(extended.as_value_ref(), 1) };
    }
    extended
}

/// Reads `%tid.x` and the like.
pub(super) fn special_register<'c>(llvm: &LlvmModule<'c>, b: &Builder<'c>, name: &str) -> Result<IntValue<'c>> {
    let name = format!("llvm.nvvm.read.ptx.sreg.{name}");
    let function = Intrinsic::find(&name)
        .and_then(|intrinsic| intrinsic.get_declaration(llvm, &[]))
        .ok_or_else(|| Error::llvm("intrinsic", &name))?;
    Ok(b.build_call(function, &[], "")?.try_as_basic_value().unwrap_basic().into_int_value())
}

/// The extents in the parameter `bounds`, each known to be below 2^31.
fn load_extents<'c>(
    ctx: &'c Context,
    b: &Builder<'c>,
    bounds: PointerValue<'c>,
    rank: usize,
) -> Result<[IntValue<'c>; 4]> {
    let int = ctx.i64_type();
    let mut extents = [int.const_int(1, false); 4];
    for (dim, extent) in extents.iter_mut().enumerate().take(rank) {
        // SAFETY: LLVM's precondition, not Rust's: `LaunchBounds` has four extents.
        let at = unsafe { b.build_in_bounds_gep(int, bounds, &[int.const_int(dim as u64, false)], "")? };
        let loaded = b.build_load(int, at, "")?;
        if let Some(load) = loaded.as_instruction_value() {
            let range = ctx.metadata_node(&[int.const_zero().into(), int.const_int(1 << 31, false).into()]);
            load.set_metadata(range, ctx.get_kind_id("range")).map_err(|error| Error::llvm("range", error))?;
        }
        *extent = loaded.into_int_value();
    }
    Ok(extents)
}

/// Arguments lie one after the other, each aligned to 8 bytes. Their arrays are in device memory.
fn load_arguments<'c>(lowering: &mut Lowering<'c, '_>, args: PointerValue<'c>, options: &PtxOptions) -> Result<()> {
    let mut offset = 0;
    let func = lowering.func;
    for (index, &param) in func.region(func.body).params.iter().enumerate() {
        let ty = func.ty(param);
        let is_result = options.is_function && super::RETURNED.contains(&func.params[index].name.as_str());
        let at = lowering.at_byte(args, offset)?;
        let mut value = lowering.of_memory(at, ty)?;
        if let Lowered::Leaves(leaves) = &mut value {
            for (leaf, place) in leaves.iter_mut().zip(ty.leaves()) {
                if place.kind == LeafKind::Pointer && !is_result {
                    *leaf = in_device_memory(lowering, as_pointer(*leaf)?, options.aligned)?.into();
                }
            }
        }
        lowering.define(param, value);
        if options.contiguous {
            say_extents(lowering, param)?;
            lowering.assume_contiguous(param, options.aligned)?;
        }
        offset = (offset + ty.size()).next_multiple_of(8);
    }
    Ok(())
}

/// Tells LLVM what is known of an array's extents.
fn say_extents(lowering: &Lowering<'_, '_>, param: ir::Value) -> Result<()> {
    let (Some((_, rank)), Some(device)) = (lowering.func.ty(param).as_array(), &lowering.device) else { return Ok(()) };
    let (ctx, int) = (lowering.ctx, lowering.ctx.i64_type());
    let ends = [device.short.least_extent(param), 1 << 31].map(|end| int.const_int(end, false).into());
    for leaf in &lowering.leaves(param)?[1..=rank as usize] {
        if let Some(load) = leaf.as_instruction_value() {
            let range = ctx.metadata_node(&ends);
            load.set_metadata(range, ctx.get_kind_id("range")).map_err(|error| Error::llvm("range", error))?;
        }
    }
    Ok(())
}

/// The way there and back tells LLVM which address space the pointer is of.
fn in_device_memory<'c>(
    lowering: &Lowering<'c, '_>,
    base: PointerValue<'c>,
    aligned: bool,
) -> Result<PointerValue<'c>> {
    let ctx = lowering.ctx;
    if let (true, Some(load)) = (aligned, base.as_instruction_value()) {
        let bytes = ctx.metadata_node(&[ctx.i64_type().const_int(16, false).into()]);
        load.set_metadata(bytes, ctx.get_kind_id("align")).map_err(|error| Error::llvm("align", error))?;
    }
    let global = lowering.builder.build_address_space_cast(base, ctx.ptr_type(AddressSpace::from(GLOBAL)), "")?;
    Ok(lowering.builder.build_address_space_cast(global, types::pointer(ctx), "")?)
}
