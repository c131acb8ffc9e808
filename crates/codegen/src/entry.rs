//! The shell around a kernel's body on the CPU: arguments are loaded once, then the threads are walked row by row.
//!
//! In: an empty function of `runtime::abi`'s `EntryPoint`. Out: its blocks, with holes for the loading of arguments and
//! for the body, and the [`Thread`] that the body sees.

use crate::llvm::{Lowering, Thread, types};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module as LlvmModule;
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PhiValue, PointerValue};
use ir::{AtomicOp, Function};

/// Where the gangs of a row run.
struct GangBlocks<'c> {
    /// Where it is decided whether the gang runs, or one thread by the scalar body.
    head: BasicBlock<'c>,
    latch: BasicBlock<'c>,
    /// The first lane's index.
    first: IntValue<'c>,
    narrow: IntValue<'c>,
}

pub(crate) struct Entry<'c> {
    /// Holds nothing but allocas.
    pub allocas: BasicBlock<'c>,
    /// Where arguments are to be loaded.
    pub arguments: BasicBlock<'c>,
    /// Where the chunk's threads have run.
    finish: BasicBlock<'c>,
    exit: BasicBlock<'c>,
    /// Threads of the chunk.
    n_threads: IntValue<'c>,
    /// Where the body is to start.
    pub body: BasicBlock<'c>,
    pub thread: Thread<'c>,
    /// Whether the launch is so large that stores go past the caches, where they ever do.
    pub is_large: Option<IntValue<'c>>,
    /// Where the launch has accumulators for the chunk, or null.
    pub accumulators: PointerValue<'c>,
    gang: Option<GangBlocks<'c>>,
    args: PointerValue<'c>,
    start: BasicBlock<'c>,
    row: BasicBlock<'c>,
    ends: RowEnd<'c>,
    /// The body's index, as an i64 and an i32.
    index: [PhiValue<'c>; 2],
    /// Threads from the body's index to the end of its row.
    left: IntValue<'c>,
}

/// Where it is computed how far a row goes.
struct RowEnd<'c> {
    block: BasicBlock<'c>,
    /// The row's first thread.
    thread: Thread<'c>,
    /// The last dimension.
    dim: usize,
    /// Threads until the index wraps around.
    most: IntValue<'c>,
    known: BasicBlock<'c>,
    n: PhiValue<'c>,
}

/// What the blocks of an entry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bodies {
    /// One thread at a time.
    Threads,
    /// Gangs of so many threads, and one thread at a time what is left over.
    GangsAndThreads(u32),
    /// Gangs of so many threads, the last one of a row with a mask: half of the code.
    Gangs(u32),
}

impl Bodies {
    /// Threads that a round of the body runs.
    fn step(self) -> u32 {
        if let Bodies::Gangs(width) = self { width } else { 1 }
    }
}

/// A stretch of threads that differ in the last index only.
struct Row<'c> {
    index: [IntValue<'c>; 4],
    first: IntValue<'c>,
    n: IntValue<'c>,
}

impl<'c> Entry<'c> {
    /// `large_from`: threads from which on a launch is large.
    pub(crate) fn new(
        ctx: &'c Context,
        llvm: &LlvmModule<'c>,
        function: FunctionValue<'c>,
        rank: usize,
        bodies: Bodies,
        large_from: Option<u64>,
    ) -> Result<Entry<'c>> {
        let params: Vec<BasicValueEnum<'c>> = function.get_params();
        let [args, bounds, begin, end, fault] = params[..] else {
            return Err(Error::Invalid("an entry point takes five arguments".into()));
        };
        let (begin, end) = (begin.into_int_value(), end.into_int_value());
        let block = |name| ctx.append_basic_block(function, name);
        let allocas = block("allocas");
        let (start, arguments, row, body) = (block("start"), block("arguments"), block("row"), block("thread"));
        let (latch, row_end, finish, exit) = (block("thread_end"), block("row_end"), block("finish"), block("exit"));
        let b = ctx.create_builder();

