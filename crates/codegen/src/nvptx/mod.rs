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

mod atomic;
mod block;
mod coarsen;
mod entry;
mod exact;
mod explain;
mod external;
mod function;
mod host;
mod prepare;
mod shape;

pub use explain::explain;
pub use function::{RETURNED, compile_function};
pub use prepare::jams;
pub use shape::{Geometry, Shape, has_few_threads};

use crate::gang::Reason;
use crate::llvm::{Abilities, Lowering};
use crate::{Error, Result};
use entry::Shell;
use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module as LlvmModule};
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
    /// Every array argument is without gaps, row by row: strides follow from extents.
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
    /// It is made a function that others call: the first argument is memory of the thread, for the result.
    pub is_function: bool,
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
            is_function: false,
        }
    }
}

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
pub(crate) struct Device<'c> {
    pub sm: u32,
    /// Roots and quotients of what is known to be ordinary numbers.
    pub exact: HashSet<InstId>,
    report: Option<host::Report<'c>>,
    block: Option<block::Block<'c>>,
}

/// Compiles a kernel.
pub fn compile(module: &Module, kernel: FuncRef, options: &PtxOptions) -> Result<Ptx> {
    let ctx = Context::create();
    let machine = target_machine(options)?;
    let (llvm, facts, level) = build(&ctx, &machine, module, kernel, options)?;
    optimize(&llvm, &machine, level)?;
    let text = machine
        .write_to_memory_buffer(&llvm, FileType::Assembly)
        .map_err(|error| Error::llvm("PTX", error.to_string()))?;
    // LLVM ends the text with a zero.
    let text = String::from_utf8_lossy(text.as_slice()).trim_end_matches('\0').to_string();
    Ok(Ptx { text, ..facts })
}

/// LLVM's text for a kernel, before or after LLVM's passes.
pub fn llvm_text(module: &Module, kernel: FuncRef, options: &PtxOptions, optimized: bool) -> Result<String> {
    let ctx = Context::create();
    let machine = target_machine(options)?;
    let (llvm, _, level) = build(&ctx, &machine, module, kernel, options)?;
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
    let (cpu, features) = (format!("sm_{sm}"), format!("+ptx{}", options.ptx.min(NEWEST_PTX)));
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
    /// For code without loops, in which our own passes have left LLVM's dearer ones nothing to find.
    Straight,
    Full,
}

fn optimize(llvm: &LlvmModule<'_>, machine: &TargetMachine, level: Level) -> Result<()> {
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
) -> Result<(LlvmModule<'c>, Ptx, Level)> {
    ir::verify::verify(module).map_err(|errors| Error::Invalid(ir::verify::report(module, &errors)))?;
    let prepared = prepare::prepare(module, kernel, options);
    let (module, is_resident) = (&prepared.module, prepared.is_resident);
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
        (false, _) => size_of::<runtime::LaunchBounds>() as u64,
        (true, false) => block::BOUNDS_BYTES,
        (true, true) => block::BOUNDS_BYTES + 8,
    };
    let sizes = [args_bytes, bounds_bytes];
    let function = declare(ctx, &llvm, &entry, sizes, module.fast_math, options);
    let plan = if is_over_blocks { None } else { plan(func, options).ok() };
    let width = plan.as_ref().map_or(prepared.n_jammed, |plan| plan.width);
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
    lowering.device = Some(Box::new(Device { sm: options.sm, exact: exact::proven(func), report: None, block }));
    let mut gang = plan.as_ref().zip(shell.gang_thread()).map(|(plan, thread)| {
        let func = &plan.func;
        let mut lowering = Lowering::new(ctx, &llvm, module.fast_math, func, function, allocas, thread, abilities);
        lowering.device = Some(Box::new(Device { sm: options.sm, exact: HashSet::new(), report: None, block: None }));
        lowering.gang = Some(Box::new(crate::gang::Gang::new(func, plan.width, plan.uniformity.clone())));
        lowering
    });
    shell.fill(&mut lowering, gang.as_mut(), options)?;
    // It borrows from the plan.
    drop(gang);
    let has_checks = lowering.finish_report()?;
    let shared_bytes = lowering.device.and_then(|device| device.block).map_or(0, |block| block.shared_bytes);
    link_device_functions(ctx, &llvm)?;
    if cfg!(debug_assertions) {
        llvm.verify().map_err(|error| {
            Error::llvm("LLVM's verifier", format!("{}\n{}", error.to_string(), llvm.print_to_string().to_string()))
        })?;
    }
    let PtxOptions { rank, max_threads, strided, .. } = *options;
    let is_jammed = prepared.n_jammed > 1;
    let shape = Shape { rank, max_threads, strided, width, is_jammed, is_resident, max_blocks: 0 };
    let has_loop = !all(func, func.body, is_loop).is_empty();
    let level = if has_loop || width > 1 || strided { Level::Full } else { Level::Straight };
    let text = String::new();
    let is_cooperative = has_grid_barrier(func);
    Ok((llvm, Ptx { text, entry, args_bytes, bounds_bytes, shared_bytes, has_checks, is_cooperative, shape }, level))
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
    if crate::x86::is_deep(func) {
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
    let threads = options.max_threads.to_string();
    function.add_attribute(AttributeLoc::Function, ctx.create_string_attribute("nvvm.maxntid", &threads));
    if options.max_registers > 0 {
        let registers = options.max_registers.to_string();
        function.add_attribute(AttributeLoc::Function, ctx.create_string_attribute("nvvm.maxnreg", &registers));
    }
    if fast_math {
        // Subnormal f32 are flushed, as `--use_fast_math` does: the approximate instructions exist in this form only.
        function.add_attribute(AttributeLoc::Function, attribute("denormal_fpenv", 0x50));
    }
    function
}

