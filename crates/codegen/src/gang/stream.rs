//! Stores past the caches, for launches that write more than the caches hold.
//!
//! A store of a whole line first reads the line, which is for nothing where the line is then written through: a third to
//! a half of the traffic of a kernel that streams. Such a store costs more where the data would have stayed in the cache,
//! so it is the launch that decides: by how many bytes it writes.
//!
//! In: a kernel. Out: the arrays that take such stores, which are those it never reads, and the bytes that each of its
//! threads writes to them. Stores under masks, to addresses in the middle of a vector, or one lane at a time are usual
//! ones at any size.

use super::widen::is_gather;
use crate::Result;
use crate::llvm::Lowering;
use analysis::Uniformity;
use inkwell::IntPredicate;
use inkwell::values::{InstructionValue, IntValue, PointerValue, VectorValue};
use ir::{Function, Inst, Op, RegionId, Value};

/// A cache line: what is stored at once.
const LINE: u64 = 64;
/// Kernels of more instructions, or that load more scalars, need the registers that a gang of twice the width would take.
const MAX_INSTS_DOUBLED: usize = 64;
const MAX_LOADED_DOUBLED: usize = 8;

/// The arrays of a kernel that may be stored to past the caches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    arrays: Vec<Value>,
    bytes_per_thread: u64,
}

impl Streams {
    pub(crate) fn of(func: &Function, uniformity: &Uniformity) -> Streams {
        let is_stored_only = |param: Value| {
            let is_store = |inst: &Inst| inst.op == Op::Store && !inst.operands[1..].contains(&param);
            let asks_for_bounds = |inst: &Inst| matches!(inst.op, Op::Extent | Op::IsNull | Op::WrapIndex);
            let mut uses = func.insts.iter().filter(|inst| inst.operands.contains(&param));
            uses.all(|inst| is_store(inst) || asks_for_bounds(inst))
        };
        let params = func.region(func.body).params.iter().copied().filter(|&param| func.ty(param).is_array());
        let mut streams =
            Streams { arrays: params.filter(|&param| is_stored_only(param)).collect(), ..Streams::default() };
        streams.count(func, uniformity, func.body);
        streams
    }

    /// Stores in loops are not counted: how often they run is not known.
    fn count(&mut self, func: &Function, uniformity: &Uniformity, region: RegionId) {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            if inst.op == Op::If {
                inst.regions.iter().for_each(|&arm| self.count(func, uniformity, arm));
            }
            if inst.op == Op::Store && self.arrays.contains(&inst.operands[0]) && !is_gather(func, uniformity, id) {
                self.bytes_per_thread += inst.operands.last().map_or(0, |&value| func.ty(value).size());
            }
        }
    }

    /// Whether gangs as wide as two vectors are worth it, so that a store fills a line of the cache.
    pub(crate) fn wants_lines(&self, func: &Function) -> bool {
        let is_loop = |inst: &Inst| matches!(inst.op, Op::For | Op::Loop);
        let loads = func.insts.iter().filter(|inst| inst.op == Op::Load);
        let n_loaded: usize = loads.map(|inst| func.ty(inst.result()).n_leaves()).sum();
        self.bytes_per_thread > 0
            && func.insts.len() <= MAX_INSTS_DOUBLED
            && n_loaded <= MAX_LOADED_DOUBLED
            && !func.insts.iter().any(is_loop)
    }

    /// A launch of at least so many threads writes more than the cache holds beside what is read; `None` where no
    /// launch does.
    pub(crate) fn least_threads(&self) -> Option<u64> {
        (self.bytes_per_thread > 0).then(|| (last_level_cache() / 2).div_ceil(self.bytes_per_thread))
    }
}

impl<'c> Lowering<'c, '_> {
    /// Stores a vector of all lanes to memory, past the caches where the launch is large and the address a vector's.
    pub(super) fn store_wide(
        &self,
        array: Value,
        at: PointerValue<'c>,
        lanes: VectorValue<'c>,
        align: u64,
    ) -> Result<()> {
        let store = |at, lanes, align: u64| -> Result<InstructionValue<'c>> {
            let store = self.builder.build_store(at, lanes)?;
            store.set_alignment(align as u32).map_err(|error| crate::Error::llvm("alignment", error))?;
            Ok(store)
        };
        let gang = self.gang()?;
        // Part of a line would have to be put together in a buffer, and whoever else writes to the line waits for it.
        let size = u64::from(self.width()) * align;
        let is_large = gang.is_large.filter(|_| gang.streams.arrays.contains(&array) && size == LINE);
        let Some(is_large) = is_large else { return store(at, lanes, align).map(drop) };
        // LLVM takes a vector that is no power of two long apart into scalars where it goes from block to block.
        let width = self.width();
        let mut pieces = Vec::new();
        for first in (0..lanes.get_type().get_size()).step_by(width as usize) {
            let at = self.at_byte(at, u64::from(first) * align)?;
            pieces.push((at, self.shuffle(lanes, None, first..first + width)?));
        }
        let (past, through, join) = (self.block(), self.block(), self.block());
        self.builder.build_conditional_branch(self.is_multiple(at, size, is_large)?, past, through)?;
        self.builder.position_at_end(past);
        let one = self.ctx.metadata_node(&[self.ctx.i32_type().const_int(1, false).into()]);
        for &(at, piece) in &pieces {
            store(at, piece, size)?
                .set_metadata(one, self.ctx.get_kind_id("nontemporal"))
                .map_err(|error| crate::Error::llvm("metadata", error))?;
        }
        self.builder.build_unconditional_branch(join)?;
        self.builder.position_at_end(through);
        for &(at, piece) in &pieces {
            store(at, piece, align)?;
        }
        self.builder.build_unconditional_branch(join)?;
        self.builder.position_at_end(join);
        Ok(())
    }

    /// Whether an address is a multiple of a power of two, and `also`.
    fn is_multiple(&self, at: PointerValue<'c>, size: u64, also: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let address = b.build_ptr_to_int(at, self.ctx.i64_type(), "")?;
        let rest = b.build_and(address, self.i64(size - 1), "")?;
        let is_multiple = b.build_int_compare(IntPredicate::EQ, rest, self.i64(0), "")?;
        Ok(b.build_and(also, is_multiple, "")?)
    }
}

/// Bytes of this machine's largest cache, as far as the processor tells and a program can count on: the largest serve dozens
/// of cores, whose programs have their parts of them.
fn last_level_cache() -> u64 {
    const USUAL: u64 = 32 << 20;
    const MOST: u64 = 64 << 20;
    static BYTES: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *BYTES.get_or_init(|| {
        let read = |index: u32| {
            let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok()?;
            text.trim().strip_suffix('K')?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
        };
        (0..8).filter_map(read).max().unwrap_or(USUAL).min(MOST)
    })
}
