//! The CUDA back end: a kernel as PTX text.
//!
//! In: a kernel and [`PtxOptions`]. Out: a [`Ptx`]: one entry that the driver loads, and what its launcher must know.
//!
//! ```text
//! .entry gs_kernel_f(.param .b8 args[N], .param .b8 bounds[32], .param .u64 fault)
//! ```
//!
//! `args` holds the packed arguments of `runtime::abi`, the very bytes that a launch on the CPU reads, with arrays in
//! device memory; `bounds` is a `LaunchBounds`, of a kernel over blocks a `BlockBounds`, and `fault` the address of a [`FaultBytes`] that both sides see.
//!
//! A thread of the launch is a thread of the GPU: the last dimension runs along x, the one before along y, those before
//! that along z ([`Shape`]). No library is linked: math is IR of our own, and what remains is in `device.ll`.

mod approximate;
mod atomic;
mod block;
mod coarsen;
pub(crate) mod entry;
mod exact;
mod explain;
mod external;
mod function;
mod host;
mod index;
mod library;
mod lines;
mod prepare;
mod shape;

pub use block::MAX_SHARED;
pub use explain::explain;
pub use function::{RETURNED, compile_function};
pub use lines::Lines;
pub use prepare::jams;
pub use shape::{Geometry, Shape, has_few_threads};

use crate::gang::Reason;
use crate::llvm::{Abilities, Lowering};
use crate::{Error, Result};
use diagnostics::SourceMap;
use entry::Shell;
use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::Module as LlvmModule;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use inkwell::values::FunctionValue;
use ir::{FuncRef, Function, FunctionKind, InstId, Module, Op};
use llvm_sys::support::LLVMParseCommandLineOptions;
use std::collections::HashSet;
use std::sync::OnceLock;
use transform::exits::{all, is_loop};

/// What a kernel's code is specialized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PtxOptions {
    /// The compute capability as one number: 90 for 9.0. One of [`ARCHITECTURES`].
    pub sm: u32,
    /// The newest PTX that the driver reads, as one number: 78 for 7.8.
    pub ptx: u32,
    /// Every array argument is without gaps, row by row: strides follow from extents. It has fewer than 2^31 elements.
    pub contiguous: bool,
    /// Every array argument starts at a multiple of 16 bytes, and with `contiguous` so does every row of one.
    pub aligned: bool,
    /// Dimensions of the launch, 1 to 4; further extents are 1.
    pub rank: u32,
    /// The launch has more blocks along y or z than a grid may have: threads take several indices each.
    pub strided: bool,
    /// The launch has too few threads for the device to let one do the work of several.
    pub few_threads: bool,
    /// Array parameters, a bit each, that are small and share memory with no other array: blocks may sum up what is added
    /// to them.
    pub summed: u64,
    /// Most threads that a block will have.
    pub max_threads: u32,
    /// Most registers of a thread; 0 for any number. The driver's own option is not heard where `max_threads` is said.
    pub max_registers: u32,
    /// Blocks that a multiprocessor shall run at a time at least, and most blocks of a cluster; 0 leaves them open.
    pub min_blocks: u32,
    pub max_cluster: u32,
    /// What the text says of its source.
    pub lines: Lines,
    /// The variant of the architecture, `a` for `sm_90a`, whose code runs on no other.
    pub variant: Option<char>,
    /// LLVM leaves the code as it is.
    pub is_unoptimized: bool,
    /// It is made a function that others call: the first argument is memory of the thread, for the result.
    pub is_function: bool,
    /// What all threads add up is added in an order of its own: the kernel takes more arguments then
    /// (`transform::sum_in_grid`).
    pub in_order: bool,
}

impl Default for PtxOptions {
    fn default() -> PtxOptions {
        PtxOptions {
            sm: 80,
            ptx: 90,
            contiguous: false,
            aligned: false,
            rank: 1,
            strided: false,
            few_threads: false,
            summed: 0,
            max_threads: shape::MAX_THREADS,
            max_registers: 0,
            min_blocks: 0,
            max_cluster: 0,
            lines: Lines::None,
            variant: None,
            is_unoptimized: false,
            is_function: false,
            in_order: false,
        }
    }
}