/// Functions that code for the GPU may call, in LLVM's text.
const DEVICE_FUNCTIONS: &str = include_str!("device.ll");

/// Defines the functions of `device.ll` that the module calls.
fn link_device_functions<'c>(ctx: &'c Context, llvm: &LlvmModule<'c>) -> Result<()> {
    if llvm.get_function("gs_fmod").is_none() {
        return Ok(());
    }
    let text = MemoryBuffer::create_from_memory_range_copy(DEVICE_FUNCTIONS.as_bytes(), "device.ll");
    let library = ctx.create_module_from_ir(text).map_err(|error| Error::llvm("device.ll", error.to_string()))?;
    library.set_triple(&llvm.get_triple());
    library.set_data_layout(&llvm.get_data_layout());
    llvm.link_in_module(library).map_err(|error| Error::llvm("linking device.ll", error.to_string()))?;
    if let Some(function) = llvm.get_function("gs_fmod") {
        function.set_linkage(Linkage::Internal);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `device.ll` as machine code of this machine.
    fn fmod() -> (crate::LoadedModule, extern "C" fn(f64, f64) -> f64) {
        let ctx = Context::create();
        let machine = crate::x86::target_machine(crate::Isa::Baseline).expect("this machine");
        let llvm = ctx.create_module("fmod");
        let double = ctx.f64_type();
        llvm.add_function("gs_fmod", double.fn_type(&[double.into(); 2], false), None);
        llvm.set_triple(&machine.get_triple());
        llvm.set_data_layout(&machine.get_target_data().get_data_layout());
        link_device_functions(&ctx, &llvm).expect("it links");
        llvm.get_function("gs_fmod").expect("it is there").set_linkage(Linkage::External);
        let object = machine.write_to_memory_buffer(&llvm, FileType::Object).expect("an object");
        let loaded = crate::load(object.as_slice(), "gs_fmod").expect("it loads");
        // SAFETY: the symbol is this function, and lives as long as the module beside it.
        let function =
            unsafe { std::mem::transmute::<runtime::EntryPoint, extern "C" fn(f64, f64) -> f64>(loaded.entry()) };
        (loaded, function)
    }

    #[test]
    fn fmod_is_exact() {
        let (_loaded, fmod) = fmod();
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 29)
        };
        let special =
            [0.0, -0.0, 1.0, -1.5, 5e-324, 2.2e-308, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NAN, 0.1];
        let mut pairs: Vec<(f64, f64)> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
        pairs.extend((0..20_000).map(|_| (f64::from_bits(next()), f64::from_bits(next()))));
        // Close exponents, and subnormal numbers.
        pairs.extend((0..20_000).map(|_| (next() as f64, (next() >> 40) as f64)));
        pairs.extend((0..2_000).map(|_| (f64::from_bits(next() >> 10), f64::from_bits(next() >> 12))));
        for (x, y) in pairs {
            let (found, expected) = (fmod(x, y), x % y);
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{x:e} % {y:e} = {found:e}"
            );
        }
    }

    #[test]
    fn the_newest_architecture_that_both_know() {
        assert_eq!(architecture(90, 90), Some(90));
        assert_eq!(architecture(110, 90), Some(103));
        assert_eq!(architecture(120, 80), Some(90));
        assert_eq!(architecture(61, 90), None);
    }
}
