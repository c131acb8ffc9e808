//! The shell around a kernel's body on the CPU: arguments are loaded once, then the threads are walked row by row.
//!
//! In: an empty function of `runtime::abi`'s `EntryPoint`. Out: its blocks, with holes for the loading of arguments and
//! for the body, and the [`Thread`] that the body sees.

use crate::llvm::value::Lowered;
use crate::llvm::{Lowering, Thread};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PointerValue};
use ir::Function;

pub(crate) struct Entry<'c> {
    /// Holds nothing but allocas.
    pub allocas: BasicBlock<'c>,
    /// Where arguments are to be loaded.
    pub arguments: BasicBlock<'c>,
    /// Where the body is to start.
    pub body: BasicBlock<'c>,
    pub thread: Thread<'c>,
    args: PointerValue<'c>,
    start: BasicBlock<'c>,
    row: BasicBlock<'c>,
}

/// A stretch of threads that differ in the last index only.
struct Row<'c> {
    index: [IntValue<'c>; 4],
    first: IntValue<'c>,
    stop: IntValue<'c>,
}

impl<'c> Entry<'c> {
    pub(crate) fn new(ctx: &'c Context, function: FunctionValue<'c>, rank: usize) -> Result<Entry<'c>> {
        let params: Vec<BasicValueEnum<'c>> = function.get_params();
        let [args, bounds, begin, end, fault] = params[..] else {
            return Err(Error::Invalid("an entry point takes five arguments".into()));
        };
        let (begin, end) = (begin.into_int_value(), end.into_int_value());
        let block = |name| ctx.append_basic_block(function, name);
        let allocas = block("allocas");
        let (start, arguments, row, body) = (block("start"), block("arguments"), block("row"), block("thread"));
        let (latch, row_end, exit) = (block("thread_end"), block("row_end"), block("exit"));
        let b = ctx.create_builder();

        b.position_at_end(start);
        let extents = load_extents(ctx, &b, bounds.into_pointer_value(), rank)?;
        b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, begin, end, "")?, arguments, exit)?;

        b.position_at_end(row);
        let t = b.build_phi(ctx.i64_type(), "t")?;
        let at = t.as_basic_value().into_int_value();
        let Row { mut index, first, stop } = split_row(ctx, &b, at, end, &extents, rank)?;
        let narrow_first = b.build_int_truncate(first, ctx.i32_type(), "")?;
        b.build_unconditional_branch(body)?;

        b.position_at_end(body);
        let wide = b.build_phi(ctx.i64_type(), "i")?;
        let narrow = b.build_phi(ctx.i32_type(), "k")?;
        let (i, k) = (wide.as_basic_value().into_int_value(), narrow.as_basic_value().into_int_value());
        index[rank - 1] = i;

        b.position_at_end(latch);
        let i_next = b.build_int_nuw_add(i, ctx.i64_type().const_int(1, false), "")?;
        let k_next = b.build_int_nsw_add(k, ctx.i32_type().const_int(1, false), "")?;
        b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, i_next, stop, "")?, body, row_end)?;
        wide.add_incoming(&[(&first, row), (&i_next, latch)]);
        narrow.add_incoming(&[(&narrow_first, row), (&k_next, latch)]);

        b.position_at_end(row_end);
        let t_next = b.build_int_add(at, b.build_int_sub(stop, first, "")?, "")?;
        b.build_conditional_branch(b.build_int_compare(IntPredicate::SLT, t_next, end, "")?, row, exit)?;
        t.add_incoming(&[(&begin, arguments), (&t_next, row_end)]);

        b.position_at_end(exit);
        b.build_return(None)?;
        let fault = fault.into_pointer_value();
        let thread = Thread { index, narrow: Some((rank - 1, k)), extents, end: latch, fault };
        Ok(Entry { allocas, arguments, body, thread, args: args.into_pointer_value(), start, row })
    }

    /// Fills the holes: arguments, then the body, then the jumps that allocas and arguments lacked.
    pub(crate) fn fill(self, lowering: &mut Lowering<'c, '_>, contiguous: bool) -> Result<()> {
        let func = lowering.func;
        lowering.builder.position_at_end(self.arguments);
        load_arguments(lowering, func, self.args, contiguous)?;
        lowering.builder.build_unconditional_branch(self.row)?;
        lowering.builder.position_at_end(self.body);
        lowering.region(func.body)?;
        lowering.allocas.build_unconditional_branch(self.start)?;
        Ok(())
    }
}

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
        *extent = b.build_load(int, at, "")?.into_int_value();
    }
    Ok(extents)
}

/// The index of thread number `t` and how far its row goes.
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
    Ok(Row { index, first, stop: b.build_int_add(first, n, "")? })
}

/// Arguments lie one after the other, each aligned to 8 bytes.
fn load_arguments<'c>(
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
        let mut value = lowering.of_memory(at, ty)?;
        if let (true, Some((elem, rank)), Lowered::Leaves(leaves)) = (contiguous, ty.as_array(), &mut value) {
            let rank = rank as usize;
            let extents: Vec<IntValue<'c>> = leaves[1..=rank].iter().map(|leaf| leaf.into_int_value()).collect();
            for (leaf, stride) in leaves[1 + rank..].iter_mut().zip(lowering.row_major(&extents, elem)?) {
                *leaf = stride.into();
            }
        }
        lowering.define(param, value);
        offset = (offset + ty.size()).next_multiple_of(8);
    }
    Ok(())
}