/// LLVM's number for subnormal f32 that are flushed to zero.
const FLUSHED: u64 = 0x50;

/// Compute capabilities that code is made for, with the first PTX that names each. PTX runs on every later one too.
pub const ARCHITECTURES: [(u32, u32); 13] = [
    (70, 60),
    (72, 61),
    (75, 63),
    (80, 70),
    (86, 71),
    (87, 74),
    (89, 78),
    (90, 78),
    (100, 86),
    (101, 86),
    (103, 88),
    (120, 87),
    (121, 88),
];

/// The newest PTX that this LLVM is trusted to write.
const NEWEST_PTX: u32 = 90;

/// The architecture to compile for where the device has compute capability `sm`, with PTX up to `ptx`.
pub fn architecture(sm: u32, ptx: u32) -> Option<u32> {
    let fits = |&&(known, least): &&(u32, u32)| known <= sm && least <= ptx;
    ARCHITECTURES.iter().filter(fits).map(|&(known, _)| known).max()
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    pub text: String,
    /// The entry's name in the text.
    pub entry: String,
    /// Bytes of the parameter `args`, at least 8.
    pub args_bytes: u64,
    /// Bytes of the parameter `bounds`.
    pub bounds_bytes: u64,
    /// Bytes of shared memory that the kernel's own arrays take.
    pub shared_bytes: u64,
    /// Whether a check can fail, so that the parameter `fault` is used.
    pub has_checks: bool,
    /// The blocks of the grid wait for each other: the launch must be a cooperative one, and behind the `BlockBounds`
    /// stands the address of a word of device memory that is 0 at first and serves one launch at a time.
    pub is_cooperative: bool,
    /// How threads are laid out, in a kernel over threads.
    pub shape: Shape,
}

/// What a failing check writes, once a launch: the first thread that takes `is_set` from 0 to 1.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultBytes {
    pub is_set: u32,
    /// Index into the module's sites.
    pub site: u32,
    pub thread: [i64; 4],
    pub n_values: i64,
    pub values: [i64; 8],
}

/// The largest parameter space of an entry, before and since PTX 8.1.
const MAX_PARAMS: [u64; 2] = [4096, 32764];

/// What a lowering for the GPU keeps besides.
#[derive(Default)]
pub(crate) struct Device<'c> {
    pub sm: u32,
    /// Roots and quotients of what is known to be ordinary numbers.
    pub exact: HashSet<InstId>,
    pub lines: Option<lines::LineTable>,
    /// What is known of the extents of array arguments.
    pub short: index::Short,
    report: Option<host::Report<'c>>,
    block: Option<block::Block<'c>>,
}

/// Compiles a kernel. Its lines are known where the files are that its spans point into.
pub fn compile(module: &Module, kernel: FuncRef, options: &PtxOptions, sources: Option<&SourceMap>) -> Result<Ptx> {
    let ctx = Context::create();
    let machine = target_machine(options)?;
    let (llvm, facts, level, _) = build(&ctx, &machine, module, kernel, options, sources)?;
    optimize(&llvm, &machine, level)?;
    let text = machine
        .write_to_memory_buffer(&llvm, FileType::Assembly)
        .map_err(|error| Error::llvm("PTX", error.to_string()))?;
    // LLVM ends the text with a zero.
    let text = String::from_utf8_lossy(text.as_slice()).trim_end_matches('\0').to_string();
    Ok(Ptx { text, ..facts })
}

/// LLVM's text for a kernel, before or after LLVM's passes.
pub fn llvm_text(
    module: &Module,
    kernel: FuncRef,
    options: &PtxOptions,
    sources: Option<&SourceMap>,
    optimized: bool,
) -> Result<String> {
    let ctx = Context::create();
    let machine = target_machine(options)?;
    let (llvm, _, level, _) = build(&ctx, &machine, module, kernel, options, sources)?;
    if optimized {
        optimize(&llvm, &machine, level)?;
    }
    Ok(llvm.print_to_string().to_string())
}