        b.position_at_end(start);
        let extents = load_extents(ctx, &b, bounds.into_pointer_value(), rank)?;
        let n_threads = b.build_int_sub(end, begin, "")?;
        let accumulators = load_accumulators(ctx, &b, bounds.into_pointer_value())?;
        let is_large = large_from.map(|least| is_large(ctx, &b, &extents[..rank], least)).transpose()?;
        b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, begin, end, "")?, arguments, exit)?;

        b.position_at_end(row);
        let t = b.build_phi(ctx.i64_type(), "t")?;
        let Row { mut index, first, n: most } = split_row(ctx, &b, value(t), end, &extents, rank)?;
        let row_in_chunk = b.build_int_sub(b.build_int_sub(value(t), begin, "")?, first, "")?;
        let (row_ends, row_known) = (block("row_ends"), block("row_known"));
        b.build_unconditional_branch(row_ends)?;
        b.position_at_end(row_known);
        let n = b.build_phi(ctx.i64_type(), "n")?;
        let stop = b.build_int_add(first, n.as_basic_value().into_int_value(), "")?;
        let narrow_first = b.build_int_truncate(first, ctx.i32_type(), "")?;
        let next = if let Bodies::GangsAndThreads(_) = bodies { block("outer") } else { body };
        b.build_unconditional_branch(next)?;

        b.position_at_end(body);
        let wide = b.build_phi(ctx.i64_type(), "i")?;
        let narrow = b.build_phi(ctx.i32_type(), "k")?;
        let (i, k) = (value(wide), value(narrow));
        let fault = fault.into_pointer_value();
        let of_row = Thread { index, narrow: [None; 4], extents, end: latch, fault, row_in_chunk };
        let ends = RowEnd { block: row_ends, thread: of_row.clone(), dim: rank - 1, most, known: row_known, n };
        index[rank - 1] = i;
        let left = b.build_int_sub(stop, i, "")?;

        b.position_at_end(latch);
        let step = u64::from(bodies.step());
        let i_next = b.build_int_nuw_add(i, ctx.i64_type().const_int(step, false), "")?;
        let one_more = ctx.i32_type().const_int(step, false);
        // A step past the end of the row may wrap; it is then not used, but nothing may be said of it either.
        let k_next = if step == 1 { b.build_int_nsw_add(k, one_more, "")? } else { b.build_int_add(k, one_more, "")? };
        b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, i_next, stop, "")?, next, row_end)?;
        let starts = [(first, narrow_first, row_known), (i_next, k_next, latch)];
        let gang = if let Bodies::GangsAndThreads(width) = bodies {
            let ways = Ways { outer: next, body, row_end };
            Some(gang_loop(ctx, function, &starts, stop, width, [wide, narrow], &ways)?)
        } else {
            for (i, k, from) in starts {
                wide.add_incoming(&[(&i, from)]);
                narrow.add_incoming(&[(&k, from)]);
            }
            None
        };

        b.position_at_end(row_end);
        let t_next = b.build_int_add(value(t), b.build_int_sub(stop, first, "")?, "")?;
        b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, t_next, end, "")?, row, finish)?;
        t.add_incoming(&[(&begin, arguments), (&t_next, row_end)]);

        b.position_at_end(exit);
        if let Some(is_large) = is_large {
            wait_for_stores(llvm, &b, is_large, [block("wait"), block("done")])?;
        }
        b.build_return(None)?;
        let mut thread = Thread { index, ..of_row };
        thread.narrow[rank - 1] = Some(k);
        Ok(Entry {
            allocas,
            arguments,
            finish,
            exit,
            n_threads,
            body,
            thread,
            is_large,
            accumulators,
            gang,
            args: args.into_pointer_value(),
            start,
            row,
            ends,
            index: [wide, narrow],
            left,
        })
    }

    /// What the first lane of a gang sees.
    pub(crate) fn gang_thread(&self) -> Option<Thread<'c>> {
        let gang = self.gang.as_ref()?;
        let mut thread = Thread { end: gang.latch, ..self.thread.clone() };
        for (index, narrow) in thread.index.iter_mut().zip(&mut thread.narrow) {
            if let Some(narrow) = narrow {
                (*index, *narrow) = (gang.first, gang.narrow);
            }
        }
        Some(thread)
    }

    /// Fills the holes: arguments, then the body, then the jumps that allocas and arguments lacked. `gang` lowers the
    /// body for gangs, where the entry has both.
    pub(crate) fn fill(
        self,
        lowering: &mut Lowering<'c, '_>,
        gang: Option<&mut Lowering<'c, '_>>,
        contiguous: bool,
        sums: &[(usize, AtomicOp)],
    ) -> Result<()> {
        let func = lowering.func;
        lowering.builder.position_at_end(self.arguments);
        load_arguments(lowering, func, self.args, contiguous)?;
        lowering.begin_small_sums(sums, self.n_threads)?;
        lowering.builder.build_unconditional_branch(self.row)?;
        if let (Some(gang), Some(blocks)) = (gang, &self.gang) {
            lowering.share_params(gang);
            self.ends.fill(gang)?;
            gang.small_sums.clone_from(&lowering.small_sums);
            gang.builder.position_at_end(blocks.head);
            if let Some(holds) = gang.guard()? {
                let run = gang.block();
                gang.builder.build_conditional_branch(holds, run, self.body)?;
                let from = gang.current()?;
                self.index[0].add_incoming(&[(&blocks.first, from)]);
                self.index[1].add_incoming(&[(&blocks.narrow, from)]);
                gang.builder.position_at_end(run);
            }
            gang.region(gang.func.body)?;
        } else {
            self.ends.fill(lowering)?;
        }
        lowering.builder.position_at_end(self.body);
        if lowering.gang.is_some() {
            lowering.only_lanes(self.left)?;
        }
        lowering.region(func.body)?;
        lowering.builder.position_at_end(self.finish);
        lowering.end_small_sums()?;
        lowering.builder.build_unconditional_branch(self.exit)?;
        lowering.allocas.build_unconditional_branch(self.start)?;
        Ok(())
    }
}

