//! From IR to LLVM, the same for every target.
//!
//! In: a function's body and a [`Thread`] that says where the target keeps the thread's index. Out: LLVM instructions
//! that run the body for one thread, appended at the builder's position; every way out of the body ends in a branch to
//! `Thread::end`. A value is the list of its leaves ([`value::Lowered`]), so aggregates cost nothing after LLVM's own
//! passes; a value of more than [`value::MAX_LEAVES`] leaves lives in memory and is worked on by loops.

pub(crate) mod lanes;
pub(crate) mod types;
pub(crate) mod value;

mod arithmetic;
mod atomic;
mod check;
mod composite;
pub(crate) mod control;
mod convert;
mod integer;
mod loops;
mod math;
pub(crate) mod matrix;
pub(crate) mod memory;
mod octets;
mod shared;
pub(crate) mod sums;

use crate::block::Block;
use crate::each::Each;
use crate::gang::Gang;
use crate::nvptx::Device;
use crate::small_sums::SmallSum;
use crate::{Error, Result};
use analysis::Uniformity;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module as LlvmModule;
use inkwell::values::{FastMathFlags, FunctionValue, IntValue, PointerValue};
use ir::{Attr, Function, Inst, InstId, Op, RegionId, Value, ValueDef};
use value::Lowered;