fn target_machine(options: &PtxOptions) -> Result<TargetMachine> {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        Target::initialize_nvptx(&InitializationConfig {
            asm_parser: false,
            asm_printer: true,
            base: true,
            disassembler: false,
            info: true,
            machine_code: true,
        });
        // `atom.add.f32` takes subnormal numbers in global memory for 0; the loop that LLVM would rather write is many
        // times slower.
        let options = [c"gridstride".as_ptr(), c"-nvptx-allow-ftz-atomics".as_ptr()];
        // SAFETY: two strings that end with 0, parsed once, before the first compilation for this target.
        unsafe { LLVMParseCommandLineOptions(2, options.as_ptr(), std::ptr::null()) };
    });
    let Some((sm, least)) = ARCHITECTURES.into_iter().find(|&(sm, _)| sm == options.sm) else {
        let known: Vec<String> = ARCHITECTURES.iter().map(|(sm, _)| sm.to_string()).collect();
        return Err(Error::Unsupported(format!("sm_{}: code is made for sm_{}", options.sm, known.join(", "))));
    };
    if options.ptx < least {
        return Err(Error::Unsupported(format!("sm_{sm} needs PTX {least}, and the driver reads {}", options.ptx)));
    }
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let target = Target::from_triple(&triple).map_err(|error| Error::llvm("target", error.to_string()))?;
    let variant = options.variant.map_or(String::new(), String::from);
    let (cpu, features) = (format!("sm_{sm}{variant}"), format!("+ptx{}", options.ptx.min(NEWEST_PTX)));
    target
        .create_target_machine(
            &triple,
            &cpu,
            &features,
            OptimizationLevel::Aggressive,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| Error::llvm("target machine", cpu))
}

/// How much LLVM is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    None,
    /// For code without loops, in which our own passes have left LLVM's dearer ones nothing to find.
    Straight,
    Full,
}

fn optimize(llvm: &LlvmModule<'_>, machine: &TargetMachine, level: Level) -> Result<()> {
    if level == Level::None {
        // Functions that are written out into others must be.
        let options = PassBuilderOptions::create();
        return llvm
            .run_passes("always-inline", machine, options)
            .map_err(|error| Error::llvm("passes", error.to_string()));
    }
    let options = PassBuilderOptions::create();
    options.set_loop_unrolling(true);
    // Vectors are lanes of coarsened code: scalars here. Accesses that belong together are joined at the end: once
    // address spaces show what is aligned, and before a loop's addresses become pointers of their own, which hides it.
    let default = if level == Level::Full { "O3" } else { "O1" };
    let passes = format!(
        "function(sroa,scalarizer<load-store>),default<{default}>,\
         function(infer-address-spaces,infer-alignment,load-store-vectorizer)"
    );
    llvm.run_passes(&passes, machine, options).map_err(|error| Error::llvm("passes", error.to_string()))
}

