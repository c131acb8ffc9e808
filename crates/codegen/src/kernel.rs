//! A kernel over threads as LLVM's functions: the entry point, and where rows may be too short for gangs two between which
//! it chooses at each launch.
//!
//! In: an optimized kernel. Out: a function that runs a range of a launch's threads, by the [`Plan`] made for it.

use crate::block::{Launch, Plan as ProgramPlan, Shell};
use crate::each::Each;
use crate::entry::{Bodies, Entry, load_arguments, load_extents};
use crate::gang::is_long;
use crate::host::abilities;
use crate::llvm::sums::Summing;
use crate::llvm::{Abilities, Lowering, Thread};
use crate::plan::{Conditions, Plan, alone, fixed_width, plan, plan_in_rows, program_plan, program_plan_in_rows};
use crate::x86::{CpuOptions, Gang, Passes, declare};
use crate::{Error, Result};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module as LlvmModule};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue};
use ir::{AtomicOp, Function, FunctionKind, Module};
use runtime::Sites;

/// Arrays that are summed up on the stack at a time.
const MAX_SUMS: usize = 2;

/// What all functions of a kernel have in common.
pub(crate) struct Kernel<'c, 'm> {
    ctx: &'c Context,
    llvm: &'m LlvmModule<'c>,
    module: &'m Module,
    func: &'m Function,
    options: &'m CpuOptions,
    abilities: Abilities,
    sites: Option<Sites>,
    sums: Vec<(usize, AtomicOp)>,
}

impl<'c, 'm> Kernel<'c, 'm> {
    pub(crate) fn new(
        ctx: &'c Context,
        llvm: &'m LlvmModule<'c>,
        module: &'m Module,
        func: &'m Function,
        options: &'m CpuOptions,
    ) -> Kernel<'c, 'm> {
        let mut sums = if options.contiguous && options.distinct { transform::exact_sums(func) } else { Vec::new() };
        sums.truncate(MAX_SUMS);
        let (abilities, sites) = (abilities(options.isa), Sites::of(func));
        Kernel { ctx, llvm, module, func, options, abilities, sites, sums }
    }

    /// Fills the entry point.
    pub(crate) fn build(&self, function: FunctionValue<'c>) -> Result<Passes> {
        if self.func.kind == FunctionKind::BlockProgram {
            return self.programs(function);
        }
        if analysis::shares_tiles(self.func) {
            return self.tiled(function);
        }
        let usual = plan(self.func, self.options).ok();
        let Some((plan, conditions)) = plan_in_rows(self.func, self.options, usual.as_ref()) else {
            return self.threads(function, usual);
        };
        let [special, others] = self.choose(function, &plan.func, &conditions)?;
        self.threads(others, usual)?;
        self.threads(special, Some(plan))
    }

    fn programs(&self, function: FunctionValue<'c>) -> Result<Passes> {
        let usual = program_plan(self.func, self.options);
        if self.launch() != Launch::Blocks {
            return self.program(function, self.func, usual);
        }
        let Some((func, plan, conditions)) = program_plan_in_rows(self.func, self.options, &usual) else {
            return self.program(function, self.func, usual);
        };
        let [special, others] = self.choose(function, &func, &conditions)?;
        self.program(others, self.func, usual)?;
        self.program(special, &func, plan)
    }

    /// What a program is launched over. Threads of a block are said where a launch is over threads: these hold tiles
    /// together.
    fn launch(&self) -> Launch {
        match self.module.block_dim {
            0 | 1 => Launch::Blocks,
            n => Launch::Threads { rank: self.options.rank, n },
        }
    }

    /// A function like the entry point that only it calls.
    fn part(&self, function: FunctionValue<'c>, name: &str) -> Result<FunctionValue<'c>> {
        let name = format!("{}.{name}", function.get_name().to_string_lossy());
        let part = declare(self.ctx, self.llvm, &name, self.options.isa, self.module.fast_math);
        part.set_linkage(Linkage::Internal);
        let kind = Attribute::get_named_enum_kind_id("noinline");
        part.add_attribute(AttributeLoc::Function, self.ctx.create_enum_attribute(kind, 0));
        Ok(part)
    }

    /// An entry point that looks at its arguments first: does the launch keep to the conditions? Gives the function that
    /// it then calls, and the one for others.
    fn choose(
        &self,
        function: FunctionValue<'c>,
        func: &Function,
        conditions: &Conditions,
    ) -> Result<[FunctionValue<'c>; 2]> {
        let ways = [self.part(function, "special")?, self.part(function, "others")?];
        let [allocas, start] = ["allocas", "start"].map(|name| self.ctx.append_basic_block(function, name));
        let params = function.get_params();
        let [args, bounds, _, _, fault] = params[..] else {
            return Err(Error::Invalid("an entry point takes five arguments".into()));
        };
        let builder = self.ctx.create_builder();
        builder.position_at_end(start);
        let extents = load_extents(self.ctx, &builder, bounds.into_pointer_value(), self.rank())?;
        let zero = self.ctx.i64_type().const_zero();
        let (index, fault) = ([zero; 4], fault.into_pointer_value());
        let thread = Thread { index, narrow: [None; 4], extents, end: start, fault, row_in_chunk: zero };
        let mut lowering = self.lowering(func, function, allocas, thread);
        lowering.builder.position_at_end(start);
        load_arguments(&mut lowering, func, args.into_pointer_value(), self.options.contiguous)?;
        let is_special = lowering.keeps_to(conditions)?;
        let blocks = [lowering.block(), lowering.block()];
        lowering.builder.build_conditional_branch(is_special, blocks[0], blocks[1])?;
        for (block, way) in blocks.into_iter().zip(ways) {
            lowering.builder.position_at_end(block);
            let args: Vec<BasicMetadataValueEnum<'c>> = params.iter().map(|&param| param.into()).collect();
            lowering.builder.build_call(way, &args, "")?;
            lowering.builder.build_return(None)?;
        }
        lowering.allocas.build_unconditional_branch(start)?;
        Ok(ways)
    }

    fn lowering<'a>(
        &'a self,
        func: &'a Function,
        function: FunctionValue<'c>,
        allocas: inkwell::basic_block::BasicBlock<'c>,
        thread: Thread<'c>,
    ) -> Lowering<'c, 'a> {
        let Kernel { ctx, llvm, abilities, .. } = *self;
        Lowering::new(ctx, llvm, self.module.fast_math, func, function, allocas, thread, abilities)
    }