/// What the target provides to a thread.
#[derive(Clone)]
pub(crate) struct Thread<'c> {
    /// The thread's index along each dimension, i64.
    pub index: [IntValue<'c>; 4],
    /// The index along a dimension wrapped to i32, where the target counts it separately. A truncation of the i64
    /// would hide from LLVM that it grows by one from thread to thread.
    pub narrow: [Option<IntValue<'c>>; 4],
    /// Threads along each dimension, i64.
    pub extents: [IntValue<'c>; 4],
    /// Where a thread that is done goes.
    pub end: BasicBlock<'c>,
    /// The launch's failure record.
    pub fault: PointerValue<'c>,
    /// The thread's number in the chunk that runs, less its index along the last dimension.
    pub row_in_chunk: IntValue<'c>,
}

/// What differs from target to target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    /// Conversions between half and float are instructions.
    pub half: bool,
    /// One instruction puts the lanes of two vectors in any order.
    pub permutes: bool,
    /// Roots of many lanes are exact by way of the processor's estimate, and faster so than by its instruction.
    pub estimates_roots: bool,
    /// Hints about what will be loaded make kernels faster that compute between their loads.
    pub prefetches: bool,
}

/// The state of lowering one function.
pub(crate) struct Lowering<'c, 'a> {
    pub ctx: &'c Context,
    pub llvm: &'a LlvmModule<'c>,
    pub func: &'a Function,
    pub builder: Builder<'c>,
    /// Appends to the function's first block, which holds nothing but allocas.
    pub allocas: Builder<'c>,
    pub function: FunctionValue<'c>,
    pub thread: Thread<'c>,
    pub abilities: Abilities,
    values: Vec<Option<Lowered<'c>>>,
    pub(crate) frames: Vec<control::Frame<'c>>,
    fast: Option<FastMathFlags>,
    /// Where a failed check puts what it reports.
    fault_words: Option<PointerValue<'c>>,
    /// Bytes of stack that a thread's allocas take.
    stack: u64,
    /// Where a kernel's threads run one by one: what differs between them.
    pub alone: Option<Uniformity>,
    /// Arms that others are equal to, once they were looked for: thread by thread, and in gangs.
    shared: [Option<shared::Shared<'c>>; 2],
    /// Big values whose memory what is made of them may take, by value; empty until that is asked.
    is_taken_over: Vec<bool>,
    octets: octets::Octets<'c>,
    /// What a gang of threads needs besides, where this lowers a gang.
    pub gang: Option<Box<Gang<'c>>>,
    /// Where the threads of a chunk add up what all threads of the launch do, in kernels that have it.
    pub summing: Option<sums::Summing<'c, 'a>>,
    /// Whether the atomic being lowered is in memory that one machine thread alone sees.
    pub is_own_memory: bool,
    /// Arrays that are summed up, and the one that the atomic being lowered goes to.
    pub small_sums: Vec<SmallSum<'c>>,
    pub small_sum: Option<SmallSum<'c>>,
    /// What a block program needs besides, where this lowers one.
    pub block: Option<Box<Block<'c>>>,
    /// What `each` needs besides, where the kernel has it.
    pub each: Option<Box<Each<'c>>>,
    /// What a GPU's code needs besides, where this lowers for one.
    pub device: Option<Box<Device<'c>>>,
}

/// Most bytes of stack that one kernel may take: a worker's stack must never overflow.
pub(crate) const MAX_STACK: u64 = 512 << 10;

impl<'c, 'a> Lowering<'c, 'a> {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        ctx: &'c Context,
        llvm: &'a LlvmModule<'c>,
        fast_math: bool,
        func: &'a Function,
        function: FunctionValue<'c>,
        allocas: BasicBlock<'c>,
        thread: Thread<'c>,
        abilities: Abilities,
    ) -> Self {
        let at_allocas = ctx.create_builder();
        at_allocas.position_at_end(allocas);
        // Not-NaN and not-infinite stay off: a fast kernel may still ask `isnan`.
        let fast = FastMathFlags::AllowReassoc
            | FastMathFlags::NoSignedZeros
            | FastMathFlags::AllowReciprocal
            | FastMathFlags::AllowContract
            | FastMathFlags::ApproxFunc;
        Lowering {
            ctx,
            llvm,
            func,
            builder: ctx.create_builder(),
            allocas: at_allocas,
            function,
            thread,
            abilities,
            values: vec![None; func.values.len()],
            frames: Vec::new(),
            fast: fast_math.then_some(fast),
            fault_words: None,
            stack: 0,
            alone: None,
            shared: [None, None],
            is_taken_over: Vec::new(),
            octets: octets::Octets::new(),
            gang: None,
            summing: None,
            is_own_memory: false,
            small_sums: Vec::new(),
            small_sum: None,
            block: None,
            each: None,
            device: None,
        }
    }

    /// Lowers a region's instructions, the terminator included.
    pub(crate) fn region(&mut self, region: RegionId) -> Result<()> {
        let func = self.func;
        for &inst in &func.region(region).insts {
            self.inst(inst)?;
        }
        Ok(())
    }

    pub(crate) fn inst(&mut self, id: InstId) -> Result<()> {
        if let Some(lines) = self.device.as_ref().and_then(|device| device.lines.as_ref()) {
            lines.set(&self.builder, self.func.inst(id).span);
        }
        if self.gang.is_some() {
            return self.gang_inst(id);
        }
        self.scalar_inst(id)
    }

    /// Lowers an instruction for one thread; a pure one also for all lanes of a gang, where the operands are wide.
    #[inline(never)]
    pub(crate) fn scalar_inst(&mut self, id: InstId) -> Result<()> {
        let func = self.func;
        let inst = func.inst(id);
        let lowered = match inst.op {
            Op::If | Op::For | Op::Loop | Op::Yield | Op::Continue | Op::Break | Op::Return | Op::Unreachable => {
                return self.control(inst);
            }
            Op::Each => return self.each(id, inst),
            Op::SharedArray if self.each.is_some() => self.tile_memory(inst)?,
            Op::Call => return Err(Error::Invalid(format!("`{}` still has a call", func.name))),
            Op::CheckBounds | Op::CheckIndex | Op::CheckNonZero | Op::CheckFinite | Op::Assert => {
                return self.check(inst);
            }
            Op::Print => return self.print(inst),
            Op::Store => return self.store_op(inst),
            Op::Load => self.load_op(inst)?,
            Op::Atomic | Op::AtomicCas => match self.accumulators(inst) {
                Some(to) => return self.accumulate(inst, &to),
                None => self.atomic_op(inst)?,
            },
            Op::Const => self.constant(inst)?,
            Op::OnHost => self.ctx.bool_type().const_int(self.device.is_none().into(), false).into(),
            Op::SpareMemory => self.spare_memory()?,
            Op::MaskLe => self.mask_le(inst)?,
            Op::MaskSelect => self.mask_select(inst)?,
            Op::Construct
            | Op::Splat
            | Op::Extract
            | Op::Insert
            | Op::ExtractDyn
            | Op::InsertDyn
            | Op::Select
            | Op::Dot => self.composite(inst)?,
            Op::MatMul | Op::Transpose => self.matrix(inst)?,
            Op::Extent
            | Op::IsNull
            | Op::WithAdjoint
            | Op::Address
            | Op::Row
            | Op::Subarray
            | Op::WrapIndex
            | Op::LocalArray
            | Op::ArrayFromAddress => self.array_op(inst)?,
            Op::Tid => self.thread.index[dimension(inst)?].into(),
            Op::LaunchExtent => self.thread.extents[dimension(inst)?].into(),
            Op::Cast | Op::Bitcast => self.convert(inst)?,
            Op::Rem | Op::Mod => match self.short_rest(inst)? {
                Some(rest) => types::Leaf::from(rest).into(),
                None => self.elementwise(inst)?,
            },
            op if op.is_over_blocks() && self.device.is_some() => return self.block_op(inst),
            op if op.is_over_blocks() && self.block.is_some() => return self.program_op(id, inst),
            Op::Sqrt | Op::Div if self.is_exact(id) => self.exact(inst)?,
            Op::Div => match self.root_quotient(inst)? {
                Some(quotient) => types::Leaf::from(quotient).into(),
                None => self.elementwise(inst)?,
            },
            _ => self.elementwise(inst)?,
        };
        self.define(inst.result(), lowered);
        Ok(())
    }

    fn constant(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let (Attr::Const(constant), Some(scalar)) = (&inst.attr, self.func.ty(inst.result()).as_scalar()) else {
            return Err(Error::Invalid("a constant that is no scalar".into()));
        };
        Ok(types::constant(self.ctx, scalar, constant.0).into())
    }

    /// The lowered parameters of the body, for another lowering of the same function.
    pub(crate) fn share_params(&self, other: &mut Lowering<'c, '_>) {
        for &param in &self.func.region(self.func.body).params {
            other.values[param.index()] = self.values[param.index()].clone();
        }
    }

    /// Whether fast math is asked for.
    pub(crate) fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    pub(crate) fn is_defined(&self, value: Value) -> bool {
        self.values[value.index()].is_some()
    }

    pub(crate) fn forget(&mut self, value: Value) {
        self.values[value.index()] = None;
    }

    pub(crate) fn define(&mut self, value: Value, lowered: Lowered<'c>) {
        self.values[value.index()] = Some(lowered);
    }

    /// The op that defines a value, where one does.
    pub(crate) fn def(&self, value: Value) -> Option<&'a Inst> {
        match self.func.def(value) {
            ValueDef::Result(inst, _) => Some(self.func.inst(inst)),
            ValueDef::Param(..) => None,
        }
    }

    pub(crate) fn block(&self) -> BasicBlock<'c> {
        self.ctx.append_basic_block(self.function, "")
    }
}

pub(crate) fn dimension(inst: &Inst) -> Result<usize> {
    match inst.attr {
        Attr::Index(dim) if dim < 4 => Ok(dim as usize),
        _ => Err(Error::Invalid(format!("`{}` names no dimension", inst.op.name()))),
    }
}

/// The number that an op carries.
pub(crate) fn attr_index(inst: &Inst) -> Result<u32> {
    if let Attr::Index(index) = inst.attr {
        return Ok(index);
    }
    Err(Error::Invalid(format!("`{}` carries no number", inst.op.name())))
}