fn build<'c>(
    ctx: &'c Context,
    machine: &TargetMachine,
    module: &Module,
    kernel: FuncRef,
    options: &PtxOptions,
    sources: Option<&SourceMap>,
) -> Result<(LlvmModule<'c>, Ptx, Level, Option<lines::LineTable>)> {
    ir::verify::verify(module).map_err(|errors| Error::Invalid(ir::verify::report(module, &errors)))?;
    let prepared = prepare::prepare(module, kernel, options);
    let (module, is_resident, is_tiled) = (&prepared.module, prepared.is_resident, prepared.has_each);
    let of_tiles = PtxOptions { max_threads: module.block_dim, ..*options };
    let options = if is_tiled && module.block_dim > 0 { &of_tiles } else { options };
    let func = module.funcs.get(kernel.index()).ok_or_else(|| Error::Invalid("no such function".into()))?;
    let is_over_blocks = match func.kind {
        FunctionKind::Kernel => false,
        FunctionKind::BlockKernel => true,
        _ => return Err(Error::Invalid(format!("`{}` is no kernel for a GPU", func.name))),
    };
    if !(1..=4).contains(&options.rank) {
        return Err(Error::Invalid(format!("a launch of {} dimensions", options.rank)));
    }
    let llvm = ctx.create_module("kernel");
    llvm.set_triple(&machine.get_triple());
    llvm.set_data_layout(&machine.get_target_data().get_data_layout());
    let args_bytes = args_bytes(func);
    if args_bytes + 64 > MAX_PARAMS[usize::from(options.ptx >= 81)] {
        return Err(Error::TooLarge(format!("the arguments of `{}` take {args_bytes} bytes, too many", func.name)));
    }
    // A PTX name has no dots.
    let entry = crate::symbol(module, kernel).replace('.', "_");
    let bounds_bytes = match (is_over_blocks, has_grid_barrier(func)) {
        // The extents; accumulators are the CPU's.
        (false, _) => 8 * runtime::abi::MAX_RANK as u64,
        (true, false) => block::BOUNDS_BYTES,
        (true, true) => block::BOUNDS_BYTES + 8,
    };
    let sizes = [args_bytes, bounds_bytes];
    let function = declare(ctx, &llvm, &entry, sizes, module.fast_math, options);
    let plan = if is_over_blocks || is_tiled { None } else { plan(func, options).ok() };
    let width = plan.as_ref().map_or(prepared.n_jammed * prepared.n_at_a_time, |plan| plan.width);
    let shell = if is_over_blocks {
        Shell::over_blocks(ctx, function)?
    } else if is_resident {
        Shell::over_all_threads(ctx, function, options.rank)?
    } else {
        Shell::over_threads(ctx, &llvm, function, options, width, plan.is_some())?
    };
    let abilities = Abilities { half: true, permutes: true, estimates_roots: false, prefetches: false };
    let (thread, allocas) = (shell.thread.clone(), shell.allocas);
    let mut lowering = Lowering::new(ctx, &llvm, module.fast_math, func, function, allocas, thread, abilities);
    let block = Some(block::Block { bounds: shell.bounds, shared_bytes: 0, is_over_blocks });
    let table = sources.filter(|_| options.lines != Lines::None);
    let table = table.and_then(|sources| lines::LineTable::new(ctx, &llvm, sources, func, function, options));
    let short = index::Short::of(func, options.contiguous, plan.is_some());
    let (sm, exact, lines) = (options.sm, exact::proven(func), table.clone());
    lowering.device = Some(Box::new(Device { sm, exact, lines, short, report: None, block }));
    let mut gang = plan.as_ref().zip(shell.gang_thread()).map(|(plan, thread)| {
        let func = &plan.func;
        let mut lowering = Lowering::new(ctx, &llvm, module.fast_math, func, function, allocas, thread, abilities);
        lowering.device = Some(Box::new(Device { sm, lines: table.clone(), ..Device::default() }));
        lowering.gang = Some(Box::new(crate::gang::Gang::new(func, plan.width, plan.uniformity.clone())));
        lowering
    });
    shell.fill(&mut lowering, gang.as_mut(), options)?;
    // It borrows from the plan.
    drop(gang);
    let has_checks = lowering.finish_report()?;
    let shared_bytes = lowering.device.and_then(|device| device.block).map_or(0, |block| block.shared_bytes);
    library::link(ctx, &llvm)?;
    if let Some(table) = &table {
        table.complete(function);
        table.finish();
    }
    if cfg!(debug_assertions) {
        llvm.verify().map_err(|error| {
            Error::llvm("LLVM's verifier", format!("{}\n{}", error.to_string(), llvm.print_to_string().to_string()))
        })?;
    }
    let PtxOptions { rank, max_threads, strided, .. } = *options;
    let is_jammed = prepared.n_jammed > 1;
    let shape = Shape { rank, max_threads, strided, width, is_jammed, is_resident, max_blocks: 0, is_tiled };
    let has_loop = !all(func, func.body, is_loop).is_empty();
    let level = match has_loop || width > 1 || strided {
        _ if options.is_unoptimized => Level::None,
        true => Level::Full,
        false => Level::Straight,
    };
    let text = String::new();
    let is_cooperative = has_grid_barrier(func);
    let facts = Ptx { text, entry, args_bytes, bounds_bytes, shared_bytes, has_checks, is_cooperative, shape };
    Ok((llvm, facts, level, table))
}