    /// A lowering of the kernel's threads into an entry's blocks.
    fn body<'a>(
        &'a self,
        func: &'a Function,
        function: FunctionValue<'c>,
        entry: &Entry<'c>,
        thread: Thread<'c>,
    ) -> Lowering<'c, 'a> {
        let mut lowering = self.lowering(func, function, entry.allocas, thread);
        let last = self.rank() - 1;
        let summing = |sites| Summing { sites, memory: entry.accumulators, last };
        lowering.summing = self.sites.as_ref().map(summing);
        lowering
    }

    fn rank(&self) -> usize {
        self.options.rank as usize
    }

    /// A function that runs threads by a plan, one by one where there is none.
    fn threads(&self, function: FunctionValue<'c>, plan: Option<Plan>) -> Result<Passes> {
        let Kernel { ctx, llvm, options, sums, .. } = self;
        let (rank, contiguous) = (self.rank(), options.contiguous);
        let Some(Plan { func: of_gang, uniformity, width, streams, .. }) = plan else {
            let func = &alone(self.func);
            let entry = Entry::new(ctx, llvm, function, rank, Bodies::Threads, None)?;
            let mut lowering = self.body(func, function, &entry, entry.thread.clone());
            lowering.alone = Some(analysis::uniformity(func, options.rank.saturating_sub(1)));
            entry.fill(&mut lowering, None, contiguous, sums)?;
            return Ok(Passes::All);
        };
        if matches!(options.gang, Gang::Masked(_)) || options.gang == Gang::Auto && is_long(&of_gang) {
            let entry = Entry::new(ctx, llvm, function, rank, Bodies::Gangs(width), None)?;
            let mut lowering = self.body(&of_gang, function, &entry, entry.thread.clone());
            lowering.gang = Some(Box::new(crate::gang::Gang::new(&of_gang, width, uniformity)));
            entry.fill(&mut lowering, None, contiguous, sums)?;
            return Ok(Passes::Few);
        }
        let bodies = Bodies::GangsAndThreads(width);
        let entry = Entry::new(ctx, llvm, function, rank, bodies, streams.least_threads())?;
        let mut lowering = self.body(self.func, function, &entry, entry.thread.clone());
        let thread = entry.gang_thread().ok_or_else(|| Error::Invalid("an entry without gangs".into()))?;
        let mut of_gang = self.body(&of_gang, function, &entry, thread);
        let mut gang = crate::gang::Gang::new(of_gang.func, width, uniformity);
        (gang.streams, gang.is_large) = (streams, entry.is_large);
        of_gang.gang = Some(Box::new(gang));
        entry.fill(&mut lowering, Some(&mut of_gang), contiguous, sums)?;
        Ok(Passes::All)
    }

    /// A block program.
    fn program(&self, function: FunctionValue<'c>, func: &Function, plan: ProgramPlan) -> Result<Passes> {
        let allocas = self.ctx.append_basic_block(function, "allocas");
        let zero = self.ctx.i64_type().const_zero();
        let fault =
            function.get_nth_param(4).ok_or_else(|| Error::Invalid("an entry point takes five arguments".into()))?;
        let (index, narrow, extents) = ([zero; 4], [None; 4], [zero; 4]);
        let thread =
            Thread { index, narrow, extents, end: allocas, fault: fault.into_pointer_value(), row_in_chunk: zero };
        let mut lowering = self.lowering(func, function, allocas, thread);
        let shell = Shell::new(&lowering, self.launch())?;
        lowering.thread.end = shell.end;
        let contiguous = self.options.contiguous;
        lowering.program(&shell, plan, |lowering, args| load_arguments(lowering, func, args, contiguous))?;
        Ok(Passes::All)
    }

    /// A kernel over tiles, whose lanes are the tiles' elements.
    fn tiled(&self, function: FunctionValue<'c>) -> Result<Passes> {
        let Kernel { ctx, llvm, func, options, .. } = *self;
        let entry = Entry::new(ctx, llvm, function, self.rank(), Bodies::Threads, None)?;
        let mut lowering = self.body(func, function, &entry, entry.thread.clone());
        let uniformity = analysis::uniformity(func, options.rank.saturating_sub(1));
        let each = Each::new(func, &uniformity, fixed_width(func, options), options.isa);
        lowering.each = Some(Box::new(each));
        entry.fill(&mut lowering, None, options.contiguous, &[])?;
        Ok(Passes::All)
    }
}