impl<'c> RowEnd<'c> {
    fn fill(&self, lowering: &mut Lowering<'c, '_>) -> Result<()> {
        lowering.builder.position_at_end(self.block);
        let divisions = lowering.gang.as_ref().map_or(Vec::new(), |gang| gang.uniformity.divisions().to_vec());
        let thread = std::mem::replace(&mut lowering.thread, self.thread.clone());
        let n = lowering.left_in_row(&divisions, self.dim, self.most)?;
        lowering.thread = thread;
        lowering.builder.build_unconditional_branch(self.known)?;
        self.n.add_incoming(&[(&n, lowering.current()?)]);
        Ok(())
    }
}

/// Blocks that the gangs of a row lead to.
struct Ways<'c> {
    outer: BasicBlock<'c>,
    body: BasicBlock<'c>,
    row_end: BasicBlock<'c>,
}

/// The loop over the gangs of a row, around which the scalar body runs the threads that no gang takes:
///
/// ```text
/// outer: room for a gang?  ─> gang ⟲    gang: guard?  ─> the gang's body    else ─> body ─> outer
///                else      ─> body
/// ```
///
/// `starts` are the indices with which the row and the scalar body's end reach `outer`.
fn gang_loop<'c>(
    ctx: &'c Context,
    function: FunctionValue<'c>,
    starts: &[(IntValue<'c>, IntValue<'c>, BasicBlock<'c>); 2],
    stop: IntValue<'c>,
    width: u32,
    [wide, narrow]: [PhiValue<'c>; 2],
    ways: &Ways<'c>,
) -> Result<GangBlocks<'c>> {
    let b = ctx.create_builder();
    let (int, short) = (ctx.i64_type(), ctx.i32_type());
    let lanes = int.const_int(u64::from(width), false);
    let block = |name| ctx.append_basic_block(function, name);
    let (head, latch, end) = (block("gang"), block("gang_end"), block("gangs_end"));
    let index = |block| -> Result<[PhiValue<'c>; 2]> {
        b.position_at_end(block);
        Ok([b.build_phi(int, "")?, b.build_phi(short, "")?])
    };
    let has_room = |from| b.build_int_compare(IntPredicate::SGE, b.build_int_sub(stop, from, "")?, lanes, "");

    let [o, ok] = index(ways.outer)?;
    for (i, k, from) in starts {
        o.add_incoming(&[(i, *from)]);
        ok.add_incoming(&[(k, *from)]);
    }
    b.build_conditional_branch(has_room(value(o))?, head, ways.body)?;
    let [g, gk] = index(head)?;

    b.position_at_end(latch);
    let next = b.build_int_nuw_add(value(g), lanes, "")?;
    let next_narrow = b.build_int_add(value(gk), short.const_int(u64::from(width), false), "")?;
    b.build_conditional_branch(has_room(next)?, head, end)?;
    g.add_incoming(&[(&value(o), ways.outer), (&next, latch)]);
    gk.add_incoming(&[(&value(ok), ways.outer), (&next_narrow, latch)]);

    b.position_at_end(end);
    b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, next, stop, "")?, ways.body, ways.row_end)?;
    wide.add_incoming(&[(&value(o), ways.outer), (&next, end)]);
    narrow.add_incoming(&[(&value(ok), ways.outer), (&next_narrow, end)]);
    Ok(GangBlocks { head, latch, first: value(g), narrow: value(gk) })
}

/// The launch's extents, 1 along dimensions that it does not have.
pub(crate) fn load_extents<'c>(
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
        *extent = b.build_load(int, at, "")?.into_int_value();
    }
    Ok(extents)
}