/// Size of the packed arguments, each aligned to 8 bytes.
fn args_bytes(func: &Function) -> u64 {
    let types = func.region(func.body).params.iter().map(|&param| func.ty(param).size());
    types.fold(0, |bytes: u64, size| (bytes + size).next_multiple_of(8)).max(8)
}

/// Whether threads take several neighbors each, and how many.
fn plan(func: &Function, options: &PtxOptions) -> std::result::Result<coarsen::Plan, Reason> {
    let refuse = |text: &str| Reason { inst: None, text: text.into() };
    if !options.aligned || !options.contiguous {
        return Err(refuse("arrays may lie where vector accesses cannot start"));
    }
    if crate::plan::is_deep(func) {
        return Err(refuse("branches nest too deeply"));
    }
    coarsen::plan(func, options.rank)
}

fn has_grid_barrier(func: &Function) -> bool {
    let mut listed = func.regions.iter().flat_map(|region| &region.insts);
    listed.any(|&id| func.inst(id).op == Op::GridBarrier)
}

/// LLVM's number of the calling convention of an entry.
const PTX_KERNEL: u32 = 71;

fn declare<'c>(
    ctx: &'c Context,
    llvm: &LlvmModule<'c>,
    name: &str,
    sizes: [u64; 2],
    fast_math: bool,
    options: &PtxOptions,
) -> FunctionValue<'c> {
    let (ptr, word) = (crate::llvm::types::pointer(ctx), ctx.i64_type());
    let function =
        llvm.add_function(name, ctx.void_type().fn_type(&[ptr.into(), ptr.into(), word.into()], false), None);
    function.set_call_conventions(PTX_KERNEL);
    let attribute = |name: &str, value| ctx.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value);
    let by_value = Attribute::get_named_enum_kind_id("byval");
    for (param, bytes) in (0..).zip(sizes) {
        let ty = ctx.i8_type().array_type(bytes as u32);
        function.add_attribute(AttributeLoc::Param(param), ctx.create_type_attribute(by_value, ty.into()));
        function.add_attribute(AttributeLoc::Param(param), attribute("align", 8));
        function.add_attribute(AttributeLoc::Param(param), attribute("readonly", 0));
        // Nothing writes to parameters, so that even their address needs no copy of them.
        function.add_attribute(AttributeLoc::Param(param), ctx.create_string_attribute("nvvm.grid_constant", ""));
    }
    function.add_attribute(AttributeLoc::Function, attribute("nounwind", 0));
    let say = |name: &str, value: &str| {
        function.add_attribute(AttributeLoc::Function, ctx.create_string_attribute(name, value));
    };
    say("nvvm.maxntid", &format!("{},1,1", options.max_threads));
    let numbers = [
        ("nvvm.maxnreg", options.max_registers),
        ("nvvm.minctasm", options.min_blocks),
        ("nvvm.maxclusterrank", options.max_cluster),
    ];
    for (name, number) in numbers.into_iter().filter(|&(_, number)| number > 0) {
        say(name, &number.to_string());
    }
    if fast_math {
        // Subnormal f32 are flushed, as `--use_fast_math` does: the approximate instructions exist in this form only.
        function.add_attribute(AttributeLoc::Function, attribute("denormal_fpenv", FLUSHED));
    }
    function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_architecture_that_both_know() {
        assert_eq!(architecture(90, 90), Some(90));
        assert_eq!(architecture(110, 90), Some(103));
        assert_eq!(architecture(120, 80), Some(90));
        assert_eq!(architecture(61, 90), None);
    }
}