fn load_accumulators<'c>(ctx: &'c Context, b: &Builder<'c>, bounds: PointerValue<'c>) -> Result<PointerValue<'c>> {
    let offset = ctx.i64_type().const_int(runtime::abi::SUMS_OFFSET, false);
    // SAFETY: LLVM's precondition, not Rust's: `LaunchBounds` has the field there.
    let at = unsafe { b.build_in_bounds_gep(ctx.i8_type(), bounds, &[offset], "")? };
    Ok(b.build_load(types::pointer(ctx), at, "")?.into_pointer_value())
}

/// Whether a launch has at least so many threads.
fn is_large<'c>(ctx: &'c Context, b: &Builder<'c>, extents: &[IntValue<'c>], least: u64) -> Result<IntValue<'c>> {
    let mut n = ctx.i64_type().const_int(1, false);
    for &extent in extents {
        n = b.build_int_mul(n, extent, "")?;
    }
    Ok(b.build_int_compare(IntPredicate::UGE, n, ctx.i64_type().const_int(least, false), "")?)
}

/// Stores past the caches may arrive later than what other threads are told afterwards.
fn wait_for_stores<'c>(
    llvm: &LlvmModule<'c>,
    b: &Builder<'c>,
    is_large: IntValue<'c>,
    [wait, done]: [BasicBlock<'c>; 2],
) -> Result<()> {
    b.build_conditional_branch(is_large, wait, done)?;
    b.position_at_end(wait);
    let fence = Intrinsic::find("llvm.x86.sse.sfence").and_then(|intrinsic| intrinsic.get_declaration(llvm, &[]));
    b.build_call(fence.ok_or_else(|| Error::llvm("intrinsic", "sfence"))?, &[], "")?;
    b.build_unconditional_branch(done)?;
    b.position_at_end(done);
    Ok(())
}

/// The index of thread number `t` and how far its row goes.
///
/// An index that is counted on from row to row needs no divisions, but LLVM then keeps twice as many addresses in rows of
/// many arrays: lattice Boltzmann ran 0.8 times as fast so.
fn split_row<'c>(
    ctx: &'c Context,
    b: &Builder<'c>,
    t: IntValue<'c>,
    end: IntValue<'c>,
    extents: &[IntValue<'c>; 4],
    rank: usize,
) -> Result<Row<'c>> {
    let int = ctx.i64_type();
    let smaller = |x: IntValue<'c>, y: IntValue<'c>| -> Result<IntValue<'c>> {
        let less = b.build_int_compare(IntPredicate::SLT, x, y, "")?;
        Ok(b.build_select(less, x, y, "")?.into_int_value())
    };
    let mut index = [int.const_zero(); 4];
    let mut first = t;
    let mut n = b.build_int_sub(end, t, "")?;
    if rank > 1 {
        let last = extents[rank - 1];
        let mut row = b.build_int_unsigned_div(t, last, "")?;
        first = b.build_int_unsigned_rem(t, last, "")?;
        n = smaller(n, b.build_int_sub(last, first, "")?)?;
        for dim in (1..rank - 1).rev() {
            index[dim] = b.build_int_unsigned_rem(row, extents[dim], "")?;
            row = b.build_int_unsigned_div(row, extents[dim], "")?;
        }
        index[0] = row;
    }
    // The i32 that is counted beside the index must not wrap within a row.
    let half = 1u64 << 31;
    let past = b.build_and(first, int.const_int(half - 1, false), "")?;
    n = smaller(n, b.build_int_sub(int.const_int(half, false), past, "")?)?;
    index[rank - 1] = first;
    Ok(Row { index, first, n })
}

fn value(phi: PhiValue<'_>) -> IntValue<'_> {
    phi.as_basic_value().into_int_value()
}

/// Arguments lie one after the other, each aligned to 8 bytes.
pub(crate) fn load_arguments<'c>(
    lowering: &mut Lowering<'c, '_>,
    func: &Function,
    args: PointerValue<'c>,
    contiguous: bool,
) -> Result<()> {
    let mut offset = 0;
    for &param in &func.region(func.body).params {
        let ty = func.ty(param);
        let at = lowering.at_byte(args, offset)?;
        // The packed arguments do not change, so a big one can stay where it is.
        let value = lowering.of_memory(at, ty)?;
        lowering.define(param, value);
        if contiguous {
            lowering.assume_contiguous(param, false)?;
        }
        offset = (offset + ty.size()).next_multiple_of(8);
    }
    Ok(())
}
